from __future__ import annotations

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairstress.errors import DataError
from fairstress.inputs.missing import Dropped, describe_missing, drop_incomplete, missing_values

NAMES = ("race", "lsat", "ugpa")
LIBRARIES = [lambda frame: frame, pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)]
WAYS_OUT = (
    "missing='drop' leaves these 5 people out, and the report says how many of each group; or impute several times and "
    "give the completed tables as a list, Audit.fit([frame_1, frame_2, ...], graph); fairstress never does either "
    "silently"
)


def frame(**changes) -> pd.DataFrame:
    """Ten people, seven White and three non-White: four lack lsat, two ugpa, five either; the note is not asked for."""
    columns = {
        "race": ["White", "White", "non-White", "White", "White", "non-White", "White", "White", "non-White", "White"],
        "lsat": [1.0, 2.0, None, None, 5.0, None, 7.0, None, 9.0, 0.0],
        "ugpa": [3.0, None, None, 3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 2.5],
        "note": [None] * 9 + ["kept"],
    }
    return pd.DataFrame({**columns, **changes}, index=[f"person {i}" for i in range(10)])


def take_columns(given, names):
    table = nw.from_native(given, eager_only=True)
    return {name: table[:, [str(column) for column in table.columns].index(name)] for name in names}


def dropped(given, protected=("race",), names=NAMES):
    return drop_incomplete(given, take_columns(given, names), protected)


def sentence(given, protected=("race",), names=NAMES) -> str:
    return describe_missing(take_columns(given, names), protected)


# ---------------------------------------------------------------- what is missing


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, np.nan, 3.0]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.5, None, 3], dtype="Float64"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series(["a", None, "c"]),
        pd.Series(["a", np.nan, "c"], dtype=object),
        pd.Series(["a", None, "c"], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-01", None, "2021-01-01"])),
        pl.Series([1.0, float("nan"), 3.0]),
        pl.Series([1, None, 3]),
        pl.Series(["a", None, "c"], dtype=pl.Categorical),
        pa.chunked_array([[1.0, float("nan"), 3.0]]),
        pa.chunked_array([["a", None, "c"]]),
    ],
    ids=lambda column: f"{type(column).__module__} {getattr(column, 'dtype', '')}",
)
def test_null_and_nan_are_missing_in_a_column_of_any_type(column):
    series = nw.from_native(column, series_only=True)
    np.testing.assert_array_equal(
        missing_values({"x": series, "again": series}), [[False] * 2, [True] * 2, [False] * 2]
    )


def test_null_and_nan_in_one_column_are_both_missing():
    column = nw.from_native(pl.Series([None, float("nan"), 3.0]), series_only=True)
    np.testing.assert_array_equal(missing_values({"x": column}), [[True], [True], [False]])


# ---------------------------------------------------------------- the refusal


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_refusal_counts_by_column_and_group_and_names_the_ways_out(library):
    found = (
        "column 'lsat' has 4 missing values (first in row 2; White 2, non-White 2) "
        "and 'ugpa' 2 (White 1, non-White 1): "
    )
    assert sentence(library(frame())) == found + WAYS_OUT


def test_groups_without_a_missing_value_are_not_named():
    one = frame(lsat=[1.0, None, *range(8)], ugpa=1.0)
    assert sentence(one).startswith(
        "column 'lsat' has 1 missing value (first in row 1; White 1): missing='drop' leaves this person out"
    )


@pytest.mark.parametrize(
    "race",
    [
        [None, *["White", "non-White", "White"] * 3],  # incomplete
        np.arange(10.0),  # a number
        list("abcdefghij"),  # many levels
    ],
    ids=["incomplete", "number", "many levels"],
)
def test_groups_are_left_away_where_the_attribute_has_none_or_too_many(race):
    text = sentence(frame(race=race), names=("lsat", "race", "ugpa"))
    assert text.startswith("column 'lsat' has 4 missing values (first in row 2)")
    assert " and 'ugpa' 2: " in text
    assert ("'race' 1" in text) == (race[0] is None)


def test_several_protected_columns_are_one_attribute():
    both = frame(sex=["f", "m"] * 5)
    text = sentence(both, ("race", "sex"), ("race", "sex", "lsat"))
    assert "(first in row 2; White & m 2, non-White & f 1, non-White & m 1)" in text


def test_a_long_list_of_columns_is_cut():
    wide = pd.DataFrame({"a": [0, 1], **{f"x{i}": [0.0, np.nan] for i in range(20)}})
    text = sentence(wide, ("a",), tuple(wide.columns))
    assert text.startswith("column 'x0' has 1 missing value (first in row 1; a=1: 1), 'x1' 1 (a=1: 1), ")
    assert "'x6' 1 (a=1: 1) and 13 more columns: missing='drop'" in text


def test_complete_columns_have_nothing_to_refuse():
    assert sentence(frame(lsat=1.0, ugpa=2.0)) == ""


# ---------------------------------------------------------------- leaving people out


@pytest.mark.parametrize("library", LIBRARIES)
def test_who_lacks_a_value_is_left_out_and_the_frame_stays_what_it_is(library):
    given = library(frame())
    rest, kept, record = dropped(given)
    assert type(rest) is type(given)
    assert kept.tolist() == [0, 4, 6, 8, 9]
    assert nw.from_native(rest)["lsat"].to_list() == [1.0, 5.0, 7.0, 9.0, 0.0]
    assert nw.from_native(rest)["note"].to_list()[-1] == "kept"
    assert (record.total, record.dropped) == (10, 5)
    assert record.by_group == {"White": (3, 7), "non-White": (2, 3)}
    assert record.by_column == {"lsat": 4, "ugpa": 2}


def test_a_pandas_frame_keeps_its_index_its_types_and_names_that_are_no_text():
    given = frame(race=pd.Categorical(frame()["race"])).set_axis([0, 1, 2, 3], axis=1)
    rest, kept, _ = dropped(given, ("0",), ("0", "1", "2"))
    pd.testing.assert_frame_equal(rest, given.iloc[kept])
    assert given.shape == (10, 4)


def test_a_complete_frame_is_given_back_itself():
    given = frame(lsat=1.0, ugpa=2.0)
    rest, kept, record = dropped(given)
    assert rest is given
    assert kept.tolist() == list(range(10))
    assert str(record) == "Nobody was left out: no value is missing."


def test_who_lacks_the_protected_attribute_is_a_group_of_their_own():
    given = frame(race=[None, *frame()["race"][1:]])
    _, kept, record = dropped(given)
    assert 0 not in kept
    assert record.by_group == {"White": (3, 6), "non-White": (2, 3), None: (1, 1)}
    assert record.sentence() == (
        "6 of 10 people were left out because a value is missing: "
        "3 of 6 White, 2 of 3 non-White and 1 of 1 whose 'race' is missing."
    )


def test_a_protected_number_has_no_groups():
    _, _, record = dropped(frame(race=np.arange(10.0)))
    assert record.by_group == {}
    assert str(record) == "5 of 10 people were left out because a value is missing."


def test_groups_whose_value_is_no_text_are_named_with_their_column():
    record = Dropped(1000, 1, {1: (0, 900), 0: (1, 100)}, {"x": 1}, "w")
    assert str(record) == (
        "1 of 1,000 people was left out because a value is missing: 0 of 900 with 'w' = 1 and 1 of 100 with 'w' = 0."
    )


def test_many_groups_are_cut_in_the_sentence_but_not_in_the_record():
    record = Dropped(100, 10, {f"group {i}": (1, 10) for i in range(10)}, {"x": 10}, "place")
    assert str(record).endswith("1 of 10 group 6 and 3 more groups.")


def test_several_protected_columns_give_one_name():
    _, _, record = dropped(frame(sex=["f", "f"] * 5), ("race", "sex"), ("race", "sex", "lsat"))
    assert record.protected == "race & sex"
    assert record.by_group == {"White & f": (2, 7), "non-White & f": (2, 3)}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"lsat": np.nan}, "missing='drop' leaves nobody: all 10 people lack a value; remove 'lsat' from the graph"),
        (
            {"ugpa": [3.0] * 8 + [None, 3.0], "lsat": [1.0, 1.0, None, 1.0, 1.0, None, 1.0, 1.0, 1.0, 1.0]},
            "missing='drop' leaves nobody with 'race' = 'non-White': all 3 of them lack a value; remove 'lsat' from",
        ),
    ],
)
def test_nobody_left_in_the_table_or_a_group_is_refused(changes, problem):
    with pytest.raises(DataError, match=problem):
        dropped(frame(**changes))


def test_a_value_of_a_protected_number_may_go():
    _, kept, _ = dropped(frame(race=np.arange(10) // 2))
    assert kept.size == 5
