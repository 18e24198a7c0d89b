"""In a notebook every result has a short face, and a graph is drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import fairstress as fs
from fairstress.report.text.faces import ROWS, face

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit() -> fs.Audit:
    frame = fs.datasets.simulate(GRAPH, 300, random_state=0).frame
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "random_state": 0}
    return fs.Audit.fit(frame, GRAPH, **options)


def test_a_result_without_a_frame_shows_its_numbers_and_words(audit):
    found = audit.breaking_point("blind")
    shown = dict(face(found).rows)
    assert shown["p max"] == f"{found.p_max:.4g}"
    assert shown["sentence"] == found.sentence
    assert found.sentence in found._repr_html_()


def test_a_result_with_a_frame_shows_its_first_rows_and_how_many_more_there_are(audit):
    people = audit.people({("a", "x"): 0.2})
    sheet = face(people)
    assert len(sheet.rows) == ROWS
    assert sheet.notes == (f"to_frame() has {len(people.to_frame()) - ROWS:,} more rows.",)


def test_a_report_shows_its_headline_and_six_answers(audit):
    shown = audit.report(sizes=[0, 0.2, 0.4], grid=[0, 0.2])._repr_html_()
    assert shown.count("<dt>") == shown.count("<dd>") == 6
    assert "if <bdi>a</bdi> were different?" in shown


def test_a_graph_is_drawn_as_svg():
    drawing = ElementTree.fromstring(GRAPH._repr_svg_())
    assert drawing.tag.endswith("svg")
