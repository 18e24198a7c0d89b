"""CFU as a map: over two pairs' correlations, or over the shares of one cause. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstress.arguments import flag
from fairstress.inputs.rows import Array
from fairstress.report.plots import style
from fairstress.report.plots.style import canvas, cfu_label, pair_words, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.analyses.cause_contour import CauseContour
    from fairstress.analyses.contour import Contour
    from fairstress.claim.claim import Context

Masked = np.ma.MaskedArray[tuple[int, ...], np.dtype[np.float64]]
LEVELS = 10  # bands of colour
CLOSE = 0.1  # of the scale of colours: labels of lines nearer to each other than this would touch


def plot_contour(contour: Contour, ax: Axes | None = None, *, baselines: bool = True) -> Axes:
    """Draw CFU in bands of colour; hatched is what the errors cannot have."""
    cfu = np.ma.masked_invalid(contour.cfu)
    flag(baselines, "baselines")
    with canvas(ax, (5.2, 4.2)) as ax:
        ax.patch.set(facecolor="white", edgecolor="#BBBBBB", hatch="////", linewidth=0)
        _bands(ax, contour.grid_first, contour.grid_second, cfu, contour.context)
        if contour.has_model_a:
            ax.plot(0, 0, marker="+", color="white", markersize=8, markeredgewidth=1.5)
            ax.annotate("Model A", (0, 0), xytext=(4, 4), textcoords="offset points", color="white", fontsize=8)
        if baselines:
            _reached(ax, contour, cfu)
        ax.set_xlabel(f"correlation of the errors of\n{pair_words(contour.first)}")
        ax.set_ylabel(f"correlation of the errors of\n{pair_words(contour.second)}")
        ax.set_aspect("equal")
        if not contour.is_feasible.all():
            ax.set_title(f"hatched: the smallest eigenvalue lies below {contour.floor:g}", color=style.SOFT, fontsize=8)
    return ax


def _reached(ax: Axes, contour: Contour, cfu: Masked) -> None:
    """Lines along which CFU equals the unfairness of a baseline."""
    levels = {level: name for name, level in contour.context.baselines.items() if 0 < level < cfu.max()}
    if not levels:
        return
    lines = ax.contour(
        contour.grid_first, contour.grid_second, cfu, levels=sorted(levels), colors="white", linewidths=1.2
    )
    shown: dict[float, str] = {}
    for level in sorted(levels):  # labels of lines that run close to each other become one
        near = next((other for other in shown if np.sqrt(level) - np.sqrt(other) < CLOSE * np.sqrt(cfu.max())), level)
        shown[near] = f"{shown[near]}, {words(levels[level])}" if near in shown else words(levels[level])
    ax.clabel(lines, levels=list(shown), fmt=shown, fontsize=7.5)


def plot_cause_contour(contour: CauseContour, ax: Axes | None = None) -> Axes:
    """Draw CFU in bands of colour over both shares, and where the baseline is reached at the same correlation."""
    with canvas(ax, (5.2, 4.2)) as ax:
        from matplotlib.ticker import PercentFormatter

        _bands(ax, contour.attribute_shares, contour.feature_shares, np.ma.masked_invalid(contour.cfu), contour.context)
        if contour.as_unfair.any() and not contour.as_unfair.all():
            axes = contour.attribute_shares, contour.feature_shares
            line = ax.contour(*axes, contour.excess, levels=[0.0], colors="white", linewidths=1.6)
            ax.clabel(line, fmt={0.0: f"as unfair as {words(contour.baseline)}"}, fontsize=7.5)
        ax.set_xlabel(f"share of the error of {words(contour.protected)}\nthat one hidden cause explains, at most")
        ax.set_ylabel("share of the errors of features\nthat it explains, at most")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    return ax


def _bands(ax: Axes, across: Array, up: Array, cfu: Masked, context: Context) -> None:
    """Bands of colour, each a round change of the prediction wide, with their scale."""
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    top = float(cfu.max())
    largest = np.sqrt(top) if top > context.negligible else 1.0
    levels = np.square(MaxNLocator(LEVELS).tick_values(0, largest))  # squares of round changes of the prediction
    colours: dict[str, Any] = {"cmap": "cividis", "norm": PowerNorm(0.5, 0, levels[-1])}
    filled = ax.contourf(across, up, cfu, levels=levels, **colours)
    label = cfu_label(context.outcome_variance)
    ax.figure.colorbar(filled, ax=ax, label=label, format="%.3g").outline.set_visible(False)
