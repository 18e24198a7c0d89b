"""Limits read off replicates."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.analyses.bands.limits import BOTH, UPPER, Replication, estimates, order_statistic


def replication(simultaneous: bool = False, level: float = 0.95) -> Replication:
    return Replication(level, 199, 199, {}, "model b", simultaneous=simultaneous, penalised=False)


def test_a_limit_is_the_order_statistic_that_a_further_draw_exceeds_with_the_probability_left():
    # of 199 numbers the 190th: a 200th is above it in 10 of 200 places
    assert order_statistic(np.arange(1.0, 200.0)[:, None], 0.95)[0] == 190


def test_intervals_leave_half_of_the_rest_on_either_side():
    (one,) = estimates([100.0], np.arange(1.0, 200.0)[:, None], replication(), BOTH)
    assert (one.lower, one.upper) == (5.0, 195.0)


def test_upper_limits_have_no_lower_end_and_keep_the_audits_own_value():
    (one,) = estimates([7.0], np.arange(1.0, 200.0)[:, None], replication(), UPPER)
    assert one.lower is None
    assert one.value == 7.0
    assert float(one) == 7.0


@pytest.mark.parametrize("side", [UPPER, BOTH])
def test_simultaneous_limits_hold_the_level_s_share_of_replicates_at_all_points_at_once(side):
    draws = np.random.default_rng(0).standard_normal((399, 6))
    limits = estimates([0.0] * 6, draws, replication(simultaneous=True), side)
    upper = np.array([one.upper for one in limits])
    lower = np.array([-np.inf if one.lower is None else one.lower for one in limits])
    inside = ((draws <= upper) & (draws >= lower)).all(axis=1).mean()
    assert 0.95 <= inside <= 0.97  # one more rank is one or two more replicates per point
    alone = estimates([0.0] * 6, draws, replication(), side)
    assert all(one.upper >= other.upper for one, other in zip(limits, alone, strict=True))


def test_points_that_move_together_need_no_wider_limits():
    draws = np.repeat(np.random.default_rng(0).standard_normal((399, 1)), 5, axis=1)
    joint, alone = (estimates([0.0] * 5, draws, replication(simultaneous=s)) for s in (True, False))
    assert [one.upper for one in joint] == [one.upper for one in alone]
