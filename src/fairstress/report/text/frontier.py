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


def frontier_summary(found: Frontier) -> str:
    """Say how accuracy and the worst-case CFU of each predictor compare with the fair predictor's."""
    worst = found.fair.worst_case
    floor = f", least eigenvalue {worst.floor:g}" if len(worst.pairs) > 1 else ""
    title = f"Accuracy against the worst-case CFU within the {worst.budget} budget p_max = {worst.p_max:g}{floor}"
    head = f"{found.explained:>{_wide(found)}}{'worst-case CFU':>17}{'share':>11}{'fair one shrunk':>18}"
    lines = [f"{'predictor':<16}{'weight':>9}{head}"]
    lines += [_line(point, found) for point in found.points]
    lines += [_baseline_line(one, found) for one in found.baselines]
    parts = [title, "\n".join(lines), *(textwrap.fill(text, WIDTH) for text in frontier_notes(found))]
    return "\n\n".join(parts)


def frontier_notes(found: Frontier) -> tuple[str, ...]:
    """The sentences under a frontier's table."""
    return (_columns(found), _baselines(found), _method(found))


def _wide(found: Frontier) -> int:
    return max(10, len(found.explained) + 2)


def _line(point: RobustPredictor, found: Frontier) -> str:
    name = "robust" if point.weight else "fair (audited)"
    known = f"{name:<16}{point.weight:>9g}{point.r2:>{_wide(found)}.5f}{point.cfu:>17.4e}{_share(point.cfu, found):>11}"
    return f"{known}{found.shrunk(point):>18.4e}"


def _baseline_line(baseline: BaselinePoint, found: Frontier) -> str:
    cfu = baseline.worst_case.value
    r2 = f"{baseline.baseline.r2:>{_wide(found)}.5f}"
    return f"{baseline.baseline.name:<25}{r2}{cfu:>17.4e}{_share(cfu, found):>11}"


def _share(cfu: float, found: Frontier) -> str:
    return f"{100 * cfu / found.fair.cfu:.1f} %" if found.fair.cfu > 0 else ""


def _columns(found: Frontier) -> str:
    return (
        "A share is of the fair predictor's worst case. Drawing the fair predictor towards its mean until its "
        f"{found.explained} is as low is the cheap way to a lower CFU; the last column has its worst case then. A "
        "robust predictor is worth its trouble as far as it stays below that."
    )


def _baselines(found: Frontier) -> str:
    names = " and ".join(one.baseline.name for one in found.baselines)
    variance = (
        f"; the outcome's variance is {found.outcome_variance:.4g}" if np.isfinite(found.outcome_variance) else ""
    )
    return (
        f"The baselines, {names}, ignore the graph; their worst cases are their own, each at its own correlation. "
        f"{found.explained[:1].upper() + found.explained[1:]} is in-sample{variance}."
    )


def _method(found: Frontier) -> str:
    cuts, gap = len(found.cuts), max(1e-16, *(point.gap for point in found.points))
    noun = "correlation" if cuts == 1 else "correlations"
    trouble = sorted({str(p.status) for p in found.points if p.status is not Status.CONVERGED})
    return " ".join(
        [
            f"Each robust predictor is the best against {cuts} worst {noun} (duality gap at most {gap:.0e} of the "
            "objective), and a search within the budget found none that is worse by more than 0.1 %: the worst case "
            "found, not a proof.",
            *trouble,
        ]
    )
