"""Values that many people share are spread over the room between neighbours, and stay nearest to where they were."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fairstress.analyses.leakage import _unrounded

KNOWN = np.array([0.0, 1.0, 3.0, 10.0])


def part(*, is_ordered: bool = False, atom: float | None = None):
    return SimpleNamespace(equation=SimpleNamespace(law=SimpleNamespace(is_ordered=is_ordered, atom=atom)))


@pytest.mark.parametrize("atom", [None, 0.0])
def test_spread_values_stay_nearest_to_their_own_and_within_the_range(atom):
    x = np.repeat(KNOWN, 200)
    moved = _unrounded(x, np.random.default_rng(0), part(atom=atom))
    np.testing.assert_array_equal(KNOWN[np.abs(moved[:, None] - KNOWN).argmin(axis=1)], x)
    assert moved.min() >= 0.0
    assert moved.max() <= 10.0
    for value, (low, high) in zip(KNOWN[1:], [(0.5, 2.0), (2.0, 6.5), (6.5, 10.0)], strict=True):
        own = moved[x == value]
        if atom is None or value != 1.0:  # above an atom the least value has no neighbour below it
            assert own.min() < low + 0.05 * (high - low)
        assert own.max() > high - 0.05 * (high - low)
    assert (moved[x == 0.0] == 0.0).all() == (atom is not None)


def test_levels_and_values_that_few_share_stay_as_they_are():
    x = np.repeat(KNOWN, 200)
    assert _unrounded(x, np.random.default_rng(0), part(is_ordered=True)) is x
    y = np.arange(50.0)
    assert _unrounded(y, np.random.default_rng(0), part()) is y
