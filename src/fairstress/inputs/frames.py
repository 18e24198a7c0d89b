"""Any data frame: opened, its columns taken by name and read as numbers or levels; nothing is dropped or imputed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v1.dependencies import is_pyarrow_table
from numpy.typing import NDArray

from fairstress.errors import DataError, SettingError, did_you_mean, show
from fairstress.inputs.rows import MANY, Array, IntArray, some_places

WHOLE = 2**53  # up to which a double holds every whole number
FINEST, WIDEST = 1e-100, 1e100  # between the ends of a column: squares of other differences are no doubles

COMPARED = 4  # levels of numbers up to which it is faster to compare everyone with each than to number them
THOUSANDS = 1000  # distinct values of a sample that make it plain that a column holds many

NO_ROWS = "the data have no rows: give a table with one row per person"

# ---------------------------------------------------------------- frames


def take_columns(frame: Any, wanted: Sequence[str]) -> dict[str, nw.Series[Any]]:
    """Take columns that the graph names out of any eager data frame."""
    way_out = f"the data are a {type(frame).__name__}: give a pandas, polars or pyarrow table held in memory"
    table, names = open_frame(frame, way_out)
    for name in wanted:
        if name not in names:
            raise DataError(f"the graph names '{name}', which is not a column of the data{did_you_mean(name, names)}")
    if len(table) == 0:
        raise DataError(NO_ROWS)
    return {name: table[:, names.index(name)] for name in wanted}


def open_frame(frame: Any, refusal: str) -> tuple[nw.DataFrame[Any], list[str]]:
    """Give any eager data frame with the names of its columns, each of which must be there once; refuse all else."""
    names = column_names(frame)
    check_unique(names)
    try:
        return nw.from_native(decoded(frame), eager_only=True), names
    except TypeError:
        raise DataError(refusal) from None


def decoded(frame: Any) -> Any:
    """Give an Arrow table with the columns that most of Arrow does not compute with as others that say the same."""
    if not is_pyarrow_table(frame):
        return frame
    import pyarrow as pa
    import pyarrow.compute as pc

    for position, field in enumerate(frame.schema):
        column = frame.column(position)
        if pa.types.is_run_end_encoded(field.type):
            frame = frame.set_column(position, field.name, pc.run_end_decode(column))
        elif pa.types.is_decimal(field.type) or pa.types.is_float16(field.type):
            frame = frame.set_column(position, field.name, column.cast(pa.float64()))
        elif str(field.type) == "string_view":  # which older pyarrow does not know
            frame = frame.set_column(position, field.name, column.cast(pa.large_string()))
    return frame


def in_order(values: Any, index: pd.Index[Any], what: str) -> Any:
    """Give one value per row in the rows' order: those of a pandas Series go by their labels, all else as it stands.

    Parameters
    ----------
    values
        Anything with one value per row.
    index
        Labels of the rows of a pandas frame.
    what
        Name of the argument.
    """
    if not isinstance(values, pd.Series) or values.index.equals(index) or len(values) != len(index):
        return values
    unique = values.index.is_unique and index.is_unique
    if not (unique and index.isin(values.index).all()):
        raise SettingError(
            f"{what} is a Series whose labels are not those of the data's rows, so that nothing tells which value "
            f"belongs to whom: give it the rows' labels, or {what}.to_numpy() if it stands in their order"
        )
    return values.reindex(index)


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
    check_not_mixed(column, name)
    if not column.dtype.is_numeric():
        raise DataError(
            f"{role} '{name}' is not numeric (its type is {column.dtype}): code it as numbers before the audit"
        )
    check_complete(column, name)
    values = column.cast(nw.Float64).to_numpy().astype(float, copy=False)  # not to be written to
    _refuse(~np.isfinite(values), name, "infinite", "remove or replace them before the audit")
    _check_told_apart(column, values, name)
    return values


def plain_numbers(frame: Any, name: str) -> NDArray[Any] | None:
    """A column's numbers in their own type; None where they are none, or not to be had as they are."""
    if is_pyarrow_table(frame):
        column = frame.column(name)
        return np.asarray(column.to_numpy()) if _is_number(column.type) else None
    if not isinstance(frame, pd.DataFrame):
        return None
    kind = frame[name].dtype
    return frame[name].to_numpy() if isinstance(kind, np.dtype) and kind.kind in "fiu" else None


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def check_not_mixed(column: nw.Series[Any], name: str) -> None:
    """Refuse a column of objects where most people have a number: something else by mistake, or only the wrong type."""
    if column.dtype != nw.Object:
        return
    values = column.to_list()
    odd = [row for row, value in enumerate(values) if not isinstance(value, Real) or isinstance(value, bool)]
    if 2 * len(odd) >= len(values):
        return
    if odd:
        raise DataError(
            f"column '{name}' holds numbers, but {show(values[odd[0]])} in row {odd[0]}: correct it, so that all are "
            "numbers"
        )
    raise DataError(
        f"column '{name}' holds numbers as Python objects: give it a numeric type, such as by pandas.to_numeric"
    )


def _check_told_apart(column: nw.Series[Any], values: Array, name: str) -> None:
    """Refuse numbers so large that different ones of them are the same double."""
    if column.dtype.is_float() or np.abs(values).max() <= WHOLE or column.n_unique() == np.unique(values).size:
        return
    raise DataError(
        f"column '{name}' has numbers beyond 2^53 (up to {values[np.abs(values).argmax()]:g}) that differ by less than "
        "double precision tells apart: subtract a constant from all of them, or give them as text if they are names"
    )


def check_spread(ends: Array, shown: Array, name: str, finest: float = FINEST, widest: float = WIDEST) -> None:
    """Refuse a column whose differences have squares that are no doubles; one without any is another matter.

    Parameters
    ----------
    ends
        Its lowest and highest number, as they are computed with.
    shown
        The same as the table has them.
    name
        The column's name.
    finest, widest
        What may lie between the ends.
    """
    half = float(ends[-1]) / 2 - float(ends[0]) / 2  # of the difference, which may be no double
    if half > 0 and not finest / 2 < half < widest / 2:
        raise DataError(
            f"column '{name}' runs from {shown[0]:g} to {shown[-1]:g}: correct it, or give it in another unit"
        )


def count_values(column: nw.Series[Any], name: str) -> int:
    """Count the distinct values, none missing; lists and records in place of values are refused."""
    check_complete(column, name)
    check_flat(column, name)
    if column.dtype == nw.Object and column.implementation.is_polars():
        raise DataError(
            f"column '{name}' has polars' type Object, whose values polars does not compare: cast it to numbers or text"
        )
    try:
        return column.n_unique()
    except TypeError:  # of a pandas column of objects
        raise _not_flat(name) from None


def check_flat(column: nw.Series[Any], name: str) -> None:
    """Refuse a column whose type says that each row holds several values."""
    if column.dtype.is_nested():
        raise _not_flat(name)


def _not_flat(name: str) -> DataError:
    return DataError(f"column '{name}' holds lists or records: give one number or text in each row")


def has_thousands(column: nw.Series[Any]) -> bool:
    """Whether a column holds numbers of which there are many, most of them different, as a sample tells."""
    if len(column) <= MANY or not column.dtype.is_numeric():
        return False
    places = some_places(len(column))
    values = column.to_numpy()[places]
    return bool(np.unique(values[values == values]).size > THOUSANDS)


def numbered(column: nw.Series[Any]) -> tuple[IntArray, list[Any]]:
    """Number the distinct values of a complete column: (n,) each row's number, and the values."""
    native = column.to_native()
    if isinstance(native, pd.Series):
        codes, values = pd.factorize(native)
        return codes.astype(np.intp), values.tolist()
    if column.dtype.is_numeric():
        codes, known = pd.factorize(column.to_numpy())
        return codes.astype(np.intp), known.tolist()
    if column.implementation.is_pyarrow():
        return _numbered_by_arrow(native)
    number: dict[Any, int] = {}
    codes = np.fromiter((number.setdefault(v, len(number)) for v in column.to_list()), np.intp, count=len(column))
    return codes, list(number)


def compared(values: NDArray[Any], levels: Sequence[Any]) -> list[NDArray[np.bool_]] | None:
    """Who has each of some levels, by comparing everyone's number with each; None where someone has none of them."""
    own = [values == level for level in levels]
    return own if sum(int(np.count_nonzero(one)) for one in own) == values.size else None


def _numbered_by_arrow(native: Any) -> tuple[IntArray, list[Any]]:
    import pyarrow as pa

    whole = native.combine_chunks() if isinstance(native, pa.ChunkedArray) else native
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp), encoded.dictionary.to_pylist()


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


def as_array(values: Any) -> NDArray[Any]:
    """Give values as an array, lists of different lengths among them as they are."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray([*values, None], dtype=object)[:-1]


def is_among(value: Any, levels: Iterable[Any]) -> bool:
    """Whether a value is one of the levels; arrays, tables and missing values are none."""
    try:
        return any(bool(value == level) for level in levels)
    except (TypeError, ValueError):  # which have no truth
        return False


def count_noun(count: int, noun: str) -> str:
    """Give the noun in the number that a count asks for: ``1 row``, ``2 rows``."""
    return noun if count == 1 else f"{noun}s"


def _refuse(bad: Any, name: str, what: str, way_out: str) -> None:
    count = int(bad.sum())
    if count:
        noun = count_noun(count, "value")
        raise DataError(f"column '{name}' has {count} {what} {noun} (first in row {int(bad.argmax())}): {way_out}")
