"""Whether counterfactual people can exist: values outside the observed range, or between those that can occur.

A model of numbers shifts people along the whole line. Where many are shifted to values that nobody has, such as a
negative count, what is said of them rests on people who cannot exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstress.analyses.diagnostics.shape import scale_to_try, shape_of
from fairstress.analyses.leakage import Leakage
from fairstress.analyses.tabular import Shown, Tabular
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array
from fairstress.inputs.units import FeatureCoding
from fairstress.model.design import Equation
from fairstress.model.fit import Fit

if TYPE_CHECKING:
    from fairstress.report.text.markup import Sheet

FEW = 10  # distinct values of a number that may be levels
BAD = 0.05  # share of people from which on it is said what to do
MOST = 0.5  # share of people from which on counterfactual people are mostly impossible
ROUNDING = 1e-9  # of a column's range


@dataclass(frozen=True, slots=True)
class FeaturePlausibility(Shown):
    """How many people have a counterfactual value of one feature that does not occur. Part of a `Plausibility`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
    >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
    >>> first = audit.plausibility().features[0]
    >>> first.feature, round(first.outside, 3)
    ('ugpa', 0.001)
    """

    feature: str
    kind: str
    lowest: float  # observed; of levels without numbers the place of the lowest, 0
    highest: float
    outside: float  # share of people whose counterfactual value lies below the lowest or above the highest
    off_lattice: float | None  # share with a value between those that can occur; None: any number may occur
    sentence: str = ""  # what that means and what to do; empty where it is little


@dataclass(frozen=True, slots=True, eq=False)
class Plausibility(Tabular):
    """Whether counterfactual people can exist. Made by `Audit.plausibility`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
    >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
    >>> audit.plausibility()
    <Plausibility: 0.88 % of people have an impossible counterfactual value; summary() says more>
    """

    features: tuple[FeaturePlausibility, ...]  # those that move
    impossible: float  # share of people with any counterfactual value outside the observed range
    leakage: Leakage | None = None  # how well the attribute is told from errors, where it is known

    @property
    def mostly_impossible(self) -> bool:
        """Whether more than half of all people have a counterfactual value outside the observed range."""
        return self.impossible > MOST

    @property
    def auc(self) -> float | None:
        """With which AUC the attribute is told from Model A's errors; None where that is not known."""
        return None if self.leakage is None else self.leakage.auc

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is bad, and what to do, feature by feature."""
        return tuple(one.sentence for one in self.features if one.sentence)

    def to_frame(self) -> pd.DataFrame:
        """One row per feature that moves: ``feature, kind, lowest, highest, outside, off_lattice, sentence``."""
        names = list(FeaturePlausibility.__dataclass_fields__)
        return pd.DataFrame([[getattr(one, name) for name in names] for one in self.features], columns=names)

    def summary(self) -> str:
        """Say in prose how many counterfactual people cannot exist, and what to do."""
        from fairstress.report.text.plausibility import plausibility_summary

        return plausibility_summary(self)

    def _sheet(self) -> Sheet:
        from fairstress.report.text.plausibility import plausibility_table

        return plausibility_table(self)

    def __repr__(self) -> str:
        share = f"{100 * self.impossible:.2g} %"
        return f"<Plausibility: {share} of people have an impossible counterfactual value; summary() says more>"


def plausibility(fitted: Fitted, fit: Fit | None = None, leakage: Leakage | None = None) -> Plausibility:
    """Compare everyone's counterfactual values with those that occur, under Model B, by default Model A."""
    claim, moving = fitted.claim, [e for e in fitted.claim.design.equations if e.moves]
    if not moving:
        return Plausibility((), 0.0, leakage)
    leaves = claim.counterfactual_rows(fit or claim.model_a)
    weight = claim.rows.weight[leaves.owner] * leaves.probability
    impossible = np.zeros(weight.size, dtype=bool)
    found = []
    for equation in moving:
        coding = fitted.table.units.features[equation.column]
        values = coding.number(leaves.x[:, equation.column])
        outside = _outside(coding, values)
        impossible |= outside
        off = _off_lattice(coding, values)
        shares = _share(outside, weight), None if off is None else _share(off, weight)
        found.append(_feature(fitted, equation, coding, *shares))
    return Plausibility(tuple(found), _share(impossible, weight), leakage)


# ---------------------------------------------------------------- mathematics


def _range(coding: FeatureCoding) -> tuple[float, float]:
    """The observed range; an atom, 0, is its lowest value."""
    low, high = coding.known[[0, -1]].tolist()
    return (min(0.0, low) if coding.kind.atom else low), high


def people_at_ends(fitted: Fitted, feature: str) -> tuple[int, int]:
    """How many people have the lowest observed value of a feature, and how many the highest."""
    table = fitted.table
    column = table.graph.features.index(feature)
    coding, x = table.units.features[column], table.rows.x[table.row_of[table.weight > 0], column]
    values, (low, high) = coding.number(x), _range(coding)
    room, copies = ROUNDING * (high - low), 1 if table.table_of is None else int(table.table_of.max()) + 1
    return int((values <= low + room).sum()) // copies, int((values >= high - room).sum()) // copies


def _share(who: Array, weight: Array) -> float:
    return float(weight[who].sum() / weight.sum())


def _outside(coding: FeatureCoding, values: Array) -> Array:
    """(l,) whether values lie outside the observed range by more than rounding."""
    low, high = _range(coding)
    room = ROUNDING * (high - low)
    return np.asarray((values < low - room) | (values > high + room))


def _off_lattice(coding: FeatureCoding, values: Array) -> Array | None:
    """(l,) whether values are none of a few that occur, or not whole where all that occur are; None: any may occur."""
    known = coding.known if not coding.kind.atom else np.concatenate([[0.0], coding.known])
    room = ROUNDING * (known[-1] - known[0])
    if known.size <= FEW or not coding.kind.is_number:
        above = np.searchsorted(known, values).clip(1, known.size - 1)
        nearest = np.minimum(np.abs(values - known[above - 1]), np.abs(values - known[above]))
        return np.asarray(nearest > room)
    if (known != np.round(known)).any():
        return None
    return np.asarray(np.abs(values - np.round(values)) > room)


# ---------------------------------------------------------------- what to do


def _feature(
    fitted: Fitted, equation: Equation, coding: FeatureCoding, outside: float, off: float | None
) -> FeaturePlausibility:
    low, high = _range(coding)
    few = coding.known.size <= FEW and coding.kind.is_number
    sentence, who = "", fitted.settings.wording.people
    if outside > BAD:
        sentence = (
            f"{_percent(outside)} of {who} have a counterfactual '{equation.feature}' beyond all observed values: what "
            "is said of them rests on values that nobody in the data has. "
            f"{_advice(fitted, equation, few)}"
        )
    elif off is not None and off > BAD and few:
        sentence = (
            f"{_percent(off)} of {who} have a counterfactual '{equation.feature}' between the "
            f"{coding.known.size + coding.kind.atom} values that occur, which nobody can have. "
            f"{_advice(fitted, equation, few)}"
        )
    return FeaturePlausibility(equation.feature, str(coding.kind), low, high, outside, off, sentence)


def _advice(fitted: Fitted, equation: Equation, few: bool) -> str:
    """Name the kind to try."""
    name, kind = equation.feature, fitted.table.kinds[equation.feature]
    if few and kind.is_plain:
        return f"kinds={{'{name}': 'ordered'}} gives values that can occur."
    rows = fitted.table.rows
    eps = np.concatenate([fitted.claim.residuals(block)[:, equation.column] for block in rows.blocks()])
    tried = scale_to_try(fitted, equation, shape_of(eps, rows.weight), skewed=0.0)
    if tried is None:
        return f"Cut '{name}' into ordered levels, which have counterfactual values that can occur."
    return f"Try kinds={{'{name}': '{tried[1]}{' by group' * kind.by_group}'}}, or cut it into ordered levels."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
