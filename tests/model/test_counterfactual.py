from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs

# without a -> z the correlation of x and z is no longer absorbed, so that the true one must be known
GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z; b -> z", protected="a", outcome="y")
WEIGHTS = {"x": {"1": 1.0, "a": 0.8}, "z": {"x": 0.7, "b": -0.5}, "b": {"1": 2.0}}
PAIR = ("x", "z")
OPTIONS = {"degrees": {"x": 1, "z": 1, "b": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 0}


def errors(n: int, rho: float, seed: int) -> tuple[float, float]:
    """Root mean squared error of the counterfactual z, and error of the weight of x in z's equation."""
    truth = fs.datasets.simulate(GRAPH, n, correlation={PAIR: 0.6}, weights=WEIGHTS, random_state=seed)
    audit = fs.Audit.fit(truth.frame, GRAPH, **OPTIONS)
    off = audit.counterfactuals({PAIR: rho})["z"] - truth.counterfactuals["z"]
    sd = truth.frame.std(ddof=0)
    weight = audit.model_b({PAIR: rho}).weights["z", "x"] * sd["z"] / sd["x"]  # back to the table's units
    return float(np.sqrt((off**2).mean())), abs(weight - WEIGHTS["z"]["x"])


def test_at_the_true_correlation_weights_and_counterfactuals_converge_to_the_truth():
    sizes = [500, 4000, 32000]
    mean = np.array([np.mean([errors(n, 0.6, seed) for seed in range(12)], axis=0) for n in sizes])
    for column in mean.T:
        slope = np.polyfit(np.log(sizes), np.log(column), 1)[0]
        # root n: -1/2; the mean of 12 absolute errors at each size is good to about a fifth, the slope to about 0.1
        assert -0.75 < slope < -0.25
    assert (mean[-1] < 0.02).all()


def test_at_independent_errors_they_do_not():
    off, weight = errors(32000, 0.0, 0)
    assert off > 0.2
    assert weight > 0.2


def test_features_that_do_not_descend_from_the_protected_attribute_stay_as_they_are():
    truth = fs.datasets.simulate(GRAPH, 500, random_state=0)
    audit = fs.Audit.fit(truth.frame, GRAPH, **OPTIONS)
    np.testing.assert_allclose(audit.counterfactuals({PAIR: 0.5})["b"], truth.frame["b"], rtol=1e-13)


def test_counterfactuals_by_hand_in_the_tables_units(law_frame, law_graph, law_audit):
    """Abduction, action and prediction written out for Model A's weights on the standardised law-school table."""
    x = law_frame[["ugpa", "lsat"]].to_numpy()
    mean, sd = x.mean(axis=0), x.std(axis=0)
    g, s = ((x - mean) / sd).T
    a = np.where(law_frame["race"] == "White", 1.0, -1.0)
    w = law_audit.model_a.weights
    g_cf = g - 2 * a * w["ugpa", "race"]

    def lsat(a, g):
        terms = {"1": 1.0, "race": a, "ugpa": g, "race*ugpa": a * g, "ugpa^2": g**2}
        return sum(w["lsat", term] * value for term, value in terms.items())

    s_cf = s - lsat(a, g) + lsat(-a, g_cf)
    found = law_audit.counterfactuals({})
    np.testing.assert_allclose(found[["ugpa", "lsat"]], np.column_stack([g_cf, s_cf]) * sd + mean, rtol=1e-10)
    assert (found["race"] != law_frame["race"]).all()


def test_a_numeric_attribute_is_moved_by_its_shift():
    graph = fs.CausalGraph.parse("a -> x -> z; a -> z; x <-> z", protected="a", outcome="y")
    truth = fs.datasets.simulate(graph, 50_000, binary=False, shift=0.5, random_state=0)
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 0}
    audit = fs.Audit.fit(truth.frame, graph, shift=0.5, **options)
    off = audit.counterfactuals({PAIR: 0.3}) - truth.counterfactuals
    # weights from 50,000 rows are good to about 1 / sqrt(50,000) = 0.004
    assert np.abs(off).max(axis=None) < 0.02
    assert audit.cfu({PAIR: 0.3}) == pytest.approx(0, abs=1e-20)
