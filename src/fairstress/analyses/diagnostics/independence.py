"""Independences that the graph implies, tested on the errors of the equations that imply them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairstress.analyses.absorption import listed
from fairstress.analyses.diagnostics.alone import alone_words, cfu_alone, with_more_terms
from fairstress.analyses.diagnostics.finding import INDEPENDENCE, LEVEL, Diagnostic
from fairstress.analyses.diagnostics.implied import Independence, Tie, independences
from fairstress.analyses.diagnostics.sample import Sample, p_value
from fairstress.claim.build import Fitted
from fairstress.inputs.kinds import CATEGORY
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Describer
from fairstress.model.embedding import Polynomial

ROWS_A_TERM = 20  # people of equal weight for each degree of freedom


@dataclass(frozen=True, slots=True)
class Independences:
    """What was tested, and what could not be."""

    found: tuple[Diagnostic, ...]
    untested: tuple[Independence, ...]


def check_independences(fitted: Fitted, sample: Sample, ties: dict[str, Tie]) -> Independences:
    """Test every independence that the graph implies, where the equations say how."""
    found, untested = [], []
    for one in independences(fitted.graph):
        scores = _test(fitted, sample, ties, one)
        if scores is None or scores[1] * ROWS_A_TERM > sample.size:
            untested.append(one)
        elif scores[1]:
            found.append(_diagnostic(fitted, one, *scores))
    return Independences(tuple(found), tuple(untested))


def _test(fitted: Fitted, sample: Sample, ties: dict[str, Tie], one: Independence) -> tuple[float, int, float] | None:
    """Statistic, degrees of freedom and share explained; None where no equation tells how others are taken out."""
    K = columns(fitted, sample.rows, one.first)
    own = sample.errors.get(one.second)
    if one.by_parents and own is not None:
        if not ties[one.second].keeps_form:
            return None
        return *sample.added(one.second, K), sample.explained(one.second, K)
    if not one.by_parents and not _is_gaussian(fitted, one):
        return None
    B = _taken_out(fitted, sample.rows, one)
    J, K = sample.residualised(columns(fitted, sample.rows, one.second), B), sample.residualised(K, B)
    if not (J.size and K.size):
        return 0.0, 0, 0.0
    share = max(sample.share(column, K) for column in J.T)
    return *sample.test((J[:, :, None] * K[:, None, :]).reshape(len(J), -1)), share


def _taken_out(fitted: Fitted, rows: Rows, one: Independence) -> Array:
    """Functions of what is conditioned on: of the later variable's degree, or of the second where it has none."""
    describe = Describer(fitted.table)
    inputs = [variable for name in one.given for variable in describe(name)]
    Z = np.hstack([np.zeros((rows.a.size, 0)), *(columns(fitted, rows, name) for name in one.given)])
    degree = fitted.settings.degrees.get(one.second, 2)
    return Polynomial.of(inputs, degree).values(Z)


def _is_gaussian(fitted: Fitted, one: Independence) -> bool:
    """Whether all that hidden causes may tie are numbers, so that conditioning is regression."""
    tied = {end for pair in fitted.graph.pairs for end in pair}
    kinds = fitted.table.kinds
    numeric = fitted.table.protected.levels is None
    concerned = tied & {one.first, one.second, *one.given}
    return all(numeric if name == fitted.graph.protected else kinds[name].is_plain for name in concerned)


def columns(fitted: Fitted, rows: Rows, name: str) -> Array:
    """(n, q) a variable as it enters equations: itself, or an indicator for each level but the first."""
    table = fitted.table
    values = rows.a if name == table.graph.protected else rows.x[:, table.graph.features.index(name)]
    inputs = Describer(table)(name)
    return np.column_stack([values if v.level is None else (values == v.level).astype(float) for v in inputs])


# ---------------------------------------------------------------- words


def _diagnostic(fitted: Fitted, one: Independence, statistic: float, freedom: int, share: float) -> Diagnostic:
    p = p_value(statistic, freedom)
    quiet = Diagnostic(INDEPENDENCE, one.second, one.first, share, p, True, freedom=freedom)
    if p > LEVEL or not quiet.is_large:
        return quiet
    cfu = _cfu_of_edge(fitted, one)
    return replace(quiet, cfu=cfu, sentence=_sentence(fitted, one, share, cfu))


def _cfu_of_edge(fitted: Fitted, one: Independence) -> float | None:
    """The CFU that the missing edge alone makes."""
    equation = next((e for e in fitted.claim.design.equations if e.feature == one.second), None)
    graph = fitted.graph
    if equation is None or not (one.first == graph.protected or one.first in graph.reached):
        return None
    if not (equation.moves or (equation.law.is_plain and not graph.fair_edges)):
        return None  # the predictor is shown the feature as it is
    wider = replace(graph, edges=(*graph.edges, (one.first, one.second)))
    departure = with_more_terms(fitted, one.second, wider, equation.degree)
    return None if departure is None else cfu_alone(fitted.claim, departure)


def _sentence(fitted: Fitted, one: Independence, share: float, cfu: float | None) -> str:
    given = f" given {listed(one.given)}" if one.given else ""
    alone = alone_words(fitted, cfu)
    alone = f", and that edge {alone}" if alone else ""
    return (
        f"By the graph '{one.second}' has nothing to do with '{one.first}'{given}, but '{one.first}' explains "
        f"{100 * share:.2g} % of what is left{alone}: add {_repair(fitted, one)}."
    )


def _repair(fitted: Fitted, one: Independence) -> str:
    """The edge, or the pair, that lets the graph have it."""
    graph, kinds, coding = fitted.graph, fitted.table.kinds, fitted.table.protected
    edge, pair = f"the edge '{one.first} -> {one.second}'", f"the pair '{one.first} <-> {one.second}'"
    names = [name for name in (one.first, one.second) if name != graph.protected]
    categories = [name for name in names if kinds[name].name == CATEGORY]
    many = coding.levels is not None and not (coding.is_binary or coding.is_ordered)
    cannot_pair = bool(categories) or (graph.protected in (one.first, one.second) and many)
    descends = one.first == graph.protected or one.first in graph.descendants(graph.protected)
    if one.second in categories and descends:
        return f"the edge '{one.second} -> {one.first}'"
    return edge if cannot_pair else f"{edge}, or {pair} if a hidden cause is behind both"
