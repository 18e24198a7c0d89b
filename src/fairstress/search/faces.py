"""Ascents of many points side by side that end in faces of a box: some coordinates at their limits, others between.

Newton's method in the coordinates that are free. Hessians are differences of exact gradients, which are asked for side
by side, as the points that ascents try are: many at once cost little more than one. What a move shows of the curvature
corrects them by the symmetric update of rank one, so that each is made once. Where an ascent meets the eigenvalue
floor, or does not settle on a maximum, it is left to `climb`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairstress.errors import Status
from fairstress.inputs.rows import Array, IntArray
from fairstress.search.problem import End, Problem
from fairstress.search.sets import CorrelationSet

MOVES = 12
APART = 1e-3  # of the box's width: how far apart the gradients are whose difference gives a curvature
REACH = 0.25  # the longest move of a correlation or loading at first
LONGER, SHORTER = 2, 4  # times as long, or as short: the next move after one that led uphill, or downhill
FLAT = 1e-6  # of the precision that is asked for: a gain that is not worth a move, Newton's last ones being so large
NEAR = 0.05  # of the box's width: an ascent that comes as near to a higher one goes on as that one
INWARDS = 0.02  # of the way to the centre: where an ascent from the eigenvalue floor sets out
EVEN = 1e-12  # of the largest curvature or slope: a curvature below this is none
FAINT = 1e-8  # of the largest that it can be: a part of what a step shows that corrects nothing
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
    H: Array  # (g, q, q) second derivatives by the coordinates for which they are known
    known: NDArray[np.bool_]  # (g, q)
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
    points, inwards, (g, q) = starts.copy(), problem.members.centre() - starts, starts.shape
    values, slopes = problem.values_and_gradients(starts)
    clear = np.array([_is_clear(problem, p) for p in starts])
    leave = ~clear & ((slopes * inwards).sum(axis=1) > 0)
    points[leave] += INWARDS * inwards[leave]
    if leave.any():
        values[leave], slopes[leave] = problem.values_and_gradients(points[leave])
    going = clear | (leave & [_is_clear(problem, p) for p in points])
    return _Ascents(
        points,
        values,
        slopes,
        going,
        ended=np.zeros(g, dtype=bool),
        reach=np.full(g, REACH),
        H=np.zeros((g, q, q)),
        known=np.zeros((g, q), dtype=bool),
        joined=np.arange(g),
    )


def _is_clear(problem: Problem, p: Array) -> bool:
    """Whether a point lies so far above the eigenvalue floor that gradients can be taken all around it."""
    members = problem.members
    if not isinstance(members, CorrelationSet):  # whose box is all that limits it
        return True
    room = 2 * APART * float((members.high - members.low).max())
    return bool(members.smallest_eigenvalue(p) >= members.floor + room)


def _targets(problem: Problem, all_: _Ascents) -> Array:
    """(g, q) where each ascent that goes on moves next; one from which there is nothing to gain has ended."""
    low, high, target = problem.members.low, problem.members.high, all_.points.copy()
    limit = np.where(all_.points == high, 1.0, np.where(all_.points == low, -1.0, 0.0))
    free = (limit * all_.slopes <= 0) & (high > low) & all_.going[:, None]
    _look_aside(problem, all_, free & ~all_.known)
    for i in np.flatnonzero(all_.going):
        move = _move(all_.slopes[i], all_.H[i], limit[i], free[i])
        all_.ended[i] = move.is_top and move.gain <= FLAT * problem.precision * abs(all_.values[i])
        target[i] = move.target(problem, all_.points[i], float(all_.reach[i]))
    return target


def _look_aside(problem: Problem, all_: _Ascents, wanted: NDArray[np.bool_]) -> None:
    """Find the second derivatives by some coordinates (g, q) from gradients a little aside."""
    low, high = problem.members.low, problem.members.high
    which, k = np.nonzero(wanted)
    if not which.size:
        return
    beside = all_.points[which]
    aside = APART * (high - low)[k] * np.where(beside[np.arange(k.size), k] > (high + low)[k] / 2, -1.0, 1.0)
    beside[np.arange(k.size), k] += aside
    rows = (problem.values_and_gradients(beside)[1] - all_.slopes[which]) / aside[:, None]
    for i, j, row in zip(which, k, rows, strict=True):
        all_.H[i, j], all_.H[i, :, j] = row, row
    all_.known |= wanted


def _move_to(problem: Problem, all_: _Ascents, target: Array, promised: Array) -> None:
    """Move the ascents that go on to their targets; one that would not gain by it stays, and moves less far next."""
    where = np.flatnonzero(all_.going)
    values, slopes = problem.values_and_gradients(target[where])
    moved = target[where] - all_.points[where]
    for i, value, slope, move in zip(where, values, slopes, moved, strict=True):
        length = float(np.abs(move).max())
        if value < all_.values[i] + GAIN * promised[i]:
            all_.reach[i], all_.known[i] = length / SHORTER, False
            continue
        all_.reach[i] = max(all_.reach[i], LONGER * length)
        all_.H[i] = _corrected(all_.H[i], move, slope - all_.slopes[i])
        all_.points[i], all_.values[i], all_.slopes[i] = target[i], value, slope


def _corrected(H: Array, step: Array, change: Array) -> Array:
    """The matrix nearest to H in rank that gives the change of slopes along a step."""
    missed = change - H @ step
    along = float(missed @ step)
    if abs(along) <= FAINT * float(np.linalg.norm(missed) * np.linalg.norm(step)):
        return H
    return np.asarray(H + np.outer(missed, missed) / along)


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
