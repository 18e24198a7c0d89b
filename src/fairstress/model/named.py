"""A fit, and its counterfactuals, with names put to the numbers, as users see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairstress.errors import Status
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import worlds
from fairstress.model.design import Design
from fairstress.model.fit import Fit


@dataclass(frozen=True, slots=True)
class StructuralModel:
    """Model A, or Model B at one correlation, on the scale of the standardised features."""

    weights: pd.Series[float]  # by (feature, term)
    scales: pd.Series[float]  # standard deviations of the errors, by feature
    correlation: pd.DataFrame
    log_likelihood: float  # without the penalty
    status: Status


def name_model(fitted: Fit, design: Design) -> StructuralModel:
    """Put names to weights, scales and correlation."""
    features = [equation.feature for equation in design.equations]
    terms = [(equation.feature, term) for equation in design.equations for term in equation.embedding.terms]
    return StructuralModel(
        weights=pd.Series(fitted.weights, index=pd.MultiIndex.from_tuples(terms, names=["feature", "term"])),
        scales=pd.Series(fitted.scales, index=features),
        correlation=pd.DataFrame(fitted.correlation, index=features, columns=features),
        log_likelihood=fitted.log_likelihood,
        status=fitted.status,
    )


def name_counterfactuals(table: Table, design: Design, w_A: Array, w_B: Array) -> pd.DataFrame:
    """Give everyone's features under Model B had their protected attribute been another, in the table's units."""
    parts = [worlds(design, w_A, w_B[None], block).x_cf[0] for block in table.rows.blocks()]
    x_cf = table.scaling.undo(np.concatenate(parts))
    frame = pd.DataFrame(x_cf, columns=list(table.graph.features)).iloc[table.row_of]
    a_cf = table.protected.decode(table.rows.a_cf[table.row_of])
    frame.insert(0, table.graph.protected, a_cf.to_numpy())
    return frame.set_axis(table.index, axis=0)
