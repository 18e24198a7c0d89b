"""Boosted trees: how well levels are told from columns of numbers by a classifier that has not seen the people.

The gradient boosting of Friedman (2001) with what XGBoost and LightGBM have added: values are sorted into bins by their
quantiles, and a tree splits first the leaf from whose split a quadratic model of the loss falls most, ``G^2 / H``
summed over its two sides, G and H sums of the loss's first and second derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray

TREES = 40  # one after the other, for each level one
LEAVES, BINS = 8, 64  # of a tree, and of values that it tells apart
RATE = 0.1  # of what a tree says that is believed
FEWEST = 20  # people of a leaf
LEAST = 1e-3  # second derivative of a leaf
TINY = 1e-15


def probabilities(E: Array, kind: IntArray, weight: Array, train: IntArray, test: IntArray) -> Array:
    """(test, K) how probable each of K kinds is for some people, learnt from others; of two, (test, 1), the second.

    Parameters
    ----------
    E
        (n, d) what is known of all people.
    kind
        (n,) of each, from 0 to K - 1.
    weight
        (n,) of each.
    train, test
        Positions of those who are learnt from, and of those who are judged.
    """
    order, n = np.concatenate([train, test]), train.size
    bins = np.column_stack([_binned(column[order], weight[train], n) for column in E.T])
    cells, cell = _distinct(bins, n)
    is_kind = (kind[train][:, None] == np.arange(1 + kind.max())).astype(float)
    is_kind = is_kind[:, 1:] if is_kind.shape[1] == 2 else is_kind
    w, count = np.bincount(cell[:n], weight[train]), np.bincount(cell[:n])
    y = np.column_stack([np.bincount(cell[:n], weight[train] * own) for own in is_kind.T])
    scores = np.tile(_log_odds(y.sum(axis=0) / w.sum()), (len(cells), 1))
    for _ in range(TREES):
        p = _linked(scores[: w.size])
        for k, (g, h) in enumerate(zip((w[:, None] * p - y).T, (w[:, None] * p * (1 - p)).T, strict=True)):
            scores[:, k] += RATE * _tree(cells, g, h, count)
    return _linked(scores[cell[n:]])


def _distinct(bins: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Distinct rows (c, d) of bins, those of the first n people before others, and (people,) the row of each."""
    cells, first, cell = np.unique(bins, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return cells[order] + BINS * np.arange(bins.shape[1]), place[cell.ravel()]


def _linked(scores: Array) -> Array:
    """Probabilities of scores: logistic of one column, of several their share of all."""
    return np.asarray(special.expit(scores) if scores.shape[1] == 1 else special.softmax(scores, axis=1))


def _log_odds(share: Array) -> Array:
    """Scores that give everyone the same probabilities."""
    return np.asarray(special.logit(share) if share.size == 1 else np.log(share))


def _binned(x: Array, weight: Array, n: int) -> IntArray:
    """The bin of each value, by quantiles of the first n, or one for each distinct value where these are few."""
    known = np.unique(x[:n])
    if known.size <= BINS:
        return np.searchsorted((known[1:] + known[:-1]) / 2, x)
    order = np.argsort(x[:n], kind="stable")
    below, sorted_x = np.cumsum(weight[order]), x[:n][order]
    wanted = below[-1] * np.arange(1, BINS) / BINS
    first, last = (np.minimum(np.searchsorted(below, wanted, side), n - 1) for side in ("left", "right"))
    return np.searchsorted(np.unique((sorted_x[first] + sorted_x[last]) / 2), x)


# ---------------------------------------------------------------- one tree


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    """Cells that are treated alike, and how they would best be told apart."""

    cells: IntArray  # ascending: those of people who are learnt from stand first
    sums: Array  # (3, d, BINS) of derivatives and people in each bin
    value: float
    gain: float  # of the best split; 0 where there is none
    column: int  # by which it splits
    bin: int  # up to which cells go to the left
    values: tuple[float, float]  # of the two sides


def _tree(cells: IntArray, g: Array, h: Array, count: IntArray) -> Array:
    """(c,) what a tree says of each cell, learnt from the first of them, whose derivatives and people are known."""
    every = np.arange(len(cells))
    leaves, said = [_leaf(every, _sums(cells, every, g, h, count), 0.0)], np.zeros(len(cells))
    for left in range(LEAVES - 2, -1, -1):  # splits that are left after the next
        best = max(leaves, key=lambda leaf: leaf.gain)
        if best.gain <= 0:
            break
        leaves.remove(best)
        is_left = cells[best.cells, best.column] <= best.bin
        sides = best.cells[is_left], best.cells[~is_left]
        for side, value in zip(sides, best.values, strict=True):
            said[side] = value
        if left:
            small = int(sides[1].size <= sides[0].size)
            sums = _sums(cells, sides[small], g, h, count)
            both = (best.sums - sums, sums) if small else (sums, best.sums - sums)
            leaves += map(_leaf, sides, both, best.values)
    return said


def _sums(cells: IntArray, which: IntArray, g: Array, h: Array, count: IntArray) -> Array:
    """(3, d, BINS) sums of g and h and numbers of people in each bin of each column."""
    known, d = which[: np.searchsorted(which, g.size)], cells.shape[1]
    place = cells[known].ravel()
    return np.array([np.bincount(place, np.repeat(w[known], d), BINS * d) for w in (g, h, count)]).reshape(3, d, BINS)


def _leaf(cells: IntArray, sums: Array, value: float) -> _Leaf:
    """A leaf with the best split that leaves enough people on both sides."""
    left = sums.cumsum(axis=2)
    whole = left[:, :1, -1:]
    left = left[:, :, :-1]
    sides = np.stack([left, whole - left], axis=1)  # (3, 2, d, BINS - 1)
    values = -sides[0] / (sides[1] + TINY)
    allowed = ((sides[1] >= LEAST) & (sides[2] >= FEWEST)).all(axis=0)
    gain = np.where(allowed, value * whole[0] - (sides[0] * values).sum(axis=0), 0.0)
    column, last = divmod(int(gain.argmax()), BINS - 1)
    ahead = float(values[0, column, last]), float(values[1, column, last])
    return _Leaf(cells, sums, value, float(gain[column, last]), column, last + BINS * column, ahead)
