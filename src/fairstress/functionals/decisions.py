"""Decisions: who is above a threshold in one world and not in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from fairstress.arguments import as_float, word
from fairstress.claim.claim import Claim
from fairstress.errors import SettingError, show
from fairstress.functionals.cfu import weighed
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import FactualBlock
from fairstress.model.fit import Fit
from fairstress.options import LOG_ODDS

EITHER, GAINED, LOST = "either", "gained", "lost"


@dataclass(frozen=True, slots=True)
class Flips:
    """The share of people, or of a group, whose decision ``f >= threshold`` the counterfactual turns; no derivative."""

    threshold: float  # on the scale of the claim's predictor
    direction: str  # "gained": no turns to yes; "lost": yes turns to no; "either"
    group: float | None  # code of the protected attribute
    name: str

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """Weight of those whose decision turns over the weight of all who are asked about."""
        total, n = claim.total(partial(self._of_block, fits))
        return np.asarray(total / n)

    def _of_block(self, fits: Sequence[Fit], claim: Claim, factual: FactualBlock) -> tuple[Array, float]:
        """Those of a block whose decision turns, for each fit, and all who are asked about."""
        block, total = factual.block, np.empty(len(fits))
        weight = block.weight if self.group is None else block.weight * (block.a == self.group)
        before = factual.predicted >= self.threshold
        for some, counterfactual, predicted in claim.predicted_side_by_side(fits, factual):
            turned = flipped(counterfactual.of_people(before), predicted >= self.threshold, self.direction)
            total[some] = weighed(turned, counterfactual.weights(weight))
        return total, float(weight.sum())

    def has_slope(self, claim: Claim) -> bool:
        """Never: a share of people moves in steps."""
        return False

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> None:
        """No derivative."""
        return

    def __repr__(self) -> str:
        return f"<{self.name}>"


def flipped(before: Any, after: Any, direction: str) -> Any:
    """Whose decision turns in a direction."""
    if direction == GAINED:
        return ~before & after
    return before & ~after if direction == LOST else before != after


def flips(table: Table, threshold: Any, direction: str, group: Any, scale: str) -> Flips:
    """Check an analyst's question about decisions."""
    word(direction, "direction", EITHER, GAINED, LOST)
    coding = table.protected
    if group is not None and coding.levels is None:
        raise SettingError(f"group is {show(group)}, but '{coding.name}' is numeric and has no groups: leave it out")
    code = None if group is None else coding.moved_code(group)
    limit = read_threshold(table, threshold, scale)
    way = {EITHER: "turns", GAINED: "turns to yes", LOST: "turns to no"}[direction]
    name = f"share of {'people' if group is None else group} whose decision {way} (threshold {as_float(threshold):g})"
    return Flips(limit, direction, code, name)


def read_threshold(table: Table, threshold: Any, scale: str) -> float:
    """Give a threshold in the outcome's units, or of a probability, on the scale of the predictions."""
    number = as_float(threshold)
    two_valued = table.outcome_levels is not None
    if not np.isfinite(number) or (two_valued and not 0 < number < 1):
        wanted = "a probability between 0 and 1" if two_valued else f"a number in units of '{table.graph.outcome}'"
        raise SettingError(f"threshold is {show(threshold)}: give {wanted}")
    return float(special.logit(number)) if scale == LOG_ODDS else number - table.origin
