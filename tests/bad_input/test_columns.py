"""Tables and columns that cannot be audited: each is refused by one sentence that names the column and the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairstress as fs
from fairstress.errors import DataError, GraphError, SettingError

UNIT, TEXT = ("us", "str") if int(pd.__version__.split(".")[0]) >= 3 else ("ns", "object")  # what pandas takes and says

CASES = [
    (
        "a missing number",
        lambda w: w.with_cell("x", None),
        DataError,
        (
            "column 'x' has 1 missing value (first in row 3; a=1: 1): missing='drop' leaves this person out, "
            "and the report says how many of each group; or impute several times and give the completed tables "
            "as a list, Audit.fit([frame_1, frame_2, ...], graph); fairstress never does either silently"
        ),
    ),
    (
        "an infinite number",
        lambda w: w.with_cell("x", np.inf),
        DataError,
        "column 'x' has 1 infinite value (first in row 3): remove or replace them before the audit",
    ),
    (
        "NaN in the outcome",
        lambda w: w.with_cell("y", np.nan),
        DataError,
        (
            "column 'y' has 1 missing value (first in row 3; a=1: 1): missing='drop' leaves this person out, "
            "and the report says how many of each group; or impute several times and give the completed tables "
            "as a list, Audit.fit([frame_1, frame_2, ...], graph); fairstress never does either silently"
        ),
    ),
    (
        "an infinite outcome",
        lambda w: w.with_cell("y", -np.inf),
        DataError,
        "column 'y' has 1 infinite value (first in row 3): remove or replace them before the audit",
    ),
    (
        "a missing level",
        lambda w: w.with_cell("a", None),
        DataError,
        (
            "column 'a' has 1 missing value (first in row 3): missing='drop' leaves this person out, and the "
            "report says how many of each group; or impute several times and give the completed tables as a "
            "list, Audit.fit([frame_1, frame_2, ...], graph); fairstress never does either silently"
        ),
    ),
    (
        "a word among numbers",
        lambda w: w.with_cell("x", "high"),
        DataError,
        "column 'x' holds numbers, but 'high' in row 3: correct it, so that all are numbers",
    ),
    (
        "a word among outcomes",
        lambda w: w.with_cell("y", "high"),
        DataError,
        "column 'y' holds numbers, but 'high' in row 3: correct it, so that all are numbers",
    ),
    (
        "a list in a cell",
        lambda w: w.with_cell("x", [1, 2]),
        DataError,
        "column 'x' holds lists or records: give one number or text in each row",
    ),
    (
        "a dict in a cell",
        lambda w: w.with_cell("x", {"a": 1}),
        DataError,
        "column 'x' holds lists or records: give one number or text in each row",
    ),
    (
        "a complex number",
        lambda w: w.with_cell("x", 1j),
        DataError,
        "column 'x' holds numbers, but 1j in row 3: correct it, so that all are numbers",
    ),
    (
        "a list among levels",
        lambda w: w.with_cell("a", ["f"]),
        DataError,
        "column 'a' holds lists or records: give one number or text in each row",
    ),
    (
        "a date column",
        lambda w: w.with_column("x", pd.date_range("2020", periods=60)),
        DataError,
        (
            f"feature 'x' is not numeric (its type is Datetime(time_unit='{UNIT}', time_zone=None)): code it as "
            "numbers before the audit"
        ),
    ),
    (
        "a column of durations",
        lambda w: w.with_column("x", pd.to_timedelta(np.arange(60), "D")),
        DataError,
        (f"feature 'x' is not numeric (its type is Duration(time_unit='{UNIT}')): code it as numbers before the audit"),
    ),
    (
        "a date as outcome",
        lambda w: w.with_column("y", pd.date_range("2020", periods=60)),
        DataError,
        (
            f"outcome 'y' is not numeric (its type is Datetime(time_unit='{UNIT}', time_zone=None)): code it as "
            "numbers before the audit"
        ),
    ),
    (
        "a constant feature",
        lambda w: w.with_column("x", 3.0),
        DataError,
        "column 'x' is constant (3): remove it from the graph",
    ),
    (
        "a constant word",
        lambda w: w.with_column("x", "same"),
        DataError,
        "column 'x' is constant ('same'): remove it from the graph",
    ),
    (
        "a constant outcome",
        lambda w: w.with_column("y", 3.0),
        DataError,
        "the outcome 'y' is 3.0 in every row: there is nothing to predict",
    ),
    (
        "a constant attribute",
        lambda w: w.with_column("a", "f"),
        DataError,
        "the protected attribute 'a' has one level, 'f': there is nobody to compare with",
    ),
    (
        "an attribute that is one number",
        lambda w: w.with_column("a", 2.5),
        DataError,
        "the protected attribute 'a' has one level, 2.5: there is nobody to compare with",
    ),
    (
        "names of people as a feature",
        lambda w: w.with_column("x", [f"person {i}" for i in range(60)]),
        DataError,
        (
            "'x' is a category of 60 levels without an order and stands in the pair 'a <-> x': give its levels "
            "in order, kinds={'x': [...]}, merge them to two, or remove it from the graph"
        ),
    ),
    (
        "names of people as the attribute",
        lambda w: w.with_column("a", [f"person {i}" for i in range(60)]),
        DataError,
        (
            "a pair names 'a', which has 60 levels without an order: a hidden cause of the protected attribute "
            "can be analysed for two levels, ordered ones or a number; merge levels, say kinds={'a': [levels "
            "in order]} if they have an order, or remove its '<->'"
        ),
    ),
    (
        "three words as a feature below the attribute",
        lambda w: w.with_column("x", np.array(["n", "s", "e"])[np.arange(60) % 3]),
        DataError,
        (
            "'x' is a category of 3 levels without an order and stands in the pair 'a <-> x': give its levels "
            "in order, kinds={'x': [...]}, merge them to two, or remove it from the graph"
        ),
    ),
    (
        "three levels in a pair",
        lambda w: w.with_column("a", np.array(["n", "s", "e"])[np.arange(60) % 3]),
        DataError,
        (
            "a pair names 'a', which has 3 levels without an order: a hidden cause of the protected attribute "
            "can be analysed for two levels, ordered ones or a number; merge levels, say kinds={'a': [levels "
            "in order]} if they have an order, or remove its '<->'"
        ),
    ),
    (
        "three classes",
        lambda w: w.with_column("y", np.array(["n", "s", "e"])[np.arange(60) % 3]),
        DataError,
        "outcome 'y' is not numeric (its type is String): code it as numbers before the audit",
    ),
    (
        "three classes asked for",
        lambda w: w.with_column("y", np.arange(60) % 3, outcome_type="classes"),
        DataError,
        "the outcome 'y' has 3 classes: a probability needs two, merge the others",
    ),
    (
        "a copy of its parent",
        lambda w: w.with_column("z", w.frame["x"]),
        DataError,
        (
            "feature 'z' is an exact function of its parents, so that it has no error to compare: remove it "
            "from the graph, or its edges"
        ),
    ),
    (
        "a feature that the attribute tells",
        lambda w: w.with_column("x", (w.frame["a"] == w.frame["a"].iloc[0]) * 2.5 + 1, penalty=0),
        SettingError,
        (
            "the term 'x' of the equation of 'z' is determined by its other terms, so that penalty 0 has no "
            "unique fit: give a larger penalty or a lower degree, or remove a redundant column"
        ),
    ),
    (
        "numbers as objects",
        lambda w: w.with_column("x", w.frame["x"].astype(object)),
        DataError,
        "column 'x' holds numbers as Python objects: give it a numeric type, such as by pandas.to_numeric",
    ),
    (
        "a word in every third row",
        lambda w: w.with_column("x", w.frame["x"].astype(object).where(np.arange(60) % 3 > 0, "n/a")),
        DataError,
        "column 'x' holds numbers, but 'n/a' in row 0: correct it, so that all are numbers",
    ),
    (
        "huge numbers",
        lambda w: w.with_column("x", w.frame["x"] * 1e200),
        DataError,
        "column 'x' runs from -2.24322e+200 to 1.88267e+200: correct it, or give it in another unit",
    ),
    (
        "tiny numbers",
        lambda w: w.with_column("x", w.frame["x"] * 1e-200),
        DataError,
        "column 'x' runs from -2.24322e-200 to 1.88267e-200: correct it, or give it in another unit",
    ),
    (
        "a huge outcome",
        lambda w: w.with_column("y", w.frame["y"] * 1e200),
        DataError,
        "column 'y' runs from -4.3785e+200 to 4.80245e+200: correct it, or give it in another unit",
    ),
    (
        "integers beyond doubles",
        lambda w: w.with_column("x", np.arange(60, dtype="uint64") + np.uint64(2**63)),
        DataError,
        (
            "column 'x' has numbers beyond 2^53 (up to 9.22337e+18) that differ by less than double precision "
            "tells apart: subtract a constant from all of them, or give them as text if they are names"
        ),
    ),
    (
        "no such column",
        lambda w: w.fit(w.frame.drop(columns="x")),
        DataError,
        "the graph names 'x', which is not a column of the data",
    ),
    (
        "a column spelt otherwise",
        lambda w: w.fit(w.frame.rename(columns={"x": "X"})),
        DataError,
        "the graph names 'x', which is not a column of the data; did you mean 'X'?",
    ),
    (
        "no outcome",
        lambda w: w.fit(w.frame.drop(columns="y")),
        DataError,
        "the graph names 'y', which is not a column of the data",
    ),
    (
        "no attribute",
        lambda w: w.fit(w.frame.drop(columns="a")),
        DataError,
        "the graph names 'a', which is not a column of the data",
    ),
    (
        "two columns of one name",
        lambda w: w.fit(pd.concat([w.frame, w.frame[["x"]]], axis=1)),
        DataError,
        "the data have two columns named 'x': rename one of them",
    ),
    (
        "no rows",
        lambda w: w.fit(w.frame.iloc[:0]),
        DataError,
        "the data have no rows: give a table with one row per person",
    ),
    (
        "one row",
        lambda w: w.fit(w.frame.iloc[:1]),
        DataError,
        "the data have one row, and nobody to compare it with: give a table with one row per person",
    ),
    (
        "four rows",
        lambda w: w.fit(w.frame.groupby("a").head(2)),
        SettingError,
        (
            "cv is 5: give a number of folds from 2 to the number of rows, 4, or ('contiguous', 5) for folds "
            "in the order of the rows, or pairs of training and test rows"
        ),
    ),
    (
        "no table",
        lambda w: fs.Audit.fit(None, w.graph),
        DataError,
        "the data are a NoneType: give a pandas, polars or pyarrow table held in memory",
    ),
    (
        "a number as table",
        lambda w: w.fit(3),
        DataError,
        "the data are a int: give a pandas, polars or pyarrow table held in memory",
    ),
    (
        "text as table",
        lambda w: w.fit("people.csv"),
        DataError,
        "there is no file 'people.csv': give a Parquet file, a folder of them, a pattern, or a table held in memory",
    ),
    (
        "a dict as table",
        lambda w: w.fit({"a": [1, 2]}),
        DataError,
        "the data are a dict: give a pandas, polars or pyarrow table held in memory",
    ),
    (
        "an array as table",
        lambda w: w.fit(np.eye(3)),
        DataError,
        "the data are a ndarray: give a pandas, polars or pyarrow table held in memory",
    ),
    (
        "a column as table",
        lambda w: w.fit(w.frame["x"]),
        DataError,
        "the data are a Series: give a pandas, polars or pyarrow table held in memory",
    ),
    (
        "an empty list of tables",
        lambda w: w.fit([]),
        DataError,
        "the data are a list: give a pandas, polars or pyarrow table held in memory",
    ),
    (
        "one table in a list",
        lambda w: w.fit([w.frame]),
        DataError,
        "a list of completed tables has 1 of them: give two or more, or one table without a list",
    ),
    (
        "two tables of other lengths",
        lambda w: w.fit([w.frame, w.frame.iloc[:50]]),
        DataError,
        ("table 2 of 2 has 50 rows, but table 1 has 60: give completed tables of the same people in the same order"),
    ),
    (
        "two tables of other people",
        lambda w: w.fit([w.frame, w.frame.set_axis(range(5, 65))]),
        DataError,
        (
            "the rows of table 2 of 2 are labelled otherwise than those of table 1: give completed tables of "
            "the same people in the same order"
        ),
    ),
    (
        "two tables, one without a column",
        lambda w: w.fit([w.frame, w.frame.drop(columns="x")]),
        DataError,
        "the graph names 'x', which is not a column of table 2 of 2",
    ),
    (
        "two tables of two libraries",
        lambda w: w.fit([w.frame, pl.from_pandas(w.frame)]),
        DataError,
        "table 2 of 2 is a polars table, but table 1 a pandas one: give all of them in one library",
    ),
    (
        "two tables of two types",
        lambda w: w.fit([w.frame, w.frame.assign(x=w.frame["x"].astype(str))]),
        DataError,
        f"column 'x' is {TEXT} in table 2 of 2, but float64 in table 1: give it the same type in all",
    ),
    (
        "polars objects",
        lambda w: w.fit(
            pl.DataFrame(
                {
                    n: pl.Series(n, [object()] * 60, dtype=pl.Object) if n == "x" else w.frame[n].to_list()
                    for n in w.frame
                }
            )
        ),
        DataError,
        "column 'x' has polars' type Object, whose values polars does not compare: cast it to numbers or text",
    ),
    (
        "a graph as text",
        lambda w: fs.Audit.fit(w.frame, "a -> x"),
        GraphError,
        (
            "the graph is text, which does not say what is protected and what is the outcome: give "
            "CausalGraph.parse('a -> x', protected='...', outcome='...')"
        ),
    ),
    (
        "a graph as DOT",
        lambda w: fs.Audit.fit(w.frame, "digraph { a -> x }"),
        GraphError,
        (
            "the graph is text, which does not say what is protected and what is the outcome: give "
            "CausalGraph.from_dot('digraph { a -> x }', protected='...', outcome='...')"
        ),
    ),
    (
        "a graph as a dict",
        lambda w: fs.Audit.fit(w.frame, {"x": ["a"]}),
        GraphError,
        (
            "the graph is a dict: give a CausalGraph, such as CausalGraph.from_dict(graph, protected='...', "
            "outcome='...')"
        ),
    ),
    (
        "a graph as a list",
        lambda w: fs.Audit.fit(w.frame, [("a", "x")]),
        GraphError,
        (
            "the graph is a list: give a CausalGraph, such as CausalGraph.parse('a -> x; x <-> z', "
            "protected='...', outcome='...')"
        ),
    ),
    (
        "no graph",
        lambda w: fs.Audit.fit(w.frame, None),
        GraphError,
        (
            "the graph is a NoneType: give a CausalGraph, such as CausalGraph.parse('a -> x; x <-> z', "
            "protected='...', outcome='...')"
        ),
    ),
    (
        "table and graph exchanged",
        lambda w: fs.Audit.fit(w.graph, w.frame),
        GraphError,
        (
            "the graph is a DataFrame: give a CausalGraph, such as CausalGraph.parse('a -> x; x <-> z', "
            "protected='...', outcome='...')"
        ),
    ),
    (
        "protected columns that read alike",
        lambda w: w.fit(
            w.frame.assign(b=np.resize(["r", "q & r"], 60), a=np.resize(["p & q", "p"], 60)),
            fs.CausalGraph.parse("a, b -> x -> z", protected=("a", "b"), outcome="y"),
        ),
        DataError,
        (
            "the combinations ('p & q', 'r') and ('p', 'q & r') of the protected columns both read 'p & q & "
            "r': rename a level so that none of them contains ' & '"
        ),
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("spoilt", "error", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refusals_of_columns(spoilt, error, sentence, world, refuses):
    refuses(lambda: spoilt(world), sentence, error)
