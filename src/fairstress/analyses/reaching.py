"""The smallest budget whose worst case reaches a level."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace

from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.progress import Steps

PRECISION = 1e-4  # of a breaking point
SLOW_PRECISION = 0.02  # the same where values take long and the search has no derivatives


def find_breaking_point(
    level: float,
    solve: Solver,
    below: Sequence[WorstCase],
    above: WorstCase,
    steps: Steps,
    precision: float | None = None,
) -> WorstCase:
    """Narrow the interval between a budget that does not reach the level and one that does; give the least found.

    Where it can be, the worst case is followed from budget to budget. The last budget that does not reach the level is
    then searched in full: if it does reach it, on another hill, the level is looked for below by full searches. If it
    does not, no other hill matters, and the first that does is as it was followed.
    """
    follows = solve.follows
    slow = solve.claim.takes_long and not solve.functional.has_slope(solve.claim)
    near = precision or (SLOW_PRECISION if slow else PRECISION)
    last, first = _narrowed(level, solve, below, above, steps, near, follows=follows)
    if follows and last is not None and last not in below:
        full = solve(last.p_max, [last])
        steps()
        if full.value >= level:
            return _narrowed(level, solve, below, full, steps, near, follows=False)[1]
        return first if first is above else _seen_around(first, full)
    if not follows or first is above:
        return first
    full = solve(first.p_max, [first])
    steps()
    return full if full.value >= level else first


def _seen_around(followed: WorstCase, searched: WorstCase) -> WorstCase:
    """A worst case that was followed, with what a search within a budget just below has seen of the set."""
    return replace(
        followed,
        n_starts=searched.n_starts,
        n_agreeing=searched.n_agreeing,
        scan_value=searched.scan_value,
        scan_correlation=searched.scan_correlation,
        n_sampled=searched.n_sampled,
        sample_difference=searched.sample_difference,
        met=searched.met,
        n_ends=searched.n_ends,
    )


def _narrowed(
    level: float,
    solve: Solver,
    below: Sequence[WorstCase],
    above: WorstCase,
    steps: Steps,
    precision: float,
    *,
    follows: bool,
) -> tuple[WorstCase | None, WorstCase]:
    """The largest budget found that does not reach the level, and the smallest that does."""
    from scipy import optimize

    known = [*below, above]
    low = below[-1].p_max if below else solve.budget.least_size

    def excess(p_max: float) -> float:
        at = next((point for point in known if point.p_max == p_max), None)
        if at is None:
            place = bisect([point.p_max for point in known], p_max)
            smaller, larger = known[:place][-1:], known[place:][:1]
            at = solve.follow(p_max, [*smaller, *larger]) if follows else solve(p_max, smaller)
            known.insert(place, at)
            steps()
        # CFU grows about as the square of p_max: its root is nearly a line, which takes fewer searches
        return at.value - level if level <= 0 else math.sqrt(max(at.value, 0.0)) - math.sqrt(level)

    if low < above.p_max and excess(low) < 0:
        optimize.brentq(excess, low, above.p_max, xtol=precision / 4, rtol=1e-12)
    first = min((point for point in known if point.value >= level), key=lambda point: point.p_max)
    missed = [point for point in known if point.p_max < first.p_max]
    return max(missed, key=lambda point: point.p_max, default=None), first
