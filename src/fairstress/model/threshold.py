"""Model B where a hidden cause lies behind the protected attribute too.

A numeric attribute is one more Gaussian equation. A two-valued one is seen through a threshold:

``A = sign(h + eps_A)`` with ``h = phi_A' gamma`` and eps_A standard normal, correlated with the features' errors. P is
(m + 1, m + 1), A first: ``r`` its correlations with the features, ``P_xx`` theirs with each other. Given the features,
with ``s = (x - Phi w) / sigma``, ``k = P_xx^-1 r`` and ``v = 1 - r'k``, A is + with probability
``Normal_cdf((h + s'k) / sqrt(v))``. In ``z = (u, theta, gamma)``, u = 1/sigma and theta = w/sigma, everything but the
penalty is convex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairstress.compiling import is_wanted
from fairstress.errors import DataError
from fairstress.inputs.rows import Array, IntArray, Rows, sample
from fairstress.model.design import Design, structural_moments
from fairstress.model.fit import SEARCH_TOLERANCE, Fit, System, best_fit, fit_many, other_minima, penalty_is_light
from fairstress.model.newton import Minima, minimise, solve_definite
from fairstress.model.threshold_columns import (
    Columns,
    Folded,
    Sums,
    make_columns,
    marks_of,
    same_columns,
)
from fairstress.model.tied import Alone, fit_tied
from fairstress.summing import total

TOLERANCE = 1e-13  # decrease of the objective per person below which one last step is taken
ROUGH = 1e-4  # the same for a fit that others start from
SEPARATED = 1e-9  # log likelihood per person of an attribute that its parents determine
GAIN = 1 / 4  # by compiling sums: reports on 100,000 rows win back several times what loading takes, on 20,000 nothing
PRODUCTS = 2**18  # numbers of their products that are kept, as long as a core's cache holds them


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class ThresholdSystem:
    """What a fit needs to know: the features' system, and the rows in which the protected attribute is seen."""

    features: System
    design: Design
    rows: Rows
    pairs: tuple[tuple[int, int], ...] = ()  # positions in P, A first, that may differ from 0; none: all may
    _cross_products: Array = field(init=False, repr=False)  # of the columns (x, -phi) that make up s
    _tied: tuple[int, ...] = field(init=False, repr=False)  # equations of features that pairs tie to A
    _seen: IntArray = field(init=False, repr=False)  # entries of z from which A can be seen: those of these features
    _folds: dict[bool, Folded] = field(default_factory=dict, init=False, repr=False)  # of all columns, or those seen
    _columns: dict[bool, list[Columns]] = field(default_factory=dict, init=False, repr=False)  # of each kind one
    _sample: list[ThresholdSystem | None] = field(default_factory=list, init=False, repr=False)  # see `_on_some`
    _belongs: Array = field(init=False, repr=False)  # (m + D, m) 1 where an entry of (u, theta) belongs to a feature
    _alone: list[Alone] = field(default_factory=list, init=False, repr=False)
    _coarse: list[ThresholdSystem] = field(default_factory=list, init=False, repr=False)  # see `on_sample`
    _parts: dict[tuple[int, ...], ThresholdSystem] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        M = self.features.moments
        object.__setattr__(self, "_cross_products", np.block([[M.S, -M.C.T], [-M.C, M.G]]))
        object.__setattr__(self, "_belongs", (self.members[:, None] == np.arange(self._m)).astype(float))
        tied = _tied_to_first(self.pairs, self._m + 1)[1:]
        behind = np.ones(self._n_gamma, dtype=bool)
        object.__setattr__(self, "_tied", tuple(np.flatnonzero(tied).tolist()))
        object.__setattr__(self, "_seen", np.flatnonzero(np.concatenate([tied[self.members], behind])))

    def fits(self, P: Array, start: Fit | Sequence[Fit], *, check_minima: bool) -> list[Fit]:
        """Fit at each of the correlations (g, m + 1, m + 1), from some other fit or each from its own."""
        return fit_tied(self, P, start, check_minima=check_minima)

    def fit_together(self, P: Array, starts: Sequence[Fit], *, check_minima: bool) -> list[Fit]:
        """The same, each from its own, with all variables at once, whether P ties them or not."""
        sides = [list(starts)]
        if check_minima and not self.has_one_minimum:
            sides += [self._features_at(factor, P, starts) for factor in (1e-4, 1e4)]
            sides += [self._features_from(t, P, starts) for t in other_minima(self.features)]
        tolerance = TOLERANCE if check_minima else SEARCH_TOLERANCE
        ends = zip(*(self._fit(P, others, tolerance) for others in sides), strict=True)
        return [best_fit(fits, self.features.moments.n) for fits in ends]

    @property
    def has_one_minimum(self) -> bool:
        """Whether no fit has another minimum that is worth looking for."""
        return not self.features.penalties.any() or penalty_is_light(self.features)

    def refits(self, fits: Sequence[Fit]) -> list[Fit]:
        """Fit at the correlations of other fits, to somewhat other data, each from where that one ended."""
        return self._fit(np.array([one.correlation for one in fits]), fits, SEARCH_TOLERANCE)

    def independent(self) -> Fit:
        """Fit at P = I: the features' own fit, and the threshold alone."""
        return self.alone().fit

    def alone(self) -> Alone:
        """Fit at P = I, variable by variable; worked out once."""
        if not self._alone:
            fit, features = self._independent(), self.features.alone()
            own = fit.log_likelihood - features.fit.log_likelihood, fit.objective - features.fit.objective
            log_likelihood, objective = features.log_likelihood, features.objective
            self._alone.append(Alone(fit, np.append(own[0], log_likelihood), np.append(own[1], objective)))
        return self._alone[0]

    def part(self, variables: tuple[int, ...]) -> tuple[System | ThresholdSystem, IntArray]:
        """The system of some variables, and where their weights stand among all; without A it has no threshold."""
        features = tuple(v - 1 for v in variables if v > 0)
        inner, d = self.features.part(features)
        if 0 not in variables:
            return inner, d
        if variables not in self._parts:
            place = {v: i for i, v in enumerate(variables)}
            pairs = tuple((place[j], place[k]) for j, k in self.pairs if j in place and k in place)
            design = Design.of([self.design.equations[j] for j in features], self.design.protected)
            self._parts[variables] = ThresholdSystem(inner, design, self.rows, pairs)
        return self._parts[variables], np.append(d, self._n_weights + np.arange(self._n_gamma))

    def on_sample(self, size: int) -> ThresholdSystem:
        """The same system with the attribute seen in a sample of the rows, always the same; itself where they are few.

        Features are still seen through the moments of all rows, so that at P = I their fit is that of all.
        """
        if self.rows.a.size <= 2 * size:
            return self
        if not self._coarse:
            some = sample(self.rows, size, np.random.default_rng(0))
            rows = replace(some, weight=some.weight * (self.rows.n / some.n))
            self._coarse.append(replace(self, rows=rows))
        return self._coarse[0]

    def _independent(self) -> Fit:
        features = self.features.independent()
        P = np.eye(features.correlation.shape[0] + 1)
        start = replace(features, weights=np.append(features.weights, np.zeros(self._n_gamma)))
        (fit,) = self._fit(P[None], [start], TOLERANCE)
        if fit.log_likelihood - features.log_likelihood > -SEPARATED * self.features.moments.n:
            assert self.design.protected is not None
            name = self.design.protected.feature
            raise DataError(
                f"the parents of '{name}' tell its two levels apart in every row, so that nothing shows its error: "
                f"remove the pairs that name '{name}', or edges into it"
            )
        # features know nothing of the threshold: they stay what they are without it, to the last digit
        gamma = fit.weights[self._n_weights :]
        return replace(fit, weights=np.append(features.weights, gamma), log_scales=features.log_scales)

    def correlation_gradients(self, fits: Sequence[Fit], c_w: Array) -> Array:
        """(g, m + 1, m + 1) derivatives by P of functionals with gradients ``c_w`` (g, D) in the weights.

        Solves ``F_zz v = c_z`` at each fit; the derivative is ``-v' dF_z/dP``, by the chain rule through ``P_xx^-1``,
        ``k`` and v. Those by entries that the pairs tie to A by no chain are left at what the tied features add.
        """
        z, at = self._stacked(fits)
        sums = self._sums(z, at)
        v = self._adjoint(z, at, sums, c_w)
        return at.shape.pull_back(*self._slopes(z, v, at, sums))

    def adjoint(self, fitted: Fit, c_w: Array) -> Array:
        """Solve ``F_zz v = c_z`` at a fit, c_z the gradient in z of a functional with gradient ``c_w`` in weights."""
        z, at = self._stacked([fitted])
        return np.asarray(self._adjoint(z, at, self._sums(z, at), c_w[None])[0])

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
        """What each P (..., m + 1, m + 1) makes of the objective."""
        shape, f = Shape.of(P), self.members
        steepness = np.repeat(shape.steepness[..., None], self._n_gamma, axis=-1)
        q = np.concatenate([np.take(shape.kappa, f, axis=-1), steepness], axis=-1)
        # one layout, however many there are: digits of products depend on it
        return Place(shape, np.ascontiguousarray(self._cross_products * shape.inverse[..., f[:, None], f]), q)

    def _stacked(self, fits: Sequence[Fit]) -> tuple[Array, Place]:
        """Coordinates of several fits, and their places."""
        P = np.array([one.correlation for one in fits])
        return np.array([self.coordinates(one) for one in fits]), self.place(P)

    def _fit(self, P: Array, starts: Sequence[Fit], tolerance: float) -> list[Fit]:
        """Minimise ``z'Tz - 2n sum log u + sum_d lam_d (theta_d/u)^2 - 2 sum_i log Normal_cdf(t_i)`` by Newton."""
        some = self._on_some()
        if some is not None:  # its fit is so close that two or three steps with all rows are enough
            starts = some._fit(P, starts, SEARCH_TOLERANCE)
        at, z = self.place(P), np.array([self.coordinates(start) for start in starts])
        enough, quadratic = tolerance * self.features.moments.n, np.ascontiguousarray(np.einsum("gii->gi", at.T))
        ends = minimise(lambda z, which: self.objective(z, at.take(which)), z, self._m, enough, quadratic)
        return self._as_fits(ends, P)

    def _on_some(self) -> ThresholdSystem | None:
        """The same system of a sample of many rows, the penalty scaled by its share; None where they are not many."""
        if not self._sample:
            rows = self.rows.some()
            self._sample[:] = [None if rows is None else self._of(rows)]
        return self._sample[0]

    def _of(self, rows: Rows) -> ThresholdSystem:
        """The same system of a sample of the rows."""
        lam = self.features.penalties * (rows.n / self.features.moments.n)
        features = replace(self.features, moments=structural_moments(rows, self.design.equations), penalties=lam)
        return ThresholdSystem(features, self.design, rows, self.pairs)

    def objective(self, z: Array, at: Place) -> tuple[Array, Array, Array]:
        """Objectives (g,) at z (g, d), with gradients and Hessians; beyond doubles, whoever descends turns back."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._with_rows(z, at, self._sums(z, at))

    def _with_rows(self, z: Array, at: Place, rows: Sums) -> tuple[Array, Array, Array]:
        """The same from sums over rows that are known."""
        n, m, j = self.features.moments.n, self._m, np.arange(self._m)
        u, both = z[:, :m], slice(0, len(self.members))
        g = np.zeros(z.shape)
        g[:, both] = 2 * (at.T @ z[:, both, None])[:, :, 0]
        F = (z * g).sum(axis=1) / 2 - 2 * n * np.log(u).sum(axis=1) - 2 * rows.log_cdf
        H = 2 * at.q[:, :, None] * rows.curvature * at.q[:, None, :]
        H[:, both, both] += 2 * at.T
        g[:, :m] -= 2 * n / u
        H[:, j, j] += 2 * n / u**2
        g -= 2 * at.q * rows.slope
        if self.features.penalties.any():
            F += self._add_penalty(z, g, H)
        return F, g, H

    def _add_penalty(self, z: Array, g: Array, H: Array) -> Array:
        """``sum_d lam_d (theta_d/u)^2`` of each z, its derivatives added to gradients and Hessians."""
        lam, b, m = self.features.penalties, self.features.feature_of, self._m
        j, d = np.arange(m), np.arange(m, m + b.size)
        u, of_own = z[:, :m], np.take(z[:, :m], b, axis=1)  # take: one layout, and with it digits of sums, always
        w = z[:, m : m + b.size] / of_own
        cost = lam * w**2
        by_feature = (cost[:, None] @ self._belongs[m:])[:, 0]
        g[:, :m] -= 2 * by_feature / u
        g[:, d] += 2 * lam * w / of_own
        H[:, j, j] += 6 * by_feature / u**2
        H[:, d, d] += 2 * lam / of_own**2
        mixed = 4 * lam * w / of_own**2
        H[:, d, b] -= mixed
        H[:, b, d] -= mixed
        return np.asarray(cost.sum(axis=1))

    def _sums(self, z: Array, at: Place) -> Sums:
        """Add up over the rows; columns of features that P does not tie to A have no part in it (q = 0 there)."""
        every = bool(np.delete(at.q, self._seen, axis=1).any())
        folded = self._folded(every)
        return folded.unfolded(self._total(folded.fold(at.q * z), every))

    def _total(self, y: Array, every: bool) -> Sums:
        """Add up over all blocks of rows, from columns that are known or made anew."""
        known = self._columns.get(every) or self._kept(every)
        compiled = is_wanted(self.rows.size if self.rows.whole is None else None, gain=GAIN)
        if known:
            return total(lambda rows: rows.sums(y, compiled=compiled), known)
        make = self._maker(every)
        return self.rows.total(lambda block: make(block).sums(y, compiled=compiled), width=self._folded(every).count)

    def _adjoint(self, z: Array, at: Place, rows: Sums, c_w: Array) -> Array:
        m, f = self._m, self.features.feature_of
        u, theta, c = np.take(z[:, :m], f, axis=1), z[:, m : m + f.size], c_w[:, : f.size]
        c_u = -((c * theta / u**2)[:, None] @ self._belongs[m:])[:, 0]
        c_z = np.concatenate([c_u, c / u, np.zeros((len(z), self._n_gamma))], axis=1)
        return solve_definite(self._with_rows(z, at, rows)[2], c_z)

    def _slopes(self, z: Array, v: Array, at: Place, rows: Sums) -> tuple[Array, Array, Array]:
        """Derivatives of ``-v'F_z`` by ``P_xx^-1`` (g, m, m), ``1/sqrt(v)`` and ``k/sqrt(v)`` (g, m), z and v held."""
        k, own, q = len(self.members), self._belongs, at.q
        by_inverse = -2 * own.T @ (self._cross_products * (z[:, :k, None] * v[:, None, :k])) @ own
        # v'F_z = -2 sum_i weight_i a_i hazard(t_i) B_i'(q v), to be differentiated by q: the last factor, then t
        by_q = 2 * v * rows.slope - 2 * z * (rows.curvature @ (q * v)[:, :, None])[:, :, 0]
        return by_inverse, by_q[:, k:].sum(axis=1), (by_q[:, None, :k] @ own)[:, 0]

    def folded(self) -> tuple[Iterable[Columns], Folded]:
        """Columns ``B = (x, -phi, phi_A)`` with A and weights, block by block, equal ones once; and which are equal."""
        known = self._columns.get(True) or self._kept(True)
        return known or map(self._maker(True), self.rows.blocks()), self._folded(True)

    def _kept(self, every: bool) -> list[Columns]:
        """Columns that are worked out now, to be known from now on; none where they are too many."""
        if not self.rows.keeps(self._folded(every).count):
            return []
        self._columns[every] = list(map(self._maker(every), self.rows.blocks(self._folded(every).count)))
        return self._columns[every]

    def _folded(self, every: bool) -> Folded:
        """Which of all columns, or of those from which A is seen, are equal."""
        if every not in self._folds:
            which, equations = self._which(every)
            design = self.design  # and nothing else of the system: rows may lie elsewhere
            make = partial(make_columns, design, equations)
            marks = self.rows.total(lambda block: marks_of(make(block)), width=which.size)
            self._folds[every] = Folded.of(which, self.members.size + self._n_gamma, *same_columns(marks))
        return self._folds[every]

    def _which(self, every: bool) -> tuple[IntArray, Sequence[int]]:
        """Entries of z, and the equations of their features."""
        if every:
            return np.arange(self.members.size + self._n_gamma), range(self._m)
        return self._seen, self._tied

    def columns(self) -> Iterator[Columns]:
        """All columns (x, -phi) of the features and of the attribute's equation, block by block."""
        every = range(self._m)
        return (Columns.of(make_columns(self.design, every, block), block, few=False) for block in self.rows.blocks())

    def _maker(self, every: bool) -> Callable[[Rows], Columns]:
        """What makes columns of a block; where rows are few it keeps their products."""
        folded, (_, equations) = self._folded(every), self._which(every)
        few = self.rows.size * folded.count * (folded.count + 1) // 2 <= PRODUCTS
        design, first = self.design, folded.first
        return lambda block: Columns.of(make_columns(design, equations, block)[:, first], block, few=few)

    # ------------------------------------------------------------ in and out

    def _features_at(self, factor: float, P: Array, starts: Sequence[Fit]) -> list[Fit]:
        """Fits of the features alone at another size of the penalty, to start from."""
        other = replace(self.features, penalties=factor * self.features.penalties)
        return self._with_threshold(other.fits(P[:, 1:, 1:], starts, check_minima=False), starts)

    def _features_from(self, log_scales: Array, P: Array, starts: Sequence[Fit]) -> list[Fit]:
        """Fits of the features alone from one of several minima at P = I, to start from."""
        return self._with_threshold(fit_many(self.features, P[:, 1:, 1:], log_scales, tolerance=ROUGH), starts)

    def _with_threshold(self, features: Sequence[Fit], starts: Sequence[Fit]) -> list[Fit]:
        gammas = [start.weights[self._n_weights :] for start in starts]
        both = zip(features, gammas, strict=True)
        return [replace(fitted, weights=np.append(fitted.weights, gamma)) for fitted, gamma in both]

    def coordinates(self, fitted: Fit) -> Array:
        """``z = (u, theta, gamma)`` of a fit."""
        u, b = np.exp(-fitted.log_scales), self.features.feature_of
        return np.concatenate([u, fitted.weights[: self._n_weights] * u[b], fitted.weights[self._n_weights :]])

    def _as_fits(self, ends: Minima, P: Array) -> list[Fit]:
        m, n, b = self._m, self.features.moments.n, self.features.feature_of
        weights = ends.z[:, m:].copy()
        weights[:, : b.size] /= ends.z[:, :m][:, b]
        deviance = ends.F - (self.features.penalties * weights[:, : b.size] ** 2).sum(axis=1)
        log_det = np.linalg.slogdet(P[:, 1:, 1:])[1]
        log_likelihood = -(deviance + n * log_det + n * m * float(np.log(2 * np.pi))) / 2
        numbers = log_likelihood.tolist(), ends.F.tolist(), ends.status
        return [Fit(*one) for one in zip(weights, -np.log(ends.z[:, :m]), P, *numbers, strict=True)]


def _tied_to_first(pairs: Sequence[tuple[int, int]], m: int) -> NDArray[np.bool_]:
    """(m,) which of the variables some chain of pairs ties to the first; all of them where no pairs are known."""
    tied = np.full(m, not pairs)
    tied[0] = True
    for _ in range(m):  # as long as the longest chain
        for j, k in pairs:
            tied[[j, k]] |= tied[j] | tied[k]
    return tied


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What the likelihood takes from one P or several."""

    P: Array  # (..., m + 1, m + 1), A first
    inverse: Array  # (..., m, m) of P_xx
    k: Array  # (..., m)
    steepness: Array  # (...,) 1 / sqrt(v)

    @classmethod
    def of(cls, P: Array) -> Shape:
        """Take apart correlations, A first."""
        inverse, r = np.asarray(np.linalg.inv(P[..., 1:, 1:]), dtype=float), P[..., 0, 1:]
        k = (inverse @ r[..., None])[..., 0]
        return cls(P, inverse, k, np.asarray((1 - (r * k).sum(axis=-1)) ** -0.5))

    @property
    def kappa(self) -> Array:
        """(..., m) k / sqrt(v)."""
        return np.asarray(self.k * self.steepness[..., None])

    def pull_back(self, by_inverse: Array, by_steepness: Array, by_kappa: Array) -> Array:
        """Derivative by P, each entry on its own, of functions of inverse, steepness and kappa."""
        r = self.P[..., 0, 1:]
        by_v = -(self.steepness**3) / 2 * (by_steepness + (self.k * by_kappa).sum(axis=-1))
        by_k = self.steepness[..., None] * by_kappa - r * by_v[..., None]
        by_r = -self.k * by_v[..., None] + (self.inverse @ by_k[..., None])[..., 0]
        G = by_inverse + by_k[..., :, None] * r[..., None, :]
        by_P = np.zeros_like(self.P)
        by_P[..., 1:, 1:] = -self.inverse @ G @ self.inverse
        by_P[..., 0, 1:] = by_r
        return by_P

    def take(self, which: IntArray) -> Shape:
        """Those of some P."""
        return Shape(self.P[which], self.inverse[which], self.k[which], self.steepness[which])


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """What P makes of the objective: ``z'Tz`` and ``t = a B (q z)``."""

    shape: Shape
    T: Array  # (..., m + D, m + D)
    q: Array  # (..., m + D + c)

    def take(self, which: IntArray) -> Place:
        """Those of some P."""
        return self if len(which) == len(self.q) else Place(self.shape.take(which), self.T[which], self.q[which])
