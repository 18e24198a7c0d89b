"""A first look at data that are not in memory: what is missing, which levels there are, and a sample of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.errors import DataError
from fairstress.inputs.frames import THOUSANDS, numbered
from fairstress.inputs.missing import is_missing

HELD = 100_000  # people of a sample: what is said of single people is about them
FEW = 60  # levels of a column that are all looked for


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What is known of some rows; looks at parts of a table add up to the look at the whole, in their order."""

    n: int
    missing: Mapping[str, tuple[int, int]]  # by column that has any: how many, and where the first is
    infinite: Mapping[str, tuple[int, int]]
    levels: Mapping[str, Mapping[Any, int] | None]  # by column: how often each level occurs; None: there are many
    sample: pd.DataFrame  # people at random
    keys: Any  # (k,) by which they were drawn: those with the smallest are kept
    examples: pd.DataFrame  # someone of every level, with their key as label: who has the smallest

    def __add__(self, other: Look) -> Look:
        keys, sample = np.concatenate([self.keys, other.keys]), pd.concat([self.sample, other.sample])
        if keys.size > 2 * HELD:
            kept = np.sort(np.argpartition(keys, HELD)[:HELD])
            keys, sample = keys[kept], sample.iloc[kept]
        examples = pd.concat([self.examples, other.examples])
        if len(examples) > 10 * FEW:
            examples = _of_each_level(examples)
        return Look(
            self.n + other.n,
            _added(self.missing, other.missing, self.n),
            _added(self.infinite, other.infinite, self.n),
            {name: _merged(own, other.levels[name]) for name, own in self.levels.items()},
            sample,
            keys,
            examples,
        )

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
        """Refuse missing and infinite values."""
        for found, what in ((self.missing, "missing"), (self.infinite, "infinite")):
            for name, (count, first) in found.items():
                raise DataError(
                    f"column '{name}' has {count:,} {what} value{'s' * (count > 1)} (first in row {first:,}): a stream "
                    "takes none, leave these rows out of it, or impute them, before the audit"
                )


def look_at(frame: Any, names: Sequence[str], most: int | None = None) -> Look:
    """Look at some columns of rows that are in memory, and draw at most so many people by what their rows say."""
    held = HELD if most is None else most
    table = nw.from_native(frame, eager_only=True)
    columns = {name: table[name] for name in dict.fromkeys(names)}
    keys = _keys(columns)
    missing = {name: gone for name, column in columns.items() if (gone := is_missing(column)).any()}
    infinite = {name: gone for name, column in columns.items() if (gone := _is_infinite(column)).any()}
    levels = {name: _levels(column, keys) for name, column in columns.items()}
    drawn = np.sort(np.argpartition(keys, held)[:held]) if keys.size > held else np.arange(keys.size)
    ones = np.array(sorted({i for own in levels.values() if own is not None for i in own[1]}), dtype=np.intp)
    return Look(
        len(table),
        {name: (int(gone.sum()), int(gone.argmax())) for name, gone in missing.items()},
        {name: (int(gone.sum()), int(gone.argmax())) for name, gone in infinite.items()},
        {name: None if own is None else own[0] for name, own in levels.items()},
        _as_pandas(table, columns, drawn),
        keys[drawn],
        _as_pandas(table, columns, ones).set_axis(keys[ones], axis=0),
    )


def _keys(columns: Mapping[str, nw.Series[Any]]) -> Any:
    """(n,) numbers that look random and that what a row says determines: the order of rows is of no account."""
    first, *others = map(_marks, columns.values())
    for marks in others:
        first = pd.util.hash_array(first ^ marks)
    return first


def _marks(column: nw.Series[Any]) -> Any:
    """(n,) a number for each value, the same wherever it occurs."""
    if column.dtype.is_numeric():
        return pd.util.hash_array(column.to_numpy())
    if column.null_count():  # which no stream takes
        return np.zeros(len(column), dtype=np.uint64)
    number, values = numbered(column)
    return pd.util.hash_array(np.array([str(value) for value in values], dtype=object))[number]


def _levels(column: nw.Series[Any], keys: Any) -> tuple[dict[Any, int], list[int]] | None:
    """How often each level of a column occurs, and the row of each with the smallest key; None where there are many."""
    if column.dtype.is_numeric() and np.unique(column[:THOUSANDS].to_numpy()).size > FEW:
        return None
    complete = column.filter(~column.is_null())
    number, values = numbered(complete)
    if len(values) > FEW:
        return None
    count = np.bincount(number, minlength=len(values))
    ones = pd.Series(keys).groupby(number).idxmin().tolist() if len(complete) == len(column) else []
    return dict(zip(values, count.tolist(), strict=True)), ones


def _is_infinite(column: nw.Series[Any]) -> Any:
    return np.isinf(column.to_numpy().astype(float)) if column.dtype.is_float() else np.zeros(len(column), dtype=bool)


def _as_pandas(table: Any, columns: Mapping[str, Any], rows: Any) -> pd.DataFrame:
    return pd.DataFrame(table.select(list(columns))[rows].to_pandas()).reset_index(drop=True)


def _added(
    one: Mapping[str, tuple[int, int]], two: Mapping[str, tuple[int, int]], n: int
) -> dict[str, tuple[int, int]]:
    moved = {name: (count, first + n) for name, (count, first) in two.items()}
    both = {name: (one[name][0] + moved[name][0], one[name][1]) for name in one if name in moved}
    return {**moved, **one, **both}


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
