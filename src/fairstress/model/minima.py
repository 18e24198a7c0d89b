"""All minima of one penalised equation alone, and starts for fits that may have several.

Where errors are independent, the objective is a sum over equations, and that of an equation with its weights at their
optimum is a function of ``tau = sigma^2`` alone. With ``s`` the squares that no weights explain, and g and b the
penalised directions' curvatures and what they explain,

``F(tau) = s / tau + sum_i b_i / (g_i + tau) + n log tau``.

It is stationary where ``h(tau) = s + sum_i b_i (tau / (g_i + tau))^2 - n tau`` is 0, and lowest where h falls. The sum
grows with tau, which brackets h on any interval: none of its zeros is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.design import Moments
from fairstress.model.linear import solve

NARROW = 1e-6  # of log tau: an interval of this width holds a zero of h, or two that are one
MOST = 64  # combinations of equations' minima that a fit sets out from
TINY = 1e-14  # a direction's curvature, relative to the largest, that is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The objective of one equation as a function of its error's variance."""

    s: float
    b: Array  # (d,)
    g: Array  # (d,)
    n: float

    @classmethod
    def of(cls, moments: Moments, penalties: Array) -> Profile:
        """Take out the weights that are not penalised, then turn to directions that do not see each other."""
        G, c, free = moments.G, moments.C[:, 0], penalties == 0
        own, others, s = np.ix_(~free, ~free), np.ix_(free, ~free), float(moments.S[0, 0])
        G_own, c_own = G[own], c[~free]
        if free.any():
            out = solve(G[np.ix_(free, free)], np.column_stack([G[others], c[free]]))
            G_own, c_own, s = (
                G_own - G[others].T @ out[:, :-1],
                c_own - G[others].T @ out[:, -1],
                s - c[free] @ out[:, -1],
            )
        root = np.sqrt(penalties[~free])
        g, V = np.linalg.eigh(G_own / np.outer(root, root))
        seen = g > TINY * g.max(initial=0.0)
        g, along = g[seen], (V.T @ (c_own / root))[seen]
        b = along**2 / g
        return cls(max(s - float(b.sum()), TINY * s), b, g, moments.n)

    def values(self, tau: Array) -> Array:
        """``F`` at each tau."""
        shrunk = (self.b / (self.g + tau[..., None])).sum(axis=-1)
        return np.asarray(self.s / tau + shrunk + self.n * np.log(tau))

    def explained(self, tau: Array) -> Array:
        """``s + sum_i b_i (tau / (g_i + tau))^2``, which grows with tau."""
        return np.asarray(self.s + (self.b * (tau[..., None] / (self.g + tau[..., None])) ** 2).sum(axis=-1))

    def slope_limits(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Limits of ``h'(tau) = sum_i 2 b_i g_i tau / (g_i + tau)^3 - n`` on intervals."""
        bg, low, high = 2 * self.b * self.g, low[..., None], high[..., None]
        least, most = bg * low / (self.g + high) ** 3, bg * high / (self.g + low) ** 3
        return least.sum(axis=-1) - self.n, most.sum(axis=-1) - self.n


@dataclass(frozen=True, slots=True, eq=False)
class Minima:
    """The minima of one equation, the lowest first."""

    log_scales: Array  # (k,)
    values: Array  # (k,)


def minima_of(moments: Moments, penalties: Array) -> Minima:
    """Every minimum of one equation's objective."""
    profile = Profile.of(moments, penalties)
    tau = _minima(profile)
    values = profile.values(tau)
    order = np.argsort(values, kind="stable")
    return Minima(np.log(tau[order]) / 2, values[order])


def _minima(profile: Profile) -> Array:
    """Where h falls through 0: by halving every interval on which it may, until it falls or grows all along."""
    least, most = np.log([profile.s / profile.n, (profile.s + profile.b.sum()) / profile.n])
    low, high, found = np.array([least - NARROW]), np.array([most + NARROW]), []
    while low.size:
        a, b = np.exp(low), np.exp(high)
        r_a, r_b = profile.explained(a), profile.explained(b)
        least, most = profile.slope_limits(a, b)
        falls = (r_a - profile.n * a >= 0) & (r_b - profile.n * b <= 0)
        converged = (most < 0) | (high - low <= NARROW)
        found += [_zero(profile, *ends) for ends in zip(low[converged & falls], high[converged & falls], strict=True)]
        empty = (r_b - profile.n * a < 0) | (r_a - profile.n * b > 0) | (least > 0)
        low, high = low[~(converged | empty)], high[~(converged | empty)]
        middle = (low + high) / 2
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return np.unique(found)


def _zero(profile: Profile, low: float, high: float) -> float:
    """Halve an interval at whose lower end h is not negative and at whose upper end not positive."""
    for _ in range(60):
        middle = (low + high) / 2
        tau = np.exp(middle)
        low, high = (middle, high) if profile.explained(tau) - profile.n * tau >= 0 else (low, middle)
    return float(np.exp((low + high) / 2))


def combinations(equations: Sequence[Minima]) -> Array:
    """(k, m) log scales, a minimum of each equation: all combinations, or where they are too many the lowest ones."""
    chosen: list[tuple[float, tuple[float, ...]]] = [(0.0, ())]
    for own in equations:
        choices = list(zip(own.values.tolist(), own.log_scales.tolist(), strict=True))
        longer = ((total + F, (*t, one)) for total, t in chosen for F, one in choices)
        chosen = sorted(longer)[:MOST]
    return np.array([t for _, t in chosen])
