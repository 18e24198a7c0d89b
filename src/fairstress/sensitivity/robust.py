"""A sturdier predictor: accuracy traded against the worst-case CFU within a budget.

Among the predictors ``f(z) = phi(z)'theta`` of the audited one's family, with its degree and penalty, the loss per
person plus a weight times the worst-case CFU is made smallest. At one P, CFU is a quadratic form in theta,

    CFU_P(theta) = theta'M_P theta,   M_P = mean of d d',   d = phi(z') - phi(z),

since Model B does not depend on the predictor. Every worst P found is kept as a cut: theta is best against all cuts
(`fairstress.sensitivity.minimax`), a search finds the worst P for this theta, and so on until it is no worse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairstress.errors import SettingError, Status
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import residuals, worlds
from fairstress.model.design import Moments, column_penalties, outcome_moments
from fairstress.model.predictor import Predictor, squared_errors, total_squares
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.evaluate import evaluate
from fairstress.sensitivity.minimax import Loss, minimax
from fairstress.sensitivity.worst_case import Solver, WorstCase

TOLERANCE = 1e-3  # by which the worst case may exceed that of the cuts
MAX_ROUNDS = 40  # of cuts for one weight


@dataclass(frozen=True, slots=True)
class SturdyPredictor:
    """The best predictor for one weight, and how unfair it is at worst."""

    weight: float  # of the worst-case CFU against the mean squared error
    predictor: Predictor
    r2: float  # in-sample share of the variance explained
    loss: float  # mean squared error plus ridge penalty, per person
    worst_case: WorstCase
    cfu_of_cuts: float  # the largest CFU among the cuts; the worst case is within 0.1 % of it
    shrinkage: float  # c such that the fair predictor, drawn towards its mean by ``mean + c (f - mean)``, has this R2
    gap: float  # how far the objective can be from its minimum for these cuts, as a share of it
    mixture: dict[int, float]  # cuts that bind, by number, and how much each weighs
    rounds: int  # searches for the worst P
    status: Status

    @property
    def cfu(self) -> float:
        """The largest CFU found within the budget."""
        return max(self.worst_case.value, self.cfu_of_cuts)


@dataclass(frozen=True, slots=True)
class Cut:
    """One P within the budget, and CFU there as a quadratic form in the predictor's weights."""

    found: WorstCase
    M: Array  # (d, d)


@dataclass(slots=True)
class Cutting:
    """The cuts so far, which serve every weight, and what it takes to find more."""

    claim: Claim
    loss: Loss
    moments: Moments  # of the predictor's columns with the outcome
    p_max: float
    make_solver: Callable[[Claim], Solver]  # finds the worst P for a claim
    negligible: float  # a CFU at or below this is rounding
    cuts: list[Cut] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        table: Table,
        claim: Claim,
        p_max: float,
        make_solver: Callable[[Claim], Solver],
        *,
        negligible: float,
        penalise_constant: bool,
    ) -> Cutting:
        """Gather what the loss needs from the rows."""
        predictor = check_ridge(claim.predictor)

        def columns(block: Rows) -> Array:
            eps = residuals(claim.design, claim.model_a.weights, block)
            return predictor.embedding.values(claim.view.inputs(block, eps))

        moments = outcome_moments(table.rows, columns)
        penalties = column_penalties(predictor.embedding, predictor.penalty, penalise_constant=penalise_constant)
        n = moments.n
        loss = Loss((moments.G + np.diag(penalties)) / n, moments.C[:, 0] / n, float(moments.S[0, 0]) / n)
        return cls(claim, loss, moments, p_max, make_solver, negligible)

    def solve(self, weight: float) -> SturdyPredictor:
        """Find the best predictor for one weight; the audited one, as it is, for weight 0."""
        for rounds in itertools.count(1):
            theta, gap, mixture = self._best(weight)
            predictor = self._predictor(theta)
            solver = self.make_solver(replace(self.claim, predictor=predictor))
            found = solver(self.p_max, [cut.found for cut in self.cuts])
            if found.value <= max((1 + TOLERANCE) * self.largest(theta), self.negligible):
                break
            self.cuts.append(Cut(found, unfairness_matrix(self.claim, found.correlation.to_numpy())))
            if rounds == MAX_ROUNDS:
                found = replace(found, status=Status.CUT_LIMIT)
            if rounds == MAX_ROUNDS or weight == 0:  # the fair predictor needs no more than its own worst case
                break
        return SturdyPredictor(
            weight=weight,
            predictor=predictor,
            r2=predictor.r2,
            loss=self.loss.value(theta),
            worst_case=found,
            cfu_of_cuts=self.largest(theta),
            shrinkage=shrinkage(self.moments, self.claim.predictor.weights, predictor.r2),
            gap=gap,
            mixture={k: float(q) for k, q in enumerate(mixture) if q > 1e-6},
            rounds=rounds,
            status=found.status,
        )

    def largest(self, theta: Array) -> float:
        """The largest CFU among the cuts."""
        return max((float(theta @ cut.M @ theta) for cut in self.cuts), default=0.0)

    def _best(self, weight: float) -> tuple[Array, float, Array]:
        """Weights that are best against the cuts, the gap and the mixture."""
        if weight == 0 or not self.cuts:
            return self.claim.predictor.weights, 0.0, np.zeros(0)
        found = minimax(self.loss, np.array([cut.M for cut in self.cuts]), weight)
        return found.theta, found.gap, found.mixture

    def _predictor(self, theta: Array) -> Predictor:
        if theta is self.claim.predictor.weights:
            return self.claim.predictor
        r2 = 1 - squared_errors(self.moments, theta) / total_squares(self.moments)
        return replace(self.claim.predictor, weights=theta, r2=r2)


def unfairness_matrix(claim: Claim, P: Array) -> Array:
    """``M_P = mean of d d'`` with ``d = phi(z') - phi(z)``, as (d, d): CFU at P is ``theta'M_P theta``."""
    predictor, w_A = check_ridge(claim.predictor), claim.model_a.weights
    w_B = evaluate(claim, P).fit.weights
    width = predictor.weights.size
    M, n = np.zeros((width, width)), 0.0
    for people in claim.people():
        block, found = people.block, worlds(claim.design, w_A, w_B[None], people)
        seen, other = (claim.view.inputs(block, eps) for eps in (people.eps, found.eps_cf[0]))
        d = predictor.embedding.values(other) - predictor.embedding.values(seen)
        M += (d * block.weight[:, None]).T @ d
        n += float(block.weight.sum())
    return np.asarray(M / n)


def shrinkage(moments: Moments, theta: Array, r2: float) -> float:
    """The c in [0, 1] with which ``mean + c (phi'theta - mean)`` explains a share r2 of the variance, or the most.

    That is the cheap way to a lower CFU, c^2 times the fair predictor's at every P: what a sturdier predictor has to
    beat. R2 as a function of c is ``(2 c cov(y, f) - c^2 var(f)) / var(y)``.
    """
    centred = moments.C[:, 0] - moments.G[:, 0] * moments.total[0] / moments.n  # the first column is the constant
    covariance = float(theta @ centred)
    variance = float(theta @ moments.G @ theta) - float(theta @ moments.G[:, 0]) ** 2 / moments.n
    if variance <= 0:
        return 0.0
    left = max(covariance**2 - variance * r2 * total_squares(moments), 0.0)
    return float(np.clip((covariance - np.sqrt(left)) / variance, 0, 1))


# ---------------------------------------------------------------- checks


def check_ridge(predictor: Any) -> Predictor:
    """Refuse a predictor whose CFU is no quadratic form in its weights."""
    if isinstance(predictor, Predictor) and not predictor.is_logistic:
        return predictor
    what = "is logistic" if isinstance(predictor, Predictor) else "is the user's own"
    raise SettingError(
        f"the audited predictor {what}: a sturdier one can be found for the built-in ridge only, whose CFU is a "
        "quadratic form in its weights; a logistic CFU is not convex in them"
    )


def read_weights(weights: Any) -> tuple[float, ...]:
    """Check the weights of a frontier; 0, the fair predictor, always belongs to them."""
    if isinstance(weights, str) or not isinstance(weights, Iterable):
        raise SettingError(f"weights is {weights!r}: give a list of numbers that are not negative")
    return tuple(sorted({0.0, *(read_weight(weight, "a weight") for weight in weights)}))


def read_weight(weight: Any, name: str = "weight") -> float:
    """Check one weight."""
    try:
        number = float(weight)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number >= 0):
        raise SettingError(f"{name} is {weight!r}: give a finite number that is not negative")
    return number
