"""Any data frame: opened, its columns taken by name and read as numbers or levels; nothing is dropped or imputed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.errors import DataError, did_you_mean
from fairstress.inputs.rows import Array, IntArray

# ---------------------------------------------------------------- frames


def take_columns(frame: Any, wanted: Sequence[str]) -> dict[str, nw.Series[Any]]:
    """Take columns that the graph names out of any eager data frame."""
    way_out = f"the data are a {type(frame).__name__}: give a pandas, polars or pyarrow table held in memory"
    table, names = open_frame(frame, way_out)
    for name in wanted:
        if name not in names:
            raise DataError(f"the graph names '{name}', which is not a column of the data{did_you_mean(name, names)}")
    if len(table) == 0:
        raise DataError("the data have no rows")
    return {name: table[:, names.index(name)] for name in wanted}


def open_frame(frame: Any, refusal: str) -> tuple[nw.DataFrame[Any], list[str]]:
    """Give any eager data frame with the names of its columns, each of which must be there once; refuse all else."""
    names = column_names(frame)
    check_unique(names)
    try:
        return nw.from_native(frame, eager_only=True), names
    except TypeError:
        raise DataError(refusal) from None


def column_names(frame: Any) -> list[str]:
    """Give the names of a frame's columns; none of anything else."""
    return [str(name) for name in getattr(frame, "column_names", getattr(frame, "columns", []))]


def check_unique(names: Iterable[str]) -> None:
    """Refuse two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"the data have two columns named '{name}': rename one of them")
        seen.add(name)


# ---------------------------------------------------------------- columns


def check_complete(column: nw.Series[Any], name: str) -> None:
    """Refuse missing values, NaN included, saying how many and where the first stands."""
    missing = column.is_null().to_numpy().astype(bool)
    if column.dtype.is_float():
        missing |= column.is_nan().fill_null(True).to_numpy().astype(bool)
    _refuse(missing, name, "missing", "drop or impute them before the audit; fairstress never does so silently")


def read_numbers(column: nw.Series[Any], name: str, role: str) -> Array:
    """Give a numeric column as floats; text, booleans, missing and infinite values are refused."""
    if not column.dtype.is_numeric():
        raise DataError(
            f"{role} '{name}' is not numeric (its type is {column.dtype}): code it as numbers before the audit"
        )
    check_complete(column, name)
    values = column.cast(nw.Float64).to_numpy().astype(float)
    _refuse(~np.isfinite(values), name, "infinite", "remove or replace them before the audit")
    return values


def count_values(column: nw.Series[Any], name: str) -> int:
    """Count the distinct values, none missing; lists and records in place of values are refused."""
    check_complete(column, name)
    refusal = DataError(f"column '{name}' holds lists or records: give one number or text in each row")
    if column.dtype.is_nested():
        raise refusal
    try:
        return column.n_unique()
    except TypeError:  # of a pandas column of objects
        raise refusal from None


def read_levels(column: nw.Series[Any], name: str) -> list[Any]:
    """Give the distinct values in sorted order, none missing."""
    count_values(column, name)
    values = column.unique().to_list()
    try:
        return sorted(values)
    except TypeError:  # mixed types have no order of their own
        return sorted(values, key=str)


def category_order(column: nw.Series[Any]) -> list[Any] | None:
    """Give the categories of an ordered categorical, lowest first; None for any other column."""
    native = column.to_native()
    dtype = getattr(native, "dtype", getattr(native, "type", None))  # pyarrow says type
    if column.dtype == nw.Enum or getattr(dtype, "ordered", False):
        return list(column.cat.get_categories().to_list())
    return None


def take_rows(column: nw.Series[Any], rows: IntArray) -> pd.Series[Any]:
    """Give some rows of a column, in its own type where it is of pandas, otherwise as Python values."""
    native = column.to_native()
    if isinstance(native, pd.Series):
        return native.iloc[rows].reset_index(drop=True)
    return pd.Series(column[rows.tolist()].to_list())


def alternatives(levels: Iterable[Any]) -> str:
    """Name levels to choose from: ``'a', 'b' or 'c'``."""
    shown = [repr(level) for level in levels]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def count_noun(count: int, noun: str) -> str:
    """Give the noun in the number that a count asks for: ``1 row``, ``2 rows``."""
    return noun if count == 1 else f"{noun}s"


def _refuse(bad: Any, name: str, what: str, way_out: str) -> None:
    count = int(bad.sum())
    if count:
        noun = count_noun(count, "value")
        raise DataError(f"column '{name}' has {count} {what} {noun} (first in row {int(bad.argmax())}): {way_out}")
