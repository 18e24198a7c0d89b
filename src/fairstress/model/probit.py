"""The threshold of a two-valued attribute alone: ``A = sign(phi'gamma + e)`` with e standard normal, a probit fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array, Rows
from fairstress.model.linear import independent_columns, solve
from fairstress.model.threshold import log_normal_cdf

MAX_STEPS = 100
TOLERANCE = 1e-18  # decrease of the objective per person below which one last step is taken
ROUNDING = 1e-10  # of the objective per person
WRONG_SIDE = 1e-6  # of a step's largest value: what counts as a row on the wrong side

Columns = Callable[[Rows], Array]


@dataclass(frozen=True, slots=True, eq=False)
class Probit:
    """The weights of a latent index, and of how many people the index tells A without error."""

    weights: Array  # (d,); of no use where n_separated is not 0
    n_separated: float  # sum of weights; not 0 where no finite weights are best (separation)


def probit(rows: Rows, columns: Columns) -> Probit:
    """Minimise ``F = -sum_i log Normal_cdf(a_i phi_i'gamma)`` by Newton's method from 0.

    Where some direction of the columns takes nobody to the wrong side of the threshold, F falls along it for ever.
    Columns that others determine have weight 0.
    """
    kept = independent_columns(_gram(rows, columns))
    gamma = np.zeros(columns(rows.where(slice(0, 1))).shape[1])
    F, g, H = _objective(rows, columns, gamma)
    for _ in range(MAX_STEPS):
        step = np.zeros_like(gamma)
        step[kept] = solve(H[np.ix_(kept, kept)], -g[kept, None])[:, 0]
        if -float(g @ step) / 2 <= TOLERANCE * rows.n:
            return Probit(gamma + step, 0.0)
        if n_separated := _separated(rows, columns, step):
            return Probit(gamma, n_separated)
        trial = _objective(rows, columns, gamma + step)
        while not trial[0] <= F + ROUNDING * rows.n:
            step = step / 2
            trial = _objective(rows, columns, gamma + step)
        gamma, (F, g, H) = gamma + step, trial
    return Probit(gamma, rows.n)  # F is convex: only what nearly separates takes so long


def generalised_residual(a: Array, h: Array) -> Array:
    """Mean of the latent error given the side of the threshold, ``E[e | a] = a phi(h) / Normal_cdf(a h)``."""
    return np.asarray(a * log_normal_cdf(a * h)[1])


def _objective(rows: Rows, columns: Columns, gamma: Array) -> tuple[float, Array, Array]:
    """F with its gradient and Hessian."""
    F, g, H = 0.0, np.zeros(gamma.size), np.zeros((gamma.size, gamma.size))
    for block in rows.blocks():
        Phi = columns(block)
        t = block.a * (Phi @ gamma)
        log_cdf, hazard = log_normal_cdf(t)
        F -= float(block.weight @ log_cdf)
        g -= Phi.T @ (block.weight * block.a * hazard)
        H += (Phi * (block.weight * hazard * (t + hazard))[:, None]).T @ Phi
    return F, g, H


def _separated(rows: Rows, columns: Columns, direction: Array) -> float:
    """How many have ``a_i phi_i'd > 0``, if nobody has less than 0; otherwise 0."""

    def sides(block: Rows) -> Array:
        return np.where(block.weight > 0, block.a * (columns(block) @ direction), 0.0)

    ends = [(side.min(), side.max()) for side in map(sides, rows.blocks())]
    rounding = WRONG_SIDE * max(high for _, high in ends)
    if min(low for low, _ in ends) < -rounding:
        return 0.0
    return float(sum(block.weight[sides(block) > rounding].sum() for block in rows.blocks()))


def _gram(rows: Rows, columns: Columns) -> Array:
    G = np.zeros(())
    for block in rows.blocks():
        Phi = columns(block)
        G = G + (Phi * block.weight[:, None]).T @ Phi
    return np.asarray(G)
