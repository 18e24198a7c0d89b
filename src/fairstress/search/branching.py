"""Branch and bound: how high a function can be over a box, from bounds over cells that are halved where it matters."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import fits
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit
from fairstress.model.system import without_penalty
from fairstress.search.enclosure import Objective
from fairstress.search.problem import Problem
from fairstress.search.sets import CorrelationSet
from fairstress.search.upper import upper_bound

ROUNDING = 1e-6  # by which a proved bound is raised, relative to itself, for what double precision loses
GRID = {1: 32, 2: 8, 3: 5}  # cells along each direction that an estimate begins with


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A box of correlations, and what was seen of it."""

    centre: Array  # (q,)
    half: Array  # (q,) half the length of each side
    value: float  # at the centre; minus infinity where that is not allowed
    bound: float  # over the cell, where it is proved
    moves: Array  # (q,) how much each direction moves the value
    fit: Fit | None = None  # of Model B at the centre
    ceiling: float = -np.inf  # of the deviance of fits that are surely the lowest
    slope: Array | None = None  # (q,) at the centre, where an estimate needs it


class Bounds(Protocol):
    """What gives cells their bounds."""

    def look(self, centre: Array, half: Array, parent: Cell | None) -> Cell:
        """See what there is to see of a cell."""
        ...

    def of(self, cell: Cell) -> float:
        """Its bound, as far as is known now."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """A box covered by cells: no value in it exceeds the bound."""

    bound: float
    best: float  # the largest value that was met
    cells: int  # that were looked at


def cover(
    bounds: Bounds, cells: list[Cell], best: float, gap: float, most: int, progress: Callable[[int], None] | None = None
) -> Cover:
    """Halve the cell of the highest bound until that is within a gap of the best value, or cells are too many."""
    best = max([best, *(cell.value for cell in cells)])
    order = itertools.count()
    heap = [(-bounds.of(cell), next(order), cell) for cell in cells]
    heapq.heapify(heap)
    count = len(cells)
    while heap and count < most:
        known, _, cell = heapq.heappop(heap)
        bound = bounds.of(cell)
        if bound > -known:  # more is known of derivatives than when it was put there
            heapq.heappush(heap, (-bound, next(order), cell))
            continue
        if bound <= best * (1 + gap):
            heapq.heappush(heap, (-bound, next(order), cell))
            break
        for half in _halves(bounds, cell):
            best, count = max(best, half.value), count + 1
            heapq.heappush(heap, (-min(bounds.of(half), bound), next(order), half))
        if progress:
            progress(count)
    return Cover(max([best, *(-known for known, _, _ in heap)]), best, count)


def _halves(bounds: Bounds, cell: Cell) -> list[Cell]:
    """Two cells, cut across the direction that moves the value most."""
    longest = np.where(cell.half > 0, cell.moves + 1e-3 * cell.moves.max() * cell.half / cell.half.max(), -1.0)
    k = int(longest.argmax()) if np.isfinite(cell.bound) or cell.slope is not None else int(cell.half.argmax())
    half = np.where(np.arange(cell.half.size) == k, cell.half / 2, cell.half)
    step = np.where(np.arange(cell.half.size) == k, half, 0.0)
    return [bounds.look(cell.centre + s * step, half, cell) for s in (-1.0, 1.0)]


@dataclass(frozen=True, slots=True, eq=False)
class Proved:
    """Bounds of CFU by enclosures of Model B."""

    claim: Claim  # on as few people as its CFU needs
    members: CorrelationSet
    objective: Objective
    free: Claim | None  # the same without penalty, where there is one

    @classmethod
    def of_problem(cls, problem: Problem) -> Proved:
        """Bounds for a claim of which `why_not_proved` has nothing to say."""
        assert isinstance(problem.members, CorrelationSet)
        free = [pair for pair, side in zip(problem.members.pairs, _sides(problem.members), strict=True) if side > 0]
        system, claim = problem.claim.system, problem.claim.for_changes()
        objective = Objective.of_system(system, free)
        lighter = replace(claim, system=without_penalty(system)) if objective.penalties.any() else None
        return cls(claim, problem.members, objective, lighter)

    def look(self, centre: Array, half: Array, parent: Cell | None) -> Cell:
        """Fit Model B at the centre and enclose it over the cell."""
        p = _point(self.members, centre)
        P, nothing = self.members.matrix(p), Cell(centre, half, -np.inf, -np.inf, half)
        least = float(self.members.smallest_eigenvalue(p))
        if least + _norm(half) < self.members.floor:
            return nothing
        if least <= 0:
            return replace(nothing, bound=np.inf)
        (fit,) = fits(self.claim, P[None], check_minima=False, start=parent.fit if parent else None)
        served = parent is not None and np.isfinite(parent.bound)  # then its ceiling is high enough for its halves
        ceiling = parent.ceiling if parent and served else self._ceiling(P, half)
        box = self.objective.box(P, half)
        y = box.enclose(fit, ceiling) if box else None
        w = self.objective.weights(y) if y else None
        if w is None:
            return replace(nothing, bound=np.inf, fit=fit, ceiling=ceiling)
        upper = upper_bound(self.claim, w)
        value = upper.value if self.members.contains(p) else -np.inf
        return Cell(centre, half, value, upper.bound * (1 + ROUNDING), upper.moves, fit, ceiling)

    def _ceiling(self, P: Array, half: Array) -> float:
        """The deviance below which a penalised fit in the cell is the lowest: n more than one without penalty has."""
        if self.free is None:
            return np.inf
        objective = replace(self.objective, penalties=np.zeros_like(self.objective.penalties))
        box, (fit,) = objective.box(P, half), fits(self.free, P[None], check_minima=False)
        return -np.inf if box is None else objective.n + box.least_deviance(fit)

    def of(self, cell: Cell) -> float:
        """What is proved stays as it is."""
        return cell.bound


@dataclass(slots=True, eq=False)
class Estimated:
    """Bounds that rest on how fast derivatives, or values where there are none, were seen to change, times a factor."""

    problem: Problem
    safety: float
    speed: float = 0.0  # the fastest change seen
    seen: list[Cell] = field(default_factory=list)

    def look(self, centre: Array, half: Array, parent: Cell | None) -> Cell:
        """Evaluate the centre, and compare it with the cell that it was cut from."""
        members = self.problem.members
        assert isinstance(members, CorrelationSet)  # whoever asks has looked at the budget
        p = _point(members, centre)
        if members.smallest_eigenvalue(p) + _norm(half) < members.floor:
            return Cell(centre, half, -np.inf, -np.inf, half)
        inside = bool(members.contains(p))
        q = p if inside else members.project(p)
        slope: Array | None = None
        if self.problem.has_slopes:
            value, g, _ = self.problem.value_and_gradient(q)
            slope = g[members.high > members.low]
        else:
            value = float(self.problem.values(q[None])[0])
        cell = Cell(centre, half, value, np.inf, half if slope is None else np.abs(slope) * half, slope=slope)
        for other in [parent] if parent else self.seen:
            self._compare(cell, other)
        if parent is None:
            self.seen.append(cell)
        return cell

    def _compare(self, one: Cell, other: Cell) -> None:
        apart = float(np.abs(one.centre - other.centre).sum())
        if apart == 0 or not np.isfinite(other.value):
            return
        change = abs(one.value - other.value)
        if one.slope is not None and other.slope is not None:
            change = float(np.abs(one.slope - other.slope).max())
        self.speed = max(self.speed, change / apart)

    def of(self, cell: Cell) -> float:
        """``f + sum |g_k| h_k + speed (sum h_k)^2 / 2`` with a slope g, ``f + speed sum h_k`` without."""
        if not np.isfinite(cell.value):
            return cell.value
        size, speed = float(cell.half.sum()), self.safety * self.speed
        if cell.slope is None:
            return cell.value + speed * size
        return cell.value + float(np.abs(cell.slope) @ cell.half) + speed * size**2 / 2


def _sides(members: CorrelationSet) -> Array:
    return np.asarray(members.high - members.low)


def _point(members: CorrelationSet, centre: Array) -> Array:
    """A point of the set, of which the centre has the pairs that are free."""
    p = members.low.copy()
    p[_sides(members) > 0] = centre
    return p


def _norm(half: Array) -> float:
    """How large a change of P within a cell can be at most, and with it that of any eigenvalue."""
    return float(half.max() * len(half))


def whole(bounds: Bounds, low: Array, high: Array) -> list[Cell]:
    """The box as one cell."""
    return [bounds.look((low + high) / 2, (high - low) / 2, None)]


def grid(bounds: Bounds, low: Array, high: Array) -> list[Cell]:
    """The box cut evenly into cells."""
    count = GRID[low.size]
    half = (high - low) / (2 * count)
    places = itertools.product(range(count), repeat=low.size)
    return [bounds.look(low + (2 * np.array(place) + 1) * half, half, None) for place in places]
