"""Diagnostics as a whole: quiet on right models, faults found, and every kind of audit answered."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.report.json import report_results


def load_study() -> Any:
    """Import the study, whose folder is no package."""
    path = Path(__file__).parents[3] / "studies" / "diagnostics.py"
    spec = importlib.util.spec_from_file_location("study_of_diagnostics", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


STUDY = load_study()
FAULTS = [case for case in STUDY.FAULTS if case.fault]
GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
GIVEN = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "random_state": 0}


def test_few_right_models_raise_any_alarm():
    small = [case for case in STUDY.RIGHT if case.n <= 1000]
    alarms = [bool(case.found(seed).alarms) for case in small for seed in range(5)]
    assert sum(alarms) <= 7  # of 45 at a level of 5 %: more has a probability below 0.3 %


@pytest.mark.parametrize("case", FAULTS, ids=[case.name for case in FAULTS])
def test_a_fault_is_found_by_the_check_that_is_made_for_it(case):
    assert sum(STUDY.hits(case, case.found(seed)) for seed in range(3)) >= 2  # the study finds all but a few


def test_what_a_pair_of_the_graph_may_stand_for_is_no_alarm():
    case = next(case for case in STUDY.FAULTS if not case.fault)
    assert all("independence" not in {one.check for one in case.found(seed).alarms} for seed in range(3))


def test_law_schools_wider_errors_of_lsat_are_found_and_gone_with_a_scale_by_group(law_frame):
    graph = fs.CausalGraph.parse(
        "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat; race <-> lsat", protected="race", outcome="zfya"
    )
    audit = fs.Audit.fit(law_frame, graph, reference="White", random_state=0)
    (alarm,) = audit.diagnostics().alarms
    assert (alarm.check, alarm.feature, alarm.about) == ("scale by group", "lsat", "non-White")
    assert alarm.value == pytest.approx(1.29, abs=0.005)
    assert alarm.cfu == pytest.approx(0.003, abs=0.0005)
    assert "kinds={'lsat': 'number by group'}" in alarm.sentence
    by_group = fs.Audit.fit(law_frame, graph, kinds={"lsat": "number by group"}, reference="White", random_state=0)
    assert "lsat" not in {one.feature for one in by_group.diagnostics().alarms if one.check == "scale by group"}


def test_a_hidden_cause_behind_the_smaller_group_explains_narrower_errors_there_and_never_wider_ones():
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    rng = np.random.default_rng(0)
    a = np.where(rng.uniform(size=4000) < 0.16, 1, -1)
    found = {}
    for scale in (0.85, 1.15):  # of the smaller group
        x = 0.3 * a + np.where(a > 0, scale, 1.0) * rng.standard_normal(4000)
        frame = pd.DataFrame({"a": a, "x": x, "y": x + rng.standard_normal(4000)})
        checks = fs.Audit.fit(frame, graph, degrees={"x": 1}, penalty=0, predictor_degree=1).diagnostics().checks
        found[scale] = next(one for one in checks if one.check == "scale by group")
    assert found[0.85].verdict == "quiet"
    assert found[1.15].verdict == "alarm"


# ---------------------------------------------------------------- every kind of audit


def frame_of(graph: fs.CausalGraph = GRAPH, n: int = 300, **options: Any) -> pd.DataFrame:
    return fs.datasets.simulate(graph, n, random_state=1, **options).frame


def several_columns() -> fs.Audit:
    frame = frame_of().assign(sex=np.tile(["f", "m", "m"], 100))
    graph = fs.CausalGraph.parse("a, sex -> x, z; x -> z; x <-> z", protected=("a", "sex"), outcome="y")
    return fs.Audit.fit(frame, graph, **GIVEN)


def mixed_kinds() -> fs.Audit:
    kinds = {"c": "category", "x": "zero or number", "z": ["low", "middle", "high"], "w": "log by group"}
    graph = fs.CausalGraph.parse("a, c -> x; a, x -> z; a, z -> w; x <-> z", protected="a", outcome="y")
    frame = frame_of(graph, kinds=kinds, levels={"c": ["n", "s", "w"]})
    given = {**GIVEN, "degrees": {"x": 1, "z": 1, "w": 1}, "penalty": 1}
    return fs.Audit.fit(frame, graph, kinds={k: v for k, v in kinds.items() if k != "c"}, **given)


def raw_columns() -> fs.Audit:
    predictor = fs.Predictor(lambda columns: columns["x"] + columns["z"], input="features")
    return fs.Audit.fit(frame_of(), GRAPH, predictor=predictor, **GIVEN)


def fair_edges() -> fs.Audit:
    graph = fs.CausalGraph.parse("a =fair=> x; a, x -> z; x <-> z", protected="a", outcome="y")
    return fs.Audit.fit(frame_of(), graph, mixed="fair part", **GIVEN)


def ordered_attribute() -> fs.Audit:
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z; a <-> x", protected="a", outcome="y")
    levels = ["l", "m", "h"]
    return fs.Audit.fit(frame_of(graph, kinds={"a": levels}), graph, kinds={"a": levels}, **GIVEN)


AUDITS = {
    "several protected columns": several_columns,
    "kinds and context": mixed_kinds,
    "a predictor of columns": raw_columns,
    "fair edges": fair_edges,
    "an ordered attribute behind thresholds": ordered_attribute,
    "a numeric attribute": lambda: fs.Audit.fit(frame_of(binary=False), GRAPH, **GIVEN),
    "completed tables": lambda: fs.Audit.fit([frame_of(), frame_of()], GRAPH, **GIVEN),
    "two classes": lambda: fs.Audit.fit(frame_of().eval("y = y > 0"), GRAPH, **GIVEN),
    "a quantile": lambda: fs.Audit.fit(frame_of(), GRAPH, measure=0.9, **GIVEN),
    "a forest": lambda: fs.Audit.fit(frame_of(), GRAPH, predictor=forest(), **GIVEN),
    "cross-validated": lambda: fs.Audit.fit(frame_of(), GRAPH, max_degree=2, random_state=0),
    "robust": lambda: fs.Audit.fit(frame_of(), GRAPH, robust=fs.Robust(0.3, 10), **{**GIVEN, "penalty": 10}),
}


def forest() -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=3)


@pytest.mark.parametrize("name", AUDITS)
def test_every_kind_of_audit_has_diagnostics_that_are_the_same_each_time(name):
    audit = AUDITS[name]()
    P = {audit.graph.pairs[-1]: 0.3}
    found, again = audit.diagnostics(P), audit.diagnostics(P)
    pd.testing.assert_frame_equal(found.to_frame(), again.to_frame())
    frame = found.to_frame()
    assert {"skewness", "kurtosis", "overlap"} <= set(frame["check"])
    assert frame["p_value"].between(0, 1).all()
    assert (frame["adjusted"] >= frame["p_value"] - 1e-12).all()
    assert frame["sentence"].str.endswith(".").all()
    assert found.equations["r2"].between(0, 1).all()
    assert found.summary().startswith(("No alarm", "1 alarm", f"{len(found.alarms)} alarms"))
    assert "Whether the data contradict" in found.to_markdown()


def test_what_cross_validation_tried_is_kept_with_what_it_chose():
    audit = AUDITS["cross-validated"]()
    tried = audit.diagnostics().cross_validation
    assert set(tried["name"]) == {"x", "z", "predictor"}
    assert len(tried) == 3 * 2 * 10
    chosen = tried[tried["chosen"]].set_index("name")
    assert chosen["degree"].to_dict() == {**audit.settings.degrees, "predictor": audit.settings.predictor_degree}
    assert chosen.loc["predictor", "score"] == tried.loc[tried["name"] == "predictor", "score"].max()
    assert AUDITS["a quantile"]().diagnostics().cross_validation.empty is False  # the predictor's penalty was chosen


def test_a_report_counts_influential_people_and_names_nobody():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z; a <-> x", protected="a", outcome="y")
    frame = frame_of(graph).set_axis([f"label-{i}" for i in range(300)], axis=0)
    data = fs.Audit.fit(frame, graph, **GIVEN).report(p_max=0.3, sizes=[0, 0.3], grid=[0, 0.3])
    saved = report_results(data)["diagnostics"]
    assert saved["influence"]["to_lower"] == data.diagnostics.influence.to_lower
    assert data.diagnostics.influence.change.index[0].startswith("label-")
    assert "label-" not in json.dumps(saved)
    assert data.leakage is data.diagnostics.leakage


def test_two_numbers_that_disagree_with_the_graph_name_the_edge_that_repairs_it():
    graph = fs.CausalGraph.parse("a -> x; u -> x", protected="a", outcome="y")
    frame = frame_of(fs.CausalGraph.parse("u -> a; a, u -> x", protected="a", outcome="y"), n=1000)
    given = {**GIVEN, "degrees": {"u": 1, "x": 1}}
    (alarm,) = [one for one in fs.Audit.fit(frame, graph, **given).diagnostics().alarms if one.check == "independence"]
    assert {alarm.feature, alarm.about} == {"a", "u"}
    assert "or the pair 'a <-> u' if a hidden cause is behind both" in alarm.sentence
