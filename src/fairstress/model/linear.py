"""Linear algebra that every fit shares: well-scaled solves and the search for collinear columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from fairstress.inputs.rows import Array


@dataclass(frozen=True, slots=True)
class Factor:
    """Cholesky factor of a normal matrix in unit-norm columns; heavy-tailed powers lose all digits otherwise."""

    scale: Array  # (D,) square roots of the diagonal
    lower: Array  # (D, D)

    @classmethod
    def of(cls, N: Array) -> Factor:
        """Factorise a positive definite matrix; raises ``LinAlgError`` for any other."""
        scale = np.sqrt(N.diagonal())
        lower, failed = lapack.dpotrf(
            N / (scale[:, None] * scale), lower=1
        )  # scipy's wrapper takes longer than the work
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        return cls(scale, lower)

    def solve(self, rhs: Array) -> Array:
        """Solve ``N z = rhs`` for a vector or for columns."""
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        solution, _ = lapack.dpotrs(self.lower, rhs / scale, lower=1)
        return np.asarray(solution / scale)


def dependent_column(G: Array) -> int | None:
    """Find a column that the others determine, from its Gram matrix; None where all are independent."""
    scale = np.sqrt(np.diag(G))
    _, R, order = linalg.qr(G / np.outer(scale, scale), pivoting=True)
    pivots = np.abs(np.diag(R))
    tiny = pivots <= 10 * G.shape[0] * np.finfo(float).eps * pivots[0]
    return int(order[tiny.argmax()]) if tiny.any() else None


def ridge(G: Array, c: Array, penalties: Array) -> Array:
    """Ridge weights ``(G + diag(penalties))^-1 c``."""
    return Factor.of(G + np.diag(penalties)).solve(c)
