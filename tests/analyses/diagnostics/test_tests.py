"""Statistics: against scipy, against derivatives, and what weights mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstress as fs
from fairstress.analyses.diagnostics import tied
from fairstress.analyses.diagnostics.finding import Diagnostic, judged
from fairstress.analyses.diagnostics.implied import ties
from fairstress.analyses.diagnostics.influence import log_likelihoods
from fairstress.analyses.diagnostics.sample import holm, people_of, take_sample
from fairstress.analyses.diagnostics.shape import (
    check_shape,
    kurtosis_score,
    scales_by_group,
    shape_of,
    skewness_score,
    standardised,
)
from fairstress.model.latent import Layout, free_weights

GRAPH = fs.CausalGraph.parse("a, u -> x; a, u, x -> z", protected="a", outcome="y")
GIVEN = {"degrees": {"u": 1, "x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "random_state": 0}


def audit(n=400, seed=0, fit=None, **options) -> fs.Audit:
    frame = fs.datasets.simulate(GRAPH, n, random_state=seed, **options).frame
    return fs.Audit.fit(frame, GRAPH, **GIVEN, **(fit or {}))


@pytest.mark.parametrize("n", [30, 200, 5000])
def test_scores_of_skewness_and_kurtosis_are_scipys(n):
    x = np.random.default_rng(n).gamma(9.0, size=n)
    skewness, kurtosis = shape_of(x, np.ones(n))
    assert skewness_score(skewness, n) == pytest.approx(stats.skewtest(x).statistic, rel=1e-10)
    assert kurtosis_score(kurtosis, n) == pytest.approx(stats.kurtosistest(x).statistic, rel=1e-10)


def test_holm_raises_each_p_value_by_how_many_are_left():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.5])), [0.04, 0.09, 0.09, 0.5])


def test_what_model_a_alone_forbids_is_no_alarm_and_what_is_small_is_none_either():
    sure = Diagnostic("independence", "z", "x", value=0.1, p_value=1e-9, is_implied=True)
    verdicts = [one.verdict for one in judged([sure, replace(sure, is_implied=False), replace(sure, value=1e-4)])]
    assert verdicts == ["alarm", "allowed by a pair", "quiet"]


@pytest.mark.parametrize("kind", ["ordered", ["low", "middle", "high"], "zero or number"])
def test_scores_of_intervals_are_derivatives_of_the_log_likelihood(kind):
    fitted = audit(kinds={"z": kind}, fit={"kinds": {"z": kind}}).fitted
    claim, sample = fitted.claim, take_sample(fitted, np.random.default_rng(0))
    scores, part = sample.errors["z"].scores, Layout.of(claim.design).features[-1]
    h, fit, found = 1e-5, claim.model_a, []
    fields = [("weights", np.arange(part.weights.start, part.weights.stop)[free_weights(part)])]
    fields += [("cuts", np.arange(part.cuts.start, part.cuts.stop))]
    fields += [("log_scales", np.arange(part.scales.start, part.scales.stop))] if kind == "zero or number" else []
    for name, where in fields:
        for i in where:
            ends = [getattr(fit, name) + way * h * (np.arange(getattr(fit, name).size) == i) for way in (1, -1)]
            high, low = (log_likelihoods(claim, replace(fit, **{name: end}), sample.rows) for end in ends)
            found.append((high - low) / (2 * h))
    unit = fit.scales[part.scales][0] if kind == "zero or number" else 1.0  # scores are by theta = w / sigma
    found = np.column_stack(found)
    found[:, : free_weights(part).size] *= unit
    np.testing.assert_allclose(scores.values, found, atol=1e-6)  # central differences of step 1e-5


@pytest.mark.parametrize("kind", ["ordered", ["low", "middle", "high"], "zero or number"])
def test_expected_cross_products_are_their_means_over_many_people(kind):
    fitted = audit(40_000, kinds={"z": kind}, fit={"kinds": {"z": kind}}).fitted
    sample = take_sample(fitted, np.random.default_rng(0))
    own = sample.errors["z"]
    n, S = sample.size, own.scores.values  # noqa: PD011
    # some 5 standard errors; the fit has set the sums of its own scores to 0
    np.testing.assert_allclose(S.T @ S / n, own.scores.information / n, atol=0.05)
    np.testing.assert_allclose(S.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose((own.expected[:, None] * S).mean(axis=0), own.scores.cross.mean(axis=0), atol=0.05)


def test_whole_weights_are_people_and_others_are_a_survey():
    frame = fs.datasets.simulate(GRAPH, 500, random_state=1).frame
    twice = np.random.default_rng(0).integers(1, 4, len(frame))
    counted = fs.Audit.fit(frame, GRAPH, sample_weight=twice, **GIVEN).diagnostics()
    repeated = fs.Audit.fit(frame.loc[frame.index.repeat(twice)], GRAPH, **GIVEN).diagnostics()
    assert counted.effective_people == repeated.effective_people == twice.sum()
    deterministic = [c for c in counted.checks if c.check not in ("leakage", "overlap")]
    same = {(c.check, c.feature, c.about): c.p_value for c in repeated.checks}
    for one in deterministic:
        assert one.p_value == pytest.approx(same[one.check, one.feature, one.about], rel=1e-6)
    survey = fs.Audit.fit(frame, GRAPH, sample_weight=twice / 2.5, **GIVEN).diagnostics()
    assert survey.effective_people == pytest.approx(twice.sum() ** 2 / (twice**2).sum())


def test_each_person_of_several_completed_tables_is_looked_at_once():
    frames = [fs.datasets.simulate(GRAPH, 90, random_state=1).frame] * 3
    table = fs.Audit.fit(frames, GRAPH, **GIVEN).fitted.table
    people = people_of(table)
    assert sorted(people % 90) == list(range(90))
    assert set(table.table_of[people]) == {0, 1, 2}


def test_people_who_belong_together_count_as_one_in_a_variance():
    frame = fs.datasets.simulate(GRAPH, 300, random_state=1).frame
    thrice = pd.concat([frame] * 3).assign(school=np.tile(np.arange(300), 3)).reset_index(drop=True)
    whole = {(c.check, c.feature): c for c in fs.Audit.fit(frame, GRAPH, **GIVEN).diagnostics().checks}
    clustered = fs.Audit.fit(thrice, GRAPH, cluster="school", **GIVEN).diagnostics()
    alone = next(c for c in clustered.checks if c.check == "curvature" and c.feature == "z")
    assert alone.p_value == pytest.approx(whole["curvature", "z"].p_value, rel=1e-6)


def test_moments_that_a_hidden_cause_brings_about_are_those_of_drawn_errors():
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    truth = {"weights": {"a": {"1": -1.0}, "x": {"a": 0.5}}, "correlation": {("a", "x"): tied.RHO[36]}}
    frame = fs.datasets.simulate(graph, 400_000, random_state=0, **truth).frame
    fitted = fs.Audit.fit(frame, graph, degrees={"x": 1}, penalty=0, predictor_degree=1).fitted
    sample = take_sample(fitted, np.random.default_rng(0), most=400_000)
    e, a = sample.errors["x"].drawn, sample.rows.a
    e = np.concatenate([(e[a == code] - e[a == code].mean()) / e[a == code].std() for code in (-1, 1)])
    scales = np.log([sample.errors["x"].drawn[a == code].std() for code in (-1, 1)])
    expected = tied.log_scales(fitted, sample)[36]
    assert np.diff(scales) == pytest.approx(np.diff(expected), abs=0.01)  # s.e. 0.003
    np.testing.assert_allclose(shape_of(e, np.ones(e.size)), tied.shapes(fitted, sample)[36], atol=0.03)  # s.e. 0.008


def test_a_sample_has_as_many_people_as_it_may_each_once():
    fitted = audit().fitted
    sample = take_sample(fitted, np.random.default_rng(0), most=50)
    assert sample.rows.a.size == 50
    assert take_sample(fitted, np.random.default_rng(0)).rows.a.size == 400


def test_of_fewer_than_twenty_people_no_shape_is_told():
    fitted = audit().fitted
    for most, told in ((19, 0), (20, 2)):
        sample = take_sample(fitted, np.random.default_rng(0), most)
        own = sample.errors["x"]
        assert len(list(check_shape(fitted, sample, ties(fitted)["x"], own))) == told


def test_a_group_without_people_has_no_scale_and_leaves_the_others_as_they_are():
    coding, rng = audit().fitted.table.protected, np.random.default_rng(0)
    a, e = np.repeat([-1.0, 1.0], 50), rng.normal(size=100)
    weight = (a > 0).astype(float)
    assert scales_by_group(coding, a, e, weight) == {1.0: pytest.approx(e[50:].std())}
    z = standardised(coding, a, e, weight)
    np.testing.assert_allclose(z[50:], (e[50:] - e[50:].mean()) / e[50:].std())
    np.testing.assert_array_equal(z[:50], e[:50])
