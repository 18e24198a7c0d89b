"""A fit with names put to its numbers, as users see it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fairstress.errors import Status
from fairstress.model.design import Design
from fairstress.model.fit import Fit


@dataclass(frozen=True, slots=True)
class StructuralModel:
    """Model A, or Model B at one correlation, on the scale of the standardised features."""

    weights: pd.Series[float]  # by (feature, term)
    scales: pd.Series[float]  # standard deviations of the errors, by feature; that of a two-valued attribute is 1
    correlation: pd.DataFrame
    log_likelihood: float  # without the penalty
    status: Status


def name_model(fitted: Fit, design: Design) -> StructuralModel:
    """Put names to weights, scales and correlation."""
    features = [equation.feature for equation in design.equations]
    equations = [*design.equations, design.protected] if design.protected else design.equations
    terms = [(equation.feature, term) for equation in equations for term in equation.embedding.terms]
    variables = [design.protected.feature, *features] if design.protected else features
    return StructuralModel(
        weights=pd.Series(fitted.weights, index=pd.MultiIndex.from_tuples(terms, names=["feature", "term"])),
        scales=pd.Series(fitted.scales, index=variables[-fitted.scales.size :]),
        correlation=pd.DataFrame(fitted.correlation, index=variables, columns=variables),
        log_likelihood=fitted.log_likelihood,
        status=fitted.status,
    )
