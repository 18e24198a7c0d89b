"""Where Model B's weights can be while the correlation goes over a box: proved, by convexity.

In ``z = (u, theta, gamma)``, with u = 1/sigma and theta = w/sigma, the objective of a fit is

``F(z; P) = z'T(P)z - 2n sum log u + sum_d lam_d (theta_d/u)^2 - 2 sum_i log Normal_cdf(a_i B_i'(q(P) z))``.

Let ``y(d)`` be any guess of the minimum at the place d of the box, and M the Hessian at the box's centre. If
``F_zz >= kappa M`` wherever ``|z - y(d)|_M <= rho``, and ``|F_z(y(d))| <= eta < kappa rho`` in the dual norm, F has a
minimum within ``eta / kappa`` of y(d), since it grows on that ball's surface. The guess has the minimum's tangent and
curvature, so that eta is of third order. Without a penalty F is convex and this is its only minimum. With one it is
convex where ``sum_d lam_d w_d^2 <= n`` for each equation; outside, the penalty alone is more than n, so that F is not
lower than its minimum without penalty, plus n: the ceiling below which a minimum must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairstress.inputs.rows import Array, IntArray
from fairstress.model.fit import Fit, System
from fairstress.model.normal_cdf import hazard_of, log_normal_cdf
from fairstress.model.system import Likelihood
from fairstress.model.threshold import ThresholdSystem
from fairstress.model.threshold_columns import Columns
from fairstress.search.forms import Form, inverse, joined

HAZARD_SECOND = 0.3  # the hazard density / Normal_cdf has a second derivative between 0 and 0.2958
HAZARD_THIRD = 0.19  # and a third one between -0.18896 and 0.1149
SHARES = (4.0, 1.3)  # radii of the ball that are tried, as multiples of eta


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """The objective of fits at any P, as far as enclosures need it."""

    basis: Array  # (d, d) A of ``z = A y``: in y each feature's columns (x, -phi) A are orthogonal, of length sqrt(n)
    cross_products: Array  # (k, k) of these
    of: IntArray  # (k,) the feature that each of (u, theta) belongs to
    penalties: Array  # (D,)
    n: float
    rows: tuple[Columns, ...]  # in which A is seen, their columns turned too; none where it is not behind a threshold
    pairs: tuple[tuple[int, int], ...]  # the free ones, as positions in P

    @classmethod
    def of_system(cls, system: Likelihood, pairs: Sequence[tuple[int, int]]) -> Objective:
        """Gather what the fits of a system are made from."""
        assert isinstance(system, System | ThresholdSystem)  # whoever asks has looked
        features = system if isinstance(system, System) else system.features
        rows = () if isinstance(system, System) else tuple(system.columns())
        M, m = features.moments, features.moments.S.shape[0]
        cross = np.block([[M.S, -M.C.T], [-M.C, M.G]])
        of = np.concatenate([np.arange(m), features.feature_of])
        basis = _basis(cross, of, M.n, rows)
        k, turned = of.size, tuple(replace(block, B=block.B @ basis, products=None) for block in rows)
        cross = basis[:k, :k].T @ cross @ basis[:k, :k]
        return cls(basis, cross, of, features.penalties, M.n, turned, tuple(pairs))

    @property
    def m(self) -> int:
        """The number of equations in the quadratic part."""
        return int(self.of.size - self.penalties.size)

    @property
    def n_gamma(self) -> int:
        """The number of weights behind the threshold."""
        return self.rows[0].B.shape[1] - self.of.size if self.rows else 0

    def coordinates(self, fit: Fit) -> Array:
        """``y`` of a fit."""
        u, b = np.exp(-fit.log_scales), self.of[self.m :]
        z = np.concatenate([u, fit.weights[: b.size] * u[b], fit.weights[b.size :]])
        return np.asarray(np.linalg.solve(self.basis, z))

    def weights(self, y: Form) -> Form | None:
        """``w = theta / u``."""
        z = y.mapped(self.basis)
        inverse_u = z[: self.m].power(-1.0)
        return None if inverse_u is None else z[self.m : self.of.size] * inverse_u[self.of[self.m :]]

    def box(self, P: Array, half: Array) -> Box | None:
        """A box of correlations around P (V, V); None where it is too large to be enclosed."""
        form, first = Form.exact(P, len(self.pairs)), int(bool(self.rows))
        for i, (j, k) in enumerate(self.pairs):
            form.g[i, j, k] = form.g[i, k, j] = half[i]
        X = inverse(form[first:, first:])
        if X is None:
            return None
        if not self.rows:
            return Box(form, X, None, self)
        r = form[0, 1:]
        along = (X * r[None]).sum(axis=1)
        steepness = ((r * along).sum(axis=0)[None] * -1.0 + 1.0).power(-0.5)
        if steepness is None:
            return None
        kappa, behind = along * steepness, steepness[np.zeros(self.n_gamma, dtype=int)]
        return Box(form, X, joined([kappa[self.of], behind]), self)


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """What the correlations of a box make of the objective."""

    P: Form
    X: Form  # (m, m) inverse of the features' part
    q: Form | None  # (d,) factors of z in what A is seen by
    F: Objective

    def enclose(self, fit: Fit, ceiling: float = np.inf) -> Form | None:
        """All minima over the box, in the basis, seen from the fit at its centre; None where nothing can be proved.

        The deviance of a minimum must be below the ceiling.
        """
        found = self._minima(fit)
        if found is None or (ceiling < np.inf and not self._deviance_limits(found)[1] < ceiling):
            return None
        return found.guess.plus(found.away * found.each)

    def least_deviance(self, fit: Fit) -> float:
        """Below what the deviance ``F + n log det P`` does not fall all over the box; for F that is convex."""
        found = self._minima(fit)
        return -np.inf if found is None else self._deviance_limits(found)[0]

    def _minima(self, fit: Fit) -> Minima | None:
        """Follow the minimum's tangent and curvature over the box, and bound how far from them it can be."""
        y = self.F.coordinates(fit)
        guess, M = Form.exact(y, self.P.q), self.hessian(y)
        if np.linalg.eigvalsh(M)[0] <= 0:
            return None
        M_inverse = np.asarray(np.linalg.inv(M), dtype=float)
        for order in (self.P.q, len(guess.g)):
            slope = self.gradient(guess)
            if slope is None:
                return None
            guess.g[:order] -= slope.g[:order] @ M_inverse
        left = self.gradient(guess)
        if left is None:
            return None
        eta = _dual_norm(left, M_inverse)
        for share in SHARES:
            kappa = self._least_curvature(guess, M, M_inverse, share * eta)
            if kappa * share > 1.0:
                return Minima(guess, eta / kappa, eta**2 / (2 * kappa), np.sqrt(np.diag(M_inverse)))
        return None

    def gradient(self, y: Form) -> Form | None:
        """``F_y``: of the quadratic part, the logarithms with the penalty, and the rows, one after the other."""
        k, A = self.F.of.size, self.F.basis
        own = self._scales_gradient(y.mapped(A))
        if own is None:
            return None
        known = self._quadratic_gradient(y) + own.mapped(A[:k, :k].T)
        return known if self.q is None else self._with_rows(known, y)

    def _quadratic_gradient(self, y: Form) -> Form:
        """``2 T(P) y``: with Y the cross-products' sums over each feature's columns, ``2 sum_j X_{f(d) j} Y_dj``."""
        F, k = self.F, self.F.of.size
        belongs = (F.of[:, None] == np.arange(F.m)).astype(float)
        Y = Form(
            (F.cross_products * y.c[:k]) @ belongs,
            (y.g[:, None, :k] * F.cross_products) @ belongs,
            (np.abs(F.cross_products) * y.e[:k]) @ belongs,
        )
        return (self.X[F.of] * Y).sum(axis=1) * 2.0

    def _scales_gradient(self, z: Form) -> Form | None:
        """Derivative by u and theta of ``-2n sum log u + sum_d lam_d (theta_d/u)^2``."""
        F, m, k, b = self.F, self.F.m, self.F.of.size, self.F.of[self.F.m :]
        inverse_u = z[:m].power(-1.0)
        if inverse_u is None:
            return None
        own = inverse_u[b]
        w = z[m:k] * own
        cost = (w * w * F.penalties).mapped((b == np.arange(m)[:, None]).astype(float))
        return joined([inverse_u * (cost + F.n) * -2.0, w * own * (2.0 * F.penalties)])

    def _with_rows(self, known: Form, y: Form) -> Form:
        """Add ``-2 q sum_i weight_i a_i hazard(t_i) B_i``."""
        assert self.q is not None
        seen, q = self.q * y, self.P.q
        slope = Form.exact(np.zeros(y.c.size), q)
        for rows in self.F.rows:
            t = seen.mapped(rows.a[:, None] * rows.B)
            hazard = hazard_of(t.c)
            first = -hazard * (t.c + hazard)
            bent = t.through(hazard, first, -first * (t.c + hazard) - hazard * (1 + first), HAZARD_THIRD)
            slope = slope + bent.mapped((rows.B * (rows.a * rows.weight)[:, None]).T)
        others = Form.exact(np.zeros(self.F.n_gamma), q)
        return joined([known, others]) + self.q * slope * -2.0

    def hessian(self, y: Array) -> Array:
        """``F_yy`` at the centre."""
        F, k = self.F, self.F.of.size
        A = F.basis[:k, :k]
        H = np.zeros((y.size, y.size))
        H[:k, :k] = 2 * F.cross_products * self.X.c[np.ix_(F.of, F.of)] + A.T @ self._scales_hessian(A @ y[:k]) @ A
        return H if self.q is None else H + self.q.c[:, None] * self._rows_curvature(y) * self.q.c

    def _scales_hessian(self, z: Array) -> Array:
        """Second derivative by u and theta of ``-2n sum log u + sum_d lam_d (theta_d/u)^2``."""
        F, m, b = self.F, self.F.m, self.F.of[self.F.m :]
        H, u, d, j = np.zeros((z.size, z.size)), z[:m], np.arange(m, z.size), np.arange(m)
        w = z[m:] / u[b]
        H[j, j] = (2 * F.n + 6 * np.bincount(b, F.penalties * w**2, m)) / u**2
        H[d, d] = 2 * F.penalties / u[b] ** 2
        H[d, b] = H[b, d] = -4 * F.penalties * w / u[b] ** 2
        return H

    def _rows_curvature(self, y: Array, at: Sequence[Array] | None = None) -> Array:
        """``2 sum_i weight_i hazard_i (t_i + hazard_i) B_i B_i'`` at the centre, or at other t."""
        assert self.q is not None
        S = np.zeros((y.size, y.size))
        for i, rows in enumerate(self.F.rows):
            t = rows.a * (rows.B @ (self.q.c * y)) if at is None else at[i]
            S += 2 * (rows.B.T * (rows.weight * _curvature(t))) @ rows.B
        return S

    # ------------------------------------------------------------ bounds

    def _least_curvature(self, guess: Form, M: Array, M_inverse: Array, rho: float) -> float:
        """kappa: the least eigenvalue, relative to M, of what the Hessian's parts can shrink to in box and ball."""
        F, A, k = self.F, self.F.basis, self.F.of.size
        away = rho * np.sqrt(np.maximum(((A @ M_inverse) * A).sum(axis=1), 0.0))  # of a coordinate from the guess
        H = np.zeros_like(M)
        H[:k, :k] = self._least_quadratic() * 2 * F.cross_products * self.X.c[np.ix_(F.of, F.of)]
        turned, own = A[:k, :k], self._least_scales(guess.mapped(A), away)
        H[:k, :k] += own * turned.T @ self._scales_hessian(turned @ guess.c[:k]) @ turned
        L, shift = np.linalg.inv(np.linalg.cholesky(M)), 0.0
        if self.q is not None:
            S = self._rows_curvature(guess.c, self._furthest(guess, M_inverse, rho))
            H += self.q.c[:, None] * S * self.q.c
            shift = self._turned(S, L)
        kappa = float(np.linalg.eigvalsh(L @ H @ L.T)[0])
        return kappa - 2 * shift * np.sqrt(max(kappa, 0.0)) if kappa < 1 else 1 - 2 * shift

    def _least_quadratic(self) -> float:
        """``T(P) >= alpha T(P_0)``, by Schur's product theorem, with ``1 / alpha = 1 + |X^1/2 E X^1/2|``."""
        return 1 / (1 + self._relative())

    def _relative(self) -> float:
        """``|X^1/2 E X^1/2|``: how far the features' correlations can be from the centre's, relative to it."""
        first = int(bool(self.F.rows))
        values, vectors = np.linalg.eigh(self.X.c)
        root = np.abs((vectors * np.sqrt(values)) @ vectors.T)
        return float(np.linalg.norm(root @ self.P.radius[first:, first:] @ root, 2))

    def _least_scales(self, guess: Form, away: Array) -> float:
        """The part of logarithms and penalty: ``1/u^2`` times a form in w alone; ``o = lam |w|^2 / n``."""
        F, m, k, b = self.F, self.F.m, self.F.of.size, self.F.of[self.F.m :]
        shrunk = (guess.c[:m] / (guess.c[:m] + guess.reach[:m] + away[:m])) ** 2
        if not F.penalties.any():
            return float(shrunk.min())
        z = guess.plus(away)
        inverse_u = z[:m].power(-1.0)
        if inverse_u is None:
            return 0.0
        w = z[m:k] * inverse_u[b]
        o, more = (
            np.bincount(b, F.penalties * part, m) / F.n for part in (w.c**2, w.radius * (2 * np.abs(w.c) + w.radius))
        )
        moved = np.sqrt(np.bincount(b, F.penalties * w.radius**2, m) / F.n)
        # eigenvalues of [[1 + 3 o, -2 sqrt(o)], [-2 sqrt(o), 1]], relative to diag(2n, 2 lam)
        least = (2 + 3 * o - np.sqrt(9 * o**2 + 16 * o)) / 2
        if (least <= 0).any() or (o + more >= 1).any():
            return 0.0
        return float((shrunk * (1 - (2 * moved + 3 * more) / least)).min())

    def _furthest(self, guess: Form, M_inverse: Array, rho: float) -> list[Array]:
        """How large each ``t_i`` can be over box and ball: its curvature ``hazard (t + hazard)`` falls with t."""
        assert self.q is not None
        seen, furthest = self.q * guess, []
        for rows in self.F.rows:
            t = seen.mapped(rows.a[:, None] * rows.B)
            parts = (rows.B * self.q.c, M_inverse), (np.abs(rows.B) * self.q.radius, np.abs(M_inverse))
            norms = sum(np.sqrt(np.maximum(((b @ inverse) * b).sum(axis=1), 0.0)) for b, inverse in parts)
            furthest.append(t.c + t.radius + rho * norms)
        return furthest

    def _turned(self, S: Array, L: Array) -> float:
        """How far a change of q turns the rows' part, in the norm of M: ``sum_g |dq_g| |S^1/2 E_g M^-1/2|``."""
        assert self.q is not None
        groups = np.concatenate([self.F.of, np.full(self.F.n_gamma, self.F.m)])
        total = 0.0
        for group in range(self.F.m + 1):
            own = groups == group
            part = L[:, own] @ S[np.ix_(own, own)] @ L[:, own].T
            total += float(self.q.radius[own].max(initial=0.0) * np.sqrt(max(np.linalg.eigvalsh(part)[-1], 0.0)))
        return total

    def _deviance_limits(self, found: Minima) -> tuple[float, float]:
        """Between what ``F + n log det P`` is at the minima all over the box."""
        known = self._value(found.guess)
        if known is None:
            return -np.inf, np.inf
        whole = known + self._log_det() * self.F.n
        return float(whole.c - whole.radius - found.lower), float(whole.c + whole.radius)

    def _value(self, y: Form) -> Form | None:
        """``F`` itself."""
        F, m, k, b = self.F, self.F.m, self.F.of.size, self.F.of[self.F.m :]
        z = y.mapped(F.basis)
        u, inverse_u = z[:m], z[:m].power(-1.0)
        if inverse_u is None:
            return None
        w = z[m:k] * inverse_u[b]
        logs = u.through(np.log(u.c), 1 / u.c, -1 / u.c**2, 2 / (u.c - u.radius) ** 3)
        value = (y[:k] * self._quadratic_gradient(y)).sum(axis=0) * 0.5
        value = value + logs.sum(axis=0) * (-2 * F.n) + (w * w * F.penalties).sum(axis=0)
        for rows in F.rows:
            assert self.q is not None
            t = (self.q * y).mapped(rows.a[:, None] * rows.B)
            cdf, hazard = log_normal_cdf(t.c)
            logged = t.through(cdf, hazard, -hazard * (t.c + hazard), HAZARD_SECOND)
            value = value + logged.mapped(-2 * rows.weight[None]).sum(axis=0)
        return value

    def _log_det(self) -> Form:
        """``log det P`` of the features: ``tr(XE) - tr(XEXE)/2``, and ``tr(S^3 (I - S)^-1)/3`` at most, S = |X||E|."""
        first = int(bool(self.F.rows))
        P, X = self.P[first:, first:], self.X.c
        S = np.abs(X) @ P.radius
        rest = np.trace(S @ S @ S @ np.linalg.inv(np.eye(len(X)) - S)) / 3
        XE = X @ P.linear
        i, j = np.triu_indices(P.q)
        second = -np.trace(XE[i] @ XE[j], axis1=1, axis2=2) * np.where(i == j, 0.5, 1.0)
        g = np.concatenate([np.trace(XE, axis1=1, axis2=2), second])
        return Form(np.asarray(-np.linalg.slogdet(X)[1]), g, np.asarray(rest))


@dataclass(frozen=True, slots=True, eq=False)
class Minima:
    """A guess of the minima over a box, and how far they can be from it."""

    guess: Form  # (d,)
    away: float  # at most, in the norm of M
    lower: float  # than at the guess: how much F can be there, at most
    each: Array  # (d,) how far a coordinate can be where the norm is 1


def _basis(cross_products: Array, of: IntArray, n: float, rows: Sequence[Columns]) -> Array:
    """(d, d) what makes each feature's columns, and those behind the threshold, orthogonal and of length sqrt(n)."""
    blocks = [(np.flatnonzero(of == j), cross_products) for j in range(int(of.max()) + 1)]
    if rows:
        behind = np.arange(of.size, rows[0].B.shape[1])
        blocks.append((behind, np.asarray(sum((block.B.T * block.weight) @ block.B for block in rows))))
    A = np.eye(of.size if not rows else rows[0].B.shape[1])
    for own, products in blocks:
        A[np.ix_(own, own)] = np.sqrt(n) * np.linalg.inv(np.linalg.cholesky(products[np.ix_(own, own)])).T
    return A


def _dual_norm(G: Form, M_inverse: Array) -> float:
    """How large G can be in the norm of M's inverse."""
    directions = np.concatenate([G.c[None], G.g])
    known = np.sqrt(np.maximum(((directions @ M_inverse) * directions).sum(axis=1), 0.0)).sum()
    return float(known + np.sqrt(G.e @ np.abs(M_inverse) @ G.e))


def _curvature(t: Array) -> Array:
    """``hazard (t + hazard)``, the second derivative of ``-log Normal_cdf``."""
    hazard = hazard_of(t)
    return np.maximum(hazard * (t + hazard), 0.0)
