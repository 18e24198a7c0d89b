"""Columns as a settings file describes them: recoding names every value, and says what it did."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from fairstress.errors import DataError, SettingError
from fairstress.inputs.described import read_columns, recode_columns


def test_recoding_renames_each_value_and_leaves_missing_ones_missing():
    frame = pd.DataFrame({"race": ["1", "2", None, "3"], "x": [1.0, 2.0, 3.0, 4.0]})
    recode = {"1": "White", "2": "other", "3": "other"}
    (changed,), (sentence,) = recode_columns([frame], {"race": recode})
    assert changed["race"].tolist()[:2] == ["White", "other"]
    assert changed["race"].isna().tolist() == [False, False, True, False]
    assert frame["race"].tolist()[:2] == ["1", "2"]  # the table that was read stays
    assert sentence == (
        "Values of 'race' were renamed when the file was read: 1 is White (1 row), 2 is other (1 row), 3 is other "
        "(1 row)."
    )


def test_whole_numbers_of_a_typed_table_are_named_without_a_point_and_may_become_numbers():
    frame = pd.DataFrame({"grade": [1.0, 2.0, np.nan, 2.5]})
    (changed,), _ = recode_columns([frame], {"grade": {"1": 10, "2": 20, "2.5": 25}})
    np.testing.assert_array_equal(changed["grade"], [10, 20, np.nan, 25])


@pytest.mark.parametrize(
    ("recode", "message"),
    [
        ({"1": "a"}, "column 'x' is '2' in 2 rows (first in row 1), which its recode does not name: add \"2\" ="),
        ({"1": "a", "2": "b", "3": "c"}, "the recode of 'x' names '3', which no row has: leave it out"),
    ],
)
def test_a_recode_fits_its_column_exactly(recode, message):
    with pytest.raises(DataError, match=re.escape(message)):
        recode_columns([pd.DataFrame({"x": ["1", "2", "2"]})], {"x": recode})


def test_levels_and_kinds_of_one_column_belong_together():
    read = read_columns({"x": {"levels": ["01", "02"], "kind": "ordered as levels"}, "z": {"kind": "log"}})
    assert (read.kinds["x"].levels, read.kinds["x"].as_levels) == (("01", "02"), True)
    assert read.kinds["z"].word == "log"
    assert read.as_text(read.kinds) == ("x",)
    numbers = read_columns({"x": {"levels": [1, 2]}})
    assert numbers.as_text(numbers.kinds) == ()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": {"kind": "lgo"}}, "kinds says 'lgo' for 'x'"),
        ({"x": {"kind": "log", "levels": [1, 2]}}, "'columns.x' has levels and the kind 'log': leave one out"),
        ({"x": {"recode": {}}}, "'columns.x.recode' is empty"),
        ({"x": {"recode": {"1": True}}}, "'columns.x.recode' makes True of '1': give text or a number"),
        ({"x": {"recode": {"1": "a", "2": 2}}}, "makes text of some values and numbers of others"),
        ({"x": {"recode": {"1": "a", "2": "b"}, "levels": ["a", "c"]}}, "lists 'c', which recode makes of no value"),
        (
            {"x": {"levels": ["a", "None"], "missing_values": ["None"]}},
            "'columns.x' has 'None' both among missing_values",
        ),
        ({"x": {"recode": {"-": "a"}, "missing_values": ["-"]}}, "'columns.x' has '-' both among missing_values and"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_data_are_read(columns, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        read_columns(columns)
