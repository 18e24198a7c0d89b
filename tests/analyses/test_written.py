"""Everyone in both worlds as a file, from a table in memory."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import fairstress as fs

P = {("x", "z"): 0.4}


@pytest.fixture(scope="module")
def audit() -> fs.Audit:
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 120, random_state=0).frame
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, graph, random_state=0, **options)


def test_a_file_of_everyone_says_what_the_frames_do(audit, tmp_path):
    assert audit.counterfactuals(P, to=tmp_path / "moved.parquet") is None
    written = pd.read_parquet(tmp_path / "moved.parquet")
    moved = audit.counterfactuals(P)
    assert written["row"].tolist() == list(range(120))
    for name in ("a", "x", "z"):
        np.testing.assert_allclose(written[name], moved[name], rtol=1e-12)
    np.testing.assert_allclose(written["cfu"], audit.cfu_by_row(P), rtol=1e-9)
    np.testing.assert_allclose((written["counterfactual"] - written["factual"]) ** 2, written["cfu"], atol=1e-12)


def test_without_pyarrow_a_file_is_refused_with_the_way_to_it(audit, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(fs.SettingError, match=r"to= writes Parquet: install pyarrow with pip install 'fairstress"):
        audit.counterfactuals(P, to=tmp_path / "moved.parquet")
    assert not list(tmp_path.iterdir())
