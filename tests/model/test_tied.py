"""Fits of the variables that a correlation ties, against fits of all variables at once."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.claim import Claim

TEXT = "a -> x, z, u, v; x -> u; u -> v; {} <-> x; z <-> u"
OPTIONS = {"max_degree": 2, "random_state": 0}


def claim_of(other: str, penalty: float) -> Claim:
    """A claim about four features, of which v stands in no pair; the other end of a pair with x may be A."""
    graph = fs.CausalGraph.parse(TEXT.format(other), protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=1).frame
    return fs.Audit.fit(frame, graph, penalty=penalty, **OPTIONS).fitted.claim


def tying(claim: Claim, *pairs: tuple[int, int, float]) -> np.ndarray:
    P = np.eye(len(claim.model_a.correlation))
    for j, k, p in pairs:
        P[j, k] = P[k, j] = p
    return P


@pytest.mark.parametrize("penalty", [0.0, 3.0])
@pytest.mark.parametrize(("other", "pairs"), [("z", [(0, 1, 0.4)]), ("a", [(0, 1, 0.4)]), ("a", [(2, 3, -0.5)])])
def test_variables_that_nothing_ties_need_no_fit(other, pairs, penalty):
    claim = claim_of(other, penalty)
    P = tying(claim, *pairs)
    (some,) = claim.system.fits(P[None], claim.model_a, check_minima=True)
    (every,) = claim.system.fit_together(P[None], [claim.model_a], check_minima=True)
    np.testing.assert_allclose(some.weights, every.weights, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(some.log_scales, every.log_scales, rtol=1e-9, atol=1e-12)
    assert some.log_likelihood == pytest.approx(every.log_likelihood, rel=1e-12)
    assert some.objective == pytest.approx(every.objective, rel=1e-12)
    np.testing.assert_array_equal(some.correlation, P)


def test_what_is_not_tied_stays_model_as_to_the_last_digit():
    claim = claim_of("a", 3.0)
    P = tying(claim, (0, 1, 0.4))
    (fit,) = claim.system.fits(P[None], claim.model_a, check_minima=False)
    moved = {int(j) for j in claim.design.feature_of[(fit.weights != claim.model_a.weights)[:-1]]}
    assert moved == {0}  # x alone
    np.testing.assert_array_equal(fit.log_scales[1:], claim.model_a.log_scales[1:])


@pytest.mark.parametrize("other", ["z", "a"])
def test_independent_errors_give_model_a_wherever_the_fit_sets_out(other):
    claim = claim_of(other, 3.0)
    independent = tying(claim)
    (away,) = claim.system.fits(tying(claim, (0, 1, 0.5))[None], claim.model_a, check_minima=False)
    (back,) = claim.system.fits(independent[None], away, check_minima=False)
    np.testing.assert_array_equal(back.weights, claim.model_a.weights)
    assert back.log_likelihood == claim.model_a.log_likelihood


def test_patterns_side_by_side_are_fitted_as_each_alone():
    claim = claim_of("a", 0.0)
    P = np.array([tying(claim), tying(claim, (0, 1, 0.3)), tying(claim, (0, 1, 0.3), (2, 3, 0.2))])
    beside = claim.system.fits(P, claim.model_a, check_minima=False)
    for fit, one in zip(beside, P, strict=True):
        (alone,) = claim.system.fits(one[None], claim.model_a, check_minima=False)
        np.testing.assert_array_equal(fit.weights, alone.weights)


def test_features_that_are_tied_without_the_attribute_are_fitted_where_the_penalty_is_heavy():
    """Minima are sought from fits of the features alone, some of which P ties."""
    graph = fs.CausalGraph.parse("a -> x, z, v, u; a <-> u; x <-> z; z <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 80, random_state=1).frame
    degrees = dict.fromkeys(graph.features, 1)
    audit = fs.Audit.fit(frame, graph, degrees=degrees, penalty=200.0, predictor_degree=1, random_state=0)
    P = {("a", "u"): 0.2, ("x", "z"): 0.3, ("z", "v"): -0.2}
    fitted = audit.model_b(P)
    # the two parts have nothing to do with each other
    apart = [audit.model_b({pair: P[pair] for pair in pairs}) for pairs in ([("a", "u")], [("x", "z"), ("z", "v")])]
    alone = audit.model_a.log_likelihood
    assert fitted.log_likelihood - alone == pytest.approx(sum(one.log_likelihood - alone for one in apart), rel=1e-6)
