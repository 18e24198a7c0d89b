from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import fairstress as fs
from fairstress.errors import DataError, SettingError, Status
from fairstress.model.fit import fit, fit_from_all_sides, fit_many

MISSING_EDGE = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")
P = np.array([[1, 0.5, -0.3], [0.5, 1, 0.2], [-0.3, 0.2, 1]])


def system(penalty: float, n: int = 200):
    truth = fs.datasets.simulate(MISSING_EDGE, n, correlation=None, random_state=3)
    options = {"degrees": {"x": 1, "z": 2, "v": 2}, "predictor_degree": 1, "predictor_penalty": 1}
    return fs.Audit.fit(truth.frame, MISSING_EDGE, penalty=penalty, **options).fitted.claim


def objective(claim, P, w, t):
    """``F`` summed over rows, no moments."""
    rows, design = claim.rows, claim.design
    e = (rows.x - design.fitted(rows.a, rows.x, w)) / np.exp(t)
    quadratic = np.einsum("i,ij,jk,ik->", rows.weight, e, np.linalg.inv(P), e)
    return quadratic + claim.system.penalties @ w**2 + 2 * rows.n * t.sum()


@pytest.mark.parametrize("penalty", [0.0, 10.0, 300.0])
def test_the_fit_minimises_the_objective_summed_over_rows(penalty):
    claim = system(penalty)
    found = fit(claim.system, P)
    m = P.shape[0]
    z = np.concatenate([found.weights, found.log_scales])
    value = objective(claim, P, found.weights, found.log_scales)
    np.testing.assert_allclose(found.objective, value, rtol=1e-12)

    def at(z):
        return objective(claim, P, z[:-m], z[-m:])

    gradient = optimize.approx_fprime(z, at, 1e-6)
    # forward differences of a sum of size 1e3: 1e-6 times a curvature of 1e3, in each direction
    assert np.abs(gradient).max() < 1e-2
    other = optimize.minimize(at, np.zeros(z.size), method="BFGS", options={"gtol": 1e-4})
    np.testing.assert_allclose(other.fun, found.objective, rtol=1e-8)


def test_the_log_likelihood_is_that_of_scipys_multivariate_normal():
    from scipy.stats import multivariate_normal

    claim = system(10.0)
    found = fit(claim.system, P)
    errors = claim.rows.x - claim.design.fitted(claim.rows.a, claim.rows.x, found.weights)
    cov = np.outer(found.scales, found.scales) * P
    expected = claim.rows.weight @ multivariate_normal(np.zeros(3), cov).logpdf(errors)
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-12)


def test_newton_converges_close_to_singular_correlations():
    claim = system(1.0)
    for p in (-0.999, 0.999):
        near = np.array([[1, p, 0], [p, 1, 0], [0, 0, 1.0]])
        assert fit(claim.system, near).status is Status.CONVERGED


def test_fits_side_by_side_are_the_fits_one_by_one():
    claim = system(20.0)
    many = np.array([(1 - s) * np.eye(3) + s * P for s in np.linspace(0, 1.2, 9)])
    for together, P_one in zip(fit_many(claim.system, many), many, strict=True):
        alone = fit(claim.system, P_one)
        np.testing.assert_allclose(together.weights, alone.weights, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(together.log_likelihood, alone.log_likelihood, rtol=1e-13)
        assert together.status is alone.status is Status.CONVERGED


def test_without_penalty_the_scales_do_not_depend_on_the_start():
    claim = system(0.0)
    rng = np.random.default_rng(0)
    fits = [fit(claim.system, P, rng.uniform(-2, 2, 3)) for _ in range(10)]
    for found in fits:
        np.testing.assert_allclose(found.scales, fits[0].scales, rtol=1e-8)
        np.testing.assert_allclose(found.objective, fits[0].objective, rtol=1e-12)


def test_two_minima_are_found_the_lower_is_reported_and_the_status_says_so():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    rng = np.random.default_rng(0)
    weights = {"x": {"a": -1.8}, "z": {"a": 2.0, "x": -2.1}}
    frame = fs.datasets.simulate(graph, 100, weights=weights, random_state=10).frame
    audit = fs.Audit.fit(
        frame, graph, degrees={"x": 1, "z": 1}, penalty=1000.0, predictor_degree=1, predictor_penalty=1
    )
    near = np.array([[1, 0.85], [0.85, 1]])
    claim = audit.fitted.claim
    (found,) = fit_from_all_sides(claim.system, near[None], claim.model_a.log_scales)
    assert found.status is Status.TWO_MINIMA
    others = [fit(claim.system, near, rng.uniform(-3, 1.5, 2)).objective for _ in range(20)]
    assert max(others) > found.objective + 1
    np.testing.assert_allclose(found.objective, min(others), rtol=1e-10)


@pytest.mark.parametrize(("slope", "n", "penalty"), [(1.0, 30, 150.0), (10.0, 100, 800.0)])
def test_model_a_is_the_lowest_minimum_so_that_independent_errors_leave_cfu_at_zero(slope, n, penalty):
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    weights = {"x": {"a": slope}, "z": {"a": 1.0, "x": 5.0 if n == 30 else 12.0}}
    frame = fs.datasets.simulate(graph, n, weights=weights, random_state=0).frame
    audit = fs.Audit.fit(
        frame, graph, degrees={"x": 1, "z": 1}, penalty=penalty, predictor_degree=1, predictor_penalty=1
    )
    assert audit.cfu({}) < 1e-20 * audit.fitted.outcome_variance
    claim, rng = audit.fitted.claim, np.random.default_rng(0)
    others = [fit(claim.system, np.eye(2), rng.uniform(-4, 1, 2)).objective for _ in range(20)]
    assert max(others) > min(others) + 1  # there are several
    np.testing.assert_allclose(claim.model_a.objective, min(others), rtol=1e-10)


def test_a_feature_that_its_parents_determine_is_refused():
    frame = fs.datasets.simulate(MISSING_EDGE, 100, random_state=0).frame
    frame["v"] = 2 * frame["z"] - frame["a"]
    with pytest.raises(DataError, match="feature 'v' is an exact function of its parents"):
        fs.Audit.fit(frame, MISSING_EDGE)


def test_collinear_columns_are_refused_at_penalty_zero_and_fitted_above():
    graph = fs.CausalGraph.parse("a -> x, z, v; x, z -> v; x <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    frame["z"] = 3 - 2 * frame["x"]
    options = {"degrees": {"x": 1, "z": 1, "v": 1}, "predictor_degree": 1, "predictor_penalty": 1}
    with pytest.raises(SettingError, match="of the equation of 'v' is determined by its other terms"):
        fs.Audit.fit(frame, graph, penalty=0, **options)
    audit = fs.Audit.fit(frame, graph, penalty=1, **options)
    found = audit.profile(("x", "v"), [-0.5, 0.5])
    assert found.cfu_unpenalised is None
    assert "CFU at penalty 0 is not given" in found.summary()
    for tiny in ({"penalty": 1e-13}, {"penalty": 1, "predictor_penalty": 1e-13}):
        with pytest.raises(SettingError, match="is determined by its other terms, so that penalty 1e-13 has no"):
            fs.Audit.fit(frame, graph, **{**options, **tiny})
    assert found.to_frame()["cfu_unpenalised"].isna().all()
