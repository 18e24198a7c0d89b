"""A file of everyone's counterfactuals has one row for each person, also where people have several worlds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.analyses.written import write_people
from fairstress.claim.evaluate import model_b

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
P = np.array([[1, 0.3], [0.3, 1]])


@pytest.mark.parametrize(
    "kinds", [{"x": "number", "z": "number"}, {"x": "ordered", "z": "number"}], ids=["one", "several"]
)
def test_features_are_those_of_the_likeliest_world_and_cfu_is_everyones_own(kinds, tmp_path):
    cuts = {"x": (-0.5, 0.5)} if kinds["x"] == "ordered" else None
    frame = fs.datasets.simulate(GRAPH, 60, kinds=kinds, cuts=cuts, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(frame, GRAPH, kinds=kinds, **given)
    write_people(audit.fitted, model_b(audit.fitted.claim, P), tmp_path / "people.parquet")
    found = pd.read_parquet(tmp_path / "people.parquet")
    assert found["row"].tolist() == list(range(60))
    assert set(found["x"]) <= (set(frame["x"]) if cuts else set(found["x"]))
    assert found["cfu"].mean() == pytest.approx(audit.cfu(P), rel=1e-9)


def test_a_profile_without_fits_at_penalty_0_does_not_say_that_it_is_absorbed():
    frame = fs.datasets.simulate(GRAPH, 60, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    saturated = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    profile = fs.Audit.fit(frame, saturated, **given).profile(("x", "z"), grid=(-0.3, 0.0, 0.3))
    assert profile.is_absorbed
    assert not replace(profile, cfu_unpenalised=None).is_absorbed
    assert not replace(profile, log_likelihood_unpenalised=None).is_absorbed
