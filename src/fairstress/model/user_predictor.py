"""A predictor of the user's own, an estimator, a PyTorch module or a function, as a function of arrays.

How it is fitted, asked and differentiated. It looks at Model A's residuals, or at raw columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from fairstress.errors import FairstressError, FairstressWarning, SettingError, describe_error
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.answers import Answers
from fairstress.model.autograd import call_module, module_slopes
from fairstress.model.handed_in import ESTIMATOR, MODULE, UserPredictor
from fairstress.model.order import doubt, squares_left
from fairstress.model.predictor import AnyPredictor, LogOdds, null_deviance
from fairstress.model.scikit import fit_clone, is_fitted, predictions
from fairstress.model.shown import columns_used, raw_frame, shower
from fairstress.model.view import Lens, RawColumns
from fairstress.options import AUTOGRAD, DIFFERENCES, NO_GRADIENT

STEP = 1e-5  # of a difference, in standard deviations of a feature
COMPANY = 1e-3  # share of the size of predictions by which rounding in single precision stays
FLAT = 0.95  # share of people for whom a predictor that moves in steps has no derivative but exact zeros


# ---------------------------------------------------------------- as it is asked


@dataclass(frozen=True, eq=False)
class FittedUserPredictor:
    """A user's predictor, fitted; it gives the outcome less its origin, or a probability."""

    user_predictor: UserPredictor
    table: Table
    lens: Lens
    r2: float | None = None
    degree: int | None = None
    penalty: float | None = None
    is_exact: bool = False  # whether the answer for someone is the same to the last digit whoever else is asked about
    doubt: str = ""  # whether what it is shown is what it was fitted to, where no names tell

    @property
    def name(self) -> str:
        """What it is, for people."""
        return self.user_predictor.name

    @property
    def gradient(self) -> str:
        """Where its derivatives come from."""
        return self.user_predictor.gradient_name

    @property
    def columns_shown(self) -> tuple[str, ...]:
        """What it is handed: columns of the table, or the residuals by name."""
        return self.user_predictor.fitted_to or self.lens.names

    @property
    def columns_used(self) -> tuple[str, ...] | None:
        """Which of these it uses; None where nothing tells, as of a function."""
        return columns_used(self.user_predictor, self.columns_shown)

    def predict(self, Z: Array) -> Array:
        """Predictions for inputs (..., p)."""
        rows = np.ascontiguousarray(Z).reshape(-1, Z.shape[-1])
        return (self._answers(rows) if self._repeats else self._ask(rows)).reshape(Z.shape[:-1])

    def predict_with_slopes(self, Z: Array) -> tuple[Array, Array | None]:
        """Predictions for inputs (..., p), and their derivatives by these (..., p); None where it has none."""
        if self.gradient == NO_GRADIENT:
            return self.predict(Z), None
        rows = np.ascontiguousarray(Z).reshape(-1, Z.shape[-1])
        both = self._autograd(rows) if self.gradient == AUTOGRAD else (self._ask(rows), self._slopes(rows))
        predicted, slopes = both[0].reshape(Z.shape[:-1]), both[1].reshape(Z.shape)
        if not np.isfinite(slopes).all():
            raise SettingError(
                f"predictor {self.name} has a derivative that is not finite for someone: give gradient='none'"
            )
        return predicted, slopes

    # ------------------------------------------------------------ inside

    def _ask(self, Z: Array) -> Array:
        """Predictions for inputs (r, p)."""
        with self._threads.limit(limits=1):  # batches are small, and more threads would mostly wait for each other
            shown = self._show(Z)  # outside of what the predictor is blamed for
            return _checked(self.user_predictor, lambda: self._answer(shown), len(Z)) - self.table.origin

    def _autograd(self, Z: Array) -> tuple[Array, Array]:
        out, slopes = module_slopes(self.user_predictor.model, self._show(Z))
        return _checked(self.user_predictor, lambda: out, len(Z)) - self.table.origin, slopes * self._scale

    def _slopes(self, Z: Array) -> Array:
        if self.gradient == DIFFERENCES:
            return _differences(self._ask, Z, self._moving)
        return _given_slopes(self.user_predictor, self.table, Z, self._is_raw) * self._scale

    @property
    def _is_raw(self) -> bool:
        return isinstance(self.lens, RawColumns)

    @property
    def _scale(self) -> Array:
        """What turns derivatives by the table's units into those by coded inputs."""
        if not self._is_raw:
            return np.ones(len(self.lens.names))
        return np.array([0.0, *self.table.scaling.deviation, *[0.0] * (self.table.others is not None)])

    @property
    def _moving(self) -> range:
        """Inputs that it is differentiated by: all residuals, or the features alone."""
        return range(1, 1 + len(self.table.graph.features)) if self._is_raw else range(len(self.lens.names))

    @cached_property
    def _show(self) -> Callable[[Array], Any]:
        return shower(self.user_predictor, self.table, self.lens)

    @cached_property
    def _answer(self) -> Callable[[Any], Any]:
        return _answers(self.user_predictor, self.table)

    @property
    def _repeats(self) -> bool:
        """Whether features have levels, so that many people in many worlds are the same to the predictor."""
        return any(not kind.is_number or kind.atom for kind in self.table.kinds.values())

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self._ask, self.is_exact)

    @cached_property
    def _threads(self) -> ThreadpoolController:
        return ThreadpoolController()

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle keeps: how to ask is found out anew."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def showing(predictor: AnyPredictor, others: pd.DataFrame | None) -> AnyPredictor:
    """The same predictor for people with these values outside the graph, one row each; None: those of the table."""
    if isinstance(predictor, LogOdds):
        return replace(predictor, of=showing(predictor.of, others))
    if others is None or not isinstance(predictor, FittedUserPredictor):
        return predictor
    return replace(predictor, table=replace(predictor.table, others=others))


def columns_of(predictor: AnyPredictor, lens: Lens) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """What an audited predictor is shown, and what of it it uses; None where nothing tells."""
    own = predictor.of if isinstance(predictor, LogOdds) else predictor
    if isinstance(own, FittedUserPredictor):
        return own.columns_shown, own.columns_used
    return lens.names, lens.names


def doubt_of(predictor: AnyPredictor) -> str:
    """Why an audited predictor may have been fitted to something else than it is shown; empty where nothing says so."""
    own = predictor.of if isinstance(predictor, LogOdds) else predictor
    return own.doubt if isinstance(own, FittedUserPredictor) else ""


def fit_user_predictor(
    user_predictor: UserPredictor, table: Table, lens: Lens, gather: Callable[[Rows], Array]
) -> FittedUserPredictor:
    """Fit a user's predictor, unless it is fitted, and make it a function of arrays."""
    Z = np.concatenate([gather(block) for block in table.rows.blocks()])
    with ThreadpoolController().limit(limits=1):
        fitted = _fitted(user_predictor, table, shower(user_predictor, table, lens), Z)
    predictor = FittedUserPredictor(fitted, table, lens)
    predicted = predictor._ask(Z)
    among_some = predictor._ask(Z[::2])
    _check_company(user_predictor, predicted[::2], among_some)
    if user_predictor.gradient == DIFFERENCES:
        _check_smooth(predictor, Z[:1000])
    is_exact = np.array_equal(predicted[::2], among_some)
    doubted = _doubt(predictor, Z) if user_predictor.is_fitted_to_array else ""
    return replace(predictor, r2=_explained(table, predicted), is_exact=is_exact, doubt=doubted)


def _fitted(user_predictor: UserPredictor, table: Table, show: Callable[[Array], Any], Z: Array) -> UserPredictor:
    """Fit a user's estimator to the table's people, unless it is fitted already."""
    if user_predictor.kind != ESTIMATOR or is_fitted(user_predictor.model):
        return user_predictor
    shown, two_valued = show(Z), table.outcome_levels is not None
    X = shown.iloc[table.row_of].reset_index(drop=True) if hasattr(shown, "iloc") else shown[table.row_of]
    y = table.y + table.origin
    try:
        fitted = fit_clone(user_predictor.model, X, y, table.weight, user_predictor.seed, two_valued=two_valued)
    except FairstressError:
        raise
    except (Exception, SystemExit) as problem:  # a script may end by itself
        raise SettingError(
            f"predictor {user_predictor.name} cannot be fitted ({describe_error(problem)}): {_WAY_OUT}"
        ) from problem
    return replace(user_predictor, model=fitted)


_WAY_OUT = (
    "give a predictor of Model A's residuals as an array, or, with input='features', of a data frame of the "
    "protected attribute and the features; a function as input can prepare that frame"
)


# ---------------------------------------------------------------- checks


def _checked(user_predictor: UserPredictor, answer: Callable[[], Any], count: int) -> Array:
    """Ask a user's predictor, and look at its answer."""
    try:
        answers = np.asarray(answer(), dtype=float)
    except FairstressError:
        raise
    except (Exception, SystemExit) as problem:
        raise SettingError(
            f"predictor {user_predictor.name} fails ({describe_error(problem)}): {_WAY_OUT}"
        ) from problem
    if answers.shape not in ((count,), (count, 1)):
        raise SettingError(
            f"predictor {user_predictor.name} gives an array of shape {answers.shape} for {count} people: give one "
            "number each"
        )
    if not np.isfinite(answers).all():
        raise SettingError(
            f"predictor {user_predictor.name} gives a number that is not finite: give one that never does"
        )
    return np.asarray(answers.reshape(count))


def _check_company(user_predictor: UserPredictor, among_all: Array, among_some: Array) -> None:
    """Refuse a predictor whose answer for someone depends on chance or on who else is asked about."""
    size = max(float(np.abs(among_all).max()), float(np.ptp(among_all)))
    if np.abs(among_all - among_some).max() > COMPANY * size:
        raise SettingError(
            f"predictor {user_predictor.name} gives the same people other numbers when it is asked about fewer: give "
            "one, and a function as input, whose answer for a person depends on that person alone; fix means, ranks "
            "and levels beforehand"
        )


def _check_smooth(predictor: FittedUserPredictor, Z: Array) -> None:
    """Refuse to differentiate what moves in steps: derivatives of 0 for people whose predictions differ.

    One that is flat for most people, or uses few of its inputs, may still be smooth.
    """
    alike = np.repeat(Z[:1], len(Z), axis=0)  # but for what it is differentiated by
    alike[:, predictor._moving] = Z[:, predictor._moving]
    predicted, slopes = predictor.predict_with_slopes(alike)
    assert slopes is not None
    flat = (slopes == 0).all(axis=1)
    if flat.mean() >= FLAT and np.ptp(predicted[flat]) > 0:
        raise SettingError(
            f"gradient is 'differences', but predictor {predictor.name} moves in steps: its derivatives are 0 "
            "nearly everywhere; give 'none'"
        )


def _doubt(predictor: FittedUserPredictor, Z: Array) -> str:
    """Warn of an estimator without names that is hardly shown what it was fitted to; empty where nothing says so."""
    own, table = predictor.user_predictor, predictor.table
    columns = own.columns_shown(table.graph) if predictor._is_raw else predictor.lens.names

    def predict(shown: Any) -> Array:
        return np.asarray(predictor._answer(shown), dtype=float).reshape(len(shown)) - table.origin

    with predictor._threads.limit(limits=1):
        found = doubt(columns, table.graph.outcome, predictor._show(Z), predict, table.rows)
    if not found:
        return ""
    sentence = (
        f"predictor {own.name} was fitted to an array, which does not name its columns; shown {', '.join(columns)} in "
        f"this order, {found}: fit it to a data frame, whose names tell the order, or name the columns as it was "
        "fitted to them, Predictor(model, input='features', columns=[...])"
    )
    warnings.warn(sentence, FairstressWarning, stacklevel=8)
    return sentence


def _answers(user_predictor: UserPredictor, table: Table) -> Callable[[Any], Any]:
    """The function that predicts."""
    if user_predictor.kind == ESTIMATOR:
        return predictions(user_predictor.model, table.outcome_levels)
    if user_predictor.kind == MODULE:
        return lambda shown: call_module(user_predictor.model, np.asarray(shown, dtype=float))
    predict: Callable[[Any], Any] = user_predictor.model
    return predict


# ---------------------------------------------------------------- slopes


def _differences(call: Callable[[Array], Array], Z: Array, columns: range) -> Array:
    """Central differences by some of the inputs."""
    slopes = np.zeros_like(Z)
    for j in columns:
        step = STEP * (np.arange(Z.shape[1]) == j)
        slopes[:, j] = (call(Z + step) - call(Z - step)) / (2 * STEP)
    return slopes


def _given_slopes(user_predictor: UserPredictor, table: Table, Z: Array, raw: bool) -> Array:
    """What the analyst's gradient function says, by the residuals or by the features in the table's units."""
    gradient = user_predictor.gradient
    assert callable(gradient)
    shown, count = (raw_frame(table, Z), len(table.graph.features)) if raw else (Z, Z.shape[1])
    way_out = "a row per person and a column per residual, or per feature where it looks at a data frame"
    try:
        slopes, wanted = np.asarray(gradient(shown), dtype=float), (len(Z), count)
    except (Exception, SystemExit) as problem:  # the analyst's function may fail in any way
        raise SettingError(
            f"the predictor's gradient fails ({describe_error(problem)}): give a function to an array, {way_out}"
        ) from problem
    if slopes.shape != wanted:
        raise SettingError(
            f"the predictor's gradient gives an array of shape {slopes.shape}: give one of shape {wanted}, {way_out}"
        )
    padded = np.zeros_like(Z)
    padded[:, int(raw) : int(raw) + count] = slopes
    return padded


# ---------------------------------------------------------------- how well it predicts


def _explained(table: Table, predicted: Array) -> float | None:
    """In-sample share of the variance, or of the deviance of a two-valued outcome; None for no probability."""
    rows = table.rows.where(slice(None))  # those in memory, of which the predictions are
    if table.outcome_levels is None:
        return 1 - squares_left(rows, predicted)
    if not ((predicted >= 0) & (predicted <= 1)).all():
        return None
    p = np.clip(predicted, 1e-15, 1 - 1e-15)  # a tree may be certain
    deviance = -2 * float((rows.y * np.log(p) + (rows.weight - rows.y) * np.log1p(-p)).sum())
    return 1 - deviance / null_deviance(rows)
