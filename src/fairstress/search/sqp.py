"""Ascents within a budget, with exact gradients and the constraints kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.search.ascents import AskedEnoughError, Loss, Tilt, together
from fairstress.search.problem import Ask, End, Problem
from fairstress.search.sets import CorrelationSet

MAX_STEPS = 100


def climb(problem: Problem, points: Array, tilts: Sequence[Tilt] = ()) -> list[End]:
    """Go uphill from points (g, q) by quadratic programming on ``P = floor I + (1 - floor) Y Y'``.

    The rows of Y have length 1. Any such P keeps the eigenvalue floor, so that only the box and the zeros are left as
    constraints; and where eigenvalues meet at the floor, as they do at extreme points, nothing is rough.
    """
    return together(problem, points, _climb, tilts)


def _climb(problem: Problem, p: Array, unit: float, ask: Ask) -> tuple[Array, Status]:
    """Where one ascent ends, and how."""
    from scipy import optimize  # takes long to import, and only searches need it

    members = problem.members
    assert isinstance(members, CorrelationSet)  # other sets have a chart of their own
    chart = _Chart(members)
    look = members.loosened()  # on the way the zeros need not hold yet, and without them P may not be definite
    loss = Loss(ask, lambda z: look.shrink(chart.point(z)), chart.pull_back, unit)
    try:
        result = optimize.minimize(  # type: ignore[call-overload]
            loss,
            chart.coordinates(0.99 * p + 0.01 * members.centre()),
            jac=True,
            method="SLSQP",
            constraints=chart.constraints(),
            options={"maxiter": MAX_STEPS, "ftol": problem.precision},
        )
    except AskedEnoughError:
        return members.shrink(chart.point(loss.best[1])), Status.SEARCH_STEPS
    status = Status.SEARCH_STEPS if result.nit >= MAX_STEPS else Status.CONVERGED
    return members.shrink(chart.point(result.x)), status


@dataclass(frozen=True, slots=True)
class _Chart:
    """Coordinates Y (m, m), flat, for the correlations above a budget's eigenvalue floor."""

    members: CorrelationSet

    def coordinates(self, p: Array) -> Array:
        """Coordinates of a point."""
        R = (self.members.matrix(p) - self.members.floor * np.eye(self.members.size)) / (1 - self.members.floor)
        values, vectors = np.linalg.eigh(R)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 1e-8))).ravel())

    def point(self, z: Array) -> Array:
        """The free pairs' correlations."""
        Y = self._rows(z)[0]
        return (1 - self.members.floor) * self.members.point(Y @ Y.T)

    def pull_back(self, z: Array, g: Array) -> Array:
        """Derivative by the coordinates of a function whose derivative by the free pairs' correlations is g."""
        return self._pull_back(z, self.members.matrix(g) - np.eye(self.members.size))

    def constraints(self) -> list[dict[str, Any]]:
        """The box of the free pairs, and zero for the others."""
        members = self.members
        m = members.size
        kept = [(j, k) for j in range(m) for k in range(j + 1, m) if (j, k) not in members.pairs]
        basis = _units(m, members.pairs)

        def to_limits(z: Array) -> Array:
            p = self.point(z)
            return np.concatenate([members.high - p, p - members.low])

        def slopes(z: Array) -> Array:
            own = self._pull_back(z, basis)
            return np.concatenate([-own, own])

        limits: list[dict[str, Any]] = []
        if members.high.min() < 1 - members.floor or members.low.max() > members.floor - 1:
            limits.append({"type": "ineq", "fun": to_limits, "jac": slopes})
        if kept:
            j, k = np.transpose(kept)
            zeros = _units(m, kept)
            limits.append(
                {
                    "type": "eq",
                    "fun": lambda z: (lambda Y: (Y @ Y.T)[j, k])(self._rows(z)[0]),
                    "jac": lambda z: self._pull_back(z, zeros) / (1 - members.floor),
                }
            )
        return limits

    def _rows(self, z: Array) -> tuple[Array, Array]:
        Y = z.reshape(self.members.size, self.members.size)
        length = np.linalg.norm(Y, axis=1, keepdims=True)
        return Y / length, length

    def _pull_back(self, z: Array, G: Array) -> Array:
        """(..., m^2) of derivatives (..., m, m) by the correlations."""
        Y, length = self._rows(z)
        H = (1 - self.members.floor) * (G @ Y)
        pulled = (H - (H * Y).sum(axis=-1, keepdims=True) * Y) / length
        return np.asarray(pulled.reshape(*G.shape[:-2], -1))


def _units(m: int, pairs: Sequence[tuple[int, int]]) -> Array:
    """(pairs, m, m) 1 at each pair, 0 elsewhere."""
    E = np.zeros((len(pairs), m, m))
    for i, (j, k) in enumerate(pairs):
        E[i, j, k] = E[i, k, j] = 1.0
    return E
