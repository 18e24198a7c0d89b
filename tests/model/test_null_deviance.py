"""The deviance that a logistic predictor is compared with is that of one and the same probability for everyone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.model.predictor import null_deviance

GRAPH = fs.CausalGraph.parse("a -> x", protected="a", outcome="y")


def audit(hired: int, *, penalty: float) -> fs.Audit:
    frame = pd.DataFrame({"a": ["s", "t"] * 40, "x": np.random.default_rng(0).standard_normal(80)})
    frame["y"] = np.where(np.arange(80) < hired, "yes", "no")
    given = {"degrees": {"x": 1}, "penalty": 0.0, "predictor_degree": 1, "predictor_penalty": penalty}
    return fs.Audit.fit(frame, GRAPH, **given)


@pytest.mark.parametrize("hired", [5, 40, 60])
def test_it_is_minus_two_log_likelihoods_of_the_mean(hired):
    p = hired / 80
    expected = -2 * (hired * np.log(p) + (80 - hired) * np.log(1 - p))
    assert null_deviance(audit(hired, penalty=1.0).fitted.table.rows) == pytest.approx(expected, rel=1e-13)


def test_a_predictor_whose_weights_are_shrunk_away_explains_nothing_of_it():
    # weights of the order of 1e-12, and a share explained of the same order
    assert audit(25, penalty=1e12).fitted.claim.predictor.r2 == pytest.approx(0, abs=1e-9)
