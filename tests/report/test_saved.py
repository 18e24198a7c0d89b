"""Saved results are checked by their schema and against themselves: no file gets past that to a traceback."""

from __future__ import annotations

import copy
import json
import random
import re

import pytest

import fairstress as fs
from fairstress.errors import FairstressError, SettingError
from fairstress.report.html.page import render_page
from fairstress.report.json import report_results, results, write_results
from fairstress.report.saved import read_results
from fairstress.report.text.brief import brief
from fairstress.schema import first_problem, load_schema, resolved

BAD = (None, True, -1, 0, 1.5, 1e308, "", "text", [], [None], [[]], {}, {"cfu": 1}, [{}])


@pytest.fixture(scope="module")
def audit():
    graph = fs.CausalGraph.parse("a -> x, z; u -> x, z; x <-> z; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 120, random_state=0).frame
    return fs.Audit.fit(frame, graph, penalty=1, max_degree=1, predictor_degree=1, random_state=0)


@pytest.fixture(scope="module")
def content(audit):
    data = audit.report(
        p_max=0.1, sizes=(0, 0.1), grid=(0, 0.1), threshold=0.0, search=fs.Search(starts=1), people=True, labels=True
    )
    return json.loads(json.dumps(report_results(data)))


@pytest.fixture
def read(tmp_path):
    """Read results as a file would have them."""

    def of(changed):
        (tmp_path / "results.json").write_text(json.dumps(changed), encoding="utf-8")
        return read_results(tmp_path / "results.json")

    return of


def unknown(value, schema, root, at=""):
    """Keys that a schema does not name."""
    schema = resolved(schema, root)
    schema = resolved(schema["anyOf"][0], root) if "anyOf" in schema else schema
    if isinstance(value, dict):
        others = schema.get("additionalProperties")
        for key, part in value.items():
            if key in schema.get("properties", {}):
                yield from unknown(part, schema["properties"][key], root, f"{at}.{key}")
            elif isinstance(others, dict):
                yield from unknown(part, others, root, f"{at}.*")
            else:
                yield f"{at}.{key}"
    elif isinstance(value, list):
        for part in value:
            yield from unknown(part, schema.get("items", {}), root, f"{at}[]")


def test_results_are_what_their_schema_says_and_it_names_every_key(audit, content, read):
    schema = load_schema("results")
    short = json.loads(json.dumps(results(audit, [audit.profile(("x", "z"), [0, 0.2])])))
    for written in (content, short):
        assert first_problem(written, schema) is None
        assert list(unknown(written, schema, schema)) == []
        assert read(written) == written


# ---------------------------------------------------------------- spoilt files


def places(value, at=()):
    """Every place in some results but their beginning."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*at, key)
        yield from places(part, (*at, key))


def spoilt(content, place, bad):
    """Results with something else in one place; ``bad`` may be to take it away."""
    changed = copy.deepcopy(content)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    if bad is Ellipsis:
        del parent[place[-1]]
    else:
        parent[place[-1]] = bad
    return changed


def survives(read, changed) -> str:
    """What becomes of spoilt results: a sentence, or a page and a summary."""
    try:
        known = read(changed)
        render_page(known, people=True, labels=True)
        if known["conclusion"]:
            brief(known, "")
    except FairstressError as problem:
        return str(problem)
    return ""


def test_spoilt_results_are_refused_with_a_sentence_or_drawn(content, read):
    draw = random.Random(0)
    cases = [(place, bad) for place in places(content) for bad in (*BAD, ...)]
    said = [survives(read, spoilt(content, *case)) for case in draw.sample(cases, 250)]
    assert sum(bool(sentence) for sentence in said) > 100
    assert all("\n" not in sentence for sentence in said)


@pytest.mark.parametrize(
    ("place", "bad", "sentence"),
    [
        (("curve", "points", 0, "cfu"), "much", "'curve.points[0].cfu' is 'much' and not a number"),
        (("curve", "points", 0, "cfu"), float("inf"), "'curve.points[0].cfu' is inf and not a finite number"),
        (("curve", "points"), [], "'curve.points' is [] and not a list of at least 1"),
        (("curve", "points", 1, "correlation"), [[1.0]], "'curve.points[1].correlation' is not 4 by 4"),
        (("conclusion", "there", "correlation", 0), [1.0], "'conclusion.there.correlation' is not 4 by 4"),
        (("conclusion", "state"), "fine", "'conclusion.state' is 'fine' and not 'breaks' or 'holds'"),
        (("details",), None, "it has 'curve' but not 'details'"),
        (("graph", "pairs", 0), ["x", "q"], "the pair of 'x' and 'q' names what 'graph.variables' does not"),
        (("graph", "edges", 0, "to"), "q", "the edge to 'q' names neither a feature nor the outcome"),
        (("profiles", 0, "cfu"), [0.1], "the lists in 'profiles[0]' are not of one length"),
        (("comparison",), [], ""),
        (("predictors", 0, "group"), "others", "'predictors' do not name the same groups"),
        (("data", "outcome_levels"), ["one"], "'data.outcome_levels' is ['one'] and not a list of 2"),
        (("privacy",), ..., "it has no 'privacy'"),
        (("run",), {"settings": 3, "folder": "."}, "'run.settings' is 3 and not a table"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(content, read, place, bad, sentence):
    said = survives(read, spoilt(content, place, bad))
    assert sentence in said
    assert not sentence or said.endswith("; write the results anew, or use the version that wrote them")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 100_000, "lists or objects stand too deep in one another"),
        ("[]", "it has no 'schema'"),
        ('{"schema": true}', "its schema is True"),
        ('{"schema": []}', "its schema is []"),
        ('{"schema": 5.5}', "its schema is 5.5"),
        (f'{{"schema": {"9" * 5000}}}', "cannot read"),
        ('{"schema": 5}', "it has no 'data'"),
    ],
)
def test_files_that_hold_something_else_are_refused(tmp_path, text, sentence):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(SettingError, match=re.escape(sentence)):
        read_results(tmp_path / "results.json")


# ---------------------------------------------------------------- older ones


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_older_files_that_are_spoilt_are_refused_or_drawn_too(content, read, schema):
    draw, old = random.Random(schema), {**content, "schema": schema}
    if schema in (2, 3):
        old["agreed"] = old.pop("details")
    cases = [(place, bad) for place in places(old) for bad in (*BAD, ...) if place != ("schema",)]
    for case in draw.sample(cases, 40):
        survives(read, spoilt(old, *case))


def test_older_results_show_nobody_unless_asked_to(content, read, tmp_path):
    old = {key: part for key, part in content.items() if key not in ("privacy", "run")} | {"schema": 4}
    known = read(old)
    assert known["privacy"]["hidden_groups"] == []
    assert known["people"] == content["people"]
    assert json.loads(json.dumps(content["people"][0]["features"]))[0]["factual"] is not None
    page = render_page(known)
    assert '"people":null' in page
    assert "The rows that move most" in render_page(known, people=True)
    write_results(tmp_path / "again.json", {**known, "schema": 5})
    assert read_results(tmp_path / "again.json")["people"] == content["people"]
