"""Sums over people of what predictions change by, compiled, and which claims have them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.measure import ABSOLUTE, SQUARED
from fairstress.compiling import is_wanted, load
from fairstress.functionals.program import Program, abduction_of, program_of
from fairstress.functionals.sources import FEATURES
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import FactualBlock, route
from fairstress.model.fit import Fit
from fairstress.model.predictor import PolynomialPredictor
from fairstress.model.view import RawColumns, View

# ---------------------------------------------------------------- whether


def compiled(claim: Claim) -> Compiled | None:
    """What sums up a claim's changes, compiled; None where nothing is, or it would not be worth while.

    Hangs on the claim alone, and not on what was asked before: digits are the same in all processes.
    """
    rows = claim.rows
    if claim.is_mixed or claim.cross is not None or claim.measure not in (SQUARED, ABSOLUTE):
        return None
    if not is_wanted(rows.size if rows.whole is None else None):
        return None
    if _program(claim, [], _moving(claim)) is None or (kernel := load(f"{__package__}.kernel")) is None:
        return None
    return Compiled(claim, kernel)


def _moving(claim: Claim) -> list[int]:
    """Equations that walks through the graph may pass."""
    return [j for j, equation in enumerate(claim.design.equations) if equation.moves]


def _program(claim: Claim, known: Sequence[int], walked: Sequence[int]) -> Program | None:
    """The claim on a way through some equations; None where something in it is no polynomial."""
    view, predictor = claim.view, claim.predictor
    if not isinstance(predictor, PolynomialPredictor) or not isinstance(view, View | RawColumns):
        return None
    return program_of(claim.design, view, predictor, claim.rows.x.shape[1], tuple(known), tuple(walked))


def seen(claim: Claim, block: Rows) -> FactualBlock:
    """People in the factual world, as far as sums over them look at it: little is needed where these are compiled."""
    fast = compiled(claim)
    return fast.factual(block) if fast else claim.factual(block)


# ---------------------------------------------------------------- sums


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """Sums up what a claim's predictions change by."""

    claim: Claim
    kernel: Any

    def values(self, fits: Sequence[Fit], factual: FactualBlock, weight: Array) -> Array:
        """(g,) what a block's changes add up to, by weights (r,) of people, for each version of Model B."""
        w_B = np.array([fit.weights for fit in fits])
        given = self._given(self.claim.differing(w_B), factual, weight)
        return np.asarray(self.kernel.values(*given, np.array([self._all_weights(fit) for fit in fits])))

    def values_and_slopes(self, fits: Sequence[Fit], factual: FactualBlock, weight: Array) -> tuple[Array, Array]:
        """(g,) the sums for versions of Model B, and their derivatives (g, D) by the weights."""
        given, D = self._given(self.claim.may_differ, factual, weight), self.claim.design.feature_of.size
        totals, c_w = np.empty(len(fits)), np.zeros((len(fits), fits[0].weights.size))
        for i, fit in enumerate(fits):
            totals[i], slope = self.kernel.value_and_slope(*given, self._all_weights(fit))
            c_w[i, :D] = slope[:D]
        return totals, c_w

    def factual(self, block: Rows) -> FactualBlock:
        """People in the factual world: predictions are worked out where their changes need them."""
        claim, m = self.claim, block.x.shape[1]
        everything = _program(claim, [], _moving(claim))
        assert everything is not None
        looked_at = frozenset(int(row) - FEATURES - m for row in everything.before)
        abduction = abduction_of(claim.design, m, looked_at & frozenset(range(m)))
        if abduction is None:
            return claim.factual(block)
        nothing = np.empty(0)
        people = self._people(FactualBlock(block, {}, block.x, nothing), nothing)
        eps = self.kernel.residuals(abduction, people, claim.model_a.weights).T
        return FactualBlock(block, {}, eps, claim.predict(block, eps) if everything.is_logistic else nothing)

    def _given(self, differing: Collection[int], factual: FactualBlock, weight: Array) -> tuple[Any, ...]:
        """What the kernel is given beside weights of Model B."""
        way = route(self.claim.design, factual, differing, features=self.claim.looks_at_features)
        program = _program(self.claim, way.known, [j for j, _ in way.walked])
        return (
            program,
            self._people(factual, weight),
            self.claim.measure.is_squared,
            self._all_weights(self.claim.model_a),
        )

    def _people(self, factual: FactualBlock, weight: Array) -> Any:
        """A block of people as the kernel takes them."""
        block, x = factual.block, factual.block.x.T
        x_cf = x if factual.x_cf is None else factual.x_cf
        rows = (np.array([block.a, block.a_cf]), x, factual.eps.T, x_cf, factual.predicted[None], weight[None])
        return self.kernel.People(*(np.require(own, requirements=("C", "W")) for own in rows))

    def _all_weights(self, fit: Fit) -> Array:
        """(D + d,) the equations' and the predictor's."""
        assert isinstance(self.claim.predictor, PolynomialPredictor)
        return np.concatenate([fit.weights[: self.claim.design.feature_of.size], self.claim.predictor.weights])
