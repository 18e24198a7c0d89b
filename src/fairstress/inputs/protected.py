"""The protected attribute: how it is turned into numbers, and what its counterfactual values are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.arguments import finite, is_list
from fairstress.errors import DataError, SettingError, alternatives, show
from fairstress.inputs.frames import check_spread, is_among, numbered
from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.inputs.taken import taken


@dataclass(frozen=True, slots=True)
class ProtectedCoding:
    """How the protected attribute is coded, and where its counterfactual lies.

    Two levels are coded -1/+1, the reference last; more levels 0, 1, 2, ..., the reference first, unless they are
    ordered: then in their order. A number with more than two values (``levels`` is None) is standardised.
    """

    name: str
    levels: tuple[Any, ...] | None  # in the order of their codes
    shift: float | None = None  # of a number, in its own units
    targets: tuple[float, ...] = ()  # codes that people are moved to, where that is not the other level or by a shift
    mean: float = 0.0
    deviation: float = 1.0
    is_ordered: bool = False  # whether there are more than two levels, and in an order
    reference: int = 0  # place of the reference among ordered levels

    @property
    def is_binary(self) -> bool:
        """Whether the attribute has two levels."""
        return self.levels is not None and len(self.levels) == 2

    @property
    def codes(self) -> tuple[float, ...]:
        """Codes of the levels."""
        return (-1.0, 1.0) if self.is_binary else tuple(float(i) for i in range(len(self.levels or ())))

    @property
    def order(self) -> tuple[float, ...]:
        """Codes of the levels, ascending, as a threshold model of them takes them; none for a number."""
        return tuple(sorted(self.codes))

    @property
    def reference_code(self) -> float:
        """Code of the reference level; of a number, its mean."""
        return 1.0 if self.is_binary else float(self.reference)

    def code(self, level: Any) -> float:
        """Give the code of a level, or of a number's value."""
        if self.levels is None:
            return (finite(level, f"the value of '{self.name}'") - self.mean) / self.deviation
        if not is_among(level, self.levels):
            raise SettingError(f"{show(level)} is not a level of '{self.name}': give {alternatives(self.levels)}")
        return self.codes[self.levels.index(level)]

    @property
    def moved_levels(self) -> tuple[Any, ...]:
        """Levels whose people have a counterfactual: all but the only one that people are moved to."""
        count = self.n_targets(np.array(self.codes))
        return tuple(level for level, n in zip(self.levels or (), count, strict=True) if n > 0)

    def moved_code(self, level: Any) -> float:
        """Give the code of a level whose people are moved somewhere."""
        code = self.code(level)
        if not is_among(level, self.moved_levels):
            raise SettingError(
                f"nobody is moved from {level!r}, the only level in contrast: give {alternatives(self.moved_levels)}, "
                "or name another level in contrast"
            )
        return code

    def code_levels(self, number: IntArray, values: Sequence[Any]) -> Array:
        """Give the codes of people's levels, each a number of one of the values; one that is not known is refused."""
        code_of = dict(zip(self.levels or (), self.codes, strict=True))
        a = np.array([code_of.get(value, np.nan) for value in values])[number]
        if np.isnan(a).any():
            row = int(np.isnan(a).argmax())
            raise DataError(
                f"the protected attribute '{self.name}' is {values[number[row]]!r} in row {row}, a level that was not "
                f"there when the model was fitted: it knows {alternatives(code_of)}"
            )
        return np.asarray(a)

    def level(self, code: float) -> Any:
        """Give the level, or the number, of a code."""
        return self.decode(np.array([code])).iloc[0]

    def decode(self, a: Array) -> pd.Series[Any]:
        """Give coded values in the analyst's terms."""
        if self.levels is None:
            return pd.Series(a * self.deviation + self.mean)
        return pd.Series(a).map(dict(zip(self.codes, self.levels, strict=True)))

    def counterfactual(self, a: Array) -> Array:
        """Give the value that the attribute is set to, where it is one: the other level, or a number moved."""
        if self.targets:
            return a
        return a + self.shift / self.deviation if self.shift is not None else -a

    def contrasts(self, rows: Rows) -> tuple[Rows, IntArray]:
        """Give each row once for every value that its people are moved to, and the row that each stems from.

        A row's weight is shared among its values. Rows that have none are left out. What does not change with the
        attribute is not copied.
        """
        if not self.targets:
            return rows, np.arange(rows.a.size)
        origins = [np.flatnonzero(~np.isclose(rows.a, target, rtol=0, atol=1e-12)) for target in self.targets]
        origin = np.concatenate(origins).astype(np.intp, copy=False)
        moved = Rows(
            rows.a[origin],
            np.repeat(self.targets, [own.size for own in origins]),
            taken(rows.x, origin),
            (rows.weight / np.maximum(self.n_targets(rows.a), 1.0))[origin],
            taken(rows.y, origin),
            None if rows.y_square is None else taken(rows.y_square, origin),
            None if rows.other is None else taken(rows.other, origin),
            whole=rows.whole and rows.whole.map(self._moved),
        )
        return moved, origin

    def _moved(self, block: Rows) -> Rows:
        return self.contrasts(block)[0].where(slice(None))

    def n_targets(self, a: Array) -> Array:
        """To how many values people are moved."""
        if not self.targets:
            return np.ones_like(a)
        own = np.isclose(a[:, None], np.array(self.targets), rtol=0, atol=1e-12).any(axis=1)
        return np.asarray(len(self.targets) - own.astype(float))

    def effect_weight(self, block: Rows, ends: tuple[float, float] | None) -> Array:
        """Weights with which ``x' - x`` adds up to everyone's effect of going from one code to another, or by a shift.

        Those who have the first code go to the second and count as they are; those who have the second go back and
        count with the opposite sign; all others go to both.
        """
        if ends is None:
            return block.weight
        sign = np.isclose(block.a_cf, ends[1], rtol=0, atol=1e-12).astype(float)
        sign -= np.isclose(block.a_cf, ends[0], rtol=0, atol=1e-12)
        return np.asarray(block.weight * self.n_targets(block.a) * sign)

    def ends(self, level: Any = None) -> tuple[float, float] | None:
        """Give the codes between which an effect is measured: from the reference to a level; None for a shift."""
        if not self.targets and self.levels is None:
            return None
        start = self.reference_code if self.levels is not None else self.targets[0]
        if level is None:
            others = [code for code in (self.targets or self.codes) if code != start]
            if len(others) != 1:
                shown = alternatives([self.level(code) for code in others])
                raise SettingError(f"'{self.name}' has several levels: say to which one the effect leads, {shown}")
            return start, others[0]
        end = self.code(level)
        known = self.targets or self.codes
        missing = [self.level(code) for code in (start, end) if not np.isclose(code, known).any()]
        if missing or end == start:
            raise SettingError(
                f"the effect of '{self.name}' to {level!r} needs counterfactuals to two values: "
                f"name {alternatives(missing or [level])} in contrast, or another level"
            )
        return start, end


def code_protected(
    column: nw.Series[Any],
    levels: Sequence[Any],
    numbers: Array | None,
    name: str,
    weight: Array,
    *,
    ordered: bool = False,
    reference: Any = None,
    shift: float | None = None,
    contrast: Any = None,
) -> tuple[ProtectedCoding, Array]:
    """Code a protected attribute with some levels, which may be in an order, or, where it is one, as a number."""
    if numbers is not None:
        if reference is not None:
            raise SettingError(
                f"reference is {show(reference)}, but '{name}' has {np.unique(numbers).size} numeric values: leave it "
                f"out, or compare them as groups with kinds={{'{name}': 'category'}} or 'ordered'"
            )
        return _code_number(numbers, name, weight, shift, contrast)
    if len(levels) == 1:
        raise DataError(
            f"the protected attribute '{name}' has one level, {levels[0]!r}: there is nobody to compare with"
        )
    if shift is not None:
        raise SettingError(f"shift is {show(shift)}, but '{name}' has levels: its counterfactuals are the other levels")
    if reference is not None and not is_among(reference, levels):
        raise SettingError(f"reference {show(reference)} is not a level of '{name}': give {alternatives(levels)}")
    coding = _code_ordered(name, levels, reference) if ordered and len(levels) > 2 else _code(name, levels, reference)
    a = coding.code_levels(*numbered(column))
    for level, code in zip(coding.levels or (), coding.codes, strict=True):
        if weight[a == code].sum() == 0:
            raise DataError(f"the group '{level}' of '{name}' has no weight: there is nobody to compare with")
    if contrast is None:
        return replace(coding, targets=() if coding.is_binary else coding.codes), a
    return replace(coding, targets=_targets(coding, contrast)), a


def _code(name: str, levels: Sequence[Any], reference: Any) -> ProtectedCoding:
    reference = levels[-1] if reference is None else reference
    others = [level for level in levels if level != reference]
    return ProtectedCoding(name, (others[0], reference) if len(others) == 1 else (reference, *others))


def _code_ordered(name: str, levels: Sequence[Any], reference: Any) -> ProtectedCoding:
    place = 0 if reference is None else list(levels).index(reference)
    return ProtectedCoding(name, tuple(levels), is_ordered=True, reference=place)


def _code_number(
    numbers: Array, name: str, weight: Array, shift: float | None, contrast: Any
) -> tuple[ProtectedCoding, Array]:
    counted = numbers[weight > 0]
    if np.unique(counted).size == 1:
        raise DataError(f"the protected attribute '{name}' is {counted[0]:g} for everyone with weight")
    ends = np.sort(numbers)[[0, -1]]
    check_spread(ends, ends, name)
    mean = float(weight @ numbers / weight.sum())
    deviation = float(np.sqrt(weight @ (numbers - mean) ** 2 / weight.sum()))
    coding = ProtectedCoding(name, None, mean=mean, deviation=deviation)
    a = (numbers - mean) / deviation
    if contrast is not None:
        if shift is not None:
            raise SettingError("shift and contrast are both given: give one of them")
        return replace(coding, targets=_targets(coding, contrast)), a
    return replace(coding, shift=deviation if shift is None else finite(shift, "shift", zero=False)), a


def _targets(coding: ProtectedCoding, contrast: Any) -> tuple[float, ...]:
    """Codes of the levels, or values, that people are moved to."""
    several = is_list(contrast) and not is_among(contrast, coding.levels or ())
    wanted = list(contrast) if several else [contrast]
    targets = tuple(dict.fromkeys(coding.code(level) for level in wanted))
    if not targets:
        raise SettingError("contrast is empty: give the levels, or values, that people are moved to")
    return targets
