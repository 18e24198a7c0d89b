"""What people's intervals say in a mixed system: log probabilities, added up, with derivatives by its coordinates z.

The ends of an interval are linear in z. Both move together with the index and with what known errors predict, each by
itself with its cut. So derivatives by the ends are first added up over people, column by column of what they differ
in, and then made derivatives by z.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.fit import Mask
from fairstress.model.latent import components
from fairstress.model.mixed_rows import Pattern, PatternBlock
from fairstress.model.rectangle import rectangles


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What the likelihood of one pattern takes from P."""

    inverse: Array  # (c, c) of P_CC
    K: Array  # (d, c)
    S: Array  # (d, d)
    log_det: float  # of P_CC
    linked: Mask  # (d, d) intervals whose probabilities do not factor

    @classmethod
    def of(cls, P: Array, pattern: Pattern) -> Shape:
        """Condition on the errors that are known."""
        C, D = list(pattern.known), list(pattern.intervals)
        inverse = np.asarray(np.linalg.inv(P[np.ix_(C, C)]), dtype=float)
        K = P[np.ix_(D, C)] @ inverse
        S = P[np.ix_(D, D)] - K @ P[np.ix_(C, D)]
        log_det = float(np.linalg.slogdet(P[np.ix_(C, C)])[1]) if C else 0.0
        label = components(S)
        return cls(inverse, K, (S + S.T) / 2, log_det, label[:, None] == label)

    def moves(self, block: PatternBlock) -> Array:
        """(d, q) how much each column moves each interval as a whole, given the known errors."""
        return np.hstack([-self.K, np.eye(len(self.K))])[:, block.moves]


def log_probability(
    blocks: Iterable[PatternBlock], shapes: Sequence[Shape], z: Array, derivatives: int
) -> tuple[float, Array, Array, float]:
    """The sum over people of their intervals' ``log Pr``, its gradient and Hessian by z, and the largest error.

    Of the derivatives as many as are asked for; others are 0.
    """
    total, error, g, H = 0.0, 0.0, np.zeros(z.size), np.zeros((z.size, z.size))
    for block in blocks:
        shape = shapes[block.pattern]
        Pi = rectangles(*_ends(block, shape, z), shape.S, derivatives=derivatives)
        total, error = total + float(block.weight @ Pi.log_probability), max(error, Pi.error)
        if Pi.gradient is not None:
            _add_slopes(g, block, shape, Pi.gradient.T)
        if Pi.hessian is not None:
            _add_curvature(H, block, shape, np.moveaxis(Pi.hessian, 0, -1))
    return total, g, H, error


def _ends(block: PatternBlock, shape: Shape, z: Array) -> tuple[Array, Array]:
    """(r, d) the ends of the intervals less what the known errors predict."""
    d = len(shape.K)
    own = np.where(block.end == np.arange(2 * d)[:, None], z[block.end_where], 0.0)
    whole = (shape.moves(block) * z[block.where]) @ block.signs.T
    both = np.hstack([own, np.tile(whole, (2, 1))]) @ block.columns
    np.copyto(both[:d], -np.inf, where=block.is_open[:d])
    np.copyto(both[d:], np.inf, where=block.is_open[d:])
    return both[:d].T, both[d:].T


def _add_slopes(g: Array, block: PatternBlock, shape: Shape, slope: Array) -> None:
    """Add what slopes (2d, r) by the ends come to in the coordinates, all people's together."""
    k, d = block.end.size, len(shape.K)
    sums = (block.weight * slope) @ block.columns.T
    np.add.at(g, block.end_where, sums[block.end, np.arange(k)])
    whole = (sums[:d, k:] + sums[d:, k:]) @ block.signs
    g[block.where] += (shape.moves(block) * whole).sum(axis=0)


def _add_curvature(H: Array, block: PatternBlock, shape: Shape, C: Array) -> None:
    """Add what Hessians C (2d, 2d, r) by the ends come to in the coordinates, all people's together."""
    moves = shape.moves(block)[:, None, :] * block.signs  # (d, p, q) of the distinct columns
    by_end = [slice(*np.searchsorted(block.end, (p, p + 1))) for p in range(len(C))]
    across = _across(block, by_end, moves, C)
    H[np.ix_(block.where, block.where)] += _whole(block, shape.linked, moves, C)
    np.add.at(H, (block.end_where[:, None], block.end_where), _apart(block, by_end, shape.linked, C))
    np.add.at(H, (block.end_where[:, None], block.where), across)
    np.add.at(H, (block.where[:, None], block.end_where), across.T)


def _whole(block: PatternBlock, linked: Mask, moves: Array, C: Array) -> Array:
    """(q, q) of the columns U that move intervals as wholes: ``sum_jk M_j' U c_jk U' M_k``, c summed over both ends."""
    d, U = len(moves), block.columns[block.end.size :]
    total, scaled = np.zeros((block.where.size, block.where.size)), np.empty_like(U)
    used = [np.flatnonzero(M.any(axis=1)) for M in moves]
    for j, k in combinations_with_replacement(range(d), 2):
        if linked[j, k]:
            c = block.weight * (C[j, k] + C[j, d + k] + C[d + j, k] + C[d + j, d + k])
            left, right = (U if i.size == len(U) else U[i] for i in (used[j], used[k]))
            sums = np.multiply(left, c, out=scaled[: len(left)]) @ right.T
            part = moves[j, used[j]].T @ sums @ moves[k, used[k]]
            total += part if j == k else part + part.T
    return total


def _apart(block: PatternBlock, by_end: Sequence[slice], linked: Mask, C: Array) -> Array:
    """(k, k) of the columns V that move one end: ``V_p C_pq V_q'`` for each two ends."""
    d, V = len(linked), block.columns
    total = np.zeros((block.end.size, block.end.size))
    for p, q in combinations_with_replacement(range(2 * d), 2):
        if linked[p % d, q % d]:
            part = (V[by_end[p]] * (block.weight * C[p, q])) @ V[by_end[q]].T
            total[by_end[p], by_end[q]], total[by_end[q], by_end[p]] = part, part.T
    return total


def _across(block: PatternBlock, by_end: Sequence[slice], moves: Array, C: Array) -> Array:
    """(k, q) of columns of the one kind with those of the other: ``sum_j V_p (C_pj + C_p,d+j) U' M_j``."""
    k, d = block.end.size, len(moves)
    total, scaled = np.zeros((k, block.where.size)), np.empty((k, block.weight.size))
    for j in range(d):
        for p, mine in enumerate(by_end):
            c = block.weight * (C[p, j] + C[p, d + j])
            np.multiply(block.columns[mine], c, out=scaled[mine])
        total += scaled @ block.columns[k:].T @ moves[j]
    return total
