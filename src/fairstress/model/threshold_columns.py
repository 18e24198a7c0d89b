"""Columns from which an attribute behind a threshold is seen, and sums over rows; equal ones are summed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fairstress.compiling import load
from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.design import Design
from fairstress.model.normal_cdf import SLOPES, VALUES, log_normal_cdf

BATCH = 16_384  # rows times fits that are worked on at once


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One block of rows."""

    B: Array  # (r, d)
    a: Array  # (r,)
    weight: Array  # (r,)
    products: Array | None  # (r, d (d + 1) / 2) of each two columns, where they are few enough to keep

    @classmethod
    def of(cls, B: Array, block: Rows, *, few: bool) -> Columns:
        """Columns of a block, with the products of each two where these are few."""
        B = np.asfortranarray(B)
        return cls(B, block.a, block.weight, outer(B) if few else None)

    def sums(self, y: Array, *, compiled: bool) -> Sums:
        """What the block adds for each y (g, d), ``t = a B y``, compiled where that is wanted and can be."""
        kernel = load(f"{__package__}.threshold_kernel") if compiled else None
        return self._sums_of_many(y) if kernel is None else self._sums_by(kernel, y)

    def _sums_by(self, kernel: Any, y: Array) -> Sums:
        given = self.B.T, self.a, self.weight, VALUES, SLOPES, y
        return Sums(*kernel.sums(*(np.require(own, requirements=("C", "W")) for own in given)))

    def _sums_of_many(self, y: Array) -> Sums:
        """The same by numpy, as many y at once as fit into a core's cache."""
        size = BATCH // self.a.size
        if size < 2:
            parts = [self._sums_of_one(own) for own in y]
        else:
            parts = [self._sums(y[start : start + size]) for start in range(0, len(y), size)]
        return parts[0] if len(parts) == 1 else Sums(*map(np.concatenate, zip(*parts, strict=True)))

    def _sums(self, y: Array) -> Sums:
        t = self.a * (y[:, None] @ self.B.T)[:, 0]
        log_cdf, hazard = log_normal_cdf(t)
        return Sums(
            (log_cdf[:, None] @ self.weight[:, None])[:, 0, 0],
            ((hazard * (self.a * self.weight))[:, None] @ self.B)[:, 0],
            self.crossed(hazard * (t + hazard) * self.weight),
        )

    def _sums_of_one(self, y: Array) -> Sums:
        """The same of one y (d,), by ``np.dot``: where a result is small, ``@`` keeps other threads from working."""
        t = np.dot(self.B, y)
        t *= self.a
        log_cdf, hazard = log_normal_cdf(t)
        t += hazard
        t *= hazard
        t *= self.weight
        hazard *= self.a * self.weight
        C = np.dot(self.B.T * t, self.B)
        return Sums(np.dot(log_cdf, self.weight)[None], np.dot(hazard, self.B)[None], C[None])

    def crossed(self, factor: Array) -> Array:
        """(g, d, d) ``B' diag(factor) B`` for each of several factors (g, r)."""
        if self.products is None:
            return np.asarray((self.B.T * factor[:, None]) @ self.B)
        return square((factor[:, None] @ self.products)[:, 0], self.B.shape[1])


class Sums(NamedTuple):
    """Sums over the rows at each of several z."""

    log_cdf: Array  # (g,) ``sum_i weight_i log Normal_cdf(t_i)``
    slope: Array  # (g, d) ``sum_i weight_i a_i hazard_i B_i``
    curvature: Array  # (g, d, d) ``sum_i weight_i hazard_i (t_i + hazard_i) B_i B_i'``


def make_columns(design: Design, which: Sequence[int], block: Rows) -> Array:
    """(r, d) columns of a block: those of some equations and of the attribute's."""
    assert design.protected is not None
    equations = [design.equations[j] for j in which]
    x = [block.x[:, equation.column] for equation in equations]
    phi = [-equation.values(block.a, block.x).T for equation in equations]
    return np.vstack([*x, *phi, design.protected.values(block.a, block.x).T]).T


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """Which columns are equal, but perhaps for their sign: sums take each but once."""

    E: Array  # (d, k) 1 or -1 where a column is one of those that are summed over
    first: IntArray  # (k,) the first column, among those that are seen, of each kind

    @classmethod
    def of(cls, which: IntArray, d: int, like: IntArray, sign: Array) -> Folded:
        """Of ``which`` of d columns, each is ``sign`` times the one that it is ``like``."""
        first, kind = np.unique(like, return_inverse=True)
        E = np.zeros((d, first.size))
        E[which, kind] = sign
        return cls(E, first)

    @property
    def count(self) -> int:
        """How many different columns there are."""
        return int(self.first.size)

    def fold(self, y: Array) -> Array:
        """(g, k) weights of the columns that are summed over, of those (g, d) of all."""
        return np.asarray((y[:, None] @ self.E)[:, 0])

    def unfolded(self, sums: Sums) -> Sums:
        """Sums for all columns."""
        slope = (sums.slope[:, None] @ self.E.T)[:, 0]
        return Sums(sums.log_cdf, slope, self.E @ sums.curvature @ self.E.T)


def marks_of(B: Array) -> Array:
    """(2, d) numbers that add up over blocks of rows (r, d) to the same for equal columns, and but for a miracle only.

    One column after the other, so that equal columns have equal digits.
    """
    return np.array([[float((column * own).sum()) for column in B.T] for own in _random(len(B))])


@cache
def _random(r: int) -> Array:
    return np.random.default_rng(0).uniform(1.0, 2.0, (2, r))


def same_columns(marks: Array) -> tuple[IntArray, Array]:
    """For each column, by the marks (2, d) of all, the first that it is equal to, but for the sign, and that sign."""
    first: dict[tuple[float, ...], tuple[int, float]] = {}
    found = []
    for j, (one, other) in enumerate(marks.T.tolist()):
        first.setdefault((one, other), (j, 1.0))
        first.setdefault((-one, -other), (j, -1.0))
        found.append(first[one, other])
    return np.array([i for i, _ in found], dtype=np.intp), np.array([sign for _, sign in found])


@cache
def _upper(d: int) -> tuple[IntArray, IntArray]:
    """Where the upper triangle of a matrix (d, d) is."""
    return np.triu_indices(d)


def outer(B: Array) -> Array:
    """(r, d (d + 1) / 2) products of each two columns."""
    j, k = _upper(B.shape[1])
    return np.asarray(B[:, j] * B[:, k])


def square(products: Array, d: int) -> Array:
    """(g, d, d) symmetric matrices from their upper triangles."""
    full = np.empty((len(products), d, d))
    j, k = _upper(d)
    full[:, j, k] = full[:, k, j] = products
    return full
