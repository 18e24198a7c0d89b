"""Limits of worst cases, curves and breaking points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.curve import curve as worst_cases
from fairstress.analyses.curve import limited
from fairstress.analyses.worst_case import Solver

EDGES = "a -> x, z; x -> z"
PAIRS = "a <-> x; a <-> z; x <-> z"
LINEAR = {"degrees": {"x": 1, "z": 1}, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}


@pytest.fixture(scope="module")
def of() -> fs.Audit:
    graph = fs.CausalGraph.parse(f"{EDGES}; {PAIRS}", protected="a", outcome="y")
    weights = {"x": {"a": 0.8}, "z": {"a": 0.5, "x": 0.6}}
    frame = fs.datasets.simulate(graph, 400, weights=weights, random_state=3).frame
    return fs.Audit.fit(frame, graph, penalty=0, **LINEAR)


@pytest.fixture(scope="module")
def curve(of) -> fs.results.Curve:
    return of.curve([0, 0.1, 0.2, 0.3], bands=fs.Bootstrap(100, check=0.05))


def test_limits_never_fall_along_a_curve(curve):
    upper = [point.estimate.upper for point in curve.points]
    assert upper == sorted(upper)
    replicates = np.array([point.estimate.replicates for point in curve.points])
    assert (np.diff(replicates, axis=0) >= 0).all()


def test_a_curve_says_what_sampling_error_makes_where_nothing_is_hidden(of, curve):
    # worked out beside other correlations, or alone: the last bit may differ
    assert curve.points[0].estimate.upper == pytest.approx(curve.sampling_error.upper, rel=1e-9)
    assert curve.sampling_error.upper == of.estimate({}, bands=100).upper
    assert f"0 by construction; up to {curve.sampling_error.upper:.2g} (95 %)" in " ".join(curve.summary().split())


def test_full_searches_in_some_replicates_find_no_larger_worst_case(curve):
    replication = curve.points[-1].estimate.replication
    assert replication.n_checked == 5
    assert replication.largest_miss < 1e-3  # an ascent ends where a step gains 1e-7; replicates' fits are known to 1e-5


def test_simultaneous_limits_lie_above_those_of_each_point_alone(of, curve):
    joint = of.curve([0, 0.1, 0.2, 0.3], bands=fs.Bootstrap(100, check=0, simultaneous=True))
    pairs = list(zip(joint.points, curve.points, strict=True))
    assert all(one.estimate.upper >= other.estimate.upper for one, other in pairs)
    assert any(one.estimate.upper > other.estimate.upper for one, other in pairs)


def test_the_limit_of_a_breaking_point_is_where_the_worst_case_s_limit_reaches_the_level(of, curve):
    point = curve.breaking_point(0.4)
    assert 0 < point.lower < point.p_max
    there = of.worst_case(point.lower, bands=fs.Bootstrap(100, check=0))
    # the limit is found to 1e-3, and CFU grows there by 2 % per 1 % of p_max
    assert there.estimate.upper == pytest.approx(0.4, rel=0.03)
    assert f"down to p_max = {point.lower:.3f} (95 % limit)" in str(point)


def test_a_level_that_not_even_the_limit_reaches_has_none(curve):
    point = curve.breaking_point(1000)
    assert point.p_max is None
    assert point.lower is None
    assert str(point).endswith("Nor does its 95 % limit.")


def test_a_level_that_sampling_error_alone_reaches_has_the_limit_0(curve):
    assert curve.breaking_point(curve.sampling_error.upper / 2).lower == 0.0


def test_like_for_like_breaking_points_have_limits_too(of):
    point = of.breaking_point("blind", highest=0.6, bands=fs.Bootstrap(60, check=0))
    assert point.p_max is not None
    assert 0 < point.lower < point.p_max


def test_where_no_budget_makes_it_as_unfair_as_a_baseline_the_limit_is_that_of_the_largest_one(of):
    options = {"definition": "same P", "bands": fs.Bootstrap(60, check=0)}
    reached = of.breaking_point("blind", highest=0.6, **options)
    assert reached.lower is not None
    highest = reached.lower + 0.005  # its limit reaches the baseline there, not a budget before
    short = of.breaking_point("blind", highest=highest, **options)
    assert reached.p_max > highest
    assert short.p_max is None
    assert short.worst.p_max == highest
    assert f"at p_max = {highest:g} (pairwise budget) it comes as near" in str(short)
    assert short.lower == pytest.approx(reached.lower, abs=2e-3)  # both are found to 1e-3
    assert str(short).endswith(f"Its 95 % limit does, at p_max = {short.lower:.3f}.")


def test_bounds_have_intervals_around_either_end(of):
    low, high = of.bounds(of.effect("z"), 0.2, bands=fs.Bootstrap(100, check=0))
    assert low.estimate.lower < low.value < low.estimate.upper
    assert high.estimate.lower < high.value < high.estimate.upper
    frame = of.effects(0.2, bands=60)
    assert (frame["lower"] <= frame["low"] + 1e-9).all()
    assert (frame["upper"] >= frame["high"] - 1e-9).all()


def test_a_profile_has_limits_at_every_correlation(of):
    profile = of.profile(("a", "x"), [-0.3, 0, 0.3], bands=100)
    single = of.estimate({("a", "x"): 0.3}, bands=100)
    assert profile.estimates[2].upper == pytest.approx(single.upper, rel=1e-9)
    assert profile.to_frame()["upper"].tolist() == [one.upper for one in profile.estimates]
    assert "at most (95 %)" in profile.summary()


def test_other_functionals_have_limits_at_one_correlation(of):
    P = {("a", "x"): 0.3}
    assert of.estimate(P, of.flips(0.0), bands=60).lower is None
    relative = of.estimate(P, of.relative_cfu("blind"), bands=60)
    assert relative.value == pytest.approx(of.cfu(P) - of.cfu(P, baseline="blind"))
    assert relative.lower < relative.value < relative.upper


def test_searches_on_two_processes_find_the_same(of):
    one, two = (of.effects(0.2, search=fs.Search(starts=2, n_jobs=jobs)) for jobs in (1, 2))
    assert one.equals(two)


@pytest.mark.parametrize("searched", [None, 2], ids=["each budget searched", "most followed"])
def test_in_replicates_the_worst_case_may_lie_on_another_hill_of_a_small_budget(law_frame, searched):
    """A fifth of them have it there, where the data as they are have less: full searches in them find no more."""
    graph = fs.CausalGraph.parse(
        "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa", protected="race", outcome="zfya"
    )
    given = {"degrees": {"ugpa": 1, "lsat": 2}, "penalty": 167, "predictor_degree": 2, "predictor_penalty": 167}
    fitted = fs.Audit.fit(law_frame, graph, reference="White", penalise_constant=True, random_state=0, **given).fitted
    solve, replicator = Solver.of(fitted, fs.Pairwise(), None, None), Replicator.of(fitted, 39)
    found = worst_cases(fitted, [0.0, 0.03, 0.06, 0.09, 0.12, 0.2, 0.3], solve, searched=searched)
    for point in limited(found, replicator).points[1:4]:
        again = [solve_in(replicator, solve, point.p_max, number) for number in range(39)]
        np.testing.assert_allclose(point.estimate.replicates, again, rtol=1e-5)  # fits of replicates are known to that


def solve_in(replicator, solve, p_max, number):
    claim = replicator.claim_of(number)
    return replace(solve, claim=claim, completed=(), along_line={}, known={})(p_max).value
