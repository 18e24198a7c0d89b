from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairstress as fs
from fairstress.inputs.data import read_table


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
