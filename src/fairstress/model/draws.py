"""Counterfactual worlds where people have very many: errors are drawn within what is known, a world for each draw.

A person's errors that lie in intervals are drawn one after the other, each given the known ones and those before it,
and a draw counts by the probabilities of its intervals (Geweke, Hajivassiliou and Keane). The points are those of a
lattice, turned for each person by what the person's row says: neither chance nor the order of rows plays a part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray, Rows, prime_roots, row_marks
from fairstress.model.counterfactual import FactualBlock, Worlds
from fairstress.model.design import Design
from fairstress.model.fit import Fit
from fairstress.model.latent import Error, Layout, Part, components, errors, patterns, residual

INSIDE = 1e-9  # how far a draw stays from the ends of its interval, where rounding could take it to the next level
TINY = 1e-300


def draw(
    design: Design, fit_A: Fit, fit_B: Fit, factual: FactualBlock, count: int, *, residuals: bool = True
) -> Worlds:
    """So many worlds of each of a block of people with A set to another value under one version of Model B.

    False residuals are left out where nobody looks at them.
    """
    block, layout = factual.block, Layout.of(design)
    known = list(errors(layout, fit_B, block))
    e, probability = drawn_errors(layout, known, fit_B.correlation, _turns(block, len(known)), count)
    owner = np.repeat(np.arange(block.a.size), count)
    x, owner, p = _merged(_moved(layout, fit_B, e, block, owner), probability)
    eps = false_residuals(layout, fit_A, x, owner, factual) if residuals else x
    return Worlds(factual, x[None], eps[None], {}, owner, p)


def false_residuals(layout: Layout, fit_A: Fit, x: Array, owner: IntArray, factual: FactualBlock) -> Array:
    """(l, m) what Model A takes for the errors of counterfactual people with features x."""
    eps = np.array(factual.eps[owner], order="F")
    people = factual.block.where(owner)
    for part in layout.features:
        equation, column = part.equation, part.equation.column
        if equation.moves:
            phi = equation.values(people.a_cf, x, people)
            eps[:, column] = residual(part, fit_A, equation.own(people.a_cf, people), x[:, column], phi)
    return eps


# ---------------------------------------------------------------- abduction


def drawn_errors(
    layout: Layout, known: Sequence[Error], P: Array, turns: Array, count: int
) -> tuple[dict[int, Array], Array]:
    """Errors (r, count) of each variable that moves, known or drawn, and the probability (r, count) of each draw."""
    moving = [v for v, part in enumerate(layout.parts) if part.equation.column >= 0 and part.equation.moves]
    r = known[0].lower.size
    e = {v: np.repeat(known[v].upper[:, None], count, axis=1) for v in moving}
    log_p = np.zeros((r, count))
    for rows, C, D in patterns([one.is_interval for one in known]):
        K = np.linalg.solve(P[np.ix_(C, C)], P[np.ix_(C, D)]).T if C else np.zeros((len(D), 0))
        S = P[np.ix_(D, D)] - K @ P[np.ix_(C, D)]
        wanted = _needed(D, components(S), moving)
        if not wanted:
            continue
        e_C = np.array([known[v].lower[rows] for v in C]).reshape(len(C), rows.size)
        D, L = [D[i] for i in wanted], np.asarray(np.linalg.cholesky(S[np.ix_(wanted, wanted)]), dtype=float)
        ends = [(known[v].lower[rows], known[v].upper[rows]) for v in D]
        y, log_p[rows] = _given_those_before(ends, (K[wanted] @ e_C).T, L, _points(turns[rows][:, D], count))
        for v, own in zip(D, y, strict=True):
            if v in e:
                e[v][rows] = own
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return e, np.asarray(p / p.sum(axis=1, keepdims=True))


def _needed(D: Sequence[int], component: IntArray, moving: Sequence[int]) -> list[int]:
    """Places among D of errors that hang together with one that moves; the others tell nothing of these."""
    parting = {component[i] for i, v in enumerate(D) if v in moving}
    return [i for i in range(len(D)) if component[i] in parting]


def _given_those_before(
    ends: Sequence[tuple[Array, Array]], mean: Array, L: Array, u: Array
) -> tuple[list[Array], Array]:
    """Draw each error within its ends given those before, ``e = mean + L y``; and the log weight of each draw."""
    y: list[Array] = []
    e: list[Array] = []
    log_p = np.zeros((u.shape[1], u.shape[2]))
    for i, (lower, upper) in enumerate(ends):
        center = np.repeat(mean[:, i, None], u.shape[2], axis=1)
        for j in np.flatnonzero(L[i, :i]):
            center += L[i, j] * y[j]
        low, high = ((end[:, None] - center) / L[i, i] for end in (lower, upper))
        own, p = _within(low, high, u[i])
        y.append(own)
        e.append(_inside(center + L[i, i] * own, lower[:, None], upper[:, None]))
        if L[i, :i].any():  # otherwise the same for all draws of a person
            log_p += np.log(np.maximum(p, TINY))
    return e, log_p


def _within(low: Array, high: Array, u: Array) -> tuple[Array, Array]:
    """The point of each interval below which lies the share u of its probability, and that probability."""
    turned = low > -high  # look at the mirror image of what leans to the right, which keeps its digits
    a, b, share = np.where(turned, -high, low), np.where(turned, -low, high), np.where(turned, 1 - u, u)
    below = special.ndtr(a)
    p = special.ndtr(b) - below
    y = np.clip(special.ndtri(below + share * p), a, b)
    return np.where(turned, -y, y), p


def _inside(e: Array, lower: Array, upper: Array) -> Array:
    room = np.minimum(INSIDE, (upper - lower) / 4)
    return np.clip(e, lower + room, upper - room)


def _points(turns: Array, count: int) -> Array:
    """(d, r, count) points in the unit cube: for each person those of one lattice, turned."""
    d = turns.shape[1]
    ratio = 1.0
    for _ in range(64):  # ratio^(d + 1) = ratio + 1: its powers fill a cube most evenly (Roberts 2018)
        ratio = (1 + ratio) ** (1 / (d + 1))
    steps = ratio ** -np.arange(1.0, d + 1)
    u = (turns.T[:, :, None] + (steps[:, None] * np.arange(count))[:, None, :]) % 1
    return np.asarray(np.clip(u, 1e-12, 1 - 1e-12))


def _turns(block: Rows, count: int) -> Array:
    """(r, count) numbers in [0, 1) that the values of a row tell, as if at random."""
    roots = prime_roots(block.x.shape[1] + count)[block.x.shape[1] :]
    return np.asarray((997 * (block.a + row_marks(block.x)))[:, None] * roots % 1)


# ---------------------------------------------------------------- action and prediction


def _moved(layout: Layout, fit: Fit, e: dict[int, Array], block: Rows, owner: IntArray) -> Array:
    """(l, m) the features of everyone's worlds, whose errors are e."""
    x, people = np.array(block.x[owner], order="F"), block.where(owner)
    for v, part in enumerate(layout.parts):
        if v in e:
            x[:, part.equation.column] = _value(part, fit, e[v].ravel(), x, people, block, owner)
    return x


def _value(part: Part, fit: Fit, e: Array, x: Array, people: Rows, block: Rows, owner: IntArray) -> Array:
    """One feature's values in the counterfactual world."""
    equation, law = part.equation, part.equation.law
    index = equation.values(people.a_cf, x, people) @ part.w(fit)
    if law.is_ordered:
        return np.array(law.codes)[np.searchsorted(part.edges(fit)[1:-1], e + index, side="left")]
    if law.groups or law.atom is not None:
        value = index + part.sigma(fit, equation.own(people.a_cf, people)) * e
        return value if law.atom is None else np.maximum(value, law.atom)
    # x' = x + (phi' - phi)'w, which keeps the last digits where nothing changes
    factual = equation.values(block.a, block.x) @ part.w(fit)
    return np.asarray(people.x[:, equation.column] + (index - factual[owner]))


def _merged(x: Array, probability: Array) -> tuple[Array, IntArray, Array]:
    """Worlds of a person that are the same as one: their features, owners and probabilities."""
    r, count = probability.shape
    marks = row_marks(x).reshape(r, count)
    order = np.argsort(marks, axis=1, kind="stable")
    marks = np.take_along_axis(marks, order, axis=1)
    first = np.concatenate([np.ones((r, 1), dtype=bool), marks[:, 1:] != marks[:, :-1]], axis=1).ravel()
    place = (order + count * np.arange(r)[:, None]).ravel()[first]
    p = np.bincount(np.cumsum(first) - 1, np.take_along_axis(probability, order, axis=1).ravel())
    return x[place], place // count, p.astype(float)
