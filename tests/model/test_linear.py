"""Systems that are solved by factors made once, whether a matrix has one or not."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.model.linear import FACTORED, factors, solve, solve_by_factors, unit_columns


def definite(g, D):
    X = np.random.default_rng(D).standard_normal((g, 3 * D, D)) * np.logspace(-3, 3, D)
    return X.transpose(0, 2, 1) @ X


@pytest.mark.parametrize("D", [FACTORED - 1, FACTORED, 60])
def test_factors_solve_as_elimination_does_and_each_by_itself(D):
    N, rhs = definite(5, D), np.random.default_rng(0).standard_normal((5, D, 3))
    unit, norms = unit_columns(N.copy())
    found = solve_by_factors(unit, factors(unit), rhs / norms) / norms
    np.testing.assert_allclose(found, solve(N, rhs), rtol=1e-9)
    alone = solve_by_factors(unit[2:3], factors(unit[2:3]), (rhs / norms)[2:3]) / norms[2:3]
    np.testing.assert_array_equal(found[2], alone[0])


def test_a_matrix_that_has_no_factor_is_solved_by_elimination_beside_others_that_have():
    N = definite(3, FACTORED)
    unit, _ = unit_columns(N)
    unit[1, 0, 1] = unit[1, 1, 0] = 2.0  # indefinite
    factor, rhs = factors(unit), np.ones((3, FACTORED, 1))
    assert np.isnan(factor).any(axis=(1, 2)).tolist() == [False, True, False]
    np.testing.assert_allclose(unit @ solve_by_factors(unit, factor, rhs), rhs, atol=1e-8)
