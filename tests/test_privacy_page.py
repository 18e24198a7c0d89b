"""What docs/privacy.md says of the defaults is what a run does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import joblib
import numpy as np
import pytest
from click.testing import CliRunner

import fairstress as fs
from fairstress.cli import main
from fairstress.schema import load_schema

PAGE = " ".join((Path(__file__).parents[1] / "docs" / "privacy.md").read_text(encoding="utf-8").split())
GRAPH = "a -> x, z; x -> z; x <-> z"
SETTINGS = f"""
data = "people.parquet"
graph = "{GRAPH}"
protected = "a"
outcome = "y"
[options]
degrees = {{x = 1, z = 1}}
penalty = 1
predictor_degree = 2
random_state = 0
[report]
p_max = 0.2
sizes = [0, 0.2]
"""
NAMED, FEATURE = "Ms Rare", 8.1237  # who stands out, and by what


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table in which a group has eight people, one of them far from all others."""
    made = tmp_path_factory.mktemp("privacy")
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    frame["a"] = np.where(np.arange(300) % 3 == 0, "left", "right")
    frame.loc[:7, "a"] = "rare"
    frame.loc[0, "x"] = FEATURE
    frame.index = [NAMED, *(f"person {i}" for i in range(1, 300))]
    frame.to_parquet(made / "people.parquet")
    return made


def run(folder, *options: str, report: str = ""):
    """Results and page of a run, with words of the command line or lines of the settings file."""
    (folder / "audit.toml").write_text(SETTINGS + report)
    arguments = ["run", str(folder / "audit.toml"), "--report", str(folder / "page.html"), *options]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.stderr
    text = (folder / "page.html").read_text(encoding="utf-8")
    return json.loads((folder / "audit-results.json").read_text(encoding="utf-8")), text


@pytest.fixture(scope="module")
def default(folder):
    return run(folder)


def leaves(value):
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def shows(results, number: float) -> bool:
    return any(isinstance(value, float) and abs(value - number) < 1e-6 for value in leaves(results))


def test_by_default_no_page_and_no_results_file_shows_single_people(default):
    assert "No page and no results file shows single people." in PAGE
    results, page = default
    assert results["people"] is None
    assert not shows(results, FEATURE)
    assert NAMED not in page + json.dumps(results)
    assert f"{FEATURE:.4g}" not in page


@pytest.mark.parametrize(("words", "lines"), [(["--people"], ""), ([], "people = true\n")], ids=["option", "settings"])
def test_people_are_added_by_the_words_that_the_page_gives_and_their_labels_by_one_more(folder, words, lines):
    assert "`fairstress run audit.toml --people`, `people = true` under `[report]`" in PAGE
    assert "`--labels`, `labels = true` or `labels=True`" in PAGE
    results, page = run(folder, *words, report=lines)
    assert results["people"]
    assert shows(results, FEATURE)
    assert NAMED not in page + json.dumps(results)
    more = ["--labels"] if words else []
    named, _ = run(folder, *words, *more, report=lines + ("labels = true\n" if lines else ""))
    assert NAMED in json.dumps(named)


def test_means_about_fewer_people_than_the_page_says_are_left_out_with_the_next_larger_group(default):
    (least,) = re.findall(r"quantiles about fewer than (\d+) people are left out", PAGE)
    assert "the next larger groups are left out with it" in PAGE
    results, page = default
    assert results["privacy"]["smallest_group"] == int(least)
    assert results["privacy"]["hidden_groups"] == ["left", "rare"]  # of the others the smaller one
    means = {row["group"]: row["mean"] for row in results["by_group"]}
    assert means["rare"] is None
    assert means["left"] is None
    assert means["right"] is not None
    assert "not shown" in page
    counts = {group["level"]: group["people"] for group in results["data"]["groups"]}
    assert counts["rare"] == 8  # how many they are is shown


def test_what_the_page_says_to_ask_for_smaller_groups_is_heard(folder):
    assert "`smallest_group = 20` under `[report]`" in PAGE
    assert "`1` for nothing of the kind" in PAGE
    results, _ = run(folder, report="smallest_group = 1\n")
    assert results["privacy"]["hidden_groups"] == []
    assert all(row["mean"] is not None for row in results["by_group"])
    keys = load_schema("settings")["properties"]["report"]["properties"]
    assert {"people", "labels", "smallest_group"} <= set(keys)


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_pickle_is_not_opened_unless_it_is_trusted_by_the_words_that_the_page_gives(folder, command):
    assert (
        "refused by `fairstress run` and `fairstress check` unless you say that you trust it, by `--trust-pickle`"
        in PAGE
    )
    joblib.dump({"harmless": True}, folder / "model.joblib")
    settings = SETTINGS.replace("predictor_degree = 2\n", 'predictor = "model.joblib"\n')
    (folder / "audit.toml").write_text(settings)
    done = CliRunner().invoke(main, [command, str(folder / "audit.toml")])
    assert done.exit_code == 2
    assert "--trust-pickle" in done.stderr
