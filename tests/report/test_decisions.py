"""Decisions on the page: what the results say, in words, and only where there is a threshold."""

from __future__ import annotations

import copy
import re
from html import unescape
from typing import Any

import pytest

from fairstress.report.html.page import render_page, shown
from fairstress.report.json import write_results
from fairstress.report.saved import read_results

WAYS = ("gained", "lost", "either")


def section(results: dict[str, Any]) -> str:
    """The part of the page that is about decisions."""
    page = render_page(results)
    return page[page.index("Whose decision turns") : page.index("Nobody is shown here")]


def words(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", markup)).split())


def test_the_table_has_every_share_of_the_results_in_order(hostile_results):
    body = re.search(r"<tbody>(.*?)</tbody>", section(hostile_results), re.DOTALL)[1]
    found = [float(value) for value in re.findall(r'<data value="([^"]*)">', body)]
    groups = hostile_results["decisions"]["groups"]
    assert found == [g[where][way] for g in groups for where in ("model_a", "worst") for way in WAYS]
    names = [unescape(name) for name in re.findall(r"<tr><td><bdi>(.*?)</bdi>", body)]
    assert names[::2] == names[1::2] == ["everyone", "<b>one</b>", "__proto__"] == [g["group"] for g in groups]


def test_directions_threshold_and_search_are_explained_in_words(hostile_results):
    text, found = words(section(hostile_results)), hostile_results["decisions"]
    assert "is at or above 0.5, and no below. That threshold is the analyst's choice" in text
    assert "How to read this: gained means that a no turns to yes in the other world, lost that a yes turns" in text
    ends = f"found is {shown(found['lowest']['share'], 3)}, the largest {shown(found['highest']['share'], 3)}."
    assert f"{ends} {found['highest']['status']}" in text
    assert "The search used no derivatives" in text
    assert "Of the smallest:" not in text


def test_the_answers_have_one_sentence_on_decisions(hostile_results):
    found = hostile_results["conclusion"]["there"]
    page = render_page(hostile_results)
    verdict = words(page[: page.index("The causal diagram that was assumed")])
    assert f"{shown(found['turned_percent'], 2)} % of decisions would turn." in verdict
    if found["p_max"] == hostile_results["details"]["p_max"]:
        share = hostile_results["decisions"]["groups"][0]["worst"]["either"]
        assert found["turned_percent"] == pytest.approx(100 * share)


def test_the_share_of_a_two_valued_outcome_is_of_a_probability(hostile_results):
    results = copy.deepcopy(hostile_results)
    results["data"]["outcome_levels"] = ["no", "yes"]
    assert re.search(r"prediction, as a probability of n+ being yes, is at or above 0.5", words(section(results)))


def test_results_without_decisions_are_read_and_drawn_without_them(hostile_results, tmp_path):
    older = {key: value for key, value in hostile_results.items() if key != "decisions"}
    write_results(tmp_path / "older.json", {**older, "schema": 4})
    read = read_results(tmp_path / "older.json")
    assert read["decisions"] is None
    page = render_page(read)
    assert "decision turns" not in words(re.sub(r"<(script|style|pre)\b.*?</\1>", "", page, flags=re.DOTALL))


def test_searches_that_end_differently_both_say_so(hostile_results):
    results = copy.deepcopy(hostile_results)
    results["decisions"]["lowest"]["status"] = "The computation converged."
    assert words(section(results)).count("Of the smallest: The computation converged.") == 1


@pytest.mark.parametrize("share", [0.0, 1.0, 0.03125])
def test_shares_read_as_they_are(hostile_results, share):
    results = copy.deepcopy(hostile_results)
    results["decisions"]["highest"]["share"] = share
    assert f"the largest {shown(share, 3)}." in words(section(results))
