"""What an equation may lack: interactions with the protected attribute, higher powers and products of the parents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fairstress.analyses.diagnostics import tied
from fairstress.analyses.diagnostics.alone import alone_words, cfu_alone, with_more_terms
from fairstress.analyses.diagnostics.finding import CURVATURE, INTERACTION, LEVEL, Diagnostic
from fairstress.analyses.diagnostics.implied import Tie
from fairstress.analyses.diagnostics.sample import Errors, Sample, p_value
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array
from fairstress.model.design import Describer, Equation, build_equation
from fairstress.model.fit import Mask

MOST_TERMS = 60  # of an equation of one degree more
ROWS_A_TERM = 20  # people of equal weight for each term that is tried


def check_form(fitted: Fitted, sample: Sample, tie: Tie, own: Errors) -> Iterator[Diagnostic]:
    """Whether terms of one degree more would add to an equation, those with the protected attribute apart."""
    richer = _richer(fitted, own.equation)
    if richer is None:
        return
    terms = richer.values(sample.rows.a, sample.rows.x)
    with_own = _involves_protected(fitted, sample, richer) & (not own.equation.law.groups)
    for check, which in ((INTERACTION, with_own), (CURVATURE, ~with_own)):
        Z, beside = (sample.residualised(terms[:, some], own.phi) for some in (which, ~which))
        if not Z.shape[1] or (Z.shape[1] + beside.shape[1]) * ROWS_A_TERM > sample.size:
            continue
        feature = own.equation.feature
        statistic, freedom = sample.added(feature, Z, beside)
        p, share = p_value(statistic, freedom), sample.explained(feature, Z, beside)
        about = _strongest(sample, own, richer, terms, which, beside)
        one = Diagnostic(check, feature, about, share, p, tie.keeps_form, freedom=freedom)
        yield replace(one, **_consequence(fitted, one, tie, own.equation)) if one.is_large and p < LEVEL else one


def _richer(fitted: Fitted, equation: Equation) -> Equation | None:
    """The equation with one degree more; None where it has no parents, or too many terms."""
    describe, degree = Describer(fitted.table), equation.degree + 1
    entering = describe.entering(equation.feature)
    if not entering or math.comb(len(entering) + degree, degree) > 2 * MOST_TERMS:
        return None
    richer = build_equation(fitted.graph, equation.feature, degree, describe, fitted.settings.embedding)
    return richer if len(richer.embedding.terms) <= MOST_TERMS else None


def _involves_protected(fitted: Fitted, sample: Sample, equation: Equation) -> Mask:
    """Which terms change with the protected attribute, all else as it is."""
    rows = sample.rows
    codes = fitted.table.protected.codes or (-1.0, 0.5)  # of a number, two whose powers all differ
    some = slice(0, 200)
    values = [equation.values(np.full(rows.a[some].size, code), rows.x[some]) for code in codes]
    return np.asarray(np.any([np.abs(v - values[0]).max(axis=0) > 0 for v in values], axis=0))


def _strongest(sample: Sample, own: Errors, richer: Equation, terms: Array, which: Mask, beside: Array) -> str:
    """The term that would add most by itself."""
    found = []
    for name, column in zip(np.array(richer.embedding.terms)[which], terms.T[which], strict=True):
        left = sample.residualised(column[:, None], own.phi)
        if left.shape[1]:
            found.append((sample.added(own.equation.feature, left, beside)[0], str(name)))
    return max(found, default=(0.0, ""))[1]


def _consequence(fitted: Fitted, one: Diagnostic, tie: Tie, equation: Equation) -> dict[str, Any]:
    """The CFU that the missing terms alone make, and the sentence."""
    name, degree, kind = equation.feature, equation.degree + 1, fitted.table.kinds[equation.feature]
    departure = with_more_terms(fitted, name, fitted.graph, degree) if equation.moves else None
    cfu = None if departure is None else cfu_alone(fitted.claim, departure)
    protected = fitted.graph.protected
    head = f"The equation of '{name}' lacks {one.about}"
    if one.check == INTERACTION:
        head = f"What causes '{name}' acts differently with '{protected}', but its equation lacks {one.about}"
    words = alone_words(fitted, cfu)
    head += f", which {words}" if words else ""
    if not tie.keeps_form:
        return {"cfu": cfu, "sentence": f"{head}; {tied.words(tie)}."}
    by_group = one.check == INTERACTION and kind.is_number and not kind.by_group
    by_group = by_group and fitted.table.protected.levels is not None
    other = f" or kinds={{'{name}': '{kind.word} by group'}}" if by_group else ""
    return {"cfu": cfu, "sentence": f"{head}: try degrees={{'{name}': {degree}}}{other}."}
