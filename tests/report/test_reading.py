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
    """Numbers of a text, section numbers left out."""
    return re.findall(rf"{MINUS}?\d[\d,.]*\d(?:e{MINUS}\d+)?|{MINUS}?\d", re.sub(r"\(Sections?[^)]*\)", "", text))


def test_every_number_of_the_answers_is_on_the_page(demonstration):
    page = demonstration.page.read_text(encoding="utf-8")
    on_page = set(re.findall(r'<data value="[^"]*">([^<]*)</data>', page))
    assert len(ANSWERS) == 5
    for question, answer in ANSWERS.items():
        assert question in page
        assert set(numbers(answer)) - {"0"} <= on_page


@pytest.fixture(scope="module")
def results(demonstration):
    return demonstration.results


def said(question: str, *facts: str) -> None:
    """Check that facts stand in an answer in this order."""
    answer = " ".join(ANSWERS[question].split())
    for fact in facts:
        assert fact in answer
        answer = answer[answer.index(fact) + len(fact) :]


def test_the_verdict_and_its_size_are_the_audits(results):
    agreed = results["details"]
    assert any(level["breaking_point"] <= agreed["p_max"] for level in results["levels"])
    share = 100 * agreed["cfu"] / results["data"]["outcome_variance"]
    said("Is the claim robust?", "No", f"p_max {agreed['p_max']:g}", shown(agreed["cfu"]), f"{share:.2g} %")


def test_breaking_points_and_benchmarks_are_the_audits(results):
    by_name = {level["name"]: level for level in results["levels"]}
    blind, free = by_name["baseline blind"], by_name["baseline unconstrained"]
    first = shown(min(level["breaking_point"] for level in results["levels"]))
    assert first == shown(blind["breaking_point"])
    facts = [first, shown(blind["value"]), shown(free["breaking_point"]), shown(free["value"])]
    marks = {mark["mark"]: mark for mark in results["marks"]}
    assert (marks["A"]["multiple"], marks["C"]["multiple"]) == (1, 3)
    others = {other["predictor"]: other["as_unfair_from"] for other in results["comparison"]}
    assert others["unconstrained"] is None
    facts += [shown(others["blind"]), f"nowhere up to p_max {shown(results['curve']['points'][-1]['p_max'])}"]
    said("Up to where?", *facts, *(shown(marks[letter]["p_max_pairwise"]) for letter in "AC"))
    assert {(b["first"], b["second"]) for b in results["benchmarks"]} == {("ugpa", "lsat")}


def test_pairs_are_the_audits(results):
    pairs = {tuple(pair["pair"]): pair for pair in results["pairs"]}
    alone = [shown(pairs[pair]["alone"]) for pair in (("race", "lsat"), ("race", "ugpa"), ("ugpa", "lsat"))]
    assert all(
        value == pytest.approx(-0.2) for i, row in enumerate(results["details"]["correlation"]) for value in row[:i]
    )
    assert {tuple(f["pairs"][0]): f["verdict"] for f in results["check"]["alone"]}["ugpa", "lsat"] == "cannot matter"
    said("What breaks it?", "\N{MINUS SIGN}0.2", *alone, shown(pairs["ugpa", "lsat"]["forbidden"]))


def test_groups_are_the_audits(results):
    point = next(p for p in results["curve"]["points"] if p["p_max"] == results["details"]["p_max"])
    change = {group["group"]: group["difference"] for group in point["groups"]}
    assert change["non-White"] < 0 < change["White"]
    largest = results["by_group"][0]["q100"]
    sizes = f"{shown(-change['non-White'])} lower", f"{shown(change['White'])} higher"
    said("Who is hurt?", "non-White", *sizes, shown(largest))


def test_assumptions_and_other_specifications_are_the_audits(results):
    worst = [check["cfu"] for check in results["specification_checks"]]
    assert all(check["cfu"] > check["blind"] for check in results["specification_checks"])
    rows = {group["level"]: group["rows"] for group in results["data"]["groups"]}
    facts = [shown(results["data"]["rows"]), shown(rows["non-White"]), results["details"]["reason"]]
    said("What was assumed?", *facts, shown(min(worst)), shown(max(worst)))
    assert [(e["from"], e["to"]) for e in results["graph"]["edges"]] == [
        ("race", "ugpa"),
        ("race", "lsat"),
        ("ugpa", "lsat"),
    ]
