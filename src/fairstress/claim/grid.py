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
from functools import reduce
from typing import Any

import numpy as np

from fairstress.claim.chebyshev import Laid, Products, Sums
from fairstress.claim.support import Support, change_support, grouping_columns
from fairstress.compiling import is_wanted, load
from fairstress.inputs.rows import BLOCK, Array, Ends, IntArray, Rows, distinct_columns, join
from fairstress.model.design import Design
from fairstress.model.predictor import AnyPredictor
from fairstress.model.view import Lens

MOST_SUMS = 12_000  # over people, for all of which a pass takes as long as a few values of CFU
MOST_VARIABLES = 8
MOST_GROUPS = 24  # that people are taken apart into; of more the protected attribute is a number like others
LARGEST = 1e6  # times which terms may exceed their sum: ten of sixteen digits are left
CANDIDATES = 2001  # numbers between -1 and 1 among which those of the grid are chosen


# ---------------------------------------------------------------- the numbers of the grid


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


def variable(rows: Rows, k: int) -> Array:
    """A column by its place among a support's exponents: features, then the attribute in both worlds."""
    m = rows.x.shape[1]
    return rows.x[:, k] if k < m else (rows.a, rows.a_cf)[k - m]


def ends_of(rows: Rows, columns: Sequence[int]) -> Ends:
    """The ends of everyone's values, as far as these columns go; of features alone they may be known already."""
    known = None if rows.whole is None else rows.whole.ends
    if known is not None and max(columns) < rows.x.shape[1]:
        return known
    return rows.total(_ends_of_block)


def _ends_of_block(block: Rows) -> Ends:
    return Ends.of([variable(block, k) for k in range(block.x.shape[1] + 2)])


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


# ---------------------------------------------------------------- the grid


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Made-up people in the box of everyone, from whose changes everyone's squares follow."""

    exponents: IntArray  # (t, p)
    columns: list[int]  # (p,) of `variable` that occur
    keys: list[int]  # of `variable`: what people of one group share
    groups: tuple[tuple[float, ...], ...]
    rows: Rows  # (g t,) the grid of each group
    sums: Sums

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
        if not columns or (sums := Sums.of(exponents)).count > MOST_SUMS:
            return None
        nodes = [rows.where(np.repeat(own[:1], len(exponents))) for _, own in groups]
        return cls(exponents, columns, keys, tuple(key for key, _ in groups), join(nodes), sums)

    def weighing(self, rows: Rows) -> tuple[Rows, Array] | None:
        """The grid with what each of its people stands for, and Q (k, k); None where someone is of an unseen group."""
        box = _Box.around(ends_of(rows, self.columns), self.columns)
        laid = self.sums.laid() if is_wanted(rows.size if rows.whole is None else None) else None
        sums, keys, groups = self.sums, self.keys, self.groups  # what is sent to where people are
        unseen, *totals = rows.total(lambda block: _of_block(block, sums, laid, box, keys, groups))
        return None if unseen else self._weighed(totals, box)

    def _weighed(self, totals: Sequence[Array], box: _Box) -> tuple[Rows, Array]:
        t, at = len(self.exponents), leja(int(self.exponents.max(initial=0)) + 1)
        z = at[self.exponents]  # (t, p)
        inverse = np.linalg.inv(Products.of(self.exponents).at(list(z.T), t).T)
        weight, cross = np.zeros(self.rows.size), np.zeros((self.rows.size, self.rows.size))
        for g, total in enumerate(totals):
            own = slice(g * t, (g + 1) * t)
            weight[own] = self.sums.at(self.exponents, total) @ inverse
            half = inverse.T @ _gram(self.sums, self.exponents, total) @ inverse
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

    @property
    def scale(self) -> Array:
        """(p,) times which what is between the ends is between -1 and 1; to divide takes longer."""
        return np.asarray(1 / self.half)

    @classmethod
    def around(cls, ends: Ends, columns: list[int]) -> _Box:
        low, high = ends.low[columns], ends.high[columns]
        return cls(columns, (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0))

    def scaled(self, rows: Rows, places: Any) -> list[Array]:
        """(p times (r,)) values of some people between -1 and 1."""
        found = []
        for k, middle, scale in zip(self.columns, self.middle, self.scale, strict=True):
            own = variable(rows, k)[places] - middle
            own *= scale
            found.append(own)
        return found


def _of_block(
    block: Rows, sums: Sums, laid: Laid | None, box: _Box, keys: Sequence[int], groups: Sequence[tuple[float, ...]]
) -> tuple[Any, ...]:
    """How many of some people are of an unseen group, and the sums over each group; compiled where these are laid."""
    if laid and (kernel := load(f"{__package__}.kernel")):
        return _compiled(kernel, block, laid, box, keys, groups)
    shared, unseen, totals = [variable(block, k) for k in keys], block.size, []
    for group in groups:
        among = [values == own for values, own in zip(shared, group, strict=True)]
        own = np.flatnonzero(reduce(np.logical_and, among)) if keys else slice(None)
        weight = block.weight[own]
        unseen -= weight.size
        totals.append(sums.over(box.scaled(block, own), weight))
    return unseen, *totals


def _compiled(
    kernel: Any, block: Rows, laid: Laid, box: _Box, keys: Sequence[int], groups: Sequence[tuple[float, ...]]
) -> tuple[Any, ...]:
    """The same by what numba compiles."""
    known = np.array(groups).reshape(len(groups), len(keys))
    inside = kernel.Box(np.array(box.columns), box.middle, box.scale, np.array(keys, dtype=np.intp), known)
    columns = (block.x.T, block.a, block.a_cf, block.weight)
    people = kernel.People(*(np.require(own, requirements=("C", "W")) for own in columns))
    unseen, totals = kernel.sums(laid, inside, people)
    return int(unseen), *totals


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
