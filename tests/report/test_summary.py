from __future__ import annotations

from dataclasses import replace

import numpy as np

import fairstress as fs
from fairstress.errors import Status

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")


def flat(text: str) -> str:
    return text.replace("\n", " ")


def test_a_numeric_attribute_is_said_to_be_moved_by_its_shift():
    frame = fs.datasets.simulate(GRAPH, 200, binary=False, random_state=0).frame
    audit = fs.Audit.fit(frame, GRAPH, shift=0.5, penalty=1, degrees={"x": 1, "z": 1})
    assert "a is numeric; the counterfactual moves it by 0.5" in flat(audit.summary())
    assert "constants are not penalised" in flat(audit.summary())


def test_a_profile_says_which_baselines_it_reaches_and_which_fits_are_in_doubt(law_audit):
    profile = law_audit.profile(("ugpa", "lsat"), [-0.9, 0.9])
    assert "stays below the unfairness of the baselines unconstrained and blind" in flat(profile.summary())
    low = replace(profile.context, baselines={"unconstrained": 1.0, "blind": 1e-6})
    assert "It reaches the unfairness of the baseline blind." in flat(replace(profile, context=low).summary())
    doubtful = replace(profile, status=(Status.STALLED, Status.CONVERGED))
    assert f"At 1 of 2 correlations: {Status.STALLED}" in flat(doubtful.summary())


def test_a_fit_that_did_not_converge_is_mentioned_in_the_summary(law_audit):
    doubtful = replace(law_audit.claim, model_a=replace(law_audit.claim.model_a, status=Status.STEP_LIMIT))
    assert str(Status.STEP_LIMIT) in flat(replace(law_audit, claim=doubtful).summary())
    assert str(Status.STEP_LIMIT) not in flat(law_audit.summary())


def test_a_curve_lists_every_budget_with_both_penalties():
    frame = fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame
    audit = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    text = audit.curve([0.1, 0.4]).summary()
    assert [line.split()[0] for line in text.splitlines()[3:5]] == ["0.100", "0.400"]
    assert "CFU at penalty 0" in text
    assert np.isclose(float(text.splitlines()[4].split()[1]), audit.worst_case(0.4).value, rtol=1e-3)
