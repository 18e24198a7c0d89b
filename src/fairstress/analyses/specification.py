"""Would another analyst find the same? The same question asked with other settings, other people, other predictors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.curve import BreakingPoint, as_unfair_as
from fairstress.analyses.tabular import Shown
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.budgets import Budget
from fairstress.claim.build import Fitted
from fairstress.claim.predictors import mean_squared_distance
from fairstress.claim.refit import refit
from fairstress.errors import FairstressError, SettingError
from fairstress.functionals.cfu import evaluate_cfu
from fairstress.options import Search
from fairstress.parallel import in_parallel
from fairstress.progress import Steps


@dataclass(frozen=True, slots=True)
class SpecificationCheck(Shown):
    """The same question asked of an audit that was fitted otherwise.

    Examples
    --------
    >>> SpecificationCheck("penalty 0", cfu=0.0179, blind=0.0146)
    SpecificationCheck(what='penalty 0', cfu=0.0179, blind=0.0146, note='')
    """

    what: str  # which settings
    cfu: float | None  # worst case within the budget
    blind: float | None  # unfairness of the blind baseline there
    note: str = ""  # why there is no answer


@dataclass(frozen=True, slots=True)
class Comparison(Shown):
    """How unfair a predictor is by its own CFU, the audited one first: what compares like with like.

    Examples
    --------
    >>> Comparison("blind", cfu_model_a=0.081, cfu_worst=0.226, as_unfair_from=0.195).as_unfair_from
    0.195
    """

    predictor: str  # ``audited``, or a baseline's name
    cfu_model_a: float  # under Model A
    cfu_worst: float  # at the correlation that is worst for the audited predictor within the budget
    as_unfair_from: float | None = None  # least p_max at which the audited one is as unfair, at the same correlation
    note: str = ""  # why there is no such p_max
    lower: float | None = None  # limit below as_unfair_from, where replicates were drawn


# ---------------------------------------------------------------- predictors


def reaching_baseline(
    fitted: Fitted, name: str, sizes: Sequence[float], solve: Solver, replicator: Replicator | None
) -> BreakingPoint | str:
    """Where the audited predictor is as unfair as a baseline at the same correlation, or why there is no such place."""
    try:
        return as_unfair_as(name, sizes, solve, fitted.context, Steps(0), replicator)
    except SettingError as problem:  # a baseline that has no CFU
        return str(problem)


def comparison(fitted: Fitted, worst: WorstCase, reached: Mapping[str, BreakingPoint | str]) -> tuple[Comparison, ...]:
    """The audited predictor, then the baselines, with what `reaching_baseline` gives for each."""
    independent, at_worst = fitted.claim.model_a.correlation, worst.correlation.to_numpy()
    compared = [Comparison("audited", evaluate_cfu(fitted.claim, independent).value, worst.value)]
    for name, baseline in fitted.baselines.items():
        own = evaluate_cfu(baseline.claim, independent).value, evaluate_cfu(baseline.claim, at_worst).value
        point = reached[name]
        if isinstance(point, str):
            compared.append(Comparison(name, *own, None, point))
        else:
            compared.append(Comparison(name, *own, point.p_max, lower=point.lower))
    return tuple(compared)


# ---------------------------------------------------------------- settings


def plans(fitted: Fitted) -> dict[str, dict[str, Any]]:
    """Other degrees, penalties, a seed, and half of the data; what the audit has already is not asked again."""
    settings = fitted.settings
    penalty = settings.penalty or 0.0
    larger = ("penalty ten times as large", 10 * penalty) if penalty else ("penalty 1", 1.0)
    half = np.arange(fitted.table.y.size) % 2 == 0
    without: dict[str, Any] = {"penalty 0": {"penalty": 0.0}} if penalty else {}
    lines = dict.fromkeys(settings.degrees, 1)
    linear: dict[str, Any] = {"all degrees 1": {"degrees": lines}} if lines != settings.degrees else {}
    return {
        "as audited": {},
        **without,
        larger[0]: {"penalty": larger[1]},
        **linear,
        "all degrees one higher": {"degrees": {name: d + 1 for name, d in settings.degrees.items()}},
        "another seed of the search": {"seed": 1},
        "every second row": {"keep": half},
        "the other rows": {"keep": ~half},
        "fitted to every second row, judged on the others": {"keep": half, "judge": ~half},
    }


def specification_checks(
    fitted: Fitted, p_max: float, budget: Budget, search: Search, steps: Steps
) -> tuple[SpecificationCheck, ...]:
    """The worst case within the budget under each plan."""
    again, asked = _refitter(fitted), plans(fitted)

    def check(what: str) -> SpecificationCheck:
        return _check(fitted, again, what, p_max, budget, search, **asked[what])

    return tuple(in_parallel(check, list(asked), search.n_jobs, steps))


def _refitter(fitted: Fitted) -> Callable[..., Fitted]:
    """Refits, each part of the rows once."""
    parts: dict[int, Fitted] = {}

    def again(*, keep: Any = None, **changes: Any) -> Fitted:
        if keep is None:
            return refit(fitted, **changes)
        if id(keep) not in parts:
            parts[id(keep)] = refit(fitted, keep=keep)
        return parts[id(keep)]

    return again


def _check(
    fitted: Fitted,
    again: Callable[..., Fitted],
    what: str,
    p_max: float,
    budget: Budget,
    search: Search,
    *,
    seed: int = 0,
    judge: Any = None,
    **changes: Any,
) -> SpecificationCheck:
    """One plan: ``changes`` of the fit, a ``seed`` to add to the audit's, and who is to ``judge``."""
    try:
        other = again(**changes)
        other = other if judge is None else _judged(other, fitted, judge)
        worst = Solver.of(other, budget, search, (fitted.settings.random_state or 0) + seed)(p_max)
        return SpecificationCheck(what, worst.value, other.baselines["blind"].unfairness)
    except FairstressError as problem:
        return SpecificationCheck(what, None, None, str(problem))


def _judged(part: Fitted, whole: Fitted, which: np.ndarray[Any, np.dtype[np.bool_]]) -> Fitted:
    """Models and predictors as they were fitted, people others than those to whom they were fitted."""
    table = whole.table.keep(which)
    moved, _ = table.protected.contrasts(table.rows)
    claim, blind = replace(part.claim, rows=moved), part.baselines["blind"]
    fair = replace(claim, predictor=part.fair_predictor or claim.predictor)
    judged = replace(blind, unfairness=mean_squared_distance(blind.claim, fair, table.rows))
    return replace(part, claim=claim, baselines={**part.baselines, "blind": judged})
