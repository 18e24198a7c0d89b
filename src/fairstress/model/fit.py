"""Model A and Model B: penalised maximum likelihood at a given error correlation, from moments alone.

Model A is the fit at the identity. Letters are those of the documentation's notation table: ``t = log sigma``,
``K = diag(e^-t) P^-1 diag(e^-t)``, ``R(w)`` the residual cross-products, ``b(d)`` the equation of weight d.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from fairstress.errors import DataError, Status
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.design import Design, Moments
from fairstress.model.linear import Factor, ridge

MAX_STEPS = 100


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights and scales at one correlation of the errors, in standardised units."""

    weights: Array  # (D,)
    log_scales: Array  # (m,)
    correlation: Array  # (m, m)
    log_likelihood: float  # without the penalty
    objective: float  # -2 log likelihood and the penalty, up to a constant
    status: Status

    @property
    def scales(self) -> Array:
        """(m,) standard deviations of the errors."""
        return np.asarray(np.exp(self.log_scales))


@dataclass(frozen=True, slots=True)
class System:
    """What a fit needs to know: the moments, the equation of each weight and its penalty."""

    moments: Moments
    feature_of: IntArray  # (D,)
    penalties: Array  # (D,)


@dataclass(frozen=True, slots=True)
class _Point:
    """The profile objective at some t, the weights at their optimum."""

    t: Array
    w: Array
    K: Array
    R: Array
    Q: Array
    N: Factor
    F: float


def fit(system: System, P: Array, start: Array | None = None) -> Fit:
    """Minimise ``sum_jk K_jk R_jk(w) + sum_d lam_d w_d^2 + 2 n sum t`` over w and t by Newton on the profile of t.

    Parameters
    ----------
    system
        Moments and penalties.
    P
        (m, m) positive definite correlation of the errors.
    start
        (m,) log scales to start from; 0, the scale of the standardised features, without it.
    """
    P_inverse = _inverse(P)
    point = _profile(system, P_inverse, np.zeros(P.shape[0]) if start is None else start)
    status = Status.STEP_LIMIT
    for _ in range(MAX_STEPS):
        step, decrease = _newton_step(system, point)
        if decrease <= 1e-12 * system.moments.n:
            # the objective's rounding would now hide progress from a line search; a full step doubles the digits of t
            point, status = _profile(system, P_inverse, point.t + step), Status.CONVERGED
            break
        following = _line_search(system, P_inverse, point, step, decrease)
        if following is None:
            status = Status.STALLED
            break
        point = following
    return _as_fit(system, P, point, status)


def fit_both_starts(system: System, P: Array, start: Array) -> Fit:
    """Fit from ``start``, check from a second one, and give the better fit; say so where they differ.

    Without a penalty the objective is convex in ``(1/sigma, w/sigma)`` and one start is enough.
    """
    first = fit(system, P, start)
    if not system.penalties.any():
        return first
    second = fit(system, P)
    if abs(first.objective - second.objective) <= 1e-9 * system.moments.n:
        return first
    return replace(min(first, second, key=lambda f: f.objective), status=Status.TWO_MINIMA)


def correlation_gradient(system: System, fitted: Fit, c_w: Array) -> Array:
    """Derivative by P of a functional with gradient ``c_w`` in the weights, through the optimum of the fit.

    Solves ``F_zz v = (c_w, 0)`` for z = (w, t); then ``B_jk = -2 sum_{d in j} v_d Q_dk - 2 v_t[j] R_jk`` and the
    derivative is ``P^-1 (u B u) P^-1`` with u = 1/sigma. A pair's derivative is the sum of its two entries.
    """
    b, m = system.feature_of, system.moments.S.shape[0]
    P_inverse = _inverse(fitted.correlation)
    point = _profile(system, P_inverse, fitted.log_scales)
    F_tt, F_wt = _second_derivatives(system, point)
    # block elimination of the weights: (F_tt - F_tw (2N)^-1 F_wt) v_t = -F_tw (2N)^-1 c_w
    solved = point.N.solve(np.column_stack([c_w, F_wt])) / 2
    v_t = linalg.solve(F_tt - F_wt.T @ solved[:, 1:], -F_wt.T @ solved[:, 0])
    v_w = solved[:, 0] - solved[:, 1:] @ v_t
    B = -2 * np.stack([v_w[b == j] @ point.Q[b == j] for j in range(m)]) - 2 * v_t[:, None] * point.R
    u = np.exp(-point.t)
    return np.asarray(P_inverse @ (u[:, None] * B * u) @ P_inverse)


def check_noise(moments: Moments, design: Design) -> None:
    """Refuse a feature that its parents determine: without noise there is nothing to abduct."""
    for j, (equation, where) in enumerate(zip(design.equations, design.slices, strict=True)):
        G, c, s = moments.G[where, where], moments.C[where, j], float(moments.S[j, j])
        w = ridge(G, c, 1e-10 * np.diag(G))
        if s - 2 * w @ c + w @ G @ w < 1e-8 * s:
            raise DataError(
                f"feature '{equation.feature}' is an exact function of its parents, so that it has no error to "
                "compare: remove it from the graph, or its edges"
            )


# ---------------------------------------------------------------- mathematics


def _inverse(P: Array) -> Array:
    return np.asarray(linalg.cho_solve(linalg.cho_factor(P, lower=True), np.eye(P.shape[0])))


def _profile(system: System, P_inverse: Array, t: Array) -> _Point:
    """Weights for given scales, ``(G o K[b, b] + diag(lam)) w = sum_k K[b, k] C[:, k]``, and the objective there."""
    moments, b = system.moments, system.feature_of
    u = np.exp(-t)
    K = u[:, None] * P_inverse * u
    K_b = K[b]
    normal = moments.G * K_b[:, b]
    normal.ravel()[:: b.size + 1] += system.penalties
    N = Factor.of(normal)
    w = N.solve((moments.C * K_b).sum(axis=1))
    W = np.zeros(moments.C.shape)
    W[np.arange(b.size), b] = w
    Q = moments.C - moments.G @ W
    R = moments.S - W.T @ moments.C - Q.T @ W
    F = (K * R).sum() + system.penalties @ w**2 + 2 * moments.n * t.sum()
    return _Point(t, w, K, R, Q, N, float(F))


def _second_derivatives(system: System, point: _Point) -> tuple[Array, Array]:
    """``F_tt`` (m, m) and ``F_wt`` (D, m)."""
    b = system.feature_of
    KR, KQ = 2 * point.K * point.R, 2 * point.K[b] * point.Q
    F_tt = KR + np.diag(KR.sum(axis=1))
    F_wt = KQ.copy()
    F_wt[np.arange(b.size), b] += KQ.sum(axis=1)
    return F_tt, F_wt


def _newton_step(system: System, point: _Point) -> tuple[Array, float]:
    """Newton's step for the profile of t, and the decrease of the objective that it promises."""
    g = 2 * system.moments.n - 2 * (point.K * point.R).sum(axis=1)
    F_tt, F_wt = _second_derivatives(system, point)
    H = F_tt - F_wt.T @ point.N.solve(F_wt) / 2
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    # away from the optimum the profile may curve downwards: mirror such directions, never stand still
    values = np.maximum(np.abs(values), 1e-8 * system.moments.n)
    step = -vectors @ ((vectors.T @ g) / values)
    return step, float(-g @ step) / 2


def _line_search(system: System, P_inverse: Array, point: _Point, step: Array, decrease: float) -> _Point | None:
    """Halve the step until the objective falls enough; None where no length of it does."""
    length = min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))  # a factor of 20 in a scale is enough at once
    for _ in range(40):
        trial = _profile(system, P_inverse, point.t + length * step)
        if 1e-4 * length * decrease <= point.F - trial.F:
            return trial
        length /= 2
    return None


def _as_fit(system: System, P: Array, point: _Point, status: Status) -> Fit:
    n, m = system.moments.n, P.shape[0]
    deviance = np.sum(point.K * point.R) + 2 * n * point.t.sum()
    log_likelihood = -(deviance + n * np.linalg.slogdet(P)[1] + n * m * np.log(2 * np.pi)) / 2
    return Fit(point.w, point.t, P, float(log_likelihood), point.F, status)
