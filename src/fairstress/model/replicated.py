"""Model B under many weights of the same rows: what replicates of the data need, made side by side.

Fits to other weights lie close to the fit to the rows as they are, z_0, and rows are seen through sums that are linear
in the weights. So one product of all weights with the rows' scores and curvatures at z_0 gives every replicate its own
Newton step, and further steps with the same curvature bring it closer. A replicate that is too far away for them is
fitted on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import BLOCK, Array, IntArray, Rows
from fairstress.model.design import Design
from fairstress.model.fit import Fit
from fairstress.model.normal_cdf import hazard_of
from fairstress.model.system import Likelihood, system_of_batch
from fairstress.model.threshold import Place, ThresholdSystem
from fairstress.model.threshold_columns import Columns, Folded, outer, square

NEAR = 1e-4  # decrease of the objective that a last step may promise; a standard error is a decrease of 1/2
STEPS = 5  # with the curvature where all set out


def refits(
    system: Likelihood, design: Design, rows: Rows, weights: Array, base: Sequence[Fit], share: float
) -> list[list[Fit]]:
    """Fits at the correlations of ``base`` for each of the weights (b, r) of the rows, with a share of the penalty."""
    side_by_side = isinstance(system, ThresholdSystem) and not (share * system.features.penalties).any()
    if isinstance(system, ThresholdSystem) and side_by_side:
        return _threshold_refits(system, weights, base)
    return [_alone(system, design, rows, weight, share).refits(base) for weight in weights]


def _alone(system: Likelihood, design: Design, rows: Rows, weight: Array, share: float) -> Likelihood:
    return system_of_batch(system, design, replace(rows, weight=weight), share)


def _threshold_refits(system: ThresholdSystem, weights: Array, base: Sequence[Fit]) -> list[list[Fit]]:
    blocks, folded = system.folded()
    parts = _weighed(blocks, weights)
    products = square(np.sum([part.weights @ part.products for part in parts], axis=0), folded.count)
    n = np.sum([part.weights.sum(axis=1) for part in parts], axis=0)
    made = [_Steps(system, parts, n, folded, folded.E @ products @ folded.E.T, fit).fits() for fit in base]
    return [
        [
            fits[b] or _alone(system, system.design, system.rows, weights[b], 0.0).refits([fit])[0]
            for fits, fit in zip(made, base, strict=True)
        ]
        for b in range(len(weights))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some rows under all replicates' weights."""

    weights: Array  # (b, r)
    B: Array  # (r, k) columns of which none are the same
    a: Array  # (r,) the attribute
    _products: Array | None  # (r, k (k + 1) / 2) of each two columns, where they are kept

    @property
    def products(self) -> Array:
        """(r, k (k + 1) / 2) of each two columns."""
        return outer(self.B) if self._products is None else self._products


def _weighed(blocks: Iterable[Columns], weights: Array) -> list[_Part]:
    parts, start = [], 0
    for rows in blocks:
        for first in range(0, rows.a.size, BLOCK):
            own = slice(first, first + BLOCK)
            products = None if rows.products is None else rows.products[own]
            parts.append(_Part(weights[:, start : start + rows.a.size][:, own], rows.B[own], rows.a[own], products))
        start += rows.a.size
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Steps of all replicates from one fit."""

    system: ThresholdSystem
    parts: Sequence[_Part]
    n: Array  # (b,) people in each replicate
    folded: Folded  # which of the q columns are the same
    products: Array  # (b, q, q) of the columns, under each replicate's weights
    base: Fit

    def fits(self) -> list[Fit | None]:
        """One fit for each replicate; None where these steps are not enough."""
        at, m = self.system.place(self.base.correlation), self.base.log_scales.size
        z = np.repeat(self.system.coordinates(self.base)[None], len(self.products), axis=0)
        T, diagonal = self._quadratic(at), np.arange(m)
        H = 2 * T + self._curvature(at, z[0])
        H[:, diagonal, diagonal] += 2 * self.n[:, None] / z[:, :m] ** 2
        inverse = _inverse(H)
        near = np.zeros(len(z), dtype=bool)
        for k in range(STEPS):
            far = np.flatnonzero(~near)
            g = self._slope(at, T, z, far, alike=k == 0)
            step = -(inverse[far] @ g[:, :, None])[:, :, 0]
            near[far] = -(g * step).sum(axis=1) / 2 <= NEAR
            z[far] = np.where((z[far] + step)[:, :m].min(axis=1, keepdims=True) > 0, z[far] + step, z[far])
            if near.all():
                break
        return [self._as_fit(one) if ok else None for one, ok in zip(z, near, strict=True)]

    def _quadratic(self, at: Place) -> Array:
        """(b, q, q) ``T`` of each replicate: the objective's quadratic part is ``z'Tz``."""
        f = self.system.members
        T = np.zeros_like(self.products)
        T[:, : f.size, : f.size] = self.products[:, : f.size, : f.size] * at.shape.inverse[np.ix_(f, f)]
        return T

    def _curvature(self, at: Place, z: Array) -> Array:
        """(b, q, q) ``2 q q' o sum_i w_i hazard_i (t_i + hazard_i) B_i B_i'`` at one z."""
        k, E = self.folded.count, self.folded.E
        total = np.zeros((len(self.products), k * (k + 1) // 2))
        for part in self.parts:
            t = part.a * (part.B @ (at.q * z @ E))
            hazard = hazard_of(t)
            total += (part.weights * (hazard * (t + hazard))) @ part.products
        return np.asarray(2 * np.outer(at.q, at.q) * (E @ square(total, k) @ E.T))

    def _slope(self, at: Place, T: Array, z: Array, which: IntArray, *, alike: bool) -> Array:
        """(g, q) the gradients of some replicates, each at its own of z (b, q), or all at the same."""
        m, z = self.base.log_scales.size, z[which]
        g = 2 * (T[which] @ z[:, :, None])[:, :, 0]
        g[:, :m] -= 2 * self.n[which, None] / z[:, :m]
        y = (at.q * (z[:1] if alike else z)) @ self.folded.E
        for part in self.parts:
            hazard = hazard_of(part.a * (y @ part.B.T))
            g -= 2 * at.q * ((part.weights[which] * (part.a * hazard)) @ part.B @ self.folded.E.T)
        return g

    def _as_fit(self, z: Array) -> Fit:
        m, b = self.base.log_scales.size, self.system.features.feature_of
        weights = z[m:].copy()
        weights[: b.size] /= z[:m][b]
        nothing = float("nan")  # the likelihood is not worked out
        return Fit(weights, -np.log(z[:m]), self.base.correlation, nothing, nothing, Status.CONVERGED)


def _inverse(H: Array) -> Array:
    """(b, q, q) what turns gradients into Newton's steps, found in unit-norm columns."""
    scale = np.sqrt(np.einsum("bqq->bq", H))
    both = scale[:, :, None] * scale[:, None, :]
    return np.asarray(np.linalg.inv(H / both) / both)
