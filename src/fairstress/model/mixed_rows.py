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
    variable: int  # position among the known errors, or among the intervals
    end: str  # "known", or which ends it moves: "both", "lower", "upper"


@dataclass(frozen=True, slots=True, eq=False)
class PatternBlock:
    """People for whom the same errors are known, and what is linear in z for them."""

    pattern: int
    lines: tuple[Line, ...]
    open_below: Mask  # (r, d) intervals without a lower end
    open_above: Mask  # (r, d) intervals without an upper end
    weight: Array
    side_by_side: Array  # (r, q) the columns of all lines


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
        below, above = np.zeros((block.a.size, len(intervals)), bool), np.zeros((block.a.size, len(intervals)), bool)
        for i, v in enumerate(intervals):
            more, below[:, i], above[:, i] = self._interval(block, v, i)
            lines += more
        columns = np.asfortranarray(np.hstack([line.X for line in lines]))
        return PatternBlock(pattern, tuple(lines), below, above, block.weight, columns)

    def _known(self, block: Rows, v: int, position: int) -> Line:
        """``e = u x - phi'theta``, with the u of a person's group."""
        part, at = self.coordinates.layout.parts[v], self.coordinates
        X = np.hstack([_by_group(part, block, seen(part, block)), -part.equation.values(block.a, block.x)])
        return Line(slice(at.u[v].start, at.theta[v].stop), np.asfortranarray(X), position, "known")

    def _interval(self, block: Rows, v: int, position: int) -> tuple[list[Line], Mask, Mask]:
        """The index, which moves both ends, and the cuts, or the atom, which move one."""
        part, at = self.coordinates.layout.parts[v], self.coordinates
        law, phi = part.equation.law, part.equation.values(block.a, block.x)
        lines = [Line(at.theta[v], np.asfortranarray(-phi[:, at.free[v]]), position, "both")]
        if law.atom is not None:
            lines.append(Line(at.u[v], _by_group(part, block, np.full(block.a.size, law.atom)), position, "upper"))
            return lines, np.ones(block.a.size, bool), np.zeros(block.a.size, bool)
        level, cut = law.level_of(seen(part, block)), np.arange(law.n_cuts)
        lines.append(Line(at.tau[v], np.asfortranarray((level[:, None] - 1 == cut).astype(float)), position, "lower"))
        lines.append(Line(at.tau[v], np.asfortranarray((level[:, None] == cut).astype(float)), position, "upper"))
        return lines, level == 0, level == law.n_cuts


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
