"""Ascents of many points side by side that end in corners of a budget's set.

CFU is often largest in a corner of the box or, where that lies outside the set, where an edge of the box meets the
eigenvalue floor: close to P = I it is convex. From a point the corner that its slope points at is tried. Where the
slope leads out of the set in whatever direction, the ascent has ended; one that does not end so is left to others.
A box of one cause's loadings has corners, too, and no floor.
"""

from __future__ import annotations

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.search.members import Members
from fairstress.search.problem import End, Problem
from fairstress.search.sets import SLACK, CorrelationSet

MOVES = 8  # from corner to corner
FLAT = 1e-7  # change of the value across the box, relative to itself, that is not worth going on for
GAIN = 0.1  # of what a slope promises: the least that a move must bring
APART = 1e-3  # of the two smallest eigenvalues, from which on the floor is smooth


def to_corners(problem: Problem, starts: Array) -> list[tuple[Array, End | None]]:
    """Where each of several points (g, q) gets to, and the end of its ascent if it has ended there."""
    members = problem.members
    points, values, slopes = starts.copy(), np.zeros(len(starts)), np.zeros(starts.shape)
    ended = np.zeros(len(starts), dtype=bool)
    going = np.array([corner(members, p - members.centre()) is not None for p in starts])
    if going.any():
        values[going], slopes[going], _ = problem.values_and_gradients(starts[going])
    for _ in range(MOVES):
        target = points.copy()
        for i in np.flatnonzero(going):
            # a number that no correlation moves, as an effect along no path, has nowhere to climb
            ended[i] = not slopes[i].any() or leads_out(members, points[i], slopes[i], float(values[i]))
            ahead = None if ended[i] else corner(members, slopes[i])
            target[i] = points[i] if ahead is None else ahead
        promised = (slopes * (target - points)).sum(axis=1)
        going &= promised > 0
        if not going.any():
            break
        height, slope = _at_distinct(problem, target[going])
        higher = height > (values + GAIN * promised)[going]
        going[going] = higher
        points[going], values[going], slopes[going] = target[going], height[higher], slope[higher]
    ends = zip(points, values.tolist(), ended, strict=True)
    return [(p, (p, value, Status.CONVERGED) if end else None) for p, value, end in ends]


def corner(members: Members, direction: Array) -> Array | None:
    """The corner of the set in a direction (q,): of its box or, outside the set, on the edge that goes furthest."""
    p = np.where(direction > 0, members.high, np.where(direction < 0, members.low, members.centre()))
    if not isinstance(members, CorrelationSet) or members.smallest_eigenvalue(p) >= members.floor + SLACK:
        return np.asarray(p)
    key = p.tobytes()
    if key not in members.edges:
        members.edges[key] = tuple(edge for k in range(p.size) if (edge := _on_edge(members, p, k)) is not None)
    return max(members.edges[key], key=lambda edge: float(direction @ edge), default=None)


def _on_edge(members: CorrelationSet, p: Array, k: int) -> Array | None:
    """Where the edge along pair k that starts in a corner of the box enters the set.

    With the other variables eliminated, ``P - floor I`` leaves ``[[a, b + p], [b + p, d]]``, which is definite for
    ``(b + p)^2 < a d``.
    """
    own, at = list(members.pairs[k]), p.copy()
    at[k] = 0.0
    M = members.matrix(at) - (members.floor + 2 * SLACK) * np.eye(members.size)
    others = [j for j in range(members.size) if j not in own]
    rest = M[np.ix_(others, others)]
    if others and np.linalg.eigvalsh(rest)[0] <= SLACK:
        return None
    across = M[np.ix_(others, own)]
    (a, b), (_, d) = M[np.ix_(own, own)] - across.T @ np.linalg.solve(rest, across)
    if min(a, d) <= 0:
        return None
    half = np.sqrt(a * d)
    at[k] = np.clip(p[k], -b - half, -b + half)
    inside = members.low[k] <= at[k] <= members.high[k]
    return at if inside and members.smallest_eigenvalue(at) >= members.floor + SLACK else None


def leads_out(members: Members, p: Array, slope: Array, value: float) -> bool:
    """Whether a point is a corner of the set from which every direction within the set leads downhill.

    In a corner of the box all slopes point out of it. On an edge along pair k they do so but for a multiple of the
    floor's normal n, ``slope - (slope_k / n_k) n``. The set lies within the planes that touch it there.
    """
    width = members.high - members.low
    out = np.where(p == members.high, 1.0, np.where(p == members.low, -1.0, 0.0))
    free = np.flatnonzero((out == 0.0) & (width > 0))
    if free.size > 1:
        return False
    if free.size:
        normal = _normal_of_floor(members, p) if isinstance(members, CorrelationSet) else None
        k = int(free[0])
        if normal is None or normal[k] * slope[k] <= 0:
            return False
        out[k] = np.sign(slope[k])
        slope = np.where(np.arange(p.size) == k, slope, slope - slope[k] / normal[k] * normal)
    return bool((out * slope * width >= -FLAT * abs(value)).all())


def _normal_of_floor(members: CorrelationSet, p: Array) -> Array | None:
    """(q,) how the smallest eigenvalue falls with each pair, if it lies at the floor and is the only one there."""
    values, vectors = np.linalg.eigh(members.matrix(p))
    if values[0] > members.floor + 1e3 * SLACK or values[1] - values[0] < APART:
        return None
    return -2 * members.point(np.outer(vectors[:, 0], vectors[:, 0]))


def _at_distinct(problem: Problem, points: Array) -> tuple[Array, Array]:
    """Values and gradients at points that may repeat."""
    distinct, place = np.unique(points, axis=0, return_inverse=True)
    values, gradients, _ = problem.values_and_gradients(distinct)
    return values[place.ravel()], gradients[place.ravel()]
