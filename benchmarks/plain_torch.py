"""The paper's grid tool in plain PyTorch, straight from its formulas: the benchmark's other side, and a second opinion.

The graph is saturated: a feature's parents are the protected attribute and all features before it. Sums run over all
rows, vectorised, anew for every scale that is tried. There are two ways to write them: as the formulas stand, with the
matrices ``Phi_i`` of all rows in one (n, m, D) tensor, and ``blockwise``, products of the features' blocks of columns
that leave out the zeros of ``Phi_i``. Letters are the paper's, with ``K = Sigma^-1``. A column of a block is stored as
a row, (d, n): the fastest layout for these products.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import optimize
from torch import Tensor

TOLERANCE = 1e-3  # of Powell's method on log sigma: the loosest power of ten that gives CFU to 1 % for |p| <= 0.9


@dataclass(frozen=True)
class Problem:
    """Coded and standardised data with what cross-validation chose."""

    a: Tensor  # (n,) protected attribute, -1 or +1
    x: Tensor  # (m, n) features in topological order
    y: Tensor  # (n,) outcome
    degrees: tuple[int, ...]
    penalty: float
    predictor_degree: int
    predictor_penalty: float
    blockwise: bool = False

    @classmethod
    def of(cls, a: Any, x: Any, y: Any, degrees: Iterable[int], **settings: Any) -> Problem:
        """Turn arrays ``a`` (n,), ``x`` (n, m) and ``y`` (n,) into tensors of double precision."""
        a, x, y = (torch.tensor(np.asarray(values), dtype=torch.float64) for values in (a, x, y))
        return cls(a, x.T.contiguous(), y, tuple(degrees), **settings)


@dataclass(frozen=True)
class Model:
    """Weights of each equation, and the standard deviations of the errors."""

    weights: tuple[Tensor, ...]  # per feature (d_j,)
    scales: Tensor  # (m,)


@dataclass(frozen=True)
class Columns:
    """Every feature's embedding of the observed data."""

    blocks: tuple[Tensor, ...]  # per feature (d_j, n)
    stacked: Tensor  # (D, n) the same, one above the other
    feature_of: Tensor  # (D,)
    rows: Tensor  # (n, m, D) the paper's Phi_i, block diagonal


# ---------------------------------------------------------------- embeddings


def monomials(inputs: Sequence[Tensor], degree: int) -> Tensor:
    """All monomials up to a degree as (d, n), equal ones kept; the constant is the first."""
    columns = [torch.ones_like(inputs[0])]
    for total in range(1, degree + 1):
        for chosen in itertools.combinations_with_replacement(inputs, total):
            columns.append(torch.stack(chosen).prod(dim=0))
    return torch.stack(columns)


def embed(problem: Problem, j: int, a: Tensor, x: Sequence[Tensor] | Tensor) -> Tensor:
    """``phi_j`` of the protected attribute and the features before j, as (d_j, n)."""
    return monomials([a, *x[:j]], problem.degrees[j])


def embed_all(problem: Problem) -> Columns:
    """``Phi`` of the observed data, feature by feature."""
    blocks = tuple(embed(problem, j, problem.a, problem.x) for j in range(len(problem.degrees)))
    feature_of = torch.cat([torch.full((len(block),), j) for j, block in enumerate(blocks)])
    stacked = torch.cat(blocks)
    member = torch.arange(len(blocks))[:, None] == feature_of  # (m, D)
    return Columns(blocks, stacked, feature_of, stacked.T[:, None] * member)


# ---------------------------------------------------------------- the two models


def normal_equations(problem: Problem, Phi: Columns, K: Tensor) -> tuple[Tensor, Tensor]:
    """``sum_i Phi_i' K Phi_i`` and ``sum_i Phi_i' K x_i``.

    Blockwise, block (j, k) of the first sum is ``K_jk Phi_j' Phi_k`` and block j of the second ``Phi_j' (K x)_j``.
    """
    if problem.blockwise:
        b = Phi.feature_of
        r = torch.cat([block @ z for block, z in zip(Phi.blocks, K @ problem.x, strict=True)])
        return (Phi.stacked @ Phi.stacked.T) * K[b][:, b], r
    N = torch.einsum("ijd,jk,ike->de", Phi.rows, K, Phi.rows)
    return N, torch.einsum("ijd,jk,ki->d", Phi.rows, K, problem.x)


def weights_at(problem: Problem, Phi: Columns, K: Tensor) -> tuple[Tensor, ...]:
    """``(sum_i Phi_i' K Phi_i + lam I)^-1 sum_i Phi_i' K x_i``, feature by feature."""
    N, r = normal_equations(problem, Phi, K)
    N.diagonal().add_(problem.penalty)
    return torch.linalg.solve(N, r).split([len(block) for block in Phi.blocks])


def residuals(problem: Problem, Phi: Columns, w: Sequence[Tensor]) -> Tensor:
    """``x_i - Phi_i w``, as (m, n)."""
    return problem.x - torch.stack([w_j @ block for w_j, block in zip(w, Phi.blocks, strict=True)])


def precision(P: Tensor, log_scales: Tensor) -> Tensor:
    """``K = Sigma^-1`` for ``Sigma = diag(sigma) P diag(sigma)``."""
    u = torch.exp(-log_scales)
    return u[:, None] * torch.linalg.inv(P) * u


def objective(log_scales: np.ndarray, problem: Problem, Phi: Columns, P: Tensor) -> float:
    """``sum_i (x_i - Phi_i w)' K (x_i - Phi_i w) + lam |w|^2 + n log det Sigma`` at its best weights.

    The part of the last term that scales do not move, n log det P, is omitted.
    """
    K = precision(P, torch.from_numpy(log_scales))
    w = weights_at(problem, Phi, K)
    R = residuals(problem, Phi, w)
    penalty = problem.penalty * sum(w_j @ w_j for w_j in w)
    return float((R * (K @ R)).sum() + penalty) + 2 * problem.a.numel() * log_scales.sum()


def fit_model_a(problem: Problem, Phi: Columns) -> Model:
    """Independent errors: weights at sigma = 1, sigma from their residuals, weights again."""
    w = weights_at(problem, Phi, torch.eye(len(problem.degrees), dtype=torch.float64))
    sigma = residuals(problem, Phi, w).square().mean(dim=1).sqrt()
    return Model(weights_at(problem, Phi, torch.diag(sigma**-2)), sigma)


def fit_model_b(problem: Problem, Phi: Columns, P: Tensor, start: Tensor, tolerance: float) -> Model:
    """Errors of correlation ``P``: Powell's method over log sigma from the scales ``start``, best weights within."""
    found = optimize.minimize(
        objective, torch.log(start).numpy(), args=(problem, Phi, P), method="Powell", tol=tolerance
    )
    log_scales = torch.from_numpy(found.x)
    return Model(weights_at(problem, Phi, precision(P, log_scales)), torch.exp(log_scales))


# ---------------------------------------------------------------- counterfactual unfairness


def fit_predictor(problem: Problem, eps: Tensor) -> Tensor:
    """``theta``, the ridge of y on the monomials of Model A's residuals."""
    Phi = monomials(list(eps), problem.predictor_degree)
    N = Phi @ Phi.T
    N.diagonal().add_(problem.predictor_penalty)
    return torch.linalg.solve(N, Phi @ problem.y)


def false_residuals(problem: Problem, Phi: Columns, model_a: Model, model_b: Model) -> Tensor:
    """``x'_i - Phi'_i w_A``: Model B's counterfactuals of the other group as Model A sees them, as (m, n)."""
    delta = residuals(problem, Phi, model_b.weights)
    x_cf: list[Tensor] = []
    eps_cf: list[Tensor] = []
    for j, (w_A, w_B) in enumerate(zip(model_a.weights, model_b.weights, strict=True)):
        Phi_cf = embed(problem, j, -problem.a, x_cf)
        x_cf.append(w_B @ Phi_cf + delta[j])
        eps_cf.append(x_cf[j] - w_A @ Phi_cf)
    return torch.stack(eps_cf)


def profile(
    problem: Problem,
    grid: Sequence[float],
    progress: Callable[[int], None] = lambda done: None,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """CFU at each correlation of the first two features; each fit starts from the scales of the one before."""
    Phi = embed_all(problem)
    model_a = fit_model_a(problem, Phi)
    eps = residuals(problem, Phi, model_a.weights)
    theta = fit_predictor(problem, eps)
    y_hat = theta @ monomials(list(eps), problem.predictor_degree)
    found, scales = np.empty(len(grid)), model_a.scales
    for i, p in enumerate(grid):
        P = torch.eye(len(problem.degrees), dtype=torch.float64)
        P[0, 1] = P[1, 0] = p
        model_b = fit_model_b(problem, Phi, P, scales, tolerance)
        eps_cf = false_residuals(problem, Phi, model_a, model_b)
        y_cf = theta @ monomials(list(eps_cf), problem.predictor_degree)
        found[i], scales = (y_hat - y_cf).square().mean(), model_b.scales
        progress(i + 1)
    return found
