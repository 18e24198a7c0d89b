from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.errors import SettingError

GRAPH = fs.CausalGraph.parse("a -> x -> z; a -> z; x <-> z; a <-> x", protected="a", outcome="y")
simulate = fs.datasets.simulate


def test_features_are_their_equations_at_the_true_weights_and_noise():
    weights = {"x": {"1": 1.0, "a": 0.5}, "z": {"x": -2.0, "a*x": 0.25, "x^2": 0.1}}
    truth = simulate(GRAPH, 500, weights=weights, scales={"z": 0.3}, degrees={"z": 2}, random_state=0)
    a, x, z = (truth.frame[name] for name in "axz")
    np.testing.assert_allclose(x, 1 + 0.5 * a + truth.noise["x"])
    np.testing.assert_allclose(z, -2 * x + 0.25 * a * x + 0.1 * x**2 + truth.noise["z"])
    x_cf = 1 - 0.5 * a + truth.noise["x"]
    np.testing.assert_allclose(truth.counterfactuals["x"], x_cf)
    z_cf = -2 * x_cf - 0.25 * a * x_cf + 0.1 * x_cf**2 + truth.noise["z"]
    np.testing.assert_allclose(truth.counterfactuals["z"], z_cf)
    assert truth.weights["z"]["x^2"] == 0.1
    assert truth.scales == {"a": 1.0, "x": 1.0, "z": 0.3}


def test_errors_have_the_correlation_asked_for_also_with_the_protected_attribute():
    truth = simulate(GRAPH, 200_000, correlation={("x", "z"): 0.4, ("a", "x"): -0.5}, random_state=1)
    # correlations of 200,000 draws are good to about 0.002
    np.testing.assert_allclose(truth.noise.corr(), truth.correlation, atol=0.01)
    assert truth.correlation.loc["a", "x"] == -0.5
    assert set(truth.frame["a"]) == {-1, 1}
    np.testing.assert_array_equal(truth.frame["a"], np.where(truth.noise["a"] >= 0, 1, -1))


def test_an_attribute_with_parents_depends_on_them_and_a_gaussian_one_is_shifted():
    graph = fs.CausalGraph.parse("r -> a -> x; r -> x", protected="a", outcome="y")
    truth = simulate(graph, 1000, weights={"a": {"r": 2.0}}, random_state=0)
    np.testing.assert_array_equal(truth.frame["a"], np.where(2 * truth.frame["r"] + truth.noise["a"] >= 0, 1, -1))
    np.testing.assert_array_equal(truth.counterfactuals["r"], truth.frame["r"])
    gaussian = simulate(graph, 1000, binary=False, shift=0.7, random_state=0)
    np.testing.assert_allclose(gaussian.counterfactuals["a"] - gaussian.frame["a"], 0.7)


def test_the_outcome_is_the_sum_of_its_parents_and_noise():
    graph = fs.CausalGraph.parse("a -> x -> z; z -> y", protected="a", outcome="y")
    truth = simulate(graph, 50_000, weights={"z": {"x": 3.0}}, random_state=0)
    rest = truth.frame["y"] - truth.frame["z"]
    assert rest.std() == pytest.approx(1, abs=0.02)
    assert abs(np.corrcoef(rest, truth.frame["x"])[0, 1]) < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"xx": {}}}, "weights names 'xx', which has no structural equation"),
        ({"weights": {"z": {"w": 1}}}, "the term 'w', which its equation does not have"),
        ({"degrees": {"z": -1}}, "the degree of 'z' is -1"),
        ({"scales": {"x": 0}}, "the scale of 'x' is 0"),
        ({"scales": {"a": 2.0}}, "a two-valued attribute's latent error has scale 1"),
        ({"correlation": {("a", "z"): 0.1}}, "does not name the pair a <-> z"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(SettingError, match=message):
        simulate(GRAPH, 10, **options)
    with pytest.raises(SettingError, match="n is 0"):
        simulate(GRAPH, 0)
