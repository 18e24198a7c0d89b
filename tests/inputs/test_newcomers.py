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
