"""The sums of `fairstress.claim.chebyshev`, compiled by numba: a few people at a time, each product a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstress.bench import ROWS, add_tile, aligned, fast
from fairstress.claim.chebyshev import Laid, Steps
from fairstress.compiling import TILE
from fairstress.inputs.rows import Array, IntArray

Bytes = NDArray[np.uint8]


class People(NamedTuple):
    """A block of people, each variable's values side by side."""

    x: Array  # (m, r)
    a: Array  # (r,)
    a_cf: Array  # (r,)
    weight: Array  # (r,)


class Box(NamedTuple):
    """What everyone lies in, and how they are taken apart."""

    columns: IntArray  # (p,) of variables
    middle: Array  # (p,)
    scale: Array  # (p,) times which values are between -1 and 1
    keys: IntArray  # (k,) variables that people of one group share
    groups: Array  # (g, k) their values


@fast
def sums(laid: Laid, box: Box, people: People) -> tuple[int, Array]:
    """How many people are of no group, and sums over those of each, (g, left, right)."""
    left, right = laid.left, laid.right
    z, weight = aligned(box.columns.size), aligned(1)
    first, second = aligned(left.size), aligned(right.size)
    own, unseen = np.empty(people.a.size, np.intp), people.a.size
    total = np.zeros((len(box.groups), left.size, right.size))
    is_weighed = _is_weighed(people.weight)
    for g in range(len(box.groups)):
        count = _among(people, box.keys, box.groups[g], own)
        unseen -= count
        for start in range(0, count, ROWS):
            some = own[start : min(start + ROWS, count)]
            for i in range(box.columns.size):
                _take(_variable(people, box.columns[i]), some, box.middle[i], box.scale[i], z, i)
            _make(left, z, first)
            _make(right, z, second)
            if is_weighed or some.size < ROWS:
                _take(people.weight, some, 0.0, 1.0, weight, 0)
                _weigh(first, weight)
            _add(first, second, laid.counts, total[g])
    return unseen, total


# ---------------------------------------------------------------- people


@fast
def _variable(people: People, k: int) -> Array:
    """(r,) a column by its place: features, then the attribute in both worlds."""
    m = len(people.x)
    return people.x[k] if k < m else people.a if k == m else people.a_cf


@fast
def _is_weighed(weight: Array) -> bool:
    """Whether people count differently."""
    differ = 0
    for r in range(weight.size):
        differ += weight[r] != 1.0
    return differ > 0


@fast
def _among(people: People, keys: IntArray, group: Array, own: IntArray) -> int:
    """Write down who is of a group, and say how many."""
    belongs, count = np.ones(own.size, np.uint8), 0
    for i in range(keys.size):
        _compare(_variable(people, keys[i]), group[i], belongs)
    for r in range(own.size):  # whoever does not belong is written over
        own[count] = r
        count += int(belongs[r])
    return count


@fast
def _compare(values: Array, value: float, belongs: Bytes) -> None:
    for r in range(values.size):
        belongs[r] &= values[r] == value


@fast
def _take(values: Array, own: IntArray, middle: float, scale: float, found: Array, i: int) -> None:
    """Take some people's values, between -1 and 1, or their weights; nobody's is 0."""
    for r in range(own.size):
        found[i, r] = (values[own[r]] - middle) * scale
    for r in range(own.size, ROWS):
        found[i, r] = 0.0


# ---------------------------------------------------------------- products


@fast
def _make(made: Steps, z: Array, found: Array) -> None:
    """Fill rows with products."""
    climbs, steps = made.climbs, made.steps
    found[made.one] = 1.0
    for i in range(len(climbs)):
        if climbs[i, 2] == made.one:
            _copy(z, climbs[i, 0], found, climbs[i, 1])
        else:
            _climb(z, climbs[i, 0], found, climbs[i, 1], climbs[i, 2], climbs[i, 3])
    for i in range(len(steps)):
        _multiply(found, steps[i, 0], steps[i, 1], steps[i, 2])


@fast
def _copy(z: Array, k: int, found: Array, own: int) -> None:
    for r in range(ROWS):
        found[own, r] = z[k, r]


@fast
def _climb(z: Array, k: int, found: Array, own: int, less: int, least: int) -> None:
    for r in range(ROWS):
        found[own, r] = 2.0 * z[k, r] * found[less, r] - found[least, r]


@fast
def _multiply(found: Array, own: int, first: int, second: int) -> None:
    for r in range(ROWS):
        found[own, r] = found[first, r] * found[second, r]


@fast
def _weigh(rows: Array, weight: Array) -> None:
    for i in range(len(rows)):
        for r in range(ROWS):
            rows[i, r] *= weight[0, r]


# ---------------------------------------------------------------- sums


@fast
def _add(left: Array, right: Array, counts: IntArray, total: Array) -> None:
    """Add up products of two, tile by tile, each left one with as many right ones as are wanted."""
    for i in range(counts.size):
        for j in range(0, counts[i], TILE):
            add_tile(left, TILE * i, right, j, total)
