from __future__ import annotations

import re
import warnings

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import special

import fairstress as fs
from fairstress.errors import DataError, SettingError
from fairstress.inputs.columns import other_columns
from fairstress.inputs.data import read_table

GRAPH = fs.CausalGraph.parse("a -> x -> z; a -> z", protected="a", outcome="y")


def frame(**changes) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {
        "a": np.where(rng.random(60) < 0.4, "f", "m"),
        "x": rng.integers(0, 5, 60),
        "z": rng.normal(size=60).round(1),
        "y": rng.normal(size=60),
    }
    return pd.DataFrame({**columns, **changes})


def test_pandas_polars_and_pyarrow_give_the_same_table():
    pandas = frame()
    tables = [read_table(f, GRAPH) for f in (pandas, pl.from_pandas(pandas), pa.Table.from_pandas(pandas))]
    for table in tables[1:]:
        np.testing.assert_array_equal(table.rows.x, tables[0].rows.x)
        np.testing.assert_array_equal(table.rows.a, tables[0].rows.a)
        np.testing.assert_array_equal(table.y, tables[0].y)


def test_features_are_standardised_and_the_scaling_can_be_undone():
    table = read_table(frame(), GRAPH)
    x = table.rows.x[table.row_of]
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(x.std(axis=0), 1, rtol=1e-14)
    np.testing.assert_allclose(table.scaling.undo(x), frame()[["x", "z"]], atol=1e-14)


def test_distinct_rows_with_counts_are_the_whole_table():
    coarse = frame(z=np.repeat([0.0, 1.0, 2.0], 20))
    table = read_table(coarse, GRAPH)
    assert table.rows.a.size == len(coarse[["a", "x", "z"]].drop_duplicates()) < 60
    assert table.rows.n == 60
    assert table.origin == pytest.approx(coarse["y"].mean())
    np.testing.assert_allclose(table.rows.y.sum(), 0, atol=1e-12)
    np.testing.assert_allclose(table.rows.y_square.sum(), 60 * coarse["y"].var(ddof=0))


@pytest.mark.parametrize(
    ("values", "reference", "levels"),
    [
        (["f", "m"], None, ("f", "m")),
        (["f", "m"], "f", ("m", "f")),
        ([1, 2], None, (1, 2)),
        ([False, True], False, (True, False)),
        ([0.5, 2.5], 0.5, (2.5, 0.5)),
        ([pd.Timestamp("2020"), pd.Timestamp("2021")], None, (pd.Timestamp("2020"), pd.Timestamp("2021"))),
    ],
)
def test_two_levels_of_any_type_are_coded_with_the_reference_at_plus_one(values, reference, levels):
    column = [values[0]] * 25 + [values[1]] * 35
    table = read_table(frame(a=column), GRAPH, reference=reference)
    assert table.protected.levels == levels
    coded = table.rows.a[table.row_of]
    assert [levels[int(code > 0)] for code in coded] == column
    np.testing.assert_array_equal(table.rows.a_cf, -table.rows.a)


def test_a_categorical_with_an_unused_category_has_two_levels():
    column = pd.Categorical(frame()["a"], categories=["other", "f", "m"])
    assert read_table(frame(a=column), GRAPH).protected.levels == ("f", "m")


def test_a_numeric_attribute_with_more_values_is_standardised_and_shifted_by_its_deviation():
    ages = np.arange(60.0)
    table = read_table(frame(a=ages), GRAPH)
    np.testing.assert_allclose(np.sort(table.rows.a), (ages - ages.mean()) / ages.std())
    np.testing.assert_allclose(table.protected.decode(table.rows.a_cf - table.rows.a) - ages.mean(), ages.std())
    assert read_table(frame(a=ages), GRAPH, shift=-3).protected.shift == -3


def test_a_two_valued_outcome_is_coded_zero_and_one():
    table = read_table(frame(y=np.where(frame()["y"] > 0, "yes", "no")), GRAPH)
    assert table.outcome_levels == ("no", "yes")
    np.testing.assert_array_equal(table.y, frame()["y"] > 0)


def test_row_labels_are_those_of_the_pandas_index():
    labelled = frame().set_index(pd.Index([f"person {i}" for i in range(60)]))
    assert read_table(labelled, GRAPH).index[7] == "person 7"


NOTHING = float("nan")
REFUSED = [
    ({"x": [NOTHING] * 12 + [1.0] * 48}, "column 'x' has 12 missing values (first in row 0; m 8, f 4)"),
    ({"x": [1.0] * 40 + [np.inf] + [2.0] * 19}, "column 'x' has 1 infinite value (first in row 40)"),
    ({"a": [None] + ["f"] * 30 + ["m"] * 29}, "column 'a' has 1 missing value"),
    ({"y": [NOTHING, *range(59)]}, "column 'y' has 1 missing value"),
    ({"z": [3] * 60}, "column 'z' is constant (3)"),
    ({"z": ["u"] * 60}, "column 'z' is constant ('u')"),
    ({"z": ["u", "v", "w"] * 20}, "'z' is a category of 3 levels without an order and descends from 'a'"),
    ({"z": pd.date_range("2020", periods=60)}, "feature 'z' is not numeric"),
    ({"a": ["f"] * 60}, "the protected attribute 'a' has one level, 'f'"),
    ({"y": [1.5] * 60}, "the outcome 'y' is 1.5 in every row"),
    ({"y": ["u", "v", "w"] * 20}, "outcome 'y' is not numeric"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_bad_columns_are_refused_by_name(changes, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read_table(frame(**changes), GRAPH)


def test_polars_nulls_and_nans_are_both_missing():
    for bad in (None, NOTHING):
        table = pl.DataFrame({"a": [0, 1, 1, 0], "x": [1.0, bad, 3.0, 4.0], "z": [1, 2, 3, 5], "y": [1, 2, 3, 4]})
        with pytest.raises(DataError, match="column 'x' has 1 missing value"):
            read_table(table, GRAPH)


def test_a_wrong_name_duplicates_no_rows_and_no_frame_are_refused():
    with pytest.raises(DataError, match="the graph names 'z', which is not a column of the data; did you mean 'zz'"):
        read_table(frame().rename(columns={"z": "zz"}), GRAPH)
    with pytest.raises(DataError, match="did you mean 'Z'"):
        read_table(frame().rename(columns={"z": "Z"}), GRAPH)
    double = pd.concat([frame(), frame()[["x"]]], axis=1)
    for table in (double, pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["x", "x"])):
        with pytest.raises(DataError, match="two columns named 'x'"):
            read_table(table, GRAPH)
    with pytest.raises(DataError, match="no rows"):
        read_table(frame().iloc[:0], GRAPH)
    with pytest.raises(DataError, match="the data are a list"):
        read_table([1, 2], GRAPH)


def test_bad_references_shifts_and_weights_are_refused():
    with pytest.raises(SettingError, match="reference 'w' is not a level of 'a': give 'f' or 'm'"):
        read_table(frame(), GRAPH, reference="w")
    with pytest.raises(SettingError, match="shift is 1, but 'a' has levels"):
        read_table(frame(), GRAPH, shift=1)
    with pytest.raises(SettingError, match="60 numeric values"):
        read_table(frame(a=range(60)), GRAPH, reference=3)
    with pytest.raises(SettingError, match="shift is 0"):
        read_table(frame(a=range(60)), GRAPH, shift=0)
    with pytest.raises(DataError, match=r"sample_weight has shape \(61,\), but the data have 60 rows"):
        read_table(frame(), GRAPH, sample_weight=np.ones(61))
    with pytest.raises(DataError, match="not a number"):
        read_table(frame(), GRAPH, sample_weight=["much"] * 60)
    for bad in (-1.0, NOTHING):
        with pytest.raises(DataError, match="in row 0: give everyone a finite weight that is not negative"):
            read_table(frame(), GRAPH, sample_weight=[bad] + [1.0] * 59)
    with pytest.raises(DataError, match="the group 'f' of 'a' has no weight"):
        read_table(frame(), GRAPH, sample_weight=(frame()["a"] == "m").astype(float))


def test_contiguous_folds_follow_the_rows_and_add_up_to_the_table():
    table = read_table(frame(), GRAPH)
    folds = table.folds(("contiguous", 7))
    assert [fold.n for fold in folds] == [9, 9, 9, 9, 8, 8, 8]
    np.testing.assert_allclose(folds[0].y.sum(), (frame()["y"] - frame()["y"].mean())[:9].sum())
    np.testing.assert_allclose(sum(fold.y_square.sum() for fold in folds), table.rows.y_square.sum())
    with pytest.raises(SettingError, match="cv is 1"):
        table.folds(1)


def test_rows_without_weight_count_nowhere():
    weight = np.where(np.arange(60) < 30, 0.0, 1.0)
    table = read_table(frame(), GRAPH, sample_weight=weight)
    assert table.n_counted == sum(table.group_sizes().values()) == 30
    assert [fold.n for fold in table.folds(5)] == [6] * 5
    options = {"penalty": 1, "degrees": {"x": 1, "z": 1}, "penalties": [1.0, 10.0], "max_degree": 2}
    weighted = fs.Audit.fit(frame(), GRAPH, sample_weight=weight, **options)
    kept = fs.Audit.fit(frame().iloc[30:], GRAPH, **options)
    assert weighted.settings.to_dict() == kept.settings.to_dict()
    assert weighted.baselines["blind"].unfairness == pytest.approx(kept.baselines["blind"].unfairness, rel=1e-10)
    with pytest.raises(DataError, match=r"the outcome 'y' is 1\.0 in every row"):
        read_table(frame(y=np.where(weight > 0, 1.0, np.arange(60))), GRAPH, sample_weight=weight)


def test_a_large_mean_of_the_outcome_costs_no_digits():
    options = {"penalty": 1, "degrees": {"x": 1, "z": 1}}
    plain, far = (fs.Audit.fit(f, GRAPH, **options) for f in (frame(), frame(y=frame()["y"] + 1e9)))
    assert far.settings.to_dict() == plain.settings.to_dict()
    assert far.fitted.claim.predictor.r2 == pytest.approx(plain.fitted.claim.predictor.r2, rel=1e-5)
    assert far.fitted.outcome_variance == pytest.approx(plain.fitted.outcome_variance, rel=1e-5)


def test_integer_column_names_are_found_by_their_text():
    graph = fs.CausalGraph.parse("0 -> 1 -> 2", protected="0", outcome="3")
    table = read_table(frame().set_axis([0, 1, 2, 3], axis=1), graph)
    np.testing.assert_array_equal(table.rows.x, read_table(frame(), GRAPH).rows.x)


def test_features_of_absurd_size_are_refused():
    with pytest.raises(DataError, match=r"column 'z' runs from .*: correct it, or give it in another unit"):
        read_table(frame(z=frame()["z"] * 1e170), GRAPH)


@pytest.mark.parametrize("column", ["a", "x", "y"])
def test_polars_objects_are_refused_with_a_sentence(column):
    table = pl.from_pandas(frame())
    objects = table.with_columns(pl.Series(column, table[column].to_list(), dtype=pl.Object))
    with pytest.raises(DataError, match=f"column '{column}' has polars' type Object, whose values"):
        read_table(objects, GRAPH)


@pytest.mark.parametrize("column", ["a", "x", "z", "y"])
def test_run_end_encoded_columns_of_arrow_are_read_as_what_they_stand_for(column):
    plain = pa.Table.from_pandas(frame(), preserve_index=False)
    place = plain.column_names.index(column)
    encoded = plain.set_column(place, column, pc.run_end_encode(plain[column].combine_chunks()))
    expected, found = (read_table(table, GRAPH) for table in (plain, encoded))
    np.testing.assert_array_equal(found.rows.x, expected.rows.x)
    np.testing.assert_array_equal(found.rows.a, expected.rows.a)
    np.testing.assert_array_equal(found.y, expected.y)


def test_missing_runs_can_be_dropped_and_further_columns_may_be_of_any_type():
    plain = pa.Table.from_pandas(frame(), preserve_index=False)
    lacking = pc.if_else(pc.equal(plain["x"], plain["x"][0]), None, plain["x"])
    encoded = plain.set_column(1, "x", pc.run_end_encode(lacking.combine_chunks()))
    assert read_table(encoded, GRAPH, missing="drop").dropped.dropped == (frame()["x"] == frame()["x"][0]).sum()
    further = encoded.set_column(1, "x", plain["x"]).append_column("w", pc.run_end_encode(plain["z"].combine_chunks()))
    (column,) = other_columns(read_table(further, GRAPH))[0]
    assert column.name == "w"
    objects = pl.from_arrow(plain).with_columns(pl.Series("w", [object() for _ in range(60)], dtype=pl.Object))
    assert "polars' type Object" in other_columns(read_table(objects, GRAPH))[1]["w"]


def test_fewer_rows_than_weights_are_refused_with_both_numbers():
    with pytest.raises(DataError, match="the data have 9 rows, fewer than the 10 weights"):
        fs.Audit.fit(frame().head(9), GRAPH, degrees={"x": 1, "z": 4}, penalty=1, predictor_degree=1, cv=3)


def test_a_group_with_fewer_rows_than_weights_is_warned_about_with_both_numbers():
    few = frame(a=["f"] * 3 + ["m"] * 57)
    with pytest.warns(fs.FairstressWarning, match="the group 'f' of 'a' has 3 rows, fewer than the 5 weights"):
        fs.Audit.fit(few, GRAPH, degrees={"x": 1, "z": 1}, penalty=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fs.Audit.fit(frame(), GRAPH, degrees={"x": 1, "z": 1}, penalty=1)


# ---------------------------------------------------------------- kinds


def coded(column: str, values, kind=None, **options) -> tuple:
    """Codes of a feature, row by row, and how they came about."""
    kinds = None if kind is None else {column: kind}
    table = read_table(frame(**{column: values}), GRAPH, kinds=kinds, **options)
    place = GRAPH.features.index(column)
    return table.rows.x[table.row_of][:, place], table.units.features[place], table


@pytest.mark.parametrize("values", [[0, 1], [3.1, 7.7], [False, True], ["no", "yes"]])
def test_two_values_of_any_type_are_coded_as_signs(values):
    codes, coding, table = coded("z", values * 30)
    np.testing.assert_array_equal(codes, [-1.0, 1.0] * 30)
    np.testing.assert_array_equal(coding.codes, [-1.0, 1.0])
    scores = [0.0, 1.0] if isinstance(values[0], bool | str) else values
    np.testing.assert_allclose(table.scaling.undo(np.array([[0.0, -1.0], [0.0, 1.0]]))[:, 1], scores)
    assert table.kinds["z"].levels == tuple(values)


def test_ordered_numbers_are_standardised_as_numbers_are():
    values = list(np.random.default_rng(3).choice([1, 2, 5], 60))
    weight = np.random.default_rng(4).random(60)
    ordered, coding, _ = coded("z", values, sample_weight=weight)
    number, _, _ = coded("z", values, "number", sample_weight=weight)
    np.testing.assert_array_equal(ordered, number)
    np.testing.assert_array_equal(coding.codes, np.unique(number))


def test_ordered_text_is_standardised_by_its_place():
    codes, coding, _ = coded("z", ["low", "mid", "high"] * 20, ["low", "mid", "high"])
    np.testing.assert_allclose(codes[:3], np.array([-1, 0, 1]) / np.sqrt(2 / 3))
    np.testing.assert_array_equal(coding.number(codes[:3]), [0, 1, 2])


def test_numbers_that_are_listed_in_another_order_count_by_their_place():
    codes, coding, _ = coded("z", [3, 1, 2] * 20, [3, 1, 2])
    assert (np.diff(coding.codes) > 0).all()
    np.testing.assert_array_equal(coding.number(codes[:3]), [0, 1, 2])
    np.testing.assert_array_equal(coding.decode(codes[:3]), [3, 1, 2])


def test_a_category_is_coded_by_its_place_and_not_scaled():
    graph = fs.CausalGraph.parse("a -> x; z -> x", protected="a", outcome="y")
    table = read_table(frame(z=["v", "u", "w"] * 20), graph)
    place = graph.features.index("z")
    np.testing.assert_array_equal(table.rows.x[table.row_of][:3, place], [1.0, 0.0, 2.0])
    assert (table.scaling.mean[place], table.scaling.deviation[place]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("kind", "forward"), [("log", np.log), ("log1p", np.log1p), ("sqrt", np.sqrt), ("share", special.logit)]
)
def test_a_number_is_standardised_on_its_scale(kind, forward):
    values, weight = np.random.default_rng(5).uniform(0.01, 0.99, 60), np.random.default_rng(6).random(60)
    codes, _, table = coded("z", values, kind, sample_weight=weight)
    mean = np.average(forward(values), weights=weight)
    deviation = np.sqrt(np.average((forward(values) - mean) ** 2, weights=weight))
    np.testing.assert_allclose(codes, (forward(values) - mean) / deviation)
    np.testing.assert_allclose((table.scaling.mean[1], table.scaling.deviation[1]), (mean, deviation))


@pytest.mark.parametrize("scale", ["number", "log", "log1p", "sqrt", "rank"])
def test_an_atom_lies_just_below_all_other_codes(scale):
    values = np.where(np.arange(60) % 3 == 0, 0.0, np.random.default_rng(7).lognormal(2, 1, 60))
    codes, coding, _ = coded("z", values, f"zero or {scale}")
    assert set(codes[values == 0]) == {coding.atom_code}
    lowest = coding.code(nw.from_native(pd.Series([values[values > 0].min()]), series_only=True))[0]
    assert codes[values > 0].min() == lowest > coding.atom_code
    if scale == "rank":
        assert (coding.atom_code + 1e-6) * coding.deviation + coding.mean == pytest.approx(special.ndtri(1 / 3))
    else:
        assert lowest - coding.atom_code == pytest.approx(1e-6)


def test_an_atom_needs_people_with_weight_and_two_values_above_it():
    values = np.where(np.arange(60) % 3 == 0, 0.0, np.arange(60) % 4 + 5.0)
    with pytest.raises(DataError, match="kinds says 'zero or log' for 'z', but nobody with weight has 0: say 'log'"):
        coded("z", values, "zero or log", sample_weight=values > 0)
    with pytest.raises(DataError, match=r"those with weight have 1 value\(s\) above 0: it has no scale, leave it out"):
        coded("z", np.minimum(values, 4.0), "zero or log")


def test_a_level_without_weight_is_refused():
    values = np.arange(60) % 3
    with pytest.raises(DataError, match="the level 2 of 'z' has no weight: drop its rows, or merge it with another"):
        coded("z", values, sample_weight=values < 2)
    with pytest.raises(DataError, match=r"column 'z' is constant \(1\): remove it from the graph"):
        coded("z", values, sample_weight=values == 1)
    with pytest.raises(DataError, match=r"column 'z' is constant \(2.5\): remove it from the graph"):
        coded("z", values + 0.5, sample_weight=values == 2)


def test_a_scale_by_group_needs_groups_with_two_values_each():
    varied = frame()["z"]
    assert coded("z", varied, "number by group")[2].kinds["z"].by_group
    message = "which has 1 value(s) in the group 'f' of 'a': a scale of its own needs two; leave ' by group' out, or"
    with pytest.raises(DataError, match=re.escape(message)):
        coded("z", varied.where(frame()["a"] == "m", 0.5), "number by group")
    gain = varied.abs().where(frame()["a"] == "m", np.arange(60) % 2 * 3.0)
    gain[gain.index[frame()["a"] == "m"][0]] = 0
    with pytest.raises(DataError, match=re.escape("has 1 value(s) above 0 in the group 'f' of 'a'")):
        coded("z", gain, "zero or number by group")
    with pytest.raises(DataError, match="but 'a' is a number and has no groups: leave ' by group' out, or say kinds="):
        read_table(frame(a=np.arange(60.0)), GRAPH, kinds={"z": "number by group"})


# ---------------------------------------------------------------- ordered protected attributes

LEVELS = ("school", "college", "degree")


def educated(**options):
    return read_table(frame(a=[LEVELS[i % 3] for i in range(60)]), GRAPH, **options)


def test_ordered_levels_are_coded_in_their_order_whatever_the_reference():
    for reference, code in ((None, 0.0), ("school", 0.0), ("degree", 2.0)):
        table = educated(kinds={"a": list(LEVELS)}, reference=reference)
        coding = table.protected
        assert (coding.levels, coding.is_ordered, coding.reference_code) == (LEVELS, True, code)
        assert coding.order == coding.codes == coding.targets == (0.0, 1.0, 2.0)
        np.testing.assert_array_equal(table.rows.a[table.row_of], np.arange(60) % 3)
    assert coding.ends("college") == (2.0, 1.0)
    with pytest.raises(SettingError, match="reference 'none' is not a level of 'a': give 'school', 'college' or"):
        educated(kinds={"a": list(LEVELS)}, reference="none")


def test_an_ordered_categorical_attribute_is_ordered_and_others_are_as_before():
    column = pd.Categorical([LEVELS[i % 3] for i in range(60)], LEVELS, ordered=True)
    assert read_table(frame(a=column), GRAPH).protected.levels == LEVELS
    plain = educated().protected
    assert (plain.levels, plain.is_ordered) == (("school", "college", "degree"), False)  # the last one sorted is first
    assert (plain.reference_code, plain.order) == (0.0, (0.0, 1.0, 2.0))


def test_numeric_groups_are_a_number_levels_or_ordered_levels():
    codes = np.arange(60) % 4
    assert read_table(frame(a=codes), GRAPH).protected.levels is None
    groups = read_table(frame(a=codes), GRAPH, kinds={"a": "category"}, reference=1).protected
    assert (groups.levels, groups.is_ordered) == ((1, 0, 2, 3), False)
    ordered = read_table(frame(a=codes), GRAPH, kinds={"a": "ordered"}).protected
    assert (ordered.levels, ordered.is_ordered, ordered.reference_code) == ((0, 1, 2, 3), True, 0.0)
    with pytest.raises(SettingError, match=r"or compare them as groups with kinds=\{'a': 'category'\} or 'ordered'"):
        read_table(frame(a=codes), GRAPH, reference=1)


def test_two_levels_stay_signs_with_the_reference_last():
    for given, reference, levels in (
        ("ordered", None, ("f", "m")),
        (["m", "f"], None, ("m", "f")),
        (["m", "f"], "m", ("f", "m")),
    ):
        coding = read_table(frame(), GRAPH, kinds={"a": given}, reference=reference).protected
        assert (coding.levels, coding.codes, coding.reference_code) == (levels, (-1.0, 1.0), 1.0)
        assert not coding.is_ordered


def test_a_hidden_cause_of_several_levels_needs_their_order():
    graph = fs.CausalGraph.parse("a -> x -> z; a <-> z", protected="a", outcome="y")
    table = frame(a=[LEVELS[i % 3] for i in range(60)])
    assert read_table(table, graph, kinds={"a": list(LEVELS)}).protected.is_ordered
    message = "merge levels, say kinds={'a': [levels in order]} if they have an order, or remove its '<->'"
    with pytest.raises(DataError, match=re.escape(message)):
        read_table(table, graph)


def test_combinations_of_columns_can_be_ordered_too():
    graph = fs.CausalGraph.parse("a -> x; b -> x", protected=("a", "b"), outcome="y")
    table = frame(a=["f", "m"] * 30, b=["old"] * 30 + ["young"] * 30)
    levels = ["m & old", "f & old", "f & young", "m & young"]
    assert read_table(table, graph, kinds={"a & b": levels}).protected.levels == tuple(levels)
