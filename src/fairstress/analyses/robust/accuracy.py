"""How accurate a predictor ``phi(z)'theta`` is: squared errors, or the deviance of a two-valued outcome's log-odds.

A robust predictor minimises ``loss + weight * max_k theta'M_k theta``. With squared errors that is the convex problem
of `fairstress.analyses.robust.minimax` itself. The deviance is convex too, and by Newton becomes a series of
such problems: each step replaces it by its second-order expansion, and halves a step that does not descend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fairstress.analyses.robust.minimax import Loss, Saddle, largest, minimax
from fairstress.claim.claim import Claim
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Moments, column_penalties, outcome_moments
from fairstress.model.predictor import (
    PolynomialPredictor,
    Source,
    deviance,
    null_deviance,
    penalised_deviance,
    squared_errors,
    total_squares,
)

MAX_STEPS = 50
CONVERGENCE = 1e-12  # a step's descent, as a share of the objective, at which only rounding is left


class Accuracy(Protocol):
    """What a trade against the worst case asks of a loss."""

    explained: ClassVar[str]  # what `r2` is called

    def loss(self, theta: Array) -> float:
        """The loss per person, penalty included."""
        ...

    def r2(self, theta: Array) -> float:
        """In-sample share of the variance, or of the deviance, explained."""
        ...

    def best(self, M: Array, weight: float, start: Array) -> Saddle:
        """The weights that are best against the worst of the cuts M (K, d, d)."""
        ...

    def shrinkage(self, theta: Array, r2: float) -> float:
        """The c in [0, 1] with which the predictor drawn towards its middle explains a share r2, or the most.

        That is the cheap way to a lower CFU, c^2 times the predictor's at every P: what a robust one has to beat.
        """
        ...


def accuracy_of(table: Table, claim: Claim, predictor: PolynomialPredictor, *, penalise_constant: bool) -> Accuracy:
    """Gather what the loss of the audited predictor's family needs from the rows."""
    penalties = column_penalties(predictor.embedding, predictor.penalty, penalise_constant=penalise_constant)
    if table.outcome_levels is not None:
        return Deviance(table.rows, predictor, Source((), claim.predictor_inputs), penalties)
    return SquaredErrors.of(
        outcome_moments(table.rows, lambda b: predictor.embedding.values(claim.predictor_inputs(b))), penalties
    )


# ---------------------------------------------------------------- squared errors


@dataclass(frozen=True, slots=True, eq=False)
class SquaredErrors:
    """Mean squared error plus ridge penalty, from moments."""

    explained: ClassVar[str] = "R2"
    moments: Moments  # of the predictor's columns with the outcome
    quadratic: Loss

    @classmethod
    def of(cls, moments: Moments, penalties: Array) -> SquaredErrors:
        """Make the quadratic form of some moments."""
        n = moments.n
        loss = Loss((moments.G + np.diag(penalties)) / n, moments.C[:, 0] / n, float(moments.S[0, 0]) / n)
        return cls(moments, loss)

    def loss(self, theta: Array) -> float:
        """Mean squared error plus penalty, per person."""
        return self.quadratic.value(theta)

    def r2(self, theta: Array) -> float:
        """In-sample share of the variance explained."""
        return 1 - float(squared_errors(self.moments, theta)) / total_squares(self.moments)

    def best(self, M: Array, weight: float, start: Array) -> Saddle:
        """The weights that are best against the worst of the cuts: in closed form but for their mixture."""
        return minimax(self.quadratic, M, weight)

    def shrinkage(self, theta: Array, r2: float) -> float:
        """Solve for c: with ``mean + c (f - mean)``, R2 is ``(2 c cov(y, f) - c^2 var(f)) / var(y)``."""
        moments = self.moments
        centred = moments.C[:, 0] - moments.G[:, 0] * moments.total[0] / moments.n  # the first column is the constant
        covariance = float(theta @ centred)
        variance = float(theta @ moments.G @ theta) - float(theta @ moments.G[:, 0]) ** 2 / moments.n
        if variance <= 0:
            return 0.0
        left = max(covariance**2 - variance * r2 * total_squares(moments), 0.0)
        return float(np.clip((covariance - np.sqrt(left)) / variance, 0, 1))


# ---------------------------------------------------------------- deviance


@dataclass(frozen=True, slots=True, eq=False)
class Deviance:
    """Deviance of a logistic model plus ridge penalty, per person; one pass over the rows for each value."""

    explained: ClassVar[str] = "deviance explained"
    rows: Rows
    predictor: PolynomialPredictor  # whose embedding is used
    source: Source
    penalties: Array  # (d,)

    def loss(self, theta: Array) -> float:
        """Mean deviance plus penalty, per person."""
        penalty = float(self.penalties @ theta**2)
        return (deviance(self.rows, self.predictor.embedding, self.source, theta) + penalty) / self.rows.n

    def r2(self, theta: Array) -> float:
        """In-sample share of the deviance explained."""
        return 1 - deviance(self.rows, self.predictor.embedding, self.source, theta) / null_deviance(self.rows)

    def best(self, M: Array, weight: float, start: Array) -> Saddle:
        """The weights that are best against the worst of the cuts, by Newton.

        The gap is that of the last expansion, or what it still promises if that is more.
        """

        def objective(theta: Array) -> float:
            return self.loss(theta) + weight * largest(M, theta)

        theta, value = start, objective(start)
        for _ in range(MAX_STEPS):
            saddle = minimax(self._expanded(theta), M, weight)
            gain = value - saddle.value
            if gain <= CONVERGENCE * value:
                break
            theta, value = _descent(objective, theta, saddle.theta, value, gain)
        gap = max(saddle.gap, gain / value)
        return Saddle(theta, saddle.mixture, largest(M, theta), value, gap)

    def _expanded(self, theta: Array) -> Loss:
        """The loss to second order about theta."""
        value, g, H = penalised_deviance(self.rows, self.predictor.embedding, self.source, self.penalties, theta)
        n = self.rows.n
        A, b = H / (2 * n), (H @ theta - g) / (2 * n)
        return Loss(A, b, value / n - float(theta @ A @ theta) + 2 * float(b @ theta))

    def shrinkage(self, theta: Array, r2: float) -> float:
        """The c of a predictor that explains this share: log-odds are drawn towards those of the mean outcome."""
        from scipy import optimize

        mean = float(self.rows.y.sum() / self.rows.n)
        middle = np.log(mean / (1 - mean)) * (np.arange(theta.size) == 0)  # the first column is the constant

        def excess(c: float) -> float:
            return self.r2(middle + c * (theta - middle)) - r2

        return float(optimize.brentq(excess, 0, 1, xtol=1e-6)) if excess(0) < 0 < excess(1) else float(excess(1) <= 0)


def _descent(
    objective: Callable[[Array], float], theta: Array, target: Array, value: float, gain: float
) -> tuple[Array, float]:
    """Go towards the target, half as far as often as needed to get a tenth of the gain that was foreseen that far."""
    for step in 0.5 ** np.arange(20):
        trial = theta + step * (target - theta)
        descended = objective(trial)
        if descended <= value - 0.1 * step * gain:
            return trial, descended
    return theta, value
