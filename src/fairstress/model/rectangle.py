"""Probabilities of rectangles under a multivariate normal law, with derivatives of their logarithms, row by row.

All rows share one covariance, so that they share quadrature nodes. Inside, bounds are in standard deviations and stand
as ``a, b`` (d, r), coordinates first; R is the correlation. One coordinate has a closed form. Two and three start where
one coordinate is independent of the others, and add what its correlations bring, by Plackett's identity: the
derivative of the probability by ``R_ik`` is the density at the corners of (i, k) times the probability of the others
given them. Where that subtracts nearly equal numbers, and only there, the probability is integrated over one
coordinate, a sum of positive terms. Four and more are integrated on the points of a lattice, each coordinate given
those before it (Genz and Bretz, Computation of Multivariate Normal and t Probabilities, 2009, chapter 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray

BLOCK = 4096  # rows at once, so that nodes by rows stay in the cache
INDEPENDENT = 1e-14  # correlations up to here count as 0
SINGULAR = 1 - 1e-14  # correlations beyond are rounding
CANCELLED = {2: 1e-3, 3: 1e-5}  # by d: a sum this much smaller than its terms has lost too many digits
FAR = 1e-10  # of probabilities below, Plackett's integrand changes too fast for its nodes
DEPTH = 80.0  # slices end where the density is exp(-DEPTH / 2) of its largest in the rectangle
LAYER = 8.0  # standard deviations to either side in which a slice's probability rises from 0 to 1
WIDE = 8.0  # layers of at least this half-width need no panels of their own
SLICES, SLICED = 40, 512  # nodes of a panel of slices, and rows at once
POINTS, PARTS, POINTED = 512, 4, 64  # of the lattice, its shifted parts that tell the error, and rows at once

_HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
_Rows = slice | IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Rectangles:
    """Log probabilities of one rectangle for each row, with derivatives by ``(lower_1..lower_d, upper_1..upper_d)``."""

    log_probability: Array  # (r,)
    gradient: Array | None  # (r, 2d); 0 where a bound is infinite
    hessian: Array | None  # (r, 2d, 2d)
    error: float  # estimated relative error of the probabilities, root mean square over rows; 0 where exact


def rectangles(lower: Array, upper: Array, S: Array, *, derivatives: int = 0) -> Rectangles:
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

    Examples
    --------
    >>> quadrant = rectangles(np.zeros((1, 2)), np.full((1, 2), np.inf), np.array([[1, 0.5], [0.5, 1]]))
    >>> np.exp(quadrant.log_probability).round(6).tolist()
    [0.333333]
    """
    r, d = lower.shape
    scale = np.sqrt(np.diag(S))
    R, scales = S / np.outer(scale, scale), np.tile(scale, 2)
    empty = (upper <= lower).any(axis=1)
    a, b = (np.where(empty, end, bound.T / scale[:, None]) for bound, end in ((lower, -np.inf), (upper, np.inf)))
    log_p, square = np.where(empty, -np.inf, 0.0), np.zeros(r)
    g = np.zeros((r, 2 * d)) if derivatives > 0 else None
    H = np.zeros((r, 2 * d, 2 * d)) if derivatives > 1 else None
    for c, rows in product(_components(R), _blocks(r)):
        part = a[c, rows], b[c, rows], R[np.ix_(c, c)]
        mass, sides = _connected(*part), np.append(c, c + d)
        log_p[rows] += mass.log_p
        square[rows] += mass.error**2
        if g is not None:
            slopes, curvature = _derivatives(*part, mass, second=H is not None)
            g[rows, sides] = slopes.T / scales[sides]
        if H is not None:
            by = np.outer(scales[sides], scales[sides])
            H[rows, sides[:, None], sides] = np.moveaxis(curvature, -1, 0) / by
    return Rectangles(log_p, g, H, float(np.sqrt(square.mean())) if r else 0.0)


# ---------------------------------------------------------------- mathematics


@dataclass(frozen=True, slots=True, eq=False)
class _Mass:
    """``log Pr = rest - peak^2 / 2``: far out the two parts keep digits that their sum has no room for."""

    rest: Array  # (r,)
    peak: Array | float = 0.0
    error: Array | float = 0.0  # relative, of the probability

    @property
    def log_p(self) -> Array:
        return np.asarray(self.rest - self.peak**2 / 2)


def _blocks(r: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, r)) for start in range(0, r, BLOCK)]


def _components(R: Array) -> list[IntArray]:
    """The coordinates of each connected part of R."""
    linked = np.abs(R) > INDEPENDENT
    if linked.all():
        return [np.arange(len(R))] if len(R) else []
    for _ in range(len(R) - 1):
        linked = linked @ linked
    return [np.flatnonzero(row) for row in np.unique(linked, axis=0)]


def _log_probability(a: Array, b: Array, R: Array) -> Array:
    log_p = np.zeros(a.shape[1])
    for c, rows in product(_components(R), _blocks(a.shape[1])):
        log_p[rows] += _connected(a[c, rows], b[c, rows], R[np.ix_(c, c)]).log_p
    return log_p


def _connected(a: Array, b: Array, R: Array) -> _Mass:
    if len(R) == 1:
        return _interval(a[0], b[0])
    if len(R) == 2:
        return _Mass(_two(a, b, float(R[0, 1])))
    return _Mass(_three(a, b, R)) if len(R) == 3 else _many(a, b, R)


def _given(a: Array, b: Array, R: Array, i: int, x: Array) -> tuple[Array, Array, Array]:
    """The rectangle of the other coordinates given ``e_i = x``, in their conditional standard deviations."""
    j = np.delete(np.arange(len(R)), i)
    slope, R_j = R[j, i], R[np.ix_(j, j)]
    sd = np.sqrt((1 - slope) * (1 + slope))
    C = np.clip((R_j - np.outer(slope, slope)) / np.outer(sd, sd), -SINGULAR, SINGULAR)
    np.fill_diagonal(C, 1.0)
    mean = np.multiply.outer(slope, x)
    return (a[j] - mean) / sd[:, None], (b[j] - mean) / sd[:, None], C


def _derivatives(a: Array, b: Array, R: Array, mass: _Mass, *, second: bool) -> tuple[Array, Array]:
    """Gradient (2d, r) and Hessian (2d, 2d, r) of the log probability by the sides (a, b).

    ``d Pr / d x_p`` is the density of the side's coordinate i times Pr of the others given it, with a minus for lower
    sides; ``d2 Pr / d x_p^2 = -x_p d Pr / d x_p - sum_j R_ij (d2 Pr / d x_p d b_j + d2 Pr / d x_p d a_j)``.
    """
    d, r = a.shape
    x, sign = np.concatenate([a, b]), np.repeat([-1.0, 1.0], d)
    g, h = np.zeros((2 * d, r)), np.zeros((2 * d, 2 * d, r))
    for p, i in enumerate(np.tile(np.arange(d), 2)):
        rows = _finite(x[p])
        x_p, rest, peak = x[p, rows], mass.rest[rows], np.broadcast_to(mass.peak, r)[rows]
        given = _given(a[:, rows], b[:, rows], R, i, x_p)
        density = (peak - x_p) * (peak + x_p) / 2 - _HALF_LOG_2PI - rest
        g[p, rows] = sign[p] * np.exp(density + _log_probability(*given))
        for j in range(i + 1, d) if second else ():
            jacobian = np.log((1 - R[i, j]) * (1 + R[i, j])) / 2
            for q in (j, j + d):
                h[p, q, rows] = sign[p] * sign[q] * np.exp(density - jacobian + _log_side(*given, j - 1, q >= d))
                h[q, p] = h[p, q]
    if second:
        pull = np.einsum("pj,pjr->pr", np.tile(R, (2, 1)), h[:, :d] + h[:, d:])
        sides = np.arange(2 * d)
        h[sides, sides] = -np.where(np.isfinite(x), x, 0.0) * g - pull
        h -= g[:, None] * g[None]
    return g, h


def _log_side(a: Array, b: Array, R: Array, i: int, upper: bool) -> Array:
    """Log of the density at one side times Pr of the others given it: minus infinity where the side is infinite."""
    x = b[i] if upper else a[i]
    rows, log_side = _finite(x), np.full(x.size, -np.inf)
    given = _given(a[:, rows], b[:, rows], R, i, x[rows])
    log_side[rows] = _log_probability(*given) - x[rows] ** 2 / 2 - _HALF_LOG_2PI
    return log_side


def _finite(*sides: Array) -> _Rows:
    """Where all of them are finite; everywhere as a slice, which copies nothing."""
    finite = np.logical_and.reduce([np.isfinite(side) for side in sides])
    return slice(None) if finite.all() else np.flatnonzero(finite)


# ---------------------------------------------------------------- one coordinate


def _interval(a: Array, b: Array) -> _Mass:
    """``Normal_cdf(b) - Normal_cdf(a)``, by the mirror image that lies lower: ``lo <= -|hi|``."""
    flip = a > -b
    lo, hi = np.where(flip, -b, a), np.minimum(np.where(flip, -a, b), 40.0)
    with np.errstate(divide="ignore", over="ignore"):
        near = special.erfcx(np.abs(hi) * np.sqrt(0.5)) / 2
        far = special.erfcx(lo * -np.sqrt(0.5)) * np.exp((hi - lo) * (hi + lo) / 2) / 2
        around = np.log1p(np.maximum(-np.exp(-(hi**2) / 2) * (near + far), -1.0))
        rest = np.where(hi > 0, around, np.log(np.maximum(near - far, 0.0)))
        peak = np.minimum(hi, 0.0)
        narrow = (hi - lo < 0.25) & ((hi - lo) * lo > -0.5)
        if narrow.any():
            rest[narrow] = _narrow(lo[narrow], hi[narrow], peak[narrow])
    return _Mass(rest, peak)


def _narrow(lo: Array, hi: Array, peak: Array) -> Array:
    """The rest of a narrow interval: its width times the mean of its density, relative to the density at the peak."""
    x, w = _gauss_legendre(6)
    z = ((lo + hi)[:, None] + (hi - lo)[:, None] * x) / 2
    mean = np.exp((peak[:, None] - z) * (peak[:, None] + z) / 2) @ (w / 2)
    return np.asarray(np.log(np.maximum(hi - lo, 0.0) * mean) - _HALF_LOG_2PI)


# ---------------------------------------------------------------- two and three coordinates


@lru_cache(maxsize=256)
def _gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(n)


def _path(m: float) -> tuple[Array, Array]:
    """Nodes and weights of v on [0, atanh m]: with ``correlation = tanh v`` densities change at one pace up to 1."""
    end = float(np.arctanh(min(m, SINGULAR)))
    x, w = _gauss_legendre(int(np.ceil(10 + 12 * end)))
    return end * (x + 1) / 2, end * w / 2


def _two(a: Array, b: Array, rho: float) -> Array:
    """``Pr_1 Pr_2 + integral of the density's corners over correlations from 0 to rho``.

    At the corner (h, k) and correlation ``tanh v`` its exponent is ``-(h - k)^2 cosh^2 v / 2 - h k / (1 + tanh v)``.
    """
    if rho < 0:
        return _two(np.stack([a[0], -b[1]]), np.stack([b[0], -a[1]]), -rho)
    v, w = _path(rho)
    unlike, like, w = np.cosh(v) ** 2 / -2, -1 / (1 + np.tanh(v)), w / (2 * np.pi * np.cosh(v))
    p = np.exp(_interval(a, b).log_p.sum(axis=0))
    terms = p.copy()
    for sign, h, k in _corners(a, b, 0, 1):
        rows = _finite(h, k)
        h, k = h[rows], k[rows]
        corner = _exp(np.multiply.outer((h - k) ** 2, unlike) + np.multiply.outer(h * k, like)) @ w
        p[rows] += sign * corner
        terms[rows] += corner
    return _log_of_sum(p, terms, a, b, np.array([[1.0, rho], [rho, 1.0]]))


def _three(a: Array, b: Array, R: Array) -> Array:
    """``Pr_k Pr_ij + integral over t from 0 to 1`` of what R_ik and R_jk bring, which are multiplied by t.

    With m the multiple correlation of k with i and j, and ``m t = tanh v``, ``det R = (1 - R_ij^2) / cosh^2 v``.
    """
    k = int(np.argmin(np.diag(np.linalg.inv(R))))
    i, j = (int(n) for n in np.delete(np.arange(3), k))
    m = float(np.sqrt(R[k, [i, j]] @ np.linalg.solve(R[np.ix_([i, j], [i, j])], R[k, [i, j]])))
    p = np.exp(_interval(a[k], b[k]).log_p + _two(a[[i, j]], b[[i, j]], float(R[i, j])))
    terms = p.copy()
    for pair in ((i, j, k), (j, i, k)):
        _add_pair(p, terms, a, b, R, pair, m)
    return _log_of_sum(p, terms, a, b, R)


def _add_pair(p: Array, terms: Array, a: Array, b: Array, R: Array, ijk: tuple[int, int, int], m: float) -> None:
    """Add what the correlation of i and k brings, j given them."""
    i, j, k = ijk
    v, w = _path(m)
    r_ij, r_ik, r_jk = R[i, j], R[i, k] * np.tanh(v) / m, R[j, k] * np.tanh(v) / m
    c = (1 - r_ik) * (1 + r_ik)
    sd = np.sqrt((1 - r_ij) * (1 + r_ij) / c) / np.cosh(v)
    by_i, by_k = (r_ij - r_jk * r_ik) / (c * sd), (r_jk - r_ij * r_ik) / (c * sd)
    w = w * R[i, k] / (m * np.cosh(v) ** 2 * 2 * np.pi * np.sqrt(c))
    for sign, h, x in _corners(a, b, i, k):
        rows = _finite(h, x)
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


def _log_of_sum(p: Array, terms: Array, a: Array, b: Array, R: Array) -> Array:
    """Logs of the sums p that lost few digits to their terms; from slices where they lost more."""
    lost = np.flatnonzero((p <= CANCELLED[len(R)] * terms) | (p <= FAR))
    p[lost] = 1.0
    log_p = np.log(np.minimum(p, 1.0))
    for rows in (lost[n : n + SLICED] for n in range(0, lost.size, SLICED)):
        log_p[rows] = _sliced(a[:, rows], b[:, rows], R)
    return log_p


# ---------------------------------------------------------------- slices


def _sliced(a: Array, b: Array, R: Array) -> Array:
    """``log of the integral of Pr(others | e_k = x)`` over x, by panels that end where slices rise from 0 to 1."""
    k = int(np.argmin(np.abs(R - np.eye(len(R))).max(axis=0)))
    ends = _panels(a, b, R, k)
    panel, row = np.nonzero(np.diff(ends, axis=0) > 0)
    lo, hi = ends[panel, row], ends[panel + 1, row]
    nodes, w = _gauss_legendre(SLICES)
    x = ((lo + hi)[:, None] + (hi - lo)[:, None] * nodes) / 2
    repeated = np.repeat(row, SLICES)
    inside = _log_probability(*_given(a[:, repeated], b[:, repeated], R, k, x.ravel())).reshape(x.shape)
    log_p = np.full((len(ends) - 1, a.shape[1]), -np.inf)
    log_p[panel, row] = _log_sum(inside - x**2 / 2 + np.log((hi - lo)[:, None] * w / 2))
    return np.asarray(_log_sum(log_p.T) - _HALF_LOG_2PI)


def _log_sum(x: Array) -> Array:
    """``log sum exp`` along the last axis."""
    top = np.maximum(x.max(axis=-1), -1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))


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
            rows = _finite(*h)
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
        beyond = _least(*_given(a, b, R, i, at)) if len(R) > 1 else 0.0
        least = np.minimum(least, np.where(np.isfinite(x[i]), at**2 + beyond, np.inf))
    return least


# ---------------------------------------------------------------- four coordinates and more


def _many(a: Array, b: Array, R: Array) -> _Mass:
    """Means over the lattice of products of ``Pr(e_i in its interval | those before)``."""
    order = _order(R)
    L, U = np.asarray(np.linalg.cholesky(R[np.ix_(order, order)]), dtype=float), _lattice(len(R) - 1)
    log_p, error = np.empty(a.shape[1]), np.empty(a.shape[1])
    for rows in (slice(start, start + POINTED) for start in range(0, log_p.size, POINTED)):
        log_f = _log_products(a[order, rows], b[order, rows], L, U)
        # every fourth point: a lattice too, each with a shift of its own
        parts = _log_sum(log_f.reshape(-1, POINTS // PARTS, PARTS).swapaxes(1, 2)) - np.log(POINTS // PARTS)
        log_p[rows] = _log_sum(parts) - np.log(PARTS)
        error[rows] = np.exp(parts - log_p[rows, None]).std(axis=1, ddof=1) / np.sqrt(PARTS)
    return _Mass(log_p, error=error)


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
    return log_f + _interval((a[-1][:, None] - mean) / L[-1, -1], (b[-1][:, None] - mean) / L[-1, -1]).log_p


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
        log_p[hard] = _interval(lo[hard], hi[hard]).log_p
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
