"""The worst case along the interval of a single confounded pair, interior maxima included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairstress.errors import Status
from fairstress.inputs.rows import Array, IntArray
from fairstress.search.members import Members
from fairstress.search.problem import End, Problem

LATTICE = 60  # points on either side of 0, denser towards -1 and 1
LEAST = 17  # points within any interval
PEAKS = 4  # that are refined
PRECISION = 1e-9  # of where a peak is


def line(problem: Problem) -> tuple[Array, Array]:
    """Points (g, 1) along the whole interval and the values there; those of the lattice are kept for other budgets."""
    low, high = float(problem.members.low[0]), float(problem.members.high[0])
    inside = _inside(low, high)
    new = [k for k in inside if k not in problem.along_line]
    own = [low, high] if len(inside) >= LEAST else [*np.linspace(low, high, LEAST)]
    values = problem.values(np.array([[p] for p in [*own, *map(_lattice, new)]]))
    problem.along_line.update(zip(new, values[len(own) :].tolist(), strict=True))
    grid = np.array([*own, *map(_lattice, inside)])
    known = np.array([*values[: len(own)], *(problem.along_line[k] for k in inside)])
    order = np.argsort(grid, kind="stable")
    return grid[order, None], known[order]


def lattice(members: Members) -> Array:
    """Points (g, 1) where `line` asks, within one pair's interval and smaller ones: the lattice's, and its ends."""
    low, high = float(members.low[0]), float(members.high[0])
    return np.array([low, *map(_lattice, _inside(low, high)), high])[:, None]


def _inside(low: float, high: float) -> list[int]:
    return [k for k in range(1 - LATTICE, LATTICE) if low < _lattice(k) < high]


def peaks(problem: Problem, points: Array, values: Array, *, on_sample: bool = False) -> list[End]:
    """The highest local maxima along the line, each refined; values that a sample of people gave only tell where."""
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    tops = np.flatnonzero((values > padded[:-2]) & (values >= padded[2:]))
    highest = tops[np.argsort(-values[tops], kind="stable")][:PEAKS]
    if on_sample:
        values = values.copy()
        values[highest] = problem.values(points[highest])
    if values[highest].max() <= problem.negligible:
        best = highest[int(values[highest].argmax())]
        return [(points[best], float(values[best]), Status.CONVERGED)]
    leading_out = _leads_out(problem, points, highest)
    return [
        (points[i], float(values[i]), Status.CONVERGED) if out else _refined(problem, points, values, int(i))
        for i, out in zip(highest, leading_out, strict=True)
    ]


def _lattice(k: int) -> float:
    return float(np.sin(np.pi * k / (2 * LATTICE)))


def _leads_out(problem: Problem, points: Array, tops: IntArray) -> NDArray[np.bool_]:
    """Which of some peaks are ends of the interval from which uphill leads outwards."""
    outwards = np.where(tops == 0, -1.0, np.where(tops == len(points) - 1, 1.0, 0.0))
    ends = outwards != 0
    out = np.zeros(tops.size, dtype=bool)
    if ends.any() and problem.has_slopes:
        slopes = problem.values_and_gradients(points[tops[ends]])[1][:, 0]
        out[ends] = outwards[ends] * slopes >= 0
    return out


def _refined(problem: Problem, points: Array, values: Array, i: int) -> End:
    """Narrow the bracket of a peak."""
    peak, last = (points[i], float(values[i]), Status.CONVERGED), len(points) - 1
    bracket = float(points[max(i - 1, 0), 0]), float(points[min(i + 1, last), 0])
    p = (_level if problem.has_slopes else _highest)(problem, *bracket)
    value = float(problem.values(np.array([[p]]))[0])
    return (np.array([p]), value, Status.CONVERGED) if value > peak[1] else peak


def _level(problem: Problem, low: float, high: float) -> float:
    """Where the slope, from rising to falling, is 0; where it does not go from one to the other, the higher end.

    A sample of people may have put the peak of all a little aside.
    """
    from scipy import optimize  # takes long to import, and only searches need it

    def slope(p: float) -> float:
        return float(problem.value_and_gradient(np.array([p]))[1][0])

    if slope(low) > 0 > slope(high):
        return float(optimize.brentq(slope, low, high, xtol=PRECISION, rtol=1e-12))
    left, right = problem.values(np.array([[low], [high]]))
    return low if left > right else high


def _highest(problem: Problem, low: float, high: float) -> float:
    """Where the value is largest, by values alone."""
    from scipy import optimize

    def loss(p: float) -> float:
        return -float(problem.values(np.array([[p]]))[0])

    return float(optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": PRECISION}).x)
