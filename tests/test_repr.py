"""What a terminal shows of a result: one line."""

from __future__ import annotations

import pytest

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> x, z; a <-> z", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 300, random_state=0).frame
    return fs.Audit.fit(frame, GRAPH, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda audit: audit, "<Audit of y for a: 300 rows; a -> x; a -> z; a <-> z; summary() says more>"),
        (lambda audit: audit.profile(("a", "z"), [0, 0.5]), "<Profile of a <-> z at 2 correlations: up to "),
        (lambda audit: audit.worst_case(0.5), "<WorstCase: largest CFU "),
        (lambda audit: audit.curve([0, 0.5]), "<Curve of 2 pairwise budgets: up to "),
        (lambda audit: audit.frontier(0.5, [1]), "<Frontier of 2 predictors, pairwise budget, p_max = 0.5; "),
    ],
)
def test_a_result_is_one_line_that_names_the_way_to_more(audit, ask, told):
    shown = repr(ask(audit))
    assert shown.startswith(told)
    assert shown.endswith("summary() says more>")
    assert len(shown) < 120
