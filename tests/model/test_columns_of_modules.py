"""A PyTorch module takes an array: columns may be named only for a function that makes one of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import fairstress as fs
from fairstress.errors import SettingError
from fairstress.model.handed_in import FUNCTION, MODULE, UserPredictor, _check_columns

GRAPH = fs.CausalGraph.parse("a -> x", protected="a", outcome="y")
NAMED = UserPredictor(model=abs, kind=MODULE, input="features", gradient="autograd", seed=None, columns=("x",))


def test_named_columns_of_a_module_are_refused():
    with pytest.raises(SettingError, match="the predictor's columns are given, but a PyTorch module gets an array"):
        _check_columns(NAMED, GRAPH)


@pytest.mark.parametrize(
    ("change", "shown"),
    [({"input": len}, ("x",)), ({"kind": FUNCTION}, ("x",)), ({"columns": None}, ("a", "x"))],
    ids=["input", "kind", "none"],
)
def test_they_are_taken_where_a_function_makes_the_input_or_is_the_predictor(change, shown):
    own = replace(NAMED, **change)
    _check_columns(own, GRAPH)
    assert own.columns_shown(GRAPH) == shown
