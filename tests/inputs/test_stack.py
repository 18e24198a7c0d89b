from __future__ import annotations

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairstress.errors import DataError
from fairstress.inputs.stack import imputation_deviation, is_several, stack

NAMES = ("a", "x")
LIBRARIES = [lambda frame: frame, pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)]


def frame(x=(1.0, 2.0, 3.0), **changes) -> pd.DataFrame:
    columns = {"note": ["p", "q", "r"], "x": list(x), "a": ["f", "m", "m"]}
    return pd.DataFrame({**columns, **changes}, index=["Ann", "Bob", "Cem"])


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_stand_end_to_end_in_their_own_library_with_the_named_columns_alone(library):
    frames = [library(frame()), library(frame(x=(1.0, 5.0, 3.0))), library(frame(x=(1.0, 6.0, 3.0)))]
    long, table_of, count = stack(frames, ("a", "x", "a"))
    assert type(long) is type(frames[0])
    table = nw.from_native(long)
    assert table.columns == ["a", "x"]
    assert table["x"].to_list() == [1, 2, 3, 1, 5, 3, 1, 6, 3]
    assert table_of.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert count == 3


def test_a_pandas_index_and_a_pandas_type_are_kept():
    ordered = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frames = [
        frame(x=["low", "mid", "low"]).astype({"x": ordered}),
        frame(x=["low", "high", "low"]).astype({"x": ordered}),
    ]
    long, _, _ = stack(frames, NAMES)
    pd.testing.assert_frame_equal(long, pd.concat(frames)[["a", "x"]])
    assert long["x"].dtype == ordered
    assert long.index.tolist() == ["Ann", "Bob", "Cem"] * 2


def test_columns_may_stand_in_another_order_and_have_names_that_are_no_text():
    one, other = (f[["a", "x"]].set_axis([7, 1], axis=1) for f in (frame(), frame(x=(4, 5, 6))))
    long, _, _ = stack([one, other[[1, 7]]], ("7", "1"))
    assert long[1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert long[7].tolist() == ["f", "m", "m"] * 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_whole_numbers_in_one_table_and_others_in_the_next_become_floats(library):
    long, _, _ = stack([library(frame(x=(1, 2, 3))), library(frame(x=(1.0, 2.5, 3.0)))], NAMES)
    assert nw.from_native(long)["x"].dtype == nw.Float64
    assert nw.from_native(long)["x"].to_list() == [1, 2, 3, 1, 2.5, 3]


@pytest.mark.parametrize("library", LIBRARIES)
def test_whole_numbers_of_two_widths_stay_whole(library):
    long, _, _ = stack([library(frame(x=(1, 2, 3)).astype({"x": "int8"})), library(frame(x=(1, 300, 3)))], NAMES)
    assert nw.from_native(long)["x"].dtype == nw.Int64
    assert nw.from_native(long)["x"].to_list() == [1, 2, 3, 1, 300, 3]


def test_categories_of_a_polars_or_pyarrow_table_may_be_other_ones():
    levels = [["u", "v", "u"], ["w", "v", "u"]]
    pairs = [
        [pl.DataFrame({"x": pl.Series(x, dtype=pl.Categorical)}) for x in levels],
        [pa.table({"x": pa.array(x).dictionary_encode()}) for x in levels],
    ]
    for pair in pairs:
        long, _, _ = stack(pair, ("x",))
        assert nw.from_native(long)["x"].dtype == nw.Categorical
        assert nw.from_native(long)["x"].to_list() == ["u", "v", "u", "w", "v", "u"]


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ([], "a list of completed tables has 1 of them: give two or more, or one table without a list"),
        ([frame(), None], "table 3 of 3 is a NoneType: give pandas, polars or pyarrow tables held in memory"),
        ([pl.from_pandas(frame()).lazy()], "table 2 of 2 is a LazyFrame"),
        (
            [frame().rename(columns={"x": "xx"})],
            "the graph names 'x', which is not a column of table 2 of 2; did you mean 'xx'",
        ),
        ([frame().rename(columns={"note": "x"})], "table 2 of 2 has two columns of one name: rename one of them"),
        (
            [pl.from_pandas(frame())],
            "table 2 of 2 is a polars table, but table 1 a pandas one: give all of them in one",
        ),
        ([frame(), frame().head(2)], "table 3 of 3 has 2 rows, but table 1 has 3: give completed tables of the same"),
        ([frame().iloc[::-1]], "the rows of table 2 of 2 are labelled otherwise than those of table 1: give completed"),
        (
            [frame(x=["1", "2", "3"])],
            "column 'x' is (str|object) in table 2 of 2, but float64 in table 1: give it the same type in all",
        ),
        (
            [frame(a=pd.Categorical(["f", "m", "m"]))],
            "column 'a' is category in table 2 of 2, but (str|object) in table 1: give it the same type in all",
        ),
    ],
)
def test_tables_that_do_not_go_together_are_refused_by_their_place(others, problem):
    with pytest.raises(DataError, match=problem):
        stack([frame(), *others], NAMES)


def test_pandas_categories_that_differ_are_refused_before_pandas_makes_text_of_them():
    one, other = frame(a=pd.Categorical(["f", "m", "m"])), frame(a=pd.Categorical(["f", "f", "f"]))
    with pytest.raises(DataError, match="column 'a' has other categories in table 2 of 2 than in table 1"):
        stack([one, other], NAMES)


def test_several_tables_are_a_list_or_a_tuple_that_holds_one():
    table = frame()
    assert is_several([table, table])
    assert is_several((pl.from_pandas(table),))
    assert is_several([None, pa.Table.from_pandas(table)])
    assert is_several([table.rename(columns={"x": "a"})])
    for other in (table, [], [{"a": 1}], [pl.from_pandas(table).lazy()], {"one": table}, "table", np.zeros((2, 2))):
        assert not is_several(other)


def test_the_deviation_of_the_imputation_is_rubins():
    values = np.array([0.2, 0.5, 0.3, 0.4, 0.1])
    between = sum((values - values.mean()) ** 2) / 4
    assert imputation_deviation(values) == pytest.approx(np.sqrt(between + between / 5), rel=1e-14)
    assert imputation_deviation(np.full(5, 0.3)) == 0
    assert imputation_deviation(10 * values) == pytest.approx(10 * imputation_deviation(values), rel=1e-14)
