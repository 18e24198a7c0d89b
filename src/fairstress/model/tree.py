"""Counterfactual worlds where some errors are known as intervals only: a tree for each person, with probabilities.

With A set to a', a number whose error is known follows at once. An ordered feature takes level k where its error lies in
the overlap of its own interval and of level k's, features below follow in each branch. A number at its atom stays there
or rises above it: that part of its interval is cut into pieces, each with the piece's mean. The branches part a person's
intervals, so that a world's probability is that of its overlaps given the known errors, over the sum of all the
person's worlds'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model import counterfactual
from fairstress.model.counterfactual import FactualBlock, Worlds
from fairstress.model.design import Design, Equation
from fairstress.model.fit import Fit
from fairstress.model.latent import Error, Layout, Part, components, errors, interval_mean, patterns, residual
from fairstress.model.rectangle import rectangles

PIECES = 8  # of an atom's interval that rises above the atom
TOUCH = 1e-12  # intervals that overlap by no more than this do so by rounding
MOST = 256  # worlds of a person; of more, so many are drawn


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
        arrays = (self.owner, self.x, self.lower, self.upper, self.share, self.drawn)
        return Branches(*(np.array(array[which]) for array in arrays))


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


def grow(design: Design, fit_A: Fit, fit_B: Fit, factual: FactualBlock, *, residuals: bool = True) -> Worlds:
    """All worlds of a block of people with A set to another value under one version of Model B.

    False residuals are left out where nobody looks at them.
    """
    block, layout = factual.block, Layout.of(design)
    known = list(errors(layout, fit_B, block))
    branches = _roots(block, known)
    for v, part in enumerate(layout.parts):
        if part.equation.column >= 0 and part.equation.moves:
            branches = _thinned(_branch(branches, v, part, fit_B, known[v], block))
    probability = _probabilities(branches, known, fit_B.correlation)
    eps = _false_residuals(layout, fit_A, branches, factual) if residuals else branches.x
    return Worlds(factual, branches.x[None], eps[None], {}, {}, branches.owner, probability)


def _roots(block: Rows, known: Sequence[Error]) -> Branches:
    lower, upper = np.column_stack([e.lower for e in known]), np.column_stack([e.upper for e in known])
    one = np.ones(block.a.size)
    return Branches(np.arange(block.a.size), np.array(block.x, order="F"), lower, upper, one, one.copy())


def _false_residuals(layout: Layout, fit_A: Fit, branches: Branches, factual: FactualBlock) -> Array:
    """(l, m) what Model A takes for the errors of the counterfactual people."""
    eps = np.array(factual.eps[branches.owner], order="F")
    people = factual.block.where(branches.owner)
    for part in layout.features:
        equation, column = part.equation, part.equation.column
        if equation.moves:
            phi = equation.values(people.a_cf, branches.x, people)
            eps[:, column] = residual(part, fit_A, equation.own(people.a_cf, people), branches.x[:, column], phi)
    return eps


# ---------------------------------------------------------------- one feature


def _branch(branches: Branches, v: int, part: Part, fit: Fit, own: Error, block: Rows) -> Branches:
    """Give a feature its counterfactual values; where its error is an interval, a branch for each that it can take."""
    equation, people = part.equation, block.where(branches.owner)
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
    return _above_atom(branches, v, equation, equation.law.atom, index, sigma, at_atom)


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


def _above_atom(
    branches: Branches, v: int, equation: Equation, atom: float, index: Array, sigma: Array, at_atom: Array
) -> Branches:
    """People at the atom whose counterfactual may lie above it: the atom, and pieces of what lies above."""
    threshold = (atom - index) / sigma
    rises = np.flatnonzero(at_atom & (threshold < branches.upper[:, v]))
    if not rises.size:
        return branches
    where = np.repeat(rises, PIECES)
    pieces = branches.take(where)
    edges = _pieces(threshold[rises], branches.upper[rises, v])  # (rises, PIECES + 1)
    low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    mean = interval_mean(low, high, np.ones(low.size, dtype=bool))
    pieces.x[:, equation.column] = np.maximum(index[where] + sigma[where] * mean, atom)
    stays = _within(branches, v, np.full(index.size, -np.inf), np.where(at_atom, threshold, np.inf))
    return _joined(stays, _within(pieces, v, low, high))


def _pieces(low: Array, high: Array) -> Array:
    """Cut intervals into pieces of equal probability."""
    turned = low > -high
    a, b = np.where(turned, -high, low), np.where(turned, -low, high)
    log_a, log_b = special.log_ndtr(a), special.log_ndtr(b)
    shares = np.linspace(0, 1, PIECES + 1)
    log_p = log_b[:, None] + np.log(np.maximum(shares + (1 - shares) * np.exp(log_a - log_b)[:, None], 1e-300))
    edges = special.ndtri_exp(np.minimum(log_p, -1e-300))
    edges[:, 0], edges[:, -1] = a, b
    return np.where(turned[:, None], -edges[:, ::-1], edges)


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


def _thinned(branches: Branches) -> Branches:
    """Of a person with more worlds than MOST, draw so many by fixed points, each with a chance by its share."""
    count = np.bincount(branches.owner)
    crowded = count[branches.owner] > MOST
    if not crowded.any():
        return branches
    share = branches.share / np.bincount(branches.owner, branches.share)[branches.owner]
    chance = np.where(crowded, np.minimum(1.0, MOST * share), 1.0)
    passed = np.cumsum(chance)  # owners stand side by side: fixed points at 1/2, 3/2, ... keep about MOST of each
    kept = np.flatnonzero((np.floor(passed + 0.5) > np.floor(passed - chance + 0.5)) | (chance >= 1))
    drawn = branches.take(kept)
    drawn.drawn[:] *= chance[kept]
    return drawn


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
    lower, upper = branches.lower[np.ix_(where, D)] - mean, branches.upper[np.ix_(where, D)] - mean
    return rectangles(lower, upper, (S + S.T) / 2).log_probability


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
