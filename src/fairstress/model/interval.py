"""One coordinate of a normal law: the probability of an interval, and what is left of the others given its value.

Bounds are in standard deviations and stand as ``a, b``; of several coordinates they are (d, r), and R is their
correlation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray

SINGULAR = 1 - 1e-14  # correlations beyond are rounding
CLOSE = 0.1  # a difference of distribution functions this much smaller than the larger one has lost a digit
TAIL = -8.0  # intervals below have their densities kept apart
NOTHING = -40.0  # below, the distribution function is 0

ROOT_2PI = float(np.sqrt(2 * np.pi))
EVERYWHERE = slice(None)

Places = slice | IntArray  # of rows
Given = tuple[Array, Array, Array]  # a, b and R of the other coordinates


@dataclass(frozen=True, slots=True, eq=False)
class Mass:
    """``Pr = share exp(-peak^2 / 2)``: far out the two factors keep digits that their product has no room for."""

    share: Array  # (r,)
    peak: Array | float = 0.0
    error: Array | float = 0.0  # relative, of the probability

    @classmethod
    def of_log(cls, log_p: Array, error: Array | float = 0.0) -> Mass:
        """All of it in the peak."""
        return cls(np.ones_like(log_p), np.sqrt(np.maximum(-2 * log_p, 0.0)), error)

    @property
    def log_p(self) -> Array:
        """The logarithm; minus infinity where there is no mass."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.share) - self.peak * self.peak / 2)

    @property
    def p(self) -> Array:
        """The probability itself, which may be too small for a number."""
        return self.share if np.ndim(self.peak) == 0 else self.share * np.exp(-self.peak * self.peak / 2)


def interval(a: Array, b: Array) -> Mass:
    """``Normal_cdf(b) - Normal_cdf(a)``, by the mirror image that lies lower: ``lo <= -|hi|``."""
    minus_b = -b
    flip = a > minus_b
    lo, hi = np.where(flip, minus_b, a), np.where(flip, -a, b)
    upto = special.ndtr(hi)
    share = upto - _below(lo)
    hard = (share <= CLOSE * upto) | (hi < TAIL)
    if not hard.any():
        return Mass(share)
    peak = np.zeros(share.shape)
    share[hard], peak[hard] = _scaled(lo[hard], hi[hard])
    return Mass(share, peak)


def _below(x: Array) -> Array:
    """``Normal_cdf(x)``, where x may often be minus infinity: that costs nothing."""
    somewhere = x > NOTHING
    if somewhere.all():
        return np.asarray(special.ndtr(x))
    below, where = np.zeros(x.shape), np.nonzero(somewhere)
    below[where] = special.ndtr(x[where])
    return below


def _scaled(lo: Array, hi: Array) -> tuple[Array, Array]:
    """Share and peak of intervals that are narrow or far out, by the scaled ``erfcx(x) = exp(x^2) erfc(x)``."""
    peak = np.minimum(hi, 0.0)
    with np.errstate(over="ignore"):
        near = special.erfcx(np.abs(hi) * np.sqrt(0.5)) / 2
        far = special.erfcx(lo * -np.sqrt(0.5)) * np.exp((hi - lo) * (hi + lo) / 2) / 2
    around = 1 - np.exp(-(np.maximum(hi, 0.0) ** 2) / 2) * (near + far)
    share = np.where(hi > 0, around, np.maximum(near - far, 0.0))
    narrow = (hi - lo < 0.25) & ((hi - lo) * lo > -0.5)
    share[narrow] = _narrow(lo[narrow], hi[narrow], peak[narrow])
    return share, peak


def _narrow(lo: Array, hi: Array, peak: Array) -> Array:
    """The share of a narrow interval: its width times the mean of its density, relative to the density at the peak."""
    x, w = gauss_legendre(6)
    z = ((lo + hi)[:, None] + (hi - lo)[:, None] * x) / 2
    mean = np.exp((peak[:, None] - z) * (peak[:, None] + z) / 2) @ (w / 2)
    return np.asarray(np.maximum(hi - lo, 0.0) * mean / ROOT_2PI)


def given(a: Array, b: Array, R: Array, i: int, x: Array, rows: Places = EVERYWHERE) -> Given:
    """The rectangle of the other coordinates given ``e_i = x`` in some rows, in conditional standard deviations."""
    j = [n for n in range(len(R)) if n != i]
    slope, R_j = R[j, i], R[np.ix_(j, j)]
    sd = np.sqrt((1 - slope) * (1 + slope))
    C = np.clip((R_j - np.outer(slope, slope)) / np.outer(sd, sd), -SINGULAR, SINGULAR)
    np.fill_diagonal(C, 1.0)
    lower, upper = np.empty((len(j), x.size)), np.empty((len(j), x.size))
    for n, k in enumerate(j):
        mean = slope[n] * x
        lower[n], upper[n] = (a[k, rows] - mean) / sd[n], (b[k, rows] - mean) / sd[n]
    return lower, upper, C


def finite(*sides: Array) -> Places:
    """Where all of them are finite; everywhere as a slice, which copies nothing."""
    where = np.isfinite(sides[0])
    for side in sides[1:]:
        where &= np.isfinite(side)
    return EVERYWHERE if where.all() else np.flatnonzero(where)


@lru_cache(maxsize=256)
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(n)


def log_sum(x: Array) -> Array:
    """``log sum exp`` along the last axis."""
    top = np.maximum(x.max(axis=-1), -1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))
