"""Edges of analyses: a column of one value, features that nothing moves, an attribute that is a number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.analyses.diagnostics.form import _involves_protected
from fairstress.analyses.diagnostics.sample import take_sample
from fairstress.analyses.people import _cut
from fairstress.analyses.plausibility import plausibility

GIVEN = {"penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}


@pytest.mark.parametrize("bins", [1, 3])
def test_a_column_of_one_value_is_one_class(bins):
    classes = _cut(pd.Series([2.0] * 5), bins, np.ones(5))
    assert classes.notna().all()
    assert len(set(classes)) == 1


def test_where_nothing_moves_no_counterfactual_value_is_impossible():
    graph = fs.CausalGraph.parse("a =fair=> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 60, random_state=0).frame
    found = plausibility(fs.Audit.fit(frame, graph, degrees={"x": 1}, **GIVEN).fitted)
    assert found.features == ()
    assert found.impossible == 0.0


def test_terms_of_an_attribute_that_is_a_number_are_told_from_the_others():
    graph = fs.CausalGraph.parse("a -> x -> z; a -> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 80, binary=False, random_state=0).frame
    fitted = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 2}, shift=1.0, **GIVEN).fitted
    equation = fitted.claim.design.equations[1]
    found = _involves_protected(fitted, take_sample(fitted, np.random.default_rng(0)), equation)
    by_name = {term: "a" in term for term in equation.embedding.terms if term != "a^2"}  # the same at -1 and 1
    assert {
        term: own for term, own in zip(equation.embedding.terms, found.tolist(), strict=True) if term in by_name
    } == by_name
