"""A feature that no pair ties, between two that are tied: its own equation is Model A's, its worlds are not."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import fits
from fairstress.model.counterfactual import worlds

GRAPH = fs.CausalGraph.parse("a -> x, v; x -> z -> v; x <-> v", protected="a", outcome="y")


@pytest.mark.parametrize("features", [True, False])
def test_false_residuals_below_it_are_those_of_a_walk_through_all_equations(features):
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 2, "v": 1}, "penalty": 5.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    claim = fs.Audit.fit(frame, GRAPH, **given).fitted.claim
    P = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    fitted = fits(claim, P[None])
    (block,) = claim.blocks()
    every = worlds(claim.design, claim.model_a.weights, fitted[0].weights[None], block)
    found = claim.worlds(fitted, block, features=features)
    np.testing.assert_allclose(found.eps_cf, every.eps_cf, rtol=1e-13, atol=1e-13)
    assert np.abs(every.eps_cf[0] - every.factual.eps).max() > 0.01  # the pair does move what the predictor sees
