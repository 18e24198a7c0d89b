"""Counterfactuals by abduction, action and prediction, forwards for values and backwards for gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.design import Design


@dataclass(frozen=True, slots=True, eq=False)
class FactualBlock:
    """One block of people in the factual world, as Model A sees them: what all versions of Model B start from."""

    block: Rows
    phi: dict[int, Array]  # per equation that moves: its columns (r, d)
    eps: Array  # (r, m) Model A's residuals; of the context the values themselves
    predicted: Array  # (r,) what the audited predictor makes of them


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """The same people with A set to another value under g versions of Model B.

    Where errors are seen in intervals only, a person has several worlds, each with a probability.
    """

    factual: FactualBlock
    x_cf: Array  # (g, l, m) features under Model B
    eps_cf: Array  # (g, l, m) false residuals: what Model A takes for noise in the counterfactual person
    phi_cf: dict[int, Array]  # per equation that moves: its columns (g, r, d), or (1, r, d) where all worlds agree
    change: dict[int, Array]  # phi' - phi, of the same shape
    owner: IntArray | None = None  # (l,) the person of each world; None: each has one, l = r
    probability: Array | None = None  # (l,) of each world; None: 1

    def of_people(self, values: Any) -> Any:
        """Give each world the value (r,) of its person."""
        return values if self.owner is None else values[self.owner]

    def weights(self, weight: Array) -> Array:
        """(l,) the weight of each world: its person's, shared by probability."""
        return weight if self.probability is None else np.asarray(self.of_people(weight) * self.probability)

    def people(self) -> Rows:
        """The factual person of each world."""
        block = self.factual.block
        return block if self.owner is None else block.where(self.owner)

    def mean(self, values: Array) -> Array:
        """(r,) the mean of values (l,) over each person's worlds."""
        if self.owner is None or self.probability is None:
            return values
        return np.bincount(self.owner, values * self.probability, minlength=self.factual.block.a.size).astype(float)


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The worlds of everyone, one after the other."""

    owner: IntArray  # (l,) the row of the claim that each belongs to; a row's stand side by side
    probability: Array  # (l,)
    x: Array  # (l, m) features, coded

    def likeliest(self, n: int) -> IntArray:
        """(n,) the most probable world of each of n rows."""
        order = np.lexsort((-self.probability, self.owner))
        first = np.searchsorted(self.owner[order], np.arange(n))
        return order[first]


def residuals(design: Design, w: Array, block: Rows) -> Array:
    """``x - Phi w``: what a Gaussian model takes for noise, as (r, m); the context stays as it is."""
    eps = np.array(block.x, order="F")
    eps[:, design.columns] -= design.fitted(block.a, block.x, w)
    return eps


def factual_columns(design: Design, w_A: Array, block: Rows) -> tuple[dict[int, Array], Array]:
    """Work out for one block what no version of Model B changes: the columns of equations that move, and residuals."""
    eps, phi = np.array(block.x.T, order="C"), {}
    for j, (equation, where) in enumerate(zip(design.equations, design.slices, strict=True)):
        columns = equation.values(block.a, block.x)
        eps[equation.column] -= columns @ w_A[where]
        if equation.moves:
            phi[j] = columns
    return phi, eps.T


def worlds(design: Design, w_A: Array, w_B: Array, factual: FactualBlock) -> Worlds:
    """Walk through the graph with the protected attribute changed, for weights w_B (g, D) of Model B.

    With the noise ``delta = x - Phi w_B`` kept (abduction) and A set to a' (action), prediction gives
    ``x' = Phi' w_B + delta = x + (Phi' - Phi) w_B``, and Model A's owner computes
    ``eps' = x' - Phi' w_A = eps + (Phi' - Phi) (w_B - w_A)``. Edges that are called fair carry factual values, in
    both. Features that no unfair path from A leads to stay as they are.
    """
    block = factual.block
    x_cf = np.repeat(block.x.T[:, None], len(w_B), axis=1)  # (m, g, r): each feature's values side by side
    eps_cf = np.repeat(factual.eps.T[:, None], len(w_B), axis=1)
    phi_cf, change = {}, {}
    moving = {design.equations[j].column for j in factual.phi}
    for j, phi in factual.phi.items():
        equation, where = design.equations[j], design.slices[j]
        agree = not any(k in moving for _, k in equation.unfair)
        seen = x_cf[:, :1] if agree else x_cf
        phi_cf[j] = equation.values(block.a_cf, seen.transpose(1, 2, 0), block)
        change[j] = phi_cf[j] - phi
        x_cf[equation.column] += (change[j] @ w_B[:, where, None])[:, :, 0]
        eps_cf[equation.column] += (change[j] @ (w_B[:, where] - w_A[where])[:, :, None])[:, :, 0]
    return Worlds(factual, x_cf.transpose(1, 2, 0), eps_cf.transpose(1, 2, 0), phi_cf, change)


def weight_gradient(
    design: Design,
    w_A: Array,
    w_B: Array,
    counterfactual: Worlds,
    *,
    g_eps: Array | None = None,
    g_x: Array | None = None,
) -> Array:
    """Pull gradients (r, m) in the false residuals and the features back to the weights w_B (D,) of the first world.

    `worlds` in reverse, with g the gradient in eps' and h that in x':
    ``xbar_j = h_j + g_j + sum over children c of (xbar_c w_B,c - g_c w_A,c)' dphi_c/dx_j``, and
    ``d/dw_j = sum_i (phi'_ij - phi_ij) xbar_ij``.
    """
    g = np.zeros_like(counterfactual.factual.eps) if g_eps is None else g_eps
    x_bar = np.array(g if g_x is None else g + g_x, order="F")
    c_w = np.zeros(w_B.size)
    columns = {design.equations[j].column for j in counterfactual.change}
    for j in reversed(counterfactual.change):
        equation, where = design.equations[j], design.slices[j]
        own = equation.column
        c_w[where] = counterfactual.change[j][0].T @ x_bar[:, own]
        moving = [(position, k) for position, k in equation.unfair if k in columns]
        if moving:
            W = np.column_stack([w_B[where], w_A[where]])
            block = counterfactual.factual.block
            slopes = equation.slopes(block.a_cf, counterfactual.x_cf[0], block, counterfactual.phi_cf[j][0], W)
            for position, k in moving:
                x_bar[:, k] += x_bar[:, own] * slopes[:, position, 0] - g[:, own] * slopes[:, position, 1]
    return c_w
