"""Sums over people of products of two numbers each, a few columns and some hundred people at a time.

OpenBLAS copies what it multiplies into an order of its own, unless it is little: of few columns and many people this
takes as long as the sums themselves.
"""

from __future__ import annotations

import numpy as np

from fairstress.inputs.rows import Array

STRIP = 8  # columns that are multiplied with others at once
PIECE = 512  # people whose products are added up at once
SMALL = 10**6  # multiplications up to which nothing is copied
MANY = 2**13  # people from which on it pays


def across(left: Array, right: Array) -> Array:
    """(u, v) ``left @ right.T`` of columns (u, r) and (v, r), u and v not large."""
    r = left.shape[1]
    piece = max(1, min(PIECE, SMALL // (len(left) * len(right))))
    whole = r - r % piece
    pieces = [own[:, :whole].reshape(len(own), -1, piece).transpose(1, 0, 2) for own in (left, right)]
    total = (pieces[0] @ pieces[1].transpose(0, 2, 1)).sum(axis=0)
    return np.asarray(total if whole == r else total + np.dot(left[:, whole:], right[:, whole:].T))


def gram(columns: Array, weight: Array) -> Array:
    """(d, d) ``sum w z z'`` of columns (d, r); one half is worked out, by `np.dot` where all weights are 1, too.

    Not by ``@``: where the result is small, it would keep other threads from working.
    """
    left = columns if (weight == 1).all() else columns * weight
    if columns.shape[1] < MANY or columns.strides[1] != columns.itemsize:
        return np.asarray(np.dot(left, columns.T))
    total = np.empty((len(columns), len(columns)))
    for start in range(0, len(columns), STRIP):
        strip, so_far = slice(start, start + STRIP), slice(start + STRIP)
        total[strip, so_far] = across(left[strip], columns[so_far])
    return np.tril(total) + np.tril(total, -1).T
