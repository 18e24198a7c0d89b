"""The sums of `fairstress.claim.chebyshev`, compiled by numba: a few people at a time, who stay in a core's own cache.

Each product is a row of their numbers. Rows begin where a line of the cache does, and not a power of two apart, which
would let them push each other out. Importing this takes numba, and time. Loops over people stand in functions of a few
matrices: to hand on a whole record, or to take a row out of a matrix, takes as long as such a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from fairstress.claim.chebyshev import TILE, Laid, Steps
from fairstress.inputs.rows import Array, IntArray

Bytes = NDArray[np.uint8]

ROWS = 256  # people who are worked on at once; the last ones are filled up with nobody
GAP = 8  # numbers between two rows
LINE = 64  # bytes

fast = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
# over people in any order, but always the same: blocks are, on any number of threads
fast_sum = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


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


@fast
def aligned(count: int) -> Array:
    """(count, ROWS + GAP) zeros, each row of which begins where a line of the cache does."""
    length = ROWS + GAP
    found = np.zeros(count * length + LINE // 8)
    start = (-found.ctypes.data % LINE) // 8
    return found[start : start + count * length].reshape(count, length)


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
            _add_tile(left, TILE * i, right, j, total)


@fast_sum
def _add_tile(left: Array, i: int, right: Array, j: int, total: Array) -> None:
    """Four rows times four, over people: sixteen sums that stay in registers, since each has a name."""
    t00, t01, t02, t03 = 0.0, 0.0, 0.0, 0.0
    t10, t11, t12, t13 = 0.0, 0.0, 0.0, 0.0
    t20, t21, t22, t23 = 0.0, 0.0, 0.0, 0.0
    t30, t31, t32, t33 = 0.0, 0.0, 0.0, 0.0
    for r in range(ROWS):
        l0, l1, l2, l3 = left[i, r], left[i + 1, r], left[i + 2, r], left[i + 3, r]
        r0, r1, r2, r3 = right[j, r], right[j + 1, r], right[j + 2, r], right[j + 3, r]
        t00 += l0 * r0
        t01 += l0 * r1
        t02 += l0 * r2
        t03 += l0 * r3
        t10 += l1 * r0
        t11 += l1 * r1
        t12 += l1 * r2
        t13 += l1 * r3
        t20 += l2 * r0
        t21 += l2 * r1
        t22 += l2 * r2
        t23 += l2 * r3
        t30 += l3 * r0
        t31 += l3 * r1
        t32 += l3 * r2
        t33 += l3 * r3
    _write(total, i, j, t00, t01, t02, t03)
    _write(total, i + 1, j, t10, t11, t12, t13)
    _write(total, i + 2, j, t20, t21, t22, t23)
    _write(total, i + 3, j, t30, t31, t32, t33)


@fast
def _write(total: Array, i: int, j: int, t0: float, t1: float, t2: float, t3: float) -> None:
    total[i, j] += t0
    total[i, j + 1] += t1
    total[i, j + 2] += t2
    total[i, j + 3] += t3
