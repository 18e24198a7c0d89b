"""A search that looks around on a sample of the rows finds what one on all of them finds."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.search import problem, search

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x <-> z", protected="a", outcome="y")
OPTIONS = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "random_state": 0}


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, 3000, random_state=0).frame


def test_behind_a_threshold_the_worst_case_is_that_of_all_rows(frame, monkeypatch):
    every = fs.Audit.fit(frame, GRAPH, **OPTIONS).worst_case(0.3)
    for room in (problem, search):
        monkeypatch.setattr(room, "SAMPLE", 500)
    audit = fs.Audit.fit(frame, GRAPH, **OPTIONS)
    some = audit.worst_case(0.3)
    assert audit.fitted.claim.system._coarse[0].rows.n == pytest.approx(3000)
    assert some.value == pytest.approx(every.value, rel=1e-7)
    np.testing.assert_allclose(some.correlation, every.correlation, atol=1e-6)


def test_a_sample_leaves_the_fit_at_independent_errors_to_the_features_of_all_rows(frame):
    claim = fs.Audit.fit(frame, GRAPH, **OPTIONS).fitted.claim
    coarse = claim.system.on_sample(500)
    assert coarse.rows.size < claim.system.rows.size
    np.testing.assert_array_equal(coarse.independent().weights[:-1], claim.model_a.weights[:-1])
    assert claim.system.on_sample(500) is coarse
    assert claim.system.on_sample(2000) is claim.system
