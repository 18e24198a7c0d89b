"""How wide errors are: by group, with the CFU that this alone makes, and along the parents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairstress.analyses.diagnostics import tied
from fairstress.analyses.diagnostics.alone import alone_words, cfu_alone, wider_by_group
from fairstress.analyses.diagnostics.finding import SCALE, SPREADING, Diagnostic
from fairstress.analyses.diagnostics.implied import Tie
from fairstress.analyses.diagnostics.sample import Errors, Sample, effective, p_value
from fairstress.analyses.diagnostics.shape import other_scale, scales_by_group, shape_of, standardised
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array
from fairstress.model.design import Equation

FEWEST = 10  # people of equal weight in a group that a scale is told from


@dataclass(frozen=True, slots=True)
class _Scales:
    """How wide a feature's errors are along the protected attribute."""

    by_code: dict[float, float]  # of each value that people have, here or in the other world
    ratio: float  # of the widest to the narrowest; of a numeric attribute, for one standard deviation
    widest: str  # group, or end of a numeric attribute
    statistic: float
    freedom: int


def check_scale(fitted: Fitted, sample: Sample, tie: Tie, own: Errors) -> Iterator[Diagnostic]:
    """Whether a number's errors are wider in one group, or along a numeric attribute, and the CFU of that."""
    equation, claim = own.equation, fitted.claim
    if equation.law.is_ordered or equation.law.groups or not equation.uses_protected:
        return
    numeric = fitted.table.protected.levels is None
    found = _by_number(fitted, sample, own) if numeric else _by_group(fitted, sample, tie, own)
    if found is None:
        return
    codes = np.unique(np.append(claim.rows.a, claim.rows.a_cf)).tolist()
    known = equation.moves and all(found.by_code.get(code, 0.0) > 0 for code in codes)  # one person has no scale
    cfu = cfu_alone(claim, wider_by_group(claim, {equation.feature: found.by_code})) if known else None
    implied, p = tie.is_free or tie.by_protected, p_value(found.statistic, found.freedom)
    text = _scale_sentence(fitted, equation, found, cfu, None if implied else tie)
    feature = equation.feature
    yield Diagnostic(SCALE, feature, found.widest, found.ratio, p, implied, cfu, text, freedom=found.freedom)


def _by_group(fitted: Fitted, sample: Sample, tie: Tie, own: Errors) -> _Scales | None:
    """Scales by code, and Wald's statistic of their logarithms being alike, whatever the kurtosis."""
    coding, a = fitted.table.protected, sample.rows.a
    scales = scales_by_group(coding, a, own.drawn, sample.weight)
    groups = {code: a == code for code in scales}
    size = {code: effective(sample.weight[who], sample.square[who]) for code, who in groups.items()}
    enough = [code for code in coding.order if code in scales and size[code] >= FEWEST and scales[code] > 0]
    if len(enough) < 2:
        return None
    kurtosis = np.array([shape_of(own.drawn[groups[code]], sample.weight[groups[code]])[1] for code in enough])
    precision = 4 * (np.array([size[code] for code in enough]) - 1) / np.maximum(kurtosis + 2, 0.2)
    reach = tied.log_scales(fitted, sample) if tie.by_protected else np.zeros((1, len(coding.order)))
    explained = reach[:, [coding.order.index(code) for code in enough]]
    statistic = _unlike(np.log([scales[code] for code in enough]) - explained, precision).min()
    widest = max(enough, key=lambda code: scales[code])
    ratio = scales[widest] / min(scales[code] for code in enough)
    return _Scales(scales, ratio, str(coding.level(widest)), float(statistic), len(enough) - 1)


def _unlike(logs: Array, precision: Array) -> Array:
    """(rho,) the weighted sum of squares around the mean."""
    mean = logs @ precision / precision.sum()
    return np.asarray((logs - mean[:, None]) ** 2 @ precision)


def _by_number(fitted: Fitted, sample: Sample, own: Errors) -> _Scales | None:
    """``log scale = slope a`` of a numeric attribute, and the score statistic of the slope."""
    square = own.drawn**2 / np.average(own.drawn**2, weights=sample.weight)
    along = sample.residualised(sample.rows.a[:, None], np.ones((square.size, 1)))
    if not along.shape[1]:
        return None
    statistic, freedom = sample.test((square - 1)[:, None] * along)
    slope = float(sample.weight @ (along[:, 0] * square) / (sample.weight @ along[:, 0] ** 2)) / 2
    values = np.unique(np.append(fitted.claim.rows.a, fitted.claim.rows.a_cf))
    scales = dict(zip(values.tolist(), np.exp(slope * values).tolist(), strict=True))
    return _Scales(scales, float(np.exp(abs(slope))), "higher" if slope > 0 else "lower", statistic, freedom)


def _scale_sentence(fitted: Fitted, equation: Equation, found: _Scales, cfu: float | None, allowed: Tie | None) -> str:
    name, kind, coding = equation.feature, fitted.table.kinds[equation.feature], fitted.table.protected
    where = f"'{coding.name}' is {found.widest}"
    if coding.levels is None:
        where += " by one standard deviation"
    elif len(coding.levels) > 2:
        where += " as in the group where they are narrowest"
    alone = alone_words(fitted, cfu)
    head = (
        f"The errors of '{name}' are {found.ratio:.2f} times as wide where {where}{f', which {alone}' if alone else ''}"
    )
    if allowed is not None:
        return f"{head}; {tied.words(allowed)}."
    if coding.levels is None:
        return f"{head}: try another scale, such as kinds={{'{name}': '{other_scale(fitted, equation)}'}}."
    return f"{head}: try kinds={{'{name}': '{kind.word} by group'}}."


# ---------------------------------------------------------------- along the parents


def check_spread(fitted: Fitted, sample: Sample, tie: Tie, own: Errors) -> Iterator[Diagnostic]:
    """Whether a number's squared errors, each group on its own scale, depend on the parents."""
    equation, coding = own.equation, fitted.table.protected
    if own.scores is not None or not equation.parents:
        return
    rows, weight = sample.rows, sample.weight
    e = standardised(coding, rows.a, own.drawn, weight)
    groups = [rows.a == code for code in coding.codes] or [np.ones(rows.a.size)]
    Z = equation.inputs(rows.a, rows.x)[:, equation.n_protected :]
    Z = sample.residualised(Z, np.column_stack(groups).astype(float))
    if not Z.shape[1]:
        return
    statistic, freedom = sample.test((e**2 - 1)[:, None] * Z)
    share, p = sample.share(e**2 - 1, Z), p_value(statistic, freedom)
    text = _spread_sentence(fitted, equation, None if tie.is_free else tie)
    yield Diagnostic(SPREADING, equation.feature, "parents", share, p, tie.is_free, None, text, freedom=freedom)


def _spread_sentence(fitted: Fitted, equation: Equation, allowed: Tie | None) -> str:
    name = equation.feature
    head = f"How far the errors of '{name}' spread depends on its parents, so that a counterfactual keeps too much or "
    head += "too little of them"
    if allowed is not None:
        return f"{head}; {tied.words(allowed)}."
    return f"{head}: try another scale, such as kinds={{'{name}': '{other_scale(fitted, equation)}'}}."
