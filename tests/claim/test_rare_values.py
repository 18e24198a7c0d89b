"""A value that a sample of many rows misses still counts: powers of an input are bounded by how many values it has."""

from __future__ import annotations

import numpy as np
import pandas as pd

import fairstress as fs
from fairstress.claim.predictors import _count_inputs
from fairstress.inputs import rows as row_data

GRAPH = fs.CausalGraph.parse("a -> x, z", protected="a", outcome="y")


def test_inputs_of_few_values_are_counted_over_everyone(monkeypatch):
    n, rng = 300, np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": np.arange(n) % 2, "x": np.arange(n) % 3, "z": rng.standard_normal(n), "y": rng.random(n)}
    )
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    rows = fs.Audit.fit(frame, GRAPH, **given).fitted.table.rows
    monkeypatch.setattr(row_data, "MANY", 50)
    monkeypatch.setattr(row_data, "SAMPLE", 2)
    assert rows.some().size == 2
    assert _count_inputs(rows, lambda block: block.x) == [3, n]
