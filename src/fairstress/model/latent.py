"""Latent errors: what a model knows of them for each person, a value or an interval.

Every variable with an error has a standard normal one, e. Of a number it is known, ``e = (x - phi'w) / sigma``, with
the group's own sigma and w where it has such. Of an ordered variable at level k it lies between
``tau_(k-1) - phi'theta`` and ``tau_k - phi'theta``; of a number at its atom below ``(atom - phi'w) / sigma``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.design import Design, Equation, side_by_side
from fairstress.model.embedding import constant_columns
from fairstress.model.fit import Fit, Mask

INDEPENDENT = 1e-14  # a covariance up to this is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One variable with an error, and where its parameters stand in a fit."""

    equation: Equation
    weights: slice
    scales: slice
    cuts: slice

    def w(self, fit: Fit) -> Array:
        """Weights of its equation."""
        return fit.weights[self.weights]

    def sigma(self, fit: Fit, a: Array) -> Array:
        """(r,) the scale of its error for people whose protected attribute is a."""
        return np.asarray(fit.scales[self.scales][self.equation.law.group_of(a)])

    def edges(self, fit: Fit) -> Array:
        """(L + 1,) the cuts between its levels, with both infinities."""
        return np.concatenate([[-np.inf], fit.cuts[self.cuts], [np.inf]])


def free_weights(part: Part) -> IntArray:
    """Which weights of a variable are free: an ordered one's cuts stand for its constants."""
    every = np.arange(len(part.equation.embedding.terms))
    return np.delete(every, constant_columns(part.equation.embedding)) if part.equation.law.is_ordered else every


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The variables with an error in the order of P, the protected attribute first where it has one."""

    parts: tuple[Part, ...]
    has_protected: bool

    @classmethod
    def of(cls, design: Design) -> Layout:
        """Lay scales and cuts side by side in the order of P; weights stand as the design has them."""
        own, weights = design.protected, list(design.slices)
        equations = [*([own] if own else []), *design.equations]
        if own:
            end = design.feature_of.size
            weights.insert(0, slice(end, end + len(own.embedding.terms)))
        return cls.laid_out(equations, weights)

    @classmethod
    def laid_out(cls, equations: Sequence[Equation], weights: Sequence[slice] | None = None) -> Layout:
        """Lay the parameters of some equations side by side; weights too, unless it is said where they stand."""
        places = weights or side_by_side([len(e.embedding.terms) for e in equations])
        scales = side_by_side([e.law.n_scales for e in equations])
        cuts = side_by_side([e.law.n_cuts for e in equations])
        parts = [Part(*of) for of in zip(equations, places, scales, cuts, strict=True)]
        return cls(tuple(parts), equations[0].column < 0)

    @property
    def features(self) -> tuple[Part, ...]:
        """The parts of features, one for each equation of the design."""
        return self.parts[self.has_protected :]


@dataclass(frozen=True, slots=True, eq=False)
class Error:
    """What is known of one variable's error: its value, or between what it lies, person by person."""

    lower: Array  # (r,)
    upper: Array  # (r,)
    is_interval: Mask  # (r,) where it is not, lower and upper are the value

    def expected(self) -> Array:
        """The value, or the mean of a standard normal error within the interval."""
        return np.where(self.is_interval, interval_mean(self.lower, self.upper, self.is_interval), self.lower)


def error(part: Part, fit: Fit, own: Array, x: Array, phi: Array) -> Error:
    """What a fit knows of a variable's error, from its values x (r,), its columns phi (r, d) and A as it sees it."""
    law, index = part.equation.law, phi @ part.w(fit)
    if law.is_ordered:
        edges, level = part.edges(fit), law.level_of(x)
        return Error(edges[level] - index, edges[level + 1] - index, np.ones(x.shape, dtype=bool))
    value = (x - index) / part.sigma(fit, own)
    at_atom = np.zeros(x.shape, dtype=bool) if law.atom is None else x <= law.atom
    return Error(np.where(at_atom, -np.inf, value), value, at_atom)


def residual(part: Part, fit: Fit, own: Array, x: Array, phi: Array) -> Array:
    """What a predictor is shown of a variable's error: of a plain number ``x - phi'w``, of others the expected e."""
    if part.equation.law.is_plain:
        return np.asarray(x - phi @ part.w(fit))
    return error(part, fit, own, x, phi).expected()


def errors(layout: Layout, fit: Fit, block: Rows) -> Iterator[Error]:
    """What a fit knows of each variable's error, in the order of P."""
    for part in layout.parts:
        yield error(part, fit, block.a, seen(part, block), part.equation.values(block.a, block.x))


def seen(part: Part, block: Rows) -> Array:
    """(r,) the values of a variable."""
    return block.a if part.equation.column < 0 else block.x[:, part.equation.column]


def interval_mean(lower: Array, upper: Array, where: Mask) -> Array:
    """``E[e | lower < e <= upper] = (phi(lower) - phi(upper)) / Pr``, accurate in both tails; 0 elsewhere."""
    low, high = np.where(where, lower, -1.0), np.where(where, upper, 1.0)
    turned = low > -high  # the interval leans to the right: look at its mirror image
    low, high = np.where(turned, -high, low), np.where(turned, -low, high)
    log_high = special.log_ndtr(high)
    share = -np.expm1(special.log_ndtr(low) - log_high)  # Pr over Normal_cdf(high)
    densities = [np.exp(-(end**2) / 2 - log_high) / np.sqrt(2 * np.pi) for end in (low, high)]
    mean = (densities[0] - densities[1]) / np.maximum(share, np.finfo(float).tiny)
    narrow = high - low < 1e-5  # differences would lose all digits
    mean[narrow] = (low[narrow] + high[narrow]) / 2
    return np.where(where, np.where(turned, -mean, mean), 0.0)


def components(S: Array) -> IntArray:
    """Which errors hang together, by a number for each part of a covariance that is connected."""
    label = np.arange(len(S))
    for j, k in zip(*np.nonzero(np.triu(np.abs(S) > INDEPENDENT, 1)), strict=True):
        label[label == label[k]] = label[j]
    return label


def patterns(intervals: Sequence[Mask]) -> Iterator[tuple[IntArray, list[int], list[int]]]:
    """Rows for which the same errors are known, with these and with those that lie in intervals."""
    unknown = np.array(intervals)  # (V, r)
    varies = [v for v, own in enumerate(unknown) if own.any() and not own.all()]  # of atoms: few
    key = np.zeros(unknown.shape[1], dtype=np.intp)
    for v in varies:
        key = 2 * key + unknown[v]
    for one in np.unique(key):
        rows = np.flatnonzero(key == one)
        own = unknown[:, rows[0]]
        yield rows, np.flatnonzero(~own).tolist(), np.flatnonzero(own).tolist()
