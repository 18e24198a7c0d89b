"""Simulated variables of any kind: from the scale on which an equation is linear to what a table shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from fairstress.arguments import finite, is_list
from fairstress.errors import SettingError, did_you_mean, show
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.kinds import CATEGORY, NUMBER, ORDERED, Kind, read_kind
from fairstress.inputs.rows import Array
from fairstress.inputs.scales import FORMULAS
from fairstress.model.embedding import Input

Inverse = Callable[[Array], Array]
Value = NDArray[Any]  # positions of levels, or numbers on the scale on which their equation is linear

_FLOORS = {"log1p": 0.0, "sqrt": 0.0}  # where these scales end: what is drawn below is put there


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """One simulated variable: how a draw on its latent scale becomes a value, and what others see of the value."""

    name: str
    kind: Kind
    cuts: tuple[float, ...] = ()  # between the levels, on the latent scale
    floor: float = -np.inf  # of a number, on its scale: an atom's threshold, or where the scale ends
    inverse: Inverse = field(
        default=FORMULAS["identity"].inverse, repr=False
    )  # of a number, from its scale to the table
    is_protected: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the value is a number, not the position of a level."""
        return self.kind.name == NUMBER

    @property
    def has_indicators(self) -> bool:
        """Whether children see an indicator of each level but the first."""
        if self.is_number or (len(self.kind.levels) == 2 and (self.kind.name == ORDERED or self.is_protected)):
            return False
        return self.kind.as_levels or self.kind.name == CATEGORY or self.is_protected

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What an embedding must know of the variable."""
        levels = self.kind.levels
        if self.is_number:
            return (Input(self.name),)
        if self.has_indicators:
            shown = list(enumerate(levels))[1:]
            return tuple(Input(f"{self.name}={level}", n_values=2, level=float(k), of=self.name) for k, level in shown)
        return (Input(self.name, is_sign=True) if len(levels) == 2 else Input(self.name, n_values=len(levels)),)

    def observe(self, latent: Array) -> Value:
        """Give the value behind a latent draw: level k where ``cuts[k-1] < v <= cuts[k]``, a number on its scale."""
        if self.is_number:
            return np.maximum(latent, self.floor)
        return np.searchsorted(self.cuts, latent)

    def move(self, value: Value, shift: float) -> Value:
        """Give another value: a number moved, the other of two levels, or some levels further, round and round."""
        if self.is_number:
            return np.asarray(value + shift)
        count = len(self.kind.levels)
        steps = 1 if count == 2 else shift
        if steps % count not in range(1, count):
            raise SettingError(f"shift is {show(shift)}, but '{self.name}' has {count} levels: give 1 to {count - 1}")
        return np.asarray((value + int(steps)) % count)

    def score(self, value: Value) -> Array:
        """Give one number each: as children see it, or of levels with indicators what they would see without."""
        levels = self.kind.levels
        if self.is_number:
            return value
        if len(levels) == 2:
            return np.asarray(2.0 * value - 1.0)
        return _scores(levels)[value]

    def columns(self, value: Value) -> list[Array]:
        """Give what children see, a column for each input."""
        if not self.has_indicators:
            return [self.score(value)]
        return [np.asarray(value == k, dtype=float) for k in range(1, len(self.kind.levels))]

    def in_table(self, value: Value) -> Array | pd.Series[Any]:
        """Give the value as a table has it."""
        if not self.is_number:
            return pd.Series(list(self.kind.levels)).take(value).reset_index(drop=True)
        x = np.asarray(self.inverse(value), dtype=float)
        _check_increasing(value, x, self.name)
        return np.where(value <= self.floor, 0.0, x) if self.kind.atom else x


def read_variables(
    graph: CausalGraph,
    *,
    binary: bool,
    kinds: Mapping[str, Any],
    cuts: Mapping[str, Sequence[float]],
    levels: Mapping[str, Sequence[Any]],
    atoms: Mapping[str, float],
    inverse: Mapping[str, Inverse],
) -> dict[str, Variable]:
    """Read what is to be drawn: the protected attribute first, then the features."""
    names = (graph.protected, *graph.features)
    check_names(names, kinds=kinds, cuts=cuts, levels=levels, atoms=atoms, inverse=inverse)
    kind_of = {name: _kind(graph, name, kinds, binary) for name in names}
    _check_uses(kind_of, cuts=cuts, levels=levels, atoms=atoms, inverse=inverse)
    if graph.protected in inverse:
        raise SettingError(f"inverse names the protected attribute '{graph.protected}': a number is drawn as it is")
    variables = {}
    for name, kind in kind_of.items():
        if kind.name == NUMBER:
            variables[name] = _number(name, kind, atoms.get(name, 0.0), inverse.get(name))
        else:
            variables[name] = _levelled(name, kind, cuts.get(name), levels.get(name), name == graph.protected)
    for name, variable in variables.items():
        _check_place(graph, name, variable.kind, variables[graph.protected].kind)
    return variables


def check_names(variables: Iterable[str], **given: Mapping[str, Any] | None) -> None:
    """Refuse arguments by variable that name something else."""
    known = tuple(variables)
    for argument, values in given.items():
        for name in values or {}:
            if name not in known:
                near = did_you_mean(name, known)
                raise SettingError(f"{argument} names {show(name)}, which has no structural equation{near}")


# ---------------------------------------------------------------- one variable


def _kind(graph: CausalGraph, name: str, kinds: Mapping[str, Any], binary: bool) -> Kind:
    """Give the kind asked for; without one, a number or an attribute that is -1/+1."""
    is_protected = name == graph.protected
    if name not in kinds:
        return Kind(ORDERED, levels=(-1, 1)) if is_protected and binary else Kind(NUMBER)
    kind = read_kind(kinds[name], name)
    if is_protected and kind.name == NUMBER and (not kind.is_plain or kind.scale != "identity"):
        raise SettingError(
            f"kinds says {show(kinds[name])} for the protected attribute '{name}': give 'number', 'ordered' or its "
            "levels"
        )
    return kind


def _number(name: str, kind: Kind, threshold: float, inverse: Inverse | None) -> Variable:
    if inverse is None and kind.scale not in FORMULAS:
        raise SettingError(
            f"'{name}' is on the {kind.scale} scale, which has no formula: give inverse={{'{name}': an increasing "
            "function}}, from the scale of the equation to the table"
        )
    if inverse is not None and not callable(inverse):
        raise SettingError(f"inverse gives '{name}' {show(inverse)}: give an increasing function of an array")
    to_table = inverse or FORMULAS[kind.scale].inverse
    end = -np.inf if inverse else _FLOORS.get(kind.scale, -np.inf)
    if not kind.atom:
        return Variable(name, kind, floor=end, inverse=to_table)
    floor = finite(threshold, f"the threshold of '{name}'")
    if floor < end or to_table(np.array([floor]))[0] < 0:
        raise SettingError(
            f"the threshold of '{name}' is {floor:g}: give one above which no value is below 0, the atom"
        )
    return Variable(name, kind, floor=floor, inverse=to_table)


def _levelled(
    name: str, kind: Kind, cuts: Sequence[float] | None, levels: Sequence[Any] | None, is_protected: bool
) -> Variable:
    """Give a variable with levels; without cuts they are equally probable where nothing causes the variable."""
    known = kind.levels
    if levels is not None:
        if known:
            raise SettingError(f"kinds and levels both give the levels of '{name}': give them once")
        known = read_kind(_check_levels(levels, name), name).levels
    if kind.name == CATEGORY and not known:
        raise SettingError(f"'{name}' is a category: give its levels, levels={{'{name}': [...]}}")
    if cuts is None:
        count = len(known) or 2
        between = tuple(special.ndtri(np.arange(1, count) / count).tolist())
    else:
        between = _check_cuts(cuts, name, len(known))
    kind = replace(kind, levels=known or tuple(range(len(between) + 1)))
    return Variable(name, kind, cuts=between, is_protected=is_protected)


def _scores(levels: tuple[Any, ...]) -> Array:
    """Give the levels' values where all are numbers, otherwise their positions."""
    are_numbers = all(isinstance(level, Real) and not isinstance(level, bool) for level in levels)
    return np.array(levels if are_numbers else range(len(levels)), dtype=float)


# ---------------------------------------------------------------- checks

_USES: dict[str, tuple[Callable[[Kind], bool], str]] = {
    "cuts": (lambda kind: kind.name == ORDERED, "only ordered levels have cuts between them"),
    "levels": (lambda kind: kind.name != NUMBER, "only ordered variables and categories have levels"),
    "atoms": (lambda kind: kind.atom, "only a kind that begins with 'zero or ' has an atom"),
    "inverse": (lambda kind: kind.name == NUMBER, "only a number has a scale"),
}


def _check_uses(kinds: Mapping[str, Kind], **given: Mapping[str, Any]) -> None:
    """Refuse what the variable's kind has no use for."""
    for argument, values in given.items():
        may_have, reason = _USES[argument]
        for name in values:
            if not may_have(kinds[name]):
                raise SettingError(f"{argument} names '{name}', whose kind is {kinds[name]}: {reason}")


def _check_place(graph: CausalGraph, name: str, kind: Kind, protected: Kind) -> None:
    """Refuse kinds that cannot stand where the graph has them."""
    if kind.by_group and (graph.protected not in graph.parents(name) or protected.name == NUMBER):
        raise SettingError(
            f"'{name}' is by group: the protected attribute '{graph.protected}' must be its parent and have levels"
        )
    if kind.name == CATEGORY and (graph.parents(name) or any(name in pair for pair in graph.pairs)):
        raise SettingError(
            f"'{name}' is a category: it can have no parents and stand in no pair; order its levels, or leave it alone"
        )


def _check_levels(levels: Any, name: str) -> list[Any]:
    if not is_list(levels):
        raise SettingError(f"levels gives '{name}' {show(levels)}: give a list, lowest first")
    return list(levels)


def _check_cuts(cuts: Sequence[float], name: str, n_levels: int) -> tuple[float, ...]:
    try:
        between = np.atleast_1d(np.asarray(cuts, dtype=float))
    except (TypeError, ValueError, OverflowError):
        between = np.empty(0)
    if between.ndim != 1 or not between.size or not np.isfinite(between).all() or (np.diff(between) <= 0).any():
        raise SettingError(f"cuts gives '{name}' {show(cuts)}: give one or more finite numbers, each above the last")
    if n_levels and between.size != n_levels - 1:
        raise SettingError(f"cuts gives '{name}' {between.size} cut(s), but it has {n_levels} levels: give one fewer")
    return tuple(between.tolist())


def _check_increasing(v: Array, x: Array, name: str) -> None:
    """Refuse an inverse under which people that differ on the scale are alike, or the other way round, in the table."""
    if x.shape != v.shape or not np.isfinite(x).all():
        raise SettingError(f"the inverse of '{name}' must give a finite number for each number of an array")
    order = np.argsort(v)
    if ((np.diff(v[order]) > 1e-9) & (np.diff(x[order]) <= 0)).any():
        raise SettingError(
            f"'{name}' does not increase everywhere with its equation's scale: give a strictly increasing inverse, or "
            "smaller weights"
        )
