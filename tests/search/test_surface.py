from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.interpolate import RBFInterpolator
from sklearn.ensemble import HistGradientBoostingRegressor

import fairstress as fs
from fairstress.budgets import Pairwise
from fairstress.claim.evaluate import evaluate_many
from fairstress.functionals.cfu import CFU
from fairstress.search.known import Known
from fairstress.search.problem import Problem
from fairstress.search.sets import CorrelationSet, correlation_set
from fairstress.search.surface import _surface, climb_surface

EDGES = "a -> x1, x2, x3; x1 -> x2, x3; x2 -> x3"
MIXES = {
    "levels first": ({"x1": "ordered", "x2": "number", "x3": "number"}, {"x1": (0.1,)}, "a <-> x1; x1 <-> x2"),
    "levels between": (
        {"x1": "number", "x2": "ordered", "x3": "number"},
        {"x2": (-0.5, 0.6)},
        "a <-> x2; x1 <-> x2; x2 <-> x3",
    ),
}
TREES = HistGradientBoostingRegressor(max_iter=20, random_state=0)
PREDICTORS = {"with derivatives": (None, 0.001), "without": (fs.Predictor(TREES, input="features"), 0.01)}


def audit_of(mix: str, predictor: str, n: int = 200) -> fs.Audit:
    kinds, cuts, pairs = MIXES[mix]
    graph = fs.CausalGraph.parse(f"{EDGES}; {pairs}", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, n, kinds=kinds, cuts=cuts, random_state=0).frame
    given = {"degrees": dict.fromkeys(kinds, 1), "penalty": 1, "predictor_degree": 2, "predictor_penalty": 1}
    return fs.Audit.fit(frame, graph, kinds=kinds, predictor=PREDICTORS[predictor][0], random_state=0, **given)


def evolved(audit: fs.Audit, p_max: float) -> float:
    """The largest CFU that differential evolution finds within the budget."""
    fitted = audit.fitted
    members = correlation_set(Pairwise(), p_max, fitted.graph, fitted.variables)

    def loss(population):
        points = np.array([members.shrink(p) for p in population.T])
        found = evaluate_many(fitted.claim, members.matrix(points), CFU(), check_minima=False)
        return -np.array([one.value for one in found])

    # a little wider than the box, so that its faces and corners are as likely as its inside
    bounds = [(-1.15 * p_max, 1.15 * p_max)] * len(members.pairs)
    options = {"popsize": 5, "maxiter": 10, "seed": 1, "polish": False, "vectorized": True, "updating": "deferred"}
    return -float(optimize.differential_evolution(loss, bounds, **options).fun)


@pytest.mark.parametrize("predictor", list(PREDICTORS))
@pytest.mark.parametrize("mix", list(MIXES))
def test_an_independent_global_search_finds_nothing_worse(mix, predictor):
    audit = audit_of(mix, predictor)
    for p_max in (0.2, 0.4):
        assert audit.worst_case(p_max).value >= (1 - PREDICTORS[predictor][1]) * evolved(audit, p_max)


def test_the_same_question_has_the_same_answer_whatever_was_asked_before():
    fresh, used = (audit_of("levels between", "without") for _ in range(2))
    used.curve([0.1, 0.3])
    used.worst_case(0.4)
    first, second = fresh.worst_case(0.2), used.worst_case(0.2)
    assert first.value == second.value
    assert first.correlation.equals(second.correlation)


def test_a_curve_of_a_mixed_claim_never_falls_and_stays_within_its_budgets():
    curve = audit_of("levels between", "without").curve([0, 0.1, 0.2, 0.4])
    assert (np.diff([point.value for point in curve.points]) >= 0).all()
    for point in curve.own:
        assert max(abs(point.correlation.to_numpy()[j, k]) for j, k in ((0, 2), (1, 2), (2, 3))) <= point.p_max + 1e-9
        assert point.min_eigenvalue >= point.floor - 1e-9


def test_the_summary_says_how_it_was_sought():
    found = audit_of("levels between", "without").worst_case(0.2)
    said = " ".join(found.summary().split())
    assert f"A smooth surface through the values at {found.n_points} correlations showed where to look." in said
    assert "ascents" not in said


def box(width: float) -> CorrelationSet:
    high = np.full(2, width)
    return CorrelationSet(Pairwise(), width, ((0, 1), (1, 2)), 3, -high, high, 0.05)


def test_a_box_tells_about_those_inside_that_are_not_much_smaller():
    known = Known(explored=[(box(0.6).low, box(0.6).high)])
    assert known.covers(box(0.6))
    assert known.covers(box(0.2))
    assert not known.covers(box(0.1))
    assert not known.covers(box(0.7))


LAYOUTS = {
    "scattered": np.random.default_rng(0).uniform(-0.6, 0.6, (14, 2)),
    "few": np.array([[0.0, 0.0], [0.3, 0.1], [-0.2, 0.4]]),
    "along an axis": np.linspace(-0.6, 0.6, 14)[:, None] * [1.0, 0.0],
}


@pytest.mark.parametrize("points", LAYOUTS.values(), ids=LAYOUTS)
def test_a_surface_goes_through_all_that_is_known_however_points_lie(points):
    values = np.sin(3 * points[:, 0]) + points[:, 1] ** 2
    surface = _surface(Known(points=list(points), values=values.tolist()))
    np.testing.assert_allclose(surface(points), values, atol=1e-9)  # a solve with some fifteen equations
    assert np.isfinite(surface(np.array([[0.5, -0.5]]))).all()


@pytest.mark.parametrize("pairs", [2, 3])
@pytest.mark.parametrize("aside", [0, 1e-16, 1e-12, 1e-10, 1e-8, 1e-5, 1e-2])
def test_a_surface_goes_through_points_that_nearly_lie_on_a_line(pairs, aside):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        along = rng.uniform(-0.3, 0.3, 20)
        points = np.outer(along, rng.standard_normal(pairs)) + aside * rng.standard_normal((20, pairs))
        values = np.cos(5 * along) + 0.1 * along
        surface = _surface(Known(points=list(points), values=values.tolist()))
        np.testing.assert_allclose(surface(points), values, atol=1e-6)  # what a surface may miss
        far = surface(points + 0.3 * np.eye(pairs)[0])
        assert aside > 1e-3 or np.abs(far).max() < 10  # no slope is made up across the line


def test_no_surface_is_drawn_through_points_that_are_one_and_have_two_values():
    points = np.outer(np.linspace(-0.3, 0.3, 8), [1.0, 1.0]).repeat(2, axis=0)
    points[1::2] += [1e-7, -1e-7]
    values = np.tile([0.0, 1.0], 8)
    surface = _surface(Known(points=list(points), values=values.tolist()))
    np.testing.assert_array_equal(surface(points), values)


@pytest.mark.parametrize("solved", [2, 1, 0])
def test_where_points_determine_no_surface_of_a_degree_a_simpler_one_goes_through_them(solved, monkeypatch):
    def interpolator(points, values, *, degree, **options):
        if degree > solved:
            raise np.linalg.LinAlgError
        return RBFInterpolator(points, values, degree=degree, **options)

    points = LAYOUTS["scattered"]
    values = np.sin(3 * points[:, 0]) + points[:, 1] ** 2
    with monkeypatch.context() as patch:
        patch.setattr("scipy.interpolate.RBFInterpolator", interpolator)
        surface = _surface(Known(points=list(points), values=values.tolist()))
    np.testing.assert_allclose(surface(points), values, atol=1e-9)


def test_where_all_is_negligible_nothing_is_asked_beyond_the_first_look():
    fitted = audit_of("levels first", "with derivatives").fitted
    members = correlation_set(Pairwise(), 0.3, fitted.graph, fitted.variables)
    problem = Problem(fitted.claim, members, CFU(), 1.0, 4, 8, negligible=np.inf)
    assert climb_surface(problem, [], np.random.default_rng(0)) == []
    assert problem.known.points
    assert not any(problem.known.led)
