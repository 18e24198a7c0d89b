"""Moments are all that fits by least squares see of the rows, and nobody gathers them twice."""

from __future__ import annotations

from collections import Counter

import pytest

import fairstress as fs
from fairstress.model import predictor, selection, system
from fairstress.model.design import outcome_moments, structural_moments

EDGES = "a -> x -> z; x <-> z"
SETTINGS = {"degrees": {"x": 1, "z": 2}, "penalty": 1.0, "predictor_degree": 2, "predictor_penalty": 1.0}


@pytest.fixture
def passes(monkeypatch):
    """How often rows were passed over for moments, by what these are of."""
    counted = Counter()

    def counting(what, function):
        def count(*arguments):
            counted[what] += 1
            return function(*arguments)

        return count

    for room in (system, selection):
        monkeypatch.setattr(room, "structural_moments", counting("equations", structural_moments))
    for room in (predictor, selection):
        monkeypatch.setattr(room, "outcome_moments", counting("predictors", outcome_moments))
    return counted


def fit(more: str = "", **changes) -> fs.Audit:
    graph = fs.CausalGraph.parse(EDGES + more, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    return fs.Audit.fit(frame, graph, **{**SETTINGS, **changes})


@pytest.mark.parametrize("more", ["", "; a <-> x"], ids=["Gaussian", "threshold"])
def test_with_every_setting_given_rows_are_passed_over_once_for_the_equations_and_once_for_each_predictor(passes, more):
    audit = fit(more)
    assert passes == {"equations": 1, "predictors": 3}  # the audited predictor and two baselines
    audit.refit(penalty=2.0)
    assert passes == {"equations": 2, "predictors": 6}


def test_without_penalty_the_equations_have_the_same_moments(passes):
    audit = fit()
    passes.clear()
    assert audit.fitted.unpenalised.system.moments is audit.fitted.claim.system.moments
    assert passes == {"predictors": 1}


def test_what_is_left_to_choose_takes_a_pass_for_each_fold_and_degree(passes):
    fit(degrees={"x": 1}, cv=4, max_degree=2)
    assert passes == {"equations": 4 * (1 + 2) + 1, "predictors": 3}
