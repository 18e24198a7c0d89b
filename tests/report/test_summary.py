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
    claim = law_audit.fitted.claim
    doubtful = replace(claim, model_a=replace(claim.model_a, status=Status.STEP_LIMIT))
    audit = replace(law_audit, fitted=replace(law_audit.fitted, claim=doubtful))
    assert str(Status.STEP_LIMIT) in flat(audit.summary())
    assert str(Status.STEP_LIMIT) not in flat(law_audit.summary())


def test_a_curve_lists_every_budget_with_both_penalties():
    frame = fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame
    audit = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    text = audit.curve([0.1, 0.4]).summary()
    assert [line.split()[0] for line in text.splitlines()[3:5]] == ["0.100", "0.400"]
    assert "CFU at penalty 0" in text
    assert np.isclose(float(text.splitlines()[4].split()[1]), audit.worst_case(0.4).value, rtol=1e-3)


def test_a_curve_says_what_a_hidden_confounder_must_reach_and_what_weaker_ones_cannot():
    frame = fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame
    curve = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0).curve([0, 0.1, 0.3, 0.5])
    value = [point.value for point in curve.points]
    levels = {"low": (value[1] + value[2]) / 2, "high": (value[2] + value[3]) / 2}

    def summary(**levels):
        return flat(replace(curve, context=replace(curve.context, baselines=levels)).summary())

    text = summary(**levels)
    assert "only if a hidden confounder correlates the errors of x and z by more than 0.1 in size; weaker ones " in text
    assert "cannot bring it there, and within p_max = 0.3 one does." in text
    assert "only if it explains more than 10 % of the variance of an error" in text
    assert "the baseline high, only beyond p_max = 0.3; within p_max = 0.5 it does." in text
    assert "within p_max = 0.1, the smallest budget searched above 0" in summary(least=value[1] / 2)
    text = summary(low=levels["low"], never=2 * value[3])
    assert "No hidden confounder within p_max = 0.5, the largest budget searched" in text
    assert "the unfairness of the baseline never." in text


def test_with_several_pairs_a_curve_speaks_of_what_the_search_found():
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    for budget, words in (
        ("pairwise", "the errors of some pair by more than 0.2"),
        ("spectral", "spectral budget p_max"),
    ):
        curve = audit.curve([0.2, 0.4], budget=budget, search=fs.Search(starts=1))
        level = {"blind": (curve.points[0].value + curve.points[1].value) / 2}
        text = flat(replace(curve, context=replace(curve.context, baselines=level)).summary())
        assert words in text
        assert "as far as the search can tell" in text


def test_a_worst_case_says_what_its_budget_can_do_and_that_more_takes_more(law_audit):
    found = law_audit.worst_case(0.5)
    text = flat(found.summary())
    assert f"can bring CFU to {found.value:.4g}; a larger value takes one beyond it." in text
    assert "only if it explains 50 % or more of one error's variance" in text
    low, _ = law_audit.bounds(law_audit.effect("lsat"), 0.5)
    assert "a smaller value takes one beyond it" in flat(low.summary())
    assert "takes one beyond it" not in flat(replace(found, status=Status.OUTSIDE).summary())


def test_attributes_with_several_levels_and_contrasts_are_described():
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    options = {"penalty": 1, "degrees": {"x": 1, "z": 1}}
    three = frame.assign(a=np.array(["p", "q", "r", "q"] * 50))
    text = flat(fs.Audit.fit(three, GRAPH, **options, reference="q").summary())
    assert "100 q (reference), 50 p and 50 r; the counterfactual moves people to every other level" in text
    assert "moves people to p." in flat(fs.Audit.fit(three, GRAPH, **options, contrast="p").summary())
    numbers = frame.assign(a=np.arange(200) % 5)
    text = flat(fs.Audit.fit(numbers, GRAPH, **options, contrast=[0, 4]).summary())
    assert "a is numeric; the counterfactual moves people to 0 and 4." in text
