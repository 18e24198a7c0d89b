"""One equation alone whose error is seen in intervals: probit, ordered probit, and a number with an atom.

The coordinates z are theta and, behind it, an ordered variable's cuts without the first, which is 0, or a number's
``u = 1/sigma`` by group. Ends of intervals and known errors are linear in z, so that ``F = -log likelihood`` is convex,
as in `mixed`. What is added here: columns may depend on each other, and where no finite z is best, it is said for whom.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Design, Equation, Law
from fairstress.model.fit import Fit, Mask
from fairstress.model.latent import Layout, Part, seen
from fairstress.model.linear import independent_columns
from fairstress.model.mixed_rows import is_interval
from fairstress.model.newton import solve_definite
from fairstress.model.rectangle import rectangles

MAX_STEPS = 100
MAX_HALVINGS = 60
TOLERANCE = 1e-18  # decrease of F per person below which one last step is taken
ROUNDING = 1e-10  # of F per person
WRONG_SIDE = 1e-6  # of a step's largest move of an end: what counts as a move to the wrong side
SHARPEST = 1e5  # 1/sigma: beyond it, of a standardised number, nothing is left to fit


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """The fit of one equation, and for how many people it rules out other levels, or all but the atom."""

    fit: Fit  # of no use where n_separated is not 0
    n_separated: float  # sum of weights; not 0 where no finite weights are best (separation)


def fit_alone(rows: Rows, equation: Equation) -> Alone:
    """Minimise F by Newton's method; columns that others determine have weight 0.

    Where a direction of z takes nobody's ends inwards and leaves known errors as they are, F falls along it for ever.
    """
    problem = _Problem.of(rows, equation)
    z = problem.start()
    F, g, H = problem.objective(z)
    for _ in range(MAX_STEPS):
        step = problem.newton_step(g, H)
        if -float(g @ step) / 2 <= TOLERANCE * rows.n:
            return Alone(problem.as_fit(z + step, F), 0.0)
        if n_separated := problem.separated(step):
            return Alone(problem.as_fit(z, F), n_separated)
        step = step * min(1.0, 0.9 * problem.longest(z, step))
        trial = problem.objective(z + step)
        for _ in range(MAX_HALVINGS):
            if trial[0] <= F + ROUNDING * rows.n:
                break
            step = step / 2
            trial = problem.objective(z + step)
        else:
            break
        z, (F, g, H) = z + step, trial
        if problem.is_exact(z):
            return Alone(problem.as_fit(z, F), 0.0)
    return Alone(problem.as_fit(z, F), rows.n)  # F is convex: only what nearly separates takes so long


# ---------------------------------------------------------------- mathematics


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Both ends of some people's intervals, linear in z; a known error is both."""

    lower: Array  # (r, size)
    upper: Array  # (r, size)
    open_below: Mask
    open_above: Mask
    is_known: Mask
    weight: Array

    def log_likelihood(self, z: Array) -> tuple[Array, Array, Array]:
        """(r,) without ``log u``, with derivatives by the two ends, (r, 2) and (r, 2, 2)."""
        lower = np.where(self.open_below, -np.inf, self.lower @ z)
        upper = np.where(self.open_above, np.inf, self.upper @ z)
        value, slope, curve = np.empty(upper.size), np.zeros((upper.size, 2)), np.zeros((upper.size, 2, 2))
        known, seen_in = self.is_known, ~self.is_known
        value[known], slope[known, 1], curve[known, 1, 1] = -(upper[known] ** 2) / 2, -upper[known], -1.0
        Pi = rectangles(lower[seen_in, None], upper[seen_in, None], np.eye(1), derivatives=2)
        assert Pi.gradient is not None
        assert Pi.hessian is not None
        value[seen_in], slope[seen_in], curve[seen_in] = Pi.log_probability, Pi.gradient, Pi.hessian
        return value, slope, curve

    def outwards(self, step: Array) -> Array:
        """(r, 2) how far a step takes the two ends outwards; what takes a known error anywhere is inwards."""
        low = np.where(self.open_below, 0.0, -self.lower @ step)
        high = np.where(self.open_above, 0.0, self.upper @ step)
        moved = np.where(self.is_known[:, None], -np.abs(high)[:, None], np.column_stack([low, high]))
        return np.where(self.weight[:, None] > 0, moved, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The rows of one equation, and which coordinates are free."""

    rows: Rows
    part: Part
    free: Mask  # (size,)
    n_known: Array  # (size,) people whose known errors each u scales

    @classmethod
    def of(cls, rows: Rows, equation: Equation) -> _Problem:
        """Find the columns that others determine, and count the people above an atom."""
        part = Layout.of(Design.of([equation])).parts[0]
        law, d = equation.law, len(equation.embedding.terms)
        size = d + (law.n_cuts - 1 if law.is_ordered else law.n_scales)
        gram, n_known = np.zeros((d, d)), np.zeros(size)
        for block in rows.blocks():
            phi = equation.values(block.a, block.x)
            gram += (phi * block.weight[:, None]).T @ phi
            if not law.is_ordered:
                weight = np.where(is_interval(part, block), 0.0, block.weight)
                n_known[d:] += np.bincount(law.group_of(block.a), weight, minlength=law.n_scales)
        free = np.ones(size, dtype=bool)
        free[:d] = np.isin(np.arange(d), independent_columns(gram))
        return cls(rows, part, free, n_known)

    @property
    def _law(self) -> Law:
        return self.part.equation.law

    @property
    def _d(self) -> int:
        return len(self.part.equation.embedding.terms)

    def start(self) -> Array:
        """No effects, cuts evenly over two standard deviations, scale 1."""
        z = np.zeros(self.free.size)
        z[self._d :] = 2 * np.arange(1, self._law.n_cuts) / self._law.n_cuts if self._law.is_ordered else 1.0
        return z

    def objective(self, z: Array) -> tuple[float, Array, Array]:
        """F with its gradient and Hessian."""
        n, scaled = self.n_known, self.n_known > 0
        F, g, H = -float(n[scaled] @ np.log(z[scaled])), np.zeros(z.size), np.zeros((z.size, z.size))
        g[scaled] -= n[scaled] / z[scaled]
        H[scaled, scaled] += n[scaled] / z[scaled] ** 2
        for ends in self._ends():
            value, slope, curve = ends.log_likelihood(z)
            F -= float(ends.weight @ value)
            both = (ends.lower, ends.upper)
            for i, first in enumerate(both):
                g -= first.T @ (ends.weight * slope[:, i])
                for k, second in enumerate(both):
                    H -= (first * (ends.weight * curve[:, i, k])[:, None]).T @ second
        return F, g, H

    def newton_step(self, g: Array, H: Array) -> Array:
        """``-H^-1 g`` in the free coordinates."""
        step, free = np.zeros(g.size), np.flatnonzero(self.free)
        step[free] = -solve_definite(H[np.ix_(free, free)], g[free])
        return step

    def separated(self, step: Array) -> float:
        """For how many a step takes an end outwards, if it takes nobody's inwards; otherwise 0."""
        moves = [(ends.outwards(step), ends.weight) for ends in self._ends()]
        rounding = WRONG_SIDE * max(move.max() for move, _ in moves)
        if min(move.min() for move, _ in moves) < -rounding:
            return 0.0
        return float(sum(weight[(move > rounding).any(axis=1)].sum() for move, weight in moves))

    def longest(self, z: Array, step: Array) -> float:
        """How far cuts stay in order and u positive."""
        falls = -self._slack(step) / self._slack(z)
        return 1 / max(float(falls.max(initial=0.0)), 1e-300)

    def is_exact(self, z: Array) -> bool:
        """Whether nothing is left of a number's error."""
        return not self._law.is_ordered and bool(z[self._d :].max() > SHARPEST)

    def as_fit(self, z: Array, F: float) -> Fit:
        """The fit with some coordinates, an ordered variable's constant moved into its cuts."""
        w, behind, scales = z[: self._d].copy(), z[self._d :], np.zeros(0)
        if self._law.is_ordered:
            behind = np.append(0.0, behind) - w[0]
            w[0] = 0.0
        else:
            w, scales, behind = w / np.repeat(behind, w.size // behind.size), -np.log(behind), np.zeros(0)
        log_likelihood = -F - float(self.n_known.sum() * np.log(2 * np.pi)) / 2
        return Fit(w, scales, np.eye(1), log_likelihood, 2 * F, Status.CONVERGED, behind)

    def _slack(self, z: Array) -> Array:
        return np.diff(z[self._d :], prepend=0.0) if self._law.is_ordered else z[self._d :]

    def _ends(self) -> Iterator[_Ends]:
        """``cut - phi'theta`` of levels, ``u x - phi'theta`` of numbers, an atom's too."""
        law = self._law
        for block in self.rows.blocks():
            minus_phi, x = -self.part.equation.values(block.a, block.x), seen(self.part, block)
            if law.is_ordered:
                level, cuts = law.level_of(x), np.arange(1, law.n_cuts)
                lower, upper = (np.hstack([minus_phi, (level[:, None] - k == cuts)]) for k in (1, 0))
                known = np.zeros(x.size, dtype=bool)
                yield _Ends(lower, upper, level == 0, level == law.n_cuts, known, block.weight)
            else:
                own = law.group_of(block.a)[:, None] == np.arange(law.n_scales)
                ends, at_atom = np.hstack([minus_phi, x[:, None] * own]), is_interval(self.part, block)
                yield _Ends(ends, ends, at_atom, np.zeros(x.size, dtype=bool), ~at_atom, block.weight)
