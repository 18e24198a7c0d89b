"""The paper's Algorithm 1 in plain PyTorch: the worst case for each p_max by gradient ascent on minibatches.

``P = I + p_max (J - I) o tanh(L L')``. A step fits the scales of the errors to its batch by Powell's method, holds them
fixed, as the authors did, and takes the gradient by automatic differentiation. The last L starts the next p_max. Models
and sums are those of `plain_torch`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from plain_torch import (
    TOLERANCE,
    Columns,
    Model,
    Problem,
    embed_all,
    false_residuals,
    fit_model_a,
    fit_model_b,
    fit_predictor,
    monomials,
    precision,
    residuals,
    weights_at,
)
from torch import Tensor

HALVINGS = 60  # of one step, at most
LOOKED, UNMOVED = 5, 1e-5  # steps between looks, and how far no entry of P has moved where the authors' program stops


@dataclass(frozen=True)
class Settings:
    """How to ascend."""

    batch: int
    epochs: int  # passes over the data per p_max
    rate: float = 0.05  # of a step on log CFU, for CFU itself is tiny
    momentum: float = 0.9
    longest: float = 1.0  # a longer gradient is cut to this length
    deviation: float = 0.1  # of the random values below the diagonal of the first L
    floor: float = 1e-6  # a P with a smaller eigenvalue counts as not positive definite
    tolerance: float = TOLERANCE  # of Powell's method on log sigma
    seed: int = 0


@dataclass(frozen=True)
class Known:
    """What Algorithm 1 fits once: Model A, the predictor and its predictions."""

    problem: Problem
    Phi: Columns
    model_a: Model
    theta: Tensor
    y_hat: Tensor  # (n,)

    @classmethod
    def of(cls, problem: Problem) -> Known:
        """Fit Model A and the predictor on its residuals."""
        Phi = embed_all(problem)
        model_a = fit_model_a(problem, Phi)
        eps = residuals(problem, Phi, model_a.weights)
        theta = fit_predictor(problem, eps)
        return cls(problem, Phi, model_a, theta, theta @ monomials(list(eps), problem.predictor_degree))

    def on(self, rows: Tensor) -> Known:
        """The same on a batch of rows, the penalty scaled by their share."""
        full, Phi = self.problem, self.Phi
        share = len(rows) / full.a.numel()
        batch = replace(full, a=full.a[rows], x=full.x[:, rows], y=full.y[rows], penalty=full.penalty * share)
        blocks = tuple(block[:, rows] for block in Phi.blocks)
        whole = Phi.rows[:0] if full.blockwise else Phi.rows[rows]  # which products of blocks do not look at
        columns = Columns(blocks, torch.cat(blocks), Phi.feature_of, whole)
        return replace(self, problem=batch, Phi=columns, y_hat=self.y_hat[rows])

    def scales(self, P: Tensor, start: Tensor, tolerance: float) -> Tensor:
        """Model B's standard deviations of the errors, by Powell's method."""
        return fit_model_b(self.problem, self.Phi, P, start, tolerance).scales

    def cfu(self, P: Tensor, sigma: Tensor) -> Tensor:
        """CFU at correlation P and scales sigma, as an expression that can be differentiated by P."""
        w_B = weights_at(self.problem, self.Phi, precision(P, torch.log(sigma)))
        eps_cf = false_residuals(self.problem, self.Phi, self.model_a, Model(w_B, sigma))
        y_cf = self.theta @ monomials(list(eps_cf), self.problem.predictor_degree)
        return (self.y_hat - y_cf).square().mean()


@dataclass(frozen=True)
class Reached:
    """Where the ascent at one p_max ended."""

    p_max: float
    P: Tensor
    cfu: float
    seconds: float
    halved: int  # how often a step, or L at the start, was drawn back to the positive definite matrices
    seconds_of_authors: float  # the same, ended where P is seen to be where it started: they stop there


@dataclass
class Ascent:
    """The state that goes from one p_max to the next."""

    known: Known
    settings: Settings
    deadline: float = float("inf")  # by time.process_time
    L: Tensor = field(init=False)
    sigma: Tensor = field(init=False)
    steps: int = 0  # at the present p_max
    halved: int = 0  # the same
    unmoved: float | None = None  # when the authors' program would have stopped, by time.process_time

    def __post_init__(self) -> None:
        self.random = torch.Generator().manual_seed(self.settings.seed)
        m = len(self.known.problem.degrees)
        values = torch.randn((m, m), dtype=torch.float64, generator=self.random)
        self.L = torch.eye(m, dtype=torch.float64) + self.settings.deviation * values.tril(-1)
        self.sigma = self.known.model_a.scales

    @property
    def most_steps(self) -> int:
        """Steps per p_max."""
        return self.settings.epochs * -(-self.known.problem.a.numel() // self.settings.batch)

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return time.process_time() > self.deadline

    def gradient(self, p_max: float) -> Tensor:
        """Derivative of log CFU by L on a new batch, the scales fitted to it and then held fixed."""
        n = self.known.problem.a.numel()
        batch = self.known.on(torch.randint(n, (min(self.settings.batch, n),), generator=self.random))
        L = self.L.clone().requires_grad_()
        P = squashed(L, p_max)
        self.sigma = batch.scales(P.detach(), self.sigma, self.settings.tolerance)
        torch.log(batch.cfu(P, self.sigma)).backward()
        assert L.grad is not None
        return L.grad * min(1.0, self.settings.longest / max(float(L.grad.norm()), 1e-300))

    def allowed(self, L: Tensor, p_max: float) -> bool:
        """Whether L gives a positive definite P."""
        return bool(torch.linalg.eigvalsh(squashed(L, p_max))[0] > self.settings.floor)

    def climb(self, p_max: float) -> None:
        """Take the steps of one p_max, unless time runs out; a step out of the positive definite matrices is halved."""
        self.steps = self.halved = 0
        self.unmoved = None
        while not self.allowed(self.L, p_max):  # what was definite at the last p_max need not be at this one
            self.L, self.halved = 0.95 * self.L, self.halved + 1
        velocity, start = torch.zeros_like(self.L), squashed(self.L, p_max)
        while p_max > 0 and self.steps < self.most_steps and not self.late:
            velocity = self.settings.momentum * velocity + self.gradient(p_max)
            for _ in range(HALVINGS):
                if self.allowed(self.L + self.settings.rate * velocity, p_max):
                    self.L = self.L + self.settings.rate * velocity
                    break
                velocity, self.halved = velocity / 2, self.halved + 1
            self.steps += 1
            looked = self.unmoved is None and self.steps % LOOKED == LOOKED - 1
            if looked and bool((squashed(self.L, p_max) - start).abs().max() <= UNMOVED):
                self.unmoved = time.process_time()

    def final_cfu(self, p_max: float) -> float:
        """CFU on the full data, its scales by Powell's method from the last batch's."""
        P = squashed(self.L, p_max)
        return float(self.known.cfu(P, self.known.scales(P, self.sigma, self.settings.tolerance)))


def squashed(L: Tensor, p_max: float) -> Tensor:
    """``I + p_max (J - I) o tanh(L L')``."""
    eye = torch.eye(len(L), dtype=L.dtype)
    return eye + p_max * (1 - eye) * torch.tanh(L @ L.T)


def worst_cases(ascent: Ascent, grid: Sequence[float], progress: Callable[[int], None]) -> list[Reached]:
    """Ascend at each p_max in turn, as far as the deadline allows; an unfinished p_max is not given."""
    found: list[Reached] = []
    for p_max in grid:
        start = time.process_time()
        ascent.climb(p_max)
        if ascent.late:
            break
        climbed = time.process_time()
        cfu = ascent.final_cfu(p_max)
        seconds = time.process_time() - start
        sooner = seconds - (0.0 if ascent.unmoved is None else climbed - ascent.unmoved)
        found.append(Reached(p_max, squashed(ascent.L, p_max), cfu, seconds, ascent.halved, sooner))
        progress(len(found))
    return found
