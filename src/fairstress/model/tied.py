"""Fits of the variables whose errors a correlation ties to others: the rest stay what they are at P = I.

The likelihood falls apart into that of the tied variables and one for each of the others, and so does the penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairstress.inputs.rows import Array, IntArray

if TYPE_CHECKING:
    from fairstress.model.fit import Fit


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """The fit at P = I, and what each variable adds to its numbers."""

    fit: Fit
    log_likelihood: Array  # (m,)
    objective: Array  # (m,)


class Separable(Protocol):
    """A system that falls apart where P does."""

    def alone(self) -> Alone:
        """The fit at P = I, variable by variable."""
        ...

    def part(self, variables: tuple[int, ...]) -> tuple[Any, IntArray]:
        """The system of some variables, and where their weights stand among all."""
        ...

    def fit_together(self, P: Array, starts: Sequence[Fit], *, check_minima: bool) -> list[Fit]:
        """Fit all variables at correlations (g, m, m), each from some other fit."""
        ...


def fit_tied(system: Separable, P: Array, start: Fit | Sequence[Fit], *, check_minima: bool) -> list[Fit]:
    """Fit at each of the correlations (g, m, m), those that tie the same variables side by side.

    All set out from one other fit, or each from its own.
    """
    starts = start if isinstance(start, Sequence) else [start] * len(P)
    found: dict[int, Fit] = {}
    tied = (P != 0).sum(axis=2) > 1
    if tied.all():
        return system.fit_together(P, starts, check_minima=check_minima)
    for pattern in np.unique(tied, axis=0):
        which = np.flatnonzero((tied == pattern).all(axis=1))
        own = [starts[int(i)] for i in which]
        if pattern.all():
            fits = system.fit_together(P[which], own, check_minima=check_minima)
        else:
            fits = _fit_some(system, P[which], np.flatnonzero(pattern), own, check_minima=check_minima)
        found |= zip(which.tolist(), fits, strict=True)
    return [found[i] for i in range(len(P))]


def _fit_some(
    system: Separable, P: Array, variables: IntArray, starts: Sequence[Fit], *, check_minima: bool
) -> list[Fit]:
    """Fit some of the variables, and put them among the others."""
    alone = system.alone()
    if not variables.size:
        return [replace(alone.fit, correlation=one) for one in P]
    part, weights = system.part(tuple(variables.tolist()))
    scales = _scales(alone.fit, variables)
    own = [replace(start, weights=start.weights[weights], log_scales=start.log_scales[scales]) for start in starts]
    inner = np.ascontiguousarray(P[:, variables[:, None], variables])
    fits = part.fit_together(inner, own, check_minima=check_minima)
    return [_among(alone, fit, one, variables, weights) for fit, one in zip(fits, P, strict=True)]


def _scales(fit: Fit, variables: IntArray) -> IntArray:
    """Where the scales of some variables stand; an attribute behind a threshold, the first variable, has none."""
    hidden = len(fit.correlation) - fit.log_scales.size
    return variables[variables >= hidden] - hidden


def _among(alone: Alone, some: Fit, P: Array, variables: IntArray, weights: IntArray) -> Fit:
    """A fit of all variables from one of those that are tied."""
    w, t = alone.fit.weights.copy(), alone.fit.log_scales.copy()
    w[weights], t[_scales(alone.fit, variables)] = some.weights, some.log_scales
    return replace(
        some,
        weights=w,
        log_scales=t,
        correlation=P,
        log_likelihood=some.log_likelihood + _of_others(alone.log_likelihood, variables),
        objective=some.objective + _of_others(alone.objective, variables),
    )


def _of_others(numbers: Sequence[float] | Array, variables: IntArray) -> float:
    return float(np.delete(numbers, variables).sum())
