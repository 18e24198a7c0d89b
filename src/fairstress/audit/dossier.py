"""Everything that a report shows, gathered by asking an audit its questions one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.audit.decided import Decisions, decide
from fairstress.audit.people import (
    Moved,
    features_of_worst_rows,
    means_of_groups,
    means_of_predictors,
    moved,
    spread_of_groups,
    worst_rows,
)
from fairstress.audit.setups import Rival, Variant, plans, rivals, variants
from fairstress.audit.steps import Steps
from fairstress.errors import FairstressError, SettingError
from fairstress.inputs.data import Table
from fairstress.model.brought import RESIDUALS
from fairstress.sensitivity.budget import read_share, read_sizes
from fairstress.sensitivity.check import Check
from fairstress.sensitivity.curve import BreakingPoint, Curve, is_level
from fairstress.sensitivity.profile import Profile, Progress
from fairstress.sensitivity.worst_case import WorstCase
from fairstress.sensitivity.yardstick import Benchmarks

if TYPE_CHECKING:
    from fairstress.audit.reported import Audit

BUDGETS = tuple(np.linspace(0.0, 0.6, 13).round(10).tolist())
GRID = tuple(np.linspace(-0.96, 0.96, 49).round(10).tolist())
ANALYST, BASELINE = "analyst", "baseline"  # who gives a level
BASELINES = {
    "unconstrained": "the mean squared distance from {} to those of a predictor of all columns",
    "blind": "the same distance for a predictor that ignores the graph and leaves out the protected attribute",
}


@dataclass(frozen=True, slots=True)
class Level:
    """A CFU that somebody calls unacceptable, and why."""

    name: str
    value: float
    reason: str
    source: str = ANALYST  # or a baseline


@dataclass(frozen=True, slots=True)
class PairAlone:
    """What one pair does to the worst case: free alone, and forbidden."""

    pair: tuple[str, str]
    alone: WorstCase
    forbidden: WorstCase | None  # None where it is the only pair


@dataclass(frozen=True, slots=True)
class Dossier:
    """The answers of an audit, for one agreed budget."""

    audit: Audit
    date: str  # when it was gathered, as 2020-12-31
    p_max: float  # the agreed budget
    reason: str  # why it was agreed
    check: Check
    profiles: tuple[Profile, ...]
    curve: Curve
    levels: tuple[Level, ...]
    breaking_points: tuple[BreakingPoint, ...]  # of each level
    group_means: pd.DataFrame  # p_max, group, factual, counterfactual, difference: mean predictions
    predictors: pd.DataFrame  # predictor, group, mean: of the outcome as observed and of each predictor
    people: pd.DataFrame  # worst rows first: label, people, from, to, prediction, prediction_counterfactual, cfu
    people_features: pd.DataFrame  # of the same rows: (feature, "factual" or "counterfactual")
    by_group: pd.DataFrame  # group, people, mean, and quantiles of CFU at the agreed budget
    decisions: Decisions | None  # that the counterfactual turns, where there is a threshold
    pairs: tuple[PairAlone, ...]
    benchmarks: Benchmarks | None
    benchmarks_refused: str  # why there are none
    rivals: tuple[Rival, ...]  # the audited predictor, then the baselines
    variants: tuple[Variant, ...]
    margins: pd.DataFrame  # column, level, rows: of each protected column where there are several

    @property
    def agreed(self) -> WorstCase:
        """The worst case at the agreed budget."""
        return next(point for point in self.curve.points if point.p_max == self.p_max)

    @property
    def share_of_variance(self) -> float:
        """The worst case at the agreed budget as a share of the outcome's variance; NaN where it has other units."""
        return self.agreed.value / self.curve.context.outcome_variance


def gather(
    audit: Audit,
    p_max: float = 0.3,
    *,
    reason: str = "",
    budgets: Sequence[float] = BUDGETS,
    grid: Sequence[float] | None = GRID,
    profiles: Sequence[Profile] | None = None,
    levels: Mapping[str, tuple[float, str]] | None = None,
    budget: str = "pairwise",
    min_eigenvalue: float = 0.05,
    threshold: float | None = None,
    progress: Progress | None = None,
) -> Dossier:
    """Ask all questions.

    ``profiles`` are those that are known already; without them all pairs are profiled along ``grid``. ``levels`` is
    ``{name: (CFU, reason)}``; ``progress`` hears of steps done and steps in all.
    """
    limits: dict[str, Any] = {"budget": budget, "min_eigenvalue": min_eigenvalue}
    p_max = read_share(p_max, "p_max")
    sizes, named = read_sizes([*read_sizes(budgets, "budgets"), p_max]), _levels(audit, levels or {})
    if threshold is not None:
        audit.flips(threshold)  # which refuses what is no threshold
    unknown = audit.graph.pairs if profiles is None else ()
    steps = Steps(_count(audit, sizes, named) + len(unknown) + (threshold is not None), progress)
    check = audit.check()
    steps()
    curve = audit.curve(sizes, **limits, progress=lambda *_: steps())
    worst = next(point for point in curve.points if point.p_max == p_max)
    agreed = moved(audit, worst)
    benchmarks, refused = _benchmarks(audit, steps)
    return Dossier(
        audit=audit,
        date=date.today().isoformat(),
        p_max=p_max,
        reason=reason,
        check=check,
        profiles=(*(profiles or ()), *(audit.profile(pair, grid) for pair in steps.each(unknown))),
        curve=curve,
        levels=named,
        breaking_points=tuple(curve.breaking_point(level.value) for level in steps.each(named)),
        group_means=_group_means(audit, curve, agreed),
        predictors=means_of_predictors(audit),
        people=worst_rows(audit, agreed),
        people_features=features_of_worst_rows(audit, agreed),
        by_group=spread_of_groups(audit, agreed),
        decisions=_decisions(audit, threshold, agreed, limits, steps),
        pairs=_pairs(audit, p_max, worst, limits, steps),
        benchmarks=benchmarks,
        benchmarks_refused=refused,
        rivals=rivals(audit, curve, worst, steps),
        variants=variants(audit, p_max, limits, steps),
        margins=_margins(audit.table),
    )


def _count(audit: Audit, sizes: Sequence[float], levels: Sequence[Level]) -> int:
    """Steps for check and benchmarks, budgets, levels, pairs alone and forbidden, rivals, variants."""
    pairs = len(audit.graph.pairs)
    of_pairs = 2 * pairs if pairs > 1 else 0
    return 2 + len(sizes) + len(levels) + of_pairs + len(audit.baselines) + len(plans(audit))


def _levels(audit: Audit, given: Mapping[str, tuple[float, str]]) -> tuple[Level, ...]:
    """The analyst's levels, then the baselines', where a distance from the audited predictor measures unfairness."""
    if not isinstance(given, Mapping):
        raise SettingError(f"levels is {given!r}: give a CFU and the reason by name, {{'much': (0.01, 'because ...')}}")
    found = []
    for name, pair in given.items():
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and is_level(pair[0])):
            raise SettingError(
                f"the level '{name}' is {pair!r}: give its CFU, a positive number, and the reason, such as "
                "(0.01, 'because ...')"
            )
        found.append(Level(str(name), float(pair[0]), str(pair[1])))
    if audit.settings.predictor_input != RESIDUALS:  # the audited predictor is itself unfair under Model A
        return tuple(found)
    known = audit.baselines.items() if audit.claim.measure.is_squared else ()
    whose = "the audited predictions" if audit.sturdier is None else "the fair predictor's predictions"
    reasons = {name: text.format(whose) for name, text in BASELINES.items()}
    return (*found, *(Level(f"baseline {name}", b.unfairness, reasons[name], BASELINE) for name, b in known))


def _margins(table: Table) -> pd.DataFrame:
    """Rows of each level of each protected column, where several are protected together."""
    found: list[tuple[str, Any, int]] = []
    if len(table.graph.protected_columns) > 1:
        a = table.rows.a[table.row_of[table.weight > 0]]
        own = table.units.levels.iloc[np.searchsorted(table.units.codes, a)]
        sizes = {name: own[name].value_counts(sort=False).sort_index() for name in own}
        found = [(str(name), level, int(count)) for name, rows in sizes.items() for level, count in rows.items()]
    return pd.DataFrame(found, columns=["column", "level", "rows"])


def _group_means(audit: Audit, curve: Curve, agreed: Moved) -> pd.DataFrame:
    """Mean predictions of each group for each budget."""
    seen = (agreed if point is agreed.point else moved(audit, point) for point in curve.points)
    return pd.concat([means_of_groups(audit, one) for one in seen], ignore_index=True)


def _decisions(
    audit: Audit, threshold: float | None, agreed: Moved, limits: Mapping[str, Any], steps: Steps
) -> Decisions | None:
    """Decisions that turn, where a threshold makes them."""
    if threshold is None:
        return None
    found = decide(audit, threshold, agreed, limits)
    steps()
    return found


# ---------------------------------------------------------------- pairs and set-ups


def _pairs(
    audit: Audit, p_max: float, worst: WorstCase, limits: Mapping[str, Any], steps: Steps
) -> tuple[PairAlone, ...]:
    """The worst case with each pair alone, and without it."""
    free = audit.graph.pairs
    if len(free) == 1:
        return (PairAlone(free[0], worst, None),)
    found = []
    for pair in free:
        without = [{other: (0.0, 0.0) for other in free if other != pair}, {pair: (0.0, 0.0)}]
        found.append(PairAlone(pair, *(audit.worst_case(p_max, bounds=b, **limits) for b in steps.each(without))))
    return tuple(found)


def _benchmarks(audit: Audit, steps: Steps) -> tuple[Benchmarks | None, str]:
    """Benchmarks, or why there are none."""
    try:
        return audit.benchmarks(), ""
    except FairstressError as problem:
        return None, str(problem)
    finally:
        steps()
