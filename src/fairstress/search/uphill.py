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
CLOSER = 0.02  # times the gain at which an ascent on it ends, from one tilt to the next
KEPT = 0.1  # of what the tilted sample promises: the least that all rows must keep


def uphill(problem: Problem, points: Array, tilts: Sequence[Tilt] = ()) -> list[End]:
    """An ascent from each of several points (g, q), in step."""
    if not len(points):
        return []
    return (climb_box if problem.members.is_box else climb)(problem, points, tilts)


def uphill_by_sample(problem: Problem, coarse: Problem, points: Array) -> list[End]:
    """The same for all rows, by the same problem on a sample; what the sample leads astray asks all rows each time."""
    values, slopes, _ = problem.values_and_gradients(points)
    all_ = [_Ascent(*one) for one in zip(points, values.tolist(), slopes, strict=True)]
    going = all_
    for turn in range(TILTS):
        _follow(problem, replace(coarse, precision=max(problem.precision, coarse.precision * CLOSER**turn)), going)
        going = [one for one in going if one.is_kept and not one.has_settled]
        if not going:
            break
    left = [i for i, one in enumerate(all_) if not one.has_settled]
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
        if value > one.value:
            one.p, one.value, one.slope = p, value, slope
