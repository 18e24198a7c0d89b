"""Ascents by an optimiser of others' making: what it is to make small, and many of them in step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit
from fairstress.search.in_step import in_step
from fairstress.search.problem import Answer, Ask, End, Problem, Question

MOST = 300  # values for one ascent: one that keeps trying to go on where nothing is to be gained ends here


class AskedEnoughError(Exception):
    """An ascent has asked for so many values that it is to end where it is."""


@dataclass(slots=True, eq=False)
class Loss:
    """A loss with its derivative in an optimiser's own coordinates z.

    Above where an ascent sets out it is the negative logarithm of the value, so that steps, and the gain at which the
    ascent ends, are relative to where it is and not to where it set out: hidden causes can make CFU grow manifold.
    """

    ask: Ask
    point: Callable[[Array], Array]  # where z lies
    pull_back: Callable[[Array, Array], Array]  # derivative by z of what has a derivative g at the point
    unit: float  # size of the value where the ascent sets out
    best: tuple[float, Array] = field(default=(math.inf, np.zeros(0)), init=False)  # the least loss, and where
    _asked: int = field(default=0, init=False)
    _last: Fit | None = field(default=None, init=False)  # what the next fit sets out from

    def __call__(self, z: Array) -> tuple[float, Array]:
        """Loss and derivative at z."""
        if self._asked == MOST:
            raise AskedEnoughError
        self._asked += 1
        value, g, self._last = self.ask((self.point(z), self._last))
        height, rise = _damped(value / self.unit)
        if -height < self.best[0]:
            self.best = -height, z.copy()
        return -height, -rise / self.unit * self.pull_back(z, g)


def _damped(v: float) -> tuple[float, float]:
    """``log v`` above 1 and ``v - 1`` below, a smooth increasing function, with its derivative."""
    return (math.log(v), 1 / v) if v > 1 else (v - 1, 1.0)


# ---------------------------------------------------------------- many in step


@dataclass(frozen=True, slots=True, eq=False)
class Tilt:
    """What one ascent adds to values on a sample, so that at one point value and slope are those with all rows."""

    p: Array  # (q,) where
    value: float
    slope: Array  # (q,)

    @classmethod
    def none(cls, p: Array) -> Tilt:
        """Nothing is added."""
        return cls(p, 0.0, np.zeros_like(p))

    def at(self, p: Array) -> float:
        """What is added at a point."""
        return self.value + float((p - self.p) @ self.slope)

    def add(self, ask: Ask, question: Question) -> Answer:
        """The answer to a question with what is added."""
        value, slope, fit = ask(question)
        return value + self.at(question[0]), slope + self.slope, fit


class Climb(Protocol):
    """One ascent: where it ends, and how."""

    def __call__(self, problem: Problem, p: Array, unit: float, ask: Ask) -> tuple[Array, Status]:
        """Set out from a point p (q,) whose value is of a size ``unit``."""
        ...


def together(problem: Problem, points: Array, climb: Climb, tilts: Sequence[Tilt] = ()) -> list[End]:
    """An ascent from each of several points (g, q), in step; one that does not rise ends where it began."""
    tilts = tilts or [Tilt.none(p) for p in points]
    starts = _heights(problem, points, tilts)
    ways = [partial(_ascent, problem, climb, *one) for one in zip(points, starts, tilts, strict=True)]
    found = in_step(ways, problem.answers)
    heights = _heights(problem, np.array([end for end, _ in found]), tilts)
    both = zip(points, starts, found, heights, strict=True)
    return [(end, high, status) if high > start else (p, start, status) for p, start, (end, status), high in both]


def _ascent(problem: Problem, climb: Climb, p: Array, start: float, tilt: Tilt, ask: Ask) -> tuple[Array, Status]:
    return climb(problem, p, max(abs(start), 1e-300), partial(tilt.add, ask))


def _heights(problem: Problem, points: Array, tilts: Sequence[Tilt]) -> list[float]:
    """The value at each of several points (g, q), as the ascent that is there sees it."""
    values = problem.values(points).tolist()
    return [value + tilt.at(p) for value, p, tilt in zip(values, points, tilts, strict=True)]
