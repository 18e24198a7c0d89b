"""The shape of errors: skewness and kurtosis, and which other kind to try."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from fairstress.analyses.diagnostics import tied
from fairstress.analyses.diagnostics.finding import KURTOSIS, LARGE, SKEWNESS, Diagnostic
from fairstress.analyses.diagnostics.implied import Tie
from fairstress.analyses.diagnostics.sample import Errors, Sample
from fairstress.claim.build import Fitted
from fairstress.inputs.kinds import ATOM
from fairstress.inputs.protected import ProtectedCoding
from fairstress.inputs.rows import Array
from fairstress.model.design import Equation

SKEWED = 1.0  # skewness of residuals from which on a note names another kind
HEAVY = 4.0  # their excess kurtosis
FEWEST = 20  # people of equal weight that a shape is told from


def check_shape(fitted: Fitted, sample: Sample, tie: Tie, own: Errors) -> Iterator[Diagnostic]:
    """Skewness and kurtosis of one feature's error, each group on its own scale."""
    if sample.size < FEWEST:
        return
    e = standardised(fitted.table.protected, sample.rows.a, own.drawn, sample.weight)
    found = shape_of(e, sample.weight)
    reach = tied.shapes(fitted, sample) if tie.by_protected else np.zeros((1, 2))
    implied = tie.is_free or tie.by_protected
    for i, (name, test) in enumerate(((SKEWNESS, skewness_score), (KURTOSIS, kurtosis_score))):
        # the smallest score of what a tie to the protected attribute may bring about
        z = min((test(found[i] - reached, sample.size) for reached in reach[:, i].tolist()), key=abs)
        sentence = _sentence(fitted, own.equation, found, name, tie if not implied else None)
        p = float(2 * special.ndtr(-abs(z)))
        yield Diagnostic(name, own.equation.feature, "", found[i], p, implied, sentence=sentence)


def shape_of(e: Array, weight: Array) -> tuple[float, float]:
    """Skewness, and kurtosis beyond that of a normal error."""
    mean = weight @ e / weight.sum()
    z = (e - mean) / np.sqrt(weight @ (e - mean) ** 2 / weight.sum())
    square = z * z  # powers above 2 take many times as long as products
    return float(weight @ (square * z) / weight.sum()), float(weight @ (square * square) / weight.sum()) - 3


def scales_by_group(coding: ProtectedCoding, a: Array, e: Array, weight: Array) -> dict[float, float]:
    """The deviation of errors in each group, by the group's code; groups without people are left out."""
    deviations = {}
    for code in coding.codes:
        own, counted = e[a == code], weight[a == code]
        if counted.sum() > 0:
            mean = np.average(own, weights=counted)
            deviations[code] = float(np.sqrt(np.average((own - mean) ** 2, weights=counted)))
    return deviations


def standardised(coding: ProtectedCoding, a: Array, e: Array, weight: Array) -> Array:
    """Errors with mean 0 and deviation 1 in each group; of a numeric attribute, in all."""
    z = np.array(e)
    groups = [a == code for code in coding.codes] if coding.levels is not None else [np.ones(a.size, dtype=bool)]
    for own in groups:
        if weight[own].sum() > 0:
            mean = np.average(e[own], weights=weight[own])
            deviation = np.sqrt(np.average((e[own] - mean) ** 2, weights=weight[own]))
            z[own] = (e[own] - mean) / max(float(deviation), 1e-300)
    return z


def skewness_score(b: float, n: float) -> float:
    """D'Agostino's transform of a sample's skewness to a standard normal score."""
    y = b * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    W = np.sqrt(2 * (beta - 1)) - 1
    return float(np.arcsinh(y / np.sqrt(2 / (W - 1))) / np.sqrt(np.log(W) / 2))


def kurtosis_score(excess: float, n: float) -> float:
    """Anscombe and Glynn's transform of a sample's kurtosis to a standard normal score."""
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (excess + 3 - 3 * (n - 1) / (n + 1)) / np.sqrt(variance)
    skew = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9)) * np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    A = 6 + 8 / skew * (2 / skew + np.sqrt(1 + 4 / skew**2))
    below = 1 + x * np.sqrt(2 / (A - 4))
    root = np.cbrt((1 - 2 / A) / abs(below)) * np.sign(below)
    return float((1 - 2 / (9 * A) - root) / np.sqrt(2 / (9 * A)))


# ---------------------------------------------------------------- what to try


def scale_to_try(
    fitted: Fitted, equation: Equation, shape: tuple[float, float], skewed: float = SKEWED, heavy: float = HEAVY
) -> tuple[str, str] | None:
    """What is wrong with the shape of a number's residuals, and the kind to try; nothing where they are near normal."""
    kind, (skewness, kurtosis) = fitted.table.kinds[equation.feature], shape
    if kind.atom or (abs(skewness) <= skewed and kurtosis <= heavy):
        return None
    word = "skewed" if abs(skewness) > skewed else "heavy-tailed"
    weight = fitted.table.rows.weight
    x = fitted.table.units.features[equation.column].number(fitted.table.rows.x[:, equation.column])
    at_zero = float(weight[x == 0].sum() / weight.sum())
    if x.min() == 0 and at_zero > ATOM:
        return f"{word}, and {100 * at_zero:.0f} % of {fitted.settings.wording.people} have 0", "zero or log"
    if kind.scale != "identity":
        return (word, "rank") if kind.scale != "rank" else None
    return word, "log" if x.min() > 0 and skewness > skewed else "log1p" if x.min() == 0 and skewness > 0 else "rank"


def other_scale(fitted: Fitted, equation: Equation) -> str:
    """The word for a number on another scale than its own, by the values that it has."""
    kind = fitted.table.kinds[equation.feature]
    x = fitted.table.units.features[equation.column].number(fitted.table.rows.x[:, equation.column])
    word = "log" if x.min() > 0 else "log1p" if x.min() == 0 else "rank"
    return f"{word if kind.scale == 'identity' else 'number'}{' by group' * kind.by_group}"


def _sentence(fitted: Fitted, equation: Equation, shape: tuple[float, float], check: str, allowed: Tie | None) -> str:
    name, kind = equation.feature, fitted.table.kinds[equation.feature]
    if check == SKEWNESS:
        head = f"The errors of '{name}' are skewed ({shape[0]:+.2f}), while CFU at a correlation is worked out for "
        head += "normal ones"
        tried = scale_to_try(fitted, equation, shape, skewed=0.0) if kind.is_number else None
    else:
        tails = "heavier" if shape[1] > 0 else "lighter"
        head = f"The errors of '{name}' have {tails} tails (kurtosis {shape[1]:+.1f}) than the normal ones for which "
        head += "CFU at a correlation is worked out"
        heavy = (shape[0], abs(shape[1]))
        tried = scale_to_try(fitted, equation, heavy, LARGE[SKEWNESS], 0.0) if kind.is_number else None
    if allowed is not None:
        return f"{head}; {tied.words(allowed)}."
    if tried is not None:
        return f"{head}: try kinds={{'{name}': '{tried[1]}{' by group' * kind.by_group}'}}."
    if kind.is_number:
        return f"{head}, and no other scale is offered: read what it says of extreme people with care."
    return f"{head}: merge some of its levels, or raise its degree, degrees={{'{name}': {equation.degree + 1}}}."
