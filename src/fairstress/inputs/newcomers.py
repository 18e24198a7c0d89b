"""New people: rows that were not in the table, coded and scaled as its own are; nothing is learnt from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.inputs.data import Table, combine
from fairstress.inputs.frames import count_values, numbered, read_numbers, take_columns
from fairstress.inputs.others import take_others
from fairstress.inputs.rows import Array, Rows


def code_newcomers(frame: Any, table: Table) -> Rows:
    """Give new people as rows, one each, in their order, with weight 1 and without an outcome.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table with the columns of the graph; the outcome is not asked for.
    table
        The table whose levels, scales, means and deviations are used.
    """
    graph = table.graph
    columns = take_columns(frame, (*graph.protected_columns, *graph.features))
    a = code_attribute(table, [columns[name] for name in graph.protected_columns])
    x = np.column_stack([feature.code(columns[feature.name]) for feature in table.units.features])
    nothing = np.zeros_like(a)
    x = np.asfortranarray(x)
    other = None if table.others is None else np.arange(a.size, dtype=float)
    return Rows(a, table.protected.counterfactual(a), x, np.ones_like(a), nothing, nothing, other)


def others_of_newcomers(frame: Any, table: Table) -> pd.DataFrame | None:
    """Give new people's values outside the graph, one row each; None where no predictor is shown any.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table that has these columns.
    table
        The table whose predictor is shown them.
    """
    return None if table.others is None else take_others(frame, list(table.others.columns))


def code_attribute(table: Table, columns: Sequence[nw.Series[Any]]) -> Array:
    """Code the protected attribute; a level that the coding does not know is refused."""
    coding = table.protected
    for column in columns:
        count_values(column, column.name)  # which refuses missing ones, and lists
    if coding.levels is None:
        return (read_numbers(columns[0], coding.name, "protected attribute") - coding.mean) / coding.deviation
    if len(columns) == 1:
        return coding.code_levels(*numbered(columns[0]))
    levels = combine(columns, table.units.levels.itertuples(index=False, name=None))
    return coding.code_levels(np.arange(len(levels)), levels)
