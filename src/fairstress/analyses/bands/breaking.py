"""How much earlier a level may be reached than where it is found: where the worst case's upper limit reaches it."""

from __future__ import annotations

import math

from fairstress.analyses.bands.limits import order_statistic
from fairstress.analyses.bands.maxima import maxima
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.worst_case import Solver, WorstCase

PRECISION = 1e-3  # of a limit, which replicates leave less exact than that


def lower_limit(replicator: Replicator, solve: Solver, level: float, most: float) -> float | None:
    """The smallest p_max at which the worst case's upper limit reaches a level; None where none up to the most does.

    With the confidence of that limit the true breaking point is not smaller: there the true worst case is the level.
    """
    from scipy import optimize

    known: list[tuple[float, float, WorstCase]] = []

    def excess(p_max: float) -> float:
        for size, value, _ in known:
            if size == p_max:
                return value
        smaller = sorted((one for one in known if one[0] <= p_max), key=lambda one: one[0])
        worst = solve(p_max, [one[2] for one in smaller[-1:]])
        upper = float(order_statistic(maxima(replicator, solve, [worst]).values, replicator.options.level)[0])
        # CFU grows about as the square of p_max: its root is nearly a line, which takes fewer searches
        value = upper - level if level <= 0 else math.sqrt(max(upper, 0.0)) - math.sqrt(level)
        known.append((p_max, value, worst))
        return value

    least = solve.budget.least_size
    if excess(most) < 0:
        return None
    if excess(least) >= 0:
        return least
    return float(optimize.brentq(excess, least, most, xtol=PRECISION / 2, rtol=1e-12))
