"""Points outside a set of correlations are told so, whichever side they lie on."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.budgets import read_budget
from fairstress.search.sets import SLACK, correlation_set

GRAPH = fs.CausalGraph.parse("a -> x, z, v; x <-> z; z <-> v; x <-> v", protected="a", outcome="y")
INSIDE = np.array([0.1, -0.2, 0.25])


def members(budget):
    return correlation_set(read_budget(budget), 0.3, GRAPH, GRAPH.features)


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_a_point_beyond_either_end_of_a_pair_is_no_member(k, way):
    beyond, at = INSIDE.copy(), INSIDE.copy()
    beyond[k], at[k] = way * 0.301, way * 0.3
    assert members("pairwise").contains(np.array([INSIDE, at, beyond])).tolist() == [True, True, False]


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_bounds_of_a_pairs_own_have_two_ends_too(way):
    within = members(fs.Pairwise(bounds={("x", "z"): (0.05, 0.15)}))
    place = within.pairs.index((0, 1))
    points = np.zeros((2, 3))
    points[:, place] = 0.1 + way * np.array([0.05, 0.051])
    assert within.contains(points).tolist() == [True, False]


def test_a_point_of_the_box_below_the_floor_of_eigenvalues_is_no_member():
    within = members(fs.Pairwise(min_eigenvalue=0.5))
    low, high = np.array([0.3, -0.3, 0.3]), np.array([0.2, 0.2, 0.2])
    assert within.smallest_eigenvalue(low) < 0.5 < within.smallest_eigenvalue(high)
    assert within.contains(np.array([low, high])).tolist() == [False, True]


@pytest.mark.parametrize("below", [0.5, -0.5])
def test_a_point_at_the_floor_but_for_rounding_is_drawn_inside_it(below):
    within = correlation_set(read_budget(fs.Pairwise(min_eigenvalue=0.2)), 0.9, GRAPH, GRAPH.features)
    towards = np.array([0.4, -0.4, 0.4])
    slope = within.smallest_eigenvalue(towards) - 1
    p = (within.floor - below * SLACK - 1) / slope * towards  # eigenvalues of I + t D are 1 + t times those of D
    drawn = within.shrink(p)
    assert within.contains(drawn, tolerance=0.0)
    np.testing.assert_allclose(drawn, p, atol=1e-6)
