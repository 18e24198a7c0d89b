"""Pictures of results: curve, profile, worst case and people. Axes in, Axes out; computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstress.analyses.benchmarks.result import Benchmarks
from fairstress.analyses.curve import BreakingPoint
from fairstress.arguments import flag
from fairstress.errors import SettingError, show
from fairstress.report.plots import style
from fairstress.report.plots.style import canvas, cfu_label, pair_words, words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from fairstress.analyses.bands.limits import Estimate
    from fairstress.analyses.curve import Curve
    from fairstress.analyses.people import People
    from fairstress.analyses.profile import Profile
    from fairstress.analyses.worst_case import WorstCase
    from fairstress.claim.claim import Context

BUDGETS = {
    "pairwise": "largest correlation of two errors that is allowed, p_max",
    "spectral": "spectral budget, p_max (largest R2 of an error on the others)",
    "single cause": "largest share of an error that one hidden cause may explain",
}
PENALTY_ONLY = "This curve shows the penalty, not the confounding:\nat penalty 0, CFU is 0 up to rounding."
WIDE = 36  # characters of a pair that takes a line of its own
CLOSE = 0.09  # of the axis: labels nearer to each other than this would touch


def plot_curve(
    curve: Curve,
    ax: Axes | None = None,
    *,
    baselines: bool = True,
    benchmarks: Benchmarks | None = None,
    breaking_point: BreakingPoint | None = None,
) -> Axes:
    """Draw the worst case over p_max."""
    frame, budget = curve.to_frame(), curve.points[0].budget
    flag(baselines, "baselines")
    _check(benchmarks, "benchmarks", Benchmarks, "what audit.benchmarks() gives")
    _check(breaking_point, "breaking_point", BreakingPoint, "what breaking_point() gives")
    with canvas(ax, (5.6, 3.6)) as ax:
        _lines(ax, frame, "p_max", "largest CFU found", curve.context, "o", _band(curve.points[0].estimate))
        _frame_axes(ax, frame, curve.context if baselines else None)
        ax.set_xlim(min(0.0, frame["p_max"].min()), max(1.02 * frame["p_max"].max(), 0.01))
        ax.set_xlabel(BUDGETS[budget.kind])
        if baselines:
            _baselines(ax, curve.context, 0.01)
        if benchmarks is not None:
            _marks(ax, benchmarks.marks(), f"p_max_{budget}")
        if breaking_point is not None:
            _breaking_point(ax, breaking_point)
        _explain(ax, shows_penalty_only=curve.shows_penalty_only)
    return ax


def plot_profile(
    profile: Profile, ax: Axes | None = None, *, baselines: bool = True, benchmarks: Benchmarks | None = None
) -> Axes:
    """Draw CFU over one pair's correlation."""
    frame = profile.to_frame().sort_values("correlation")
    flag(baselines, "baselines")
    _check(benchmarks, "benchmarks", Benchmarks, "what audit.benchmarks() gives")
    with canvas(ax, (5.6, 3.6)) as ax:
        band = _band(profile.estimates[0] if profile.estimates else None)
        _lines(ax, frame, "correlation", "CFU", profile.context, "o" if len(frame) < 20 else "", band)
        _frame_axes(ax, frame, profile.context if baselines else None)
        ax.axvline(0, color=style.FAINT, linewidth=0.8, zorder=0)
        pair = pair_words(profile.pair)
        ax.set_xlabel(f"correlation of the errors of{chr(10) if len(pair) > WIDE else ' '}{pair}")
        if baselines:
            _baselines(ax, profile.context, 0.42)
        if benchmarks is not None:
            _marks(ax, benchmarks.marks(profile.pair), "correlation")
        _explain(ax, shows_penalty_only=profile.shows_penalty_only)
    return ax


def _check(given: Any, name: str, of: type, what: str) -> None:
    """Refuse what cannot be drawn beside a curve."""
    if given is not None and not isinstance(given, of):
        raise SettingError(f"{name} is {show(given)}: give {what}, or leave it out")


def plot_worst_case(worst: WorstCase, ax: Axes | None = None) -> Axes:
    """Draw the correlation of the worst case as a heat map; entries that are not free stay without colour."""
    P, names = worst.correlation.to_numpy(), [words(str(name)) for name in worst.correlation]
    m = len(names)
    side = 2.2 + 0.5 * m
    with canvas(ax, (side + 1.0, side)) as ax:
        free = _joined(worst)
        shown = np.where(free, P, np.nan)
        image = ax.imshow(shown, cmap="PuOr_r", vmin=-1, vmax=1)
        bar = ax.figure.colorbar(image, ax=ax, label="correlation of the errors", shrink=0.85)
        bar.outline.set_visible(False)
        for j, k in np.ndindex(m, m):
            colour = ("white" if abs(P[j, k]) > 0.6 else style.INK) if free[j, k] else style.PALE
            text = f"{P[j, k]:+.2f}".replace("-", "\u2212") if free[j, k] else f"{P[j, k]:g}"
            ax.text(k, j, text, ha="center", va="center", color=colour, fontsize=8)
        for edge in np.arange(m - 1) + 0.5:
            ax.axhline(edge, color="white", linewidth=2)
            ax.axvline(edge, color="white", linewidth=2)
        is_long = max(map(len, names)) * m >= 40
        turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if is_long else {}
        ax.set_xticks(range(m), names, **turned)
        ax.set_yticks(range(m), names)
        ax.tick_params(length=0, labelcolor=style.INK)
        ax.spines[:].set_visible(False)
        title = f"{worst.direction} {worst.functional} found: {worst.value:.4g}"
        ax.set_title(f"{words(title, 80)}\n{worst.budget} budget, p_max = {worst.p_max:g}")
    return ax


def plot_people(people: People, ax: Axes | None = None) -> Axes:
    """Draw the share of each group whose CFU is at least so large."""
    frame, coding = people.distribution(), people.protected
    with canvas(ax, (5.6, 3.6)) as ax:
        for i, (group, rows) in enumerate(frame.groupby("group", sort=False)):
            own = people.summarise(people.weight > 0) if coding.levels is None else people.by_group().loc[group]
            colour, dashes = style.GROUPS[i % len(style.GROUPS)], style.DASHES[i % len(style.DASHES)]
            label = words(f"{group} ({own['people']:,.12g} people, mean {own['cfu']:.3g})", 60)
            ax.step(rows["cfu"], 100 * rows["share"], where="pre", color=colour, linestyle=dashes, label=label)
            ax.plot(own["cfu"], 0, marker="^", color=colour, clip_on=False, linestyle="none", zorder=4)
        ax.set_ylim(0, 100)
        ax.set_xlim(0, max(1.02 * float(frame["cfu"].max()), 1e-12))
        unit = " (squared units of the outcome)" if people.is_in_units else ""
        ax.set_xlabel(f"a person's CFU{unit}; triangles: means")
        ax.set_ylabel("people with at least this CFU\n(% of the group)")
        ax.legend(title=words(coding.name), alignment="left")
        _bare(ax)
    return ax


# ---------------------------------------------------------------- parts of curve and profile


def _lines(ax: Axes, frame: pd.DataFrame, x: str, what: str, context: Context, marker: str, band: str) -> None:
    """CFU at the audit's penalty and, where that is not 0, at penalty 0 in dashes."""
    has_penalty = context.penalty > 0
    label = f"{what}, penalty {context.penalty:.4g}" if has_penalty else what
    ax.plot(frame[x], frame["cfu"], color=style.BLUE, marker=marker, markersize=3.5, label=label)
    if "upper" in frame:
        ax.fill_between(frame[x], frame["cfu"], frame["upper"], color=style.BLUE, alpha=0.2, linewidth=0, label=band)
    if has_penalty and frame["cfu_unpenalised"].notna().any():
        dashes: dict[str, Any] = {"color": style.ORANGE, "linestyle": (0, (4, 2)), "linewidth": 1.3}
        ax.plot(frame[x], frame["cfu_unpenalised"], label="the same correlations, penalty 0", **dashes)
    ax.set_ylabel(cfu_label(context.outcome_variance))
    _bare(ax)


def _band(estimate: Estimate | None) -> str:
    """What the band above a line is called."""
    return "" if estimate is None else f"up to the {100 * estimate.replication.level:g} % limit"


def _frame_axes(ax: Axes, frame: pd.DataFrame, context: Context | None) -> None:
    """Let the axis of CFU begin at 0 and reach above everything that is drawn."""
    levels = list(context.baselines.values()) if context else []
    shown = [*frame["cfu"], *frame["cfu_unpenalised"].dropna(), *frame.get("upper", []), *levels]
    ax.set_ylim(0, 1.15 * max(*shown, 1e-300))


def _baselines(ax: Axes, context: Context, where: float) -> None:
    """Levels with their names, those that are close to the next one below their line."""
    top = ax.get_ylim()[1]
    levels = sorted(context.baselines.items(), key=lambda item: item[1])
    for (name, level), above in zip(levels, [*(level for _, level in levels), np.inf][1:], strict=True):
        ax.axhline(level, color=style.SOFT, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        below = above - level < CLOSE * top
        ax.annotate(
            f"baseline {words(name)}: {level:.3g}",
            (where, level),
            xytext=(0, -3 if below else 2),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            va="top" if below else "bottom",
            fontsize=7.5,
            color=style.SOFT,
            zorder=1,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )


def _marks(ax: Axes, marks: pd.DataFrame, column: str) -> None:
    """Upright lines where observed variables, and hidden causes like them, stand."""
    low, high = ax.get_xlim()
    inside = marks[(marks[column] >= low) & (marks[column] <= high)] if len(marks) else marks
    for _, mark in inside.iterrows():
        ax.axvline(mark[column], color=style.GREEN, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1)
        ax.annotate(
            words(mark["label"]).replace(" x ", " \u00d7 "),
            (mark[column], 0.97),
            xytext=(-2, 0),
            xycoords=ax.get_xaxis_transform(),
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="top",
            fontsize=7.5,
            color=style.GREEN,
        )


def _breaking_point(ax: Axes, point: BreakingPoint) -> None:
    if point.p_max is None:
        raise SettingError("the breaking point has not been reached, so that there is none to draw: leave it out")
    ax.plot([point.p_max, point.p_max], [0, point.level], color=style.VERMILION, linewidth=1, zorder=3)
    ax.plot(point.p_max, point.level, marker="D", color=style.VERMILION, markersize=5, zorder=4)
    ax.annotate(f"reached at p_max = {point.p_max:.3f}", (point.p_max, 0), xytext=(4, 4), fontsize=8,
                textcoords="offset points", color=style.VERMILION)  # fmt: skip


def _explain(ax: Axes, *, shows_penalty_only: bool) -> None:
    """The legend above the plot, with a remark where the curve measures something else than it seems to."""
    if len(ax.get_legend_handles_labels()[0]) > 1:
        remark = {"title": PENALTY_ONLY, "title_fontsize": 8, "alignment": "left"} if shows_penalty_only else {}
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, handlelength=2.6, **remark)


def _bare(ax: Axes) -> None:
    """No box around the plot, also where the Axes were made elsewhere."""
    ax.spines[["top", "right"]].set_visible(False)


def _joined(worst: WorstCase) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which entries of the correlation are free."""
    names = list(worst.correlation)
    free = {frozenset(pair) for pair in worst.pairs}
    return np.array([[frozenset((a, b)) in free for b in names] for a in names])
