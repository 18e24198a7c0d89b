from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError
from fairstress.inputs.data import read_table
from fairstress.inputs.newcomers import code_newcomers

GRAPH = fs.CausalGraph.parse("a -> x", protected="a", outcome="y")


def frame_of(a):
    return pd.DataFrame({"a": a, "x": np.arange(len(a)) ** 2.0, "y": np.arange(len(a)) % 4.0})


@pytest.mark.parametrize(
    "a", [["f", "m"] * 6, ["one", "two", "three"] * 4, [1, 2] * 6, [True, False] * 6, list(range(12))], ids=str
)
def test_the_people_of_the_table_are_coded_as_they_were(a):
    table = read_table(frame_of(a), GRAPH, sample_weight=np.arange(1, 13))
    found = code_newcomers(frame_of(a).drop(columns="y"), table)
    np.testing.assert_array_equal(found.a, table.rows.a[table.row_of])
    np.testing.assert_array_equal(found.a_cf, table.rows.a_cf[table.row_of])
    np.testing.assert_array_equal(found.x, table.rows.x[table.row_of])


def test_combined_levels_are_coded_as_they_were():
    graph = fs.CausalGraph.parse("a -> x; b -> x", protected=("a", "b"), outcome="y")
    frame = frame_of(["f", "m"] * 6).assign(b=["old"] * 5 + ["young"] * 7)
    table = read_table(frame, graph)
    np.testing.assert_array_equal(code_newcomers(frame, table).a, table.rows.a[table.row_of])
    with pytest.raises(DataError, match="'a & b' is 'f & new' in row 2, a level that was not there"):
        code_newcomers(frame.assign(b=["old", "old", *["new"] * 10]), table)


def test_missing_levels_are_refused():
    table = read_table(frame_of(["f", "m"] * 6), GRAPH)
    with pytest.raises(DataError, match="column 'a' has 1 missing value"):
        code_newcomers(frame_of(["f", None] + ["m"] * 10), table)


KINDS = {
    "number": np.arange(12) / 2,
    "log": np.arange(1, 13.0),
    "log1p": np.arange(12.0),
    "sqrt": np.arange(12.0),
    "rank": np.arange(12.0) ** 3,
    "share": np.arange(1, 13) / 13,
    "zero or log": np.arange(12.0) // 2,
    "zero or rank by group": np.arange(12.0) // 2,
    "ordered": np.arange(12) % 3,
    "ordered as levels": np.arange(12) % 5,
}


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_any_kind_are_coded_as_they_were(kind):
    frame = frame_of(["f", "f", "m", "m"] * 3).assign(x=KINDS[kind])
    table = read_table(frame, GRAPH, kinds={"x": kind}, sample_weight=np.arange(1, 13))
    np.testing.assert_array_equal(code_newcomers(frame, table).x, table.rows.x[table.row_of])


def newcomer(kind, x, value) -> float:
    """The code of one who was not in the table, in the second row of two."""
    frame = frame_of(["f", "m"] * 6).assign(x=x)
    table = read_table(frame, GRAPH, kinds={"x": kind})
    return code_newcomers(frame.head(2).assign(x=[x[0], value]), table).x[1, 0]


def test_levels_and_numbers_that_the_coding_cannot_take_are_refused_with_their_row():
    with pytest.raises(
        DataError, match=r"feature 'x' is 'E' in row 1, a level that was not there .*: it knows 'A', 'B' or 'C'"
    ):
        newcomer(["A", "B", "C"], ["A", "B", "C"] * 4, "E")
    with pytest.raises(DataError, match="column 'x' is 0 in row 1, but 'log' takes numbers above 0"):
        newcomer("log", np.arange(1, 13.0), 0.0)
    with pytest.raises(DataError, match="column 'x' is -2 in row 1, but 'zero or log' takes numbers of 0 or more"):
        newcomer("zero or log", np.arange(12.0), -2.0)
    with pytest.raises(DataError, match=r"column 'x' is -0.5 in row 1, but 'log1p' takes numbers of 0 or more"):
        newcomer("log1p", np.arange(12.0), -0.5)
    with pytest.raises(DataError, match="feature 'x' is not numeric"):
        newcomer("log", np.arange(1, 13.0), "many")


def test_levels_are_known_by_their_value_and_not_by_their_type():
    assert newcomer("ordered", [0, 1] * 6, 1.0) == newcomer("ordered", [0, 1] * 6, True) == 1.0


def test_numbers_beyond_what_the_table_has_are_taken_for_the_nearest_where_the_scale_ends():
    atom = np.where(np.arange(12) < 5, 0.0, np.arange(12.0))
    assert newcomer("zero or log", atom, 2.0) == newcomer("zero or log", atom, 5.0)
    assert newcomer("rank", np.arange(12.0), 99.0) == newcomer("rank", np.arange(12.0), 11.0)
    assert newcomer("log", np.arange(1, 13.0), 99.0) > newcomer("log", np.arange(1, 13.0), 12.0)


def test_newcomers_of_an_ordered_attribute_are_coded_in_its_order():
    frame = frame_of(["one", "two", "three"] * 4)
    table = read_table(frame, GRAPH, kinds={"a": ["one", "two", "three"]})
    np.testing.assert_array_equal(code_newcomers(frame, table).a, [0, 1, 2] * 4)


def test_two_numbers_can_be_an_outcome_of_either_type():
    frame = frame_of(["f", "m"] * 6).assign(y=[3.0, 5.0] * 6)
    assert read_table(frame, GRAPH).outcome_levels == (3.0, 5.0)
    number = read_table(frame, GRAPH, outcome_type="number")
    assert (number.outcome_levels, number.origin) == (None, 4.0)
    with pytest.raises(DataError, match="has 4 classes: a probability needs two"):
        read_table(frame_of(["f", "m"] * 6), GRAPH, outcome_type="classes")
    with pytest.raises(SettingError, match="outcome_type is 'text': give 'number' or 'classes'"):
        read_table(frame, GRAPH, outcome_type="text")


def test_folds_can_be_given_as_splits():
    table = read_table(frame_of(["f", "m"] * 6), GRAPH, sample_weight=[1] * 11 + [0])
    odd, even = np.arange(1, 12, 2), np.arange(0, 12, 2)
    first, second = table.folds([(odd, even), (even, odd)])
    assert (first.n, second.n) == (6, 5)
    with pytest.raises(SettingError, match="must test each of the 12 rows once"):
        table.folds([(odd, even), (odd, even)])
    with pytest.raises(SettingError, match="must test each of the 12 rows once"):
        table.folds([(np.arange(0), np.arange(12))])
    with pytest.raises(SettingError, match="no row with weight"):
        table.folds([(np.arange(11), [11]), ([11], np.arange(11))])
