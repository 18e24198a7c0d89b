"""The heart: CFU as a pure function of the errors' correlation, with its exact gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import Worlds, weight_gradient, worlds
from fairstress.model.fit import Fit, correlation_gradient, fit_from_both_ends
from fairstress.model.predictor import Predictor
from fairstress.sensitivity.claim import Claim

BATCH = 32_768  # rows times correlations that are worked on at once


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The claim's counterfactual unfairness at one correlation."""

    cfu: float  # squared units of the outcome
    log_likelihood: float  # of Model B; beside Model A's it tells whether the data object
    fit: Fit
    gradient: Array | None  # (m, m) derivative by P; a pair's derivative is the sum of its two entries


def evaluate(claim: Claim, P: Array, *, gradient: bool = False) -> Evaluation:
    """Evaluate the claim at one correlation (m, m); see `evaluate_many`."""
    found = evaluate_many(claim, P[None])[0]
    return replace(found, gradient=_gradient(claim, found.fit)) if gradient else found


def evaluate_many(claim: Claim, P: Array) -> list[Evaluation]:
    """Fit Model B at each P (g, m, m), make the counterfactuals, and compare predictions."""
    fits = fit_from_both_ends(claim.system, P, claim.model_a.log_scales)
    w_B = np.array([fitted.weights for fitted in fits])
    total = np.zeros(len(fits))
    for block in claim.rows.blocks():
        side_by_side = max(1, BATCH // block.a.size)
        for start in range(0, len(fits), side_by_side):
            some = slice(start, start + side_by_side)
            found = worlds(claim.design, claim.model_a.weights, w_B[some], block)
            total[some] += _difference(claim.predictor, found) ** 2 @ block.weight
    cfu = total / claim.rows.n
    return [
        Evaluation(float(value), fitted.log_likelihood, fitted, None) for value, fitted in zip(cfu, fits, strict=True)
    ]


def cfu_by_row(claim: Claim, w_B: Array) -> Array:
    """(r,) the CFU of each distinct row under Model B's weights (D,)."""
    parts = [worlds(claim.design, claim.model_a.weights, w_B[None], block) for block in claim.rows.blocks()]
    return np.concatenate([_difference(claim.predictor, part)[0] ** 2 for part in parts])


def _gradient(claim: Claim, fitted: Fit) -> Array:
    """Derivative of CFU by P: back through predictions and counterfactuals to the weights, then through the fit."""
    w_A, w_B = claim.model_a.weights, fitted.weights
    c_w = np.zeros(w_B.size)
    for block in claim.rows.blocks():
        found = worlds(claim.design, w_A, w_B[None], block)
        outer = 2 * block.weight * _difference(claim.predictor, found)[0] / claim.rows.n
        g = outer[:, None] * claim.predictor.slopes(found.eps_cf[0])
        c_w += weight_gradient(claim.design, w_A, w_B, found, g)
    return correlation_gradient(claim.system, fitted, c_w)


def _difference(predictor: Predictor, found: Worlds) -> Array:
    """``f(eps') - f(eps)``, as (g, r): how far the prediction moves with the protected attribute."""
    return np.asarray(predictor.predict(found.eps_cf) - predictor.predict(found.eps))
