"""Everyone's squared changes from moments of everyone, where people are too many to look at twice.

A change of prediction is a polynomial in a person's values, ``d(x) = sum_i b_i T_i(x)`` with T_i products of Chebyshev
polynomials over the box in which all people lie. A product of two of them is a mean of others,
``T_j T_k = (T_(j+k) + T_|j-k|) / 2``, so that everyone's squares add up to ``b' G b``, and G follows from sums of
single T over people, which are many fewer than its entries. The coefficients b follow from the changes of as many
made-up people, on a grid in the box: by changes at these, the squares are ``change' Q change``.

Over people in the box every T lies within -1 and 1. Where those in its corners, whom nobody resembles, would change
much more than people do, digits cancel: `lost` tells.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstress.claim.support import Support, change_support, grouping_columns
from fairstress.inputs.rows import BLOCK, Array, IntArray, Rows, distinct_columns, join
from fairstress.model.design import Design
from fairstress.model.predictor import AnyPredictor
from fairstress.model.view import Lens

MOST_SUMS = 12_000  # over people, for all of which a pass takes as long as a few values of CFU
MOST_VARIABLES = 8
MOST_GROUPS = 24  # that people are taken apart into; of more the protected attribute is a number like others
LARGEST = 1e6  # times which terms may exceed their sum: ten of sixteen digits are left
CANDIDATES = 2001  # numbers between -1 and 1 among which those of the grid are chosen
TOGETHER = 2048  # people, about, whose T are held at once


# ---------------------------------------------------------------- polynomials of one variable


def chebyshev(z: Array, degree: int) -> Array:
    """(degree + 1, r) polynomials at numbers z (r,)."""
    found, twice = np.empty((degree + 1, z.size)), 2 * z
    found[0], found[1:2] = 1.0, z
    for k in range(2, degree + 1):
        np.multiply(twice, found[k - 1], out=found[k])
        found[k] -= found[k - 2]
    return found


def leja(count: int) -> Array:
    """(count,) numbers between -1 and 1, each as far from those before it, by their product, as can be."""
    among, found = np.cos(np.linspace(0, np.pi, CANDIDATES)), [1.0]
    distance = np.zeros(CANDIDATES)
    while len(found) < count:
        with np.errstate(divide="ignore"):
            distance += np.log(np.abs(among - found[-1]))
        found.append(float(among[distance.argmax()]))
    return np.array(found)


# ---------------------------------------------------------------- where people are


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The least and the greatest values of some people; those of parts add up to those of the whole."""

    low: Array
    high: Array

    @classmethod
    def of(cls, rows: Rows) -> Ends:
        """Look at people in memory; nobody has none."""
        count = rows.x.shape[1] + 2
        if not rows.size:
            return cls(np.full(count, np.inf), np.full(count, -np.inf))
        columns = [variable(rows, k) for k in range(count)]
        return cls(np.array([column.min() for column in columns]), np.array([column.max() for column in columns]))

    def __add__(self, other: Ends) -> Ends:
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def variable(rows: Rows, k: int) -> Array:
    """A column by its place among a support's exponents: features, then the attribute in both worlds."""
    m = rows.x.shape[1]
    return rows.x[:, k] if k < m else (rows.a, rows.a_cf)[k - m]


def shared_values(rows: Rows, keys: Sequence[int]) -> Array:
    """(k, r) what people of one group share."""
    return np.array([variable(rows, k) for k in keys]).reshape(len(keys), rows.size)


Group = tuple[tuple[float, ...], IntArray]  # values that people share, and where they stand


def grouped(rows: Rows, design: Design) -> tuple[list[int], list[Group]] | None:
    """Take people apart by the protected attribute and by levels that equations look at, each a `variable`.

    An attribute with many values is a number like others: all are one group. None where that cannot be.
    """
    keys = [*(rows.x.shape[1] + i for i in (0, 1)), *grouping_columns(design)]
    given = [variable(rows, k) for k in keys]
    group = distinct_columns(given)[1]
    if int(group.max()) < MOST_GROUPS:
        places = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
        return keys, [(tuple(float(column[own[0]]) for column in given), own) for own in places]
    if len(keys) > 2 or any(equation.levels for equation in design.equations):
        return None
    return [], [((), np.arange(rows.size))]


# ---------------------------------------------------------------- moments


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Which products of Chebyshev polynomials are added up: all of the left ones' with all of the right ones'."""

    left: list[int]  # variables
    right: list[int]
    of_left: IntArray  # (u, p) degrees in all variables, 0 in those to the right
    of_right: IntArray  # (v, p)

    @classmethod
    def of(cls, exponents: IntArray) -> Sums:
        """Cover all products of two polynomials with these degrees (t, p), by as few as can be."""
        p = exponents.shape[1]
        wanted = np.unique((exponents[:, None] + exponents).reshape(-1, p), axis=0)
        halves = [list(some) for k in range(p // 2 + 1) for some in itertools.combinations(range(p), k)]
        return min((cls._split(wanted, half) for half in halves), key=lambda sums: sums.work)

    @classmethod
    def _split(cls, wanted: IntArray, left: list[int]) -> Sums:
        right = [k for k in range(wanted.shape[1]) if k not in left]
        parts = [np.where(np.isin(np.arange(wanted.shape[1]), side), wanted, 0) for side in (left, right)]
        of_left, of_right = (np.unique(part, axis=0) for part in parts)
        return cls(left, right, of_left, of_right)

    @property
    def count(self) -> int:
        """How many sums there are."""
        return len(self.of_left) * len(self.of_right)

    @property
    def work(self) -> int:
        """How long one person takes; to make a product takes some ten times as long as to add one up."""
        return self.count + 10 * (len(self.of_left) + len(self.of_right))

    def over(self, z: Sequence[Array], weight: Array) -> Array:
        """(u, v) sums over people with values z (p times (r,)), by weight."""
        total = np.zeros((len(self.of_left), len(self.of_right)))
        steps = max(1, round(weight.size / TOGETHER))
        for step in range(steps):
            some = slice(step * weight.size // steps, (step + 1) * weight.size // steps)
            own, w = [values[some] for values in z], weight[some]
            left = _products(own, self.left, self.of_left, w.size)
            right = _products(own, self.right, self.of_right, w.size)
            left = left if (w == 1).all() else left * w
            total += np.dot(left, right.T)
        return total

    def at(self, degrees: IntArray, total: Array) -> Array:
        """The sums of polynomials with some degrees (..., p)."""
        return np.asarray(total[_place(degrees, self.of_left, self.left), _place(degrees, self.of_right, self.right)])


def _products(z: Sequence[Array], which: Sequence[int], degrees: IntArray, r: int) -> Array:
    """(k, r) products of the polynomials of some variables, at r people."""
    tables = {k: chebyshev(z[k], int(degrees[:, k].max())) for k in which}
    if len(which) == 1 and np.array_equal(degrees[:, which[0]], np.arange(len(degrees))):
        return tables[which[0]]
    found = np.empty((len(degrees), r))
    for row, own in zip(found, degrees.tolist(), strict=True):
        factors = [tables[k][own[k]] for k in which if own[k]] or [1.0]
        np.multiply(factors[0], factors[1] if len(factors) > 1 else 1.0, out=row)
        for factor in factors[2:]:
            row *= factor
    return found


def _place(degrees: IntArray, known: IntArray, which: Sequence[int]) -> IntArray:
    """Where degrees stand among those known, as far as some variables go."""
    shape = known.max(axis=0) + 1
    place = np.zeros(int(np.prod(shape)), dtype=np.intp)
    place[np.ravel_multi_index(tuple(known.T), tuple(shape))] = np.arange(len(known))
    own = np.where(np.isin(np.arange(known.shape[1]), which), degrees, 0)
    return np.asarray(place[np.ravel_multi_index(tuple(np.moveaxis(own, -1, 0)), tuple(shape))])


# ---------------------------------------------------------------- the grid


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Made-up people in the box of everyone, from whose changes everyone's squares follow."""

    exponents: IntArray  # (t, p)
    columns: list[int]  # (p,) of `variable` that occur
    keys: list[int]  # of `variable`: what people of one group share
    groups: tuple[tuple[float, ...], ...]
    rows: Rows  # (g t,) the grid of each group

    @classmethod
    def of(
        cls, rows: Rows, design: Design, view: Lens, predictor: AnyPredictor, differing: frozenset[int]
    ) -> Grid | None:
        """Lay a grid for a claim, without looking at everyone; None where changes are no polynomials, or large ones."""
        taken_apart = grouped(rows, design)
        if taken_apart is None:
            return None
        keys, groups = taken_apart
        support = change_support(design, view, predictor, differing, rows.x.shape[1], grouped=bool(keys))
        return cls._on(support, rows, keys, groups) if support else None

    @classmethod
    def _on(cls, support: Support, rows: Rows, keys: list[int], groups: Sequence[Group]) -> Grid | None:
        exponents = np.array(sorted(support), dtype=np.intp)
        columns = np.flatnonzero(exponents.any(axis=0)).tolist()
        exponents = exponents[:, columns]
        if len(groups) * len(exponents) > BLOCK or len(columns) > MOST_VARIABLES:
            return None
        if not columns or Sums.of(exponents).count > MOST_SUMS:
            return None
        nodes = [rows.where(np.repeat(own[:1], len(exponents))) for _, own in groups]
        return cls(exponents, columns, keys, tuple(key for key, _ in groups), join(nodes))

    def weighing(self, rows: Rows) -> tuple[Rows, Array] | None:
        """The grid with what each of its people stands for, and Q (k, k); None where someone is of an unseen group."""
        box = _Box.around(rows.total(Ends.of), self.columns)
        sums, keys, groups = Sums.of(self.exponents), self.keys, self.groups  # what is sent to where people are
        unseen, *totals = rows.total(lambda block: _of_block(block, sums, box, keys, groups))
        return None if unseen else self._weighed(sums, totals, box)

    def _weighed(self, sums: Sums, totals: Sequence[Array], box: _Box) -> tuple[Rows, Array]:
        t, at = len(self.exponents), leja(int(self.exponents.max(initial=0)) + 1)
        z = at[self.exponents]  # (t, p)
        inverse = np.linalg.inv(_products(list(z.T), range(len(self.columns)), self.exponents, t).T)
        weight, cross = np.zeros(self.rows.size), np.zeros((self.rows.size, self.rows.size))
        for g, total in enumerate(totals):
            own = slice(g * t, (g + 1) * t)
            weight[own] = sums.at(self.exponents, total) @ inverse
            half = inverse.T @ _gram(sums, self.exponents, total) @ inverse
            cross[own, own] = (half + half.T) / 2
        values = np.tile(box.middle + box.half * z, (len(totals), 1))
        return self._laid(values, weight), cross

    def _laid(self, values: Array, weight: Array) -> Rows:
        """The grid's people with their values (k, p) of the columns that occur."""
        given = np.array([variable(self.rows, k) for k in range(self.rows.x.shape[1] + 2)])
        given[self.columns] = values.T
        nothing = np.zeros_like(weight)
        x = np.asfortranarray(given[:-2].T)
        return replace(self.rows, x=x, a=given[-2], a_cf=given[-1], weight=weight, y=nothing, y_square=nothing)


@dataclass(frozen=True, slots=True, eq=False)
class _Box:
    """What lies between the least and the greatest values of everyone."""

    columns: list[int]  # (p,) of `variable`
    middle: Array  # (p,)
    half: Array  # (p,)

    @classmethod
    def around(cls, ends: Ends, columns: list[int]) -> _Box:
        low, high = ends.low[columns], ends.high[columns]
        return cls(columns, (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0))

    def scaled(self, rows: Rows, places: Any) -> list[Array]:
        """(p times (r,)) values of some people between -1 and 1."""
        parts = zip(self.columns, self.middle, self.half, strict=True)
        return [(variable(rows, k)[places] - middle) / half for k, middle, half in parts]


def _of_block(
    block: Rows, sums: Sums, box: _Box, keys: Sequence[int], groups: Sequence[tuple[float, ...]]
) -> tuple[Any, ...]:
    """How many of some people are of an unseen group, and the sums over each group."""
    shared, unseen, totals = shared_values(block, keys), block.size, []
    for group in groups:
        own = np.flatnonzero((shared == np.array(group)[:, None]).all(axis=0)) if keys else slice(None)
        weight = block.weight[own]
        unseen -= weight.size
        totals.append(sums.over(box.scaled(block, own), weight))
    return unseen, *totals


def _gram(sums: Sums, exponents: IntArray, total: Array) -> Array:
    """(t, t) sums of products of two polynomials: the mean over all ways to add or to subtract their degrees."""
    first, second = exponents[:, None], exponents[None]
    ways = list(itertools.product((False, True), repeat=exponents.shape[1]))
    degrees = (np.where(np.array(way, dtype=bool), np.abs(first - second), first + second) for way in ways)
    return np.asarray(np.mean([sums.at(own, total) for own in degrees], axis=0))


def lost(change: Array, cross: Array) -> Any:
    """(...) whether terms of ``change' Q change`` (..., k) cancel so far that the sum has lost its digits."""
    size = np.abs(change)
    terms = np.einsum("...r,...r->...", size @ np.abs(cross), size)
    return terms > LARGEST * np.einsum("...r,...r->...", change @ cross, change)
