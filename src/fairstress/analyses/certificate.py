"""How much larger than the worst case that was found the true one can be: by subdivision, proved or estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstress.analyses.tabular import Shown
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.arguments import is_positive, whole_number
from fairstress.claim.build import Fitted
from fairstress.errors import SettingError, show
from fairstress.functionals.cfu import CFU
from fairstress.progress import Progress
from fairstress.search.branching import Bounds, Cell, Cover, Estimated, Proved, cover, grid, whole
from fairstress.search.problem import Problem
from fairstress.search.sets import CorrelationSet
from fairstress.search.upper import why_not_proved
from fairstress.threads import one_thread

MOST_PAIRS = 3  # whose correlations may vary
CELLS = 20_000  # to look at, unless asked for others
SAFETY = 2.0  # how much faster than seen a derivative may change elsewhere, in an estimate
SMALL = 1e-6  # of the outcome's variance: a bound below it ends the subdivision
TINY = 1e-6  # half the side of a box within which Model B must be enclosed before any other is tried


@dataclass(frozen=True, slots=True, eq=False)
class Certificate(Shown):
    """How large CFU can be within a budget: the largest that was found, and a bound that is proved or estimated.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> certificate = audit.certificate(0.2)
    >>> certificate.proved, certificate.found <= certificate.at_most <= 1.01 * certificate.found
    (True, True)
    """

    worst_case: WorstCase  # what the search found
    found: float  # the largest CFU that was met, by the search or in the middle of a cell
    at_most: float | None  # no CFU within the budget is larger: proved; None where nothing is
    estimated: float | None  # what CFU hardly exceeds, where nothing is proved; otherwise None
    gap: float  # that was asked for, relative to found
    cells: int  # into which the budget was divided on the way, each with one fit or more
    why_not: str = ""  # why nothing is proved
    safety: float | None = None  # of an estimate: how much faster than was seen derivatives may change elsewhere

    @property
    def proved(self) -> bool:
        """Whether the bound is proved."""
        return self.at_most is not None

    @property
    def bound(self) -> float:
        """The bound, be it proved or estimated."""
        return float(self.estimated if self.at_most is None else self.at_most)  # type: ignore[arg-type]

    @property
    def is_close(self) -> bool:
        """Whether the bound came as close to what was found as was asked for."""
        return self.bound <= self.found * (1 + self.gap)

    def summary(self) -> str:
        """Say in prose what was found, and how much larger the truth can be."""
        from fairstress.report.text.certificate import certificate_summary

        return certificate_summary(self)

    def __repr__(self) -> str:
        word = "at most" if self.proved else "estimated below"
        return f"<Certificate: CFU {self.found:.4g} found, {word} {self.bound:.4g}; summary() says more>"


def certificate(
    fitted: Fitted, solve: Solver, p_max: float, gap: Any, cells: Any, progress: Progress | None = None
) -> Certificate:
    """Divide a budget on pairs until the largest bound of a cell is within a gap of the worst case found."""
    if not (is_positive(gap) and gap < 1):
        raise SettingError(f"gap is {show(gap)}: give a number above 0 and below 1, such as 0.01 for 1 %")
    most, problem = whole_number(cells, "cells"), _problem(solve, p_max)
    worst = solve(p_max)
    with one_thread:
        reason, bounds, start = _bounds(problem)
        enough = SMALL * fitted.context.outcome_variance
        target = max(worst.value, enough / (1 + gap)) if np.isfinite(enough) else worst.value
        found = _cover(bounds, start, target, float(gap), most, progress)
    best = max(worst.value, found.best) if found.best > target else worst.value
    proved = not reason
    return Certificate(
        worst_case=worst,
        found=best,
        at_most=found.bound if proved else None,
        estimated=None if proved else found.bound,
        gap=float(gap),
        cells=found.cells,
        why_not=reason,
        safety=None if proved else SAFETY,
    )


def _problem(solve: Solver, p_max: float) -> Problem:
    """The one set that is to be divided."""
    problems = solve.problems(p_max)
    members = problems[0].members
    if not isinstance(members, CorrelationSet):
        raise SettingError(
            f"budget is '{solve.budget}': a certificate is for budgets on pairs, give 'pairwise' or 'spectral'"
        )
    free = int((members.high > members.low).sum())
    if free > MOST_PAIRS:
        raise SettingError(
            f"{free} pairs are free: a certificate is for at most {MOST_PAIRS}; fix others by "
            "budget=Pairwise(bounds={pair: (0, 0)})"
        )
    return problems[0]


def _bounds(problem: Problem) -> tuple[str, Bounds, list[Cell]]:
    """What bounds cells, and where to begin; the reason why nothing can be proved, if so."""
    members = problem.members
    free = members.high > members.low
    low, high = members.low[free], members.high[free]
    reason = why_not_proved(problem.claim) or ("" if type(problem.functional) is CFU else "it is not CFU of everyone")
    if not reason:
        proved = Proved.of_problem(problem)
        centre = members.centre()[free]
        if np.isfinite(proved.look(centre, np.full(centre.size, TINY), None).bound):
            return "", proved, whole(proved, low, high)
        reason = "the penalty is so large that a second minimum of the fit cannot be ruled out"
    estimated = Estimated(problem, SAFETY)
    return reason, estimated, grid(estimated, low, high)


def _cover(bounds: Bounds, start: list[Cell], target: float, gap: float, most: int, progress: Progress | None) -> Cover:
    watch = (lambda count: progress(count, max(count, most))) if progress else None
    return cover(bounds, start, target, gap, most, watch)
