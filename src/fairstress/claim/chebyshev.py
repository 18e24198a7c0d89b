"""Sums over people of products of Chebyshev polynomials in several variables.

Left ones, of some variables, are multiplied with right ones, of the others: so few products are made of each person,
and their sums are those of a product of two matrices. By numpy, some thousand people at a time, or by compiled code,
`fairstress.claim.kernel`, some hundred.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairstress.compiling import TILE
from fairstress.inputs.rows import Array, IntArray

TOGETHER = 4096  # people, about, whose T are held at once
STRIP = 16  # left products that numpy multiplies at once with as many right ones

# ---------------------------------------------------------------- polynomials of one variable


def chebyshev(z: Array, degree: int) -> Array:
    """(degree + 1, r) polynomials at numbers z (r,)."""
    found = np.empty((degree + 1, z.size))
    fill_chebyshev(z, list(found))
    return found


def fill_chebyshev(z: Array, found: Sequence[Array]) -> None:
    """Write polynomials of degree 0, 1, 2, ... at numbers z (r,) into arrays (r,)."""
    twice = 2 * z
    for k, own in enumerate(found):
        if k < 2:
            own[:] = z if k else 1.0
        else:
            np.multiply(twice, found[k - 1], out=own)
            own -= found[k - 2]


# ---------------------------------------------------------------- products


class Steps(NamedTuple):
    """How products are made, as flat arrays for compiled code."""

    size: int  # rows of products, filled up to whole tiles
    one: int  # the row of what is 1 for everyone
    climbs: IntArray  # (c, 4) a variable, and the rows of a polynomial of it and of those of one and two degrees less
    steps: IntArray  # (s, 3) as in `Products`


class Laid(NamedTuple):
    """Sums as flat arrays for compiled code."""

    left: Steps
    right: Steps
    counts: IntArray  # with how many of the right ones each tile of left ones is multiplied


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """How products of the polynomials of several variables are made: each of two that are there already."""

    count: int  # of those that are wanted, which come first
    size: int  # with those that they are made of
    powers: list[tuple[int, list[int]]]  # a variable, and where its polynomials of degree 0, 1, 2, ... stand
    steps: list[tuple[int, int, int]]  # a product, and of which two it is

    @classmethod
    def of(cls, degrees: IntArray) -> Products:
        """Make products of some degrees (k, p), no two of which are the same."""
        wanted, p = [tuple(own) for own in degrees.tolist()], degrees.shape[1]
        heads = [tuple(k if i < end else 0 for i, k in enumerate(own)) for own in wanted for end in range(1, p)]
        single = [tuple(d * (i == k) for i in range(p)) for k in range(p) for d in range(int(degrees[:, k].max()) + 1)]
        place = {own: i for i, own in enumerate(dict.fromkeys([*wanted, *single, *sorted(heads)]))}
        tops = [(k, int(top)) for k, top in enumerate(degrees.max(axis=0)) if top]
        powers = [(k, [place[tuple(d * (i == k) for i in range(p))] for d in range(top + 1)]) for k, top in tops]
        steps = [
            (place[own], place[own[:last] + (0,) * (p - last)], dict(powers)[last][own[last]])
            for last in range(1, p)  # those of fewer variables first
            for own in place
            if own[last] and not any(own[last + 1 :]) and any(own[:last])
        ]
        return cls(len(wanted), len(place), powers, steps)

    def laid(self) -> Steps:
        """The same as flat arrays."""
        climbs = [
            (k, own, places[degree - 1], places[max(degree - 2, 0)])
            for k, places in self.powers
            for degree, own in enumerate(places)
            if degree
        ]
        one = self.powers[0][1][0] if self.powers else 0
        whole = [np.array(found, dtype=np.intp).reshape(-1, n) for found, n in ((climbs, 4), (self.steps, 3))]
        return Steps(self.size + -self.size % TILE, one, whole[0], whole[1])

    def at(self, z: Sequence[Array], r: int) -> Array:
        """(k, r) products at r people with values z (p times (r,))."""
        found = np.empty((self.size, r))
        if not self.powers:
            found[:] = 1.0
        for k, places in self.powers:
            fill_chebyshev(z[k], [found[i] for i in places])
        for own, first, second in self.steps:
            np.multiply(found[first], found[second], out=found[own])
        return found[: self.count]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Which products of Chebyshev polynomials are added up: of some variables, to the left, with those of the others.

    Those that the most are wanted with come first, so that a few of the left ones at a time are multiplied with as
    many of the right ones as any of them needs.
    """

    of_left: IntArray  # (u, p) degrees in all variables, 0 in those to the right
    of_right: IntArray  # (v, p)
    wanted: IntArray  # (u,) with how many of the right ones each left one is multiplied, at least
    left: Products
    right: Products

    @classmethod
    def of(cls, exponents: IntArray) -> Sums:
        """Cover all products of two polynomials with these degrees (t, p), by as few as can be."""
        p = exponents.shape[1]
        shape = tuple((2 * exponents.max(axis=0) + 1).tolist())
        numbers = np.ravel_multi_index(tuple(np.moveaxis(exponents[:, None] + exponents, -1, 0)), shape)
        wanted = np.stack(np.unravel_index(np.unique(numbers), shape), axis=1)
        halves = [list(some) for k in range(p // 2 + 1) for some in itertools.combinations(range(p), k)]
        return min((cls._split(wanted, half) for half in halves), key=lambda sums: sums.work)

    @classmethod
    def _split(cls, wanted: IntArray, left: list[int]) -> Sums:
        on_left = np.isin(np.arange(wanted.shape[1]), left)
        sides = [_by_use(np.where(side, wanted, 0)) for side in (on_left, ~on_left)]
        (of_left, i), (of_right, j) = sides
        wanted = np.zeros(len(of_left), dtype=np.intp)
        np.maximum.at(wanted, i, j + 1)
        return cls(of_left, of_right, wanted, Products.of(of_left), Products.of(of_right))

    def strips(self, size: int) -> list[tuple[slice, int]]:
        """Some left ones at a time, and with how many of the right ones they are multiplied."""
        strips = [slice(start, start + size) for start in range(0, self.wanted.size, size)]
        return [(strip, int(self.wanted[strip].max())) for strip in strips]

    @property
    def count(self) -> int:
        """How many sums there are, at least."""
        return sum(len(self.of_left[own]) * count for own, count in self.strips(TILE))

    @property
    def work(self) -> int:
        """How long one person takes; to make a product takes some ten times as long as to add one up."""
        return self.count + 10 * (len(self.of_left) + len(self.of_right))

    def laid(self) -> Laid:
        """The same as flat arrays."""
        counts = np.array([count for _, count in self.strips(TILE)], dtype=np.intp)
        return Laid(self.left.laid(), self.right.laid(), counts)

    def over(self, z: Sequence[Array], weight: Array) -> Array:
        """(u, v) sums over people with values z (p times (r,)), by weight; 0 for products that nobody wants."""
        total = np.zeros((len(self.of_left), len(self.of_right)))
        is_weighed, strips = bool((weight != 1).any()), self.strips(STRIP)
        for some in _parts(weight.size, TOGETHER):
            own, w = [values[some] for values in z], weight[some]
            left, right = self.left.at(own, w.size), self.right.at(own, w.size)
            if is_weighed:
                left *= w
            for strip, count in strips:
                total[strip, :count] += np.dot(left[strip], right[:count].T)
        return total

    def at(self, degrees: IntArray, total: Array) -> Array:
        """The sums of polynomials with some degrees (..., p)."""
        return np.asarray(total[_place(degrees, self.of_left), _place(degrees, self.of_right)])


def _by_use(degrees: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct degrees, those that occur most often first, and where each stands."""
    found, place, count = np.unique(degrees, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    return found[order], np.argsort(order)[place.ravel()]


def _parts(size: int, most: int) -> list[slice]:
    """Parts of about that many people, as equal as can be."""
    count = max(1, round(size / most))
    return [slice(i * size // count, (i + 1) * size // count) for i in range(count)]


def _place(degrees: IntArray, known: IntArray) -> IntArray:
    """Where degrees stand among those known, as far as their variables go."""
    shape = tuple((known.max(axis=0) + 1).tolist())
    place = np.zeros(int(np.prod(shape)), dtype=np.intp)
    place[np.ravel_multi_index(tuple(known.T), shape)] = np.arange(len(known))
    own = np.where(known.any(axis=0), degrees, 0)
    return np.asarray(place[np.ravel_multi_index(tuple(np.moveaxis(own, -1, 0)), shape)])
