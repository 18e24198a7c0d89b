from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from fairstress.model.embedding import Input, Polynomial


def test_without_signs_the_columns_are_all_monomials():
    Z = np.random.default_rng(0).normal(size=(7, 3))
    ours = Polynomial.of([Input("u"), Input("v"), Input("w")], 3)
    theirs = PolynomialFeatures(3)
    expected = theirs.fit_transform(Z)
    assert len(ours.terms) == expected.shape[1] == 20
    order = [theirs.powers_.tolist().index(list(e)) for e in ours.exponents]
    np.testing.assert_allclose(ours.values(Z), expected[:, order])
    np.testing.assert_array_equal(ours.repeats, 1)


@pytest.mark.parametrize(("degree", "penalty"), [(2, 3.0), (3, 0.7), (4, 50.0)])
def test_one_column_with_a_shared_penalty_predicts_as_the_repeated_columns_do(degree, penalty):
    rng = np.random.default_rng(1)
    Z = np.column_stack([rng.choice([-1.0, 1.0], 80), rng.normal(size=80)])
    y = rng.normal(size=80)
    ours = Polynomial.of([Input("a", is_sign=True), Input("x")], degree)
    Phi, full = ours.values(Z), PolynomialFeatures(degree).fit_transform(Z)
    assert ours.repeats.sum() == full.shape[1]
    one = Phi @ np.linalg.solve(Phi.T @ Phi + np.diag(penalty / ours.repeats), Phi.T @ y)
    many = full @ np.linalg.solve(full.T @ full + penalty * np.eye(full.shape[1]), full.T @ y)
    np.testing.assert_allclose(one, many, atol=1e-12)


def test_a_power_stays_below_the_number_of_distinct_values():
    terms = Polynomial.of([Input("x", n_values=2), Input("z", n_values=3)], 3).terms
    assert terms == ("1", "x", "z", "x*z", "z^2", "x*z^2")


def test_without_inputs_there_is_the_constant():
    constant = Polynomial.of([], 2)
    assert constant.terms == ("1",)
    np.testing.assert_array_equal(constant.values(np.empty((3, 0))), np.ones((3, 1)))
    assert constant.slopes(np.empty((3, 0)), np.ones((3, 1)), np.ones((1, 2))).shape == (3, 0, 2)


def test_slopes_are_the_limit_of_differences():
    rng = np.random.default_rng(2)
    Z, W = rng.normal(size=(9, 3)), rng.normal(size=(16, 2))
    embedding = Polynomial.of([Input("a", is_sign=True), Input("x"), Input("z")], 3)
    slopes = embedding.slopes(Z, embedding.values(Z), W)
    for k in (1, 2):  # a sign has no slope
        step = 1e-6 * np.eye(3)[k]
        numeric = (embedding.values(Z + step) - embedding.values(Z - step)) @ W / 2e-6
        np.testing.assert_allclose(slopes[:, k], numeric, atol=1e-8)
