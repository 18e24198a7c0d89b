"""Compiled sums against numpy's: the same numbers, for every kind of claim that they are meant for.

Without numba the same source runs as plain Python; `make test-compiled` runs it compiled.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress import compiling
from fairstress.claim import claim as claims
from fairstress.claim.evaluate import fits
from fairstress.errors import SettingError
from fairstress.functionals import compiled as switch
from fairstress.functionals.cfu import CFU
from fairstress.functionals.program import abduction_of, program_of
from fairstress.inputs import rows
from fairstress.threads import one_thread

PEOPLE = 300  # more than are worked on at once, and no multiple of it
PAIRS = "x1 <-> x2; x2 <-> x3; x1 <-> x3"
CHAIN = f"a -> x1, x3; x1 -> x2 -> x3; {PAIRS}"
P = np.array([[1, 0.4, -0.3], [0.4, 1, 0.25], [-0.3, 0.25, 1]])


def people(kind: str, *, two_valued: bool = False, n: int = PEOPLE) -> pd.DataFrame:
    """Simulate people whose features bend, so that CFU really moves."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=n) if kind == "numeric" else rng.integers(0, 3 if kind == "levels" else 2, n).astype(float)
    u = rng.normal(size=(n, 5))
    place = rng.integers(0, 3, n)
    x1 = 0.8 * a + u[:, 0]
    x2 = 0.7 * x1 + 0.3 * x1**2 + u[:, 1]
    x3 = 0.5 * a - 0.4 * x2 + 0.2 * a * x2 + 0.3 * place + u[:, 2]
    y = x1 - 0.5 * x2 + 0.6 * x3 + 0.2 * x1 * x3 + 0.5 * a + u[:, 3]
    return pd.DataFrame(
        {
            "a": a if kind == "numeric" else np.array(["p", "q", "r"])[a.astype(int)],
            "place": np.array(["east", "north", "south"])[place],
            "x1": x1,
            "x2": x2,
            "x3": x3,
            "y": np.where(y > y.mean(), "yes", "no") if two_valued else y,
        }
    )


CLAIMS = {
    "linear": {"degree": 1, "predictor_degree": 1},
    "degree 2": {"degree": 2},
    "degree 3": {"degree": 3, "predictor_degree": 3},
    "absolute": {"degree": 2, "measure": "absolute"},
    "logistic": {"degree": 3, "two_valued": True},
    "numeric": {"kind": "numeric", "degree": 2, "shift": 1.0},
    "levels": {"kind": "levels", "degree": 2},
    "fair edges": {"degree": 2, "graph": f"a -> x1; a =fair=> x3; x1 -> x2 =fair=> x3; x1 -> x3; {PAIRS}"},
    "context": {"degree": 2, "graph": f"a -> x1, x3; x1 -> x2 -> x3; place -> x3; {PAIRS}"},
    "one pair": {"degree": 2, "graph": "a -> x1, x3; x1 -> x2 -> x3; x2 <-> x3"},
    "attribute in a pair": {"degree": 2, "graph": f"a -> x1, x3; x1 -> x2 -> x3; a <-> x3; {PAIRS}"},
    "raw columns": {"degree": 2, "baseline": "unconstrained"},
    "raw columns, levels": {"kind": "levels", "degree": 2, "baseline": "unconstrained"},
    "raw columns, context": {"degree": 2, "graph": f"a -> x1, x2, x3; place -> x3; {PAIRS}", "baseline": "blind"},
}


def claim_of(*, kind="two", graph=CHAIN, degree=2, two_valued=False, baseline=None, **options):
    given = {"penalty": 0, "predictor_degree": 2, "predictor_penalty": 1, "random_state": 0} | options
    made = fs.CausalGraph.parse(graph, protected="a", outcome="y")
    degrees = dict.fromkeys(("x1", "x2", "x3"), degree)
    audit = fs.Audit.fit(people(kind, two_valued=two_valued), made, degrees=degrees, **given)
    return audit.baselines[baseline].claim if baseline else audit.fitted.claim


@pytest.fixture
def every_row(monkeypatch):
    """No shorter way to CFU than through everyone."""
    monkeypatch.setattr(claims, "changing_alike", lambda *_: None)
    monkeypatch.setattr(claims.Nodes, "of", lambda *_: None)


def both(monkeypatch, find):
    """What is found without compiled code and with it."""
    found = []
    for wanted in "01":
        monkeypatch.setenv(compiling.VARIABLE, wanted)
        with one_thread:
            found.append(find())
    return found


def some_fits(claim):
    m = len(claim.model_a.correlation)
    bent = np.eye(m)
    bent[-3:, -3:] = P
    if claim.has_threshold:
        bent[0, -1] = bent[-1, 0] = 0.2
    if claim.tied is not None and len(claim.tied) < m:  # one pair alone is free
        bent = np.eye(m)
        bent[-1, -2] = bent[-2, -1] = 0.4
    return fits(claim, np.array([bent, np.eye(m) / 2 + bent / 2, np.eye(m)]), check_minima=False)


@pytest.mark.usefixtures("kernel", "every_row")
@pytest.mark.parametrize("name", CLAIMS)
def test_compiled_sums_are_those_of_numpy(name, monkeypatch):
    claim = claim_of(**CLAIMS[name])
    fitted = some_fits(claim)
    expected, found = both(monkeypatch, lambda: CFU().values(claim, fitted))
    assert switch.compiled(claim) is not None
    assert expected[0] > 1e-3 * claim.everyone.y.var() or claim.predictor.is_logistic
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-25)
    expected, found = both(monkeypatch, lambda: CFU().values_and_slopes(claim, fitted))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-25)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-10 * np.abs(expected[1]).max())
    assert np.abs(found[1]).max() > 0


def random_claim(seed: int):
    """A random graph of four features with random degrees, pairs and fair edges, seen through residuals or raw."""
    rng = np.random.default_rng(seed)
    names = ["a", "x1", "x2", "x3", "x4"]
    edges = [(names[i], names[j]) for j in range(1, 5) for i in range(j) if i == j - 1 or rng.random() < 0.5]
    pairs = [(names[i], names[j]) for j in range(2, 5) for i in range(1, j) if rng.random() < 0.7] + [("x1", "x2")]
    fair = [edge for edge in edges[1:] if rng.random() < 0.2]
    graph = fs.CausalGraph(
        edges=tuple(edges),
        pairs=tuple(dict.fromkeys(pairs)),
        fair_edges=tuple(fair),
        protected="a",
        outcome="y",
    )
    frame = fs.datasets.simulate(graph, PEOPLE, degrees=dict.fromkeys(names[1:], 2), random_state=seed).frame
    degrees = {name: int(rng.integers(1, 4)) for name in names[1:]}
    given = {"penalty": 1, "predictor_degree": int(rng.integers(1, 4)), "predictor_penalty": 1}
    audit = fs.Audit.fit(frame, graph, degrees=degrees, **given, random_state=0)
    claim = audit.baselines["unconstrained"].claim if seed % 2 else audit.fitted.claim
    correlation = np.eye(4)
    for one, other in graph.pairs:
        j, k = graph.features.index(one), graph.features.index(other)
        correlation[j, k] = correlation[k, j] = rng.uniform(-0.25, 0.25)
    return claim, correlation


@pytest.mark.usefixtures("kernel", "every_row")
@pytest.mark.parametrize("seed", range(8))
def test_compiled_sums_on_random_graphs_are_those_of_numpy(seed, monkeypatch):
    claim, correlation = random_claim(seed)
    (fit,) = fits(claim, correlation[None], check_minima=False)
    expected, found = both(monkeypatch, lambda: CFU().values_and_slopes(claim, [fit]))
    size = np.abs(claim.model_a.weights).max() ** 2  # of what changes are differences of
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-25 * size)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-10 * np.abs(expected[1]).max())


@pytest.mark.usefixtures("kernel", "every_row")
def test_groups_and_two_predictors_at_once_are_summed_as_by_numpy(monkeypatch):
    claim, blind = claim_of(), claim_of(baseline="blind")
    fitted = some_fits(claim)
    for functional in (CFU(group=1.0), CFU(group=-1.0, to=1.0)):
        expected, found = both(monkeypatch, lambda one=functional: one.values(claim, fitted))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    expected, found = both(monkeypatch, lambda: CFU().of_both(claim, blind, fitted))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("kernel", "every_row")
@pytest.mark.parametrize("name", CLAIMS)
def test_people_who_are_not_kept_are_summed_as_by_numpy(name, monkeypatch):
    monkeypatch.setattr(rows, "KEPT", 0)
    claim = claim_of(**CLAIMS[name])
    fitted = some_fits(claim)[:1]
    expected, found = both(monkeypatch, lambda: CFU().values_and_slopes(claim, fitted))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-25)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-10 * np.abs(expected[1]).max())


@pytest.mark.usefixtures("kernel", "every_row")
def test_residuals_are_worked_out_for_a_predictor_that_looks_at_them(monkeypatch):
    monkeypatch.setenv(compiling.VARIABLE, "1")
    for claim in (claim_of(degree=3), claim_of(baseline="unconstrained")):
        found, expected = switch.seen(claim, claim.rows).eps, claim.factual(claim.rows).eps
        assert np.abs(expected - claim.rows.x).max() > 0.1
        looks = not claim.looks_at_features
        np.testing.assert_allclose(found, expected if looks else claim.rows.x, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("kernel", "every_row")
def test_two_predictors_of_people_who_are_not_kept_are_summed_as_by_numpy(monkeypatch):
    monkeypatch.setattr(rows, "KEPT", 0)
    claim, blind = claim_of(), claim_of(baseline="blind")
    fitted = some_fits(claim)
    expected, found = both(monkeypatch, lambda: CFU().of_both(claim, blind, fitted))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("kernel", "every_row")
def test_digits_are_the_same_on_one_thread_and_two(monkeypatch):
    monkeypatch.setattr(rows, "LONGEST", 32)
    monkeypatch.setenv(compiling.VARIABLE, "1")
    claim, found = claim_of(), []
    fitted = some_fits(claim)
    for threads in (1, 2):
        fs.set_threads(threads)
        found.append([CFU().values(claim, fitted), *CFU().values_and_slopes(claim, fitted)])
    fs.set_threads(None)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def plain(Z):
    return Z.sum(axis=1)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    "options",
    [
        {"measure": "max"},
        {"predictor": plain},
        {"graph": f"a -> x1, x3; a =fair=> x2; x1 -> x2 -> x3; {PAIRS}", "mixed": "fair part"},
        {"kinds": {"x1": "number by group"}},
    ],
    ids=["largest change", "user's predictor", "fair part", "scales by group"],
)
def test_what_is_no_polynomial_is_left_to_numpy(options, monkeypatch):
    monkeypatch.setenv(compiling.VARIABLE, "1")
    assert switch.compiled(claim_of(**options)) is None


def test_an_embedding_of_another_kind_is_not_written_down():
    claim = claim_of()
    equation = replace(claim.design.equations[-1], embedding=object())
    design = replace(claim.design, equations=(*claim.design.equations[:-1], equation))
    given = claim.view, claim.predictor, claim.rows.x.shape[1], (), (0, 1, 2)
    assert program_of(claim.design, *given) is not None
    assert program_of(design, *given) is None
    assert abduction_of(claim.design, claim.rows.x.shape[1], frozenset({0, 1, 2})) is not None
    assert abduction_of(design, claim.rows.x.shape[1], frozenset({0, 1, 2})) is None


def test_few_people_and_nodes_are_left_to_numpy(monkeypatch):
    monkeypatch.delenv(compiling.VARIABLE, raising=False)
    claim = claim_of()
    assert switch.compiled(claim) is None
    assert claim.for_squares().cross is not None
    monkeypatch.setenv(compiling.VARIABLE, "1")
    assert switch.compiled(claim.for_squares()) is None


@pytest.mark.usefixtures("kernel")
def test_many_people_are_summed_by_compiled_code_unless_the_environment_says_no(monkeypatch):
    monkeypatch.setattr(compiling, "MANY", PEOPLE)
    monkeypatch.delenv(compiling.VARIABLE, raising=False)
    claim = claim_of()
    assert switch.compiled(claim) is not None
    monkeypatch.setenv(compiling.VARIABLE, "0")
    assert switch.compiled(claim) is None
    monkeypatch.setenv(compiling.VARIABLE, "yes")
    with pytest.raises(SettingError, match="FAIRSTRESS_COMPILED is 'yes': give 0 or 1, or leave it unset"):
        switch.compiled(claim)


@pytest.mark.usefixtures("without_numba")
def test_without_numba_everything_is_left_to_numpy(monkeypatch):
    monkeypatch.setenv(compiling.VARIABLE, "1")
    claim = claim_of(measure="absolute")
    assert switch.compiled(claim) is None
    assert CFU().values(claim, some_fits(claim))[0] > 0
