"""Tables of many rows: a sample is looked at first, and what is spared changes no number."""

from __future__ import annotations

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fairstress as fs
from fairstress.inputs import frames, rows
from fairstress.inputs.data import Table, read_table
from fairstress.inputs.frames import has_thousands, numbered
from fairstress.inputs.rows import MANY, hardly_repeat

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> z", protected="a", outcome="y")
GIVEN = {"degrees": {"x": 1, "z": 2}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}
N = MANY + 5000
P = {("a", "z"): 0.3}


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, N, random_state=0).frame


def few(monkeypatch):
    """Take any number of rows for few, as if there were no samples."""
    for module in (rows, frames):
        monkeypatch.setattr(module, "MANY", 10**9)


def test_rows_of_which_a_sample_has_none_alike_are_not_searched_and_give_the_same_numbers(frame, monkeypatch):
    copied = pd.concat([frame, frame.iloc[:50]], ignore_index=True)  # too few alike to be worth while
    found = fs.Audit.fit(copied, GRAPH, **GIVEN)
    assert found.fitted.table.rows.size == N + 50
    few(monkeypatch)
    expected = fs.Audit.fit(copied, GRAPH, **GIVEN)
    assert expected.fitted.table.rows.size == N
    assert found.cfu(P) == pytest.approx(expected.cfu(P), rel=1e-10)  # fits end within 1e-13 of a person's likelihood
    assert found.model_a.log_likelihood == pytest.approx(expected.model_a.log_likelihood, rel=1e-12)
    assert found.baselines["blind"].unfairness == pytest.approx(expected.baselines["blind"].unfairness, rel=1e-12)


def test_rows_of_which_a_sample_has_many_alike_are_gathered(frame):
    coarse = frame.round({"x": 1, "z": 1})
    table = read_table(coarse, GRAPH)
    assert table.rows.size == len(coarse[["a", "x", "z"]].drop_duplicates())
    assert table.rows.n == N


@pytest.mark.parametrize(("copies", "few_alike"), [(1, True), (10, False)])
def test_a_sample_tells_whether_numbers_repeat(copies, few_alike):
    values = np.repeat(np.random.default_rng(0).standard_normal(-(-2 * MANY // copies)), copies)
    assert hardly_repeat(values) == few_alike
    assert not hardly_repeat(values[:1000])  # of few all are looked at


def test_a_fit_from_a_sample_of_many_rows_ends_where_it_does_without(frame, monkeypatch):
    claim = fs.Audit.fit(frame, GRAPH, **GIVEN).fitted.claim
    assert claim.system._on_some().rows.size == rows.SAMPLE
    P = np.eye(3)
    P[0, 2] = P[2, 0] = 0.4
    near = claim.system.fits(P[None], claim.model_a, check_minima=True)[0]
    claim.system._sample[:] = [None]
    far = claim.system.fits(P[None], claim.model_a, check_minima=True)[0]
    np.testing.assert_allclose(near.weights, far.weights, rtol=0, atol=1e-10)
    assert near.log_likelihood == pytest.approx(far.log_likelihood, rel=1e-13)


def test_nothing_is_dealt_to_folds_where_there_is_nothing_to_choose(frame, monkeypatch):
    def fails(*_, **__):
        raise AssertionError("folds are dealt")

    monkeypatch.setattr("fairstress.inputs.data.cut", fails)
    some = frame.iloc[:100]
    assert fs.Audit.fit(some, GRAPH, cv=7, **GIVEN).settings.cv == 7
    with pytest.raises(fs.SettingError, match="cv is 1"):
        fs.Audit.fit(some, GRAPH, cv=1, **GIVEN)
    with pytest.raises(AssertionError, match="folds are dealt"):
        fs.Audit.fit(some, GRAPH, **GIVEN | {"penalty": None})


LEVELS = {
    "text": ["b", "a", "b", "c"],
    "numbers": [3, 1, 3, 2],
    "floats": [0.5, -1.0, 0.5, 2.0],
    "booleans": [True, False, True, True],
}
MAKERS = {
    "pandas": pd.DataFrame,
    "categories": lambda columns: pd.DataFrame(columns).astype({"text": "category"}),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "dictionary": lambda columns: pa.table({n: pa.array(v).dictionary_encode() for n, v in columns.items()}),
}


@pytest.mark.parametrize("maker", list(MAKERS))
@pytest.mark.parametrize("name", list(LEVELS))
def test_distinct_values_are_numbered_in_any_kind_of_frame(maker, name):
    column = nw.from_native(MAKERS[maker](LEVELS), eager_only=True)[name]
    number, values = numbered(column)
    assert [values[i] for i in number] == LEVELS[name]
    assert sorted(values) == sorted(set(LEVELS[name]))
    assert all(type(value) is type(LEVELS[name][0]) for value in values)


def test_a_kind_says_that_there_are_thousands_of_values_without_counting_them(frame):
    table = read_table(frame, GRAPH)
    assert table.kinds["x"].reason == "numbers with thousands of distinct values"
    assert not has_thousands(nw.from_native(frame, eager_only=True)["a"])
    assert not has_thousands(nw.from_native(frame.iloc[:1000], eager_only=True)["x"])


def test_reading_leaves_the_analysts_table_alone_and_does_not_follow_it(frame):
    own = frame.copy()
    table = read_table(own, GRAPH)
    before = table.rows.x.copy(), table.y.copy()
    own["x"] = 0.0
    own.loc[:, "y"] = 1.0
    np.testing.assert_array_equal(table.rows.x, before[0])
    np.testing.assert_array_equal(table.y, before[1])
    assert isinstance(table, Table)


@pytest.mark.parametrize("groups", [2, 40])
def test_rows_that_are_grouped_a_part_after_the_other_have_the_groups_of_all_at_once(monkeypatch, groups):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, groups, 3000).astype(float), np.sort(rng.integers(0, 3, 3000)).astype(float)]
    expected = rows.distinct_columns(columns)
    monkeypatch.setattr(rows, "PIECE", 256)
    found = rows.distinct_columns(columns)
    assert found[1].dtype == np.int32
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(rows, "GROUPS", 3)
    assert rows.distinct_columns(columns)[1].dtype == np.intp  # too many to be known by name


def test_squares_of_people_one_by_one_are_not_kept_and_sum_to_the_same(frame):
    table = read_table(frame, GRAPH)
    assert table.rows.y_square is None
    np.testing.assert_array_equal(table.rows.squares, table.y**2)
    np.testing.assert_array_equal(table.rows.where(slice(5, 9)).squares, table.y[5:9] ** 2)
    twice = table.reweighted(np.full(N, 2.0)).rows
    np.testing.assert_allclose(twice.squares, 2 * table.y**2, rtol=1e-15)


@pytest.mark.parametrize("width", [1, 10, 100, 1000, 10**6, None])
def test_blocks_have_all_rows_in_order_and_are_the_shorter_the_more_is_made_of_a_row(frame, width):
    some = read_table(frame, GRAPH).rows
    sizes = [block.size for block in some.blocks(width)]
    most = rows.BLOCK if width is None else min(rows.LONGEST, max(rows.BLOCK, rows.NUMBERS // width))
    assert sum(sizes) == N
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= len(sizes)  # as equal as can be
    np.testing.assert_array_equal(np.concatenate([block.a for block in some.blocks(width)]), some.a)
