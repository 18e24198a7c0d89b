"""Counterfactuals by abduction, action and prediction, forwards for values and backwards for gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Design


@dataclass(frozen=True, slots=True)
class Worlds:
    """One block of people in the factual world and in the world where the protected attribute is another."""

    block: Rows
    x_cf: Array  # (r, m) features under Model B
    eps: Array  # (r, m) Model A's residuals
    eps_cf: Array  # (r, m) false residuals: what Model A takes for noise in the counterfactual person
    change: dict[int, Array]  # per equation that moves: phi' - phi, (r, d)


def residuals(design: Design, w: Array, block: Rows) -> Array:
    """``x - Phi w``: what a model takes for noise, as (r, m)."""
    return np.asarray(block.x - design.fitted(block.a, block.x, w))


def worlds(design: Design, w_A: Array, w_B: Array, block: Rows) -> Worlds:
    """Walk through the graph with the protected attribute changed.

    With the noise ``delta = x - Phi w_B`` kept (abduction) and A set to a' (action), prediction gives
    ``x' = Phi' w_B + delta = x + (Phi' - Phi) w_B``, and Model A's owner computes
    ``eps' = x' - Phi' w_A = eps + (Phi' - Phi) (w_B - w_A)``. Features that do not descend from A stay as they are.
    """
    x_cf = block.x.copy(order="F")
    eps = np.empty_like(x_cf)
    shift = np.zeros_like(x_cf)
    change = {}
    for j, (equation, where) in enumerate(zip(design.equations, design.slices, strict=True)):
        phi = equation.values(block.a, block.x)
        eps[:, j] = block.x[:, j] - phi @ w_A[where]
        if equation.moves:
            change[j] = equation.values(block.a_cf, x_cf) - phi
            x_cf[:, j] += change[j] @ w_B[where]
            shift[:, j] = change[j] @ (w_B[where] - w_A[where])
    return Worlds(block, x_cf, eps, eps + shift, change)


def weight_gradient(design: Design, w_A: Array, w_B: Array, found: Worlds, g: Array) -> Array:
    """Pull a gradient ``g`` (r, m) in the false residuals back to Model B's weights: the sweep of `worlds` in reverse.

    ``xbar_j = g_j + sum over children c of (xbar_c w_B,c - g_c w_A,c)' dphi_c/dx_j``, and
    ``d/dw_j = sum_i (phi'_ij - phi_ij) xbar_ij``.
    """
    x_bar = g.copy(order="F")
    c_w = np.zeros(w_B.size)
    for j in reversed(found.change):
        equation, where = design.equations[j], design.slices[j]
        c_w[where] = found.change[j].T @ x_bar[:, j]
        if equation.parents:
            slopes = equation.slopes(found.block.a_cf, found.x_cf, np.column_stack([w_B[where], w_A[where]]))
            for position, k in enumerate(equation.parents):
                x_bar[:, k] += x_bar[:, j] * slopes[:, position, 0] - g[:, j] * slopes[:, position, 1]
    return c_w
