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


def log_normal_cdf(t: Array) -> tuple[Array, Array]:
    """Log of the standard normal's distribution function, with its derivative, density over distribution function."""
    near = np.rint(t * PER_UNIT)
    np.minimum(np.maximum(near, -FURTHEST * PER_UNIT, out=near), FURTHEST * PER_UNIT, out=near)
    place = near.astype(np.intp)
    place += FURTHEST * PER_UNIT
    d = t - near / PER_UNIT
    L, h, h1, h2, h3 = (column.take(place) for column in _TABLE)
    log_cdf = L + d * (h + d * (h1 / 2 + d * (h2 / 6 + d * (h3 / 24))))
    hazard = h + d * (h1 + d * (h2 / 2 + d * (h3 / 6)))
    if max(d.max(initial=0), -d.min(initial=0)) > 1 / PER_UNIT:
        outside = np.abs(d) > 1 / PER_UNIT
        log_cdf[outside], hazard[outside] = by_special_functions(t[outside])
    return log_cdf, hazard


def by_special_functions(t: Array) -> tuple[Array, Array]:
    """The same without a table."""
    log_cdf = np.asarray(special.log_ndtr(t))
    return log_cdf, np.asarray(np.exp(-(t**2) / 2 - log_cdf) / np.sqrt(2 * np.pi))


def _table() -> tuple[Array, ...]:
    t = np.arange(-FURTHEST * PER_UNIT, FURTHEST * PER_UNIT + 1) / PER_UNIT
    L, h = by_special_functions(t)
    h1 = -h * (t + h)
    h2 = -h1 * (t + h) - h * (1 + h1)
    h3 = -h2 * (t + h) - 2 * h1 * (1 + h1) - h * h2
    return L, h, h1, h2, h3


_TABLE = _table()
