"""What hidden confounding can do, and how strong it must be to do more. Computes nothing.

Where the worst case reaches a level is told from the budgets that were searched: between the last that falls short and
the first that does not. `Curve.breaking_point` finds the place itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairstress.analyses.absorption import listed
from fairstress.budgets import Budget, SingleCause
from fairstress.errors import Status

if TYPE_CHECKING:
    from fairstress.analyses.curve import Curve
    from fairstress.analyses.worst_case import WorstCase

SEARCHED = "as far as the search can tell"
ADDITIVE = "additive Gaussian confounding"  # what every worst case is over
LIKE_FOR_LIKE = "To compare two predictors under the same confounding instead, ask breaking_point('blind')."


def beyond(worst: WorstCase) -> str:
    """Say what confounding within a budget can do, and that it can do no more."""
    if worst.p_max == 0:
        return ""
    verb = "raise" if worst.direction == "largest" else "lower"
    hedge = f", {SEARCHED}," if len(worst.pairs) > 1 or worst.at_points else ""
    return (
        f"Such confounding can {verb} {_the(worst.functional)} to {worst.value:.4g} and{hedge} no further."
        f"{_takes(worst)}"
    )


def _the(functional: str) -> str:
    return functional if functional.startswith("CFU") else f"the {functional}"


def _takes(worst: WorstCase) -> str:
    """What one hidden cause explains at least where it gives a pair's errors this correlation."""
    if len(worst.pairs) > 1 or worst.loadings is not None:
        return ""
    ((a, b),) = worst.pairs
    size = abs(float(worst.correlation[a][b]))
    if size == 0:
        return ""
    return (
        f" A single cause gives the two errors a correlation of {size:.3g} only if it explains at least "
        f"{_percent(size)} of one error's variance."
    )


def bounded(budget: Budget) -> str:
    """The bounds of single pairs, or caps of single variables, as part of a sentence; nothing where there are none."""
    if isinstance(budget, SingleCause):
        caps = listed(f"at most {_percent(cap)} of {name}" for name, cap in budget.caps.items())
        return f", with {caps}" if budget.caps else ""
    limits = (f"{a} <-> {b} from {low:g} to {high:g}" for (a, b), (low, high) in budget.bounds.items())
    return f", with {listed(limits)}" if budget.bounds else ""


def reached(curve: Curve) -> list[str]:
    """Say between which budgets the worst case reaches each baseline's distance, and what that asks of one cause."""
    levels = sorted(curve.context.baselines.items(), key=lambda item: item[1])
    highest = curve.points[-1]
    sentences = [_where(curve, name, level) for name, level in levels if highest.value >= level]
    if sentences:
        sentences += filter(None, [_single(curve)])
    missed = [name for name, level in levels if highest.value < level]
    if missed:
        whose = f"distance of the baseline {missed[0]}" if len(missed) == 1 else f"distances of {listed(missed)}"
        sentences.append(
            f"Up to p_max = {highest.p_max:g}, the largest budget searched, the worst case stays below the "
            f"{whose}{_hedge(curve)}."
        )
    return [*sentences, LIKE_FOR_LIKE] if sentences else []


def _where(curve: Curve, name: str, level: float) -> str:
    """Between which budgets the worst case reaches a level."""
    enough = next(point.p_max for point in curve.points if point.value >= level)
    short = [point.p_max for point in curve.points if point.value < level]
    head = f"The worst case reaches {level:.4g}, the distance of the baseline {name},"
    if not short:
        return f"{head} within p_max = {enough:g} already, the smallest budget searched."
    return f"{head} between p_max = {short[-1]:g} and {enough:g}{_hedge(curve)}."


def _single(curve: Curve) -> str:
    """What p_max says of one cause: its largest share, or ``p^2 = R2_j R2_k`` for a single pair; else nothing.

    A worst correlation of several pairs need not come from one cause: none gives three correlations with a negative
    product.
    """
    last = curve.points[-1]
    if isinstance(last.budget, SingleCause):
        return "Here p_max is the largest share of any error's variance that the one cause explains."
    if len(last.pairs) > 1:
        return ""
    return (
        f"A single cause that correlates the errors of {listed(last.pairs[0])} by p_max explains at least that share "
        "of one error's variance."
    )


def _hedge(curve: Curve) -> str:
    exact = len(curve.points[-1].pairs) == 1 and all(point.status is Status.CONVERGED for point in curve.points)
    return "" if exact else f", {SEARCHED}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
