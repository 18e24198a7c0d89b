from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from fairstress.errors import Status
from fairstress.model.newton import minimise, solve_definite


def problems(count, d=3, seed=0):
    """``z'Tz/2 - sum log z_j`` for random definite T: convex, and z stays positive."""
    root = np.random.default_rng(seed).standard_normal((count, d, 2 * d))
    T = root @ root.transpose(0, 2, 1)

    def objectives(z, which):
        g = (T[which] @ z[:, :, None])[:, :, 0]
        H = T[which] + np.eye(d) / z[:, :, None] ** 2
        return (z * g).sum(axis=1) / 2 - np.log(z).sum(axis=1), g - 1 / z, H

    return T, objectives


def run(T, objectives, starts):
    return minimise(objectives, starts, T.shape[1], 1e-14, np.einsum("gii->gi", T) / 2)


def test_every_end_has_no_slope_and_positive_coordinates_however_far_away_it_set_out():
    T, objectives = problems(40)
    ends = run(T, objectives, np.exp(np.random.default_rng(1).uniform(-6, 6, (40, 3))))
    assert (ends.z > 0).all()
    assert set(ends.status) == {Status.CONVERGED}
    F, g, _ = objectives(ends.z, np.arange(40))
    np.testing.assert_allclose(g * ends.z, 0, atol=1e-9)
    np.testing.assert_allclose(ends.F, F, rtol=1e-12)


def test_an_end_is_the_same_to_the_last_bit_alone_and_among_others():
    T, objectives = problems(20)
    starts = np.exp(np.random.default_rng(1).uniform(-3, 3, (20, 3)))
    ends = run(T, objectives, starts)
    for i in range(20):
        alone = run(T[i : i + 1], lambda z, which, i=i: objectives(z, which + i), starts[i : i + 1])
        assert alone.z.tobytes() == ends.z[i].tobytes()
        assert alone.F.tobytes() == ends.F[i].tobytes()


def test_an_objective_that_says_it_falls_and_does_not_stalls_alone():
    T, objectives = problems(3)

    def deceived(z, which):
        F, g, H = objectives(z, which)
        return F, np.where((which == 1)[:, None], -g, g), H

    ends = run(T, deceived, np.full((3, 3), 0.7))
    assert list(ends.status) == [Status.CONVERGED, Status.STALLED, Status.CONVERGED]


def test_what_stalls_where_digits_are_lost_says_that_they_are_lost():
    T, objectives = problems(3)
    T[1] = np.ones((3, 3)) + 1e-11 * np.eye(3)  # its coordinates nearly determine each other

    def deceived(z, which):
        F, g, _ = objectives(z, which)
        return F, -g, T[which]

    ends = run(T, deceived, np.full((3, 3), 0.7))
    assert list(ends.status) == [Status.STALLED, Status.LOST_DIGITS, Status.STALLED]


@pytest.mark.parametrize("count", [1, 5])
def test_definite_systems_are_solved_and_an_indefinite_one_beside_them_changes_no_bit(count):
    rng = np.random.default_rng(0)
    T, _ = problems(count, d=4)
    rhs = rng.standard_normal((count, 4))
    solved = solve_definite(T, rhs)
    np.testing.assert_allclose(solved, [linalg.solve(A, b) for A, b in zip(T, rhs, strict=True)], rtol=1e-9)
    indefinite = np.diag([1.0, -1.0, 1.0, 1.0])[None]
    beside = solve_definite(np.concatenate([T, indefinite]), np.concatenate([rhs, np.ones((1, 4))]))
    assert beside[:-1].tobytes() == solved.tobytes()
    np.testing.assert_allclose(beside[-1], 1.0)  # the direction that curves downwards is mirrored
