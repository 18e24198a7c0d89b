"""People whose predictions change alike stand for each other, to the last digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim import alike
from fairstress.claim.evaluate import evaluate
from fairstress.functionals.cfu import CFU
from fairstress.functionals.relative import RelativeCFU
from fairstress.inputs.rows import Rows

GRAPH = "a -> x, z; x -> z, v; z -> v; c -> v; a <-> x; x <-> z"


def audit_of(degrees, predictor_degree=1, graph=GRAPH, **options):
    graph = fs.CausalGraph.parse(graph, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 400, random_state=1).frame
    return fs.Audit.fit(frame, graph, degrees=degrees, predictor_degree=predictor_degree, random_state=0, **options)


def everyone(claim):
    """The same claim that looks at everyone."""
    other = replace(claim)
    other._alike[:] = [None]
    return other


def at(audit, *p):
    P = np.eye(len(audit.variables))
    for value, (a, b) in zip(p, audit.graph.pairs, strict=True):
        j, k = audit.variables.index(a), audit.variables.index(b)
        P[j, k] = P[k, j] = value
    return P


@pytest.mark.parametrize(
    ("degrees", "graph"),
    [
        ({"x": 1, "z": 1, "v": 1, "c": 1}, GRAPH),
        ({"x": 1, "z": 1, "v": 1, "c": 1}, GRAPH.replace("a -> x, z", "a -> x; a =fair=> z")),
        ({"x": 2, "z": 1, "v": 1, "c": 2}, GRAPH),
    ],
)
def test_cfu_and_its_slope_are_those_of_everyone(degrees, graph):
    audit = audit_of(degrees, graph=graph)
    blind = audit.fitted.baselines["blind"].claim
    for claim in (audit.fitted.claim, blind, audit.fitted.baselines["unconstrained"].claim):
        if "fair" in graph and claim is audit.fitted.claim:
            continue  # which looks at more than residuals
        assert claim.for_changes().rows.a.size == 2
        assert claim.for_changes().rows.n == pytest.approx(claim.rows.n)
        P = at(audit, 0.3, -0.2)
        functionals = [CFU(), CFU(group=1.0)] if "fair" in graph else [CFU(), RelativeCFU(blind, "less")]
        for functional in functionals:
            few, all_ = (evaluate(one, P, functional, gradient=True) for one in (claim, everyone(claim)))
            assert few.value == pytest.approx(all_.value, rel=1e-11, abs=1e-13)
            np.testing.assert_allclose(few.gradient, all_.gradient, rtol=1e-9, atol=1e-12)


def test_levels_that_a_term_of_a_higher_degree_looks_at_keep_people_apart():
    audit = audit_of({"x": 1, "z": 2, "v": 1, "c": 1})  # a * x in z
    claim = audit.fitted.claim
    assert claim.for_changes() is claim
    assert audit_of({"x": 1, "z": 1, "v": 1, "c": 1}, 2).fitted.claim.for_changes().rows.a.size > 2


def test_few_values_in_such_terms_still_group_people():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; c -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 400, random_state=1).frame
    frame["c"] = np.where(frame["c"] > 0, 3.0, -1.0)
    options = {"degrees": {"x": 1, "z": 1, "c": 1}, "predictor_degree": 1, "kinds": {"c": "number"}}
    claim = fs.Audit.fit(frame, graph, **options).fitted.claim
    assert claim.for_changes().rows.a.size == 2


def test_replicates_weigh_the_groups_anew():
    audit = audit_of({"x": 1, "z": 1, "v": 1, "c": 1})
    claim = audit.fitted.claim
    claim.for_changes()
    weight = np.random.default_rng(0).exponential(size=claim.everyone.weight.size)
    other = claim.reweighted(weight, claim.system)
    assert other.for_changes().rows.n == pytest.approx(weight.sum())
    P = at(audit, 0.3, -0.2)
    expected = evaluate(everyone(other), P, CFU()).value
    assert evaluate(other, P, CFU()).value == pytest.approx(expected, rel=1e-11)


def test_of_each_group_the_first_of_the_smallest_is_found_a_part_after_the_other(monkeypatch):
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal((500, 2)), 1)  # several are the smallest
    group = rng.integers(0, 7, 500)
    nothing = np.zeros(500)
    people = Rows(nothing, nothing, x, nothing + 1, nothing, nothing)
    size = np.abs(x).max(axis=1)
    expected = [min(np.flatnonzero(group == g), key=lambda i: (size[i], i)) for g in range(7)]
    for piece in (10**6, 64):
        monkeypatch.setattr(alike, "PIECE", piece)
        np.testing.assert_array_equal(alike._nearest(people, group), expected)
