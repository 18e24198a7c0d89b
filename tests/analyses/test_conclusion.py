"""What an audit comes to: at which budgets the audited predictor is compared with the alternative."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.conclusion import FEW_SIZES, _compared_sizes, steps_of


def fitted(*, takes_long: bool) -> SimpleNamespace:
    return SimpleNamespace(claim=SimpleNamespace(takes_long=takes_long))


@pytest.mark.parametrize("n", [1, 2, 4, 7, 8, 22])
def test_where_searches_take_long_a_few_budgets_are_compared_from_the_smallest_to_the_largest(n):
    sizes = np.linspace(0.0, 0.6, n).tolist()
    few = _compared_sizes(fitted(takes_long=True), sizes)
    assert {few[0], few[-1]} == {sizes[0], sizes[-1]}
    assert few == sorted(set(few) & set(sizes))
    assert len(few) == min(n, FEW_SIZES)


def test_elsewhere_every_budget_is_compared_and_counted():
    sizes = [0.0, 0.1, 0.25, 0.3, 0.5]
    assert _compared_sizes(fitted(takes_long=False), sizes) == sizes
    assert steps_of(fitted(takes_long=False), sizes) == len(sizes) + 2


@pytest.mark.parametrize(("shift", "said"), [(2.0, "2 points higher"), (-0.5, "0.5 points lower")])
def test_a_number_that_is_protected_is_said_to_be_moved_by_so_much(shift, said):
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, kinds={"a": "number"}, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, max_degree=1, penalty=1, shift=shift, units={"a": "points"}, random_state=0)
    lines = audit.summary().splitlines()
    assert lines[0] == f"Would this prediction be the same if a were {said}?"
    assert f"than if a were {said}." in " ".join(lines)
