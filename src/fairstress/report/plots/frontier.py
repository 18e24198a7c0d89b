"""The frontier as a picture: accuracy over the worst case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairstress.report.plots import style
from fairstress.report.plots.style import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.analyses.robust.frontier import Frontier


def plot_frontier(frontier: Frontier, ax: Axes | None = None) -> Axes:
    """Draw accuracy over the worst-case CFU: robust predictors, the fair one shrunk, and the baselines."""
    frame = frontier.to_frame()
    own = frame[frame["predictor"].isin(["fair", "robust"])]
    with canvas(ax, (5.6, 3.6)) as ax:
        ax.plot(own["shrunk"], own["r2"], color=style.PALE, linestyle=":", marker=".", label="fair one, shrunk")
        ax.plot(own["unfairness"], own["r2"], color=style.BLUE, marker="o", label="robust, by weight")
        ax.plot(own["unfairness"][:1], own["r2"][:1], color=style.BLUE, marker="D", linestyle="none", label="fair")
        for row in own[1:].itertuples():
            ax.annotate(f"{row.weight:g}", (row.unfairness, row.r2), (-4, 6), textcoords="offset points", fontsize=7)
        for i, one in enumerate(frontier.baselines):
            look: Any = {"color": style.VERMILION, "marker": "sv"[i % 2], "linestyle": "none"}
            ax.plot(one.worst_case.value, one.baseline.r2, label=one.baseline.name, **look)
        if (frame["unfairness"] > 0).all():
            ax.set_xscale("log")
        worst = frontier.fair.worst_case
        ax.set_xlabel(f"worst-case CFU ({worst.budget} budget, p_max = {worst.p_max:g})")
        ax.set_ylabel(f"{frontier.explained}, in-sample")
        ax.legend(loc="best")
    return ax
