from __future__ import annotations

import numpy as np

from fairstress.model.normal_cdf import FURTHEST, by_special_functions, hazard_of, log_normal_cdf


def test_the_table_agrees_with_special_functions_everywhere():
    """To rounding: values of size t^2/2 and slopes of size t are good to 15 digits."""
    t = np.concatenate([np.linspace(-1.5 * FURTHEST, 1.5 * FURTHEST, 200_001), [-1e5, -40.0, 40.0, 1e5, 0.0]])
    (log_cdf, hazard), (expected, slope) = log_normal_cdf(t), by_special_functions(t)
    assert (np.abs(log_cdf - expected) <= 4e-15 * (1 + t**2 / 2)).all()
    for found in (hazard, hazard_of(t)):
        assert (np.abs(found - slope) <= 4e-14 * (1 + np.abs(t))).all()


def test_a_value_is_the_same_to_the_last_bit_whatever_stands_beside_it():
    t = np.random.default_rng(0).normal(0, 6, (7, 33))
    together = *log_normal_cdf(t), hazard_of(t)
    for i in np.ndindex(t.shape):
        alone = *log_normal_cdf(t[i].reshape(1)), hazard_of(t[i].reshape(1))
        assert [part[0] for part in alone] == [part[i] for part in together]


def test_no_values_give_none():
    nobody = np.zeros((0, 3))
    assert [part.size for part in (*log_normal_cdf(nobody), hazard_of(nobody))] == [0, 0, 0]


def test_what_is_no_number_stays_none():
    t = np.array([0.0, np.nan, 9.0])
    assert [np.isnan(part).tolist() for part in (*log_normal_cdf(t), hazard_of(t))] == [[False, True, False]] * 3
