"""Parts of data that are not in memory are coded to the last digit as a table codes its own people."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fairstress as fs
from fairstress.errors import DataError
from fairstress.inputs.data import read_table
from fairstress.inputs.look import Look, look_at
from fairstress.inputs.parts import code_part

GRAPH = fs.CausalGraph.parse("a -> x; a, x -> z", protected="a", outcome="y")
N = 200


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((N, 2))
    return pd.DataFrame(
        {"a": rng.integers(0, 2, N), "x": rng.integers(20, 60, N), "z": numbers[:, 0], "y": numbers[:, 1], "w": 2.0}
    )


def with_attribute(frame, how):
    a = frame["a"]
    given = {
        "whole": a,
        "small": a.astype("int8"),
        "floats": a / 2,
        "truth": a == 1,
        "text": a.map({0: "u", 1: "v"}),
        "categories": a.map({0: "u", 1: "v"}).astype("category"),
        "three": a + (frame["x"] > 40),
        "five": frame["x"] % 5,
        "number": frame["z"] ** 2,
    }
    return frame.assign(a=given[how])


ATTRIBUTES = ["whole", "small", "floats", "truth", "text", "categories", "three", "five", "number"]


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "in pieces"])
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_part_is_coded_as_the_table_codes_its_people(frame, attribute, kind):
    frame = with_attribute(frame, attribute)
    table = read_table(frame, GRAPH)
    native = pa.Table.from_pandas(frame)
    pieces = pa.concat_tables([native.slice(0, 70), native.slice(70)])
    found = code_part(table, None, {"pandas": frame, "pyarrow": native, "in pieces": pieces}[kind])
    everyone = table.rows.where(table.row_of)
    assert np.array_equal(found.a, everyone.a)
    assert np.array_equal(found.x, everyone.x)
    assert np.array_equal(found.y, table.y)
    assert np.array_equal(found.y_square, table.y**2)
    assert np.array_equal(found.weight, np.ones(N))


@pytest.mark.parametrize("attribute", ["whole", "number"])
def test_short_numbers_are_coded_as_the_same_numbers_in_full(frame, attribute):
    """Near 16 million a number of 32 bits has no digits after the point: a difference is not to be rounded to it."""
    wide = with_attribute(frame, attribute).astype({"x": float})
    wide["x"] += 16_777_000
    wide[["z", "a"]] += 16_000_000 if attribute == "number" else 0
    short = wide.astype({"x": "float32", "z": "float32", "y": "float32", "a": "float32"})
    table = read_table(short, GRAPH)
    found, expected = (code_part(table, None, given) for given in (short, short.astype(float)))
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.a, expected.a)


@pytest.mark.parametrize("values", [[np.inf, -np.inf], [1e308, 1e308]])
def test_numbers_whose_sum_is_not_finite_bring_about_no_warning(frame, values):
    frame.loc[:1, "z"] = values
    look_at(frame, list(frame))


def test_weights_multiply_the_outcome(frame):
    table = read_table(frame, GRAPH)
    found = code_part(table, "w", frame)
    assert np.array_equal(found.weight, np.full(N, 2.0))
    assert np.array_equal(found.y, 2 * table.y)
    assert np.array_equal(found.y_square, 2 * table.y**2)


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.Table.from_pandas])
def test_a_level_that_was_not_there_is_refused(frame, kind):
    table = read_table(frame, GRAPH)
    frame.loc[7, "a"] = 2
    with pytest.raises(DataError, match="is 2 in row 7, a level that was not there"):
        code_part(table, None, kind(frame))


def test_whole_numbers_that_doubles_do_not_tell_apart_are_refused(frame):
    table = read_table(frame, GRAPH)
    frame["x"] = 2**53 + np.arange(N)
    with pytest.raises(DataError, match="beyond 2"):
        code_part(table, None, frame)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_the_same_people_are_drawn_whatever_the_type_and_the_order_of_a_table(frame, attribute):
    frame = with_attribute(frame, attribute)[["a", "z", "y"]]
    looks = [look_at(kind, list(frame)) for kind in (frame, pa.Table.from_pandas(frame), frame[::-1])]
    assert np.array_equal(looks[0].keys, looks[1].keys)
    assert np.array_equal(looks[0].keys, looks[2].keys[::-1])


@pytest.mark.parametrize("kind", [np.int64, np.int16, np.float64, np.float32])
def test_keys_of_coarse_rows_differ_and_look_random(kind):
    """Whole numbers as floats differ in their highest bits alone; neighbours are as far apart as any two."""
    values = np.array(list(itertools.product(range(40), repeat=3)), dtype=kind)
    keys = look_at(pd.DataFrame(values, columns=["a", "z", "y"]), ["a", "z", "y"]).keys
    assert np.unique(keys).size == len(values)
    ends = (keys >> np.uint64(60), keys & np.uint64(15))
    parts = np.concatenate([np.bincount(end.astype(int)) for end in ends])
    assert parts.size == 32
    assert np.abs(parts - 4000).max() < 5 * np.sqrt(4000)  # standard deviations
    steps = np.diff(keys.astype(float)) / 2**64  # of independent uniforms: mean 0, mean square 1/6
    assert abs(steps.mean()) < 1e-3
    assert np.mean(steps**2) == pytest.approx(1 / 6, rel=0.03)


@pytest.mark.parametrize("size", [200, 77, 1])
def test_looks_at_parts_add_up_to_the_look_at_the_whole(frame, size):
    frame["w"] = np.where(frame.index == 131, 3.0, 2.0)
    frame.loc[[90, 150], "z"], frame.loc[[20, 120], "y"] = np.nan, np.inf
    whole = look_at(frame, list(frame))
    found = Look.together([look_at(frame[start : start + size], list(frame)) for start in range(0, N, size)])
    assert (found.n, found.missing, found.infinite) == (N, {"z": (2, 90)}, {"y": (2, 20)})
    assert (whole.missing, whole.infinite) == (found.missing, found.infinite)
    assert found.levels["w"] == {2.0: N - 1, 3.0: 1}
    assert np.array_equal(found.keys, whole.keys)
    pd.testing.assert_frame_equal(found.sample.reset_index(drop=True), whole.sample)


def test_of_many_people_those_with_the_smallest_keys_are_drawn(frame):
    everyone, some = (look_at(frame, list(frame), most) for most in (None, 30))
    assert np.array_equal(some.keys, everyone.keys[everyone.keys <= np.sort(everyone.keys)[29]])
    twice = look_at(pd.concat([frame, frame]), list(frame), 31)  # of the last two, who are alike, one
    assert np.array_equal(np.sort(twice.keys), np.sort(np.repeat(everyone.keys, 2))[:31])


def test_nobody_above_the_bound_is_drawn_and_someone_of_every_level_is(frame):
    names = ["a", "z"]
    everyone = look_at(frame, names)
    bound = np.sort(everyone.keys)[49]
    some = look_at(frame, names, bound=bound)
    assert np.array_equal(some.keys, everyone.keys[everyone.keys <= bound])
    assert some.levels == everyone.levels
    for level in (0, 1):
        own = frame["a"].to_numpy() == level
        assert everyone.keys[own].min() in some.examples.index
