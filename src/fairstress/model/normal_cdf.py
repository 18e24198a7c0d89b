"""The log of the standard normal's distribution function, with its derivative, read off a table.

With ``L = log Normal_cdf`` and ``h = L' = density / Normal_cdf``, the hazard, all derivatives follow from h and t::

    h' = -h (t + h),   h'' = -h' (t + h) - h (1 + h'),   h''' = -h'' (t + h) - 2 h' (1 + h') - h h''

So Taylor's series around the nearest of many points, at which L and h are known, gives both to all digits, several
times as fast as special functions do. Model B behind a threshold spends most of its time here.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array

PER_UNIT = 512  # points of the table in an interval of length 1, a power of 2: differences from them are exact
FURTHEST = 8  # the table's ends; beyond them special functions do
SHIFT = 1.5 * 2.0**52 / PER_UNIT  # doubles of this size are whole multiples of 1 / PER_UNIT
FIRST = int(np.float64(SHIFT - FURTHEST).view(np.int64))  # such a double's bits, read as a number, count the multiples


def log_normal_cdf(t: Array) -> tuple[Array, Array]:
    """Log of the standard normal's distribution function, with its derivative, density over distribution function."""
    if t.size == 0 or (t.min() >= -FURTHEST and t.max() <= FURTHEST):
        return _from_table(t)
    outside = ~(np.abs(t) <= FURTHEST)  # or no number at all
    log_cdf, hazard = _from_table(np.where(outside, 0.0, t))
    log_cdf[outside], hazard[outside] = by_special_functions(t[outside])
    return log_cdf, hazard


def _from_table(t: Array) -> tuple[Array, Array]:
    """The same within the table, by Horner's rule for a polynomial and its derivative at once, mostly in place."""
    shifted = np.add(t, SHIFT)  # rounds to the nearest point
    d = t - (shifted - SHIFT)
    place = shifted.view(np.int64)
    place -= FIRST
    c = SLOPES.take(place, axis=0)
    hazard = c[..., 3] * d
    log_cdf = c[..., 2] + hazard
    hazard += log_cdf
    for k in (1, 0):
        log_cdf *= d
        log_cdf += c[..., k]
        hazard *= d
        hazard += log_cdf
    log_cdf *= d
    log_cdf += VALUES.take(place)
    return log_cdf, hazard


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
