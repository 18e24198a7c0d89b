"""A group whose residuals are wider is named where the equation could be one of each group."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.notes import _wider

GRAPH = fs.CausalGraph.parse("a -> x -> z", protected="a", outcome="y")


def test_the_group_with_the_widest_residuals_is_named_with_the_ratio_where_the_equation_has_the_attribute():
    frame = fs.datasets.simulate(GRAPH, 400, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    fitted = fs.Audit.fit(frame, GRAPH, **given).fitted
    a, (of_x, of_z) = fitted.table.rows.a, fitted.claim.design.equations
    eps = np.empty(a.size)
    for code, scale in ((-1.0, 3.0), (1.0, 1.0)):
        own = np.linspace(-1, 1, int((a == code).sum()))
        eps[a == code] = scale * own / own.std()
    name, ratio = _wider(fitted, of_x, eps)
    assert name == str(fitted.table.protected.level(-1.0))
    assert ratio == pytest.approx(3.0, rel=0.02)  # whether scales divide by n or by n - 1
    assert _wider(fitted, of_z, eps) is None
    assert _wider(fitted, of_x, eps / np.where(a < 0, 3.0, 1.0)) is None
