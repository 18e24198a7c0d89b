"""A robust predictor: accuracy traded against the worst-case CFU within a budget.

Among the predictors ``f(z) = phi(z)'theta`` of the audited one's family, with its degree and penalty, the loss per
person plus a weight times the worst-case CFU is made smallest. At one P, CFU is a quadratic form in theta,

    CFU_P(theta) = theta'M_P theta,   M_P = mean of d d',   d = phi(z') - phi(z),

since Model B does not depend on the predictor. Every worst P found is kept as a cut: theta is best against all cuts
(`fairstress.analyses.robust.minimax`), a search finds the worst P for this theta, and so on until it is no worse.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairstress.analyses.robust.accuracy import Accuracy, accuracy_of
from fairstress.analyses.robust.minimax import largest
from fairstress.analyses.tabular import Shown
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.arguments import is_list, not_negative
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim
from fairstress.errors import SettingError, Status, show
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import FactualBlock
from fairstress.model.fit import Fit
from fairstress.model.predictor import PolynomialPredictor
from fairstress.options import Robust
from fairstress.progress import Progress, Steps
from fairstress.search.causes import sets_within

TOLERANCE = 1e-3  # by which the worst case may exceed that of the cuts
MAX_ROUNDS = 40  # of cuts for one weight
SEARCHES = 4  # that it takes, about
WIDEST = 1e-6  # gap of a predictor that counts as the best, as a share of the objective


@dataclass(frozen=True, slots=True, eq=False)
class RobustPredictor(Shown):
    """The best predictor for one weight, and how unfair it is at worst.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> robust = audit.robust(0.3, 10).robust_predictor
    >>> robust.weight, round(robust.r2, 3), round(robust.cfu, 4)
    (10.0, 0.472, 0.0535)
    """

    weight: float  # of the worst-case CFU against the mean squared error, or the mean deviance
    predictor: PolynomialPredictor  # with its weights
    r2: float  # in-sample share of the variance, or of the deviance, explained
    loss: float  # mean squared error, or deviance, plus ridge penalty, per person
    worst_case: WorstCase  # within the budget
    cfu_of_cuts: float  # the largest CFU among the cuts; the worst case is within 0.1 % of it
    shrinkage: float  # c such that the fair predictor, drawn towards its mean by ``mean + c (f - mean)``, has this R2
    gap: float  # how far the objective can be from its minimum for these cuts, as a share of it
    mixture: dict[int, float]  # cuts that bind, by number, and how much each weighs
    rounds: int  # searches for the worst P
    status: Status  # how the last search ended

    @property
    def cfu(self) -> float:
        """The largest CFU found within the budget."""
        return max(self.worst_case.value, self.cfu_of_cuts)

    def __repr__(self) -> str:
        where = f"{self.worst_case.budget} budget, p_max = {self.worst_case.p_max:g}"
        return f"<RobustPredictor of weight {self.weight:g}: R2 {self.r2:.4g}, worst CFU {self.cfu:.4g}; {where}>"


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """One P within the budget, and CFU there as a quadratic form in the predictor's weights."""

    worst: WorstCase
    M: Array  # (d, d)


@dataclass(slots=True, eq=False)
class CuttingPlanes:
    """The cuts so far, which serve every weight, and what it takes to find more."""

    claim: Claim
    accuracy: Accuracy
    p_max: float
    solver: Solver  # finds the worst P
    negligible: float  # a CFU at or below this is rounding
    cuts: list[Cut] = field(default_factory=list)

    @classmethod
    def of(cls, fitted: Fitted, p_max: float, solver: Solver) -> CuttingPlanes:
        """Gather what the loss needs from the rows; a budget that holds nothing is refused first."""
        if fitted.fair_predictor is not None:
            raise SettingError(
                "this audit's predictor is a robust one already: ask the audit that it was made from, or fit one "
                "without robust"
            )
        if fitted.training is not None:
            raise SettingError(
                "this audit judges people who were held out, to whom no predictor is fitted: give robust to Audit.fit, "
                "beside holdout"
            )
        sets_within(solver.budget, p_max, fitted.graph, fitted.variables)
        claim = fitted.claim
        constant = fitted.settings.penalise_constant
        accuracy = accuracy_of(fitted.table, claim, check_quadratic(claim), penalise_constant=constant)
        return cls(claim, accuracy, p_max, solver, fitted.context.negligible)

    def worst_case(self, claim: Claim, smaller: Sequence[WorstCase] = ()) -> WorstCase:
        """The worst case of another claim within the budget."""
        return replace(self.solver, claim=claim, along_line={}, known={})(self.p_max, smaller)

    def solve(self, weight: float, progress: Progress | None = None) -> RobustPredictor:
        """Find the best predictor for one weight; the audited one, as it is, for weight 0."""
        steps = Steps(SEARCHES, progress)
        for rounds in itertools.count(1):
            theta, gap, mixture = self._best(weight)
            predictor = self._predictor(theta)
            own = replace(self.claim, predictor=predictor)
            worst = self.worst_case(own, [cut.worst for cut in self.cuts])
            steps()
            if worst.value <= max((1 + TOLERANCE) * self.largest(theta), self.negligible):
                break
            self.cuts.append(Cut(worst, cfu_matrix(self.claim, worst.fit)))
            if rounds == MAX_ROUNDS:
                worst = replace(worst, status=Status.CUT_LIMIT)
            if rounds == MAX_ROUNDS or weight == 0:  # the fair predictor needs no more than its own worst case
                break
        steps.finish()
        if gap > WIDEST:
            worst = replace(worst, status=Status.CUT_LIMIT)
        return RobustPredictor(
            weight=weight,
            predictor=predictor,
            r2=predictor.r2,
            loss=self.accuracy.loss(theta),
            worst_case=worst,
            cfu_of_cuts=self.largest(theta),
            shrinkage=self.accuracy.shrinkage(self.audited.weights, predictor.r2),
            gap=gap,
            mixture={k: float(q) for k, q in enumerate(mixture) if q > 1e-6},
            rounds=rounds,
            status=worst.status,
        )

    @property
    def audited(self) -> PolynomialPredictor:
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
        saddle = self.accuracy.best(self._matrices, weight, self.audited.weights)
        return saddle.theta, saddle.gap, saddle.mixture

    def _predictor(self, theta: Array) -> PolynomialPredictor:
        if theta is self.audited.weights:
            return self.audited
        return replace(self.audited, weights=theta, r2=self.accuracy.r2(theta))


def cfu_matrix(claim: Claim, fit: Fit) -> Array:
    """``M_P = mean of d d'`` with ``d = phi(z') - phi(z)``, as (d, d): CFU is ``theta'M_P theta``."""
    embedding = check_quadratic(claim).embedding

    def of(claim: Claim, factual: FactualBlock) -> tuple[Array, float]:
        block, counterfactual = factual.block, claim.worlds([fit], factual)
        here, there = claim.view.factual(block, factual.eps), claim.view.counterfactual(counterfactual)[0]
        d = embedding.values(there) - counterfactual.of_people(embedding.values(here))
        return (d * counterfactual.weights(block.weight)[:, None]).T @ d, float(block.weight.sum())

    M, n = claim.total(of)
    return np.asarray(M / n)


def robust_predictor(
    fitted: Fitted, robust: Robust, random_state: Any, progress: Progress | None = None
) -> RobustPredictor | None:
    """The robust predictor of one weight; None for weight 0, which is the fair predictor as it is."""
    planes = CuttingPlanes.of(fitted, robust.p_max, Solver.of(fitted, robust.budget, robust.search, random_state))
    return planes.solve(robust.weight, progress) if robust.weight else None


# ---------------------------------------------------------------- checks


def check_quadratic(claim: Claim) -> PolynomialPredictor:
    """Refuse a claim whose CFU is no quadratic form in the predictor's weights."""
    predictor = claim.predictor
    if not isinstance(predictor, PolynomialPredictor):
        raise SettingError(
            "the audited predictor is the user's own: a robust one can be found for the built-in one only, whose CFU "
            "is a quadratic form in its weights"
        )
    if predictor.is_logistic:
        raise SettingError(
            "the audited predictor gives probabilities, whose CFU is not convex in its weights: fit the audit with "
            "predictor=Predictor(scale='log-odds') to find a robust one"
        )
    if not claim.measure.is_squared:
        raise SettingError(
            f"a robust predictor can be found for measure='squared' only, and measure is {claim.measure.name!r}"
        )
    return predictor


def read_weights(weights: Any) -> tuple[float, ...]:
    """Check the weights of a frontier; 0, the fair predictor, always belongs to them."""
    if not is_list(weights):
        raise SettingError(f"weights is {show(weights)}: give a list of numbers that are not negative")
    return tuple(sorted({0.0, *(not_negative(weight, "a weight") for weight in weights)}))
