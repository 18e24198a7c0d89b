"""Ascents where a box is all that limits the coordinates: loadings of one cause, correlations of small budgets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.search.ascents import AskedEnoughError, Loss, Tilt, together
from fairstress.search.problem import Ask, End, Problem

MAX_STEPS = 100
POLISH = 1e-3  # of the precision asked for: where values are cheap so are the last steps, and their gain is exact


def climb_box(problem: Problem, points: Array, tilts: Sequence[Tilt] = ()) -> list[End]:
    """Go uphill from points (g, q) by L-BFGS-B, with exact gradients."""
    return together(problem, points, _climb, tilts)


def _climb(problem: Problem, p: Array, unit: float, ask: Ask) -> tuple[Array, Status]:
    """Where one ascent ends, and how."""
    from scipy import optimize  # takes long to import, and only searches need it

    members = problem.members
    loss = Loss(ask, lambda z: z, lambda z, g: g, unit)
    try:
        result = optimize.minimize(  # type: ignore[call-overload]
            loss,
            p,
            jac=True,
            method="L-BFGS-B",
            bounds=np.transpose([members.low, members.high]),
            options={"maxiter": MAX_STEPS, "ftol": problem.precision * (1.0 if problem.claim.is_mixed else POLISH)},
        )
    except AskedEnoughError:
        return members.project(loss.best[1]), Status.SEARCH_STEPS
    steps = result.get("nit", 0)  # a box that is a point takes none, and says none
    status = Status.SEARCH_STEPS if steps >= MAX_STEPS else Status.CONVERGED
    return members.project(np.asarray(result.x)), status
