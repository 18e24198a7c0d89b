"""The CFU that one departure from Model A alone makes, with no confounding, through the audited predictor.

The departure is a model of its own: the same equations with one of them wider by group, or with more terms. People get
the counterfactuals of that model; what Model A's owner takes for their errors, and the predictor, stay as audited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim
from fairstress.functionals.cfu import CFU
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.model.design import Describer, Design, build_equation
from fairstress.model.fit import Fit
from fairstress.model.latent import Layout, Part
from fairstress.model.system import make_system
from fairstress.model.tree import grow
from fairstress.model.view import RawColumns


@dataclass(frozen=True, slots=True, eq=False)
class Departure:
    """Equations that are not Model A's, with Model A's weights in them and with those that the data give."""

    design: Design
    model_a: Fit
    model_b: Fit


def cfu_alone(claim: Claim, departure: Departure) -> float:
    """CFU if the departure is the truth, by the claim's measure."""
    looks, parts = not isinstance(claim.view, RawColumns), []
    for factual in claim.blocks():
        worlds = grow(departure.design, departure.model_a, departure.model_b, factual, claim.detail, residuals=looks)
        change = claim.predict_worlds(worlds)[0] - worlds.of_people(factual.predicted)
        parts.append((change, worlds.weights(factual.block.weight)))
    change, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    if claim.measure.of_all is not None:
        return claim.measure.of_all(change[weight > 0], weight[weight > 0])
    return float(claim.measure.each(change) @ weight / weight.sum())


def alone_words(fitted: Fitted, cfu: float | None) -> str:
    """Say what a departure alone does to CFU, beside what it is under Model A; nothing where it does nothing."""
    if cfu is None or cfu <= fitted.context.negligible:
        return ""
    claim, base = fitted.claim, fitted.context.floor
    if isinstance(claim.view, RawColumns):
        base = float(CFU().values(claim, [claim.model_a])[0])
    made = (
        f"makes a CFU of {cfu:.2g}" if base <= fitted.context.negligible else f"takes CFU from {base:.2g} to {cfu:.2g}"
    )
    return f"alone {made} without any hidden cause"


def wider_by_group(claim: Claim, scales: Mapping[str, Mapping[float, float]]) -> Departure:
    """Errors of some numbers that are rescaled with the protected attribute.

    ``{feature: {code: scale}}`` has scales of standardised errors for numbers without a scale by group.
    """
    parts, fit = Layout.of(claim.design).features, claim.model_a
    equations, weights = [], [part.w(fit) for part in parts]
    of_a, of_b = [], []
    for part in parts:
        own, sigma = scales.get(part.equation.feature), fit.scales[part.scales]
        codes = tuple(sorted(own or ()))
        law = part.equation.law
        equations.append(replace(part.equation, law=replace(law, groups=codes)) if own else part.equation)
        # what the predictor is shown of a plain number is the residual itself, in units of 1
        shown = np.ones(1) if law.is_plain else sigma
        of_a.append(np.repeat(shown, len(codes)) if own else sigma)
        of_b.append(sigma * np.array([own[code] for code in codes]) if own else sigma)
    design = Design.of(equations)
    cuts = [fit.cuts[part.cuts] for part in parts]
    return Departure(design, _fit(fit, weights, of_a, cuts), _fit(fit, weights, of_b, cuts))


def with_more_terms(fitted: Fitted, feature: str, graph: CausalGraph, degree: int) -> Departure | None:
    """One equation with the parents and the degree given, fitted anew; None where it does not hold the old one."""
    claim, settings = fitted.claim, fitted.settings
    if graph.features != fitted.graph.features:
        return None
    parts, fit = Layout.of(claim.design).features, claim.model_a
    j = next(i for i, part in enumerate(parts) if part.equation.feature == feature)
    richer = build_equation(graph, feature, degree, Describer(fitted.table), settings.embedding)
    old, new = parts[j].equation.embedding.terms, list(richer.embedding.terms)
    if not set(old) <= set(new):
        return None
    system = make_system(
        Design.of([richer]),
        fitted.table.rows,
        settings.penalty or 0.0,
        penalise_constant=settings.penalise_constant,
        own=settings.own_penalties,
    )
    alone = system.independent()
    equations = [richer if i == j else part.equation for i, part in enumerate(parts)]
    weights = [part.w(fit) for part in parts]
    padded = np.zeros(len(new))
    padded[[new.index(term) for term in old]] = weights[j]
    scales, cuts = [fit.scales[part.scales] for part in parts], [fit.cuts[part.cuts] for part in parts]
    design = Design.of(equations)
    model_a = _fit(fit, _with(weights, j, padded), scales, cuts)
    own = _with(weights, j, alone.weights), _with(scales, j, alone.scales), _with(cuts, j, alone.cuts)
    return Departure(design, model_a, _fit(fit, *own))


def _with(parts: Sequence[Array], j: int, part: Array) -> list[Array]:
    return [*parts[:j], part, *parts[j + 1 :]]


def _fit(like: Fit, weights: Sequence[Array], scales: Sequence[Array], cuts: Sequence[Array]) -> Fit:
    """A fit of independent errors with the parameters of each equation, side by side."""
    return replace(
        like,
        weights=np.concatenate(weights),
        log_scales=np.log(np.concatenate(scales)),
        cuts=np.concatenate(cuts),
        correlation=np.eye(len(weights)),
    )


def parts_by_feature(claim: Claim) -> dict[str, Part]:
    """Where the parameters of each feature stand in a fit."""
    return {part.equation.feature: part for part in Layout.of(claim.design).features}
