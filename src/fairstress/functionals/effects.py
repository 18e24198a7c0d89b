"""Effects of the protected attribute on a feature, total, direct and indirect, and single weights of the equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Functional
from fairstress.errors import SettingError, did_you_mean
from fairstress.functionals.cfu import side_by_side
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import weight_gradient, worlds

TOTAL, DIRECT, INDIRECT = "total", "direct", "indirect"


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
        for factual in claim.blocks():
            x, weight = factual.block.x[:, self.column], self.weight(factual.block)
            for some, counterfactual in side_by_side(claim, w_B, factual):
                total[some] += (counterfactual.x_cf[..., self.column] - x) @ weight
        return self.unit * total / self.n

    def has_slope(self, claim: Claim) -> bool:
        """Always."""
        return True

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array]:
        """The derivative flows through the counterfactual feature alone."""
        claim = _unlabelled(claim)
        w_A, total, c_w = claim.model_a.weights, 0.0, np.zeros(w_B.size)
        for factual in claim.blocks():
            x, weight = factual.block.x, self.weight(factual.block)
            counterfactual = worlds(claim.design, w_A, w_B[None], factual)
            total += float((counterfactual.x_cf[0, :, self.column] - x[:, self.column]) @ weight)
            g = np.zeros_like(x)
            g[:, self.column] = weight
            c_w += weight_gradient(claim.design, w_A, w_B, counterfactual, g_x=g)
        return self.unit * total / self.n, self.unit * c_w / self.n

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True, slots=True, eq=False)
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

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True, slots=True, eq=False)
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

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _unlabelled(claim: Claim) -> Claim:
    """The same claim with no edge called fair."""
    if not any(e.fair or e.protected_is_fair for e in claim.design.equations):
        return claim
    return replace(claim, design=claim.design.unlabelled())


# ---------------------------------------------------------------- by name


def effect(table: Table, claim: Claim, feature: str, kind: str = TOTAL, level: Any = None) -> Functional:
    """An effect of the protected attribute on a feature, in the feature's units."""
    makers: dict[str, Callable[..., Functional]] = {
        TOTAL: total_effect,
        DIRECT: direct_effect,
        INDIRECT: indirect_effect,
    }
    if not isinstance(kind, str) or kind not in makers:
        raise SettingError(f"kind is {kind!r}: give '{TOTAL}', '{DIRECT}' or '{INDIRECT}'")
    return makers[kind](table, claim, feature, level)


def total_effect(table: Table, claim: Claim, feature: str, level: Any = None) -> TotalEffect:
    """Total effect of the protected attribute on a feature, in the feature's units."""
    j, coding = _column(table, feature), table.protected
    ends = coding.ends(level)
    name = f"total effect of {coding.name} on {feature}"
    unit, n = float(table.scaling.deviation[j]), table.rows.n
    return TotalEffect(j, unit, n, partial(coding.effect_weight, ends=ends), name)


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
    return Difference(total_effect(table, claim, feature, level), direct_effect(table, claim, feature, level), name)


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
