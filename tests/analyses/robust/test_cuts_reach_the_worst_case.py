"""A robust predictor is accepted only once its worst case hardly exceeds what the cuts found so far say."""

from __future__ import annotations

import fairstress as fs
from fairstress.analyses.robust.cuts import TOLERANCE, CuttingPlanes
from fairstress.analyses.worst_case import Solver

GRAPH = fs.CausalGraph.parse("a -> w, x, z; w -> x; a <-> w; a <-> x; a <-> z", protected="a", outcome="y")


def test_the_worst_case_of_a_robust_predictor_is_that_of_its_cuts():
    frame = fs.datasets.simulate(GRAPH, 100, correlation={("a", "x"): 0.2}, random_state=1).frame
    given = {"degrees": {"w": 1, "x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1}
    fitted = fs.Audit.fit(frame, GRAPH, random_state=0, **given).fitted
    planes = CuttingPlanes.of(fitted, 0.5, Solver.of(fitted, "pairwise", fs.Search(starts=2), None))
    point = planes.solve(1.0)
    assert len(planes.cuts) > 1
    assert point.cfu <= (1 + TOLERANCE) * planes.largest(point.predictor.weights)
