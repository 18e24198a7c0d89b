"""People whose predictions change alike, whatever Model B is.

In ``x' - x = (phi' - phi)'w`` a term that is one parent alone gives what that parent changes by, wherever it stands;
only terms of a higher degree look at levels. So people with the same protected attribute, in both worlds, and the same
values in these terms change by the same amounts. Where the predictor is linear in what it looks at, so do predictions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import PIECE, Array, IntArray, Rows, distinct_columns, join
from fairstress.model.design import Design, Equation
from fairstress.model.embedding import Polynomial
from fairstress.model.predictor import AnyPredictor, PolynomialPredictor
from fairstress.model.view import Lens, RawColumns, View

WORTH = 0.5  # share of the rows that may be left for it to be worth while
FEW = 1000  # groups in a sample of people who are not all in memory, up to which everyone is gathered

Places = tuple[IntArray, IntArray]  # a row of each group, and every row's group


def changing_alike(rows: Rows, design: Design, view: Lens, predictor: AnyPredictor) -> Places | None:
    """Rows of people whose predictions change by the same amount; None where these are hardly fewer."""
    columns = _columns_that_matter(design) if _is_linear(view, predictor) else None
    if columns is None:
        return None
    places = _places(rows, columns)
    most = WORTH * rows.size if rows.whole is None else FEW
    return places if places[0].size <= most else None


def _places(rows: Rows, columns: list[int]) -> Places:
    """A row of each group of people who are alike in the attribute, in both worlds, and some features."""
    _, group = distinct_columns([rows.a, rows.a_cf, *(rows.x[:, k] for k in columns)])
    return _nearest(rows, group), group


def _nearest(rows: Rows, group: IntArray) -> IntArray:
    """Of each group the (first) row with the smallest numbers: changes of large ones have fewer digits."""
    least = np.full(int(group.max()) + 1, np.inf)
    one = np.zeros(least.size, dtype=np.intp)
    for start in range(0, rows.size, PIECE):  # pieces: of many rows nothing else is made
        some = slice(start, start + PIECE)
        size, own, before = np.abs(rows.x[some]).max(axis=1, initial=0.0), group[some], least.copy()
        np.minimum.at(least, own, size)
        places = np.flatnonzero((size == least[own]) & (size < before[own]))[::-1]
        one[own[places]] = start + places  # of several the last to be written, which is the first
    return one


def gathered(rows: Rows, places: Places, design: Design) -> Rows:
    """One row for each group, of all its weight; the outcome is left behind. Of a sample's rows, everyone's weight."""
    if rows.whole is not None:
        columns = _columns_that_matter(design) or []
        return rows.whole.total(lambda block: _Alike.of(block, columns)).rows
    return _gathered(rows, places)


@dataclass(frozen=True, slots=True, eq=False)
class _Alike:
    """One row for each group of people who are alike in some columns, with their weight; parts add up."""

    rows: Rows
    columns: list[int]

    @classmethod
    def of(cls, rows: Rows, columns: list[int]) -> _Alike:
        """Gather rows."""
        return cls(_gathered(rows, _places(rows, columns)), columns)

    def __add__(self, other: _Alike) -> _Alike:
        return _Alike.of(join([self.rows, other.rows]), self.columns)


def weight_of_each(weight: Array, places: Places) -> Array:
    """(k,) what the weights (r,) of each group add up to."""
    one, group = places
    return np.bincount(group, weight, minlength=one.size).astype(float)


def _gathered(rows: Rows, places: Places) -> Rows:
    one, weight = places[0], weight_of_each(rows.weight, places)
    nothing = np.zeros_like(weight)
    return Rows(rows.a[one], rows.a_cf[one], rows.x[one], weight, nothing, nothing)


def _is_linear(view: Lens, predictor: AnyPredictor) -> bool:
    """Whether a change of prediction is a weighted sum of changes of features or residuals."""
    if not isinstance(predictor, PolynomialPredictor) or predictor.is_logistic:
        return False
    if max(map(sum, predictor.embedding.exponents)) > 1:
        return False
    if isinstance(view, RawColumns):
        return view.sources is None and not view.others
    return isinstance(view, View) and view.all_residuals


def _columns_that_matter(design: Design) -> list[int] | None:
    """Features whose levels terms of a higher degree look at; None where an embedding does not say."""
    found: set[int] = set()
    for equation in design.equations:
        if equation.moves:
            own = _in_products(equation)
            if own is None:
                return None
            found |= own
    return sorted(found)


def _in_products(equation: Equation) -> set[int] | None:
    """Parents that one equation multiplies with something, or looks at level by level."""
    if not isinstance(equation.embedding, Polynomial):
        return None
    products = [e for e in equation.embedding.exponents if sum(e) > 1]
    found = {k for k, level in equation.sources if level is not None}
    for position, (k, _) in enumerate(equation.sources, start=equation.n_protected):
        if any(e[position] for e in products):
            found.add(k)
    return found
