"""Tool 2: the worst case of a functional within a budget.

CFU is not concave in the correlation: close to P = I it is a convex quadratic, whose maxima over a convex set lie at
its extreme points, many of them. So the search is global first: sign patterns, a scan of the whole set and earlier
solutions are compared, and an ascent with exact gradients goes on from the best of them, until a few ascents agree. One
pair is searched along its whole interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array, sample
from fairstress.sensitivity.budget import Budget
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.evaluate import Evaluation, evaluate, evaluate_many
from fairstress.sensitivity.functional import Functional, OfFrame

ALL_SIGNS = 7  # up to this many pairs every sign pattern is tried
MAX_STEPS = 100  # of one ascent
ALL_MIRRORS = 6  # up to this many variables every mirror image of a solution is tried
ROUNDS = 4  # of ascents from mirror images
ENOUGH = 3  # ascents that agree on the best value end the search
LINE = 240  # points along the interval of a single pair
PEAKS = 4  # of them that are refined
SAMPLE = 4096  # people in a sample of the rows
FINAL = 4  # ends on the sample that are climbed again with all rows


@dataclass(frozen=True, slots=True)
class Search:
    """What to maximise (sign +1) or minimise (sign -1), where, and how hard to look."""

    claim: Claim
    budget: Budget
    functional: Functional
    sign: float
    starts: int
    scan: int
    negligible: float = 0.0  # a value at or below this is rounding, and not worth climbing
    precision: float = 1e-7  # gain of a step, relative to the start, below which an ascent ends

    def values(self, points: Array) -> Array:
        """``sign * functional`` at points (g, q)."""
        found = evaluate_many(self.claim, self.budget.matrix(points), self.functional, check_minima=False)
        return self.sign * np.array([e.value for e in found])

    def value_and_gradient(self, p: Array) -> tuple[float, Array]:
        """``sign * functional`` at one point and its derivative (q,)."""
        found = evaluate(self.claim, self.budget.matrix(p), self.functional, gradient=True, check_minima=False)
        if found.gradient is None:
            return self.sign * found.value, self._differences(p, found.value)
        slope = found.gradient
        return self.sign * found.value, self.sign * np.array([slope[j, k] + slope[k, j] for j, k in self.budget.pairs])

    def on_sample(self, rng: np.random.Generator) -> Search:
        """The same search on a sample of the rows, where there are many; Model B is fitted to all of them."""
        rows = self.claim.rows
        if rows.a.size <= 2 * SAMPLE or isinstance(self.functional, OfFrame):
            return self
        return replace(self, claim=replace(self.claim, rows=sample(rows, SAMPLE, rng)), precision=1e-3)

    def _differences(self, p: Array, value: float) -> Array:
        """Derivative of a functional that has none of its own, by forward differences within the box."""
        step = np.where(p + 1e-5 <= self.budget.high, 1e-5, -1e-5)
        return (self.values(p + np.diag(step)) - self.sign * value) / step


@dataclass(frozen=True, slots=True)
class Found:
    """Where a search ended, and how sure one can be of it."""

    p: Array  # (q,)
    evaluation: Evaluation
    status: Status
    n_starts: int  # ascents
    n_agreeing: int  # ascents that ended within 0.1 % of the best value
    scan_value: float  # the best value on the scan, and where
    scan_p: Array


def search(task: Search, inherited: Sequence[Array], rng: np.random.Generator) -> Found:
    """Find the largest ``sign * functional`` within the budget."""
    budget = task.budget
    points = _scan(task, rng)
    if budget.is_point:
        on_scan = task.values(points)
        ends = [(points[0], float(on_scan[0]), Status.CONVERGED)]
        n_starts = n_agreeing = 1
    elif len(budget.pairs) == 1:
        on_scan = task.values(points)
        ends = _along_line(task, points[:, 0], on_scan)
        n_starts, n_agreeing = len(ends), _agreeing(ends)
    else:
        # fits always see all rows; of many rows a sample tells the hills apart, and the highest are climbed with all
        coarse = task.on_sample(rng)
        on_scan = coarse.values(points)
        ends = _from_starts(coarse, points, on_scan, inherited, rng)
        n_starts, n_agreeing = len(ends), _agreeing(ends)
        if coarse is not task:
            ends = [_ascend(task, p) for p in _highest(task, ends, inherited)]
    p, _, status = max(ends, key=lambda end: end[1])
    evaluation = evaluate(task.claim, budget.matrix(p), task.functional)
    if evaluation.fit.status is not Status.CONVERGED:
        status = evaluation.fit.status
    best = points[int(on_scan.argmax())]
    scan_value = task.sign * float(task.values(best[None])[0])
    return Found(p, evaluation, status, n_starts, n_agreeing, scan_value, best)


_End = tuple[Array, float, Status]


def _scan(task: Search, rng: np.random.Generator) -> Array:
    """Points spread over the whole set; for one pair a grid of its interval, denser towards the ends."""
    budget = task.budget
    if budget.is_point:
        return np.array([budget.project(budget.centre())])
    if len(budget.pairs) > 1:
        return budget.scan(task.scan, rng)
    low, high = float(budget.low[0]), float(budget.high[0])
    grid = (low + high) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, LINE))
    grid[[0, -1]] = low, high
    return grid[:, None]


def _highest(task: Search, ends: Sequence[_End], inherited: Sequence[Array]) -> list[Array]:
    """The ends to climb again with all rows: a few that differ, and smaller budgets' solutions."""
    points, values = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    return [*(points[i] for i in _apart(task, points, values, FINAL)), *(task.budget.project(p) for p in inherited)]


def _agreeing(ends: Sequence[_End]) -> int:
    """How many searches ended within 0.1 % of the best."""
    best = max(end[1] for end in ends)
    return sum(end[1] >= best - 1e-3 * abs(best) for end in ends)


# ---------------------------------------------------------------- many pairs


def _from_starts(
    task: Search, scanned: Array, on_scan: Array, inherited: Sequence[Array], rng: np.random.Generator
) -> list[_End]:
    """Ascend from the best of sign patterns, scan and earlier solutions, then from mirror images of the best ends."""
    earlier = [task.budget.project(p * s) for p in inherited for s in (1.0, 10.0)]  # as it is, and out to the boundary
    own = np.array([*earlier, *task.budget.extremes(_signs(task, rng))])
    points, values = np.concatenate([own, scanned]), np.concatenate([task.values(own), on_scan])
    if values.max() <= task.negligible:
        return [(points[int(values.argmax())], float(values.max()), Status.CONVERGED)]
    order = [*dict.fromkeys([*range(0, len(earlier), 2), *_apart(task, points, values, task.starts)])]
    ends = [_ascend(task, points[i]) for i in order]
    idle = 0
    for _ in range(ROUNDS):
        before = max(end[1] for end in ends)
        best = sorted(ends, key=lambda end: -end[1])[: 3 if task.budget.size <= ALL_MIRRORS else 1]
        points = _mirror_images(task, best)
        known = np.array([end[0] for end in ends])
        order = _apart(task, points, task.values(points), max(2, task.starts // 2), known)
        ends += [_ascend(task, points[i]) for i in order]
        idle = 0 if max(end[1] for end in ends) > before + 1e-3 * abs(before) else idle + 1
        if idle and (_agreeing(ends) >= ENOUGH or idle == 2):
            break
    return ends


def _mirror_images(task: Search, ends: Sequence[_End]) -> Array:
    """The ends with the signs of some variables' errors turned, ``D P D``: each is a member of a symmetric set too."""
    m = task.budget.size
    turned = range(1, m) if m <= ALL_MIRRORS else (1, 2)  # how many variables at once
    chosen = [c for count in turned for c in itertools.combinations(range(1, m), count)]
    signs = np.ones((len(chosen), m))
    for row, c in zip(signs, chosen, strict=True):
        row[list(c)] = -1.0
    images = [signs[:, :, None] * task.budget.matrix(p) * signs[:, None, :] for p, _, _ in ends]
    return np.array([task.budget.project(p) for p in task.budget.point(np.concatenate(images))])


def _apart(task: Search, points: Array, values: Array, count: int, known: Array | None = None) -> list[int]:
    """The best points that are not too close to a better one, nor to one that is known."""
    distance = 0.1 * float((task.budget.high - task.budget.low).max())
    kept = [] if known is None else list(known)
    chosen: list[int] = []
    for i in np.argsort(-values, kind="stable"):
        if all(np.abs(points[i] - other).max() > distance for other in kept):
            chosen.append(int(i))
            kept.append(points[i])
        if len(chosen) == count:
            break
    return chosen


def _signs(task: Search, rng: np.random.Generator) -> Array:
    """All sign patterns of few pairs; of many, those that a quadratic model finds best, and random ones."""
    q = len(task.budget.pairs)
    if q <= ALL_SIGNS:
        return np.array(list(itertools.product([-1.0, 1.0], repeat=q)))
    g, H = _quadratic(task)
    random = rng.choice([-1.0, 1.0], (4 * task.starts, q))
    leading = np.linalg.eigh(H)[1].T[::-1][: task.starts]
    seeds = np.concatenate([np.where(leading >= 0, 1.0, -1.0), np.where(leading >= 0, -1.0, 1.0), random])
    improved = np.unique([_flip(g, H, task.budget.high.max(), s) for s in seeds], axis=0)
    return np.concatenate([improved, random[: task.starts]])


def _quadratic(task: Search) -> tuple[Array, Array]:
    """Gradient and Hessian (q, q) at the centre, by differences of exact gradients."""
    centre, q = task.budget.project(task.budget.centre()), len(task.budget.pairs)
    h = 0.02 * float((task.budget.high - task.budget.low).max())
    g = task.value_and_gradient(centre)[1]
    H = np.array([task.value_and_gradient(centre + h * np.eye(q)[i])[1] - g for i in range(q)]) / h
    return g, (H + H.T) / 2


def _flip(g: Array, H: Array, size: float, s: Array) -> Array:
    """Flip signs one at a time while the quadratic model ``g'p + p'Hp/2`` at ``p = size * s`` grows."""
    s = s.copy()
    for _ in range(10 * s.size):
        # flipping i changes p by -2 size s_i e_i
        gain = -2 * size * s * (g + size * (H @ s)) + 2 * size**2 * np.diag(H)
        i = int(gain.argmax())
        if gain[i] <= 1e-12 * abs(size**2 * (s @ H @ s)):
            break
        s[i] = -s[i]
    return s


def _ascend(task: Search, p: Array) -> _End:
    """Go uphill by quadratic programming on ``P = floor I + (1 - floor) Y Y'``, the rows of Y of length 1.

    Any such P keeps the eigenvalue floor, so that only the box and the zeros are left as constraints; and where
    eigenvalues meet at the floor, as they do at extreme points, nothing is rough.
    """
    from scipy import optimize  # takes long to import, and only searches need it

    start = float(task.values(p[None])[0])
    chart, unit = _Chart(task.budget), 1 / max(abs(start), 1e-300)
    look = task.budget.loosened()  # on the way the zeros need not hold yet, and without them P may not be definite

    def loss(z: Array) -> tuple[float, Array]:
        found, g = task.value_and_gradient(look.shrink(chart.point(z)))
        return -unit * found, -unit * chart.pull_back(z, g)

    found = optimize.minimize(  # type: ignore[call-overload]
        loss,
        chart.coordinates(0.99 * p + 0.01 * task.budget.centre()),
        jac=True,
        method="SLSQP",
        constraints=chart.constraints(),
        options={"maxiter": MAX_STEPS, "ftol": task.precision},
    )
    end = task.budget.shrink(chart.point(found.x))
    value = float(task.values(end[None])[0])
    status = Status.SEARCH_STEPS if found.nit >= MAX_STEPS else Status.CONVERGED
    return (end, value, status) if value > start else (p, start, status)


@dataclass(frozen=True, slots=True)
class _Chart:
    """Coordinates Y (m, m), flat, for the correlations above a budget's eigenvalue floor."""

    budget: Budget

    def coordinates(self, p: Array) -> Array:
        """Coordinates of a point."""
        R = (self.budget.matrix(p) - self.budget.floor * np.eye(self.budget.size)) / (1 - self.budget.floor)
        values, vectors = np.linalg.eigh(R)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 1e-8))).ravel())

    def point(self, z: Array) -> Array:
        """The free pairs' correlations."""
        Y = self._rows(z)[0]
        return (1 - self.budget.floor) * self.budget.point(Y @ Y.T)

    def pull_back(self, z: Array, g: Array) -> Array:
        """Derivative by the coordinates of a function whose derivative by the free pairs' correlations is g."""
        return self._pull_back(z, self.budget.matrix(g) - np.eye(self.budget.size))

    def constraints(self) -> list[dict[str, Any]]:
        """The box of the free pairs, and zero for the others."""
        budget = self.budget
        m = budget.size
        kept = [(j, k) for j in range(m) for k in range(j + 1, m) if (j, k) not in budget.pairs]
        basis = [_unit(m, pair) for pair in budget.pairs]

        def slopes(z: Array) -> Array:
            return np.array([self._pull_back(z, E) for E in basis])

        found: list[dict[str, Any]] = []
        if budget.high.min() < 1 - budget.floor or budget.low.max() > budget.floor - 1:
            found += [
                {"type": "ineq", "fun": lambda z: budget.high - self.point(z), "jac": lambda z: -slopes(z)},
                {"type": "ineq", "fun": lambda z: self.point(z) - budget.low, "jac": slopes},
            ]
        if kept:
            j, k = np.transpose(kept)
            zeros = [_unit(m, pair) for pair in kept]
            found.append(
                {
                    "type": "eq",
                    "fun": lambda z: (lambda Y: (Y @ Y.T)[j, k])(self._rows(z)[0]),
                    "jac": lambda z: np.array([self._pull_back(z, E) for E in zeros]) / (1 - budget.floor),
                }
            )
        return found

    def _rows(self, z: Array) -> tuple[Array, Array]:
        Y = z.reshape(self.budget.size, self.budget.size)
        length = np.linalg.norm(Y, axis=1, keepdims=True)
        return Y / length, length

    def _pull_back(self, z: Array, G: Array) -> Array:
        Y, length = self._rows(z)
        H = (1 - self.budget.floor) * (G @ Y)
        return np.asarray(((H - (H * Y).sum(axis=1, keepdims=True) * Y) / length).ravel())


def _unit(m: int, pair: tuple[int, int]) -> Array:
    E = np.zeros((m, m))
    E[pair] = E[pair[::-1]] = 1.0
    return E


# ---------------------------------------------------------------- one pair


def _along_line(task: Search, grid: Array, values: Array) -> list[_End]:
    """The highest local maxima along the interval of a single pair, each refined."""
    if values.max() <= task.negligible:
        return [(grid[[int(values.argmax())]], float(values.max()), Status.CONVERGED)]
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values > padded[:-2]) & (values >= padded[2:]))
    highest = peaks[np.argsort(-values[peaks], kind="stable")][:PEAKS]
    return [_refine(task, grid, int(i), float(values[i])) for i in highest]


def _refine(task: Search, grid: Array, i: int, value: float) -> _End:
    """Narrow the bracket of a peak by a finer and finer grid."""
    best, low, high = grid[i], grid[max(i - 1, 0)], grid[min(i + 1, grid.size - 1)]
    for _ in range(8):
        fine = np.linspace(low, high, 11)
        values = task.values(fine[:, None])
        k = int(values.argmax())
        if values[k] > value:
            best, value = fine[k], float(values[k])
        low, high = fine[max(k - 1, 0)], fine[min(k + 1, 10)]
    return np.array([best]), value, Status.CONVERGED
