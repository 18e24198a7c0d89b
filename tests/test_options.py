"""Options are checked when they are made, and say what is wrong with the way out."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fairstress as fs

PAIR = ("a", "x")
GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 300, random_state=0).frame
    settings = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "random_state": 0}
    return fs.Audit.fit(frame, GRAPH, **settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fs.Pairwise(min_eigenvalue=1), "min_eigenvalue is 1"),
        (lambda: fs.Pairwise(min_eigenvalue="0.1"), "min_eigenvalue is '0.1'"),
        (lambda: fs.Pairwise(bounds=[(0, 1)]), "bounds is [(0, 1)]"),
        (lambda: fs.Pairwise(bounds={"ax": (0, 1)}), "bounds names 'ax'"),
        (lambda: fs.Pairwise(bounds={("a", "a"): (0, 1)}), "bounds names ('a', 'a')"),
        (lambda: fs.Spectral(bounds={PAIR: (0, 1), PAIR[::-1]: (-1, 0)}), "bounds names the pair x <-> a twice"),
        (lambda: fs.Spectral(bounds={PAIR: "01"}), "the bounds of a <-> x are '01'"),
        (lambda: fs.Spectral(bounds={PAIR: (False, True)}), "the bounds of a <-> x are (False, True)"),
        (lambda: fs.Spectral(bounds={PAIR: (0.5, 0.2)}), "give -1 <= lower <= upper <= 1"),
        (lambda: fs.Search(starts=True), "starts is True"),
        (lambda: fs.Wording(labels=["lsat"]), "labels is ['lsat']: give a dict such as {'lsat': 'LSAT score'}"),
        (lambda: fs.Wording(labels={1: "LSAT"}), "labels names 1: give the name of a column"),
        (lambda: fs.Wording(units={"x": " "}), "units['x'] is ' ': give text, such as 'grade points'"),
        (lambda: fs.Wording(people=""), "people is '': give the word for rows in the plural"),
        (lambda: fs.Wording(higher_is="good"), "higher_is is 'good': give 'better' or 'worse', or leave it out"),
        (lambda: fs.Search(method="climb"), "method is 'climb'"),
        (lambda: fs.Predictor(abs, input="columns"), "the predictor's input is 'columns'"),
        (lambda: fs.Predictor(abs, gradient="slopes"), "the predictor's gradient is 'slopes'"),
        (lambda: fs.Predictor(abs, scale="odds"), "the predictor's scale is 'odds'"),
        (lambda: fs.Predictor(fs.Predictor(abs)), "the predictor's model is a Predictor already"),
        (lambda: fs.Predictor(input="features"), "give one as model"),
        (lambda: fs.Robust("0.3", 10), "p_max is '0.3'"),
        (lambda: fs.Robust(0.3, True), "weight is True"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_when_it_is_made(make, message):
    with pytest.raises(fs.SettingError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda audit: audit.worst_case(0.3, budget=None),
            "budget is None: give 'pairwise', 'spectral' or 'single cause'",
        ),
        (lambda audit: audit.worst_case(0.3, search="ascent"), "search is 'ascent': give a value such as Search"),
        (lambda audit: audit.worst_case("0.3"), "p_max is '0.3'"),
        (lambda audit: audit.breaking_point(0.1, highest="0.5"), "highest is '0.5'"),
        (lambda audit: audit.breaking_point("blnd"), "there is no baseline 'blnd'; did you mean 'blind'?"),
        (lambda audit: audit.cfu({}, baseline=["blind"]), "there is no baseline ['blind']: give 'unconstrained' or"),
        (lambda audit: audit.effect("z", ["total"]), "kind is ['total']: give 'total', 'direct' or 'indirect'"),
        (lambda audit: audit.refit(keep=np.arange(300)), "keep holds values of type int64"),
        (lambda audit: audit.bounds(lambda frame: float("nan"), 0.3), "gives nan: give a function of the frame"),
        (lambda audit: audit.report(0.3), "path is 0.3: give the file to write the report to"),
        (
            lambda audit: audit.report("nowhere/report.html"),
            "cannot write the report to 'nowhere/report.html': there is no",
        ),
        (lambda audit: audit.report(labels="no"), "labels is 'no': give True or False"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused_with_a_sentence(audit, ask, message):
    with pytest.raises(fs.SettingError, match=re.escape(message)):
        ask(audit)


def test_strings_are_short_forms_of_the_defaults(audit):
    for short, value in (("pairwise", fs.Pairwise()), ("spectral", fs.Spectral()), ("single cause", fs.SingleCause())):
        one, other = (audit.worst_case(0.3, budget=budget) for budget in (short, value))
        assert one.budget == other.budget == value
        assert one.value == other.value


def test_the_highest_budget_of_a_breaking_point_is_never_passed(audit):
    assert audit.breaking_point(0.05).p_max == pytest.approx(0.087, abs=1e-3)
    assert audit.breaking_point(0.05, highest=0.05).p_max is None


def test_a_breaking_point_starts_at_the_least_budget_that_bounds_allow(audit):
    bounds = {PAIR: (0.1, 0.4)}
    assert audit.breaking_point(0.05, budget=fs.Pairwise(bounds=bounds)).p_max == 0.1
    assert audit.breaking_point(0.2, budget=fs.Spectral(bounds=bounds)).p_max > 0.15


def test_progress_of_a_breaking_point_counts_every_search_of_its_curve(audit):
    reported = []
    audit.breaking_point(0.05, progress=lambda done, total: reported.append((done, total)))
    assert [done for done, _ in reported[:-1]] == list(range(1, len(reported)))
    assert reported[-1][0] == reported[-1][1]


def test_bounds_are_part_of_what_a_summary_says(audit):
    budget = fs.Pairwise(bounds={PAIR: (-0.05, 0.05)})
    curve = audit.curve([0, 0.3], budget=budget)
    for text in (curve.summary(), curve.points[-1].summary(), curve.to_markdown()):
        assert "x from -0.05 to 0.05" in " ".join(text.split())


# ---------------------------------------------------------------- words

WORDS = {"labels": {"x": "first test"}, "units": {"y": "points"}, "people": "students", "higher_is": "better"}


def fit_with(words, **options):
    frame = fs.datasets.simulate(GRAPH, 120, random_state=0).frame
    return fs.Audit.fit(frame, GRAPH, max_degree=1, penalty=1, random_state=0, **options, **words)


def test_words_change_no_number_and_are_kept_by_refits_and_what_is_held_out():
    plain, worded = fit_with({}), fit_with(WORDS)
    assert worded.settings.wording == fs.Wording(**WORDS)
    assert plain.settings.wording == fs.Wording()
    assert plain.settings == worded.settings
    assert plain.cfu({PAIR: 0.4}) == worded.cfu({PAIR: 0.4})
    held_out = fit_with(WORDS, holdout=0.4)
    others = [worded.refit(penalty=2), worded.refit(keep=np.arange(120) < 80), worded.robust(0.2, 5), held_out]
    assert [other.settings.wording for other in others] == [fs.Wording(**WORDS)] * 4


def test_words_about_columns_that_are_not_there_are_refused_with_the_nearest_name():
    frame = fs.datasets.simulate(GRAPH, 120, random_state=0).frame.rename(columns={"x": "income"})
    graph = fs.CausalGraph.parse("a -> income, z", protected="a", outcome="y")
    for key in ("labels", "units"):
        message = f"{key} names 'incme', which is not a column of the data; did you mean 'income'?"
        with pytest.raises(fs.SettingError, match=re.escape(message)):
            fs.Audit.fit(frame, graph, **{key: {"incme": "Income"}})
