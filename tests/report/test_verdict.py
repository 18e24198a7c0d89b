"""The page says of a predictor, its outcome and the baselines what is so, whatever kind they are of."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairstress as fs
from fairstress.report.html.page import render_page, shown
from fairstress.report.json import report_results, write_results
from fairstress.report.saved import read_results

TEXT = "a -> x -> z; x <-> z"
NEVER = ("compliant", "compliance", "guarantee", "debias", "unbiased")


def collected(text: str = TEXT, *, classes: bool = False, questions: Any = None, **options: Any) -> dict[str, Any]:
    """Results of a small audit."""
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    if classes:
        frame["y"] = np.where(frame["y"] > 0, "yes", "no")
    settings = {"penalty": 1, "degrees": dict.fromkeys(graph.features, 1), "random_state": 0, **options}
    asked = {"sizes": (0, 0.3), "grid": (-0.3, 0, 0.3), **(questions or {})}
    return report_results(fs.Audit.fit(frame, graph, **settings).report(None, 0.3, **asked))


def read(results: dict[str, Any]) -> str:
    """The page's text without its script and data, in one line."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", render_page(results), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    return collected()


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    return collected(predictor=fs.Predictor(LinearRegression(), input="features", gradient="differences"))


def test_a_predictor_that_is_unfair_under_model_a_is_not_called_fair(raw):
    text, found = read(raw), raw["conclusion"]
    assert found["cfu_model_a"] == raw["comparison"][0]["cfu_model_a"] > 0.01
    change = f"would change by {shown(found['typical_model_a'], 2)}"
    assert "Not counterfactually fair, even if nothing is hidden." in text
    assert f"No. Even if the causal diagram is right and nothing is hidden, a typical prediction {change}." in text
    assert "Counterfactually fair if" not in text
    assert "Yes by construction" not in text
    assert "f(a, x) \N{MINUS SIGN} f(a*, x*)" in text


def test_a_predictor_of_residuals_is_counterfactually_fair_under_model_a(plain):
    text = read(plain)
    assert "It is a robust one" not in text
    assert "baseline's predictions from the audited ones" in text
    assert "Yes by construction, if the causal diagram is right and nothing is hidden." in text
    assert "f(e) \N{MINUS SIGN} f(e*)" in text


def test_a_robust_predictor_is_called_one_and_baselines_are_compared_with_the_fair_one():
    results = collected("a -> x -> z; a <-> x", robust=fs.Robust(0.3, 10))
    text, found = read(results), results["predictor"]["robust"]
    assert (found["weight"], found["p_max"], found["budget"]["kind"]) == (10, 0.3, "pairwise")
    assert "It is a robust one, which trades accuracy against the worst case: the best at weight 10" in text
    assert f"where the largest CFU found is {shown(found['cfu'])}" in text
    assert found["cfu"] == pytest.approx(results["details"]["cfu"], rel=1e-3)  # the tolerance of its cuts
    assert "from the audited ones" not in text
    assert "distance from the fair predictor's predictions" in text


def test_a_baseline_that_is_never_reached_is_said_not_to_be(plain):
    assert [other["as_unfair_from"] for other in plain["comparison"]] == [None, None, None]
    text = read(plain)
    assert "No hidden causes that link x and z with a correlation of up to 0.3 were found to make it as unfair" in text
    assert "Up to 0.3, the largest budget that was searched, this predictor was not found to be as unfair" in text
    assert "but perhaps not otherwise" not in text


def test_levels_stand_with_their_reasons_and_where_they_are_reached():
    results = collected(questions={"levels": {"board": (1e-4, "so the board says")}})
    (level, *_), text = results["levels"], read(results)
    assert f"board{shown(level['value'])}{shown(level['breaking_point'])}so the board says" in text
    assert 0 < level["breaking_point"] < 0.3


def test_another_measure_is_spoken_of_as_what_it_is():
    results = collected(measure="max")
    text = read(results)
    assert results["details"]["percent_of_variance"] is None  # which a largest change is no share of
    assert "some prediction could change by" in text
    assert "a typical prediction" not in text
    assert "the largest absolute difference of anybody" in text
    assert "Levels that the curve is compared with" not in text


def test_a_two_valued_outcome_is_predicted_by_probabilities_and_has_no_r_squared():
    text = read(collected(classes=True, predictor=fs.Predictor(LogisticRegression(), gradient="differences")))
    assert "predictions are probabilities of y being yes" in text
    assert "deviance explained" in text
    assert "R²" not in text


def test_a_refused_benchmark_leaves_its_sentence_on_the_page():
    results = collected("a -> x; w -> z; x <-> z")
    assert results["benchmarks"] is results["marks"] is None
    sentence = "no observed variable is a parent of both ends of x <-> z, so that none could play the hidden cause"
    assert f"Observed variables cannot serve as a benchmark here: {sentence}" in read(results)


def test_a_benchmark_names_the_pairs_that_it_is_about(demonstration):
    results, text = demonstration.results, read(demonstration.results)
    measured = {(b["first"], b["second"]) for b in results["benchmarks"]}
    assert measured
    for mark in results["marks"]:
        own = [
            b for b in results["benchmarks"] if (b["benchmark"], b["multiple"]) == (mark["benchmark"], mark["multiple"])
        ]
        pairs = ", ".join(f"{b['first']} ↔ {b['second']}" for b in own)
        size = f"{shown(mark['p_max_pairwise'])}" if mark["p_max_pairwise"] is not None else "none"
        assert f"{mark['mark']}{mark['benchmark']}{shown(mark['multiple'])}{pairs}{size}" in text
    bare = [pair for pair in results["graph"]["pairs"] if tuple(pair) not in measured]
    assert ("there is nothing to compare with" in text) == bool(bare)


def test_several_protected_columns_are_counted_each_and_together():
    graph = fs.CausalGraph.parse("a -> x; b -> x -> z; x <-> z", protected=("a", "b"), outcome="y")
    frame = fs.datasets.simulate(fs.CausalGraph.parse(TEXT, protected="a", outcome="y"), 300, random_state=0).frame
    frame = frame.assign(b=np.where(np.arange(300) % 3, "left", "right"))
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1})
    text = read(report_results(audit.report(None, 0.3, sizes=(0, 0.3), grid=(0,))))
    assert "of these, b: left200 rows" in text
    assert "of these, b: right100 rows" in text


def test_results_without_a_comparison_still_give_a_page(plain, tmp_path):
    old = {name: part for name, part in plain.items() if name not in ("comparison", "margins", "benchmarks_refused")}
    old["levels"] = [{name: part for name, part in level.items() if name != "source"} for level in plain["levels"]]
    write_results(tmp_path / "old.json", {**old, "schema": 4})
    text = read(read_results(tmp_path / "old.json"))
    assert "Yes by construction" in text
    assert "Mean of y, observed and predicted" in text


def test_no_page_speaks_of_law_or_of_more_than_it_shows(plain, raw, demonstration):
    for results in (plain, raw, demonstration.results):
        text = read(results).lower()
        assert [word for word in NEVER if word in text] == []


def test_a_reason_that_is_a_sentence_ends_once(plain):
    results = {**plain, "details": {**plain["details"], "reason": "The board has agreed on it."}}
    assert "The board has agreed on it. " in read(results)
    assert "it.." not in read(results)


def test_the_rows_that_move_most_say_how_many_people_they_stand_for(hostile_results):
    page = render_page(hostile_results, people=True)
    rows = re.search(r"The rows that move most</summary>.*?</table>", page, re.DOTALL)[0]
    counts = [float(x) for x in re.findall(r'<tr><td class="n"><data value="([^"]*)">', rows)]
    assert counts == [row["people"] for row in hostile_results["people"]]


def test_every_figure_says_how_to_read_it(demonstration):
    page = render_page(demonstration.results)
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    picture, *others = figures
    assert 'id="picture"' in picture
    assert "Hidden causes of one strength can act in many ways" in picture[picture.index("<figcaption>") :]
    assert len(others) == 6
    assert all("<figcaption>" in figure and "How to read this:" in figure for figure in others)


@pytest.mark.parametrize(("value", "text"), [(142.2, "142"), (12345.6, "12,346"), (99.96, "1e+02"), (3.2e7, "3.2e+07")])
def test_large_numbers_have_no_exponent_before_a_million(value, text):
    assert shown(value, 2) == text
