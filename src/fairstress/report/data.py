"""Everything that a report shows, collected by asking an audit its questions one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.benchmarks.result import Benchmarks
from fairstress.analyses.cause_contour import CauseContour
from fairstress.analyses.check import Check
from fairstress.analyses.conclusion import (
    BLIND,
    SEARCHED,
    Causes,
    Conclusion,
    LikeForLike,
    causes_needed,
    conclude,
    like_for_like,
    steps_of,
)
from fairstress.analyses.curve import BreakingPoint, Curve, limited
from fairstress.analyses.curve import curve as worst_cases
from fairstress.analyses.decisions import Decisions, decisions
from fairstress.analyses.diagnostics.collect import Checks, run_checks
from fairstress.analyses.diagnostics.result import Diagnostics
from fairstress.analyses.groups import EVERYONE, mean_predictions, mean_predictions_at
from fairstress.analyses.leakage import Leakage, leakage
from fairstress.analyses.people import People, people, worst_rows
from fairstress.analyses.plausibility import Plausibility
from fairstress.analyses.profile import Profile
from fairstress.analyses.specification import (
    Comparison,
    SpecificationCheck,
    comparison,
    plans,
    reaching_baseline,
    specification_checks,
)
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.arguments import flag, is_positive, share
from fairstress.asking import Questions
from fairstress.audit import Audit
from fairstress.budgets import Budget, read_budget
from fairstress.claim.build import Fitted
from fairstress.errors import FairstressError, SettingError, show
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array
from fairstress.options import RESIDUALS, Search, read_search
from fairstress.parallel import n_cores
from fairstress.progress import Progress, Steps
from fairstress.report.text.brief import report_html, report_summary
from fairstress.search.sets import read_sizes
from fairstress.wording import SHARING, Sharing

P_MAX = 0.3  # the size of the budget at which details are shown, unless another is asked for
FEWER_SIZES = tuple(np.linspace(0.0, 0.6, 7).round(10).tolist())  # where CFU takes long
SIZES = tuple(np.linspace(0.0, 0.6, 21).round(10).tolist())
GRID = tuple(np.linspace(-0.96, 0.96, 49).round(10).tolist())
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
WORST_ROWS = 20
_NOT_ASKED = (
    "The question was not asked with other settings, which takes several times as long as the audit: thorough=True in "
    "Audit.report, or thorough = true under [report] in a settings file, asks it."
)
ANALYST, BASELINE = "analyst", "baseline"  # who gives a level
BASELINES = {
    "unconstrained": "the mean squared distance from {} to those of a predictor of all columns",
    "blind": "the same distance for a predictor that ignores the graph and leaves out the protected attribute",
}


@dataclass(frozen=True, slots=True)
class Level:
    """A CFU that somebody calls unacceptable, and why.

    Examples
    --------
    >>> Level("much", 0.01, "a tenth of a grade point for a typical student").value
    0.01
    """

    name: str  # what it is called
    value: float  # a CFU
    reason: str  # why it is unacceptable
    source: str = ANALYST  # or a baseline


@dataclass(frozen=True, slots=True, eq=False)
class PairAlone:
    """What one pair does to the worst case: free alone, and forbidden.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> data = audit.report(p_max=0.2, sizes=[0, 0.2], grid=[0, 0.2])
    >>> data.pairs[0].pair, round(data.pairs[0].alone.value, 3)
    (('a', 'x'), 0.27)
    """

    pair: tuple[str, str]  # which one
    alone: WorstCase  # all other pairs at 0
    forbidden: WorstCase | None  # None where it is the only pair

    def __repr__(self) -> str:
        return f"<PairAlone {' <-> '.join(self.pair)}: worst {self.alone.functional} {self.alone.value:.4g} alone>"


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """The answers of an audit, with details at one size of the budget. Made by `Audit.report`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> data = audit.report(p_max=0.2, sizes=[0, 0.2], grid=[0, 0.2])
    >>> round(data.worst.value, 3), [level.name for level in data.levels]
    (0.27, ['baseline unconstrained', 'baseline blind'])
    """

    audit: Audit  # that was asked
    date: str  # when it was collected, as 2020-12-31
    p_max: float  # the size of the budget at which details are shown
    is_default: bool  # whether nobody asked for that size
    reason: str  # why that size
    budget: Budget  # its kind, with its options
    conclusion: Conclusion  # what it all comes to
    plausibility: Plausibility  # whether counterfactual people could exist
    check: Check  # what the pairs can do
    profiles: tuple[Profile, ...]  # one for each pair
    curve: Curve  # worst cases
    levels: tuple[Level, ...]  # what is called unacceptable, and by whom
    breaking_points: tuple[BreakingPoint, ...]  # of each level
    group_means: pd.DataFrame  # p_max, group, factual, counterfactual, difference: mean predictions
    predictors: pd.DataFrame  # predictor, group, mean: of the outcome as observed and of each predictor
    people: pd.DataFrame  # worst rows first: label, people, from, to, prediction, prediction_counterfactual, cfu
    people_features: pd.DataFrame  # of the same rows: (feature, "factual" or "counterfactual")
    by_group: pd.DataFrame  # group, people, mean, and quantiles of CFU at that size
    decisions: Decisions | None  # that the counterfactual turns, where there is a threshold
    pairs: tuple[PairAlone, ...]  # what each pair does to the worst case
    benchmarks: Benchmarks | None  # None where they are refused
    benchmarks_refused: str  # why there are none
    cause_contour: CauseContour | None  # what one hidden cause can do, by shares; None where that was not asked
    comparison: tuple[Comparison, ...]  # the audited predictor, then the baselines
    specification_checks: tuple[SpecificationCheck, ...]  # the same question with other settings
    no_specification_checks: str  # why there are none
    diagnostics: Diagnostics  # whether the data contradict what is assumed; influence there, unless that takes long
    sharing: Sharing  # what of people pages and results may show
    margins: pd.DataFrame = field(repr=False)  # column, level, rows: of each protected column where there are several

    @property
    def worst(self) -> WorstCase:
        """The worst case at the size at which details are shown."""
        return _at(self.curve, self.p_max)

    def summary(self) -> str:
        """Say in plain words, and at most 25 lines, what was found."""
        return report_summary(self)

    def _repr_html_(self) -> str:
        return report_html(self)

    @property
    def leakage(self) -> Leakage | None:
        """How well the protected attribute is told from residuals; None for a numeric one."""
        return self.diagnostics.leakage

    @property
    def share_of_variance(self) -> float:
        """That worst case as a share of the outcome's variance; NaN where it has other units."""
        return self.worst.value / self.curve.context.outcome_variance

    def __repr__(self) -> str:
        graph, worst = self.audit.graph, f"worst {self.worst.functional} {self.worst.value:.4g}"
        size = f"{self.budget} budget, p_max = {self.p_max:g}"
        return f"<ReportData of {graph.outcome} for {graph.protected}: {size}, {worst}; summary() says more>"


def collect(
    audit: Audit,
    p_max: float | None = None,
    *,
    reason: str = "",
    budget: Budget | str = "pairwise",
    search: Search | None = None,
    sizes: Sequence[float] | None = None,
    grid: Sequence[float] | None = None,
    profiles: Sequence[Profile] | None = None,
    levels: Mapping[str, tuple[float, str]] | None = None,
    threshold: float | None = None,
    columns: Any = None,
    bands: Any = None,
    thorough: bool = False,
    sharing: Sharing = SHARING,
    progress: Progress | None = None,
) -> ReportData:
    """Ask all questions; the arguments are those of `Audit.report`."""
    fitted, size = audit.fitted, share(P_MAX if p_max is None else p_max, "p_max")
    options: dict[str, Any] = {"budget": read_budget(budget), "search": read_search(search)}
    default = FEWER_SIZES if fitted.claim.takes_long else SIZES
    of_curve = read_sizes([*read_sizes(default if sizes is None else sizes, "sizes"), size])
    named, thorough = _levels(audit, levels or {}), flag(thorough, "thorough")
    if threshold is not None:
        audit.flips(threshold)  # which refuses what is no threshold
    unknown = audit.graph.pairs if profiles is None else ()
    count = _count(audit, of_curve, named) + (len(plans(fitted)) + 1 if thorough else 0)
    steps = Steps(count + len(unknown) + (threshold is not None), progress)
    solve, replicator = Solver.of(fitted, options["budget"], options["search"], None), Replicator.of(fitted, bands)
    about = _About(fitted, solve, replicator, tuple(of_curve), size)
    processes = _processes(about, thorough=thorough)
    if n_cores(processes) > 1:  # which share the cores: none starts others
        solve, own = solve.in_one_process(), replicator.in_one_process() if replicator else None
        about = replace(about, solve=solve, replicator=own)
    with Questions(about, processes, steps) as questions:
        asked_leakage = questions.ask(_leakage)  # what is asked so is answered when it is called, or meanwhile
        asked_like = questions.ask(_like_for_like)
        check, plausible = audit.check(), audit.plausibility()
        steps()
        solve.explore(of_curve[-1])
        alone = _pairs(audit, size, solve, steps)  # before the curve: what they find lies within its budgets, too
        curve = worst_cases(fitted, of_curve, solve, lambda *_: steps(), searched=None if thorough else SEARCHED)
        asked_checks = questions.ask(_checks, _at(curve, size).correlation.to_numpy())
        tells_causes = thorough or not fitted.claim.takes_long
        asked_causes = questions.ask(_causes, is_wanted=False) if tells_causes else None  # it hangs on the verdict
        asked_baselines = {name: questions.ask(_as_unfair_as, name) for name in audit.baselines if name != BLIND}
        curve = curve if replicator is None else limited(curve, replicator)
        benchmarks, refused = _benchmarks(audit, columns, steps)
        chosen = GRID if grid is None and not fitted.claim.takes_long else grid
        profiled = (*(profiles or ()), *(audit.profile(pair, chosen) for pair in steps.each(unknown)))
        breaking_points = tuple(curve.breaking_point(level.value) for level in steps.each(named))
        worst = _at(curve, size)
        of_people = _of_people(fitted, curve, worst)  # now: who waits for an answer has nothing else to do
        found = conclude(fitted, curve, asked_like(), check, plausible, size, threshold, steps, asked_causes)
        baselines = {name: answer() for name, answer in asked_baselines.items()}
        baselines[BLIND] = found.breaking or _as_unfair_as(about, BLIND, steps)
        diagnosed = asked_checks().with_leakage(asked_leakage())
    if not questions.are_shared:
        options["search"] = replace(options["search"], n_jobs=1)
    return ReportData(
        audit=audit,
        date=date.today().isoformat(),
        p_max=size,
        is_default=p_max is None,
        reason=reason,
        budget=options["budget"],
        conclusion=found,
        plausibility=plausible,
        check=check,
        profiles=profiled,
        curve=curve,
        levels=named,
        breaking_points=breaking_points,
        **of_people,
        decisions=_decisions(audit, threshold, worst, options, steps),
        pairs=alone or (PairAlone(audit.graph.pairs[0], worst, None),),
        benchmarks=benchmarks,
        benchmarks_refused=refused,
        cause_contour=_contour(audit, steps) if thorough else None,
        comparison=comparison(fitted, worst, baselines),
        specification_checks=specification_checks(fitted, size, **options, steps=steps) if thorough else (),
        no_specification_checks="" if thorough else _NOT_ASKED,
        diagnostics=diagnosed,
        sharing=sharing,
        margins=_margins(fitted.table),
    )


def _at(curve: Curve, p_max: float) -> WorstCase:
    return next(point for point in curve.points if point.p_max == p_max)


# ---------------------------------------------------------------- questions that another process may answer


@dataclass(frozen=True, slots=True, eq=False)
class _About:
    """What the long questions of a report are about."""

    fitted: Fitted
    solve: Solver
    replicator: Replicator | None
    sizes: tuple[float, ...]  # of the curve
    size: float  # at which details are shown


def _processes(about: _About, *, thorough: bool) -> int:
    """How many processes may answer: one where that takes seconds at most, or people are not in memory."""
    fitted, several = about.fitted, len(about.solve.graph.pairs) > 1
    is_long = thorough or several or about.replicator is not None or fitted.claim.takes_long
    return about.solve.search.n_jobs if is_long and fitted.table.everyone is None else 1


def _like_for_like(about: _About, steps: Steps) -> LikeForLike:
    return like_for_like(about.fitted, about.sizes, about.solve, steps, about.replicator)


def _causes(about: _About, _: Steps) -> Causes | None:
    return causes_needed(about.fitted, about.solve)


def _as_unfair_as(about: _About, name: str, steps: Steps) -> BreakingPoint | str:
    sizes = sorted({about.size, about.sizes[-1]})
    found = reaching_baseline(about.fitted, name, sizes, about.solve, about.replicator)
    steps()
    return found


def _leakage(about: _About, _: Steps) -> Leakage | None:
    return leakage(about.fitted, about.fitted.settings.random_state)


def _checks(about: _About, P: Array, _: Steps) -> Checks:
    """With influence at P, unless leaving each person out takes long, or people are not in memory."""
    fitted = about.fitted
    tells_influence = not fitted.claim.is_slow and fitted.table.everyone is None
    return run_checks(fitted, P if tells_influence else None, fitted.settings.random_state)


def _count(audit: Audit, sizes: Sequence[float], levels: Sequence[Level]) -> int:
    """Steps for check and benchmarks, the verdict, budgets, levels, pairs alone and forbidden, and other baselines."""
    pairs = len(audit.graph.pairs)
    of_pairs = 2 * pairs if pairs > 1 else 0
    of_conclusion = steps_of(audit.fitted, sizes)
    return 2 + len(sizes) + of_conclusion + len(levels) + of_pairs + len({*audit.baselines} - {BLIND})


def _levels(audit: Audit, given: Mapping[str, tuple[float, str]]) -> tuple[Level, ...]:
    """The analyst's levels, then the baselines', where a distance from the audited predictor measures unfairness."""
    if not isinstance(given, Mapping):
        raise SettingError(
            f"levels is {show(given)}: give a CFU and the reason by name, {{'much': (0.01, 'because ...')}}"
        )
    named = []
    for name, pair in given.items():
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and is_positive(pair[0])):
            raise SettingError(
                f"the level '{name}' is {show(pair)}: give its CFU, a positive number, and the reason, such as "
                "(0.01, 'because ...')"
            )
        named.append(Level(str(name), float(pair[0]), str(pair[1])))
    if audit.settings.predictor_input != RESIDUALS:  # the audited predictor is itself unfair under Model A
        return tuple(named)
    apart = audit.fitted.context.negligible  # a baseline that predicts the same is no level
    known = [item for item in audit.baselines.items() if item[1].unfairness > apart]
    known = known if audit.settings.measure.is_squared else []
    whose = "the audited predictions" if audit.robust_predictor is None else "the fair predictor's predictions"
    reasons = {name: text.format(whose) for name, text in BASELINES.items()}
    return (*named, *(Level(f"baseline {name}", b.unfairness, reasons[name], BASELINE) for name, b in known))


def _margins(table: Table) -> pd.DataFrame:
    """Rows of each level of each protected column, where several are protected together."""
    margins: list[tuple[str, Any, int]] = []
    if len(table.graph.protected_columns) > 1:
        a = table.rows.a[table.row_of[table.weight > 0]]
        own = table.units.levels.iloc[np.searchsorted(table.units.codes, a)]
        sizes = {name: own[name].value_counts(sort=False).sort_index() for name in own}
        margins = [(str(name), level, int(count)) for name, rows in sizes.items() for level, count in rows.items()]
    return pd.DataFrame(margins, columns=["column", "level", "rows"])


# ---------------------------------------------------------------- people


def _of_people(fitted: Fitted, curve: Curve, worst: WorstCase) -> dict[str, pd.DataFrame]:
    """What a report shows of groups along the curve, and of groups and people in one worst case."""
    rows, features = worst_rows(fitted, worst.fit, WORST_ROWS)
    return {
        "group_means": mean_predictions_at(fitted, curve.points),
        "predictors": mean_predictions(fitted),
        "people": rows,
        "people_features": features,
        "by_group": _by_group(people(fitted, worst.fit)),
    }


def _by_group(at_worst: People) -> pd.DataFrame:
    """Mean and quantiles of CFU, of everyone and in each group."""
    everyone = pd.DataFrame([at_worst.summarise(at_worst.weight > 0, QUANTILES)], index=[EVERYONE])
    levels = at_worst.protected.levels
    groups = [] if levels is None else [at_worst.by_group(QUANTILES).reindex(list(levels)).query("people > 0")]
    frame = pd.concat([everyone, *groups])
    names = {f"cfu quantile {q:g}": f"q{int(100 * q)}" for q in QUANTILES}
    frame = frame.rename(columns={"cfu": "mean", **names})[["people", "mean", *names.values()]]
    frame.insert(0, "group", [str(level) for level in frame.index])
    whole = (frame["people"] % 1 == 0).all()
    return frame.astype({"people": int} if whole else {}).reset_index(drop=True)


def _decisions(
    audit: Audit, threshold: float | None, worst: WorstCase, options: Mapping[str, Any], steps: Steps
) -> Decisions | None:
    """Decisions that turn, where a threshold makes them."""
    if threshold is None:
        return None
    turned = decisions(audit.fitted, threshold, worst, **options)
    steps()
    return turned


# ---------------------------------------------------------------- pairs and benchmarks


def _pairs(audit: Audit, p_max: float, solve: Solver, steps: Steps) -> tuple[PairAlone, ...]:
    """The worst case with each of several pairs alone, and without it."""
    free = audit.graph.pairs
    if len(free) == 1:
        return ()
    alone = []
    for pair in free:
        others = [other for other in free if other != pair]
        found = (solve.without(fixed)(p_max) for fixed in steps.each((others, [pair])))
        alone.append(PairAlone(pair, *found))
    return tuple(alone)


def _contour(audit: Audit, steps: Steps) -> CauseContour | None:
    """What one hidden cause of the attribute and of features can do; None where the attribute stands in no pair."""
    found = audit.cause_contour(progress=None) if audit.graph.confounds_protected else None
    steps()
    return found


def _benchmarks(audit: Audit, columns: Any, steps: Steps) -> tuple[Benchmarks | None, str]:
    """Benchmarks, or why there are none."""
    try:
        return audit.benchmarks(columns=columns), ""
    except FairstressError as problem:
        return None, str(problem)
    finally:
        steps()
