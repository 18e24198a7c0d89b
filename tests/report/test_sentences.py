"""What the first screen says stays true for holdouts, contrasts, bounds, other measures and searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import fairstress as fs
from fairstress.report.json import report_results
from fairstress.report.text.plain import first_screen
from fairstress.report.text.said import as_text

TEXT = "a -> x, z; x -> z; a <-> x; x <-> z"
ASKED: dict[str, Any] = {"sizes": (0, 0.2, 0.4), "grid": (0, 0.2), "search": fs.Search(starts=1)}


def screen(text: str = TEXT, questions: Any = None, levels: bool = False, **options: Any) -> tuple[Any, list[str]]:
    """Results of a small audit, and all sentences of its first screen."""
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    if levels:
        frame["a"] = np.where(np.arange(200) % 3, frame["a"].map({-1: "p", 1: "q"}), "r")
    settings = {"penalty": 0, "degrees": dict.fromkeys(graph.features, 1), "predictor_degree": 1, "random_state": 0}
    audit = fs.Audit.fit(frame, graph, **{**settings, **options})
    results = report_results(audit.report(None, 0.4, **{**ASKED, **(questions or {})}))
    shown = first_screen(results)
    answers = [answer for _, answer in shown.answers]
    return results, [as_text(text) for text in (shown.title, shown.claim, shown.headline, *answers)]


def test_an_unfair_model_stays_unfair_on_people_who_were_held_out():
    raw = fs.Predictor(LinearRegression(), input="features", gradient="differences")
    for holdout in (None, 0.4):
        results, said = screen(predictor=raw, holdout=holdout)
        assert results["conclusion"]["state"] == "unfair if nothing is hidden"
        assert said[1] == "Not counterfactually fair, even if nothing is hidden."


def test_a_ratio_to_the_blind_predictor_is_of_both_if_nothing_is_hidden():
    raw = fs.Predictor(LinearRegression(), input="features", gradient="differences")
    whole, part = (screen(predictor=raw, questions={"sizes": s})[0]["conclusion"] for s in ((0, 0.4), (0.4,)))
    assert part["ratio_model_a"] == pytest.approx(whole["ratio_model_a"], rel=1e-9)


def test_levels_that_leave_something_are_not_called_fair():
    results, said = screen("a -> x, z; x -> z; a <-> z", kinds={"x": "rank", "z": "rank"}, holdout=0.5)
    assert results["conclusion"]["typical_model_a"] > 0
    assert said[1] == "Not exactly counterfactually fair, even if nothing is hidden."
    assert said[3].startswith("Not exactly. Even if the causal diagram is right")


def test_bounds_are_named_and_one_cause_which_knows_none_is_not_asked():
    budget = fs.Pairwise(bounds={("a", "x"): (0, 0), ("x", "z"): (0, 0)})
    results, said = screen(questions={"budget": budget})
    assert results["conclusion"]["causes"] is None
    assert "within the bounds given" in " ".join(said)


def test_the_papers_search_asks_the_other_one_about_one_cause():
    results, _ = screen(questions={"search": fs.Search(starts=1, method="ascent")})
    assert results["conclusion"]["causes"]["equal_percent"] > 0


def test_who_is_moved_to_one_level_is_asked_about_that_level():
    _, said = screen("a -> x, z; x -> z; x <-> z", levels=True, reference="q", contrast=["p"])
    assert said[0] == "Would this prediction be the same if a were p?"


def test_a_measure_of_the_analysts_has_no_units():
    def fourth(d: Any, weight: Any) -> float:
        return float(weight @ d**4 / weight.sum())

    _, said = screen(measure=fourth, units={"y": "points"})
    assert "points" not in " ".join(said)
    assert "standard deviation" not in " ".join(said)


def test_baselines_that_predict_the_same_are_no_levels():
    results, said = screen("a =fair=> x, z; x -> z; x <-> z")
    assert all(level["value"] > 0 for level in results["levels"])
    assert "e\N{MINUS SIGN}" not in " ".join(said)  # rounding is no effect
