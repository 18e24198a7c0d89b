"""Tool 2: the worst case of a functional within a budget.

CFU is not concave in the correlation: close to P = I it is a convex quadratic, whose maxima over a convex set lie at
its extreme points, many of them. So the search is global first: sign patterns, a scan of the whole set and earlier
solutions are compared, and an ascent with exact gradients goes on from the best of them, until a few ascents agree. One
pair is searched along its whole interval. Where there is no gradient, as of trees or of shares of people, a pattern
search takes the ascent's place.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.sensitivity.climb import climb
from fairstress.sensitivity.evaluate import evaluate
from fairstress.sensitivity.line import line, peaks
from fairstress.sensitivity.pattern import FIRST, pattern_search
from fairstress.sensitivity.task import End, Found, Search

ALL_SIGNS = 7  # up to this many pairs every sign pattern is tried
ALL_MIRRORS = 6  # up to this many variables every mirror image of a solution is tried
ROUNDS = 4  # of ascents from mirror images
ENOUGH = 3  # ascents that agree on the best value end the search
FINAL = 4  # ends on the sample that may be climbed again with all rows
MORE = 4  # times that the best ascent may go on when it runs out of steps
ROUGH = 0.03  # least step of a pattern search that only tells the hills apart
NEAR = 0.05  # of the best value: how far below it such an end is still worth a climb


def search(task: Search, inherited: Sequence[Array], rng: np.random.Generator) -> Found:
    """Find the largest ``sign * functional`` within the budget."""
    budget = task.budget
    coarse = task
    if budget.is_point:
        points = np.array([budget.project(budget.centre())])
        on_scan = task.values(points)
        ends = [(points[0], float(on_scan[0]), Status.CONVERGED)]
    elif len(budget.pairs) == 1:
        points, on_scan = line(task)
        ends = peaks(task, points, on_scan)
    else:
        # fits always see all rows; of many rows a sample tells the hills apart, and the highest are climbed with all
        coarse = task.on_sample(rng) if task.has_slopes else replace(task.on_sample(rng), precision=ROUGH)
        points = budget.scan(task.scan, rng)
        on_scan = coarse.values(points)
        ends = _from_starts(coarse, points, on_scan, inherited, rng)
    n_starts, n_agreeing = len(ends), _agreeing(ends)
    best, scan_value = points[int(on_scan.argmax())], float(on_scan.max())
    if coarse is not task:
        ends = _with_all_rows(task, ends, inherited)
        scan_value = float(task.values(best[None])[0])
    p, _, status = _climbed_on(task, max(ends, key=lambda end: end[1]))
    evaluation = evaluate(task.claim, budget.matrix(p), task.functional)
    if evaluation.fit.status is not Status.CONVERGED:
        status = evaluation.fit.status
    elif status is Status.CONVERGED and not budget.is_point:
        status = task.success
    return Found(p, evaluation, status, n_starts, n_agreeing, task.sign * scan_value, best)


def _with_all_rows(task: Search, ends: Sequence[End], inherited: Sequence[Array]) -> list[End]:
    """Climb the highest ends that differ, and smaller budgets' solutions, again, as long as they are near the best."""
    points, values = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    chosen = np.array([*points[_apart(task, points, values, FINAL)], *(task.budget.project(p) for p in inherited)])
    values = task.values(chosen)
    found: list[End] = []
    for i in np.argsort(-values, kind="stable")[: FINAL if task.has_slopes else FINAL // 2]:
        best = max((end[1] for end in found), default=-np.inf)
        if found and values[i] < best - NEAR * abs(best):
            break
        found.append(_ascend(task, chosen[i]))
    return found


def _climbed_on(task: Search, end: End) -> End:
    """Go on from an ascent that ran out of steps, along a flat ridge for example."""
    for _ in range(MORE):
        if end[2] is not Status.SEARCH_STEPS:
            break
        end = _ascend(task, end[0])
    return end


def _ascend(task: Search, p: Array) -> End:
    """One ascent, with derivatives where there are any."""
    if task.has_slopes:
        return climb(task, p)
    return pattern_search(task, p, FIRST if task.precision >= ROUGH else 2 * ROUGH)


def _agreeing(ends: Sequence[End]) -> int:
    """How many searches ended within 0.1 % of the best."""
    best = max(end[1] for end in ends)
    return sum(end[1] >= best - 1e-3 * abs(best) for end in ends)


# ---------------------------------------------------------------- many pairs


def _from_starts(
    task: Search, scanned: Array, on_scan: Array, inherited: Sequence[Array], rng: np.random.Generator
) -> list[End]:
    """Ascend from the best of sign patterns, scan and earlier solutions, then from mirror images of the best ends."""
    earlier = [task.budget.project(p * s) for p in inherited for s in (1.0, 10.0)]  # as it is, and out to the boundary
    signs = _signs(task, rng)
    centre = task.budget.project(task.budget.centre())  # Model A, where a lower limit often is
    own = np.array([*earlier, *task.budget.extremes(signs), centre])
    points, values = np.concatenate([own, scanned]), np.concatenate([task.values(own), on_scan])
    if values.max() <= task.negligible:
        return [(points[int(values.argmax())], float(values.max()), Status.CONVERGED)]
    corners = [len(earlier) + i for i in _best_of_each_class(task, signs, values[len(earlier) : len(own) - 1])]
    order = [*dict.fromkeys([*range(0, len(earlier), 2), *_apart(task, points, values, task.starts), *corners])]
    climbed = [points[i] for i in order]
    ends = [_ascend(task, p) for p in climbed]
    idle = 0
    for _ in range(ROUNDS):
        before = max(end[1] for end in ends)
        best = sorted(ends, key=lambda end: -end[1])[: 3 if task.budget.size <= ALL_MIRRORS else 1]
        points = _mirror_images(task, best)
        known = np.array([*(end[0] for end in ends), *climbed])
        order = _apart(task, points, task.values(points), max(2, task.starts // 2), known)
        climbed += [points[i] for i in order]
        ends += [_ascend(task, points[i]) for i in order]
        idle = 0 if max(end[1] for end in ends) > before + 1e-3 * abs(before) else idle + 1
        if idle and (_agreeing(ends) >= ENOUGH or idle == 2):
            break
    return ends


def _best_of_each_class(task: Search, signs: Array, values: Array) -> list[int]:
    """The best sign pattern of each class that mirror images cannot leave, as many as there are starts.

    ``D P D`` keeps the product of signs around each cycle of pairs. With the signs along a spanning forest turned to +,
    what is left of the others tells the class.
    """
    forest, joined = [], {j: {j} for j in range(task.budget.size)}
    for i, (j, k) in enumerate(task.budget.pairs):
        if joined[j] is not joined[k]:
            forest.append(i)
            joined[j] |= joined[k]
            for other in joined[k]:
                joined[other] = joined[j]
    best: dict[tuple[float, ...], int] = {}
    for i in np.argsort(-values, kind="stable"):
        best.setdefault(_class(task, signs[i], forest), int(i))
    return list(best.values())[: task.starts]


def _class(task: Search, signs: Array, forest: Sequence[int]) -> tuple[float, ...]:
    """Signs of all pairs after variables are turned such that those of the forest are +."""
    turn = np.zeros(task.budget.size)  # 0 where not yet known
    for root in range(task.budget.size):
        turn[root] = turn[root] or 1.0
        for _ in forest:  # the forest's edges may come in any order
            for i in forest:
                j, k = task.budget.pairs[i]
                turn[k] = turn[k] or turn[j] * signs[i]
                turn[j] = turn[j] or turn[k] * signs[i]
    j, k = np.transpose(task.budget.pairs)
    return tuple((signs * turn[j] * turn[k]).tolist())


def _mirror_images(task: Search, ends: Sequence[End]) -> Array:
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
    if not task.has_slopes:
        return rng.choice([-1.0, 1.0], (8 * task.starts, q))
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
