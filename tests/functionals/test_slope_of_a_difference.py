"""The derivative of CFU less a baseline's is the limit of differences."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate
from fairstress.functionals.cfu import evaluate_cfu
from fairstress.functionals.relative import RelativeCFU

GRAPH = fs.CausalGraph.parse("a -> x -> z; a <-> x; x <-> z", protected="a", outcome="y")


def correlation(p: float, q: float) -> np.ndarray:
    return np.array([[1, p, 0], [p, 1, q], [0, q, 1]])


def test_the_gradient_of_relative_cfu_is_that_of_central_differences():
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(frame, GRAPH, **given)
    claim, functional = audit.fitted.claim, RelativeCFU(audit.baselines["blind"].claim, "relative CFU")
    at, h = np.array([0.3, 0.2]), 1e-4
    gradient = evaluate(claim, correlation(*at), functional, gradient=True).gradient
    found = [(gradient + gradient.T)[pair] for pair in ((0, 1), (1, 2))]
    ends = [[evaluate(claim, correlation(*(at + way * h * e)), functional).value for way in (1, -1)] for e in np.eye(2)]
    assert found == pytest.approx([(up - down) / (2 * h) for up, down in ends], rel=1e-5)
    ours, theirs = (evaluate_cfu(one, correlation(*at)).value for one in (claim, functional.baseline))
    assert evaluate(claim, correlation(*at), functional).value == pytest.approx(ours - theirs, rel=1e-9)
