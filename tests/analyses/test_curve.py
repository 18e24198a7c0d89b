from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.errors import SettingError

LIMITS = [0.0, 0.2, 0.4, 0.6, 0.8]


def audit_of(text: str) -> fs.Audit:
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=4).frame
    options = {"degrees": {"x": 1, "z": 1, "v": 2}, "penalty": 5, "predictor_degree": 2, "predictor_penalty": 1}
    return fs.Audit.fit(frame, graph, random_state=0, **options)


@pytest.fixture(scope="module")
def audit():
    return audit_of("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v")


@pytest.fixture(scope="module")
def curve(audit):
    return audit.curve(LIMITS)


def test_a_larger_budget_never_lowers_the_worst_case(curve):
    frame = curve.to_frame()
    assert list(frame["p_max"]) == LIMITS
    assert (np.diff(frame["cfu"]) >= 0).all()
    assert (frame["cfu_own_search"] <= frame["cfu"]).all()


def test_a_fresh_search_at_each_budget_reaches_the_curve(audit, curve):
    for point in curve.points[1:]:
        assert audit.worst_case(point.p_max, random_state=7).value >= 0.999 * point.value


def test_the_frame_has_a_column_per_pair_and_the_likelihood(audit, curve):
    frame = curve.to_frame()
    for column in ("cfu_unpenalised", "log_likelihood", "log_likelihood_drop", "min_eigenvalue", "status", "x <-> z"):
        assert column in frame
    last = frame.iloc[-1]
    P = {pair: last[f"{pair[0]} <-> {pair[1]}"] for pair in audit.graph.pairs}
    assert audit.cfu(P) == pytest.approx(last["cfu"], rel=1e-8)
    assert audit.model_b(P).log_likelihood == pytest.approx(last["log_likelihood"], rel=1e-10)
    assert last["log_likelihood_drop"] == pytest.approx(audit.model_a.log_likelihood - last["log_likelihood"])


def test_the_breaking_point_is_the_smallest_budget_that_reaches_the_level():
    audit, quick = audit_of("a -> x -> z -> v; a -> v; x <-> z <-> v"), fs.Search(starts=2)
    curve = audit.curve([0.4, 0.6], search=quick)
    level = 0.5 * (curve.points[0].value + curve.points[1].value)
    found = curve.breaking_point(level)
    assert 0.4 < found.p_max < 0.6
    assert audit.worst_case(found.p_max).value >= level * (1 - 1e-3)
    assert audit.worst_case(found.p_max - 2e-4).value < level
    assert f"p_max = {found.p_max:.4f}" in str(found)
    again = audit.breaking_point(level, highest=0.8, search=quick)
    assert again.p_max == pytest.approx(found.p_max, abs=2e-4)


def test_a_level_that_is_not_reached_is_said_so(law_audit):
    curve = law_audit.curve([0, 0.5, 0.99])
    for name in ("blind", "unconstrained"):
        found = curve.breaking_point(name)
        assert found.p_max is None
        assert "does not reach" in found.sentence
    assert "the curve shows the penalty" in curve.summary()
    assert curve.shows_penalty_only


def test_levels_that_make_no_sense_are_refused(curve, audit):
    with pytest.raises(SettingError, match="there is no baseline 'blnd'; did you mean 'blind'"):
        curve.breaking_point("blnd")
    with pytest.raises(SettingError, match="the level is -1"):
        curve.breaking_point(-1)
    with pytest.raises(SettingError, match="p_max is empty"):
        audit.curve([])
