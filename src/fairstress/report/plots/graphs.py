"""The causal graph as a picture: a layered layout by topological order. Computes nothing about the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.report.plots import style
from fairstress.report.plots.style import canvas, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.inputs.graph import CausalGraph
    from fairstress.inputs.notation import Edge

Point = tuple[float, float]
Slot = str | tuple[str, str, int]  # a variable, or the place where an edge passes through a layer
SWEEPS = 8  # of the ordering by neighbours' means
STRAIGHT_FIRST = (0.0, 0.15, -0.15, 0.25, -0.25, 0.4, -0.4)  # bends of an edge, as parts of the distance of its ends
BENT = (-0.3, 0.3, -0.45, 0.45, -0.6, 0.6)  # of a pair's arc
WIDE, NARROW = 0.9, 0.6  # inches that a variable and a passing edge take in a layer
LEGEND = 5.0  # inches that the widest legend takes
HALF_HEIGHT = 0.24  # inches above and below a name that lines keep clear of


@dataclass(frozen=True, slots=True)
class Layout:
    """Where variables stand, in inches, and how the lines between them bend."""

    position: dict[str, Point]
    edges: dict[Edge, float]  # bend of each edge
    pairs: dict[Edge, float]  # and of each pair's arc


def plot_graph(graph: CausalGraph, ax: Axes | None = None) -> Axes:
    """Draw variables as boxes, edges as arrows (fair ones dashed) and pairs as dotted arcs with two heads."""
    layout = lay_out(graph)
    (left, right), (low, high) = _extent(layout)
    with canvas(ax, (max(right - left, LEGEND), high - low + 0.4)) as ax:
        ax.set_axis_off()
        ax.set_aspect("equal")
        ax.set_xlim(left, right)
        ax.set_ylim(low, high)
        boxes = {name: _box(ax, graph, name, where) for name, where in layout.position.items()}
        for edge, bend in layout.edges.items():
            _line(ax, edge, bend, layout.position, boxes, FAIR if edge in graph.fair_edges else EDGE)
        for pair, bend in layout.pairs.items():
            _line(ax, pair, bend, layout.position, boxes, PAIR)
        _legend(ax, graph)
    return ax


# ---------------------------------------------------------------- layout


def graph_as_svg(graph: CausalGraph) -> str | None:
    """The drawing as SVG; None where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure, text = Figure(layout="constrained"), StringIO()
    plot_graph(graph, figure.subplots())
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def lay_out(graph: CausalGraph) -> Layout:
    """Put causes left of effects, one layer per step of the longest way, with room for long edges to pass."""
    layer = _layers(graph)
    columns, chains = _with_passages(graph, layer)
    columns = _ordered(columns, chains)
    step = 0.9 + 2 * max(_half_width(name) for name in graph.nodes)
    position = {
        slot: (i * step, y) for i, column in enumerate(columns) for slot, y in _heights(column) if isinstance(slot, str)
    }
    edges = {edge: _bend(edge, position, STRAIGHT_FIRST) for edge in graph.edges}
    pairs = {pair: _bend(pair, position, [b for b in BENT if b != edges.get(pair)]) for pair in graph.pairs}
    return Layout({name: position[name] for name in graph.nodes}, edges, pairs)


def _layers(graph: CausalGraph) -> dict[str, int]:
    """The number of steps on the longest way to each variable; those without causes stand beside their effects."""
    layer: dict[str, int] = {}
    for name in graph.nodes:
        layer[name] = max((layer[cause] + 1 for cause in graph.parents(name)), default=0)
    for name in graph.nodes:
        effects = [layer[b] for a, b in graph.edges if a == name]
        if effects and not graph.parents(name):
            layer[name] = min(effects) - 1
    return layer


def _with_passages(graph: CausalGraph, layer: Mapping[str, int]) -> tuple[list[list[Slot]], dict[Edge, list[Slot]]]:
    """Columns of variables and of places for edges to pass, and each edge's way through them."""
    columns: list[list[Slot]] = [[] for _ in range(max(layer.values()) + 1)]
    for name in graph.nodes:
        columns[layer[name]].append(name)
    chains: dict[Edge, list[Slot]] = {}
    for a, b in graph.edges:
        passages: list[Slot] = [(a, b, i) for i in range(layer[a] + 1, layer[b])]
        for i, passage in enumerate(passages, start=layer[a] + 1):
            columns[i].append(passage)
        chains[a, b] = [a, *passages, b]
    return columns, chains


def _ordered(columns: Sequence[list[Slot]], chains: Mapping[Edge, list[Slot]]) -> list[list[Slot]]:
    """Order each column by the mean height of neighbours, forwards and backwards in turn."""
    neighbours: dict[Slot, list[Slot]] = {slot: [] for column in columns for slot in column}
    for chain in chains.values():
        for a, b in pairwise(chain):
            neighbours[a].append(b)
            neighbours[b].append(a)
    height = {slot: y for column in columns for slot, y in _heights(column)}
    order = [list(column) for column in columns]
    for sweep in range(SWEEPS):
        for i in range(len(order)) if sweep % 2 == 0 else reversed(range(len(order))):
            means = {s: np.mean([height[n] for n in neighbours[s]]) if neighbours[s] else height[s] for s in order[i]}
            order[i].sort(key=lambda slot, means=means: -means[slot])  # type: ignore[misc]
            height.update(_heights(order[i]))
    return order


def _heights(column: Sequence[Slot]) -> list[tuple[Slot, float]]:
    """Heights around 0, from the top down."""
    room = np.array([WIDE if isinstance(slot, str) else NARROW for slot in column])
    middle = room.cumsum() - room / 2
    return list(zip(column, (room.sum() / 2 - middle).tolist(), strict=True))


def _bend(ends: Edge, position: Mapping[str, Point], bends: Sequence[float]) -> float:
    """The first bend of a line that keeps clear of other variables, or that touches the fewest."""
    others = [name for name in position if name not in ends]
    where = np.array([position[name] for name in others]).reshape(-1, 2)
    room = np.array([(_half_width(name), HALF_HEIGHT) for name in others]).reshape(-1, 2)

    def touched(bend: float) -> int:
        points = _on_arc(position[ends[0]], position[ends[1]], bend)
        return int((np.abs(points[:, None] - where) < room).all(axis=-1).any(axis=0).sum())

    return min(bends, key=touched)


def _half_width(name: str) -> float:
    """Inches from the middle of a name's box to its side."""
    return 0.13 + 0.036 * len(words(name))


def _on_arc(start: Point, end: Point, bend: float) -> Array:
    """Points on matplotlib's ``arc3``: a parabola whose control point stands off the middle by ``bend``."""
    a, b, t = np.array(start), np.array(end), np.linspace(0, 1, 25)[:, None]
    dx, dy = b - a
    control = (a + b) / 2 + bend * np.array([dy, -dx])
    return np.asarray((1 - t) ** 2 * a + 2 * t * (1 - t) * control + t**2 * b)


def _extent(layout: Layout) -> tuple[tuple[float, float], tuple[float, float]]:
    """How far boxes and lines reach, with a margin."""
    lines = {**layout.edges, **layout.pairs}.items()
    arcs = [_on_arc(layout.position[a], layout.position[b], bend) for (a, b), bend in lines]
    boxes = [[(x - _half_width(n), y), (x + _half_width(n), y)] for n, (x, y) in layout.position.items()]
    points = np.concatenate([*arcs, *boxes])
    margin = np.array([0.15, 0.4])
    (left, low), (right, high) = points.min(axis=0) - margin, points.max(axis=0) + margin
    return (float(left), float(right)), (float(low), float(high))


# ---------------------------------------------------------------- drawing

EDGE: dict[str, Any] = {"color": style.INK, "linestyle": "-", "linewidth": 1.1, "arrowstyle": "-|>", "label": "causes"}
FAIR: dict[str, Any] = {**EDGE, "color": style.BLUE, "linestyle": (0, (4, 2)), "label": "causes, called fair"}
PAIR: dict[str, Any] = {
    "color": style.PURPLE,
    "linestyle": (0, (1, 1.5)),
    "linewidth": 1.4,
    "arrowstyle": "<|-|>",
    "label": "errors may be correlated",
}


def _box(ax: Axes, graph: CausalGraph, name: str, where: Point) -> Any:
    """A name in a box, the protected attribute's and the outcome's shaded."""
    fill = {graph.protected: "#FBE3D2", graph.outcome: "#E6E6E6"}.get(name, "white")
    outline = style.VERMILION if name == graph.protected else style.INK
    box = {"boxstyle": "round,pad=0.45", "facecolor": fill, "edgecolor": outline, "linewidth": 1}
    text = ax.text(*where, words(name), ha="center", va="center", bbox=box, zorder=2)
    return text.get_bbox_patch()


def _line(
    ax: Axes, ends: Edge, bend: float, position: Mapping[str, Point], boxes: Mapping[str, Any], look: Mapping[str, Any]
) -> None:
    """An arrow from box to box; drawn after the boxes, whose size is known only then."""
    from matplotlib.patches import FancyArrowPatch

    a, b = ends
    arrow = FancyArrowPatch(
        position[a],
        position[b],
        patchA=boxes[a],
        patchB=boxes[b],
        connectionstyle=f"arc3,rad={bend}",
        mutation_scale=11,
        shrinkA=2,
        shrinkB=2,
        zorder=3,
        **look,
    )
    ax.add_patch(arrow)


def _legend(ax: Axes, graph: CausalGraph) -> None:
    """Say what the kinds of lines mean, those that occur."""
    from matplotlib.lines import Line2D

    plain = set(graph.edges) - set(graph.fair_edges)
    kinds = [look for look, occurs in ((EDGE, plain), (FAIR, graph.fair_edges), (PAIR, graph.pairs)) if occurs]
    handles = [Line2D([], [], **{k: v for k, v in look.items() if k != "arrowstyle"}) for look in kinds]
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(handles), handlelength=2.6)
