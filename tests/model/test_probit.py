"""The probit fit of a threshold, against closed forms and the threshold model's own fit, and where none is finite."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fairstress as fs
from fairstress.inputs.rows import Rows
from fairstress.model.probit import generalised_residual, probit


def rows_of(a, x, weight=None):
    weight = np.ones(a.size) if weight is None else np.asarray(weight, dtype=float)
    return Rows(a, -a, x, weight, np.zeros(a.size), np.zeros(a.size))


def with_constant(block):
    return np.column_stack([np.ones(block.a.size), block.x])


def test_with_one_category_the_index_is_the_quantile_of_its_share():
    z = np.repeat([-1.0, 1.0], 10)
    a = np.where(np.arange(20) % 10 < np.repeat([3, 8], 10), 1.0, -1.0)
    low, high = stats.norm.ppf([0.3, 0.8])
    found = probit(rows_of(a, z[:, None]), with_constant)
    assert found.weights == pytest.approx([(low + high) / 2, (high - low) / 2], abs=1e-12)
    assert found.n_separated == 0


def test_it_is_the_threshold_model_without_confounding():
    """Model B with a hidden cause of A fits the same index at P = I, by another Newton."""
    graph = fs.CausalGraph.parse("z -> a; a, z -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 5_000, random_state=2).frame
    audit = fs.Audit.fit(frame, graph, degrees={"z": 1, "x": 1}, penalty=0, predictor_degree=1, predictor_penalty=0)
    z = audit.graph.features.index("z")
    found = probit(audit.fitted.table.rows, lambda block: np.column_stack([np.ones(block.a.size), block.x[:, z]]))
    assert found.weights == pytest.approx(audit.fitted.claim.model_a.weights[-2:], abs=1e-10)


def test_a_weight_of_two_is_the_row_twice_and_repeated_columns_change_no_index():
    rng = np.random.default_rng(0)
    z, weight = rng.standard_normal((300, 1)), np.arange(300) % 3
    a = np.where(z[:, 0] + rng.standard_normal(300) > 0.3, 1.0, -1.0)
    once = probit(rows_of(a, z, weight), with_constant).weights
    again = probit(rows_of(np.repeat(a, weight), np.repeat(z, weight, axis=0)), with_constant).weights
    assert once == pytest.approx(again, abs=1e-12)
    thrice = probit(rows_of(a, np.column_stack([z, 2 * z, z]), weight), with_constant).weights
    assert thrice @ [0, 1, 2, 1] == pytest.approx(once[1], abs=1e-12)
    assert np.count_nonzero(thrice) == 2


def test_generalised_residuals_are_means_of_a_truncated_normal():
    h = np.array([-8.0, 0.3, 2.0])
    assert generalised_residual(np.ones(3), h) == pytest.approx(stats.truncnorm.mean(-h, np.inf), rel=1e-9)
    assert generalised_residual(-np.ones(3), h) == pytest.approx(stats.truncnorm.mean(-np.inf, -h), rel=1e-9)


@pytest.mark.parametrize("share", [1e-4, 0.1])
def test_a_category_with_one_side_only_separates_and_is_counted(share):
    rng = np.random.default_rng(1)
    n = 20_000
    rare = np.arange(n) < share * n
    z = rng.standard_normal(n)
    a = np.where(rare | (z + rng.standard_normal(n) > 0), 1.0, -1.0)
    assert probit(rows_of(a, np.column_stack([rare, z])), with_constant).n_separated == share * n
    a[0] = -1.0  # one person on the other side makes it finite
    found = probit(rows_of(a, np.column_stack([rare, z])), with_constant)
    assert found.n_separated == 0
    side = generalised_residual(a, with_constant(rows_of(a, np.column_stack([rare, z]))) @ found.weights)
    assert side[rare].sum() == pytest.approx(0, abs=1e-10 * n)


@pytest.mark.parametrize("n_columns", [1, 5])
def test_what_decides_everyones_side_separates_everyone(n_columns):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2_000, n_columns))
    a = np.where(x.sum(axis=1) > 0.5, 1.0, -1.0)
    assert probit(rows_of(a, x), with_constant).n_separated == 2_000
    zero = np.append(np.ones(2_000), np.zeros(1))  # a row without weight is nobody
    assert probit(rows_of(np.append(a, 1.0), np.vstack([x, -9 * x[:1]]), zero), with_constant).n_separated == 2_000
