"""An ascent that runs out of steps says so, and never ends below where it began."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.budgets import read_budget
from fairstress.errors import Status
from fairstress.functionals.cfu import CFU
from fairstress.search import box, sqp
from fairstress.search.problem import Problem
from fairstress.search.sets import correlation_set

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x <-> z <-> a", protected="a", outcome="y")
START = np.array([0.02, 0.03, -0.02])


@pytest.fixture(scope="module")
def problem() -> Problem:
    frame = fs.datasets.simulate(GRAPH, 200, random_state=3).frame
    given = {"degrees": {"x": 1, "z": 2}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    members = correlation_set(read_budget("pairwise"), 0.3, GRAPH, ("a", "x", "z"))
    return Problem(fs.Audit.fit(frame, GRAPH, **given).fitted.claim, members, CFU(), 1.0, 6, 64)


# in the first step older versions of SciPy's SLSQP only look around
@pytest.mark.parametrize(
    ("module", "climb", "few"), [(sqp, sqp.climb, 2), (box, box.climb_box, 1)], ids=["chart", "box"]
)
def test_an_ascent_of_few_steps_says_that_they_ran_out_and_one_of_many_that_it_converged(
    problem, module, climb, few, monkeypatch
):
    begun = float(problem.values(START[None])[0])
    ((_, whole, status),) = climb(problem, START[None])
    assert status is Status.CONVERGED
    monkeypatch.setattr(module, "MAX_STEPS", few)
    ((p, value, status),) = climb(problem, START[None])
    assert status is Status.SEARCH_STEPS
    assert begun < value <= whole * (1 + 1e-12)
    assert problem.members.contains(p)
