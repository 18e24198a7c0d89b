"""A fit, and its counterfactuals, with names put to the numbers, as users see them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fairstress.errors import Status
from fairstress.inputs.data import Table
from fairstress.inputs.rows import IntArray
from fairstress.model.counterfactual import Leaves
from fairstress.model.design import Design
from fairstress.model.embedding import constant_columns
from fairstress.model.fit import Fit
from fairstress.model.latent import Layout, Part


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
    scales: pd.Series[float]  # standard deviations of numbers' errors, by feature; those of other kinds are 1
    correlation: pd.DataFrame  # of the errors, (m, m)
    log_likelihood: float  # without the penalty
    status: Status  # how the fit ended
    cuts: pd.Series[float] = field(default_factory=lambda: pd.Series(dtype=float))  # by (feature, level below the cut)
    probability_error: float = (
        0.0  # relative error of probabilities; not 0 where more than three ordered errors are tied
    )

    def __repr__(self) -> str:
        count, likelihood = len(self.weights), f"log likelihood {self.log_likelihood:.2f}"
        return f"<StructuralModel of {len(self.scales)} equations: {count} weights, {likelihood}>"


def name_model(fitted: Fit, design: Design, table: Table) -> StructuralModel:
    """Put names to weights, scales, cuts and correlation."""
    layout = Layout.of(design)
    variables = [part.equation.feature for part in layout.parts]
    is_threshold = design.is_plain and design.protected is not None and design.protected.law.is_ordered
    parts = [*layout.features, *layout.parts[: layout.has_protected]]
    weights = {(p.equation.feature, term): fitted.weights[i] for p in parts for i, term in _free_terms(p, is_threshold)}
    scales = [name for part in layout.parts for name in _scale_names(part, table)]
    cuts = {} if is_threshold else {name: tau for p in layout.parts for name, tau in _named_cuts(p, fitted, table)}
    return StructuralModel(
        weights=pd.Series(weights.values(), index=_by(weights, "feature", "term"), dtype=float),
        scales=pd.Series(fitted.scales, index=scales),
        correlation=pd.DataFrame(fitted.correlation.copy(), index=variables, columns=variables),
        log_likelihood=fitted.log_likelihood,
        status=fitted.status,
        cuts=pd.Series(cuts.values(), index=_by(cuts, "feature", "up to"), dtype=float),
        probability_error=fitted.error,
    )


def _by(entries: dict[tuple[str, str], float], *names: str) -> pd.MultiIndex:
    columns = zip(*entries, strict=True) if entries else [[] for _ in names]
    return pd.MultiIndex.from_arrays([list(column) for column in columns], names=names)


def _free_terms(part: Part, is_threshold: bool) -> list[tuple[int, str]]:
    """Position and name of each weight; where there are cuts, they stand for the constant."""
    terms = part.equation.embedding.terms
    fixed = constant_columns(part.equation.embedding) if part.equation.law.is_ordered and not is_threshold else ()
    return [(part.weights.start + i, term) for i, term in enumerate(terms) if i not in fixed]


def _scale_names(part: Part, table: Table) -> list[str]:
    law, name = part.equation.law, part.equation.feature
    return [f"{name} [{table.protected.level(code)}]" for code in law.groups] or [name] * law.n_scales


def _named_cuts(part: Part, fitted: Fit, table: Table) -> list[tuple[tuple[str, str], float]]:
    """Each cut by the highest level below it."""
    law, name = part.equation.law, part.equation.feature
    if not law.is_ordered:
        return []
    own = name == table.graph.protected
    levels = [table.protected.level(code) for code in law.codes] if own else table.kinds[name].levels
    return [((name, str(level)), tau) for level, tau in zip(levels, fitted.cuts[part.cuts].tolist(), strict=False)]


def counterfactual_frame(table: Table, leaves: Leaves) -> pd.DataFrame:
    """Put names to the contrasts' counterfactual features, in the table's units.

    One row per person and value of A; where some have several worlds, one per world, with its ``probability``.
    """
    moved, origin = table.protected.contrasts(table.rows)
    shown = {own.name: pd.Series(own.decode(leaves.x[:, j])) for j, own in enumerate(table.units.features)}
    frame = pd.DataFrame(shown)
    frame.insert(0, table.graph.protected, table.protected.decode(moved.a_cf[leaves.owner]).to_numpy())
    if leaves.owner.size == moved.a.size:
        return table.one_per_person(frame, origin)
    frame["probability"] = leaves.probability
    return _one_per_world(table, frame, leaves.owner, origin)


def _one_per_world(table: Table, frame: pd.DataFrame, owner: IntArray, origin: IntArray) -> pd.DataFrame:
    """Give each person all of the worlds, labelled as the analyst does."""
    contrasts, persons = table.places(origin)
    count = np.bincount(owner, minlength=origin.size)
    first = np.cumsum(count) - count
    copies = count[contrasts]
    step = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
    worlds = frame.iloc[np.repeat(first[contrasts], copies) + step]
    labelled: pd.DataFrame = worlds.set_axis(table.index[np.repeat(persons, copies)], axis=0)
    return labelled
