"""The frontier: accuracy against the worst-case CFU within a budget, for several weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.analyses.robust.cuts import TOLERANCE, CuttingPlanes, RobustPredictor, read_weights
from fairstress.analyses.tabular import Shown, Tabular
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Baseline
from fairstress.progress import Progress, Steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.report.text.markup import Sheet

WEIGHTS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
PASSES = 3  # over all weights, with the cuts that the others have found


@dataclass(frozen=True, slots=True, eq=False)
class BaselinePoint(Shown):
    """A baseline, and how unfair it is at worst within the same budget.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> point = audit.frontier(0.3, [1]).baselines[1]
    >>> point.baseline.name, round(point.worst_case.value, 2)
    ('blind', 1.16)
    """

    baseline: Baseline  # which one
    worst_case: WorstCase  # its own, within the same budget

    def __repr__(self) -> str:
        return f"<BaselinePoint {self.baseline.name}: R2 {self.baseline.r2:.4g}, worst CFU {self.worst_case.value:.4g}>"


@dataclass(frozen=True, slots=True, eq=False)
class Frontier(Tabular):
    """Robust predictors for growing weights, the fair predictor first, and the baselines beside them.

    Both the worst-case CFU and R2 never rise with the weight, up to the tolerance of 0.1 % on the worst case.
    ``cuts`` are the correlations against which all predictors were made.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> frontier = audit.frontier(0.3, [1, 10])
    >>> round(frontier.fair.cfu, 3)
    0.628
    >>> for point in frontier.points[1:]:
    ...     print(f"{point.weight:g}: R2 {point.r2:.3f}, worst {point.cfu:.4f}, shrunk {frontier.shrunk(point):.4f}")
    1: R2 0.746, worst 0.4068, shrunk 0.4340
    10: R2 0.472, worst 0.0535, shrunk 0.0915
    """

    points: tuple[RobustPredictor, ...]  # from weight 0 on
    baselines: tuple[BaselinePoint, ...]  # with their own worst cases
    cuts: tuple[pd.DataFrame, ...]  # (m, m) each
    outcome_variance: float  # NaN where CFU is not in its units
    explained: str = "R2"  # what accuracy is: "deviance explained" for a two-valued outcome

    @property
    def fair(self) -> RobustPredictor:
        """The audited predictor: weight 0."""
        return self.points[0]

    def shrunk(self, point: RobustPredictor) -> float:
        """Worst-case CFU of the fair predictor drawn towards its mean until its R2 is that of a point.

        Parameters
        ----------
        point
            One of ``points``.
        """
        return point.shrinkage**2 * self.fair.cfu if point.weight else self.fair.cfu

    def to_frame(self) -> pd.DataFrame:
        """One row per predictor.

        Columns
        -------
        predictor, weight
            ``fair``, ``robust``, or a baseline's name; the weight is missing for baselines.
        r2
            In-sample share of the variance explained, of the deviance for a two-valued outcome.
        unfairness
            The worst-case CFU within the budget.
        distance
            Of a baseline: its mean squared distance from the fair predictor, the paper's unfairness.
        shrunk
            The worst-case CFU of the fair predictor drawn towards its mean until it has the same R2: the cheap way.
        gap, rounds, status
            How far the objective can be from its minimum, the searches it took, and how the last one ended.
        a <-> b
            The correlation of each pair at the worst case.
        """
        return pd.DataFrame([*map(self._row, self.points), *map(_baseline_row, self.baselines)])

    def summary(self) -> str:
        """Say in prose what accuracy buys."""
        from fairstress.report.text.frontier import frontier_summary

        return frontier_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw accuracy over the worst-case CFU. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Where to draw, default new Axes.
        """
        from fairstress.report.plots.frontier import plot_frontier

        return plot_frontier(self, ax)

    def __repr__(self) -> str:
        worst = self.fair.worst_case
        where = f"{worst.budget} budget, p_max = {worst.p_max:g}"
        return f"<Frontier of {len(self.points)} predictors, {where}; summary() says more>"

    def _sheet(self) -> Sheet:
        from fairstress.report.text.tables import frontier_table

        return frontier_table(self)

    def _row(self, point: RobustPredictor) -> dict[str, object]:
        return {
            "predictor": "robust" if point.weight else "fair",
            "weight": point.weight,
            "r2": point.r2,
            "unfairness": point.cfu,
            "distance": np.nan,
            "shrunk": self.shrunk(point),
            "gap": point.gap,
            "rounds": point.rounds,
            "status": str(point.status),
            **_pairs(point.worst_case),
        }


def frontier(fitted: Fitted, p_max: float, weights: Any, solver: Solver, progress: Progress | None = None) -> Frontier:
    """Solve for each weight; the cuts of one serve the next."""
    chosen = read_weights(weights)
    planes = CuttingPlanes.of(fitted, p_max, solver)
    points = [planes.solve(weight) for weight in Steps(len(chosen), progress).each(chosen)]
    for _ in range(PASSES):  # a later weight's search may have found a P that an earlier one's missed
        points = [planes.solve(point.weight) if _is_beaten(planes, point) else point for point in points]
    baselines = tuple(BaselinePoint(b, planes.worst_case(b.claim)) for b in fitted.baselines.values())
    cuts = tuple(cut.worst.correlation for cut in planes.cuts)
    return Frontier(tuple(points), baselines, cuts, fitted.context.outcome_variance, planes.accuracy.explained)


def _is_beaten(planes: CuttingPlanes, point: RobustPredictor) -> bool:
    return planes.largest(point.predictor.weights) > (1 + TOLERANCE) * point.cfu


def _baseline_row(point: BaselinePoint) -> dict[str, object]:
    return {
        "predictor": point.baseline.name,
        "weight": np.nan,
        "r2": point.baseline.r2,
        "unfairness": point.worst_case.value,
        "distance": point.baseline.unfairness,
        "status": str(point.worst_case.status),
        **_pairs(point.worst_case),
    }


def _pairs(worst: WorstCase) -> dict[str, object]:
    return {f"{a} <-> {b}": worst.correlation[a][b] for a, b in worst.pairs}
