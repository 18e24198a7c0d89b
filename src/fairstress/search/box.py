"""One ascent where a box is all that limits the coordinates: loadings of one cause, correlations of small budgets."""

from __future__ import annotations

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit
from fairstress.search.problem import End, Problem

MAX_STEPS = 100
POLISH = 1e-3  # of the precision asked for: where values are cheap so are the last steps, and their gain is exact


def climb_box(problem: Problem, p: Array) -> End:
    """Go uphill by L-BFGS-B, with exact gradients."""
    from scipy import optimize  # takes long to import, and only searches need it

    start = float(problem.values(p[None])[0])
    unit = 1 / max(abs(start), 1e-300)
    last: Fit | None = None

    def loss(p: Array) -> tuple[float, Array]:
        nonlocal last
        value, g, last = problem.value_and_gradient(p, last)
        return -unit * value, -unit * g

    result = optimize.minimize(  # type: ignore[call-overload]
        loss,
        p,
        jac=True,
        method="L-BFGS-B",
        bounds=np.transpose([problem.members.low, problem.members.high]),
        options={"maxiter": MAX_STEPS, "ftol": problem.precision * (1.0 if problem.claim.is_mixed else POLISH)},
    )
    end = problem.members.project(np.asarray(result.x))
    value = float(problem.values(end[None])[0])
    steps = result.get("nit", 0)  # a box that is a point takes none, and says none
    status = Status.SEARCH_STEPS if steps >= MAX_STEPS else Status.CONVERGED
    return (end, value, status) if value > start else (p, start, status)
