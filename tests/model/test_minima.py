"""Penalised fits with several minima: all of one equation's are found, and of several equations the lowest."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairstress.model.design import Moments
from fairstress.model.fit import System, fit_independent, fit_many, independent_minima
from fairstress.model.minima import Minima, Profile, combinations, minima_of

NEAR_TIE = 5.6  # penalty per person at which a noise of 0.054 gives an equation two minima of about the same height


def chain(rng: np.random.Generator, m: int, n: int = 100) -> System:
    """Features that nearly repeat one another, each with a constant and one parent, which is penalised."""
    parent, columns, X = rng.choice([-1.0, 1.0], n), [], []
    for _ in range(m):
        x = parent + 0.054 * np.exp(rng.uniform(-0.25, 0.25)) * rng.normal(size=n)
        columns.append(np.column_stack([np.ones(n), parent]))
        parent = (x - x.mean()) / x.std()
        X.append(parent)
    Phi, x = np.hstack(columns), np.column_stack(X)
    moments = Moments(Phi.T @ Phi, Phi.T @ x, x.T @ x, x.sum(axis=0), float(n))
    return System(moments, np.repeat(np.arange(m), 2), np.tile([0.0, NEAR_TIE * n], m))


def random_correlation(rng: np.random.Generator, m: int) -> np.ndarray:
    L = rng.normal(size=(m, m))
    S = L @ L.T + 0.05 * np.eye(m)
    d = np.sqrt(np.diag(S))
    return S / np.outer(d, d)


def lowest_of_many_starts(system: System, P: np.ndarray, count: int) -> float:
    starts = np.array(list(itertools.product(np.linspace(-4.5, 0.2, count), repeat=len(P))))
    return min(one.objective for one in fit_many(system, np.repeat(P[None], len(starts), axis=0), starts))


@pytest.mark.parametrize("seed", range(12))
def test_all_minima_of_an_equation_are_those_that_a_fine_grid_shows(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 6)), 50.0
    A = rng.normal(size=(80, d)) * np.exp(rng.uniform(-3, 2, d))
    x = A @ rng.normal(size=d) + np.exp(rng.uniform(-5, 0)) * rng.normal(size=80)
    moments = Moments(A.T @ A, (A.T @ x)[:, None], np.array([[x @ x]]), np.zeros(1), n)
    penalties = np.exp(rng.uniform(0, 8, d))
    found, profile = minima_of(moments, penalties), Profile.of(moments, penalties)
    ends = np.log([profile.s / n, (profile.s + profile.b.sum()) / n])
    grid = np.linspace(ends[0] - 0.1, ends[1] + 0.1, 200_001)
    F = profile.values(np.exp(grid))
    expected = grid[1:-1][(F[1:-1] < F[:-2]) & (F[1:-1] < F[2:])] / 2
    np.testing.assert_allclose(np.sort(found.log_scales), expected, atol=float(grid[1] - grid[0]))
    assert (np.diff(found.values) >= 0).all()


def test_the_profile_is_the_objective_with_the_weights_at_their_optimum():
    system = chain(np.random.default_rng(0), 1)
    profile = Profile.of(system.moments, system.penalties)
    N = system.moments
    for tau in (0.003, 0.05, 0.6):
        w = np.linalg.solve(N.G / tau + np.diag(system.penalties), N.C[:, 0] / tau)
        rss = float(N.S[0, 0] - 2 * w @ N.C[:, 0] + w @ N.G @ w)
        direct = rss / tau + system.penalties @ w**2 + N.n * np.log(tau)
        assert profile.values(np.array(tau)) == pytest.approx(direct, rel=1e-12)


def test_near_a_tie_every_equation_has_two_minima_and_the_fit_at_independence_takes_the_lowest():
    rng = np.random.default_rng(3)
    system = chain(rng, 3)
    assert len(independent_minima(system)) == 8
    expected = lowest_of_many_starts(system, np.eye(3), 5)
    assert fit_independent(system).objective == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("m", [2, 3])
def test_no_start_leads_lower_than_the_fit_that_is_reported(m):
    rng = np.random.default_rng(m)
    for _ in range(12):
        system, P = chain(rng, m), random_correlation(rng, m)
        (found,) = system.fits(P[None], fit_independent(system), check_minima=True)
        # Newton's method ends within 1e-12 per person of a minimum's height
        assert found.objective <= lowest_of_many_starts(system, P, {2: 9, 3: 5}[m]) + 1e-9 * system.moments.n


def test_combinations_keep_the_lowest_sums_where_they_are_too_many():
    rng = np.random.default_rng(0)
    equations = [Minima(rng.normal(size=2), np.sort(rng.normal(size=2))) for _ in range(8)]
    value = [dict(zip(one.log_scales.tolist(), one.values.tolist(), strict=True)) for one in equations]
    kept = combinations(equations)
    sums = [sum(v[t] for v, t in zip(value, row, strict=True)) for row in kept.tolist()]
    every = sorted(map(sum, itertools.product(*(one.values.tolist() for one in equations))))
    np.testing.assert_allclose(sums, every[: len(kept)], rtol=1e-12)
