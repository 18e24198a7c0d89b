from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.budgets import read_budget
from fairstress.errors import Status
from fairstress.functionals.cfu import CFU
from fairstress.search.corners import corner, leads_out, to_corners
from fairstress.search.problem import Problem
from fairstress.search.search import _ascend_all
from fairstress.search.sets import correlation_set
from fairstress.search.sqp import climb

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x <-> z <-> a", protected="a", outcome="y")
NAMES = ("a", "x", "z")
RNG = np.random.default_rng(0)


def members(p_max, budget="pairwise"):
    return correlation_set(read_budget(budget), p_max, GRAPH, NAMES)


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 400, correlation={("a", "x"): 0.2}, random_state=3).frame
    return fs.Audit.fit(frame, GRAPH, degrees={"x": 1, "z": 2}, penalty=1, random_state=0)


@pytest.fixture(scope="module")
def claim(audit):
    return audit.fitted.claim


@pytest.mark.parametrize("p_max", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("signs", [(1, 1, 1), (1, 1, -1), (-1, -1, -1), (0, 1, -1)])
def test_a_corner_belongs_to_the_set_and_one_beyond_it_lies_on_the_floor(p_max, signs):
    within, direction = members(p_max), np.array(signs, dtype=float)
    found = corner(within, direction)
    box = np.where(direction > 0, within.high, np.where(direction < 0, within.low, 0.0))
    if within.contains(box):
        np.testing.assert_array_equal(found, box)
    elif found is not None:
        assert within.contains(found, tolerance=1e-12)
        assert within.smallest_eigenvalue(found) == pytest.approx(within.floor, abs=1e-8)
        assert (found != box).sum() == 1


@pytest.mark.parametrize("p_max", [0.3, 0.5, 0.6, 0.8])
def test_where_a_slope_leads_out_no_member_nearby_or_far_lies_further_along_it(p_max):
    """The set is convex, so that a linear function is largest where its slope leads out."""
    within = members(p_max)
    others = within.scan(4000, np.random.default_rng(1))
    seen = set()
    for slope in RNG.standard_normal((200, 3)):
        p = corner(within, slope)
        is_end = p is not None and leads_out(within, p, slope, 1.0)
        seen.add(is_end)
        if is_end:
            assert (others @ slope).max() <= p @ slope + 1e-9
    assert True in seen


def test_a_spectral_budget_has_no_corners():
    within = members(0.4, "spectral")
    assert all(corner(within, slope) is None for slope in RNG.standard_normal((50, 3)))


@pytest.mark.parametrize("p_max", [0.2, 0.5, 0.7])
def test_ends_in_corners_are_maxima_that_a_climb_does_not_leave(claim, p_max):
    problem = Problem(claim, members(p_max), CFU(), 1.0, 6, 64)
    starts = problem.members.scan(12, np.random.default_rng(2))
    ends = [end for _, end in to_corners(problem, starts) if end]
    assert ends
    for p, value, status in ends:
        assert status is Status.CONVERGED
        assert problem.members.contains(p)
        assert value == problem.values(p[None])[0]
        assert climb(problem, p[None])[0][1] <= value * (1 + 1e-7)


@pytest.mark.parametrize("budget", ["pairwise", "spectral"])
def test_every_ascent_ends_above_its_start_whether_in_a_corner_or_not(claim, budget):
    problem = Problem(claim, members(0.6, budget), CFU(), 1.0, 6, 64)
    starts = problem.members.scan(8, np.random.default_rng(4))
    ends = _ascend_all(problem, starts)
    assert len(ends) == len(starts)
    assert (np.array([end[1] for end in ends]) >= problem.values(starts)).all()


@pytest.mark.parametrize("of", ["CFU", "effect"])
def test_values_and_gradients_side_by_side_are_those_of_one_point_after_the_other(audit, claim, of):
    problem = Problem(claim, members(0.5), CFU() if of == "CFU" else audit.effect("z"), -1.0, 6, 64)
    points = problem.members.scan(10, np.random.default_rng(5))
    values, gradients, _ = problem.values_and_gradients(points)
    for p, value, gradient in zip(points, values, gradients, strict=True):
        alone = problem.value_and_gradient(p)
        assert alone[0] == value
        np.testing.assert_array_equal(alone[1], gradient)


def test_corners_on_edges_are_found_once_and_the_same_in_any_order():
    within = members(0.7)
    directions = [np.array(signs, dtype=float) for signs in [(1, 1, -1), (1, 2, -1), (3, 1, -1), (1, 1, -1)]]
    fresh = [corner(members(0.7), direction) for direction in directions]
    np.testing.assert_array_equal([corner(within, direction) for direction in directions], fresh)
    assert len(within.edges) == 1
    assert len({tuple(end) for end in fresh}) > 1
