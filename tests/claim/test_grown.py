"""Predictors that look at the same people share their worlds."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim import grown as room
from fairstress.functionals.cfu import evaluate_cfu


@pytest.fixture(scope="module")
def audit():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    frame["x"] = np.digitize(frame["x"], [-1.0, 0.0, 1.0])
    return fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)


def at(p):
    return np.array([[1.0, p], [p, 1.0]])


def test_baselines_look_at_the_worlds_of_the_audited_predictor(audit, monkeypatch):
    claims = [audit.fitted.claim, *(one.claim for one in audit.fitted.baselines.values())]
    alone = []
    for claim in claims:
        room._known.clear()
        claim._values.clear()
        alone.append(evaluate_cfu(claim, at(0.3)).value)
        claim._values.clear()
    room._known.clear()
    calls, grow = [], room.grow
    monkeypatch.setattr(room, "grow", lambda *args, **kwargs: calls.append(1) or grow(*args, **kwargs))
    assert [evaluate_cfu(claim, at(0.3)).value for claim in claims] == alone
    assert len(calls) == 1
    evaluate_cfu(claims[0], at(0.31))
    assert len(calls) == 2


def test_what_is_kept_is_bounded(audit, monkeypatch):
    room._known.clear()
    monkeypatch.setattr(room, "KEPT", 10_000)
    for p in np.linspace(0.2, 0.25, 20):
        evaluate_cfu(audit.fitted.claim, at(float(p)))
    (lately,) = room._known.values()
    assert 0 < sum(2 * worlds.x_cf.size for worlds, _ in lately._worlds.values()) == lately._size <= 10_000
