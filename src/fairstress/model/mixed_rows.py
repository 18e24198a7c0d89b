"""What is linear in the coordinates of a mixed system, person by person: known errors, and the ends of intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array, IntArray, Rows, join
from fairstress.model.design import side_by_side
from fairstress.model.fit import Fit, Mask
from fairstress.model.latent import Layout, Part, free_weights, patterns, seen

UNSEEN = 1e-3  # people whom a level that nobody has is given, so that its cuts stay apart
KEPT = 2**26  # numbers of all lines that are kept in memory, half a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Where each variable's u, theta and tau stand in z, and what a penalty costs there."""

    layout: Layout
    u: tuple[slice, ...]  # by variable
    theta: tuple[slice, ...]
    tau: tuple[slice, ...]
    free: tuple[
        IntArray, ...
    ]  # which weights of each variable are free: an ordered one's cuts take its constants' place
    size: int

    @classmethod
    def of(cls, layout: Layout) -> Coordinates:
        """Lay out the coordinates, variable by variable."""
        free = tuple(free_weights(part) for part in layout.parts)
        laws = [part.equation.law for part in layout.parts]
        widths = [n for law, own in zip(laws, free, strict=True) for n in (law.n_scales, own.size, law.n_cuts)]
        places = side_by_side(widths)
        return cls(layout, tuple(places[::3]), tuple(places[1::3]), tuple(places[2::3]), free, sum(widths))

    @property
    def variable_of(self) -> IntArray:
        """(size,) the variable that each coordinate belongs to."""
        widths = [t.stop - u.start for u, t in zip(self.u, self.tau, strict=True)]
        return np.repeat(np.arange(len(widths)), widths)

    def scale_of(self) -> tuple[IntArray, IntArray]:
        """Coordinates that are theta of a number, and the u that each is measured by."""
        theta, u = [], []
        for own, place in zip(self.u, self.theta, strict=True):
            count = own.stop - own.start
            if count:
                theta.append(np.arange(place.start, place.stop))
                u.append(np.repeat(np.arange(own.start, own.stop), (place.stop - place.start) // count))
        return joined(theta), joined(u)

    def from_fit(self, fit: Fit) -> Array:
        """Coordinates of a fit."""
        z = np.empty(self.size)
        scale = np.exp(-fit.log_scales)
        for v, part in enumerate(self.layout.parts):
            z[self.u[v]] = scale[part.scales]
            z[self.theta[v]] = part.w(fit)[self.free[v]]
            z[self.tau[v]] = fit.cuts[part.cuts]
        theta, u = self.scale_of()
        z[theta] *= z[u]
        return z

    def to_fit(self, z: Array, P: Array, log_likelihood: float, objective: float, status: Status, error: float) -> Fit:
        """The fit with some coordinates."""
        theta, u = self.scale_of()
        w = z.copy()
        w[theta] /= z[u]
        parts = self.layout.parts
        weights = np.zeros(max(part.weights.stop for part in parts))
        for v, part in enumerate(parts):
            weights[np.arange(part.weights.start, part.weights.stop)[self.free[v]]] = w[self.theta[v]]
        scales = -np.log(np.concatenate([z[place] for place in self.u]))
        cuts = np.concatenate([z[place] for place in self.tau])
        return Fit(weights, scales, P, log_likelihood, objective, status, cuts, error)


def joined(parts: Sequence[IntArray]) -> IntArray:
    """Positions end to end, which may be none."""
    return np.concatenate([np.zeros(0, dtype=np.intp), *parts]).astype(np.intp)


# ---------------------------------------------------------------- rows


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Something linear in z for each person: ``X z[where]``, a known error or a part of an interval's end."""

    where: slice
    X: Array  # (r, q)
    moves: int  # position among the known errors, among the intervals, or among their ends


@dataclass(frozen=True, slots=True, eq=False)
class PatternBlock:
    """People for whom the same errors are known, and what is linear in z for them, column by column.

    A cut or an atom moves one end of an interval. Known errors and indices move intervals as wholes; equations share
    parents, so that many of their columns are the same but for the sign.
    """

    pattern: int
    end_where: IntArray  # (k,) coordinates that move one end
    end: IntArray  # (k,) that end, ascending: first the lower and then the upper ones
    where: IntArray  # (q,) coordinates that move intervals as wholes
    moves: IntArray  # (q,) the known error that each adds to, or behind those the interval
    columns: Array  # (k + p, r) of the one, and the distinct ones of the other
    signs: Array  # (p, q) how these make up the other's, with 0 for not at all
    is_open: Mask  # (2d, r) ends that are infinite
    weight: Array


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Which errors are known, and the sums that the known part of the likelihood needs."""

    known: tuple[int, ...]  # variables
    intervals: tuple[int, ...]
    where: IntArray  # coordinates of the known errors
    cross_products: Array  # of their columns
    n: float  # people
    n_scale: Array  # (size,) people whose known errors each u scales


@dataclass(frozen=True, eq=False)
class MixedRows:
    """The rows of a mixed system, pattern by pattern."""

    rows: Rows
    coordinates: Coordinates
    _kept: list[PatternBlock] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """Sums over the people of each pattern."""
        found: dict[tuple[int, ...], Pattern] = {}
        for block in self.rows.blocks():
            for which, known, intervals in patterns(self._intervals(block)):
                part = self._sums(block.where(which), known, intervals)
                before = found.get(tuple(intervals))
                found[tuple(intervals)] = part if before is None else _added(before, part)
        return tuple(found[key] for key in sorted(found))

    def blocks(self) -> Iterator[PatternBlock]:
        """People with intervals, block by block; kept unless they are too many."""
        if self._kept:
            yield from self._kept
            return
        number = {pattern.intervals: k for k, pattern in enumerate(self.patterns)}
        keep = self.rows.a.size * self.coordinates.size <= KEPT
        blocks = []
        for block in self.rows.blocks():
            for which, known, intervals in patterns(self._intervals(block)):
                if intervals:
                    made = self._pattern_block(block.where(which), number[tuple(intervals)], known, intervals)
                    if keep:
                        blocks.append(made)
                    else:
                        yield made
        self._kept[:] = blocks  # at once, so that other threads see all of them or none
        yield from blocks

    def _intervals(self, block: Rows) -> list[Mask]:
        return [is_interval(part, block) for part in self.coordinates.layout.parts]

    def _sums(self, block: Rows, known: list[int], intervals: list[int]) -> Pattern:
        at, lines = self.coordinates, [self._known(block, v, i) for i, v in enumerate(known)]
        where = joined([np.arange(line.where.start, line.where.stop) for line in lines])
        B = np.hstack([line.X for line in lines]) if lines else np.zeros((block.a.size, 0))
        n_scale = np.zeros(at.size)
        for v in known:
            group = at.layout.parts[v].equation.law.group_of(block.a)
            n_scale[at.u[v]] = np.bincount(group, block.weight, minlength=at.u[v].stop - at.u[v].start)
        return Pattern(tuple(known), tuple(intervals), where, (B * block.weight[:, None]).T @ B, block.n, n_scale)

    def _pattern_block(self, block: Rows, pattern: int, known: list[int], intervals: list[int]) -> PatternBlock:
        lines = [self._known(block, v, i) for i, v in enumerate(known)]
        lines += [self._index(block, v, len(known) + i) for i, v in enumerate(intervals)]
        below, above = zip(*(self._ends(block, v, i, len(intervals)) for i, v in enumerate(intervals)), strict=True)
        is_open = np.array([mask for _, mask in below + above])
        end_where, end, single = _side_by_side([line for line, _ in below + above if line is not None])
        where, moves, whole = _side_by_side(lines)
        distinct, signs = _distinct(whole)
        columns = np.vstack([single, distinct])
        return PatternBlock(pattern, end_where, end, where, moves, columns, signs, is_open, block.weight)

    def _known(self, block: Rows, v: int, position: int) -> Line:
        """``e = u x - phi'theta``, with the u of a person's group."""
        part, at = self.coordinates.layout.parts[v], self.coordinates
        X = np.hstack([_by_group(part, block, seen(part, block)), -part.equation.values(block.a, block.x)])
        return Line(slice(at.u[v].start, at.theta[v].stop), X, position)

    def _index(self, block: Rows, v: int, position: int) -> Line:
        """``-phi'theta``, which moves both ends."""
        part, at = self.coordinates.layout.parts[v], self.coordinates
        return Line(at.theta[v], -part.equation.values(block.a, block.x)[:, at.free[v]], position)

    def _ends(self, block: Rows, v: int, i: int, d: int) -> tuple[tuple[Line | None, Mask], tuple[Line | None, Mask]]:
        """What moves the lower end and the upper end alone, cuts or the atom, and who has no such end."""
        part, at = self.coordinates.layout.parts[v], self.coordinates
        law, everyone = part.equation.law, np.ones(block.a.size, dtype=bool)
        if law.atom is not None:
            atom = _by_group(part, block, np.full(block.a.size, law.atom))
            return (None, everyone), (Line(at.u[v], atom, d + i), ~everyone)
        level, cut = law.level_of(seen(part, block))[:, None], np.arange(law.n_cuts)
        lower, upper = (Line(at.tau[v], (level - k == cut).astype(float), i + d * (1 - k)) for k in (1, 0))
        return (lower, level[:, 0] == 0), (upper, level[:, 0] == law.n_cuts)


def _side_by_side(lines: Sequence[Line]) -> tuple[IntArray, IntArray, Array]:
    """Coordinates and moves (q,) of all columns, and the columns (q, r)."""
    where = joined([np.arange(line.where.start, line.where.stop) for line in lines])
    moves = np.repeat([line.moves for line in lines], [line.X.shape[1] for line in lines])
    return where, moves, np.vstack([line.X.T for line in lines])


def _distinct(columns: Array) -> tuple[Array, Array]:
    """The columns (p, r) that differ by more than their sign, and signs (p, q) that make all (q, r) of them."""
    found: dict[bytes, int] = {}
    place, sign = np.zeros(len(columns), dtype=np.intp), np.ones(len(columns))
    for q, column in enumerate(columns):
        sign[q] = -1.0 if column[np.argmax(column != 0)] < 0 else 1.0
        place[q] = found.setdefault((sign[q] * column + 0.0).tobytes(), len(found))  # -0.0 + 0.0 is 0.0
    signs = np.where(place == np.arange(len(found))[:, None], sign, 0.0)
    first = np.argmax(signs != 0, axis=1) if found else np.zeros(0, dtype=np.intp)
    return sign[first, None] * columns[first], signs


def is_interval(part: Part, block: Rows) -> Mask:
    """For whom a variable's error lies in an interval."""
    law = part.equation.law
    if law.atom is not None:
        return np.asarray(seen(part, block) <= law.atom)
    return np.full(block.a.size, law.is_ordered)


def _by_group(part: Part, block: Rows, x: Array) -> Array:
    """(r, n_scales) x in the column of the person's group, 0 in the others."""
    law = part.equation.law
    return np.asarray(x[:, None] * (law.group_of(block.a)[:, None] == np.arange(law.n_scales)))


def _added(first: Pattern, second: Pattern) -> Pattern:
    return replace(
        first,
        cross_products=first.cross_products + second.cross_products,
        n=first.n + second.n,
        n_scale=first.n_scale + second.n_scale,
    )


def with_all_levels(rows: Rows, layout: Layout) -> Rows:
    """Let somebody, of next to no weight, have each level that nobody of these people has."""
    parts = [rows]
    heaviest = rows.where(slice(int(rows.weight.argmax()), int(rows.weight.argmax()) + 1))
    for part in layout.parts:
        law, column = part.equation.law, part.equation.column
        if not law.is_ordered or column < 0:
            continue
        there = np.bincount(law.level_of(rows.x[:, column]), rows.weight, minlength=len(law.codes)) > 0
        for code in np.array(law.codes)[~there]:
            x = np.array(heaviest.x)
            x[:, column] = code
            parts.append(replace(heaviest, x=x, weight=np.array([UNSEEN])))
    return rows if len(parts) == 1 else join(parts)
