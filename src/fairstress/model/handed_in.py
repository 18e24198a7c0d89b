"""A user's predictor as it is handed in, an estimator, a PyTorch module or a function, and what it asks to be shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from fairstress.errors import SettingError, show
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.model.autograd import check_module, is_module
from fairstress.model.embedding import Input
from fairstress.model.predictor import ANALYTIC
from fairstress.model.scikit import is_estimator
from fairstress.model.view import Lens, RawColumns, View
from fairstress.options import AUTOGRAD, FEATURES, NO_GRADIENT, RESIDUALS, Predictor

ESTIMATOR, MODULE, FUNCTION = "estimator", "module", "function"


@dataclass(frozen=True, slots=True, eq=False)
class UserPredictor:
    """A predictor as the analyst handed it in, with what it looks at and where its gradient comes from."""

    model: Any
    kind: str
    input: str | Callable[[pd.DataFrame], Any]
    gradient: str | Callable[[Any], Any]
    seed: int | None
    columns: tuple[str, ...] | None = None  # that it is shown, where the analyst names them

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

    @property
    def fitted_to(self) -> tuple[str, ...] | None:
        """The columns that a fitted estimator names; None of any other, or where a function prepares its input."""
        names = getattr(self.model, "feature_names_in_", None) if self.kind == ESTIMATOR else None
        return None if names is None or callable(self.input) else tuple(str(name) for name in names)

    @property
    def is_fitted_to_array(self) -> bool:
        """Whether it is an estimator that was fitted to an array, and knows no names of columns."""
        is_fitted = self.kind == ESTIMATOR and hasattr(self.model, "n_features_in_")
        return is_fitted and self.fitted_to is None and not callable(self.input)

    def order_assumed(self, graph: CausalGraph) -> tuple[str, ...]:
        """The columns in the order in which it is taken to have been fitted, where neither it nor anybody says so."""
        is_told = not self.is_fitted_to_array or self.columns is not None or self.input == RESIDUALS
        return () if is_told else self.columns_shown(graph)

    def columns_shown(self, graph: CausalGraph) -> tuple[str, ...]:
        """The columns that a model of features is handed, or the function that prepares its input."""
        return self.fitted_to or self.columns or (*graph.protected_columns, *graph.features)

    def columns_outside(self, graph: CausalGraph) -> tuple[str, ...]:
        """Which of these the graph does not name."""
        if self.input == RESIDUALS:
            return ()
        known = (*graph.protected_columns, *graph.features)
        return tuple(name for name in self.columns_shown(graph) if name not in known)

    def lens(self, view: View, table: Table) -> Lens:
        """What it looks at: the residuals' view, or the coded columns, of which the table's are made."""
        if self.input == RESIDUALS:
            return view
        protected, features = table.graph.protected, table.graph.features
        lens = RawColumns.of([Input(protected)], [[Input(name)] for name in features])
        return replace(lens, names=self.columns_shown(table.graph), others=table.others is not None)


def read_user_predictor(predictor: Predictor, graph: CausalGraph, seed: int | None) -> UserPredictor | None:
    """Look at what the analyst hands in; None where it is the built-in predictor."""
    if predictor.model is None:
        return None
    kind = _kind(predictor.model)
    own = UserPredictor(
        predictor.model, kind, predictor.input, _gradient(predictor, kind), seed, _columns(predictor.columns)
    )
    _check_columns(own, graph)
    return own


def _columns(columns: Any) -> tuple[str, ...] | None:
    return None if columns is None else tuple(columns)


def _check_columns(own: UserPredictor, graph: CausalGraph) -> None:
    """Refuse a model that is shown the outcome, was fitted to other columns than those named, or takes none."""
    if own.input == RESIDUALS:
        return
    if own.columns and own.kind == MODULE and not callable(own.input):
        raise SettingError(
            "the predictor's columns are given, but a PyTorch module gets an array of the graph's columns: give a "
            "function as input, which makes an array of the columns"
        )
    if graph.outcome in own.columns_shown(graph):
        raise SettingError(
            f"predictor {own.name} looks at '{graph.outcome}', the outcome that it predicts: give one that does not"
        )
    missing = [name for name in own.fitted_to or () if own.columns and name not in own.columns]
    if missing:
        raise SettingError(
            f"predictor {own.name} was fitted to a column '{missing[0]}', which columns does not name: name it, or "
            "leave columns out"
        )


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
        f"predictor is {show(predictor)}: give an estimator with fit and predict, a PyTorch module or a function"
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
