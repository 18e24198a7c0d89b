"""What a hidden confounder can do, and what it must be to do more: both directions in words. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairstress.analyses.absorption import listed
from fairstress.errors import Status
from fairstress.options import Budget, SingleCause, Spectral

if TYPE_CHECKING:
    from fairstress.analyses.curve import Curve
    from fairstress.analyses.worst_case import WorstCase

SEARCHED = "as far as the search can tell"


def beyond(worst: WorstCase) -> str:
    """Say what confounding within a budget can do, and that more takes more."""
    if worst.p_max == 0:
        return ""
    further = "larger" if worst.direction == "largest" else "smaller"
    hedge = f", {SEARCHED}" if len(worst.pairs) > 1 or worst.at_points else ""
    return (
        f"So a hidden confounder within this budget can bring {_the(worst.functional)} to {worst.value:.4g}; a "
        f"{further} value takes one beyond it{hedge}.{_takes(worst)}"
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
    share = f"{_percent(size)} or more of one error's variance"
    return f" A single cause gives a correlation of {size:.3g} only if it explains {share}."


def bounded(budget: Budget) -> str:
    """The bounds of single pairs, or caps of single variables, as part of a sentence; nothing where there are none."""
    if isinstance(budget, SingleCause):
        caps = listed(f"at most {_percent(cap)} of {name}" for name, cap in budget.caps.items())
        return f", with {caps}" if budget.caps else ""
    limits = (f"{a} <-> {b} from {low:g} to {high:g}" for (a, b), (low, high) in budget.bounds.items())
    return f", with {listed(limits)}" if budget.bounds else ""


def reached(curve: Curve) -> list[str]:
    """Say for each baseline how strong a hidden confounder must be to bring CFU to its unfairness."""
    levels = sorted(curve.context.baselines.items(), key=lambda item: item[1])
    highest = curve.points[-1]
    sentences: list[str] = []
    for name, level in levels:
        if highest.value >= level:
            sentences.append(_needed(curve, name, level, is_first=not sentences))
    missed = [name for name, level in levels if highest.value < level]
    if missed:
        noun = "baseline" if len(missed) == 1 else "baselines"
        sentences.append(
            f"No hidden confounder within p_max = {highest.p_max:g}{_and_bounds(curve)}, the largest budget searched, "
            f"brings CFU to the unfairness of the {noun} {listed(missed)}{_hedge(curve)}."
        )
    return sentences


def _needed(curve: Curve, name: str, level: float, *, is_first: bool) -> str:
    """How strong a hidden confounder must be at least, and which strength is enough."""
    enough = next(point.p_max for point in curve.points if point.value >= level)
    short = [point.p_max for point in curve.points if point.value < level]
    head = f"CFU reaches {level:.4g}, the unfairness of the baseline {name},"
    if not short or short[-1] == 0:
        return f"{head} within p_max = {enough:g}, the smallest budget searched{' above 0' * bool(short)}."
    if not is_first:
        return f"{head} only beyond p_max = {short[-1]:g}; within p_max = {enough:g} it does."
    return (
        f"Within these budgets{_and_bounds(curve)} {head} only if a hidden confounder {_stronger(curve, short[-1])}; "
        f"weaker ones cannot bring it there{_hedge(curve)}, and within p_max = {enough:g} one does."
        f"{_single(curve, short[-1])}"
    )


def _stronger(curve: Curve, p_max: float) -> str:
    """What lies outside a budget."""
    last = curve.points[-1]
    if isinstance(last.budget, SingleCause):
        return f"explains more than {_percent(p_max)} of the variance of an error"
    if _is_spectral(curve):
        return f"is stronger than the spectral budget p_max = {p_max:g} allows"
    errors = "the errors of some pair" if len(last.pairs) > 1 else f"the errors of {listed(last.pairs[0])}"
    return f"correlates {errors} by more than {p_max:g} in size"


def _single(curve: Curve, p_max: float) -> str:
    """What a single cause must explain to correlate two errors by more than p_max: ``p^2 = R2_j R2_k``."""
    if _is_spectral(curve) or isinstance(curve.points[-1].budget, SingleCause):
        return ""
    return f" A single cause does so only if it explains more than {_percent(p_max)} of the variance of an error."


def _is_spectral(curve: Curve) -> bool:
    """Whether the budget is about all pairs together."""
    return isinstance(curve.points[-1].budget, Spectral) and len(curve.points[-1].pairs) > 1


def _and_bounds(curve: Curve) -> str:
    return " and bounds" if curve.points[-1].budget.bounds else ""


def _hedge(curve: Curve) -> str:
    exact = len(curve.points[-1].pairs) == 1 and all(point.status is Status.CONVERGED for point in curve.points)
    return "" if exact else f", {SEARCHED}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
