"""Predictors that the analyst brings: estimators, PyTorch modules and functions, of residuals or of raw columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from fairstress.errors import FairstressError, SettingError
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.autograd import call_module, check_module, is_module, module_slopes
from fairstress.model.embedding import Input
from fairstress.model.predictor import ANALYTIC, AUTOGRAD, DIFFERENCES, NO_GRADIENT, null_deviance
from fairstress.model.scikit import fit_clone, is_estimator, is_fitted, predictions
from fairstress.model.view import Lens, RawColumns, View

RESIDUALS, FEATURES = "residuals", "features"
ESTIMATOR, MODULE, FUNCTION = "estimator", "module", "function"
STEP = 1e-5  # of a difference, in standard deviations of a feature
COMPANY = 1e-3  # share of the size of predictions by which rounding in single precision stays
DIGITS = 10  # of residuals: people whose residuals are equal but for rounding must fall on one side of a tree's split

Slopes = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True, slots=True)
class Foreign:
    """A brought predictor as a function of arrays; it gives the outcome less its origin, or a probability."""

    name: str
    call: Callable[[Array], Array]  # (r, p) to (r,)
    slopes: Slopes | None  # (r, p) to (r,) and (r, p)
    gradient: str
    r2: float | None = None
    degree: int | None = None
    penalty: float | None = None

    def predict(self, Z: Array) -> Array:
        """Predictions for inputs (..., p)."""
        return self.call(np.ascontiguousarray(Z).reshape(-1, Z.shape[-1])).reshape(Z.shape[:-1])

    def predict_with_slopes(self, Z: Array) -> tuple[Array, Array | None]:
        """The same for inputs (r, p), with derivatives where it has them."""
        if self.slopes is None:
            return self.predict(Z), None
        predicted, slopes = self.slopes(Z)
        if not np.isfinite(slopes).all():
            raise SettingError(
                f"predictor {self.name} has a derivative that is not finite for someone: give predictor_gradient='none'"
            )
        return predicted, slopes


@dataclass(frozen=True, slots=True)
class Brought:
    """A predictor as the analyst handed it in, with what it looks at and where its gradient comes from."""

    predictor: Any
    kind: str
    looks_at: str | Callable[[pd.DataFrame], Any]
    gradient: str | Callable[[Any], Any]
    seed: int | None

    @property
    def name(self) -> str:
        """What it is, for people."""
        shown = self.predictor if self.kind == FUNCTION else type(self.predictor)
        return str(getattr(shown, "__name__", type(self.predictor).__name__))

    @property
    def input_name(self) -> str:
        """What it looks at, for people."""
        return self.looks_at if isinstance(self.looks_at, str) else getattr(self.looks_at, "__name__", FEATURES)

    def lens(self, view: View, table: Table) -> Lens:
        """What it looks at: the residuals' view, or the coded columns, of which the table's are made."""
        if self.looks_at == RESIDUALS:
            return view
        names = [table.graph.protected, *table.graph.features]
        return RawColumns.of([Input(names[0])], [Input(name) for name in names[1:]])

    def settle(self, table: Table, lens: Lens, gather: Callable[[Rows], Array]) -> Foreign:
        """Fit it, unless it is fitted, and make it a function of arrays."""
        Z = np.concatenate([gather(block) for block in table.rows.blocks()])
        show, threads = _shower(self, table, lens), ThreadpoolController()
        with threads.limit(limits=1):
            settled = self._fitted(table, show, Z)
        answer = _answers(settled, table)

        def call(Z: Array) -> Array:
            with threads.limit(limits=1):  # batches are small, and more threads would mostly wait for each other
                return _checked(settled, lambda: answer(show(Z)), len(Z)) - table.origin

        predicted = call(Z)
        _check_company(self, predicted[::2], call(Z[::2]))
        slopes = _slopes(settled, table, lens, show, call)
        gradient = ANALYTIC if callable(self.gradient) else self.gradient
        return Foreign(self.name, call, slopes, gradient, r2=_explained(table, predicted))

    def _fitted(self, table: Table, show: Callable[[Array], Any], Z: Array) -> Brought:
        if self.kind != ESTIMATOR or is_fitted(self.predictor):
            return self
        shown, two_valued = show(Z), table.outcome_levels is not None
        X = shown.iloc[table.row_of].reset_index(drop=True) if hasattr(shown, "iloc") else shown[table.row_of]
        try:
            fitted = fit_clone(
                self.predictor, X, table.y + table.origin, table.weight, self.seed, two_valued=two_valued
            )
        except FairstressError:
            raise
        except Exception as problem:
            raise SettingError(f"predictor {self.name} cannot be fitted: {problem}; {_WAY_OUT}") from problem
        return replace(self, predictor=fitted)


_WAY_OUT = (
    "give a predictor of Model A's residuals as an array, or, with predictor_input='features', of a data frame of the "
    "protected attribute and the features; a function as predictor_input can prepare that frame"
)


# ---------------------------------------------------------------- checks


def read_brought(predictor: Any, looks_at: Any, gradient: Any, seed: int | None) -> Brought | None:
    """Check what the analyst hands in; None where nothing is."""
    if not (callable(looks_at) or (isinstance(looks_at, str) and looks_at in (RESIDUALS, FEATURES))):
        raise SettingError(
            f"predictor_input is {looks_at!r}: give '{RESIDUALS}', '{FEATURES}' or a function of a data frame"
        )
    if predictor is None:
        if looks_at != RESIDUALS or gradient is not None:
            raise SettingError(
                "predictor_input and predictor_gradient are about a predictor of your own: give one as predictor; the "
                "baselines, which look at features, are audited by audit.baseline_cfu(name, P)"
            )
        return None
    kind = _kind(predictor)
    return Brought(predictor, kind, looks_at, _gradient(gradient, kind, looks_at), seed)


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


def _gradient(gradient: Any, kind: str, looks_at: Any) -> Any:
    """Where the gradient comes from; by itself only PyTorch offers one."""
    differentiable = kind == MODULE and not callable(looks_at)
    if gradient is None:
        return AUTOGRAD if differentiable else NO_GRADIENT
    if callable(gradient):
        return gradient
    if not (isinstance(gradient, str) and gradient in (AUTOGRAD, DIFFERENCES, NO_GRADIENT)):
        raise SettingError(
            f"predictor_gradient is {gradient!r}: give 'none', 'differences' for a smooth predictor, 'autograd' for a "
            "PyTorch module, or a function that gives the derivatives"
        )
    if gradient == AUTOGRAD and not differentiable:
        raise SettingError(
            "predictor_gradient is 'autograd', which needs a PyTorch module that looks at residuals or features: "
            "give 'differences' if the predictor is smooth, otherwise 'none'"
        )
    return gradient


def _checked(brought: Brought, answer: Callable[[], Any], count: int) -> Array:
    """Ask a brought predictor, and look at its answer."""
    try:
        found = np.asarray(answer(), dtype=float)
    except FairstressError:
        raise
    except Exception as problem:
        raise SettingError(f"predictor {brought.name} fails: {problem}; {_WAY_OUT}") from problem
    if found.shape not in ((count,), (count, 1)):
        raise SettingError(
            f"predictor {brought.name} gives an array of shape {found.shape} for {count} people: give one number each"
        )
    if not np.isfinite(found).all():
        raise SettingError(f"predictor {brought.name} gives a number that is not finite: give one that never does")
    return np.asarray(found.reshape(count))


def _check_company(brought: Brought, among_all: Array, among_some: Array) -> None:
    """Refuse a predictor whose answer for someone depends on chance or on who else is asked about."""
    if np.abs(among_all - among_some).max() > COMPANY * max(float(np.abs(among_all).max()), float(np.ptp(among_all))):
        raise SettingError(
            f"predictor {brought.name} gives the same people other numbers when it is asked about fewer: give one, and "
            "a function as predictor_input, whose answer for a person depends on that person alone; fix means, ranks "
            "and levels beforehand"
        )


# ---------------------------------------------------------------- what it is shown


def _shower(brought: Brought, table: Table, lens: Lens) -> Callable[[Array], Any]:
    """How arrays of inputs become what the predictor is called with."""
    names = getattr(brought.predictor, "feature_names_in_", None) if brought.kind == ESTIMATOR else None
    if brought.looks_at == RESIDUALS:
        if names is None:
            return (lambda Z: Z.round(DIGITS)) if brought.gradient == NO_GRADIENT else (lambda Z: Z)
        wanted = _known(brought, names, lens.names)
        return lambda Z: pd.DataFrame(Z.round(DIGITS), columns=list(lens.names))[wanted]
    if brought.kind == MODULE and not callable(brought.looks_at):
        return lambda Z: _in_units(table, Z)
    prepare = brought.looks_at

    def frame(Z: Array) -> pd.DataFrame:
        return table.units.frame(Z[:, 0], Z[:, 1:])

    if callable(prepare):
        return lambda Z: _prepared(prepare, frame(Z))
    if names is None:
        fitted_to_array = brought.kind == ESTIMATOR and hasattr(brought.predictor, "n_features_in_")
        return (lambda Z: frame(Z).to_numpy()) if fitted_to_array else frame
    wanted = _known(brought, names, (*table.graph.protected_columns, *table.graph.features))
    return lambda Z: frame(Z)[wanted]


def _prepared(prepare: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> Any:
    """What the analyst's function makes of a data frame: something with a row per person."""
    columns = ", ".join(map(str, frame.columns))
    try:
        shown = prepare(frame)
    except Exception as problem:  # the analyst's function may fail in any way
        raise SettingError(
            f"predictor_input fails ({type(problem).__name__}: {problem}): give a function of a data frame with the "
            f"columns {columns}"
        ) from problem
    if getattr(shown, "shape", ())[:1] != (len(frame),):
        raise SettingError(
            f"predictor_input gives {type(shown).__name__} of shape {getattr(shown, 'shape', None)} for {len(frame)} "
            "people: give a function that returns a data frame or an array with a row for each"
        )
    return shown


def _known(brought: Brought, names: Any, known: tuple[str, ...]) -> list[str]:
    """The columns that an estimator was fitted to, each of which must be there."""
    for name in names:
        if name not in known:
            raise SettingError(
                f"predictor {brought.name} was fitted to a column '{name}', but it is shown {', '.join(known)}: add "
                "the column to the graph, or prepare it with a function as predictor_input"
            )
    return [str(name) for name in names]


def _in_units(table: Table, Z: Array) -> Array:
    """Coded columns as a PyTorch module gets them: features, and a numeric attribute, in the table's units."""
    units = table.units
    own = Z[:, 0] if units.protected is None else units.protected.decode(Z[:, 0])
    return np.column_stack([own, *(n.decode(Z[:, j]) for j, n in enumerate(units.features, start=1))])


def _answers(brought: Brought, table: Table) -> Callable[[Any], Any]:
    """The function that predicts."""
    if brought.kind == ESTIMATOR:
        return predictions(brought.predictor, table.outcome_levels)
    if brought.kind == MODULE:
        return lambda shown: call_module(brought.predictor, np.asarray(shown, dtype=float))
    predict: Callable[[Any], Any] = brought.predictor
    return predict


# ---------------------------------------------------------------- slopes


def _slopes(
    brought: Brought, table: Table, lens: Lens, show: Callable[[Array], Any], call: Callable[[Array], Array]
) -> Slopes | None:
    """Predictions with derivatives by the coded inputs, from where the analyst says; None without."""
    raw = isinstance(lens, RawColumns)
    if brought.gradient == NO_GRADIENT:
        return None
    if brought.gradient == DIFFERENCES:
        return lambda Z: (call(Z), _differences(call, Z, first=int(raw)))
    scale = np.array([0.0, *table.scaling.deviation]) if raw else np.ones(len(lens.names))
    if brought.gradient == AUTOGRAD:

        def by_autograd(Z: Array) -> tuple[Array, Array]:
            out, slopes = module_slopes(brought.predictor, show(Z))
            return _checked(brought, lambda: out, len(Z)) - table.origin, slopes * scale

        return by_autograd
    return lambda Z: (call(Z), _given_slopes(brought, table, Z, raw) * scale)


def _differences(call: Callable[[Array], Array], Z: Array, first: int) -> Array:
    """Central differences by each input from ``first`` on."""
    found = np.zeros_like(Z)
    for j in range(first, Z.shape[1]):
        step = STEP * (np.arange(Z.shape[1]) == j)
        found[:, j] = (call(Z + step) - call(Z - step)) / (2 * STEP)
    return found


def _given_slopes(brought: Brought, table: Table, Z: Array, raw: bool) -> Array:
    """What the analyst's gradient function says, by the residuals or by the features in the table's units."""
    gradient = brought.gradient
    assert callable(gradient)
    shown = table.units.frame(Z[:, 0], Z[:, 1:]) if raw else Z
    way_out = "a row per person and a column per residual, or per feature where it looks at a data frame"
    try:
        found, wanted = np.asarray(gradient(shown), dtype=float), (len(Z), Z.shape[1] - raw)
    except Exception as problem:  # the analyst's function may fail in any way
        raise SettingError(
            f"predictor_gradient fails ({type(problem).__name__}: {problem}): give a function to an array, {way_out}"
        ) from problem
    if found.shape != wanted:
        raise SettingError(
            f"predictor_gradient gives an array of shape {found.shape}: give one of shape {wanted}, {way_out}"
        )
    return np.column_stack([np.zeros(len(Z)), found]) if raw else found


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
