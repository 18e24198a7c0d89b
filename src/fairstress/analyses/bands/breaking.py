"""How much earlier a level may be reached than where it is found: where the worst case's upper limit reaches it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from fairstress.analyses.bands.limits import order_statistic
from fairstress.analyses.bands.maxima import with_limits
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.search.causes import drawn_into, sets_within

PRECISION = 1e-3  # of a limit, which replicates leave less exact than that


def lower_limit(
    replicator: Replicator, solve: Solver, level: float, at: WorstCase, points: Sequence[WorstCase] = ()
) -> float | None:
    """The smallest p_max at which the worst case's upper limit reaches a level; None where that at the last does not.

    With the confidence of that limit the true breaking point is not smaller: there the true worst case is the level.
    Points of a curve, with their replicates, spare some.
    """
    from scipy import optimize

    known = {point.p_max: point for point in points if point.estimate}

    def excess(p_max: float) -> float:
        if p_max not in known:
            larger = known[min(size for size in known if size > p_max)]
            known[p_max] = _limited(replicator, solve, _within(solve, larger, p_max))
        return _excess(replicator, known[p_max], level)

    if at.p_max not in known:
        known[at.p_max] = _limited(replicator, solve, at)
    least = solve.budget.least_size
    if excess(at.p_max) < 0:
        return None
    if excess(least) >= 0:
        return least
    high = min(size for size in known if excess(size) >= 0)
    low = max(size for size in known if size < high)
    return float(optimize.brentq(excess, low, high, xtol=PRECISION / 2, rtol=1e-12))


def _limited(replicator: Replicator, solve: Solver, worst: WorstCase) -> WorstCase:
    return replace(worst, estimate=with_limits(replicator, solve, [worst], check=False)[0])


def _within(solve: Solver, larger: WorstCase, p_max: float) -> WorstCase:
    """What was met within a larger budget, drawn into a smaller one: where its worst case lies, or close by."""
    sets = sets_within(solve.budget, p_max, solve.graph, solve.variables)
    inside = drawn_into(sets, np.concatenate([larger.correlation.to_numpy()[None], larger.met]))
    names = list(solve.variables)
    return replace(larger, p_max=p_max, correlation=pd.DataFrame(inside[0], index=names, columns=names), met=inside[1:])


def _excess(replicator: Replicator, worst: WorstCase, level: float) -> float:
    """How far the upper limit, at this budget alone, lies above a level.

    CFU grows about as the square of p_max: its root is nearly a line, which takes fewer searches.
    """
    assert worst.estimate is not None
    upper = float(order_statistic(worst.estimate.replicates[:, None], replicator.options.level)[0])
    return upper - level if level <= 0 else math.sqrt(max(upper, 0.0)) - math.sqrt(level)
