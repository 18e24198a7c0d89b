"""Model A and Model B: penalised maximum likelihood at a given error correlation, from moments alone.

Model A is the fit at the identity. Letters are those of the documentation's notation table: ``t = log sigma``,
``K = diag(e^-t) P^-1 diag(e^-t)``, ``R(w)`` the residual cross-products, ``b(d)`` the equation of weight d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fairstress.errors import DataError, Status
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.design import Equation, Moments
from fairstress.model.linear import factors, loses_digits, ridge, solve_by_factors, unit_columns
from fairstress.model.minima import combinations, minima_of
from fairstress.model.tied import Alone, fit_tied

Mask = NDArray[np.bool_]

MAX_STEPS = 100
LIGHT = (
    0.05  # gain per person of lifting a penalty: up to this, a fit has one minimum at correlations other than 0, too
)
SEARCH_TOLERANCE = 1e-9  # of a fit that is not checked for other minima: its last step still doubles the digits


_light: WeakKeyDictionary[System, bool] = WeakKeyDictionary()
_alone: WeakKeyDictionary[System, Alone] = WeakKeyDictionary()
_minima: WeakKeyDictionary[System, Array] = WeakKeyDictionary()
_lock = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Weights and scales at one correlation of the errors, in standardised units."""

    weights: Array  # (D,)
    log_scales: Array  # (m,)
    correlation: Array  # (m, m)
    log_likelihood: float  # without the penalty
    objective: float  # -2 log likelihood and the penalty, up to a constant
    status: Status
    cuts: Array = field(default_factory=lambda: np.zeros(0))  # between the levels of ordered variables, side by side
    error: float = 0.0  # relative error of probabilities that are found by quasi-Monte-Carlo

    @property
    def scales(self) -> Array:
        """(m,) standard deviations of the errors."""
        return np.asarray(np.exp(self.log_scales))

    @property
    def numbers(self) -> tuple[Array, ...]:
        """All that counterfactuals take from it."""
        return self.correlation, self.weights, self.log_scales, self.cuts

    def __repr__(self) -> str:
        return f"<Fit of {self.weights.size} weights: log likelihood {self.log_likelihood:.2f}; {self.status}>"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class System:
    """What a fit needs to know: the moments, the equation of each weight and its penalty."""

    moments: Moments
    feature_of: IntArray  # (D,)
    penalties: Array  # (D,)

    def fits(self, P: Array, start: Fit | Sequence[Fit], *, check_minima: bool) -> list[Fit]:
        """Fit at each of the correlations (g, m, m), from some other fit or each from its own."""
        return fit_tied(self, P, start, check_minima=check_minima)

    def fit_together(self, P: Array, starts: Sequence[Fit], *, check_minima: bool) -> list[Fit]:
        """The same, each from its own, with all variables at once, whether P ties them or not."""
        t = np.array([start.log_scales for start in starts])
        if check_minima:
            return [with_digits(self, one) for one in fit_from_all_sides(self, P, t)]
        return fit_many(self, P, t, tolerance=SEARCH_TOLERANCE)

    def refits(self, fits: Sequence[Fit]) -> list[Fit]:
        """Fit at the correlations of other fits, to somewhat other data, each from where that one ended."""
        P, t = np.array([one.correlation for one in fits]), np.array([one.log_scales for one in fits])
        return fit_many(self, P, t, tolerance=SEARCH_TOLERANCE)

    def independent(self) -> Fit:
        """Fit at P = I."""
        return self.alone().fit

    def alone(self) -> Alone:
        """Fit at P = I, equation by equation; worked out once."""
        with _lock:
            known = _alone.get(self)
        if known is None:
            known = _each_alone(self, with_digits(self, fit_independent(self)))
            with _lock:
                known = _alone.setdefault(self, known)
        return known

    def correlation_gradients(self, fits: Sequence[Fit], c_w: Array) -> Array:
        """(g, m, m) derivatives by P of functionals with gradients ``c_w`` (g, D) in the weights."""
        return correlation_gradients(self, fits, c_w)

    def adjoint(self, fitted: Fit, c_w: Array) -> tuple[Array, Array]:
        """Solve ``F_zz v = (c_w, 0)`` for z = (w, t) at a fit; v by weights and by log scales."""
        return adjoint(self, fitted, c_w)

    def equation(self, j: int) -> System:
        """The system of one equation alone."""
        return self.part((j,))[0]

    def part(self, variables: tuple[int, ...]) -> tuple[System, IntArray]:
        """The system of some equations, and where their weights stand among all."""
        own, M = np.array(variables), self.moments
        d = np.flatnonzero(np.isin(self.feature_of, own))
        inner = Moments(M.G[np.ix_(d, d)], M.C[np.ix_(d, own)], M.S[np.ix_(own, own)], M.total[own], M.n)
        return System(inner, np.searchsorted(own, self.feature_of[d]), self.penalties[d]), d


def fit(system: System, P: Array, start: Array | None = None) -> Fit:
    """Fit at one correlation (m, m); see `fit_many`."""
    return fit_many(system, P[None], start)[0]


def fit_many(system: System, P: Array, start: Array | None = None, *, tolerance: float = 1e-12) -> list[Fit]:
    """Minimise ``sum_jk K_jk R_jk(w) + sum_d lam_d w_d^2 + 2 n sum t`` over w and t by Newton on the profile of t.

    Parameters
    ----------
    system
        Moments and penalties.
    P
        (g, m, m) positive definite correlations of the errors; the fits are made side by side.
    start
        (m,) or (g, m) log scales to start from; default 0, the scale of the standardised features.
    tolerance
        Decrease of the objective per person below which one last step is taken.
    """
    P_inverse = _inverse(P)
    t = np.array(np.broadcast_to(0.0 if start is None else start, P.shape[:2]))
    status = np.full(len(t), Status.STEP_LIMIT, dtype=object)
    point, where = _profile(system, P_inverse, t), np.arange(len(t))  # the fits that go on, and their places
    for _ in range(MAX_STEPS):
        step, decrease = _newton_step(system, point)
        # the objective's rounding would now hide progress from a line search; a full step doubles the digits of t
        done = decrease <= tolerance * system.moments.n
        t[where] = point.t + np.where(done[:, None], step, 0.0)
        status[where[done]] = Status.CONVERGED
        point, where, step, decrease = point.take(~done), where[~done], step[~done], decrease[~done]
        if not where.size:
            break
        point, fell = _line_search(system, P_inverse[where], point, step, decrease)
        status[where[~fell]] = Status.STALLED
        point, where = point.take(fell), where[fell]
        t[where] = point.t
    return _as_fits(system, P, _profile(system, P_inverse, t), status)


def fit_independent(system: System) -> Fit:
    """Fit at P = I, where the objective is a sum over equations: from the lowest minimum of each of them.

    A large penalty on few rows can give an equation two minima, one with its weights shrunk away and one without.
    """
    m = system.moments.S.shape[0]
    starts = independent_minima(system)
    return fit(system, np.eye(m), starts[0] if starts.size else None)


def independent_minima(system: System) -> Array:
    """(k, m) log scales of the minima at P = I, the lowest first; none where no weight is penalised."""
    with _lock:
        known = _minima.get(system)
    if known is None:
        m = system.moments.S.shape[0]
        alone = [system.equation(j) for j in range(m)] if system.penalties.any() else []
        known = combinations([minima_of(one.moments, one.penalties) for one in alone])
        with _lock:
            _minima[system] = known
    return known


def _each_alone(system: System, fitted: Fit) -> Alone:
    """What each equation adds to the log likelihood and the objective at P = I."""
    n, w, t = system.moments.n, fitted.weights, fitted.log_scales
    point = _profile(system, np.eye(t.size)[None], t[None])
    deviance = np.diagonal(point.K[0] * point.R[0]) + 2 * n * t
    penalty = np.bincount(system.feature_of, system.penalties * w**2, minlength=t.size)
    return Alone(fitted, -(deviance + n * np.log(2 * np.pi)) / 2, deviance + penalty)


def fit_from_all_sides(system: System, P: Array, start: Array) -> list[Fit]:
    """Fit from all sides and give the best of the fits.

    Without a penalty the objective is convex in ``(1/sigma, w/sigma)`` and any start will do. With one there can be
    several minima, and fits set out from some other fit's scales, from those of almost no and of an overwhelming
    penalty, and from all minima at P = I; where they lead to different ones, the status says so.
    """
    if not system.penalties.any():
        return fit_many(system, P, start)
    ends = [replace(system, penalties=factor * system.penalties) for factor in (1e-4, 1e4)]
    starts = [np.array([f.log_scales for f in fit_many(end, P, start, tolerance=1e-4)]) for end in ends]
    sides = np.stack([np.broadcast_to(t, P.shape[:2]) for t in (start, *starts, *other_minima(system))], axis=1)
    k = sides.shape[1]
    found = fit_many(system, np.repeat(P, k, axis=0), sides.reshape(-1, sides.shape[2]))
    return [_best_at(one, found[i * k : (i + 1) * k], system.moments.n) for i, one in enumerate(P)]


def _best_at(P: Array, fits: Sequence[Fit], n: float) -> Fit:
    """The best fit; at P = I, where all minima are known, there is no doubt that it is the lowest."""
    best = best_fit(fits, n)
    known = best.status is Status.TWO_MINIMA and np.array_equal(P, np.eye(len(P)))
    return replace(best, status=Status.CONVERGED) if known else best


def other_minima(system: System) -> Array:
    """(k, m) log scales of the minima at P = I where there are several; otherwise none."""
    known = independent_minima(system)
    return known if len(known) > 1 else known[:0]


def best_fit(fits: Sequence[Fit], n: float) -> Fit:
    """The fit of the lowest objective; where the others are not alike, its status says so."""
    best = min(fits, key=lambda f: f.objective)
    alike = all(f.objective - best.objective <= 1e-9 * n for f in fits)
    return best if alike or best.status is not Status.CONVERGED else replace(best, status=Status.TWO_MINIMA)


def with_digits(system: System, fitted: Fit) -> Fit:
    """The fit, its status saying so where rounding leaves few digits of its weights, or stopped it for that reason."""
    if fitted.status not in (Status.CONVERGED, Status.STALLED):
        return fitted
    point = _profile(system, _inverse(fitted.correlation)[None], fitted.log_scales[None])
    return replace(fitted, status=Status.LOST_DIGITS) if loses_digits(point.unit[0]) else fitted


def penalty_is_light(system: System) -> bool:
    """Whether lifting the penalty gains so little at P = I that no fit nearby has a second minimum worth looking for.

    In ``(u, theta) = (1/sigma, w/sigma)`` all but ``lam theta^2 / u^2`` is convex, and with ``-2 n log u`` so is that
    as long as an equation's penalty is at most n: for ``|theta|`` at most a multiple of u, a convex cone. A minimum
    outside pays more than n, and there is no more to gain than lifting the whole penalty would bring.
    """
    with _lock:
        known = _light.get(system)
    if known is None:
        free = replace(system, penalties=np.zeros_like(system.penalties))
        gain = system.independent().objective - fit_independent(free).objective
        known = gain <= LIGHT * system.moments.n
        with _lock:
            _light[system] = known
    return known


def correlation_gradients(system: System, fits: Sequence[Fit], c_w: Array) -> Array:
    """Derivatives by P of functionals with gradients ``c_w`` (g, D) in the weights, through the optima of the fits.

    Solves ``F_zz v = (c_w, 0)`` for z = (w, t); then ``B_jk = -2 sum_{d in j} v_d Q_dk - 2 v_t[j] R_jk`` and the
    derivative is ``P^-1 (u B u) P^-1`` with u = 1/sigma. A pair's derivative is the sum of its two entries.
    """
    P_inverse = _inverse(np.array([one.correlation for one in fits]))
    point = _profile(system, P_inverse, np.array([one.log_scales for one in fits]))
    v_w, v_t = _solve_at(system, point, c_w)
    V = _in_columns(system, v_w)
    B = -2 * (V.transpose(0, 2, 1) @ point.Q) - 2 * v_t[:, :, None] * point.R
    u = np.exp(-point.t)
    return np.asarray(P_inverse @ (u[:, :, None] * B * u[:, None, :]) @ P_inverse)


def adjoint(system: System, fitted: Fit, c_w: Array) -> tuple[Array, Array]:
    """Solve ``F_zz v = (c_w, 0)`` at a fit: v by weights and by log scales."""
    point = _profile(system, _inverse(fitted.correlation)[None], fitted.log_scales[None])
    v_w, v_t = _solve_at(system, point, c_w[None])
    return v_w[0], v_t[0]


def _solve_at(system: System, point: _Point, c_w: Array) -> tuple[Array, Array]:
    """Block elimination of the weights: ``(F_tt - F_tw (2N)^-1 F_wt) v_t = -F_tw (2N)^-1 c_w``."""
    F_tt, F_wt = _second_derivatives(system, point)
    F_tw = F_wt.transpose(0, 2, 1)
    solved = point.solve(np.concatenate([c_w[:, :, None], F_wt], axis=2)) / 2
    v_t = np.linalg.solve(F_tt - F_tw @ solved[:, :, 1:], -F_tw @ solved[:, :, :1])
    v_w = solved[:, :, :1] - solved[:, :, 1:] @ v_t
    return np.asarray(v_w[:, :, 0]), np.asarray(v_t[:, :, 0])


def _in_columns(system: System, w: Array) -> Array:
    """(g, D, m) weights (g, D), each in the column of its equation."""
    W = np.zeros((len(w), *system.moments.C.shape))
    W[:, np.arange(system.feature_of.size), system.feature_of] = w
    return W


def check_noise(alone: System, equation: Equation) -> None:
    """Refuse a variable that its parents determine: without noise there is nothing to abduct."""
    G, c, s = alone.moments.G, alone.moments.C[:, 0], float(alone.moments.S[0, 0])
    w = ridge(G, c, 1e-10 * np.diag(G))
    if s - 2 * w @ c + w @ G @ w < 1e-8 * s:
        kind = "feature" if equation.column >= 0 else "the protected attribute"
        raise DataError(
            f"{kind} '{equation.feature}' is an exact function of its parents, so that it has no error to "
            "compare: remove it from the graph, or its edges"
        )


# ---------------------------------------------------------------- mathematics
# Every array has a leading axis: the fits that are made side by side.


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """The profile objective at some t, the weights at their optimum."""

    t: Array  # (g, m)
    w: Array  # (g, D)
    K: Array  # (g, m, m)
    R: Array  # (g, m, m)
    Q: Array  # (g, D, m)
    unit: Array  # (g, D, D) N in unit-norm columns: cubic chains of heavy-tailed features lose all digits otherwise
    norms: Array  # (g, D, 1) of these columns
    factor: Array  # (g, D, D) by which systems with N are solved
    F: Array  # (g,)

    def solve(self, rhs: Array) -> Array:
        """Solve ``N z = rhs`` for columns (g, D, k)."""
        return solve_by_factors(self.unit, self.factor, rhs / self.norms) / self.norms

    def take(self, which: Mask) -> _Point:
        """Keep some of the fits."""
        return self if which.all() else _Point(*(getattr(self, f.name)[which] for f in fields(self)))

    def replaced(self, which: Mask, by: _Point) -> _Point:
        """Put others in the place of some of the fits."""
        arrays = [getattr(self, f.name).copy() for f in fields(self)]
        for array, f in zip(arrays, fields(self), strict=True):
            array[which] = getattr(by, f.name)
        return _Point(*arrays)


def _inverse(P: Array) -> Array:
    return np.asarray(np.linalg.inv(P), dtype=float)


def _profile(system: System, P_inverse: Array, t: Array) -> _Point:
    """Weights for given scales, ``(G o K[b, b] + diag(lam)) w = sum_k K[b, k] C[:, k]``, and the objective there."""
    moments, b = system.moments, system.feature_of
    d = np.arange(b.size)
    u = np.exp(-t)
    K = u[:, :, None] * P_inverse * u[:, None, :]
    K_b = K[:, b]
    N = moments.G * K_b[:, :, b]
    N[:, d, d] += system.penalties
    unit, norms = unit_columns(N)
    factor = factors(unit)
    rhs = (moments.C * K_b).sum(axis=2, keepdims=True)
    w = (solve_by_factors(unit, factor, rhs / norms) / norms)[:, :, 0]
    W = _in_columns(system, w)
    W_T = W.transpose(0, 2, 1)
    Q = moments.C - moments.G @ W
    R = moments.S - W_T @ moments.C - Q.transpose(0, 2, 1) @ W
    F = (K * R).sum(axis=(1, 2)) + (w**2 * system.penalties).sum(axis=1) + 2 * moments.n * t.sum(axis=1)
    return _Point(t, w, K, R, Q, unit, norms, factor, F)


def _second_derivatives(system: System, point: _Point) -> tuple[Array, Array]:
    """``F_tt`` (g, m, m) and ``F_wt`` (g, D, m)."""
    b = system.feature_of
    KR, KQ = 2 * point.K * point.R, 2 * point.K[:, b] * point.Q
    j, d = np.arange(KR.shape[1]), np.arange(b.size)
    KR[:, j, j] += KR.sum(axis=2)
    KQ[:, d, b] += KQ.sum(axis=2)
    return KR, KQ


def _newton_step(system: System, point: _Point) -> tuple[Array, Array]:
    """Newton's step for the profile of t, and the decrease of the objective that it promises."""
    g = 2 * system.moments.n - 2 * (point.K * point.R).sum(axis=2)
    F_tt, F_wt = _second_derivatives(system, point)
    H = F_tt - F_wt.transpose(0, 2, 1) @ point.solve(F_wt) / 2
    values, vectors = np.linalg.eigh((H + H.transpose(0, 2, 1)) / 2)
    # away from the optimum the profile may curve downwards: mirror such directions, never stand still
    values = np.maximum(np.abs(values), 1e-8 * system.moments.n)
    along = (g[:, None, :] @ vectors)[:, 0]
    step = -(vectors @ (along / values)[:, :, None])[:, :, 0]
    return step, -(g * step).sum(axis=1) / 2


def _line_search(system: System, P_inverse: Array, point: _Point, step: Array, decrease: Array) -> tuple[_Point, Mask]:
    """Halve each step until its objective falls enough; say for which fits it does."""
    # a factor of 20 in a scale is enough at once
    length = np.minimum(1.0, 3.0 / np.maximum(np.abs(step).max(axis=1), 1e-300))
    trial = _profile(system, P_inverse, point.t + length[:, None] * step)
    fell = point.F - trial.F - 1e-4 * length * decrease >= 0
    for _ in range(40):
        if fell.all():
            break
        short = ~fell
        length[short] /= 2
        again = _profile(system, P_inverse[short], point.t[short] + length[short, None] * step[short])
        trial = trial.replaced(short, again)
        fell[short] = point.F[short] - again.F - 1e-4 * length[short] * decrease[short] >= 0
    return trial, fell


def _as_fits(system: System, P: Array, point: _Point, status: Any) -> list[Fit]:
    n, m = system.moments.n, P.shape[1]
    deviance = (point.K * point.R).sum(axis=(1, 2)) + 2 * n * point.t.sum(axis=1)
    log_likelihood = -(deviance + n * np.linalg.slogdet(P)[1] + n * m * np.log(2 * np.pi)) / 2
    values = zip(point.w, point.t, P, log_likelihood.tolist(), point.F.tolist(), status, strict=True)
    return [Fit(*value) for value in values]
