"""Functionals of Model B: CFU, the total effect of the protected attribute, a coefficient, or any function of a frame.

The search knows a functional by its values for many weights side by side and, where it has one, its derivative by the
weights. A derivative by the correlation then comes from the fit (`fairstress.model.fit.correlation_gradient`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import People, Worlds, weight_gradient, worlds
from fairstress.model.design import Design
from fairstress.sensitivity.claim import Claim

BATCH = 32_768  # rows times versions of Model B that are worked on at once


@runtime_checkable
class Functional(Protocol):
    """A number that Model B's weights determine."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    def values(self, claim: Claim, w_B: Array) -> Array:
        """(g,) the number for each of the weights (g, D)."""
        ...

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array] | None:
        """The number for weights (D,) and its derivative by them (D,); None where it has no derivative."""
        ...


@dataclass(frozen=True, slots=True)
class Unfairness:
    """CFU: the mean squared change of the prediction, over everyone or over one group."""

    group: float | None = None  # coded value of the protected attribute
    name: str = "CFU"

    def values(self, claim: Claim, w_B: Array) -> Array:
        """Mean of ``(f(eps') - f(eps))^2``."""
        total, n = np.zeros(len(w_B)), 0.0
        for people in claim.people():
            weight = self._weight(people.block)
            n += float(weight.sum())
            for some, found in side_by_side(claim, w_B, people):
                total[some] += difference(claim, found) ** 2 @ weight
        return total / n

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array]:
        """Back through predictions and counterfactuals to the weights."""
        w_A, total, n, c_w = claim.model_a.weights, 0.0, 0.0, np.zeros(w_B.size)
        for people in claim.people():
            weight = self._weight(people.block)
            found = worlds(claim.design, w_A, w_B[None], people)
            predicted, slopes = claim.predictor.predict_with_slopes(found.eps_cf[0])
            change = predicted - people.predicted
            total, n = total + float(change**2 @ weight), n + float(weight.sum())
            c_w += weight_gradient(claim.design, w_A, w_B, found, g_eps=(2 * weight * change)[:, None] * slopes)
        return total / n, c_w / n

    def _weight(self, block: Rows) -> Array:
        return block.weight if self.group is None else block.weight * (block.a == self.group)


@dataclass(frozen=True, slots=True)
class TotalEffect:
    """Mean effect on a feature of moving A from the reference level to the other, or by its shift; all else follows."""

    column: int  # the feature's
    unit: float  # its standard deviation in the table's units
    is_binary: bool
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """Mean of ``x'_j - x_j`` for the reference group, of ``x_j - x'_j`` for the other."""
        total = np.zeros(len(w_B))
        for people in claim.people():
            x, weight = people.block.x[:, self.column], self._weight(people.block)
            for some, found in side_by_side(claim, w_B, people):
                total[some] += (found.x_cf[..., self.column] - x) @ weight
        return self.unit * total / claim.rows.n

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array]:
        """The derivative flows through the counterfactual feature alone."""
        w_A, total, c_w = claim.model_a.weights, 0.0, np.zeros(w_B.size)
        for people in claim.people():
            x, weight = people.block.x, self._weight(people.block)
            found = worlds(claim.design, w_A, w_B[None], people)
            total += float((found.x_cf[0, :, self.column] - x[:, self.column]) @ weight)
            g = np.zeros_like(x)
            g[:, self.column] = weight
            c_w += weight_gradient(claim.design, w_A, w_B, found, g_x=g)
        return self.unit * total / claim.rows.n, self.unit * c_w / claim.rows.n

    def _weight(self, block: Rows) -> Array:
        return block.weight * block.a if self.is_binary else block.weight


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One structural weight, in the table's units."""

    position: int
    unit: float
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """The weight."""
        return self.unit * w_B[:, self.position]

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array]:
        """The weight, and where it stands."""
        return self.unit * float(w_B[self.position]), self.unit * np.eye(w_B.size)[self.position]


@dataclass(frozen=True, slots=True)
class OfFrame:
    """Any function of the frame of counterfactuals; it has no derivative."""

    function: Callable[[pd.DataFrame], Any]
    to_frame: Callable[[Array], pd.DataFrame]  # weights (D,) to the counterfactuals in the table's units
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """The function of each frame."""
        return np.array([float(self.function(self.to_frame(w))) for w in w_B])

    def value_and_slope(self, claim: Claim, w_B: Array) -> None:
        """No derivative."""
        return


def side_by_side(claim: Claim, w_B: Array, people: People) -> Iterator[tuple[slice, Worlds]]:
    """Walk through the worlds of many versions of Model B, as many at once as fit into a core's cache."""
    size = max(1, BATCH // people.block.a.size)
    for start in range(0, len(w_B), size):
        some = slice(start, start + size)
        yield some, worlds(claim.design, claim.model_a.weights, w_B[some], people)


def difference(claim: Claim, found: Worlds) -> Array:
    """``f(eps') - f(eps)``, as (g, r): how far the prediction moves with the protected attribute."""
    return np.asarray(claim.predictor.predict(found.eps_cf) - found.people.predicted)


# ---------------------------------------------------------------- by name


def group_unfairness(table: Table, level: Any) -> Functional:
    """CFU of one group."""
    levels = table.protected.levels
    if levels is None or level not in levels:
        offered = "it is numeric" if levels is None else f"give {levels[0]!r} or {levels[1]!r}"
        raise SettingError(f"{level!r} is not a level of '{table.protected.name}': {offered}")
    return Unfairness(group=1.0 if level == levels[1] else -1.0, name=f"CFU of {level}")


def total_effect(table: Table, feature: str) -> Functional:
    """Total effect of the protected attribute on a feature, in the feature's units."""
    j = _column(table, feature)
    name = f"total effect of {table.protected.name} on {feature}"
    return TotalEffect(j, float(table.scaling.deviation[j]), table.protected.is_binary, name)


def coefficient(table: Table, design: Design, feature: str, term: str) -> Functional:
    """A weight of a feature's equation, in the table's units."""
    j = _column(table, feature)
    terms = design.equations[j].embedding.terms
    if term not in terms:
        near = did_you_mean(term, terms) or f"; it has {', '.join(terms)}"
        raise SettingError(f"the equation of '{feature}' has no term '{term}'{near}")
    deviation = dict(zip(table.graph.features, table.scaling.deviation.tolist(), strict=True))
    unit = deviation[feature]
    for factor in term.split("*"):
        name, _, power = factor.partition("^")
        unit /= deviation.get(name, 1.0) ** int(power or 1)
    return Coefficient(design.slices[j].start + terms.index(term), unit, f"{feature}: weight of {term}")


def _column(table: Table, feature: str) -> int:
    features = table.graph.features
    if feature not in features:
        raise SettingError(f"'{feature}' is not a feature{did_you_mean(feature, features)}")
    return features.index(feature)
