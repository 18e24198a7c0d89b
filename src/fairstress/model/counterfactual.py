"""Counterfactuals by abduction, action and prediction, forwards for values and backwards for gradients."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.design import Design
from fairstress.model.moves import Move, Standing


@dataclass(frozen=True, slots=True, eq=False)
class FactualBlock:
    """One block of people in the factual world, as Model A sees them: what all versions of Model B start from."""

    block: Rows
    standing: dict[int, Standing]  # per equation that moves: what its terms are
    eps: Array  # (r, m) Model A's residuals; of the context the values themselves
    predicted: Array  # (r,) what the audited predictor makes of them
    x_cf: Array | None = None  # (m, r) features with A changed under Model A; None: not worked out


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """The same people with A set to another value under g versions of Model B.

    Where errors are seen in intervals only, a person has several worlds, each with a probability.
    """

    factual: FactualBlock
    x_cf: Array  # (g, l, m) features under Model B; those that were passed over stay as they are
    eps_cf: Array  # (g, l, m) false residuals: what Model A takes for noise in the counterfactual person
    moves: dict[int, Move]  # per equation that was walked through: how its terms change
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


def standing(design: Design, w_A: Array, block: Rows) -> tuple[dict[int, Standing], Array]:
    """Work out for one block what no version of Model B changes: the terms of equations that move, and residuals."""
    eps, terms = np.array(block.x.T, order="C"), {}
    for j, (equation, where) in enumerate(zip(design.equations, design.slices, strict=True)):
        Z = equation.inputs(block.a, block.x)
        if equation.moves:
            terms[j] = Standing.at(equation.embedding, Z)
            eps[equation.column] -= terms[j].dot(w_A[where])
        else:
            eps[equation.column] -= equation.embedding.values(Z) @ w_A[where]
    return terms, eps.T


def worlds(
    design: Design,
    w_A: Array,
    w_B: Array,
    factual: FactualBlock,
    *,
    differing: Collection[int] | None = None,
    features: bool = True,
) -> Worlds:
    """Walk through the graph with the protected attribute changed, for weights w_B (g, D) of Model B.

    With the noise ``delta = x - Phi w_B`` kept (abduction) and A set to a' (action), prediction gives
    ``x' = Phi' w_B + delta = x + (Phi' - Phi) w_B``, and Model A's owner computes
    ``eps' = x' - Phi' w_A = eps + (Phi' - Phi) (w_B - w_A)``. Edges that are called fair carry factual values, in
    both. Features that no unfair path from A leads to stay as they are.

    Equations whose weights may differ from Model A's are ``differing``, default all. Others leave residuals alone, and
    features too, as long as nothing above them differs: under Model A these are known. Without ``features`` only what
    residuals hang on is walked through.
    """
    block = factual.block
    x_cf = _copies(block.x.T, len(w_B))  # (m, g, r): each feature's values side by side
    eps_cf = _copies(factual.eps.T, len(w_B))
    moves: dict[int, Move] = {}
    way = route(design, factual, differing, features=features)
    if way.known and factual.x_cf is not None:
        x_cf[way.known] = factual.x_cf[way.known, None]
    for j, agree in way.walked:
        equation, where = design.equations[j], design.slices[j]
        seen = x_cf[:, :1] if agree else x_cf
        moves[j] = factual.standing[j].to(equation.inputs(block.a_cf, seen.transpose(1, 2, 0), block))
        weights = w_B[:, where]
        change = moves[j].times(np.stack([weights, weights - w_A[where]], axis=2))
        x_cf[equation.column] += change[:, 0]
        eps_cf[equation.column] += change[:, 1]
    return Worlds(factual, x_cf.transpose(1, 2, 0), eps_cf.transpose(1, 2, 0), moves)


def _copies(values: Array, count: int) -> Array:
    """(m, g, r) values (m, r) that many times; `np.repeat` would keep other threads from working."""
    copies = np.empty((len(values), count, values.shape[1]))
    copies[...] = values[:, None]
    return copies


class Route(NamedTuple):
    """What a walk through the graph passes over, and what not."""

    known: list[int]  # features that are known from Model A
    walked: list[tuple[int, bool]]  # equations, and whether all worlds agree on their inputs


def route(design: Design, factual: FactualBlock, differing: Collection[int] | None, *, features: bool) -> Route:
    """The way of `worlds` through the graph for a block of people."""
    return _route(design, None if differing is None or factual.x_cf is None else frozenset(differing), features)


@lru_cache(maxsize=256)
def _route(design: Design, differing: frozenset[int] | None, features: bool) -> Route:
    """Every equation that moves is walked through where nobody says which ones differ."""
    moving = [j for j, equation in enumerate(design.equations) if equation.moves]
    columns = {design.equations[j].column for j in moving}
    known: list[int] = []
    left: list[int] = []
    for j in moving:
        above = {k for _, k in design.equations[j].unfair if k in columns}
        if differing is None or j in differing or not above <= set(known):
            left.append(j)
        else:
            known.append(design.equations[j].column)
    walked = left if features or differing is None else _needed(design, left, differing)
    changing = {design.equations[j].column for j in walked}
    return Route(known, [(j, not any(k in changing for _, k in design.equations[j].unfair)) for j in walked])


def _needed(design: Design, equations: Sequence[int], differing: frozenset[int]) -> list[int]:
    """Those of some equations that residuals of differing ones hang on."""
    needed: set[int] = set()
    walked: list[int] = []
    for j in reversed(equations):
        if j in differing or design.equations[j].column in needed:
            walked.insert(0, j)
            needed |= {k for _, k in design.equations[j].unfair}
    return walked


def weight_gradient(
    design: Design,
    w_A: Array,
    w_B: Array,
    counterfactual: Worlds,
    *,
    g_eps: Array | None = None,
    g_x: Array | None = None,
) -> Array:
    """Pull gradients (g, r, m) in the false residuals and the features back to the weights w_B (g, D), as (g, D).

    `worlds` in reverse, with g the gradient in eps' and h that in x':
    ``xbar_j = h_j + g_j + sum over children c of (xbar_c w_B,c - g_c w_A,c)' dphi_c/dx_j``, and
    ``d/dw_j = sum_i (phi'_ij - phi_ij) xbar_ij``.
    """
    given = [np.moveaxis(part, -1, 0) for part in (g_eps, g_x) if part is not None]  # each feature's side by side
    g = np.zeros_like(given[0]) if g_eps is None else given[0]
    x_bar = np.array(given[0] if len(given) == 1 else given[0] + given[1], order="C")
    c_w = np.zeros(w_B.shape)
    columns = {design.equations[j].column for j in counterfactual.moves}
    for j in reversed(counterfactual.moves):
        equation, where = design.equations[j], design.slices[j]
        own, move = equation.column, counterfactual.moves[j]
        c_w[:, where] = move.weighed(x_bar[own])
        moving = [(position, k) for position, k in equation.unfair if k in columns]
        if moving:
            both = np.stack([w_B[:, where], np.broadcast_to(w_A[where], w_B[:, where].shape)], axis=2)
            slopes = move.slopes(both)[:, :, equation.n_protected :]
            for position, k in moving:
                x_bar[k] += x_bar[own] * slopes[:, :, position, 0] - g[own] * slopes[:, :, position, 1]
    return c_w
