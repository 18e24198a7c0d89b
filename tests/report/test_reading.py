"""The answers that the documentation reads off the law-school page are the page's, and the audit's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairstress.report.html.page import shown

MINUS = "\N{MINUS SIGN}"
TEXT = (Path(__file__).parents[2] / "docs" / "reading_a_report.md").read_text(encoding="utf-8")
ANSWERS = dict(re.findall(r"\*\*([^*]+\?)\*\* (.*?)(?=\n\n)", TEXT, re.DOTALL))


def numbers(text: str) -> list[str]:
    """Numbers of a text."""
    return re.findall(rf"{MINUS}?\d[\d,.]*\d(?:e{MINUS}\d+)?|{MINUS}?\d", text)


def test_every_number_of_the_answers_is_on_the_page(demonstration):
    page = demonstration.page.read_text(encoding="utf-8")
    on_page = set(re.findall(r'<data value="[^"]*">([^<]*)</data>', page))
    assert list(ANSWERS) == re.findall(r"<dt>([^<]*\?)</dt>", page)
    for answer in ANSWERS.values():
        assert set(numbers(answer)) <= on_page


def test_parts_of_the_page_have_the_names_that_are_given(demonstration):
    page = demonstration.page.read_text(encoding="utf-8")
    named = [" ".join(part.split()) for answer in ANSWERS.values() for part in re.findall(r'"([^"]+)"', answer)]
    assert len(named) == 4
    assert [part for part in named if f"<h2>{part}</h2>" not in page] == []


@pytest.fixture(scope="module")
def results(demonstration):
    return demonstration.results


def said(question: str, *facts: str) -> None:
    """Check that facts stand in an answer in this order."""
    answer = " ".join(ANSWERS[question].split())
    for fact in facts:
        assert fact in answer
        answer = answer[answer.index(fact) + len(fact) :]


def test_fairness_as_it_stands_is_the_audits(results):
    found = results["conclusion"]
    assert found["typical_model_a"] == 0
    said("Is it fair as it stands?", "by construction", shown(results["bands"]["typical_sampling_error"], 2))


def test_the_strength_that_is_needed_is_the_audits(results):
    found = results["conclusion"]
    assert shown(found["crossing"]["cfu"]) == shown(found["crossing"]["baseline_cfu"])
    facts = [shown(found["p_max"], 3), shown(found["crossing"]["cfu"])]
    facts += [f"{shown(found['causes'][name], 2)} %" for name in ("equal_percent", "capped_percent", "cap_percent")]
    marks = {mark["multiple"]: mark for mark in results["marks"] if mark["benchmark"] == "sex"}
    facts += [shown(marks[times]["p_max_pairwise"]) for times in (1, 3)]
    said("How much would have to be hidden?", *facts)
    assert all(mark["p_max_pairwise"] < found["p_max"] / 3 for mark in results["marks"])  # "much more"


def test_what_could_happen_and_to_whom_is_the_audits(results):
    found, there = results["conclusion"], results["conclusion"]["there"]
    assert there["p_max"] == found["p_max"]
    share = f"{shown(there['percent_of_deviation'], 2)} %"
    said("What could happen then?", shown(there["typical"], 2), share)
    change = {group["group"]: group["difference"] for group in there["groups"]}
    sizes = f"{shown(-change['non-White'], 2)} lower", f"{shown(change['White'], 2)} higher"
    assert (results["details"]["is_default"], results["wording"]["higher_is"]) == (True, "better")
    details = f"p_max {shown(results['details']['p_max'])}", shown(results["by_group"][0]["q95"])
    said("Who would be affected?", "non-White students", *sizes, "non-White students would lose", *details)


def test_how_sure_it_is_is_the_audits(results):
    found, percent = results["conclusion"], f"{shown(results['bands']['percent'], 2)} %"
    upper = shown(found["there"]["typical_upper"], 2)
    sizes = [shown(found[name], 3) for name in ("lower", "p_max")]
    said("How sure is this?", percent, *sizes, upper)


def test_assumptions_and_checks_are_the_audits(results):
    rows = {group["level"]: group["rows"] for group in results["data"]["groups"]}
    checks = results["diagnostics"]
    (alarm,) = (one for one in checks["checks"] if one["verdict"] == "alarm")
    assert (alarm["feature"], alarm["about"]) == ("lsat", "non-White")
    facts = [
        shown(results["data"]["rows"]),
        shown(rows["non-White"]),
        shown(checks["checked"]),
        shown(checks["alarms"]),
    ]
    said("What does this rest on?", "additive Gaussian", *facts, "`thorough=True`")
    assert results["specification_checks"] == []
    edges = [("race", "ugpa"), ("race", "lsat"), ("ugpa", "lsat")]
    assert [(e["from"], e["to"]) for e in results["graph"]["edges"]] == edges
