"""The convex problem behind a robust predictor: ridge plus a weight times the largest of several quadratics.

    min over theta of  theta'A theta - 2 b'theta + c + weight * max_k theta'M_k theta

The largest is that of a mixture: with q on the simplex and ``N(q) = A + weight sum_k q_k M_k``, the minimum over theta
is the ridge ``theta(q) = N(q)^-1 b`` in closed form, and the problem is to maximise the concave ``c - b'N(q)^-1 b``.
For any q this is a lower limit of the minimum, and the objective at theta(q) an upper one: their distance is the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.linear import solve

MAX_STEPS = 100
SHARPEST = 1e-14  # gap, as a share of the penalty, at which nothing but rounding is left


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """``theta'A theta - 2 b'theta + c``: mean squared error plus ridge penalty, per person."""

    A: Array  # (d, d)
    b: Array  # (d,)
    c: float

    def value(self, theta: Array) -> float:
        """The loss of some weights."""
        return float(theta @ self.A @ theta - 2 * self.b @ theta + self.c)


@dataclass(frozen=True, slots=True, eq=False)
class Saddle:
    """The best weights against the worst of some cuts, and how far from the best they can be."""

    theta: Array  # (d,)
    mixture: Array  # (K,) how much each cut weighs in the ridge that theta solves; 0 for cuts that do not bind
    largest: float  # max_k theta'M_k theta
    value: float  # of the objective at theta
    gap: float  # value less its lower limit, as a share of value


def minimax(loss: Loss, M: Array, weight: float) -> Saddle:
    """Solve the problem for cuts M (K, d, d) by a primal-dual interior-point method on the mixture.

    With ``g_k = weight theta(q)'M_k theta(q)``, the derivative of the concave function, q is best where
    ``q_k s_k = 0`` for the slacks ``s_k = max g - g_k >= 0``; the gap is ``q's``.
    """
    q = np.full(len(M), 1 / len(M))
    best, theta, g = _better(None, q, loss, M, weight)
    slack = g.max() - g + 0.1 * (float(g.max()) or 1.0)
    for _ in range(MAX_STEPS if len(M) > 1 else 0):
        if best[0] <= SHARPEST * float(g.max()):
            break
        q, slack = _step(q, slack, g, _curvature(q, theta, loss, M, weight))
        best, theta, g = _better(best, q, loss, M, weight)
    gap, q = best
    theta, g = _at(q, loss, M, weight)
    value = loss.value(theta) + float(g.max())
    return Saddle(theta, q, float(g.max()) / weight, value, gap / value)


def largest(M: Array, theta: Array) -> float:
    """``max_k theta'M_k theta``, 0 without cuts."""
    return float(((M @ theta) @ theta).max(initial=0.0))


# ---------------------------------------------------------------- mathematics


def _at(q: Array, loss: Loss, M: Array, weight: float) -> tuple[Array, Array]:
    """The ridge theta(q), and ``weight theta'M_k theta`` of each cut."""
    theta = solve(_normal(q, loss, M, weight), loss.b[:, None])[:, 0]
    return theta, np.asarray(weight * ((M @ theta) @ theta))


def _normal(q: Array, loss: Loss, M: Array, weight: float) -> Array:
    return np.asarray(loss.A + weight * np.tensordot(q, M, 1))


def _better(
    best: tuple[float, Array] | None, q: Array, loss: Loss, M: Array, weight: float
) -> tuple[tuple[float, Array], Array, Array]:
    """The smaller gap of the best so far and of q, with theta and g at q."""
    theta, g = _at(q, loss, M, weight)
    gap = float(q @ (g.max() - g))
    return (best if best is not None and best[0] <= gap else (gap, q)), theta, g


def _curvature(q: Array, theta: Array, loss: Loss, M: Array, weight: float) -> Array:
    """(K, K) minus the derivative of g by q: ``2 weight^2 U'N^-1 U`` with columns ``U_k = M_k theta``."""
    U = (M @ theta).T
    return np.asarray(2 * weight**2 * U.T @ solve(_normal(q, loss, M, weight), U))


def _step(q: Array, slack: Array, g: Array, H: Array) -> tuple[Array, Array]:
    """One Newton step towards ``q_k s_k = mu`` with ``s_k + g_k`` the same for all k, mu a tenth of what it is."""
    mu = 0.1 * float(q @ slack) / q.size
    T = H + np.diag(slack / q)
    uneven = -g - slack  # up to a number that is common to all
    both = solve(T, np.column_stack([mu / q - slack - uneven, np.ones(q.size)]))
    common = float(both[:, 0].sum() / both[:, 1].sum())
    dq = both[:, 0] - common * both[:, 1]
    ds = common + H @ dq + uneven
    shrinking = np.concatenate([-dq / q, -ds / slack]).max()
    length = min(1.0, 0.99 / shrinking) if shrinking > 0 else 1.0
    q = q + length * dq
    return q / q.sum(), slack + length * ds
