"""An upper bound of CFU over a box of correlations, proved: the counterfactual sweep in forms.

Weights that are known to second order all over the box give everyone's change of prediction to second order. The mean
square of its linear part is convex and largest in a corner of the box; by Minkowski's inequality each further part adds
at most its own root mean square.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import FactualBlock
from fairstress.model.design import Equation
from fairstress.model.embedding import Polynomial
from fairstress.model.mixed import MixedSystem
from fairstress.model.predictor import PolynomialPredictor
from fairstress.model.view import FAIR_PART, ITSELF, View
from fairstress.search.forms import Form

Number = Form | Array  # of each person: known to first order over the box, or the same all over it


def why_not_proved(claim: Claim) -> str:
    """Why nothing can be proved of a claim's CFU; empty where it can."""
    system, view, predictor = claim.system, claim.view, claim.predictor
    if isinstance(system, MixedSystem):
        return "some errors are seen in intervals or have a scale by group"
    if not all(isinstance(equation.embedding, Polynomial) for equation in claim.design.equations):
        return "the equations are no polynomials"
    if not isinstance(predictor, PolynomialPredictor) or predictor.is_logistic:
        return "the predictor is no polynomial"
    if not isinstance(view, View) or any(entry.kind == FAIR_PART for entry in view.entries):
        return "the predictor is shown more than residuals"
    if not claim.measure.is_squared:
        return "changes are not measured by their squares"
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Upper:
    """CFU over a box: the value at its centre, its upper bound, and how much each direction moves it."""

    value: float
    bound: float
    moves: Array  # (q,)


def upper_bound(claim: Claim, w: Form) -> Upper:
    """Bound CFU for weights of Model B (D,) that are known over a box."""
    q, total = w.q, 0.0
    square, mixed, quadratic, bent, rest = 0.0, np.zeros(q), np.zeros((q, q)), np.zeros(len(w.g) - q), 0.0
    for factual in claim.blocks():
        change, weight = _change(claim, factual, w), factual.block.weight
        total += float(weight.sum())
        if not isinstance(change, Form):
            square += float(weight @ change**2)
            continue
        square += float(weight @ change.c**2)
        mixed += change.linear @ (weight * change.c)
        quadratic += (change.linear * weight) @ change.linear.T
        bent += change.g[q:] ** 2 @ weight
        rest += float(weight @ change.e**2)
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=q)))
    linear = square + 2 * corners @ mixed + ((corners @ quadratic) * corners).sum(axis=1)
    beyond = np.sqrt(rest) + np.sqrt(bent).sum()
    bound = (np.sqrt(max(float(linear.max()), 0.0)) + beyond) ** 2 / total
    return Upper(square / total, float(bound), np.sqrt(np.diag(quadratic) / total))


def _change(claim: Claim, factual: FactualBlock, w: Form) -> Number:
    """(r,) everyone's change of prediction, ``f(eps') - f(eps)``, as `worlds` has it."""
    design, block, w_A = claim.design, factual.block, claim.model_a.weights
    x_cf: list[Number] = list(block.x.T)
    eps_cf: list[Number] = list(factual.eps.T)
    for j in factual.standing:
        equation, where = design.equations[j], design.slices[j]
        phi = equation.values(block.a, block.x)
        columns = _columns(equation, factual, x_cf)
        for d, column in enumerate(columns):
            moved = _plus(column, -phi[:, d])
            if not isinstance(moved, Form) and not moved.any():
                continue
            own = w[where][d : d + 1]
            x_cf[equation.column] = _plus(x_cf[equation.column], own * moved)
            eps_cf[equation.column] = _plus(eps_cf[equation.column], (own - w_A[where][d]) * moved)
    assert isinstance(claim.view, View)
    assert isinstance(claim.predictor, PolynomialPredictor)
    shown = _shown(claim.view, factual, eps_cf)
    monomials = _monomials(claim.predictor.embedding, shown, block.a.size)
    change: Number = -factual.predicted
    for monomial, theta in zip(monomials, claim.predictor.weights.tolist(), strict=True):
        change = _plus(change, monomial * theta)
    return change


def _columns(equation: Equation, factual: FactualBlock, x_cf: Sequence[Number]) -> list[Number]:
    """The equation's columns in the counterfactual world."""
    block = factual.block
    inputs: list[Number] = list(equation.inputs(block.a_cf, block.x, block).T)
    for position, k in equation.unfair:
        inputs[equation.n_protected + position] = x_cf[k]
    assert isinstance(equation.embedding, Polynomial)
    return _monomials(equation.embedding, inputs, block.a.size)


def _shown(view: View, factual: FactualBlock, eps_cf: Sequence[Number]) -> list[Number]:
    """What the predictor is shown."""
    factual_inputs = view.inputs(factual.block, factual.eps).T
    return [
        own if entry.kind == ITSELF else eps_cf[entry.column]
        for entry, own in zip(view.entries, factual_inputs, strict=True)
    ]


def _monomials(embedding: Polynomial, inputs: Sequence[Number], n: int) -> list[Number]:
    """All monomials, each an earlier one times an input."""
    known: dict[tuple[int, ...], Number] = {}
    for exponents in embedding.exponents:
        k = max((i for i, power in enumerate(exponents) if power), default=-1)
        if k < 0:
            known[exponents] = np.ones(n)
            continue
        lower = tuple(power - (i == k) for i, power in enumerate(exponents))
        known[exponents] = _times(known[lower], inputs[k])
    return list(known.values())


def _plus(a: Number, b: Number) -> Number:
    if isinstance(a, Form):
        return a + b
    return b + a if isinstance(b, Form) else np.asarray(a + b)


def _times(a: Number, b: Number) -> Number:
    if isinstance(a, Form):
        return a * b
    return b * a if isinstance(b, Form) else np.asarray(a * b)
