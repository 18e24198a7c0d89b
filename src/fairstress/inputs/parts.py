"""Parts of data that are not in memory, coded as a table codes its own people.

Every sum over everyone codes all of them anew. So what a first look has checked is not checked again, and numbers are
read as they lie in memory: some other way of opening a column takes longer than all the arithmetic on a part.
"""

from __future__ import annotations

from functools import lru_cache
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from fairstress.inputs.data import Table
from fairstress.inputs.frames import COMPARED, WHOLE, compared, numbered, plain_numbers, read_numbers, take_columns
from fairstress.inputs.newcomers import code_attribute
from fairstress.inputs.protected import ProtectedCoding
from fairstress.inputs.rows import Array, Rows
from fairstress.inputs.units import FeatureCoding


def code_part(table: Table, weight: str | None, part: Any) -> Rows:
    """Code some people, who were looked at before, as the table does, with their outcome."""
    a = _coded_attribute(table, part)
    x = np.empty((a.size, len(table.units.features)), order="F")
    for j, feature in enumerate(table.units.features):
        _code_feature(feature, part, x[:, j])
    y, a_cf = _coded_outcome(table, part), table.protected.counterfactual(a)
    if weight is None:
        return Rows(a, a_cf, x, _ones(a.size), y, y * y)
    w = _column(part, weight).to_numpy().astype(float, copy=False)
    return Rows(a, a_cf, x, w, w * y, w * y**2)


@lru_cache(maxsize=2)
def _ones(n: int) -> Array:
    """(n,) weights of people who all count alike; most parts have the same size."""
    ones = np.ones(n)
    ones.flags.writeable = False
    return ones


# ---------------------------------------------------------------- columns


def _told_apart(values: NDArray[Any] | None) -> NDArray[Any] | None:
    """Numbers of which different ones are different doubles; None for others, which are to be looked at."""
    if values is None or values.dtype.kind == "f" or values.dtype.itemsize < 8 or not values.size:
        return values
    return values if values.min() >= -WHOLE and values.max() <= WHOLE else None


def _column(part: Any, name: str) -> nw.Series[Any]:
    return take_columns(part, [name])[name]


# ---------------------------------------------------------------- codes


def _coded_attribute(table: Table, part: Any) -> Array:
    coding, names = table.protected, table.graph.protected_columns
    values = _told_apart(plain_numbers(part, names[0])) if len(names) == 1 else None
    if coding.levels is None and values is not None:
        return np.asarray((values.astype(float, copy=False) - coding.mean) / coding.deviation)
    a = _by_comparison(coding, values) if values is not None and _is_compared(coding) else None
    return code_attribute(table, [_column(part, name) for name in names]) if a is None else a


def _is_compared(coding: ProtectedCoding) -> bool:
    """Whether the attribute has few levels, which are numbers."""
    levels = coding.levels or ()
    return 0 < len(levels) <= COMPARED and all(isinstance(level, Real) for level in levels)


def _by_comparison(coding: ProtectedCoding, values: NDArray[Any]) -> Array | None:
    """Codes of people's levels, by arithmetic, which takes a tenth of choosing; None where some level is not known."""
    own = compared(values, coding.levels or ())
    if own is None:
        return None
    a = np.zeros(values.size)
    for one, code in zip(own, coding.codes, strict=True):
        a += one.astype(float) * code
    return a


def _code_feature(feature: FeatureCoding, part: Any, codes: Array) -> None:
    """Write the codes of a feature; a number of any size needs no further check."""
    plain = feature.kind.is_number and feature.kind.scale == "identity"
    values = _told_apart(plain_numbers(part, feature.name)) if plain else None
    if values is None:
        codes[:] = feature.code(_column(part, feature.name))
    elif feature.kind.atom:
        codes[:] = feature.code_numbers(values.astype(float, copy=False))
    else:
        np.subtract(values, feature.mean, out=codes, dtype=float)  # not in the column's own, shorter, numbers
        codes /= feature.deviation


def _coded_outcome(table: Table, part: Any) -> Array:
    name = table.graph.outcome
    values = _told_apart(plain_numbers(part, name)) if table.outcome_levels is None else None
    if values is not None:
        return np.asarray(values.astype(float, copy=False) - table.origin)
    column = _column(part, name)
    if table.outcome_levels is None:
        return read_numbers(column, name, "outcome") - table.origin
    number, known = numbered(column)
    return np.array([value == table.outcome_levels[1] for value in known], dtype=float)[number]
