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
from fairstress.parallel import in_parallel_about, n_cores
from fairstress.search.causes import CauseSet
from fairstress.search.corners import to_corners
from fairstress.search.faces import to_faces
from fairstress.search.interval import line, peaks
from fairstress.search.pattern import FIRST, pattern_search
from fairstress.search.problem import SAMPLE, End, Problem, Solution
from fairstress.search.surface import climb_surface
from fairstress.search.uphill import uphill, uphill_by_sample

ALL_SIGNS = 7  # up to this many pairs every sign pattern is tried
ALL_MIRRORS = 6  # up to this many variables every mirror image of a solution is tried
ROUNDS = 4  # of ascents from mirror images
ENOUGH = 3  # ascents that agree on the best value end the search
FEW = 2048  # people in a sample that tells the hills of many pairs apart
LARGER = 8  # times the people of a sample whose value was too far off, for another look around
OFF = 0.2  # of the value: how far the sample's may be off, where heavy tails leave it without those who matter
TRIED = 4  # times as many starts where there are so many
HASTE = 1e-2  # gain of a step, relative to where it is, below which their first ascents end
ASKED = 16  # ends on the sample whose values with all rows are asked for
FINAL = 4  # of these that may be climbed again with all rows
MORE = 4  # times that the best ascent may go on when it runs out of steps
ROUGH = 0.03  # least step of a pattern search that only tells the hills apart
MET = 32  # points that are remembered beside the best
HILLS = 2  # highest points along a surface that are climbed
DIGITS = 12  # of correlations; those that agree so far are the same
SAME = 10.0**-DIGITS
NEAR = 0.05  # of the best value: how far below it such an end is still worth a climb


def search(problem: Problem, inherited: Sequence[Array], rng: np.random.Generator) -> Solution:
    """Find the largest ``sign * functional`` within the set.

    Where the sample on which it looked around turns out to be far off, it looks again on a larger one.
    """
    people = SAMPLE if problem.members.low.size <= ALL_SIGNS else FEW
    found = _searched(problem, inherited, rng, people)
    if found.n_sampled == 0 or abs(found.sample_difference or 0.0) <= OFF:
        return found
    fresh = replace(problem, along_line={})  # without values that the first sample gave
    again = _searched(fresh, [*inherited, found.p], rng, LARGER * people)
    return max(again, found, key=lambda one: problem.sign * one.evaluation.value)


def _searched(problem: Problem, inherited: Sequence[Array], rng: np.random.Generator, people: int) -> Solution:
    """The same on a sample of some size, where there are many rows."""
    members = problem.members
    if problem.takes_long and not members.is_point:
        return _along_surface(problem, inherited, rng)
    coarse = problem
    if members.is_point:
        points = np.array([members.project(members.centre())])
        on_scan = problem.values(points)
        ends = [(points[0], float(on_scan[0]), Status.CONVERGED)]
    elif members.low.size == 1:
        coarse = problem.on_sample(rng, people)
        points, on_scan = line(coarse)
        ends = peaks(problem, points, on_scan, on_sample=coarse is not problem)
    else:
        # of many rows a sample tells the hills apart, and the highest are climbed with all
        coarse = problem.on_sample(rng, people)
        coarse = coarse if problem.has_slopes else replace(coarse, precision=ROUGH)
        points = members.scan(problem.scan, rng)
        on_scan = coarse.values(points)
        ends = _from_starts(coarse, points, on_scan, inherited, rng)
    n_starts, n_agreeing = len(ends), _agreeing(ends)
    best, scan_value = points[int(on_scan.argmax())], float(on_scan.max())
    met, n_ends = _met(ends, points, on_scan), len(ends)
    if coarse is not problem:
        ends = ends if members.low.size == 1 else _with_all_rows(problem, coarse, ends, inherited)
        scan_value = float(problem.values(best[None])[0])
    end = _climbed_on(problem, max(ends, key=lambda end: end[1]))
    found = replace(_solution(problem, end, n_starts, n_agreeing, (best, scan_value)), met=met, n_ends=n_ends)
    return _with_difference(found, problem, coarse) if coarse.n_sampled else found


def _with_difference(found: Solution, problem: Problem, coarse: Problem) -> Solution:
    """Say how far off the sample is where the search ended, since it decided which hills were climbed."""
    value, on_sample = found.evaluation.value, problem.sign * float(coarse.values(found.p[None])[0])
    relative = (on_sample - value) / abs(value) if abs(value) > max(problem.negligible, 0.0) else None
    return replace(found, n_sampled=coarse.n_sampled, sample_difference=relative)


def follow(problem: Problem, inherited: Sequence[Array]) -> Solution:
    """Climb from neighbouring budgets' solutions alone: as high as a search, unless another hill outgrows theirs."""
    starts = _distinct(problem, inherited)
    values = problem.values(starts)
    ends = _ascend_all(problem, starts[_apart(problem, starts, values, len(starts))])
    start = int(values.argmax())
    end = _climbed_on(problem, max(ends, key=lambda end: end[1]))
    found = _solution(problem, end, len(ends), _agreeing(ends), (starts[start], float(values[start])))
    return replace(found, met=_met(ends, starts, values), n_ends=len(ends))


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
        ascended = _ascend(problem, points[[i for i in hills if _near(values, i)]])
    best = _climbed_on(problem, max([*ends, *ascended], key=lambda end: end[1]))
    agreeing = _agreeing([best, *ascended]) - 1
    found = _solution(problem, best, len(ascended), agreeing, (points[scanned], float(values[scanned])))
    met = _met([best, *ascended], points, values)
    return replace(found, n_points=len(problem.known.points), met=met, n_ends=1 + len(ascended))


def _near(values: Array, i: int, share: float = NEAR) -> bool:
    """Whether a value is so near the best that an ascent may still make it the best."""
    return bool(values[i] >= values.max() - share * abs(values.max()))


def _with_all_rows(problem: Problem, coarse: Problem, ends: Sequence[End], inherited: Sequence[Array]) -> list[End]:
    """Climb the highest ends that differ, and smaller budgets' solutions, again, as long as they are near the best."""
    points, on_sample = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    apart = _apart(problem, points, on_sample, ASKED if problem.has_slopes else FINAL)
    chosen = np.array([*points[apart], *(problem.members.project(p) for p in inherited)])
    values = problem.values(chosen)
    order = np.argsort(-values, kind="stable")[: FINAL if problem.has_slopes else FINAL // 2]
    off = float(np.abs(on_sample[apart] - values[: len(apart)]).max() / max(np.abs(values).max(), 1e-300))
    near = chosen[[i for i in order if _near(values, int(i), max(NEAR, off))]]  # a rough sample ends on rough ends
    if _goes_side_by_side(problem) and problem.members.low.size <= ALL_SIGNS:
        return _ascend_all(problem, near)
    if problem.has_slopes:
        return _counted(problem, uphill_by_sample(problem, coarse, near))
    climbed: list[End] = []
    for i in order:
        best = max((end[1] for end in climbed), default=-np.inf)
        if climbed and values[i] < best - NEAR * abs(best):
            break
        climbed += _ascend(problem, chosen[i][None])
    return climbed


def _climbed_on(problem: Problem, end: End) -> End:
    """Go on from an ascent that ran out of steps, along a flat ridge for example."""
    for _ in range(MORE):
        if end[2] is not Status.SEARCH_STEPS:
            break
        (end,) = _ascend(problem, end[0][None])
    return end


def _ascend(problem: Problem, points: Array) -> list[End]:
    """An ascent from each of several points (g, q), with derivatives where there are any."""
    if problem.has_slopes:
        return _counted(problem, _uphill_in_processes(problem, points))
    least = FIRST if problem.precision >= ROUGH else 2 * ROUGH
    return _counted(problem, [pattern_search(problem, p, least) for p in points])


def _uphill_in_processes(problem: Problem, points: Array) -> list[End]:
    """The same ascents; of many pairs, which take long, in as many processes as the search may use."""
    processes = min(n_cores(problem.n_jobs), len(points)) if problem.members.low.size > ALL_SIGNS else 1
    if processes < 2:
        return uphill(problem, points)
    parts = np.array_split(points, processes)
    return [*itertools.chain(*in_parallel_about(uphill, problem.to_send(), parts, processes))]


def _counted(problem: Problem, ends: list[End]) -> list[End]:
    """Tell whoever watches that some ascents have ended."""
    for _ in ends:
        if problem.ascended:
            problem.ascended()
    return ends


def _ascend_all(problem: Problem, points: Array, known: Sequence[End] = ()) -> list[End]:
    """An ascent from each of several points; with derivatives, those that end in corners or faces before the others.

    Those that come near a known end that is higher end there.
    """
    if not (_goes_side_by_side(problem) and len(points)):
        return _ascend(problem, points)
    ways = to_corners(problem, points)
    left = [i for i, (_, end) in enumerate(ways) if end is None]
    if left and problem.members.low.size <= ALL_SIGNS:
        for i, way in zip(left, to_faces(problem, np.array([ways[i][0] for i in left]), known), strict=True):
            ways[i] = way
    going = {p.tobytes(): p for p, end in ways if end is None}  # some go on from the same point
    climbed = dict(zip(going, _ascend(problem, np.array(list(going.values()))), strict=True))
    _counted(problem, [end for _, end in ways if end])
    return [end or climbed[p.tobytes()] for p, end in ways]


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
    many = problem.members.low.size > ALL_SIGNS
    highest = _apart(problem, points, values, problem.starts * (TRIED if many else 1))
    order = [*dict.fromkeys([*range(0, len(earlier), 2), *highest, *corners])]
    climbed = [points[i] for i in order]
    ends = (_ascend_best if many else _ascend_all)(problem, points[order])
    idle = 0
    for _ in range(ROUNDS):
        before = max(end[1] for end in ends)
        best = sorted(ends, key=lambda end: -end[1])[: 3 if problem.members.size <= ALL_MIRRORS else 1]
        points = _mirror_images(problem, best)
        known = np.array([*(end[0] for end in ends), *climbed])
        order = _apart(problem, points, problem.values(points), max(2, problem.starts // 2), known)
        climbed += [points[i] for i in order]
        ends += _ascend_all(problem, points[order], ends)
        idle = 0 if max(end[1] for end in ends) > before + 1e-3 * abs(before) else idle + 1
        if idle and (_agreeing(ends) >= ENOUGH or idle == 2):
            break
    return ends


def _ascend_best(problem: Problem, points: Array) -> list[End]:
    """Roughly ascend from each of many points, and to the end from where the highest of them have got to.

    Of many pairs what a value is at a start tells nothing of how high its hill is.
    """
    hasty = replace(problem, precision=max(problem.precision, HASTE), ascended=None)
    rough = _ascend_all(hasty, points)
    ends, values = np.array([end[0] for end in rough]), np.array([end[1] for end in rough])
    return _ascend_all(problem, ends[_apart(problem, ends, values, problem.starts)])


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
    g, *beside = problem.values_and_gradients(centre + h * np.vstack([np.zeros(q), np.eye(q)]))[1]
    H = (np.array(beside) - g) / h
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
