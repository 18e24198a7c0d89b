"""How features are coded, and coded rows back in the analyst's terms: what a predictor of raw columns is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from fairstress.errors import DataError, alternatives
from fairstress.inputs.frames import check_complete, check_spread, numbered, read_numbers, take_rows
from fairstress.inputs.kinds import CATEGORY, Kind, check_domain, constant
from fairstress.inputs.rows import Array, IntArray, hardly_repeat
from fairstress.inputs.scales import FORMULAS, Rank, Scale, make_scale

EPS = float(np.finfo(float).eps)
STEP = 1e-6  # by how much the code of an atom lies below that of the lowest value above it


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCoding:
    """How one column is turned into codes and back.

    A number's code is ``(g(x) - mean) / deviation`` with g its scale, a level's the same of its score; two levels are
    -1 and +1, and those of a category 0, 1, 2, ...
    """

    name: str
    kind: Kind
    mean: float
    deviation: float
    codes: Array  # (L,) of the levels, ascending; none for a number
    atom_code: float | None  # of a number with an atom, below all its other codes
    known: Array  # distinct values of a number, ascending, without an atom (of very many the ends); or levels' scores
    marks: Array  # the same on the scale
    scale: Scale = FORMULAS["identity"]  # g
    floor: float = -np.inf  # what an atom has on the scale
    levels: pd.Series[Any] | None = None  # (L,) the levels as the table has them, in their own type

    def code(self, column: nw.Series[Any]) -> Array:
        """Code people's values; levels and numbers that the coding does not know how to take are refused."""
        if not self.kind.is_number:
            return np.asarray(self.codes[self._places(column)])
        values = read_numbers(column, self.name, "feature")
        check_domain(self.kind, self.scale, values, self.name)
        return self.code_numbers(values)

    def code_numbers(self, values: Array) -> Array:
        """Code numbers that have been checked."""
        codes = (self._on_scale(values) - self.mean) / self.deviation
        return codes if self.atom_code is None else np.where(values == 0, self.atom_code, codes)

    def scores(self, column: nw.Series[Any]) -> Array:
        """Give people's values on the scale, or the scores of their levels: what is to be standardised."""
        if self.kind.is_number:
            return self._on_scale(read_numbers(column, self.name, "feature"))
        return np.asarray(self.known[self._places(column)])

    def decode(self, codes: Array) -> pd.Series[Any] | Array:
        """Give codes as the table has them: levels in their own type, numbers in their units.

        A code between two levels is the nearer one. A number that the table has comes back to the last digit, unless
        there are so many that they are not remembered; one at or below the atom's code is the atom.
        """
        if self.levels is None:
            return self._units(codes)
        return self.levels.iloc[self._nearest_level(codes)].reset_index(drop=True)

    def number(self, codes: Array) -> Array:
        """Give codes as floats: a number in its units, the score of a level, the code of a category."""
        return self._units(codes) if self.kind.is_number else np.asarray(self.known[self._nearest_level(codes)])

    def scaled(self, mean: float, deviation: float) -> FeatureCoding:
        """Give the coding by these moments of the scores; two levels and categories have codes of their own."""
        if self.kind.is_number:
            atom_code = (self.floor - mean) / deviation - STEP if self.kind.atom else None
            return replace(self, mean=mean, deviation=deviation, atom_code=atom_code)
        if self.kind.name == CATEGORY:
            return replace(self, codes=self.known)
        if self.known.size == 2:
            low, high = self.known.tolist()
            return replace(self, mean=(low + high) / 2, deviation=(high - low) / 2, codes=np.array([-1.0, 1.0]))
        return replace(self, mean=mean, deviation=deviation, codes=(self.known - mean) / deviation)

    def _on_scale(self, values: Array) -> Array:
        """``g(x)``, where an atom, and what lies between it and the lowest value above it, count as that value."""
        if not self.kind.atom:
            return self.scale.apply(values)
        return np.where(values == 0, self.floor, self.scale.apply(np.maximum(values, self.known[0])))

    def _units(self, codes: Array) -> Array:
        scores = codes * self.deviation + self.mean
        place, alike = _nearest(scores, self.marks, self.mean)
        values = np.where(alike, self.known[place], self.scale.undo(scores))
        return values if self.atom_code is None else np.where(codes <= self.atom_code, 0.0, values)

    def _nearest_level(self, codes: Array) -> IntArray:
        return np.searchsorted((self.codes[1:] + self.codes[:-1]) / 2, codes)

    def _places(self, column: nw.Series[Any]) -> IntArray:
        """Give the place of each person's level; one that the coding does not know is refused."""
        check_complete(column, self.name)
        number, values = numbered(column)
        place = {level: i for i, level in enumerate(self.kind.levels)}
        places = np.array([place.get(value, -1) for value in values], dtype=np.intp)[number]
        if (places < 0).any():
            row = int((places < 0).argmax())
            raise DataError(
                f"feature '{self.name}' is {values[number[row]]!r} in row {row}, a level that was not there when the "
                f"model was fitted: it knows {alternatives(self.kind.levels)}"
            )
        return places


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The analyst's columns: the protected attribute's levels, or its number, and the features."""

    codes: Array  # (k,) of the levels, ascending; none for a number
    levels: pd.DataFrame  # (k, columns) the levels as the table has them, in their own types
    protected: FeatureCoding | None
    features: tuple[FeatureCoding, ...]

    def frame(self, a: Array, x: Array) -> pd.DataFrame:
        """Give coded values a (r,) and x (r, m) as a data frame with the table's names, units and types."""
        features = {feature.name: feature.decode(x[:, j]) for j, feature in enumerate(self.features)}
        if self.protected is not None:
            return pd.DataFrame({self.protected.name: self.protected.decode(a), **features})
        own = self.levels.iloc[np.searchsorted(self.codes, a)].reset_index(drop=True)
        return pd.concat([own, pd.DataFrame(features)], axis=1)


def read_units(
    columns: Mapping[str, nw.Series[Any]],
    protected: FeatureCoding | Sequence[str],
    codes: Sequence[float],
    a: Array,
    features: Sequence[FeatureCoding],
) -> Units:
    """Remember a table's columns; the protected attribute is a number, or the columns whose levels have some codes."""
    if isinstance(protected, FeatureCoding):
        return Units(np.array([]), pd.DataFrame(), protected, tuple(features))
    first = np.array([int(np.argmax(a == code)) for code in codes], dtype=np.intp)
    levels = pd.DataFrame({name: take_rows(columns[name], first) for name in protected})
    return Units(np.array(codes), levels, None, tuple(features))


# ---------------------------------------------------------------- reading


def read_feature(column: nw.Series[Any], name: str, kind: Kind, weight: Array) -> FeatureCoding:
    """Read how a column of some kind is coded; its scores are not standardised yet."""
    read = _read_number if kind.is_number else _read_levels
    coding = read(column, name, kind, weight)
    check_spread(coding.marks[[0, -1]], coding.known[[0, -1]], name)
    return coding


def _read_number(column: nw.Series[Any], name: str, kind: Kind, weight: Array) -> FeatureCoding:
    values = read_numbers(column, name, "feature")
    above = values > 0 if kind.atom else np.ones(values.shape, dtype=bool)
    below = float(weight[~above].sum())
    _check_values(values[above & (weight > 0)], below, name, kind)
    scale = make_scale(kind.scale, values[above], weight[above], below)
    known = scale.known if isinstance(scale, Rank) else _known(values if above.all() else values[above])
    marks = scale.apply(known)
    floor = _floor(marks, below / weight.sum(), kind)
    return FeatureCoding(name, kind, 0.0, 1.0, np.array([]), None, known, marks, scale, floor)


def _known(values: Array) -> Array:
    """Distinct values, ascending; where these are nearly as many as people the lowest and the highest alone."""
    return np.array([values.min(), values.max()]) if hardly_repeat(values) else np.unique(values)


def _floor(marks: Array, share: float, kind: Kind) -> float:
    """What an atom of some share has on the scale: the lowest value above it, or the normal score of the share."""
    if not kind.atom:
        return -np.inf
    return float(special.ndtri(share) if kind.scale == "rank" else marks[0])


def _check_values(counted: Array, below: float, name: str, kind: Kind) -> None:
    """Refuse a number that is the same for everyone, or everyone above the atom, or without anyone at the atom."""
    if not kind.atom:
        if np.ptp(counted) == 0:
            raise constant(name, float(counted[0]))
        return
    plain = replace(kind, atom=False).word
    if below == 0:
        raise DataError(f"kinds says '{kind.word}' for '{name}', but nobody with weight has 0: say '{plain}'")
    if counted.size == 0 or np.ptp(counted) == 0:
        raise DataError(
            f"kinds says '{kind.word}' for '{name}', but those with weight have {np.unique(counted).size} value(s) "
            "above 0: it has no scale, leave it out of kinds"
        )


def _read_levels(column: nw.Series[Any], name: str, kind: Kind, weight: Array) -> FeatureCoding:
    scores = _level_scores(kind)
    coding = FeatureCoding(name, kind, 0.0, 1.0, np.array([]), None, scores, scores)
    places = coding._places(column)
    counted = np.bincount(places, weight, minlength=scores.size) > 0
    if counted.sum() == 1:
        raise constant(name, kind.levels[int(counted.argmax())])
    if not counted.all():
        raise DataError(
            f"the level {kind.levels[int(counted.argmin())]!r} of '{name}' has no weight: drop its rows, or merge it "
            "with another level"
        )
    _, first = np.unique(places, return_index=True)
    return replace(coding, levels=take_rows(column, first.astype(np.intp)))


def _level_scores(kind: Kind) -> Array:
    """Give the values of ordered levels that are ascending numbers, otherwise the levels' places."""
    numeric = all(isinstance(level, Real | Decimal) and not isinstance(level, bool) for level in kind.levels)
    scores = np.array([float(level) for level in kind.levels]) if numeric else np.array([])
    if kind.name == CATEGORY or not numeric or (np.diff(scores) <= 0).any():
        return np.arange(len(kind.levels), dtype=float)
    return scores


def _nearest(values: Array, known: Array, mean: float) -> tuple[IntArray, NDArray[np.bool_]]:
    """Give the place of the nearest known value, and whether rounding alone lies between."""
    above = np.searchsorted(known, values).clip(1, known.size - 1)
    low, high = known[above - 1], known[above]
    place = np.where(values - low <= high - values, above - 1, above)
    rounding = 32 * EPS * (abs(mean) + np.abs(known[[0, -1]]).max())
    return place, np.abs(values - known[place]) <= rounding
