"""Kinds that a column, or the graph, does not allow."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError


def kinds(**given):
    return lambda w: w.fit(kinds=given)


CASES = [
    (
        "kinds as a list",
        lambda w: w.fit(kinds=["log"]),
        SettingError,
        "kinds is a list: give {column: kind}, such as {'income': 'log'}",
    ),
    (
        "kinds as a word",
        lambda w: w.fit(kinds="log"),
        SettingError,
        "kinds is a str: give {column: kind}, such as {'income': 'log'}",
    ),
    (
        "an unknown kind",
        kinds(x="logarithm"),
        SettingError,
        (
            "kinds says 'logarithm' for 'x': give 'number', 'log', 'log1p', 'sqrt', 'rank' or 'share', also "
            "with ' by group' behind or, but for 'share', with 'zero or ' before; 'ordered', 'ordered as "
            "levels' or 'category'; or a list of its levels, lowest first"
        ),
    ),
    (
        "a kind that is a number",
        kinds(x=3),
        SettingError,
        (
            "kinds says 3 for 'x', a int: give 'number', 'log', 'log1p', 'sqrt', 'rank' or 'share', also with "
            "' by group' behind or, but for 'share', with 'zero or ' before; 'ordered', 'ordered as levels' or "
            "'category'; or a list of its levels, lowest first"
        ),
    ),
    (
        "a kind of nothing",
        kinds(x=None),
        SettingError,
        (
            "kinds says None for 'x', a NoneType: give 'number', 'log', 'log1p', 'sqrt', 'rank' or 'share', "
            "also with ' by group' behind or, but for 'share', with 'zero or ' before; 'ordered', 'ordered as "
            "levels' or 'category'; or a list of its levels, lowest first"
        ),
    ),
    (
        "a kind of a stranger",
        kinds(zz="log"),
        SettingError,
        ("kinds names 'zz', which is neither a feature of the graph nor the protected attribute; did you mean 'z'?"),
    ),
    (
        "a kind of the outcome",
        kinds(y="log"),
        SettingError,
        "kinds names the outcome, 'y': leave it out, outcome_type says what an outcome is",
    ),
    (
        "one level",
        kinds(x=["low"]),
        SettingError,
        "kinds lists 1 level(s) for 'x': give two or more, lowest first",
    ),
    (
        "no levels",
        kinds(x=[]),
        SettingError,
        "kinds lists 0 level(s) for 'x': give two or more, lowest first",
    ),
    (
        "a level twice",
        kinds(x=["low", "high", "low"]),
        SettingError,
        "kinds lists 'low' twice for 'x': give each level once, lowest first",
    ),
    (
        "levels that the column lacks",
        kinds(x=["low", "high"]),
        DataError,
        "kinds lists the levels of 'x' without -2.2432234543739717 (first in row 56): add it",
    ),
    (
        "log of negative numbers",
        kinds(x="log"),
        DataError,
        (
            "column 'x' is -0.315011 in row 0, but 'log' takes numbers above 0: correct it, or give the column "
            "another kind, such as 'number' or 'rank'"
        ),
    ),
    (
        "square root of negative numbers",
        kinds(x="sqrt"),
        DataError,
        (
            "column 'x' is -0.315011 in row 0, but 'sqrt' takes numbers of 0 or more: correct it, or give the "
            "column another kind, such as 'number' or 'rank'"
        ),
    ),
    (
        "log1p of numbers below -1",
        kinds(x="log1p"),
        DataError,
        (
            "column 'x' is -1.56733 in row 10, but 'log1p' takes numbers above -1: correct it, or give the "
            "column another kind, such as 'number' or 'rank'"
        ),
    ),
    (
        "a share beyond 1",
        kinds(x="share"),
        DataError,
        (
            "column 'x' is -0.315011 in row 0, but 'share' takes numbers strictly between 0 and 1: correct it, "
            "or give the column another kind, such as 'number' or 'rank'"
        ),
    ),
    (
        "an atom that nobody has",
        kinds(x="zero or number"),
        DataError,
        (
            "column 'x' is -0.315011 in row 0, but 'zero or number' takes numbers of 0 or more: correct it, or "
            "give the column another kind, such as 'number' or 'rank'"
        ),
    ),
    (
        "an atom of shares",
        kinds(x="zero or share"),
        SettingError,
        (
            "kinds says 'zero or share' for 'x': give 'number', 'log', 'log1p', 'sqrt', 'rank' or 'share', "
            "also with ' by group' behind or, but for 'share', with 'zero or ' before; 'ordered', 'ordered as "
            "levels' or 'category'; or a list of its levels, lowest first"
        ),
    ),
    (
        "by group where the attribute is no parent",
        lambda w: w.fit(
            graph=fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y"),
            kinds={"z": "number by group"},
        ),
        SettingError,
        (
            "kinds says 'number by group' for 'z', but 'a' is no parent of it: leave ' by group' out, or add "
            "'a -> z' to the graph"
        ),
    ),
    (
        "by group where the attribute is a number",
        lambda w: w.with_column("a", np.arange(60.0), kinds={"x": "number by group"}),
        DataError,
        (
            "kinds says 'number by group' for 'x', but 'a' is a number and has no groups: leave ' by group' "
            "out, or say kinds={'a': 'ordered'}"
        ),
    ),
    (
        "a category below the attribute",
        lambda w: w.with_column("x", np.resize(["n", "s", "e"], 60), kinds={"x": "category"}),
        DataError,
        (
            "'x' is a category of 3 levels without an order and stands in the pair 'a <-> x': give its levels "
            "in order, kinds={'x': [...]}, merge them to two, or remove it from the graph"
        ),
    ),
    (
        "words without an order as ordered",
        lambda w: w.with_column("x", np.resize(["low", "high", "mid"], 60), kinds={"x": "ordered"}),
        DataError,
        (
            "kinds says 'ordered' for 'x', but its values have no order of their own: give them as a list, "
            "lowest first, kinds={'x': [...]} with 'high', 'low', 'mid'"
        ),
    ),
    (
        "a listed level that no row has",
        lambda w: w.with_column("x", np.resize(["low", "high"], 60), kinds={"x": ["low", "mid", "high"]}),
        DataError,
        "kinds lists 'mid' for 'x', which no row has: leave it out, there are 'high' or 'low'",
    ),
    (
        "an atom that is lowest nowhere",
        lambda w: w.with_column("x", np.abs(w.frame["x"]) + 1, kinds={"x": "zero or number"}),
        DataError,
        "kinds says 'zero or number' for 'x', but its lowest value is 1.06296: nobody has 0, say 'number'",
    ),
    (
        "log of zeros",
        lambda w: w.with_column("x", np.abs(w.frame["x"]).where(np.arange(60) > 5, 0), kinds={"x": "log"}),
        DataError,
        (
            "column 'x' is 0 in row 0, but 'log' takes numbers above 0: correct it, or give the column another "
            "kind, such as 'log1p', or 'zero or log' where many people have exactly 0"
        ),
    ),
    (
        "words as a number",
        lambda w: w.with_column("x", np.resize(["n", "s"], 60), kinds={"x": "number"}),
        DataError,
        (
            "kinds says 'number' for 'x', which is not numeric (its type is String): code it as numbers before "
            "the audit, or leave it out of kinds"
        ),
    ),
    (
        "the attribute on a scale",
        kinds(a="log"),
        SettingError,
        (
            "kinds says 'log' for the protected attribute 'a': give 'ordered', 'category' or a list of its "
            "levels, lowest first, or leave it out"
        ),
    ),
    (
        "levels of the attribute that it lacks",
        kinds(a=["p", "q"]),
        DataError,
        "kinds lists the levels of 'a' without -1 (first in row 0): add it",
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("spoilt", "error", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refusals_of_kinds(spoilt, error, sentence, world, refuses):
    refuses(lambda: spoilt(world), sentence, error)
