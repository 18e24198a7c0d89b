"""What a report collects is about the audit that it was asked of."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairstress as fs
from fairstress.analyses import decisions
from fairstress.analyses.specification import plans
from fairstress.errors import SettingError, Status
from fairstress.model.fit import System
from fairstress.results import ReportData

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
SMALL = {"sizes": (0, 0.3), "grid": (-0.3, 0, 0.3)}


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame


def collected(frame, *, thorough: bool = False, **options) -> ReportData:
    options = {"penalty": 1, "degrees": {"x": 1, "z": 1}, "random_state": 0, **options}
    return fs.Audit.fit(frame, GRAPH, **options).report(None, 0.3, **SMALL, thorough=thorough)


@pytest.fixture(scope="module")
def plain(frame) -> ReportData:
    return collected(frame)


@pytest.fixture(scope="module")
def thorough(frame) -> ReportData:
    return collected(frame, thorough=True)


OWN = {
    looks_at: {"predictor": fs.Predictor(LinearRegression(), input=looks_at, gradient="differences")}
    for looks_at in ("features", "residuals")
}


@pytest.mark.parametrize("options", [{}, {"measure": "absolute"}, *OWN.values()])
def test_another_specification_that_changes_nothing_gives_the_same_worst_case(frame, options):
    found = collected(frame, thorough=True, **options)
    same = next(check for check in found.specification_checks if check.what == "as audited")
    again = found.audit.refit(penalty=1, degrees={"x": 1, "z": 1})
    for cfu, blind in ((same.cfu, same.blind), (again.worst_case(0.3).value, again.baselines["blind"].unfairness)):
        assert cfu == pytest.approx(found.worst.value, rel=1e-6)  # the search's own tolerance
        assert blind == pytest.approx(found.audit.baselines["blind"].unfairness, rel=1e-9)


def test_another_penalty_is_another_one_even_where_it_was_0(frame):
    none, some = (plans(fs.Audit.fit(frame, GRAPH, penalty=penalty, max_degree=1).fitted) for penalty in (0, 2))
    assert "penalty ten times as large" in some
    assert "penalty 1" in none  # ten times 0 is the audit itself


def test_another_specification_keeps_the_scale_of_a_two_valued_outcome(frame):
    two = frame.assign(y=(frame["y"] > 0).astype(int))
    predictor = fs.Predictor(LogisticRegression(), gradient="differences", scale="log-odds")
    found = collected(two, thorough=True, predictor=predictor)
    for cfu in (found.specification_checks[0].cfu, found.audit.refit(penalty=1).worst_case(0.3).value):
        assert cfu == pytest.approx(found.worst.value, rel=1e-6)


def test_another_specification_keeps_a_robust_predictor(frame):
    fair = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    robust = fair.robust(0.3, 10)
    again = robust.refit(penalty=1)
    assert again.robust_predictor is robust.robust_predictor
    assert again.worst_case(0.3).value == pytest.approx(robust.worst_case(0.3).value, rel=1e-9)
    assert again.worst_case(0.3).value < 0.5 * fair.worst_case(0.3).value


def test_a_robust_predictor_leaves_the_baselines_levels_as_they_are(frame, thorough):
    robust = collected(frame, thorough=True, robust=fs.Robust(0.3, 10))
    levels = [[check.blind for check in found.specification_checks] for found in (thorough, robust)]
    assert len(levels[0]) > 3
    assert levels[1] == pytest.approx(levels[0], rel=1e-12)


# ---------------------------------------------------------------- comparison, benchmarks, levels, holdout


def test_predictors_are_compared_by_their_own_cfu_at_the_same_correlation(plain):
    audit, worst = plain.audit, plain.worst.correlation
    audited, *others = plain.comparison
    assert audited.cfu_model_a == pytest.approx(0, abs=1e-12)  # rounding
    assert audited.cfu_worst == plain.worst.value
    assert [other.predictor for other in others] == list(audit.baselines)
    for other in others:
        assert other.cfu_model_a == audit.cfu({}, baseline=other.predictor)
        assert other.cfu_worst == audit.cfu(worst, baseline=other.predictor)


def test_a_baseline_is_reached_where_the_breaking_point_like_for_like_lies():
    graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
    data = fs.datasets.simulate(graph, 400, random_state=1).frame
    audit = fs.Audit.fit(data, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    blind = audit.report(None, 0.3, sizes=(0, 0.9), grid=(0,)).comparison[-1]
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


@pytest.mark.parametrize(("options", "count"), [({}, 2), ({"measure": "absolute"}, 0), (OWN["features"], 0)])
def test_baselines_are_levels_only_where_their_distance_measures_unfairness(frame, options, count):
    assert len(collected(frame, **options).levels) == count


def test_a_share_of_the_variance_is_of_squares_only(frame, plain):
    assert plain.share_of_variance > 0
    assert np.isnan(collected(frame, measure="max").share_of_variance)


def test_a_holdout_fits_to_some_people_and_judges_others(frame, thorough):
    doubled = frame.loc[frame.index.repeat(2)].reset_index(drop=True)  # both halves are the same people
    found = {check.what: check for check in collected(doubled, thorough=True).specification_checks}
    held_out, half = found["fitted to every second row, judged on the others"], found["every second row"]
    assert held_out.cfu == pytest.approx(half.cfu, rel=1e-6)
    assert held_out.blind == pytest.approx(half.blind, rel=1e-9)
    apart = {check.what: check for check in thorough.specification_checks}
    assert apart[held_out.what].cfu != pytest.approx(apart[half.what].cfu, rel=1e-3)


def test_several_protected_columns_are_counted_each_and_together(frame, plain):
    graph = fs.CausalGraph.parse("a -> x; b -> x -> z; x <-> z", protected=("a", "b"), outcome="y")
    two = frame.assign(b=np.where(np.arange(300) % 3, "left", "right"))
    audit = fs.Audit.fit(two, graph, penalty=1, degrees={"x": 1, "z": 1})
    counts = audit.report(None, 0.3, **SMALL).margins.set_index(["column", "level"])["rows"]
    assert counts["b"].to_dict() == {"left": 200, "right": 100}
    assert counts["a"].to_dict() == two["a"].value_counts().to_dict()
    assert plain.margins.empty


# ---------------------------------------------------------------- people


def test_weight_two_is_the_row_twice_in_what_a_report_says_of_groups(frame):
    weight = np.where(np.arange(300) % 3, 1, 2)
    weighted = collected(frame, sample_weight=weight, predictor_degree=1, predictor_penalty=1)
    repeated = collected(frame.loc[frame.index.repeat(weight)], predictor_degree=1, predictor_penalty=1)
    pd.testing.assert_frame_equal(weighted.by_group, repeated.by_group, rtol=1e-6)  # the search's own tolerance
    assert weighted.by_group["people"].tolist()[0] == 400
    assert weighted.by_group["people"].dtype.kind == "i"


def test_the_mean_over_people_is_cfu_itself(frame):
    found = collected(frame, sample_weight=np.random.default_rng(0).uniform(0.5, 2, 300))
    everyone = found.by_group.iloc[0]
    assert everyone["mean"] == pytest.approx(found.worst.value, rel=1e-9)
    assert everyone["people"] == pytest.approx(found.audit.fitted.table.weight.sum(), rel=1e-12)


def test_rows_that_stand_for_nobody_are_not_among_the_worst(frame, plain):
    weight = np.ones(300)
    weight[plain.people["label"]] = 0
    rest = collected(frame, sample_weight=weight)
    assert set(rest.people["label"]).isdisjoint(plain.people["label"])
    assert len(rest.people_features) == len(rest.people) == 20


def test_model_b_is_fitted_once_for_each_budget(frame, monkeypatch):
    asked, fits = Counter(), System.fits

    def counted(system, P, start, *, check_minima):
        asked.update((id(system), one.tobytes(), check_minima) for one in P)
        return fits(system, P, start, check_minima=check_minima)

    monkeypatch.setattr(System, "fits", counted)
    found = collected(frame)
    system = id(found.audit.fitted.claim.system)
    for point in found.curve.points:
        assert asked[system, point.correlation.to_numpy().tobytes(), True] == 1


# ---------------------------------------------------------------- progress

TWO_PAIRS = fs.CausalGraph.parse("a -> x -> z, w; x <-> z; x <-> w", protected="a", outcome="y")
QUICK = fs.Search(starts=1)


@pytest.mark.parametrize("graph", [TWO_PAIRS, GRAPH], ids=["several pairs", "one pair"])
@pytest.mark.parametrize(("options", "threshold"), [({}, None), ({"measure": "max"}, 0)], ids=["squared", "max"])
def test_progress_moves_by_single_steps_to_exactly_the_last(graph, options, threshold):
    frame = fs.datasets.simulate(graph, 60, random_state=0).frame
    degrees = dict.fromkeys(graph.features, 1)
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees=degrees, random_state=0, **options)
    seen: list[tuple[int, int]] = []
    questions = {"sizes": (0, 0.1), "grid": (0,), "levels": {"much": (100, "so")}, "threshold": threshold}
    audit.report(None, 0.1, **questions, search=QUICK, progress=lambda *step: seen.append(step))
    total = seen[0][1]
    assert seen == [(done, total) for done in range(1, total + 1)]


# ---------------------------------------------------------------- decisions


@pytest.fixture(scope="module")
def with_threshold():
    """A two-valued outcome, and two pairs that matter."""
    data = fs.datasets.simulate(TWO_PAIRS, 200, random_state=0).frame
    data["y"] = (data["y"] > 0).astype(int)
    audit = fs.Audit.fit(data, TWO_PAIRS, penalty=1, degrees=dict.fromkeys("xzw", 1), random_state=0)
    return audit.report(None, 0.1, sizes=(0, 0.1), grid=(0,), threshold=0.4, search=QUICK)


def test_decisions_are_those_that_the_audit_counts_and_bounds(with_threshold):
    audit, found = with_threshold.audit, with_threshold.decisions

    def shares(P):
        return audit.people(P, threshold=0.4).flip_shares()

    pd.testing.assert_frame_equal(found.model_a, shares({}))
    pd.testing.assert_frame_equal(found.worst, shares(with_threshold.worst.correlation))
    assert list(found.worst.index) == ["everyone", -1, 1]
    low, high = audit.bounds(audit.flips(0.4), 0.1, search=QUICK)
    assert (found.lowest.share, found.highest.share) == (low.value, high.value)
    assert found.lowest.share == 0 < found.worst.loc["everyone", "either"] <= found.highest.share
    there = shares(found.highest.correlation).loc["everyone", "either"]
    assert there == pytest.approx(found.highest.share, abs=1e-12)
    assert found.highest.status == Status.NO_DERIVATIVES


def test_bounds_hold_what_is_known_even_where_a_search_misses_it(with_threshold, monkeypatch):
    fitted, worst = with_threshold.audit.fitted, with_threshold.worst
    missed = (replace(worst, value=0.5), replace(worst, value=0.0))
    monkeypatch.setattr(decisions, "bounds", lambda *_: missed)
    found = decisions.decisions(fitted, 0.4, worst, fs.Pairwise(), QUICK)
    assert found.lowest.share == found.model_a.loc["everyone", "either"]
    assert found.highest.share == found.worst.loc["everyone", "either"]
    pd.testing.assert_frame_equal(found.highest.correlation, worst.correlation)


@pytest.mark.parametrize("threshold", [0, 1, float("nan"), "half", True])
def test_a_threshold_that_is_none_is_refused_before_any_search(with_threshold, threshold, monkeypatch):
    monkeypatch.setattr(fs.Audit, "curve", None)
    with pytest.raises(SettingError, match=r"threshold is .*: give a probability between 0 and 1"):
        with_threshold.audit.report(None, 0.3, threshold=threshold)


@pytest.mark.parametrize(
    ("p_max", "questions", "message"),
    [
        (0.3, {"sizes": ["a"]}, "p_max is 'a': give a number from 0"),
        (0.3, {"sizes": 0.3}, "sizes is 0.3: give a list"),
        (1, {}, "p_max is 1: give a number from 0"),
        (0.3, {"thorough": "yes"}, "thorough is 'yes': give True or False"),
        (0.3, {"levels": [0.1]}, r"levels is \[0.1\]: give a CFU and the reason by name"),
        (0.3, {"levels": {"much": ("a lot", "so")}}, "the level 'much' is .*: give its CFU, a positive number"),
        (0.3, {"levels": {"much": (-0.1, "so")}}, "the level 'much' is .*: give its CFU, a positive number"),
    ],
)
def test_questions_that_make_no_sense_are_refused_before_any_search(
    with_threshold, p_max, questions, message, monkeypatch
):
    monkeypatch.setattr(fs.Audit, "check", None)
    with pytest.raises(SettingError, match=message):
        with_threshold.audit.report(None, p_max, **questions)


def test_without_a_threshold_there_are_no_decisions(plain):
    assert plain.decisions is None


def test_a_question_that_no_report_knows_is_refused_before_anything_is_written(tmp_path):
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    audit = fs.Audit.fit(fs.datasets.simulate(graph, 200, random_state=0).frame, graph, max_degree=1, penalty=0)
    with pytest.raises(TypeError, match="thresold"):
        audit.report(tmp_path / "page.html", thresold=1)
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_a_path_writes_nothing(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    audit = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    found = audit.report(**SMALL)
    assert (found.p_max, list(tmp_path.iterdir())) == (0.3, [])
    audit.report("page.html", **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_specifications_that_are_the_audits_own_are_not_asked_again():
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    plain = plans(fs.Audit.fit(frame, graph, degrees={"x": 1}, penalty=0).fitted)
    assert not {"penalty 0", "all degrees 1"} & set(plain)
    other = plans(fs.Audit.fit(frame, graph, degrees={"x": 2}, penalty=1).fitted)
    assert {"penalty 0", "all degrees 1", "penalty ten times as large"} <= set(other)


@pytest.fixture(scope="module")
def slow() -> fs.Audit:
    """An audit of trees on columns with levels: values take long, and have no derivatives."""
    frame = fs.datasets.simulate(GRAPH, 200, kinds={"x": "ordered"}, cuts={"x": (-0.5, 0.6)}, random_state=0).frame
    predictor = fs.Predictor(HistGradientBoostingRegressor(max_iter=5, random_state=0), input="features")
    given = {"penalty": 1, "degrees": {"x": 1, "z": 1}, "random_state": 0, "kinds": {"x": "ordered"}}
    return fs.Audit.fit(frame, GRAPH, predictor=predictor, **given)


def test_other_settings_are_asked_only_where_the_analyst_asks_for_them(plain, thorough, slow, tmp_path):
    assert plain.specification_checks == ()
    assert "thorough=True" in plain.no_specification_checks
    assert thorough.no_specification_checks == ""
    assert [check.what for check in thorough.specification_checks] == list(plans(thorough.audit.fitted))
    slow.report(tmp_path / "page.html", **SMALL)
    assert "The question was not asked with other settings" in (tmp_path / "page.html").read_text()


def test_what_one_cause_must_explain_takes_long_and_is_left_to_an_option(slow, plain):
    assert slow.report(**SMALL).conclusion.causes is None
    graph = fs.CausalGraph.parse("a -> x -> z; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    found = audit.report(sizes=(0, 0.3, 0.6), grid=(0,)).conclusion
    alone = audit.breaking_point("blind", budget="single cause", highest=0.9)
    assert found.causes.equal == pytest.approx(alone.p_max, abs=1e-4)  # the precision of a breaking point


def test_a_size_that_nobody_asked_for_is_known_as_the_default(plain, frame):
    asked = plain.audit.report(p_max=0.3, **SMALL)
    default = plain.audit.report(**SMALL)
    assert (asked.p_max, asked.is_default) == (0.3, False)
    assert (default.p_max, default.is_default) == (0.3, True)


def test_a_profile_of_what_takes_long_says_why_penalty_0_is_missing(slow):
    profile = slow.profile(("x", "z"))
    assert len(profile.correlation) == 13
    assert profile.cfu_unpenalised is None
    assert "an audit with penalty=0 has it" in " ".join(profile.summary().split())
