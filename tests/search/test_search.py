from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fairstress as fs
from fairstress.budgets import read_budget
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import SettingError, Status
from fairstress.functionals.cfu import CFU
from fairstress.search.interval import peaks
from fairstress.search.pattern import pattern_search
from fairstress.search.problem import Problem
from fairstress.search.search import ALL_SIGNS, _best_of_each_class, _mirror_images
from fairstress.search.sets import correlation_set

PAIR = ("ugpa", "lsat")
GRAPH = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit():
    """Three features with missing edges and no penalty: CFU moves."""
    frame = fs.datasets.simulate(GRAPH, 400, correlation={("x", "z"): 0.3}, random_state=1).frame
    options = {"degrees": {"x": 1, "z": 2, "v": 2}, "penalty": 0, "predictor_degree": 2, "predictor_penalty": 1}
    return fs.Audit.fit(frame, GRAPH, random_state=0, **options)


def anew(audit):
    """The same audit, fitted again: it remembers no fit of Model B."""
    return audit.refit(penalty=audit.settings.penalty)


def values(audit, points, members):
    return np.array([e.value for e in evaluate_many(audit.fitted.claim, members.matrix(points), CFU())])


@pytest.mark.parametrize("kind", ["pairwise", "spectral"])
@pytest.mark.parametrize("p_max", [0.3, 0.6, 0.9])
def test_no_point_of_a_dense_scan_is_worse_than_the_worst_case(audit, kind, p_max):
    found = audit.worst_case(p_max, budget=kind)
    members = correlation_set(read_budget(kind), p_max, GRAPH, GRAPH.features)
    scan = members.scan(2000, np.random.default_rng(9))
    assert found.value >= values(audit, scan, members).max()
    assert members.contains(members.point(found.correlation.to_numpy()))
    assert found.value == pytest.approx(anew(audit).cfu(found.correlation), rel=1e-9)
    assert found.scan_value <= found.value
    assert found.status is Status.CONVERGED
    assert 1 <= found.n_agreeing <= found.n_starts


def test_the_forbidden_pair_of_the_papers_counterexample_gives_a_valid_matrix_and_the_maximum_of_a_fine_grid():
    graph = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z; x <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=2).frame
    options = {"degrees": {"x": 1, "z": 1, "v": 2}, "penalty": 0, "predictor_degree": 2, "predictor_penalty": 1}
    audit = fs.Audit.fit(frame, graph, random_state=0, **options)
    found = audit.worst_case(0.9)  # all entries at 0.9 is no correlation matrix: 0.9 > 1 / sqrt(2)
    P = found.correlation.to_numpy()
    assert P[1, 2] == 0
    assert np.linalg.eigvalsh(P)[0] >= 0.05 - 1e-9
    angles, radii = np.linspace(0, 2 * np.pi, 361), np.linspace(0, 0.95, 20)
    grid = np.array([(r * np.cos(t), r * np.sin(t)) for t in angles for r in radii])
    members = correlation_set(fs.Pairwise(), 0.9, graph, graph.features)
    best = values(audit, grid[members.contains(grid)], members).max()
    # the grid is one degree wide, so that its best lies a little below the maximum
    assert best <= found.value * (1 + 1e-9)
    assert best >= 0.99 * found.value


def test_mirror_images_lead_out_of_a_local_maximum(monkeypatch):
    """Five features whose best value needs some variables' signs turned; nine pairs, too many to try every pattern."""
    names = [f"x{i}" for i in range(5)]
    graph = fs.CausalGraph.parse(
        "a -> x0, x1, x2; x0 -> x1, x2, x3, x4; x1 -> x3; x2 -> x4; x0 <-> x1; x0 <-> x2; x0 <-> x4; x1 <-> x2; "
        "x1 <-> x3; x1 <-> x4; x2 <-> x3; x2 <-> x4; x3 <-> x4",
        protected="a",
        outcome="y",
    )
    assert len(graph.pairs) > ALL_SIGNS
    frame = fs.datasets.simulate(graph, 200, random_state=21).frame
    options = {"penalty": 50, "predictor_degree": 2, "predictor_penalty": 1, "random_state": 0}
    audit = fs.Audit.fit(frame, graph, degrees=dict.fromkeys(names, 1) | {"x1": 2}, **options)
    found = audit.worst_case(0.8, search=fs.Search(starts=1))
    monkeypatch.setattr("fairstress.search.search.ROUNDS", 0)
    alone = audit.worst_case(0.8, search=fs.Search(starts=1))
    best = audit.worst_case(0.8, search=fs.Search(starts=8), random_state=1)
    assert alone.value < 0.97 * best.value
    assert found.value >= best.value * (1 - 1e-3)


def test_one_pair_is_searched_along_its_whole_interval(law_frame):
    """Without race -> lsat the data speak against strong correlations, and CFU has its maximum inside the interval."""
    graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    audit = fs.Audit.fit(law_frame, graph, reference="White", max_degree=4, penalise_constant=True)
    found = audit.worst_case(0.95)
    p = found.correlation.loc["ugpa", "lsat"]
    assert -0.88 < p < -0.84
    assert found.value >= audit.profile(PAIR, np.linspace(-0.95, 0.95, 501)).cfu.max()
    assert audit.gradient({PAIR: p})[PAIR] == pytest.approx(0, abs=1e-4)
    narrow = audit.worst_case(0.95, budget=fs.Pairwise(bounds={PAIR: (0, 0.4)}))
    assert 0 <= narrow.correlation.loc["ugpa", "lsat"] <= 0.4
    assert narrow.value < found.value


@pytest.mark.parametrize("p_max", [0.05, 0.3, 0.6, 0.9, 0.99])
def test_the_law_schools_maximum_sits_at_plus_p_max(law_audit, p_max):
    found = law_audit.worst_case(p_max)
    assert found.correlation.loc["ugpa", "lsat"] == pytest.approx(p_max, abs=1e-9)


def test_no_budget_leaves_model_a_and_the_same_seed_gives_the_same_result(audit):
    nothing = audit.worst_case(0.0)
    np.testing.assert_array_equal(nothing.correlation, np.eye(3))
    assert nothing.value < 1e-20 * audit.fitted.outcome_variance
    first, second = (anew(audit).worst_case(0.6, search=fs.Search(starts=2), random_state=5) for _ in range(2))
    assert first.value == second.value
    np.testing.assert_array_equal(first.correlation, second.correlation)


def test_a_summary_says_where_the_worst_case_stands_and_how_sure_it_is(audit):
    text = audit.worst_case(0.5, search=fs.Search(starts=2)).summary().replace("\n", " ")
    budget = "within the pairwise budget p_max = 0.5, least eigenvalue 0.05 is"
    assert f"The largest CFU found under additive Gaussian confounding {budget}" in text
    assert "ascents ended there" in text
    assert "x <-> z" in text


def test_settings_that_make_no_sense_are_refused(audit):
    with pytest.raises(SettingError, match="method is 'guess'"):
        audit.worst_case(0.3, search=fs.Search(method="guess"))
    with pytest.raises(SettingError, match="starts is 0"):
        audit.worst_case(0.3, search=fs.Search(starts=0))
    with pytest.raises(SettingError, match=r"search is 16: give a value such as Search\(starts=16\)"):
        audit.worst_case(0.3, search=16)


@pytest.mark.parametrize(
    ("kind", "least"),
    [("pairwise", [1.20e-7, 1.53e-6, 2.88e-5, 4.79e-5]), ("spectral", [1.07e-7, 4.70e-7, 1.29e-6, 1.79e-5])],
)
def test_nhs_reaches_the_known_maxima(nhs_audit, kind, least):
    for p_max, value in zip([0.2, 0.4, 0.6, 0.9], least, strict=True):
        found = nhs_audit.worst_case(p_max, budget=kind, search=fs.Search(starts=2), random_state=0)
        assert found.value >= value


def test_starts_hold_a_corner_of_each_class_that_mirror_images_cannot_leave():
    """Around a cycle of pairs the product of signs stays under D P D: one class must not crowd out the other."""
    graph = fs.CausalGraph.parse("a -> x -> z -> v -> u; x <-> z <-> v <-> u <-> x", protected="a", outcome="y")
    members = correlation_set(fs.Pairwise(), 0.5, graph, graph.features)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    problem = Problem(None, members, None, 1.0, 8, 1)  # neither claim nor functional is asked
    product = signs.prod(axis=1)
    values = product + 0.01 * np.arange(16)  # every corner of one class is better than any of the other
    chosen = _best_of_each_class(problem, signs, values)
    assert sorted(product[chosen]) == [-1, 1]
    assert [values[i] for i in chosen] == [values[product == s].max() for s in (1, -1)]
    images = _mirror_images(problem, [(members.extremes(signs[:1])[0], 0.0, Status.CONVERGED)])
    assert (np.sign(images).prod(axis=1) == product[0]).all()


def test_an_ascent_that_runs_out_of_steps_goes_on(audit, monkeypatch):
    expected = audit.worst_case(0.6).value
    monkeypatch.setattr("fairstress.search.sqp.MAX_STEPS", 3)
    found = audit.worst_case(0.6)
    assert found.value == pytest.approx(expected, rel=1e-3)


# ---------------------------------------------------------------- of functions that are known


@dataclass
class Parabola:
    """``-|p - top|^2`` in the place of CFU, within a box."""

    members: Any
    top: np.ndarray
    has_slopes: bool = True
    negligible: float = -np.inf
    precision: float = 1e-6

    def values(self, points):
        return -((points - self.top) ** 2).sum(axis=1)

    def value_and_gradient(self, p):
        return float(self.values(p[None])[0]), -2 * (p - self.top), None

    def values_and_gradients(self, points, starts=None):
        return self.values(points), -2 * (points - self.top), [None] * len(points)


def one_pair(p_max):
    graph = fs.CausalGraph.parse("a -> x, z; x <-> z", protected="a", outcome="y")
    return correlation_set(read_budget("pairwise"), p_max, graph, graph.features)


@pytest.mark.parametrize("has_slopes", [True, False])
@pytest.mark.parametrize("top", [-0.48, -0.2, 0.0, 0.48, 0.7])
def test_a_peak_near_the_end_of_an_interval_or_beyond_it_is_found(top, has_slopes):
    """At 0.48 the end is the highest point of the grid, and uphill leads inwards from it."""
    points = np.linspace(-0.5, 0.5, 11)[:, None]
    problem = Parabola(one_pair(0.5), np.array([top]), has_slopes)
    best = max(peaks(problem, points, problem.values(points)), key=lambda end: end[1])
    # a bounded search of the last bracket stops within 1e-8 of the root of the rounding of its values
    assert best[0] == pytest.approx([min(top, 0.5)], abs=1e-6)


def test_values_of_a_sample_only_tell_where_the_peaks_are():
    points = np.linspace(-0.5, 0.5, 11)[:, None]
    problem = Parabola(one_pair(0.5), np.array([0.2]))
    sampled = Parabola(problem.members, np.array([0.21])).values(points) + 5
    (end,) = peaks(problem, points, sampled, on_sample=True)
    assert end[0] == pytest.approx([0.2], abs=1e-6)
    assert end[1] == pytest.approx(0, abs=1e-12)


def test_negligible_peaks_are_not_refined():
    points = np.linspace(-0.5, 0.5, 11)[:, None]
    problem = Parabola(one_pair(0.5), np.array([0.23]), negligible=0.0)
    (end,) = peaks(problem, points, problem.values(points))
    assert end[0] == pytest.approx([0.2])


def test_a_pattern_search_that_runs_out_of_rounds_says_so(monkeypatch):
    graph = fs.CausalGraph.parse("a -> x, z, v; x <-> z; z <-> v", protected="a", outcome="y")
    members = correlation_set(read_budget("pairwise"), 0.5, graph, graph.features)
    problem, start = Parabola(members, np.array([0.3, -0.1]), has_slopes=False), np.zeros(2)
    p, _, status = pattern_search(problem, start)
    assert status is Status.CONVERGED
    assert p == pytest.approx(problem.top, abs=1e-4)  # a step of 1e-6 changes values by their rounding
    monkeypatch.setattr("fairstress.search.pattern.MAX_ROUNDS", 2)
    _, value, status = pattern_search(problem, start)
    assert status is Status.SEARCH_STEPS
    assert value > problem.values(start[None])[0]


def test_where_equations_absorb_all_pairs_cfu_is_rounding_and_nothing_is_climbed(monkeypatch):
    graph = fs.CausalGraph.parse(
        "a -> x, z, v; x -> z; x, z -> v; x <-> z; z <-> v; x <-> v", protected="a", outcome="y"
    )
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    given = {"degrees": dict.fromkeys("xzv", 1), "penalty": 0, "predictor_degree": 1, "random_state": 0}
    audit = fs.Audit.fit(frame, graph, **given)
    climbed, ask = [], Problem.values_and_gradients
    monkeypatch.setattr(Problem, "values_and_gradients", lambda *given: climbed.append(1) or ask(*given))
    worst = audit.worst_case(0.5)
    assert 0 <= worst.value < 1e-24
    assert worst.status is Status.CONVERGED
    assert len(climbed) <= 1  # a look at slopes for sign patterns
    assert audit.worst_case(0.5, budget="spectral").value < 1e-24
