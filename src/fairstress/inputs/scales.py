"""Scales of numbers: increasing functions g with their inverses, which take a column to where its errors are normal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairstress.inputs.rows import Array

LONGEST = 700.0  # the exponential of more is no number
NEAREST = float(np.finfo(float).eps)  # how near an inverse comes to the open end of a share


class Scale(Protocol):
    """An increasing function of a column's numbers, and its inverse."""

    @property
    def domain(self) -> str:
        """Which numbers it takes, in words."""
        ...

    def takes(self, values: Array) -> NDArray[np.bool_]:
        """Tell which values it takes."""
        ...

    def apply(self, values: Array) -> Array:
        """``g(x)``."""
        ...

    def undo(self, scores: Array) -> Array:
        """Give the value of each score; scores beyond an end give the value there."""
        ...


@dataclass(frozen=True, slots=True)
class Formula:
    """A scale that is the same for every column."""

    domain: str
    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    above: float = -np.inf  # values lie above it
    below: float = np.inf  # and below it
    lowest: float = -np.inf  # and are at least this, which lower scores give

    def takes(self, values: Array) -> NDArray[np.bool_]:
        """Tell which values it takes."""
        return np.asarray((values > self.above) & (values < self.below) & (values >= self.lowest))

    def apply(self, values: Array) -> Array:
        """``g(x)``."""
        return self.forward(values)

    def undo(self, scores: Array) -> Array:
        """Give the value of each score; scores below that of the lowest value give it."""
        return np.maximum(self.inverse(scores), self.lowest)


@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """Normal scores of a column's own values, linear in between, constant beyond."""

    known: Array  # (k,) distinct values, ascending
    scores: Array  # (k,) their normal scores, ascending
    domain: str = "of any size"

    def takes(self, values: Array) -> NDArray[np.bool_]:
        """Tell which values it takes: all numbers."""
        return np.isfinite(values)

    def apply(self, values: Array) -> Array:
        """``g(x)``: the normal score of x."""
        return np.interp(values, self.known, self.scores)

    def undo(self, scores: Array) -> Array:
        """Give the value of each score; beyond the lowest and highest scores the values there."""
        return np.interp(scores, self.scores, self.known)


def normal_scores(values: Array, weight: Array, below: float = 0.0) -> Rank:
    """Give the normal scores of a weighted marginal: ``Phi^-1`` of the mid-rank of each distinct value.

    Parameters
    ----------
    values
        The numbers; those without weight take no part.
    weight
        One for each.
    below
        Weight of further people, whose values lie below all of these.
    """
    known, place = np.unique(values[weight > 0], return_inverse=True)
    share = np.bincount(place, weight[weight > 0])
    low = below + np.cumsum(share) - share / 2
    high = np.cumsum(share[::-1])[::-1] - share / 2
    total = below + share.sum()
    return Rank(known, np.where(low < high, special.ndtri(low / total), -special.ndtri(high / total)))


def make_scale(name: str, values: Array, weight: Array, below: float = 0.0) -> Scale:
    """Give a scale by its name for a column's numbers; see `normal_scores` for what the rank scale takes of them."""
    if name == "rank":
        return normal_scores(values, weight, below)
    formula = FORMULAS[name]
    if name == "log1p" and values.min() >= 0:  # a count or a sum does not become negative
        return replace(formula, domain="of 0 or more", lowest=0.0)
    return formula


# ---------------------------------------------------------------- functions


def _same(values: Array) -> Array:
    return values


def _exp(scores: Array) -> Array:
    return np.exp(np.clip(scores, -LONGEST, LONGEST))


def _expm1(scores: Array) -> Array:
    return np.maximum(np.expm1(np.clip(scores, -LONGEST, LONGEST)), NEAREST - 1)


def _square(scores: Array) -> Array:
    return np.square(np.maximum(scores, 0.0))


def _expit(scores: Array) -> Array:
    return np.clip(special.expit(np.clip(scores, -LONGEST, LONGEST)), None, 1 - NEAREST)


FORMULAS = {
    "identity": Formula("of any size", _same, _same),
    "log": Formula("above 0", np.log, _exp, above=0.0),
    "log1p": Formula("above -1", np.log1p, _expm1, above=-1.0),
    "sqrt": Formula("of 0 or more", np.sqrt, _square, lowest=0.0),
    "share": Formula("strictly between 0 and 1", special.logit, _expit, above=0.0, below=1.0),
}
