"""The page as text: every number is the results', the same results give the same bytes, and names stay names."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import fairstress as fs
from fairstress.report.html.page import render_page, shown
from fairstress.report.json import report_results, write_results
from fairstress.report.saved import read_results

VOID = {"meta", "link", "input", "br"}
OWN_WORDS = {"p_max", "CFU", "R²", "SHA-256", "(CFU) is 0 by construction", "5 %", "25 %", "75 %", "95 %"}
OWN_WORDS |= {"penalty 0", "0 means", "(1 \N{MINUS SIGN} p_max)", "²"}
OWN_WORDS |= {"(0.5: not at all, as it should be; 1: without error)", "Far above 0.5"}  # what an AUC means


class Reader(HTMLParser):
    """Collects numbers as (value, text), elements, and all text that is no number, script or style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.numbers: list[tuple[float, str]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag  # nothing is left open, and nothing of a name closes it

    def handle_data(self, data):
        if self.open and self.open[-1] == "data":
            self.numbers.append((float(self.tags[-1][1]["value"]), data))
        elif not set(self.open) & {"script", "style"}:
            self.text += data


@pytest.fixture(scope="module", params=["law", "hostile"])
def results(request, demonstration, hostile_results):
    return demonstration.results if request.param == "law" else hostile_results


@pytest.fixture(scope="module")
def reader(results) -> Reader:
    return Reader(render_page(results))


def leaves(value):
    """Everything in JSON that is neither a list nor an object."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def test_every_number_of_the_page_is_in_the_results(reader, results):
    known = {value for value in leaves(results) if isinstance(value, int | float)}
    assert len(reader.numbers) > 200
    assert {value for value, _ in reader.numbers} <= known


def test_every_number_reads_as_its_value_does(reader, results):
    noise = results["curve"]["negligible"]
    for value, text in reader.numbers:
        seen = float(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))
        if seen == 0:
            assert abs(value) <= max(noise, 1e-12)
        else:  # with two digits or more; "lower" and "higher" stand for the sign
            assert abs(seen) == pytest.approx(abs(value), rel=0.05)
            assert seen > 0 or value < 0


def test_no_number_stands_outside_of_what_was_checked(demonstration):
    page = render_page(demonstration.results)
    text = re.sub(r"<(h[1-6]|dt|pre)\b.*?</\1>", " ", page[page.index("<body>") :], flags=re.DOTALL)
    text = " ".join(Reader(text.replace("</body>\n</html>", "")).text.split())
    texts = [value for value in leaves(demonstration.results) if isinstance(value, str)]
    for own in sorted({*texts, *OWN_WORDS, *(f"section {n}" for n in range(1, 12))}, key=len, reverse=True):
        text = text.replace(own, " ") if len(own) > 1 else text
    assert re.findall(r"\S*\d\S*", text) == []


def test_saved_and_loaded_results_give_the_same_page_byte_for_byte(results, tmp_path):
    write_results(tmp_path / "results.json", results)
    assert render_page(read_results(tmp_path / "results.json")) == render_page(results)


def test_hostile_names_open_no_element(hostile_results, hostile_names):
    page = render_page(hostile_results, people=True, labels=True)
    reader = Reader(page)
    assert reader.open == []
    assert {tag for tag, _ in reader.tags} & {"img", "b", "i", "u", "iframe"} == set()
    assert sum(tag == "script" for tag, _ in reader.tags) == page.count("<script") == 2
    assert not any(key.startswith("on") for _, attributes in reader.tags for key in attributes)
    for name in (*hostile_names, "<b>one</b>", "__proto__", "<i onclick=x>", "<u>file</u>.csv", "<b>no reason</b>"):
        assert name in reader.text


def test_what_the_page_carries_is_the_results(hostile_results):
    page = render_page(hostile_results, people=True, labels=True)
    carried = re.search(r'<script type="application/json" id="results">(.*?)</script>', page)[1]
    assert json.loads(carried) == json.loads(json.dumps(hostile_results))


def test_people_and_labels_of_rows_are_not_even_carried_unless_asked_for(hostile_results):
    assert "onclick" not in render_page(hostile_results, people=True)
    assert '"people":null' in render_page(hostile_results)
    assert "onclick" in render_page(hostile_results, people=True, labels=True)


def test_control_characters_are_written_out(demonstration):
    results = copy.deepcopy(demonstration.results)
    results["details"] |= {"reason": "red \x1b[31m \u202e reversed", "is_default": False}
    assert r"red \x1b[31m \u202e reversed</bdi>." in render_page(results)


def test_pages_stay_small_and_ask_for_nothing(results):
    page = render_page(results)
    assert len(page.encode()) < 1_000_000
    assert re.findall(r'(?:src|href)="(?!#|data:,)', page) == []
    assert re.findall(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|sendBeacon|WebSocket|import\(", page) == []


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        ({}, ["but perhaps not otherwise", "could, in the worst case, make it as unfair as"]),
        (
            {"state": "holds", "p_max": None, "causes": None},
            ["in all that was tried", "More than a correlation of , as far as the search"],
        ),
        ({"state": "nothing to compare with", "p_max": None}, ["could change a typical prediction by"]),
        ({"state": "hidden causes cannot matter"}, ["This test cannot tell.", "Nothing that this test can see."]),
        (
            {"state": "counterfactual people are impossible"},
            ["No verdict: the model makes people like nobody in the data."],
        ),
    ],
)
def test_the_verdict_follows_from_the_conclusion(demonstration, change, sentences):
    results = copy.deepcopy(demonstration.results)
    results["conclusion"] |= change
    text = Reader(render_page(results)).text
    found = text[: text.index("The causal diagram that was assumed")]
    assert [sentence for sentence in sentences if sentence not in found] == []  # numbers are read apart
    silent = "cannot" in results["conclusion"]["state"] or "impossible" in results["conclusion"]["state"]
    assert ('id="picture"' in render_page(results)) is not silent


@pytest.mark.parametrize(("reason", "said"), [("", "no reason was given"), ("the board says so", "the board says so")])
def test_a_level_has_its_reason_or_none(demonstration, reason, said):
    results = copy.deepcopy(demonstration.results)
    results["levels"] = [{**level, "name": "ours", "reason": reason} for level in results["levels"]]
    rows = [text.split("\n")[0] for text in Reader(render_page(results)).text.split("ours")[1:]]
    assert rows[:2] != []
    assert all(said in row for row in rows[:2])


@pytest.mark.parametrize("kind", ["three levels", "a number", "two columns", "two-valued outcome"])
def test_every_kind_of_attribute_and_outcome_has_its_page(kind):
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, correlation={("x", "z"): 0.4}, binary=False, random_state=0).frame
    if kind in ("three levels", "two columns"):
        frame["a"] = np.digitize(frame["a"], [-0.5, 0.5] if kind == "three levels" else [0.0]).astype(str)
    if kind == "two columns":
        frame["b"] = np.where(np.arange(300) % 3, "left", "right")
        graph = fs.CausalGraph.parse("a -> x; b -> x -> z; x <-> z", protected=("a", "b"), outcome="y")
    if kind == "two-valued outcome":
        frame["y"] = (frame["y"] > 0).astype(int)
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    results = report_results(audit.report(None, 0.3, sizes=(0, 0.3), grid=(-0.3, 0, 0.3)))
    reader = Reader(render_page(results))
    known = {value for value in leaves(results) if isinstance(value, int | float)}
    assert {value for value, _ in reader.numbers} <= known
    counts = {"three levels": 3, "a number": 0, "two columns": 4, "two-valued outcome": 0}
    assert len(results["data"]["groups"]) == counts[kind]
    assert len(results["curve"]["points"][0]["groups"]) == counts[kind] + 1
    for group in results["data"]["groups"]:
        assert f"{results['graph']['protected']}: {group['level']}" in reader.text
    if kind == "a number":
        assert "a moved by" in reader.text
    if kind == "three levels":
        assert "people are moved to every other level" in reader.text


def test_numbers_are_shown_as_people_read_them():
    assert [shown(x) for x in (21791, 0.0, -0.25, 1 / 3)] == ["21,791", "0", "\N{MINUS SIGN}0.25", "0.3333"]
