"""A table of the protected attribute's effects on each feature, with bounds within a budget."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.bounds import bounds
from fairstress.claim.build import Fitted
from fairstress.functionals.effects import DIRECT, INDIRECT, TOTAL, effect
from fairstress.progress import Progress, Steps

ROUNDING = 1e-12  # of the largest effect on a feature


def effects(
    fitted: Fitted,
    p_max: float,
    level: Any,
    budget: Any,
    search: Any,
    random_state: Any,
    progress: Progress | None,
    replicator: Replicator | None = None,
) -> pd.DataFrame:
    """Direct, indirect and total effects on each feature that descends from the protected attribute."""
    claim, rows = fitted.claim, []
    asked = [(e.feature, kind) for e in claim.design.equations if e.descends for kind in (DIRECT, INDIRECT, TOTAL)]
    for feature, kind in Steps(len(asked), progress).each(asked):
        functional = effect(fitted.table, claim, feature, kind, level)
        low, high = bounds(fitted, functional, p_max, budget, search, random_state, None, replicator, check=False)
        model_a = float(functional.values(claim, [claim.model_a])[0])
        row = {"feature": feature, "effect": kind, "model_a": model_a, "low": low.value, "high": high.value}
        if low.imputation_deviation is not None:
            row |= {"low_deviation": low.imputation_deviation, "high_deviation": high.imputation_deviation}
        if low.estimate is not None and high.estimate is not None:
            row |= {"lower": low.estimate.lower, "upper": high.estimate.upper}
        rows.append(row)
    return pd.concat([_without_rounding(part) for _, part in pd.DataFrame(rows).groupby("feature", sort=False)])


def _without_rounding(effects: pd.DataFrame) -> pd.DataFrame:
    """The effects on one feature, what is rounding beside the largest as 0."""
    numbers = effects.select_dtypes("number")
    kept = numbers.where(numbers.abs() > ROUNDING * numbers.abs().to_numpy().max(), 0.0)
    return effects.assign(**{str(name): kept[name] for name in kept})
