"""Ascents of many points side by side that end in corners of a budget's box.

Where the whole box, or a corner of it, lies within the set, CFU is often largest there: close to P = I it is convex.
From a point the corner that its slope points at is tried. A corner from which every pair's slope leads out of the box
is a maximum, and its ascent has ended; whatever does not end so is left to `climb`.
"""

from __future__ import annotations

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.model.fit import Mask
from fairstress.search.members import Members
from fairstress.search.problem import End, Problem

MOVES = 8  # from corner to corner
STEEP = 1e-3  # change of the value across the box, relative to itself, from which on a slope is sure to lead outwards
GAIN = 0.1  # of what a slope promises: the least that a move must bring


def to_corners(problem: Problem, starts: Array) -> list[tuple[Array, End | None]]:
    """Where each of several points (g, q) gets to, and the end of its ascent if it has ended there."""
    members = problem.members
    points, values, slopes = starts.copy(), np.zeros(len(starts)), np.zeros(starts.shape)
    going = _within(members, _corner(members, starts - members.centre(), starts))
    ended = np.zeros(len(starts), dtype=bool)
    if going.any():
        values[going], slopes[going] = problem.values_and_gradients(starts[going])
    for _ in range(MOVES):
        corner = _corner(members, slopes, points)
        there = (corner == points).all(axis=1)
        ended |= going & there & _leads_out(members, values, slopes)
        going &= ~there & _within(members, corner)
        if not going.any():
            break
        height, slope = _at_distinct(problem, corner[going])
        promised = (slopes * (corner - points)).sum(axis=1)[going]
        higher = height > values[going] + GAIN * promised
        going[going] = higher
        points[going], values[going], slopes[going] = corner[going], height[higher], slope[higher]
    ends = zip(points, values.tolist(), ended, strict=True)
    return [(p, (p, value, Status.CONVERGED) if end else None) for p, value, end in ends]


def _corner(members: Members, direction: Array, points: Array) -> Array:
    """The corners of the box in some directions (g, q); where one is 0, the point's own coordinate."""
    return np.where(direction > 0, members.high, np.where(direction < 0, members.low, points))


def _within(members: Members, corners: Array) -> Mask:
    return np.asarray(members.contains(corners, tolerance=0.0))


def _leads_out(members: Members, values: Array, slopes: Array) -> Mask:
    """Whether no pair's slope is so small that it may be rounding."""
    width = members.high - members.low
    return np.asarray(((np.abs(slopes) * width > STEEP * np.abs(values)[:, None]) | (width == 0)).all(axis=1))


def _at_distinct(problem: Problem, points: Array) -> tuple[Array, Array]:
    """Values and gradients at points that may repeat."""
    distinct, place = np.unique(points, axis=0, return_inverse=True)
    values, gradients = problem.values_and_gradients(distinct)
    return values[place.ravel()], gradients[place.ravel()]
