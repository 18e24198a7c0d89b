"""A predictor of the table's columns is differentiated by every feature, and by nothing else."""

from __future__ import annotations

import numpy as np

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> x -> z -> v; a <-> x", protected="a", outcome="y")


def score(shown):
    return shown["x"] ** 2 / 2 + 3 * shown["z"] - np.sin(shown["v"]) + (shown["a"] == 1)


def test_slopes_are_the_functions_derivatives_in_units_of_a_standard_deviation_and_none_by_the_attribute():
    frame = fs.datasets.simulate(GRAPH, 100, random_state=0).frame * [1, 10, 1, 0.1, 1]
    given = {"degrees": {"x": 1, "z": 1, "v": 1}, "penalty": 1.0}
    predictor = fs.Predictor(score, input="features", gradient="differences")
    audit = fs.Audit.fit(frame, GRAPH, predictor=predictor, **given)
    table, features = audit.fitted.table, list(GRAPH.features)
    Z = np.column_stack([table.rows.a, table.rows.x])[table.row_of]
    predicted, slopes = audit.fitted.claim.predictor.predict_with_slopes(Z)
    x, _, v = frame[features].to_numpy().T
    by_hand = np.column_stack([x, np.full_like(x, 3.0), -np.cos(v)]) * frame[features].std(ddof=0).to_numpy()
    np.testing.assert_allclose(predicted + table.origin, score(frame), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(slopes[:, 0], 0.0)
    np.testing.assert_allclose(slopes[:, 1:], by_hand, rtol=1e-6, atol=1e-6)  # central differences
