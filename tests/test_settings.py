"""Settings files: kinds of columns and completed tables, predictors of the user's own, budgets and searches."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LinearRegression

import fairstress as fs
from fairstress.cli import main
from fairstress.errors import DataError, SettingError
from fairstress.inputs.files import open_table, read_frame
from fairstress.report.json import report_results, results, write_results
from fairstress.report.saved import read_results
from fairstress.settings import Plan, read_settings

GRAPH = "a -> x -> z; x <-> z"
PAIR = ("x", "z")
TRUST = "trust_pickle = true"
HEAD = f'data = "people.csv"\ngraph = "{GRAPH}"\nprotected = "a"\noutcome = "y"'


@pytest.fixture(scope="module")
def frame():
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    return fs.datasets.simulate(graph, 300, random_state=0).frame


def inline(value: Any) -> str:
    """Plain types as TOML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {inline(part)}" for key, part in value.items()) + "}"
    return json.dumps(value)


@pytest.fixture
def plan(tmp_path, frame):
    """Read a settings file with these lines."""
    frame.to_csv(tmp_path / "people.csv", index=False, float_format="%.17g")

    def read(*lines: str) -> Plan:
        path = tmp_path / "audit.toml"
        path.write_text("\n".join([HEAD, *lines]), encoding="utf-8")
        return read_settings(path)

    return read


@pytest.fixture
def fit(plan):
    """Fit the audit of a settings file with these options."""
    return lambda *options: plan("[options]", "penalty = 1.0", *options).fit()


def direct(frame, **options) -> fs.Audit:
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    return fs.Audit.fit(frame, graph, penalty=1.0, **options)


def same_cfu(one: fs.Audit, other: fs.Audit) -> bool:
    return one.cfu({PAIR: 0.4}) == pytest.approx(other.cfu({PAIR: 0.4}), rel=1e-9)


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".pickle"])
def test_a_deployed_model_comes_from_its_file(fit, tmp_path, frame, suffix):
    model = LinearRegression().fit(frame[["x", "z"]], frame["y"])
    joblib.dump(model, tmp_path / f"model{suffix}")
    audit = fit(f'predictor = {{model = "model{suffix}", input = "features", gradient = "differences", {TRUST}}}')
    assert audit.settings.predictor == "LinearRegression"
    assert audit.settings.predictor_gradient == "differences"
    assert same_cfu(audit, direct(frame, predictor=fs.Predictor(model, input="features")))


def test_a_score_comes_from_a_module_beside_the_settings(fit, tmp_path, frame):
    (tmp_path / "team_scores.py").write_text("def score(Z):\n    return Z[:, 0] + Z[:, 1] ** 2\n")
    path = list(sys.path)
    audit = fit('predictor = "team_scores:score"')
    assert sys.path == path
    assert same_cfu(audit, direct(frame, predictor=lambda Z: Z[:, 0] + Z[:, 1] ** 2))


def test_a_file_may_hold_what_a_module_beside_the_settings_defines(fit, tmp_path, frame, monkeypatch):
    (tmp_path / "team_model.py").write_text("class Half:\n    def predict(self, X):\n        return X['z'] / 2\n")
    with monkeypatch.context() as there:
        there.syspath_prepend(tmp_path)
        joblib.dump(importlib.import_module("team_model").Half(), tmp_path / "model.joblib")
    monkeypatch.delitem(sys.modules, "team_model")
    audit = fit(f'predictor = {{model = "model.joblib", input = "features", {TRUST}}}')
    assert same_cfu(audit, direct(frame, predictor=fs.Predictor(lambda X: X["z"] / 2, input="features")))


def test_measure_and_a_robust_predictor_are_options(fit, frame):
    assert same_cfu(fit('measure = "absolute"'), direct(frame, measure="absolute"))
    assert same_cfu(fit("measure = 0.9"), direct(frame, measure=0.9))
    robust = fit("[options.robust]", "p_max = 0.3", "weight = 3")
    assert robust.robust_predictor.weight == 3
    assert same_cfu(robust, direct(frame, robust=fs.Robust(0.3, 3)))


def test_two_values_may_be_a_number_or_log_odds(fit, tmp_path, frame):
    frame.assign(y=(frame["y"] > 0).astype(int)).to_csv(tmp_path / "people.csv", index=False)
    assert fit('predictor = {scale = "log-odds"}').settings.predictor_scale == "log-odds"
    assert fit('outcome_type = "number"').fitted.table.outcome_levels is None


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('predictor = "model.onnx"', "'options.predictor' is 'model.onnx': give a file (.joblib, .pkl, .pickle) or"),
        (f'predictor = {{model = "absent.joblib", {TRUST}}}', "'options.predictor': there is no file"),
        ('predictor = "no_such_module:model"', "'options.predictor': cannot import 'no_such_module'"),
        ('predictor = "broken:model"', "'options.predictor': cannot import 'broken' (RuntimeError: no luck)"),
        ('predictor = "script:model"', "'options.predictor': cannot import 'script' (SystemExit: 3)"),
        ('predictor = "json:lods"', "'options.predictor': the module 'json' has no 'lods'; did you mean 'loads'?"),
        (f'predictor = {{model = "people.pkl", {TRUST}}}', "'options.predictor': cannot load"),
        (f'predictor = {{model = "ends.pkl", {TRUST}}}', "cannot load"),
        ("predictor = 3", "'options.predictor' is 3: give text or a table"),
        ('measure = "squard"', "measure is 'squard'"),
        ("robust = {p_max = 0.3}", "'options.robust' lacks 'weight'"),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_a_sentence(fit, tmp_path, option, message):
    (tmp_path / "broken.py").write_text("raise RuntimeError('no luck')\n")
    (tmp_path / "script.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "people.pkl").write_text("not a pickle")
    (tmp_path / "ends.pkl").write_bytes(b"csys\nexit\n(I0\ntR.")
    with pytest.raises(SettingError, match=re.escape(message)):
        fit(option)


def test_the_command_line_audits_a_deployed_model_up_to_its_page(tmp_path, frame):
    frame.to_csv(tmp_path / "people.csv", index=False)
    joblib.dump(LinearRegression().fit(frame[["x", "z"]], frame["y"]), tmp_path / "model.joblib")
    settings = Path(tmp_path / "audit.toml")
    settings.write_text(
        f"{HEAD}\n"
        '[options]\npenalty = 1.0\npredictor = {model = "model.joblib", input = "features"}\n'
        "[profile]\npoints = 3\n[report]\np_max = 0.2\nsizes = [0.0, 0.2]\nthorough = true\n"
    )
    arguments = ["run", str(settings), "--report", str(tmp_path / "page.html")]
    refused = CliRunner().invoke(main, arguments)
    assert (refused.exit_code, "add --trust-pickle, or trust_pickle = true" in refused.stderr) == (2, True)
    result = CliRunner().invoke(main, [*arguments, "--trust-pickle"])
    assert result.exit_code == 0, result.stderr
    written = json.loads((tmp_path / "audit-results.json").read_text())
    assert written["settings"]["predictor"] == "LinearRegression"
    assert written["settings"]["predictor_input"] == "features"
    assert "LinearRegression" in (tmp_path / "page.html").read_text(encoding="utf-8")
    again = {check["what"]: check["cfu"] for check in written["specification_checks"]}
    assert again["as audited"] == pytest.approx(written["curve"]["points"][-1]["cfu"], rel=1e-9)


# ---------------------------------------------------------------- kinds, missing values and folds

GRADES = ["low", "mid", "high"]


@pytest.fixture(scope="module")
def graded(frame):
    """The same people with grades in place of x, and z on another scale."""
    grade = pd.cut(frame["x"], [-np.inf, -0.5, 0.5, np.inf], labels=GRADES).astype(str)
    return frame.assign(x=grade, z=np.exp(frame["z"]), school=np.arange(len(frame)) // 10)


def test_kinds_of_columns_are_options(fit, tmp_path, graded):
    graded.to_csv(tmp_path / "people.csv", index=False, float_format="%.17g")
    audit = fit(f"kinds = {{x = {GRADES}, z = 'log'}}")
    again = direct(graded, kinds={"x": GRADES, "z": "log"})
    assert audit.kinds["kind"].tolist() == ["ordered, 3 levels", "number (log scale)"]
    assert same_cfu(audit, again)
    assert not same_cfu(fit(f"kinds = {{x = {GRADES}, z = 'sqrt'}}"), again)


def test_what_is_shown_of_ordered_features_is_an_option(fit, tmp_path, graded):
    graded.to_csv(tmp_path / "people.csv", index=False)
    shown = fit(f"kinds = {{x = {GRADES}}}", 'ordered_residuals = "leave out"').predictor_inputs()
    assert shown.columns.tolist() == ["residual of z"]


def test_people_with_missing_values_are_dropped_if_the_file_says_so(fit, tmp_path, frame):
    gaps = frame.assign(x=frame["x"].where(frame.index > 4))
    gaps.to_csv(tmp_path / "people.csv", index=False, float_format="%.17g")
    with pytest.raises(DataError, match="column 'x' has 5 missing values"):
        fit()
    audit = fit('missing = "drop"')
    assert audit.fitted.table.dropped.dropped == 5
    assert same_cfu(audit, direct(frame.iloc[5:]))


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("cv = 4", {"cv": 4}),
        ('cv = "contiguous"', {"cv": "contiguous"}),
        ('cv = ["contiguous", 10]', {"cv": ("contiguous", 10)}),
        ('cluster = "school"', {"cluster": "school"}),
    ],
)
def test_folds_are_those_of_the_file(plan, tmp_path, graded, frame, line, options):
    frame.assign(school=graded["school"]).to_csv(tmp_path / "people.csv", index=False, float_format="%.17g")
    given = plan("[options]", line)
    assert {key: given.options[key] for key in options} == options
    settings = given.fit().settings
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    same = fs.Audit.fit(frame.assign(school=graded["school"]), graph, **options)
    assert settings.to_dict() == same.settings.to_dict()
    assert settings.cv == {4: 4, ("contiguous", 10): 10}.get(options.get("cv"), 5)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_files_keep_text_booleans_and_missing_values(tmp_path, suffix):
    people = pd.DataFrame(
        {
            "text": ["a", "b", None],
            "flag": [True, False, True],
            "flag_or_none": [True, None, False],
            "number": [1.5, None, 2.0],
            "whole": [1, 2, 3],
        }
    )
    path = tmp_path / f"people.{suffix}"
    people.to_parquet(path) if suffix == "parquet" else people.to_csv(path, index=False)
    found = read_frame(open_table(path))
    assert found["text"].tolist()[:2] == ["a", "b"]
    assert found.isna().equals(people.isna())
    assert found["flag"].dtype == bool
    assert found["flag_or_none"].dropna().tolist() == [True, False]
    assert (found["number"].dtype, found["whole"].dtype) == (float, int)


def test_a_column_of_a_long_file_has_one_type(tmp_path):
    (tmp_path / "long.csv").write_text("code\n" + "1\n" * 1_000_000 + "x\n")
    assert set(read_frame(open_table(tmp_path / "long.csv"))["code"]) == {"1", "x"}


# ---------------------------------------------------------------- completed tables


@pytest.fixture
def completed(tmp_path, frame):
    """Three completed tables beside the settings, in which z differs for some."""
    tables = [frame.assign(z=frame["z"] + (frame.index < 20) * shift, w=1.0) for shift in (-1.0, 0.0, 1.0)]
    for i, table in enumerate(tables):
        table.to_csv(tmp_path / f"completed {i}.csv", index=False, float_format="%.17g")
    return tables


def several(tmp_path, *lines: str) -> Plan:
    path = tmp_path / "audit.toml"
    files = json.dumps([f"completed {i}.csv" for i in range(3)])
    path.write_text("\n".join([HEAD.replace('"people.csv"', files), *lines]))
    return read_settings(path)


def test_several_files_are_the_completed_tables_of_an_imputation(tmp_path, completed):
    audit = several(tmp_path, "[options]", "penalty = 1.0").fit()
    assert audit.fitted.table.table_of.max() == 2
    assert same_cfu(audit, direct(completed))
    weighted = several(tmp_path, 'sample_weight = "w"', "[options]", "penalty = 1.0").fit()
    assert same_cfu(weighted, audit)


def test_results_name_the_file_and_its_checksum_or_all_of_them_in_order(plan, tmp_path, completed):
    one = plan().tables().source
    assert (one["file"], len(one["sha256"])) == ("people.csv", 64)
    found = several(tmp_path).tables().source
    assert found["file"] == "completed 0.csv, completed 1.csv, completed 2.csv"
    sums = [hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in found["file"].split(", ")]
    assert found["sha256"].split(", ") == sums
    assert len(set(sums)) == 3


def test_weights_that_differ_between_completed_tables_are_refused(tmp_path, completed):
    completed[1].assign(w=2.0).to_csv(tmp_path / "completed 1.csv", index=False)
    with pytest.raises(DataError, match=r"'w', which is not the same in completed 0\.csv and completed 1\.csv"):
        several(tmp_path, 'sample_weight = "w"').fit()
    completed[1].drop(columns="w").to_csv(tmp_path / "completed 1.csv", index=False)
    with pytest.raises(DataError, match="sample_weight names 'w', which is not a column of the data"):
        several(tmp_path, 'sample_weight = "w"').fit()
    completed[1].iloc[1:].to_csv(tmp_path / "completed 1.csv", index=False)
    with pytest.raises(DataError, match="table 2 of 3 has 299 rows, but table 1 has 300"):
        several(tmp_path, 'sample_weight = "w"').fit()


# ---------------------------------------------------------------- budgets and searches

BUDGETS = [
    fs.Pairwise(min_eigenvalue=0.2, bounds={PAIR: (-0.1, 0.15)}),
    fs.Spectral(bounds={PAIR: (0.0, 0.1)}),
    fs.Pairwise(),
    fs.Spectral(),
    fs.SingleCause(),
    fs.SingleCause(caps={PAIR[0]: 0.5}),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_budget_goes_unchanged_through_settings_report_and_saved_results(plan, tmp_path, budget):
    def settings(table):
        return plan("[options]", "penalty = 1.0", "[report]", "sizes = [0, 0.2]", f"budget = {inline(table)}")

    asked = settings(budget.to_dict())
    assert asked.report["budget"] == budget
    found = asked.fit().report(None, 0.2, grid=[0], **asked.report)
    assert found.budget == budget
    assert [point.budget for point in found.curve.points] == [budget, budget]
    write_results(tmp_path / "saved.json", report_results(found))
    saved = read_results(tmp_path / "saved.json")
    budgets = [saved["details"]["budget"], *(point["budget"] for point in saved["curve"]["points"])]
    assert budgets == [budget.to_dict()] * 3
    assert settings(saved["details"]["budget"]).report["budget"] == budget


def test_a_budget_of_a_settings_file_is_the_one_within_which_the_worst_case_is_sought(plan):
    bounded = fs.Pairwise(bounds={PAIR: (-0.05, 0.1)})
    asked = plan("[options]", "penalty = 1.0", "[report]", f"budget = {inline(bounded.to_dict())}")
    audit = asked.fit()
    found = audit.report(None, 0.2, sizes=[0, 0.2], grid=[0], **asked.report)
    assert found.worst.value == audit.worst_case(0.2, budget=bounded).value < audit.worst_case(0.2).value
    assert -0.05 <= found.worst.correlation.loc[PAIR] <= 0.1


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=str)
def test_a_robust_predictor_keeps_its_budget_and_search(fit, plan, budget):
    table = {"p_max": 0.3, "weight": 3, "budget": budget.to_dict(), "search": {"starts": 2}}
    line = f"robust = {inline(table)}"
    wanted = plan("[options]", line).options["robust"]
    assert wanted == fs.Robust(0.3, 3, budget, fs.Search(starts=2))
    audit = fit(line)
    assert audit.robust_predictor.worst_case.budget == budget
    saved = report_results(audit.report(None, 0.2, sizes=[0, 0.2], grid=[0]))
    assert saved["predictor"]["robust"]["budget"] == budget.to_dict()


def test_a_budget_may_be_the_name_of_its_kind(plan):
    assert plan("[report]", 'budget = "spectral"').report["budget"] == fs.Spectral()
    assert plan("[report]", "budget = {}").report["budget"] == fs.Pairwise()
    search = plan("[report]", 'search = {starts = 3, method = "ascent"}').report["search"]
    assert search == fs.Search(starts=3, method="ascent", n_jobs=-1)  # all cores, unless the file says otherwise


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        (
            "report",
            'budget = {kind = "spectral", min_eigenvalue = 0.1}',
            "'report.budget.min_eigenvalue' is for the pairwise budget",
        ),
        (
            "options",
            'robust = {p_max = 0.3, weight = 1, budget = {kind = "spectral", min_eigenvalue = 0.1}}',
            "'options.robust.budget.min_eigenvalue' is for the pairwise budget",
        ),
        (
            "report",
            'budget = {kind = "single cause", bounds = {"x <-> z" = [0, 1]}}',
            "'report.budget.bounds' does not apply to the single cause budget: leave it out",
        ),
        ("report", "budget = {caps = {x = 0.5}}", "'report.budget.caps' does not apply to the pairwise budget"),
        ("report", 'budget = {kind = "single cause", caps = {xx = 0.5}}', "caps names 'xx', which is no variable"),
        ("report", 'budget = {kind = "single cause", caps = {x = 2}}', "the cap of x is 2: give a share of variance"),
        ("report", "budget = {kid = 1}", "unknown key 'report.budget.kid'; did you mean 'kind'?"),
        ("report", "budget = {bound = {}}", "unknown key 'report.budget.bound'; did you mean 'bounds'?"),
        ("report", "budget = {min_eigenvalues = 0.1}", "did you mean 'min_eigenvalue'?"),
        ("report", "search = {start = 3}", "unknown key 'report.search.start'; did you mean 'starts'?"),
        ("options", 'predictor = {modle = "m.pkl"}', "unknown key 'options.predictor.modle'; did you mean 'model'?"),
        ("options", "robust = {wieght = 3}", "unknown key 'options.robust.wieght'; did you mean 'weight'?"),
        (
            "options",
            "robust = {p_max = 0.3, weight = 1, search = {methd = 1}}",
            "unknown key 'options.robust.search.methd'; did you mean 'method'?",
        ),
        ("report", 'budget = {kind = "spectrl"}', "budget is 'spectrl': give 'pairwise', 'spectral' or 'single"),
        ("report", 'budget = {bounds = {"x z" = [0, 1]}}', "'report.budget.bounds' names 'x z': give two names joined"),
        ("report", 'budget = {bounds = {"x <-> z" = [1]}}', "the bounds of x <-> z are [1]: give a lower and an upper"),
        ("report", "search = {starts = 0}", "starts is 0: give a whole number of at least 1"),
        ("report", 'search = {method = "climb"}', "method is 'climb': give 'search' or 'ascent'"),
        ("options", 'kinds = {x = "lgo"}', "kinds says 'lgo' for 'x': give 'number', 'log', 'log1p', 'sqrt'"),
        ("options", 'kinds = {x = ["low"]}', "kinds lists 1 level(s) for 'x': give two or more, lowest first"),
        ("options", 'kinds = {y = "log"}', "kinds names the outcome, 'y': leave it out"),
        ("options", 'kinds = {xx = "log"}', "kinds names 'xx', which is neither a feature of the graph nor"),
        ("options", "kinds = 3", "'options.kinds' is 3: give a table"),
        ("options", "cv = 2.5", "'options.cv' is 2.5: give a whole number or text or a list"),
        ("options", 'cv = ["contiguous"]', "'options.cv' is ['contiguous']: give a number of folds"),
        ("options", "cluster = 3", "'options.cluster' is 3: give text"),
        ("options", "ordered_residuals = true", "'options.ordered_residuals' is True: give text"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_with_a_sentence(plan, table, line, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        plan(f"[{table}]", line)


# ---------------------------------------------------------------- columns as the file has them


@pytest.fixture
def raw(plan, tmp_path, frame):
    """Read settings for the table as somebody might have it: codes for a, a question mark, semicolons."""
    codes = np.where(frame["a"] == frame["a"].max(), "2", "1")
    table = frame.assign(a=codes, x=frame["x"].map("{:.12g}".format))
    table.loc[[3, 8], "x"] = "?"

    def read(*lines: str) -> Plan:
        table.to_csv(tmp_path / "raw.csv", sep=";", index=False, float_format="%.12g")
        head = f'graph = "{GRAPH}"\nprotected = "a"\noutcome = "y"\npeople = "towns"\nhigher_is = "worse"\n'
        body = ["[data]", 'file = "raw.csv"', 'delimiter = ";"', *lines]
        (tmp_path / "raw.toml").write_text(head + "\n".join(body), encoding="utf-8")
        return read_settings(tmp_path / "raw.toml")

    return read


GIVEN = ("[options]", "penalty = 1.0", 'missing = "drop"')
RECODE = ("[columns.a]", 'recode = {"1" = "old", "2" = "young"}', 'label = "Age group"')


def test_a_raw_file_is_audited_as_the_same_table_in_plain_dress(raw, frame):
    audit = raw('missing_values = ["?"]', *GIVEN, *RECODE, "[columns.y]", 'unit = "points"').fit()
    named = frame.assign(a=np.where(frame["a"] == frame["a"].max(), "young", "old")).drop(index=[3, 8])
    assert same_cfu(audit, direct(named))
    words = {"labels": {"a": "Age group"}, "units": {"y": "points"}, "people": "towns", "higher_is": "worse"}
    assert audit.settings.wording == fs.Wording(**words)


def test_notes_and_saved_results_say_what_was_done_to_values_also_of_people_held_out(raw):
    asked = raw('missing_values = ["?"]', *GIVEN, "holdout = 0.4", *RECODE)
    audit = asked.fit()
    for known in (audit, audit.refit(penalty=2.0)):
        assert known.notes[-2] == "As the settings file says, cells with '?' were read as missing values."
        assert known.notes[-1].startswith("Values of 'a' were renamed when the file was read: 1 is old (")
    assert results(audit, [])["notes"] == list(audit.notes)
    assert "1 is old" in " ".join(audit.details().split())


def test_a_question_mark_that_nobody_explained_is_refused_with_the_line_to_add(raw):
    sentence = "column 'x' holds text such as '?' in 2 rows, and numbers in the others: if that stands for a missing"
    with pytest.raises(DataError, match=re.escape(sentence)) as refused:
        raw(*GIVEN).fit()
    assert 'add missing_values = ["?"] under [data]' in str(refused.value)


def test_levels_that_are_text_are_read_as_text(plan, tmp_path, frame):
    table = frame.assign(x=np.where(frame["x"] > 0.5, "01", np.where(frame["x"] > -0.5, "1", "02")))
    read = plan("[options]", "penalty = 1.0", "max_degree = 1", "[columns.x]", 'levels = ["02", "1", "01"]')
    table.to_csv(tmp_path / "people.csv", index=False)
    audit = read.fit()
    assert audit.fitted.table.kinds["x"].levels == ("02", "1", "01")
    assert same_cfu(audit, direct(table, max_degree=1, kinds={"x": ["02", "1", "01"]}))


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        (['[columns.xx]\nlabel = "X"'], DataError, "[columns] describes 'xx', which is not a column of the data"),
        (['[columns.y]\nkind = "log"'], SettingError, "'columns.y' gives the outcome a kind: leave it out"),
        (["[columns.x]\nkind = 3"], SettingError, "'columns.x.kind' is 3: give text or a list"),
        (
            ['[columns.x]\nkind = "log"', '[options.kinds]\nx = "log"'],
            SettingError,
            "the kind of 'x' is given twice, by 'options.kinds' and 'columns.x': once will do",
        ),
        (['[columns.x]\nlabel = ""'], SettingError, "labels['x'] is '': give text"),
        (['columns = {x = "log"}'], SettingError, "'columns.x' is 'log': give a table"),
        (['[columns.x]\nlable = "X"'], SettingError, "unknown key 'columns.x.lable'; did you mean 'label'?"),
        (["[columns.x]\nlabel = 3"], SettingError, "'columns.x.label' is 3: give text"),
        (["[columns.x]\nmissing_values = [9]"], SettingError, "'columns.x.missing_values' lists 9: give text"),
        (["[columns.x]\nlevels = [2020-01-01, 2]"], SettingError, "'columns.x.levels[0]' is 2020-01-01, a date"),
        (["[report.levels]\nmuch = [inf, 'so']"], SettingError, "'report.levels.much[0]' is inf: give a finite number"),
        (["[report]\nsizes = [nan]"], SettingError, "'report.sizes[0]' is nan: give a finite number"),
    ],
)
def test_what_columns_cannot_be_is_refused(plan, lines, error, message):
    with pytest.raises(error, match=re.escape(message)):
        plan(*lines).fit()


# ---------------------------------------------------------------- codes, and levels that look like missing values


@pytest.fixture
def coded(plan, tmp_path, frame):
    """Settings for a table whose groups are coded 01 and 02, or 01 to 04, with a plan that some call None."""
    four = np.where(frame["a"] == frame["a"].max(), "01", np.where(np.arange(300) % 3, "02", "04"))
    plans = np.where(np.arange(300) % 5 == 0, "None", np.where(np.arange(300) % 2, "basic", "full"))
    table = frame.assign(a=four, plan=plans)

    def read(*lines: str) -> Plan:
        text = HEAD.replace("a -> x -> z;", "a, plan -> x -> z;")
        (tmp_path / "audit.toml").write_text("\n".join([text, "[options]", "penalty = 1.0", "max_degree = 1", *lines]))
        table.to_csv(tmp_path / "people.csv", index=False, float_format="%.17g")
        return read_settings(tmp_path / "audit.toml")

    return read


LEVEL = ("[columns.plan]", "missing_values = []")


def test_group_codes_are_asked_about_and_are_levels_if_the_settings_say_so(coded):
    with pytest.raises(
        DataError, match=r"column 'a' holds '0\d' or the like in 300 rows, which a number would not keep"
    ):
        coded(*LEVEL).fit()
    for lines in (["[columns.a]", 'kind = "category"'], ["[options.kinds]", 'a = ["01", "02", "04"]']):
        assert set(coded(*LEVEL, *lines).fit().fitted.table.protected.levels) == {"01", "02", "04"}
    assert coded(*LEVEL, "[columns.a]", 'kind = "number"').fit().fitted.table.protected.levels is None


def test_codes_of_several_protected_columns_stay_what_they_are_too(coded, tmp_path):
    read = coded(*LEVEL, "[columns.a]", 'kind = "category"')
    path = tmp_path / "audit.toml"
    path.write_text(path.read_text().replace('protected = "a"', 'protected = ["a", "plan"]'))
    assert read.graph.protected == "a"
    (frame,) = read_settings(path).tables().frames
    assert set(frame["a"]) == {"01", "02", "04"}


def test_a_level_called_none_is_asked_about_and_survives_if_it_is_one(coded):
    a = ("[columns.a]", 'kind = "category"')
    sentence = "column 'plan' holds 'None' in 60 rows, and other text: if that stands for a missing value, add"
    with pytest.raises(DataError, match=re.escape(sentence)) as refused:
        coded(*a).fit()
    assert str(refused.value).endswith("missing_values = [] under [columns.plan]")
    assert coded(*a, *LEVEL).fit().fitted.table.kinds["plan"].levels == ("None", "basic", "full")
    listed = coded(*a, "[columns.plan]", 'kind = "category"', 'levels = ["None", "basic", "full"]').fit()
    assert listed.fitted.table.kinds["plan"].levels == ("None", "basic", "full")
    missing = coded('missing = "drop"', *a, "[columns.plan]", 'missing_values = ["None"]').fit()
    assert missing.fitted.table.dropped.dropped == 60
    assert "As the settings file says, cells with 'None' were read as missing values of 'plan'." in missing.notes


def test_words_for_missing_values_among_numbers_need_no_word(plan, tmp_path, frame):
    read = plan("[options]", "penalty = 1.0", 'missing = "drop"')
    frame.astype({"x": object}).assign(x=frame["x"].map(str).where(frame.index > 3, "None")).to_csv(
        tmp_path / "people.csv", index=False
    )
    assert read.fit().fitted.table.dropped.dropped == 4


def test_codes_of_an_outcome_are_asked_about(plan, tmp_path, frame):
    read = plan("[options]", "penalty = 1.0")
    frame.assign(y=np.where(frame["y"] > 0, "01", "02")).to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(DataError, match=r"name them by recode under \[columns.y\], or say outcome_type = \"number\""):
        read.fit()


def test_the_checksum_is_that_of_the_bytes_that_were_read(plan, tmp_path):
    read = plan("[options]", "penalty = 1.0")
    before = (tmp_path / "people.csv").read_bytes()
    tables = read.tables()
    (tmp_path / "people.csv").write_text("something else")
    assert tables.source["sha256"] == hashlib.sha256(before).hexdigest()
    assert read.fit(tables=tables).fitted.table.n_counted == 300


def test_settings_that_stand_too_deep_in_one_another_are_refused(tmp_path):
    for name, text in (("deep", "data = " + "[" * 100_000), ("long", f"p = {'9' * 5000}")):
        (tmp_path / f"{name}.toml").write_text(text)
        with pytest.raises(SettingError, match=r"too deep in one another|is not valid TOML"):
            read_settings(tmp_path / f"{name}.toml")


def test_pickles_are_opened_only_if_they_are_trusted(tmp_path, frame):
    (tmp_path / "model.pkl").write_bytes(b"cbuiltins\nopen\n(V%s\nVw\ntR." % str(tmp_path / "harmed").encode())
    frame.to_csv(tmp_path / "people.csv", index=False)
    for arguments in (("check",), ("run",)):
        (tmp_path / "audit.toml").write_text(f'{HEAD}\n[options]\npredictor = "model.pkl"\n')
        found = CliRunner().invoke(main, [*arguments, str(tmp_path / "audit.toml")])
        assert not (tmp_path / "harmed").exists()
        assert found.exit_code == 2
        assert "opening such a file runs whatever code it holds" in found.stderr
        assert "runs whatever code it holds" in " ".join(
            CliRunner().invoke(main, [*arguments, "--help"]).stdout.split()
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('graph = ""\n[data]\nfile = "people.csv"', "'graph' is empty in audit.toml: fill it in"),
        ('graph = "a -> x"\n[data]\ndelimiter = ";"', "'data' has no 'file': name the file"),
        ('graph = "a -> x"\n[data]\nfile = "x.csv"\nsep = ";"', "unknown key 'data.sep'"),
        ('graph = "a -> x"\n[data]\nfile = "x.csv"\ndelimter = ";"', "did you mean 'delimiter'?"),
        ('graph = "a -> x"\nhigher_is = "good"\n[data]\nfile = "x.csv"', "higher_is is 'good'"),
    ],
)
def test_the_head_of_a_settings_file_is_checked(tmp_path, text, message):
    path = tmp_path / "audit.toml"
    path.write_text(f'protected = "a"\noutcome = "y"\n{text}')
    with pytest.raises(SettingError, match=re.escape(message)):
        read_settings(path)


def test_advice_on_missing_values_is_given_as_a_settings_file_has_it(tmp_path):
    (tmp_path / "people.csv").write_text("a,x,y\n" + "left,1,2\nright,,3\nleft,2,4\n" * 20)
    (tmp_path / "audit.toml").write_text('data = "people.csv"\ngraph = "a -> x"\nprotected = "a"\noutcome = "y"\n')
    said = CliRunner().invoke(main, ["check", str(tmp_path / "audit.toml")])
    assert said.exit_code == 2
    assert 'missing = "drop" under [options] leaves these 20 people out' in said.stderr
    assert 'data = ["one.csv", "two.csv"]' in said.stderr
    assert "Audit.fit" not in said.stderr
