"""Features of several kinds: sums over small blocks of people are those over all of them at once."""

from __future__ import annotations

import pytest

import fairstress as fs
from fairstress.inputs import rows as row_data

GRAPH = fs.CausalGraph.parse("a -> x, z, v; x -> z -> v; x <-> z; a <-> v", protected="a", outcome="y")
KINDS = {"x": "ordered", "z": "number by group", "v": "zero or number"}
P = {("x", "z"): 0.3, ("a", "v"): -0.2}


def test_model_b_and_cfu_do_not_depend_on_the_size_of_blocks(monkeypatch):
    frame = fs.datasets.simulate(GRAPH, 300, kinds=KINDS, cuts={"x": (-0.5, 0.5)}, random_state=0).frame
    given = {"degrees": dict.fromkeys(KINDS, 1), "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}

    def found() -> tuple[float, float]:
        audit = fs.Audit.fit(frame, GRAPH, kinds=KINDS, **given)
        return audit.model_b(P).log_likelihood, audit.cfu(P)

    at_once = found()
    monkeypatch.setattr(row_data, "BLOCK", 64)
    assert found() == pytest.approx(at_once, rel=1e-9)
    assert at_once[1] > 0.001
