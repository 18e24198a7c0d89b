"""Probabilities of rectangles by slices: a sum of positive terms, which keeps its digits where sums of corners do not.

The probability is integrated over one coordinate, whose slices are rectangles of the others. Along a thin side a few
slices do, as of the many people who are about to change their level together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.interval import ROOT_2PI, finite, gauss_legendre, given, log_sum

DEPTH = 80.0  # slices end where the density is exp(-DEPTH / 2) of its largest in the rectangle
LAYER = 8.0  # standard deviations to either side in which a slice's probability rises from 0 to 1
WIDE = 8.0  # layers of at least this half-width need no panels of their own
SLICES = 40  # nodes of a panel of slices
THIN = 0.05  # of a coordinate's deviation given the others: a side up to this has slices at THIN_SLICES nodes
THIN_SLICES = 4


LogProbability = Callable[[Array, Array, Array], Array]  # of a rectangle with one coordinate less


def sliced(a: Array, b: Array, R: Array, log_probability: LogProbability) -> Array:
    """(r,) log probabilities, along a thin side where there is one."""
    log_p, width = np.empty(a.shape[1]), b - a
    least = THIN / np.sqrt(np.diag(np.linalg.inv(R)))
    thinnest = np.where((width <= least[:, None]).any(axis=0), (width / least[:, None]).argmin(axis=0), -1)
    for k in np.unique(thinnest):
        rows = thinnest == k
        some = a[:, rows], b[:, rows], R
        log_p[rows] = _in_panels(*some, log_probability) if k < 0 else _thin(*some, int(k), log_probability)
    return log_p


def _thin(a: Array, b: Array, R: Array, k: int, log_probability: LogProbability) -> Array:
    """The integral along side k, so thin that all is smooth there."""
    nodes, w = gauss_legendre(THIN_SLICES)
    width = b[k] - a[k]
    x = a[k][:, None] + width[:, None] * (nodes + 1) / 2
    row = np.repeat(np.arange(width.size), THIN_SLICES)
    inside = log_probability(*given(a[:, row], b[:, row], R, k, x.ravel())).reshape(x.shape)
    with np.errstate(divide="ignore"):  # a side of no width
        return np.asarray(log_sum(inside - x**2 / 2 + np.log(w / 2)) + np.log(width) - np.log(ROOT_2PI))


def _in_panels(a: Array, b: Array, R: Array, log_probability: LogProbability) -> Array:
    """``log of the integral of Pr(others | e_k = x)`` over x, by panels that end where slices rise from 0 to 1."""
    k = int(np.argmin(np.abs(R - np.eye(len(R))).max(axis=0)))
    ends = _panels(a, b, R, k)
    panel, row = np.nonzero(np.diff(ends, axis=0) > 0)
    lo, hi = ends[panel, row], ends[panel + 1, row]
    nodes, w = gauss_legendre(SLICES)
    x = ((lo + hi)[:, None] + (hi - lo)[:, None] * nodes) / 2
    repeated = np.repeat(row, SLICES)
    inside = log_probability(*given(a[:, repeated], b[:, repeated], R, k, x.ravel())).reshape(x.shape)
    log_p = np.full((len(ends) - 1, a.shape[1]), -np.inf)
    log_p[panel, row] = log_sum(inside - x**2 / 2 + np.log((hi - lo)[:, None] * w / 2))
    return np.asarray(log_sum(log_p.T) - np.log(ROOT_2PI))


def _panels(a: Array, b: Array, R: Array, k: int) -> Array:
    """Ends of panels of x_k, ascending: what matters of the rectangle, and layers where the others enter or leave it.

    Given x_k and the sides h of F, coordinate j passes its own side h_j about ``x_k = (h_j - beta_F h_F) / beta_k``,
    beta the regression of j on (F, k).
    """
    others = [j for j in range(len(R)) if j != k]
    T = _least(a, b, R) + DEPTH
    lo, hi = np.maximum(a[k], _reach(a, b, R, k, T, -1)), np.minimum(b[k], _reach(a, b, R, k, T, 1))
    ends = [lo, hi]
    for j, F in ((j, F) for j in others for F in _subsets([i for i in others if i != j])):
        on = [*F, k]
        beta = np.linalg.solve(R[np.ix_(on, on)], R[on, j])
        width = LAYER * np.sqrt(1 - beta @ R[on, j])
        for h in product(*((a[i], b[i]) for i in (j, *F))) if width < WIDE * abs(beta[-1]) else ():
            rows = finite(*h)
            x = np.array(lo)  # of infinite sides there is no layer
            x[rows] = (h[0][rows] - sum(beta[n] * h[n + 1][rows] for n in range(len(F)))) / beta[-1]
            ends += [x - width / abs(beta[-1]), x + width / abs(beta[-1])]
    return np.sort(np.clip(ends, lo, hi), axis=0)


def _subsets(items: list[int]) -> list[tuple[int, ...]]:
    return [F for n in range(len(items) + 1) for F in combinations(items, n)]


def _reach(a: Array, b: Array, R: Array, k: int, T: Array, way: int) -> Array:
    """The least (way -1) or largest (way 1) x_k of the points with ``x' R^-1 x <= T`` and the others in the rectangle.

    It is that of some face: given sides h of F, ``x = mean + way cov(., k) sqrt((T - h' R_FF^-1 h) / var(k))``.
    """
    others = [j for j in range(len(R)) if j != k]
    best = np.full(T.size, -np.inf)
    for F in (np.array(F, dtype=np.intp) for F in _subsets(others)):
        W = R[:, F] @ np.linalg.inv(R[np.ix_(F, F)])
        C = R - W @ R[F]
        for sides in product((a, b), repeat=F.size):
            h = np.reshape([side[i] for side, i in zip(sides, F, strict=True)], (F.size, T.size))
            finite = np.isfinite(h).all(axis=0)
            h = np.where(finite, h, 0.0)
            room = T - (h * np.linalg.solve(R[np.ix_(F, F)], h)).sum(axis=0)
            x = W @ h + way * np.multiply.outer(C[:, k] / np.sqrt(C[k, k]), np.sqrt(np.maximum(room, 0.0)))
            slack = 1e-9 * (1 + np.abs(x))
            inside = ((a <= x + slack) & (x - slack <= b))[others].all(axis=0)
            best = np.where(finite & inside & (room >= 0), np.maximum(best, way * x[k]), best)
    return way * best


def _least(a: Array, b: Array, R: Array) -> Array:
    """The least value of ``x' R^-1 x`` in each rectangle: 0, or on one of its sides."""
    least = np.where(((a <= 0) & (b >= 0)).all(axis=0), 0.0, np.inf)
    for i, x in product(range(len(R)), (a, b)):
        at = np.where(np.isfinite(x[i]), x[i], 0.0)
        beyond = _least(*given(a, b, R, i, at)) if len(R) > 1 else 0.0
        least = np.minimum(least, np.where(np.isfinite(x[i]), at**2 + beyond, np.inf))
    return least
