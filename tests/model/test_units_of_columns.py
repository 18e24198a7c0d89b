"""Whether columns determine each other does not hang on the units they are in."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.model.linear import dependent_column, independent_columns

UNITS = np.array([1.0, 1e-9, 1e7, 1e-3])


@pytest.fixture
def columns():
    return np.random.default_rng(0).standard_normal((50, 4))


def gram(Phi: np.ndarray) -> np.ndarray:
    return np.asarray((Phi * UNITS).T @ (Phi * UNITS))


def test_independent_columns_are_kept_whatever_their_units(columns):
    assert dependent_column(gram(columns)) is None
    np.testing.assert_array_equal(independent_columns(gram(columns)), np.arange(4))


def test_one_of_three_columns_that_determine_each_other_is_named_whatever_their_units(columns):
    columns[:, 2] = columns[:, 0] - 2 * columns[:, 1]
    assert dependent_column(gram(columns)) in (0, 1, 2)
    assert len(independent_columns(gram(columns))) == 3


def test_a_column_that_is_zero_for_everyone_is_named(columns):
    columns[:, 1] = 0.0
    assert dependent_column(gram(columns)) == 1
