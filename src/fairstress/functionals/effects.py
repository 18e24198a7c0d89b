"""Effects of the protected attribute on a feature, total, direct and indirect, and single weights of the equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Functional
from fairstress.errors import SettingError, did_you_mean, show
from fairstress.functionals.cfu import weighed
from fairstress.inputs.data import Table
from fairstress.inputs.frames import is_among
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import FactualBlock, weight_gradient
from fairstress.model.fit import Fit

TOTAL, DIRECT, INDIRECT = "total", "direct", "indirect"


STEP = 1e-6  # of a difference, in coded units
KEPT = 4  # claims along the paths in question that are kept


@dataclass(frozen=True, slots=True, eq=False)
class MeanEffect:
    """Mean effect on a feature of taking everyone from one level of A to another, or by its shift, along some paths.

    Of an ordered feature it is that on its mean score, or on the probability of one of its levels.
    """

    column: int  # the feature's
    unit: float  # its standard deviation in the table's units
    n: float  # people
    moved: float  # the weight of everyone who is moved; a claim may be about a sample of them
    weight: Callable[[Rows], Array]  # with which changes add up to the effect
    name: str
    direct: bool = False  # whether its parents stay as they are; otherwise all else follows, along fair edges too
    value_of: Callable[[Array], Array] | None = None  # coded values in the table's units, where these are no multiple
    _asked: dict[int, tuple[Claim, Claim]] = field(default_factory=dict, repr=False)  # claims along the paths

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """Mean of ``x'_j - x_j``."""
        claim = self._along(claim)
        return self._scale * claim.total(partial(self._of_block, fits)) / self._people(claim)

    def _of_block(self, fits: Sequence[Fit], claim: Claim, factual: FactualBlock) -> Array:
        """What a block of people adds for each fit."""
        total = np.empty(len(fits))
        x, weight = self._value(factual.block.x[:, self.column]), self.weight(factual.block)
        for some, counterfactual in claim.side_by_side(fits, factual):
            x_cf = self._value(counterfactual.x_cf[..., self.column])
            total[some] = weighed(x_cf - counterfactual.of_people(x), counterfactual.weights(weight))
        return total

    def has_slope(self, claim: Claim) -> bool:
        """Unless worlds are drawn."""
        return not claim.draws_worlds

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> tuple[Array, Array]:
        """Derivatives flow through the counterfactual feature alone."""
        claim = self._along(claim)
        totals, c_w = claim.total(partial(self._slopes_of_block, fits))
        n = self._people(claim)
        return self._scale * totals / n, self._scale * c_w / n

    def _slopes_of_block(self, fits: Sequence[Fit], claim: Claim, factual: FactualBlock) -> tuple[Array, Array]:
        """What a block of people adds for each fit, and derivatives by the weights."""
        x, weight = self._value(factual.block.x[:, self.column]), self.weight(factual.block)
        w_B = np.array([fit.weights for fit in fits])
        totals, c_w = np.empty(len(fits)), np.empty_like(w_B)
        for some, worlds in claim.side_by_side(fits, factual, differing=claim.may_differ):
            x_cf, g = worlds.x_cf[..., self.column], np.zeros_like(worlds.x_cf)
            g[..., self.column] = weight * self._slope(x_cf)
            totals[some] = weighed(self._value(x_cf) - x, weight)
            c_w[some] = weight_gradient(claim.design, claim.model_a.weights, w_B[some], worlds, g_x=g)
        return totals, c_w

    def _people(self, claim: Claim) -> float:
        """How many people a claim's rows stand for."""
        return self.n * claim.rows.n / self.moved

    @property
    def _scale(self) -> float:
        """What turns a mean of values into the table's units."""
        return self.unit if self.value_of is None else 1.0

    def _value(self, x: Array) -> Array:
        return x if self.value_of is None else self.value_of(x)

    def _slope(self, x: Array) -> Array | float:
        return 1.0 if self.value_of is None else (self.value_of(x + STEP) - self.value_of(x - STEP)) / (2 * STEP)

    def _along(self, claim: Claim) -> Claim:
        """The claim along the paths in question, kept so that its blocks are worked out once."""
        known = self._asked.get(id(claim))
        if known is None or known[0] is not claim:
            if len(self._asked) >= KEPT:
                self._asked.clear()
            wanted = _direct_alone(claim, self.column) if self.direct else _unlabelled(claim)
            known = self._asked[id(claim)] = (claim, wanted)
        return known[1]

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A linear function of the weights: one of them, or a direct effect."""

    slope: Array  # (D,)
    name: str

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """The function of each of the weights."""
        return np.array([fit.weights for fit in fits]) @ self.slope

    def has_slope(self, claim: Claim) -> bool:
        """Always."""
        return True

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> tuple[Array, Array]:
        """The function and its constant derivative."""
        return self.values(claim, fits), np.tile(self.slope, (len(fits), 1))

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """One functional less another, both with derivatives."""

    first: MeanEffect
    second: Linear | MeanEffect
    name: str

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """First less second."""
        return self.first.values(claim, fits) - self.second.values(claim, fits)

    def has_slope(self, claim: Claim) -> bool:
        """Where the first has one."""
        return self.first.has_slope(claim)

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> tuple[Array, Array]:
        """First less second, and the same of their derivatives."""
        (a, slopes), (b, others) = (part.values_and_slopes(claim, fits) for part in (self.first, self.second))
        return a - b, slopes - others

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _unlabelled(claim: Claim) -> Claim:
    """The same claim with no edge called fair."""
    if not any(e.fair or e.protected_is_fair for e in claim.design.equations):
        return claim
    return replace(claim, design=claim.design.unlabelled())


def _direct_alone(claim: Claim, column: int) -> Claim:
    """The same claim where the protected attribute moves one feature alone, whose other parents stay as they are."""
    equations = [
        replace(
            e,
            moves=e.column == column and e.uses_protected,
            fair=frozenset(e.parents) if e.column == column else e.fair,
            protected_is_fair=False,
        )
        for e in claim.design.equations
    ]
    return replace(claim, design=replace(claim.design, equations=tuple(equations)))


# ---------------------------------------------------------------- by name


def effect(
    table: Table, claim: Claim, feature: str, kind: str = TOTAL, level: Any = None, of: Any = None
) -> Functional:
    """An effect of the protected attribute on a feature, in its units, or on the share of people with a level of it."""
    makers: dict[str, Callable[..., Functional]] = {
        TOTAL: total_effect,
        DIRECT: direct_effect,
        INDIRECT: indirect_effect,
    }
    if not isinstance(kind, str) or kind not in makers:
        raise SettingError(f"kind is {show(kind)}: give '{TOTAL}', '{DIRECT}' or '{INDIRECT}'")
    return makers[kind](table, claim, feature, level, of)


def total_effect(table: Table, claim: Claim, feature: str, level: Any = None, of: Any = None) -> MeanEffect:
    """Total effect of the protected attribute on a feature, in the feature's units."""
    j, coding = _column(table, feature), table.protected
    name = f"total effect of {coding.name} on {_aim(feature, of)}"
    unit, n = float(table.scaling.deviation[j]), table.rows.n
    weight = partial(coding.effect_weight, ends=coding.ends(level))
    return MeanEffect(j, unit, n, _moved(table), weight, name, value_of=_in_units(table, j, of))


def direct_effect(table: Table, claim: Claim, feature: str, level: Any = None, of: Any = None) -> Linear | MeanEffect:
    """Mean change of a feature's equation with the protected attribute, its other parents as observed."""
    j, coding = _column(table, feature), table.protected
    ends, name = coding.ends(level), f"direct effect of {coding.name} on {_aim(feature, of)}"
    unit, value_of = float(table.scaling.deviation[j]), _in_units(table, j, of)
    if value_of is not None or claim.is_mixed:
        weight = partial(coding.effect_weight, ends=ends)
        return MeanEffect(j, unit, table.rows.n, _moved(table), weight, name, direct=True, value_of=value_of)
    return Linear(unit * _direct_slope(table, claim, j, ends) / table.rows.n, name)


def _direct_slope(table: Table, claim: Claim, j: int, ends: tuple[float, float] | None) -> Array:
    """(D,) the change of an equation's columns, added up over people."""
    position = claim.design.columns.index(j)
    equation, where = claim.design.equations[position], claim.design.slices[position]
    coding, slope = table.protected, np.zeros(claim.model_a.weights.size)

    def of(block: Rows) -> Array:
        start, end = ends or (block.a, coding.counterfactual(block.a))
        return np.asarray(block.weight @ (equation.values(end, block.x) - equation.values(start, block.x)))

    slope[where] = table.rows.total(of)
    return slope


def indirect_effect(table: Table, claim: Claim, feature: str, level: Any = None, of: Any = None) -> Difference:
    """Total effect less direct effect."""
    name = f"indirect effect of {table.protected.name} on {_aim(feature, of)}"
    total = total_effect(table, claim, feature, level, of)
    return Difference(total, direct_effect(table, claim, feature, level, of), name)


def _moved(table: Table) -> float:
    return table.protected.contrasts(table.rows)[0].n


def _aim(feature: str, of: Any) -> str:
    return feature if of is None else f"the share of {feature} = {of}"


def _in_units(table: Table, j: int, of: Any) -> Callable[[Array], Array] | None:
    """How coded values become the table's, where that is no multiple; of a level, whether they are it."""
    own, kind = table.units.features[j], table.kinds[table.graph.features[j]]
    if of is not None:
        if not is_among(of, kind.levels):
            known = f"it has {', '.join(map(repr, kind.levels))}" if kind.levels else "it is a number and has none"
            raise SettingError(f"{show(of)} is not a level of '{own.name}': {known}")
        code = float(own.codes[kind.levels.index(of)])
        return lambda x: (x == code).astype(float)
    return None if kind.is_number and kind.scale == "identity" and not kind.atom else own.number


def coefficient(table: Table, claim: Claim, feature: str, term: str) -> Functional:
    """A weight of a feature's equation, in the table's units."""
    j, design = _column(table, feature), claim.design
    if j not in design.columns:
        raise SettingError(f"'{feature}' has no equation: it does not descend from '{table.graph.protected}'")
    position = design.columns.index(j)
    terms = design.equations[position].embedding.terms
    if not is_among(term, terms):
        near = did_you_mean(term, terms) or f"; it has {', '.join(terms)}"
        raise SettingError(f"the equation of '{feature}' has no term '{term}'{near}")
    deviation = dict(zip(table.graph.features, table.scaling.deviation.tolist(), strict=True))
    unit = 1.0 if design.equations[position].law.is_ordered else deviation[feature]
    deviation[table.graph.protected] = table.protected.deviation
    for factor in term.rpartition("] ")[2].split("*"):
        name, _, power = factor.partition("^")
        unit /= deviation.get(name, 1.0) ** int(power or 1)
    slope = np.zeros(claim.model_a.weights.size)
    slope[design.slices[position].start + terms.index(term)] = unit
    return Linear(slope, f"{feature}: weight of {term}")


def _column(table: Table, feature: str) -> int:
    features = table.graph.features
    if not is_among(feature, features):
        raise SettingError(f"'{feature}' is not a feature{did_you_mean(feature, features)}")
    return features.index(feature)
