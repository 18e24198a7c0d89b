"""Hidden causes that would have to explain more than all of an error, and whether columns were chosen."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> w, x, z; w -> x, z; x -> z; x <-> z", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit() -> fs.Audit:
    weights = {"x": {"w": 0.9}, "z": {"w": 0.3}}
    frame = fs.datasets.simulate(GRAPH, 300, weights=weights, random_state=0).frame
    frame["other"] = np.random.default_rng(1).standard_normal(300) + frame["x"]
    given = {"degrees": {"w": 1, "x": 1, "z": 1}, "penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, GRAPH, **given)


def test_a_cause_that_cannot_be_is_told_by_the_error_of_which_it_would_be_most(audit):
    table = audit.benchmarks(pairs="all", multiples=(1, 50)).to_frame()
    notes = table[table["note"] != ""]
    assert len(notes) > 0
    for _, row in notes.iterrows():
        share, name = max((row["r2_first_on_errors"], row["first"]), (row["r2_second_on_errors"], row["second"]))
        assert share >= 1
        assert f"it would be {share:.0%} of the error of {name}" in row["note"]
    assert (notes["r2_first_on_errors"] != notes["r2_second_on_errors"]).all()


def test_whether_columns_were_chosen_is_remembered(audit):
    assert not audit.benchmarks(pairs="all").chosen
    assert audit.benchmarks(pairs="all", columns=["other"]).chosen
