"""The sums of `fairstress.model.threshold_columns`, compiled by numba: a few rows at a time, each column of them a row.

Importing this takes numba, and time.
"""

from __future__ import annotations

import numpy as np

from fairstress.bench import ROWS, add_products, add_tile, aligned, fast, fast_sum, put
from fairstress.compiling import TILE
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.normal_cdf import FURTHEST, PER_UNIT, SHIFT

A, WEIGHT, T, D, LOG_CDF, HAZARD, SLOPE, FACTOR = range(8)  # numbers that there is one of
MIDDLE = FURTHEST * PER_UNIT  # where the table has 0
MASK = 4 * MIDDLE - 1  # no place in the table is beyond it, and no index that it leaves can be negative
TERMS = 20  # of a continued fraction that from FURTHEST on has all digits after 14
ROOT = np.sqrt(2 * np.pi)


@fast
def sums(B: Array, a: Array, weight: Array, values: Array, slopes: Array, y: Array) -> tuple[Array, Array, Array]:
    """Log cdf (g,), slope (g, d) and curvature (g, d, d) for each y (g, d), from columns (d, r) and a table."""
    d, g = len(B), len(y)
    k = d + -d % TILE  # filled up with columns of nothing
    columns, weighed, row = aligned(k), aligned(TILE), aligned(8)
    place = np.empty(ROWS, np.intp)
    own, log_cdf, slope, curvature = np.zeros((g, k)), np.zeros(g), np.zeros((g, k)), np.zeros((g, k, k))
    own[:, :d] = y
    for first in range(0, a.size, ROWS):
        put(a[first : first + ROWS], row, A)
        put(weight[first : first + ROWS], row, WEIGHT)
        for j in range(d):
            put(B[j, first : first + ROWS], columns, j)
        for i in range(g):
            _combine(own[i], columns, row)
            beyond = _find(row, place)
            _look_up(values, slopes, place, row)
            if beyond > 0:
                _look_beyond(row)
            log_cdf[i] += _weigh(row)
            _add(columns, row, weighed, slope[i], curvature[i])
    return log_cdf, slope[:, :d].copy(), _mirrored(curvature, d)


@fast
def _combine(y: Array, B: Array, row: Array) -> None:
    """``t = a B y``, several columns at once."""
    for r in range(ROWS):
        row[T, r] = 0.0
    for j in range(0, len(B), TILE):
        y0, y1, y2, y3 = y[j], y[j + 1], y[j + 2], y[j + 3]
        for r in range(ROWS):
            row[T, r] += (y0 * B[j, r] + y1 * B[j + 1, r]) + (y2 * B[j + 2, r] + y3 * B[j + 3, r])
    for r in range(ROWS):
        row[T, r] *= row[A, r]


# ---------------------------------------------------------------- the distribution function


@fast
def _find(row: Array, place: IntArray) -> int:
    """The table's nearest points, and how far t are from them; how many t lie beyond it, or are no number at all."""
    beyond = 0
    for r in range(ROWS):
        is_within = abs(row[T, r]) <= FURTHEST
        beyond += 0 if is_within else 1
        t = row[T, r] if is_within else 0.0
        nearest = t + SHIFT - SHIFT
        row[D, r] = t - nearest
        place[r] = int(nearest * PER_UNIT) + MIDDLE
    return beyond


@fast
def _look_up(values: Array, slopes: Array, place: IntArray, row: Array) -> None:
    """Log cdf and hazard by Taylor's series, as `fairstress.model.normal_cdf` does."""
    for r in range(ROWS):
        p, d = place[r] & MASK, row[D, r]
        hazard = slopes[p, 3] * d
        log_cdf = slopes[p, 2] + hazard
        hazard += log_cdf
        log_cdf = log_cdf * d + slopes[p, 1]
        hazard = hazard * d + log_cdf
        log_cdf = log_cdf * d + slopes[p, 0]
        row[HAZARD, r] = hazard * d + log_cdf
        row[LOG_CDF, r] = log_cdf * d + values[p]


@fast
def _look_beyond(row: Array) -> None:
    """The same beyond the table."""
    for r in range(ROWS):
        if not abs(row[T, r]) <= FURTHEST:
            row[LOG_CDF, r], row[HAZARD, r] = _tail(row[T, r])


@fast
def _tail(t: float) -> tuple[float, float]:
    """Log cdf and hazard far out, by Laplace's continued fraction: ``x + 1/(x + 2/(x + 3/(x + ...)))``, x = abs(t).

    It is the density over the smaller part of the distribution. Above, that part is below a double's rounding of 1.
    """
    x = abs(t)
    ratio = x
    for k in range(TERMS, 0, -1):
        ratio = x + k / ratio
    if t < 0:
        return -(x**2) / 2 - np.log(ROOT * ratio), ratio
    density = np.exp(-(x**2) / 2) / ROOT
    return -density / ratio, density


# ---------------------------------------------------------------- sums


@fast
def _weigh(row: Array) -> float:
    """What the log cdf adds up to; factors of columns, and of products of two, stay on the bench."""
    for r in range(ROWS):
        hazard = row[WEIGHT, r] * row[HAZARD, r]
        row[SLOPE, r] = row[A, r] * hazard
        row[FACTOR, r] = hazard * (row[T, r] + row[HAZARD, r])
    total: float = _product(row, WEIGHT, LOG_CDF)
    return total


@fast_sum
def _product(row: Array, i: int, j: int) -> float:
    total = 0.0
    for r in range(ROWS):
        total += row[i, r] * row[j, r]
    return total


@fast
def _add(columns: Array, row: Array, weighed: Array, slope: Array, curvature: Array) -> None:
    """Add up columns, and the upper triangle of products of two, tile by tile."""
    for j in range(0, len(columns), TILE):
        add_products(row, SLOPE, columns, j, slope)
    for i in range(0, len(columns), TILE):
        own = curvature[i : i + TILE]
        for j in range(TILE):
            _multiply(columns, i + j, row, FACTOR, weighed, j)
        for j in range(i, len(columns), TILE):
            add_tile(weighed, 0, columns, j, own)


@fast
def _multiply(columns: Array, j: int, row: Array, i: int, found: Array, k: int) -> None:
    for r in range(ROWS):
        found[k, r] = columns[j, r] * row[i, r]


@fast
def _mirrored(upper: Array, d: int) -> Array:
    """(g, d, d) matrices whose lower triangles are what the upper ones are."""
    found = np.empty((len(upper), d, d))
    for i in range(d):
        for j in range(i, d):
            found[:, i, j] = upper[:, i, j]
            found[:, j, i] = upper[:, i, j]
    return found
