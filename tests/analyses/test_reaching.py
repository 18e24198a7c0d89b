from __future__ import annotations

from dataclasses import replace

import pytest

import fairstress as fs
from fairstress.analyses.worst_case import Solver

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x <-> z <-> a", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 300, correlation={("a", "x"): 0.2}, random_state=3).frame
    return fs.Audit.fit(frame, GRAPH, degrees={"x": 1, "z": 2}, penalty=1, predictor_degree=2, random_state=0)


def searched_in_full(monkeypatch):
    monkeypatch.setattr(Solver, "follows", property(lambda solve: False))


@pytest.mark.parametrize(("level", "definition"), [("blind", "same P"), ("blind", "paper"), (0.05, "same P")])
def test_following_the_worst_case_finds_the_breaking_point_of_full_searches(audit, monkeypatch, level, definition):
    followed = audit.breaking_point(level, definition=definition)
    searched_in_full(monkeypatch)
    full = audit.breaking_point(level, definition=definition)
    assert followed.p_max is not None
    assert followed.p_max == pytest.approx(full.p_max, abs=1e-6)
    assert followed.level == pytest.approx(full.level, rel=1e-6)


def test_a_hill_that_following_misses_is_found_by_the_full_search_at_the_end(audit, monkeypatch):
    follow = Solver.follow
    monkeypatch.setattr(Solver, "follow", lambda *asked: replace(follow(*asked), value=0.0))
    misled = audit.breaking_point(0.05)
    searched_in_full(monkeypatch)
    assert misled.p_max == pytest.approx(audit.breaking_point(0.05).p_max, abs=1e-4)


def test_a_level_that_a_budget_reaches_is_not_searched_for_beyond_it(audit, monkeypatch):
    sizes, call = [], Solver.__call__
    monkeypatch.setattr(
        Solver, "__call__", lambda solve, p_max, *more: sizes.append(p_max) or call(solve, p_max, *more)
    )
    found = audit.breaking_point("blind", definition="paper")
    beyond = sorted(size for size in set(sizes) if size > found.p_max)
    assert len(beyond) <= 2  # the budget that reaches it first, and where that was narrowed down
