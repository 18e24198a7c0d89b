"""What compiled code of all rooms shares: a few people's numbers at a time, which stay in a core's own cache, and sums.

Each kind of number is a row. Rows begin where a line of the cache does, and not a power of two apart, which would let
them push each other out. Importing this takes numba, and time. Loops over people stand in functions of a few matrices:
to hand on a whole record, or to take a row out of a matrix, takes as long as such a loop.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROWS = 256  # people who are worked on at once; the last ones are filled up with nobody
GAP = 8  # numbers between two rows
LINE = 64  # bytes

fast = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
# over people in any order, but always the same: blocks are, on any number of threads
fast_sum = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@fast
def aligned(count: int) -> Array:
    """(count, ROWS + GAP) zeros, each row of which begins where a line of the cache does."""
    length = ROWS + GAP
    found = np.zeros(count * length + LINE // 8)
    start = (-found.ctypes.data % LINE) // 8
    return found[start : start + count * length].reshape(count, length)


@fast
def put(values: Array, found: Array, i: int) -> None:
    """Put some people's values into a row; nobody's are 0.

    They are cut out before: an index that begins anywhere might be negative, and would be looked at one by one.
    """
    for r in range(values.size):
        found[i, r] = values[r]
    for r in range(values.size, ROWS):
        found[i, r] = 0.0


@fast_sum
def add_tile(left: Array, i: int, right: Array, j: int, total: Array) -> None:
    """Add up products of four rows with four, over people: sixteen sums that stay in registers, for each has a name."""
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


@fast_sum
def add_products(left: Array, i: int, right: Array, j: int, total: Array) -> None:
    """The same of one row with four."""
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for r in range(ROWS):
        t0 += left[i, r] * right[j, r]
        t1 += left[i, r] * right[j + 1, r]
        t2 += left[i, r] * right[j + 2, r]
        t3 += left[i, r] * right[j + 3, r]
    total[j] += t0
    total[j + 1] += t1
    total[j + 2] += t2
    total[j + 3] += t3
