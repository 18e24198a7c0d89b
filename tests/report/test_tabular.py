"""Every result with a table writes it in Markdown, LaTeX and HTML, whatever its names are."""

from __future__ import annotations

import pytest

import fairstress as fs


@pytest.fixture(scope="module")
def audit():
    graph = fs.CausalGraph.parse('a -> "x|<b>", z; a <-> "x|<b>"; a <-> z', protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    return fs.Audit.fit(frame, graph, degrees={"x|<b>": 1, "z": 1}, penalty=0, predictor_degree=1)


QUICK = fs.Search(starts=1)
ASKED = {
    "audit": lambda audit: audit,
    "check": lambda audit: audit.check(),
    "profile": lambda audit: audit.profile(("a", "x|<b>"), [0, 0.5]),
    "worst case": lambda audit: audit.worst_case(0.5, search=QUICK),
    "curve": lambda audit: audit.curve([0, 0.5], search=QUICK),
    "frontier": lambda audit: audit.frontier(0.5, [1], search=QUICK),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_result_has_its_table_in_three_notations(audit, name):
    found = ASKED[name](audit)
    markdown, latex, html = found.to_markdown(), found.to_latex(), found._repr_html_()
    head = next(line for line in markdown.splitlines() if line.startswith("|"))
    assert all(line.startswith("|") for line in markdown.splitlines() if line.count("|") > 2)
    assert head.replace("\\|", "").count("|") >= 3
    assert latex.count("\\begin{") == latex.count("\\end{") > 0
    assert "\\toprule" in latex
    assert "<table" in html
    assert "<b>" not in html


def test_the_tables_of_a_frontier_show_its_frame(audit):
    found = ASKED["frontier"](audit)
    for row in found.to_frame().itertuples():
        assert f"{row.unfairness:.4e}" in found.to_markdown()
        assert f"{row.r2:.5f}" in found.to_latex()


def test_a_measure_and_a_scale_of_another_kind_are_named():
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    sentences = {
        "absolute": "the mean size of a prediction's change",
        0.9: "the 0.9 quantile of the size of a prediction's change",
    }
    for measure, words in sentences.items():
        text = fs.Audit.fit(frame, graph, max_degree=1, measure=measure).details().replace("\n", " ")
        assert f"CFU is measured as {words}." in text
    two = frame.assign(y=frame["y"] > 0)
    text = fs.Audit.fit(two, graph, max_degree=1, predictor=fs.Predictor(scale="log-odds")).details().replace("\n", " ")
    assert "Predictions are compared by their log-odds." in text
    assert "CFU is measured as" not in text
