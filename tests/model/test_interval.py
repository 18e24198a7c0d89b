"""Intervals have the same probability whichever way it is computed, and keep it where no number could hold it."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.model import interval as one
from fairstress.model.interval import Mass, given, interval
from fairstress.model.rectangle import rectangles


@pytest.mark.parametrize("width", [1e-6, 0.1, 0.2, 0.5, 3.0, np.inf])
def test_differences_of_distribution_functions_are_their_scaled_forms(monkeypatch, width):
    a = np.linspace(-7.5, 7.5, 301)
    plain = interval(a, a + width)
    monkeypatch.setattr(one, "CLOSE", 2.0)  # nothing but scaled forms
    scaled = interval(a, a + width)
    assert np.ndim(scaled.peak) == 1
    assert plain.log_p == pytest.approx(scaled.log_p, rel=1e-14, abs=1e-14)
    assert plain.p == pytest.approx(scaled.p, rel=1e-13)


def test_an_interval_is_its_mirror_image():
    a = np.linspace(-60, 60, 241)
    for width in (1e-3, 0.7, np.inf):
        assert np.array_equal(interval(a, a + width).log_p, interval(-a - width, -a).log_p)


def test_a_mass_of_any_logarithm_has_that_logarithm():
    log_p = np.array([0.0, -1e-9, -1.0, -700.0, -1e6, -np.inf])
    assert Mass.of_log(log_p).log_p == pytest.approx(log_p, rel=1e-15)
    assert Mass.of_log(log_p).p == pytest.approx(np.exp(log_p), rel=1e-13)


def test_a_rectangle_is_its_first_coordinates_interval_times_the_rest_given_a_narrow_one():
    R, x = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.0]]), np.array([0.4, -1.1])
    a, b = np.array([x - 5e-7, [-1.0, 0.3], [-np.inf, -0.2]]), np.array([x + 5e-7, [0.5, np.inf], [0.8, 1.0]])
    whole = rectangles(a.T, b.T, R).log_probability
    lower, upper, C = given(a, b, R, 0, x)
    rest = rectangles(lower.T, upper.T, C).log_probability
    assert whole == pytest.approx(interval(a[0], b[0]).log_p + rest, abs=1e-9)
    for row in range(2):
        lower_row, upper_row, _ = given(a, b, R, 0, x[[row]], np.array([row]))
        assert np.array_equal(lower_row, lower[:, [row]])
        assert np.array_equal(upper_row, upper[:, [row]])
