"""What the terms of an equation change by from one world to another; where they are many, without writing them down.

Every monomial but the constant is an earlier one times an input, so that ``phi(z)'w = w_0 + sum_k z_k q_k(z)`` where
``q_k = low(z)'M_k`` has one degree less. With ``d = z' - z`` a change is
``sum_k d_k q_k(z') + z_k (q_k(z') - q_k(z))``: it takes the lower monomials alone, and loses no digits where inputs are
large and change little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.embedding import Embedding, Polynomial, slopes_in_worlds

MANY = 12  # terms of a polynomial from which on its lower monomials alone are worked out


class Move(Protocol):
    """How the terms of one equation change for r people between their own world and g others."""

    def times(self, W: Array) -> Array:
        """(g, k, r) changes of ``phi'w`` for each column w of ``W`` (g, d, k)."""
        ...

    def weighed(self, v: Array) -> Array:
        """(g, d) changes of the terms in each world, added up with the weights v (g, r)."""
        ...

    def slopes(self, W: Array) -> Array:
        """(g, r, p, k) derivatives of ``phi'w`` by the inputs in each world, for each column w of ``W`` (g, d, k)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """The factual side of moves: inputs, and what of the terms there changes are worked out from."""

    embedding: Embedding
    Z: Array  # (p, r)
    columns: Array  # (n, r) all terms or, where a polynomial has many, its monomials below the top degree

    @classmethod
    def at(cls, embedding: Embedding, Z: Array) -> Standing:
        """Stand at inputs (r, p)."""
        return cls(embedding, Z.T, _columns(embedding, Z))

    def dot(self, w: Array) -> Array:
        """(r,) ``phi(z)'w``, of what is worked out already."""
        if _goes_by_lower(self.embedding):
            return self.embedding.dot(self.Z.T, w, self.columns.T)
        return np.asarray(self.columns.T @ w)

    def to(self, Z_cf: Array) -> Move:
        """Move to other inputs (g, r, p)."""
        there = np.swapaxes(Z_cf, 1, 2)
        if _goes_by_lower(self.embedding):
            return _PolynomialMove(self.embedding, self, there, _columns(self.embedding, Z_cf))
        return _PlainMove(self.embedding, there, phi := _columns(self.embedding, Z_cf), phi - self.columns)


def _goes_by_lower(embedding: Embedding) -> TypeGuard[Polynomial]:
    """Whether lower monomials are worked out instead of all: of a polynomial that is linear, or has many terms."""
    return isinstance(embedding, Polynomial) and (embedding.n_lower == 1 or len(embedding.terms) >= MANY)


def _columns(embedding: Embedding, Z: Array) -> Array:
    """(..., n, r) of inputs (..., r, p)."""
    made = embedding.lower(Z) if _goes_by_lower(embedding) else embedding.values(Z)
    return np.swapaxes(made, -1, -2)


@dataclass(frozen=True, slots=True, eq=False)
class _PolynomialMove:
    """By monomials below the top degree."""

    polynomial: Polynomial
    standing: Standing
    Z: Array  # (g, p, r) inputs there
    low: Array  # (g, n, r) monomials there, the constant first

    def times(self, W: Array) -> Array:
        M = self.polynomial.by_input(W)  # (g, k, p, n)
        step = self.Z - self.standing.Z
        if M.shape[-1] == 1:  # linear: the constant is the only lower monomial
            return np.asarray(M[..., 0] @ step)
        moved = np.einsum("gkpr,gpr->gkr", self._products(M, self.low), step)
        risen = self.low[:, 1:] - self.standing.columns[1:]
        moved += np.einsum("gkpr,pr->gkr", self._products(M[..., 1:], risen), self.standing.Z)
        return np.asarray(moved)

    def weighed(self, v: Array) -> Array:
        low, Z, v = self.low, self.standing.Z, v[:, None]
        C = _across(low, (self.Z - Z) * v)
        if low.shape[1] > 1:
            C[:, 1:] += _across(low[:, 1:] - self.standing.columns[1:], Z * v)
        return self.polynomial.from_inputs(C)

    def slopes(self, W: Array) -> Array:
        return self.polynomial.slopes(np.swapaxes(self.Z, 1, 2), np.swapaxes(self.low, 1, 2), W)

    @staticmethod
    def _products(M: Array, low: Array) -> Array:
        """(g, k, p, r) ``q_k`` for each column of weights."""
        g, k, p, n = M.shape
        products = M.reshape(g, k * p, n) @ low
        return products.reshape(len(products), k, p, -1)


@dataclass(frozen=True, slots=True, eq=False)
class _PlainMove:
    """By the terms themselves."""

    embedding: Embedding
    Z: Array  # (g, p, r) inputs there
    phi: Array  # (g, d, r) terms there
    change: Array  # (g, d, r)

    def times(self, W: Array) -> Array:
        return np.asarray(np.swapaxes(W, 1, 2) @ self.change)

    def weighed(self, v: Array) -> Array:
        return _across(self.change, v[:, None])[:, :, 0]

    def slopes(self, W: Array) -> Array:
        return slopes_in_worlds(self.embedding, np.swapaxes(self.Z, 1, 2), np.swapaxes(self.phi, 1, 2), W)


def _across(A: Array, B: Array) -> Array:
    """(g, n, p) sums over people of products of numbers (g, n, r) and (g, p, r), what all worlds share once."""
    if len(A) == len(B) == 1:
        return np.asarray(np.dot(A[0], B[0].T))[None]  # the same digits as by @, which keeps other threads waiting
    return np.asarray(A @ np.swapaxes(B, 1, 2))
