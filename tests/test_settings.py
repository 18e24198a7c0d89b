"""Settings files that bring a predictor, a measure or a sturdier predictor."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import joblib
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LinearRegression

import fairstress as fs
from fairstress.cli import main
from fairstress.errors import SettingError
from fairstress.settings import read_settings

GRAPH = "a -> x, z; a <-> z"
PAIR = ("a", "z")
HEAD = f'data = "people.csv"\ngraph = "{GRAPH}"\nprotected = "a"\noutcome = "y"'


@pytest.fixture(scope="module")
def frame():
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    return fs.datasets.simulate(graph, 300, random_state=0).frame


@pytest.fixture
def fit(tmp_path, frame):
    """Fit the audit of a settings file with these options."""
    frame.to_csv(tmp_path / "people.csv", index=False, float_format="%.17g")

    def fitted(*options: str) -> fs.Audit:
        path = tmp_path / "audit.toml"
        path.write_text("\n".join([HEAD, "[options]", "penalty = 1.0", *options]), encoding="utf-8")
        return read_settings(path).fit()

    return fitted


def direct(frame, **options) -> fs.Audit:
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    return fs.Audit.fit(frame, graph, penalty=1.0, **options)


def same_cfu(one: fs.Audit, other: fs.Audit) -> bool:
    return one.cfu({PAIR: 0.4}) == pytest.approx(other.cfu({PAIR: 0.4}), rel=1e-9)


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".pickle"])
def test_a_deployed_model_comes_from_its_file(fit, tmp_path, frame, suffix):
    model = LinearRegression().fit(frame[["x", "z"]], frame["y"])
    joblib.dump(model, tmp_path / f"model{suffix}")
    audit = fit(f'predictor = "model{suffix}"', 'predictor_input = "features"', 'predictor_gradient = "differences"')
    assert audit.settings.predictor == "LinearRegression"
    assert same_cfu(audit, direct(frame, predictor=model, predictor_input="features"))


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
    audit = fit('predictor = "model.joblib"', 'predictor_input = "features"')
    assert same_cfu(audit, direct(frame, predictor=lambda X: X["z"] / 2, predictor_input="features"))


def test_measure_and_a_sturdier_predictor_are_options(fit, frame):
    assert same_cfu(fit('measure = "absolute"'), direct(frame, measure="absolute"))
    assert same_cfu(fit("measure = 0.9"), direct(frame, measure=0.9))
    sturdy = fit("[options.robust]", "p_max = 0.3", "weight = 3")
    assert sturdy.robust_predictor.weight == 3
    assert same_cfu(sturdy, direct(frame, robust={"p_max": 0.3, "weight": 3}))


def test_two_values_may_be_a_number_or_log_odds(fit, tmp_path, frame):
    frame.assign(y=(frame["y"] > 0).astype(int)).to_csv(tmp_path / "people.csv", index=False)
    assert fit('predictor_scale = "log-odds"').settings.predictor_scale == "log-odds"
    assert fit('outcome_type = "number"').table.outcome_levels is None


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('predictor = "model.onnx"', "'options.predictor' is 'model.onnx': give a file (.joblib, .pkl, .pickle) or"),
        ('predictor = "absent.joblib"', "'options.predictor': there is no file"),
        ('predictor = "no_such_module:model"', "'options.predictor': cannot import 'no_such_module'"),
        ('predictor = "broken:model"', "'options.predictor': cannot import 'broken' (RuntimeError: no luck)"),
        ('predictor = "script:model"', "'options.predictor': cannot import 'script' (SystemExit: 3)"),
        ('predictor = "json:lods"', "'options.predictor': the module 'json' has no 'lods'; did you mean 'loads'?"),
        ('predictor = "people.pkl"', "'options.predictor': cannot load"),
        ("predictor = 3", "'options.predictor' is 3: give text"),
        ('measure = "squard"', "measure is 'squard'"),
        ("robust = {p_max = 0.3}", "robust lacks 'weight'"),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_a_sentence(fit, tmp_path, option, message):
    (tmp_path / "broken.py").write_text("raise RuntimeError('no luck')\n")
    (tmp_path / "script.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "people.pkl").write_text("not a pickle")
    with pytest.raises(SettingError, match=re.escape(message)):
        fit(option)


def test_the_command_line_audits_a_deployed_model_up_to_its_page(tmp_path, frame):
    frame.to_csv(tmp_path / "people.csv", index=False)
    joblib.dump(LinearRegression().fit(frame[["x", "z"]], frame["y"]), tmp_path / "model.joblib")
    settings = Path(tmp_path / "audit.toml")
    settings.write_text(
        f"{HEAD}\n"
        '[options]\npenalty = 1.0\npredictor = "model.joblib"\npredictor_input = "features"\n'
        "[profile]\npoints = 3\n[report]\np_max = 0.2\nbudgets = [0.0, 0.2]\n"
    )
    result = CliRunner().invoke(main, ["run", str(settings), "--report", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.stderr
    written = json.loads((tmp_path / "audit-results.json").read_text())
    assert written["settings"]["predictor"] == "LinearRegression"
    assert written["settings"]["predictor_input"] == "features"
    assert "LinearRegression" in (tmp_path / "page.html").read_text(encoding="utf-8")
    again = {variant["what"]: variant["cfu"] for variant in written["variants"]}
    assert again["as audited"] == pytest.approx(written["curve"]["points"][-1]["cfu"], rel=1e-9)
