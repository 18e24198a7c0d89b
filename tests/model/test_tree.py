from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import fairstress as fs
from fairstress.claim.evaluate import evaluate, model_b
from fairstress.functionals.cfu import CFU
from fairstress.model import lattice, tree
from fairstress.model.latent import Layout, errors
from fairstress.model.tree import DETAIL, Detail, grow

EDGES = "a -> x1, x2, x3; x1 -> x2, x3; x2 -> x3"
TIED = "a <-> x1; a <-> x2; a <-> x3; x1 <-> x2 <-> x3; x1 <-> x3"
FREE = "x1 <-> x2 <-> x3; x1 <-> x3"
MIXES = {
    "ordered": {"x1": "ordered", "x2": "ordered", "x3": "ordered"},
    "number, ordered": {"x1": "number", "x2": "ordered", "x3": "ordered"},
    "ordered, number": {"x1": "ordered", "x2": "number", "x3": "number by group"},
    "atoms": {"x1": "zero or number", "x2": "ordered", "x3": "zero or number"},
    "by group": {"x1": "number by group", "x2": "log by group", "x3": "number"},
}
CUTS = {"x1": (-0.5, 0.6), "x2": (-0.2,), "x3": (-1.0, -0.2, 0.4, 1.2)}
P = np.array([[1, 0.3, -0.2, 0.1], [0.3, 1, 0.4, -0.35], [-0.2, 0.4, 1, 0.25], [0.1, -0.35, 0.25, 1]])


def audit_of(kinds: dict[str, str], n: int = 200, *, tied: bool = True, penalty: float = 0.0, **options) -> fs.Audit:
    """An audit of people with features of these kinds, drawn without confounding."""
    graph = fs.CausalGraph.parse(f"{EDGES}; {TIED if tied else FREE}", protected="a", outcome="y")
    cuts = {name: CUTS[name] for name, kind in kinds.items() if kind == "ordered"}
    frame = fs.datasets.simulate(graph, n, kinds=kinds, cuts=cuts, random_state=0).frame
    given = {"degrees": dict.fromkeys(kinds, 1), "predictor_degree": 1, "predictor_penalty": 1.0, **options}
    return fs.Audit.fit(frame, graph, kinds=kinds, penalty=penalty, **given)


def worlds_at(claim, fit, detail=DETAIL):
    """The worlds of everyone, all in one block."""
    (factual,) = claim.blocks()
    return grow(claim.design, claim.model_a, fit, factual, detail)


@pytest.fixture(scope="module", params=list(MIXES))
def claim(request):
    return audit_of(MIXES[request.param]).fitted.claim


# ---------------------------------------------------------------- what a tree is


def test_probabilities_of_a_persons_worlds_add_up_to_one(claim):
    worlds = worlds_at(claim, model_b(claim, P))
    total = np.bincount(worlds.owner, worlds.probability, minlength=claim.rows.a.size)
    np.testing.assert_allclose(total, 1.0, rtol=1e-13)
    assert worlds.probability.min() >= 0


def test_worlds_have_levels_of_the_table_and_atoms_and_nothing_in_between(claim):
    worlds = worlds_at(claim, model_b(claim, P))
    for equation in claim.design.equations:
        x = worlds.x_cf[0, :, equation.column]
        if equation.law.is_ordered:
            assert set(x) <= set(equation.law.codes)
        if equation.law.atom is not None:
            assert x.min() == equation.law.atom


def test_no_two_worlds_of_a_person_are_the_same(claim):
    worlds = worlds_at(claim, model_b(claim, P))
    shown = np.column_stack([worlds.owner, worlds.x_cf[0]])
    assert len(np.unique(shown, axis=0)) == len(shown)


def unmoved(claim):
    """Model A with all that the attribute does taken out."""
    fit, weights, scales = claim.model_a, claim.model_a.weights.copy(), claim.model_a.log_scales.copy()
    for part in Layout.of(claim.design).features:
        terms, place = part.equation.embedding.terms, np.arange(part.weights.start, part.weights.stop)
        if part.equation.law.groups:
            scales[part.scales] = scales[part.scales][0]
            weights[place[place.size // 2 :]] = weights[place[: place.size // 2]]
        else:
            weights[place[list(terms).index("a")]] = 0.0
    return replace(fit, weights=weights, log_scales=scales)


@pytest.mark.parametrize("correlation", [np.eye(4), P], ids=["independent", "tied"])
def test_without_an_effect_of_the_attribute_nobody_moves(claim, correlation):
    worlds = worlds_at(claim, replace(unmoved(claim), correlation=correlation))
    likely = worlds.probability > 1e-9
    assert likely.sum() == claim.rows.a.size
    np.testing.assert_allclose(worlds.x_cf[0][likely], claim.rows.x[worlds.owner[likely]], atol=1e-12)


def test_numbers_by_group_have_one_world_each():
    claim = audit_of(MIXES["by group"]).fitted.claim
    fit = model_b(claim, P)
    worlds = worlds_at(claim, fit)
    np.testing.assert_array_equal(worlds.owner, np.arange(claim.rows.a.size))
    np.testing.assert_array_equal(worlds.probability, 1.0)
    # everyone's errors are what they were, in the scale and with the weights of the other group
    moved = replace(claim.rows, a=claim.rows.a_cf, x=worlds.x_cf[0])
    layout = Layout.of(claim.design)
    for before, after in list(zip(errors(layout, fit, claim.rows), errors(layout, fit, moved), strict=True))[1:]:
        np.testing.assert_allclose(after.lower, before.lower, atol=1e-12)


def test_errors_of_worlds_lie_within_what_is_known_of_the_persons(claim):
    fit = model_b(claim, P)
    worlds, layout = worlds_at(claim, fit), Layout.of(claim.design)
    people = claim.rows.where(worlds.owner)
    moved = replace(people, a=people.a_cf, x=worlds.x_cf[0])
    for part, own, other in zip(layout.parts, errors(layout, fit, people), errors(layout, fit, moved), strict=True):
        if part.equation.column >= 0:
            overlap = np.minimum(own.upper, other.upper) - np.maximum(own.lower, other.lower)
            assert overlap.min() > -1e-9


# ---------------------------------------------------------------- probabilities


def drawn_worlds(claim, fit, i: int, rng: np.random.Generator, n: int = 400_000) -> tuple[pd.Series, int]:
    """Shares of a person's counterfactual levels among drawn errors that give what is observed; how many do."""
    layout, person = Layout.of(claim.design), claim.rows.where(np.array([i]))
    known = list(errors(layout, fit, person))
    C = [v for v, e in enumerate(known) if not e.is_interval[0]]
    D = [v for v, e in enumerate(known) if e.is_interval[0]]
    R, e = fit.correlation, np.empty((n, len(known)))
    e[:, C] = [known[v].lower[0] for v in C]
    K = R[np.ix_(D, C)] @ np.linalg.inv(R[np.ix_(C, C)])
    S = R[np.ix_(D, D)] - K @ R[np.ix_(C, D)]
    e[:, D] = e[0, C] @ K.T + rng.standard_normal((n, len(D))) @ np.linalg.cholesky(S).T
    inside = np.all([(known[v].lower[0] < e[:, v]) & (e[:, v] <= known[v].upper[0]) for v in D], axis=0)
    e = e[inside]
    x, a_cf = np.repeat(person.x, len(e), axis=0), np.repeat(person.a_cf, len(e))
    for v, part in enumerate(layout.parts):
        if part.equation.column >= 0:
            index = part.equation.values(a_cf, x) @ part.w(fit)
            x[:, part.equation.column] = (
                np.array(part.equation.law.codes)[np.searchsorted(fit.cuts[part.cuts], index + e[:, v])]
                if part.equation.law.is_ordered
                else index + part.sigma(fit, a_cf) * e[:, v]
            )
    ordered = [part.equation.column for part in layout.features if part.equation.law.is_ordered]
    return pd.DataFrame(x[:, ordered].round(9)).value_counts(normalize=True), len(e)


@pytest.mark.parametrize("kinds", ["ordered", "number, ordered", "ordered, number"])
def test_probabilities_are_shares_among_errors_drawn_given_what_is_observed(kinds):
    claim, rng = audit_of(MIXES[kinds]).fitted.claim, np.random.default_rng(1)
    fit = model_b(claim, P)
    worlds = worlds_at(claim, fit)
    ordered = [equation.column for equation in claim.design.equations if equation.law.is_ordered]
    several, compared = np.flatnonzero(np.bincount(worlds.owner) >= 2), 0
    for i in several[:: max(1, several.size // 6)]:
        shares, n = drawn_worlds(claim, fit, i, rng)
        if n < 1000:
            continue
        compared += 1
        own = worlds.owner == i
        found = pd.Series(
            worlds.probability[own], index=pd.MultiIndex.from_arrays(worlds.x_cf[0, own][:, ordered].round(9).T)
        )
        assert set(shares.index) <= set(found.index)
        shares = shares.reindex(found.index, fill_value=0.0)
        error = np.sqrt(found * (1 - found) / n)
        assert (np.abs(found - shares) <= 4.5 * error + 1 / n).all()
    assert compared >= 4


def test_a_world_that_is_a_persons_only_one_is_certain():
    claim = audit_of(MIXES["ordered"]).fitted.claim
    worlds = worlds_at(claim, model_b(claim, P))
    alone = np.flatnonzero(np.bincount(worlds.owner) == 1)
    assert np.isin(worlds.owner, alone).any()
    np.testing.assert_array_equal(worlds.probability[np.isin(worlds.owner, alone)], 1.0)


# ---------------------------------------------------------------- atoms


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (-30.5, -30.0), (29.0, 30.0), (0.0, 1e-6), (-40.0, 40.0)])
def test_pieces_of_an_interval_have_equal_probabilities(low, high):
    edges = tree._pieces(np.array([low]), np.array([high]), 8)[0]
    assert edges.shape == (9,)
    assert (edges[0], edges[-1]) == (low, high)
    assert (np.diff(edges) > 0).all()
    below = stats.norm.logcdf(edges if low <= -high else -edges[::-1])
    log_p = below[1:] + np.log(-np.expm1(below[:-1] - below[1:]))
    np.testing.assert_allclose(log_p, log_p.mean(), atol=1e-9)


@pytest.mark.parametrize("p", [0.0, 0.5, -0.8])
def test_people_at_an_atom_are_integrated_over_their_error(p):
    graph = fs.CausalGraph.parse("a -> x1, x2; x1 <-> x2", protected="a", outcome="y")
    weights = {"x1": {"a": 0.3}, "x2": {"a": 0.8}}
    kinds = {"x1": "number", "x2": "zero or number"}
    frame = fs.datasets.simulate(graph, 300, kinds=kinds, weights=weights, random_state=0).frame
    options = {"degrees": {"x1": 1, "x2": 1}, "predictor_degree": 1, "predictor_penalty": 1.0}
    claim = fs.Audit.fit(frame, graph, kinds=kinds, penalty=0, **options).fitted.claim
    fit = model_b(claim, np.array([[1.0, p], [p, 1.0]]))
    worlds, part = worlds_at(claim, fit), Layout.of(claim.design).parts[1]
    x, atom = claim.rows.x[:, 1], part.equation.law.atom
    square = worlds.mean((worlds.x_cf[0, :, 1] - x[worlds.owner]) ** 2)
    e1 = next(errors(Layout.of(claim.design), fit, claim.rows)).lower
    people = np.flatnonzero((x <= atom) & (np.bincount(worlds.owner) > 1))
    assert people.size > 20
    law = stats.norm(p * e1, np.sqrt(1 - p**2))

    def expected(i: int) -> float:
        index = [float(part.equation.values(np.array([a]), claim.rows.x[[i]])[0] @ part.w(fit)) for a in (-1.0, 1.0)]
        own, other = index if claim.rows.a[i] < 0 else index[::-1]
        sigma = fit.scales[part.scales][0]
        top, start = (atom - own) / sigma, (atom - other) / sigma
        one = stats.norm(law.mean()[i], np.sqrt(1 - p**2))
        total, _ = integrate.quad(lambda e: (other + sigma * e - atom) ** 2 * one.pdf(e), start, top, epsabs=1e-14)
        return total / one.cdf(top)

    exact = np.array([expected(i) for i in people])
    # each of four pieces stands at its mean: what varies within it is lost, a sixteenth of it in as many pieces again
    np.testing.assert_allclose(square[people].mean(), exact.mean(), rtol=0.025)
    np.testing.assert_allclose(square[people], exact, rtol=0.1)
    fine = worlds_at(claim, fit, Detail(pieces=16))
    square = fine.mean((fine.x_cf[0, :, 1] - x[fine.owner]) ** 2)
    np.testing.assert_allclose(square[people].mean(), exact.mean(), rtol=0.0025)
    np.testing.assert_allclose(square[people], exact, rtol=0.02)


# ---------------------------------------------------------------- too many worlds


@pytest.fixture(scope="module")
def crowded():
    """Four features of seven levels that the attribute moves far, the first two tied; and Model B."""
    names = ["x1", "x2", "x3", "x4"]
    edges = [("a", name) for name in names] + list(itertools.combinations(names, 2))
    graph = fs.CausalGraph(edges=edges, pairs=[("x1", "x2")], protected="a", outcome="y")
    kinds, cuts = dict.fromkeys(names, "ordered"), dict.fromkeys(names, tuple(np.linspace(-1.5, 1.5, 6)))
    weights = {name: {"a": 0.7, **dict.fromkeys(names[:j], 0.25)} for j, name in enumerate(names)}
    frame = fs.datasets.simulate(graph, 3000, kinds=kinds, cuts=cuts, weights=weights, random_state=0).frame
    options = {"degrees": dict.fromkeys(names, 1), "predictor_degree": 1, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(frame, graph, kinds=kinds, penalty=0, **options)
    return audit.fitted.claim, model_b(audit.fitted.claim, audit._read({("x1", "x2"): 0.4}))


def test_of_too_many_worlds_some_are_drawn_whose_means_are_off_by_no_more_than_chance(crowded, monkeypatch):
    monkeypatch.setattr(tree, "RARE", 0.0)
    every, some = (worlds_at(*crowded, Detail(most=most)) for most in (10_000, 16))
    many = np.bincount(every.owner) > 16
    assert many.sum() > 100
    assert np.bincount(some.owner).max() <= 17
    np.testing.assert_allclose(np.bincount(some.owner, some.probability), 1.0, rtol=1e-13)
    for f in (lambda x: x[:, 3], lambda x: x[:, 0] * x[:, 2], lambda x: x.sum(axis=1)):
        values = f(every.x_cf[0])
        off = some.mean(f(some.x_cf[0])) - every.mean(values)
        np.testing.assert_allclose(off[~many], 0.0, atol=1e-12)
        assert abs(off[many].mean()) < 3.5 * off[many].std() / np.sqrt(many.sum())
        within = np.sqrt(np.maximum(every.mean(values**2) - every.mean(values) ** 2, 0.0))[many]
        # what as many independent draws would have: fixed points do better, capped chances worse
        assert off[many].std() < 1.5 * within.mean() / np.sqrt(16)


def test_worlds_that_hardly_ever_happen_are_cut_off_and_change_next_to_nothing(crowded, monkeypatch):
    some = worlds_at(*crowded, Detail(most=10_000))
    monkeypatch.setattr(tree, "RARE", 0.0)
    every = worlds_at(*crowded, Detail(most=10_000))
    assert some.owner.size < every.owner.size
    means = [worlds.mean(worlds.x_cf[0].sum(axis=1)) for worlds in (some, every)]
    np.testing.assert_allclose(*means, atol=1e-2)
    assert np.abs(means[0] - means[1]).mean() < 1e-4


def mean_squares(claim, fit) -> np.ndarray:
    """(r,) the mean square of the sum of all changes: of features with the attribute as only parent, at P = I."""
    rows, layout = claim.rows, Layout.of(claim.design)
    mean, variance = np.zeros(rows.a.size), np.zeros(rows.a.size)
    for part, own in zip(layout.parts, errors(layout, fit, rows), strict=True):
        edges = part.edges(fit) - (part.equation.values(rows.a_cf, rows.x) @ part.w(fit))[:, None]
        ends = [np.clip(side, own.lower[:, None], own.upper[:, None]) for side in (edges[:, :-1], edges[:, 1:])]
        p = stats.norm.cdf(ends[1]) - stats.norm.cdf(ends[0])
        p /= p.sum(axis=1, keepdims=True)
        change = np.array(part.equation.law.codes) - rows.x[:, part.equation.column][:, None]
        first, second = ((p * change**k).sum(axis=1) for k in (1, 2))
        mean, variance = mean + first, variance + second - first**2
    return mean**2 + variance


@pytest.mark.parametrize("m", [6, 12, 20])
def test_of_many_features_as_many_worlds_are_drawn_as_give_each_persons_mean_square(m):
    names = [f"x{j + 1}" for j in range(m)]
    edges = [("a", name) for name in names]
    graph = fs.CausalGraph(edges=edges, pairs=[("x1", "x2")], protected="a", outcome="y")
    kinds, cuts = dict.fromkeys(names, "ordered"), dict.fromkeys(names, (-1.2, -0.4, 0.4, 1.2))
    weights = {name: {"a": 0.35} for name in names}
    frame = fs.datasets.simulate(graph, 200, kinds=kinds, cuts=cuts, weights=weights, random_state=0).frame
    options = {"degrees": dict.fromkeys(names, 1), "predictor_degree": 1, "predictor_penalty": 1.0}
    claim = fs.Audit.fit(frame, graph, kinds=kinds, penalty=0, **options).fitted.claim
    worlds, exact = worlds_at(claim, claim.model_a), mean_squares(claim, claim.model_a)
    found = worlds.mean((worlds.x_cf[0] - claim.rows.x[worlds.owner]).sum(axis=1) ** 2)
    assert found.mean() == pytest.approx(exact.mean(), rel=0.005)
    assert np.sqrt(np.mean((found - exact) ** 2)) < 0.03 * exact.mean()


# ---------------------------------------------------------------- derivatives by P


@pytest.mark.parametrize("tied", [True, False], ids=["attribute tied", "attribute free"])
@pytest.mark.parametrize("kinds", list(MIXES))
def test_the_derivative_of_cfu_is_the_limit_of_differences_between_refitted_models(kinds, tied):
    claim = audit_of(MIXES[kinds], 300, tied=tied).fitted.claim
    at = P if tied else P[1:, 1:]
    found, h = evaluate(claim, at, CFU(), gradient=True), 2e-5
    assert found.value > 1e-3 or (kinds == "by group" and not tied)
    slopes, numeric = [], []
    for j, k in claim.system.pairs:
        E = np.zeros_like(at)
        E[j, k] = E[k, j] = h
        numeric.append((evaluate(claim, at + E, CFU()).value - evaluate(claim, at - E, CFU()).value) / (2 * h))
        slopes.append(found.gradient[j, k] + found.gradient[k, j])
    size = max(np.abs(numeric).max(), found.value, 1e-9)
    np.testing.assert_allclose(slopes, numeric, rtol=0, atol=max(1e-4, found.fit.error) * size)


def test_with_four_intervals_the_derivative_of_cfu_holds_where_all_correlations_are_equal(monkeypatch):
    claim = audit_of(MIXES["ordered"], 300).fitted.claim
    at, h = np.full((4, 4), 0.2) + 0.8 * np.eye(4), 1e-4
    found = evaluate(claim, at, CFU(), gradient=True)
    # in another order of integration probabilities are others, within their error: differences keep to one
    monkeypatch.setattr(lattice, "_order", lambda R: np.arange(len(R)))
    for j, k in claim.system.pairs:
        E = np.zeros((4, 4))
        E[j, k] = E[k, j] = h
        ahead, behind = (evaluate(claim, at + s * E, CFU()).value for s in (1, -1))
        slope = found.gradient[j, k] + found.gradient[k, j]
        assert slope == pytest.approx((ahead - behind) / (2 * h), abs=1e-3 * found.value)
