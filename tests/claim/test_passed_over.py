"""What a sweep passes over changes nothing: features above all that differs from Model A, and what nobody asks for."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate, fits
from fairstress.functionals.cfu import CFU
from fairstress.model.counterfactual import worlds

GRAPH = fs.CausalGraph.parse("a -> x, z, u, v; x -> z -> u -> v; z <-> u; x <-> z; a <-> x", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 400, random_state=0).frame
    frame["u"] += frame["z"] ** 2 / 4
    return fs.Audit.fit(frame, GRAPH, degrees={"x": 1, "z": 1, "u": 2, "v": 1}, predictor_degree=2, random_state=0)


def tying(*pairs: tuple[int, int, float]) -> np.ndarray:
    P = np.eye(5)
    for j, k, p in pairs:
        P[j, k] = P[k, j] = p
    return P


@pytest.mark.parametrize("pairs", [[], [(2, 3, 0.4)], [(1, 2, 0.3)], [(0, 1, 0.2), (2, 3, -0.3)]])
def test_worlds_are_those_of_a_walk_through_all_equations(audit, pairs):
    claim = audit.fitted.claim
    fitted = fits(claim, tying(*pairs)[None])
    for block in claim.blocks():
        every = worlds(claim.design, claim.model_a.weights, fitted[0].weights[None], block)
        known = claim.worlds(fitted, block)
        np.testing.assert_allclose(known.x_cf, every.x_cf, rtol=1e-13, atol=1e-13)
        for features in (True, False):
            residuals = claim.worlds(fitted, block, features=features).eps_cf
            np.testing.assert_allclose(residuals, every.eps_cf, rtol=1e-13, atol=1e-13)


def test_equations_that_no_residual_hangs_on_are_not_walked_through(audit):
    claim = audit.fitted.claim
    fitted = fits(claim, tying((2, 3, 0.4))[None])
    walked = [set(claim.worlds(fitted, b, features=False).moves) for b in claim.blocks()]
    assert walked == [{1, 2}] * len(walked)  # z and u: x lies above them, v below


@pytest.mark.parametrize("name", ["cfu", "blind", "effect"])
def test_the_derivative_by_a_pair_at_0_is_that_of_differences(audit, name):
    claim, functional = audit.fitted.claim, CFU()
    if name == "blind":
        claim = audit.baselines["blind"].claim
    if name == "effect":
        functional = audit.effect("v")
    P, h = tying((0, 1, 0.3)), 1e-4  # z <-> u stays at 0, and z and u at Model A's weights
    gradient = evaluate(claim, P, functional, gradient=True).gradient
    for j, k in ((0, 1), (1, 2), (2, 3)):
        ends = [P + way * h * tying((j, k, 1.0)) - way * h * np.eye(5) for way in (1, -1)]
        high, low = (evaluate(claim, end, functional).value for end in ends)
        assert gradient[j, k] + gradient[k, j] == pytest.approx((high - low) / (2 * h), rel=1e-5, abs=1e-8)
