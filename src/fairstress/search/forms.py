"""Numbers that are known to second order all over a box, each with a bound on what is left.

``c + sum_i g_i d_i + sum_{i <= j} g_ij d_i d_j + r`` with ``|r| <= e`` for all d in ``[-1, 1]^q``. Sums, products and smooth
functions of such numbers are such numbers again: what is of third order goes into e. Bounds hold in exact arithmetic.
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
    g: Array  # (..., q + q (q + 1) / 2) of each d_i, then of each d_i d_j
    e: Array  # (...)

    @classmethod
    def exact(cls, c: Array, q: int) -> Form:
        """Numbers that are the same all over the box."""
        return cls(c, np.zeros((*c.shape, q + q * (q + 1) // 2)), np.zeros(c.shape))

    @property
    def q(self) -> int:
        """How many directions the box has."""
        return _directions(self.g.shape[-1])

    @property
    def linear(self) -> Array:
        """(..., q) the part of first order."""
        return self.g[..., : self.q]

    @property
    def reach(self) -> Array:
        """How far the known part leads from the centre, at most."""
        return np.asarray(np.abs(self.g).sum(axis=-1))

    @property
    def radius(self) -> Array:
        """How far a number can be from its centre."""
        return self.reach + self.e

    @property
    def size(self) -> Array:
        """Its largest absolute value, at most."""
        return np.abs(self.c) + self.radius

    def __getitem__(self, where: Any) -> Form:
        return Form(self.c[where], self.g[where], self.e[where])

    def __add__(self, other: Form | Array | float) -> Form:
        if isinstance(other, Form):
            return Form(self.c + other.c, self.g + other.g, self.e + other.e)
        return Form(self.c + other, self.g, self.e)

    def __sub__(self, other: Form | Array | float) -> Form:
        return self + (other * -1.0 if isinstance(other, Form) else -other)

    def __mul__(self, other: Form | Array | float) -> Form:
        if not isinstance(other, Form):
            factor = np.asarray(other)
            return Form(self.c * factor, self.g * factor[..., None], self.e * np.abs(factor))
        g = self.c[..., None] * other.g + other.c[..., None] * self.g
        g[..., self.q :] += _products(self.linear, other.linear)
        second = np.abs(self.linear).sum(axis=-1) * np.abs(other.linear).sum(axis=-1)
        rest = self.reach * other.reach - second
        rest = rest + self.e * other.size + other.e * (np.abs(self.c) + self.reach)
        return Form(self.c * other.c, g, rest)

    def plus(self, e: Array) -> Form:
        """The same with more left over."""
        return Form(self.c, self.g, self.e + e)

    def mapped(self, A: Array) -> Form:
        """``A @ self`` along the first axis."""
        flat = (A @ self.g.reshape(len(self.c), -1)).reshape(len(A), *self.c.shape[1:], self.g.shape[-1])
        return Form(A @ self.c, flat, np.abs(A) @ self.e)

    def sum(self, axis: int) -> Form:
        """Sum along an axis, counted from the front."""
        return Form(self.c.sum(axis=axis), self.g.sum(axis=axis), self.e.sum(axis=axis))

    def through(self, value: Array, first: Array, second: Array, third: Array | float) -> Form:
        """A function of it with this value and these derivatives at the centre, the third at most that all over."""
        g = first[..., None] * self.g
        g[..., self.q :] += second[..., None] / 2 * _products(self.linear, self.linear)
        known, straight = self.reach, np.abs(self.linear).sum(axis=-1)
        beyond = self.radius**2 - straight**2  # of the square: all but what is of second order
        e = np.abs(first) * self.e + np.abs(second) / 2 * beyond + np.asarray(third) / 6 * (known + self.e) ** 3
        return Form(value, g, e)

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
    """(..., q (q + 1) / 2) coefficients of ``d_i d_j``, i <= j, in the product of two linear parts (..., q)."""
    i, j = _upper(a.shape[-1])
    crossed = a[..., j] * b[..., i]
    return np.asarray(a[..., i] * b[..., j] + np.where(i == j, 0.0, crossed))


def joined(forms: Sequence[Form]) -> Form:
    """Forms one after the other, along the first axis."""
    return Form(*(np.concatenate([getattr(f, name) for f in forms]) for name in ("c", "g", "e")))


def inverse(P: Form) -> Form | None:
    """The inverse of symmetric matrices P (m, m), linear in d: ``X - XEX + XEXEX - XEXEXEX (I + EX)^-1``, X at the centre.

    None where Neumann's series of ``|E| |X|``, which bounds the last factor, does not converge.
    """
    X, size, q = np.linalg.inv(P.c), P.radius, P.q
    step = size @ np.abs(X)
    if np.abs(np.linalg.eigvals(step)).max() >= 0.9:
        return None
    rest = np.abs(X) @ step @ step @ step @ np.linalg.inv(np.eye(len(X)) - step)
    E, (i, j) = np.moveaxis(P.linear, -1, 0), _upper(q)
    second = X @ E[i] @ X @ E[j] @ X
    second = np.where((i == j)[:, None, None], second, second + np.swapaxes(second, 1, 2))
    return Form(X, np.moveaxis(np.concatenate([-X @ E @ X, second]), 0, -1), rest)
