"""The paper's experiments: choices of cross-validation, predictors, and both published curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

HERE = Path(__file__).parent


def test_law_school_has_the_papers_degrees_penalties_and_predictors(law_audit):
    settings = law_audit.settings
    assert settings.degrees == {"ugpa": 1, "lsat": 2}
    assert settings.predictor_degree == 2
    assert settings.penalty == settings.predictor_penalty == pytest.approx(166.81, abs=0.005)
    # as many digits as are known of each
    assert law_audit.fitted.claim.predictor.r2 == pytest.approx(0.05491, abs=5e-6)
    assert law_audit.baselines["blind"].r2 == pytest.approx(0.10050, abs=5e-6)
    assert law_audit.baselines["unconstrained"].r2 == pytest.approx(0.13584, abs=5e-6)
    assert law_audit.baselines["unconstrained"].unfairness == pytest.approx(0.0690000, abs=5e-8)
    assert law_audit.baselines["blind"].unfairness == pytest.approx(0.0145985, abs=5e-8)


def test_law_school_follows_the_published_curve(law_audit):
    """Within 1 % to |p| = 0.5 and 10 % to 0.9; beyond, the authors' program, which leaves the penalty out of the
    objective for sigma, and the paper's formula part ways."""
    published = pd.read_csv(HERE / "published_law_school_curve.csv")
    ours = law_audit.profile(("ugpa", "lsat"), published["p"]).cfu
    size = published["p"].abs()
    off = np.abs(ours / published["cfu"] - 1)
    assert off[(size > 0) & (size <= 0.5)].max() < 0.01
    assert off[(size > 0) & (size <= 0.9)].max() < 0.10


def test_nhs_has_the_papers_degrees_penalty_and_predictors(nhs_audit):
    settings = nhs_audit.settings
    assert settings.degrees == {"org_sat": 1, "manager_sat": 3, "job_sat": 3}
    assert settings.penalty == pytest.approx(138.95, abs=0.005)
    assert (settings.predictor_degree, settings.predictor_penalty) == (3, pytest.approx(0.001))
    assert nhs_audit.fitted.claim.predictor.r2 == pytest.approx(0.57377, abs=5e-6)
    assert nhs_audit.baselines["blind"].r2 == pytest.approx(0.57858, abs=5e-6)
    assert nhs_audit.baselines["unconstrained"].r2 == pytest.approx(0.57876, abs=5e-6)
    assert nhs_audit.baselines["unconstrained"].unfairness == pytest.approx(0.0039001, abs=5e-8)
    assert nhs_audit.baselines["blind"].unfairness == pytest.approx(0.0029689, abs=5e-8)


def test_nhs_follows_the_published_curve_at_the_corner_of_equal_correlations(nhs_audit):
    published = pd.read_csv(HERE / "published_nhs_curve.csv").query("0 < pmax <= 0.93")
    ours = [nhs_audit.cfu(dict.fromkeys(nhs_audit.graph.pairs, p)) for p in published["pmax"]]
    np.testing.assert_allclose(ours, published["cfu"], rtol=1e-3)


@pytest.fixture(params=["law_audit", "nhs_audit"])
def experiment(request):
    return request.getfixturevalue(request.param)


def test_both_experiments_are_absorbed_without_penalty(experiment):
    for pair in experiment.graph.pairs:
        found = experiment.profile(pair, [-0.99, -0.5, 0.3, 0.9, 0.99])
        assert found.cfu_unpenalised.max() < 1e-20 * experiment.fitted.outcome_variance
        assert found.is_absorbed


def test_both_experiments_have_no_unfairness_at_independent_errors(experiment):
    assert experiment.cfu({}) < 1e-20 * experiment.fitted.outcome_variance
