"""Whose decision by a threshold the counterfactual turns, as a report shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.audit.people import Moved
from fairstress.sensitivity.decisions import EITHER, flip_shares
from fairstress.sensitivity.worst_case import WorstCase

if TYPE_CHECKING:
    from fairstress.audit.reported import Audit

ROUNDING = 1e-12  # of a share of people


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest or the largest share of everyone whose decision turns, among all that was seen within a budget."""

    share: float
    correlation: pd.DataFrame  # (m, m)
    status: str  # how the search for it ended


@dataclass(frozen=True, slots=True)
class Decisions:
    """Shares of people whose decision, prediction at or above a threshold, the counterfactual turns.

    Frames have a row for everyone and for each group, and the columns ``gained`` (no turns to yes in the
    counterfactual), ``lost`` (yes turns to no) and ``either``, as `Audit.flip_shares` gives them.
    """

    threshold: float  # the analyst's; a probability where the outcome has two values
    model_a: pd.DataFrame
    worst: pd.DataFrame  # where CFU is largest within the agreed budget
    lowest: Extreme
    highest: Extreme


def decide(audit: Audit, threshold: float, agreed: Moved, limits: Mapping[str, Any]) -> Decisions:
    """Count turned decisions under Model A and at the agreed worst case, and bound them within the agreed budget."""
    scale, names = audit.settings.predictor_scale, list(audit.variables)
    model_a = audit.flip_shares({}, threshold)
    worst = flip_shares(audit.table, audit.claim, agreed.weights, threshold, scale)
    independent = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
    known = [(_everyone(model_a), independent), (_everyone(worst), agreed.point.correlation)]
    low, high = audit.bounds(audit.flips(threshold), agreed.point.p_max, **limits)
    return Decisions(float(threshold), model_a, worst, _extreme(low, known, -1.0), _extreme(high, known, 1.0))


def _everyone(shares: pd.DataFrame) -> float:
    return float(shares.iloc[0][EITHER])


def _extreme(end: WorstCase, known: list[tuple[float, pd.DataFrame]], sign: float) -> Extreme:
    """What a search found, or a correlation of the budget that is known to go beyond it."""
    beyond = [one for one in known if sign * (one[0] - end.value) > ROUNDING]
    found = max(beyond, key=lambda one: sign * one[0], default=(end.value, end.correlation))
    return Extreme(*found, str(end.status))
