from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fairstress as fs
from fairstress.inputs.data import read_table
from fairstress.inputs.newcomers import code_newcomers

GRAPH = fs.CausalGraph.parse("a -> x; c -> x", protected="a", outcome="y")
SCALED = ("number", "log", "log1p", "sqrt", "rank")
RNG = np.random.default_rng(1)
VALUES = {
    "number": RNG.normal(1e6, 1, 60),
    "log": RNG.lognormal(3, 2, 60),
    "log1p": RNG.poisson(9, 60) + 0.1,
    "sqrt": RNG.poisson(9, 60) + 0.3,
    "rank": RNG.lognormal(9, 3, 60),
    "share": RNG.beta(0.3, 0.3, 60).clip(1e-6, 1 - 1e-6),
    "log by group": RNG.lognormal(3, 2, 60),
    **{f"zero or {scale}": RNG.poisson(0.7, 60) * RNG.lognormal(3, 1, 60) for scale in SCALED},
    "ordered": RNG.integers(0, 6, 60),
    "ordered as levels": RNG.integers(3, 6, 60) / 2,
}
LEVELS = {
    "two numbers": ([0, 1], None),
    "booleans": ([False, True], None),
    "text": (["no", "yes"], None),
    "counts": ([0, 1, 2, 7], None),
    "ordered text": (["low", "mid", "high"], ["low", "mid", "high"]),
    "ordered numbers": ([3, 1, 2], [3, 1, 2]),
}
LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


def there_and_back(frame, kinds=None, graph=GRAPH, **options) -> pd.DataFrame:
    """The table coded and decoded, row by row."""
    table = read_table(frame, graph, kinds=kinds, **options)
    return table.units.frame(table.rows.a, table.rows.x).iloc[table.row_of].reset_index(drop=True)


def people(**columns) -> pd.DataFrame:
    plain = {"a": ["f", "m"] * 30, "x": np.arange(60.0), "c": np.arange(60) / 2, "y": np.arange(60) % 7}
    return pd.DataFrame({**plain, **columns})


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_coded_rows_come_back_to_the_last_digit_and_in_their_own_types(law_frame, law_graph, kind):
    frame = law_frame.assign(race=law_frame["race"].astype("category"), ugpa=law_frame["ugpa"] / 3 + 1e6)
    given = frame if kind == "pandas" else pl.from_pandas(frame)
    table = read_table(given, law_graph)
    back = table.units.frame(table.rows.a, table.rows.x).iloc[table.row_of].reset_index(drop=True)
    assert list(back.columns) == ["race", "ugpa", "lsat"]
    assert (back["race"].to_numpy() == frame["race"].to_numpy()).all()
    np.testing.assert_array_equal(back[["ugpa", "lsat"]], frame[["ugpa", "lsat"]])
    if kind == "pandas":
        assert isinstance(back["race"].dtype, pd.CategoricalDtype)


def test_a_numeric_attribute_and_several_columns_as_one_keep_their_names_and_values():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.normal(40, 9, 300), "sex": rng.choice([0, 1], 300), "old": rng.choice([3, 5], 300)}
    )
    frame = frame.assign(x=frame["age"] / 7 + rng.normal(size=300), y=rng.normal(size=300))
    table = read_table(frame, fs.CausalGraph.parse("age -> x", protected="age", outcome="y"))
    back = table.units.frame(table.rows.a, table.rows.x).iloc[table.row_of]
    np.testing.assert_array_equal(back["age"], frame["age"])
    joint = read_table(frame, fs.CausalGraph.parse("sex -> x; old -> x", protected=("sex", "old"), outcome="y"))
    back = joint.units.frame(joint.rows.a, joint.rows.x).iloc[joint.row_of]
    np.testing.assert_array_equal(back[["sex", "old", "x"]], frame[["sex", "old", "x"]])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", VALUES)
def test_numbers_of_every_kind_come_back_to_the_last_digit(kind, library):
    frame = people(x=VALUES[kind])
    weight = RNG.random(60) + 0.1
    back = there_and_back(LIBRARIES[library](frame), {"x": kind}, sample_weight=weight)
    np.testing.assert_array_equal(back["x"], frame["x"])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("column", LEVELS)
def test_levels_come_back_as_the_objects_that_the_table_has(column, library):
    levels, kind = LEVELS[column]
    values = [levels[i] for i in RNG.integers(0, len(levels), 60)]
    back = there_and_back(LIBRARIES[library](people(x=values)), None if kind is None else {"x": kind})["x"].tolist()
    assert back == values
    assert {type(value) for value in back} == {type(value) for value in values}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_category_comes_back_too(library):
    frame = people(c=["u", "w", "v"] * 20)
    assert there_and_back(LIBRARIES[library](frame))["c"].tolist() == frame["c"].tolist()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["low", "high"] * 30, ["low", "mid", "high"], ordered=True)),
        pd.Series(pd.Categorical(["low", "high", "mid"] * 20, ["low", "mid", "high"], ordered=True)),
        pd.Series(pd.Categorical([3, 1, 2] * 20, [3, 1, 2], ordered=True)),
        pd.Series(pd.Categorical(["b", "a"] * 30)),
        pd.Series(["b", "a"] * 30, dtype="string"),
        pd.Series(["b", "a"] * 30, dtype=object),
        pd.Series([True, False] * 30, dtype="boolean"),
        pd.Series([1, 2, 3] * 20, dtype="Int64"),
        pd.Series([1, 2, 3] * 20, dtype="int8"),
        pd.Series([1.0, 2.0, 3.0] * 20, dtype="float32"),
        pd.Series([1, 2, 3] * 20, dtype=pd.ArrowDtype(pa.int32())),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"] * 30)),
    ],
    ids=lambda column: f"{column.dtype}, {column.nunique()} levels",
)
def test_levels_of_a_pandas_column_keep_its_type(column):
    pd.testing.assert_series_equal(there_and_back(people(x=column))["x"], column, check_names=False)


def test_levels_of_polars_and_pyarrow_categoricals_come_back_as_text():
    values = ["low", "high", "mid"] * 20
    enum = pl.from_pandas(people()).with_columns(x=pl.Series(values, dtype=pl.Enum(["low", "mid", "high"])))
    for frame in (enum, enum.to_arrow()):
        assert there_and_back(frame, {"x": ["low", "mid", "high"]})["x"].tolist() == values


def test_a_code_between_two_levels_is_the_nearer_level_and_never_a_fraction():
    table = read_table(people(x=[0, 1, 5] * 20), GRAPH)
    coding = table.units.features[table.graph.features.index("x")]
    codes = np.array([-9.0, *(coding.codes[:-1] * 0.6 + coding.codes[1:] * 0.4), coding.codes[1], 9.0])
    assert coding.decode(codes).tolist() == [0, 0, 1, 1, 5]
    np.testing.assert_array_equal(coding.number(codes), [0.0, 0.0, 1.0, 1.0, 5.0])


def test_a_code_at_or_below_the_atoms_is_the_atom_and_any_other_lies_above_it():
    frame = people(x=np.maximum(np.arange(60.0) - 30, 0))
    for scale in SCALED:
        table = read_table(frame, GRAPH, kinds={"x": f"zero or {scale}"})
        coding = table.units.features[table.graph.features.index("x")]
        values = coding.number(np.array([-9.0, coding.atom_code, coding.atom_code + 1e-6, 0.9, 3.0]))
        np.testing.assert_array_equal(values[:3], [0, 0, 1])
        assert 1 < values[3] < values[4]


def test_codes_that_the_table_lacks_go_back_along_the_scale():
    table = read_table(people(x=np.exp(np.arange(60.0) / 9)), GRAPH, kinds={"x": "log"})
    coding = table.units.features[table.graph.features.index("x")]
    codes = np.array([-4.0, 0.123, 4.0])
    np.testing.assert_allclose(coding.number(codes), np.exp(codes * coding.deviation + coding.mean))


def test_a_frame_of_mixed_kinds_can_be_pickled_and_coded_again():
    frame = people(x=["u", "v"] * 30, c=np.where(np.arange(60) < 20, 0.0, np.arange(60) / 3))
    table = pickle.loads(pickle.dumps(read_table(frame, GRAPH, kinds={"c": "zero or rank"})))
    back = table.units.frame(table.rows.a, table.rows.x)
    np.testing.assert_array_equal(code_newcomers(back, table).x, table.rows.x)
