"""The worst case for each p_max, and the breaking point where it reaches a level that is called unacceptable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.rows import Array
from fairstress.sensitivity.profile import Context, Progress
from fairstress.sensitivity.worst_case import Solver, WorstCase

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.sensitivity.yardstick import Benchmarks

PRECISION = 1e-4  # of a breaking point


@dataclass(frozen=True, slots=True)
class BreakingPoint:
    """The smallest p_max whose worst case reaches a level; None where it is not reached."""

    p_max: float | None
    level: float
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class Curve:
    """The worst case for each p_max, from small to large.

    A smaller budget's solution is admissible in a larger one, so the curve never falls. ``own`` keeps what each
    point's own search found, so that an inherited value does not hide a search that failed.
    """

    points: tuple[WorstCase, ...]
    own: tuple[WorstCase, ...]
    cfu_unpenalised: Array | None  # (len,) at the same correlations, with structural penalty 0
    context: Context
    _solve: Solver = field(repr=False, compare=False)

    def to_frame(self) -> pd.DataFrame:
        """One row per p_max, with a column per pair."""
        frame = pd.concat([point.to_frame() for point in self.points], ignore_index=True)
        frame = frame.rename(columns={"value": "cfu"})
        frame.insert(2, "cfu_unpenalised", np.nan if self.cfu_unpenalised is None else self.cfu_unpenalised)
        frame.insert(3, "cfu_own_search", [point.value for point in self.own])
        return frame

    @property
    def shows_penalty_only(self) -> bool:
        """Whether the curve moves at the chosen penalty, but not at penalty 0."""
        if self.cfu_unpenalised is None or self.context.penalty == 0:
            return False
        negligible = self.context.negligible
        return bool(self.cfu_unpenalised.max() <= negligible < max(point.value for point in self.points))

    def breaking_point(self, level: float | str) -> BreakingPoint:
        """Find the smallest p_max whose worst case reaches a level: a number, or the name of a baseline."""
        target = read_level(level, self.context)
        reached = [point for point in self.points if point.value >= target]
        if not reached:
            return _not_reached(target, self.points[-1])
        low = [point for point in self.points if point.p_max < reached[0].p_max]
        return find_breaking_point(target, self._solve, low, reached[0])

    def summary(self) -> str:
        """Say in prose what the curve shows."""
        from fairstress.report.summary import curve_summary

        return curve_summary(self)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        baselines: bool = True,
        benchmarks: Benchmarks | None = None,
        breaking_point: BreakingPoint | None = None,
    ) -> Axes:
        """Draw the worst case over p_max; dashed, the same correlations at penalty 0. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Where to draw; new Axes without it.
        baselines
            Whether to draw the baselines' unfairness.
        benchmarks
            Observed variables to mark, from `Audit.benchmarks`.
        breaking_point
            One to mark, from `breaking_point`.
        """
        from fairstress.report.plots import plot_curve

        return plot_curve(self, ax, baselines=baselines, benchmarks=benchmarks, breaking_point=breaking_point)

    def to_latex(self) -> str:
        """Write a table to report in LaTeX; it needs the package booktabs."""
        from fairstress.report.markup import to_latex
        from fairstress.report.tables import curve_table

        return to_latex(curve_table(self))

    def to_markdown(self) -> str:
        """Write a table to report in Markdown."""
        from fairstress.report.markup import to_markdown
        from fairstress.report.tables import curve_table

        return to_markdown(curve_table(self))

    def _repr_html_(self) -> str:
        from fairstress.report.markup import to_html
        from fairstress.report.tables import curve_table

        return to_html(curve_table(self))


def trace(p_max: Sequence[float], solve: Solver, progress: Progress | None) -> tuple[list[WorstCase], list[WorstCase]]:
    """Search from the smallest budget upwards; give the curve's points and each search's own result."""
    points: list[WorstCase] = []
    own: list[WorstCase] = []
    for done, limit in enumerate(p_max, start=1):
        found = solve(limit, points[-1:])
        own.append(found)
        inherits = points and points[-1].value > found.value
        points.append(_moved(points[-1], limit, found) if inherits else found)
        if progress:
            progress(done, len(p_max))
    return points, own


def _moved(smaller: WorstCase, p_max: float, own: WorstCase) -> WorstCase:
    """A smaller budget's solution as the solution of a larger one."""
    return replace(
        smaller, p_max=p_max, floor=own.floor, scan_value=own.scan_value, scan_correlation=own.scan_correlation
    )


def find_breaking_point(level: float, solve: Solver, below: Sequence[WorstCase], above: WorstCase) -> BreakingPoint:
    """Narrow the interval between a budget that does not reach the level and one that does."""
    from scipy import optimize

    known = list(below)
    low = known[-1].p_max if known else 0.0

    def excess(p_max: float) -> float:
        known.append(solve(p_max, [point for point in known if point.p_max <= p_max]))
        return known[-1].value - level

    if excess(low) < 0:
        optimize.brentq(excess, low, above.p_max, xtol=PRECISION / 4, rtol=1e-12)
    p_max = min(point.p_max for point in [*known, above] if point.value >= level)
    sentence = f"The worst case reaches {level:.4g} at p_max = {p_max:.4f} ({above.budget} budget)."
    return BreakingPoint(p_max, level, sentence)


def _not_reached(level: float, last: WorstCase) -> BreakingPoint:
    sentence = (
        f"The worst case does not reach {level:.4g} within the budgets searched: at p_max = {last.p_max:g} "
        f"({last.budget} budget) it is {last.value:.4g}."
    )
    return BreakingPoint(None, level, sentence)


def read_level(level: float | str, context: Context) -> float:
    """Turn a number or the name of a baseline into a level."""
    if isinstance(level, str):
        if level not in context.baselines:
            raise SettingError(f"there is no baseline '{level}'{did_you_mean(level, context.baselines)}")
        return context.baselines[level]
    if not (np.isfinite(level) and level > 0):
        raise SettingError(f"the level is {level!r}: give a positive number or the name of a baseline")
    return float(level)
