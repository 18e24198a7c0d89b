"""Functionals of Model B: CFU, the total effect of the protected attribute, a coefficient, or any function of a frame.

The search knows a functional by its values for many weights side by side and, where it has one, its derivative by the
weights. A derivative by the correlation then comes from the fit (`fairstress.model.fit.correlation_gradient`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import People, Worlds, weight_gradient, worlds
from fairstress.model.predictor import NO_GRADIENT
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

    def has_slope(self, claim: Claim) -> bool:
        """Whether it has a derivative for a claim."""
        ...

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array] | None:
        """The number for weights (D,) and its derivative by them (D,); None where it has no derivative."""
        ...


@dataclass(frozen=True, slots=True)
class Unfairness:
    """CFU: the mean squared change of the prediction, over everyone, one group, or those moved to one level.

    The claim may carry another measure of the change than its mean square.
    """

    group: float | None = None  # code of the protected attribute
    to: float | None = None  # code of its counterfactual value
    name: str = "CFU"

    def values(self, claim: Claim, w_B: Array) -> Array:
        """Mean of ``(f(z') - f(z))^2``, or what the claim's measure makes of the changes."""
        if claim.measure.of_all is not None:
            return self._of_all(claim, w_B, claim.measure.of_all)
        total, n = np.zeros(len(w_B)), 0.0
        for people in claim.people():
            weight = self._weight(people.block)
            n += float(weight.sum())
            for some, found in side_by_side(claim, w_B, people):
                total[some] += claim.measure.each(difference(claim, found)) @ weight
        return total / n

    def has_slope(self, claim: Claim) -> bool:
        """Whether both the predictor and the measure have one."""
        return claim.measure.slope is not None and claim.predictor.gradient != NO_GRADIENT

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array] | None:
        """Back through predictions and counterfactuals to the weights; None without slopes of predictor or measure."""
        measure = claim.measure
        if measure.slope is None or not self.has_slope(claim):
            return None
        w_A, total, n, c_w = claim.model_a.weights, 0.0, 0.0, np.zeros(w_B.size)
        for people in claim.people():
            weight = self._weight(people.block)
            found = worlds(claim.design, w_A, w_B[None], people)
            predicted, slopes = claim.predictor.predict_with_slopes(claim.view.counterfactual(found)[0])
            assert slopes is not None
            change = predicted - people.predicted
            total, n = total + float(measure.each(change) @ weight), n + float(weight.sum())
            g_eps, g_x = claim.view.gradients(found, (weight * measure.slope(change))[:, None] * slopes)
            c_w += weight_gradient(claim.design, w_A, w_B, found, g_eps=g_eps, g_x=g_x)
        return total / n, c_w / n

    def _of_all(self, claim: Claim, w_B: Array, measure: Callable[[Array, Array], float]) -> Array:
        """A measure that needs everyone's change at once."""
        people = list(claim.people())
        weight = np.concatenate([self._weight(some.block) for some in people])
        who = weight > 0
        found = np.empty(len(w_B))
        for i, w in enumerate(w_B):
            seen = (worlds(claim.design, claim.model_a.weights, w[None], some) for some in people)
            found[i] = measure(np.concatenate([difference(claim, one)[0] for one in seen])[who], weight[who])
        return found

    def _weight(self, block: Rows) -> Array:
        weight = block.weight
        if self.group is not None:
            weight = weight * (block.a == self.group)
        return weight if self.to is None else weight * (block.a_cf == self.to)


@dataclass(frozen=True, slots=True)
class TotalEffect:
    """Mean effect on a feature of taking everyone from one level of A to another, or by its shift; all else follows."""

    column: int  # the feature's
    unit: float  # its standard deviation in the table's units
    n: float  # people
    weight: Callable[[Rows], Array]  # with which changes add up to the effect
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """Mean of ``x'_j - x_j``, along all paths, fair or not."""
        claim, total = _unlabelled(claim), np.zeros(len(w_B))
        for people in claim.people():
            x, weight = people.block.x[:, self.column], self.weight(people.block)
            for some, found in side_by_side(claim, w_B, people):
                total[some] += (found.x_cf[..., self.column] - x) @ weight
        return self.unit * total / self.n

    def has_slope(self, claim: Claim) -> bool:
        """Always."""
        return True

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array]:
        """The derivative flows through the counterfactual feature alone."""
        claim = _unlabelled(claim)
        w_A, total, c_w = claim.model_a.weights, 0.0, np.zeros(w_B.size)
        for people in claim.people():
            x, weight = people.block.x, self.weight(people.block)
            found = worlds(claim.design, w_A, w_B[None], people)
            total += float((found.x_cf[0, :, self.column] - x[:, self.column]) @ weight)
            g = np.zeros_like(x)
            g[:, self.column] = weight
            c_w += weight_gradient(claim.design, w_A, w_B, found, g_x=g)
        return self.unit * total / self.n, self.unit * c_w / self.n


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear function of the weights: one of them, or a direct effect."""

    slope: Array  # (D,)
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """The function of each of the weights."""
        return np.asarray(w_B @ self.slope)

    def has_slope(self, claim: Claim) -> bool:
        """Always."""
        return True

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array]:
        """The function and its constant derivative."""
        return float(w_B @ self.slope), self.slope


@dataclass(frozen=True, slots=True)
class Difference:
    """One functional less another, both with derivatives."""

    first: TotalEffect
    second: Linear
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """First less second."""
        return self.first.values(claim, w_B) - self.second.values(claim, w_B)

    def has_slope(self, claim: Claim) -> bool:
        """Always."""
        return True

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array]:
        """First less second, and the same of their derivatives."""
        (a, slope), (b, other) = (part.value_and_slope(claim, w_B) for part in (self.first, self.second))
        return a - b, slope - other


@dataclass(frozen=True, slots=True)
class OfFrame:
    """Any function of the frame of counterfactuals; it has no derivative."""

    function: Callable[[pd.DataFrame], Any]
    to_frame: Callable[[Array], pd.DataFrame]  # weights (D,) to the counterfactuals in the table's units
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """The function of each frame."""
        return np.array([float(self.function(self.to_frame(w))) for w in w_B])

    def has_slope(self, claim: Claim) -> bool:
        """Never."""
        return False

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
    """``f(z') - f(z)``, as (g, r): how far the prediction moves with the protected attribute."""
    return np.asarray(claim.predict_worlds(found) - found.people.predicted)


def _unlabelled(claim: Claim) -> Claim:
    """The same claim with no edge called fair."""
    if not any(e.fair or e.protected_is_fair for e in claim.design.equations):
        return claim
    return replace(claim, design=claim.design.unlabelled())


def by_levels(table: Table, claim: Claim, w_B: Array) -> pd.DataFrame:
    """CFU for each pair of levels of the protected attribute, NaN where nobody is moved."""
    coding = table.protected
    if coding.levels is None:
        raise SettingError(f"'{coding.name}' is numeric: CFU by levels needs a protected attribute with levels")
    pairs = [(a, b) for a in coding.codes for b in (coding.targets or coding.codes) if a != b]
    found = pd.DataFrame(np.nan, index=list(coding.levels), columns=list(coding.levels))
    found = found.rename_axis(index=coding.name, columns="moved to")
    for a, b in pairs:
        found.loc[coding.level(a), coding.level(b)] = Unfairness(a, b).values(claim, w_B[None])[0]
    return found


# ---------------------------------------------------------------- by name


def group_unfairness(table: Table, level: Any, to: Any = None) -> Functional:
    """CFU of one group, or of those in it who are moved to another level."""
    coding = table.protected
    if coding.levels is None:
        raise SettingError(f"{level!r} is not a level of '{coding.name}': it is numeric")
    group = coding.moved_code(level)
    if to is None:
        return Unfairness(group=group, name=f"CFU of {level}")
    target = coding.code(to)
    moved = coding.targets or (-group,)
    if target == group or target not in moved:
        raise SettingError(f"nobody is moved from {level!r} to {to!r}: give another level, or name it in contrast")
    return Unfairness(group=group, to=target, name=f"CFU of {level} moved to {to}")


def total_effect(table: Table, feature: str, level: Any = None) -> TotalEffect:
    """Total effect of the protected attribute on a feature, in the feature's units."""
    j, coding = _column(table, feature), table.protected
    ends = coding.ends(level)
    name = f"total effect of {coding.name} on {feature}"
    unit, n = float(table.scaling.deviation[j]), table.rows.n
    return TotalEffect(j, unit, n, lambda block: coding.effect_weight(block, ends), name)


def direct_effect(table: Table, claim: Claim, feature: str, level: Any = None) -> Linear:
    """Mean change of a feature's equation with the protected attribute, its other parents as observed."""
    j, coding, rows = _column(table, feature), table.protected, table.rows
    equation, where, ends = claim.design.equations[j], claim.design.slices[j], coding.ends(level)
    slope = np.zeros(claim.model_a.weights.size)
    for block in rows.blocks():
        start, end = ends or (block.a, coding.counterfactual(block.a))
        slope[where] += block.weight @ (equation.values(end, block.x) - equation.values(start, block.x))
    unit = float(table.scaling.deviation[j])
    return Linear(unit * slope / rows.n, f"direct effect of {coding.name} on {feature}")


def indirect_effect(table: Table, claim: Claim, feature: str, level: Any = None) -> Difference:
    """Total effect less direct effect."""
    name = f"indirect effect of {table.protected.name} on {feature}"
    return Difference(total_effect(table, feature, level), direct_effect(table, claim, feature, level), name)


def coefficient(table: Table, claim: Claim, feature: str, term: str) -> Functional:
    """A weight of a feature's equation, in the table's units."""
    j = _column(table, feature)
    terms = claim.design.equations[j].embedding.terms
    if term not in terms:
        near = did_you_mean(term, terms) or f"; it has {', '.join(terms)}"
        raise SettingError(f"the equation of '{feature}' has no term '{term}'{near}")
    deviation = dict(zip(table.graph.features, table.scaling.deviation.tolist(), strict=True))
    unit = deviation[feature]
    deviation[table.graph.protected] = table.protected.deviation
    for factor in term.split("*"):
        name, _, power = factor.partition("^")
        unit /= deviation.get(name, 1.0) ** int(power or 1)
    slope = np.zeros(claim.model_a.weights.size)
    slope[claim.design.slices[j].start + terms.index(term)] = unit
    return Linear(slope, f"{feature}: weight of {term}")


def _column(table: Table, feature: str) -> int:
    features = table.graph.features
    if feature not in features:
        raise SettingError(f"'{feature}' is not a feature{did_you_mean(feature, features)}")
    return features.index(feature)
