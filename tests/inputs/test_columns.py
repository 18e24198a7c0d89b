from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairstress as fs
from fairstress.inputs.columns import extend, read_columns
from fairstress.inputs.data import read_table

GRAPH = fs.CausalGraph.parse("a -> x", protected="a", outcome="y")
FRAME = pd.DataFrame(
    {
        "a": ["m", "f", "f", "m", "f", "m"],
        "x": [1.0, 2.0, 2.0, 3.0, 2.0, 3.0],
        "y": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "town": ["Bern", "Ulm", "Ulm", "Kiel", "Bern", "Kiel"],
        "age": [30, 40, 40, 50, 60, 70],
        "smokes": [True, False, False, True, True, True],
    }
)


def test_columns_are_coded_as_signs_standard_scores_and_categories():
    town, age, smokes = read_columns(FRAME[["town", "age", "smokes"]], read_table(FRAME, GRAPH))
    assert town.parts == ("town=Kiel", "town=Ulm")  # Bern is what they are compared with
    np.testing.assert_array_equal(town.coded[:, 1], [0, 1, 1, 0, 0, 0])
    assert (age.coded.mean(), age.coded.std()) == pytest.approx((0, 1))
    assert (age.is_sign, smokes.is_sign) == (False, True)
    np.testing.assert_array_equal(smokes.coded[:, 0], [1, -1, -1, 1, 1, 1])


def test_any_frame_will_do():
    table, wanted = read_table(FRAME, GRAPH), ["town", "age", "smokes"]
    plain = read_columns(FRAME[wanted], table)
    for frame in (pl.from_pandas(FRAME[wanted]), pl.from_pandas(FRAME[wanted]).to_arrow()):
        for one, other in zip(read_columns(frame, table), plain, strict=True):
            assert (one.name, one.parts, one.is_sign) == (other.name, other.parts, other.is_sign)
            np.testing.assert_allclose(one.coded, other.coded, atol=1e-15)


def test_rows_with_further_columns_are_distinct_in_all_of_them_and_keep_their_weight():
    weight = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    table = read_table(FRAME, GRAPH, sample_weight=weight)
    assert table.rows.a.size == 3
    rows = extend(table, read_columns(FRAME[["town"]], table))
    assert rows.x.shape == (4, 3)
    assert sorted(rows.weight.tolist()) == [1.0, 5.0, 5.0, 10.0]
    assert extend(table, ()) is table.rows
