"""How much each equation explains, and what cross-validation tried."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstress.analyses.diagnostics.alone import parts_by_feature
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array
from fairstress.model.latent import Part
from fairstress.model.predictor import AnyPredictor, LogOdds, PolynomialPredictor

OBSERVED, LATENT = "R2", "R2 of the latent number"
COLUMNS = ("name", "degree", "penalty", "score", "measured", "chosen")


def equations(fitted: Fitted) -> pd.DataFrame:
    """A row for each equation: ``feature, kind, degree, penalty, r2`` and what that is."""
    settings, rows = fitted.settings, []
    for name, part in parts_by_feature(fitted.claim).items():
        penalty = settings.own_penalties.get(name, settings.penalty)
        measured = OBSERVED if part.equation.law.is_plain else LATENT
        kind = str(fitted.table.kinds[name])
        rows.append((name, kind, part.equation.degree, penalty, _explained(fitted, part), measured))
    return pd.DataFrame(rows, columns=["feature", "kind", "degree", "penalty", "r2", "measured"])


def _explained(fitted: Fitted, part: Part) -> float:
    """``1 - Var(residual) / Var(x)`` of a plain number, ``Var(index) / (Var(index) + sigma^2)`` of any other."""
    rows, fit = fitted.table.rows, fitted.claim.model_a
    index = part.equation.values(rows.a, rows.x) @ part.w(fit)
    if part.equation.law.is_plain:
        x = rows.x[:, part.equation.column]
        return 1 - _variance(x - index, rows.weight) / _variance(x, rows.weight)
    own = np.ones(1) if part.equation.law.is_ordered else part.sigma(fit, rows.a) ** 2
    noise = float(np.average(np.broadcast_to(own, rows.a.shape), weights=rows.weight))
    return _variance(index, rows.weight) / (_variance(index, rows.weight) + noise)


def _variance(values: Array, weight: Array) -> float:
    mean = np.average(values, weights=weight)
    return float(np.average((values - mean) ** 2, weights=weight))


def cross_validation(fitted: Fitted) -> pd.DataFrame:
    """A row for each degree and penalty that was tried: ``name, degree, penalty, score, measured, chosen``."""
    settings, rows = fitted.settings, []
    predictor = _tried_by(fitted.fair_predictor or fitted.claim.predictor)
    for tried in (*fitted.tried, *([predictor.tried] if predictor is not None and predictor.tried else [])):
        own = (settings.degrees.get(tried.name), settings.own_penalties.get(tried.name, settings.penalty))
        if predictor is not None and tried is predictor.tried:
            own = (predictor.degree, predictor.penalty)
        rows += [(*row, (row[1], row[2]) == own) for row in tried.rows()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _tried_by(predictor: AnyPredictor) -> PolynomialPredictor | None:
    inner = predictor.of if isinstance(predictor, LogOdds) else predictor
    return inner if isinstance(inner, PolynomialPredictor) else None
