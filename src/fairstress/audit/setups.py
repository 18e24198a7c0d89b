"""The same question asked of an audit that is set up otherwise, and of the predictors that it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstress.audit.steps import Steps
from fairstress.errors import FairstressError, SettingError
from fairstress.sensitivity.curve import Curve, as_unfair_as
from fairstress.sensitivity.worst_case import WorstCase

if TYPE_CHECKING:
    from fairstress.audit.reported import Audit


@dataclass(frozen=True, slots=True)
class Variant:
    """The same question asked of an audit that was set up otherwise."""

    what: str
    cfu: float | None  # worst case at the agreed budget
    blind: float | None  # unfairness of the blind baseline there
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rival:
    """How unfair a predictor is by its own CFU, the audited one first: what compares like with like."""

    predictor: str
    cfu_model_a: float
    cfu_worst: float  # at the correlation that is worst for the audited predictor within the agreed budget
    as_unfair_from: float | None = None  # least p_max at which the audited one is as unfair, at the same correlation
    note: str = ""


# ---------------------------------------------------------------- predictors


def rivals(audit: Audit, curve: Curve, worst: WorstCase, steps: Steps) -> tuple[Rival, ...]:
    """The audited predictor, then the baselines."""
    budgets = sorted({worst.p_max, curve.points[-1].p_max})
    found = [Rival("audited", audit.cfu_under_model_a, worst.value)]
    for name in steps.each(audit.baselines):
        own = (audit.baseline_cfu(name, {}), audit.baseline_cfu(name, worst.correlation))
        try:
            point = as_unfair_as(name, budgets, curve.solve, curve.context)
            found.append(Rival(name, *own, point.p_max))
        except SettingError as problem:  # a baseline that has no CFU
            found.append(Rival(name, *own, None, str(problem)))
    return tuple(found)


# ---------------------------------------------------------------- set-ups


def plans(audit: Audit) -> dict[str, dict[str, Any]]:
    """Other degrees, penalties, a seed, and half of the data; what the audit has already is not asked again."""
    settings = audit.settings
    larger = ("penalty ten times as large", 10 * settings.penalty) if settings.penalty else ("penalty 1", 1.0)
    half = np.arange(audit.table.y.size) % 2 == 0
    without: dict[str, Any] = {"penalty 0": {"penalty": 0.0}} if settings.penalty else {}
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


def variants(audit: Audit, p_max: float, limits: Mapping[str, Any], steps: Steps) -> tuple[Variant, ...]:
    """The worst case at the agreed budget under each plan."""
    asked = steps.each(plans(audit).items())
    return tuple(_variant(audit, what, p_max, limits, **plan) for what, plan in asked)


def _variant(
    audit: Audit,
    what: str,
    p_max: float,
    limits: Mapping[str, Any],
    *,
    seed: int = 0,
    judge: Any = None,
    **changes: Any,
) -> Variant:
    """One set-up: ``changes`` of the fit, a ``seed`` to add to the audit's, and who is to ``judge``."""
    try:
        other = audit.refitted(**changes)
        other = other if judge is None else _judged(other, audit, judge)
        worst = other.worst_case(p_max, random_state=(audit.settings.random_state or 0) + seed, **limits)
        return Variant(what, worst.value, other.baselines["blind"].unfairness)
    except FairstressError as problem:
        return Variant(what, None, None, str(problem))


def _judged(fitted: Audit, whole: Audit, which: np.ndarray[Any, np.dtype[np.bool_]]) -> Audit:
    """Models and predictors as they were fitted, people others than those to whom they were fitted."""
    table = whole.table.keep(which)
    moved, _ = table.protected.contrasts(table.rows)
    claim, blind = replace(fitted.claim, rows=moved), fitted.baselines["blind"]
    fair = replace(claim, predictor=fitted.fair_predictor or claim.predictor)
    apart = sum(
        float(block.weight @ (blind.claim.predicted(block) - fair.predicted(block)) ** 2)
        for block in table.rows.blocks()
    )
    judged = replace(blind, unfairness=apart / table.rows.n)
    return replace(fitted, claim=claim, baselines={**fitted.baselines, "blind": judged})
