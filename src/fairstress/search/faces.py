"""Ascents of many points side by side that end in faces of a box: some coordinates at their limits, others between.

Newton's method in the coordinates that are free. Hessians are differences of exact gradients, which are asked for side
by side, as the points that ascents try are: many at once cost little more than one. Where an ascent meets the
eigenvalue floor, or does not settle on a maximum, it is left to `climb`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairstress.errors import Status
from fairstress.inputs.rows import Array, IntArray
from fairstress.search.problem import End, Problem
from fairstress.search.sets import CorrelationSet

MOVES = 20
APART = 1e-3  # of the box's width: how far apart the gradients are whose difference gives a curvature
REACH = 0.25  # the longest move of a correlation or loading at first
LONGER, SHORTER = 2, 4  # times as long, or as short: the next move after one that led uphill, or downhill
FLAT = 1e-6  # of the precision that is asked for: a gain that is not worth a move, Newton's last ones being so large
NEAR = 0.05  # of the box's width: an ascent that comes as near to a higher one goes on as that one
INWARDS = 0.02  # of the way to the centre: where an ascent from the eigenvalue floor sets out
EVEN = 1e-12  # of the largest curvature or slope: a curvature below this is none
GAIN = 1e-4  # of what a slope promises: the least that a move must bring


@dataclass(slots=True, eq=False)
class _Ascents:
    """Where g ascents are."""

    points: Array  # (g, q)
    values: Array  # (g,)
    slopes: Array  # (g, q)
    going: NDArray[np.bool_]  # (g,) which go on
    ended: NDArray[np.bool_]  # (g,) which have reached a maximum
    reach: Array  # (g,) the longest next move
    joined: IntArray  # (g,) the ascent as which each goes on: itself, or a higher one that it came near to


def to_faces(problem: Problem, starts: Array) -> list[tuple[Array, End | None]]:
    """Where each of several points (g, q) gets to, and the end of its ascent if it has ended there."""
    all_ = _setting_out(problem, starts)
    for _ in range(MOVES):
        target = _targets(problem, all_)
        promised = (all_.slopes * (target - all_.points)).sum(axis=1)
        all_.going &= ~all_.ended & (promised > 0) & [_is_clear(problem, p) for p in target]
        if not all_.going.any():
            break
        _move_to(problem, all_, target, promised)
        _join(problem, all_)
    ends = [
        (p, value, Status.CONVERGED) if ended else None
        for p, value, ended in zip(all_.points, all_.values.tolist(), all_.ended, strict=True)
    ]
    return [(all_.points[i], ends[i]) for i in all_.joined]


def _setting_out(problem: Problem, starts: Array) -> _Ascents:
    """Ascents from all points but those at the eigenvalue floor from which uphill does not lead away from it."""
    points, inwards, g = starts.copy(), problem.members.centre() - starts, len(starts)
    values, slopes = problem.values_and_gradients(starts)
    clear = np.array([_is_clear(problem, p) for p in starts])
    leave = ~clear & ((slopes * inwards).sum(axis=1) > 0)
    points[leave] += INWARDS * inwards[leave]
    if leave.any():
        values[leave], slopes[leave] = problem.values_and_gradients(points[leave])
    going = clear | (leave & [_is_clear(problem, p) for p in points])
    return _Ascents(points, values, slopes, going, np.zeros(g, dtype=bool), np.full(g, REACH), np.arange(g))


def _is_clear(problem: Problem, p: Array) -> bool:
    """Whether a point lies so far above the eigenvalue floor that gradients can be taken all around it."""
    members = problem.members
    if not isinstance(members, CorrelationSet):  # whose box is all that limits it
        return True
    room = 2 * APART * float((members.high - members.low).max())
    return bool(members.smallest_eigenvalue(p) >= members.floor + room)


def _targets(problem: Problem, all_: _Ascents) -> Array:
    """(g, q) where each ascent that goes on moves next; one from which there is nothing to gain has ended."""
    target, where = all_.points.copy(), np.flatnonzero(all_.going)
    for i, move in zip(where, _moves(problem, all_.points[where], all_.slopes[where]), strict=True):
        all_.ended[i] = move.is_top and move.gain <= FLAT * problem.precision * abs(all_.values[i])
        target[i] = move.target(problem, all_.points[i], float(all_.reach[i]))
    return target


def _move_to(problem: Problem, all_: _Ascents, target: Array, promised: Array) -> None:
    """Move the ascents that go on to their targets; one that would not gain by it stays, and moves less far next."""
    where = np.flatnonzero(all_.going)
    values, slopes = problem.values_and_gradients(target[where])
    higher = values >= all_.values[where] + GAIN * promised[where]
    moved = np.abs(target - all_.points)[where].max(axis=1)
    all_.reach[where] = np.where(higher, np.maximum(all_.reach[where], LONGER * moved), moved / SHORTER)
    where = where[higher]
    all_.points[where], all_.values[where], all_.slopes[where] = target[where], values[higher], slopes[higher]


def _join(problem: Problem, all_: _Ascents) -> None:
    """Let ascents that have come near a higher one go on as that one."""
    near = NEAR * float((problem.members.high - problem.members.low).max())
    for i in np.argsort(all_.values, kind="stable"):  # the lowest first: the one that it joins may join another
        alive = all_.going | all_.ended
        apart = np.abs(all_.points - all_.points[i]).max(axis=1)
        above = np.flatnonzero(alive & (all_.values > all_.values[i]) & (apart < near))
        if all_.going[i] and above.size:
            all_.joined[all_.joined == i] = above[all_.values[above].argmax()]
            all_.going[i] = False


# ---------------------------------------------------------------- one move


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """Where Newton's method leads from a point."""

    step: Array  # (q,)
    gain: float  # that it promises
    is_top: bool  # whether all that is free bends downwards

    def target(self, problem: Problem, p: Array, reach: float) -> Array:
        """Where the step ends: at the first limit that it meets, or as far as it may reach."""
        low, high = problem.members.low, problem.members.high
        ahead, moving = np.where(self.step > 0, high, low), self.step != 0
        shares = np.where(moving, (ahead - p) / np.where(moving, self.step, 1.0), np.inf)
        share = min(1.0, float(shares.min()), reach / max(float(np.abs(self.step).max()), 1e-300))
        return np.where(shares <= share, ahead, np.clip(p + share * self.step, low, high))


def _moves(problem: Problem, points: Array, slopes: Array) -> list[_Move]:
    """A move from each of several points (g, q) with their slopes (g, q)."""
    members = problem.members
    limit = np.where(points == members.high, 1.0, np.where(points == members.low, -1.0, 0.0))
    free = (limit * slopes <= 0) & (members.high > members.low)
    H = _hessians(problem, points, slopes, free)
    return [_move(*one) for one in zip(slopes, H, limit, free, strict=True)]


def _move(g: Array, H: Array, limit: Array, free: NDArray[np.bool_]) -> _Move:
    """Uphill along every direction of curvature, as far as its size says; a step of Newton where all bend downwards.

    What would leave the box at once stays at its limit (1 or -1).
    """
    step, k = np.zeros(g.size), np.flatnonzero(free)
    bend, directions = np.linalg.eigh(H[np.ix_(k, k)])
    along = directions.T @ g[k]
    least = EVEN * max(np.abs(bend).max(initial=0.0), np.abs(along).max(initial=0.0))
    size = np.maximum(np.abs(bend), max(least, 1e-300))
    step[k] = directions @ (along / size)
    leaves = limit * step > 0
    if leaves.any():
        return _move(g, H, limit, free & ~leaves)
    return _Move(step, float((along**2 / size).sum() / 2), bool((bend < 0).all()))


def _hessians(problem: Problem, points: Array, slopes: Array, free: NDArray[np.bool_]) -> Array:
    """(g, q, q) second derivatives by the free coordinates of each point."""
    low, high = problem.members.low, problem.members.high
    aside = APART * (high - low) * np.where(points > (high + low) / 2, -1.0, 1.0)
    which, k = np.nonzero(free)
    H = np.zeros((*points.shape, points.shape[1]))
    if which.size:
        beside = points[which]
        beside[np.arange(which.size), k] += aside[which, k]
        change = problem.values_and_gradients(beside)[1] - slopes[which]
        H[which, k] = change / aside[which, k][:, None]
    return (H + H.transpose(0, 2, 1)) / 2
