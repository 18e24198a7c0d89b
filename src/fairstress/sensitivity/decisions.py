"""Decisions: who is above a threshold in one world and not in the other."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from fairstress.errors import SettingError
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import worlds
from fairstress.sensitivity.claim import EVERYONE, LOG_ODDS, Claim
from fairstress.sensitivity.functional import side_by_side

EITHER, GAINED, LOST = "either", "gained", "lost"
DIRECTIONS = (EITHER, GAINED, LOST)


@dataclass(frozen=True, slots=True)
class Flips:
    """The share of people, or of a group, whose decision ``f >= threshold`` the counterfactual turns; no derivative."""

    threshold: float  # on the scale of the claim's predictor
    direction: str  # "gained": no turns to yes; "lost": yes turns to no; "either"
    group: float | None  # code of the protected attribute
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """Weight of those whose decision turns over the weight of all who are asked about."""
        total, n = np.zeros(len(w_B)), 0.0
        for people in claim.people():
            block = people.block
            weight = block.weight if self.group is None else block.weight * (block.a == self.group)
            n += float(weight.sum())
            before = people.predicted >= self.threshold
            for some, found in side_by_side(claim, w_B, people):
                after = claim.predict_worlds(found) >= self.threshold
                total[some] += turned(before, after, self.direction) @ weight
        return total / n

    def has_slope(self, claim: Claim) -> bool:
        """Never: a share of people moves in steps."""
        return False

    def value_and_slope(self, claim: Claim, w_B: Array) -> None:
        """No derivative."""
        return


def turned(before: Any, after: Any, direction: str) -> Any:
    """Whose decision turns in a direction."""
    if direction == GAINED:
        return ~before & after
    return before & ~after if direction == LOST else before != after


def flips(table: Table, threshold: Any, direction: str, group: Any, scale: str) -> Flips:
    """Check an analyst's question about decisions."""
    if direction not in DIRECTIONS:
        raise SettingError(f"direction is {direction!r}: give '{EITHER}', '{GAINED}' or '{LOST}'")
    coding = table.protected
    if group is not None and coding.levels is None:
        raise SettingError(f"group is {group!r}, but '{coding.name}' is numeric and has no groups: leave it out")
    code = None if group is None else coding.moved_code(group)
    limit = read_threshold(table, threshold, scale)
    way = {EITHER: "turns", GAINED: "turns to yes", LOST: "turns to no"}[direction]
    name = f"share of {'people' if group is None else group} whose decision {way} (threshold {threshold:g})"
    return Flips(limit, direction, code, name)


def flip_shares(table: Table, claim: Claim, w_B: Array, threshold: Any, scale: str) -> pd.DataFrame:
    """Shares by group (rows, everyone first; no row for a group that nobody is moved from) and direction."""
    limit, coding = read_threshold(table, threshold, scale), table.protected
    names, codes = [EVERYONE, *coding.moved_levels], [None, *map(coding.moved_code, coding.moved_levels)]
    total, n = np.zeros((len(codes), len(DIRECTIONS))), np.zeros(len(codes))
    for people in claim.people():
        block, before = people.block, people.predicted >= limit
        after = claim.predict_worlds(worlds(claim.design, claim.model_a.weights, w_B[None], people))[0] >= limit
        turns = np.column_stack([turned(before, after, direction) for direction in DIRECTIONS])
        asked = np.array([block.weight * (code is None or block.a == code) for code in codes])
        total, n = total + asked @ turns, n + asked.sum(axis=1)
    shares = pd.DataFrame(total / n[:, None], index=pd.Index(names, name=coding.name), columns=list(DIRECTIONS))
    return shares[[GAINED, LOST, EITHER]]


def read_threshold(table: Table, threshold: Any, scale: str) -> float:
    """Give a threshold in the outcome's units, or of a probability, on the scale of the predictions."""
    is_number = isinstance(threshold, Real) and not isinstance(threshold, bool | np.bool_)
    number = float(threshold) if is_number else float("nan")
    two_valued = table.outcome_levels is not None
    if not np.isfinite(number) or (two_valued and not 0 < number < 1):
        wanted = "a probability between 0 and 1" if two_valued else f"a number in units of '{table.graph.outcome}'"
        raise SettingError(f"threshold is {threshold!r}: give {wanted}")
    return float(special.logit(number)) if scale == LOG_ODDS else number - table.origin
