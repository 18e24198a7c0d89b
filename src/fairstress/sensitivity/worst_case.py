"""What a search within a budget found, in the analyst's terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, Status
from fairstress.inputs.rows import Array
from fairstress.sensitivity.ascent import ascent
from fairstress.sensitivity.budget import Budget
from fairstress.sensitivity.claim import Claim, whole_number
from fairstress.sensitivity.functional import Functional
from fairstress.sensitivity.search import search
from fairstress.sensitivity.tabled import Tabled
from fairstress.sensitivity.task import Found, Search

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.report.markup import Sheet

METHODS = {"search": search, "ascent": ascent}
SCAN = 128  # points of a search's scan


@dataclass(frozen=True, slots=True)
class WorstCase(Tabled):
    """The most unfair correlation found within one budget, or the extreme of another functional.

    ``n_agreeing`` of ``n_starts`` ascents ended within 0.1 % of the value; ``scan_value`` is the best value on points
    spread over the whole set, which no ascent has touched.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; x <-> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> worst = audit.worst_case(0.2)
    >>> round(worst.value, 4)
    0.335
    >>> worst.correlation.round(2)
         a    x    z
    a  1.0 -0.2  0.0
    x -0.2  1.0 -0.2
    z  0.0 -0.2  1.0
    >>> print(worst.status)
    The computation converged.
    >>> lowest, highest = audit.bounds(audit.total_effect("z"), 0.2)  # records of the same kind
    >>> print(f"{lowest.value:.2f} to {highest.value:.2f}")
    -1.15 to -0.60
    """

    functional: str  # "CFU" or what was asked for
    direction: str  # "largest" or "smallest"
    value: float  # CFU: squared units of the outcome
    p_max: float
    budget: str  # "pairwise" or "spectral"
    floor: float  # least eigenvalue that the budget allows
    correlation: pd.DataFrame  # (m, m)
    pairs: tuple[tuple[str, str], ...]  # the free ones
    log_likelihood: float  # of Model B there; beside Model A's it tells whether the data object
    log_likelihood_drop: float  # Model A's less Model B's
    min_eigenvalue: float
    status: Status
    n_starts: int
    n_agreeing: int
    scan_value: float
    scan_correlation: pd.DataFrame
    reflects_threshold: bool = False  # whether the likelihood rests on the threshold of a two-valued attribute too

    def to_frame(self) -> pd.DataFrame:
        """One row, with a column per pair."""
        return pd.DataFrame(
            [
                {
                    "p_max": self.p_max,
                    "value": self.value,
                    "log_likelihood": self.log_likelihood,
                    "log_likelihood_drop": self.log_likelihood_drop,
                    "min_eigenvalue": self.min_eigenvalue,
                    "status": str(self.status),
                    **{f"{a} <-> {b}": self.correlation[a][b] for a, b in self.pairs},
                }
            ]
        )

    def summary(self) -> str:
        """Say in prose what was found and how sure that is."""
        from fairstress.report.summary import worst_case_summary

        return worst_case_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ``correlation`` as a heat map. Needs the extra ``plot``."""
        from fairstress.report.plots import plot_worst_case

        return plot_worst_case(self, ax)

    def __repr__(self) -> str:
        where = f"{self.budget} budget, p_max = {self.p_max:g}"
        return f"<WorstCase: {self.direction} {self.functional} {self.value:.4g}, {where}; summary() says more>"

    def _sheet(self) -> Sheet:
        from fairstress.report.tables import worst_case_table

        return worst_case_table(self)


@dataclass(frozen=True, slots=True)
class Solver:
    """Finds the worst case of one functional for any p_max."""

    claim: Claim
    variables: tuple[str, ...]
    make_budget: Callable[[float], Budget]
    functional: Functional
    sign: float  # +1 for the largest value, -1 for the smallest
    starts: int
    method: str  # "search" or "ascent"
    seed: int | None
    negligible: float
    along_line: dict[int, float] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, p_max: float, smaller: Sequence[WorstCase] = ()) -> WorstCase:
        """Search within p_max, starting also from smaller budgets' solutions."""
        if self.method not in METHODS:
            raise SettingError(f"method is {self.method!r}: give 'search' or 'ascent'")
        budget = self.make_budget(p_max)
        inherited = [budget.point(point.correlation.to_numpy()) for point in smaller]
        starts = whole_number(self.starts, "starts")
        task = Search(
            self.claim,
            budget,
            self.functional,
            self.sign,
            starts,
            SCAN,
            self.negligible,
            along_line=self.along_line,
        )
        found = METHODS[self.method](task, inherited, np.random.default_rng(self.seed))
        return _named(found, task, self.variables)


def _named(found: Found, task: Search, variables: tuple[str, ...]) -> WorstCase:
    """Put names to what a search found."""
    budget = task.budget

    def named(p: Array) -> pd.DataFrame:
        return pd.DataFrame(budget.matrix(p), index=list(variables), columns=list(variables))

    fitted = found.evaluation.fit
    return WorstCase(
        functional=task.functional.name,
        direction="largest" if task.sign > 0 else "smallest",
        value=found.evaluation.value,
        p_max=budget.p_max,
        budget=budget.kind,
        floor=budget.floor,
        correlation=named(found.p),
        pairs=tuple((variables[j], variables[k]) for j, k in budget.pairs),
        log_likelihood=fitted.log_likelihood,
        log_likelihood_drop=task.claim.model_a.log_likelihood - fitted.log_likelihood,
        min_eigenvalue=float(budget.smallest_eigenvalue(found.p)),
        status=found.status,
        n_starts=found.n_starts,
        n_agreeing=found.n_agreeing,
        scan_value=found.scan_value,
        scan_correlation=named(found.scan_p),
        reflects_threshold=task.claim.has_threshold and bool(fitted.correlation[0, 1:].any()),
    )
