"""The one door to row data: distinct rows of (A, X) with weights, handed out in cache-sized blocks.

Everything that later rooms compute from rows is a sum over blocks. Identical rows are kept once with the sum of their
weights: exact, and several times less work on coarse data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairstress.summing import total

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

T = TypeVar("T")

BLOCK = 4096  # rows a block; with a few dozen columns it stays in a core's cache
LONGEST = 2**16  # rows of a block of a sum: steps so long that threads need not wait for each other
NUMBERS = 2**21  # that are made of such a block at once, if it has more than BLOCK rows
WIDTH = 32  # numbers for each row that are made where nobody says how many
MANY = 2**17  # entries from which on a sample is looked at first
SAMPLE = 2**15  # entries of it
PIECE = 2**20  # rows that are grouped at once, where groups are few
GROUPS = 2**16  # that are few
KEPT = 2**25  # numbers made of rows that are kept in memory, a quarter of a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The least and the greatest of some people's values; those of parts add up to those of the whole."""

    low: Array
    high: Array

    @classmethod
    def of(cls, columns: Sequence[Array]) -> Ends:
        """Look at columns in memory; nobody has none."""
        low = [column.min(initial=np.inf) for column in columns]
        return cls(np.array(low), np.array([column.max(initial=-np.inf) for column in columns]))

    def __add__(self, other: Ends) -> Ends:
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Whole(Protocol):
    """All rows of a table that is not in memory: batches on disk, or partitions on workers."""

    @property
    def n(self) -> float:
        """Sum of the weights."""
        ...

    @property
    def ends(self) -> Ends | None:
        """The features' (m,), or a little beyond; None where nobody has looked."""
        ...

    def total(self, of: Callable[[Rows], T], *, alone: bool = False, width: int | None = None) -> T:
        """Add up what a function of a block gives, as `Rows.total` does."""
        ...

    def map(self, change: Callable[[Rows], Rows]) -> Whole:
        """The same with every block changed."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Distinct rows of the coded table with what the outcome sums to in each.

    Counts, survey weights and bootstrap weights are all ``weight``.
    """

    a: Array  # (r,) protected attribute, coded
    a_cf: Array  # (r,) its counterfactual value
    x: Array  # (r, m) features, standardised
    weight: Array  # (r,) sum of the weights of the rows that are alike
    y: Array  # (r,) weighted sum of the outcome
    y_square: Array | None  # (r,) weighted sum of the squared outcome; None: each row is one person, of weight 1
    other: Array | None = None  # (r,) number of the values outside the graph; None where no predictor is shown any
    whole: Whole | None = None  # all rows, where these are a sample of them: sums are over all

    @property
    def n(self) -> float:
        """Sum of the weights: the number of people that the rows, or all of which they are a sample, stand for."""
        return float(self.weight.sum()) if self.whole is None else self.whole.n

    @property
    def squares(self) -> Array:
        """(r,) weighted sum of the squared outcome."""
        return self.y**2 if self.y_square is None else self.y_square

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.a.size

    def blocks(self, width: int | None = None) -> Iterator[Rows]:
        """Hand out the rows that are in memory in order, a block at a time.

        Blocks are short where that is not said, and long where it is said how many numbers a row is made into.
        """
        return map(self.where, self._places(_length(width)))

    def total(self, of: Callable[[Rows], T], *, alone: bool = False, width: int | None = WIDTH) -> T:
        """Add up what a function of a block gives, over all blocks in their order, in several threads.

        Parameters
        ----------
        of
            What a block adds: an array, a number or anything else with a sum, or a tuple of these.
        alone
            Whether several threads may not call it at once.
        width
            How many numbers for each row it makes on the way: of many, blocks are shorter; None: of very many.
        """
        if self.whole is not None:
            return self.whole.total(of, alone=alone, width=width)
        return total(lambda place: of(self.where(place)), self._places(_length(width)), alone=alone)

    def some(self) -> Rows | None:
        """A sample of the rows, the same each time; None where they are not many."""
        return self.where(some_places(self.size)) if self.whole is not None or self.size > MANY else None

    def keeps(self, width: int) -> bool:
        """Whether ``width`` numbers for each row are few enough to be kept, once they are worked out."""
        return self.whole is None and self.size * width <= KEPT

    def _places(self, longest: int) -> list[slice]:
        """Where each block stands; there is always one, and they are as equal as can be: threads end together."""
        count = max(1, -(-self.size // longest))
        size = max(1, -(-self.size // count))
        return [slice(start, start + size) for start in range(0, max(self.size, 1), size)]

    def with_outcome(self, weight: Array, y: Array, y_square: Array) -> Rows:
        """Give the same rows under other weights, without those that now weigh nothing."""
        kept = weight > 0
        return replace(self, weight=weight, y=y, y_square=y_square).where(kept)

    def where(self, which: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Rows:
        """Keep some of the rows that are in memory."""
        return Rows(
            self.a[which],
            self.a_cf[which],
            self.x[which],
            self.weight[which],
            self.y[which],
            None if self.y_square is None else self.y_square[which],
            None if self.other is None else self.other[which],
        )


def _length(width: int | None) -> int:
    """How many rows a block has, at most, where so many numbers are made of each; few where nobody says how many."""
    return BLOCK if width is None else min(LONGEST, max(BLOCK, NUMBERS // max(1, width)))


def sample(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Draw people at random, each as often as their weight says; the outcome is left behind."""
    return sample_with_places(rows, size, rng)[0]


def sample_with_places(rows: Rows, size: int, rng: np.random.Generator) -> tuple[Rows, IntArray]:
    """Draw people at random, and say which rows they are."""
    count = rng.multinomial(size, rows.weight / rows.weight.sum()).astype(float)
    nothing = np.zeros_like(count)
    return rows.with_outcome(count, nothing, nothing), np.flatnonzero(count)


def some_places(n: int) -> IntArray | slice:
    """Where to look at a sample of n entries, the same each time; all of them where they are not many."""
    return (
        slice(None) if n <= MANY else np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False, shuffle=False))
    )


def hardly_repeat(*columns: Array) -> bool:
    """Whether so few rows are alike, as a sample tells, that it is not worth while to look for them.

    Of R distinct rows, equally frequent, a sample of k has about ``k^2 / 2R`` alike; R above n / 2 spares little work.
    """
    n = columns[0].size
    places = some_places(n)
    return not isinstance(places, slice) and not repeat_often([column[places] for column in columns], n)


def repeat_often(sample: Sequence[Any], n: int) -> bool:
    """Whether as many rows of a sample are alike as if at most half of all n rows were distinct."""
    k = len(sample[0])
    return k - _grouped(sample)[0].size >= k**2 / n


def distinct(a: Array, x: Array, other: Array | None = None) -> tuple[IntArray, IntArray]:
    """Give the first position of each distinct row of (a, x), and for every row the number of its distinct row.

    Rows that differ in ``other`` are not alike either, where it is given. Of many rows, of which a sample has hardly
    any alike, each counts as distinct.
    """
    return distinct_columns([a, *x.T] if other is None else [a, *x.T, other])


def distinct_columns(columns: Sequence[Array]) -> tuple[IntArray, IntArray]:
    """The same of rows that are given column by column."""
    if hardly_repeat(*columns):
        n = columns[0].size
        everyone: Any = np.arange(n, dtype=np.min_scalar_type(-n))  # half of the memory, where that is enough
        return everyone, everyone
    return _grouped_in_pieces(columns) or _grouped(columns)


def _grouped_in_pieces(columns: Sequence[Array]) -> tuple[IntArray, IntArray] | None:
    """Groups of many rows, a part of them after the other; None where groups are many too, or rows are not."""
    n = columns[0].size
    if n <= PIECE:
        return None
    number: dict[tuple[float, ...], int] = {}
    firsts: list[IntArray] = []
    group_of: Any = np.empty(n, dtype=np.int32)
    for start in range(0, n, PIECE):
        some = [column[start : start + PIECE] for column in columns]
        first, own = _grouped(some)
        known = len(number)
        keys = zip(*(column[first].tolist() for column in some), strict=True)
        numbers = np.array([number.setdefault(key, len(number)) for key in keys])
        if len(number) > GROUPS:
            return None
        group_of[start : start + PIECE] = numbers[own]
        firsts.append(start + first[numbers >= known])
    return np.concatenate(firsts), group_of


def _grouped(columns: Sequence[Any]) -> tuple[IntArray, IntArray]:
    frame = pd.DataFrame(dict(enumerate(columns)), copy=False)
    group_of = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy().astype(np.intp)
    _, first = np.unique(group_of, return_index=True)
    return first.astype(np.intp), group_of


def row_marks(x: Array) -> Array:
    """(r,) a number for each row of x (r, p): the same for rows that are the same and, but for a miracle, no others.

    Column by column, because the digits of a product of matrices depend on where a row stands.
    """
    mark = np.zeros(len(x))
    for column, root in zip(x.T, prime_roots(x.shape[1]), strict=True):
        mark += root * column
    return mark


@cache
def prime_roots(count: int) -> Array:
    """Square roots of the first primes, which no fractions combine."""
    primes: list[int] = []
    candidate = 2
    while len(primes) < count:
        if all(candidate % p for p in primes):
            primes.append(candidate)
        candidate += 1
    return np.sqrt(primes)


def seen_by(rows: Rows, columns: Sequence[int], *, protected: bool) -> Rows:
    """The rows as some columns, and perhaps the protected attribute, show them: those that differ elsewhere are one.

    Other columns are 0 and the outcome is left behind.
    """
    wanted = sorted(set(columns))
    a = rows.a if protected else np.full_like(rows.a, rows.a[0])
    first, row_of = distinct(a, rows.x[:, wanted])
    x = np.zeros((first.size, rows.x.shape[1]), order="F")
    x[:, wanted] = rows.x[first][:, wanted]
    weight = np.bincount(row_of, rows.weight).astype(float)
    nothing = np.zeros_like(weight)
    return Rows(a[first], rows.a_cf[first], x, weight, nothing, nothing)


def join(parts: Sequence[Rows]) -> Rows:
    """Put rows end to end."""
    arrays = [f.name for f in fields(Rows) if f.name != "whole"]
    columns: dict[str, Any] = {name: [getattr(part, name) for part in parts] for name in arrays}
    joined: dict[str, Any] = {n: None if own[0] is None else np.concatenate(own) for n, own in columns.items()}
    return Rows(**joined)
