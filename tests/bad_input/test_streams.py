"""Data that cannot be read in batches: empty, spoilt, changed in between; and nothing is written over them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import fairstress as fs
from fairstress.inputs import look

N, LATE = 3000, 2900  # rows, and the place of someone who is not in the first piece
GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> z", protected="a", outcome="y")
QUICK = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}
P = {("a", "z"): 0.3}


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, N, random_state=0).frame


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Few people are held, so that the others are read again; files are named briefly."""
    monkeypatch.setattr(look, "HELD", 200)
    monkeypatch.chdir(tmp_path)


def folder(*parts):
    """A folder of Parquet files, anew."""
    shutil.rmtree("people", ignore_errors=True)
    Path("people").mkdir()
    for number, part in enumerate(parts):
        table = pa.Table.from_pandas(part) if isinstance(part, pd.DataFrame) else part
        pq.write_table(table, f"people/{number}.parquet")
    return "people"


def fit(data, **changes):
    return fs.Audit.fit(data, GRAPH, **{**QUICK, **changes})


def spoilt(frame, name, value):
    """The table with one value changed, late."""
    values = frame[name].astype(object if isinstance(value, str) else float) if name in frame else pd.Series(np.ones(N))
    values.iloc[LATE] = value
    return frame.assign(**{name: values})


def with_arrow(frame, name, array):
    table = pa.Table.from_pandas(frame)
    return table.set_column(table.schema.get_field_index(name), name, array)


def overwritten(part, start, stop):
    """A file whose bytes are random in between."""
    path = Path("people") / part
    content = bytearray(path.read_bytes())
    content[start:stop] = np.random.default_rng(0).bytes(stop - start)
    path.write_bytes(content)


NO_ROWS = "the data have no rows: give a table with one row per person"

FOLDERS = {
    "no rows": (lambda frame: [frame[:0]], NO_ROWS),
    "no file": (lambda frame: [], "there is no file in 'people': give a Parquet file, a folder of them, a pattern"),
    "text in one file and numbers in the other": (
        lambda frame: [frame, frame.assign(x=frame["x"].astype(str))],
        "column 'x' holds numbers in 'people/0.parquet' and text in 'people/1.parquet': write it alike in all files",
    ),
    "truth values in one file and numbers in the other": (
        lambda frame: [frame.assign(a=frame["a"] == frame["a"][0]), frame.assign(a=(frame["a"] == frame["a"][0]) * 1)],
        "column 'a' holds values of the type bool in 'people/0.parquet' and numbers in 'people/1.parquet'",
    ),
    "a column that one file lacks": (
        lambda frame: [frame, frame.drop(columns="x")],
        "column 'x' has 3,000 missing values (first in row 3,000): a stream takes none",
    ),
    "a missing value": (
        lambda frame: [spoilt(frame, "x", np.nan)],
        "column 'x' has 1 missing value (first in row 2,900): a stream takes none, leave these rows out of it",
    ),
    "a missing level": (
        lambda frame: [frame.assign(a=[None if i == LATE else str(v) for i, v in enumerate(frame["a"])])],
        "column 'a' has 1 missing value (first in row 2,900)",
    ),
    "an infinite value": (
        lambda frame: [spoilt(frame, "z", np.inf)],
        "column 'z' has 1 infinite value (first in row 2,900)",
    ),
    "lists": (
        lambda frame: [frame.assign(x=[[1.0]] * N)],
        "column 'x' holds lists or records: give one number or text in each row",
    ),
    "records": (
        lambda frame: [with_arrow(frame, "x", pa.StructArray.from_arrays([pa.array(frame["x"])], ["of"]))],
        "column 'x' holds lists or records: give one number or text in each row",
    ),
    "dates": (
        lambda frame: [frame.assign(x=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="h"))],
        "feature 'x' is not numeric (its type is Datetime",
    ),
    "one level": (
        lambda frame: [frame.assign(a="all")],
        "the protected attribute 'a' has one level, 'all': there is nobody to compare with",
    ),
    "one value": (lambda frame: [frame.assign(x=1.0)], "column 'x' is constant (1): remove it from the graph"),
    "an outcome with three words": (
        lambda frame: [frame.assign(y=np.array(["p", "q", "r"])[np.arange(N) % 3])],
        "outcome 'y' is not numeric (its type is String): code it as numbers before the audit",
    ),
    "numbers beyond doubles": (
        lambda frame: [frame.assign(x=frame["x"] * 1e300)],
        "correct it, or give it in another unit",
    ),
    "whole numbers that doubles do not tell apart": (
        lambda frame: [frame.assign(x=np.arange(N, dtype=np.uint64) + np.uint64(2**63))],
        "column 'x' has numbers beyond 2^53 (up to 9.22337e+18) that differ by less than double precision tells apart",
    ),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_files_are_refused_in_a_sentence(case, frame, refuses):
    parts, sentence = FOLDERS[case]
    where = folder(*parts(frame))
    refuses(lambda: fit(where), sentence, fs.DataError)


WEIGHTS = {
    "negative": (lambda frame: spoilt(frame, "w", -1), "'w' of weights has 1 negative value (first in row 2,900)"),
    "infinite": (lambda frame: spoilt(frame, "w", np.inf), "column 'w' has 1 infinite value (first in row 2,900)"),
    "missing": (lambda frame: spoilt(frame, "w", np.nan), "column 'w' has 1 missing value (first in row 2,900)"),
    "all zero": (lambda frame: frame.assign(w=0.0), "every sample_weight is zero: give some row a positive weight"),
    "words": (lambda frame: frame.assign(w="one"), "sample_weight holds something that is not a number"),
    "absent": (lambda frame: frame, "sample_weight names 'w', which is not a column of the data"),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_are_refused_in_a_sentence(case, frame, refuses):
    change, sentence = WEIGHTS[case]
    refuses(lambda: fit(folder(change(frame)), sample_weight="w"), sentence, fs.DataError)


def spoil_bytes(frame):
    folder(frame, frame)
    overwritten("1.parquet", 200, 4000)


def cut_short(frame):
    folder(frame, frame)
    os.truncate("people/1.parquet", 5000)


def beside_csv(frame):
    folder(frame)
    frame.to_csv("people/more.csv")


FILES = {
    "random bytes": (spoil_bytes, "the data cannot be read (OSError: "),
    "a file that is cut short": (cut_short, "'people' cannot be read as Parquet (Could not open Parquet input"),
    "a file of another format": (beside_csv, "'people/more.csv': Parquet magic bytes not found in footer"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_not_whole_are_refused_in_a_sentence(case, frame, refuses):
    spoil, sentence = FILES[case]
    spoil(frame)
    refuses(lambda: fit("people"), sentence, fs.DataError)
    refuses(lambda: fit("people"), "see that all files are there, whole, and Parquet", fs.DataError)


@pytest.mark.parametrize("question", [lambda audit: audit.cfu(P), lambda audit: audit.worst_case(0.2)])
def test_files_that_change_after_the_fit_are_refused(question, frame, refuses):
    audit = fit(folder(frame))
    folder(frame[: N // 2])
    refuses(lambda: question(audit), "'people/0.parquet' has changed since the data were first read: fit the audit")
    shutil.rmtree("people")
    refuses(lambda: question(audit), "'people/0.parquet' is gone since the data were first read: fit the audit")


def test_queries_that_fail_are_refused_in_a_sentence(frame, refuses):
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    lazy, connection = pl.from_pandas(frame).lazy(), duckdb.connect()
    connection.register("people", frame)
    relation = connection.sql("select * from people")
    connection.close()
    failing = {
        "(ColumnNotFoundError: ": lazy.with_columns(pl.col("absent")),
        "(InvalidOperationError: ": lazy.with_columns(pl.lit("words").cast(pl.Float64).alias("x")),
        "(ConnectionException: ": relation,
    }
    for sentence, data in failing.items():
        refuses(lambda data=data: fit(data), sentence, fs.DataError)
        refuses(lambda data=data: fit(data), "see that the query runs by itself", fs.DataError)
    for data in (lazy.filter(pl.col("x") > 1e9), duckdb.sql("select * from frame where x > 1e9")):
        refuses(lambda data=data: fit(data), NO_ROWS, fs.DataError)


@pytest.mark.parametrize("data", ["people", "people/*.parquet", "people/0.parquet", ds.dataset])
@pytest.mark.parametrize("size", [100, N])  # which are held in memory, or not
def test_nothing_is_written_over_the_data(data, size, frame, refuses):
    folder(frame[:size], frame[:size] + {"a": 0, "x": 1, "z": 0, "y": 0})
    before = Path("people/0.parquet").read_bytes()
    audit = fit(data if isinstance(data, str) else data("people"))
    sentence = "would overwrite the data, 'people/0.parquet': give another file"
    refuses(lambda: audit.counterfactuals(P, to="people/0.parquet"), f"counterfactuals {sentence}", fs.SettingError)
    refuses(lambda: audit.report("people/0.parquet"), f"the report {sentence}", fs.SettingError)
    assert Path("people/0.parquet").read_bytes() == before


def test_counterfactuals_are_written_to_names_of_parquet_alone(frame, refuses):
    audit = fit(frame)
    refuses(lambda: audit.counterfactuals(P, to="moved.csv"), "to is 'moved.csv', but what is written is Parquet")
    assert not Path("moved.csv").exists()


AMONG = [("people", "people/of/results.json"), ("people/*", "people/results.json"), ("people/**", "people/of/r.json")]


@pytest.mark.parametrize(("data", "output"), AMONG)
def test_commands_write_nothing_among_the_data(data, output, frame, command):
    folder(frame)
    Path("people/of").mkdir()
    keys = command.settings.replace("people.csv", data).replace("a -> x -> z", "a -> x, z; x -> z")
    (command.folder / "audit.toml").write_text(keys, encoding="utf-8")
    command.refuses(["run", "audit.toml", "-o", output], "the results would be written among the data, to ")
    assert not Path(output).exists()
