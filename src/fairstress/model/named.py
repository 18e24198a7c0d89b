"""A fit, and its counterfactuals, with names put to the numbers, as users see them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fairstress.errors import Status
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array
from fairstress.model.design import Design
from fairstress.model.fit import Fit


@dataclass(frozen=True, slots=True, eq=False)
class StructuralModel:
    """Model A, or Model B at one correlation, on the scale of the standardised features.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> audit.model_a.weights.round(3)
    feature  term
    x        1      -0.038
             a      -0.274
    z        1       0.070
             a       0.502
             x       0.547
    a        1      -0.176
    dtype: float64
    >>> audit.model_b({("a", "x"): 0.3}).scales.round(3)
    x    0.990
    z    0.775
    dtype: float64
    """

    weights: pd.Series[float]  # by (feature, term)
    scales: pd.Series[float]  # standard deviations of the errors, by feature; that of a two-valued attribute is 1
    correlation: pd.DataFrame  # of the errors, (m, m)
    log_likelihood: float  # without the penalty
    status: Status  # how the fit ended

    def __repr__(self) -> str:
        count, likelihood = len(self.weights), f"log likelihood {self.log_likelihood:.2f}"
        return f"<StructuralModel of {len(self.scales)} equations: {count} weights, {likelihood}>"


def name_model(fitted: Fit, design: Design) -> StructuralModel:
    """Put names to weights, scales and correlation."""
    features = [equation.feature for equation in design.equations]
    equations = [*design.equations, design.protected] if design.protected else design.equations
    terms = [(equation.feature, term) for equation in equations for term in equation.embedding.terms]
    variables = [design.protected.feature, *features] if design.protected else features
    return StructuralModel(
        weights=pd.Series(fitted.weights.copy(), index=pd.MultiIndex.from_tuples(terms, names=["feature", "term"])),
        scales=pd.Series(fitted.scales, index=variables[-fitted.scales.size :]),
        correlation=pd.DataFrame(fitted.correlation.copy(), index=variables, columns=variables),
        log_likelihood=fitted.log_likelihood,
        status=fitted.status,
    )


def counterfactual_frame(table: Table, x_cf: Array) -> pd.DataFrame:
    """Put names to the contrasts' counterfactual features (r, m), one row per person and value, in its units."""
    moved, origin = table.protected.contrasts(table.rows)
    frame = pd.DataFrame(table.scaling.undo(x_cf), columns=list(table.graph.features))
    frame.insert(0, table.graph.protected, table.protected.decode(moved.a_cf).to_numpy())
    return table.one_per_person(frame, origin)
