"""Columns outside the graph that a model is shown as they are: a person's own in every world, nothing coded or checked.

Missing values, text and dates are handed through too: what becomes of them is the model's own affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.frames import open_frame, take_rows
from fairstress.inputs.rows import Array


def take_others(frame: Any, names: Sequence[str]) -> pd.DataFrame:
    """Give the named columns of a table, in their own types where it is of pandas, row by row."""
    table, known = open_frame(frame, f"the data are a {type(frame).__name__}: give a table held in memory")
    check_others(names, known)
    everyone = np.arange(len(table))
    return pd.DataFrame({name: take_rows(table[:, known.index(name)], everyone) for name in names})


def check_others(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse columns that are not there."""
    for name in names:
        if name not in known:
            raise SettingError(
                f"the predictor looks at a column '{name}', which neither the graph nor the data have"
                f"{did_you_mean(name, known)}: add the column to the data, or prepare it with a function as input"
            )


def combinations(others: pd.DataFrame) -> tuple[pd.DataFrame, Array]:
    """Give the distinct rows, and for every row the number of its own: people alike in all columns are one."""
    codes = np.column_stack([_codes(others[name]) for name in others])
    _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return others.iloc[first].reset_index(drop=True), place.reshape(-1).astype(float)


def _codes(column: pd.Series[Any]) -> Array:
    """Number the distinct values; Python objects that are not all text may be equal and yet differ, as 1 and True."""
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=False) != "string":
        return np.arange(column.size, dtype=float)
    return pd.factorize(column, use_na_sentinel=False)[0].astype(float)
