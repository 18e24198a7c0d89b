"""Bounds over boxes of correlations: what is proved holds at every point, what is estimated never says "at most"."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

import fairstress as fs
from fairstress.claim.evaluate import evaluate_many, fits
from fairstress.functionals.cfu import CFU
from fairstress.model.embedding import Polynomial
from fairstress.search.branching import Cell, Estimated, Proved, cover, grid, whole
from fairstress.search.enclosure import HAZARD_SECOND, HAZARD_THIRD, Objective
from fairstress.search.forms import Form, inverse
from fairstress.search.problem import Problem
from fairstress.search.sets import correlation_set
from fairstress.search.upper import upper_bound, why_not_proved

CHAIN = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")
BEHIND = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; a <-> z; x <-> z", protected="a", outcome="y")
PAIRS = ((0, 1), (0, 2), (1, 2))


def audit_of(graph, penalty, n=300, share=0.25, **options):
    weights = {"x": {"a": 0.8}} | ({"z": {"x": 0.7}} if "x" in graph.parents("z") else {})
    frame = fs.datasets.simulate(graph, n, weights=weights, random_state=4).frame
    if share != 0.5:
        frame = frame[(frame["a"] == frame["a"].max()) | (np.arange(n) % 3 == 0)]
    degrees = {name: 1 + (name == "z") for name in graph.features}
    chosen = {"degrees": degrees, "penalty": penalty, "predictor_degree": 2, "predictor_penalty": 1.0} | options
    return fs.Audit.fit(frame, graph, random_state=0, **chosen)


# ---------------------------------------------------------------- forms


def at(form: Form, d: np.ndarray) -> np.ndarray:
    """The known part at one place of the box."""
    i, j = np.triu_indices(d.size)
    return form.c + np.tensordot(np.concatenate([d, d[i] * d[j]]), form.g, axes=1)


def random_form(rng, shape=(4,), size=0.2) -> tuple[Form, callable]:
    """A form, and a function of d that it encloses."""
    form = Form(1 + rng.random(shape), size * rng.normal(size=(9, *shape)) / 9, size * rng.random(shape) / 9)
    error = form.e * rng.uniform(-1, 1, shape)
    return form, lambda d: at(form, d) + error * np.cos(3 * d.sum())


@pytest.mark.parametrize("seed", range(5))
def test_sums_products_and_functions_of_forms_enclose_those_of_what_they_enclose(seed):
    rng = np.random.default_rng(seed)
    (f, F), (g, G) = random_form(rng), random_form(rng)
    A = rng.normal(size=(3, 4))
    made = {
        "product": (f * g, lambda d: F(d) * G(d)),
        "difference": (f - g, lambda d: F(d) - G(d)),
        "inverse": (f.power(-1.0), lambda d: 1 / F(d)),
        "root": (f.power(-0.5), lambda d: F(d) ** -0.5),
        "mapped": ((f * g).mapped(A), lambda d: A @ (F(d) * G(d))),
    }
    for form, truth in made.values():
        for d in [*rng.uniform(-1, 1, (40, 3)), *np.array(list(itertools.product([-1.0, 1.0], repeat=3)))]:
            assert (np.abs(truth(d) - at(form, d)) <= form.e + 1e-14).all()
            assert (np.abs(truth(d)) <= form.size + 1e-14).all()


def test_what_a_product_leaves_over_is_of_third_order():
    left = []
    for size in (0.1, 0.05):
        form, _ = random_form(np.random.default_rng(1), size=size)
        straight = Form(form.c, np.concatenate([form.linear, size * form.g[3:]]), np.zeros(4))
        left.append((straight * straight).e.max())
    assert left[1] == pytest.approx(left[0] / 8, rel=0.1)


def test_the_inverse_of_a_matrix_is_enclosed():
    P = Form.exact(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1.0]]), 3)
    for i, (j, k) in enumerate(PAIRS):
        P.g[i, j, k] = P.g[i, k, j] = 0.1
    X = inverse(P)
    for d in np.random.default_rng(0).uniform(-1, 1, (50, 3)):
        assert (np.abs(np.linalg.inv(at(P, d)) - at(X, d)) <= X.e).all()
    P.g[:3] *= 10
    assert inverse(P) is None
    assert Form.exact(np.array([0.5, 0.0]), 3).power(-1.0) is None  # a reciprocal of what may be 0


def test_the_hazards_derivatives_keep_within_their_bounds():
    """They vanish towards both ends; steps of 1e-4 times a fourth derivative below 1 cannot hide a thousandth."""
    t = np.arange(-30.0, 12.0, 1e-4)
    log_cdf = special.log_ndtr(t)
    h = np.exp(-(t**2) / 2 - log_cdf) / np.sqrt(2 * np.pi)
    near = np.abs(t) < 8  # further out differences of large numbers drown in rounding
    first = -h * (t + h)
    second = -first * (t + h) - h * (1 + first)
    third = -second * (t + h) - 2 * first * (1 + first) - h * second
    assert second[near].min() > -1e-9
    assert second[near].max() < HAZARD_SECOND - 1e-3
    assert np.abs(third[near]).max() < HAZARD_THIRD - 1e-3


# ---------------------------------------------------------------- enclosures


@pytest.mark.parametrize("penalty", [0.0, 10.0])
@pytest.mark.parametrize("graph", [CHAIN, BEHIND], ids=["features", "threshold"])
def test_weights_and_cfu_at_every_point_of_a_box_lie_within_what_is_proved_at_its_centre(graph, penalty):
    claim = audit_of(graph, penalty).fitted.claim
    rng, half = np.random.default_rng(0), np.array([0.02, 0.03, 0.02])
    P = np.array([[1, 0.2, -0.1], [0.2, 1, 0.15], [-0.1, 0.15, 1]])
    objective = Objective.of_system(claim.system, PAIRS)
    (fit,) = fits(claim, P[None])
    y = objective.box(P, half).enclose(fit)
    w, d = objective.weights(y), np.array([*rng.uniform(-1, 1, (20, 3)), *itertools.product([-1.0, 1.0], repeat=3)])
    others = np.repeat(P[None], len(d), axis=0)
    for i, (j, k) in enumerate(PAIRS):
        others[:, j, k] = others[:, k, j] = P[j, k] + half[i] * d[:, i]
    found = fits(claim, others)
    for one, place in zip(found, d, strict=True):
        assert (np.abs(one.weights[: w.c.size] - at(w, place)) <= w.e + 1e-9).all()
    values, upper = CFU().values(claim, found), upper_bound(claim, w)
    assert upper.value == pytest.approx(float(CFU().values(claim, [fit])[0]), rel=1e-6)
    assert values.max() <= upper.bound
    assert upper.bound < 1.5 * values.max()  # and says something


def test_a_box_in_which_errors_may_determine_each_other_is_not_enclosed():
    objective = Objective.of_system(audit_of(CHAIN, 0.0).fitted.claim.system, PAIRS)
    assert objective.box(np.eye(3), np.full(3, 0.9)) is None


def test_a_box_in_which_an_error_may_determine_the_attribute_is_not_enclosed():
    objective = Objective.of_system(audit_of(BEHIND, 0.0).fitted.claim.system, PAIRS)
    P = np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1.0]])
    assert objective.box(P, np.array([0.1, 0.0, 0.0])) is not None
    assert objective.box(P, np.array([0.3, 0.0, 0.0])) is None


@pytest.mark.parametrize("graph", [CHAIN, BEHIND], ids=["features", "threshold"])
def test_the_deviance_falls_nowhere_in_a_box_below_its_bound(graph):
    claim = audit_of(graph, 0.0).fitted.claim
    P, half = np.array([[1, 0.2, -0.1], [0.2, 1, 0.15], [-0.1, 0.15, 1]]), np.full(3, 0.02)
    objective = Objective.of_system(claim.system, PAIRS)
    others = np.repeat(P[None], 8, axis=0)
    for i, (j, k) in enumerate(PAIRS):
        others[:, j, k] = others[:, k, j] = P[j, k] + half[i] * np.resize(np.repeat([-1.0, 1.0], 2**i), 8)
    known = np.array([fit.log_likelihood for fit in fits(claim, np.concatenate([P[None], others]))])
    deviance = -2 * known - objective.n * objective.m * np.log(2 * np.pi)
    least = objective.box(P, half).least_deviance(fits(claim, P[None])[0])
    assert least <= deviance.min()
    assert deviance.min() - least < 4 * np.ptp(deviance)  # and says something


def test_from_where_the_objective_bends_downwards_nothing_is_proved():
    """With wide scales and weights whose penalty exceeds n, F is not convex."""
    claim = audit_of(CHAIN, 10.0).fitted.claim
    objective = Objective.of_system(claim.system, PAIRS)
    (fit,) = fits(claim, np.eye(3)[None])
    astray = replace(fit, weights=np.full_like(fit.weights, 10.0), log_scales=fit.log_scales + 5)
    box = objective.box(np.eye(3), np.full(3, 0.01))
    assert box.enclose(fit) is not None
    assert np.linalg.eigvalsh(box.hessian(objective.coordinates(astray)))[0] < 0
    assert box.enclose(astray) is None
    assert box.least_deviance(astray) == -np.inf


@pytest.mark.parametrize("penalty", [0.0, 10.0, 200.0])
@pytest.mark.parametrize("graph", [CHAIN, BEHIND], ids=["features", "threshold"])
def test_whatever_the_size_of_a_cell_no_correlation_in_it_exceeds_its_bound(graph, penalty):
    audit = audit_of(graph, penalty)
    claim, variables = audit.fitted.claim, audit.fitted.variables
    members = correlation_set(fs.Pairwise(), 0.9, graph, variables)
    bounds = Proved.of_problem(Problem(claim, members, CFU(), 1.0, 1, 1))
    corners, proved = np.array(list(itertools.product([-1.0, 1.0], repeat=3))), 0
    for half in (0.01, 0.05, 0.1, 0.2, 0.3, 0.45):
        cell = bounds.look(np.full(3, 0.1), np.full(3, half), None)
        points = cell.centre + corners * cell.half
        inside = points[members.contains(points)]
        if np.isfinite(cell.bound) and len(inside):
            proved += 1
            P = members.matrix(np.array([*inside, cell.centre]))
            assert max(CFU().values(claim, fits(claim, P))) <= cell.bound
    assert 1 <= proved < 6


def test_a_cell_whose_centre_is_no_correlation_has_no_bound_and_one_outside_the_set_counts_for_nothing():
    audit = audit_of(CHAIN, 0.0)
    members = correlation_set(fs.Pairwise(), 0.9, CHAIN, audit.fitted.variables)
    problem = Problem(audit.fitted.claim, members, CFU(), 1.0, 1, 1)
    beyond = np.array([0.8, -0.8, 0.8])  # the signs of no three variables
    assert members.smallest_eigenvalue(beyond) < 0
    proved, estimated = Proved.of_problem(problem), Estimated(problem, 2.0)
    assert proved.look(beyond, np.full(3, 0.3), None).bound == np.inf
    for bounds in (proved, estimated):
        outside = bounds.look(beyond, np.full(3, 0.01), None)
        assert bounds.of(outside) == outside.value == -np.inf
    assert not estimated.seen


# ---------------------------------------------------------------- branch and bound


class Lipschitz:
    """Bounds of a function on [-1, 1] that rest on a slope which it never exceeds."""

    def __init__(self, function, slope):
        self.function, self.slope = function, slope

    def look(self, centre, half, parent):
        value = float(self.function(centre[0]))
        return Cell(centre, half, value, value + self.slope * float(half[0]), half)

    def of(self, cell):
        return cell.bound


def spiked(p, width=1e-3, place=0.3137):
    return 1 + 0.1 * p + max(0.0, 1 - abs(p - place) / width)


def test_a_planted_spike_that_a_search_missed_is_never_below_a_bound_with_a_true_slope():
    bounds = Lipschitz(spiked, slope=0.1 + 1e3)
    found = cover(bounds, whole(bounds, np.array([-1.0]), np.array([1.0])), best=1.1, gap=0.01, most=10_000)
    assert found.best == pytest.approx(spiked(0.3137), rel=0.01)
    assert spiked(0.3137) <= found.bound <= 1.01 * found.best
    told = []
    few = cover(bounds, whole(bounds, np.array([-1.0]), np.array([1.0])), 1.1, 0.01, most=5, progress=told.append)
    assert few.bound > spiked(0.3137)  # it has not certified what it has not seen
    assert told == [3, 5]


def test_bounds_with_too_small_a_slope_would_miss_the_spike_so_that_slopes_must_be_proved():
    bounds = Lipschitz(spiked, slope=0.1)
    found = cover(bounds, whole(bounds, np.array([-1.0]), np.array([1.0])), best=1.1, gap=0.01, most=10_000)
    assert found.bound < spiked(0.3137)


class Steep:
    """A problem with one pair and a function of its own in the place of CFU."""

    def __init__(self, members, function):
        self.members, self.function, self.has_slopes = members, function, False

    def values(self, points):
        return np.array([self.function(p[0]) for p in points])


def test_an_estimate_covers_a_spike_that_its_grid_meets_and_promises_nothing_of_narrower_ones():
    graph = fs.CausalGraph.parse("a -> x, z; x <-> z", protected="a", outcome="y")
    members = correlation_set(fs.Pairwise(), 0.99, graph, ("x", "z"))
    wide = Estimated(Steep(members, lambda p: spiked(p, width=0.2)), 2.0)
    found = cover(wide, grid(wide, members.low, members.high), best=1.1, gap=0.01, most=5_000)
    assert found.bound >= spiked(0.3137, width=0.2)
    assert found.best == pytest.approx(spiked(0.3137), rel=0.02)
    speed = wide.speed
    wide.look(np.array([0.5]), np.array([0.1]), wide.look(np.array([0.5]), np.array([0.2]), None))
    assert wide.speed == speed  # a place that is seen twice tells nothing of how fast values change


# ---------------------------------------------------------------- certificates


@pytest.mark.parametrize("budget", ["pairwise", "spectral"])
def test_no_correlation_of_the_set_exceeds_what_a_certificate_proves(budget):
    graph = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z; z <-> v", protected="a", outcome="y")
    audit = audit_of(graph, 2.0)
    found = audit.certificate(0.3, budget=budget, gap=0.1)
    assert found.proved
    assert found.estimated is None
    assert found.found <= found.at_most <= 1.1 * found.found
    assert " at most " in " ".join(found.summary().split())
    p, q = (part.ravel() for part in np.meshgrid(*2 * [np.linspace(-0.3, 0.3, 9)]))
    P = np.repeat(np.eye(3)[None], p.size, axis=0)
    P[:, 0, 1] = P[:, 1, 0] = p
    P[:, 1, 2] = P[:, 2, 1] = q
    inside = P[(np.hypot(p, q) <= 0.3) | (budget == "pairwise")]
    assert max(one.value for one in evaluate_many(audit.fitted.claim, inside, CFU())) <= found.at_most


def test_a_search_that_stops_too_early_is_shown_up_by_the_bound():
    audit = audit_of(BEHIND, 0.0)
    found = audit.certificate(0.25, gap=0.2, cells=3)
    assert not found.is_close
    assert "raise cells" in " ".join(found.summary().split())


def test_bounds_of_fixed_pairs_leave_the_others_free():
    audit = audit_of(BEHIND, 0.0)
    fixed = fs.Pairwise(bounds={("a", "z"): (0.1, 0.1), ("x", "z"): (0, 0)})
    found = audit.certificate(0.2, budget=fixed, gap=0.02)
    values = [audit.cfu({("a", "x"): p, ("a", "z"): 0.1}) for p in np.linspace(-0.2, 0.2, 21)]
    assert max(values) <= found.at_most <= 1.02 * max(values) * (1 + 1e-3)


def test_a_predictor_of_the_users_own_gets_an_estimate_that_never_says_at_most():
    graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
    predictor = fs.Predictor(lambda Z: np.tanh(np.asarray(Z)[:, 0]), gradient="differences")
    audit = audit_of(graph, 0.0, predictor=predictor, predictor_degree=None, predictor_penalty=None)
    assert why_not_proved(audit.fitted.claim) == "the predictor is no polynomial"
    found = audit.certificate(0.2)
    assert found.at_most is None
    assert not found.proved
    assert found.found <= found.estimated <= 1.01 * found.found
    assert "is estimated not to exceed" in " ".join(found.summary().split())
    assert "at most 2 times as fast" in " ".join(found.summary().split())
    assert "is at most" not in " ".join(found.summary().split())


class Unknown:
    """Polynomials that do not say that they are some."""

    def __init__(self, inputs, degree):
        own = Polynomial.of(inputs, degree)
        self.terms, self.repeats, self.values, self.slopes = own.terms, own.repeats, own.values, own.slopes


OWN = fs.Predictor(lambda frame: frame["x"].to_numpy(), input="features", gradient="differences")
NOT_PROVED = {
    "some errors are seen in intervals or have a scale by group": {"kinds": {"x": "number by group"}},
    "the equations are no polynomials": {"embedding": Unknown},
    "the predictor is no polynomial": {"predictor": OWN, "predictor_degree": None, "predictor_penalty": None},
    "the predictor is shown more than residuals": {"mixed": "fair part"},
    "changes are not measured by their squares": {"measure": "absolute"},
}


@pytest.mark.parametrize(("reason", "options"), NOT_PROVED.items(), ids=NOT_PROVED)
def test_what_cannot_be_proved_is_estimated_and_says_why(reason, options):
    fair = (("a", "x"),) if "mixed" in options else ()
    edges, pairs = (("a", "x"), ("a", "z"), ("x", "z")), (("x", "z"),)
    graph = fs.CausalGraph(edges=edges, pairs=pairs, protected="a", outcome="y", fair_edges=fair)
    assert why_not_proved(audit_of(graph, 1.0, **options).fitted.claim) == reason


def test_equations_that_do_not_say_that_they_are_polynomials_give_the_same_cfu():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    known, unknown = (
        audit_of(graph, 1.0, **options).cfu({("x", "z"): 0.4}) for options in ({}, {"embedding": Unknown})
    )
    assert unknown == pytest.approx(known, rel=1e-9)


def test_where_a_penalty_may_make_a_second_minimum_nothing_is_proved():
    found = audit_of(CHAIN, 1e5).certificate(0.1, cells=30)
    assert found.at_most is None
    assert "a second minimum of the fit cannot be ruled out" in " ".join(found.summary().split())


def test_where_all_paths_are_fair_the_bound_is_zero():
    edges, pairs = (("a", "x"), ("x", "z")), (("x", "z"),)
    graph = fs.CausalGraph(edges=edges, pairs=pairs, protected="a", outcome="y", fair_edges=edges[:1])
    claim = audit_of(graph, 0.0).fitted.claim
    P, objective = np.eye(2), Objective.of_system(claim.system, [(0, 1)])
    y = objective.box(P, np.array([0.1])).enclose(fits(claim, P[None])[0])
    upper = upper_bound(claim, objective.weights(y))
    assert (upper.value, upper.bound) == pytest.approx((0, 0), abs=1e-28)  # f(eps) less itself, in another order


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"gap": 0}, "gap is 0: give a number above 0 and below 1, such as 0.01 for 1 %"),
        ({"cells": 0}, "cells is 0: give a whole number of at least 1"),
        ({"budget": "single cause"}, "a certificate is for budgets on pairs, give 'pairwise' or 'spectral'"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(options, sentence):
    with pytest.raises(fs.SettingError, match=sentence):
        audit_of(BEHIND, 0.0, n=60).certificate(0.2, **options)


def test_more_than_three_free_pairs_are_refused():
    graph = fs.CausalGraph.parse("a -> x, z, v; x <-> z <-> v <-> x; a <-> x", protected="a", outcome="y")
    audit = audit_of(graph, 0.0, n=60)
    with pytest.raises(fs.SettingError, match="4 pairs are free: a certificate is for at most 3; fix others"):
        audit.certificate(0.2)
