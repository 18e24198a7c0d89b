"""What is proved of the deviance over a box of correlations: no fit in the box has less, or more, than it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import fits
from fairstress.search.enclosure import Objective

CHAIN = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")
BEHIND = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; a <-> z; x <-> z", protected="a", outcome="y")
PAIRS = ((0, 1), (0, 2), (1, 2))
CENTRE = np.array([[1, 0.2, -0.1], [0.2, 1, 0.15], [-0.1, 0.15, 1]])
HALF = np.array([0.02, 0.03, 0.02])


def deviance(objective: Objective, fit) -> float:
    """``F + n log det P``: minus twice the log likelihood without its constant, and the penalty."""
    constant = objective.n * objective.m * np.log(2 * np.pi)
    return -2 * fit.log_likelihood - constant + objective.penalties @ fit.weights[: objective.penalties.size] ** 2


@pytest.mark.parametrize("penalty", [0.0, 10.0])
@pytest.mark.parametrize("graph", [CHAIN, BEHIND], ids=["features", "threshold"])
def test_no_fit_in_the_box_lies_outside_the_limits_of_its_deviance(graph, penalty):
    frame = fs.datasets.simulate(graph, 300, weights={"x": {"a": 0.8}}, random_state=4).frame
    given = {"degrees": dict.fromkeys(graph.features, 1), "predictor_degree": 1, "predictor_penalty": 1.0}
    claim = fs.Audit.fit(frame, graph, penalty=penalty, **given).fitted.claim
    objective = Objective.of_system(claim.system, PAIRS)
    box = objective.box(CENTRE, HALF)
    (fit,) = fits(claim, CENTRE[None])
    low, high = box._deviance_limits(box._minima(fit))
    around, way = np.repeat(CENTRE[None], 8, axis=0), np.array([*itertools.product([-1, 1], repeat=3)])
    for i, (j, k) in enumerate(PAIRS):
        around[:, j, k] = around[:, k, j] = CENTRE[j, k] + HALF[i] * way[:, i]
    found = [deviance(objective, one) for one in (fit, *fits(claim, around))]
    rounding = 1e-9 * abs(found[0])
    assert low - rounding <= min(found)
    assert max(found) <= high + rounding
    assert high - low < objective.n / 10  # and say something: a ceiling lies n above the least deviance
    assert box.least_deviance(fit) == low
    assert box.enclose(fit, ceiling=high + 1.0) is not None
    assert box.enclose(fit, ceiling=high - 1e-6) is None
