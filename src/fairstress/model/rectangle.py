"""Probabilities of rectangles under a multivariate normal law, with derivatives of their logarithms, row by row.

All rows share one covariance, so that they share quadrature nodes. Inside, bounds are in standard deviations and stand
as ``a, b`` (d, r), coordinates first; R is the correlation. One coordinate has a closed form. Two and three start where
one coordinate is independent of the others, and add what its correlations bring, by Plackett's identity: the
derivative of the probability by ``R_ik`` is the density at the corners of (i, k) times the probability of the others
given them. Where that subtracts nearly equal numbers, and only there, the probability is integrated in slices. Four and
more are integrated on a lattice.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray
from fairstress.model.interval import (
    EVERYWHERE,
    ROOT_2PI,
    SINGULAR,
    Mass,
    Places,
    finite,
    gauss_legendre,
    given,
    interval,
)
from fairstress.model.lattice import many
from fairstress.model.slices import sliced

BLOCK = 4096  # rows at once, so that nodes by rows stay in the cache
INDEPENDENT = 1e-14  # correlations up to here count as 0
NODES = {2: (7, 10), 3: (10, 12)}  # by d: of Plackett's integral up to ``tanh v``, and for each unit of v
CANCELLED = {2: 1e-3, 3: 1e-5}  # by d: a sum this much smaller than its terms has lost too many digits
FAR = 1e-10  # of probabilities below, Plackett's integrand changes too fast for its nodes
SLICED = 512  # rows at once in slices
HIDDEN = 1e3  # times the sum over a person's rectangles: terms below this cost it no digit that counts


@dataclass(frozen=True, slots=True, eq=False)
class Rectangles:
    """Log probabilities of one rectangle for each row, with derivatives by ``(lower_1..lower_d, upper_1..upper_d)``."""

    log_probability: Array  # (r,)
    gradient: Array | None  # (r, 2d); 0 where a bound is infinite
    hessian: Array | None  # (r, 2d, 2d)
    error: float  # estimated relative error of the probabilities, root mean square over rows; 0 where exact


def rectangles(
    lower: Array, upper: Array, S: Array, *, derivatives: int = 0, owner: IntArray | None = None
) -> Rectangles:
    """``log Pr(lower < e <= upper)`` for each row, e normal with mean 0 and covariance S.

    Parameters
    ----------
    lower, upper
        (r, d) bounds, infinite ones too. A row with an empty interval has log probability minus infinity; with
        derivatives there must be none.
    S
        (d, d) positive definite covariance, the same for all rows. Groups of coordinates that are independent of each
        other are taken apart: the largest of them tells how exact and how fast the answer is.
    derivatives
        0 for probabilities, 1 for their gradients too, 2 for gradients and Hessians.
    owner
        (r,) the person of each row, ascending, where only a row's share in the sum over its person's rows matters: of
        rows that are next to nothing beside that sum no relative digits are sought. Without derivatives.

    Examples
    --------
    >>> quadrant = rectangles(np.zeros((1, 2)), np.full((1, 2), np.inf), np.array([[1, 0.5], [0.5, 1]]))
    >>> np.exp(quadrant.log_probability).round(6).tolist()
    [0.333333]
    """
    r, d = lower.shape
    scale = np.sqrt(np.diag(S))
    R, per = S / np.outer(scale, scale), 1 / np.tile(scale, 2)
    empty = (upper <= lower).any(axis=1)
    a, b = (np.where(empty, end, bound.T / scale[:, None]) for bound, end in ((lower, -np.inf), (upper, np.inf)))
    log_p, square = np.where(empty, -np.inf, 0.0), np.zeros(r)
    g = np.zeros((2 * d, r)) if derivatives > 0 else None
    H = np.zeros((2 * d, 2 * d, r)) if derivatives > 1 else None
    parts = _components(R)
    for c, rows in product(parts, _blocks(r)):
        part, (first, second) = (a[c, rows], b[c, rows], R[np.ix_(c, c)]), _places(c, d)
        mass = _connected(*part, None if owner is None or len(parts) > 1 else owner[rows])
        log_p[rows] += mass.log_p
        square[rows] += mass.error**2
        if g is not None:
            g[second, rows], curvature = _derivatives(*part, mass, second=H is not None)
            if H is not None:
                H[first, second, rows] = curvature
    gradient = None if g is None else np.multiply(g, per[:, None], out=g).T
    hessian = None if H is None else np.moveaxis(np.multiply(H, np.outer(per, per)[:, :, None], out=H), -1, 0)
    return Rectangles(log_p, gradient, hessian, float(np.sqrt(square.mean())) if r else 0.0)


# ---------------------------------------------------------------- mathematics


def _blocks(r: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, r)) for start in range(0, r, BLOCK)]


def _places(c: IntArray, d: int) -> tuple[Places, Places]:
    """Where the sides of some coordinates stand in a Hessian; all of them as slices, which are faster."""
    sides = np.append(c, c + d)
    return (EVERYWHERE, EVERYWHERE) if c.size == d else (sides[:, None], sides)


def _components(R: Array) -> list[IntArray]:
    """The coordinates of each connected part of R."""
    linked = np.abs(R) > INDEPENDENT
    if linked.all():
        return [np.arange(len(R))] if len(R) else []
    for _ in range(len(R) - 1):
        linked = linked @ linked
    return [np.flatnonzero(row) for row in np.unique(linked, axis=0)]


def _log_probability(a: Array, b: Array, R: Array) -> Array:
    log_p = np.empty(a.shape[1])
    for rows in _blocks(log_p.size):
        log_p[rows] = _probability(a[:, rows], b[:, rows], R).log_p
    return log_p


def _probability(a: Array, b: Array, R: Array) -> Mass:
    """The product over connected parts, without its error; 1 where there are no coordinates."""
    if len(R) < 2:
        return interval(a[0], b[0]) if len(R) else Mass(np.ones(1))
    parts = [_connected(a[c], b[c], R[np.ix_(c, c)]) for c in _components(R)]
    if len(parts) == 1:
        return parts[0]
    square = sum(part.peak * part.peak for part in parts)
    return Mass(np.prod([part.share for part in parts], axis=0), np.sqrt(square))


def _connected(a: Array, b: Array, R: Array, owner: IntArray | None = None) -> Mass:
    if len(R) == 1:
        return interval(a[0], b[0])
    if len(R) == 2:
        return _two(a, b, float(R[0, 1]), owner)
    return _three(a, b, R, owner) if len(R) == 3 else many(a, b, R)


def _derivatives(a: Array, b: Array, R: Array, mass: Mass, *, second: bool) -> tuple[Array, Array]:
    """Gradient (2d, r) and Hessian (2d, 2d, r) of the log probability by the sides (a, b).

    ``d Pr / d x_p`` is the density of the side's coordinate i times Pr of the others given it, with a minus for lower
    sides; ``d2 Pr / d x_p^2 = -x_p d Pr / d x_p - sum_j R_ij (d2 Pr / d x_p d b_j + d2 Pr / d x_p d a_j)``.
    """
    d, r = a.shape
    g, h = np.zeros((2 * d, r)), np.zeros((2 * d if second else 0, 2 * d, r))
    per, peak = 1 / (ROOT_2PI * mass.share), np.broadcast_to(mass.peak, r)
    for i in range(d):
        at = _Sides.of(a[i], b[i])
        others = given(a, b, R, i, at.x, at.rows)
        exponent, per_i = (peak[at.rows] - at.x) * (peak[at.rows] + at.x) / 2, per[at.rows]
        at.put(g[i::d], per_i * _times(exponent, _probability(*others)))
        for j, sign in product(range(i + 1, d), (-1, 1)) if second else ():
            q, factor = j + d * (sign > 0), sign / (ROOT_2PI * np.sqrt((1 - R[i, j]) * (1 + R[i, j])))
            at.put(h[i::d, q], factor * per_i * _corner(*others, j - 1, sign > 0, exponent))
            h[q, i::d] = h[i::d, q]
    for p in range(len(h)):
        x = a[p] if p < d else b[p - d]
        h[p, p] = -np.where(np.isfinite(x), x, 0.0) * g[p] - R[p % d] @ (h[p, :d] + h[p, d:])
    for p in range(len(h)):
        h[p] -= g[p] * g
    return g, h


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """The finite sides of one coordinate, first the lower ones and then the upper ones."""

    rows: IntArray  # (n,)
    n_lower: int
    x: Array  # (n,)

    @classmethod
    def of(cls, lower: Array, upper: Array) -> _Sides:
        below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        return cls(np.append(below, above), below.size, np.append(lower[below], upper[above]))

    def put(self, pair: Array, values: Array) -> None:
        """Put values into the rows (2, r) of lower sides, with a minus, and of upper sides."""
        pair[0, self.rows[: self.n_lower]] = -values[: self.n_lower]
        pair[1, self.rows[self.n_lower :]] = values[self.n_lower :]


def _times(exponent: Array, mass: Mass) -> Array:
    """``exp(exponent) Pr``, as one exponential: each of them alone may be too large or too small for a number."""
    return np.asarray(mass.share * np.exp(exponent - mass.peak * mass.peak / 2))


def _corner(a: Array, b: Array, R: Array, i: int, upper: bool, exponent: Array) -> Array:
    """``exp(exponent - x^2 / 2) Pr`` of the others given one more side, at x: 0 where it is infinite."""
    side, corner = b[i] if upper else a[i], np.zeros(exponent.size)
    rows = finite(side)
    x = side[rows]
    corner[rows] = _times(exponent[rows] - x * x / 2, _probability(*given(a, b, R, i, x, rows)))
    return corner


# ---------------------------------------------------------------- two and three coordinates


def _path(m: float, nodes: tuple[int, int]) -> tuple[Array, Array]:
    """Nodes and weights of v on [0, atanh m]: with ``correlation = tanh v`` densities change at one pace up to 1."""
    end = float(np.arctanh(min(m, SINGULAR)))
    x, w = gauss_legendre(int(np.ceil(nodes[0] + nodes[1] * end)))
    return end * (x + 1) / 2, end * w / 2


def _two(a: Array, b: Array, rho: float, owner: IntArray | None = None) -> Mass:
    """``Pr_1 Pr_2 + integral of the density's corners over correlations from 0 to rho``.

    At the corner (h, k) and correlation ``tanh v`` its exponent is ``-(h - k)^2 cosh^2 v / 2 - h k / (1 + tanh v)``.
    """
    if rho < 0:
        return _two(np.stack([a[0], -b[1]]), np.stack([b[0], -a[1]]), -rho, owner)
    v, w = _path(rho, NODES[2])
    exponent = np.column_stack([np.cosh(v) ** 2 / -2, -1 / (1 + np.tanh(v))])
    w = w / (2 * np.pi * np.cosh(v))
    p = interval(a[0], b[0]).p * interval(a[1], b[1]).p
    terms = p.copy()
    for sign, h, k in _corners(a, b, 0, 1):
        rows = finite(h, k)
        h, k = h[rows], k[rows]
        corner = w @ _exp(exponent @ np.stack([(h - k) ** 2, h * k]))
        p[rows] += sign * corner
        terms[rows] += corner
    return _summed(p, terms, a, b, np.array([[1.0, rho], [rho, 1.0]]), owner)


def _three(a: Array, b: Array, R: Array, owner: IntArray | None = None) -> Mass:
    """``Pr_k Pr_ij + integral over t from 0 to 1`` of what R_ik and R_jk bring, which are multiplied by t.

    With m the multiple correlation of k with i and j, and ``m t = tanh v``, ``det R = (1 - R_ij^2) / cosh^2 v``.
    """
    k = int(np.argmin(np.diag(np.linalg.inv(R))))
    i, j = (int(n) for n in np.delete(np.arange(3), k))
    m = float(np.sqrt(R[k, [i, j]] @ np.linalg.solve(R[np.ix_([i, j], [i, j])], R[k, [i, j]])))
    p = interval(a[k], b[k]).p * _two(a[[i, j]], b[[i, j]], float(R[i, j]), owner).p
    terms = p.copy()
    for pair in ((i, j, k), (j, i, k)):
        _add_pair(p, terms, a, b, R, pair, m)
    return _summed(p, terms, a, b, R, owner)


def _add_pair(p: Array, terms: Array, a: Array, b: Array, R: Array, ijk: tuple[int, int, int], m: float) -> None:
    """Add what the correlation of i and k brings, j given them."""
    i, j, k = ijk
    v, w = _path(m, NODES[3])
    r_ij, r_ik, r_jk = R[i, j], R[i, k] * np.tanh(v) / m, R[j, k] * np.tanh(v) / m
    c = (1 - r_ik) * (1 + r_ik)
    sd = np.sqrt((1 - r_ij) * (1 + r_ij) / c) / np.cosh(v)
    by_i, by_k = (r_ij - r_jk * r_ik) / (c * sd), (r_jk - r_ij * r_ik) / (c * sd)
    w = w * R[i, k] / (m * np.cosh(v) ** 2 * 2 * np.pi * np.sqrt(c))
    for sign, h, x in _corners(a, b, i, k):
        rows = finite(h, x)
        h, x = h[rows], x[rows]
        density = _exp(np.multiply.outer(h**2 + x**2, -0.5 / c) + np.multiply.outer(h * x, r_ik / c)) * w
        mean = np.multiply.outer(h, by_i) + np.multiply.outer(x, by_k)
        inside = special.ndtr(np.multiply.outer(b[j, rows], 1 / sd) - mean)
        inside -= special.ndtr(np.multiply.outer(a[j, rows], 1 / sd) - mean)
        p[rows] += sign * (density * inside).sum(axis=1)
        terms[rows] += np.abs(density.sum(axis=1))


def _corners(a: Array, b: Array, i: int, k: int) -> list[tuple[int, Array, Array]]:
    """The corners of two coordinates, with their signs in the probability."""
    return [(1, b[i], b[k]), (-1, b[i], a[k]), (-1, a[i], b[k]), (1, a[i], a[k])]


def _exp(x: Array) -> Array:
    """Exponentials in place; below the smallest numbers they would be slow."""
    return np.exp(np.maximum(x, -700.0, out=x), out=x)


def _summed(p: Array, terms: Array, a: Array, b: Array, R: Array, owner: IntArray | None) -> Mass:
    """The sums p that lost few digits to their terms; from slices where they lost more, and where that matters."""
    lost = (p <= CANCELLED[len(R)] * terms) | (p <= FAR)
    p = np.clip(p, 0.0, 1.0)
    if owner is not None and lost.any():
        place = owner - owner[0]
        lost &= terms > HIDDEN * np.bincount(place, np.where(lost, 0.0, p))[place]
    if not lost.any():
        return Mass(p)
    peak = np.zeros(p.size)
    where = np.flatnonzero(lost)
    for rows in (where[n : n + SLICED] for n in range(0, where.size, SLICED)):
        far = Mass.of_log(sliced(a[:, rows], b[:, rows], R, _log_probability))
        p[rows], peak[rows] = far.share, far.peak
    return Mass(p, peak)
