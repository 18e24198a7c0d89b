"""Values through which a surface is drawn are asked for within the set, and nowhere else."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import fairstress as fs
from fairstress.budgets import read_budget
from fairstress.search.known import Known
from fairstress.search.sets import correlation_set
from fairstress.search.surface import explore

GRAPHS = {1: "a -> x, z; x <-> z", 2: "a -> x, z; x <-> z; a <-> x", 3: "a -> x, z; x <-> z; a <-> x; a <-> z"}


@pytest.mark.parametrize("all_over", [True, False])
@pytest.mark.parametrize("n_pairs", GRAPHS)
def test_every_point_is_a_member_and_asked_once(n_pairs, all_over):
    graph = fs.CausalGraph.parse(GRAPHS[n_pairs], protected="a", outcome="y")
    names = ("x", "z") if n_pairs == 1 else ("a", "x", "z")
    members = correlation_set(read_budget("pairwise"), 0.6, graph, names)
    problem = SimpleNamespace(members=members, known=Known(), values=lambda points: points.sum(axis=1))
    explore(problem, np.random.default_rng(0), all_over=all_over)
    points = np.array(problem.known.points)
    assert members.contains(points).all()
    assert len(np.unique(points.round(9), axis=0)) == len(points)
    np.testing.assert_allclose(problem.known.values, points.sum(axis=1), rtol=1e-12)
    assert np.ptp(points, axis=0) == pytest.approx(members.high - members.low)  # from one end to the other
