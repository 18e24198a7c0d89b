"""Counterfactual worlds where some errors are known as intervals only: a tree for each person, with probabilities.

With A set to a', a number whose error is known follows at once. An ordered feature takes level k where its error lies
in the overlap of its own interval and of level k's, features below follow in each branch. A number at its atom stays
there or rises above it: that part of its interval is cut into pieces, each with the piece's mean. The branches part a
person's intervals, so that a world's probability is that of its overlaps given the known errors, over the sum of all
the person's worlds'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model import counterfactual
from fairstress.model.counterfactual import FactualBlock, Worlds
from fairstress.model.design import Design
from fairstress.model.draws import draw, false_residuals
from fairstress.model.fit import Fit, Mask
from fairstress.model.latent import Error, Layout, Part, components, errors, interval_mean, patterns, residual
from fairstress.model.rectangle import rectangles

RARE = 1e-10  # a branch of a smaller share, as if errors were independent, is cut off; what is left adds up to 1
GOLDEN = 0.6180339887498949
TOUCH = 1e-12  # intervals that overlap by no more than this do so by rounding


@dataclass(frozen=True, slots=True)
class Detail:
    """How finely worlds are worked out."""

    pieces: int = 8  # of an atom's interval that rises above the atom
    most: int = 256  # worlds of a person; of more, so many are drawn
    draws: int = 0  # of a person's errors, in place of a tree of worlds; 0: a tree

    def finer(self) -> Detail:
        """Twice as many pieces, and four times as many worlds or draws."""
        return Detail(2 * self.pieces, 4 * self.most, 4 * self.draws)


DETAIL = Detail()


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Worlds under construction."""

    owner: IntArray  # (l,) the person of each
    x: Array  # (l, m) features, as far as they are known
    lower: Array  # (l, V) overlaps of the intervals
    upper: Array  # (l, V)
    share: Array  # (l,) of the person's probability, as if errors were independent
    drawn: Array  # (l,) the chance with which the branch was drawn; 1 where all are kept

    def take(self, which: IntArray) -> Branches:
        """Some of the branches, or some of them several times."""
        rest = (self.x, self.lower, self.upper, self.share, self.drawn)
        return Branches(self.owner[which], *(np.array(array[which]) for array in rest))


def model_residuals(design: Design, fit: Fit, block: Rows) -> Array:
    """(r, m) what Model A takes for each feature's error: a residual, or an expected error; the context as it is."""
    if design.is_plain:
        return counterfactual.residuals(design, fit.weights, block)
    eps = np.array(block.x, order="F")
    for part in Layout.of(design).features:
        equation = part.equation
        phi = equation.values(block.a, block.x)
        eps[:, equation.column] = residual(part, fit, block.a, block.x[:, equation.column], phi)
    return eps


def grow(
    design: Design, fit_A: Fit, fit_B: Fit, factual: FactualBlock, detail: Detail = DETAIL, *, residuals: bool = True
) -> Worlds:
    """All worlds of a block of people with A set to another value under one version of Model B.

    False residuals are left out where nobody looks at them.
    """
    if detail.draws:
        return draw(design, fit_A, fit_B, factual, detail.draws, residuals=residuals)
    block, layout = factual.block, Layout.of(design)
    known = list(errors(layout, fit_B, block))
    branches = _roots(block, known)
    for v, part in enumerate(layout.parts):
        if part.equation.column >= 0 and part.equation.moves:
            branches = _thinned(_branch(branches, v, part, fit_B, known, block, detail.pieces), detail.most)
    probability = _probabilities(branches, known, fit_B.correlation)
    eps = false_residuals(layout, fit_A, branches.x, branches.owner, factual) if residuals else branches.x
    return Worlds(factual, branches.x[None], eps[None], {}, branches.owner, probability)


def _roots(block: Rows, known: Sequence[Error]) -> Branches:
    lower, upper = np.column_stack([e.lower for e in known]), np.column_stack([e.upper for e in known])
    one = np.ones(block.a.size)
    return Branches(np.arange(block.a.size), np.array(block.x, order="F"), lower, upper, one, one.copy())


# ---------------------------------------------------------------- one feature


def _branch(
    branches: Branches, v: int, part: Part, fit: Fit, known: Sequence[Error], block: Rows, pieces: int
) -> Branches:
    """Give a feature its counterfactual values; where its error is an interval, a branch for each that it can take."""
    equation, people, own = part.equation, block.where(branches.owner), known[v]
    index = equation.values(people.a_cf, branches.x, people) @ part.w(fit)
    if equation.law.is_ordered:
        return _levels(branches, v, part, fit, index)
    sigma = part.sigma(fit, equation.own(people.a_cf, people))
    if equation.law.groups or equation.law.atom is not None:
        value = index + sigma * own.upper[branches.owner]
    else:  # x' = x + (phi' - phi)'w, which keeps the last digits where nothing changes
        factual = equation.values(people.a, people.x) @ part.w(fit)
        value = people.x[:, equation.column] + (index - factual)
    if equation.law.atom is None:
        branches.x[:, equation.column] = value
        return branches
    at_atom = own.is_interval[branches.owner]
    branches.x[:, equation.column] = np.where(at_atom, equation.law.atom, np.maximum(value, equation.law.atom))
    center, width = (given[branches.owner] for given in _given_known(v, known, fit.correlation))
    above = _Above(v, equation.column, equation.law.atom, index, sigma, center, width, pieces)
    return _above_atom(branches, above, at_atom)


def _levels(branches: Branches, v: int, part: Part, fit: Fit, index: Array) -> Branches:
    """A branch for each level whose interval overlaps the person's own."""
    edges, codes = part.edges(fit), np.array(part.equation.law.codes)
    first = np.searchsorted(edges[1:-1], branches.lower[:, v] + index + TOUCH, side="right")
    last = np.searchsorted(edges[1:-1], branches.upper[:, v] + index - TOUCH, side="left")
    count = np.maximum(last - first, 0) + 1
    grown = branches.take(np.repeat(np.arange(count.size), count))
    level = np.repeat(first, count) + _counted(count)
    shifted = np.repeat(index, count)
    grown.x[:, part.equation.column] = codes[level]
    return _within(grown, v, edges[level] - shifted, edges[level + 1] - shifted)


@dataclass(frozen=True, slots=True, eq=False)
class _Above:
    """What lies above an atom in the counterfactual world, branch by branch."""

    v: int
    column: int
    atom: float
    index: Array  # (l,)
    sigma: Array  # (l,)
    center: Array  # (l,) mean of the error given the known ones
    width: Array  # (l,) its deviation
    pieces: int

    @property
    def threshold(self) -> Array:
        """The error above which the feature lies above its atom."""
        return np.asarray((self.atom - self.index) / self.sigma)


def _above_atom(branches: Branches, above: _Above, at_atom: Mask) -> Branches:
    """People at the atom whose counterfactual may lie above it: the atom, and pieces of what lies above."""
    v, center, width = above.v, above.center, above.width
    rises = np.flatnonzero(at_atom & (above.threshold < branches.upper[:, v]))
    if not rises.size:
        return branches
    where = np.repeat(rises, above.pieces)
    pieces = branches.take(where)
    start, end = ((e[rises] - center[rises]) / width[rises] for e in (above.threshold, branches.upper[:, v]))
    edges = _pieces(start, end, above.pieces)  # (rises, pieces + 1)
    low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    mean = center[where] + width[where] * interval_mean(low, high, np.ones(low.size, dtype=bool))
    low, high = center[where] + width[where] * low, center[where] + width[where] * high
    pieces.x[:, above.column] = np.maximum(above.index[where] + above.sigma[where] * mean, above.atom)
    nothing = np.full(at_atom.size, -np.inf)
    stays = _within(branches, v, nothing, np.where(at_atom, above.threshold, np.inf))
    return _joined(stays, _within(pieces, v, low, high))


def _given_known(v: int, known: Sequence[Error], P: Array) -> tuple[Array, Array]:
    """(r,) mean and deviation of an error that lies in an interval, given the errors that are known."""
    center, width = np.zeros(known[v].lower.size), np.ones(known[v].lower.size)
    for rows, C, D in patterns([e.is_interval for e in known]):
        if v in D and C:
            k = np.linalg.solve(P[np.ix_(C, C)], P[C, v])
            center[rows] = np.column_stack([known[c].lower[rows] for c in C]) @ k
            width[rows] = np.sqrt(1.0 - P[v, C] @ k)
    return center, width


def _pieces(low: Array, high: Array, count: int) -> Array:
    """Cut intervals into pieces of equal probability."""
    turned = low > -high
    a, b = np.where(turned, -high, low), np.where(turned, -low, high)
    log_a, log_b = special.log_ndtr(a), special.log_ndtr(b)
    shares = np.linspace(0, 1, count + 1)
    log_p = log_b[:, None] + np.log(np.maximum(shares + (1 - shares) * np.exp(log_a - log_b)[:, None], 1e-300))
    edges = special.ndtri_exp(np.minimum(log_p, -1e-300))
    edges[:, 0], edges[:, -1] = a, b
    return np.asarray(np.where(turned[:, None], -edges[:, ::-1], edges))


def _within(branches: Branches, v: int, low: Array, high: Array) -> Branches:
    """Narrow one interval of each branch."""
    before = branches.lower[:, v].copy(), branches.upper[:, v].copy()
    branches.lower[:, v] = np.maximum(before[0], low)
    branches.upper[:, v] = np.minimum(before[1], high)
    branches.share[:] *= _ratio(branches.lower[:, v], branches.upper[:, v], *before)
    return branches


def _ratio(low: Array | float, high: Array, low_all: Array | float, high_all: Array) -> Array:
    """Probability of an interval over that of one around it, as if the error were independent."""
    inner, outer = special.ndtr(high) - special.ndtr(low), special.ndtr(high_all) - special.ndtr(low_all)
    return np.asarray(np.clip(inner, 1e-12, None) / np.clip(outer, 1e-12, None))


def _joined(first: Branches, second: Branches) -> Branches:
    both = Branches(
        *(np.concatenate([getattr(part, name) for part in (first, second)]) for name in Branches.__dataclass_fields__)
    )
    return both.take(np.argsort(both.owner, kind="stable"))


def _counted(count: IntArray) -> IntArray:
    """0, 1, ..., for each of some counts."""
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)


# ---------------------------------------------------------------- too many worlds


def _thinned(branches: Branches, most: int) -> Branches:
    """Cut off what hardly ever happens; of a person with more worlds than most, draw so many by fixed points."""
    share = _standing(branches)
    if (share < RARE).any():
        branches = branches.take(np.flatnonzero(share >= RARE))
        share = _standing(branches)
    count = np.bincount(branches.owner)
    crowded = count[branches.owner] > most
    if not crowded.any():
        return branches
    chance = np.where(crowded, _chances(branches.owner, share, most), 1.0)
    # fixed points at 1/2, 3/2, ... along a person's branches, in an order with which no pattern of levels keeps step
    order = np.lexsort((_counted(count[count > 0]) * GOLDEN % 1, branches.owner))
    passed = np.cumsum(chance[order])
    met = (np.floor(passed + 0.5) > np.floor(passed - chance[order] + 0.5)) | (chance[order] >= 1)
    kept = np.sort(order[met])
    drawn = branches.take(kept)
    drawn.drawn[:] *= chance[kept]
    return drawn


def _standing(branches: Branches) -> Array:
    """(l,) the share of each branch in its person, as if errors were independent; drawn ones stand for others too."""
    worth = branches.share / branches.drawn
    return np.asarray(worth / np.bincount(branches.owner, worth)[branches.owner])


def _chances(owner: IntArray, share: Array, most: int) -> Array:
    """(l,) chances by share that add up to most for each person, none above 1."""
    chance = np.minimum(1.0, most * share)
    for _ in range(8):  # what is cut at 1 goes to the others
        free = np.where(chance < 1, share, 0.0)
        room = most - np.bincount(owner, chance >= 1)
        left = np.maximum(np.bincount(owner, free), 1e-300)
        chance = np.where(free > 0, np.minimum(1.0, free * (room / left)[owner]), 1.0)
    return np.asarray(chance)


# ---------------------------------------------------------------- probabilities


def _probabilities(branches: Branches, known: Sequence[Error], P: Array) -> Array:
    """(l,) of each world, given the known errors: a person's add up to 1."""
    owner, n = branches.owner, known[0].lower.size
    several = np.bincount(owner, minlength=n)[owner] > 1
    log_p = np.zeros(owner.size)
    for rows, C, D in patterns([e.is_interval for e in known]):
        own = np.zeros(n, dtype=bool)
        own[rows] = True
        where = np.flatnonzero(several & own[owner])
        if D and where.size:
            log_p[where] = _overlaps(branches, where, known, P, C, D)
    log_p -= np.log(branches.drawn)
    highest = np.full(n, -np.inf)
    np.maximum.at(highest, owner, log_p)
    p = np.exp(log_p - np.where(np.isfinite(highest), highest, 0.0)[owner])
    total = np.bincount(owner, p, minlength=n)
    return np.asarray(p / total[owner])


def _overlaps(
    branches: Branches, where: IntArray, known: Sequence[Error], P: Array, C: list[int], D: list[int]
) -> Array:
    """Log probability of the overlaps of some worlds whose people show the same errors, up to what all share."""
    K = np.linalg.solve(P[np.ix_(C, C)], P[np.ix_(C, D)]).T if C else np.zeros((len(D), 0))
    S = P[np.ix_(D, D)] - K @ P[np.ix_(C, D)]
    owner = branches.owner[where]
    kept = _parting(branches, where, known, D, components(S))
    D, K, S = [D[i] for i in kept], K[kept], S[np.ix_(kept, kept)]
    e = np.column_stack([known[v].lower[owner] for v in C]) if C else np.zeros((owner.size, 0))
    mean = e @ K.T
    lower, upper = branches.lower[where][:, D] - mean, branches.upper[where][:, D] - mean
    return rectangles(lower, upper, (S + S.T) / 2, owner=owner).log_probability


def _parting(
    branches: Branches, where: IntArray, known: Sequence[Error], D: list[int], component: IntArray
) -> list[int]:
    """Intervals of components in which some world narrows one: the others are the same in all worlds of a person."""
    owner = branches.owner[where]
    narrowed = [
        bool((branches.lower[where, v] != known[v].lower[owner]).any())
        or bool((branches.upper[where, v] != known[v].upper[owner]).any())
        for v in D
    ]
    parting = {component[i] for i, own in enumerate(narrowed) if own}
    return [i for i in range(len(D)) if component[i] in parting]
