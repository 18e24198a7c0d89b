from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import sysconfig
import warnings
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import fairstress as fs
from fairstress.cli import main
from fairstress.stored import load_predictor

SETTINGS = """
data = "law.csv"
graph = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat"
protected = "race"
outcome = "zfya"

[options]
reference = "White"
max_degree = 4
penalise_constant = true
cv = "contiguous"

[profile]
points = 5
"""


@pytest.fixture
def folder(tmp_path, law_frame):
    law_frame.to_csv(tmp_path / "law.csv", index=False)
    (tmp_path / "double.csv").write_text("race,race,ugpa\n1,2,3\n")
    (tmp_path / "audit.toml").write_text(SETTINGS)
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def refused(folder, text: str) -> str:
    """Run other settings; give the one line that is printed."""
    (folder / "audit.toml").write_text(text)
    result = call("run", folder / "audit.toml")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fairstress: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_run_prints_a_summary_and_writes_json_that_repeats_the_audit(folder, law_audit):
    result = call("run", folder / "audit.toml")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Would this prediction be the same if race were different?\n")
    assert len(result.stdout.splitlines()) <= 25
    assert "The pair ugpa <-> lsat" not in result.stdout
    assert "The pair ugpa <-> lsat" in call("run", folder / "audit.toml", "--details").stdout
    written = json.loads((folder / "audit-results.json").read_text())
    assert written["schema"] == 5
    assert written["data"]["rows"] == 21791
    assert len(written["data"]["sha256"]) == 64
    assert written["settings"]["degrees"] == {"ugpa": 1, "lsat": 2}
    (found,) = written["profiles"]
    assert found["correlation"] == [-0.99, -0.495, 0.0, 0.495, 0.99]
    assert found["cfu"][3] == pytest.approx(law_audit.cfu({("ugpa", "lsat"): 0.495}), rel=1e-9)
    assert fs.CausalGraph.parse(written["graph"]["text"], protected="race", outcome="zfya") == law_audit.graph


def test_run_reads_parquet_weights_and_writes_where_it_is_asked_to(folder, law_frame):
    law_frame.assign(w=1.0).to_parquet(folder / "law.parquet")
    text = SETTINGS.replace("law.csv", "law.parquet").replace(
        'outcome = "zfya"', 'outcome = "zfya"\nsample_weight = "w"'
    )
    (folder / "audit.toml").write_text(text)
    result = call("run", folder / "audit.toml", "--quiet", "--output", folder / "out.json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert json.loads((folder / "out.json").read_text())["data"]["file"] == "law.parquet"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[options]", "[option]", "unknown key 'option'; did you mean 'options'?"),
        ("max_degree = 4", "max_degre = 4", "unknown key 'options.max_degre'; did you mean 'max_degree'?"),
        ("max_degree = 4", 'max_degree = "four"', "'options.max_degree' is 'four': give a whole number"),
        ("penalise_constant = true", "penalty = true", "'options.penalty' is True: give a number"),
        ('"law.csv"', '"double.csv"', "two columns named 'race'"),
        ("points = 5", "points = 1", "'profile' asks for 1 points from -0.99 to 0.99"),
        ("points = 5", 'pairs = ["ugpa"]', "'profile.pairs' has 'ugpa': give lists of two names"),
        ("points = 5", 'pairs = [["ugpa", "race"]]', "the graph does not name the pair ugpa <-> race"),
        ('data = "law.csv"', "", "audit.toml has no 'data'"),
        ("law.csv", "low.csv", "there is no data file"),
        ("law.csv", "audit.toml", "give a .csv or .parquet file"),
        ("ugpa -> lsat;", "ugpa -> last;", "the graph names 'last', which is not a column of the data"),
        ('data = "law.csv"', 'data = "law.csv', "audit.toml is not valid TOML"),
        ('outcome = "zfya"', 'outcome = "zfya"\nsample_weight = "wt"', "sample_weight names 'wt'"),
        ("max_degree = 4", 'kinds = {lsat = "lgo"}', "kinds says 'lgo' for 'lsat': give 'number', 'log'"),
        ("max_degree = 4", "kinds = {lsat = 3}", "kinds says 3 for 'lsat'"),
        ("max_degree = 4", 'kinds = {last = "log"}', "kinds names 'last', which is neither a feature of the graph"),
        ("max_degree = 4", 'kinds = {ugpa = "log"}', "column 'ugpa' is 0 in row 3233, but 'log' takes numbers above 0"),
        ("max_degree = 4", 'kinds = {race = "log"}', "kinds says 'log' for the protected attribute 'race'"),
        ("max_degree = 4", 'kinds = "log"', "'options.kinds' is 'log': give a table"),
        ("max_degree = 4", 'missing = "ignore"', "missing is 'ignore': give 'refuse' or 'drop'"),
        ("max_degree = 4", 'cluster = "schol"', "options.cluster names 'schol', which is not a column of the data"),
        ("max_degree = 4", 'ordered_residuals = "none"', "ordered_residuals is 'none'"),
        ('"contiguous"', '"in order"', "'options.cv' is 'in order': give a number of folds, or 'contiguous'"),
        ('"contiguous"', "[1, 2]", "'options.cv' is [1, 2]: give a number of folds, or 'contiguous'"),
        ('"contiguous"', '["contiguous", 1]', "cv is ('contiguous', 1): give a number of folds from 2"),
        ('"law.csv"', '["law.csv"]', "'data' lists 1 file(s): give two or more completed tables"),
        ('"law.csv"', '["law.csv", 3]', "'data' lists 3: give names of files"),
        ('"law.csv"', '["law.csv", "law.csv"]', "'data' lists 'law.csv' twice"),
        ('"law.csv"', '["law.csv", "low.csv"]', "there is no data file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(folder, old, new, message):
    assert message in refused(folder, SETTINGS.replace(old, new))


def test_missing_files_and_unwritable_results_are_one_line_too(folder):
    result = call("run", folder / "none.toml")
    assert result.exit_code == 2
    assert "there is no settings file" in result.stderr
    result = call("run", folder / "audit.toml", "-q", "-o", folder / "no" / "where.json")
    assert result.exit_code == 2
    assert "cannot write the results" in result.stderr


@pytest.fixture
def nothing_is_computed(monkeypatch):
    """Let any fit be a failure of the test."""

    def fit(*_: Any, **__: Any) -> None:
        raise AssertionError("a fit was begun")

    monkeypatch.setattr("fairstress.settings.Plan.fit", fit)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "law.csv"], "the results would overwrite the data, "),
        (["-o", "audit.toml"], "the results would overwrite the settings, "),
        (["-o", "model.joblib", "--trust-pickle"], "the results would overwrite the predictor, "),
        (["--report", "audit-results.json"], "the report would be written to the same file as the results, "),
        (["--report", "law.csv"], "the report would overwrite the data, "),
        (["-o", "no/where.json"], "cannot write the results to "),
        (["--report", "no/where.html"], "cannot write the report to "),
        (["--report", "."], "it is a folder"),
    ],
)
@pytest.mark.usefixtures("nothing_is_computed")
def test_outputs_that_would_destroy_inputs_or_cannot_be_written_are_refused_at_once(folder, arguments, sentence):
    if "model.joblib" in arguments:
        (folder / "audit.toml").write_text(SETTINGS.replace("max_degree = 4", 'predictor = "model.joblib"'))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    words = [word if word.startswith("-") else folder / word for word in arguments]
    result = call("run", folder / "audit.toml", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("nothing_is_computed")
def test_the_output_that_settings_name_is_no_data_file_either(folder):
    line = f'output = "{"sub/../law.csv"}"\n'
    (folder / "sub").mkdir()
    assert "the results would overwrite the data" in refused(folder, line + SETTINGS)


def test_other_commands_do_not_overwrite_what_they_read(folder):
    (folder / "graph.svg").write_text("race -> ugpa")
    (folder / "page.html").write_text("{}")
    for arguments in (
        ["new", folder / "law.csv", "-o", folder / "law.csv", "--force"],
        ["graph", folder / "graph.svg", "--protected", "race", "--outcome", "y", "--draw", folder / "graph.svg"],
        ["report", folder / "page.html"],
    ):
        before = {path: path.read_bytes() for path in folder.iterdir()}
        result = call(*arguments)
        assert result.exit_code == 2
        assert "would overwrite the " in result.stderr
        assert {path: path.read_bytes() for path in folder.iterdir()} == before


OWN = "import sys, os\n\ndef score(Z):\n    {0}\n    return Z[:, 0]\n"


@pytest.mark.parametrize(("line", "said"), [("sys.exit(0)", "SystemExit: 0"), ("sys.exit()", "SystemExit")])
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_predictor_that_ends_the_program_is_a_mistake(folder, command, line, said):
    (folder / "ending_scores.py").write_text(OWN.format(line))
    (folder / "audit.toml").write_text(SETTINGS.replace("max_degree = 4", 'predictor = "ending_scores:score"'))
    result = call(command, folder / "audit.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"predictor score fails ({said}" in result.stderr
    assert not (folder / "audit-results.json").exists()


def test_each_folder_has_its_own_module_of_a_name(folder, tmp_path_factory):
    """In one process, and with the modules that a predictor's module takes from beside it."""
    other = tmp_path_factory.mktemp("other")
    (other / "law.csv").write_bytes((folder / "law.csv").read_bytes())
    for own, share in ((folder, 1), (other, 2)):
        (own / "weighed.py").write_text(f"SHARE = {share}\n")
        (own / "own_scores.py").write_text("import weighed\n\ndef score(Z):\n    return weighed.SHARE * Z[:, 0]\n")
        (own / "audit.toml").write_text(SETTINGS.replace("max_degree = 4", 'predictor = "own_scores:score"'))
        assert call("run", own / "audit.toml").exit_code == 0
    first, second = (json.loads((own / "audit-results.json").read_text()) for own in (folder, other))
    worst = [one["profiles"][0]["cfu"][-1] for one in (first, second)]
    assert worst[1] == pytest.approx(4 * worst[0], rel=1e-6)  # twice the scores, which are compared as they are


def test_modules_that_are_installed_are_not_imported_anew(tmp_path, monkeypatch):
    (tmp_path / "found_installed.py").write_text("def score(Z):\n    return Z[:, 0]\n")
    monkeypatch.setattr(sysconfig, "get_paths", lambda: dict.fromkeys(("purelib", "platlib", "stdlib"), str(tmp_path)))
    first = load_predictor("found_installed:score", tmp_path)
    assert load_predictor("found_installed:score", tmp_path) is first


def test_what_a_predictor_prints_goes_to_standard_error(folder):
    line = "print('printed'); os.system('echo by a child')"
    (folder / "loud_scores.py").write_text("print('while importing')\n" + OWN.format(line))
    (folder / "audit.toml").write_text(SETTINGS.replace("max_degree = 4", 'predictor = "loud_scores:score"'))
    for command in ("run", "check"):
        found = subprocess.run(
            [sys.executable, "-m", "fairstress", command, str(folder / "audit.toml"), "--json"],
            capture_output=True,
            text=True,
        )
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout)
        for printed in ("while importing\n", "printed\n", "by a child\n"):
            assert printed in found.stderr


def test_the_checksum_is_of_what_was_read_though_the_file_changes_meanwhile(folder):
    data = folder / "law.csv"
    before = data.read_bytes()
    (folder / "changing_scores.py").write_text(OWN.format(f"open({str(data)!r}, 'w').close()"))
    (folder / "audit.toml").write_text(SETTINGS.replace("max_degree = 4", 'predictor = "changing_scores:score"'))
    result = call("run", folder / "audit.toml", "-q")
    assert result.exit_code == 0, result.stderr
    assert data.read_bytes() == b""
    written = json.loads((folder / "audit-results.json").read_text())
    assert written["data"]["sha256"] == hashlib.sha256(before).hexdigest()


def test_warnings_are_lines_on_standard_error(folder, law_frame):
    few = law_frame.groupby("race").head(400).iloc[:404].reset_index(drop=True)
    few = few.drop(few.index[few["race"] == "non-White"][3:])
    few.to_csv(folder / "law.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as outside a test
        result = call("run", folder / "audit.toml", "-q")
    assert result.exit_code == 0, result.stderr
    assert "fairstress: warning: the group 'non-White' of 'race' has 3 rows" in result.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["run", "-h"], ["--version"]])
def test_help_is_everywhere(arguments):
    result = call(*arguments)
    assert result.exit_code == 0
    assert result.stdout


# ---------------------------------------------------------------- check


def test_check_says_what_columns_are_taken_for_and_what_can_matter(folder):
    shown = call("check", folder / "audit.toml").stdout
    assert shown.split("\n\n")[1].splitlines() == [
        "column  role       kind      levels or range   missing  reason",
        "race    protected  category  non-White, White        0  two values",
        "ugpa    feature    number    0 to 4.2                0  numbers with 29 distinct values",
        "lsat    feature    number    11 to 48                0  numbers with 116 distinct values",
        "zfya    outcome    number    -3.35 to 3.48           0  more than two values",
    ]
    assert "ugpa <-> lsat cannot matter" in shown.split("\n\n")[-1]


def test_check_gives_the_same_as_json(folder):
    found = json.loads(call("check", folder / "audit.toml", "--json").stdout)
    assert found["together"]["verdict"] == "cannot matter"
    assert [column["range"] for column in found["columns"]] == [None, [0, 4.2], [11, 48], [-3.35, 3.48]]
    assert found["columns"][0]["levels"] == ["non-White", "White"]


MIXED = """
data = "people.csv"
graph = "sex -> job, grade, pay; age, region, job, grade -> pay"
protected = "sex"
outcome = "y"

[options]
penalty = 1.0
max_degree = 1
missing = "drop"

[options.kinds]
pay = "zero or log"
grade = ["low", "mid", "high"]
"""


@pytest.fixture
def mixed(tmp_path):
    """Settings of a table with text, booleans, numbers that are often 0, and missing values."""
    random, n = np.random.default_rng(0), 300
    sex = random.choice(["female", "male"], n)
    grade = np.digitize(random.normal(size=n) + (sex == "male"), [0, 1])
    people = pd.DataFrame(
        {
            "sex": sex,
            "age": random.integers(18, 70, n),
            "region": random.choice(["north", "east", "south", "west", "up", "down"], n),
            "job": np.where(random.random(n) < 0.5, "true", "false"),
            "grade": np.array(["low", "mid", "high"])[grade],
            "pay": np.where(random.random(n) < 0.3, 0, np.exp(random.normal(10, 1, n)).round(2)),
            "y": grade + random.normal(size=n),
        }
    )
    people.loc[:2, "pay"] = None
    people.loc[2:3, "job"] = None
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(MIXED)
    return tmp_path / "audit.toml"


def cells_of(shown: str) -> list[list[str]]:
    """Take the table of columns apart."""
    return [re.split(" {2,}", line) for line in shown.split("\n\n")[1].splitlines()]


def test_check_describes_columns_of_every_kind_though_there_is_no_pair(mixed):
    result = call("check", mixed)
    assert result.exit_code == 0, result.stderr
    rows = {row[0]: row[1:] for row in cells_of(result.stdout)}
    assert rows["sex"] == ["protected", "category", "female, male", "0", "two values"]
    assert rows["job"] == ["feature", "ordered", "False < True", "2", "two values"]
    assert rows["grade"] == ["feature", "ordered", "low < mid < high", "0", "given"]
    assert rows["region"] == ["context", "category", "down, east, north, ..., west", "0", "text"]  # goes on below
    assert rows["pay"][:2] + rows["pay"][3:] == ["feature", "zero or log", "3", "given"]
    assert "4 of 300 people were left out because a value is missing" in result.stdout
    assert result.stdout.endswith(
        "The graph names no pair of features, so that there is nothing to check: add 'a <-> b' for errors\n"
        "that may share a hidden cause.\n"
    )


def test_check_as_json_of_a_graph_without_pairs_has_no_verdict(mixed):
    found = json.loads(call("check", mixed, "--json").stdout)
    assert (found["together"], found["alone"]) == (None, [])
    assert {column["column"]: column["missing"] for column in found["columns"] if column["missing"]} == {
        "job": 2,
        "pay": 3,
    }
    assert "4 of 300 people were left out" in found["notes"][0]
    assert next(column for column in found["columns"] if column["column"] == "pay")["range"][0] == 0


def test_run_writes_results_of_columns_of_every_kind(mixed):
    mixed.write_text(MIXED.replace("grade -> pay", "grade -> pay; job <-> grade") + "\n[profile]\npoints = 3\n")
    result = call("run", mixed, "--details")
    assert result.exit_code == 0, result.stderr
    assert "The pair job <-> grade" in result.stdout
    written = json.loads(mixed.with_name("audit-results.json").read_text())
    assert written["data"]["rows"] == 296
    assert written["settings"]["ordered_residuals"] == "expected"
    assert written["profiles"][0]["cfu"][1] > 0  # levels tell errors only within intervals


def test_several_protected_columns_and_other_kinds_of_them_are_said_too(folder, law_frame):
    law_frame.assign(decile=law_frame["lsat"] // 10).to_csv(folder / "law.csv", index=False)

    def rows(protected: Any, kinds: str = "") -> list[list[str]]:
        causes = protected if isinstance(protected, str) else ", ".join(protected)
        ends = f'protected = {json.dumps(protected)}\noutcome = "first_pf"\n'
        text = f'data = "law.csv"\ngraph = "{causes} -> ugpa"\n{ends}[options]\nmax_degree = 1\n{kinds}\n'
        (folder / "audit.toml").write_text(text)
        result = call("check", folder / "audit.toml")
        assert result.exit_code == 0, result.stderr
        return cells_of(result.stdout)

    _, race, sex, ugpa, first_pf = rows(["race", "sex"])
    assert race == ["race", "protected", "category", "White, non-White", "0", "4 levels of race and sex together"]
    assert sex[3:] == ["1, 2", "0", race[-1]]
    assert ugpa[:3] == ["ugpa", "feature", "number"]
    assert first_pf[2:] == ["classes", "0, 1", "0", "two values"]
    assert rows("decile")[1][2:] == ["number", "1 to 4", "0", "numbers"]
    assert rows("decile", 'kinds = {decile = "ordered"}')[1][2:] == ["ordered", "1.0 < 2.0 < 3.0 < 4.0", "0", "given"]


def test_the_table_of_columns_fits_a_terminal_and_steers_none(tmp_path):
    plain = fs.CausalGraph.parse("a -> x, z", protected="a", outcome="y")
    frame = fs.datasets.simulate(plain, 100, random_state=0).frame
    names = {"a": "n" * 200, "x": "red \x1b[31m", "z": "two words " * 12 + "end"}
    frame.rename(columns=names).to_parquet(tmp_path / "people.parquet")
    graph = fs.CausalGraph(
        edges=[(names["a"], names["x"]), (names["a"], names["z"])], protected=names["a"], outcome="y"
    )
    lines = [f'data = "people.parquet"\noutcome = "y"\nprotected = {json.dumps(names["a"])}']
    (tmp_path / "audit.toml").write_text("\n".join([*lines, f"graph = {json.dumps(graph.to_text())}"]))
    result = call("check", tmp_path / "audit.toml")
    assert result.exit_code == 0, result.stderr
    table = result.stdout.split("\n\n")[1]
    assert max(map(len, table.splitlines())) <= 100
    assert "\x1b" not in table
    assert "red \\x1b[31m" in table
    assert table.count("n" * 10) > 3
    assert table.count("words") == 12


def test_a_report_is_written_from_the_audit_and_again_from_its_results(folder):
    asked = 'p_max = 0.2\nreason = "so"\nsizes = [0, 0.2, 0.4]\nlevels = {tiny = [1e-7, "so"]}\nthreshold = 0.1\n'
    (folder / "audit.toml").write_text(f"{SETTINGS}\n[report]\n{asked}")
    result = call("run", folder / "audit.toml", "--report", folder / "page.html", "--details")
    assert result.exit_code == 0, result.stderr
    assert "Worst case under additive Gaussian confounding: pairwise budgets" in result.stdout
    again = call("report", folder / "audit-results.json")
    assert again.stdout == f"Report written to {folder / 'audit-results.html'}\n"
    page = (folder / "page.html").read_text()
    assert (folder / "audit-results.html").read_text() == page
    assert "tiny" in page
    written = json.loads((folder / "audit-results.json").read_text())
    assert [point["p_max"] for point in written["curve"]["points"]] == [0, 0.2, 0.4]
    assert written["levels"][0]["name"] == "tiny"
    assert 0 < written["levels"][0]["breaking_point"] < 0.2
    assert written["decisions"]["threshold"] == 0.1
    assert "Whose decision turns" in page
    assert written["people"] is None  # nobody asked for them
    assert '"people":null' in page
    asked_for = call("report", folder / "audit-results.json", "--people")
    assert asked_for.exit_code == 2
    assert "holds no people: run the audit with --people to have them" in asked_for.stderr


def test_people_of_a_run_are_shown_if_they_are_asked_for_and_their_labels_only_then(tmp_path):
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    fs.datasets.simulate(graph, 120, random_state=0).frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        'data = "people.csv"\ngraph = "a -> x -> z; x <-> z"\nprotected = "a"\noutcome = "y"\n'
        "[options]\npenalty = 1\nmax_degree = 1\n[profile]\npoints = 3\n[report]\np_max = 0.2\nsizes = [0, 0.2]\n"
    )
    for options, has_labels in ((["--people"], False), (["--people", "--labels"], True)):
        result = call("run", tmp_path / "audit.toml", "-q", "--report", tmp_path / "page.html", *options)
        assert result.exit_code == 0, result.stderr
        people = json.loads((tmp_path / "audit-results.json").read_text())["people"]
        assert len(people) == 20
        assert {row["label"] is not None for row in people} == {has_labels}
        assert "The rows that move most" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("nan", "'report.threshold' is nan: give a finite number"),
        ('"half"', "'report.threshold' is 'half': give a number"),
        ("true", "'report.threshold' is True: give a number"),
    ],
)
def test_a_threshold_that_cannot_be_used_is_refused(folder, threshold, message):
    (folder / "audit.toml").write_text(f"{SETTINGS}\n[report]\nthreshold = {threshold}\n")
    result = call("run", folder / "audit.toml", "-q")
    assert (result.exit_code, result.stderr) == (2, f"fairstress: {message}\n")


def test_results_that_cannot_be_read_are_refused(folder):
    for name, content, message in (
        ("none.json", None, "there is no results file"),
        ("text.json", "not json", "cannot read"),
        ("other.json", "{}", "it has no 'schema'"),
        ("new.json", '{"schema": 99}', "its schema is 99"),
        ("part.json", '{"schema": 2, "data": {}}', "cannot be used: it has no 'graph'"),
        ("old.json", '{"schema": 1}', "cannot be used: it has no 'data'"),
    ):
        if content is not None:
            (folder / name).write_text(content)
        result = call("report", folder / name)
        assert result.exit_code == 2
        assert message in result.stderr


def test_a_graph_that_is_no_text_is_refused(folder):
    (folder / "graph.txt").write_bytes(b"\xff\xfe")
    result = call("graph", folder / "graph.txt", "--protected", "a", "--outcome", "y")
    assert (result.exit_code, result.stderr.partition(":")[2][:13]) == (2, " cannot read ")


def test_results_of_schema_one_still_give_a_page(folder):
    call("run", folder / "audit.toml", "--quiet")
    written = json.loads((folder / "audit-results.json").read_text())
    for name in ("details", "conclusion", "plausibility", "check", "curve", "levels", "people", "by_group", "pairs"):
        del written[name]
    for name in ("benchmarks", "comparison", "specification_checks"):
        del written[name]
    for name in ("variables", "edges", "pairs", "predictor_looks_at", "columns_used"):
        del written["graph"][name]
    del written["data"]["moved_to"]
    (folder / "old.json").write_text(json.dumps({**written, "schema": 1}))
    assert call("report", folder / "old.json").exit_code == 0
    assert "These results hold no verdict" in (folder / "old.html").read_text()


def test_the_module_is_the_command_line_too():
    found = subprocess.run(
        [sys.executable, "-m", "fairstress", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout == f"fairstress, version {fs.__version__}\n"


def test_datasets_and_graphs_are_shown(folder):
    assert "law_school" in call("datasets").stdout
    assert set(json.loads(call("datasets", "--json").stdout)) == {"law_school", "nhs_staff_survey", "simulate"}
    text = 'race =fair=> ugpa; race -> "a b"; ugpa <-> "a b"'
    (folder / "graph.txt").write_text(text)
    ends = ["--protected", "race", "--outcome", "zfya"]
    dot = call("graph", folder / "graph.txt", *ends, "--to", "dot").stdout
    assert '"race" -> "ugpa" [fair=true];' in dot
    (folder / "graph.dot").write_text(dot)
    back = call("graph", folder / "graph.dot", *ends).stdout
    assert fs.CausalGraph.parse(back, protected="race", outcome="zfya") == fs.CausalGraph.parse(
        text, protected="race", outcome="zfya"
    )


def test_a_graph_is_drawn_or_given_as_json(folder):
    (folder / "graph.txt").write_text("race, sex -> x; x =fair=> z; x <-> z")
    asked = ["graph", folder / "graph.txt", "--protected", "race", "--protected", "sex", "--outcome", "y"]
    given = json.loads(call(*asked, "--json").stdout)
    assert given["protected"] == ["race", "sex"]
    assert given["fair_edges"] == [["x", "z"]]
    assert fs.CausalGraph.from_dict(**given).to_text() == call(*asked).stdout.strip()
    assert call(*asked, "--to", "json").stdout == call(*asked, "--json").stdout
    for suffix, start in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        result = call(*asked, "--draw", folder / f"graph.{suffix}")
        assert result.exit_code == 0, result.stderr
        assert (folder / f"graph.{suffix}").read_bytes().startswith(start)
    for bad, message in {
        "graph.bmp": "give a file that ends in .png, .svg, .pdf",
        "no/graph.png": "there is no folder",
    }.items():
        result = call(*asked, "--draw", folder / bad)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_run_prints_its_results_as_json(folder):
    result = call("run", folder / "audit.toml", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == json.loads((folder / "audit-results.json").read_text())


def test_long_work_shows_a_bar_on_a_terminal_and_nothing_elsewhere():
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))  # not on Windows
    code = (
        "import time; from fairstress.cli import _progress; from fairstress.progress import watching\n"
        "with _progress('steps \\x1b[31m') as progress:\n"
        "    for done in range(1, 4): time.sleep(0.4); progress and progress(done, 3)\n"
        "with _progress('silent'): time.sleep(1.2)\n"
        "with _progress('short'): pass\n"
        "with watching(None, 'outer'), watching(None, 'inner'): time.sleep(1.2)\n"
        "with watching(False, 'asked for none'), watching(None, 'within'): time.sleep(1.2)\n"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-c", code]
    with (
        subprocess.Popen(command, stderr=theirs) as on_a_terminal,
        subprocess.Popen(command, stderr=subprocess.PIPE) as elsewhere,
    ):
        assert elsewhere.communicate(timeout=60)[1] == b""
        assert (on_a_terminal.wait(60), elsewhere.returncode) == (0, 0)
    shown = os.read(ours, 100_000).decode()
    assert "3 of 3" in shown
    assert re.search(r"\| 2 of 3, about 00:0\d left|\| 3 of 3, finishing", shown)
    assert "silent [00:01]" in shown
    assert "outer [00:01]" in shown
    for never in ("short", "inner", "asked for none", "within"):
        assert never not in shown
    assert "\x1b" not in shown


def test_a_report_says_how_far_it_is(folder, monkeypatch):
    heard: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def listen(what):
        heard[what] = []
        yield lambda *step: heard[what].append(step)

    monkeypatch.setattr("fairstress.cli._progress", listen)
    (folder / "audit.toml").write_text(SETTINGS + "\n[report]\np_max = 0.2\nsizes = [0, 0.2]\n")
    assert call("run", folder / "audit.toml", "-q").exit_code == 0
    done, total = heard["worst cases"][-1]
    assert done == total == len(heard["worst cases"])
