"""Two results are the same if nothing differs but by rounding, and the first differences are shown otherwise."""

from __future__ import annotations

import copy

import pytest

from fairstress.report.comparing import compare

CONTENT = {
    "schema": 5,
    "fairstress": "1.0",
    "versions": {"numpy": "2.0"},
    "data": {"outcome_variance": 4.0, "date": "2020-01-01"},
    "notes": ["a note"],
    "curve": {"points": [{"cfu": 0.25, "status": "converged", "groups": []}, {"cfu": 1e-14, "status": "converged"}]},
    "run": {"folder": "."},
}


def changed(**places):
    content = copy.deepcopy(CONTENT)
    for place, value in places.items():
        content["curve"]["points"][0][place] = value
    return content


def test_dates_versions_sentences_and_rounding_do_not_count():
    other = copy.deepcopy(CONTENT)
    other |= {"fairstress": "2.0", "notes": ["another", "one more"], "run": None}
    other["data"]["date"] = "2021-01-01"
    other["curve"]["points"][0]["cfu"] *= 1 + 1e-12
    other["curve"]["points"][1]["cfu"] = 3e-13
    found = compare(CONTENT, other)
    assert found.is_same
    assert found.numbers == 3
    assert found.summary() == (
        "Versions differ: fairstress 1.0 then and 2.0 now.\nThe same to rounding.\n3 numbers were compared."
    )


@pytest.mark.parametrize(
    ("places", "row"),
    [
        ({"cfu": 0.25 * (1 + 1e-7)}, ("curve.points[0].cfu", "0.25", "0.250000025")),
        ({"cfu": None}, ("curve.points[0].cfu", "0.25", "None")),
        ({"status": "ran out of steps"}, ("curve.points[0].status", "converged", "ran out of steps")),
        ({"new": True}, ("curve.points[0].new", "nothing", "True")),
        ({"groups": [1]}, ("curve.points[0].groups", "[]", "nothing")),
    ],
)
def test_a_difference_is_shown_with_its_place(places, row):
    found = compare(CONTENT, changed(**places))
    assert not found.is_same
    lines = found.summary().splitlines()
    assert lines[0].startswith("Not the same: ")
    assert lines[2].split() == ["where", "before", "now"]
    assert tuple(part.strip() for part in lines[3].split("  ") if part) == row
    assert found.to_dict()["differences"][0]["where"] == row[0]


def test_a_long_table_is_cut_short():
    other = copy.deepcopy(CONTENT)
    other["curve"]["points"] = [{"cfu": float(i)} for i in range(100)]
    lines = compare(CONTENT, other).summary().splitlines()
    assert len(lines) == 2 + 1 + 20 + 1
    assert lines[-1].startswith("... and ")
