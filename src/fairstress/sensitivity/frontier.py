"""The frontier: accuracy against the worst-case CFU within a budget, for several weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstress.sensitivity.claim import Baseline
from fairstress.sensitivity.profile import Progress
from fairstress.sensitivity.robust import TOLERANCE, Cutting, SturdyPredictor
from fairstress.sensitivity.tabled import Tabled
from fairstress.sensitivity.worst_case import WorstCase

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.report.markup import Sheet

PASSES = 3  # over all weights, with the cuts that the others have found


@dataclass(frozen=True, slots=True)
class Rival:
    """A baseline, and how unfair it is at worst within the same budget."""

    baseline: Baseline
    worst_case: WorstCase


@dataclass(frozen=True, slots=True)
class Frontier(Tabled):
    """Sturdier predictors for growing weights, the fair predictor first, and the baselines beside them.

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

    points: tuple[SturdyPredictor, ...]  # from weight 0 on
    rivals: tuple[Rival, ...]
    cuts: tuple[pd.DataFrame, ...]  # (m, m) each
    outcome_variance: float  # NaN where CFU is not in its units
    explained: str = "R2"  # what accuracy is: "deviance explained" for a two-valued outcome

    @property
    def fair(self) -> SturdyPredictor:
        """The audited predictor: weight 0."""
        return self.points[0]

    def shrunk(self, point: SturdyPredictor) -> float:
        """Worst-case CFU of the fair predictor drawn towards its mean until its R2 is that of a point."""
        return point.shrinkage**2 * self.fair.cfu if point.weight else self.fair.cfu

    def to_frame(self) -> pd.DataFrame:
        """One row per predictor.

        Columns
        -------
        predictor, weight
            ``fair``, ``sturdier``, or a baseline's name; the weight is missing for baselines.
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
        return pd.DataFrame([*map(self._row, self.points), *map(_rival_row, self.rivals)])

    def summary(self) -> str:
        """Say in prose what accuracy buys."""
        from fairstress.report.frontier import frontier_summary

        return frontier_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw accuracy over the worst-case CFU. Needs the extra ``plot``."""
        from fairstress.report.frontier import plot_frontier

        return plot_frontier(self, ax)

    def __repr__(self) -> str:
        worst = self.fair.worst_case
        where = f"{worst.budget} budget, p_max = {worst.p_max:g}"
        return f"<Frontier of {len(self.points)} predictors, {where}; summary() says more>"

    def _sheet(self) -> Sheet:
        from fairstress.report.tables import frontier_table

        return frontier_table(self)

    def _row(self, point: SturdyPredictor) -> dict[str, object]:
        return {
            "predictor": "sturdier" if point.weight else "fair",
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


def trace_frontier(
    cutting: Cutting,
    weights: Sequence[float],
    baselines: dict[str, Baseline],
    outcome_variance: float,
    progress: Progress | None = None,
) -> Frontier:
    """Solve for each weight; the cuts of one serve the next."""
    points = []
    for done, weight in enumerate(weights, start=1):
        points.append(cutting.solve(weight))
        if progress:
            progress(done, len(weights))
    for _ in range(PASSES):  # a later weight's search may have found a P that an earlier one's missed
        points = [cutting.solve(point.weight) if _is_beaten(cutting, point) else point for point in points]
    rivals = tuple(Rival(b, cutting.make_solver(b.claim)(cutting.p_max)) for b in baselines.values())
    cuts = tuple(cut.found.correlation for cut in cutting.cuts)
    return Frontier(tuple(points), rivals, cuts, outcome_variance, cutting.accuracy.explained)


def _is_beaten(cutting: Cutting, point: SturdyPredictor) -> bool:
    return cutting.largest(point.predictor.weights) > (1 + TOLERANCE) * point.cfu


def _rival_row(rival: Rival) -> dict[str, object]:
    return {
        "predictor": rival.baseline.name,
        "weight": np.nan,
        "r2": rival.baseline.r2,
        "unfairness": rival.worst_case.value,
        "distance": rival.baseline.unfairness,
        "status": str(rival.worst_case.status),
        **_pairs(rival.worst_case),
    }


def _pairs(worst: WorstCase) -> dict[str, object]:
    return {f"{a} <-> {b}": worst.correlation[a][b] for a, b in worst.pairs}
