"""fairstress against linearmodels, semopy, scipy, dowhy and PySensemakr, whose values ``generate.py`` has stored.

Weights and scales are compared in standardised units, where they are of size 1, to 1e-11. The linear systems have
condition numbers below 100, so rounding leaves thirteen digits, and the stored values are optima to that precision.
fairstress stops where log scales are within 1e-6 of theirs and takes one more step of Newton, which squares that. An
absolute tolerance also covers constants that are 0.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.model.fit import _profile, fit

HERE = Path(__file__).parent
STORED = json.loads((HERE / "other_programs.json").read_text())
DIGITS = {"rtol": 0, "atol": 1e-11}
VISIBLE = 0.01  # a change in standardised units that is a billion times the tolerance


def audit_of(case: dict[str, Any], **settings: Any) -> fs.Audit:
    frame = pd.read_csv(HERE / STORED["data"]["file"])
    graph = fs.CausalGraph.parse(case["graph"], protected="group", outcome="rating")
    given = {"degrees": case["degrees"], "penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 0.0, **settings}
    return fs.Audit.fit(frame, graph, reference="south", **given)


def pairs_of(point: dict[str, Any]) -> dict[tuple[str, ...], float]:
    return {tuple(pair.split(", ")): p for pair, p in point["correlation"].items()}


def weights_of(stored: dict[str, dict[str, float]], like: pd.Series) -> pd.Series:
    """Stored weights in the order of fitted ones; neither may have a term that the other lacks."""
    found = pd.Series({(feature, term): w for feature, its in stored.items() for term, w in its.items()})
    assert set(found.index) == set(like.index)
    return found.reindex(like.index)


def scales_of(point: dict[str, Any], audit: fs.Audit) -> np.ndarray:
    return np.array([point["scales"][feature] for feature in audit.variables])


def assert_same_fit(model: Any, point: dict[str, Any], audit: fs.Audit) -> None:
    assert model.status is fs.Status.CONVERGED
    np.testing.assert_allclose(model.weights, weights_of(point["weights"], model.weights), **DIGITS)
    np.testing.assert_allclose(model.scales, scales_of(point, audit), **DIGITS)


# ---------------------------------------------------------------- seemingly unrelated regression


@pytest.mark.parametrize("which", [0, 1])
def test_weights_for_a_given_covariance_are_those_of_linearmodels(which: int) -> None:
    case = STORED["sur_at_given_covariances"]
    audit, point = audit_of(case), case["points"][which]
    P = audit.model_b(pairs_of(point)).correlation.to_numpy()
    w = _profile(audit.fitted.claim.system, np.linalg.inv(P)[None], np.log(scales_of(point, audit))[None]).w[0]
    separate = audit.model_a.weights
    assert np.abs(w - separate).max() > VISIBLE  # correlated errors matter in this graph
    np.testing.assert_allclose(w, weights_of(point["weights"], separate), **DIGITS)


def test_model_a_is_least_squares_equation_by_equation() -> None:
    case = STORED["sur_at_given_covariances"]
    fitted = audit_of(case).model_a.weights
    np.testing.assert_allclose(fitted, weights_of(case["least_squares"], fitted), **DIGITS)


def test_at_the_correlation_that_fits_best_model_b_is_the_iterated_regression_of_linearmodels() -> None:
    case = STORED["sur_iterated"]
    audit = audit_of(case)
    model = audit.model_b(pairs_of(case))
    assert np.abs(model.weights - audit.model_a.weights).max() > VISIBLE
    assert_same_fit(model, case, audit)
    # a sum of 300 log densities of size 1
    assert model.log_likelihood == pytest.approx(case["log_likelihood"], rel=1e-12)


def test_the_log_likelihood_peaks_at_the_correlation_of_the_iterated_regression() -> None:
    case = STORED["sur_iterated"]
    audit, ((pair, best),) = audit_of(case), pairs_of(case).items()
    h = 1e-3
    below, at, above = (audit.model_b({pair: p}).log_likelihood for p in (best - h, best, best + h))
    assert at - max(below, above) > 1e-5  # about n h^2 / 4; rounding is below 1e-12
    # the parabola through the three peaks beside the middle only by what third derivatives do, some h^2
    assert abs(h * (above - below) / (2 * (2 * at - above - below))) < 10 * h**2


# ---------------------------------------------------------------- Model B at a given correlation


@pytest.mark.parametrize("which", [0, 1])
def test_linear_model_b_is_the_structural_equation_model_of_semopy_with_that_error_correlation(which: int) -> None:
    case = STORED["sem"]
    audit, point = audit_of(case), case["points"][which]
    model = audit.model_b(pairs_of(point))
    assert np.abs(model.weights - audit.model_a.weights).max() > VISIBLE
    assert np.abs(model.scales - audit.model_a.scales).max() > VISIBLE
    assert_same_fit(model, point, audit)


@pytest.mark.parametrize("which", [0, 1])
def test_penalised_polynomial_model_b_minimises_the_objective_with_every_monomial_kept(which: int) -> None:
    case = STORED["penalised"]
    audit, point = audit_of(case, penalty=case["penalty"], penalise_constant=True), case["points"][which]
    model = audit.model_b(pairs_of(point))
    system = audit.fitted.claim.system
    once = replace(system, penalties=np.full(system.penalties.size, case["penalty"]))  # equal monomials as if one
    assert np.abs(model.weights - fit(once, model.correlation.to_numpy()).weights).max() > VISIBLE
    assert_same_fit(model, point, audit)
    # a sum of 450 log densities of size 1
    assert model.log_likelihood == pytest.approx(point["log_likelihood"], rel=1e-12)


# ---------------------------------------------------------------- counterfactuals


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_counterfactuals_with_independent_errors_are_those_of_dowhy(kind: str) -> None:
    case = STORED["counterfactuals"]
    stored = pd.read_csv(HERE / case["file"])
    audit = audit_of({**case, "degrees": case["degrees"][kind]})
    features = list(audit.variables)
    found = audit.counterfactuals({})[features].to_numpy()
    # least squares on both sides, no search; dowhy's columns are not standardised and may lose two digits more
    np.testing.assert_allclose(found, stored[[f"{kind}_{name}" for name in features]], rtol=1e-11)


def test_dowhys_counterfactuals_differ_between_linear_and_quadratic_equations_and_from_model_b() -> None:
    case = STORED["counterfactuals"]
    stored = pd.read_csv(HERE / case["file"])
    audit = audit_of({**case, "degrees": case["degrees"]["linear"]})
    correlated = audit.counterfactuals(pairs_of(STORED["sem"]["points"][0]))
    assert (stored["linear_pay"] - stored["quadratic_pay"]).abs().max() > 1  # pay has a standard deviation of 5
    assert (stored["linear_pay"] - correlated["pay"]).abs().max() > 1


# ---------------------------------------------------------------- a hidden common cause of a treatment and an outcome


@pytest.fixture(scope="module")
def linear_law_school(law_frame: pd.DataFrame, law_graph: fs.CausalGraph) -> fs.Audit:
    settings = {"degrees": {"ugpa": 1, "lsat": 1}, "penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 0.0}
    return fs.Audit.fit(law_frame, law_graph, reference="White", **settings)


def error_correlation(r2_treatment: float, r2_outcome: float) -> float:
    """The correlation of the errors in size, from ``rho^2 / (1 - rho^2) = R2_Y R2_D / (1 - R2_D)``."""
    odds = r2_outcome * r2_treatment / (1 - r2_treatment)
    return float(np.sqrt(odds / (1 + odds)))


@pytest.mark.parametrize(
    "point", STORED["sensemakr"]["points"], ids=lambda p: f"{p['r2_treatment']:g}-{p['r2_outcome']:g}"
)
def test_bounds_of_a_coefficient_are_the_adjusted_estimates_of_sensemakr(
    point: dict[str, float], linear_law_school: fs.Audit
) -> None:
    rho = error_correlation(point["r2_treatment"], point["r2_outcome"])
    audit = linear_law_school
    lower, upper = audit.bounds(audit.coefficient("lsat", "ugpa"), rho)
    # a cause that raises both makes the plain estimate too large: the adjusted one is the smaller
    assert lower.correlation.loc["ugpa", "lsat"] == rho
    assert upper.correlation.loc["ugpa", "lsat"] == -rho
    # least squares in three well-conditioned columns on both sides; a correlation enlarges its rounding by no more
    # than rho / sqrt(1 - rho^2), at most 3 here
    assert lower.value == pytest.approx(point["reduced"], rel=1e-11, abs=1e-11)
    assert upper.value == pytest.approx(point["increased"], rel=1e-11, abs=1e-11)


def test_model_b_with_either_sign_has_the_adjusted_estimates_of_sensemakr_as_weights(
    linear_law_school: fs.Audit,
) -> None:
    audit, unit = linear_law_school, linear_law_school.fitted.table.scaling.deviation
    for point in STORED["sensemakr"]["points"]:
        rho = error_correlation(point["r2_treatment"], point["r2_outcome"])
        for p, expected in ((rho, point["reduced"]), (-rho, point["increased"])):
            weight = audit.model_b({("ugpa", "lsat"): p}).weights["lsat", "ugpa"] * unit[1] / unit[0]
            assert weight == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_a_cause_of_sensemakrs_robustness_value_takes_the_coefficient_to_nothing(linear_law_school: fs.Audit) -> None:
    stored = STORED["sensemakr"]
    rho = error_correlation(stored["robustness_value"], stored["robustness_value"])
    audit = linear_law_school
    lower, upper = audit.bounds(audit.coefficient("lsat", "ugpa"), rho)
    assert lower.value == pytest.approx(0, abs=1e-11)
    assert upper.value == pytest.approx(2 * stored["estimate"], rel=1e-11)
