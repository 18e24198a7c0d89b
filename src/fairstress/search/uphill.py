"""Ascents by derivatives: with the rows that a problem has, or with all rows by the help of a sample.

A value with all rows can take many times as long as one on a sample, which bends about as all rows do. So an ascent
looks for its way on the sample, to whose values it adds what makes value and slope those with all rows where it is.
Where the sample, so tilted, has nothing to gain, neither have all rows: their slope is the same there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.search.ascents import Tilt
from fairstress.search.box import climb_box
from fairstress.search.problem import End, Problem
from fairstress.search.sqp import climb

TILTS = 8  # of the sample, for one ascent with all rows
CLOSER = 0.005  # times the gain at which an ascent on it ends, from one tilt to the next
BEHIND = 10  # times what its last tilt gained that an ascent may be below the highest to go on
NEAR = 0.05  # of the box's width: an ascent that comes as near to a higher one ends as that one
KEPT = 0.1  # of what the tilted sample promises: the least that all rows must keep


def uphill(problem: Problem, points: Array, tilts: Sequence[Tilt] = ()) -> list[End]:
    """An ascent from each of several points (g, q), in step."""
    if not len(points):
        return []
    return (climb_box if problem.members.is_box else climb)(problem, points, tilts)


def uphill_by_sample(problem: Problem, coarse: Problem, points: Array) -> list[End]:
    """The same for all rows, by the same problem on a sample; what the sample leads astray asks all rows each time.

    Whoever asks wants the highest: others end where it is clear that they are not.
    """
    values, slopes, _ = problem.values_and_gradients(points)
    all_ = [_Ascent(*one) for one in zip(points, values.tolist(), slopes, strict=True)]
    going = all_
    for turn in range(TILTS):
        _follow(problem, replace(coarse, precision=max(problem.precision, coarse.precision * CLOSER**turn)), going)
        if turn:  # the first only brings ascents on the sample to where all rows have their hills
            _let_go(problem, all_)
        going = [one for one in going if one.is_kept and not (one.has_settled or one.is_let_go)]
        if not going:
            break
    left = [i for i, one in enumerate(all_) if not (one.has_settled or one.is_let_go)]
    heights = problem.values(np.array([one.p for one in all_])).tolist()
    ends: list[End] = [(one.p, height, Status.CONVERGED) for one, height in zip(all_, heights, strict=True)]
    for i, end in zip(left, uphill(problem, np.array([all_[i].p for i in left])), strict=True):
        ends[i] = end
    return ends


@dataclass(slots=True, eq=False)
class _Ascent:
    """Where one ascent with all rows is."""

    p: Array  # (q,)
    value: float
    slope: Array  # (q,)
    has_settled: bool = False  # whether nothing is to be gained any more
    is_kept: bool = True  # whether all rows kept what the sample promised
    gain: float = 0.0  # by the last tilt
    is_let_go: bool = False  # whether it cannot become the highest, or is on the same hill


def _follow(problem: Problem, coarse: Problem, going: Sequence[_Ascent]) -> None:
    """Let each ascent climb on the sample, tilted where it is, and go there if that is uphill with all rows, too."""
    points = np.array([one.p for one in going])
    own = zip(*coarse.values_and_gradients(points)[:2], strict=True)
    tilts = [Tilt(one.p, one.value - v, one.slope - s) for one, (v, s) in zip(going, own, strict=True)]
    ends = uphill(coarse, points, tilts)
    values, slopes, _ = problem.values_and_gradients(np.array([end[0] for end in ends]))
    for one, (p, promised, status), value, slope in zip(going, ends, values.tolist(), slopes, strict=True):
        promise, least = promised - one.value, problem.precision * abs(one.value)
        is_last = coarse.precision <= problem.precision and status is Status.CONVERGED
        one.has_settled = is_last and promise <= least
        one.is_kept = value - one.value >= KEPT * promise - least
        one.gain = max(0.0, value - one.value)
        if value > one.value:
            one.p, one.value, one.slope = p, value, slope


def _let_go(problem: Problem, all_: Sequence[_Ascent]) -> None:
    """Let ascents go that are far below the highest, measured by what they still gain, or have come near it."""
    best = max(all_, key=lambda one: one.value)
    near = NEAR * float((problem.members.high - problem.members.low).max())
    for one in all_:
        is_behind = best.value - one.value > BEHIND * max(one.gain, problem.precision * abs(best.value))
        one.is_let_go = one is not best and (is_behind or bool(np.abs(one.p - best.p).max() < near))
