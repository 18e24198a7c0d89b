"""The heart: CFU as a pure function of the errors' correlation, with its exact gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import Worlds, weight_gradient, worlds
from fairstress.model.design import Design
from fairstress.model.fit import Fit, System, correlation_gradient, fit_both_starts
from fairstress.model.predictor import Predictor


@dataclass(frozen=True, slots=True)
class Claim:
    """What is put to the test: under Model A, this predictor treats counterfactual people alike."""

    rows: Rows
    design: Design
    system: System
    model_a: Fit
    predictor: Predictor


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The claim's counterfactual unfairness at one correlation."""

    cfu: float  # squared units of the outcome
    log_likelihood: float  # of Model B; beside Model A's it tells whether the data object
    fit: Fit
    gradient: Array | None  # (m, m) derivative by P; a pair's derivative is the sum of its two entries


def evaluate(claim: Claim, P: Array, *, gradient: bool = False) -> Evaluation:
    """Fit Model B at P, make the counterfactuals, and compare predictions: CFU and, if asked for, its gradient."""
    fitted = fit_both_starts(claim.system, P, claim.model_a.log_scales)
    total, c_w = 0.0, np.zeros(fitted.weights.size)
    for block in claim.rows.blocks():
        found = worlds(claim.design, claim.model_a.weights, fitted.weights, block)
        difference = _difference(claim.predictor, found)
        total += float(block.weight @ difference**2)
        if gradient:
            g = (2 * block.weight * difference)[:, None] * claim.predictor.slopes(found.eps_cf)
            c_w += weight_gradient(claim.design, claim.model_a.weights, fitted.weights, found, g)
    slope = correlation_gradient(claim.system, fitted, c_w / claim.rows.n) if gradient else None
    return Evaluation(total / claim.rows.n, fitted.log_likelihood, fitted, slope)


def cfu_by_row(claim: Claim, w_B: Array) -> Array:
    """(r,) the CFU of each distinct row under Model B's weights."""
    parts = [worlds(claim.design, claim.model_a.weights, w_B, block) for block in claim.rows.blocks()]
    return np.concatenate([_difference(claim.predictor, part) ** 2 for part in parts])


def _difference(predictor: Predictor, found: Worlds) -> Array:
    """``f(eps') - f(eps)``: how far the prediction moves with the protected attribute."""
    return np.asarray(predictor.predict(found.eps_cf) - predictor.predict(found.eps))
