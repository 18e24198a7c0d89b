"""One ascent without derivatives: compare values around a point, go to the best, or look closer."""

from __future__ import annotations

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.search.problem import End, Problem

FIRST = 0.25  # first step, as a share of the box
LEAST = 1e-6  # last step, where a search is to be exact
MAX_ROUNDS = 400


def pattern_search(problem: Problem, p: Array, step: float = FIRST) -> End:
    """Go uphill by trying both ways along the axes of a random frame, and on along the last way up.

    All trial points of a round are evaluated side by side. A point outside the budget is drawn towards its centre until
    it lies inside, so that the walk can follow the boundary. Long steps first see past the plateaus of a predictor that
    is constant in pieces.
    """
    rng = np.random.default_rng(0)
    members, q = problem.members, p.size
    width = members.high - members.low
    value, way = float(problem.values(p[None])[0]), np.zeros(q)
    for _ in range(MAX_ROUNDS):
        if step < max(problem.precision, LEAST):
            return p, value, Status.CONVERGED
        axes = np.linalg.qr(rng.standard_normal((q, q)))[0]
        ways = np.concatenate([np.eye(q), -np.eye(q), axes, -axes]) * step * width
        trials = np.array([members.shrink(p + d) for d in [*ways, way]])
        values = problem.values(trials)
        best = int(values.argmax())
        if values[best] > value + 1e-10 * abs(value):
            way, p, value = trials[best] - p, trials[best], float(values[best])
        else:
            step, way = step / 2, np.zeros(q)
    return p, value, Status.SEARCH_STEPS
