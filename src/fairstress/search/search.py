"""Tool 2: the worst case of a functional within a budget.

CFU is not concave in the correlation: close to P = I it is a convex quadratic, whose maxima over a convex set lie at
its extreme points, many of them. So the search is global first: sign patterns, a scan of the whole set and earlier
solutions are compared, and an ascent with exact gradients goes on from the best of them, until a few ascents agree. One
pair is searched along its whole interval. Where there is no gradient, as of trees or of shares of people, a pattern
search takes the ascent's place. Where values take long, since people have several worlds or a model of the user's is
asked, a surface through known values says where to look.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairstress.claim.evaluate import evaluate
from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.search.box import climb_box
from fairstress.search.causes import CauseSet
from fairstress.search.corners import to_corners
from fairstress.search.faces import to_faces
from fairstress.search.interval import line, peaks
from fairstress.search.pattern import FIRST, pattern_search
from fairstress.search.problem import End, Problem, Solution
from fairstress.search.sqp import climb
from fairstress.search.surface import climb_surface

ALL_SIGNS = 7  # up to this many pairs every sign pattern is tried
ALL_MIRRORS = 6  # up to this many variables every mirror image of a solution is tried
ROUNDS = 4  # of ascents from mirror images
ENOUGH = 3  # ascents that agree on the best value end the search
FINAL = 4  # ends on the sample that may be climbed again with all rows
MORE = 4  # times that the best ascent may go on when it runs out of steps
ROUGH = 0.03  # least step of a pattern search that only tells the hills apart
MET = 32  # points that are remembered beside the best
HILLS = 2  # highest points along a surface that are climbed
DIGITS = 12  # of correlations; those that agree so far are the same
SAME = 10.0**-DIGITS
NEAR = 0.05  # of the best value: how far below it such an end is still worth a climb


def search(problem: Problem, inherited: Sequence[Array], rng: np.random.Generator) -> Solution:
    """Find the largest ``sign * functional`` within the set."""
    members = problem.members
    if problem.takes_long and not members.is_point:
        return _along_surface(problem, inherited, rng)
    coarse = problem
    if members.is_point:
        points = np.array([members.project(members.centre())])
        on_scan = problem.values(points)
        ends = [(points[0], float(on_scan[0]), Status.CONVERGED)]
    elif members.low.size == 1:
        coarse = problem.on_sample(rng)
        points, on_scan = line(coarse)
        ends = peaks(problem, points, on_scan, on_sample=coarse is not problem)
    else:
        # of many rows a sample tells the hills apart, and the highest are climbed with all
        coarse = problem.on_sample(rng) if problem.has_slopes else replace(problem.on_sample(rng), precision=ROUGH)
        points = members.scan(problem.scan, rng)
        on_scan = coarse.values(points)
        ends = _from_starts(coarse, points, on_scan, inherited, rng)
    n_starts, n_agreeing = len(ends), _agreeing(ends)
    best, scan_value = points[int(on_scan.argmax())], float(on_scan.max())
    met = _met(ends, points, on_scan)
    if coarse is not problem:
        ends = ends if members.low.size == 1 else _with_all_rows(problem, ends, inherited)
        scan_value = float(problem.values(best[None])[0])
    end = _climbed_on(problem, max(ends, key=lambda end: end[1]))
    return replace(_solution(problem, end, n_starts, n_agreeing, (best, scan_value)), met=met)


def follow(problem: Problem, inherited: Sequence[Array]) -> Solution:
    """Climb from neighbouring budgets' solutions alone: as high as a search, unless another hill outgrows theirs."""
    starts = _distinct(problem, inherited)
    values = problem.values(starts)
    ends = _ascend_all(problem, starts[_apart(problem, starts, values, len(starts))])
    start = int(values.argmax())
    end = _climbed_on(problem, max(ends, key=lambda end: end[1]))
    found = _solution(problem, end, len(ends), _agreeing(ends), (starts[start], float(values[start])))
    return replace(found, met=_met(ends, starts, values))


def _distinct(problem: Problem, points: Sequence[Array]) -> Array:
    """(k, q) the nearest members to some points, each once; what is at a limit but for rounding is there."""
    low, high = problem.members.low, problem.members.high
    inside = np.array([problem.members.project(p) for p in points])
    for limit in (low, high):
        inside = np.where(np.abs(inside - limit) <= SAME, limit, inside)
    return inside[np.sort(np.unique(inside.round(DIGITS), axis=0, return_index=True)[1])]


def _met(ends: Sequence[End], points: Array, values: Array) -> Array:
    """(k, q) ends of ascents, and the best of other points: where a maximum of other data may lie."""
    return np.array([*(end[0] for end in ends), *points[np.argsort(-values, kind="stable")[:MET]]])


def _solution(problem: Problem, end: End, n_starts: int, n_agreeing: int, scanned: tuple[Array, float]) -> Solution:
    """What was found, evaluated once more with all care."""
    p, _, status = end
    evaluation = evaluate(problem.claim, problem.members.matrix(p), problem.functional, carried=True)
    if evaluation.fit.status is not Status.CONVERGED:
        status = evaluation.fit.status
    elif status is Status.CONVERGED and not problem.members.is_point:
        status = problem.success
    scan_value = evaluation.value if np.array_equal(scanned[0], p) else problem.sign * scanned[1]
    return Solution(p, evaluation, status, n_starts, n_agreeing, scan_value, scanned[0])


def _along_surface(problem: Problem, inherited: Sequence[Array], rng: np.random.Generator) -> Solution:
    """Ask where a surface through known values is highest; where that can be done, climb on from there."""
    ascended = climb_surface(problem, inherited, rng)
    points, values, led = problem.known.within(problem.members)
    top, scanned = int(values.argmax()), int(np.where(led > 0, -np.inf, values).argmax())
    ends: list[End] = [(points[top], float(values[top]), Status.CONVERGED)]
    climbs = problem.has_slopes or not problem.claim.is_mixed
    if climbs and values[top] > problem.negligible:
        hills = _apart(problem, points, values, HILLS if problem.has_slopes else 1)
        ascended = [_ascend(problem, points[i]) for i in hills if _near(values, i)]
    best = _climbed_on(problem, max([*ends, *ascended], key=lambda end: end[1]))
    agreeing = _agreeing([best, *ascended]) - 1
    found = _solution(problem, best, len(ascended), agreeing, (points[scanned], float(values[scanned])))
    met = _met([best, *ascended], points, values)
    return replace(found, n_points=len(problem.known.points), met=met)


def _near(values: Array, i: int) -> bool:
    """Whether a value is so near the best that an ascent may still make it the best."""
    return bool(values[i] >= values.max() - NEAR * abs(values.max()))


def _with_all_rows(problem: Problem, ends: Sequence[End], inherited: Sequence[Array]) -> list[End]:
    """Climb the highest ends that differ, and smaller budgets' solutions, again, as long as they are near the best."""
    points, values = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    chosen = np.array(
        [*points[_apart(problem, points, values, FINAL)], *(problem.members.project(p) for p in inherited)]
    )
    values = problem.values(chosen)
    order = np.argsort(-values, kind="stable")[: FINAL if problem.has_slopes else FINAL // 2]
    if _goes_side_by_side(problem) and problem.members.low.size <= ALL_SIGNS:
        return _ascend_all(problem, chosen[[i for i in order if _near(values, int(i))]])
    climbed: list[End] = []
    for i in order:
        best = max((end[1] for end in climbed), default=-np.inf)
        if climbed and values[i] < best - NEAR * abs(best):
            break
        climbed.append(_ascend(problem, chosen[i]))
    return climbed


def _climbed_on(problem: Problem, end: End) -> End:
    """Go on from an ascent that ran out of steps, along a flat ridge for example."""
    for _ in range(MORE):
        if end[2] is not Status.SEARCH_STEPS:
            break
        end = _ascend(problem, end[0])
    return end


def _ascend(problem: Problem, p: Array) -> End:
    """One ascent, with derivatives where there are any."""
    if problem.has_slopes:
        end = climb_box(problem, p) if problem.members.is_box else climb(problem, p)
    else:
        end = pattern_search(problem, p, FIRST if problem.precision >= ROUGH else 2 * ROUGH)
    if problem.ascended:
        problem.ascended()
    return end


def _ascend_all(problem: Problem, points: Array) -> list[End]:
    """An ascent from each of several points; with derivatives, those that end in corners or faces side by side."""
    if not (_goes_side_by_side(problem) and len(points)):
        return [_ascend(problem, p) for p in points]
    ways = to_corners(problem, points)
    left = [i for i, (_, end) in enumerate(ways) if end is None]
    if left and problem.members.low.size <= ALL_SIGNS:
        for i, way in zip(left, to_faces(problem, np.array([ways[i][0] for i in left])), strict=True):
            ways[i] = way
    ends: list[End] = []
    climbed: dict[bytes, End] = {}  # by where it went on from, which some share
    for p, known in ways:
        done = known or climbed.get(p.tobytes())
        if done and problem.ascended:
            problem.ascended()
        climbed[p.tobytes()] = done or _ascend(problem, p)
        ends.append(climbed[p.tobytes()])
    return ends


def _goes_side_by_side(problem: Problem) -> bool:
    """Whether ascents that end in corners or faces can be made side by side."""
    return problem.has_slopes and not problem.claim.is_mixed


def _agreeing(ends: Sequence[End]) -> int:
    """How many searches ended within 0.1 % of the best."""
    best = max(end[1] for end in ends)
    return sum(end[1] >= best - 1e-3 * abs(best) for end in ends)


# ---------------------------------------------------------------- many pairs


def _from_starts(
    problem: Problem, scanned: Array, on_scan: Array, inherited: Sequence[Array], rng: np.random.Generator
) -> list[End]:
    """Ascend from the best of sign patterns, scan and earlier solutions, then from mirror images of the best ends."""
    earlier = [problem.members.project(p * s) for p in inherited for s in (1.0, 10.0)]
    signs = _signs(problem, rng)
    centre = problem.members.project(problem.members.centre())  # Model A, where a lower limit often is
    own = np.array([*earlier, *problem.members.extremes(signs), centre])
    points, values = np.concatenate([own, scanned]), np.concatenate([problem.values(own), on_scan])
    if values.max() <= problem.negligible:
        return [(points[int(values.argmax())], float(values.max()), Status.CONVERGED)]
    corners = [len(earlier) + i for i in _best_of_each_class(problem, signs, values[len(earlier) : len(own) - 1])]
    order = [*dict.fromkeys([*range(0, len(earlier), 2), *_apart(problem, points, values, problem.starts), *corners])]
    climbed = [points[i] for i in order]
    ends = _ascend_all(problem, points[order])
    idle = 0
    for _ in range(ROUNDS):
        before = max(end[1] for end in ends)
        best = sorted(ends, key=lambda end: -end[1])[: 3 if problem.members.size <= ALL_MIRRORS else 1]
        points = _mirror_images(problem, best)
        known = np.array([*(end[0] for end in ends), *climbed])
        order = _apart(problem, points, problem.values(points), max(2, problem.starts // 2), known)
        climbed += [points[i] for i in order]
        ends += _ascend_all(problem, points[order])
        idle = 0 if max(end[1] for end in ends) > before + 1e-3 * abs(before) else idle + 1
        if idle and (_agreeing(ends) >= ENOUGH or idle == 2):
            break
    return ends


def _best_of_each_class(problem: Problem, signs: Array, values: Array) -> list[int]:
    """The best sign pattern of each class that mirror images cannot leave, as many as there are starts."""
    best: dict[tuple[float, ...], int] = {}
    classes = problem.members.classes(signs)
    for i in np.argsort(-values, kind="stable"):
        best.setdefault(classes[i], int(i))
    return list(best.values())[: problem.starts]


def _mirror_images(problem: Problem, ends: Sequence[End]) -> Array:
    """The ends with the signs of some variables' errors turned, ``D P D``: each is a member of a symmetric set too."""
    m = problem.members.size
    turned = range(1, m) if m <= ALL_MIRRORS else (1, 2)  # how many variables at once
    chosen = [c for count in turned for c in itertools.combinations(range(1, m), count)]
    signs = np.ones((len(chosen), m))
    for row, c in zip(signs, chosen, strict=True):
        row[list(c)] = -1.0
    images = [signs[:, :, None] * problem.members.matrix(p) * signs[:, None, :] for p, _, _ in ends]
    return np.array([problem.members.project(p) for p in problem.members.point(np.concatenate(images))])


def _apart(problem: Problem, points: Array, values: Array, count: int, known: Array | None = None) -> list[int]:
    """The best points that are not too close to a better one, nor to one that is known."""
    distance = 0.1 * float((problem.members.high - problem.members.low).max())
    kept = [] if known is None else list(known)
    chosen: list[int] = []
    for i in np.argsort(-values, kind="stable"):
        if all(np.abs(points[i] - other).max() > distance for other in kept):
            chosen.append(int(i))
            kept.append(points[i])
        if len(chosen) == count:
            break
    return chosen


def _signs(problem: Problem, rng: np.random.Generator) -> Array:
    """All sign patterns of few pairs; of many, those that a quadratic model finds best, and random ones."""
    q = problem.members.low.size
    if q <= ALL_SIGNS:
        return np.array(list(itertools.product([-1.0, 1.0], repeat=q)))
    if not problem.has_slopes or isinstance(problem.members, CauseSet):  # whose centre is stationary
        return np.asarray(rng.choice([-1.0, 1.0], (8 * problem.starts, q)), dtype=float)
    g, H = _quadratic(problem)
    random = rng.choice([-1.0, 1.0], (4 * problem.starts, q))
    leading = np.linalg.eigh(H)[1].T[::-1][: problem.starts]
    seeds = np.concatenate([np.where(leading >= 0, 1.0, -1.0), np.where(leading >= 0, -1.0, 1.0), random])
    improved = np.unique([_flip(g, H, problem.members.high.max(), s) for s in seeds], axis=0)
    return np.concatenate([improved, random[: problem.starts]])


def _quadratic(problem: Problem) -> tuple[Array, Array]:
    """Gradient and Hessian (q, q) at the centre, by differences of exact gradients."""
    centre, q = problem.members.project(problem.members.centre()), problem.members.low.size
    h = 0.02 * float((problem.members.high - problem.members.low).max())
    g = problem.value_and_gradient(centre)[1]
    H = np.array([problem.value_and_gradient(centre + h * np.eye(q)[i])[1] - g for i in range(q)]) / h
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
