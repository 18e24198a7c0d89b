"""Coded rows back in the analyst's terms: what a predictor of raw columns, or a reader, is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.inputs.rows import Array, IntArray

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A column of numbers: ``value = code * deviation + mean``."""

    name: str
    mean: float
    deviation: float
    known: Array  # its distinct values in the table, sorted

    def decode(self, codes: Array) -> Array:
        """Give codes in the column's units; a value that the table has comes back to the last digit."""
        values = codes * self.deviation + self.mean
        above = np.searchsorted(self.known, values).clip(1, self.known.size - 1)
        low, high = self.known[above - 1], self.known[above]
        nearest = np.where(values - low <= high - values, low, high)
        rounding = 32 * EPS * (abs(self.mean) + np.abs(self.known[[0, -1]]).max())
        return np.where(np.abs(values - nearest) <= rounding, nearest, values)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The analyst's columns: the protected attribute's levels, or its number, and the features."""

    codes: Array  # (k,) of the levels, ascending; none for a number
    levels: pd.DataFrame  # (k, columns) the levels as the table has them, in their own types
    protected: Number | None
    features: tuple[Number, ...]

    def frame(self, a: Array, x: Array) -> pd.DataFrame:
        """Give coded values a (r,) and x (r, m) as a data frame with the table's names and units."""
        numbers = {n.name: n.decode(x[:, j]) for j, n in enumerate(self.features)}
        if self.protected is not None:
            return pd.DataFrame({self.protected.name: self.protected.decode(a), **numbers})
        own = self.levels.iloc[np.searchsorted(self.codes, a)].reset_index(drop=True)
        return pd.concat([own, pd.DataFrame(numbers)], axis=1)


def read_units(
    columns: Mapping[str, nw.Series[Any]],
    protected: Sequence[str],
    codes: Sequence[float],
    a: Array,
    scales: Mapping[str, tuple[float, float]],
) -> Units:
    """Remember a table's columns; ``scales`` has mean and deviation of those that are numbers."""
    numbers = {name: Number(name, *scale, _distinct(columns[name])) for name, scale in scales.items()}
    first = np.array([int(np.argmax(a == code)) for code in codes], dtype=np.intp)
    levels = pd.DataFrame({name: _taken(columns[name], first) for name in protected}) if codes else pd.DataFrame()
    own = None if codes else numbers.pop(protected[0])
    return Units(np.array(codes), levels, own, tuple(numbers.values()))


def _distinct(column: nw.Series[Any]) -> Array:
    return np.unique(column.cast(nw.Float64).to_numpy().astype(float))


def _taken(column: nw.Series[Any], rows: IntArray) -> pd.Series[Any]:
    """Some rows of a column, in its own type where it is of pandas."""
    native = column.to_native()
    if isinstance(native, pd.Series):
        return native.iloc[rows].reset_index(drop=True)
    return pd.Series(column[rows.tolist()].to_list())
