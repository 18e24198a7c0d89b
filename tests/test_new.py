"""`fairstress new` finds all that stands in the way of an audit, and drafts settings to be filled in."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import fairstress as fs
from fairstress.cli import main
from fairstress.inputs.survey import survey

GRAPH = 'graph = "sex -> school, income; school -> income; school <-> income"'


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def people():
    """A table with a bit of everything that raw tables have."""
    rng = np.random.default_rng(0)
    n = 400
    sex = rng.choice(["f", "m"], n)
    school = rng.normal(size=n) + (sex == "m")
    income = school + rng.normal(size=n)
    age = rng.integers(18, 80, n).astype(str)
    age[[5, 9, 17]] = "?"
    return pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + n),
            "sex": sex,
            "school": school.round(3),
            "income": income.round(3),
            "age": age,
            "job": rng.choice(["cook", "nurse", "-", "driver"], n, p=[0.4, 0.3, 0.1, 0.2]),
            "size": np.where(np.arange(n) == 7, "tall", (170 + rng.integers(0, 20, n)).astype(str)),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "country": "UK",
            "street": [f"street {i}" for i in rng.integers(0, 120, n)],
            "grade": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 6, n)),
            "wage": (2 * income + rng.normal(size=n)).round(2),
        }
    )


@pytest.fixture
def raw(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, sep=";", decimal=",", index=False)
    return path


def test_all_problems_of_a_table_are_said_at_once_each_with_its_recipe(raw, tmp_path):
    result = call("new", raw, "-o", tmp_path / "audit.toml")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    for sentence in (
        "400 rows, 12 columns",
        'Cells are separated by semicolons. The settings say delimiter = ";".',
        "Numbers have decimal commas in 'school' (such as ",
        "'age' ('?' in 3 rows) and 'job' ('-' in ",
        'The settings say missing_values = ["-", "?"]; take out what is a value like others.',
        "Values are missing in 'age' (3), 'job' (",
        "Numbers are mixed with text in 'size' ('tall' in 1 row). Correct the file, or add",
        "There are no two values in 'country'. Leave out of the graph what does not vary.",
        "Dates or durations stand in 'joined'. Make numbers of them first",
        "Each row has a value of its own in 'id'. Leave identifiers out of the graph",
        "There are more than 50 levels without an order in 'street'. Merge them with recode",
        "fill in protected, outcome and graph, then run: fairstress check",
    ):
        assert sentence in said


def test_the_draft_says_how_the_file_is_written_and_guesses_only_in_comments(raw, tmp_path):
    call("new", raw, "-o", tmp_path / "audit.toml", "--protected", "sex", "--outcome", "wage")
    text = (tmp_path / "audit.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    assert content["data"] == {
        "file": "people.csv",
        "delimiter": ";",
        "decimal": ",",
        "missing_values": ["-", "?"],
    }
    assert (content["protected"], content["outcome"], content["graph"]) == ("sex", "wage", "")
    assert content["options"] == {"missing": "drop", "random_state": 0}
    assert set(content["columns"]) == {column.name for column in survey(raw).columns}
    assert all(described == {} for described in content["columns"].values())
    assert '# kind = "ordered"  # a guess: whole numbers with 5 distinct values' in text
    assert "[columns.grade]  # 1 to 5; " in text


def test_filling_in_the_graph_is_all_that_is_left_to_do(raw, tmp_path, people):
    target = tmp_path / "audit.toml"
    call("new", raw, "-o", target, "--protected", "sex", "--outcome", "wage")
    text = target.read_text(encoding="utf-8")
    assert call("check", target).stderr == "fairstress: 'graph' is empty in audit.toml: fill it in\n"
    target.write_text(text.replace('graph = ""', GRAPH), encoding="utf-8")
    result = call("check", target)
    assert result.exit_code == 0, result.output
    assert "school <-> income" in result.stdout
    guesses = re.sub(r"(?m)^# (kind|levels|label) = ", r"\1 = ", text[text.index("[columns.sex]") :])
    assert tomllib.loads(guesses)  # what is a comment is ready to be used


def test_the_example_in_the_draft_is_a_graph_that_can_be_used(raw, tmp_path):
    target = tmp_path / "audit.toml"
    call("new", raw, "-o", target, "--protected", "sex", "--outcome", "wage")
    text = target.read_text(encoding="utf-8")
    example = re.search(r"(?m)^#   (graph = .*)$", text)[1]
    assert tomllib.loads(example)["graph"] == "sex -> school; sex -> income; school -> income; school <-> income"
    target.write_text(text.replace('graph = ""', example), encoding="utf-8")
    assert call("check", target).exit_code == 0


def test_kinds_are_those_that_an_audit_would_take_columns_for(people, tmp_path):
    kept = ["sex", "school", "income", "wage", "grade"]
    complete = people[kept].dropna().astype({"grade": int})
    complete.to_csv(tmp_path / "people.csv", index=False)
    graph = fs.CausalGraph.parse("sex -> school, income, grade", protected="sex", outcome="wage")
    audit = fs.Audit.fit(pd.read_csv(tmp_path / "people.csv"), graph, max_degree=1, penalty=1)
    found = {column.name: column.kind for column in survey(tmp_path / "people.csv").columns}
    for name, row in audit.kinds.iterrows():
        assert (str(found[name]), found[name].reason) == (row["kind"], row["reason"])


@pytest.fixture
def gains(tmp_path):
    """A table with a gain that most do not have, and an outcome in words; its settings, filled in."""
    rng = np.random.default_rng(0)
    sex, gain = rng.choice(["f", "m"], 300), np.where(np.arange(300) % 10 < 7, 0, rng.integers(1, 9000, 300))
    credit = np.where(rng.random(300) < 0.4 + 0.2 * (sex == "m"), "good", "bad")
    job = rng.choice(["cook", "nurse", "driver"], 300)
    pd.DataFrame({"sex": sex, "gain": gain, "credit": credit, "job": job}).to_csv(tmp_path / "raw.csv", index=False)
    target = tmp_path / "audit.toml"
    call("new", tmp_path / "raw.csv", "-o", target, "--protected", "sex", "--outcome", "credit")
    target.write_text(target.read_text().replace('graph = ""', 'graph = "sex -> gain; sex <-> gain"'))
    return target


def test_the_draft_says_what_is_predicted_and_where_many_are_zero(gains):
    text = gains.read_text()
    assert 'outcome = "credit"  # what is predicted: the probability of good' in text
    assert re.search(r'# kind = "number"  # a guess: .* distinct values; try "zero or log", since 70 % are 0\n', text)


def test_advice_on_the_command_line_is_given_as_a_settings_file_has_it(gains):
    said = " ".join(call("check", gains).stdout.split())
    assert 'kind = "zero or log" under [columns.gain]' in said
    assert "kinds=" not in said
    gains.write_text(gains.read_text().replace("sex -> gain;", "sex -> gain, job;"))
    refused = call("check", gains).stderr
    assert "give its levels in order, levels = [...] under [columns.job], merge them to two" in refused


def test_a_run_with_a_report_speaks_of_commands_and_of_settings(gains):
    gains.write_text(gains.read_text().replace("[report]", "[report]\nsizes = [0, 0.3]"))
    result = call("run", gains, "--report", gains.with_name("page.html"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 25
    assert lines[-1].startswith("More: fairstress run ")
    assert "kinds=" not in result.stdout + gains.with_name("page.html").read_text()


def test_settings_that_are_there_are_not_overwritten_unless_forced(raw, tmp_path):
    target = tmp_path / "audit.toml"
    target.write_text("mine")
    result = call("new", raw, "-o", target)
    assert result.exit_code == 2
    assert "is there already: give another file by -o, or --force to overwrite it" in result.stderr
    assert target.read_text() == "mine"
    assert call("new", raw, "-o", target, "--force").exit_code == 0
    assert target.read_text().startswith("# An audit of people.csv: 400 rows, 12 columns.")


def test_the_data_are_named_relative_to_the_settings(raw, tmp_path):
    (tmp_path / "audits").mkdir()
    target = tmp_path / "audits" / "wage.toml"
    assert call("new", raw, "-o", target).exit_code == 0
    assert tomllib.loads(target.read_text())["data"]["file"] == "../people.csv"


@pytest.mark.parametrize("name", ["people.csv.gz", "people.parquet"])
def test_compressed_and_typed_tables_are_looked_through_too(people, tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (people.to_parquet if name.endswith("parquet") else people.to_csv)(tmp_path / name, index=False)
    target = tmp_path / "audit.toml"
    result = call("new", tmp_path / name, "-o", target, "--protected", "sex", "--outcome", "wage")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "There are no two values in 'country'." in said
    assert "Dates or durations stand in 'joined'." in said
    target.write_text(target.read_text().replace('graph = ""', GRAPH))
    assert call("check", target).exit_code == 0


def test_names_of_any_kind_and_missing_ones_are_dealt_with(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text(
        'a,a,,"x ""y"" \\ z",é, b\n' + "".join(f"{i % 2},{i % 3},{i},{i / 7},{i % 5},{i % 4}\n" for i in range(40))
    )
    result = call("new", path, "-o", tmp_path / "audit.toml")
    assert result.exit_code == 0, result.output
    assert "2 columns are named 'a'. Rename all but one in the first line of the file." in result.stdout
    assert "Column 3 has no name." in result.stdout
    assert "Names begin or end with a space: ' b'." in result.stdout
    content = tomllib.loads((tmp_path / "audit.toml").read_text(encoding="utf-8"))
    assert list(content["columns"]) == ["a", 'x "y" \\ z', "é", " b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protected", "sexx"], "'sexx' is not a column of the data; did you mean 'sex'?"),
        (["--outcome", "wages"], "'wages' is not a column of the data; did you mean 'wage'?"),
    ],
)
def test_unknown_ends_are_refused_and_nothing_is_written(raw, tmp_path, arguments, message):
    result = call("new", raw, "-o", tmp_path / "audit.toml", *arguments)
    assert (result.exit_code, result.stderr) == (2, f"fairstress: {message}\n")
    assert not (tmp_path / "audit.toml").exists()


def test_files_that_cannot_be_read_are_one_line_on_standard_error(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "head.csv").write_text("a,b\n")
    for name, message in {
        "absent.csv": "there is no data file",
        "empty.csv": "cannot read",
        "head.csv": "head.csv has no rows",
        "table.xlsx": "give a .csv or .parquet file",
    }.items():
        result = call("new", tmp_path / name, "-o", tmp_path / "audit.toml")
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_no_column_stops_the_survey_of_the_others(tmp_path):
    grades = pd.Categorical(["low", "mid", "high"], ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"grade": grades, "took": pd.to_timedelta([1, 2, 3], unit="h"), "x": [0.5, 1.5, 2.5]})
    frame.to_parquet(tmp_path / "people.parquet")
    found = survey(tmp_path / "people.parquet")
    assert [column.name for column in found.columns] == ["grade", "took", "x"]
    assert any("durations stand in" in problem.what for problem in found.problems)


def test_names_that_a_number_would_tell_apart_may_be_taken(tmp_path):
    (tmp_path / "people.CSV").write_text("a,a,a (2)\n1,2,3\n4,5,6\n7,8,8\n")
    names = [column.name for column in survey(tmp_path / "people.CSV").columns]
    assert len(set(names)) == 3
    assert {"a", "a (2)"} <= set(names)


def test_codes_and_levels_called_none_are_settled_in_the_draft(tmp_path):
    n = 60
    table = pd.DataFrame(
        {
            "group": np.where(np.arange(n) % 2, "01", "02"),
            "area": np.array(["003", "010", "100"])[np.arange(n) // 20],
            "plan": np.array(["None", "basic", "full"])[np.arange(n) % 3],
            "x": np.random.default_rng(0).normal(size=n).round(3),
            "y": np.random.default_rng(1).normal(size=n).round(3),
        }
    )
    table.to_csv(tmp_path / "people.csv", index=False)
    target = tmp_path / "audit.toml"
    result = call("new", tmp_path / "people.csv", "-o", target, "--protected", "group", "--outcome", "y")
    said = " ".join(result.stdout.split())
    assert "Cells are likely to stand for a missing value in 'plan' ('None' in 20 rows)." in said
    assert "Numbers begin with 0 in 'group' (such as '02') and 'area' (such as '003')." in said
    content = tomllib.loads(target.read_text(encoding="utf-8"))
    assert content["data"]["missing_values"] == ["None"]
    assert content["columns"]["group"] == {"levels": ["01", "02"]}
    assert content["columns"]["area"] == {"kind": "category"}
    target.write_text(target.read_text().replace('graph = ""', 'graph = "group, area, plan -> x"'))
    assert call("check", target).exit_code == 0
    text = (
        target.read_text()
        .replace('missing_values = ["None"]', "")
        .replace("[columns.plan]", "[columns.plan]\nmissing_values = []")
    )
    target.write_text(text)
    shown = call("check", target)
    assert "None, basic, full" in shown.stdout
    assert "003, 010, 100" in shown.stdout
