"""The look of the pictures: matplotlib where it is needed, colours that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from fairstress.errors import SettingError, show
from fairstress.report.text.markup import escaped, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours: told apart by all common kinds of sight, and in grey by their order
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
GROUPS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
DASHES = ("-", "--", "-.", ":")
INK, SOFT, PALE, FAINT = "#222222", "#666666", "#999999", "#DDDDDD"

LOOK: Any = {
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "text.usetex": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "hatch.linewidth": 0.5,
    "figure.dpi": 120,
    "savefig.dpi": 200,
}
LONGEST = 28  # characters of a name in a picture; frames and tables have it whole


@contextmanager
def canvas(ax: Axes | None, size: tuple[float, float]) -> Iterator[Axes]:
    """Give Axes to draw on, new ones where none are given, in one look that ends with the drawing."""
    try:
        import matplotlib as mpl
        from matplotlib import pyplot as plt
        from matplotlib.axes import Axes as MatplotlibAxes
    except ImportError:
        raise SettingError("pictures need matplotlib: pip install 'fairstress[plot]'") from None
    if ax is not None and not isinstance(ax, MatplotlibAxes):
        raise SettingError(f"ax is {show(ax)}: give matplotlib Axes, such as plt.subplots()[1], or leave it out")
    with mpl.rc_context(LOOK):
        yield plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def words(text: str, longest: int = LONGEST) -> str:
    """A name for a picture: no formula and no control character, only what the font has, and not too long."""
    pieces = [c if c.isascii() or _has_glyph(c) else escaped(c) for c in map(printable, text)]
    if sum(map(len, pieces)) > longest:
        pieces = [*_fitting(pieces, longest // 2), "\u2026", *_fitting(pieces[::-1], longest - longest // 2 - 1)[::-1]]
    shown = "".join(pieces).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown  # a legend leaves out what starts with an underscore


def _fitting(pieces: Sequence[str], room: int) -> list[str]:
    """The first pieces that fit; no escape is cut in half."""
    ends = list(accumulate(map(len, pieces)))
    return [piece for piece, end in zip(pieces, ends, strict=True) if end <= room]


def _has_glyph(character: str) -> bool:
    """Whether a font in use has a picture of it; emoji, for one, few have."""
    try:
        from matplotlib.font_manager import FontProperties, findfont, get_font
    except ImportError:  # which `canvas` explains
        return True
    for family in FontProperties().get_family():
        with suppress(ValueError):  # a family that is not installed
            font = get_font(findfont(FontProperties(family=[family]), fallback_to_default=False))
            if font.get_char_index(ord(character)):
                return True
    return False


def cfu_label(outcome_variance: float) -> str:
    """What the axis of CFU says; ``outcome_variance`` is NaN where CFU is not in its units."""
    return "counterfactual unfairness, CFU" + "\n(squared units of the outcome)" * (
        outcome_variance == outcome_variance
    )


def pair_words(pair: tuple[str, str]) -> str:
    """A pair for a picture."""
    return f"{words(pair[0])} \u2194 {words(pair[1])}"
