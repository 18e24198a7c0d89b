"""Kinds of feature columns: numbers on a scale, ordered levels and categories, told from the column or given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.errors import DataError, SettingError, alternatives, did_you_mean
from fairstress.inputs.frames import (
    category_order,
    check_not_mixed,
    count_values,
    has_thousands,
    read_levels,
    read_numbers,
)
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.inputs.scales import FORMULAS, Scale

NUMBER, ORDERED, CATEGORY = "number", "ordered", "category"
SCALES = ("identity", "log", "log1p", "sqrt", "rank", "share")

GIVEN = "given"
AS_LEVELS = "ordered as levels"
FEW = 10  # whole numbers with more distinct values are numbers, with fewer levels
ATOM = 0.1  # share of people with the lowest value, 0, from which on a number may have an atom
MOST_CATEGORIES = 50  # a text column with more is a name or a number of a person, not a cause

_ZERO_OR, _BY_GROUP = "zero or ", " by group"
_SCALE_OF = {NUMBER: "identity", **{scale: scale for scale in SCALES[1:]}}
_WORD_OF = {scale: word for word, scale in _SCALE_OF.items()}
_WAYS = (
    "give 'number', 'log', 'log1p', 'sqrt', 'rank' or 'share', also with ' by group' behind or, but for 'share', with "
    "'zero or ' before; 'ordered', 'ordered as levels' or 'category'; or a list of its levels, lowest first"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column is taken for, and why."""

    name: str  # "number", "ordered" or "category"
    scale: str = "identity"  # of a number
    by_group: bool = False  # of a number: a scale and weights of its own for each level of the protected attribute
    atom: bool = False  # of a number: many people have exactly 0, its lowest value
    levels: tuple[Any, ...] = ()  # of ordered and category, in order, as the table has them
    as_levels: bool = False  # of ordered: children see indicators, not the score
    reason: str = field(default="", compare=False)  # why: "given", "two values", ...

    @property
    def is_number(self) -> bool:
        """Whether it is a number, with an atom or without."""
        return self.name == NUMBER

    @property
    def is_plain(self) -> bool:
        """Whether it is a number without atom and not by group, on any scale."""
        return self.is_number and not self.atom and not self.by_group

    @property
    def is_open(self) -> bool:
        """Whether it has levels that are not listed."""
        return not self.is_number and not self.levels

    @property
    def word(self) -> str:
        """How ``kinds`` says it, levels left out."""
        if not self.is_number:
            return AS_LEVELS if self.as_levels else self.name
        return f"{_ZERO_OR * self.atom}{_WORD_OF[self.scale]}{_BY_GROUP * self.by_group}"

    def __str__(self) -> str:
        if not self.is_number:
            count = f", {len(self.levels)} levels" * bool(self.levels)
            return f"{self.name}{count}{' as indicators' * self.as_levels}"
        scale = f" ({self.scale} scale)" * (self.scale != "identity")
        return f"{_ZERO_OR * self.atom}{NUMBER}{scale}{_BY_GROUP * self.by_group}"


# ---------------------------------------------------------------- given


def read_kind(given: Any, name: str) -> Kind:
    """Read what ``kinds`` says of one column; which levels it has is not known yet unless they are given.

    Parameters
    ----------
    given
        One of the words for kinds, a list of levels, or a `Kind`.
    name
        The column's name.
    """
    if isinstance(given, Kind):
        return given
    if isinstance(given, str):
        return _read_word(given, name)
    if isinstance(given, np.ndarray | pd.Index):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        raise SettingError(f"kinds says {given!r} for '{name}', a {type(given).__name__}: {_WAYS}")
    return _read_levels(given, name)


def _read_word(given: str, name: str) -> Kind:
    if given in (ORDERED, AS_LEVELS, CATEGORY):
        return Kind(given.split()[0], as_levels=given == AS_LEVELS, reason=GIVEN)
    scale = given.removesuffix(_BY_GROUP).removeprefix(_ZERO_OR)
    atom, by_group = given.startswith(_ZERO_OR), given.endswith(_BY_GROUP)
    if scale not in _SCALE_OF or (atom and scale == "share"):
        known = (*_SCALE_OF, ORDERED, AS_LEVELS, CATEGORY)
        raise SettingError(f"kinds says {given!r} for '{name}': {_WAYS}{did_you_mean(given, known)}")
    return Kind(NUMBER, scale=_SCALE_OF[scale], by_group=by_group, atom=atom, reason=GIVEN)


def _read_levels(given: Any, name: str) -> Kind:
    levels = tuple(given)
    if len(levels) < 2:
        raise SettingError(f"kinds lists {len(levels)} level(s) for '{name}': give two or more, lowest first")
    for i, level in enumerate(levels):
        if level in levels[:i]:
            raise SettingError(f"kinds lists {level!r} twice for '{name}': give each level once, lowest first")
    return Kind(ORDERED, levels=levels, reason=GIVEN)


def read_kinds(
    given: Mapping[str, Any] | None, columns: Mapping[str, nw.Series[Any]], graph: CausalGraph
) -> dict[str, Kind]:
    """Give the kind of every feature, as given or as its column tells, checked against column and graph.

    Parameters
    ----------
    given
        ``{column: kind}`` for some of the features and the protected attribute, or None.
    columns
        The features' columns, by name.
    graph
        Names the features, and says which descend from the protected attribute.
    """
    known = read_words(given, graph)
    kinds = {name: _kind_of(columns[name], name, known.get(name)) for name in graph.features}
    for name, kind in kinds.items():
        _check_place(kind, name, graph)
    return kinds


def read_words(given: Mapping[str, Any] | None, graph: CausalGraph) -> dict[str, Kind]:
    """Read ``kinds`` name by name; each must be a feature or the protected attribute."""
    if given is not None and not isinstance(given, Mapping):
        raise SettingError(f"kinds is a {type(given).__name__}: give {{column: kind}}, such as {{'income': 'log'}}")
    known = (*graph.features, graph.protected)
    for name in given or {}:
        if name == graph.outcome:
            raise SettingError(f"kinds names the outcome, '{name}': leave it out, outcome_type says what an outcome is")
        if name not in known:
            raise SettingError(
                f"kinds names {name!r}, which is neither a feature of the graph nor the protected attribute"
                f"{did_you_mean(str(name), known)}"
            )
    return {name: read_kind(kind, name) for name, kind in (given or {}).items()}


# ---------------------------------------------------------------- from the column


def tell_kind(column: nw.Series[Any]) -> Kind:
    """Tell the kind of a feature from its column.

    Two values of any type are ordered, and so are ordered categoricals and whole numbers with at most ten distinct
    values; text and other categoricals are categories; other numbers are numbers.
    """
    name = str(column.name)
    if has_thousands(column):
        return Kind(NUMBER, reason="numbers with thousands of distinct values")
    count = count_values(column, name)
    if column.dtype.is_numeric() and count > FEW:
        return Kind(NUMBER, reason=f"numbers with {count:,} distinct values")
    levels = _in_order(column, name)
    if len(levels) == 2:
        return Kind(ORDERED, levels=levels, reason="two values")
    if category_order(column) is not None:
        return Kind(ORDERED, levels=levels, reason="an ordered categorical")
    if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        reason = "text" if column.dtype == nw.String else "values without an order"
        return Kind(CATEGORY, levels=levels, reason=reason)
    if (read_numbers(column, name, "feature") % 1 == 0).all():
        return Kind(ORDERED, levels=levels, reason=f"whole numbers with {len(levels)} distinct values")
    return Kind(NUMBER, reason=f"numbers with {len(levels)} distinct values")


def protected_kind(given: Kind | None, column: nw.Series[Any], name: str) -> Kind:
    """Give the kind of the protected attribute: a number, ordered levels, or levels without an order."""
    levels = tuple(read_levels(column, name))
    is_number = column.dtype.is_numeric() and len(levels) > 2
    if given is None and is_number:
        return Kind(NUMBER)
    if given is None:
        has_order = category_order(column) is not None and len(levels) > 2
        return Kind(ORDERED, levels=_in_order(column, name)) if has_order else Kind(CATEGORY, levels=levels)
    if not given.is_number:
        return _with_levels(given, column, name)
    if given.word != NUMBER or not is_number:
        raise SettingError(
            f"kinds says '{given.word}' for the protected attribute '{name}': give 'ordered', 'category' or a list of "
            "its levels, lowest first, or leave it out"
        )
    return given


# ---------------------------------------------------------------- checks


def _kind_of(column: nw.Series[Any], name: str, given: Kind | None) -> Kind:
    if column.dtype.is_numeric():
        read_numbers(column, name, "feature")  # which refuses infinite ones
    if not has_thousands(column) and count_values(column, name) == 1:
        raise constant(name, column.to_list()[0])
    if given is None and column.dtype == nw.Object and count_values(column, name) > FEW:
        check_not_mixed(column, name)
    if given is None:
        return tell_kind(column)
    if not given.is_number:
        return _with_levels(given, column, name)
    _check_numbers(given, column, name)
    return given


def _in_order(column: nw.Series[Any], name: str) -> tuple[Any, ...]:
    """Give the levels that occur, in the order of an ordered categorical, otherwise sorted."""
    levels = read_levels(column, name)
    order = category_order(column)
    return tuple(levels if order is None else [level for level in order if level in levels])


def _with_levels(given: Kind, column: nw.Series[Any], name: str) -> Kind:
    """Complete an ordered kind or a category with the column's levels."""
    levels = _in_order(column, name)
    if given.levels:
        return replace(given, levels=_matched(given.levels, levels, column, name))
    if given.name == ORDERED and len(levels) > 2 and not _has_order(column):
        shown = ", ".join(repr(level) for level in levels[:MOST_CATEGORIES])
        raise DataError(
            f"kinds says '{given.word}' for '{name}', but its values have no order of their own: give them as a list, "
            f"lowest first, kinds={{'{name}': [...]}} with {shown}"
        )
    return replace(given, levels=levels)


def _has_order(column: nw.Series[Any]) -> bool:
    return column.dtype.is_numeric() or column.dtype.is_temporal() or category_order(column) is not None


def _matched(listed: tuple[Any, ...], found: tuple[Any, ...], column: nw.Series[Any], name: str) -> tuple[Any, ...]:
    """Give listed levels as the column has them; it must have each, and no other."""
    for level in found:
        if level not in listed:
            row = column.to_list().index(level)
            raise DataError(f"kinds lists the levels of '{name}' without {level!r} (first in row {row}): add it")
    for level in listed:
        if level not in found:
            raise DataError(
                f"kinds lists {level!r} for '{name}', which no row has: leave it out, there are {alternatives(found)}"
            )
    return tuple(found[found.index(level)] for level in listed)


def _check_numbers(given: Kind, column: nw.Series[Any], name: str) -> None:
    if not column.dtype.is_numeric():
        raise DataError(
            f"kinds says '{given.word}' for '{name}', which is not numeric (its type is {column.dtype}): code it as "
            "numbers before the audit, or leave it out of kinds"
        )
    values = read_numbers(column, name, "feature")
    check_domain(given, FORMULAS.get(given.scale), values, name)
    if given.atom and values.min() > 0:
        raise DataError(
            f"kinds says '{given.word}' for '{name}', but its lowest value is {values.min():g}: nobody has 0, say "
            f"'{replace(given, atom=False).word}'"
        )


def check_domain(kind: Kind, scale: Scale | None, values: Array, name: str) -> None:
    """Refuse numbers that a kind cannot take, an atom at 0 apart."""
    bad = np.zeros(values.shape, dtype=bool) if scale is None else ~scale.takes(values)
    bad = (bad & (values != 0)) | (values < 0) if kind.atom else bad
    if not bad.any():
        return
    row = int(bad.argmax())
    domain = "of 0 or more" if kind.atom or scale is None else scale.domain
    is_zero = values[row] == 0 and kind.scale == "log"
    other = "'log1p', or 'zero or log' where many people have exactly 0" if is_zero else "'number' or 'rank'"
    raise DataError(
        f"column '{name}' is {values[row]:g} in row {row}, but '{kind.word}' takes numbers {domain}: correct it, or "
        f"give the column another kind, such as {other}"
    )


def _check_place(kind: Kind, name: str, graph: CausalGraph) -> None:
    """Refuse what the graph does not allow: a scale by group without the group as a cause, an effect without order."""
    if kind.by_group and graph.protected not in graph.parents(name):
        raise SettingError(
            f"kinds says '{kind.word}' for '{name}', but '{graph.protected}' is no parent of it: leave ' by group' "
            f"out, or add '{graph.protected} -> {name}' to the graph"
        )
    if kind.name != CATEGORY:
        return
    pair = next((" <-> ".join(pair) for pair in graph.pairs if name in pair), None)
    if name in graph.descendants(graph.protected) or pair is not None:
        where = f"stands in the pair '{pair}'" if pair else f"descends from '{graph.protected}'"
        raise DataError(
            f"'{name}' is a category of {len(kind.levels)} levels without an order and {where}: give its levels in "
            f"order, kinds={{'{name}': [...]}}, merge them to two, or remove it from the graph"
        )
    if len(kind.levels) > MOST_CATEGORIES:
        raise DataError(
            f"'{name}' has {len(kind.levels)} categories: merge them into at most {MOST_CATEGORIES}, or remove it "
            "from the graph"
        )


def constant(name: str, value: Any) -> DataError:
    """Give the error of a column with one value."""
    shown = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)
    return DataError(f"column '{name}' is constant ({shown}): remove it from the graph")
