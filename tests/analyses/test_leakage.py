from __future__ import annotations

import numpy as np
import pandas as pd

import fairstress as fs

KINDS = {"x1": "ordered", "x2": "number", "x3": "zero or number"}


def audit_of(seed: int) -> fs.Audit:
    """An audit of people who are drawn from the family that is fitted."""
    graph = fs.CausalGraph.parse("a -> x1, x2, x3; x1 -> x2, x3; x2 -> x3", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 2000, kinds=KINDS, cuts={"x1": (-0.5, 0.6)}, random_state=seed).frame
    given = {"degrees": dict.fromkeys(KINDS, 1), "predictor_degree": 1, "predictor_penalty": 1.0, "penalty": 0.0}
    return fs.Audit.fit(frame, graph, kinds=KINDS, random_state=0, **given)


def test_errors_of_a_right_model_do_not_tell_the_attribute():
    found = [audit_of(seed).leakage().auc for seed in range(20)]
    assert min(found) > 0.45
    assert max(found) < 0.55
    assert abs(np.mean(found) - 0.5) < 0.02  # scores put together from balanced folds lie a little below 0.5


def heaped() -> fs.Audit:
    """An audit in which half of all people work 40 hours, women and men alike."""
    rng = np.random.default_rng(0)
    woman, usual = rng.integers(0, 2, 3000), rng.random(3000) < 0.5
    hours = np.where(usual, 40.0, 42 - 8 * woman + 9 * rng.standard_normal(3000))
    frame = pd.DataFrame({"sex": np.where(woman, "woman", "man"), "hours": hours})
    frame["pay"] = 0.1 * hours + rng.standard_normal(3000)
    graph = fs.CausalGraph.parse("sex -> hours", protected="sex", outcome="pay")
    return fs.Audit.fit(frame, graph, degrees={"hours": 1}, penalty=0, predictor_degree=1, predictor_penalty=1)


def test_a_heap_tells_the_attribute_and_is_named():
    audit = heaped()
    leakage = audit.leakage()
    assert leakage.auc > 0.7
    assert leakage.by_feature == {"hours": leakage.auc}
    assert f"The errors of 'hours' alone tell it with {leakage.auc:.2f}: look at that feature first." in str(leakage)
    assert "51 % of people have 'hours' 40, a heap" in " ".join(audit.notes)


def test_nothing_is_said_of_features_where_nothing_leaks():
    assert audit_of(0).leakage().by_feature == {}


def test_errors_that_tell_the_attribute_only_together_are_said_to_do_so():
    """The errors of two features are normal in both groups, correlated upwards in one and downwards in the other."""
    rng = np.random.default_rng(0)
    woman, e, f = rng.integers(0, 2, 3000), rng.standard_normal(3000), rng.standard_normal(3000)
    frame = pd.DataFrame({"sex": np.where(woman, "woman", "man"), "x": woman + e})
    frame["z"] = woman + np.where(woman, 0.95, -0.95) * e + np.sqrt(1 - 0.95**2) * f
    frame["y"] = frame["x"] + frame["z"] + rng.standard_normal(3000)
    graph = fs.CausalGraph.parse("sex -> x, z", protected="sex", outcome="y")
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1}
    leakage = fs.Audit.fit(frame, graph, **given).leakage()
    assert leakage.auc > 0.8
    assert max(leakage.by_feature.values()) < 0.55
    assert str(leakage).endswith("The errors of no single feature do so: it is how they go together.")
