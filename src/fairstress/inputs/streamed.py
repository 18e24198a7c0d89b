"""A table that is not in memory: coded by its own moments, a sample of its people held, sums over everyone.

Where a sample says that rows repeat, they are counted batch by batch, and the counts are an ordinary table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import narwhals as lazy  # whose stable version takes no lazy relation
import numpy as np
import pandas as pd

from fairstress.errors import DataError, SettingError, show
from fairstress.inputs.data import Everyone, Scaling, Table, gather_rows, read_table
from fairstress.inputs.frames import NO_ROWS, decoded
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.look import LARGEST, Look, look_at
from fairstress.inputs.parts import code_part
from fairstress.inputs.protected import ProtectedCoding
from fairstress.inputs.rows import BLOCK, Array, Ends, Rows, Whole, distinct, repeat_often
from fairstress.inputs.streams import PIECE, Stream
from fairstress.inputs.units import FeatureCoding, Units
from fairstress.summing import add_up, in_order

T = TypeVar("T")

MOST_COUNTS = 1_000_000  # distinct rows that are counted; where there are more, each row is read as it is
AT_ONCE = 60  # copies of a batch: those read ahead, waiting and worked on, with what is made of their columns
LATELY = 10_000  # people who are drawn before they are put to the others
PARTS = 32  # looks that wait for that at most
COUNT = "number of people"  # the column in which counts stand

# ---------------------------------------------------------------- sums over batches


NO_FIT = (ImportError, AttributeError, TypeError)  # of versions of narwhals and an engine that do not fit together


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """Rows that are read in batches, and coded, for every sum anew."""

    read: Callable[[], Iterator[Any]]
    code: Callable[[Any], Rows]
    n: float
    ends: Ends | None = None

    def total(self, of: Callable[[Rows], T], *, alone: bool = False, width: int | None = None) -> T:
        """Add up over all blocks of all batches, in their order; several threads work on batches, one reads."""
        pieces = self.read()
        work = partial(_sum_of_blocks, of, self.code, width)
        return add_up(map(work, pieces) if alone else in_order(work, pieces))

    def map(self, change: Callable[[Rows], Rows]) -> Batches:
        """The same with every batch changed."""
        return replace(self, code=lambda piece: change(self.code(piece)))


def _sum_of_blocks(of: Callable[[Rows], T], code: Callable[[Any], Rows], width: int | None, piece: Any) -> T:
    return add_up(map(of, code(piece).blocks(width)))


@dataclass(frozen=True, slots=True, eq=False)
class InBatches:
    """A stream, as `read_apart` asks for it."""

    stream: Stream
    memory: int  # bytes that batches at work together may take

    @property
    def files(self) -> tuple[str, ...]:
        """Those that are read, as far as they are known."""
        return tuple(file.place for file in self.stream.files)

    def check(self, names: Sequence[str], by: str) -> None:
        """Refuse names that no column has, by what names them."""
        self.stream.check(names, by)

    def _pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """Some columns, piece by piece, as large as memory allows; the number of cores does not change them."""
        blocks = self.memory // (8 * BLOCK * len(names) * AT_ONCE)
        return self.stream.pieces(names, BLOCK * max(1, min(blocks, PIECE // BLOCK)))

    def look(self, names: Sequence[str], weight: str | None) -> Look:
        """A first look at all batches, in several threads; the more is known, the fewer people are drawn."""
        known: list[Look] = []  # all that was seen so far, and what was seen lately: large samples are seldom copied
        looks = in_order(
            lambda piece: look_at(piece, names, bound=known[0].bound if known else LARGEST, weight=weight),
            self._pieces(names),
        )
        for look in looks:
            known.append(look)
            if sum(own.keys.size for own in known[1:]) > LATELY or len(known) > PARTS:
                known[:] = [Look.together(known)]
        if not known:
            raise DataError(NO_ROWS)
        return Look.together(known)

    def counts(self, names: Sequence[str], weight: str | None) -> pd.DataFrame | None:
        """Count rows that are alike, by the stream's own engine or batch by batch; None where too many differ."""
        keys = [name for name in dict.fromkeys(names) if name != weight]
        if self.stream.lazy is not None:
            with suppress(*NO_FIT), self.stream.reading(passing=NO_FIT):
                people = lazy.len() if weight is None else lazy.col(weight).sum()
                counted = lazy.from_native(self.stream.lazy).group_by(*keys).agg(people.alias(COUNT)).sort(*keys)
                found: pd.DataFrame = decoded(counted.head(MOST_COUNTS + 1).collect().to_arrow()).to_pandas()
                return found if len(found) <= MOST_COUNTS else None
        so_far = pd.DataFrame({name: [] for name in (*keys, COUNT)})
        for counted in in_order(lambda piece: count_alike(piece.to_pandas(), keys, weight), self._pieces(names)):
            so_far = count_alike(pd.concat([so_far, counted]), keys, COUNT) if len(so_far) else counted
            if len(so_far) > MOST_COUNTS:
                return None
        return so_far

    def whole(
        self, names: Sequence[str], code: Callable[[Any], Rows], n: float = np.nan, ends: Ends | None = None
    ) -> Batches:
        """Everyone's rows, read and coded batch by batch."""
        return Batches(partial(self._pieces, names), code, n, ends)


# ---------------------------------------------------------------- reading


class Apart(Protocol):
    """Data that are not in memory, as far as reading asks."""

    @property
    def files(self) -> tuple[str, ...]:
        """Those that are read, as far as they are known."""
        ...

    def check(self, names: Sequence[str], by: str) -> None:
        """Refuse names that no column has, by what names them."""
        ...

    def look(self, names: Sequence[str], weight: str | None) -> Look:
        """A first look at some columns, one of which may be one of weights."""
        ...

    def counts(self, names: Sequence[str], weight: str | None) -> pd.DataFrame | None:
        """Distinct rows with the number, or weight, of people; None where too many differ."""
        ...

    def whole(
        self, names: Sequence[str], code: Callable[[Any], Rows], n: float = np.nan, ends: Ends | None = None
    ) -> Whole:
        """Everyone's rows, given a way to code a part of them, the sum of the weights and ends, as far as known."""
        ...


def read_apart(
    data: Apart, graph: CausalGraph, *, sample_weight: Any = None, cluster: Any = None, **options: Any
) -> Table:
    """Check data that are not in memory against the graph, and code them.

    Parameters
    ----------
    data
        In batches, or on workers.
    graph
        Names the columns.
    sample_weight
        Name of a column of weights.
    cluster
        Name of a column that tells who belongs together, by which the sample is dealt into folds.
    options
        As `read_table` takes them.
    """
    names = [*graph.protected_columns, *graph.features, graph.outcome]
    data.check(names, "the graph")
    weight, together = _column(data, sample_weight, "sample_weight"), _column(data, cluster, "cluster")
    names += [weight] if weight else []
    looked_at = [*names, together] if together else names
    look = data.look(looked_at, weight)
    look.check()
    people = look.people()
    if look.n > len(people) and repeat_often([people[name].to_numpy() for name in looked_at], look.n):
        counted = data.counts(looked_at, weight)
        if counted is not None:
            table = read_table(counted, graph, sample_weight=counted[COUNT], cluster=cluster, **options)
            return replace(table, files=data.files)
    own = people[weight] if weight else None
    table = replace(read_table(people, graph, sample_weight=own, cluster=cluster, **options), files=data.files)
    return table if look.n <= len(people) else with_whole(table, people, look.n, weight, partial(data.whole, names))


def _column(data: Apart, given: Any, argument: str) -> str | None:
    """Read the name of a column that tells something of everyone."""
    if given is None:
        return None
    if isinstance(given, str):
        data.check([given], argument)
        return given
    raise SettingError(
        f"{argument} is {show(given)}, but the data are not in memory: give the name of a column of them"
    )


def count_alike(frame: pd.DataFrame, keys: Sequence[str], weight: str | None) -> pd.DataFrame:
    """Distinct rows of a frame with the number of people, or the sum of a column of weights."""
    groups = frame.groupby(list(keys), sort=False, dropna=False, observed=True)
    counted = groups.size() if weight is None else groups[weight].sum()
    return pd.DataFrame(counted.rename(COUNT).astype(float).reset_index())


# ---------------------------------------------------------------- coding by everyone's moments


def with_whole(
    table: Table,
    people: pd.DataFrame,
    n: int,
    weight: str | None,
    whole: Callable[..., Whole],
) -> Table:
    """A sample's table with everyone behind it: coded by their moments, its rows knowing all of them.

    Parameters
    ----------
    table
        As the sample alone is read.
    people
        The sample.
    n
        How many people there are.
    weight
        Name of a column of weights.
    whole
        Makes everyone's rows as `Apart.whole` does, of columns that are known.
    """
    _check_scales(table)
    # not held on to: workers keep coded rows for as long as somebody may ask for them
    *sums, sizes, ends = whole(partial(code_part, _bare(table), weight)).total(partial(_moments, table.protected.codes))
    coded = _by_moments(table, *sums)
    ends = Ends(*(_coded_anew(table.units, coded.units, codes) for codes in (ends.low, ends.high)))
    everyone = whole(partial(code_part, _bare(coded), weight), float(sums[0]), ends)
    alone = code_part(coded, weight, people)
    first, row_of = distinct(alone.a, alone.x)
    y = alone.y / np.where(alone.weight > 0, alone.weight, 1.0)
    rows = gather_rows(alone.where(first), row_of, y, alone.weight, keep_all=True)
    groups = dict(zip(coded.protected.levels or (), map(int, sizes), strict=True))
    return replace(
        coded,
        rows=replace(rows, whole=everyone),
        row_of=row_of,
        y=y,
        weight=alone.weight,
        source=None,
        everyone=Everyone(n, groups),
    )


def _check_scales(table: Table) -> None:
    for name, kind in table.kinds.items():
        if kind.is_number and kind.scale == "rank":
            raise SettingError(f"kinds says 'rank' for '{name}', but the data are not in memory: give another scale")


def _moments(codes: Sequence[float], block: Rows) -> tuple[Any, ...]:
    """Sum of the weights, weighted sums of codes, of their squares and of the outcome, people by group, and ends."""
    w = block.weight
    sizes = np.array([np.count_nonzero((block.a == code) & (w > 0)) for code in codes])
    a = float(w @ block.a), float(w @ block.a**2)
    return float(w.sum()), w @ block.x, w @ block.x**2, *a, float(block.y.sum()), sizes, Ends.of(list(block.x.T))


def _by_moments(table: Table, n: float, x: Array, x2: Array, a: float, a2: float, y: float) -> Table:
    """The table as coded by everyone's moments, which were found in the codes of the sample."""
    deviation = np.sqrt(x2 / n - (x / n) ** 2)
    parts = zip(table.units.features, x / n, deviation, strict=True)
    features = tuple(f.scaled(f.mean + f.deviation * float(m), f.deviation * float(s)) for f, m, s in parts)
    coding, own = table.protected, table.units.protected
    if own is not None:
        coding = _number_by_moments(coding, a / n, float(np.sqrt(a2 / n - (a / n) ** 2)))
        own = own.scaled(coding.mean, coding.deviation)
    origin = table.origin + y / n if table.outcome_levels is None and table.origin else table.origin
    scaling = Scaling(np.array([f.mean for f in features]), np.array([f.deviation for f in features]))
    units = replace(table.units, features=features, protected=own)
    return replace(table, protected=coding, units=units, scaling=scaling, origin=origin)


def _coded_anew(before: Units, after: Units, codes: Array) -> Array:
    """(m,) codes of features by other moments."""
    found = np.empty_like(codes)
    for j, (old, new) in enumerate(zip(before.features, after.features, strict=True)):
        is_atom = new.atom_code is not None and codes[j] == old.atom_code
        found[j] = new.atom_code if is_atom else (old.mean + old.deviation * codes[j] - new.mean) / new.deviation
    return found


def _number_by_moments(coding: ProtectedCoding, mean: float, deviation: float) -> ProtectedCoding:
    """A numeric attribute's coding; a shift by one standard deviation is by everyone's."""
    m, s = coding.mean + coding.deviation * mean, coding.deviation * deviation
    shift = s if coding.shift == coding.deviation else coding.shift
    targets = tuple((coding.mean + coding.deviation * code - m) / s for code in coding.targets)
    return replace(coding, mean=m, deviation=s, shift=shift, targets=targets)


def _bare(table: Table) -> Table:
    """What coding needs of a table: its people are left behind."""
    nobody, none = table.rows.where(slice(0, 0)), np.zeros(0)
    units = replace(table.units, features=tuple(map(_brief, table.units.features)))
    people: dict[str, Any] = {
        "rows": nobody,
        "row_of": none.astype(np.intp),
        "y": none,
        "weight": none,
        "index": pd.RangeIndex(0),
    }
    return replace(table, **people, units=units, source=None)


def _brief(feature: FeatureCoding) -> FeatureCoding:
    """A coding that remembers of a number's values the ends alone."""
    ends = [0, -1]
    return replace(feature, known=feature.known[ends], marks=feature.marks[ends]) if feature.kind.is_number else feature
