"""Proved bounds of CFU where people count differently: around P = I, where all of CFU is in the square of its slope."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import fits
from fairstress.functionals.cfu import CFU
from fairstress.search.enclosure import Objective
from fairstress.search.upper import upper_bound

GRAPH = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")
PAIRS = ((0, 1), (0, 2), (1, 2))


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 8.0), (0.1, 0.1)], ids=["alike", "unlike", "light"])
def test_no_corner_of_a_box_around_independent_errors_exceeds_what_is_proved(weights):
    frame = fs.datasets.simulate(GRAPH, 200, weights={"x": {"a": 0.8}, "z": {"x": 0.7}}, random_state=4).frame
    given = {"degrees": {"x": 1, "z": 2, "v": 1}, "penalty": 0.0, "predictor_degree": 2, "predictor_penalty": 1.0}
    weight = np.where(frame["a"] > 0, *weights)
    claim = fs.Audit.fit(frame, GRAPH, sample_weight=weight, **given).fitted.claim
    objective, half = Objective.of_system(claim.system, PAIRS), 0.002
    (centre,) = fits(claim, np.eye(3)[None])
    upper = upper_bound(claim, objective.weights(objective.box(np.eye(3), np.full(3, half)).enclose(centre)))
    corners, way = np.repeat(np.eye(3)[None], 8, axis=0), np.array([*itertools.product([-half, half], repeat=3)])
    for i, (j, k) in enumerate(PAIRS):
        corners[:, j, k] = corners[:, k, j] = way[:, i]
    values = CFU().values(claim, fits(claim, corners))
    assert values.max() <= upper.bound < 1.5 * values.max()
    along = np.repeat(np.eye(3)[None], 3, axis=0)  # and each pair alone moves CFU by the square of its slope
    for i, (j, k) in enumerate(PAIRS):
        along[i, j, k] = along[i, k, j] = half
    np.testing.assert_allclose(
        upper.moves**2, CFU().values(claim, fits(claim, along)), rtol=0.03
    )  # of third order: some 6 half
