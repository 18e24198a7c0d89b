"""How likely chance alone is to give a classifier its AUC, by the exact variance of Mann and Whitney's statistic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fairstress as fs
from fairstress.analyses.diagnostics.collect import Chance
from fairstress.analyses.diagnostics.implied import ties
from fairstress.analyses.diagnostics.sample import take_sample
from fairstress.analyses.leakage import Leakage

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")


@pytest.mark.parametrize("auc", [0.45, 0.5, 0.6])
def test_the_chance_of_a_larger_auc_is_that_of_scipys_rank_test(auc):
    frame = fs.datasets.simulate(GRAPH, 40, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    fitted = fs.Audit.fit(frame, GRAPH, **given).fitted
    sample = take_sample(fitted, np.random.default_rng(0))
    found = Chance.of(fitted, sample, ties(fitted)).check(Leakage(auc, sample.rows.a.size))
    n = np.unique(frame["a"], return_counts=True)[1]
    # of a rank sum without ties: n0 n1 (n0 + n1 + 1) / 12
    deviation = np.sqrt(n.prod() * (n.sum() + 1) / 12) / n.prod()
    assert found.p_value == pytest.approx(stats.norm.sf((auc - 0.5) / deviation), rel=1e-9)
