"""Columns that stand outside the graph: other variables of the same people, coded so that equations can take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.errors import DataError, did_you_mean
from fairstress.inputs.data import Table
from fairstress.inputs.frames import count_values, open_frame, read_levels, read_numbers
from fairstress.inputs.kinds import MOST_CATEGORIES
from fairstress.inputs.rows import Array, Rows, distinct


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column of the analyst's, as the numbers that stand for it.

    Two values are coded -1/+1, more numbers are standardised, and of L categories all but the first have a column of
    zeros and ones.
    """

    name: str
    parts: tuple[str, ...]  # names of the numbers
    coded: Array  # (n, parts), one row per row of the table
    is_sign: bool


def read_columns(columns: Any, table: Table) -> tuple[Column, ...]:
    """Check a frame of further columns against the table and code them.

    Parameters
    ----------
    columns
        A pandas, polars or pyarrow table with the rows of the audited one, in the same order.
    table
        The audited table; a name of its graph is refused.
    """
    way_out = f"columns is a {type(columns).__name__}: give a table of the further columns, such as frame[['age']]"
    frame, names = open_frame(columns, way_out)
    _check_rows(columns, len(frame), table)
    for name in names:
        if name in (table.graph.protected, table.graph.outcome, *table.graph.features):
            raise DataError(f"columns has '{name}', which the graph names already: give columns outside the graph")
    return tuple(_code(frame[:, position], name, table.weight) for position, name in enumerate(names))


def named_columns(names: Sequence[str], table: Table) -> tuple[Column, ...]:
    """Code columns of the analyst's own table, by name."""
    if table.source is None:
        raise DataError(
            f"columns names {names[0]!r}, but the audit has kept no other columns, since it was read from a pickle or "
            "several completed tables were given: give them as a table, such as frame[['age']]"
        )
    frame, known = open_frame(table.source, "")
    for name in names:
        if name not in known:
            raise DataError(f"columns names '{name}', which is not in the data{did_you_mean(name, known)}")
    return read_columns(frame[:, [known.index(name) for name in names]].to_native(), table)


def other_columns(table: Table) -> tuple[tuple[Column, ...], dict[str, str]]:
    """Code all columns of the analyst's table that the graph does not name; for those that cannot be, say why."""
    if table.source is None:
        return (), {}
    frame, known = open_frame(table.source, "")
    graph = table.graph
    taken, refused = [], {}
    for position, name in enumerate(known):
        if name in (*graph.protected_columns, graph.protected, graph.outcome, *graph.features):
            continue
        column = frame[:, position]
        try:
            reason = _no_cause(column, table.y.size)
            if not reason:
                taken.append(_code(column, name, table.weight))
        except DataError as problem:
            reason = str(problem).partition(":")[0]
        if reason:
            refused[name] = reason
    return tuple(taken), refused


def _no_cause(column: nw.Series[Any], n: int) -> str:
    """Say why a column is not tried as a cause by itself: dates, and what tells everyone apart; nothing otherwise."""
    name, kind = column.name, column.dtype
    if kind.is_temporal():
        return f"column '{name}' holds dates or times"
    if not kind.is_float() and not kind.is_nested() and n > MOST_CATEGORIES and count_values(column, name) == n:
        return f"column '{name}' is different for everyone, as a name or a number of a person is"
    return ""


def extend(table: Table, columns: Sequence[Column]) -> Rows:
    """Give the table's rows with further columns beside its features; the outcome is left behind."""
    if not columns:
        return table.rows
    a, a_cf = table.rows.a[table.row_of], table.rows.a_cf[table.row_of]
    x = np.hstack([table.rows.x[table.row_of], *(column.coded for column in columns)])
    first, row_of = distinct(a, x)
    weight = np.bincount(row_of, table.weight).astype(float)
    nothing = np.zeros_like(weight)
    return Rows(a[first], a_cf[first], np.asfortranarray(x[first]), weight, nothing, nothing)


def _check_rows(columns: Any, n: int, table: Table) -> None:
    if n != table.y.size:
        raise DataError(f"columns has {n} rows, but the audited table has {table.y.size}: give the same rows")
    if isinstance(columns, pd.DataFrame) and not columns.index.equals(table.index):
        raise DataError("columns has other row labels than the audited table: give the same rows in the same order")


def _code(column: nw.Series[Any], name: str, weight: Array) -> Column:
    """Code two values as a sign, more numbers by standardising, categories one by one."""
    levels = read_levels(column, name)
    if len(levels) == 2:
        high = np.fromiter((value == levels[1] for value in column.to_list()), dtype=bool, count=len(column))
        coded = Column(name, (name,), np.where(high, 1.0, -1.0)[:, None], is_sign=True)
    elif column.dtype.is_numeric():
        numbers = read_numbers(column, name, "column")
        centred = numbers - weight @ numbers / weight.sum()
        deviation = float(np.sqrt(weight @ centred**2 / weight.sum())) or 1.0
        coded = Column(name, (name,), (centred / deviation)[:, None], is_sign=False)
    else:
        coded = _code_categories(column, name, levels, weight)
    if (np.ptp(coded.coded[weight > 0], axis=0) == 0).all():
        raise DataError(f"column '{name}' is the same in every row that has weight: leave it out")
    return coded


def _code_categories(column: nw.Series[Any], name: str, levels: list[Any], weight: Array) -> Column:
    if len(levels) > MOST_CATEGORIES:
        raise DataError(
            f"column '{name}' has {len(levels)} categories: merge them into at most {MOST_CATEGORIES}, or leave it out"
        )
    values = pd.Series(column.to_list(), dtype=object)
    counted = [level for level in levels if weight[(values == level).to_numpy()].sum() > 0]
    parts = {f"{name}={level}": (values == level).to_numpy(dtype=float) for level in counted[1:]}
    if not parts:
        raise DataError(f"column '{name}' is the same in every row that has weight: leave it out")
    return Column(name, tuple(parts), np.column_stack(list(parts.values())), is_sign=False)
