"""Several completed tables of a multiple imputation, put end to end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.stable.v1.dependencies import is_into_dataframe

from fairstress.errors import DataError, did_you_mean
from fairstress.inputs.rows import Array, IntArray

SAME_PEOPLE = "give completed tables of the same people in the same order"


def is_several(frame: Any) -> bool:
    """Whether the data are a list, or a tuple, that holds tables."""
    return isinstance(frame, list | tuple) and any(is_into_dataframe(part) for part in frame)


def stack(frames: Sequence[Any], names: Sequence[str]) -> tuple[Any, IntArray, int]:
    """Put completed tables end to end; give the long table, each row's number of its table, and how many there are.

    The long table is of the tables' own library and has the named columns alone; a pandas index is repeated.

    Parameters
    ----------
    frames
        Two tables or more of one library, with the same people in the same order; any value may differ.
    names
        Columns to take.
    """
    if len(frames) < 2:
        raise DataError(
            f"a list of completed tables has {len(frames)} of them: give two or more, or one table without a list"
        )
    tables = [_take(frame, names, _place(i, frames)) for i, frame in enumerate(frames)]
    for i, (frame, table) in enumerate(zip(frames[1:], tables[1:], strict=True), start=1):
        _check_alike(table, tables[0], _place(i, frames))
        _check_labels(frame, frames[0], _place(i, frames))
    tables = _with_one_type(tables, frames)
    table_of = np.repeat(np.arange(len(frames)), len(tables[0]))
    return nw.concat(tables, how="vertical").to_native(), table_of, len(frames)


def imputation_deviation(values: Array) -> float:
    """Give the standard deviation that the imputation adds to an estimate averaged over M tables.

    ``sqrt((1 + 1/M) B)``, with B the sample variance of the M tables' estimates (Rubin, 1987).

    Examples
    --------
    >>> round(imputation_deviation(np.array([1.0, 2.0, 3.0])), 4)
    1.1547
    """
    return float(np.sqrt((1 + 1 / values.size) * values.var(ddof=1)))


# ---------------------------------------------------------------- columns


def _take(frame: Any, names: Sequence[str], place: str) -> nw.DataFrame[Any]:
    """Take the named columns out of one table."""
    table = _open(frame, place)
    known = [str(name) for name in table.columns]  # of a pandas frame they may be numbers
    for name in names:
        if name not in known:
            raise DataError(f"the graph names '{name}', which is not a column of {place}{did_you_mean(name, known)}")
    return table[:, [known.index(name) for name in dict.fromkeys(names)]]


def _open(frame: Any, place: str) -> nw.DataFrame[Any]:
    """Open one table."""
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        what = f"is a {type(frame).__name__}: give pandas, polars or pyarrow tables held in memory"
    except ValueError:  # what narwhals says of names that are there twice
        what = "has two columns of one name: rename one of them"
    raise DataError(f"{place} {what}")


def _with_one_type(tables: list[nw.DataFrame[Any]], frames: Sequence[Any]) -> list[nw.DataFrame[Any]]:
    """Give each column one type: numbers of several types become floats or wide integers, all else must be alike."""
    for j, name in enumerate(tables[0].columns):
        columns = [table[:, j] for table in tables]
        types = [_type(column) for column in columns]
        odd = next((i for i, own in enumerate(types) if own != types[0]), None)
        if odd is None:
            continue
        if not all(column.dtype.is_numeric() for column in columns):
            raise DataError(_two_types(name, types[odd], _place(odd, frames), types[0]))
        wide = nw.Int64 if all(column.dtype.is_integer() for column in columns) else nw.Float64
        tables = [table.with_columns(column.cast(wide)) for table, column in zip(tables, columns, strict=True)]
    return tables


def _type(column: nw.Series[Any]) -> Any:
    """Give the type that the table's own library knows; that of categories tells which ones."""
    native = column.to_native()
    return native.dtype if hasattr(native, "dtype") else native.type


def _two_types(name: str, own: Any, place: str, first: Any) -> str:
    if str(own) == str(first):  # as pandas writes all categoricals
        return f"column '{name}' has other categories in {place} than in table 1: give it the same ones in all"
    return f"column '{name}' is {own} in {place}, but {first} in table 1: give it the same type in all"


# ---------------------------------------------------------------- checks


def _place(i: int, frames: Sequence[Any]) -> str:
    return f"table {i + 1} of {len(frames)}"


def _check_alike(table: nw.DataFrame[Any], first: nw.DataFrame[Any], place: str) -> None:
    """Refuse a table of another library or length."""
    own, other = (one.implementation.name.lower() for one in (table, first))
    if own != other:
        raise DataError(f"{place} is a {own} table, but table 1 a {other} one: give all of them in one library")
    if len(table) != len(first):
        raise DataError(f"{place} has {len(table):,} rows, but table 1 has {len(first):,}: {SAME_PEOPLE}")


def _check_labels(frame: Any, first: Any, place: str) -> None:
    """Refuse a pandas frame whose rows are labelled otherwise."""
    index, other = (nw.maybe_get_index(nw.from_native(one)) for one in (frame, first))
    if index is not None and not index.equals(other):
        raise DataError(f"the rows of {place} are labelled otherwise than those of table 1: {SAME_PEOPLE}")
