"""The worst case of a functional whose values take long to find, as where people have several worlds.

Values at some correlations are found first. A smooth surface through all of them, of cubic radial basis functions, says
where the functional should be largest; it is asked there, the surface is drawn anew, and so on until both agree. Values
of one question serve all its budgets: a curve is explored within its largest one first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array, IntArray
from fairstress.search.known import Known
from fairstress.search.members import Members
from fairstress.search.problem import End, Problem

ALL_SIGNS = 4  # up to this many pairs every sign pattern is asked
TOPS = 2  # highest points of the surface that are asked in one round
LOOKS = 256  # points at which the surface is looked at
SAME = 1e-3  # of the width of the box: points nearer than this are one
MISSED = 1e-6  # of the values' range: a surface that misses a known one by more is none
CLOSE = 5e-3  # of the value: a surface that says no more than this is right
APART = 0.1  # of that width: points farther apart than this are on different hills
FIRST, ROUNDS = 0.1, 6  # of a climb on the surface: how far it first looks, as a share of the box, and how often


def ask(problem: Problem, points: Sequence[Array], *, led: bool = False) -> None:
    """Find the values at those points that are not known yet, side by side."""
    known, new = problem.known, list[Array]()
    for p in points:
        if not any(np.abs(p - other).max() <= 1e-9 for other in (*known.points, *new)):
            new.append(p)
    if new:
        known.values += problem.values(np.array(new)).tolist()
        known.points += new
        known.led += [led] * len(new)


def explore(problem: Problem, rng: np.random.Generator, *, all_over: bool = True) -> None:
    """Ask at the centre, in the corners and along the axes; ``all_over``: in between, too."""
    members = problem.members
    low, high, centre = members.low, members.high, members.project(members.centre())
    free = np.flatnonzero(high > low)
    axes = [members.project(np.where(np.arange(low.size) == j, end, centre)) for j in free for end in (low, high)]
    between = members.scan(2 * free.size, rng) if free.size > 1 else members.low + np.outer([0.25, 0.75], high - low)
    corners = members.extremes(_signs(free, low.size, rng))
    ask(problem, [centre, *corners, *axes, *between] if all_over else [centre, *corners, *axes])
    problem.known.explored.append((low, high))


def _signs(free: IntArray, q: int, rng: np.random.Generator) -> Array:
    """Sign patterns of the free pairs: all of few, some of many."""
    signs = np.ones((2 ** min(free.size, ALL_SIGNS), q))
    few = free.size <= ALL_SIGNS
    chosen = list(itertools.product([-1.0, 1.0], repeat=free.size)) if few else rng.choice([-1.0, 1.0], (16, free.size))
    signs[:, free] = chosen
    return signs


def climb_surface(problem: Problem, inherited: Sequence[Array], rng: np.random.Generator) -> list[End]:
    """Ask where the surface is highest until it tells nothing new; give the points that it led to in the set."""
    members, known = problem.members, problem.known
    if not known.covers(members):
        explore(problem, rng)
    ask(problem, [members.project(p) for p in inherited])
    for _ in range(max(2, problem.starts // 2)):
        points, values, _ = known.within(members)
        best = float(values.max())
        if best <= problem.negligible:
            break
        surface = _surface(known)
        new = [p for p in _tops(problem, surface, points, values, rng) if _is_new(p, points, members)]
        if not new:
            break
        expected, before = surface(np.array(new)), len(known.values)
        ask(problem, new, led=True)
        found = np.array(known.values[before:])
        if found.max() <= best + CLOSE * abs(best) and np.abs(expected - found).max() <= CLOSE * abs(best):
            break
    points, values, led = known.within(members)
    return [(p, float(value), Status.CONVERGED) for p, value, own in zip(points, values, led, strict=True) if own]


def _is_new(p: Array, points: Array, members: Members) -> bool:
    """Whether a point is apart from those that are known."""
    return bool(np.abs(points - p).max(axis=1).min() > SAME * float((members.high - members.low).max()))


# ---------------------------------------------------------------- the surface


def _surface(known: Known) -> Callable[[Array], Array]:
    """A smooth function through all values that are known; where none goes through them, the nearest one's."""
    from scipy.interpolate import RBFInterpolator  # takes long to import, and only searches need it

    points, values = np.array(known.points), np.array(known.values)
    spanned = _directions(points)
    at, q = points @ spanned, spanned.shape[1]
    for degree, least in ((2, (q + 1) * (q + 2)), (1, q + 2)):
        if len(points) >= least:
            try:
                through = RBFInterpolator(at, values, kernel="cubic", degree=degree)
            except np.linalg.LinAlgError:  # the points lie on a plane, or on a curve of that degree
                continue
            if np.abs(through(at) - values).max() <= MISSED * np.ptp(values):  # or nearly do, and rounding hides it
                return lambda p: np.asarray(through(p @ spanned))
    return lambda p: values[np.abs(p[:, None] - points).sum(axis=2).argmin(axis=1)]


def _directions(points: Array) -> Array:
    """(q, k) the directions in which points differ: along axes, or fewer where they nearly lie on a line or a plane."""
    axes = np.eye(points.shape[1])[:, np.ptp(points, axis=0) > 0]
    _, _, principal = np.linalg.svd((points - points.mean(axis=0)) @ axes, full_matrices=False)
    width = np.ptp(points @ axes @ principal.T, axis=0)
    differ = width > SAME * width.max(initial=0.0)
    return axes if differ.sum() == axes.shape[1] else axes @ principal[differ].T


def _tops(
    problem: Problem, surface: Callable[[Array], Array], points: Array, values: Array, rng: np.random.Generator
) -> list[Array]:
    """The highest points of the surface within the set that are apart from each other."""
    members = problem.members
    looked = np.concatenate([points, members.scan(LOOKS, rng)])
    heights = np.concatenate([values, surface(looked[len(points) :])])
    ends: list[tuple[Array, float]] = []
    for i in _apart(looked, heights, members, 2 * TOPS):
        ends.append(_higher(members, surface, looked[i], float(heights[i]), rng))
    ended, height = np.array([p for p, _ in ends]), np.array([h for _, h in ends])
    return [ended[i] for i in _apart(ended, height, members, TOPS)]


def _higher(
    members: Members, surface: Callable[[Array], Array], p: Array, height: float, rng: np.random.Generator
) -> tuple[Array, float]:
    """Go uphill on the surface: to the best of many points around, ever nearer, as far as they belong to the set."""
    width = members.high - members.low
    for reach in FIRST * 0.4 ** np.arange(ROUNDS):
        around = np.clip(p + reach * width * rng.standard_normal((LOOKS, p.size)), members.low, members.high)
        around = around[members.contains(around)]
        heights = surface(around) if len(around) else np.array([-np.inf])
        if heights.max() > height:
            p, height = around[int(heights.argmax())], float(heights.max())
    return p, height


def _apart(points: Array, heights: Array, members: Members, count: int) -> list[int]:
    """The highest points that are not close to a higher one."""
    distance, chosen = APART * float((members.high - members.low).max()), list[int]()
    for i in np.argsort(-heights, kind="stable"):
        if len(chosen) < count and all(np.abs(points[i] - points[j]).max() > distance for j in chosen):
            chosen.append(int(i))
    return chosen
