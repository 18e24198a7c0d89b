"""Intervals so far out that their probability is 0 in floating point still have a mean, and draws within them."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.model.draws import INSIDE, _inside
from fairstress.model.latent import interval_mean

FAR = [(39.0, 40.0), (45.0, np.inf), (100.0, 100.5), (3.0, 3.5)]


@pytest.mark.parametrize(("low", "high"), FAR)
def test_the_mean_in_the_right_tail_is_the_mirror_image_of_that_in_the_left(low, high):
    everyone = np.ones(1, dtype=bool)
    right = interval_mean(np.array([low]), np.array([high]), everyone)
    left = interval_mean(np.array([-high]), np.array([-low]), everyone)
    assert low < right[0] < high
    np.testing.assert_array_equal(right, -left)


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (0.5, 0.5 + 1e-12), (-np.inf, 0.0), (0.0, np.inf)])
def test_a_draw_at_an_end_of_its_interval_is_taken_inside(low, high):
    ends = np.array([max(low, -50.0), min(high, 50.0)])
    taken = _inside(ends, np.array([low]), np.array([high]))
    assert ((low < taken) & (taken < high)).all()
    assert np.abs(taken - ends).max() <= INSIDE + 1e-14  # rounding of numbers up to 50
