"""Sentences that were once false stay away: what a page or a summary says is what was found, and no more."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import fairstress as fs
from fairstress.report.html.page import render_page, shown
from fairstress.report.json import report_results
from fairstress.report.text.plain import first_screen
from fairstress.report.text.said import as_text
from fairstress.report.text.words import Words

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fairstress"
SMALL = {"grid": (0,), "search": fs.Search(starts=2)}
FOUR = "a -> x, z; x -> z; a <-> x; x <-> z; a <-> z"
GONE = (
    "bring CFU to the level",
    "reached no named level",
    "whatever hides",
    "all others without it make",
    "has no arrow between",
    "treated otherwise than",
    "agree on your own",
    "move most for everyone",
    "rules take",
    "takes one beyond it",
)


def text_of(page: str) -> str:
    """A page's text without its script and data, in one line."""
    visible = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", "", visible)).split())


def read(results: dict[str, Any]) -> str:
    return text_of(render_page(results))


def answers(results: dict[str, Any]) -> dict[str, str]:
    return {question: as_text(answer) for question, answer in first_screen(results).answers}


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def law(law_frame) -> fs.Audit:
    """The demonstration's audit."""
    graph = fs.CausalGraph.parse(
        "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa", protected="race", outcome="zfya"
    )
    settings = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous", "random_state": 0}
    return fs.Audit.fit(law_frame, graph, reference="White", **settings)


@pytest.fixture(scope="module")
def small() -> fs.Audit:
    graph = fs.CausalGraph.parse(FOUR, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    return fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=1, random_state=0)


# ---------------------------------------------------------------- like for like


def test_the_verdict_breaks_where_both_predictors_are_equally_unfair_under_the_same_causes(demonstration):
    found, levels = demonstration.results["conclusion"], demonstration.results["levels"]
    blind = next(level for level in levels if level["name"] == "baseline blind")
    assert found["p_max"] == pytest.approx(0.195, abs=5e-4)
    assert found["crossing"]["cfu"] == pytest.approx(found["crossing"]["baseline_cfu"], rel=1e-2)
    assert found["crossing"]["cfu"] == pytest.approx(0.0145, abs=5e-4)
    assert blind["breaking_point"] < found["p_max"]  # the paper's distance, which the verdict does not go by
    headline = as_text(first_screen(demonstration.results).headline)
    assert "a correlation of 0.19 could, in the worst case, make it as unfair as a predictor that simply" in headline


def test_no_claim_breaks_by_a_distance_where_the_blind_baseline_is_more_unfair_there(law):
    results = report_results(law.report(None, 0.19, sizes=(0, 0.19), **SMALL))
    blind = next(level for level in results["levels"] if level["name"] == "baseline blind")
    assert blind["breaking_point"] < 0.19
    assert results["comparison"][-1]["predictor"] == "blind"
    assert results["comparison"][-1]["cfu_worst"] > results["details"]["cfu"]
    assert results["conclusion"]["state"] == "holds"
    headline = as_text(first_screen(results).headline)
    assert "up to 0.19 were found to make it as unfair as a predictor that simply leaves race out" in headline


# ---------------------------------------------------------------- what a model is shown


@pytest.fixture(scope="module")
def without_race(law_frame) -> dict[str, Any]:
    """A deployed model whose columns lack the protected attribute, one of them of no weight."""
    frame = law_frame.assign(noise=0.0)
    model = LinearRegression().fit(frame[["ugpa", "lsat", "noise"]], frame["zfya"])
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
    predictor = fs.Predictor(model, input="features", gradient="differences")
    audit = fs.Audit.fit(frame, graph, predictor=predictor, max_degree=1, random_state=0)
    return report_results(audit.report(None, 0.1, sizes=(0, 0.1), **SMALL))


def test_a_model_that_lacks_the_protected_attribute_is_not_said_to_look_at_it(without_race):
    graph, text = without_race["graph"], read(without_race)
    assert graph["predictor_looks_at"] == ["ugpa", "lsat", "noise"]
    assert graph["columns_used"] == ["ugpa", "lsat"]
    assert "predicted from ugpa and lsat." in text
    assert "The predictor is shown ugpa, lsat and noise, of which it uses only ugpa and lsat." in text
    assert "c = f(x) \N{MINUS SIGN} f(x*)" in text
    assert "f(a, x)" not in text
    for said in re.findall(r"(?:predicted from|[Pp]redictor is shown|it uses only|looks at) [^.]*\.", text):
        assert "race" not in said or said.startswith("looks at all columns, blind at all but race")  # the baselines


# ---------------------------------------------------------------- nobody has agreed on anything


def test_nothing_is_called_agreed_and_a_default_is_called_one(demonstration, small):
    default, asked = (report_results(small.report(p_max=size, sizes=(0, 0.3), **SMALL)) for size in (None, 0.2))
    assert (default["details"]["is_default"], asked["details"]["is_default"]) == (True, False)
    for results in (demonstration.results, default, asked):
        assert "agreed" not in read(results).lower()
    assert "agreed" not in demonstration.stdout.lower()
    assert "agreed" not in flat(small.summary() + small.details() + small.curve([0, 0.2]).summary()).lower()
    assert "a budget of p_max 0.3, the default." in read(default)
    assert "the default" not in read(asked)
    asked["details"]["reason"] = "agreed with the board"
    assert "a budget of p_max 0.2: agreed with the board." in read(asked)


# ---------------------------------------------------------------- how many times, and what one cause explains


def test_a_predictor_that_is_several_times_as_unfair_already_is_said_to_be(law_frame):
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")

    def predict(frame: pd.DataFrame) -> np.ndarray:
        return np.where(frame["race"] == "White", 1.0, 0.0) + 0.01 * frame["lsat"].to_numpy()

    predictor = fs.Predictor(predict, input="features", gradient="differences")
    audit = fs.Audit.fit(law_frame, graph, predictor=predictor, max_degree=1, random_state=0)
    results = report_results(audit.report(None, 0.1, sizes=(0, 0.1), **SMALL))
    found = results["conclusion"]
    blind = audit.cfu({}, baseline="blind")
    assert found["ratio_model_a"] == pytest.approx(np.sqrt(audit.cfu({}) / blind))
    assert found["ratio_model_a"] > 2
    assert found["p_max"] == 0
    times = f"{shown(found['ratio_model_a'], 2)} times as"
    assert f"{times} much as one of a predictor that simply leaves race out" in as_text(first_screen(results).headline)
    assert f"it is already {times} unfair as a predictor" in answers(results)["How much would have to be hidden?"]
    assert "from p_max 0 on" not in read(results)


def test_no_summary_gives_a_point_of_the_grid_for_what_one_cause_must_explain(law):
    curve = law.curve([0, 0.1, 0.2, 0.4], search=fs.Search(starts=2))
    first = curve.breaking_point(law.baselines["blind"].unfairness).p_max
    assert 0.1 < first < 0.2
    text = flat(curve.summary())
    assert "the distance of the baseline blind, between p_max = 0.1 and 0.2" in text
    assert "only if" not in text
    assert "%" not in text
    worst = curve.points[-1].correlation.to_numpy()
    assert worst[0, 1] * worst[0, 2] * worst[1, 2] < 0  # which no one cause can bring about
    assert "cause" not in text


# ---------------------------------------------------------------- people who could not exist


@pytest.fixture(scope="module")
def impossible() -> dict[str, Any]:
    """Most people have the lowest value, which the other world shifts."""
    rng = np.random.default_rng(0)
    woman = (np.arange(3000) % 10 != 0).astype(int)
    x = np.where(rng.random(3000) < 0.8, 0.0, rng.exponential(1 + 2.0 * woman))
    frame = pd.DataFrame({"sex": np.where(woman, "woman", "man"), "x": x})
    frame["y"] = 0.1 * x + rng.standard_normal(3000)
    graph = fs.CausalGraph.parse("sex -> x; sex <-> x", protected="sex", outcome="y")
    given = {"degrees": {"x": 1}, "penalty": 0, "higher_is": "better", "random_state": 0}
    audit = fs.Audit.fit(frame, graph, **given)
    return report_results(audit.report(None, 0.2, sizes=(0, 0.2), **SMALL))


def test_where_most_counterfactual_people_are_impossible_the_verdict_says_so_and_names_nobody(impossible):
    assert impossible["plausibility"]["mostly_impossible"]
    screen, said = first_screen(impossible), answers(impossible)
    assert as_text(screen.claim) == "No verdict: the model makes people like nobody in the data."
    assert f"{shown(impossible['plausibility']['impossible_percent'], 2)} % of people" in as_text(screen.headline)
    assert said["Who would be affected?"] == "Nobody can be named."
    assert said["What could happen then?"] == "That cannot be said."
    page = render_page(impossible)
    first = text_of(page[: page.index('id="part-graph"')])
    assert [word for word in ("woman", " man", "lose", "lower", "higher") if word in first] == []
    assert 'id="picture"' not in page
    assert "Nobody, as far as can be told" in text_of(page[page.index('id="part-people"') :])


# ---------------------------------------------------------------- worst cases are over additive Gaussian confounding


def test_every_statement_of_a_worst_case_says_what_confounding_it_is_over(demonstration, small, hostile_results):
    worst, curve = small.worst_case(0.2, search=fs.Search(starts=1)), small.curve([0, 0.2])
    bound = small.bounds(small.effect("z"), 0.2)[0]
    data = small.report(sizes=(0, 0.3), **SMALL)
    for text in (worst.summary(), curve.summary(), bound.summary(), data.summary(), small.summary()):
        assert "additive Gaussian" in flat(text)
    for sheet in (worst._repr_html_(), curve._repr_html_(), data._repr_html_(), curve.to_markdown()):
        assert "additive Gaussian" in flat(sheet)
    assert "additive Gaussian" in flat(demonstration.stdout)
    for results in (demonstration.results, hostile_results):
        page = render_page(results)
        parts = [page[page.index('id="verdict"') : page.index('id="part-graph"')]]
        parts += re.findall(r'<details class="part".*?(?=<details class="part"|</main>)', page, re.DOTALL)
        stating = [part for part in map(text_of, parts) if re.search(r"\bworst\b", part)]
        assert len(stating) >= 4
        assert [part[:60] for part in stating if "additive" not in part or "Gaussian" not in part] == []


# ---------------------------------------------------------------- the size of a budget


@pytest.mark.parametrize(
    ("budget", "said"),
    [("single cause", "One hidden cause that explains {} % of"), ("spectral", "combined strength of {}")],
)
def test_a_headline_speaks_of_the_size_of_its_own_kind_of_budget(small, budget, said):
    results = report_results(small.report(None, 0.3, sizes=(0, 0.3), budget=budget, **SMALL))
    found, headline = results["conclusion"], as_text(first_screen(results).headline)
    assert found["state"] == "breaks"
    size = found["p_max"] * (100 if budget == "single cause" else 1)
    assert said.format(shown(size, 2)) in headline
    assert "correlation" not in headline


# ---------------------------------------------------------------- phrases


def test_phrases_that_nobody_would_say_are_gone(demonstration, law):
    texts = [read(demonstration.results), flat(demonstration.stdout), flat(law.details())]
    texts += [flat(law.check().summary()), flat(law.worst_case(0.1).summary()), flat(law.diagnostics().summary())]
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.jinja"), *SOURCE.rglob("*.js"), *(ROOT / "docs").glob("*.md")]
    texts += [flat(file.read_text(encoding="utf-8")) for file in files]
    assert len(files) > 150
    assert [phrase for phrase in GONE for text in texts if phrase.lower() in text.lower()] == []


@pytest.mark.parametrize(
    ("level", "people", "said"),
    [(0, "students", "the group 0"), ("1", "towns", "the group 1"), ("White", "students", "White students")],
)
def test_a_level_that_is_a_number_does_not_read_as_a_count(level, people, said):
    assert as_text(Words({"wording": {"people": people}}).group({"group": level})) == said
