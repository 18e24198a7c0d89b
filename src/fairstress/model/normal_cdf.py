"""The log of the standard normal's distribution function, with its derivative, read off a table.

With ``L = log Normal_cdf`` and ``h = L' = density / Normal_cdf``, the hazard, all derivatives follow from h and t::

    h' = -h (t + h),   h'' = -h' (t + h) - h (1 + h'),   h''' = -h'' (t + h) - 2 h' (1 + h') - h h''

So Taylor's series around the nearest of many points, at which L and h are known, gives both to all digits, several
times as fast as special functions do. Model B behind a threshold spends most of its time here.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray

PER_UNIT = 512  # points of the table in an interval of length 1, a power of 2: differences from them are exact
FURTHEST = 8  # the table's ends; beyond them special functions do
SHIFT = 1.5 * 2.0**52 / PER_UNIT  # doubles of this size are whole multiples of 1 / PER_UNIT
FIRST = int(np.float64(SHIFT - FURTHEST).view(np.int64))  # such a double's bits, read as a number, count the multiples


def log_normal_cdf(t: Array) -> tuple[Array, Array]:
    """Log of the standard normal's distribution function, with its derivative, density over distribution function."""
    if _is_within(t):
        return _from_table(t)
    outside = ~(np.abs(t) <= FURTHEST)  # or no number at all
    log_cdf, hazard = _from_table(np.where(outside, 0.0, t))
    log_cdf[outside], hazard[outside] = by_special_functions(t[outside])
    return log_cdf, hazard


def hazard_of(t: Array) -> Array:
    """The derivative alone, in half the time."""
    if _is_within(t):
        return _hazard_from_table(t)
    outside = ~(np.abs(t) <= FURTHEST)
    hazard = _hazard_from_table(np.where(outside, 0.0, t))
    hazard[outside] = by_special_functions(t[outside])[1]
    return hazard


def _is_within(t: Array) -> bool:
    """Whether the table has all of these."""
    return t.size == 0 or bool(t.min() >= -FURTHEST and t.max() <= FURTHEST)


def _from_table(t: Array) -> tuple[Array, Array]:
    """Both within the table, by Horner's rule for a polynomial and its derivative at once, mostly in place."""
    place, d = _nearest(t)
    hazard, log_cdf, c = _COEFFICIENTS[3].take(place, mode="clip"), np.empty_like(d), np.empty_like(d)
    hazard *= d
    _COEFFICIENTS[2].take(place, mode="clip", out=log_cdf)
    log_cdf += hazard
    hazard += log_cdf
    for k in (1, 0):
        log_cdf *= d
        log_cdf += _COEFFICIENTS[k].take(place, mode="clip", out=c)
        hazard *= d
        hazard += log_cdf
    log_cdf *= d
    log_cdf += VALUES.take(place, mode="clip", out=c)
    return log_cdf, hazard


def _hazard_from_table(t: Array) -> Array:
    """The derivative within the table."""
    place, d = _nearest(t)
    hazard, c = np.empty_like(d), np.empty_like(d)
    _OF_HAZARD[3].take(place, mode="clip", out=hazard)
    for k in (2, 1, 0):
        hazard *= d
        hazard += _OF_HAZARD[k].take(place, mode="clip", out=c)
    return hazard


def _nearest(t: Array) -> tuple[IntArray, Array]:
    """Where the nearest points stand in the table, and how far t is from them."""
    shifted = np.add(t, SHIFT)  # rounds to the nearest point
    d = shifted - SHIFT
    np.subtract(t, d, out=d)
    place = shifted.view(np.int64)
    place -= FIRST
    return place, d


def by_special_functions(t: Array) -> tuple[Array, Array]:
    """The same without a table."""
    log_cdf = np.asarray(special.log_ndtr(t))
    return log_cdf, np.asarray(np.exp(-(t**2) / 2 - log_cdf) / np.sqrt(2 * np.pi))


def _table() -> tuple[Array, Array]:
    """Taylor's series of L around each point: constants, and the four other coefficients side by side."""
    t = np.arange(-FURTHEST * PER_UNIT, FURTHEST * PER_UNIT + 1) / PER_UNIT
    L, h = by_special_functions(t)
    h1 = -h * (t + h)
    h2 = -h1 * (t + h) - h * (1 + h1)
    h3 = -h2 * (t + h) - 2 * h1 * (1 + h1) - h * h2
    return L, np.stack([h, h1 / 2, h2 / 6, h3 / 24], axis=1)


VALUES, SLOPES = _table()
_COEFFICIENTS = np.ascontiguousarray(SLOPES.T)  # a column at a time is read faster, and needs no room for four
_OF_HAZARD = _COEFFICIENTS * np.arange(1.0, 5.0)[:, None]
