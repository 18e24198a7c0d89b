from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import fairstress as fs
from fairstress.errors import DataError, SettingError
from fairstress.model.counterfactual import residuals

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
STRUCTURE = {"degrees": {"x": 1, "z": 1}, "penalty": 0.0}


def frame(n: int = 400, *, binary: bool) -> pd.DataFrame:
    table = fs.datasets.simulate(GRAPH, n, correlation={("x", "z"): 0.5}, random_state=1).frame
    return table.assign(y=np.where(table["y"] > 0.3, "hired", "not")) if binary else table


def design(audit: fs.Audit) -> tuple[np.ndarray, np.ndarray]:
    """The audited predictor's columns for every row, and its predictions."""
    claim, eps = audit.fitted.claim, residuals_of(audit)
    return claim.predictor.embedding.values(eps), claim.predictor.predict(eps)


def residuals_of(audit: fs.Audit) -> np.ndarray:
    """Model A's residuals of every row of the frame."""
    claim, table = audit.fitted.claim, audit.fitted.table
    return residuals(claim.design, claim.model_a.weights, table.rows)[table.row_of]


@pytest.mark.parametrize("penalise_constant", [False, True])
def test_the_ridge_predictor_is_sklearns(penalise_constant):
    audit = fs.Audit.fit(
        frame(binary=False),
        GRAPH,
        predictor_degree=2,
        predictor_penalty=7.0,
        penalise_constant=penalise_constant,
        **STRUCTURE,
    )
    Phi, predicted = design(audit)
    columns = Phi if penalise_constant else Phi[:, 1:]
    other = Ridge(alpha=7.0, fit_intercept=not penalise_constant, tol=1e-12).fit(columns, audit.fitted.table.y)
    np.testing.assert_allclose(predicted, other.predict(columns), rtol=1e-9)
    np.testing.assert_allclose(audit.fitted.claim.predictor.r2, other.score(columns, audit.fitted.table.y), rtol=1e-9)


def test_the_logistic_predictor_is_sklearns():
    audit = fs.Audit.fit(frame(binary=True), GRAPH, predictor_degree=2, predictor_penalty=3.0, **STRUCTURE)
    assert audit.fitted.table.outcome_levels == ("hired", "not")
    Phi, predicted = design(audit)
    other = LogisticRegression(C=1 / 3.0, solver="newton-cholesky", tol=1e-10).fit(Phi[:, 1:], audit.fitted.table.y)
    np.testing.assert_allclose(predicted, other.predict_proba(Phi[:, 1:])[:, 1], rtol=1e-6)


def test_the_gradient_of_a_logistic_cfu_is_the_limit_of_differences():
    audit = fs.Audit.fit(frame(binary=True), GRAPH, predictor_degree=2, predictor_penalty=3.0, **STRUCTURE)
    pair = ("x", "z")
    assert audit.cfu({pair: 0.7}) > 1e-3 * audit.fitted.outcome_variance
    numeric = (audit.cfu({pair: 0.7 + 1e-5}) - audit.cfu({pair: 0.7 - 1e-5})) / 2e-5
    np.testing.assert_allclose(audit.gradient({pair: 0.7})[pair], numeric, rtol=1e-5)


def test_cross_validation_of_a_two_valued_outcome_chooses_as_held_out_likelihood_does():
    table = frame(binary=True)
    choices = {"penalties": [0.1, 10.0, 1000.0], "max_degree": 2, "cv": "contiguous"}
    audit = fs.Audit.fit(table, GRAPH, **choices, **STRUCTURE)
    eps, y, best = residuals_of(audit), audit.fitted.table.y, {}
    for degree in (1, 2):
        powers = [(j, k) for j in range(degree + 1) for k in range(degree + 1 - j) if j + k]
        Phi = np.column_stack([eps[:, 0] ** j * eps[:, 1] ** k for j, k in powers])
        for penalty in (0.1, 10.0, 1000.0):
            losses = []
            for part in np.array_split(np.arange(y.size), 5):
                rest = np.setdiff1d(np.arange(y.size), part)
                model = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=1e-10).fit(Phi[rest], y[rest])
                p = model.predict_proba(Phi[part])[:, 1]
                losses.append(-np.mean(y[part] * np.log(p) + (1 - y[part]) * np.log(1 - p)))
            best[np.mean(losses)] = (degree, penalty)
    assert (audit.settings.predictor_degree, audit.settings.predictor_penalty) == best[min(best)]


def test_separated_outcomes_are_refused_at_penalty_zero():
    table = frame(binary=False)
    table["y"] = (table["x"] > 0).astype(int)
    with pytest.raises(SettingError, match="the inputs separate the two outcomes"):
        fs.Audit.fit(table, GRAPH, predictor_degree=1, predictor_penalty=0.0, **STRUCTURE)


def test_an_outcome_that_is_constant_in_a_fold_is_refused():
    table = frame(binary=False)
    table.loc[:79, "y"] = 1.0
    with pytest.raises(DataError, match="constant within one of the folds"):
        fs.Audit.fit(table, GRAPH, cv="contiguous", **STRUCTURE)
