from __future__ import annotations

import re
from datetime import date

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError
from fairstress.inputs.frames import take_columns
from fairstress.inputs.kinds import CATEGORY, NUMBER, ORDERED, Kind, protected_kind, read_kind, read_kinds, tell_kind

GRAPH = fs.CausalGraph.parse("a -> x; c -> z; c -> x; z <-> x", protected="a", outcome="y")
SIZES = ["small", "middle", "large"]


def kinds_of(given=None, graph=GRAPH, **changes) -> dict[str, Kind]:
    columns = {"a": ["f", "m"] * 6, "x": np.arange(12) / 2, "z": np.arange(12.0) ** 2, "c": ["u", "v", "w"] * 4}
    return read_kinds(given, take_columns(pd.DataFrame({**columns, **changes}), graph.features), graph)


def refused(message: str, given=None, error=DataError, **changes) -> None:
    with pytest.raises(error, match=re.escape(message)):
        kinds_of(given, **changes)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("given", "kind", "shown", "is_plain"),
    [
        ("number", Kind(NUMBER), "number", True),
        ("log", Kind(NUMBER, "log"), "number (log scale)", True),
        ("share", Kind(NUMBER, "share"), "number (share scale)", True),
        ("number by group", Kind(NUMBER, by_group=True), "number by group", False),
        ("rank by group", Kind(NUMBER, "rank", by_group=True), "number (rank scale) by group", False),
        ("zero or number", Kind(NUMBER, atom=True), "zero or number", False),
        ("zero or log", Kind(NUMBER, "log", atom=True), "zero or number (log scale)", False),
        (
            "zero or sqrt by group",
            Kind(NUMBER, "sqrt", by_group=True, atom=True),
            "zero or number (sqrt scale) by group",
            False,
        ),
        ("ordered", Kind(ORDERED), "ordered", False),
        ("ordered as levels", Kind(ORDERED, as_levels=True), "ordered as indicators", False),
        (["low", "mid", "high"], Kind(ORDERED, levels=("low", "mid", "high")), "ordered, 3 levels", False),
        (np.array([3, 1]), Kind(ORDERED, levels=(3, 1)), "ordered, 2 levels", False),
        ("category", Kind(CATEGORY), "category", False),
        (Kind(CATEGORY, levels=tuple("abcde")), Kind(CATEGORY, levels=tuple("abcde")), "category, 5 levels", False),
    ],
)
def test_a_word_is_read_as_its_kind_and_shown_in_words(given, kind, shown, is_plain):
    found = read_kind(given, "x")
    assert found == kind
    assert (str(found), found.is_plain) == (shown, is_plain)
    if isinstance(given, str):
        assert found.word == given
        assert found.reason == "given"


@pytest.mark.parametrize("given", ["lg", "Log", "zero or share", "zero or ordered", "by group", "log  by group", ""])
def test_an_unknown_word_is_refused_with_the_known_ones(given):
    with pytest.raises(SettingError, match=rf"kinds says '{given}' for 'x': give 'number', 'log', .* a list of its"):
        read_kind(given, "x")


def test_what_is_no_word_and_no_list_of_levels_is_refused():
    with pytest.raises(SettingError, match="did you mean 'ordered'"):
        read_kind("orderd", "x")
    with pytest.raises(SettingError, match=r"kinds says 3 for 'x', a int: give"):
        read_kind(3, "x")
    with pytest.raises(SettingError, match=r"for 'x', a set: give"):  # a set has no order
        read_kind({"low", "high"}, "x")
    with pytest.raises(SettingError, match=r"kinds lists 1 level\(s\) for 'x': give two or more, lowest first"):
        read_kind(["low"], "x")
    with pytest.raises(SettingError, match="kinds lists 'low' twice for 'x': give each level once"):
        read_kind(["low", "high", "low"], "x")


# ---------------------------------------------------------------- from the column

TOLD = [
    ([0, 1, 1, 0], ORDERED, (0, 1), "two values"),
    ([2.5, -1.5, 2.5], ORDERED, (-1.5, 2.5), "two values"),
    ([True, False], ORDERED, (False, True), "two values"),
    (["yes", "no"], ORDERED, ("no", "yes"), "two values"),
    ([date(2020, 1, 1), date(2019, 1, 1)], ORDERED, (date(2019, 1, 1), date(2020, 1, 1)), "two values"),
    (["u", "w", "v"], CATEGORY, ("u", "v", "w"), "text"),
    ([3, 1, 2], ORDERED, (1, 2, 3), "whole numbers with 3 distinct values"),
    ([3.0, 1.0, 2.0], ORDERED, (1.0, 2.0, 3.0), "whole numbers with 3 distinct values"),
    (list(range(10)), ORDERED, tuple(range(10)), "whole numbers with 10 distinct values"),
    (list(range(11)), NUMBER, (), "numbers with 11 distinct values"),
    ([0.5, 1.0, 2.0], NUMBER, (), "numbers with 3 distinct values"),
]


@pytest.mark.parametrize("make", [pd.Series, pl.Series, lambda values: pa.chunked_array([values])])
@pytest.mark.parametrize(("values", "name", "levels", "reason"), TOLD)
def test_the_kind_is_told_by_the_first_rule_that_fits(make, values, name, levels, reason):
    kind = tell_kind(nw.from_native(make(values), series_only=True))
    assert (kind.name, kind.levels, kind.reason) == (name, levels, reason)


ORDERED_COLUMNS = [
    pd.Series(pd.Categorical(["large", "small", "middle"], SIZES, ordered=True)),
    pl.Series(["large", "small", "middle"], dtype=pl.Enum(SIZES)),
    pa.chunked_array([pa.DictionaryArray.from_arrays([2, 0, 1], SIZES, ordered=True)]),
]
CATEGORICAL_COLUMNS = [
    pd.Series(pd.Categorical(["large", "small", "middle"], SIZES)),
    pl.Series(["large", "small", "middle"], dtype=pl.Categorical),
    pa.chunked_array([pa.DictionaryArray.from_arrays([2, 0, 1], SIZES)]),
]


@pytest.mark.parametrize("column", ORDERED_COLUMNS, ids=["pandas", "polars", "pyarrow"])
def test_an_ordered_categorical_is_ordered_as_its_categories_are(column):
    kind = tell_kind(nw.from_native(column, series_only=True))
    assert (kind, kind.reason) == (Kind(ORDERED, levels=tuple(SIZES)), "an ordered categorical")


@pytest.mark.parametrize("column", CATEGORICAL_COLUMNS, ids=["pandas", "polars", "pyarrow"])
def test_any_other_categorical_is_a_category(column):
    kind = tell_kind(nw.from_native(column, series_only=True))
    assert kind == Kind(CATEGORY, levels=("large", "middle", "small"))


def test_categories_that_nobody_has_are_no_levels():
    column = pd.Series(pd.Categorical(["large", "small"], SIZES, ordered=True))
    assert tell_kind(nw.from_native(column, series_only=True)).levels == ("small", "large")


def test_values_of_several_types_are_sorted_by_their_text():
    kind = tell_kind(nw.from_native(pd.Series([2, "b", 10, "a"], dtype=object), series_only=True))
    assert (kind, kind.reason) == (Kind(CATEGORY, levels=(10, 2, "a", "b")), "values without an order")


def test_dates_lists_and_infinite_numbers_are_refused():
    with pytest.raises(DataError, match="column 'x' holds lists or records"):
        tell_kind(nw.from_native(pl.Series("x", [[1], [2]]), series_only=True))
    refused("feature 'x' is not numeric (its type is Datetime", x=pd.date_range("2020", periods=12))
    refused("column 'x' holds lists or records: give one number or text in each row", x=[[1], [2]] * 6)
    refused("column 'x' has 6 infinite values (first in row 1)", x=[1.0, np.inf] * 6)


# ---------------------------------------------------------------- given


def test_every_feature_has_a_kind_given_or_told():
    kinds = kinds_of({"x": "log1p"}, z=[1, 2, 3] * 4)
    assert {name: str(kind) for name, kind in kinds.items()} == {
        "x": "number (log1p scale)",
        "z": "ordered, 3 levels",
        "c": "category, 3 levels",
    }
    assert [kinds[name].reason for name in "xzc"] == ["given", "whole numbers with 3 distinct values", "text"]


def test_kinds_of_a_column_can_be_given_again():
    kinds = kinds_of({"x": "log1p", "c": ["w", "v", "u"]})
    assert kinds_of(kinds) == kinds


def test_a_list_orders_any_column_and_takes_the_columns_own_values():
    assert kinds_of({"c": ["w", "u", "v"]})["c"].levels == ("w", "u", "v")
    numbers = kinds_of({"x": [3.0, 1.0, 2.0]}, x=[3, 1, 2] * 4)["x"].levels
    assert numbers == (3, 1, 2)
    assert all(type(level) is int for level in numbers)


@pytest.mark.parametrize(
    ("values", "levels"),
    [([3, 1, 2] * 4, (1, 2, 3)), ([True, False] * 6, (False, True)), (["b", "a"] * 6, ("a", "b"))],
)
def test_numbers_booleans_and_two_values_have_an_order_of_their_own(values, levels):
    assert kinds_of({"x": "ordered"}, x=values)["x"].levels == levels
    assert kinds_of({"x": "ordered as levels"}, x=values)["x"].as_levels


def test_names_that_are_no_features_are_refused():
    refused(
        "kinds names 'xx', which is neither a feature of the graph nor the protected attribute; did you mean 'x'?",
        {"xx": "log"},
        SettingError,
    )
    refused("kinds names the outcome, 'y': leave it out, outcome_type says", {"y": "log"}, SettingError)
    refused("kinds is a list: give {column: kind}, such as {'income': 'log'}", ["log"], SettingError)
    assert kinds_of({"a": "ordered"}) == kinds_of()  # the protected attribute is read elsewhere


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        (
            "log",
            0.0,
            "is 0 in row 5, but 'log' takes numbers above 0: correct it, or give the column another kind, "
            "such as 'log1p', or 'zero or log' where many people have exactly 0",
        ),
        (
            "log",
            -1.0,
            "is -1 in row 5, but 'log' takes numbers above 0: correct it, or give the column another kind, "
            "such as 'number' or 'rank'",
        ),
        ("log1p", -1.0, "is -1 in row 5, but 'log1p' takes numbers above -1: correct it"),
        ("sqrt", -0.5, "is -0.5 in row 5, but 'sqrt' takes numbers of 0 or more: correct it"),
        ("share", 1.0, "is 1 in row 5, but 'share' takes numbers strictly between 0 and 1: correct it"),
        ("zero or log", -2.0, "is -2 in row 5, but 'zero or log' takes numbers of 0 or more: correct it"),
        ("zero or rank", -2.0, "is -2 in row 5, but 'zero or rank' takes numbers of 0 or more: correct it"),
    ],
)
def test_numbers_that_a_scale_cannot_take_are_refused_with_value_and_row(word, value, message):
    values = np.linspace(0.1, 0.9, 12)
    values[5] = value
    refused(f"column 'x' {message}", {"x": word}, x=values)


def test_an_atom_must_be_there_and_be_the_lowest_value():
    refused(
        "kinds says 'zero or log' for 'x', but its lowest value is 0.5: nobody has 0, say 'log'",
        {"x": "zero or log"},
        x=np.arange(1, 13) / 2,
    )
    assert kinds_of({"x": "zero or log"}, x=[0.0, *range(11)])["x"].atom


@pytest.mark.parametrize(("values", "dtype"), [(["u", "v", "w"] * 4, "String"), ([True, False] * 6, "Boolean")])
@pytest.mark.parametrize("word", ["number", "log", "rank", "zero or number"])
def test_scales_need_numbers(word, values, dtype):
    refused(
        f"kinds says '{word}' for 'x', which is not numeric (its type is {dtype}): code it as numbers before the "
        "audit, or leave it out of kinds",
        {"x": word},
        x=values,
    )


def test_a_list_must_name_exactly_the_values_of_the_column():
    refused("kinds lists the levels of 'c' without 'w' (first in row 2): add it", {"c": ["u", "v"]})
    refused(
        "kinds lists 'W' for 'c', which no row has: leave it out, there are 'u', 'v' or 'w'",
        {"c": ["u", "v", "w", "W"]},
    )
    refused("kinds lists the levels of 'x' without 1 (first in row 0): add it", {"x": ["1", "2"]}, x=[1, 2] * 6)


def test_text_has_no_order_of_its_own():
    refused(
        "kinds says 'ordered' for 'c', but its values have no order of their own: give them as a list, lowest "
        "first, kinds={'c': [...]} with 'u', 'v', 'w'",
        {"c": "ordered"},
    )


@pytest.mark.parametrize(("values", "shown"), [([3] * 12, "3"), (["u"] * 12, "'u'"), ([True] * 12, "True")])
@pytest.mark.parametrize("given", [None, {"x": "ordered"}, {"x": "category"}])
def test_a_column_with_one_value_is_constant(given, values, shown):
    refused(f"column 'x' is constant ({shown}): remove it from the graph", given, x=values)


def test_a_scale_by_group_needs_the_protected_attribute_as_a_parent():
    assert kinds_of({"x": "number by group"})["x"].by_group
    refused(
        "kinds says 'log by group' for 'z', but 'a' is no parent of it: leave ' by group' out, or add 'a -> z' to "
        "the graph",
        {"z": "log by group"},
        SettingError,
        z=np.arange(1.0, 13),
    )


def test_a_category_may_be_context_but_neither_an_effect_nor_in_a_pair():
    assert kinds_of()["c"].name == CATEGORY
    way_out = "give its levels in order, kinds={'x': [...]}, merge them to two, or remove it from the graph"
    refused(
        "'x' is a category of 3 levels without an order and stands in the pair 'x <-> z': " + way_out,
        x=["u", "v", "w"] * 4,
    )
    plain = fs.CausalGraph.parse("a -> c -> x", protected="a", outcome="y")
    with pytest.raises(DataError, match="'x' is a category of 3 levels without an order and descends from 'a': give"):
        kinds_of({"c": ["u", "v", "w"]}, plain, x=["u", "v", "w"] * 4)
    refused(
        "'c' has 51 categories: merge them into at most 50, or remove it from the graph",
        a=["f"] * 51,
        x=np.arange(51.0),
        z=np.arange(51.0),
        c=[f"name {i}" for i in range(51)],
    )


# ---------------------------------------------------------------- the protected attribute


def test_the_protected_attribute_is_a_number_levels_or_ordered_levels():
    def kind(values, given=None):
        column = nw.from_native(pd.Series(values, name="a"), series_only=True)
        return protected_kind(None if given is None else read_kind(given, "a"), column, "a")

    assert kind([1, 2, 3]) == kind([1, 2, 3], "number") == Kind(NUMBER)
    assert kind([1, 2, 3], "category") == Kind(CATEGORY, levels=(1, 2, 3))
    assert kind([1, 2, 3], "ordered") == Kind(ORDERED, levels=(1, 2, 3))
    assert kind(["u", "v", "w"]) == Kind(CATEGORY, levels=("u", "v", "w"))
    assert kind(["u", "v", "w"], ["w", "u", "v"]) == Kind(ORDERED, levels=("w", "u", "v"))
    assert kind(pd.Categorical(["large", "small", "middle"], SIZES, ordered=True)).levels == tuple(SIZES)
    for values, given in (([1, 2, 3], "log"), ([1, 2, 1], "number"), (["u", "v", "w"], "number")):
        with pytest.raises(
            SettingError, match=rf"kinds says '{given}' for the protected attribute 'a': give 'ordered'"
        ):
            kind(values, given)
