"""Two predictors of the same people at once have the CFU that each has alone, however changes are measured."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import fits
from fairstress.functionals.cfu import CFU

GRAPH = fs.CausalGraph.parse("a -> x -> z; a <-> x; x <-> z", protected="a", outcome="y")
P = np.array([[[1, 0.3, 0], [0.3, 1, 0.2], [0, 0.2, 1]]])


@pytest.mark.parametrize("measure", ["squared", "absolute", 0.9, "max"])
def test_cfu_of_both_is_the_cfu_of_each(measure):
    frame = fs.datasets.simulate(GRAPH, 100, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 2}, "penalty": 1.0, "predictor_degree": 2, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(frame, GRAPH, measure=measure, **given)
    ours, theirs = audit.fitted.claim, audit.baselines["blind"].claim
    found = fits(ours, P)
    both = CFU().of_both(ours, theirs, found)
    np.testing.assert_allclose(both, [CFU().values(ours, found), CFU().values(theirs, found)], rtol=1e-10)
    assert both[0] != pytest.approx(both[1])
