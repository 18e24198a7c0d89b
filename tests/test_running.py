"""Results say how they came about, and the same audit, run again, finds the same."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import fairstress as fs
from fairstress.cli import main
from fairstress.report.json import results, write_results

GRAPH = "a -> x -> z; x <-> z"
SETTINGS = f"""
data = "people.csv"
graph = "{GRAPH}"
protected = "a"
outcome = "y"
[options]
penalty = 1.0
max_degree = 1
predictor = {{model = "scores:score", input = "residuals", trust_pickle = true}}
[profile]
points = 3
"""


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, settings, and in another folder their results."""
    folder = tmp_path_factory.mktemp("audit")
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    fs.datasets.simulate(graph, 200, random_state=0).frame.to_csv(folder / "people.csv", index=False)
    (folder / "scores.py").write_text("def score(Z):\n    return Z[:, 0] - Z[:, 1]\n")
    (folder / "audit.toml").write_text(SETTINGS)
    (folder / "out").mkdir()
    found = call("run", folder / "audit.toml", "-q", "-o", folder / "out" / "results.json")
    assert found.exit_code == 0, found.stderr
    return folder


@pytest.fixture
def altered(made):
    """Write the results with other content beside the true ones."""

    def write(change) -> object:
        content = json.loads((made / "out" / "results.json").read_text())
        change(content)
        path = made / "out" / "altered.json"
        path.write_text(json.dumps(content))
        return path

    return write


def test_results_have_the_settings_and_the_way_to_their_folder(made):
    content = json.loads((made / "out" / "results.json").read_text())
    assert content["run"]["folder"] == ".."
    assert content["run"]["settings"]["options"]["penalty"] == 1.0
    assert content["run"]["settings"]["graph"] == GRAPH
    assert str(made) not in json.dumps(content)


def test_the_same_audit_finds_the_same_again_and_writes_nothing(made):
    before = {path: path.read_bytes() for path in made.rglob("*.*") if "__pycache__" not in str(path)}
    found = call("run", "--again", made / "out" / "results.json", "--trust-pickle")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.startswith("The same to rounding.\n")
    assert found.stdout.endswith(" numbers were compared.\n")
    assert {path: path.read_bytes() for path in made.rglob("*.*") if "__pycache__" not in str(path)} == before


def test_another_number_is_exit_code_one_and_a_table(altered):
    def change(content):
        content["profiles"][0]["cfu"][2] *= 1.001

    path = altered(change)
    found = call("run", "--again", path, "--trust-pickle")
    assert found.exit_code == 1
    assert found.stdout.splitlines()[0].startswith("Not the same: 1 place differs; ")
    assert found.stdout.splitlines()[-1].startswith("profiles[0].cfu[2]  ")
    as_json = json.loads(call("run", "--again", path, "--trust-pickle", "--json").stdout)
    assert [one["where"] for one in as_json["differences"]] == ["profiles[0].cfu[2]"]
    assert call("run", "--again", path, "--trust-pickle", "-q").stdout == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda r: r["data"].update(sha256="0" * 64), "the data are not those of"),
        (lambda r: r["data"].update(file="other.csv"), "file was other.csv and is people.csv"),
        (lambda r: r.update(run=None), "does not say with which settings it was made"),
        (lambda r: r["run"]["settings"].update(data="none.csv"), "there is no data file"),
        (lambda r: r["run"]["settings"].update(dta="x"), "unknown key 'dta'; did you mean 'data'?"),
        (lambda r: r["run"].update(folder="nowhere"), "there is no data file"),
    ],
)
def test_what_cannot_be_run_again_is_refused(altered, change, sentence):
    found = call("run", "--again", altered(change), "--trust-pickle")
    assert (found.exit_code, found.stdout) == (2, "")
    assert sentence in found.stderr


def test_results_run_no_code_by_themselves(made, altered):
    found = call("run", "--again", made / "out" / "results.json")
    assert found.exit_code == 2
    assert "names the predictor 'scores:score', and loading it runs its code" in found.stderr

    def as_pickle(content):
        content["run"]["settings"]["options"]["predictor"] = {"model": "model.pkl", "trust_pickle": True}

    assert "add --trust-pickle" in call("run", "--again", altered(as_pickle)).stderr


def test_results_made_in_python_do_not_say_how(made, tmp_path):
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 100, random_state=0).frame
    write_results(tmp_path / "r.json", results(fs.Audit.fit(frame, graph, penalty=1, max_degree=1), []))
    assert "cannot be run again" in call("run", "--again", tmp_path / "r.json").stderr


def test_again_stands_alone_and_a_run_needs_settings(made):
    found = call("run", made / "audit.toml", "--again", made / "out" / "results.json")
    assert (found.exit_code, "--again goes with --json" in found.stderr) == (2, True)
    found = call("run")
    assert (found.exit_code, "missing argument" in found.stderr) == (2, True)
