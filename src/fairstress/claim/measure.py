"""How a change of predictions becomes one number: CFU's mean of squares, and other measures of unfairness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairstress.arguments import is_positive
from fairstress.errors import SettingError, describe_error, show
from fairstress.inputs.rows import Array


@dataclass(frozen=True, slots=True)
class Measure:
    """What is made of everyone's change of prediction d: a mean of ``each(d)``, or a number that needs all of them."""

    name: str
    each: Callable[[Array], Array]  # one person's unfairness
    slope: Callable[[Array], Array] | None = None  # its derivative, where the measure is a mean
    of_all: Callable[[Array, Array], float] | None = None  # changes and weights of everyone to the measure
    is_squared: bool = False  # whether it is the paper's, in squared units of the outcome
    title: str = ""  # what a search calls it


def weighted_quantile(values: Array, weight: Array, q: float) -> float:
    """The smallest value that at least the share q of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order])
    i = int(np.searchsorted(share, q * share[-1] * (1 - 1e-12)))
    return float(values[order][min(i, values.size - 1)])


def _of_size(name: str, **parts: Any) -> Measure:
    """A measure of the size of changes."""
    return Measure(name, np.abs, **parts, title=f"CFU ({name})")


def _largest(d: Array, weight: Array) -> float:
    return float(np.abs(d[weight > 0]).max())


SQUARED = Measure("squared", np.square, partial(np.multiply, 2.0), is_squared=True, title="CFU")
ABSOLUTE = _of_size("absolute", slope=np.sign)
MAX = _of_size("max", of_all=_largest)


def read_measure(measure: Any) -> Measure:
    """Turn an analyst's choice into a measure."""
    known = {m.name: m for m in (SQUARED, ABSOLUTE, MAX)}
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str) and measure in known:
        return known[measure]
    if is_positive(measure) and measure < 1:
        return _of_size(f"{float(measure):g} quantile", of_all=_Quantile(float(measure)))
    if callable(measure):
        return _of_size(getattr(measure, "__name__", "own"), of_all=_UserMeasure(measure))
    raise SettingError(
        f"measure is {show(measure)}: give 'squared', 'absolute' or 'max', a number between 0 and 1 for that quantile "
        "of the absolute change, or a function of everyone's change of prediction and their weights"
    )


@dataclass(frozen=True, slots=True)
class _Quantile:
    q: float

    def __call__(self, d: Array, weight: Array) -> float:
        return weighted_quantile(np.abs(d), weight, self.q)


@dataclass(frozen=True, slots=True)
class _UserMeasure:
    """A measure of the analyst's own, whose result is checked."""

    function: Callable[[Array, Array], Any]

    def __call__(self, d: Array, weight: Array) -> float:
        try:
            value = float(self.function(d, weight))
        except Exception as problem:  # the analyst's function may fail in any way
            raise SettingError(
                f"measure failed on arrays of changes and weights ({describe_error(problem)}): give a function of both "
                "to one number"
            ) from problem
        if not np.isfinite(value):
            raise SettingError(f"measure gives {value}: give a function of changes and weights to a finite number")
        return value
