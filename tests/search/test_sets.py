from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize

import fairstress as fs
from fairstress.budgets import read_budget
from fairstress.errors import SettingError
from fairstress.search.sets import correlation_set

TRIANGLE = [("x0", "x1"), ("x1", "x2"), ("x0", "x2")]


def make(m: int, p_max: float, budget="pairwise", *, pairs=None):
    names = [f"x{j}" for j in range(m)]
    chosen = pairs or list(itertools.combinations(names, 2))
    edges = tuple(("a", name) for name in names)
    graph = fs.CausalGraph(edges=edges, pairs=tuple(chosen), protected="a", outcome="y")
    return correlation_set(read_budget(budget), p_max, graph, graph.features)


@pytest.mark.parametrize("kind", ["pairwise", "spectral"])
@pytest.mark.parametrize("m", [3, 5])
@pytest.mark.parametrize("p_max", [0.2, 0.6, 0.95])
def test_projections_extremes_and_scans_are_members_with_exact_zeros(kind, m, p_max):
    members = make(m, p_max, kind, pairs=TRIANGLE)
    rng = np.random.default_rng(0)
    projected = [members.project(rng.normal(size=3)) for _ in range(10)]
    points = np.concatenate([projected, members.extremes(rng.choice([-1.0, 1.0], (8, 3))), members.scan(50, rng)])
    assert members.contains(points).all()
    P = members.matrix(points)
    assert (np.linalg.eigvalsh(P)[:, 0] >= members.floor - 1e-9).all()
    assert (np.abs(points) <= p_max + 1e-9).all()
    free = np.zeros((m, m), dtype=bool)
    for j, k in members.pairs:
        free[j, k] = free[k, j] = True
    np.fill_diagonal(free, True)
    assert (P[:, ~free] == 0).all()


def test_the_projection_is_the_nearest_member():
    members = make(3, 0.6)
    rng = np.random.default_rng(1)
    for _ in range(5):
        far = 1.2 * rng.normal(size=3)
        constraint = {"type": "ineq", "fun": lambda p: np.linalg.eigvalsh(members.matrix(p))[0] - members.floor}
        other = optimize.minimize(
            lambda p, far=far: ((p - far) ** 2).sum(),
            np.zeros(3),
            method="SLSQP",
            bounds=[(-0.6, 0.6)] * 3,
            constraints=[constraint],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        # alternating projections stop when they move by less than 1e-8
        assert np.linalg.norm(members.project(far) - far) <= np.linalg.norm(other.x - far) + 1e-5


def test_the_spectral_budget_is_every_mixture_with_the_identity():
    members = make(4, 0.7, "spectral")
    rng = np.random.default_rng(2)
    for _ in range(20):
        L = rng.normal(size=(4, 2))
        S = L @ L.T
        R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
        assert members.contains(members.point(0.3 * np.eye(4) + 0.7 * R))
        outside = 0.25 * np.eye(4) + 0.75 * R
        assert not members.contains(members.point(outside))


def test_the_scan_reaches_all_corners_of_the_set():
    members = make(3, 0.9)
    found = members.scan(2000, np.random.default_rng(0))
    assert len(found) == 2000
    signs = {tuple(s) for s in np.sign(found).astype(int)}
    assert len(signs) == 8
    assert (np.abs(found).max(axis=0) > 0.8).all()
    hard = make(6, 0.9).scan(300, np.random.default_rng(0))  # so small a part of the box that hit and run does the work
    assert len(hard) == 300
    assert hard.std(axis=0).min() > 0.15


@pytest.mark.parametrize("kind", [fs.Pairwise, fs.Spectral])
def test_bounds_narrow_the_box_and_one_pair_has_no_floor(kind):
    members = make(3, 0.5, kind(bounds={("x1", "x0"): (0, 0.4), ("x1", "x2"): (-0.9, 0.9)}))
    assert list(zip(members.low, members.high, strict=True)) == [(0, 0.4), (-0.5, 0.5), (-0.5, 0.5)]
    assert make(2, 0.99).floor == 0
    assert make(3, 0.99).floor == 0.05


@pytest.mark.parametrize("p_max", [1.0, -0.1, "big"])
def test_sizes_that_make_no_sense_are_refused(p_max):
    with pytest.raises(SettingError, match=f"p_max is {p_max!r}: give a number from 0 up to, but not including, 1"):
        make(3, p_max)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (lambda: "boxy", "budget is 'boxy'"),
        (lambda: fs.Pairwise(min_eigenvalue=2), "min_eigenvalue is 2"),
        (lambda: fs.Pairwise(bounds={("x0", "x1"): (0.4, 0.5)}), r"do not meet \|p\| <= p_max = 0.3"),
        (lambda: fs.Pairwise(bounds={("x0", "x1"): 0.2}), "give a lower and an upper number"),
        (lambda: fs.Pairwise(bounds={("x0", "x1"): (0.2, 0.1)}), "lower <= upper"),
        (lambda: fs.Spectral(bounds={("x0", "x1"): (0.2, 1.1)}), "lower <= upper"),
        (lambda: fs.Spectral(bounds={"x0 <-> x1": (0, 0.1)}), "bounds names 'x0 <-> x1': give a pair as a tuple"),
        (lambda: fs.Pairwise(bounds=[0, 0.1]), r"bounds is \[0, 0.1\]"),
        (lambda: fs.Pairwise(bounds={("x0", "y"): (0, 0.1)}), "does not name the pair x0 <-> y"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(budget, message):
    with pytest.raises(SettingError, match=message):
        make(3, 0.3, budget())


def test_a_budget_that_holds_no_correlation_is_refused():
    with pytest.raises(SettingError, match=r"no correlation lies within bounds and has eigenvalues of at least 0\.05"):
        make(3, 0.9, fs.Pairwise(bounds=dict.fromkeys(TRIANGLE, (-0.9, -0.8))))


@pytest.mark.parametrize("fixed", [("x", "z"), ("a", "x"), ("a", "z")])
def test_a_scan_moves_along_the_free_pairs_where_one_is_fixed(fixed):
    graph = fs.CausalGraph.parse("a -> x, z; x <-> z; a <-> x; a <-> z", protected="a", outcome="y")
    budget = fs.Pairwise(bounds={fixed: (0.0, 0.0)})
    members = correlation_set(budget, 0.9, graph, ("a", "x", "z"))
    points = members._hit_and_run(200, np.random.default_rng(0))
    free = members.high > members.low
    assert members.contains(points).all()
    assert (points[:, ~free] == 0).all()
    assert (np.ptp(points[:, free], axis=0) > 0.9).all()


def test_a_budget_with_a_fixed_pair_and_one_bounded_at_0_is_searched():
    graph = fs.CausalGraph.parse("a -> x, z; x <-> z; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=1, predictor_degree=1, random_state=0)
    worst = audit.worst_case(0.3, budget=fs.Pairwise(bounds={("x", "z"): (0, 0.2), ("a", "x"): (0, 0)}))
    assert worst.correlation["a"]["x"] == 0
    assert 0 <= worst.correlation["x"]["z"] <= 0.2


@pytest.mark.parametrize("kind", [fs.Pairwise(), fs.Spectral()])
@pytest.mark.parametrize("p_max", [0.1, 0.3, 0.45, 0.55, 0.9])
def test_a_set_that_is_called_a_box_holds_all_of_it(kind, p_max):
    graph = fs.CausalGraph.parse("a -> x, y, z; x <-> y; y <-> z; x <-> z", protected="a", outcome="o")
    members = correlation_set(kind, p_max, graph, ("x", "y", "z"))
    corners = np.array([s * members.high for s in itertools.product((-1, 1), repeat=3)])
    assert not members.is_box or members.contains(corners).all()
    assert members.is_box == (isinstance(kind, fs.Pairwise) and p_max < 0.5)  # the corner (+, +, -) has 1 - 2 p_max


@pytest.mark.parametrize("kind", ["pairwise", "spectral"])
def test_a_projection_that_runs_out_of_rounds_still_ends_inside(kind, monkeypatch):
    members = make(3, 0.8, kind)
    far = np.array([0.9, -0.9, 0.9])
    exact = members.project(far)
    monkeypatch.setattr("fairstress.search.sets.MAX_ROUNDS", 1)
    rough = members.project(far)
    assert members.contains(rough)
    assert np.linalg.norm(rough - far) >= np.linalg.norm(exact - far) - 1e-6


def test_pairs_between_others_than_the_variables_leave_nothing_to_vary():
    graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
    with pytest.raises(SettingError, match="the graph names no pair of features: add 'a <-> b' for errors"):
        correlation_set(read_budget("pairwise"), 0.3, graph, graph.features)
