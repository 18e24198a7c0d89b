"""A robust predictor of a two-valued outcome: how far from the best its weights can be is never understated."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.robust import accuracy
from fairstress.analyses.robust.minimax import largest

GRAPH = fs.CausalGraph.parse("a -> x -> z; a <-> x", protected="a", outcome="y")


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_weights_after_few_steps_are_within_the_gap_of_the_best(steps, monkeypatch):
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    frame["y"] = (frame["y"] + 2 * frame["x"] > 2).astype(int)
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 0.1}
    fitted = fs.Audit.fit(frame, GRAPH, **given).fitted
    own = accuracy.accuracy_of(fitted.table, fitted.claim, fitted.claim.predictor, penalise_constant=False)
    M, start = np.array([np.diag([0.0, 1.0, 0.0]), np.diag([0.0, 0.0, 2.0])]), np.array([-3.0, 3.0, -3.0])
    best = own.best(M, 0.1, start)
    assert best.value == pytest.approx(own.loss(best.theta) + 0.1 * largest(M, best.theta), rel=1e-12)
    monkeypatch.setattr(accuracy, "MAX_STEPS", steps)
    found = own.best(M, 0.1, start)
    assert best.value <= found.value <= best.value / (1 - min(found.gap, 1 - 1e-9)) * (1 + 1e-9)
