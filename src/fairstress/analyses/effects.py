"""A table of the protected attribute's effects on each feature, with bounds within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.bounds import bounds
from fairstress.claim.build import Fitted
from fairstress.functionals.effects import DIRECT, INDIRECT, TOTAL, effect
from fairstress.options import read_search
from fairstress.parallel import in_parallel
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
    equations = [e.feature for e in fitted.claim.design.equations if e.descends]
    asked = [(feature, kind) for feature in equations for kind in (DIRECT, INDIRECT, TOTAL)]
    one = _Effect(fitted, p_max, level, budget, search, random_state, replicator)
    rows = in_parallel(one, asked, read_search(search).n_jobs, Steps(len(asked), progress))
    frames = [pd.DataFrame([row for row in rows if row["feature"] == feature]) for feature in equations]
    return pd.concat(map(_without_rounding, frames), ignore_index=True) if frames else pd.DataFrame()


@dataclass(frozen=True, slots=True, eq=False)
class _Effect:
    """One effect on one feature, with its bounds."""

    fitted: Fitted
    p_max: float
    level: Any
    budget: Any
    search: Any
    random_state: Any
    replicator: Replicator | None

    def __call__(self, asked: tuple[str, str]) -> dict[str, Any]:
        feature, kind = asked
        claim = self.fitted.claim
        functional = effect(self.fitted.table, claim, feature, kind, self.level)
        options = (self.budget, self.search, self.random_state, None, self.replicator)
        low, high = bounds(self.fitted, functional, self.p_max, *options, check=False)
        model_a = float(functional.values(claim, [claim.model_a])[0])
        row = {"feature": feature, "effect": kind, "model_a": model_a, "low": low.value, "high": high.value}
        if low.imputation_deviation is not None:
            row |= {"low_deviation": low.imputation_deviation, "high_deviation": high.imputation_deviation}
        if low.estimate is not None and high.estimate is not None:
            row |= {"lower": low.estimate.lower, "upper": high.estimate.upper}
        return row


def _without_rounding(effects: pd.DataFrame) -> pd.DataFrame:
    """The effects on one feature, what is rounding beside the largest as 0."""
    numbers = effects.select_dtypes("number")
    kept = numbers.where(numbers.abs() > ROUNDING * numbers.abs().to_numpy().max(), 0.0)
    return effects.assign(**{str(name): kept[name] for name in kept})
