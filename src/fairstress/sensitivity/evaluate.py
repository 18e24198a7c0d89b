"""The heart: CFU, or another functional of Model B, as a pure function of the errors' correlation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import worlds
from fairstress.model.fit import Fit, correlation_gradient, fit_from_all_sides, fit_many
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.functional import Functional, Unfairness, difference


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A functional at one correlation; CFU unless another was asked for."""

    value: float  # CFU: squared units of the outcome
    fit: Fit
    gradient: Array | None  # (m, m) derivative by P; a pair's derivative is the sum of its two entries


def evaluate(
    claim: Claim,
    P: Array,
    functional: Functional | None = None,
    *,
    gradient: bool = False,
    check_minima: bool = True,
) -> Evaluation:
    """Fit Model B at one P (m, m), make the counterfactuals, compare; see `evaluate_many`."""
    functional = functional or Unfairness()
    (fitted,) = _fits(claim, P[None], check_minima)
    both = functional.value_and_slope(claim, fitted.weights) if gradient else None
    if both is None:
        return Evaluation(float(functional.values(claim, fitted.weights[None])[0]), fitted, None)
    return Evaluation(both[0], fitted, correlation_gradient(claim.system, fitted, both[1]))


def evaluate_many(
    claim: Claim, P: Array, functional: Functional | None = None, *, check_minima: bool = True
) -> list[Evaluation]:
    """The same for many P (g, m, m), side by side and without gradients.

    ``check_minima`` looks for a second minimum of each penalised fit; a search leaves that to its last step.
    """
    fits = _fits(claim, P, check_minima)
    values = (functional or Unfairness()).values(claim, np.array([fitted.weights for fitted in fits]))
    return [Evaluation(float(value), fitted, None) for value, fitted in zip(values, fits, strict=True)]


def cfu_by_row(claim: Claim, w_B: Array) -> Array:
    """(r,) the CFU of each distinct row under Model B's weights (D,)."""
    parts = [worlds(claim.design, claim.model_a.weights, w_B[None], block) for block in claim.rows.blocks()]
    return np.concatenate([difference(claim, part)[0] ** 2 for part in parts])


def _fits(claim: Claim, P: Array, check_minima: bool) -> list[Fit]:
    fit = fit_from_all_sides if check_minima else fit_many
    return fit(claim.system, P, claim.model_a.log_scales)
