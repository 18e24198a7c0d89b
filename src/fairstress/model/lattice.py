"""Probabilities of rectangles with four coordinates and more, integrated on the points of a lattice.

Each coordinate is integrated given those before it (Genz and Bretz, Computation of Multivariate Normal and t
Probabilities, 2009, chapter 4).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray
from fairstress.model.interval import Mass, interval, log_sum

POINTS, PARTS, POINTED = 512, 4, 64  # of the lattice, its shifted parts that tell the error, and rows at once


def many(a: Array, b: Array, R: Array) -> Mass:
    """Means over the lattice of products of ``Pr(e_i in its interval | those before)``."""
    order = _order(R)
    L, U = np.asarray(np.linalg.cholesky(R[np.ix_(order, order)]), dtype=float), _lattice(len(R) - 1)
    log_p, error = np.empty(a.shape[1]), np.empty(a.shape[1])
    for rows in (slice(start, start + POINTED) for start in range(0, log_p.size, POINTED)):
        log_f = _log_products(a[order, rows], b[order, rows], L, U)
        # every fourth point: a lattice too, each with a shift of its own
        parts = log_sum(log_f.reshape(-1, POINTS // PARTS, PARTS).swapaxes(1, 2)) - np.log(POINTS // PARTS)
        log_p[rows] = log_sum(parts) - np.log(PARTS)
        error[rows] = np.exp(parts - log_p[rows, None]).std(axis=1, ddof=1) / np.sqrt(PARTS)
    return Mass.of_log(log_p, error)


def _order(R: Array) -> IntArray:
    """Always next the coordinate that, given those before, is most correlated with those that are left.

    Of the last two, which are equal in this, the one that those before explain better: never one's place in R.
    """
    C, order = R, np.zeros(0, dtype=np.intp)
    left = np.arange(len(R))
    while left.size:
        sd = np.sqrt(np.diag(C))
        correlated = ((C / np.outer(sd, sd)) ** 2).sum(axis=0)
        k = int(np.lexsort((sd.round(4), -correlated.round(4)))[0])
        order = np.append(order, left[k])
        rest = np.delete(np.arange(left.size), k)
        C, left = C[np.ix_(rest, rest)] - np.outer(C[rest, k], C[k, rest]) / C[k, k], left[rest]
    return order


def _log_products(a: Array, b: Array, L: Array, U: Array) -> Array:
    """Logs of the products (r, n), for rows and points."""
    y = np.empty((len(U), a.shape[1], U.shape[1]))
    log_f = np.zeros(y.shape[1:])
    for i in range(len(U)):
        mean = np.tensordot(L[i, :i], y[:i], 1) if i else 0.0
        log_i, y[i] = _quantile((a[i][:, None] - mean) / L[i, i], (b[i][:, None] - mean) / L[i, i], U[i])
        log_f += log_i
    mean = np.tensordot(L[-1, :-1], y, 1)
    return log_f + interval((a[-1][:, None] - mean) / L[-1, -1], (b[-1][:, None] - mean) / L[-1, -1]).log_p


def _quantile(a: Array, b: Array, u: Array) -> tuple[Array, Array]:
    """Log probability of each interval, and the point below which lies the share u of it."""
    flip = a > -b
    lo, hi, u = np.where(flip, -b, a), np.where(flip, -a, b), np.where(flip, 1 - u, u)
    below, upto = special.ndtr(lo), special.ndtr(hi)
    p = upto - below
    x = special.ndtri(below + u * p)
    hard = (p <= 1e-9 * upto) | (hi < -35)  # too narrow, or too far out
    log_p = np.log(np.where(hard, 1.0, p))
    if hard.any():
        log_p[hard] = interval(lo[hard], hi[hard]).log_p
        hard = np.broadcast_to(hard, x.shape)
        log_below, log_upto, share = (
            np.broadcast_to(v, x.shape)[hard] for v in (special.log_ndtr(lo), special.log_ndtr(hi), u)
        )
        x[hard] = special.ndtri_exp(log_upto + np.log1p((1 - share) * np.expm1(log_below - log_upto)))
    x = np.clip(x, lo, hi)
    return log_p, np.where(flip, -x, x)


@lru_cache(maxsize=64)
def _lattice(d: int) -> Array:
    """Points (d, n) of a rank-1 lattice, shifted and folded by the baker's map, all their coordinates distinct.

    The generator is built component by component, for the worst-case error in the space of smooth periodic functions.
    """
    k, odd = np.arange(POINTS), np.arange(1, POINTS // 2, 2)
    x = np.outer(odd, k) % POINTS / POINTS
    kernel = 1 + 0.1 * 2 * np.pi**2 * (x**2 - x + 1 / 6)
    squared_error, generator = kernel[0], [1]
    while len(generator) < d:
        best = int(np.argmin(kernel @ squared_error))
        squared_error, generator = squared_error * kernel[best], [*generator, int(odd[best])]
    shift = np.floor(POINTS * (np.arange(1, d + 1) * (np.sqrt(5) - 1) / 2 % 1)) + 0.25
    points = (np.outer(generator, k) + shift[:, None]) / POINTS % 1
    return np.asarray(1 - np.abs(2 * points - 1))
