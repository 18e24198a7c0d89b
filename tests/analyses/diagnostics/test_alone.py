"""The CFU that a departure alone makes is that of the people who are drawn from it."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.diagnostics.alone import alone_words, cfu_alone, wider_by_group, with_more_terms

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
GIVEN = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 0, "random_state": 0}


def test_errors_rescaled_with_the_attribute_move_a_linear_prediction_by_the_weight_times_their_change():
    frame = fs.datasets.simulate(GRAPH, 400, random_state=0).frame
    claim = fs.Audit.fit(frame, GRAPH, **GIVEN).fitted.claim
    scales = {"z": {-1.0: 0.8, 1.0: 1.2}}
    eps = np.concatenate([claim.residuals(block)[:, 1] for block in claim.rows.blocks()])
    ratio = np.where(claim.rows.a > 0, 0.8 / 1.2, 1.2 / 0.8)
    expected = np.average((claim.predictor.weights[2] * (ratio - 1) * eps) ** 2, weights=claim.rows.weight)
    assert cfu_alone(claim, wider_by_group(claim, scales)) == pytest.approx(expected, rel=1e-10)
    assert cfu_alone(claim, wider_by_group(claim, {"z": {-1.0: 3.0, 1.0: 3.0}})) < 1e-20


def test_the_cfu_of_a_scale_by_group_is_that_of_counterfactuals_drawn_with_it():
    kinds, weights = {"z": "number by group"}, {"x": {"a": 0.5}, "z": {-1: {"x": 0.5}, 1: {"1": 1.0, "x": 0.5}}}
    truth = fs.datasets.simulate(
        GRAPH, 40_000, kinds=kinds, weights=weights, scales={"z": {-1: 1.0, 1: 1.5}}, random_state=0
    )
    audit = fs.Audit.fit(truth.frame, GRAPH, **GIVEN)
    found = next(c for c in audit.diagnostics().alarms if (c.check, c.feature) == ("scale by group", "z"))
    assert found.value == pytest.approx(1.5, abs=0.03)  # s.e. 0.01
    claim, table = audit.fitted.claim, audit.fitted.table
    other = table.scaling.apply(truth.counterfactuals[["x", "z"]].to_numpy())
    rows = table.rows.where(table.row_of)
    there = type(rows)(-rows.a, rows.a, other, rows.weight, rows.y, rows.y_square)
    drawn = np.mean((claim.predicted(there) - claim.predicted(rows)) ** 2)
    assert found.cfu == pytest.approx(drawn, rel=0.05)  # sampling error of scales and weights


@pytest.mark.parametrize("kinds", [None, {"z": "ordered"}, {"x": "zero or number"}])
def test_more_terms_that_are_not_there_and_scales_that_are_alike_leave_cfu_as_it_is(kinds):
    frame = fs.datasets.simulate(GRAPH, 400, kinds=kinds, random_state=0).frame
    fitted = fs.Audit.fit(frame, GRAPH, kinds=kinds, **GIVEN).fitted
    same = with_more_terms(fitted, "z", GRAPH, 1)
    assert cfu_alone(fitted.claim, same) == pytest.approx(fitted.context.floor, rel=1e-6, abs=1e-12)
    alike = wider_by_group(fitted.claim, {"x": {-1.0: 1.0, 1.0: 1.0}})
    assert cfu_alone(fitted.claim, alike) == pytest.approx(fitted.context.floor, rel=1e-6, abs=1e-12)


def test_a_missing_interaction_alone_makes_the_cfu_of_the_richer_model():
    weights = {"x": {"a": 0.5}, "z": {"a": 0.4, "x": 0.5, "a*x": 0.4}}
    truth = fs.datasets.simulate(GRAPH, 40_000, weights=weights, degrees={"z": 2}, random_state=0)
    audit = fs.Audit.fit(truth.frame, GRAPH, **GIVEN)
    found = next(c for c in audit.diagnostics().alarms if c.check == "interaction")
    assert found.about == "a*x"
    claim, table = audit.fitted.claim, audit.fitted.table
    other = table.scaling.apply(truth.counterfactuals[["x", "z"]].to_numpy())
    rows = table.rows.where(table.row_of)
    there = type(rows)(-rows.a, rows.a, other, rows.weight, rows.y, rows.y_square)
    assert found.cfu == pytest.approx(np.mean((claim.predicted(there) - claim.predicted(rows)) ** 2), rel=0.05)


def test_cfu_that_is_there_already_is_said_beside_what_a_departure_makes_of_it():
    frame = fs.datasets.simulate(GRAPH, 400, kinds={"z": "ordered"}, random_state=0).frame
    fitted = fs.Audit.fit(frame, GRAPH, **GIVEN).fitted
    assert alone_words(fitted, 1.0).startswith(f"alone takes CFU from {fitted.context.floor:.2g} to 1")
    assert alone_words(fitted, 0.0) == ""
