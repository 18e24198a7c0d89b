from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstress as fs
from fairstress.errors import Status
from fairstress.model import mixed, mixed_rows
from fairstress.model.design import structural_moments
from fairstress.model.fit import System
from fairstress.model.fit import fit as gaussian_fit
from fairstress.model.latent import Layout, errors
from fairstress.model.mixed import MixedSystem
from fairstress.model.mixed_rows import Coordinates, is_interval
from fairstress.model.threshold import ThresholdSystem

FAMILIES = {
    "number": {},
    "log": {},
    "number by group": {},
    "zero or number": {"atoms": 0.0},
    "ordered": {"cuts": (-0.4,)},
    "ordered, 3": {"cuts": (-0.5, 0.6)},
    "ordered, 5": {"cuts": (-1.0, -0.3, 0.3, 1.0)},
}
KNOWN = ("number", "log", "number by group")  # the families whose errors everyone shows


def graph_of(m: int, *, tied: bool) -> fs.CausalGraph:
    """All edges forward, all pairs of features, and those of the attribute where it is tied."""
    names = [f"x{j + 1}" for j in range(m)]
    edges = [("a", name) for name in names] + list(itertools.combinations(names, 2))
    pairs = list(itertools.combinations(names, 2)) + [("a", name) for name in names if tied]
    return fs.CausalGraph(edges=edges, pairs=pairs, protected="a", outcome="y")


def simulated(families: tuple[str, ...], n: int, *, tied: bool, seed: int = 0) -> pd.DataFrame:
    """People whose features are of these families, with random weights and independent errors."""
    names = [f"x{j + 1}" for j in range(len(families))]
    given = {
        option: {name: FAMILIES[f][option] for name, f in zip(names, families, strict=True) if option in FAMILIES[f]}
        for option in ("cuts", "atoms")
    }
    graph = graph_of(len(families), tied=tied)
    return fs.datasets.simulate(graph, n, kinds=kinds_of(families), random_state=seed, **given).frame


def kinds_of(families: tuple[str, ...]) -> dict[str, str]:
    return {f"x{j + 1}": family.split(",")[0] for j, family in enumerate(families)}


def claim_on(frame: pd.DataFrame, graph: fs.CausalGraph, families: tuple[str, ...], penalty: float = 0.0):
    kinds = kinds_of(families)
    options = {"degrees": dict.fromkeys(kinds, 1), "penalty": penalty, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, graph, kinds=kinds, **options).fitted.claim


def claim_of(families: tuple[str, ...], n: int = 300, *, tied: bool, penalty: float = 0.0):
    """A claim on people whose features are of these families, every pair free."""
    return claim_on(simulated(families, n, tied=tied), graph_of(len(families), tied=tied), families, penalty)


def random_correlation(size: int, rng: np.random.Generator) -> np.ndarray:
    """A correlation without zeros, its least eigenvalue above 0.05."""
    while True:
        P = stats.random_correlation.rvs(rng.dirichlet(np.full(size, 3.0)) * size, random_state=rng)
        if np.linalg.eigvalsh(P)[0] > 0.05:
            return (P + P.T) / 2


def random_coordinates(at: Coordinates, rng: np.random.Generator) -> np.ndarray:
    """Any scales, weights and ascending cuts."""
    z = 0.7 * rng.standard_normal(at.size)
    for u, tau in zip(at.u, at.tau, strict=True):
        z[u] = np.exp(rng.uniform(-1, 1, u.stop - u.start))
        z[tau] = np.sort(1.2 * rng.standard_normal(tau.stop - tau.start))
    return z


def random_mix(seed: int) -> tuple[tuple[str, ...], bool]:
    """Two to four families, and whether the attribute is tied: at most three errors are intervals, at least one is."""
    rng = np.random.default_rng(seed)
    while True:
        families = tuple(rng.choice(list(FAMILIES), rng.integers(2, 5)).tolist())
        tied = bool(rng.integers(2))
        mixed = not set(families) <= {"number", "log"}
        if mixed and 1 <= sum(family not in KNOWN for family in families) + tied <= 3:
            return families, tied


def system_of(claim) -> MixedSystem:
    assert isinstance(claim.system, MixedSystem)
    return claim.system


def as_start(system: MixedSystem, z: np.ndarray, claim):
    """Coordinates as the fit from which Newton sets out."""
    return system.data.coordinates.to_fit(z, claim.model_a.correlation, 0.0, 0.0, Status.CONVERGED, 0.0)


MIXES = [random_mix(seed) for seed in range(12)]
NAMES = [" + ".join(families) + (", tied" if tied else "") for families, tied in MIXES]


# ---------------------------------------------------------------- the objective


@pytest.mark.parametrize(("families", "tied"), MIXES, ids=NAMES)
def test_without_penalty_the_objective_is_convex_wherever_one_looks(families, tied):
    system, rng = system_of(claim_of(families, 150, tied=tied)), np.random.default_rng(1)
    for _ in range(4):
        at = system._place(random_correlation(len(system.layout.parts), rng))
        curvature = np.linalg.eigvalsh(system._objective(random_coordinates(system.data.coordinates, rng), at, 2)[2])
        assert curvature[0] > -1e-8 * curvature[-1]


@pytest.mark.parametrize("penalty", [0.0, 30.0])
@pytest.mark.parametrize(("families", "tied"), MIXES[:6], ids=NAMES[:6])
def test_gradient_and_hessian_of_the_objective_are_limits_of_differences(families, tied, penalty):
    system, rng = system_of(claim_of(families, 60, tied=tied, penalty=penalty)), np.random.default_rng(2)
    at = system._place(random_correlation(len(system.layout.parts), rng))
    z = random_coordinates(system.data.coordinates, rng)
    F, g, H, error = system._objective(z, at, 2)
    up, down = ([system._objective(z + s, at, 1) for s in sign * 1e-6 * np.eye(z.size)] for sign in (1, -1))
    # sums of size F and g, good to some 14 digits, over 2e-6
    numeric = np.array([(u[0] - d[0]) / 2e-6 for u, d in zip(up, down, strict=True)])
    np.testing.assert_allclose(g, numeric, rtol=1e-6, atol=1e-6 * np.abs(g).max())
    numeric = np.array([(u[1] - d[1]) / 2e-6 for u, d in zip(up, down, strict=True)])
    np.testing.assert_allclose(H, numeric, rtol=1e-6, atol=1e-7 * np.abs(H).max())
    np.testing.assert_allclose(H, H.T, rtol=1e-10, atol=1e-12 * np.abs(H).max())
    assert error == 0
    assert system._objective(z, at, 0)[0] == pytest.approx(F, rel=1e-13)


def log_density(claim, fit, i: int) -> float:
    """Of one person: the density of the known errors, scaled, times the chance of the intervals, all by scipy."""
    layout, rows = Layout.of(claim.design), claim.rows.where(np.array([i]))
    known = list(errors(layout, fit, rows))
    C = [v for v, e in enumerate(known) if not e.is_interval[0]]
    D = [v for v, e in enumerate(known) if e.is_interval[0]]
    P, value = fit.correlation, 0.0
    e = np.array([known[v].lower[0] for v in C])
    if C:
        value = stats.multivariate_normal.logpdf(e, np.zeros(len(C)), P[np.ix_(C, C)])
        value -= sum(np.log(layout.parts[v].sigma(fit, rows.a)[0]) for v in C)
    if D:
        K = P[np.ix_(D, C)] @ np.linalg.inv(P[np.ix_(C, C)]) if C else np.zeros((len(D), 0))
        S = P[np.ix_(D, D)] - K @ P[np.ix_(C, D)]
        lower, upper = (np.array([getattr(known[v], end)[0] for v in D]) for end in ("lower", "upper"))
        value += np.log(stats.multivariate_normal.cdf(upper, K @ e, S, lower_limit=lower, abseps=1e-9, releps=1e-9))
    return float(value)


@pytest.mark.parametrize(
    ("families", "tied"), [(("ordered, 3", "number"), True), (("zero or number", "number by group"), True)]
)
def test_the_log_likelihood_is_the_sum_of_what_scipy_gives_each_person(families, tied):
    claim = claim_of(families, 60, tied=tied)
    P = random_correlation(3, np.random.default_rng(5))
    fit = claim.system.fits(P[None], claim.model_a, check_minima=True)[0]
    expected = [log_density(claim, fit, i) for i in range(claim.rows.a.size)]
    assert fit.log_likelihood == pytest.approx(float(claim.rows.weight @ expected), rel=1e-9)
    assert system_of(claim).deviance(fit) == pytest.approx(-2 * fit.log_likelihood, rel=1e-12)


# ---------------------------------------------------------------- fits


@pytest.mark.parametrize(("families", "tied"), MIXES[:6], ids=NAMES[:6])
def test_without_penalty_twenty_starts_end_at_one_optimum(families, tied):
    claim = claim_of(families, 150, tied=tied)
    system, rng = system_of(claim), np.random.default_rng(3)
    P = random_correlation(len(system.layout.parts), rng)
    starts = [as_start(system, random_coordinates(system.data.coordinates, rng), claim) for _ in range(20)]
    fits = [system.fits(P[None], start, check_minima=True)[0] for start in starts]
    assert {fit.status for fit in fits} == {Status.CONVERGED}
    objectives = np.array([fit.objective for fit in fits])
    assert np.ptp(objectives) <= 1e-9 * system.n
    z = np.array([system.data.coordinates.from_fit(fit) for fit in fits])
    np.testing.assert_allclose(z, np.broadcast_to(z[0], z.shape), atol=1e-6)


def test_with_four_tied_ordered_features_starts_agree_within_the_stated_error():
    claim = claim_of(("ordered, 3", "ordered", "ordered, 3", "ordered"), 150, tied=False)
    system, rng = system_of(claim), np.random.default_rng(4)
    P = random_correlation(4, rng)
    starts = [claim.model_a]
    starts += [as_start(system, random_coordinates(system.data.coordinates, rng), claim) for _ in range(3)]
    fits = [system.fits(P[None], start, check_minima=True)[0] for start in starts]
    assert {fit.status for fit in fits} == {Status.CONVERGED}
    error = max(fit.error for fit in fits)
    assert 0 < error < 1e-2
    # of each person's log probability, twice
    assert np.ptp([fit.objective for fit in fits]) <= 2 * error * system.n


def test_a_penalised_fit_is_the_best_of_what_its_sides_lead_to():
    claim = claim_of(("ordered, 3", "number", "zero or number"), 120, tied=True, penalty=40.0)
    system, rng = system_of(claim), np.random.default_rng(6)
    P = random_correlation(4, rng)
    best = system.fits(P[None], claim.model_a, check_minima=True)[0]
    for _ in range(5):
        start = as_start(system, random_coordinates(system.data.coordinates, rng), claim)
        assert system.fits(P[None], start, check_minima=False)[0].objective >= best.objective - 1e-8 * system.n


def test_at_the_identity_a_feature_below_changes_nothing_above():
    families = ("ordered, 3", "number by group", "zero or number")
    frame = simulated(families, 300, tied=True)
    both, above = (claim_on(frame, graph_of(m, tied=True), families[:m]) for m in (3, 2))
    d = above.design.feature_of.size
    np.testing.assert_allclose(both.model_a.cuts, above.model_a.cuts, atol=1e-9)
    np.testing.assert_allclose(both.model_a.log_scales[:2], above.model_a.log_scales, atol=1e-9)
    np.testing.assert_allclose(both.model_a.weights[:d], above.model_a.weights[:d], atol=1e-8)


LOOSE = "a -> x1, x2, x3, x4; x1 -> x2; x2 -> x3; x1, x3 -> x4"


@pytest.mark.parametrize("penalty", [0.0, 15.0])
def test_variables_that_stand_in_no_pair_have_the_fit_that_they_have_with_all_others(penalty):
    families = ("ordered, 3", "zero or number", "number by group", "ordered")
    graph = fs.CausalGraph.parse(f"{LOOSE}; x1 <-> x3", protected="a", outcome="y")
    claim = claim_on(simulated(families, 300, tied=False), graph, families, penalty)
    system, P = system_of(claim), np.eye(4)
    P[0, 2] = P[2, 0] = 0.6
    assert system.tied is not None
    found = system.fits(P[None], claim.model_a, check_minima=True)[0]
    whole = replace(system, tied=None).fits(P[None], claim.model_a, check_minima=True)[0]
    for name in ("weights", "log_scales", "cuts"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), atol=1e-8)
    assert np.abs(found.weights - claim.model_a.weights).max() > 0.01
    assert found.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
    ((pair, ahead),) = system.nearby(found)
    ((_, expected),) = replace(system, tied=None).nearby(whole)
    assert pair == (0, 2)
    for name in ("weights", "log_scales", "cuts", "correlation"):
        np.testing.assert_allclose(getattr(ahead, name), getattr(expected, name), atol=1e-8)


def test_people_with_weight_two_are_people_twice():
    families = ("ordered, 3", "zero or number", "number by group")
    claim, P = claim_of(families, 200, tied=True), random_correlation(4, np.random.default_rng(7))
    rows = claim.rows
    twice = rows.where(np.repeat(np.arange(rows.a.size), 2))
    heavy = replace(rows, weight=2 * rows.weight)
    found = [
        system_of(claim).of_rows(claim.design, some, 1.0).fits(P[None], claim.model_a, check_minima=True)[0]
        for some in (twice, heavy)
    ]
    np.testing.assert_allclose(found[0].weights, found[1].weights, atol=1e-9)
    np.testing.assert_allclose(found[0].cuts, found[1].cuts, atol=1e-9)
    assert found[0].log_likelihood == pytest.approx(found[1].log_likelihood, rel=1e-12)


def test_blocks_that_are_not_kept_in_memory_give_the_same_fit(monkeypatch):
    claim, P = (
        claim_of(("ordered, 3", "zero or number"), 200, tied=True),
        random_correlation(3, np.random.default_rng(8)),
    )
    kept = system_of(claim).fits(P[None], claim.model_a, check_minima=True)[0]
    monkeypatch.setattr(mixed_rows, "KEPT", 0)
    anew = system_of(claim).of_rows(claim.design, claim.rows, 1.0)
    passed = anew.fits(P[None], claim.model_a, check_minima=True)[0]
    assert not anew.data._kept
    np.testing.assert_array_equal(passed.weights, kept.weights)
    assert passed.objective == kept.objective


def test_columns_that_differ_by_their_sign_alone_are_kept_once():
    claim = claim_of(("number", "ordered, 3", "number by group", "ordered, 5"), 200, tied=True)
    for block in system_of(claim).data.blocks():
        distinct = block.columns[block.end.size :]
        assert len(distinct) < block.where.size
        assert len(np.unique(np.vstack([distinct, -distinct]), axis=0)) == 2 * len(distinct)
        assert (np.abs(block.signs).sum(axis=0) == 1).all()


def test_distinct_columns_with_their_signs_are_all_columns():
    x, y = np.random.default_rng(9).standard_normal((2, 30))
    columns = np.array([-x, y, 0 * x, x, -0.0 * x, -x, x + y])
    distinct, signs = mixed_rows._distinct(columns)
    assert len(distinct) == 4
    np.testing.assert_array_equal(signs.T @ distinct, columns)
    distinct, signs = mixed_rows._distinct(columns[:0])
    assert distinct.shape == (0, 30)
    assert signs.shape == (0, 0)


def test_two_roots_with_levels_are_one_table_of_normal_probabilities():
    rng = np.random.default_rng(10)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 300), "x1": rng.integers(0, 3, 300), "x2": rng.standard_normal(300)})
    frame["y"] = frame["x1"] + frame["x2"]
    edges = [("a", "x2"), ("x1", "x2")]
    claim = claim_on(
        frame, fs.CausalGraph(edges=edges, pairs=[("a", "x1")], protected="a", outcome="y"), ("ordered, 3", "number")
    )
    whole, P = system_of(claim), np.array([[1, 0.4], [0.4, 1]])
    assert whole.tied is not None
    (fit,) = whole.tied.system.fits(P[None], whole.tied._inner(whole, claim.model_a), check_minima=True)
    # the attribute's cut stands first
    upto = [
        [stats.multivariate_normal.cdf([h, k], np.zeros(2), P) for k in (*fit.cuts[1:], 9)] for h in (fit.cuts[0], 9)
    ]
    cells = np.diff(np.diff(upto, axis=0, prepend=0), axis=1, prepend=0)
    count = pd.crosstab(frame["a"], frame["x1"]).to_numpy()
    assert fit.log_likelihood == pytest.approx((count * np.log(cells)).sum(), rel=1e-7)


def test_a_hessian_that_is_kept_for_the_last_steps_leads_to_the_same_fit(monkeypatch):
    claim, P = (
        claim_of(("number", "ordered, 3", "ordered"), 400, tied=False),
        random_correlation(3, np.random.default_rng(11)),
    )
    made = []
    of = MixedSystem._objective
    monkeypatch.setattr(MixedSystem, "_objective", lambda s, z, at, n: made.append(n) or of(s, z, at, n))
    kept = system_of(claim).fits(P[None], claim.model_a, check_minima=True)[0]
    assert made[-1] == 1
    monkeypatch.setattr(mixed, "KEPT_CURVATURE", 0.0)
    anew = system_of(claim).fits(P[None], claim.model_a, check_minima=True)[0]
    assert made[-1] == 2
    for name in ("weights", "log_scales", "cuts"):
        np.testing.assert_allclose(getattr(kept, name), getattr(anew, name), rtol=1e-10, atol=1e-11)
    assert kept.objective == pytest.approx(anew.objective, rel=1e-14)


def test_coordinates_of_a_fit_make_the_same_fit():
    claim = claim_of(("ordered, 5", "number by group", "zero or number", "log"), 200, tied=True)
    at, fit = system_of(claim).data.coordinates, claim.model_a
    again = at.to_fit(at.from_fit(fit), fit.correlation, fit.log_likelihood, fit.objective, fit.status, fit.error)
    for name in ("weights", "log_scales", "cuts"):
        np.testing.assert_allclose(getattr(again, name), getattr(fit, name), rtol=1e-14, atol=1e-15)


def test_the_people_of_all_patterns_are_everyone():
    system = system_of(claim_of(("zero or number", "zero or number"), 200, tied=False))
    rows = system.data.rows
    at_atom = np.array([is_interval(part, rows) for part in system.layout.parts])
    for pattern in system.data.patterns:
        shown = np.array([v in pattern.intervals for v in range(2)])
        assert pattern.n == rows.weight[(at_atom == shown[:, None]).all(axis=0)].sum()
    assert sum(pattern.n for pattern in system.data.patterns) == 200


# ---------------------------------------------------------------- against the threshold's own system


@pytest.mark.parametrize("penalty", [0.0, 20.0])
def test_a_two_valued_attribute_behind_a_threshold_is_the_one_ordered_variable_of_a_mixed_system(penalty):
    claim = claim_of(("number", "number", "number"), 300, tied=True, penalty=penalty)
    system = claim.system
    assert isinstance(system, ThresholdSystem)
    own = claim.design.protected
    pairs = list(itertools.combinations(range(4), 2))
    other = MixedSystem.of(
        claim.design, claim.rows, system.features.penalties, np.zeros(len(own.embedding.terms)), pairs
    )
    start, d = other.independent(), claim.design.feature_of.size
    rng = np.random.default_rng(9)
    for P in (np.eye(4), *(random_correlation(4, rng) for _ in range(4))):
        ours = other.fits(P[None], start, check_minima=True)[0]
        theirs = system.fits(P[None], claim.model_a, check_minima=True)[0]
        assert ours.status is theirs.status is Status.CONVERGED
        np.testing.assert_allclose(ours.weights[:d], theirs.weights[:d], atol=1e-8)
        np.testing.assert_allclose(ours.log_scales, theirs.log_scales, atol=1e-8)
        np.testing.assert_allclose(-ours.cuts, theirs.weights[d:], atol=1e-8)  # a root's only weight is its constant
        assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-12)
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-12)


def test_numbers_by_group_have_the_gaussian_fit_of_each_group_alone():
    claim = claim_of(("number by group", "number by group", "number by group"), 300, tied=False)
    P = random_correlation(3, np.random.default_rng(11))
    found, total = system_of(claim).fits(P[None], claim.model_a, check_minima=True)[0], 0.0
    layout = system_of(claim).layout
    for g, code in enumerate((-1.0, 1.0)):
        M = structural_moments(claim.rows.where(np.flatnonzero(claim.rows.a == code)), claim.design.equations)
        own = np.flatnonzero(np.diag(M.G))
        alone = System(
            replace(M, G=M.G[np.ix_(own, own)], C=M.C[own]), claim.design.feature_of[own], np.zeros(own.size)
        )
        one = gaussian_fit(alone, P)
        np.testing.assert_allclose(found.weights[own], one.weights, atol=1e-8)
        np.testing.assert_allclose(
            [found.log_scales[part.scales][g] for part in layout.parts], one.log_scales, atol=1e-8
        )
        total += one.log_likelihood
    assert found.log_likelihood == pytest.approx(total, rel=1e-12)


# ---------------------------------------------------------------- derivatives by P


@pytest.mark.parametrize("penalty", [0.0, 25.0])
def test_the_fit_where_a_pair_is_a_little_larger_lies_on_the_way_to_that_where_it_is_much_larger(penalty):
    claim = claim_of(("ordered, 3", "number", "zero or number"), 300, tied=True, penalty=penalty)
    system, h = system_of(claim), 1e-3
    P = random_correlation(4, np.random.default_rng(10))
    fit = system.fits(P[None], claim.model_a, check_minima=True)[0]
    nearby = dict(system.nearby(fit))
    assert set(nearby) == set(itertools.combinations(range(4), 2))
    for (j, k), ahead in nearby.items():
        E = np.zeros((4, 4))
        E[j, k] = E[k, j] = h
        sides = system.fits(np.array([P + E, P - E]), fit, check_minima=False)
        for name in ("weights", "log_scales", "cuts"):
            slope = (getattr(ahead, name) - getattr(fit, name)) / mixed.DIFFERENCE
            refitted = (getattr(sides[0], name) - getattr(sides[1], name)) / (2 * h)
            # third derivatives times h^2 on one side, rounding of some 1e-11 over DIFFERENCE on the other
            np.testing.assert_allclose(slope, refitted, rtol=1e-4, atol=1e-4 * max(np.abs(refitted).max(), 0.1))


# ---------------------------------------------------------------- separation


def test_levels_below_a_parent_with_long_tails_are_not_separated():
    rng = np.random.default_rng(0)
    a, n = rng.choice([-1, 1], 2000), 2000
    x1 = 0.3 * a + rng.standard_t(3, n)
    x2 = (0.3 * a + 0.8 * x1 + rng.standard_normal(n) > 0).astype(int)
    frame = pd.DataFrame({"a": a, "x1": x1, "x2": x2, "y": rng.standard_normal(n)})
    model = claim_on(frame, graph_of(2, tied=False), ("number", "ordered")).model_a
    # the index runs over thirty standard deviations of the error, but most people are near the cut
    assert model.weights[-2:] == pytest.approx([0.3, 0.8 * x1.std()], abs=0.1)
