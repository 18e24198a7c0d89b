"""A predictor of the user's own, an estimator, a PyTorch module or a function, as a function of arrays.

How it is read, fitted, shown people, asked and differentiated. It looks at Model A's residuals, or at raw columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from fairstress.errors import FairstressError, SettingError, describe_error
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.answers import Answers
from fairstress.model.autograd import call_module, check_module, is_module, module_slopes
from fairstress.model.embedding import Input
from fairstress.model.predictor import ANALYTIC, null_deviance
from fairstress.model.scikit import fit_clone, is_estimator, is_fitted, predictions
from fairstress.model.view import Lens, RawColumns, View
from fairstress.options import AUTOGRAD, DIFFERENCES, FEATURES, NO_GRADIENT, RESIDUALS, Predictor

ESTIMATOR, MODULE, FUNCTION = "estimator", "module", "function"

STEP = 1e-5  # of a difference, in standard deviations of a feature
COMPANY = 1e-3  # share of the size of predictions by which rounding in single precision stays
DIGITS = 10  # of residuals: people whose residuals are equal but for rounding must fall on one side of a tree's split
FLAT = 0.95  # share of people for whom a predictor that moves in steps has no derivative but exact zeros


@dataclass(frozen=True, slots=True, eq=False)
class UserPredictor:
    """A predictor as the analyst handed it in, with what it looks at and where its gradient comes from."""

    model: Any
    kind: str
    input: str | Callable[[pd.DataFrame], Any]
    gradient: str | Callable[[Any], Any]
    seed: int | None

    @property
    def name(self) -> str:
        """What it is, for people."""
        shown = self.model if self.kind == FUNCTION else type(self.model)
        return str(getattr(shown, "__name__", type(self.model).__name__))

    @property
    def input_name(self) -> str:
        """What it looks at, for people."""
        return self.input if isinstance(self.input, str) else getattr(self.input, "__name__", FEATURES)

    @property
    def gradient_name(self) -> str:
        """Where its derivatives come from, for people."""
        return self.gradient if isinstance(self.gradient, str) else ANALYTIC

    def lens(self, view: View, table: Table) -> Lens:
        """What it looks at: the residuals' view, or the coded columns, of which the table's are made."""
        if self.input == RESIDUALS:
            return view
        names = [table.graph.protected, *table.graph.features]
        return RawColumns.of([Input(names[0])], [[Input(name)] for name in names[1:]])


# ---------------------------------------------------------------- as it is handed in


def read_user_predictor(predictor: Predictor, seed: int | None) -> UserPredictor | None:
    """Look at what the analyst hands in; None where it is the built-in predictor."""
    if predictor.model is None:
        return None
    kind = _kind(predictor.model)
    return UserPredictor(predictor.model, kind, predictor.input, _gradient(predictor, kind), seed)


def _kind(predictor: Any) -> str:
    if isinstance(predictor, type):
        raise SettingError(f"predictor is the class {predictor.__name__}: give an instance, {predictor.__name__}(...)")
    if is_module(predictor):
        check_module(predictor)
        return MODULE
    if is_estimator(predictor):
        return ESTIMATOR
    if callable(predictor):
        return FUNCTION
    raise SettingError(
        f"predictor is {predictor!r}: give an estimator with fit and predict, a PyTorch module or a function"
    )


def _gradient(predictor: Predictor, kind: str) -> Any:
    """Where the gradient comes from; by itself only PyTorch offers one."""
    gradient, differentiable = predictor.gradient, kind == MODULE and not callable(predictor.input)
    if gradient is None:
        return AUTOGRAD if differentiable else NO_GRADIENT
    if callable(gradient):
        return gradient
    if gradient == AUTOGRAD and not differentiable:
        raise SettingError(
            "the predictor's gradient is 'autograd', which needs a PyTorch module that looks at residuals or features: "
            "give 'differences' if the predictor is smooth, otherwise 'none'"
        )
    return gradient


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

    @property
    def name(self) -> str:
        """What it is, for people."""
        return self.user_predictor.name

    @property
    def gradient(self) -> str:
        """Where its derivatives come from."""
        return self.user_predictor.gradient_name

    def predict(self, Z: Array) -> Array:
        """Predictions for inputs (..., p)."""
        rows = np.ascontiguousarray(Z).reshape(-1, Z.shape[-1])
        return (self._answers(rows) if self._repeats else self._ask(rows)).reshape(Z.shape[:-1])

    def predict_with_slopes(self, Z: Array) -> tuple[Array, Array | None]:
        """Predictions for inputs (r, p), and their derivatives by these (r, p); None where it has none."""
        if self.gradient == NO_GRADIENT:
            return self.predict(Z), None
        predicted, slopes = self._autograd(Z) if self.gradient == AUTOGRAD else (self._ask(Z), self._slopes(Z))
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
            return _differences(self._ask, Z, first=int(self._is_raw))
        return _given_slopes(self.user_predictor, self.table, Z, self._is_raw) * self._scale

    @property
    def _is_raw(self) -> bool:
        return isinstance(self.lens, RawColumns)

    @property
    def _scale(self) -> Array:
        """What turns derivatives by the table's units into those by coded inputs."""
        return np.array([0.0, *self.table.scaling.deviation]) if self._is_raw else np.ones(len(self.lens.names))

    @cached_property
    def _show(self) -> Callable[[Array], Any]:
        return _shower(self.user_predictor, self.table, self.lens)

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


def fit_user_predictor(
    user_predictor: UserPredictor, table: Table, lens: Lens, gather: Callable[[Rows], Array]
) -> FittedUserPredictor:
    """Fit a user's predictor, unless it is fitted, and make it a function of arrays."""
    Z = np.concatenate([gather(block) for block in table.rows.blocks()])
    with ThreadpoolController().limit(limits=1):
        fitted = _fitted(user_predictor, table, _shower(user_predictor, table, lens), Z)
    predictor = FittedUserPredictor(fitted, table, lens)
    predicted = predictor._ask(Z)
    among_some = predictor._ask(Z[::2])
    _check_company(user_predictor, predicted[::2], among_some)
    if user_predictor.gradient == DIFFERENCES:
        _check_smooth(predictor, Z[:1000])
    is_exact = np.array_equal(predicted[::2], among_some)
    return replace(predictor, r2=_explained(table, predicted), is_exact=is_exact)


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
    except Exception as problem:
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
    except Exception as problem:
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
    alike = Z.copy()
    alike[:, : int(predictor._is_raw)] = Z[
        0, : int(predictor._is_raw)
    ]  # by the protected attribute nothing is differentiated
    predicted, slopes = predictor.predict_with_slopes(alike)
    assert slopes is not None
    flat = (slopes == 0).all(axis=1)
    if flat.mean() >= FLAT and np.ptp(predicted[flat]) > 0:
        raise SettingError(
            f"gradient is 'differences', but predictor {predictor.name} moves in steps: its derivatives are 0 "
            "nearly everywhere; give 'none'"
        )


# ---------------------------------------------------------------- what it is shown


def _shower(user_predictor: UserPredictor, table: Table, lens: Lens) -> Callable[[Array], Any]:
    """How arrays of inputs become what the predictor is called with."""
    names = getattr(user_predictor.model, "feature_names_in_", None) if user_predictor.kind == ESTIMATOR else None
    if user_predictor.input == RESIDUALS:
        digits = DIGITS if user_predictor.gradient == NO_GRADIENT else None
        if names is None:
            return lambda Z: _rounded(Z, digits)
        wanted = _known(user_predictor, names, lens.names)
        return lambda Z: pd.DataFrame(_rounded(Z, digits), columns=list(lens.names))[wanted]
    if user_predictor.kind == MODULE and not callable(user_predictor.input):
        return lambda Z: _in_units(table, Z)
    prepare = user_predictor.input

    def frame(Z: Array) -> pd.DataFrame:
        return table.units.frame(Z[:, 0], Z[:, 1:])

    if callable(prepare):
        return lambda Z: _prepared(prepare, frame(Z))
    if names is None:
        fitted_to_array = user_predictor.kind == ESTIMATOR and hasattr(user_predictor.model, "n_features_in_")
        return (lambda Z: frame(Z).to_numpy()) if fitted_to_array else frame
    wanted = _known(user_predictor, names, (*table.graph.protected_columns, *table.graph.features))
    return lambda Z: frame(Z)[wanted]


def _rounded(Z: Array, digits: int | None) -> Array:
    return Z if digits is None else Z.round(digits)


def _prepared(prepare: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> Any:
    """What the analyst's function makes of a data frame: something with a row per person."""
    columns = ", ".join(map(str, frame.columns))
    try:
        shown = prepare(frame)
    except Exception as problem:  # the analyst's function may fail in any way
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


def _known(user_predictor: UserPredictor, names: Any, known: tuple[str, ...]) -> list[str]:
    """The columns that an estimator was fitted to, each of which must be there."""
    for name in names:
        if name not in known:
            raise SettingError(
                f"predictor {user_predictor.name} was fitted to a column '{name}', but it is shown {', '.join(known)}: "
                "add the column to the graph, or prepare it with a function as input"
            )
    return [str(name) for name in names]


def _in_units(table: Table, Z: Array) -> Array:
    """Coded columns as a PyTorch module gets them: features, and a numeric attribute, in the table's units."""
    units = table.units
    own = Z[:, 0] if units.protected is None else units.protected.number(Z[:, 0])
    return np.column_stack([own, *(n.number(Z[:, j]) for j, n in enumerate(units.features, start=1))])


def _answers(user_predictor: UserPredictor, table: Table) -> Callable[[Any], Any]:
    """The function that predicts."""
    if user_predictor.kind == ESTIMATOR:
        return predictions(user_predictor.model, table.outcome_levels)
    if user_predictor.kind == MODULE:
        return lambda shown: call_module(user_predictor.model, np.asarray(shown, dtype=float))
    predict: Callable[[Any], Any] = user_predictor.model
    return predict


# ---------------------------------------------------------------- slopes


def _differences(call: Callable[[Array], Array], Z: Array, first: int) -> Array:
    """Central differences by each input from ``first`` on."""
    slopes = np.zeros_like(Z)
    for j in range(first, Z.shape[1]):
        step = STEP * (np.arange(Z.shape[1]) == j)
        slopes[:, j] = (call(Z + step) - call(Z - step)) / (2 * STEP)
    return slopes


def _given_slopes(user_predictor: UserPredictor, table: Table, Z: Array, raw: bool) -> Array:
    """What the analyst's gradient function says, by the residuals or by the features in the table's units."""
    gradient = user_predictor.gradient
    assert callable(gradient)
    shown = table.units.frame(Z[:, 0], Z[:, 1:]) if raw else Z
    way_out = "a row per person and a column per residual, or per feature where it looks at a data frame"
    try:
        slopes, wanted = np.asarray(gradient(shown), dtype=float), (len(Z), Z.shape[1] - raw)
    except Exception as problem:  # the analyst's function may fail in any way
        raise SettingError(
            f"the predictor's gradient fails ({describe_error(problem)}): give a function to an array, {way_out}"
        ) from problem
    if slopes.shape != wanted:
        raise SettingError(
            f"the predictor's gradient gives an array of shape {slopes.shape}: give one of shape {wanted}, {way_out}"
        )
    return np.column_stack([np.zeros(len(Z)), slopes]) if raw else slopes


# ---------------------------------------------------------------- how well it predicts


def _explained(table: Table, predicted: Array) -> float | None:
    """In-sample share of the variance, or of the deviance of a two-valued outcome; None for no probability."""
    rows = table.rows
    if table.outcome_levels is None:
        mean = rows.y.sum() / rows.n
        errors = float((rows.y_square - 2 * rows.y * predicted + rows.weight * predicted**2).sum())
        return 1 - errors / float(rows.y_square.sum() - rows.n * mean**2)
    if not ((predicted >= 0) & (predicted <= 1)).all():
        return None
    p = np.clip(predicted, 1e-15, 1 - 1e-15)  # a tree may be certain
    deviance = -2 * float((rows.y * np.log(p) + (rows.weight - rows.y) * np.log1p(-p)).sum())
    return 1 - deviance / null_deviance(rows)
