from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.report.html.page import render_page
from fairstress.report.json import report_results, results, write_results
from fairstress.report.saved import read_results


def test_results_repeat_every_number_of_the_audit(law_audit, tmp_path):
    profile = law_audit.profile(("ugpa", "lsat"), [-0.5, 0.0, 0.5])
    write_results(tmp_path / "out.json", results(law_audit, [profile], source={"file": "law.csv"}))
    written = json.loads((tmp_path / "out.json").read_text())
    (found,) = written["profiles"]
    for name in ("correlation", "cfu", "cfu_unpenalised", "log_likelihood"):
        np.testing.assert_array_equal(found[name], getattr(profile, name))
    assert found["shows_penalty_only"] is found["is_absorbed"] is True
    predictor = law_audit.fitted.claim.predictor
    known = {"r2": predictor.r2, "degree": predictor.degree, "penalty": predictor.penalty}
    assert written["predictor"] == {**known, "floor": 0.0, "robust": None}
    weights = {(w["feature"], w["term"]): w["weight"] for w in written["model_a"]["weights"]}
    assert weights == law_audit.model_a.weights.to_dict()
    assert written["baselines"]["blind"]["unfairness"] == law_audit.baselines["blind"].unfairness
    sizes = [("non-White", 3506), ("White", 18285)]
    assert written["data"]["groups"] == [{"level": level, "rows": n, "people": n} for level, n in sizes]
    assert written["data"]["reference"] == "White"
    assert written["data"]["outcome_variance"] == law_audit.fitted.outcome_variance


def test_levels_of_any_type_can_be_written(tmp_path):
    graph = fs.CausalGraph.parse("a -> x; x <-> z; a <-> x; z", protected="a", outcome="y")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("xzy"))
    frame["a"] = np.where(rng.random(80) < 0.5, pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"))
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1})
    written = json.loads(json.dumps(results(audit, [])))
    assert written["data"]["reference"].startswith("2021-01-01")
    assert written["graph"]["variables"] == ["a", "x", "z"]


# ---------------------------------------------------------------- older files


OF_CAUSES = ("loadings", "clique", "cliques", "observed_factor")  # of a worst case


def as_schema_3(results):
    """Results as an older version wrote them: details at a budget called agreed, and no conclusion."""
    old = json.loads(json.dumps(results))
    del old["privacy"], old["run"]
    for name in ("conclusion", "plausibility", "wording"):
        del old[name]
    del old["details"]["is_default"], old["graph"]["columns_used"]
    for part in (old["details"], *old["curve"]["points"]):
        for name in OF_CAUSES:
            del part[name]
    for point in old["curve"]["points"]:
        del point["typical"], point["typical_upper"]
    return {**{name: part for name, part in old.items() if name != "details"}, "agreed": old["details"], "schema": 3}


def as_schema_2(results):
    """Results as the version before that one wrote them."""
    old = as_schema_3(results)
    old["rivals"], old["variants"] = old.pop("comparison"), old.pop("specification_checks")
    old["predictor"]["sturdier"] = old["predictor"].pop("robust")
    for part in (old["agreed"], *old["curve"]["points"], old["predictor"]["sturdier"]):
        part["budget"] = part["budget"]["kind"]
    for row in old["benchmarks"]:
        row["left_out"] = row.pop("omitted")
    return {**old, "schema": 2}


@pytest.mark.parametrize(("schema", "older"), [(2, as_schema_2), (3, as_schema_3)])
def test_results_of_older_schemas_are_read_as_what_they_say(tmp_path, schema, older):
    graph = fs.CausalGraph.parse("a -> x, z; u -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, penalty=1, max_degree=1, robust=fs.Robust(0.3, 10), random_state=0)
    new = json.loads(json.dumps(report_results(audit.report(None, 0.3, sizes=(0, 0.3), grid=(0, 0.3), threshold=0))))
    write_results(tmp_path / "old.json", older(new))
    read = read_results(tmp_path / "old.json")
    for part in (new["details"], *new["curve"]["points"], new["predictor"]["robust"]):
        if schema == 2:
            part["budget"] = {"kind": part["budget"]["kind"]}  # the rest was not written
    for part in (new["details"], *new["curve"]["points"]):
        part |= {"loadings": None, "clique": [], "cliques": [], "observed_factor": None}
    for point in new["curve"]["points"]:
        point |= {"typical": None, "typical_upper": None}
    new["graph"]["columns_used"] = None
    missing = {"conclusion": None, "plausibility": None, "schema": schema}
    assert {part: value for part, value in read.items() if value != new.get(part)} == missing
    assert {part for part in new if part not in read} == set()
    page = render_page(read)
    assert "These results hold no verdict" in page
    assert f'<data value="{new["details"]["cfu"]!r}">' in page


def without_kinds(results):
    """Results as they were written before features had kinds."""
    old = {**json.loads(json.dumps(results)), "schema": 4}
    for name in ("notes", "leakage"):
        del old[name]
    for name in ("kinds", "left_out", "completed_tables"):
        del old["data"][name]
    for part in (old["details"], *old["curve"]["points"]):
        del part["imputation_deviation"], part["probability_error"]
    del old["predictor"]["floor"], old["model_a"]["cuts"]
    return old


def test_results_from_before_kinds_are_drawn_with_the_same_answers(demonstration, tmp_path):
    write_results(tmp_path / "old.json", without_kinds(demonstration.results))
    old, new = (render_page(r) for r in (read_results(tmp_path / "old.json"), demonstration.results))
    answers = re.compile(r"<dt>.*?</dd>", re.DOTALL)
    assert len(answers.findall(old)) >= 5
    assert answers.findall(old) == answers.findall(new)


# ---------------------------------------------------------------- documentation

NAMED = {"settings.degrees", "model_a.scales", "baselines"}
BY_COLUMN = {"wording.labels", "wording.units"}  # which may be empty


def keys(value, at=""):
    """Paths to everything in some results; ``[]`` is an entry of a list, ``*`` a name of the analyst's."""
    if isinstance(value, dict) and at not in BY_COLUMN:
        for name, part in value.items():
            yield from keys(part, f"{at}.*" if at in NAMED else f"{at}.{name}".lstrip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for part in value:
            yield from keys(part, f"{at}[]")
    else:
        yield at


def test_every_key_is_documented_and_every_documented_key_is_written(demonstration, hostile_results):
    text = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    documented = re.findall(r"`([^`]+)`", " ".join(cells))
    assert len(documented) == len(set(documented))
    asked = ("decisions", "specification_checks", "cause_contour", "people")  # which the other was not
    of_these = {key for key in keys(hostile_results) if key.startswith(asked)}
    of_a_run = {"run.settings", "run.folder"}  # which is none of either
    assert set(keys(demonstration.results)) - {*asked, "run"} | of_these | of_a_run == set(documented)
    written = {key.partition("[]")[0] for key in documented}
    assert {key.partition("[]")[0] for key in keys(hostile_results)} - {"bands", "run"} <= written  # which it has not
