"""Ridge plus the largest of several quadratics: solved to rounding, whatever the cuts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from fairstress.analyses.robust.minimax import Loss, minimax


def problem(seed, d, K):
    """A regression with badly scaled columns, and cuts of which some are nearly, and two exactly, the same."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, d)) * 10.0 ** rng.uniform(-1, 1, d)
    y = X @ rng.standard_normal(d) + rng.standard_normal(200)
    common = rng.standard_normal((50, d))
    parts = [common + size * rng.standard_normal((50, d)) for size in 10.0 ** rng.uniform(-8, 1, K)]
    M = np.array([B.T @ B / 50 for B in [*parts[:-1], parts[0]]])
    return Loss((X.T @ X + np.eye(d)) / 200, X.T @ y / 200, float(y @ y) / 200), M


def objective(loss, M, weight, theta):
    return loss.value(theta) + weight * max(theta @ cut @ theta for cut in M)


@pytest.mark.parametrize("weight", [1e-4, 0.1, 1.0, 30.0, 1e5])
@pytest.mark.parametrize(("d", "K"), [(2, 2), (6, 5), (20, 25)])
def test_the_duality_gap_is_rounding(weight, d, K):
    loss, M = problem(d, d, K)
    found = minimax(loss, M, weight)
    # the lower limit is worked out here from the mixture alone
    lower = loss.c - loss.b @ np.linalg.solve(loss.A + weight * np.tensordot(found.mixture, M, 1), loss.b)
    assert found.value == pytest.approx(objective(loss, M, weight, found.theta), rel=1e-12)
    assert found.value - lower <= 1e-11 * found.value
    assert 0 <= found.gap <= 1e-12
    assert (found.mixture >= 0).all()
    assert found.mixture.sum() == pytest.approx(1, rel=1e-12)


def test_one_cut_is_a_ridge_in_closed_form():
    loss, M = problem(0, 5, 3)
    found = minimax(loss, M[:1], 2.0)
    np.testing.assert_allclose(found.theta, np.linalg.solve(loss.A + 2 * M[0], loss.b), rtol=1e-10)
    assert found.gap == 0


def test_a_general_solver_of_the_epigraph_form_ends_at_the_same_value():
    loss, M = problem(3, 4, 5)
    found = minimax(loss, M, 1.0)
    start = np.append(np.linalg.solve(loss.A, loss.b), 0.0)
    start[-1] = max(start[:-1] @ cut @ start[:-1] for cut in M)
    above = {"type": "ineq", "fun": lambda v: v[-1] - np.array([v[:-1] @ cut @ v[:-1] for cut in M])}
    other = optimize.minimize(
        lambda v: loss.value(v[:-1]) + v[-1], start, constraints=[above], options={"ftol": 1e-14, "maxiter": 500}
    )
    assert other.fun == pytest.approx(found.value, rel=1e-7)
    assert found.value <= other.fun * (1 + 1e-9)


def test_no_step_away_lowers_the_objective():
    loss, M = problem(4, 6, 8)
    found = minimax(loss, M, 3.0)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        away = found.theta + size * rng.standard_normal((200, 6)) * np.abs(found.theta).max()
        assert min(objective(loss, M, 3.0, theta) for theta in away) >= found.value
