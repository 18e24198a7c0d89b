from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairstress.analyses.benchmarks.strength import HiddenCause
from fairstress.errors import SettingError

STORED = json.loads((Path(__file__).parents[2] / "reference" / "other_programs.json").read_text())
SHARES = [(0.01, 0.02), (0.3, 0.3), (0.05, 0.8), (0.9, 0.95), (0.0, 0.4)]


@pytest.mark.parametrize(("first", "second"), SHARES)
def test_a_common_cause_with_these_shares_of_two_errors_gives_them_this_correlation(first, second):
    """Errors ``sqrt(R2) h + sqrt(1 - R2) e``, with h and both e orthonormal in the sample: no sampling error."""
    h, e1, e2 = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 3)))[0].T
    u = np.sqrt(first) * h + np.sqrt(1 - first) * e1
    v = np.sqrt(second) * h + np.sqrt(1 - second) * e2
    cause = HiddenCause(first, second)
    assert cause.correlation == pytest.approx(u @ v, abs=1e-14)
    # partial R2 of h with the second given the first: from residuals on the first
    h_left, v_left = (t - u * (u @ t) for t in (h, v))
    partial = (h_left @ v_left) ** 2 / ((h_left @ h_left) * (v_left @ v_left))
    assert cause.r2_second_given_first == pytest.approx(partial, abs=1e-14)


@pytest.mark.parametrize(("first", "second"), SHARES)
def test_shares_on_the_errors_and_partial_shares_go_back_and_forth(first, second):
    there = HiddenCause(first, second)
    back = HiddenCause.of_partial(first, there.r2_second_given_first)
    assert (back.r2_first, back.r2_second) == pytest.approx((first, second), abs=1e-15)
    rho2 = there.correlation**2
    assert rho2 / (1 - rho2) == pytest.approx(there.r2_second_given_first * first / (1 - first), abs=1e-14)


def test_a_correlation_needs_its_square_as_the_product_of_the_shares():
    for p in (-0.7, 0.0, 0.2):
        cause = HiddenCause.of_correlation(p)
        assert (cause.r2_first, cause.r2_second) == (abs(p), abs(p))
        assert cause.correlation == pytest.approx(abs(p))
    uneven = HiddenCause.of_correlation(0.2, r2_first=0.1)
    assert (uneven.r2_first, uneven.r2_second) == pytest.approx((0.1, 0.4))


@pytest.mark.parametrize("point", STORED["sensemakr"]["points"], ids=lambda p: f"{p['r2_treatment']}")
def test_sensemakrs_partial_shares_give_the_correlation_that_moves_the_estimate_as_far(point):
    """By the closed form the estimate moves by ``rho / sqrt(1 - rho^2)`` times one factor for all causes."""
    estimate, first = STORED["sensemakr"]["estimate"], STORED["sensemakr"]["points"][0]

    def odds(p):
        rho = HiddenCause.of_partial(p["r2_treatment"], p["r2_outcome"]).correlation
        return rho / np.sqrt(1 - rho**2)

    factor = (estimate - first["reduced"]) / odds(first)
    assert estimate - factor * odds(point) == pytest.approx(point["reduced"], rel=1e-11, abs=1e-11)
    assert estimate + factor * odds(point) == pytest.approx(point["increased"], rel=1e-11)


def test_shares_that_no_cause_has_are_refused():
    with pytest.raises(SettingError, match="r2_first is 1: give a share of variance from 0 up to"):
        HiddenCause(1, 0.5)
    with pytest.raises(SettingError, match="r2_second_given_first is 'much'"):
        HiddenCause.of_partial(0.2, "much")
    with pytest.raises(SettingError, match="the correlation of the errors is 1"):
        HiddenCause.of_correlation(1)
    with pytest.raises(SettingError, match=r"r2_first is 0\.04: .* the correlation 0\.2, .* give more than 0\.04"):
        HiddenCause.of_correlation(0.2, r2_first=0.04)
