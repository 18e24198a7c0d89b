"""The worst case for each p_max, and the breaking point where it reaches a level that is called unacceptable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.analyses.bands.breaking import lower_limit
from fairstress.analyses.bands.estimate import sampling_error
from fairstress.analyses.bands.limits import Estimate
from fairstress.analyses.bands.maxima import with_limits
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.reaching import find_breaking_point
from fairstress.analyses.tabular import Shown, Tabular
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.arguments import is_positive, share, word
from fairstress.budgets import Budget
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim, Context, read_baseline
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import SettingError, show
from fairstress.functionals.cfu import CFU, evaluate_cfu
from fairstress.functionals.relative import RelativeCFU
from fairstress.inputs.rows import Array
from fairstress.progress import Progress, Steps, Watch, watching
from fairstress.search.sets import read_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.analyses.benchmarks.result import Benchmarks
    from fairstress.report.text.markup import Sheet

SEARCHES = 8  # that it takes, about
SAME_P, PAPER = "same P", "paper"  # what the name of a baseline means as a level


@dataclass(frozen=True, slots=True)
class BreakingPoint(Shown):
    """The smallest p_max whose worst case reaches a level; None where it is not reached.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> point = audit.breaking_point(0.02)
    >>> round(point.p_max, 3)
    0.055
    >>> print(point)
    The worst case reaches 0.02 at p_max = 0.0551 (pairwise budget).
    >>> print(audit.breaking_point(50, highest=0.5))
    The worst case does not reach 50 within the budgets searched: at p_max = 0.5 (pairwise budget) it is 1.956.
    >>> beside = audit.breaking_point("blind", budget=fs.SingleCause())
    >>> print(f"{beside.cfu:.3f} against {beside.baseline_cfu:.3f} at the same correlation")
    0.021 against 0.021 at the same correlation
    >>> beside.loadings.round(3).to_dict()
    {'a': 0.238, 'x': 0.238, 'z': 0.0}
    """

    p_max: float | None  # None where the level is not reached
    level: float  # a CFU
    sentence: str  # what was found, in words
    lower: float | None = None  # limit below p_max; None without replicates, or where not even the limit is reached
    cfu: float | None = None  # of the audited predictor there, or where it came nearest if the level is not reached
    baseline_cfu: float | None = None  # of the baseline at the same correlation, where the level is a baseline's name
    worst: WorstCase | None = field(default=None, repr=False, compare=False)  # what was found there, in full

    @property
    def budget(self) -> Budget | None:
        """The kind of budget, with its options."""
        return None if self.worst is None else self.worst.budget

    @property
    def correlation(self) -> pd.DataFrame | None:
        """The correlation of the errors there (m, m)."""
        return None if self.worst is None else self.worst.correlation

    @property
    def loadings(self) -> pd.Series | None:
        """How strongly the one cause acts on each error there (m,); None for budgets on pairs."""
        return None if self.worst is None else self.worst.loadings

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True, eq=False)
class Curve(Tabular):
    """The worst case for each p_max, from small to large.

    A smaller budget's solution is admissible in a larger one, so the curve never falls. ``own`` keeps what each
    point's own search found, so that an inherited value does not hide a search that failed.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> curve = audit.curve([0, 0.1, 0.2])
    >>> print(curve.to_frame()[["p_max", "cfu", "a <-> x"]].round(4).to_string(index=False))
     p_max    cfu  a <-> x
       0.0 0.0000      0.0
       0.1 0.0663     -0.1
       0.2 0.2701     -0.2
    >>> print(curve.breaking_point(0.02))
    The worst case reaches 0.02 at p_max = 0.0551 (pairwise budget).
    """

    points: tuple[WorstCase, ...]  # the worst case for each p_max
    own: tuple[WorstCase, ...]  # what each point's own search found
    cfu_unpenalised: Array | None  # (len,) at the same correlations, with structural penalty 0
    context: Context  # what CFU is compared with
    solve: Solver = field(repr=False)  # finds the worst case for further p_max
    sampling_error: Estimate | None = None  # CFU where nothing is hidden, with its limit, where replicates were drawn
    replicator: Replicator | None = field(default=None, repr=False)  # draws these replicates

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
        if self.context.floor > self.context.negligible:  # levels move CFU too, and by more than rounding
            return False
        negligible = self.context.negligible
        return bool(self.cfu_unpenalised.max() <= negligible < max(point.value for point in self.points))

    def breaking_point(
        self, level: float | str = "blind", *, definition: str = SAME_P, progress: Watch = None
    ) -> BreakingPoint:
        """Find the smallest p_max whose worst case reaches a level.

        Parameters
        ----------
        level
            A number, or the name of a baseline, default ``"blind"``.
        definition
            What the name of a baseline means. ``"same P"`` (default): its own CFU; the smallest p_max is sought within
            which the predictor is as unfair as the baseline at one and the same correlation. ``"paper"``: its
            `unfairness`, a distance from the fair predictor, whatever the correlation.
        progress
            Called with (searches done, searches planned); True shows a bar with the time left, False none. Default:
            a bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
        >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
        >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
        >>> round(audit.curve([0, 0.1, 0.2]).breaking_point(0.02).p_max, 3)
        0.055
        """
        solve = self.solve.apart()
        with watching(progress, "breaking point") as heard:
            steps, sizes = Steps(len(self.points) + SEARCHES, heard), [point.p_max for point in self.points]
            if read_definition(level, definition) == SAME_P:
                first = as_unfair_as(str(level), sizes, solve, self.context, steps, self.replicator)
            else:
                target = read_level(level, self.context)
                first = _reaching(target, self.points, solve, steps, self.replicator)
                first = _beside(first, level, self.context)
            steps.finish()
        return first

    def summary(self) -> str:
        """Say in prose what the curve shows."""
        from fairstress.report.text.results import curve_summary

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
            Where to draw, default new Axes.
        baselines
            Whether to draw the baselines' unfairness.
        benchmarks
            Observed variables to mark, from `Audit.benchmarks`.
        breaking_point
            One to mark, from `breaking_point`.
        """
        from fairstress.report.plots.curves import plot_curve

        return plot_curve(self, ax, baselines=baselines, benchmarks=benchmarks, breaking_point=breaking_point)

    def __repr__(self) -> str:
        first, last = self.points[0], self.points[-1]
        worst = f"up to {last.value:.4g} at p_max = {last.p_max:g}"
        many = f"{len(self.points)} {first.budget} budget{'s' * (len(self.points) > 1)}"
        return f"<Curve of {many}: {worst}; summary() says more>"

    def _sheet(self) -> Sheet:
        from fairstress.report.text.tables import curve_table

        return curve_table(self)


def curve(
    fitted: Fitted,
    p_max: Any,
    solve: Solver,
    progress: Progress | None = None,
    replicator: Replicator | None = None,
    *,
    searched: int | None = None,
) -> Curve:
    """Search from the smallest budget upwards, each search starting also from the solution of the one before.

    Of ``searched`` budgets, about; those between are followed. Default: each is searched.
    """
    sizes = read_sizes(p_max)
    points, own = zip(*upwards(sizes, solve, Steps(len(sizes), progress), searched), strict=True)
    without = None
    if fitted.beside is not None:
        P = np.array([point.correlation.to_numpy() for point in points])
        without = np.array([e.value for e in evaluate_many(fitted.beside, P, CFU())])
    found = Curve(points, own, without, fitted.context, solve)
    return found if replicator is None else limited(found, replicator)


def upwards(
    sizes: Sequence[float], solve: Solver, steps: Steps, searched: int | None = None
) -> Iterator[tuple[WorstCase, WorstCase]]:
    """The worst case of each of ascending budgets, a smaller one's where that is worse, and what was found in its own.

    Where a worst case can be followed and only about so many are searched, those between are climbed from both sides.
    """
    solve.explore(sizes[-1])
    solve.look_ahead(sizes)
    every = max(1, len(sizes) // searched) if searched and solve.follows else 1
    full: dict[float, WorstCase] = {}
    for size in [*sizes[:-1:every], sizes[-1]] if every > 1 else ():
        full[size] = solve(size, list(full.values())[-1:])
    last: list[WorstCase] = []
    for size in steps.each(sizes):
        larger = [full[other] for other in sizes if other > size and other in full][:1]
        found = full.get(size) or (solve.follow(size, [*last, *larger]) if every > 1 else solve(size, last))
        last = [moved(last[0], size, found) if last and last[0].value > found.value else found]
        yield last[0], found


def limited(found: Curve, replicator: Replicator) -> Curve:
    """Give each point its limits; a replicate's worst case never falls along the curve, so that they do not either."""
    limited = with_limits(replicator, found.solve, found.own, [point.value for point in found.points])
    points = tuple(replace(point, estimate=limit) for point, limit in zip(found.points, limited, strict=True))
    return replace(found, points=points, sampling_error=sampling_error(replicator), replicator=replicator)


def breaking_point(
    fitted: Fitted,
    level: Any,
    definition: str,
    highest: float,
    solve: Solver,
    progress: Progress | None,
    replicator: Replicator | None = None,
) -> BreakingPoint:
    """The smallest p_max, up to the highest, whose worst case reaches a level."""
    least, most = solve.budget.least_size, share(highest, "highest")
    sizes = sorted({least, *np.linspace(min(max(0.1, least), most), most, 6).tolist()})
    steps = Steps(len(sizes) + SEARCHES, progress)
    if read_definition(level, definition) == SAME_P:  # which needs no curve of the predictor's own CFU
        first = as_unfair_as(str(level), sizes, solve, fitted.context, steps, replicator)
    else:
        target, points = read_level(level, fitted.context), []
        for point, _ in upwards(sizes, solve, steps):
            points.append(point)
            if point.value >= target:
                break
        first = _beside(_reaching(target, points, solve, steps, replicator), level, fitted.context)
    steps.finish()
    return first


def _reaching(
    level: float, points: Sequence[WorstCase], solve: Solver, steps: Steps, replicator: Replicator | None
) -> BreakingPoint:
    """Find where the worst case reaches a level, within the budgets of some points."""
    reached = [point for point in points if point.value >= level]
    if not reached:
        return _limited(_not_reached(level, points[-1]), replicator, solve, level, points[-1], points)
    low = [point for point in points if point.p_max < reached[0].p_max]
    first = find_breaking_point(level, solve, low, reached[0], steps)
    sentence = f"The worst case reaches {level:.4g} at p_max = {first.p_max:.4f} ({first.budget} budget)."
    found = BreakingPoint(first.p_max, level, sentence, cfu=first.value, worst=first)
    return _limited(found, replicator, solve, level, first, points)


def moved(smaller: WorstCase, p_max: float, own: WorstCase) -> WorstCase:
    """A smaller budget's solution as the solution of a larger one."""
    return replace(
        smaller,
        p_max=p_max,
        floor=own.floor,
        scan_value=own.scan_value,
        scan_correlation=own.scan_correlation,
        estimate=None,  # which was of the smaller one
    )


def _limited(
    point: BreakingPoint,
    replicator: Replicator | None,
    solve: Solver,
    level: float,
    at: WorstCase,
    points: Sequence[WorstCase] = (),
) -> BreakingPoint:
    """Say how much earlier the level may be reached, where replicates are drawn."""
    if replicator is None:
        return point
    lower = lower_limit(replicator, solve, level, at, points)
    if lower is None:  # without a penalty the worst case may be a little smaller
        lower = point.p_max
    confidence = f"{100 * replicator.options.level:g} %"
    if lower is not None:
        more = f"Sampling error could bring that down to p_max = {lower:.3f} ({confidence} limit)."
        more = more if point.p_max is not None else f"Its {confidence} limit does, at p_max = {lower:.3f}."
    else:
        more = f"Nor does its {confidence} limit."
    return replace(point, sentence=f"{point.sentence} {more}", lower=lower)


def comparing(name: str, solve: Solver, context: Context) -> Solver:
    """The search for CFU less a baseline's own, both at one correlation."""
    baseline = read_baseline(name, context.baseline_claims)
    if evaluate_cfu(baseline, solve.claim.model_a.correlation).value <= context.negligible:
        raise SettingError(
            f"the baseline '{name}' has no CFU under Model A, so that there is nothing to reach: give a number, or "
            f"definition='{PAPER}'"
        )
    functional = RelativeCFU(baseline, f"CFU less that of the baseline {name}")
    return replace(solve, functional=functional, negligible=-np.inf, along_line={}, known={})


def as_unfair_as(
    name: str,
    sizes: Sequence[float],
    solve: Solver,
    context: Context,
    steps: Steps,
    replicator: Replicator | None = None,
) -> BreakingPoint:
    """Find where CFU less a baseline's own, both at one correlation, reaches 0, within ascending budgets."""
    return reached_by(name, sizes, comparing(name, solve, context), context, steps, replicator)


def reached_by(
    name: str,
    sizes: Sequence[float],
    compare: Solver,
    context: Context,
    steps: Steps,
    replicator: Replicator | None = None,
) -> BreakingPoint:
    """The same by a search for CFU less the baseline's, from `comparing`."""
    points: list[WorstCase] = []
    for point, _ in upwards(sizes, compare, steps):
        points.append(point)
        if point.value >= 0:
            break
    return first_reached(name, compare, points, context, steps, replicator)


def first_reached(
    name: str,
    compare: Solver,
    points: Sequence[WorstCase],
    context: Context,
    steps: Steps,
    replicator: Replicator | None = None,
    precision: float | None = None,
) -> BreakingPoint:
    """The least budget at which CFU less a baseline's own reaches 0, from what was found within ascending ones."""
    ours, baseline = compare.claim, read_baseline(name, context.baseline_claims)
    reached = next((i for i, point in enumerate(points) if point.value >= 0), None)
    if reached is None:
        found = _like_for_like(name, points[-1], ours, baseline, reached=False)
        return _limited(found, replicator, compare, 0.0, points[-1])
    first = find_breaking_point(0.0, compare, points[:reached], points[reached], steps, precision)
    found = _like_for_like(name, first, ours, baseline, reached=True)
    return _limited(found, replicator, compare, 0.0, first)


def _like_for_like(name: str, worst: WorstCase, ours: Claim, baseline: Claim, *, reached: bool) -> BreakingPoint:
    """Say where the predictor is as unfair as a baseline at the same correlation, or how near it comes."""
    P = worst.correlation.to_numpy()
    cfu, level = evaluate_cfu(ours, P).value, evaluate_cfu(baseline, P).value
    where = f"p_max = {worst.p_max:{'.4f' if reached else 'g'}} ({worst.budget} budget)"
    if reached:
        sentence = f"CFU reaches that of the baseline {name} at the same correlation, {level:.4g}, at {where}."
        return BreakingPoint(worst.p_max, level, sentence, None, cfu, level, worst)
    sentence = f"CFU does not reach that of the baseline {name} at the same correlation within the budgets searched"
    sentence += f": at {where} it comes as near as {cfu:.4g} against {level:.4g}."
    return BreakingPoint(None, level, sentence, None, cfu, level, worst)


def _beside(point: BreakingPoint, level: Any, context: Context) -> BreakingPoint:
    """Add a baseline's own CFU at the same correlation, where its name was given for a level."""
    if point.worst is None or level not in context.baseline_claims:
        return point
    baseline = context.baseline_claims[level]
    return replace(point, baseline_cfu=evaluate_cfu(baseline, point.worst.correlation.to_numpy()).value)


def _not_reached(level: float, last: WorstCase) -> BreakingPoint:
    sentence = (
        f"The worst case does not reach {level:.4g} within the budgets searched: at p_max = {last.p_max:g} "
        f"({last.budget} budget) it is {last.value:.4g}."
    )
    return BreakingPoint(None, level, sentence, cfu=last.value, worst=last)


def read_definition(level: Any, definition: Any) -> str:
    """Check what the name of a baseline means; a number is a level of its own, whatever the definition."""
    word(definition, "definition", SAME_P, PAPER)
    return str(definition) if isinstance(level, str) else PAPER


def read_level(level: float | str, context: Context) -> float:
    """Turn a number or the name of a baseline into a level, by the paper's definition."""
    if isinstance(level, str):
        if not context.baselines:
            raise SettingError(
                f"definition is '{PAPER}', the mean squared distance from a predictor that is counterfactually fair "
                f"under Model A: it needs measure='squared' and a predictor of residuals; give definition='{SAME_P}'"
            )
        return float(read_baseline(level, context.baselines))
    if not is_positive(level):
        raise SettingError(f"the level is {show(level)}: give a positive number or the name of a baseline")
    return float(level)
