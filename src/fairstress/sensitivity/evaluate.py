"""The heart: CFU, or another functional of Model B, as a pure function of the errors' correlation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import worlds
from fairstress.model.fit import Fit
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
    start: Evaluation | None = None,
) -> Evaluation:
    """Fit Model B at one P (m, m), make the counterfactuals, compare; see `evaluate_many`.

    The fit sets out from Model A, or from that of ``start``, which spares steps where its P is near.
    """
    functional = functional or Unfairness()
    (fitted,) = _fits(claim, P[None], check_minima, start)
    both = functional.value_and_slope(claim, fitted.weights) if gradient else None
    if both is None:
        return Evaluation(float(functional.values(claim, fitted.weights[None])[0]), fitted, None)
    return Evaluation(both[0], fitted, claim.system.correlation_gradient(fitted, both[1]))


def evaluate_many(
    claim: Claim, P: Array, functional: Functional | None = None, *, check_minima: bool = True
) -> list[Evaluation]:
    """The same for many P (g, m, m), side by side and without gradients.

    ``check_minima`` looks for a second minimum of each penalised fit; a search leaves that to its last step.
    """
    fits = _fits(claim, P, check_minima)
    values = (functional or Unfairness()).values(claim, np.array([fitted.weights for fitted in fits]))
    return [Evaluation(float(value), fitted, None) for value, fitted in zip(values, fits, strict=True)]


def predictions(claim: Claim, w_B: Array) -> tuple[Array, Array, Array]:
    """(r,) predictions for each row of the claim, factual and under Model B's weights (D,), and the CFU of the row.

    CFU is what the claim's measure makes of one change.
    """
    parts = [worlds(claim.design, claim.model_a.weights, w_B[None], people) for people in claim.people()]
    factual = np.concatenate([part.people.predicted for part in parts])
    change = np.concatenate([difference(claim, part)[0] for part in parts])
    return factual, factual + change, claim.measure.each(change)


def cfu_by_row(claim: Claim, w_B: Array) -> Array:
    """(r,) the CFU of each row of the claim under Model B's weights (D,)."""
    return predictions(claim, w_B)[2]


def _fits(claim: Claim, P: Array, check_minima: bool, start: Evaluation | None = None) -> list[Fit]:
    return claim.system.fits(P, start.fit if start else claim.model_a, check_minima=check_minima)
