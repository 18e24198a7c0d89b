"""Which scale is offered for a number whose errors are skewed: one that all of its values have."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.diagnostics.shape import other_scale, scale_to_try

GRAPH = fs.CausalGraph.parse("a -> x", protected="a", outcome="y")


@pytest.mark.parametrize(
    ("least", "skewness", "expected"),
    [
        (0.5, 2.0, "log"),
        (0.0, 2.0, "log1p"),
        (-0.5, 2.0, "rank"),
        (0.5, -2.0, "rank"),
        (0.0, -2.0, "rank"),
    ],
)
def test_a_logarithm_is_offered_for_positive_numbers_that_are_skewed_to_the_right(least, skewness, expected):
    frame = fs.datasets.simulate(GRAPH, 60, random_state=0).frame
    frame["x"] = np.exp(frame["x"])
    frame["x"] += least - frame["x"].min()
    frame.loc[frame["x"].idxmin(), "x"] = least
    fitted = fs.Audit.fit(frame, GRAPH, degrees={"x": 1}, penalty=1.0, predictor_degree=1, predictor_penalty=1.0).fitted
    (equation,) = fitted.claim.design.equations
    assert scale_to_try(fitted, equation, (skewness, 0.0), 0.5, 1.0) == ("skewed", expected)
    assert other_scale(fitted, equation) == {0.5: "log", 0.0: "log1p", -0.5: "rank"}[least]
