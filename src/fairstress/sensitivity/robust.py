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
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import worlds
from fairstress.model.predictor import Predictor
from fairstress.sensitivity.accuracy import Accuracy, accuracy_of
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.evaluate import evaluate
from fairstress.sensitivity.minimax import largest
from fairstress.sensitivity.worst_case import Solver, WorstCase

TOLERANCE = 1e-3  # by which the worst case may exceed that of the cuts
MAX_ROUNDS = 40  # of cuts for one weight
WIDEST = 1e-6  # gap of a predictor that counts as the best, as a share of the objective


@dataclass(frozen=True, slots=True)
class SturdyPredictor:
    """The best predictor for one weight, and how unfair it is at worst."""

    weight: float  # of the worst-case CFU against the mean squared error, or the mean deviance
    predictor: Predictor
    r2: float  # in-sample share of the variance, or of the deviance, explained
    loss: float  # mean squared error, or deviance, plus ridge penalty, per person
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
    accuracy: Accuracy
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
        predictor = check_quadratic(claim)
        accuracy = accuracy_of(table, claim, predictor, penalise_constant=penalise_constant)
        return cls(claim, accuracy, p_max, make_solver, negligible)

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
        if gap > WIDEST:
            found = replace(found, status=Status.CUT_LIMIT)
        return SturdyPredictor(
            weight=weight,
            predictor=predictor,
            r2=predictor.r2,
            loss=self.accuracy.loss(theta),
            worst_case=found,
            cfu_of_cuts=self.largest(theta),
            shrinkage=self.accuracy.shrinkage(self.audited.weights, predictor.r2),
            gap=gap,
            mixture={k: float(q) for k, q in enumerate(mixture) if q > 1e-6},
            rounds=rounds,
            status=found.status,
        )

    @property
    def audited(self) -> Predictor:
        """The predictor of the claim."""
        return check_quadratic(self.claim)

    def largest(self, theta: Array) -> float:
        """The largest CFU among the cuts."""
        return largest(self._matrices, theta) if self.cuts else 0.0

    @property
    def _matrices(self) -> Array:
        return np.array([cut.M for cut in self.cuts])

    def _best(self, weight: float) -> tuple[Array, float, Array]:
        """Weights that are best against the cuts, the gap and the mixture."""
        if weight == 0 or not self.cuts:
            return self.audited.weights, 0.0, np.zeros(0)
        found = self.accuracy.best(self._matrices, weight, self.audited.weights)
        return found.theta, found.gap, found.mixture

    def _predictor(self, theta: Array) -> Predictor:
        if theta is self.audited.weights:
            return self.audited
        return replace(self.audited, weights=theta, r2=self.accuracy.r2(theta))


def unfairness_matrix(claim: Claim, P: Array) -> Array:
    """``M_P = mean of d d'`` with ``d = phi(z') - phi(z)``, as (d, d): CFU at P is ``theta'M_P theta``."""
    predictor, w_A = check_quadratic(claim), claim.model_a.weights
    w_B = evaluate(claim, P).fit.weights
    width = predictor.weights.size
    M, n = np.zeros((width, width)), 0.0
    for people in claim.people():
        block, found = people.block, worlds(claim.design, w_A, w_B[None], people)
        seen, other = claim.view.factual(block, people.eps), claim.view.counterfactual(found)[0]
        d = predictor.embedding.values(other) - predictor.embedding.values(seen)
        M += (d * block.weight[:, None]).T @ d
        n += float(block.weight.sum())
    return np.asarray(M / n)


# ---------------------------------------------------------------- checks


def check_quadratic(claim: Claim) -> Predictor:
    """Refuse a claim whose CFU is no quadratic form in the predictor's weights."""
    predictor = claim.predictor
    if not isinstance(predictor, Predictor):
        raise SettingError(
            "the audited predictor is the user's own: a sturdier one can be found for the built-in one only, whose CFU "
            "is a quadratic form in its weights"
        )
    if predictor.is_logistic:
        raise SettingError(
            "the audited predictor gives probabilities, whose CFU is not convex in its weights: fit the audit with "
            "predictor_scale='log-odds' to find a sturdier one"
        )
    if not claim.measure.is_squared:
        raise SettingError(
            f"a sturdier predictor can be found for measure='squared' only, and measure is {claim.measure.name!r}"
        )
    return predictor


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
