"""What a user's predictor is shown of people, in the table's terms, and which columns it uses, if that can be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, describe_error
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array
from fairstress.model.handed_in import ESTIMATOR, MODULE, UserPredictor
from fairstress.model.scikit import columns_in_use
from fairstress.model.view import Lens
from fairstress.options import NO_GRADIENT, RESIDUALS

DIGITS = 10  # of residuals: people whose residuals are equal but for rounding must fall on one side of a tree's split


def shower(user_predictor: UserPredictor, table: Table, lens: Lens) -> Callable[[Array], Any]:
    """How arrays of inputs become what the predictor is called with."""
    if user_predictor.input == RESIDUALS:
        return _residuals(user_predictor, lens)
    if user_predictor.kind == MODULE and not callable(user_predictor.input):
        return lambda Z: _in_units(table, Z)
    wanted, prepare = list(user_predictor.columns_shown(table.graph)), user_predictor.input
    if callable(prepare):
        return lambda Z: _prepared(prepare, raw_frame(table, Z)[wanted])
    if user_predictor.is_fitted_to_array:
        return lambda Z: raw_frame(table, Z)[wanted].to_numpy()
    return lambda Z: raw_frame(table, Z)[wanted]


def raw_frame(table: Table, Z: Array) -> pd.DataFrame:
    """People as the table has them: the graph's columns, and their own values outside the graph."""
    last = 1 + len(table.graph.features)
    frame = table.units.frame(Z[:, 0], Z[:, 1:last])
    if table.others is None:
        return frame
    return pd.concat([frame, table.others.iloc[Z[:, last].astype(int)].reset_index(drop=True)], axis=1)


def columns_used(user_predictor: UserPredictor, shown: tuple[str, ...]) -> tuple[str, ...] | None:
    """The columns among those shown that the predictor uses; None where nothing tells.

    A fitted estimator tells by the names that it was fitted to, by what a step of it drops, and by weights or
    importances that are 0.
    """
    if user_predictor.kind != ESTIMATOR or callable(user_predictor.input):
        return None
    return columns_in_use(user_predictor.model, shown)


def _residuals(user_predictor: UserPredictor, lens: Lens) -> Callable[[Array], Any]:
    digits = DIGITS if user_predictor.gradient == NO_GRADIENT else None
    names = user_predictor.fitted_to
    if names is None:
        return lambda Z: _rounded(Z, digits)
    for name in names:
        if name not in lens.names:
            raise SettingError(
                f"predictor {user_predictor.name} was fitted to a column '{name}', but it is shown "
                f"{', '.join(lens.names)}: give input='features' if it looks at columns of the table"
            )
    return lambda Z: pd.DataFrame(_rounded(Z, digits), columns=list(lens.names))[list(names)]


def _rounded(Z: Array, digits: int | None) -> Array:
    return Z if digits is None else Z.round(digits)


def _prepared(prepare: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> Any:
    """What the analyst's function makes of a data frame: something with a row per person."""
    columns = ", ".join(map(str, frame.columns))
    try:
        shown = prepare(frame)
    except (Exception, SystemExit) as problem:  # the analyst's function may fail in any way
        raise SettingError(
            f"the predictor's input fails ({describe_error(problem)}): give a function of a data frame with the "
            f"columns {columns}"
        ) from problem
    if getattr(shown, "shape", ())[:1] != (len(frame),):
        raise SettingError(
            f"the predictor's input gives {type(shown).__name__} of shape {getattr(shown, 'shape', None)} for "
            f"{len(frame)} people: give a function that returns a data frame or an array with a row for each"
        )
    return shown


def _in_units(table: Table, Z: Array) -> Array:
    """Coded columns as a PyTorch module gets them: features, and a numeric attribute, in the table's units."""
    units = table.units
    own = Z[:, 0] if units.protected is None else units.protected.number(Z[:, 0])
    return np.column_stack([own, *(n.number(Z[:, j]) for j, n in enumerate(units.features, start=1))])
