"""A weight of an equation that is asked for by name is the one that Model A and Model B state, in the table's units."""

from __future__ import annotations

import pytest

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
KINDS = {"x": "number", "z": "ordered"}


def test_the_equation_of_an_ordered_feature_is_in_units_of_its_error_and_its_parents_units():
    frame = fs.datasets.simulate(GRAPH, 300, kinds=KINDS, cuts={"z": (-0.5, 0.5)}, random_state=0).frame
    frame["x"] = 10 * frame["x"]
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(frame, GRAPH, kinds=KINDS, **given)
    sd = frame["x"].std(ddof=0)
    for name, term, expected in (
        ("z", "x", audit.model_a.weights["z", "x"] / sd),
        ("x", "a", audit.model_a.weights["x", "a"] * sd),
    ):
        low, high = audit.bounds(audit.coefficient(name, term), 0.0)
        assert (low.value, high.value) == pytest.approx((expected, expected), rel=1e-9)
