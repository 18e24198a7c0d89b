"""Pictures show the numbers of the frames behind them, in words; looks are looked at, not tested."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import SettingError
from fairstress.report.plots.graphs import lay_out, plot_graph
from fairstress.report.plots.style import LONGEST, words

mpl.use("Agg")
from matplotlib import pyplot as plt

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z; a <-> x; a <-> z", protected="a", outcome="y")
SATURATED = "race -> org, man, job; org -> man, job; man =fair=> job; org <-> job; man <-> job"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame
    return fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)


@pytest.fixture(scope="module")
def curve(audit):
    return audit.curve([0, 0.1, 0.3], search=fs.Search(starts=1))


@pytest.fixture(scope="module")
def benchmarks(audit):
    """A further column that has a little to do with both features."""
    rng = np.random.default_rng(1)
    x, z = audit.fitted.table.rows.x[audit.fitted.table.row_of].T
    return audit.benchmarks(columns=pd.DataFrame({"age": x + z + 3 * rng.normal(size=x.size)}))


def line(ax, start):
    (found,) = [line for line in ax.lines if str(line.get_label()).startswith(start)]
    return found


def texts(ax):
    return [text.get_text() for text in ax.texts]


def draw(ax):
    """Everything is laid out and drawn; a warning on the way is an error."""
    ax.figure.canvas.draw()


# ---------------------------------------------------------------- curve and profile


def test_a_curve_is_drawn_from_its_frame_with_and_without_penalty(curve):
    ax, frame = curve.plot(), curve.to_frame()
    draw(ax)
    np.testing.assert_array_equal(line(ax, "largest CFU found, penalty 1").get_xydata(), frame[["p_max", "cfu"]])
    without = line(ax, "the same correlations, penalty 0")
    np.testing.assert_array_equal(without.get_xydata(), frame[["p_max", "cfu_unpenalised"]])
    assert without.is_dashed()
    assert "p_max" in ax.get_xlabel()
    assert "squared units of the outcome" in ax.get_ylabel()


def test_baselines_are_drawn_unless_they_are_not_wanted(curve):
    levels = curve.context.baselines
    ax = curve.plot()
    heights = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1]
    assert set(levels.values()) <= set(heights)
    assert {f"baseline {name}: {level:.3g}" for name, level in levels.items()} <= set(texts(ax))
    assert not texts(curve.plot(baselines=False))


def test_benchmarks_and_a_breaking_point_are_marked_where_they_stand(benchmarks, curve):
    broken = curve.breaking_point(0.5 * curve.points[-1].value)
    ax = curve.plot(benchmarks=benchmarks, breaking_point=broken)
    inside = benchmarks.marks().query("p_max_pairwise <= 0.3")
    assert len(inside)
    assert {label.replace(" x ", " \u00d7 ") for label in inside["label"]} <= set(texts(ax))
    upright = [line.get_xdata()[0] for line in ax.lines]
    assert set(inside["p_max_pairwise"]) <= set(upright)
    assert f"reached at p_max = {broken.p_max:.3f}" in texts(ax)


def test_a_breaking_point_that_is_not_reached_cannot_be_drawn(curve):
    with pytest.raises(SettingError, match="has not been reached"):
        curve.plot(breaking_point=curve.breaking_point(1e6))


def test_a_curve_that_shows_the_penalty_only_says_so(law_audit, curve):
    said = law_audit.curve([0, 0.5]).plot().get_legend().get_title().get_text()
    assert "This curve shows the penalty, not the confounding" in said
    assert not curve.plot().get_legend().get_title().get_text()


def test_a_profile_is_drawn_from_its_frame(audit, benchmarks):
    profile = audit.profile(("x", "z"), [0.5, -0.5, 0.0])
    ax = profile.plot(benchmarks=benchmarks)
    draw(ax)
    frame = profile.to_frame().sort_values("correlation")
    np.testing.assert_array_equal(line(ax, "CFU, penalty 1").get_xydata(), frame[["correlation", "cfu"]])
    assert ax.get_xlabel() == "correlation of the errors of x ↔ z"
    assert any("\u00d7 age" in text for text in texts(ax))


def test_without_a_penalty_there_is_one_line(law_frame, law_graph):
    audit = fs.Audit.fit(law_frame[:2000], law_graph, penalty=0, degrees={"ugpa": 1, "lsat": 1})
    ax = audit.profile(("ugpa", "lsat"), [0, 0.5]).plot(baselines=False)
    assert [str(line.get_label()) for line in ax.lines if not str(line.get_label()).startswith("_")] == ["CFU"]


# ---------------------------------------------------------------- worst case, people, contour


def test_the_heat_map_shows_the_free_pairs_correlations(curve):
    worst = curve.points[-1]
    ax = worst.plot()
    draw(ax)
    shown = ax.images[0].get_array()
    P = worst.correlation.to_numpy()
    np.testing.assert_array_equal(shown[~shown.mask], P[~np.eye(3, dtype=bool)])
    assert shown.mask.diagonal().all()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "x", "z"]
    assert f"{worst.value:.4g}" in ax.get_title(loc="left")
    assert f"{P[0, 1]:+.2f}".replace("-", "\u2212") in texts(ax)


def test_people_are_drawn_by_group_from_the_distribution(audit):
    P = {("a", "x"): 0.3}
    found = audit.people(P)
    ax = found.plot()
    draw(ax)
    for group, rows in found.distribution().groupby("group"):
        drawn = line(ax, f"{group} (")
        np.testing.assert_array_equal(drawn.get_xdata(), rows["cfu"])
        np.testing.assert_allclose(drawn.get_ydata(), 100 * rows["share"])
    assert "% of the group" in ax.get_ylabel()


def test_a_contour_is_hatched_where_the_errors_cannot_be(audit):
    found = audit.contour(("a", "x"), ("a", "z"), np.linspace(-0.9, 0.9, 7))
    ax = found.plot()
    draw(ax)
    assert ax.patch.get_hatch()
    assert "a ↔ x" in ax.get_xlabel()
    assert "a ↔ z" in ax.get_ylabel()
    assert "0.05" in ax.get_title(loc="left")
    assert "Model A" in texts(ax)
    held = audit.contour(("a", "x"), ("a", "z"), [-0.2, 0.2], others={("x", "z"): 0.3}).plot(baselines=False)
    assert "Model A" not in texts(held)
    assert not held.get_title(loc="left")


# ---------------------------------------------------------------- graph


def arrows(ax):
    from matplotlib.patches import FancyArrowPatch

    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def test_the_graph_has_an_arrow_per_edge_and_an_arc_per_pair():
    graph = fs.CausalGraph.parse(SATURATED, protected="race", outcome="health")
    ax = plot_graph(graph)
    draw(ax)
    kinds = [arrow.get_label() for arrow in arrows(ax)]
    assert [kinds.count(kind) for kind in ("causes", "causes, called fair", "errors may be correlated")] == [5, 1, 2]
    assert texts(ax) == list(graph.nodes)
    frame = graph.to_frame()
    assert frame["kind"].tolist() == ["fair edge" if e in graph.fair_edges else "edge" for e in graph.edges] + 2 * [
        "pair"
    ]
    assert list(zip(frame["first"], frame["second"], strict=True)) == [*graph.edges, *graph.pairs]


def test_causes_stand_left_of_effects_and_nobody_on_another():
    graph = fs.CausalGraph.parse(SATURATED + "; lone; region -> job", protected="race", outcome="health")
    layout = lay_out(graph)
    assert all(layout.position[a][0] < layout.position[b][0] for a, b in graph.edges)
    assert len(set(layout.position.values())) == len(graph.nodes)
    assert all(bend != 0 and bend != layout.edges.get(pair) for pair, bend in layout.pairs.items())


def test_an_audit_draws_its_graph_on_given_axes(audit):
    _, ax = plt.subplots()
    assert audit.graph.plot(ax) is ax


# ---------------------------------------------------------------- all of them


def test_every_picture_takes_axes_and_gives_them_back(audit, curve):
    P = {("a", "x"): 0.1}
    profile = audit.profile(("x", "z"), [0, 0.5])
    contour = audit.contour(("a", "x"), ("a", "z"), [0, 0.2])
    for plot in (curve.plot, profile.plot, curve.points[1].plot, audit.people(P).plot, contour.plot):
        _, ax = plt.subplots()
        assert plot(ax=ax) is ax


def test_the_look_ends_with_the_picture(curve):
    before = dict(mpl.rcParams)
    curve.plot()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", ["$x$ & y_1", "_x", "\\$", "\x1b[31mred", "n" * 200, '</b>"quoted"'])
def test_names_are_shown_as_they_are_and_not_taken_for_formulas(name):
    shown = words(name)
    assert len(shown.replace(r"\$", "$")) <= LONGEST + 1
    graph = fs.CausalGraph(edges=(("a", name),), pairs=(("a", name),), protected="a", outcome="y")
    ax = plot_graph(graph)
    draw(ax)
    drawn, is_formula = ax.texts[1]._preprocess_math(ax.texts[1].get_text())
    assert not is_formula
    assert "\x1b" not in drawn
    if len(name) < LONGEST and name.isprintable():
        assert drawn.strip() == name


def test_characters_that_the_font_lacks_are_escaped_whole():
    scientist = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{MICROSCOPE} \N{HEBREW LETTER SHIN}"
    assert words("\N{WOMAN} x") == r"\U0001f469 x"
    assert words("n" * 9 + "\N{WOMAN}" * 9) == "n" * 9 + "\u2026" + r"\U0001f469"
    assert "\N{HEBREW LETTER SHIN}" in words(scientist)


def test_hostile_names_are_drawn_whole_and_without_a_warning(hostile_audit):
    pairs = hostile_audit.graph.pairs
    worst = hostile_audit.worst_case(0.2, search=fs.Search(starts=1))
    profile = hostile_audit.profile(pairs[0], [-0.5, 0, 0.5])
    contour = hostile_audit.contour(*pairs, [-0.4, 0, 0.4])
    for plot in (profile.plot, worst.plot, hostile_audit.people({}).plot, hostile_audit.graph.plot, contour.plot):
        ax = plot()
        draw(ax)
        seen, page = ax.figure.get_tightbbox(), ax.figure.bbox_inches
        assert min(seen.x0 - page.x0, page.x1 - seen.x1) > -0.01, plot  # inches


def test_an_axis_names_squares_only_where_there_are_any(audit):
    frame = fs.datasets.simulate(GRAPH, 300, random_state=0).frame
    other = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, measure="absolute", random_state=0)
    assert "squared units" in audit.profile(("x", "z"), [0, 0.5]).plot().get_ylabel()
    assert "squared units" not in other.profile(("x", "z"), [0, 0.5]).plot().get_ylabel()


def test_without_matplotlib_a_sentence_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import fairstress as fs\n"
        "from fairstress.report.plots.graphs import plot_graph\n"
        "graph = fs.CausalGraph.parse('a -> x', protected='a', outcome='y')\n"
        "try: plot_graph(graph)\n"
        "except fs.FairstressError as problem: print(problem)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "pictures need matplotlib: pip install 'fairstress[plot]'\n"
