"""CFU: how far predictions move with the protected attribute, over everyone, a group, or those moved to one level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Evaluation, changes, evaluate
from fairstress.claim.grid import lost
from fairstress.errors import SettingError, show
from fairstress.functionals.compiled import compiled, seen
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import FactualBlock, weight_gradient
from fairstress.model.fit import Fit
from fairstress.options import NO_GRADIENT

Mask = NDArray[np.bool_]

MOST_CHANGES = 2**25  # of all people under all fits of some replicates, a quarter of a gigabyte


@dataclass(frozen=True, slots=True)
class CFU:
    """CFU: the mean squared change of the prediction, over everyone, one group, or those moved to one level.

    The claim may carry another measure of the change than its mean square.
    """

    group: float | None = None  # code of the protected attribute
    to: float | None = None  # code of its counterfactual value
    name: str = "CFU"

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """Mean of ``(f(z') - f(z))^2``, or what the claim's measure makes of the changes."""
        return claim.for_squares().remembered((self.group, self.to), fits, self._found)

    def _found(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        if claim.measure.of_all is not None:
            return self._of_all(claim, fits, claim.measure.of_all)
        total, n = claim.total(partial(self._of_block, fits), seen=seen)
        found = np.asarray(total / n)
        if claim.swept is not None and (again := np.flatnonzero(np.isnan(found)).tolist()):
            found[again] = self._found(claim.swept, [fits[i] for i in again])
        return found

    def _of_block(self, fits: Sequence[Fit], claim: Claim, factual: FactualBlock) -> tuple[Array, float]:
        """What a block of people adds for each fit, and the people's weight."""
        weight, chosen, total = self._weight(factual.block), self._chosen(factual.block), np.empty(len(fits))
        if fast := compiled(claim):
            return fast.values(fits, factual, weight), float(weight.sum())
        for some, counterfactual, predicted in claim.predicted_side_by_side(fits, factual):
            change = predicted - counterfactual.of_people(factual.predicted)
            total[some] = _sums(claim, change, counterfactual.weights(weight), chosen)
        return total, float(weight.sum())

    def of_both(self, first: Claim, second: Claim, fits: Sequence[Fit]) -> tuple[Array, Array]:
        """The same for two predictors of the same people, whose worlds are walked through once."""
        claims = first, second = first.for_squares(), second.for_squares()
        alike = first.rows.a.size == second.rows.a.size and first.cross is second.cross is None
        one_is_compiled = (compiled(first) is None) != (compiled(second) is None)
        apart = first.is_mixed or one_is_compiled or any(claim.measure.of_all for claim in claims)
        if apart or not alike:
            return self.values(first, fits), self.values(second, fits)  # worlds of people who have several are kept
        totals, n = first.total_beside(second, partial(self._of_both_blocks, fits), seen=seen)
        return totals[0] / n, totals[1] / n

    def _of_both_blocks(
        self, fits: Sequence[Fit], claims: Sequence[Claim], blocks: Sequence[FactualBlock]
    ) -> tuple[Array, float]:
        """What the same block of people adds by each of two predictors, and the people's weight."""
        totals, weight = np.empty((2, len(fits))), self._weight(blocks[0].block)
        if all(fast := [compiled(claim) for claim in claims]):
            parts = [one.values(fits, own, weight) for one, own in zip(fast, blocks, strict=True) if one]
            return np.array(parts), float(weight.sum())
        features = any(claim.looks_at_features for claim in claims)
        for some, worlds in claims[0].side_by_side(fits, blocks[0], features=features):
            for total, claim, own in zip(totals, claims, blocks, strict=True):
                total[some] = weighed(claim.measure.each(claim.predict_worlds(worlds) - own.predicted), weight)
        return totals, float(weight.sum())

    def under_weights(self, claim: Claim, weights: Array, fits: Sequence[Sequence[Fit]]) -> Array | None:
        """(b, k) the same under each of the weights (b, r) of everyone, each with k fits of its own.

        Changes do not hang on weights, so that those of all fits are found side by side. None where that needs
        everyone.
        """
        found = None if claim.is_mixed or claim.measure.of_all else claim.few_under(weights)
        if found is None or sum(map(len, fits)) * found[0].rows.size > MOST_CHANGES:
            return None
        few, weight, cross = found
        chosen = self._chosen(few.rows)
        change = _changes(few, [fit for own in fits for fit in own]).reshape(len(weights), -1, chosen.size) * chosen
        if cross is None:
            total = (claim.measure.each(change) @ weight[:, :, None])[:, :, 0]
        else:
            total = np.einsum("bkr,bkr->bk", change @ cross, change)
        return np.asarray(total / (weight @ chosen)[:, None])

    def has_slope(self, claim: Claim) -> bool:
        """Whether both the predictor and the measure have one."""
        smooth = claim.predictor.gradient != NO_GRADIENT and not claim.draws_worlds
        return claim.measure.slope is not None and smooth

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> tuple[Array, Array] | None:
        """Back through predictions and counterfactuals to the weights; None without slopes of predictor or measure."""
        claim = claim.for_squares()
        if not self.has_slope(claim):
            return None
        totals, n, c_w = claim.total(partial(self._slopes_of_block, fits), seen=seen)
        values, slopes = totals / n, c_w / n
        if claim.swept is not None and (again := np.flatnonzero(np.isnan(values)).tolist()):
            of_block = partial(self._slopes_of_block, [fits[i] for i in again])
            totals, n, c_w = claim.swept.total(of_block, seen=seen)
            values[again], slopes[again] = totals / n, c_w / n
        return values, slopes

    def _slopes_of_block(self, fits: Sequence[Fit], claim: Claim, factual: FactualBlock) -> tuple[Array, float, Array]:
        """What a block of people adds for each fit, their weight, and derivatives of the first by the weights."""
        weight, chosen = self._weight(factual.block), self._chosen(factual.block)
        w_B = np.array([fit.weights for fit in fits])
        if fast := compiled(claim):
            totals, c_w = fast.values_and_slopes(fits, factual, weight)
            return totals, float(weight.sum()), c_w
        totals, c_w, features = np.empty(len(fits)), np.empty_like(w_B), claim.looks_at_features
        for some, worlds in claim.side_by_side(fits, factual, features=features, differing=claim.may_differ):
            predicted, slopes = claim.predictor.predict_with_slopes(claim.view.counterfactual(worlds))
            assert slopes is not None
            change = predicted - factual.predicted
            g_eps, g_x = claim.view.gradients(worlds, _slopes(claim, change, weight, chosen)[..., None] * slopes)
            totals[some] = _sums(claim, change, weight, chosen)
            c_w[some] = weight_gradient(claim.design, claim.model_a.weights, w_B[some], worlds, g_eps=g_eps, g_x=g_x)
        return totals, float(weight.sum()), c_w

    def _of_all(self, claim: Claim, fits: Sequence[Fit], measure: Callable[[Array, Array], float]) -> Array:
        """A measure that needs everyone's change at once."""
        values = np.empty(len(fits))
        for i, fit in enumerate(fits):
            moves, weight = changes(claim, fit, self._weight)
            values[i] = measure(moves[weight > 0], weight[weight > 0])
        return values

    def _weight(self, block: Rows) -> Array:
        return block.weight if self.group is None and self.to is None else block.weight * self._chosen(block)

    def _chosen(self, block: Rows) -> Mask:
        """(r,) who is meant: of a node its weight does not tell, which may be 0 though its change counts."""
        chosen = np.ones(block.size, dtype=bool)
        if self.group is not None:
            chosen &= block.a == self.group
        if self.to is not None:
            chosen &= block.a_cf == self.to
        return chosen

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _changes(claim: Claim, fits: Sequence[Fit]) -> Array:
    """(g, r) the change of everyone's prediction under each version of Model B, of people who have one world each."""
    parts = []
    for factual in claim.blocks():
        predicted = [own for _, _, own in claim.predicted_side_by_side(fits, factual)]
        parts.append(np.concatenate(predicted) - factual.predicted)
    return np.concatenate(parts, axis=1)


def weighed(rows: Array, weight: Array) -> Array:
    """(g,) sums of rows (g, r) by weight, each by itself: what stands beside changes no digit."""
    return np.array([np.dot(row, weight) for row in rows])


def _sums(claim: Claim, change: Array, weight: Array, chosen: Mask) -> Array:
    """(g,) what changes (g, r) add up to, of those who are meant; NaN where digits are lost.

    What stands beside changes no digit.
    """
    if claim.cross is None:
        return weighed(claim.measure.each(change), weight)
    own = np.where(chosen, change, 0.0)
    found = np.asarray(_crossed(claim.cross, own)[:, None] @ own[:, :, None])[:, 0, 0]
    return found if claim.swept is None else np.where(lost(own, claim.cross), np.nan, found)


def _slopes(claim: Claim, change: Array, weight: Array, chosen: Mask) -> Array:
    """(g, r) derivatives of these sums."""
    assert claim.measure.slope is not None
    if claim.cross is None:
        return np.asarray(weight * claim.measure.slope(change))
    own = np.where(chosen, change, 0.0)
    return np.where(chosen, claim.measure.slope(_crossed(claim.cross, own)), 0.0)


def _crossed(Q: Array, rows: Array) -> Array:
    """(g, r) each of some rows (g, r) times Q."""
    return np.asarray(rows[:, None] @ Q)[:, 0]


def evaluate_cfu(claim: Claim, P: Array) -> Evaluation:
    """CFU of the claim's predictor at one correlation (m, m)."""
    return evaluate(claim, P, CFU())


def group_cfu(table: Table, level: Any, to: Any = None) -> CFU:
    """CFU of one group, or of those in it who are moved to another level."""
    coding = table.protected
    if coding.levels is None:
        raise SettingError(f"{show(level)} is not a level of '{coding.name}': it is numeric")
    group = coding.moved_code(level)
    if to is None:
        return CFU(group=group, name=f"CFU of {level}")
    target = coding.code(to)
    moved = coding.targets or (-group,)
    if target == group or target not in moved:
        raise SettingError(
            f"nobody is moved from {show(level)} to {show(to)}: give another level, or name it in contrast"
        )
    return CFU(group=group, to=target, name=f"CFU of {level} moved to {to}")
