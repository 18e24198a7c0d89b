from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from fairstress.inputs.scales import FORMULAS, make_scale, normal_scores

VALUES = {
    "identity": np.array([-1e6, -2.5, 0.0, 3.0, 7e8]),
    "log": np.array([1e-9, 0.3, 1.0, 5.0, 4e11]),
    "log1p": np.array([0.0, 1.0, 2.0, 30.0, 1e6]),
    "sqrt": np.array([0.0, 0.2, 1.0, 9.0, 1e8]),
    "rank": np.array([-4.0, -3.5, 0.0, 100.0, 1e6]),
    "share": np.array([1e-9, 0.2, 0.5, 0.9, 1 - 1e-9]),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_scale_and_its_inverse_are_one_increasing_function(name):
    values = VALUES[name]
    scale = make_scale(name, values, np.ones(values.size))
    scores = scale.apply(values)
    assert scale.takes(values).all()
    assert (np.diff(scores) > 0).all()
    np.testing.assert_allclose(scale.undo(scores), values, rtol=1e-7, atol=1e-12)  # a share near 1 has lost digits
    between = (scores[1:] + scores[:-1]) / 2
    np.testing.assert_allclose(scale.apply(scale.undo(between)), between, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "outside"),
    [("log", [0.0, -1.0]), ("log1p", [-1.0, -2.0]), ("sqrt", [-1e-9, -4.0]), ("share", [0.0, 1.0, -0.1, 1.1])],
)
def test_a_scale_says_which_numbers_it_does_not_take(name, outside):
    assert not FORMULAS[name].takes(np.array(outside)).any()


@pytest.mark.parametrize("name", VALUES)
def test_no_score_gives_a_value_that_the_scale_would_not_take(name):
    scale = make_scale(name, VALUES[name], np.ones(5))
    back = scale.undo(np.array([-1e5, -40.0, -1.0, 0.0, 40.0, 1e5]))
    assert np.isfinite(back).all()
    assert (np.diff(back) >= 0).all()
    assert scale.takes(back).all()


def test_scores_below_the_lowest_value_give_it():
    counts, signed = np.array([0.0, 3.0]), np.array([-0.5, 3.0])
    np.testing.assert_array_equal(make_scale("sqrt", counts, np.ones(2)).undo(np.array([-2.0, 2.0])), [0, 4])
    assert make_scale("log1p", counts, np.ones(2)).undo(np.array([-1.0]))[0] == 0
    assert not make_scale("log1p", counts, np.ones(2)).takes(np.array([-0.1]))[0]
    assert make_scale("log1p", signed, np.ones(2)).undo(np.array([-1.0]))[0] == pytest.approx(np.exp(-1) - 1)


def test_normal_scores_are_those_of_weighted_mid_ranks():
    values, weight = np.array([5.0, 1.0, 5.0, 2.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0, 0.0])
    rank = normal_scores(values, weight)
    np.testing.assert_array_equal(rank.known, [1, 2, 5])  # 9 has no weight
    np.testing.assert_allclose(rank.scores, special.ndtri([0.1, 0.4, 0.8]))
    np.testing.assert_allclose(normal_scores(values, weight, below=10).scores, special.ndtri([0.55, 0.7, 0.9]))


def test_a_row_of_weight_2_is_the_row_twice_for_normal_scores():
    values = np.array([3.0, 1.0, 4.0])
    once = normal_scores(values, np.array([1.0, 2.0, 1.0]))
    np.testing.assert_allclose(once.scores, normal_scores(np.array([3.0, 1.0, 1.0, 4.0]), np.ones(4)).scores)


def test_the_rank_scale_is_constant_beyond_its_ends():
    rank = normal_scores(np.array([1.0, 2.0, 4.0]), np.ones(3))
    np.testing.assert_array_equal(rank.undo(np.array([-9.0, 9.0])), [1, 4])
    np.testing.assert_array_equal(rank.apply(np.array([-100.0, 100.0])), rank.scores[[0, -1]])


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)), min_size=2, max_size=60))
def test_the_rank_scale_increases_whatever_the_values_and_weights(rows):
    values, weight = np.array(rows, dtype=float).T
    rank = normal_scores(values, weight)
    assert (np.diff(rank.scores) > 0).all()
    np.testing.assert_array_equal(rank.undo(rank.apply(values)), values)
    np.testing.assert_allclose(normal_scores(-values, weight).scores, -rank.scores[::-1], atol=1e-12)


@pytest.mark.parametrize("name", VALUES)
def test_a_scale_can_be_pickled(name):
    scale = make_scale(name, VALUES[name], np.ones(5))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(scale)).apply(VALUES[name]), scale.apply(VALUES[name]))
