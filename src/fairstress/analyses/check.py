"""The check before any curve: what the free pairs can do to CFU where no penalty is in the way.

A pair, or all pairs together, either cannot matter (a proof by the rules of `fairstress.analyses.absorption`), or
moves CFU (a probe at random correlations shows it), or the probe finds 0 and no rule is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstress.analyses.absorption import Proof, listed, polynomial_of, prove
from fairstress.analyses.tabular import Shown, Tabular
from fairstress.budgets import Pairwise
from fairstress.claim.build import NO_FIT, Fitted
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import SettingError
from fairstress.functionals.cfu import CFU, evaluate_cfu
from fairstress.inputs.notation import Edge
from fairstress.inputs.rows import Array
from fairstress.model.design import Describer, Design, build_equation
from fairstress.model.embedding import Polynomial
from fairstress.model.linear import dependent_column
from fairstress.model.predictor import PolynomialPredictor
from fairstress.model.view import RawColumns, View
from fairstress.search.sets import CorrelationSet

if TYPE_CHECKING:
    from fairstress.report.text.markup import Sheet

PROBES = 5  # random correlations at which CFU is looked at
REACH = 0.7  # they are this large at most, their matrices' eigenvalues at least FLOOR: far from where fits diverge
FLOOR = 0.1
STILL = 1e-9  # of Model A's CFU: a change below this is rounding
STILL_MIXED = 1e-8  # the same where fits go by steps over the rows and stop a little before the optimum
OBSTACLES = 4  # sentences about what stands in the way of a proof


class Verdict(StrEnum):
    """What some pairs can do to CFU at structural penalty 0.

    Examples
    --------
    >>> [str(verdict) for verdict in Verdict]
    ['cannot matter', 'moves CFU', 'no rule known']
    """

    CANNOT_MATTER = "cannot matter"  # proved, for every correlation of these pairs
    MOVES = "moves CFU"  # seen
    NO_RULE = "no rule known"  # the probe finds 0, or cannot be made


@dataclass(frozen=True, slots=True)
class Finding(Shown):
    """The verdict on some pairs, free together and all others at 0.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> finding = audit.check().together
    >>> finding.pairs, str(finding.verdict)
    ((('a', 'x'),), 'moves CFU')
    """

    pairs: tuple[Edge, ...]  # those that are free
    verdict: Verdict  # what they can do
    reason: str  # the proof, or what stands in its way
    cfu: float | None  # of the probes, at penalty 0, the farthest from Model A's; None where nothing was probed
    correlation: dict[Edge, float] = field(hash=False)  # where it was found
    advice: str  # degrees with which the pairs could not matter, where there are such
    cfu_model_a: float = 0.0  # under Model A, at penalty 0: not 0 for raw columns or expected errors; NaN if not known

    def __repr__(self) -> str:
        pairs = ", ".join(" <-> ".join(pair) for pair in self.pairs[:3]) + ", ..." * (len(self.pairs) > 3)
        return f"<Finding on {pairs}: {self.verdict}>"


@dataclass(frozen=True, slots=True)
class Check(Tabular):
    """What the free pairs can do to CFU at structural penalty 0, together and each alone.

    Pairs that are harmless alone can matter together.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; x <-> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> found = audit.check()
    >>> found.together.verdict
    <Verdict.MOVES: 'moves CFU'>
    >>> print(found.to_frame()[["pairs", "verdict"]].to_string(index=False))
               pairs       verdict
    a <-> x, x <-> z     moves CFU
             a <-> x     moves CFU
             x <-> z cannot matter
    """

    together: Finding  # all pairs
    alone: tuple[Finding, ...]  # each pair
    outcome_variance: float  # NaN where CFU is not in its units

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All pairs together, then each alone; one pair is said once."""
        return (self.together, *self.alone) if len(self.alone) > 1 else self.alone

    def to_frame(self) -> pd.DataFrame:
        """One row per finding, with a column per pair: the correlation at which CFU was found."""
        rows = [
            {
                "pairs": ", ".join(" <-> ".join(pair) for pair in f.pairs),
                "verdict": str(f.verdict),
                "cfu_unpenalised": np.nan if f.cfu is None else f.cfu,
                "reason": f.reason,
                "advice": f.advice,
                **{" <-> ".join(pair): f.correlation.get(pair, np.nan) for pair in self.together.pairs},
            }
            for f in self.findings
        ]
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Say in prose what can and what cannot matter, and why."""
        from fairstress.report.text.results import check_summary

        return check_summary(self)

    def _sheet(self) -> Sheet:
        from fairstress.report.text.tables import check_table

        return check_table(self)

    def __repr__(self) -> str:
        pairs = f"{len(self.together.pairs)} pair{'s' * (len(self.together.pairs) > 1)}"
        return f"<Check of {pairs}: {self.together.verdict}; summary() says more>"


def check(fitted: Fitted) -> Check:
    """Give the verdict on all free pairs together and on each alone."""
    pairs = fitted.graph.pairs
    if not pairs:
        raise SettingError(
            "the graph names no pair of features, so that there is nothing to check: add 'a <-> b' for errors that may "
            "share a hidden cause"
        )
    together = _finding(fitted, pairs)
    alone = (together,) if len(pairs) == 1 else tuple(_alone(fitted, pair, together) for pair in pairs)
    return Check(together, alone, fitted.context.outcome_variance)


def absorbed(fitted: Fitted) -> tuple[Edge, ...]:
    """The pairs that are proved not to matter, each alone and all of these together; nothing is probed."""
    alone = tuple(pair for pair in fitted.graph.pairs if _is_absorbed(fitted, (pair,)))
    return alone if _is_absorbed(fitted, alone) else ()


def _is_absorbed(fitted: Fitted, pairs: tuple[Edge, ...]) -> bool:
    return not _outside_the_rules(fitted, pairs) and _prove(fitted, fitted.claim.design, pairs).is_complete


# ---------------------------------------------------------------- one finding


def _finding(fitted: Fitted, pairs: tuple[Edge, ...]) -> Finding:
    """Prove, or else probe."""
    refusal = _outside_the_rules(fitted, pairs)
    proof = None if refusal else _prove(fitted, fitted.claim.design, pairs)
    if proof and proof.is_complete:
        base = _under_model_a(fitted, fitted.unpenalised)
        return Finding(pairs, Verdict.CANNOT_MATTER, " ".join(proof.sentences), None, {}, "", base)
    reason = _few(proof.obstacles) if proof else refusal
    advice = _advice(fitted, pairs) if proof else ""
    if fitted.unpenalised is None:
        reason += f" CFU cannot be probed: {NO_FIT}."
        return Finding(pairs, Verdict.NO_RULE, reason.strip(), None, {}, advice)
    claim = fitted.unpenalised
    values, points = _probe(fitted, claim, pairs)
    base = _under_model_a(fitted, claim)
    farthest = int(np.argmax(np.abs(np.array(values) - base)))
    still = STILL_MIXED if claim.is_mixed else STILL
    moves = abs(values[farthest] - base) > fitted.context.negligible + still * base
    where = dict(zip(pairs, points[farthest].tolist(), strict=True))
    return Finding(pairs, Verdict.MOVES if moves else Verdict.NO_RULE, reason, values[farthest], where, advice, base)


def _under_model_a(fitted: Fitted, claim: Claim | None) -> float:
    """CFU with independent errors at penalty 0: 0, but for raw columns, expected errors and people held out.

    NaN if not known.
    """
    if not (isinstance(fitted.claim.view, RawColumns) or fitted.claim.is_mixed or fitted.training):
        return 0.0
    if claim is None:
        return np.nan
    cfu = evaluate_cfu(claim, claim.model_a.correlation).value
    return cfu if cfu > fitted.context.negligible else 0.0


def _few(sentences: Sequence[str]) -> str:
    """The first sentences of many."""
    more = len(sentences) - OBSTACLES
    return " ".join([*sentences[:OBSTACLES], *([f"There are {more} more such gaps."] if more > 0 else [])])


def _alone(fitted: Fitted, pair: Edge, together: Finding) -> Finding:
    """The verdict on one pair: what holds for every correlation of all pairs holds where the others are 0."""
    if together.verdict is Verdict.CANNOT_MATTER:
        return replace(together, pairs=(pair,))
    return _finding(fitted, (pair,))


def _outside_the_rules(fitted: Fitted, pairs: Sequence[Edge]) -> str:
    """Say why the rules do not speak of these pairs; nothing where they do."""
    protected = fitted.graph.protected
    if isinstance(fitted.claim.view, RawColumns):
        return "The rules are about predictors on residuals; this one looks at the columns themselves."
    if any(protected in pair for pair in pairs):
        return f"The rules assume that {protected} shares no hidden cause with a feature; here it may."
    if fitted.graph.fair_edges:
        return f"The rules are about the total effect of {protected}, not about single paths."
    claim = fitted.claim
    for equation, where in zip(claim.design.equations, claim.design.slices, strict=True):
        G = claim.gram[where, where]
        empty = np.flatnonzero(np.diag(G) == 0)  # a level that nobody has together with another
        column = int(empty[0]) if empty.size else dependent_column(G)
        if column is not None:
            term = equation.embedding.terms[column]
            return f"The term '{term}' of {equation.feature}'s equation is determined by its other terms."
    return ""


def _prove(fitted: Fitted, design: Design, pairs: Sequence[Edge]) -> Proof:
    features = fitted.graph.features
    used = used_residuals(fitted.unpenalised or fitted.claim, features)
    return prove(design, fitted.graph.protected, pairs, used, features)


def used_residuals(claim: Claim, features: Sequence[str]) -> frozenset[str]:
    """Features with a weight, not exactly 0, on some term of their residual; all, for a predictor of unknown form."""
    predictor, view = claim.predictor, claim.view
    if not (isinstance(predictor, PolynomialPredictor) and isinstance(view, View)):
        return frozenset(features)
    terms = zip(predictor.embedding.exponents, predictor.weights.tolist(), strict=True)
    shown = {k for e, theta in terms if theta != 0 for k, power in enumerate(e) if power}
    return frozenset(features[view.entries[k].column] for k in shown)


def _probe(fitted: Fitted, claim: Claim, pairs: Sequence[Edge]) -> tuple[list[float], Array]:
    """CFU at a few correlations of these pairs, and these."""
    position = fitted.variables.index
    ends = tuple((position(a), position(b)) for a, b in pairs)
    reach = np.full(len(ends), REACH)
    members = CorrelationSet(Pairwise(FLOOR), REACH, ends, len(fitted.variables), -reach, reach, FLOOR)
    points = members.scan(PROBES, np.random.default_rng(fitted.settings.random_state or 0))
    return [e.value for e in evaluate_many(claim, members.matrix(points), CFU())], points


# ---------------------------------------------------------------- advice


def _advice(fitted: Fitted, pairs: Sequence[Edge]) -> str:
    """Name the degrees with which the pairs could not matter, the fewest changes first."""
    equations = fitted.claim.design.equations
    if any(polynomial_of(e) is None for e in equations):
        return ""
    tied = [e for e in equations if any(e.feature in pair for pair in pairs)]
    highest = max(e.degree + bool(e.law.groups) for e in tied)  # by group is as much as one more power of A
    for changes in _higher_degrees({e.feature: e.degree for e in tied}, highest):
        if _prove(fitted, _with_degrees(fitted, changes), pairs).is_complete:
            raised = listed(f"degree {degree} for {name}" for name, degree in changes.items())
            noun = "this pair" if len(pairs) == 1 else "these pairs"
            return f"With {raised} {noun} could not matter."
    return ""


def _higher_degrees(degrees: dict[str, int], highest: int) -> Iterator[dict[str, int]]:
    """One feature's degree raised, as far as the highest; then degrees that never fall along the order."""
    for name, degree in degrees.items():
        for higher in range(degree + 1, highest + 1):
            yield {name: higher}
    nested = np.maximum.accumulate(list(degrees.values())).tolist()
    changed = {name: d for name, d in zip(degrees, nested, strict=True) if d != degrees[name]}
    if len(changed) > 1:
        yield changed


def _with_degrees(fitted: Fitted, changes: dict[str, int]) -> Design:
    """The design with some equations' degrees changed."""
    describe = Describer(fitted.table)
    return Design.of(
        [
            build_equation(fitted.graph, e.feature, changes[e.feature], describe, Polynomial.of)
            if e.feature in changes
            else e
            for e in fitted.claim.design.equations
        ]
    )
