"""Ascents of many points side by side that end in faces of a budget's set: some coordinates are at limits, others not.

Newton's method in the coordinates that are free and, where uphill leads through the eigenvalue floor, along it. There
lambda_min is kept, a smooth function of the point as long as it is the only eigenvalue so small: with the multiplier
``nu = -g'n / n'n`` of its derivative n, ``g + nu n`` is the slope along the floor. Curvatures are differences of such
slopes between points of the floor: ``H + nu lambda''`` itself would be a small difference of large numbers where CFU
bends sharply towards the floor. Exact gradients are asked for side by side, as the points that ascents try are: many at
once cost little more than one. Off the floor what a move shows of the curvature corrects it by the symmetric update of
rank one, so that it is made once; along the floor it serves as long as short moves gain what it promises. An ascent
that does not settle on a maximum is left to `climb`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairstress.errors import Status
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit
from fairstress.search.members import Members
from fairstress.search.problem import End, Problem
from fairstress.search.sets import SLACK, CorrelationSet

Mask = NDArray[np.bool_]

MOVES = 16
APART = 1e-3  # of the box's width: how far apart the gradients are whose difference gives a curvature
OF_EIGENVALUE = 2e-3  # the same of the smallest eigenvalue, near which CFU bends the more the smaller it is
REACH = 0.25  # the longest move of a correlation or loading at first
LONGER, SHORTER = 2, 4  # times as long, or as short: the next move after one that led uphill, or downhill
SHORTEST = 1e-10  # a move that is not worth while
FLAT = 0.1  # of the precision that is asked for: a gain so small that the move which promises it is the last
STILL = 0.02  # of the box's width: a move along the floor after which the curvature may be what it was
HALF = (0.45, 0.55)  # of what the slope promised: what such a move has gained if the curvature was right
ALIKE = 0.2  # how far directions may be turned for it to stay so
NEAR = 0.05  # of the box's width: an ascent that comes as near to a higher one goes on as that one
EVEN = 1e-12  # of the largest curvature or slope: a curvature below this is none
FAINT = 1e-8  # of the largest that it can be: a part of what a step shows that corrects nothing
GAIN = 1e-4  # of what a slope promises: the least that a move must bring
AT_FLOOR = 1e-8  # above the floor: an eigenvalue that lies there
SMOOTH = 1e-3  # how far the two smallest eigenvalues must be apart for the floor to be smooth
RETURNS = 12  # steps back to the floor


@dataclass(slots=True, eq=False)
class _Ascent:
    """Where one ascent is."""

    p: Array  # (q,)
    value: float
    slope: Array  # (q,)
    fit: Fit  # Model B there, from which fits nearby set out
    bend: tuple[Array, Array] | None = None  # directions (q, k), and the curvature (k, k) along them
    on_floor: bool = False  # where that was seen: CFU bends the more the nearer the floor is
    is_new: bool = False  # whether that curvature was made here, and not corrected on the way
    reach: float = REACH  # the longest next move
    going: bool = True
    ended: bool = False  # whether it has reached a maximum
    joined: int | None = None  # the higher ascent that it came near to, and goes on as


def to_faces(problem: Problem, starts: Array, known: Sequence[End] = ()) -> list[tuple[Array, End | None]]:
    """Where each of several points (g, q) gets to, and the end of its ascent if it has ended there.

    One that comes near a known end which is higher ends there.
    """
    values, slopes, fits = problem.values_and_gradients(starts)
    own = [_Ascent(*one) for one in zip(starts, values.tolist(), slopes, fits, strict=True)]
    all_ = own + [_at_end(problem, p, value) for p, value, status in known if status is Status.CONVERGED]
    for _ in range(MOVES):
        moves = _moves(problem, [one for one in all_ if one.going])
        if not moves:
            break
        _make(problem, moves)
        _join(problem, all_)
    ended = [one for one in own if one.ended]
    if ended:  # as they are without where an ascent came from
        for one, value in zip(ended, problem.values(np.array([one.p for one in ended])).tolist(), strict=True):
            one.value = value
    return [_outcome(_leader(all_, one)) for one in own]


def _at_end(problem: Problem, p: Array, value: float) -> _Ascent:
    """An ascent that has ended before."""
    return _Ascent(p, value, np.zeros_like(p), problem.claim.model_a, going=False, ended=True)


def _outcome(one: _Ascent) -> tuple[Array, End | None]:
    return one.p, (one.p, one.value, Status.CONVERGED) if one.ended else None


def _leader(all_: Sequence[_Ascent], one: _Ascent) -> _Ascent:
    """The ascent as which another goes on in the end."""
    while one.joined is not None:
        one = all_[one.joined]
    return one


def _join(problem: Problem, all_: Sequence[_Ascent]) -> None:
    """Let ascents that have come near a higher one go on as that one."""
    near = NEAR * float((problem.members.high - problem.members.low).max())
    points, values = np.array([one.p for one in all_]), np.array([one.value for one in all_])
    for i in np.argsort(values, kind="stable"):  # the lowest first: the one that it joins may join another
        alive = np.array([one.going or one.ended for one in all_])
        apart = np.abs(points - points[i]).max(axis=1)
        above = np.flatnonzero(alive & (values > values[i]) & (apart < near))
        if all_[i].going and above.size:
            all_[i].joined, all_[i].going = int(above[values[above].argmax()]), False


# ---------------------------------------------------------------- where an ascent can go


@dataclass(frozen=True, slots=True, eq=False)
class _Face:
    """What limits an ascent where it is: directions along which it can go, and the slope that counts there."""

    limit: Array  # (q,) 1 or -1 at a limit of the box, 0 elsewhere
    directions: Array  # (q, k) orthonormal
    slope: Array  # (q,) that of the value, along the floor where it holds
    free: Mask  # (q,) coordinates that are not held at a limit
    on_floor: bool  # whether the floor holds
    aside: float  # how far to look aside for curvatures


def _face(members: Members, p: Array, slope: Array) -> _Face | None:
    """What limits an ascent at a point; None where the floor is not smooth."""
    limit = np.where(p == members.high, 1.0, np.where(p == members.low, -1.0, 0.0))
    inner = members.high > members.low
    free, width = (limit * slope <= 0) & inner, float((members.high - members.low).max())
    plain = _Face(limit, np.eye(p.size)[:, free], slope, free, False, APART * width)
    if not isinstance(members, CorrelationSet):  # whose box is all that limits it
        return plain
    values, vectors = np.linalg.eigh(members.matrix(p))
    plain = replace(plain, aside=min(APART * width, OF_EIGENVALUE * float(values[0])))
    if values[0] > members.floor + AT_FLOOR:
        return plain
    if values[1] - values[0] < SMOOTH:
        return None
    normal = _normal(members, vectors[:, 0])
    free, nu = _held(slope, normal, limit, inner)
    if nu <= 0:  # uphill leads away from it
        return plain
    along = _across(normal[free])
    directions = np.zeros((p.size, along.shape[1]))
    directions[free] = along
    return _Face(limit, directions, slope + nu * normal, free, True, APART * width)


def _normal(members: CorrelationSet, v: Array) -> Array:
    """(q,) derivative of the smallest eigenvalue, whose eigenvector is v."""
    return np.asarray(2 * members.point(np.outer(v, v)))


def _held(slope: Array, normal: Array, limit: Array, inner: Mask) -> tuple[Mask, float]:
    """Coordinates that are free on the floor, and its multiplier; what the slope along it draws inwards is let go."""
    free = (limit == 0) & inner
    while True:  # each turn frees some coordinate, or is the last
        size = float(normal[free] @ normal[free])
        nu = -float(slope[free] @ normal[free]) / size if size > 0 else 0.0
        drawn = (limit * (slope + nu * normal) < 0) & inner & ~free
        if not drawn.any():
            return free, nu
        free = free | drawn


def _across(n: Array) -> Array:
    """(k, k - 1) orthonormal directions at right angles to n (k,); all of them where it is 0."""
    size = float(np.linalg.norm(n))
    return np.eye(n.size) if size == 0 else np.linalg.qr(n[:, None] / size, mode="complete")[0][:, 1:]


# ---------------------------------------------------------------- moves


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """Where an ascent tries to get to."""

    ascent: _Ascent
    target: Array  # (q,)
    promised: float  # what the slope promises


def _moves(problem: Problem, going: Sequence[_Ascent]) -> list[_Move]:
    """The next move of each ascent; one from which there is nothing to gain has ended, one without a way is left."""
    faces = [_face(problem.members, one.p, one.slope) for one in going]
    held = [(one, face) for one, face in zip(going, faces, strict=True) if face is not None]
    for one in going:
        one.going = False
    moves = []
    for (one, face), bend in zip(held, _curvatures(problem, held), strict=True):
        step, gain, is_top = _step(face, bend)
        one.ended = is_top and gain <= FLAT * problem.precision * abs(one.value)
        length = float(np.abs(step).max(initial=0.0))
        target = None if length == 0 else _target(problem.members, one, face, step)
        if target is not None and one.ended:
            one.p = target[0]
        elif target is not None:
            one.going = True
            moves.append(_Move(one, *target))
    return moves


def _curvatures(problem: Problem, held: Sequence[tuple[_Ascent, _Face]]) -> list[Array]:
    """(k, k) second derivatives along the directions in which each ascent can go."""
    for one, face in held:
        one.bend, one.on_floor = _known(one, face), face.on_floor
    new = [(one, face) for one, face in held if one.bend is None]
    beside = [_aside(problem.members, one.p, face, d) for one, face in new for d in face.directions.T]
    starts = [one.fit for one, face in new for _ in face.directions.T]
    slopes = problem.values_and_gradients(np.array(beside), starts)[1] if beside else ()
    pairs = iter(zip(beside, slopes, strict=True))
    for one, face in new:
        own = [_slope_along(problem.members, face, *next(pairs)) - face.slope for _ in face.directions.T]
        H = np.array(own).reshape(-1, one.p.size) @ face.directions / face.aside
        one.bend, one.is_new = (face.directions, (H + H.T) / 2), True
    return [one.bend[1] for one, _ in held if one.bend is not None]


def _known(one: _Ascent, face: _Face) -> tuple[Array, Array] | None:
    """The curvature along the directions of a face as far as it is known: along the floor these turn from move to move.

    None where the last face was another.
    """
    if one.bend is None or one.on_floor != face.on_floor or one.bend[0].shape != face.directions.shape:
        return None
    turn = one.bend[0].T @ face.directions
    most = ALIKE if face.on_floor else 0.0
    if np.abs(face.directions - one.bend[0] @ turn).max(initial=0.0) > most:
        return None
    return face.directions, turn.T @ one.bend[1] @ turn


def _aside(members: Members, p: Array, face: _Face, d: Array) -> Array:
    """A point beside another in a direction, at the floor where that holds."""
    beside = p + face.aside * d
    raised = _raised(members, beside, face.free) if face.on_floor and isinstance(members, CorrelationSet) else None
    return beside if raised is None else raised


def _slope_along(members: Members, face: _Face, p: Array, slope: Array) -> Array:
    """(q,) the slope that counts at a point of a face."""
    if not (face.on_floor and isinstance(members, CorrelationSet)):
        return slope
    normal, free = _normal(members, np.linalg.eigh(members.matrix(p))[1][:, 0]), face.free
    return np.asarray(slope - float(slope[free] @ normal[free]) / float(normal[free] @ normal[free]) * normal)


def _step(face: _Face, bend: Array) -> tuple[Array, float, bool]:
    """Uphill along every direction of curvature, as far as its size says; a step of Newton where all bend downwards.

    With the gain that it promises, and whether all do. What would leave the box at once stays at its limit.
    """
    B, along = face.directions, face.directions.T @ face.slope
    sizes, axes = np.linalg.eigh(bend)
    least = EVEN * max(np.abs(sizes).max(initial=0.0), np.abs(along).max(initial=0.0))
    scale = np.maximum(np.abs(sizes), max(least, 1e-300))
    turned = axes.T @ along
    step = B @ (axes @ (turned / scale))
    leaves = (face.limit * step > SLACK * np.abs(step).max(initial=0.0)) & (face.limit != 0)
    if leaves.any():
        kept = _kernel(B[leaves])
        return _step(replace(face, directions=B @ kept), kept.T @ bend @ kept)
    return step, float((turned**2 / scale).sum() / 2), bool((sizes < 0).all())


def _kernel(A: Array) -> Array:
    """(k, l) orthonormal directions that A (j, k) takes to 0."""
    _, sizes, V = np.linalg.svd(A, full_matrices=True)
    return np.asarray(V[int((sizes > 1e-12 * max(sizes.max(initial=0.0), 1e-300)).sum()) :].T)


def _target(members: Members, one: _Ascent, face: _Face, step: Array) -> tuple[Array, float] | None:
    """Where a step ends, and the gain that the slope promises: at the first limit, or as far as it may reach."""
    ahead, moving = np.where(step > 0, members.high, members.low), np.abs(step) > SHORTEST * np.abs(step).max()
    shares = np.where(moving, (ahead - one.p) / np.where(moving, step, 1.0), np.inf)
    share = min(1.0, max(0.0, float(shares.min())), one.reach / float(np.abs(step).max()))
    if isinstance(members, CorrelationSet) and not face.on_floor:
        share = min(share, _to_floor(members, one.p, step))
    if share * np.abs(step).max() <= SHORTEST:
        return None
    target = np.where(shares <= share, ahead, np.clip(one.p + share * step, members.low, members.high))
    inside = _returned(members, target) if isinstance(members, CorrelationSet) else target
    if inside is None:
        one.reach = share * float(np.abs(step).max()) / SHORTER
        return one.p, np.inf  # which gains too little
    return inside, share * float(face.slope @ step)


def _to_floor(members: CorrelationSet, p: Array, step: Array) -> float:
    """How much of a step leads to the floor: ``P - floor I + t D`` is definite up to an eigenvalue's reciprocal."""
    lowest = members.floor - AT_FLOOR  # the point itself may lie at the floor
    inverse = np.linalg.inv(np.linalg.cholesky(members.matrix(p) - lowest * np.eye(members.size)))
    D = members.matrix(step) - np.eye(members.size)
    least = float(np.linalg.eigvalsh(inverse @ D @ inverse.T)[0])
    return -1 / least if least < 0 else np.inf


def _returned(members: CorrelationSet, p: Array) -> Array | None:
    """A point drawn back above the floor along its normal, limits kept; None where that leads out of the box."""
    raised = _raised(members, p, (p != members.high) & (p != members.low))
    return raised if raised is not None and ((raised >= members.low) & (raised <= members.high)).all() else None


def _raised(members: CorrelationSet, p: Array, free: Mask) -> Array | None:
    """The same by coordinates that are free, whatever the box; None where they do not lead there."""
    for _ in range(RETURNS):
        values, vectors = np.linalg.eigh(members.matrix(p))
        short = members.floor + 2 * SLACK - float(values[0])
        if short <= SLACK:
            return p
        way = free * _normal(members, vectors[:, 0])
        size = float(way @ way)
        if size == 0:
            return None
        p = p + (short / size) * way
    return None


def _corrected(bend: tuple[Array, Array] | None, step: Array, change: Array) -> tuple[Array, Array] | None:
    """The curvature nearest in rank that gives the change of slopes along a step; None where the step leads aside."""
    if bend is None:
        return None
    B, H = bend
    along, bent = B.T @ step, B.T @ change
    if np.abs(step - B @ along).max() > FAINT * np.abs(step).max():
        return None
    missed = bent - H @ along
    size = float(missed @ along)
    if abs(size) <= FAINT * float(np.linalg.norm(missed) * np.linalg.norm(along)):
        return bend
    return B, H + np.outer(missed, missed) / size


def _make(problem: Problem, moves: Sequence[_Move]) -> None:
    """Move all ascents; one that would not gain by it stays, and moves less far next."""
    targets, starts = np.array([move.target for move in moves]), [move.ascent.fit for move in moves]
    values, slopes, fits = problem.values_and_gradients(targets, starts)
    width = float((problem.members.high - problem.members.low).max())
    for move, value, slope, fit in zip(moves, values.tolist(), slopes, fits, strict=True):
        one, length = move.ascent, float(np.abs(move.target - move.ascent.p).max())
        if value < one.value + GAIN * move.promised:
            one.reach, one.bend = length / SHORTER if length else one.reach, one.bend if one.is_new else None
            one.going = one.reach > SHORTEST
            continue
        one.reach, one.is_new = max(one.reach, LONGER * length), False
        if not one.on_floor:
            one.bend = _corrected(one.bend, move.target - one.p, slope - one.slope)
        elif length > STILL * width or not HALF[0] <= (value - one.value) / move.promised <= HALF[1]:
            one.bend = None
        one.p, one.value, one.slope, one.fit = move.target, value, slope, fit
