"""A first look at data that are not in memory: what is missing, which levels there are, and a sample of people."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.errors import DataError
from fairstress.inputs.frames import COMPARED, THOUSANDS, check_flat, compared, numbered, plain_numbers
from fairstress.inputs.missing import is_missing

HELD = 100_000  # people of a sample: what is said of single people is about them
FEW = 60  # levels of a column that are all looked for
STRIDE = 2**13  # keys that are worked out together, in a core's cache
LARGEST = np.uint64(2**64 - 1)
SMALL = np.uint64(2**58)  # keys of about one person in 64, among whom the smallest of most levels are


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What is known of some rows; looks at parts of a table add up to the look at the whole, in their order."""

    n: int
    missing: Mapping[str, tuple[int, int]]  # by column that has any: how many, and where the first is
    infinite: Mapping[str, tuple[int, int]]
    negative: Mapping[str, tuple[int, int]]  # of the column of weights alone
    levels: Mapping[str, Mapping[Any, int] | None]  # by column: how often each level occurs; None: there are many
    sample: pd.DataFrame  # people at random
    keys: Any  # (k,) by which they were drawn: those with the smallest are kept
    examples: pd.DataFrame  # someone of every level, with their key as label: who has the smallest
    bound: np.uint64 = LARGEST  # keys above it are of nobody who is kept

    def __add__(self, other: Look) -> Look:
        return Look.together([self, other])

    @classmethod
    def together(cls, looks: Sequence[Look]) -> Look:
        """The look at parts of a table that follow each other; frames of many are put together at once."""
        keys, sample = np.concatenate([own.keys for own in looks]), pd.concat([own.sample for own in looks])
        bound = min(own.bound for own in looks)
        if keys.size > 1.5 * HELD:
            kept = _smallest(keys, HELD)
            keys, sample = keys[kept], sample.iloc[kept]
            bound = keys.max()
        examples = pd.concat([own.examples for own in looks])
        if len(examples) > 10 * FEW:
            examples = _of_each_level(examples)
        ends = list(itertools.accumulate(own.n for own in looks))
        starts = [0, *ends[:-1]]
        levels = {name: reduce(_merged, [own.levels[name] for own in looks]) for name in looks[0].levels}
        missing = _added([own.missing for own in looks], starts)
        infinite = _added([own.infinite for own in looks], starts)
        negative = _added([own.negative for own in looks], starts)
        return cls(ends[-1], missing, infinite, negative, levels, sample, keys, examples, bound)

    def people(self) -> pd.DataFrame:
        """A sample of at most so many people as are held, someone of every level of columns with few among them."""
        kept = np.argsort(self.keys, kind="stable")[:HELD] if self.n > HELD else np.arange(self.keys.size)
        sample, examples = self.sample.iloc[kept], self.examples.sort_index()
        rare = [
            examples[(examples[name] == level).to_numpy()].iloc[:1]
            for name, levels in self.levels.items()
            if levels is not None and self.n > kept.size
            for level in levels
            if not (sample[name] == level).any()
        ]
        people: pd.DataFrame = pd.concat([sample, *rare]).reset_index(drop=True)
        return people

    def check(self) -> None:
        """Refuse missing and infinite values, and weights below 0."""
        for found, what in ((self.missing, "missing"), (self.infinite, "infinite")):
            for name, (count, first) in found.items():
                raise DataError(
                    f"column '{name}' has {count:,} {what} value{'s' * (count > 1)} (first in row {first:,}): a stream "
                    "takes none, leave these rows out of it, or impute them, before the audit"
                )
        for name, (count, first) in self.negative.items():
            raise DataError(
                f"column '{name}' of weights has {count:,} negative value{'s' * (count > 1)} (first in row {first:,}): "
                "give everyone a weight that is not negative, 0 to leave someone out"
            )


def look_at(
    frame: Any, names: Sequence[str], most: int | None = None, bound: np.uint64 = LARGEST, weight: str | None = None
) -> Look:
    """Look at some columns of rows that are in memory, and draw at most so many people by what their rows say.

    One column may be one of weights. People whose key is above the bound are not drawn: as many with smaller ones are
    known.
    """
    held = HELD if most is None else most
    table = nw.from_native(frame, eager_only=True)
    columns = {name: _Column.of(table, name, plain_numbers(frame, name)) for name in dict.fromkeys(names)}
    keys = _keys([column.marks() for column in columns.values()], len(table))
    missing = _where({name: column.missing() for name, column in columns.items()})
    infinite = _where({name: column.infinite() for name, column in columns.items()})
    negative = {} if weight is None else _where({weight: columns[weight].negative()})
    levels = {name: column.levels(keys) for name, column in columns.items()}
    drawn = np.flatnonzero(keys <= bound)
    drawn = drawn[_smallest(keys[drawn], held)] if drawn.size > held else drawn
    ones = np.array(sorted({i for own in levels.values() if own is not None for i in own[1]}), dtype=np.intp)
    shown = _as_pandas(table, columns, np.concatenate([drawn, ones]))
    return Look(
        len(table),
        missing,
        infinite,
        negative,
        {name: None if own is None else own[0] for name, own in levels.items()},
        shown[: drawn.size],
        keys[drawn],
        shown[drawn.size :].set_axis(keys[ones], axis=0),
    )


def _where(spoilt: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """How many values (n,) of some columns are spoilt, and where the first is; None is none of them."""
    return {name: (int(own.sum()), int(own.argmax())) for name, own in spoilt.items() if own is not None}


# ---------------------------------------------------------------- columns


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column as it is looked at."""

    table: Any  # narwhals' frame
    name: str
    numbers: Any  # (n,) where they are plain numbers; None otherwise
    is_finite: bool  # whether they are, and all of them finite: none is missing either

    @classmethod
    def of(cls, table: Any, name: str, numbers: Any) -> _Column:
        """Look at a column of a frame, given its plain numbers, if it has such."""
        check_flat(table[name], name)
        return cls(table, name, numbers, numbers is not None and _is_finite(numbers))

    @property
    def series(self) -> nw.Series[Any]:
        """The column as the frame has it."""
        found: nw.Series[Any] = self.table[self.name]
        return found

    def missing(self) -> Any:
        """(n,) whether a value is missing; None where none is."""
        if self.is_finite:
            return None
        gone = is_missing(self.series)
        return gone if gone.any() else None

    def infinite(self) -> Any:
        """(n,) whether a value is infinite; None where none is."""
        if self.is_finite or not self.series.dtype.is_float():
            return None
        gone = np.isinf(self.series.to_numpy().astype(float))
        return gone if gone.any() else None

    def negative(self) -> Any:
        """(n,) whether a value is below 0; None where none is."""
        if not self.series.dtype.is_numeric():
            return None
        below = (self.series.to_numpy() if self.numbers is None else self.numbers) < 0
        return below if below.any() else None

    def marks(self) -> tuple[Any, bool]:
        """(n,) whole numbers that the values determine, and whether they look random already."""
        if self.numbers is not None or self.series.dtype.is_numeric():
            values = self.series.to_numpy() if self.numbers is None else self.numbers
            if values.dtype.kind in "fiu":
                return values.view(f"u{values.dtype.itemsize}"), False
            return pd.util.hash_array(values), True
        if self.series.null_count():  # which no stream takes
            return np.zeros(len(self.series), dtype=np.uint64), True
        number, values = numbered(self.series)
        return pd.util.hash_array(np.array([str(value) for value in values], dtype=object))[number], True

    def levels(self, keys: Any) -> tuple[dict[Any, int], list[int]] | None:
        """How often each level occurs, and the row of each with the smallest key; None where there are many."""
        if self.numbers is not None:
            if np.unique(self.numbers[: 4 * FEW]).size > FEW:  # as of most columns of numbers, found out at once
                return None
            known = pd.unique(self.numbers[:THOUSANDS])
            if known.size > FEW:
                return None
            if (
                self.is_finite
                and known.size <= COMPARED
                and (found := _by_comparison(self.numbers, known, keys)) is not None
            ):
                return found
        return _levels(self.series, keys)


def _is_finite(values: Any) -> bool:
    """Whether all numbers are finite, as their sum tells at once; one that is not may still be of finite numbers."""
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(values).all())


def _by_comparison(values: Any, known: Any, keys: Any) -> tuple[dict[Any, int], list[int]] | None:
    """Levels of numbers, by comparing everyone with those of the first; None where there are others."""
    masks = compared(values, known)
    if masks is None:
        return None
    small = np.flatnonzero(keys <= SMALL)
    ones = []
    for own in masks:
        among = small[own[small]]
        among = among if among.size else np.flatnonzero(own)
        ones.append(int(among[keys[among].argmin()]))
    return {level.item(): int(np.count_nonzero(own)) for level, own in zip(known, masks, strict=True)}, ones


# ---------------------------------------------------------------- keys


def _smallest(keys: Any, count: int) -> Any:
    """(count,) where the smallest of more keys stand, in order."""
    last = np.partition(keys, count - 1)[count - 1]
    kept = keys < last
    kept[np.flatnonzero(keys == last)[: count - np.count_nonzero(kept)]] = True
    return np.flatnonzero(kept)


def _keys(marks: Sequence[tuple[Any, bool]], n: int) -> Any:
    """(n,) numbers that look random and that what a row says determines: the order of rows is of no account.

    Sums of marks, each times a large odd number, rows of which hardly ever agree that do not say the same; then they
    are made to look random.
    """
    keys, factors = np.zeros(n, dtype=np.uint64), _odd_numbers(len(marks))
    upper, own = np.empty((2, min(n, STRIDE)), dtype=np.uint64)
    for start in range(0, n, STRIDE):
        some = keys[start : start + STRIDE]
        high, low = upper[: some.size], own[: some.size]
        for (given, is_random), factor in zip(marks, factors, strict=True):
            bits = given[start : start + STRIDE].astype(np.uint64, copy=False)
            if not is_random:  # of whole or short numbers the lower bits are all 0, which no product would change
                np.right_shift(bits, np.uint64(32), out=high)
                bits = np.bitwise_xor(bits, high, out=low)
            some += np.multiply(bits, factor, out=low)
        _mixed(some)
    return keys


@cache
def _odd_numbers(count: int) -> tuple[np.uint64, ...]:
    """Large odd numbers, the same each time."""
    numbers = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return tuple(_mixed(numbers) | np.uint64(1))


def _mixed(bits: Any) -> Any:
    """Make whole numbers look random, in their place, as `pandas.util.hash_array` does: splitmix64."""
    shifted = bits >> np.uint64(30)
    for factor, shift in ((0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):
        bits ^= shifted
        bits *= np.uint64(factor)
        np.right_shift(bits, np.uint64(shift), out=shifted)
    bits ^= shifted
    return bits


def _levels(column: nw.Series[Any], keys: Any) -> tuple[dict[Any, int], list[int]] | None:
    if column.dtype.is_numeric() and np.unique(column[:THOUSANDS].to_numpy()).size > FEW:
        return None
    complete = column.filter(~column.is_null())
    number, values = numbered(complete)
    if len(values) > FEW:
        return None
    count = np.bincount(number, minlength=len(values))
    ones = pd.Series(keys).groupby(number).idxmin().tolist() if len(complete) == len(column) else []
    return dict(zip(values, count.tolist(), strict=True)), ones


def _as_pandas(table: Any, columns: Mapping[str, _Column], rows: Any) -> pd.DataFrame:
    if all(column.numbers is not None for column in columns.values()):
        return pd.DataFrame({name: column.numbers[rows] for name, column in columns.items()})
    return pd.DataFrame(table.select(list(columns))[rows].to_pandas()).reset_index(drop=True)


def _added(parts: Sequence[Mapping[str, tuple[int, int]]], starts: Sequence[int]) -> dict[str, tuple[int, int]]:
    """How many there are in all, and where the first is, of parts that start there."""
    found: dict[str, tuple[int, int]] = {}
    for part, start in zip(parts, starts, strict=True):
        for name, (count, first) in part.items():
            before, place = found.get(name, (0, start + first))
            found[name] = before + count, place
    return found


def _merged(one: Mapping[Any, int] | None, two: Mapping[Any, int] | None) -> dict[Any, int] | None:
    if one is None or two is None:
        return None
    merged = {level: one.get(level, 0) + two.get(level, 0) for level in (*one, *two)}
    return merged if len(merged) <= FEW else None


def _of_each_level(examples: pd.DataFrame) -> pd.DataFrame:
    """The row with the smallest key of each level of every column that has few."""
    examples = examples.sort_index()
    firsts = [~examples[name].duplicated() for name in examples if examples[name].nunique() <= FEW]
    return examples[np.any(firsts, axis=0)] if firsts else examples.iloc[:0]
