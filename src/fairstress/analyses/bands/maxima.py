"""Worst cases in replicates: the largest value over the near-maximisers that the search has met.

A replicate's own maximum lies close to one of the points that are nearly as high in the data as they are,
``{P: value(P) >= max - kappa}`` with kappa the standard error times ``sqrt(log n)`` (Fang and Santos, Inference on
directionally differentiable functions, 2019). Some replicates are searched in full, to see what that leaves out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairstress.analyses.bands.limits import Estimate, check_enough, estimates, sides
from fairstress.analyses.bands.replicates import Replicates, Replicator
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import FairstressError
from fairstress.inputs.rows import Array
from fairstress.parallel import in_parallel
from fairstress.threads import one_thread

PILOT = 24  # replicates from which the standard error behind kappa is taken
MOST = 4  # near-maximisers of one budget
FEW = 2  # the same where people have several worlds, or where many budgets share theirs
SEVERAL = 5  # budgets; more are many
APART = 0.1  # near-maximisers are at least this share of p_max apart


@dataclass(frozen=True, slots=True, eq=False)
class Maxima:
    """The largest value within each of some budgets in each replicate."""

    values: Array  # (b, s)
    replicates: Replicates


def with_limits(
    replicator: Replicator,
    solve: Solver,
    worst: Sequence[WorstCase],
    values: Sequence[float] | None = None,
    side: str | None = None,
    *,
    check: bool = True,
) -> tuple[Estimate, ...]:
    """Limits of the worst cases of ascending budgets, around their own values or the ones given."""
    found = maxima(replicator, solve, worst)
    checked, miss = _full_searches(replicator, solve, worst[-1], found) if check else (0, 0.0)
    replication = replicator.replication(found.replicates, n_checked=checked, largest_miss=miss)
    own = [point.value for point in worst] if values is None else values
    return estimates(own, found.values, replication, side or sides(solve.functional))


def maxima(replicator: Replicator, solve: Solver, worst: Sequence[WorstCase]) -> Maxima:
    """The largest value, or the smallest where the solver seeks that, within ascending budgets in each replicate."""
    tops = replicator.values(solve.functional, np.array([point.correlation.to_numpy() for point in worst]))
    near = _near_maximisers(replicator, solve, worst, tops)
    budgets, own = np.arange(len(worst)), np.repeat(np.arange(len(worst)), [len(P) for P in near])
    found = _beside(tops, replicator, solve, np.concatenate(near))
    allowed = np.concatenate([budgets, own]) <= budgets[:, None]  # smaller budgets' correlations included
    values = np.where(allowed, solve.sign * found.values[:, None, :], -np.inf).max(axis=2)
    return Maxima(solve.sign * values, found)


def _near_maximisers(
    replicator: Replicator, solve: Solver, worst: Sequence[WorstCase], tops: Replicates
) -> list[Array]:
    """For each budget the correlations (k, m, m) beside the worst that were met and are nearly as bad."""
    pilot = tops.values[[number < PILOT for number in tops.numbers]]
    kappa = pilot.std(axis=0, ddof=1) * math.sqrt(math.log(replicator.fitted.table.n_counted))
    few = replicator.claim.is_mixed or len(worst) > SEVERAL
    most = FEW if few else MOST
    return [_near(replicator, solve, point, k)[1:most] for point, k in zip(worst, kappa.tolist(), strict=True)]


def _beside(tops: Replicates, replicator: Replicator, solve: Solver, P: Array) -> Replicates:
    """The values of the worst correlations with those of others (k, m, m) beside them, where both could be had."""
    if not len(P):
        return tops
    more = replicator.values(solve.functional, P, among=tops.numbers)
    left = tops.values[np.isin(tops.numbers, more.numbers)]
    failures = dict(Counter(tops.failures) + Counter(more.failures))
    check_enough(len(more.numbers), replicator.options, failures)
    return Replicates(np.concatenate([left, more.values], axis=1), more.numbers, failures)


def _near(replicator: Replicator, solve: Solver, worst: WorstCase, kappa: float) -> Array:
    """(k, m, m) correlations of one budget within kappa of the best: the best, ends of ascents, others; none close by.

    A point on the way up to an end is no maximum in any replicate, however high it lies.
    """
    P = np.concatenate([worst.correlation.to_numpy()[None], worst.met])
    known = evaluate_many(replicator.claim, P, solve.functional, check_minima=False)
    values = solve.sign * np.array([one.value for one in known])
    on_the_way = np.arange(1, len(P)) > worst.n_ends
    order = [0, *(1 + np.lexsort((-values[1:], on_the_way)))]
    kept: list[int] = []
    for i in order:
        near = not kept or values[i] >= values.max() - kappa
        if near and all(np.abs(P[i] - P[j]).max() > APART * worst.p_max for j in kept):
            kept.append(int(i))
    return np.asarray(P[kept])


def _full_searches(replicator: Replicator, solve: Solver, worst: WorstCase, found: Maxima) -> tuple[int, float]:
    """In how many replicates the largest budget was searched in full, and how much more that found, at most."""
    count = math.ceil(replicator.options.check * len(found.replicates.numbers))
    if worst.p_max == 0 or not count or not replicator.can_search:
        return 0, 0.0
    chosen = [(i, found.replicates.numbers[i]) for i in range(count)]
    again = _Again(replicator, solve, worst)
    searched = in_parallel(again, [number for _, number in chosen], replicator.options.n_jobs)
    known = [(i, value) for (i, _), value in zip(chosen, searched, strict=True) if value is not None]
    more = [solve.sign * (value - found.values[i, -1]) for i, value in known]
    scale = max(abs(worst.value), float(found.values[:, -1].std()), 1e-300)
    return len(known), max([0.0, *more]) / scale


@dataclass(frozen=True, slots=True, eq=False)
class _Again:
    """A full search in one replicate."""

    replicator: Replicator
    solve: Solver
    worst: WorstCase

    def __call__(self, number: int) -> float | None:
        with one_thread:
            try:
                claim = self.replicator.claim_of(number)
                solve = replace(self.solve, claim=claim, completed=(), along_line={}, known={})
                found = solve(self.worst.p_max)
            except FairstressError:
                return None
        P = found.correlation.to_numpy()[None]
        return float(self.replicator.of_everyone(np.array([[found.value]]), self.solve.functional, P)[0, 0])
