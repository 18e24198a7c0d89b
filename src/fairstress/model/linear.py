"""Linear algebra that every fit shares: well-scaled solves and the search for collinear columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fairstress.inputs.rows import Array, IntArray

EPSILON = float(np.finfo(float).eps)
WORST_CONDITION = 1e-6 / EPSILON  # of a matrix in unit-norm columns: beyond it fewer than six digits are left
FACTORED = 20  # columns from which on a matrix is factored once for all that is solved with it


def solve(N: Array, rhs: Array) -> Array:
    """Solve ``N z = rhs`` for positive definite N (..., D, D) and columns (..., D, k).

    Solved in unit-norm columns: cubic chains of heavy-tailed features lose all digits otherwise.
    """
    scale = np.sqrt(np.diagonal(N, axis1=-2, axis2=-1))[..., None]
    return np.asarray(np.linalg.solve(N / (scale * np.swapaxes(scale, -1, -2)), rhs / scale) / scale)


def unit_columns(N: Array) -> tuple[Array, Array]:
    """Positive definite N (g, D, D) in unit-norm columns, in place, and the norms (g, D, 1)."""
    scale = np.sqrt(np.diagonal(N, axis1=-2, axis2=-1))[..., None]
    N /= scale * np.swapaxes(scale, -1, -2)
    return N, scale


def factors(unit: Array) -> Array:
    """(g, D, D) Cholesky factors of definite matrices with which several systems are solved; NaN where one has none.

    Of few columns they are the matrices themselves: solving twice, all at once, is sooner done than a call for each.
    """
    if unit.shape[-1] < FACTORED:
        return unit
    found = unit.copy()
    for one in found:
        _, failed = linalg.lapack.dpotrf(one.T, lower=1, clean=0, overwrite_a=1)  # its transpose is Fortran's order
        if failed:
            one[:] = np.nan
    return found


def solve_by_factors(unit: Array, factor: Array, rhs: Array) -> Array:
    """Solve ``unit z = rhs`` for columns (g, D, k), each by itself; without a factor by elimination."""
    if unit.shape[-1] < FACTORED:
        return np.asarray(np.linalg.solve(unit, rhs))
    found = np.empty_like(rhs)
    for i, (one, right) in enumerate(zip(factor, rhs, strict=True)):
        if np.isnan(one[0, 0]):
            found[i] = np.linalg.solve(unit[i], right)
        else:
            found[i] = linalg.lapack.dpotrs(one.T, right, lower=1)[0]
    return found


def loses_digits(N: Array) -> NDArray[np.bool_]:
    """Whether rounding leaves fewer than six digits of what is solved with symmetric N (..., D, D), each by itself."""
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(N, axis1=-2, axis2=-1)), 1e-300))
    values = np.linalg.eigvalsh(N / (scale[..., :, None] * scale[..., None, :]))
    return np.asarray(values[..., 0] * WORST_CONDITION < values[..., -1])


def ridge(G: Array, c: Array, penalties: Array) -> Array:
    """Ridge weights ``(G + diag(penalties))^-1 c`` (..., d) for penalties (..., d) of the columns.

    Raises ``LinAlgError`` where some are not unique.
    """
    N = G + penalties[..., None] * np.eye(len(c))
    scale = np.sqrt(np.diagonal(N, axis1=-2, axis2=-1))
    N /= scale[..., :, None] * scale[..., None, :]
    np.linalg.cholesky(N)  # fails where a column is determined by others
    return np.asarray(np.linalg.solve(N, (c / scale)[..., None])[..., 0] / scale)


def dependent_column(G: Array) -> int | None:
    """Find a column that the others determine, from its Gram matrix; None where all are independent."""
    scale = np.sqrt(np.diag(G))
    scale = np.where(scale > 0, scale, 1.0)  # a column that is 0 for everyone
    _, R, order = linalg.qr(G / np.outer(scale, scale), pivoting=True)
    pivots = np.abs(np.diag(R))
    tiny = pivots <= 10 * G.shape[0] * np.finfo(float).eps * pivots[0]
    return int(order[tiny.argmax()]) if tiny.any() else None


def independent_columns(G: Array) -> IntArray:
    """Give columns that determine the others, from all columns' Gram matrix.

    A product of two categories is 0 everywhere, one with a rare category often the category itself. Whichever column
    is left out, fitted values are the same.
    """
    kept = np.flatnonzero(np.diag(G) > 0)
    while (column := dependent_column(G[np.ix_(kept, kept)])) is not None:
        kept = np.delete(kept, column)
    return kept
