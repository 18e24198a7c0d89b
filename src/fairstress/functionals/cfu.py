"""CFU: how far predictions move with the protected attribute, over everyone, a group, or those moved to one level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Evaluation, evaluate
from fairstress.errors import SettingError
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import FactualBlock, Worlds, weight_gradient, worlds
from fairstress.options import NO_GRADIENT

BATCH = 32_768  # rows times versions of Model B that are worked on at once


@dataclass(frozen=True, slots=True)
class CFU:
    """CFU: the mean squared change of the prediction, over everyone, one group, or those moved to one level.

    The claim may carry another measure of the change than its mean square.
    """

    group: float | None = None  # code of the protected attribute
    to: float | None = None  # code of its counterfactual value
    name: str = "CFU"

    def values(self, claim: Claim, w_B: Array) -> Array:
        """Mean of ``(f(z') - f(z))^2``, or what the claim's measure makes of the changes."""
        if claim.measure.of_all is not None:
            return self._of_all(claim, w_B, claim.measure.of_all)
        total, n = np.zeros(len(w_B)), 0.0
        for factual in claim.blocks():
            weight = self._weight(factual.block)
            n += float(weight.sum())
            for some, counterfactual in side_by_side(claim, w_B, factual):
                total[some] += claim.measure.each(prediction_change(claim, counterfactual)) @ weight
        return total / n

    def has_slope(self, claim: Claim) -> bool:
        """Whether both the predictor and the measure have one."""
        return claim.measure.slope is not None and claim.predictor.gradient != NO_GRADIENT

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array] | None:
        """Back through predictions and counterfactuals to the weights; None without slopes of predictor or measure."""
        measure = claim.measure
        if measure.slope is None or not self.has_slope(claim):
            return None
        w_A, total, n, c_w = claim.model_a.weights, 0.0, 0.0, np.zeros(w_B.size)
        for factual in claim.blocks():
            weight = self._weight(factual.block)
            counterfactual = worlds(claim.design, w_A, w_B[None], factual)
            predicted, slopes = claim.predictor.predict_with_slopes(claim.view.counterfactual(counterfactual)[0])
            assert slopes is not None
            change = predicted - factual.predicted
            total, n = total + float(measure.each(change) @ weight), n + float(weight.sum())
            g_eps, g_x = claim.view.gradients(counterfactual, (weight * measure.slope(change))[:, None] * slopes)
            c_w += weight_gradient(claim.design, w_A, w_B, counterfactual, g_eps=g_eps, g_x=g_x)
        return total / n, c_w / n

    def _of_all(self, claim: Claim, w_B: Array, measure: Callable[[Array, Array], float]) -> Array:
        """A measure that needs everyone's change at once."""
        blocks = list(claim.blocks())
        weight = np.concatenate([self._weight(factual.block) for factual in blocks])
        who, values = weight > 0, np.empty(len(w_B))
        for i, w in enumerate(w_B):
            counterfactual = (worlds(claim.design, claim.model_a.weights, w[None], factual) for factual in blocks)
            moves = np.concatenate([prediction_change(claim, one)[0] for one in counterfactual])
            values[i] = measure(moves[who], weight[who])
        return values

    def _weight(self, block: Rows) -> Array:
        weight = block.weight
        if self.group is not None:
            weight = weight * (block.a == self.group)
        return weight if self.to is None else weight * (block.a_cf == self.to)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def evaluate_cfu(claim: Claim, P: Array) -> Evaluation:
    """CFU of the claim's predictor at one correlation (m, m)."""
    return evaluate(claim, P, CFU())


def side_by_side(claim: Claim, w_B: Array, factual: FactualBlock) -> Iterator[tuple[slice, Worlds]]:
    """Walk through the worlds of many versions of Model B, as many at once as fit into a core's cache."""
    size = max(1, BATCH // factual.block.a.size)
    for start in range(0, len(w_B), size):
        some = slice(start, start + size)
        yield some, worlds(claim.design, claim.model_a.weights, w_B[some], factual)


def prediction_change(claim: Claim, counterfactual: Worlds) -> Array:
    """``f(z') - f(z)``, as (g, r): how far the prediction moves with the protected attribute."""
    return np.asarray(claim.predict_worlds(counterfactual) - counterfactual.factual.predicted)


def group_cfu(table: Table, level: Any, to: Any = None) -> CFU:
    """CFU of one group, or of those in it who are moved to another level."""
    coding = table.protected
    if coding.levels is None:
        raise SettingError(f"{level!r} is not a level of '{coding.name}': it is numeric")
    group = coding.moved_code(level)
    if to is None:
        return CFU(group=group, name=f"CFU of {level}")
    target = coding.code(to)
    moved = coding.targets or (-group,)
    if target == group or target not in moved:
        raise SettingError(f"nobody is moved from {level!r} to {to!r}: give another level, or name it in contrast")
    return CFU(group=group, to=target, name=f"CFU of {level} moved to {to}")
