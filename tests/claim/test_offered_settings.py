"""What cross-validation is offered by default, and how settings show themselves."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.measure import weighted_quantile
from fairstress.claim.spec import read_penalties


def test_ten_penalties_from_a_ten_thousandth_to_ten_thousand_are_offered_by_default():
    offered = read_penalties(None)
    assert len(offered) == 10
    np.testing.assert_allclose([offered[0], offered[-1]], [1e-4, 1e4], rtol=1e-12)
    np.testing.assert_allclose(np.diff(np.log10(offered)), 8 / 9, rtol=1e-12)


@pytest.mark.parametrize(("n", "ends"), [(4, "x4 1; penalty"), (5, "x4 1, ...; penalty")])
def test_settings_show_the_first_four_degrees_and_that_there_are_more(n, ends):
    names = [f"x{i + 1}" for i in range(n)]
    graph = fs.CausalGraph.parse(f"a -> {', '.join(names)}", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 60, random_state=0).frame
    given = {"degrees": dict.fromkeys(names, 1), "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    assert ends in repr(fs.Audit.fit(frame, graph, **given).settings)


@pytest.mark.parametrize(("q", "expected"), [(0.0, 1.0), (0.2, 1.0), (0.21, 2.0), (0.6, 2.0), (0.61, 5.0), (1.0, 5.0)])
def test_a_quantile_is_the_smallest_value_that_so_much_of_the_weight_does_not_exceed(q, expected):
    values, weight = np.array([5.0, 1.0, 2.0]), np.array([2.0, 1.0, 2.0])
    assert weighted_quantile(values, weight, q) == expected
