"""Nobody is singled out by default: no people, no labels, and no number from which those of a few could be told."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairstress as fs
from fairstress.errors import SettingError
from fairstress.report.html.page import render_page
from fairstress.report.json import report_results, results
from fairstress.report.sharing import hidden_groups, shared
from fairstress.report.text.brief import brief
from fairstress.wording import Sharing

OUTCOME, FEATURE = 41.4213, -7.3891  # of the only person of a group


@pytest.fixture(scope="module")
def data():
    """A report on three groups, one of which is one person, whose prediction moves most."""
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 250, random_state=0).frame
    frame["a"] = np.where(np.arange(250) % 2, "left", "right")
    frame.loc[7, ["a", "x", "y"]] = ["alone", FEATURE, OUTCOME]
    frame.index = [f"person {i}" for i in range(250)]
    with pytest.warns(fs.FairstressWarning, match="the group 'alone' of 'a' has 1 rows"):
        audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, predictor_degree=2, random_state=0)
    return audit.report(p_max=0.2, sizes=(0, 0.2), grid=(0,), threshold=0.0, people=True, labels=True)


@pytest.fixture(scope="module")
def everything(data):
    """All results, with nothing left out."""
    return report_results(_with(data, Sharing(True, True, 1)))


def _with(data, sharing: Sharing):
    return replace(data, sharing=sharing)


def leaves(value):
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def mentions(content, number: float) -> bool:
    return any(isinstance(v, float) and math.isclose(v, number, rel_tol=1e-6) for v in leaves(content))


def test_by_default_results_and_page_have_nobody_and_nothing_of_one_person(data, everything):
    assert mentions(everything, OUTCOME)
    assert mentions(everything, FEATURE)
    assert "person 7" in json.dumps(everything)
    content = report_results(_with(data, Sharing()))
    assert "person 7" not in json.dumps(content) + render_page(content) + render_page(everything)
    assert not mentions(content, OUTCOME)
    assert not mentions(content, FEATURE)
    assert content["people"] is None
    assert content["model_a"]["weights"] is None
    assert content["privacy"]["hidden_groups"] == ["alone", "left"]  # whose mean would give theirs away


def test_what_is_left_out_of_means_cannot_be_worked_out_from_the_others(data, everything):
    content, whole = report_results(_with(data, Sharing())), everything
    sizes = {str(group["level"]): group["rows"] for group in whole["data"]["groups"]}
    for rows in (content["curve"]["points"][-1]["groups"], content["conclusion"]["there"]["groups"]):
        visible = [row["group"] for row in rows[1:] if row["factual"] is not None]
        rest = rows[0]["factual"] * sum(sizes.values()) - sum(
            row["factual"] * sizes[row["group"]] for row in rows[1:] if row["factual"] is not None
        )
        assert sum(sizes[group] for group in sizes if group not in visible) >= 10
        assert math.isfinite(rest)
    assert [row["mean"] for row in content["predictors"] if row["group"] in ("alone", "left")] == [None] * 8
    assert [row["worst"]["either"] is None for row in content["decisions"]["groups"]].count(True) == 2


def test_quantiles_have_enough_people_beyond_them(data):
    content = report_results(_with(data, Sharing()))
    everyone, *groups = content["by_group"]
    assert {key for key, value in everyone.items() if value is None} == {"q0", "q100"}
    right = next(row for row in groups if row["group"] == "right")  # of 125 people, 6 of whom lie beyond a twentieth
    assert {key for key, value in right.items() if value is None} == {"q0", "q5", "q95", "q100"}


def test_sentences_speak_of_no_group_that_is_hidden(data):
    said = brief(report_results(_with(data, Sharing())), "")
    assert "alone" not in said
    assert "Groups of fewer than 10 people are not told apart here." in " ".join(said.split())
    page = render_page(report_results(_with(data, Sharing())))
    assert "not shown" in page
    assert "Nobody is shown here by their own values." in page


def test_people_are_shown_if_they_are_asked_for_and_labels_if_these_are(data):
    content = report_results(_with(data, Sharing(people=True)))
    assert len(content["people"]) == 20
    assert {row["label"] for row in content["people"]} == {None}
    assert "person 7" in json.dumps(report_results(_with(data, Sharing(True, True)))["people"])
    with pytest.raises(SettingError, match="labels is True, but people is False"):
        Sharing(labels=True)


def test_which_levels_a_few_people_lack_is_not_said():
    graph = fs.CausalGraph.parse("a -> g; g -> x", protected="a", outcome="y")
    rng = np.random.default_rng(0)
    grade = rng.choice(["low", "mid", "high"], 200)
    a = np.where(np.arange(200) < 4, "few", "many")
    grade[:4] = "mid"
    frame = pd.DataFrame({"a": a, "g": grade, "x": rng.normal(size=200), "y": rng.normal(size=200)})
    audit = fs.Audit.fit(frame, graph, kinds={"g": ["low", "mid", "high"]}, penalty=1, max_degree=1, random_state=0)
    assert any("has 'g' low, high" in note for note in audit.notes)
    written = results(audit, [])["notes"]
    assert any("Nobody in the group 'few' has some level of 'g'" in note for note in written)
    assert not any("low, high" in note for note in written)


def test_ends_of_a_range_that_few_people_have_are_left_out(everything, data):
    (x,) = [one for one in everything["plausibility"]["features"] if one["feature"] == "x"]
    assert x["lowest"] == pytest.approx(FEATURE)
    for one in report_results(_with(data, Sharing()))["plausibility"]["features"]:
        assert (one["lowest"], one["highest"]) == (None, None)


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
    st.integers(1, 30),
)
def test_those_who_are_hidden_are_nobody_or_enough_people_or_all(counts, fewest):
    sizes = {f"group {i}": n for i, n in enumerate(counts)}
    hidden = hidden_groups({"everyone": sum(counts), **sizes}, fewest)
    groups = hidden - {"everyone"}
    assert all(n >= fewest for group, n in sizes.items() if group not in groups)
    if groups and groups != set(sizes):
        assert sum(sizes[group] for group in groups) >= fewest
    assert ("everyone" in hidden) == (sum(counts) < fewest)


def test_shares_of_a_hidden_group_that_diagnostics_find_are_left_out(everything):
    check = {"check": "overlap", "about": "alone", "value": 1.0, "sentence": "For 100 % of people whose 'a' is alone"}
    found = {**everything["diagnostics"], "checks": [check, {**check, "about": "right"}]}
    hidden, shown = shared({**everything, "diagnostics": found}, Sharing())["diagnostics"]["checks"]
    assert hidden["value"] is None
    assert "100 %" not in hidden["sentence"]
    assert shown["value"] == 1.0


def test_leaving_out_twice_is_leaving_out_once(everything):
    once = shared(everything, Sharing())
    assert shared(once, Sharing()) == once
