"""Numbers that are known to second order all over a box, each with a bound on what is left.

``c + sum_i g_i d_i + sum_{i <= j} g_ij d_i d_j + r`` with ``|r| <= e`` for all d in ``[-1, 1]^q``. Sums, products and
smooth functions of such numbers are such numbers again: what is of third order goes into e. Bounds hold in exact
arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fairstress.inputs.rows import Array, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """An array of such numbers."""

    c: Array  # (...)
    g: Array  # (q + q (q + 1) / 2, ...) of each d_i, then of each d_i d_j
    e: Array  # (...)

    @classmethod
    def exact(cls, c: Array, q: int) -> Form:
        """Numbers that are the same all over the box."""
        return cls(c, np.zeros((q + q * (q + 1) // 2, *c.shape)), np.zeros(c.shape))

    @property
    def q(self) -> int:
        """How many directions the box has."""
        return _directions(len(self.g))

    @property
    def linear(self) -> Array:
        """(q, ...) the part of first order."""
        return self.g[: self.q]

    @property
    def reach(self) -> Array:
        """How far the known part leads from the centre, at most."""
        return np.asarray(np.abs(self.g).sum(axis=0))

    @property
    def radius(self) -> Array:
        """How far a number can be from its centre."""
        return self.reach + self.e

    @property
    def size(self) -> Array:
        """Its largest absolute value, at most."""
        return np.abs(self.c) + self.radius

    def __getitem__(self, where: Any) -> Form:
        places = where if isinstance(where, tuple) else (where,)
        return Form(self.c[where], self.g[(slice(None), *places)], self.e[where])

    def __add__(self, other: Form | Array | float) -> Form:
        if isinstance(other, Form):
            return Form(self.c + other.c, self.g + other.g, self.e + other.e)
        return Form(self.c + other, self.g, self.e)

    def __sub__(self, other: Form | Array | float) -> Form:
        return self + (other * -1.0 if isinstance(other, Form) else -other)

    def __mul__(self, other: Form | Array | float) -> Form:
        if not isinstance(other, Form):
            factor = np.asarray(other)
            return Form(self.c * factor, self.g * factor, self.e * np.abs(factor))
        g = self.c * other.g + other.c * self.g
        g[self.q :] += _products(self.linear, other.linear)
        (own, own_first), (its, its_first) = (form._reaches() for form in (self, other))
        size, its_size = np.abs(self.c) + own, np.abs(other.c) + its + other.e
        return Form(self.c * other.c, g, own * its - own_first * its_first + self.e * its_size + other.e * size)

    def _reaches(self) -> tuple[Array, Array]:
        """How far the known part leads, and how far its part of first order alone."""
        size = np.abs(self.g)
        first = size[: self.q].sum(axis=0)
        return first + size[self.q :].sum(axis=0), first

    def plus(self, e: Array) -> Form:
        """The same with more left over."""
        return Form(self.c, self.g, self.e + e)

    def mapped(self, A: Array) -> Form:
        """``A @ self`` for numbers (d,)."""
        return Form(A @ self.c, self.g @ A.T, np.abs(A) @ self.e)

    def sum(self, axis: int) -> Form:
        """Sum along an axis, counted from the front."""
        return Form(self.c.sum(axis=axis), self.g.sum(axis=axis + 1), self.e.sum(axis=axis))

    def through(self, value: Array, first: Array, second: Array, third: Array | float) -> Form:
        """A function of it with this value and these derivatives at the centre, the third at most that all over."""
        g = first * self.g
        g[self.q :] += second / 2 * _products(self.linear, self.linear)
        known, straight = self._reaches()
        radius = known + self.e
        beyond = radius**2 - straight**2  # of the square: all but what is of second order
        return Form(value, g, np.abs(first) * self.e + np.abs(second) / 2 * beyond + np.asarray(third) / 6 * radius**3)

    def power(self, exponent: float) -> Form | None:
        """A negative power of positive numbers; None where they may not be positive."""
        least, a = self.c - self.radius, exponent
        if (least <= 0).any():
            return None
        first, second = a * self.c ** (a - 1), a * (a - 1) * self.c ** (a - 2)
        return self.through(self.c**a, first, second, np.abs(a * (a - 1) * (a - 2)) * least ** (a - 3))


@cache
def _directions(symbols: int) -> int:
    return next(q for q in range(1, symbols + 1) if q + q * (q + 1) // 2 == symbols)


@cache
def _upper(q: int) -> tuple[IntArray, IntArray]:
    return np.triu_indices(q)


def _products(a: Array, b: Array) -> Array:
    """(q (q + 1) / 2, ...) coefficients of ``d_i d_j``, i <= j, in the product of two linear parts (q, ...)."""
    pairs = zip(*_upper(len(a)), strict=True)
    return np.array([a[i] * b[i] if i == j else a[i] * b[j] + a[j] * b[i] for i, j in pairs])


def joined(forms: Sequence[Form]) -> Form:
    """Forms one after the other, along the first axis."""
    c, e = (np.concatenate([getattr(f, name) for f in forms]) for name in ("c", "e"))
    return Form(c, np.concatenate([f.g for f in forms], axis=1), e)


def inverse(P: Form) -> Form | None:
    """The inverse of symmetric P (m, m), linear in d: ``X - XEX + XEXEX - XEXEXEX (I + EX)^-1``, X at the centre.

    None where Neumann's series of ``|E| |X|``, which bounds the last factor, does not converge.
    """
    X, size, q = np.asarray(np.linalg.inv(P.c), dtype=float), P.radius, P.q
    step = size @ np.abs(X)
    if np.abs(np.linalg.eigvals(step)).max() >= 0.9:
        return None
    rest = np.abs(X) @ step @ step @ step @ np.linalg.inv(np.eye(len(X)) - step)
    E, (i, j) = P.linear, _upper(q)
    second = X @ E[i] @ X @ E[j] @ X
    second = np.where((i == j)[:, None, None], second, second + np.swapaxes(second, 1, 2))
    return Form(X, np.concatenate([-X @ E @ X, second]), rest)
