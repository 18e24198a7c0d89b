"""Newton's method for many objectives side by side, some coordinates of each positive.

Whatever is done here is done to each objective by itself, by operations whose digits do not depend on how many others
stand beside it: an answer is the same whether it is asked for alone or among others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.linear import EPSILON, loses_digits

MAX_STEPS = 100
HALVINGS = 40

# what objectives are at z (g, d), of which g are meant: values (g,), gradients (g, d) and Hessians (g, d, d)
Objectives = Callable[[Array, IntArray], tuple[Array, Array, Array]]


@dataclass(frozen=True, slots=True, eq=False)
class Minima:
    """Where Newton's method ended for each objective."""

    z: Array  # (g, d)
    F: Array  # (g,)
    status: Any  # (g,) of Status


def minimise(objectives: Objectives, z: Array, n_positive: int, enough: float, quadratic: Array) -> Minima:
    """Minimise each of several objectives.

    Parameters
    ----------
    objectives
        Values, gradients and Hessians of those that go on.
    z
        (g, d) where each sets out.
    n_positive
        How many coordinates, the first ones, stay positive.
    enough
        Decrease below which one last step is taken.
    quadratic
        (g, k) diagonals of the objectives' largest part, ``z'Tz`` in the first k coordinates: no line search sees a
        decrease that its rounding hides.
    """
    z, F, status = z.copy(), np.empty(len(z)), np.full(len(z), Status.STEP_LIMIT, dtype=object)
    where, k = np.arange(len(z)), quadratic.shape[1]  # those that go on
    F[where], g, H = objectives(z, where)
    for _ in range(MAX_STEPS):
        step = -solve_definite(H, g)
        decrease = -(g * step).sum(axis=1) / 2
        length = _admissible(z[where, :n_positive], step[:, :n_positive])
        rounding = EPSILON * (quadratic[where] * z[where, :k] ** 2).sum(axis=1)
        done = (decrease <= np.maximum(enough, rounding)) & (length == 1.0)
        if done.any():
            z[where[done]] += step[done]
            F[where[done]] -= decrease[done]
            status[where[done]] = _with_digits(Status.CONVERGED, H[done, :k, :k])
            where, step, decrease, length, H = (one[~done] for one in (where, step, decrease, length, H))
        if not where.size:
            break
        before = H
        fell, values, g, H = _line_search(objectives, where, z[where], F[where], step, decrease, length)
        if not fell.all():
            status[where[~fell]] = _with_digits(Status.STALLED, before[~fell, :k, :k])
            where, step, length, values, g, H = (one[fell] for one in (where, step, length, values, g, H))
        z[where] += length[:, None] * step
        F[where] = values
        if not where.size:
            break
    return Minima(z, F, status)


def _with_digits(status: Status, H: Array) -> list[Status]:
    """How each objective with Hessian (g, k, k) ended; where rounding leaves few digits, that is said instead.

    The other coordinates' digits do not matter to the first k.
    """
    return [Status.LOST_DIGITS if few else status for few in loses_digits(H)]


def _admissible(u: Array, step: Array) -> Array:
    """(g,) the length of each step, at most 1, that keeps coordinates positive."""
    longest = (-step / u).max(axis=1)
    return np.asarray(np.where(longest > 0.9, 0.9 / np.maximum(longest, 0.9), 1.0))


def _line_search(
    objectives: Objectives, where: IntArray, z: Array, F: Array, step: Array, decrease: Array, length: Array
) -> tuple[Any, Array, Array, Array]:
    """Halve the lengths, in place, until each objective falls enough; say for which it does."""
    values, g, H = objectives(z + length[:, None] * step, where)
    fell = _falls(values, H, F - 1e-4 * length * decrease)
    for _ in range(HALVINGS):
        short = np.flatnonzero(~fell)
        if not short.size:
            break
        length[short] /= 2
        trial = z[short] + length[short, None] * step[short]
        values[short], g[short], H[short] = objectives(trial, where[short])
        fell[short] = _falls(values[short], H[short], F[short] - 1e-4 * length[short] * decrease[short])
    return fell, values, g, H


def _falls(values: Array, H: Array, enough: Array) -> Any:
    """Whether each objective is as low as asked, where numbers are not beyond doubles."""
    return (values <= enough) & np.isfinite(H).all(axis=(-2, -1))


def solve_definite(H: Array, rhs: Array) -> Array:
    """Solve with Hessians (..., d, d); where one is indefinite, by a penalty say, with its nearest definite one."""
    scale = np.sqrt(np.maximum(np.abs(np.einsum("...ii->...i", H)), 1e-300))
    unit = H / (scale[..., :, None] * scale[..., None, :])
    try:
        np.linalg.cholesky(unit)
        return np.asarray(np.linalg.solve(unit, (rhs / scale)[..., None])[..., 0] / scale)
    except np.linalg.LinAlgError:
        if H.ndim > 2:  # others beside it must not tell how one is solved
            return np.array([solve_definite(*one) for one in zip(H, rhs, strict=True)])
        values, vectors = np.linalg.eigh(unit)
        values = np.maximum(np.abs(values), 1e-8)
        return np.asarray(vectors @ ((vectors.T @ (rhs / scale)) / values) / scale)
