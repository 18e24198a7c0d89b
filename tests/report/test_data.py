"""What a report gathers is about the audit that it was asked of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairstress as fs
from fairstress.analyses.decisions import decide
from fairstress.analyses.specification import plans
from fairstress.audit import people
from fairstress.claim.evaluate import evaluate
from fairstress.errors import SettingError, Status
from fairstress.report.data import ReportData

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
SMALL = {"sizes": (0, 0.3), "grid": (-0.3, 0, 0.3)}


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame


def gathered(frame, **options) -> ReportData:
    options = {"penalty": 1, "degrees": {"x": 1, "z": 1}, "random_state": 0, **options}
    return fs.Audit.fit(frame, GRAPH, **options).report(None, 0.3, **SMALL)


BROUGHT = {
    "of features": {"predictor": LinearRegression(), "predictor_input": "features"},
    "of residuals": {"predictor": LinearRegression()},
}


@pytest.mark.parametrize("options", [{}, {"measure": "absolute"}, *BROUGHT.values()])
def test_another_set_up_that_changes_nothing_gives_the_same_worst_case(frame, options):
    found = gathered(frame, predictor_gradient="differences" if "predictor" in options else None, **options)
    same = next(variant for variant in found.variants if variant.what == "as audited")
    assert same.cfu == pytest.approx(found.agreed.value, rel=1e-6)  # the search's own tolerance
    assert same.blind == pytest.approx(found.audit.baselines["blind"].unfairness, rel=1e-9)


def test_another_penalty_is_another_one_even_where_it_was_0(frame):
    names = {penalty: list(plans(fs.Audit.fit(frame, GRAPH, penalty=penalty, max_degree=1))) for penalty in (0, 2)}
    assert "penalty ten times as large" in names[2]
    assert "penalty 1" in names[0]  # ten times 0 is the audit itself


def test_another_set_up_keeps_the_scale_of_a_two_valued_outcome(frame):
    two = frame.assign(y=(frame["y"] > 0).astype(int))
    found = gathered(two, predictor=LogisticRegression(), predictor_gradient="differences", predictor_scale="log-odds")
    assert found.variants[0].cfu == pytest.approx(found.agreed.value, rel=1e-6)


def test_another_set_up_keeps_a_sturdier_predictor(frame):
    fair = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    sturdy = fair.robust(0.3, 10)
    again = sturdy.refit()
    assert again.robust_predictor is sturdy.robust_predictor
    assert again.worst_case(0.3).value == pytest.approx(sturdy.worst_case(0.3).value, rel=1e-9)
    assert again.worst_case(0.3).value < 0.5 * fair.worst_case(0.3).value


def test_a_sturdier_predictor_leaves_the_baselines_levels_as_they_are(frame):
    fair = gathered(frame)
    sturdy = gathered(frame, robust={"p_max": 0.3, "weight": 10})
    assert [variant.blind for variant in sturdy.variants] == pytest.approx([v.blind for v in fair.variants], rel=1e-12)


# ---------------------------------------------------------------- rivals, benchmarks, levels, holdout


def test_rivals_are_compared_by_their_own_cfu_at_the_same_correlation(frame):
    found = gathered(frame)
    audit, worst = found.audit, found.agreed.correlation
    audited, *others = found.rivals
    assert audited.cfu_model_a == pytest.approx(0, abs=1e-12)  # rounding
    assert audited.cfu_worst == found.agreed.value
    assert [rival.predictor for rival in others] == list(audit.baselines)
    for rival in others:
        assert rival.cfu_model_a == audit.baseline_cfu(rival.predictor, {})
        assert rival.cfu_worst == audit.baseline_cfu(rival.predictor, worst)


def test_a_rival_is_met_where_the_breaking_point_like_for_like_lies():
    graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
    data = fs.datasets.simulate(graph, 400, random_state=1).frame
    audit = fs.Audit.fit(data, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    blind = audit.report(None, 0.3, sizes=(0, 0.9), grid=(0,)).rivals[-1]
    expected = audit.breaking_point("blind", highest=0.9).p_max
    assert blind.as_unfair_from == pytest.approx(expected, abs=1e-4)  # the precision of a breaking point


def test_benchmarks_that_are_refused_leave_their_sentence():
    graph = fs.CausalGraph.parse("a -> x; w -> z; x <-> z", protected="a", outcome="y")
    data = fs.datasets.simulate(graph, 300, random_state=0).frame
    audit = fs.Audit.fit(data, graph, penalty=1, degrees={"x": 1, "z": 1, "w": 1})
    found = audit.report(None, 0.3, **SMALL)
    with pytest.raises(SettingError) as refusal:
        audit.benchmarks()
    assert found.benchmarks is None
    assert found.benchmarks_refused == str(refusal.value)


@pytest.mark.parametrize(
    ("options", "count"), [({}, 2), ({"measure": "absolute"}, 0), ({**BROUGHT["of features"], "measure": "squared"}, 0)]
)
def test_baselines_are_levels_only_where_their_distance_measures_unfairness(frame, options, count):
    assert len(gathered(frame, **options).levels) == count


def test_a_share_of_the_variance_is_of_squares_only(frame):
    assert gathered(frame).share_of_variance > 0
    assert np.isnan(gathered(frame, measure="max").share_of_variance)


def test_a_holdout_fits_to_some_people_and_judges_others(frame):
    doubled = frame.loc[frame.index.repeat(2)].reset_index(drop=True)  # both halves are the same people
    found = {variant.what: variant for variant in gathered(doubled).variants}
    held_out, plain = found["fitted to every second row, judged on the others"], found["every second row"]
    assert held_out.cfu == pytest.approx(plain.cfu, rel=1e-6)
    assert held_out.blind == pytest.approx(plain.blind, rel=1e-9)
    apart = {variant.what: variant for variant in gathered(frame).variants}
    assert apart[held_out.what].cfu != pytest.approx(apart[plain.what].cfu, rel=1e-3)


def test_several_protected_columns_are_counted_each_and_together(frame):
    graph = fs.CausalGraph.parse("a -> x; b -> x -> z; x <-> z", protected=("a", "b"), outcome="y")
    two = frame.assign(b=np.where(np.arange(300) % 3, "left", "right"))
    audit = fs.Audit.fit(two, graph, penalty=1, degrees={"x": 1, "z": 1})
    counts = audit.report(None, 0.3, **SMALL).margins.set_index(["column", "level"])["rows"]
    assert counts["b"].to_dict() == {"left": 200, "right": 100}
    assert counts["a"].to_dict() == two["a"].value_counts().to_dict()
    assert gathered(frame).margins.empty


# ---------------------------------------------------------------- people


def test_weight_two_is_the_row_twice_in_what_a_report_says_of_groups(frame):
    weight = np.where(np.arange(300) % 3, 1, 2)
    weighted = gathered(frame, sample_weight=weight, predictor_degree=1, predictor_penalty=1)
    repeated = gathered(frame.loc[frame.index.repeat(weight)], predictor_degree=1, predictor_penalty=1)
    pd.testing.assert_frame_equal(weighted.by_group, repeated.by_group, rtol=1e-6)  # the search's own tolerance
    assert weighted.by_group["people"].tolist()[0] == 400
    assert weighted.by_group["people"].dtype.kind == "i"


def test_the_mean_over_people_is_cfu_itself(frame):
    found = gathered(frame, sample_weight=np.random.default_rng(0).uniform(0.5, 2, 300))
    everyone = found.by_group.iloc[0]
    assert everyone["mean"] == pytest.approx(found.agreed.value, rel=1e-9)
    assert everyone["people"] == pytest.approx(found.audit.fitted.table.weight.sum(), rel=1e-12)


def test_rows_that_stand_for_nobody_are_not_among_the_worst(frame):
    whole = gathered(frame)
    weight = np.ones(300)
    weight[whole.people["label"]] = 0
    rest = gathered(frame, sample_weight=weight)
    assert set(rest.people["label"]).isdisjoint(whole.people["label"])
    assert len(rest.people_features) == len(rest.people) == 20


def test_model_b_is_evaluated_once_for_each_budget(frame, monkeypatch):
    asked = []
    monkeypatch.setattr(people, "evaluate", lambda *a: asked.append(a) or evaluate(*a))
    found = gathered(frame)
    assert len(asked) == len(found.curve.points)


# ---------------------------------------------------------------- progress

FREE = {"several pairs": "a -> x -> z; x <-> z; a <-> x", "one pair": "a -> x -> z; x <-> z"}


@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize(("options", "threshold"), [({}, None), ({"measure": "max"}, 0)], ids=["squared", "max"])
def test_progress_moves_by_single_steps_to_exactly_the_last(frame, free, options, threshold):
    graph = fs.CausalGraph.parse(FREE[free], protected="a", outcome="y")
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0, **options)
    seen: list[tuple[int, int]] = []
    questions = {**SMALL, "levels": {"much": (0.1, "so")}, "threshold": threshold}
    audit.report(None, 0.3, **questions, progress=lambda *step: seen.append(step))
    total = seen[0][1]
    assert seen == [(done, total) for done in range(1, total + 1)]


# ---------------------------------------------------------------- decisions


@pytest.fixture(scope="module")
def decided():
    """A two-valued outcome, and two pairs that matter."""
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; x <-> z", protected="a", outcome="y")
    data = fs.datasets.simulate(graph, 300, random_state=0).frame
    data["y"] = (data["y"] > 0).astype(int)
    audit = fs.Audit.fit(data, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    return audit.report(None, 0.3, **SMALL, threshold=0.4)


def test_decisions_are_those_that_the_audit_counts_and_bounds(decided):
    audit, found = decided.audit, decided.decisions
    pd.testing.assert_frame_equal(found.model_a, audit.flip_shares({}, 0.4))
    pd.testing.assert_frame_equal(found.worst, audit.flip_shares(decided.agreed.correlation, 0.4))
    assert list(found.worst.index) == ["everyone", -1, 1]
    low, high = audit.bounds(audit.flips(0.4), 0.3)
    assert (found.lowest.share, found.highest.share) == (low.value, high.value)
    assert found.lowest.share == 0 < found.worst.loc["everyone", "either"] <= found.highest.share
    there = audit.flip_shares(found.highest.correlation, 0.4).loc["everyone", "either"]
    assert there == pytest.approx(found.highest.share, abs=1e-12)
    assert found.highest.status == Status.NO_DERIVATIVES


def test_bounds_hold_what_is_known_even_where_a_search_misses_it(decided, monkeypatch):
    audit = decided.audit
    low, high = audit.bounds(audit.flips(0.4), 0.3)
    missed = (replace(low, value=0.5), replace(high, value=0.0))
    monkeypatch.setattr(fs.Audit, "bounds", lambda *_, **__: missed)
    found = decide(audit, 0.4, people.moved(audit, decided.agreed), {})
    assert found.lowest.share == found.model_a.loc["everyone", "either"]
    assert found.highest.share == found.worst.loc["everyone", "either"]
    pd.testing.assert_frame_equal(found.highest.correlation, decided.agreed.correlation)


@pytest.mark.parametrize("threshold", [0, 1, float("nan"), "half", True])
def test_a_threshold_that_is_none_is_refused_before_any_search(decided, threshold, monkeypatch):
    monkeypatch.setattr(fs.Audit, "curve", None)
    with pytest.raises(SettingError, match=r"threshold is .*: give a probability between 0 and 1"):
        decided.audit.report(None, 0.3, threshold=threshold)


@pytest.mark.parametrize(
    ("p_max", "questions", "message"),
    [
        (0.3, {"sizes": ["a"]}, "p_max is 'a': give a number from 0"),
        (0.3, {"sizes": 0.3}, "budgets is 0.3: give a list"),
        (None, {}, "p_max is None: give a number from 0"),
        (0.3, {"levels": [0.1]}, r"levels is \[0.1\]: give a CFU and the reason by name"),
        (0.3, {"levels": {"much": ("a lot", "so")}}, "the level 'much' is .*: give its CFU, a positive number"),
        (0.3, {"levels": {"much": (-0.1, "so")}}, "the level 'much' is .*: give its CFU, a positive number"),
    ],
)
def test_questions_that_make_no_sense_are_refused_before_any_search(decided, p_max, questions, message, monkeypatch):
    monkeypatch.setattr(fs.Audit, "check", None)
    with pytest.raises(SettingError, match=message):
        decided.audit.report(None, p_max, **questions)


def test_without_a_threshold_there_are_no_decisions(frame):
    assert gathered(frame).decisions is None


def test_a_question_that_no_report_knows_is_refused_with_the_nearest(tmp_path):
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    audit = fs.Audit.fit(fs.datasets.simulate(graph, 200, random_state=0).frame, graph, max_degree=1, penalty=0)
    with pytest.raises(SettingError, match="a report has no argument 'thresold'; did you mean 'threshold'"):
        audit.report(tmp_path / "page.html", thresold=1)


def test_set_ups_that_are_the_audits_own_are_not_asked_again():
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    plain = plans(fs.Audit.fit(frame, graph, degrees={"x": 1}, penalty=0))
    assert not {"penalty 0", "all degrees 1"} & set(plain)
    other = plans(fs.Audit.fit(frame, graph, degrees={"x": 2}, penalty=1))
    assert {"penalty 0", "all degrees 1", "penalty ten times as large"} <= set(other)
