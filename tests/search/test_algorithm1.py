from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import SettingError, Status
from fairstress.functionals.cfu import CFU
from fairstress.search.algorithm1 import _batch, _cliques, _matrix, _slope
from fairstress.search.problem import Problem
from fairstress.search.sets import correlation_set

GRAPH = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 1000, random_state=1).frame
    options = {"degrees": {"x": 1, "z": 1, "v": 2}, "penalty": 2, "predictor_degree": 2, "predictor_penalty": 1}
    return fs.Audit.fit(frame, GRAPH, random_state=0, **options)


def ascend(audit, p_max, seed=None, budget="pairwise"):
    return audit.worst_case(p_max, search=fs.Search(method="ascent"), random_state=seed, budget=budget)


def test_the_slope_is_the_limit_of_differences_of_log_cfu(audit):
    members = correlation_set(fs.Pairwise(), 0.6, GRAPH, GRAPH.features)
    problem = Problem(audit.fitted.claim, members, CFU(), 1.0, 1, 1)
    rng = np.random.default_rng(0)
    L = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    slope = _slope(problem, L)

    def log_cfu(L):
        return np.log(problem.values(members.point(_matrix(L, members))[None])[0])

    for j, k in ((0, 0), (1, 0), (2, 1)):
        step = np.zeros((3, 3))
        step[j, k] = 1e-6
        numeric = (log_cfu(L + step) - log_cfu(L - step)) / 2e-6
        assert slope[j, k] == pytest.approx(numeric, rel=1e-4)


def test_the_ascent_climbs_but_not_above_the_search(audit):
    climbed = ascend(audit, 0.4, seed=1)
    best = audit.worst_case(0.4)
    assert 0 < climbed.value <= best.value * (1 + 1e-9)
    assert climbed.value > audit.cfu(dict.fromkeys(GRAPH.pairs, 0.05))
    assert (climbed.n_starts, climbed.status) == (1, Status.LOCAL)
    assert ascend(audit, 0.4, seed=1).value == climbed.value


def test_an_end_outside_the_budget_is_said_so(audit):
    budget = fs.Pairwise(min_eigenvalue=0.3)
    found = [ascend(audit, 0.95, seed, budget) for seed in range(3)]
    for end in found:
        inside = end.min_eigenvalue >= 0.3 - 1e-9
        assert (end.status is Status.OUTSIDE) == (not inside)
    assert any(end.status is Status.OUTSIDE for end in found)


def test_forbidden_pairs_share_no_column_and_cliques_have_enough():
    graph = fs.CausalGraph.parse("a -> x, z, v, w; x <-> z <-> v <-> x; v <-> w", protected="a", outcome="y")
    mask = _cliques(correlation_set(fs.Pairwise(), 0.6, graph, graph.features))
    assert mask.shape == (4, 5)  # three columns for the triangle, two for the pair
    shared = mask @ mask.T > 0
    for j, k in ((0, 3), (1, 3)):
        assert not shared[j, k]


def test_a_batch_is_a_claim_with_its_share_of_the_penalty(audit):
    batch = _batch(audit.fitted.claim, np.random.default_rng(0))
    assert batch.rows.n == 256
    np.testing.assert_allclose(batch.system.penalties, audit.fitted.claim.system.penalties * 0.256)


@pytest.mark.filterwarnings("ignore:the group")
def test_a_batch_without_a_small_group_is_refused_with_a_sentence():
    rng = np.random.default_rng(0)
    a = np.repeat([0, 1], [4997, 3])
    x = a + rng.standard_normal(5000)
    z = x + a + rng.standard_normal(5000)
    frame = pd.DataFrame({"a": a, "x": x, "z": z, "y": x + z + rng.standard_normal(5000)})
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, predictor_penalty=0)
    with pytest.raises(SettingError, match="has no unique fit: give a penalty above 0, or search=Search"):
        ascend(audit, 0.5)


def test_a_curve_of_ascents_leaves_a_budget_of_0_and_claims_no_whole_search(audit):
    curve = audit.curve([0, 0.2, 0.4], search=fs.Search(method="ascent"), random_state=1)
    assert curve.points[0].value <= 1e-20 < 1e-6 < curve.points[1].value < curve.points[2].value
    text = " ".join(curve.points[-1].summary().split())
    assert "a more extreme value may exist" in text
    assert "ascents ended there" not in text
    assert "The whole interval was searched" not in text
