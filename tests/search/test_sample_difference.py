"""A search that looks around on a sample says how far off the sample is."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.search.problem import SAMPLE, Problem
from fairstress.search.search import search
from fairstress.search.sets import correlation_set

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> z; x <-> z", protected="a", outcome="y")
GIVEN = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 0, "random_state": 0}


def audit_of(people: int) -> fs.Audit:
    return fs.Audit.fit(fs.datasets.simulate(GRAPH, people, random_state=0).frame, GRAPH, **GIVEN)


@pytest.fixture(scope="module")
def many() -> fs.Audit:
    return audit_of(20_000)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_difference_is_that_of_the_same_sample_where_the_search_ended(many, sign):
    members = correlation_set(fs.Pairwise(), 0.3, GRAPH, many.variables)
    problem = Problem(many.fitted.claim, members, many.effect("z"), sign=sign, starts=2, scan=8)
    found = search(problem, [], np.random.default_rng(0))
    coarse = problem.on_sample(np.random.default_rng(0), SAMPLE)  # the first that a search draws
    on_sample = sign * coarse.values(found.p[None])[0]
    assert found.n_sampled == SAMPLE
    assert found.sample_difference == pytest.approx(on_sample / abs(found.evaluation.value) + 1, rel=1e-9)
    assert found.evaluation.value < 0  # hence the 1


def test_a_worst_case_says_on_how_many_rows_it_looked_around_and_how_far_off_they_are(many):
    worst = many.worst_case(0.3)
    way = "higher" if worst.sample_difference > 0 else "lower"
    said = f"sample of 4,096 rows, on which this value is {100 * abs(worst.sample_difference):.1f} % {way}"
    assert 0 < abs(worst.sample_difference) < 0.2
    assert said in " ".join(worst.summary().split())


def test_a_search_that_looks_at_all_rows_says_nothing_of_a_sample():
    worst = audit_of(300).worst_case(0.3)
    assert (worst.n_sampled, worst.sample_difference) == (0, None)
    assert "sample of" not in worst.summary()


def test_nor_does_a_search_without_derivatives_that_looks_at_all_rows():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 1500, random_state=0).frame
    worst = fs.Audit.fit(frame, graph, measure=0.5, **GIVEN).worst_case(0.2)  # the median change
    assert (worst.n_sampled, worst.sample_difference) == (0, None)
    assert "sample of" not in worst.summary()
