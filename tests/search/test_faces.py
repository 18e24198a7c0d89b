from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.curve import comparing
from fairstress.analyses.worst_case import Solver
from fairstress.budgets import SingleCause
from fairstress.errors import Status
from fairstress.search import faces
from fairstress.search.faces import to_faces
from fairstress.search.problem import Problem
from fairstress.search.search import _ascend_all
from fairstress.search.sqp import climb

LAW = "race -> ugpa, lsat; ugpa -> lsat; race <-> ugpa; race <-> lsat; ugpa <-> lsat"


@pytest.fixture(scope="module")
def fitted():
    graph = fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")
    return fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", random_state=0).fitted


def problem_of(fitted, p_max, budget="pairwise"):
    """A search whose maxima lie in faces of its box: CFU less that of a baseline."""
    (problem,) = comparing("blind", Solver.of(fitted, budget, None, None), fitted.context).problems(p_max)
    return problem


@pytest.mark.parametrize("p_max", [0.42, 0.6])
def test_an_end_is_a_maximum_that_no_climb_leaves(fitted, p_max):
    problem = problem_of(fitted, p_max)
    starts = problem.members.scan(6, np.random.default_rng(0))
    ends = [end for _, end in to_faces(problem, starts) if end]
    assert ends
    for p, value, _ in ends:
        assert problem.members.contains(p)
        assert value == problem.values(p[None])[0]
        assert climb(problem, p[None])[0][1] <= value + 1e-9 * abs(value)


def slope_along(members, p, slope):
    """The slope at a point without what the eigenvalue floor, if it holds there, takes up; and whether it does."""
    values, vectors = np.linalg.eigh(members.matrix(p))
    between = (p > members.low) & (p < members.high)
    if values[0] > members.floor + 1e-6:
        return slope, False
    normal = 2 * members.point(np.outer(vectors[:, 0], vectors[:, 0]))
    multiplier = -(slope[between] @ normal[between]) / (normal[between] @ normal[between])
    assert multiplier > 0
    return slope + multiplier * normal, True


def tops_of(problem, count=6, seed=0):
    """Distinct ends of ascents from a scan, with value and slope."""
    found = to_faces(problem, problem.members.scan(count, np.random.default_rng(seed)))
    tops = {end[0].round(6).tobytes(): end[0] for _, end in found if end}
    points = np.array(list(tops.values()))
    return list(zip(points, *problem.values_and_gradients(points)[:2], strict=True))


@pytest.mark.parametrize("p_max", [0.5, 0.6, 0.8])
def test_slopes_vanish_between_limits_and_lead_out_at_them(fitted, p_max):
    """The conditions of a maximum, to far more digits than climbing by values could give."""
    problem, inside = problem_of(fitted, p_max), 0
    low, high = problem.members.low, problem.members.high
    for p, value, given in tops_of(problem):
        slope, _ = slope_along(problem.members, p, given)
        between = (p > low) & (p < high)
        inside += between.sum()
        assert np.abs(slope[between]).max(initial=0.0) < 1e-5 * max(abs(value), np.abs(given).max())
        assert (np.where(p == high, slope, -slope)[~between] >= 0).all()
    assert inside  # else all would be corners


@pytest.fixture(scope="module")
def along_floor():
    """Two pairs of three lie between their limits, where P is nearly singular: CFU grows towards the floor."""
    graph = fs.CausalGraph.parse(
        "a -> x; x -> z; a -> v; z -> v; x <-> z; x <-> v; z <-> v", protected="a", outcome="y"
    )
    frame = fs.datasets.simulate(graph, 400, random_state=0).frame
    given = {"degrees": dict.fromkeys("xzv", 1), "penalty": 0, "predictor_degree": 1, "random_state": 0}
    fitted = fs.Audit.fit(frame, graph, **given).fitted
    (problem,) = Solver.of(fitted, fs.Pairwise(min_eigenvalue=0.02), None, None).problems(0.9)
    return problem


def test_maxima_along_the_eigenvalue_floor_are_reached_too(along_floor):
    problem, on_floor = along_floor, 0
    for p, value, given in tops_of(problem, 12):
        slope, holds = slope_along(problem.members, p, given)
        between = (p > problem.members.low) & (p < problem.members.high)
        on_floor += holds and between.sum() > 1
        assert problem.members.contains(p)
        assert np.abs(slope[between]).max() < 1e-5 * np.abs(given).max()
        assert climb(problem, p[None])[0][1] <= value + 1e-7 * abs(value)
    assert on_floor


def test_curvature_along_the_floor_is_that_of_values_along_it(along_floor):
    """At a maximum, by second differences of values at points drawn back to the floor."""
    members, h, seen = along_floor.members, 3e-3, 0
    for p, value, slope in tops_of(along_floor, 12):
        face = faces._face(members, p, slope)
        if not face.on_floor:
            continue
        fit = along_floor.value_and_gradient(p)[2]
        (H,) = faces._curvatures(along_floor, [(faces._Ascent(p, value, slope, fit), face)])
        for d, bend in zip(face.directions.T, np.diag(H), strict=True):
            beside = np.array([faces._raised(members, p + s * h * d, face.free) for s in (-1, 1)])
            assert bend == pytest.approx((along_floor.values(beside) - value).sum() / h**2, rel=0.05)
            seen += 1
    assert seen


def test_an_ascent_that_comes_near_a_known_end_goes_no_further(along_floor):
    top, value, _ = max(tops_of(along_floor, 12), key=lambda top: top[1])
    start = along_floor.members.shrink(0.97 * top)
    ((p, end),) = to_faces(along_floor, start[None], [(top, float(value), Status.CONVERGED)])
    assert p is end[0] is top
    ((p, end),) = to_faces(along_floor, start[None])
    np.testing.assert_allclose(end[0], top, atol=1e-4)


@pytest.mark.parametrize("p_max", [0.6, 0.8])
def test_nothing_is_asked_for_twice_where_a_move_leads_downhill(fitted, p_max, monkeypatch):
    """Some of these moves are taken back; what was found of the curvature where they set out still holds there."""
    asked, ask = [], Problem.values_and_gradients

    def heard(problem, points, starts=None):
        asked.extend(point.tobytes() for point in points)
        return ask(problem, points, starts)

    monkeypatch.setattr(Problem, "values_and_gradients", heard)
    problem = problem_of(fitted, p_max)
    to_faces(problem, problem.members.scan(6, np.random.default_rng(0)))
    assert len(asked) == len(set(asked)) > 100


def test_many_ascents_and_each_alone_end_as_high(fitted):
    problem = problem_of(fitted, 0.5)
    starts = problem.members.scan(5, np.random.default_rng(2))
    together = _ascend_all(problem, starts)
    alone = [_ascend_all(problem, start[None])[0] for start in starts]
    best = max(end[1] for end in alone)
    assert max(end[1] for end in together) == pytest.approx(best, rel=1e-9)
    assert all(end[1] >= value for end, value in zip(together, problem.values(starts), strict=True))


def test_loadings_of_one_cause_have_faces_too(fitted):
    problem = problem_of(fitted, 0.9, SingleCause())
    ends = [end for _, end in to_faces(problem, problem.members.scan(6, np.random.default_rng(3))) if end]
    assert ends
    for p, value, _ in ends:
        slope = problem.value_and_gradient(p)[1]
        between = (p > problem.members.low) & (p < problem.members.high)
        assert np.abs(slope[between]).max(initial=0.0) < 1e-5 * max(np.abs(slope).max(), abs(value))


def test_a_stationary_point_that_is_no_maximum_is_no_end(fitted):
    """No cause at all, l = 0, is stationary in the loadings whatever the functional."""
    ((p, end),) = to_faces(problem_of(fitted, 0.5, SingleCause()), np.zeros((1, 3)))
    assert end is None
    assert not p.any()


def test_a_start_at_the_floor_leaves_it_where_that_leads_uphill(fitted):
    problem = problem_of(fitted, 0.6)
    starts = problem.members.extremes(np.array([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0]]))
    assert problem.members.smallest_eigenvalue(starts) == pytest.approx(problem.members.floor, abs=1e-6)
    ends = [end for _, end in to_faces(problem, starts) if end]
    assert ends
    assert all(problem.members.smallest_eigenvalue(p) > problem.members.floor + 1e-3 for p, _, _ in ends)
    assert max(end[1] for end in ends) > problem.values(starts).max()


def test_the_multiplier_of_the_floor_is_that_of_all_coordinates_that_are_free():
    """Random slopes in corners and faces: what is held does not want inwards, and what is free decides."""
    rng, freed = np.random.default_rng(0), 0
    for _ in range(2000):
        q = int(rng.integers(1, 5))
        slope, normal = rng.standard_normal((2, q))
        limit = rng.choice([-1.0, 0.0, 1.0], q, p=[0.4, 0.2, 0.4])
        free, nu = faces._held(slope, normal, limit, np.ones(q, dtype=bool))
        freed += bool(free.all()) and not (limit == 0).any()
        assert free[limit == 0].all()
        assert nu == (-(slope[free] @ normal[free]) / (normal[free] @ normal[free]) if free.any() else 0.0)
        assert (limit * (slope + nu * normal) >= 0)[~free].all()
    assert freed > 100  # among them corners that let all of their coordinates go


def test_points_below_the_floor_are_drawn_back_to_it_unless_all_coordinates_are_at_limits(fitted):
    members = problem_of(fitted, 0.9).members
    corner = np.where([True, True, False], members.high, members.low)
    assert members.smallest_eigenvalue(corner) < members.floor
    assert faces._returned(members, corner) is None
    edge = corner.copy()
    edge[0] -= 0.05
    back = faces._returned(members, edge)
    assert (back[1:] == corner[1:]).all()
    assert back[0] < edge[0]
    assert members.smallest_eigenvalue(back) == pytest.approx(members.floor, abs=1e-8)
    assert members.contains(back)


def test_curvature_is_corrected_along_a_step_and_stays_where_that_says_nothing():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    A, H, step = A + A.T, (np.eye(4), np.eye(4)), rng.standard_normal(4)
    _, better = faces._corrected(H, step, A @ step)
    np.testing.assert_allclose(better @ step, A @ step)
    np.testing.assert_allclose(better, better.T)
    aside = np.array([-step[1], step[0], 0, 0])  # at a right angle to the step: no matrix of rank 1 would do
    assert faces._corrected(H, step, step + aside) is H
    assert faces._corrected(H, step, step) is H


def test_curvature_is_forgotten_where_a_step_leads_aside_of_what_is_known():
    known = np.eye(4)[:, :2], np.eye(2)
    along, aside = np.array([1.0, -1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    assert faces._corrected(known, along, 2 * along)[1] @ [1, -1] == pytest.approx([2, -2])
    assert faces._corrected(known, aside, aside) is None
    assert faces._corrected(None, along, along) is None
