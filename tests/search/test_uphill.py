from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.worst_case import Solver
from fairstress.errors import Status
from fairstress.search import ascents, search
from fairstress.search import uphill as by_sample
from fairstress.search.ascents import Loss, Tilt
from fairstress.search.search import ALL_SIGNS
from fairstress.search.uphill import uphill, uphill_by_sample

NINE = (
    "a -> x0, x1, x2; x0 -> x1, x2, x3, x4; x1 -> x3; x2 -> x4; x0 <-> x1; x0 <-> x2; x0 <-> x4; x1 <-> x2; "
    "x1 <-> x3; x1 <-> x4; x2 <-> x3; x2 <-> x4; x3 <-> x4"
)
NAMES = [f"x{i}" for i in range(5)]
OPTIONS = {"penalty": 1, "predictor_degree": 2, "predictor_penalty": 1, "random_state": 0}


def audit_of(n, degree=1, **options):
    graph = fs.CausalGraph.parse(NINE, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, n, random_state=21).frame
    return fs.Audit.fit(frame, graph, degrees=dict.fromkeys(NAMES, degree) | {"x1": 2}, **(OPTIONS | options))


@pytest.fixture(scope="module")
def audit():
    return audit_of(500)


def problem_of(audit, p_max):
    (problem,) = Solver.of(audit.fitted, "pairwise", None, None).problems(p_max)
    assert problem.members.low.size > ALL_SIGNS
    return problem


def starts_of(problem, count):
    return problem.members.scan(count, np.random.default_rng(0))[:count]


@pytest.mark.parametrize("p_max", [0.1, 0.6])  # a box, and where the eigenvalue floor holds
def test_no_digit_of_an_ascent_depends_on_those_beside_it(audit, p_max):
    problem = problem_of(audit, p_max)
    starts = starts_of(problem, 4)
    beside, alone = uphill(problem, starts), [uphill(problem, p[None])[0] for p in starts]
    for (p, value, status), (p_alone, value_alone, status_alone) in zip(beside, alone, strict=True):
        assert (p == p_alone).all()
        assert (value, status) == (value_alone, status_alone)


def test_an_ascent_that_keeps_asking_ends_where_it_was_highest(audit, monkeypatch):
    problem = problem_of(audit, 0.6)
    (start,) = starts_of(problem, 1)
    monkeypatch.setattr(ascents, "MOST", 5)
    ((p, value, status),) = uphill(problem, start[None])
    assert status is Status.SEARCH_STEPS
    assert problem.members.contains(p)
    assert value > problem.values(start[None])[0]


def test_an_ascent_that_ran_out_of_values_goes_on_from_where_it_was(audit, monkeypatch):
    problem = problem_of(audit, 0.6)
    (start,) = starts_of(problem, 1)
    monkeypatch.setattr(ascents, "MOST", 5)
    (end,) = uphill(problem, start[None])
    short = search._climbed_on(problem, end)  # five values at a time, and only so often
    assert short[2] is Status.SEARCH_STEPS
    assert short[1] > end[1]
    monkeypatch.undo()
    on = search._climbed_on(problem, end)
    assert on[2] is Status.CONVERGED
    assert on[1] > short[1]
    assert search._climbed_on(problem, on) is on


@pytest.mark.parametrize("value", [0.3, 0.999, 1.001, 40.0, -2.0])
def test_the_slope_of_a_loss_is_its_derivative(value):
    """``value * (1 + z)^2`` at z = 0, by differences."""
    loss = Loss(
        lambda question: (value * (1 + question[0][0]) ** 2, np.array([2 * value * (1 + question[0][0])]), None),
        lambda z: z,
        lambda z, g: g,
        1.0,
    )
    h = 1e-6
    difference = (loss(np.array([h]))[0] - loss(np.array([-h]))[0]) / (2 * h)
    assert loss(np.zeros(1))[1][0] == pytest.approx(difference, rel=1e-6)


def test_a_tilt_adds_a_plane():
    tilt = Tilt(np.array([1.0, 2.0]), 3.0, np.array([0.5, -1.0]))
    value, slope, _ = tilt.add(lambda question: (10.0, np.ones(2), None), (np.array([3.0, 2.0]), None))
    assert (value, slope.tolist()) == (14.0, [1.5, 0.0])


# ---------------------------------------------------------------- with all rows by the help of a sample


@pytest.fixture(scope="module")
def large():
    """So many people that a sample tells the hills apart, and without nodes that spare the rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairstress.claim.support.MOST", 0)
        yield audit_of(12_000, degree=2)


def sample_of(problem):
    coarse = problem.on_sample(np.random.default_rng(0), 1024)
    assert coarse.claim.rows.size < problem.claim.rows.size
    return coarse


@pytest.mark.parametrize("p_max", [0.1, 0.5])
def test_ends_with_the_help_of_a_sample_are_maxima_with_all_rows(large, p_max):
    problem = problem_of(large, p_max)
    coarse = sample_of(problem)
    starts = starts_of(problem, 2)
    with_help = uphill_by_sample(problem, coarse, starts)
    for (p, value, _), start in zip(with_help, starts, strict=True):
        assert problem.members.contains(p)
        assert value == problem.values(p[None])[0]
        assert value > problem.values(start[None])[0]
        assert uphill(problem, p[None])[0][1] <= value * (1 + 1e-5)


def test_what_a_few_tilts_of_the_sample_leave_to_gain_is_gained_with_all_rows(large, monkeypatch):
    problem = problem_of(large, 0.1)
    coarse, starts = sample_of(problem), starts_of(problem, 2)
    settled = uphill_by_sample(problem, coarse, starts)
    monkeypatch.setattr(by_sample, "TILTS", 1)  # on a sample that is not even precise
    for (p, value, _), (_, expected, _) in zip(uphill_by_sample(problem, coarse, starts), settled, strict=True):
        assert value == problem.values(p[None])[0]
        assert value == pytest.approx(expected, rel=1e-5)


def test_where_a_sample_leads_astray_all_rows_are_asked_each_time(large):
    problem = problem_of(large, 0.5)
    astray = replace(sample_of(problem), sign=-problem.sign)
    starts = starts_of(problem, 1)
    ((_, value, _),) = uphill_by_sample(problem, astray, starts)
    ((_, alone, _),) = uphill(problem, starts)
    assert value == pytest.approx(alone, rel=1e-4)


def test_a_worst_case_over_many_pairs_is_a_maximum_with_all_rows_though_a_sample_shows_the_way(large):
    worst = large.worst_case(0.1)
    problem = problem_of(large, 0.1)
    assert worst.status is Status.CONVERGED
    p = problem.members.point(worst.correlation.to_numpy())
    assert problem.values(p[None])[0] == pytest.approx(worst.value, rel=1e-12)
    assert uphill(problem, p[None])[0][1] <= worst.value * (1 + 1e-5)
    assert worst.value >= max(problem.values(starts_of(problem, 50)))


def test_every_ascent_is_told_to_whoever_watches(audit):
    told, problem = [], problem_of(audit, 0.1)
    ends = search._ascend_all(replace(problem, ascended=lambda: told.append(1)), starts_of(problem, 5))
    assert len(ends) == len(told) == 5


# ---------------------------------------------------------------- processes


def test_processes_change_no_digit_of_a_worst_case_over_many_pairs(audit):
    """And so do ascents in a process that was asked to spread them further: it shares the cores already."""
    one, two = (audit.worst_case(0.5, search=fs.Search(starts=2, n_jobs=n)) for n in (1, 2))
    assert (one.value, one.n_starts, one.n_agreeing) == (two.value, two.n_starts, two.n_agreeing)
    assert (one.correlation.to_numpy() == two.correlation.to_numpy()).all()


def test_ascents_of_what_is_too_large_for_other_processes_are_made_in_one(audit, monkeypatch):
    monkeypatch.setattr("fairstress.parallel.MOST_BYTES", 10)
    problem = replace(problem_of(audit, 0.5), n_jobs=2)
    starts = starts_of(problem, 2)
    ends, alone = search._ascend(problem, starts), uphill(problem, starts)
    assert [end[1] for end in ends] == [end[1] for end in alone]


def test_ascents_are_let_go_that_are_far_behind_or_beside_the_highest_and_no_others(audit):
    problem = problem_of(audit, 0.6)
    q = problem.members.low.size
    ways = {
        "highest": (0.5, 2.0, 0.0),
        "far behind": (-0.5, 1.0, 0.01),
        "behind but gaining": (-0.4, 1.0, 0.2),
        "on the same hill": (0.49, 1.99, 0.1),
    }
    all_ = [by_sample._Ascent(np.full(q, p), value, np.zeros(q), gain=gain) for p, value, gain in ways.values()]
    by_sample._let_go(problem, all_)
    assert [one.is_let_go for one in all_] == [False, True, False, True]
