"""What one hidden cause can do, for each share of the protected attribute's error and of the features' errors.

The picture that users of sensemakr know: how strong must the cause be on one side, given how strong it is on the other?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.analyses.tabular import Tabular
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.budgets import SingleCause
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Context, read_baseline
from fairstress.errors import SettingError
from fairstress.functionals.cfu import evaluate_cfu
from fairstress.functionals.relative import RelativeCFU
from fairstress.inputs.rows import Array
from fairstress.options import Search
from fairstress.progress import Progress, Steps
from fairstress.search.sets import read_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.report.text.markup import Sheet

ATTRIBUTE = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
FEATURES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
QUICK = Search(starts=2)  # neighbouring cells have shown where to look

Cell = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class CauseContour(Tabular):
    """The worst case of one hidden cause for each pair of shares that it may explain. Made by `Audit.cause_contour`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; x <-> z; a <-> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> found = audit.cause_contour([0.01, 0.5], [0.01, 0.1])
    >>> shown = found.to_frame()[["attribute_share", "feature_share", "cfu", "baseline_cfu", "as_unfair"]]
    >>> print(shown.round(3).to_string(index=False))
     attribute_share  feature_share   cfu  baseline_cfu  as_unfair
                0.01           0.01 0.002         0.110      False
                0.50           0.01 0.079         0.332       True
                0.01           0.10 0.015         0.172      False
                0.50           0.10 0.776         1.401       True
    """

    protected: str
    baseline: str  # the one that CFU is compared with
    attribute_shares: Array  # (g,) the largest share of the protected attribute's error
    feature_shares: Array  # (h,) the largest share of any other error
    cfu: Array  # (h, g) the largest CFU, squared units of the outcome
    baseline_cfu: Array  # (h, g) of the baseline at the same correlation
    excess: Array  # (h, g) the largest CFU less the baseline's, both at one correlation
    worst: tuple[WorstCase, ...]  # (h * g,) what was found, row by row
    context: Context  # what CFU is compared with

    @property
    def as_unfair(self) -> Any:
        """(h, g) whether some cause makes the predictor as unfair as the baseline at the same correlation."""
        return self.excess >= 0

    def to_frame(self) -> pd.DataFrame:
        """One row per pair of shares, with a column per pair of variables for the worst correlation."""
        attribute, features = np.meshgrid(self.attribute_shares, self.feature_shares)
        pairs = {
            f"{a} <-> {b}": [float(worst.correlation[a][b]) for worst in self.worst] for a, b in self.worst[0].pairs
        }
        return pd.DataFrame(
            {
                "attribute_share": attribute.ravel(),
                "feature_share": features.ravel(),
                "cfu": self.cfu.ravel(),
                "baseline_cfu": self.baseline_cfu.ravel(),
                "excess": self.excess.ravel(),
                "as_unfair": self.as_unfair.ravel(),
                "status": [str(worst.status) for worst in self.worst],
                **pairs,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw CFU as a map, with the line from which on the predictor can be as unfair as the baseline.

        Parameters
        ----------
        ax
            Where to draw, default new Axes.
        """
        from fairstress.report.plots.contours import plot_cause_contour

        return plot_cause_contour(self, ax)

    def __repr__(self) -> str:
        size = f"{self.attribute_shares.size} by {self.feature_shares.size} shares"
        return f"<CauseContour of {self.protected}: {size}, CFU up to {self.cfu.max():.4g}; to_frame() has them>"

    def _sheet(self) -> Sheet:
        from fairstress.report.text.tables import cause_contour_table

        return cause_contour_table(self)


def cause_contour(
    fitted: Fitted,
    attribute_shares: Any,
    feature_shares: Any,
    baseline: str | None,
    search: Any,
    random_state: Any,
    progress: Progress | None = None,
) -> CauseContour:
    """Search the causes with each two shares, setting out from what neighbours have found."""
    protected = fitted.graph.protected
    if not any(protected in pair for pair in fitted.graph.pairs):
        raise SettingError(
            f"'{protected}' stands in no pair of the graph, so that no hidden cause acts on it: add a pair such as "
            f"'{protected} <-> {fitted.graph.features[0]}', or ask curve(..., budget='single cause')"
        )
    name = "blind" if baseline is None else baseline
    compared = read_baseline(name, fitted.context.baseline_claims)
    attribute = read_sizes(ATTRIBUTE if attribute_shares is None else attribute_shares, "attribute_shares", "a share")
    features = read_sizes(FEATURES if feature_shares is None else feature_shares, "feature_shares", "a share")
    solve = Solver.of(fitted, SingleCause(), QUICK if search is None else search, random_state)
    relative = RelativeCFU(compared, f"CFU less that of the baseline {name}")
    less = replace(solve, functional=relative, negligible=-np.inf, along_line={}, known={})
    steps, shape = Steps(2 * len(attribute) * len(features), progress), (len(features), len(attribute))
    worst = _cells(solve, protected, attribute, features, steps)
    excess = [one.value for one in _cells(less, protected, attribute, features, steps)]
    beside = [evaluate_cfu(compared, one.correlation.to_numpy()).value for one in worst]
    steps.finish()
    return CauseContour(
        protected=protected,
        baseline=name,
        attribute_shares=np.array(attribute),
        feature_shares=np.array(features),
        cfu=np.array([one.value for one in worst]).reshape(shape),
        baseline_cfu=np.array(beside).reshape(shape),
        excess=np.array(excess).reshape(shape),
        worst=worst,
        context=fitted.context,
    )


def _cells(
    solve: Solver, protected: str, attribute: list[float], features: list[float], steps: Steps
) -> tuple[WorstCase, ...]:
    """The worst case of each cell, row by row; what is found with smaller shares is allowed with larger ones."""
    found: dict[Cell, WorstCase] = {}
    solve.explore(max(attribute[-1], features[-1]))
    for i, j in _order(len(features), len(attribute)):
        budget = SingleCause(caps={protected: attribute[j]})
        smaller = [found[cell] for cell in ((i - 1, j), (i, j - 1)) if cell in found]
        own = replace(solve, budget=budget)(features[i], smaller)
        best = max([own, *smaller], key=lambda one: one.value)
        found[i, j] = best if best is own else replace(best, p_max=own.p_max, budget=own.budget, floor=own.floor)
        steps()
    return tuple(found[cell] for cell in _order(len(features), len(attribute)))


def _order(h: int, g: int) -> Iterator[Cell]:
    return ((i, j) for i in range(h) for j in range(g))
