"""Model B where a hidden cause lies behind the protected attribute too.

A numeric attribute is one more Gaussian equation. A two-valued one is seen through a threshold:

``A = sign(h + eps_A)`` with ``h = phi_A' gamma`` and eps_A standard normal, correlated with the features' errors. P is
(m + 1, m + 1), A first: ``r`` its correlations with the features, ``P_xx`` theirs with each other. Given the features,
with ``s = (x - Phi w) / sigma``, ``k = P_xx^-1 r`` and ``v = 1 - r'k``, A is + with probability
``Normal_cdf((h + s'k) / sqrt(v))``. In ``z = (u, theta, gamma)``, u = 1/sigma and theta = w/sigma, everything but the
penalty is convex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg, special

from fairstress.errors import DataError, Status
from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.design import Design
from fairstress.model.fit import SEARCH_TOLERANCE, Fit, System, best_fit

MAX_STEPS = 100
TOLERANCE = 1e-13  # decrease of the objective per person below which one last step is taken
SEPARATED = 1e-9  # log likelihood per person of an attribute that its parents determine
EPSILON = float(np.finfo(float).eps)
KEPT = 2**25  # numbers of all columns that are kept in memory, a quarter of a gigabyte


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class ThresholdSystem:
    """What a fit needs to know: the features' system, and the rows in which the protected attribute is seen."""

    features: System
    design: Design
    rows: Rows
    _cross_products: Array = field(init=False, repr=False)  # of the columns (x, -phi) that make up s
    _columns: list[tuple[Array, Array, Array]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        M = self.features.moments
        object.__setattr__(self, "_cross_products", np.block([[M.S, -M.C.T], [-M.C, M.G]]))

    def fits(self, P: Array, start: Fit, *, check_minima: bool) -> list[Fit]:
        """Fit at each of the correlations (g, m + 1, m + 1), from some other fit."""
        sides = [[start] * len(P)]
        if check_minima and self.features.penalties.any():
            sides += [self._features_at(factor, P, start) for factor in (1e-4, 1e4)]
        n, tolerance = self.features.moments.n, TOLERANCE if check_minima else SEARCH_TOLERANCE
        return [
            best_fit([self._fit(one, other, tolerance) for other in others], n)
            for one, *others in zip(P, *sides, strict=True)
        ]

    def refits(self, fits: Sequence[Fit]) -> list[Fit]:
        """Fit at the correlations of other fits, to somewhat other data, each from where that one ended."""
        return [self._fit(one.correlation, one, SEARCH_TOLERANCE) for one in fits]

    def independent(self) -> Fit:
        """Fit at P = I: the features' own fit, and the threshold alone."""
        features = self.features.independent()
        P = np.eye(features.correlation.shape[0] + 1)
        fit = self._fit(P, replace(features, weights=np.append(features.weights, np.zeros(self._n_gamma))))
        if fit.log_likelihood - features.log_likelihood > -SEPARATED * self.features.moments.n:
            assert self.design.protected is not None
            name = self.design.protected.feature
            raise DataError(
                f"the parents of '{name}' tell its two levels apart in every row, so that nothing shows its error: "
                f"remove the pairs that name '{name}', or edges into it"
            )
        return fit

    def correlation_gradient(self, fitted: Fit, c_w: Array) -> Array:
        """Derivative by P of a functional with gradient ``c_w`` in the weights, through the optimum of the fit.

        Solves ``F_zz v = c_z``; the derivative is ``-v' dF_z/dP``, by the chain rule through ``P_xx^-1``, ``k`` and v.
        """
        at = self.place(fitted.correlation)
        return at.shape.pull_back(*self._slopes(self.coordinates(fitted), self.adjoint(fitted, c_w), at))

    def adjoint(self, fitted: Fit, c_w: Array) -> Array:
        """Solve ``F_zz v = c_z`` at a fit, c_z the gradient in z of a functional with gradient ``c_w`` in weights."""
        z = self.coordinates(fitted)
        u, theta = z[: self._m], z[self._m : self._m + self._n_weights]
        f, c = self.features.feature_of, c_w[: self._n_weights]
        c_u = -np.bincount(f, c * theta / u[f] ** 2, self._m)
        _, _, H = self._objective(z, self.place(fitted.correlation))
        return solve_definite(H, np.concatenate([c_u, c / u[f], np.zeros(self._n_gamma)]))

    def fit_at(self, z: Array, like: Fit) -> Fit:
        """The fit with some coordinates at the correlation of another; its likelihood is that of the other."""
        m, b = self._m, self.features.feature_of
        weights = np.concatenate([z[m : m + b.size] / z[:m][b], z[m + b.size :]])
        return replace(like, weights=weights, log_scales=-np.log(z[:m]))

    # ------------------------------------------------------------ mathematics

    @property
    def _m(self) -> int:
        return int(self.features.moments.S.shape[0])

    @property
    def _n_weights(self) -> int:
        return int(self.features.feature_of.size)

    @property
    def _n_gamma(self) -> int:
        assert self.design.protected is not None
        return len(self.design.protected.embedding.terms)

    @property
    def members(self) -> IntArray:
        """(m + D,) the feature that each entry of (u, theta) belongs to."""
        return np.concatenate([np.arange(self._m), self.features.feature_of])

    def place(self, P: Array) -> Place:
        """What one P makes of the objective."""
        shape, f = Shape.of(P), self.members
        q = np.concatenate([shape.kappa[f], np.full(self._n_gamma, shape.steepness)])
        return Place(shape, self._cross_products * shape.inverse[np.ix_(f, f)], q)

    def _fit(self, P: Array, start: Fit, tolerance: float = TOLERANCE) -> Fit:
        """Minimise ``z'Tz - 2n sum log u + sum_d lam_d (theta_d/u)^2 - 2 sum_i log Normal_cdf(t_i)`` by Newton."""
        at, z = self.place(P), self.coordinates(start)
        status = Status.STEP_LIMIT
        F, g, H = self._objective(z, at)
        for _ in range(MAX_STEPS):
            step = -solve_definite(H, g)
            decrease = -float(g @ step) / 2
            longest = np.max(-step[: self._m] / z[: self._m])  # u stays positive
            length = min(1.0, 0.9 / longest) if longest > 0 else 1.0
            # no line search sees a decrease that the rounding of z'Tz hides
            rounding = EPSILON * float(np.diag(at.T) @ z[: len(at.T)] ** 2)
            if decrease <= max(tolerance * self.features.moments.n, rounding) and length == 1.0:
                z, F, status = z + step, F - decrease, Status.CONVERGED
                break
            trial = self._objective(z + length * step, at)
            for _ in range(40):
                if trial[0] <= F - 1e-4 * length * decrease:
                    break
                length /= 2
                trial = self._objective(z + length * step, at)
            else:
                status = Status.STALLED
                break
            z, (F, g, H) = z + length * step, trial
        return self._as_fit(z, F, at.shape, status)

    def _objective(self, z: Array, at: Place) -> tuple[float, Array, Array]:
        """The objective with its gradient and Hessian."""
        n, lam, b = self.features.moments.n, self.features.penalties, self.features.feature_of
        m, q = self._m, at.q
        j, d, both = np.arange(m), np.arange(m, m + b.size), slice(0, m + b.size)
        u = z[:m]
        w = z[d] / u[b]
        cost = lam * w**2  # of each weight: a function of theta and u
        g, H = np.zeros(z.size), np.zeros((z.size, z.size))
        g[both], H[both, both] = 2 * at.T @ z[both], 2 * at.T
        F = float(z @ g) / 2 - 2 * n * float(np.log(u).sum()) + float(cost.sum())
        g[:m] -= 2 * (n + np.bincount(b, cost, m)) / u
        g[d] += 2 * lam * w / u[b]
        H[j, j] += (2 * n + 6 * np.bincount(b, cost, m)) / u**2
        H[d, d] += 2 * lam / u[b] ** 2
        H[d, b] -= 4 * lam * w / u[b] ** 2
        H[b, d] -= 4 * lam * w / u[b] ** 2
        for B, a, weight in self.columns():
            t = a * (B @ (q * z))
            log_cdf, hazard = log_normal_cdf(t)
            F -= 2 * float(weight @ log_cdf)
            g -= 2 * q * (B.T @ (weight * a * hazard))
            H += 2 * q[:, None] * ((B * (weight * hazard * (t + hazard))[:, None]).T @ B) * q
        return F, g, H

    def _slopes(self, z: Array, v: Array, at: Place) -> tuple[Array, float, Array]:
        """Derivatives of ``-v'F_z`` by ``P_xx^-1`` (m, m), ``1/sqrt(v)`` and ``k/sqrt(v)`` (m,), z and v held."""
        m, f, q = self._m, self.members, at.q
        by_inverse = np.zeros((m, m))
        np.add.at(by_inverse, (f[:, None], f[None, :]), -2 * self._cross_products * np.outer(z[: f.size], v[: f.size]))
        by_q = np.zeros(z.size)
        for B, a, weight in self.columns():
            t = a * (B @ (q * z))
            _, hazard = log_normal_cdf(t)
            # v'F_z = -2 sum_i weight_i a_i hazard(t_i) B_i'(q v), to be differentiated by q: the last factor, then t
            along, curve = B @ (q * v), hazard * (t + hazard)
            by_q -= -2 * v * (B.T @ (weight * a * hazard)) + 2 * z * (B.T @ (weight * curve * along))
        return by_inverse, float(by_q[f.size :].sum()), np.asarray(np.bincount(f, by_q[: f.size], m), dtype=float)

    def columns(self) -> Iterator[tuple[Array, Array, Array]]:
        """Columns ``B = (x, -phi, phi_A)`` with A and weights, block by block; kept unless they are too many."""
        if self._columns:
            yield from self._columns
            return
        assert self.design.protected is not None
        blocks = []
        for block in self.rows.blocks():
            own = self.design.protected.values(block.a, block.x)
            B = np.hstack([block.x, -self.design.values(block.a, block.x), own])
            blocks.append((np.asfortranarray(B), block.a, block.weight))
            if self.rows.a.size * B.shape[1] > KEPT:
                yield blocks.pop()
        self._columns[:] = blocks  # at once, so that other threads see all of them or none
        yield from blocks

    # ------------------------------------------------------------ in and out

    def _features_at(self, factor: float, P: Array, start: Fit) -> list[Fit]:
        """Fits of the features alone at another size of the penalty, to start from."""
        other = replace(self.features, penalties=factor * self.features.penalties)
        gamma = start.weights[self._n_weights :]
        fits = other.fits(P[:, 1:, 1:], start, check_minima=False)
        return [replace(fitted, weights=np.append(fitted.weights, gamma)) for fitted in fits]

    def coordinates(self, fitted: Fit) -> Array:
        """``z = (u, theta, gamma)`` of a fit."""
        u, b = np.exp(-fitted.log_scales), self.features.feature_of
        return np.concatenate([u, fitted.weights[: self._n_weights] * u[b], fitted.weights[self._n_weights :]])

    def _as_fit(self, z: Array, F: float, shape: Shape, status: Status) -> Fit:
        m, n, b = self._m, self.features.moments.n, self.features.feature_of
        w = z[m : m + b.size] / z[:m][b]
        deviance = F - float(self.features.penalties @ w**2)
        log_det = float(np.linalg.slogdet(shape.P[1:, 1:])[1])
        return Fit(
            weights=np.concatenate([w, z[m + b.size :]]),
            log_scales=-np.log(z[:m]),
            correlation=shape.P,
            log_likelihood=-(deviance + n * log_det + n * m * float(np.log(2 * np.pi))) / 2,
            objective=F,
            status=status,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What the likelihood takes from P."""

    P: Array  # (m + 1, m + 1), A first
    inverse: Array  # (m, m) of P_xx
    k: Array  # (m,)
    steepness: float  # 1 / sqrt(v)

    @classmethod
    def of(cls, P: Array) -> Shape:
        """Take apart a correlation, A first."""
        inverse = np.asarray(np.linalg.inv(P[1:, 1:]), dtype=float)
        k = inverse @ P[0, 1:]
        return cls(P, inverse, k, float((1 - P[0, 1:] @ k) ** -0.5))

    @property
    def kappa(self) -> Array:
        """(m,) k / sqrt(v)."""
        return np.asarray(self.k * self.steepness)

    def pull_back(self, by_inverse: Array, by_steepness: float, by_kappa: Array) -> Array:
        """Derivative by P, each entry on its own, of a function of inverse, steepness and kappa."""
        r = self.P[0, 1:]
        by_k = self.steepness * by_kappa
        by_v = -(self.steepness**3) / 2 * (by_steepness + float(self.k @ by_kappa))
        by_k = by_k - r * by_v
        by_r = -self.k * by_v + self.inverse @ by_k
        G = by_inverse + np.outer(by_k, r)
        by_P = np.zeros_like(self.P)
        by_P[1:, 1:] = -self.inverse @ G @ self.inverse
        by_P[0, 1:] = by_r
        return by_P


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """What one P makes of the objective: ``z'Tz`` and ``t = a B (q z)``."""

    shape: Shape
    T: Array  # (m + D, m + D)
    q: Array  # (m + D + c,)


def log_normal_cdf(t: Array) -> tuple[Array, Array]:
    """Log of the standard normal's distribution function, with its derivative, density over distribution function."""
    log_cdf = np.asarray(special.log_ndtr(t))
    return log_cdf, np.asarray(np.exp(-(t**2) / 2 - log_cdf) / np.sqrt(2 * np.pi))


def solve_definite(H: Array, rhs: Array) -> Array:
    """Solve with a Hessian; where the penalty makes it indefinite, with its nearest definite one."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(H)), 1e-300))
    unit = H / np.outer(scale, scale)
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(unit), rhs / scale) / scale)
    except linalg.LinAlgError:
        values, vectors = np.linalg.eigh(unit)
        values = np.maximum(np.abs(values), 1e-8)
        return np.asarray(vectors @ ((vectors.T @ (rhs / scale)) / values) / scale)
