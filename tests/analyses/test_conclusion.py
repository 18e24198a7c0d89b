"""What an audit comes to: at which budgets the audited predictor is compared with the alternative."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fairstress.analyses.conclusion import FEW_SIZES, _compared_sizes, steps_of


def fitted(*, is_slow: bool) -> SimpleNamespace:
    return SimpleNamespace(claim=SimpleNamespace(is_slow=is_slow))


@pytest.mark.parametrize("n", [1, 2, 4, 7, 8, 22])
def test_where_searches_take_long_a_few_budgets_are_compared_from_the_smallest_to_the_largest(n):
    sizes = np.linspace(0.0, 0.6, n).tolist()
    few = _compared_sizes(fitted(is_slow=True), sizes)
    assert {few[0], few[-1]} == {sizes[0], sizes[-1]}
    assert few == sorted(set(few) & set(sizes))
    assert len(few) == min(n, FEW_SIZES)


def test_elsewhere_every_budget_is_compared_and_counted():
    sizes = [0.0, 0.1, 0.25, 0.3, 0.5]
    assert _compared_sizes(fitted(is_slow=False), sizes) == sizes
    assert steps_of(fitted(is_slow=False), sizes) == len(sizes) + 2
