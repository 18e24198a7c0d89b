from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.errors import Status

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")


def flat(text: str) -> str:
    return text.replace("\n", " ")


def test_a_numeric_attribute_is_said_to_be_moved_by_its_shift():
    frame = fs.datasets.simulate(GRAPH, 200, binary=False, random_state=0).frame
    audit = fs.Audit.fit(frame, GRAPH, shift=0.5, penalty=1, degrees={"x": 1, "z": 1})
    assert "a is numeric; the counterfactual moves it by 0.5" in flat(audit.details())
    assert "constants are not penalised" in flat(audit.details())


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
    assert str(Status.STEP_LIMIT) in flat(audit.details())
    assert str(Status.STEP_LIMIT) not in flat(law_audit.details())


def test_a_curve_lists_every_budget_with_both_penalties():
    frame = fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame
    audit = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    text = audit.curve([0.1, 0.4]).summary()
    assert [line.split()[0] for line in text.splitlines()[3:5]] == ["0.100", "0.400"]
    assert "CFU at penalty 0" in text
    assert np.isclose(float(text.splitlines()[4].split()[1]), audit.worst_case(0.4).value, rtol=1e-3)


def with_levels(curve, **levels):
    return flat(replace(curve, context=replace(curve.context, baselines=levels)).summary())


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame
    return fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)


def test_a_curve_says_between_which_budgets_a_level_is_reached_and_never_that_one_of_them_is_needed(audit):
    curve = audit.curve([0, 0.1, 0.3, 0.5])
    value = [point.value for point in curve.points]
    low, high = (value[1] + value[2]) / 2, (value[2] + value[3]) / 2
    assert 0.1 < curve.breaking_point(low).p_max < 0.3 < curve.breaking_point(high).p_max < 0.5
    text = with_levels(curve, low=low, high=high)
    assert f"reaches {low:.4g}, the distance of the baseline low, between p_max = 0.1 and 0.3." in text
    assert f"reaches {high:.4g}, the distance of the baseline high, between p_max = 0.3 and 0.5." in text
    assert "only if" not in text
    assert "10 %" not in text
    first = with_levels(audit.curve([0.3, 0.5]), low=low)
    assert "the baseline low, within p_max = 0.3 already, the smallest budget searched." in first
    missed = with_levels(curve, low=low, never=2 * value[3])
    assert "Up to p_max = 0.5, the largest budget searched, the worst case stays below the distance" in missed
    assert "of the baseline never." in missed


def test_only_of_a_single_pair_or_cause_a_curve_says_what_one_cause_explains(audit):
    curve = audit.curve([0.1, 0.5])
    single = "A single cause that correlates the errors of x and z by p_max explains at least that share of one error"
    assert single in with_levels(curve, low=curve.points[0].value * 2)
    by_cause = audit.curve([0.1, 0.5], budget="single cause")
    share = "p_max is the largest share of any error's variance that the one cause explains"
    assert share in with_levels(by_cause, low=by_cause.points[0].value * 2)
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    two = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    for budget in ("pairwise", "spectral"):
        several = two.curve([0.2, 0.4], budget=budget, search=fs.Search(starts=1))
        text = with_levels(several, blind=(several.points[0].value + several.points[1].value) / 2)
        assert "between p_max = 0.2 and 0.4, as far as the search can tell." in text
        assert "cause" not in text


def test_a_worst_case_says_what_its_budget_can_do_and_no_more(law_audit):
    found = law_audit.worst_case(0.5)
    text = flat(found.summary())
    assert f"can raise CFU to {found.value:.4g} and no further." in text
    assert "a correlation of 0.5 only if it explains at least 50 % of one error's variance" in text
    low, _ = law_audit.bounds(law_audit.effect("lsat"), 0.5)
    assert f"can lower the {low.functional} to {low.value:.4g} and no further" in flat(low.summary())
    assert "no further" not in flat(replace(found, status=Status.OUTSIDE).summary())


def test_attributes_with_several_levels_and_contrasts_are_described():
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    options = {"penalty": 1, "degrees": {"x": 1, "z": 1}}
    three = frame.assign(a=np.array(["p", "q", "r", "q"] * 50))
    text = flat(fs.Audit.fit(three, GRAPH, **options, reference="q").details())
    assert "100 q (reference), 50 p and 50 r; the counterfactual moves people to every other level" in text
    assert "moves people to p." in flat(fs.Audit.fit(three, GRAPH, **options, contrast="p").details())
    numbers = frame.assign(a=np.arange(200) % 5)
    text = flat(fs.Audit.fit(numbers, GRAPH, **options, contrast=[0, 4]).details())
    assert "a is numeric; the counterfactual moves people to 0 and 4." in text
