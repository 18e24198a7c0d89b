"""The worst case along the interval of a single confounded pair, interior maxima included."""

from __future__ import annotations

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.search.problem import End, Problem

LATTICE = 60  # points on either side of 0, denser towards -1 and 1
LEAST = 17  # points within any interval
PEAKS = 4  # that are refined


def line(problem: Problem) -> tuple[Array, Array]:
    """Points (g, 1) along the whole interval and the values there; those of the lattice are kept for other budgets."""
    low, high = float(problem.members.low[0]), float(problem.members.high[0])
    inside = [k for k in range(1 - LATTICE, LATTICE) if low < _lattice(k) < high]
    new = [k for k in inside if k not in problem.along_line]
    own = [low, high] if len(inside) >= LEAST else [*np.linspace(low, high, LEAST)]
    values = problem.values(np.array([[p] for p in [*own, *map(_lattice, new)]]))
    problem.along_line.update(zip(new, values[len(own) :].tolist(), strict=True))
    grid = np.array([*own, *map(_lattice, inside)])
    known = np.array([*values[: len(own)], *(problem.along_line[k] for k in inside)])
    order = np.argsort(grid, kind="stable")
    return grid[order, None], known[order]


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
    return [_refined(problem, points, values, int(i)) for i in highest]


def _lattice(k: int) -> float:
    return float(np.sin(np.pi * k / (2 * LATTICE)))


def _refined(problem: Problem, points: Array, values: Array, i: int) -> End:
    """Narrow the bracket of a peak, unless it is an end of the interval from which uphill leads outwards."""
    from scipy import optimize  # takes long to import, and only searches need it

    peak, last = (points[i], float(values[i]), Status.CONVERGED), len(points) - 1
    if i in (0, last) and problem.has_slopes:
        outwards = 1.0 if i else -1.0
        if outwards * problem.value_and_gradient(points[i])[1][0] >= 0:
            return peak
    bracket = float(points[max(i - 1, 0), 0]), float(points[min(i + 1, last), 0])
    best = optimize.minimize_scalar(
        lambda p: -float(problem.values(np.array([[p]]))[0]),
        bounds=bracket,
        method="bounded",
        options={"xatol": 1e-9},
    )
    return (np.array([best.x]), -float(best.fun), Status.CONVERGED) if -best.fun > peak[1] else peak
