from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize

import fairstress as fs
from fairstress.errors import SettingError
from fairstress.search.sets import correlation_set


def make(m: int, p_max: float, *, pairs=None, **options):
    names = [f"x{j}" for j in range(m)]
    chosen = pairs or list(itertools.combinations(names, 2))
    edges = tuple(("a", name) for name in names)
    graph = fs.CausalGraph(edges=edges, pairs=tuple(chosen), protected="a", outcome="y")
    return correlation_set(graph, graph.features, p_max, **options)


@pytest.mark.parametrize("kind", ["pairwise", "spectral"])
@pytest.mark.parametrize("m", [3, 5])
@pytest.mark.parametrize("p_max", [0.2, 0.6, 0.95])
def test_projections_extremes_and_scans_are_members_with_exact_zeros(kind, m, p_max):
    budget = make(m, p_max, kind=kind, pairs=[("x0", "x1"), ("x1", "x2"), ("x0", "x2")])
    rng = np.random.default_rng(0)
    points = [budget.project(rng.normal(size=3)) for _ in range(10)]
    members = np.concatenate([points, budget.extremes(rng.choice([-1.0, 1.0], (8, 3))), budget.scan(50, rng)])
    assert budget.contains(members).all()
    P = budget.matrix(members)
    assert (np.linalg.eigvalsh(P)[:, 0] >= budget.floor - 1e-9).all()
    assert (np.abs(members) <= p_max + 1e-9).all()
    free = np.zeros((m, m), dtype=bool)
    for j, k in budget.pairs:
        free[j, k] = free[k, j] = True
    np.fill_diagonal(free, True)
    assert (P[:, ~free] == 0).all()


def test_the_projection_is_the_nearest_member():
    budget = make(3, 0.6)
    rng = np.random.default_rng(1)
    for _ in range(5):
        far = 1.2 * rng.normal(size=3)
        constraint = {"type": "ineq", "fun": lambda p: np.linalg.eigvalsh(budget.matrix(p))[0] - budget.floor}
        other = optimize.minimize(
            lambda p, far=far: ((p - far) ** 2).sum(),
            np.zeros(3),
            method="SLSQP",
            bounds=[(-0.6, 0.6)] * 3,
            constraints=[constraint],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        # alternating projections stop when they move by less than 1e-8
        assert np.linalg.norm(budget.project(far) - far) <= np.linalg.norm(other.x - far) + 1e-5


def test_the_spectral_budget_is_every_mixture_with_the_identity():
    budget = make(4, 0.7, kind="spectral")
    rng = np.random.default_rng(2)
    for _ in range(20):
        L = rng.normal(size=(4, 2))
        S = L @ L.T
        R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
        assert budget.contains(budget.point(0.3 * np.eye(4) + 0.7 * R))
        outside = 0.25 * np.eye(4) + 0.75 * R
        assert not budget.contains(budget.point(outside))


def test_the_scan_reaches_all_corners_of_the_set():
    budget = make(3, 0.9)
    found = budget.scan(2000, np.random.default_rng(0))
    assert len(found) == 2000
    signs = {tuple(s) for s in np.sign(found).astype(int)}
    assert len(signs) == 8
    assert (np.abs(found).max(axis=0) > 0.8).all()
    hard = make(6, 0.9).scan(300, np.random.default_rng(0))  # so small a part of the box that hit and run does the work
    assert len(hard) == 300
    assert hard.std(axis=0).min() > 0.15


def test_bounds_narrow_the_box_and_one_pair_has_no_floor():
    budget = make(3, 0.5, bounds={("x1", "x0"): (0, 0.4), ("x1", "x2"): (-0.9, 0.9)})
    assert list(zip(budget.low, budget.high, strict=True)) == [(0, 0.4), (-0.5, 0.5), (-0.5, 0.5)]
    assert make(2, 0.99).floor == 0
    assert make(3, 0.99).floor == 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p_max": 1.0}, "p_max is 1.0: give a number from 0 up to, but not including, 1"),
        ({"p_max": -0.1}, "p_max is -0.1"),
        ({"p_max": "big"}, "p_max is 'big'"),
        ({"p_max": 0.3, "kind": "boxy"}, "budget is 'boxy'"),
        ({"p_max": 0.3, "min_eigenvalue": 2}, "min_eigenvalue is 2"),
        ({"p_max": 0.3, "bounds": {("x0", "x1"): (0.4, 0.5)}}, r"do not meet \|p\| <= p_max = 0.3"),
        ({"p_max": 0.3, "bounds": {("x0", "x1"): 0.2}}, "give a lower and an upper number"),
        ({"p_max": 0.3, "bounds": {("x0", "x1"): (0.2, 0.1)}}, "lower <= upper"),
        ({"p_max": 0.3, "bounds": {("x0", "y"): (0, 0.1)}}, "does not name the pair x0 <-> y"),
        ({"p_max": 0.9, "bounds": dict.fromkeys([("x0", "x1"), ("x1", "x2"), ("x0", "x2")], (-0.9, -0.8))}, "no corr"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        make(3, **options)
