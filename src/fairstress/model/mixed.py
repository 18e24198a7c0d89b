"""Model A and Model B where some errors are seen in intervals only, or have a scale for each group.

The coordinates z are, variable by variable, ``u = 1/sigma`` and ``theta = w/sigma`` of a number, theta and cuts tau
of an ordered variable: known errors ``e_C`` and the ends of intervals are linear in them. With ``K = P_DC P_CC^-1`` and
``S = P_DD - K P_CD`` a person adds to the log likelihood

``log N(e_C; 0, P_CC) + sum log u + log Pr(lower - K e_C < e_D - K e_C <= upper - K e_C),   e_D - K e_C ~ N(0, S)``.

All of it but a penalty on w is concave in z (Prekopa), so that Newton's method finds the one optimum. Which errors are
known varies with atoms: people with the same pattern are added up together, the known part through moments alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from fairstress.errors import Status
from fairstress.inputs.rows import Array, IntArray, Rows, seen_by
from fairstress.model.design import Design, Moments, structural_moments
from fairstress.model.fit import Fit, System, best_fit, fit, fit_independent
from fairstress.model.latent import Layout, Part, seen
from fairstress.model.linear import EPSILON, loses_digits
from fairstress.model.minima import combinations, minima_of
from fairstress.model.mixed_intervals import Shape, log_probability
from fairstress.model.mixed_rows import Coordinates, MixedRows, joined, with_all_levels
from fairstress.model.newton import solve_definite

MAX_STEPS = 100
TOLERANCE = 1e-13  # decrease of the objective per person below which one last step is taken
SEARCH_TOLERANCE = 1e-9  # the same for a fit that is not checked for other minima: its last step doubles the digits
KEPT_CURVATURE = 1e-9  # the same from which on the Hessian is kept: a step changes it in its fifth digit
ROUGH = 1e-4  # the same for a fit that others start from
DIFFERENCE = 1e-6  # of a correlation, in derivatives by it
LEAST_SCALE = -5.0  # logarithm of the smallest scale to start from, where few people show an error


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class MixedSystem:
    """What a fit needs to know: the rows, the penalty of each coordinate, and which pairs may be correlated."""

    data: MixedRows
    features: System  # moments of the features' equations, for checks
    penalties: Array  # (size,) of z: on w for a number, on theta for an ordered variable
    pairs: tuple[tuple[int, int], ...]  # positions in P
    tied: Tied | None = None  # the variables of pairs alone, where others do not depend on P
    _known: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    _tangents: dict[bytes, Array] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, design: Design, rows: Rows, penalties: Array, own: Array, pairs: Sequence[tuple[int, int]]
    ) -> MixedSystem:
        """Gather what fits need; ``penalties`` (D,) are the features' weights', ``own`` the protected attribute's."""
        layout = Layout.of(design)
        at = Coordinates.of(layout)
        every = np.concatenate([penalties, own])
        costs = np.zeros(at.size)
        for v, part in enumerate(layout.parts):
            costs[at.theta[v]] = every[part.weights][at.free[v]]
        features = System(structural_moments(rows, design.equations), design.feature_of, penalties)
        whole = cls(MixedRows(with_all_levels(rows, layout), at), features, costs, tuple(pairs))
        return replace(whole, tied=Tied.of(whole))

    def of_rows(self, design: Design, rows: Rows, share: float) -> MixedSystem:
        """The same of some of the rows, the penalty scaled by their share."""
        data = MixedRows(with_all_levels(rows, self.layout), self.data.coordinates)
        moments = structural_moments(rows, design.equations)
        features = replace(self.features, moments=moments, penalties=share * self.features.penalties)
        some = replace(self, data=data, features=features, penalties=share * self.penalties, tied=None)
        return replace(some, tied=Tied.of(some))

    def without_penalty(self) -> MixedSystem:
        """The same with penalty 0."""
        free = replace(self, penalties=np.zeros_like(self.penalties), tied=None)
        return replace(free, tied=Tied.of(free))

    @property
    def n(self) -> float:
        """Sum of the weights."""
        return self.data.rows.n

    @property
    def layout(self) -> Layout:
        """The variables with an error."""
        return self.data.coordinates.layout

    def fits(self, P: Array, start: Fit, *, check_minima: bool) -> list[Fit]:
        """Fit at each of the correlations (g, V, V), from some other fit; what P does not touch stays as it is."""
        if self.tied is not None:
            return self.tied.fits(self, P, start, check_minima=check_minima)
        z = self.data.coordinates.from_fit(start)
        theta, _ = self.data.coordinates.scale_of()
        if not (check_minima and self.penalties[theta].any()):
            tolerance = TOLERANCE if check_minima else SEARCH_TOLERANCE
            return [self._fit(one, self._ahead(one, z, start), tolerance) for one in P]
        ends = [replace(self, penalties=factor * self.penalties) for factor in (1e-4, 1e4)]
        minima = self._other_minima(z)
        return [
            best_fit(
                [self._fit(one, side) for side in (z, *(end._coordinates(one, z) for end in ends), *minima)], self.n
            )
            for one in P
        ]

    def refits(self, fits: Sequence[Fit]) -> list[Fit]:
        """Fit at the correlations of other fits, to somewhat other data, each from where that one ended."""
        at = self.data.coordinates
        if self.tied is None:
            return [self._fit(one.correlation, at.from_fit(one), ROUGH) for one in fits]
        alone = at.from_fit(self.independent(fits[0], ROUGH))  # what P does not touch
        return [self.tied.refit(self, alone, one) for one in fits]

    def _ahead(self, P: Array, z: Array, start: Fit) -> Array:
        """Where the fit at P lies to first order, seen from the one at P = I; another fit is taken as it is."""
        if not np.array_equal(start.correlation, np.eye(len(P))):
            return z
        key = z.tobytes()
        if key not in self._tangents:
            nearby = [self.data.coordinates.from_fit(fit) - z for _, fit in self.nearby(start)]
            self._tangents[key] = np.array(nearby).reshape(-1, z.size) / DIFFERENCE
        step = np.array([P[j, k] for j, k in self.pairs]) @ self._tangents[key]
        return np.asarray(z + min(1.0, 0.5 * self._longest(z, step)) * step)

    def _coordinates(self, P: Array, z: Array) -> Array:
        return self.data.coordinates.from_fit(self._fit(P, z, ROUGH))

    def deviance(self, fit: Fit) -> float:
        """``-2 log likelihood`` of these people under a fit to others."""
        at = self._place(fit.correlation)
        z = self.data.coordinates.from_fit(fit)
        F = replace(self, penalties=np.zeros_like(self.penalties), tied=None)._objective(z, at, 0)[0]
        return F + self._constants(at)

    def independent(self, start: Fit | None = None, tolerance: float = TOLERANCE) -> Fit:
        """Fit at P = I, from the fits of each number's equation alone and levels' shares, or from another fit."""
        at, identity = self.data.coordinates, np.eye(len(self.layout.parts))
        if start is not None:
            return self._fit(identity, at.from_fit(start), tolerance)
        z = np.zeros(at.size)
        for v, part in enumerate(self.layout.parts):
            if part.equation.law.is_ordered:
                z[at.tau[v]] = self._share_cuts(part)
            else:
                self._start_number(z, v)
        return self._fit(identity, z, tolerance)

    def _share_cuts(self, part: Part) -> Array:
        """Cuts that give each level its share of people."""
        rows, law = self.data.rows, part.equation.law
        count = np.bincount(law.level_of(seen(part, rows)), rows.weight, minlength=len(law.codes))
        return np.asarray(special.ndtri(np.cumsum(count)[:-1] / count.sum()))

    def _start_number(self, z: Array, v: int) -> None:
        """The best fit of a number's equation to the people whose error is known, group by group."""
        for u, theta, alone in self._alone(v):
            self._set_number(z, u, theta, fit_independent(alone))

    def _set_number(self, z: Array, u: int, theta: IntArray, alone: Fit) -> None:
        z[u] = np.exp(-max(float(alone.log_scales[0]), LEAST_SCALE))
        z[theta] = alone.weights * z[u]

    def _alone(self, v: int) -> Iterator[tuple[int, IntArray, System]]:
        """For each group of a number the places in z of u and theta, and the system of its equation alone."""
        at, law = self.data.coordinates, self.layout.parts[v].equation.law
        B, n = self._sums(v)
        width = (B.shape[0] - law.n_scales) // law.n_scales
        for g in range(law.n_scales):
            d = np.arange(law.n_scales + g * width, law.n_scales + (g + 1) * width)
            M = Moments(B[np.ix_(d, d)], -B[d, g : g + 1], B[g : g + 1, g : g + 1], np.zeros(1), float(n[g]))
            theta = at.u[v].start + d
            yield at.u[v].start + g, theta, System(M, np.zeros(width, dtype=np.intp), self.penalties[theta])

    def _other_minima(self, z: Array) -> list[Array]:
        """Coordinates with numbers at other minima of their equations alone, where a penalty makes several."""
        numbers = [v for v, part in enumerate(self.layout.parts) if not part.equation.law.is_ordered]
        alone = [one for v in numbers for one in self._alone(v) if one[2].penalties.any()]
        starts = combinations([minima_of(system.moments, system.penalties) for _, _, system in alone])
        return [self._moved(z, alone, t) for t in starts] if len(starts) > 1 else []

    def _moved(self, z: Array, alone: Sequence[tuple[int, IntArray, System]], log_scales: Array) -> Array:
        """Coordinates with some numbers' equations where Newton's method ends from given scales."""
        z = z.copy()
        for (u, theta, system), t in zip(alone, log_scales, strict=True):
            self._set_number(z, u, theta, fit(system, np.eye(1), np.array([t])))
        return z

    def _sums(self, v: int) -> tuple[Array, Array]:
        """Cross-products of a number's columns over all who show its error, and how many they are by group."""
        at = self.data.coordinates
        place = np.arange(at.u[v].start, at.theta[v].stop)
        having = [pattern for pattern in self.data.patterns if v in pattern.known]
        where = [np.searchsorted(pattern.where, place) for pattern in having]
        B = np.sum([p.cross_products[np.ix_(w, w)] for p, w in zip(having, where, strict=True)], axis=0)
        return B, np.sum([p.n_scale[at.u[v]] for p in having], axis=0)

    def nearby(self, fitted: Fit) -> Iterator[tuple[tuple[int, int], Fit]]:
        """For each pair the fit where its correlation is larger by DIFFERENCE, along ``dz/dP = -F_zz^-1 F_zP``."""
        if self.tied is not None:
            yield from self.tied.nearby(self, fitted)
            return
        at, P = self.data.coordinates, fitted.correlation
        z = at.from_fit(fitted)
        _, g, H, _ = self._objective(z, self._place(P), 2)
        for j, k in self.pairs:
            ahead = P.copy()
            ahead[j, k] = ahead[k, j] = P[j, k] + DIFFERENCE
            step = solve_definite(H, g - self._objective(z, self._place(ahead), 1)[1])
            yield (j, k), at.to_fit(z + step, ahead, 0.0, 0.0, fitted.status, fitted.error)

    # ------------------------------------------------------------ mathematics

    def _fit(self, P: Array, z: Array, tolerance: float = TOLERANCE) -> Fit:
        """Minimise ``-2 log likelihood + penalty`` over z by Newton's method."""
        at, status = self._place(P), Status.STEP_LIMIT
        F, g, H, error = self._objective(z, at, 2)
        for _ in range(MAX_STEPS):
            if not (np.isfinite(F) and np.isfinite(H).all()):
                status = Status.STALLED
                break
            step = -solve_definite(H, g)
            decrease = -float(g @ step) / 2
            length = min(1.0, 0.9 * self._longest(z, step))
            hidden = EPSILON * float(np.abs(np.diag(at.T)) @ z**2)  # no line search sees what rounding hides
            if decrease <= max(tolerance * self.n, hidden, 1e-3 * error * self.n) and length == 1.0:
                status = Status.LOST_DIGITS if loses_digits(H) else Status.CONVERGED
                z, F = z + step, F - decrease
                break
            derivatives = 2 if decrease > KEPT_CURVATURE * self.n else 1
            trial = self._objective(z + length * step, at, derivatives)
            for _ in range(40):
                if trial[0] <= F - 1e-4 * length * decrease + error * self.n:
                    break
                length /= 2
                trial = self._objective(z + length * step, at, derivatives)
            else:
                status = Status.LOST_DIGITS if loses_digits(H) else Status.STALLED
                break
            z, (F, g, newer, error) = z + length * step, trial
            H = newer if derivatives == 2 else H
        return self._as_fit(z, F, P, at, status, error)

    def _longest(self, z: Array, step: Array) -> float:
        """How far u stays positive and cuts stay in order."""
        at = self.data.coordinates
        positive = [(z[u], step[u]) for u in at.u] + [(np.diff(z[t]), np.diff(step[t])) for t in at.tau]
        falls = np.concatenate([-d / x for x, d in positive])
        return 1 / max(float(falls.max(initial=0.0)), 1e-300)

    def _place(self, P: Array) -> _Place:
        at = self.data.coordinates
        T, shapes = np.zeros((at.size, at.size)), []
        for pattern in self.data.patterns:
            shape = Shape.of(P, pattern)
            shapes.append(shape)
            f = np.searchsorted(pattern.known, at.variable_of[pattern.where])
            T[np.ix_(pattern.where, pattern.where)] += pattern.cross_products * shape.inverse[np.ix_(f, f)]
        return _Place(T, tuple(shapes))

    def _objective(self, z: Array, at: _Place, derivatives: int) -> tuple[float, Array, Array, float]:
        """The objective with its gradient and Hessian, and the largest error of a probability."""
        F, g, H = self._smooth(z, at)
        L, slope, curvature, error = log_probability(self.data.blocks(), at.shapes, z, derivatives)
        return F - 2 * L, g - 2 * slope, H - 2 * curvature, error

    def _smooth(self, z: Array, at: _Place) -> tuple[float, Array, Array]:
        """What moments alone determine: ``z'Tz - 2 sum n log u`` and the penalty."""
        coordinates, lam = self.data.coordinates, self.penalties
        theta, u = coordinates.scale_of()
        n = np.sum([pattern.n_scale for pattern in self.data.patterns], axis=0)
        scaled = np.flatnonzero(n)
        g, H = 2 * at.T @ z, 2 * at.T.copy()
        F = float(z @ g) / 2 - 2 * float(n[scaled] @ np.log(z[scaled]))
        g[scaled] -= 2 * n[scaled] / z[scaled]
        H[scaled, scaled] += 2 * n[scaled] / z[scaled] ** 2
        plain = lam.copy()
        plain[theta] = 0.0  # of ordered variables the penalty is on theta itself
        F += float(plain @ z**2)
        g += 2 * plain * z
        H[np.diag_indices(z.size)] += 2 * plain
        w, cost = z[theta] / z[u], lam[theta] * (z[theta] / z[u]) ** 2
        F += float(cost.sum())
        g[theta] += 2 * lam[theta] * w / z[u]
        g -= 2 * np.bincount(u, cost, z.size) / z_safe(z)
        H[theta, theta] += 2 * lam[theta] / z[u] ** 2
        H[np.diag_indices(z.size)] += 6 * np.bincount(u, cost, z.size) / z_safe(z) ** 2
        np.add.at(H, (theta, u), -4 * lam[theta] * w / z[u] ** 2)
        np.add.at(H, (u, theta), -4 * lam[theta] * w / z[u] ** 2)
        return F, g, H

    def _as_fit(self, z: Array, F: float, P: Array, at: _Place, status: Status, error: float) -> Fit:
        theta, u = self.data.coordinates.scale_of()
        w = z.copy()
        w[theta] /= z[u]
        log_likelihood = -(F - float(self.penalties @ w**2) + self._constants(at)) / 2
        return self.data.coordinates.to_fit(z, P, log_likelihood, F, status, error)

    def _constants(self, at: _Place) -> float:
        """What z does not change in ``-2 log likelihood``."""
        return sum(
            pattern.n * (shape.log_det + len(pattern.known) * float(np.log(2 * np.pi)))
            for pattern, shape in zip(self.data.patterns, at.shapes, strict=True)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tied:
    """The variables of the pairs alone: only their equations depend on P, and few rows differ in what they see."""

    system: MixedSystem
    members: tuple[int, ...]  # their positions in P
    where: IntArray  # their coordinates

    @classmethod
    def of(cls, whole: MixedSystem) -> Tied | None:
        """Cut the tied variables out; None where that is none or all of them."""
        members = tuple(sorted({v for pair in whole.pairs for v in pair}))
        parts, at = whole.layout.parts, whole.data.coordinates
        if not members or len(members) == len(parts):
            return None
        some = [parts[v] for v in members]
        layout = Layout.laid_out([part.equation for part in some])
        where = joined([np.arange(at.u[v].start, at.tau[v].stop) for v in members])
        columns = [k for p in some for k in (*p.equation.parents, p.equation.column) if k >= 0]
        rows = seen_by(whole.data.rows, columns, protected=True)
        pairs = tuple((members.index(j), members.index(k)) for j, k in whole.pairs)
        data = MixedRows(rows, Coordinates.of(layout))
        return cls(MixedSystem(data, whole.features, whole.penalties[where], pairs), members, where)

    def fits(self, whole: MixedSystem, P: Array, start: Fit, *, check_minima: bool) -> list[Fit]:
        """Fit the tied variables; all others stay as they are in some other fit."""
        z, inner = whole.data.coordinates.from_fit(start), self._inner(whole, start)
        parts = self.system.fits(P[:, self.members][:, :, self.members], inner, check_minima=check_minima)
        if "rest" not in whole._known:  # what the others add to -2 log likelihood, whatever P is
            whole._known["rest"] = whole.deviance(
                replace(start, correlation=np.eye(P.shape[1]))
            ) - self.system.deviance(replace(inner, correlation=np.eye(len(self.members))))
        return [self._outer(whole, z, part, one) for part, one in zip(parts, P, strict=True)]

    def refit(self, whole: MixedSystem, z: Array, fit: Fit) -> Fit:
        """Fit the tied variables at the correlation of another fit, from there; all others are as z has them."""
        (part,) = self.system.refits([self._inner(whole, fit)])
        return self._outer(whole, z, part, fit.correlation)

    def nearby(self, whole: MixedSystem, fitted: Fit) -> Iterator[tuple[tuple[int, int], Fit]]:
        """For each pair the fit where its correlation is a little larger."""
        z = whole.data.coordinates.from_fit(fitted)
        for (j, k), part in self.system.nearby(self._inner(whole, fitted)):
            P = fitted.correlation.copy()
            P[np.ix_(self.members, self.members)] = part.correlation
            yield (self.members[j], self.members[k]), self._outer(whole, z, part, P)

    def _inner(self, whole: MixedSystem, fit: Fit) -> Fit:
        z = whole.data.coordinates.from_fit(fit)[self.where]
        P = fit.correlation[np.ix_(self.members, self.members)]
        return self.system.data.coordinates.to_fit(z, P, 0.0, 0.0, fit.status, fit.error)

    def _outer(self, whole: MixedSystem, z: Array, part: Fit, P: Array) -> Fit:
        both = z.copy()
        both[self.where] = self.system.data.coordinates.from_fit(part)
        rest = whole._known.get("rest", 0.0)
        likelihood = part.log_likelihood - rest / 2
        return whole.data.coordinates.to_fit(both, P, likelihood, part.objective + rest, part.status, part.error)


def z_safe(z: Array) -> Array:
    """Coordinates to divide by where what is divided may be 0."""
    return np.where(z == 0, 1.0, z)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """What one P makes of the objective."""

    T: Array
    shapes: tuple[Shape, ...]
