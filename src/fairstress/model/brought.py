"""What an analyst brings: an estimator, a PyTorch module or a function, of residuals or of raw columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairstress.errors import SettingError
from fairstress.inputs.data import Table
from fairstress.model.autograd import check_module, is_module
from fairstress.model.embedding import Input
from fairstress.model.predictor import AUTOGRAD, DIFFERENCES, NO_GRADIENT
from fairstress.model.scikit import is_estimator
from fairstress.model.view import Lens, RawColumns, View

RESIDUALS, FEATURES = "residuals", "features"
ESTIMATOR, MODULE, FUNCTION = "estimator", "module", "function"


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
