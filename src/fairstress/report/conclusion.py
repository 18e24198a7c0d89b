"""What an audit comes to, in plain types, with every number that the first screen shows. Computes no model."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fairstress.analyses.conclusion import under_model_a
from fairstress.analyses.plausibility import people_at_ends

if TYPE_CHECKING:
    from fairstress.analyses.conclusion import Causes, Conclusion
    from fairstress.analyses.curve import BreakingPoint
    from fairstress.analyses.plausibility import FeaturePlausibility, Plausibility
    from fairstress.analyses.worst_case import WorstCase
    from fairstress.claim.build import Fitted
    from fairstress.claim.measure import Measure


ROUNDING = 1e-9  # of the outcome's standard deviation


def typical(cfu: float | None, measure: Measure) -> float | None:
    """The typical change of a prediction behind a CFU: its root where it is a mean square, otherwise the same."""
    if cfu is None:
        return None
    return math.sqrt(max(cfu, 0.0)) if measure.is_squared else cfu


def conclusion_results(fitted: Fitted, found: Conclusion) -> dict[str, Any]:
    """Gather a conclusion in plain types; what is rounding is 0."""
    measure, noise = fitted.settings.measure, fitted.context.negligible
    own = found.cfu_model_a if found.cfu_model_a > noise else 0.0
    breaking, blind = found.breaking, under_model_a(fitted).get("blind")
    return {
        "state": str(found.state),
        "cfu_model_a": own,
        "typical_model_a": typical(own, measure),
        "typical_blind": None if blind is None or blind <= noise else typical(float(blind), measure),
        "ratio_model_a": None if blind is None or blind <= noise else _ratio(own, float(blind), measure),
        "outcome_deviation": None if fitted.table.outcome_levels else math.sqrt(fitted.outcome_variance),
        "highest": found.highest,
        "p_max": None if breaking is None else breaking.p_max,
        "lower": None if breaking is None else breaking.lower,
        "crossing": _crossing(breaking, measure),
        "compared": [_compared(row, measure, noise) for row in found.compared.to_dict("records")],
        "causes": None if found.causes is None else _causes(found.causes),
        "there": _there(fitted, found, found.worst),
    }


def plausibility_results(fitted: Fitted, found: Plausibility, fewest: int) -> dict[str, Any]:
    """Gather in plain types whether counterfactual people could exist; an end that fewer people have is None."""
    return {
        "impossible_percent": 100 * found.impossible,
        "mostly_impossible": found.mostly_impossible,
        "auc": found.auc,
        "features": [{**asdict(one), **_ends(fitted, one, fewest)} for one in found.features],
    }


def _ends(fitted: Fitted, one: FeaturePlausibility, fewest: int) -> dict[str, float | None]:
    low, high = (n >= fewest for n in people_at_ends(fitted, one.feature))
    return {"lowest": one.lowest if low else None, "highest": one.highest if high else None}


def nominal_results(fitted: Fitted) -> dict[str, float | None]:
    """Typical changes of predictions if nothing is hidden, of the audited predictor and of baselines."""
    noise, measure = fitted.context.negligible, fitted.settings.measure
    found = under_model_a(fitted)
    return {name: typical(cfu if cfu > noise else 0.0, measure) for name, cfu in found.items()}


def _ratio(own: float, blind: float, measure: Measure) -> float:
    mine, other = typical(own, measure), typical(blind, measure)
    assert mine is not None
    assert other is not None
    return mine / other


def _crossing(breaking: BreakingPoint | None, measure: Measure) -> dict[str, Any] | None:
    """Where both predictors are as unfair, or as near to it as they came."""
    if breaking is None or breaking.correlation is None:
        return None
    return {
        "correlation": breaking.correlation.to_numpy().tolist(),
        "cfu": breaking.cfu,
        "typical": typical(breaking.cfu, measure),
        "baseline_cfu": breaking.baseline_cfu,
        "typical_baseline": typical(breaking.baseline_cfu, measure),
    }


def _compared(row: dict[Any, Any], measure: Measure, noise: float) -> dict[str, Any]:
    """CFU and typical change of each predictor within one budget; what is rounding is 0."""
    size = float(row.pop("p_max"))
    known = {str(name): float(cfu) if cfu > noise else 0.0 for name, cfu in row.items()}
    return {"p_max": size, **{name: {"cfu": cfu, "typical": typical(cfu, measure)} for name, cfu in known.items()}}


def _causes(causes: Causes) -> dict[str, Any]:
    return {
        "variables": list(causes.variables),
        "equal_percent": _percent(causes.equal),
        "capped_percent": _percent(causes.capped),
        "capped_on": list(causes.capped_on),
        "cap_percent": _percent(causes.cap),
        "one_clique": causes.one_clique,
        "observed_factor": causes.observed_factor,
    }


def _there(fitted: Fitted, found: Conclusion, worst: WorstCase) -> dict[str, Any]:
    measure = fitted.settings.measure
    upper = worst.estimate.upper if worst.estimate else None
    cfu = worst.value if worst.value > fitted.context.negligible else 0.0
    return {
        "p_max": worst.p_max,
        "cfu": cfu,
        "typical": typical(cfu, measure),
        "typical_upper": typical(upper, measure),
        "percent_of_deviation": _of_deviation(fitted, cfu),
        "correlation": worst.correlation.to_numpy().tolist(),
        "turned_percent": _percent(found.turned),
        "groups": [_group(fitted, row) for row in found.groups.to_dict("records")],
    }


def _group(fitted: Fitted, row: dict[Any, Any]) -> dict[str, Any]:
    """Mean predictions of a group; a difference that is rounding is 0."""
    noise = ROUNDING * max(1.0, math.sqrt(fitted.outcome_variance))
    difference = row["difference"] if abs(row["difference"]) > noise else 0.0
    return {**row, "group": str(row["group"]), "difference": difference}


def _of_deviation(fitted: Fitted, cfu: float) -> float | None:
    """A typical change in per cent of the outcome's standard deviation; None where it has other units."""
    plain = fitted.table.outcome_levels is None and fitted.settings.measure.is_squared and fitted.outcome_variance > 0
    change = typical(cfu, fitted.settings.measure)
    return 100 * change / math.sqrt(fitted.outcome_variance) if plain and change is not None else None


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
