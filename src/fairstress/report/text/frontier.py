"""The frontier in words: what accuracy buys. Computes nothing."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from fairstress.errors import Status
from fairstress.report.text.markup import WIDTH

if TYPE_CHECKING:
    from fairstress.analyses.robust.cuts import RobustPredictor
    from fairstress.analyses.robust.frontier import BaselinePoint, Frontier


def frontier_summary(frontier: Frontier) -> str:
    """Say how accuracy and the worst-case CFU of each predictor compare with the fair predictor's."""
    worst = frontier.fair.worst_case
    floor = f", least eigenvalue {worst.floor:g}" if len(worst.pairs) > 1 else ""
    title = f"Accuracy against the worst-case CFU within the {worst.budget} budget p_max = {worst.p_max:g}{floor}"
    head = f"{frontier.explained:>{_wide(frontier)}}{'worst-case CFU':>17}{'share':>11}{'fair one shrunk':>18}"
    lines = [f"{'predictor':<16}{'weight':>9}{head}"]
    lines += [_line(point, frontier) for point in frontier.points]
    lines += [_baseline_line(one, frontier) for one in frontier.baselines]
    parts = [title, "\n".join(lines), *(textwrap.fill(text, WIDTH) for text in frontier_notes(frontier))]
    return "\n\n".join(parts)


def frontier_notes(frontier: Frontier) -> tuple[str, ...]:
    """The sentences under a frontier's table."""
    return (_columns(frontier), _baselines(frontier), _method(frontier))


def _wide(frontier: Frontier) -> int:
    return max(10, len(frontier.explained) + 2)


def _line(point: RobustPredictor, frontier: Frontier) -> str:
    name = "robust" if point.weight else "fair (audited)"
    accuracy, share = f"{point.r2:>{_wide(frontier)}.5f}", _share(point.cfu, frontier)
    return f"{name:<16}{point.weight:>9g}{accuracy}{point.cfu:>17.4e}{share:>11}{frontier.shrunk(point):>18.4e}"


def _baseline_line(baseline: BaselinePoint, frontier: Frontier) -> str:
    cfu = baseline.worst_case.value
    r2 = f"{baseline.baseline.r2:>{_wide(frontier)}.5f}"
    return f"{baseline.baseline.name:<25}{r2}{cfu:>17.4e}{_share(cfu, frontier):>11}"


def _share(cfu: float, frontier: Frontier) -> str:
    return f"{100 * cfu / frontier.fair.cfu:.1f} %" if frontier.fair.cfu > 0 else ""


def _columns(frontier: Frontier) -> str:
    return (
        "A share is of the fair predictor's worst case. Drawing the fair predictor towards its mean until its "
        f"{frontier.explained} is as low is the cheap way to a lower CFU; the last column has its worst case then. A "
        "robust predictor is worth its trouble as far as it stays below that."
    )


def _baselines(frontier: Frontier) -> str:
    names = " and ".join(one.baseline.name for one in frontier.baselines)
    variance = (
        f"; the outcome's variance is {frontier.outcome_variance:.4g}" if np.isfinite(frontier.outcome_variance) else ""
    )
    return (
        f"The baselines, {names}, ignore the graph; their worst cases are their own, each at its own correlation. "
        f"{frontier.explained[:1].upper() + frontier.explained[1:]} is in-sample{variance}."
    )


def _method(frontier: Frontier) -> str:
    cuts, gap = len(frontier.cuts), max(1e-16, *(point.gap for point in frontier.points))
    noun = "correlation" if cuts == 1 else "correlations"
    trouble = sorted({str(p.status) for p in frontier.points if p.status is not Status.CONVERGED})
    return " ".join(
        [
            f"Each robust predictor is the best against {cuts} worst {noun} (duality gap at most {gap:.0e} of the "
            "objective), and a search within the budget found none that is worse by more than 0.1 %: the worst case "
            "found, not a proof.",
            *trouble,
        ]
    )
