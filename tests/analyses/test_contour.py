"""CFU over two pairs is what it is at each of its points."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.contour import read_axis
from fairstress.errors import SettingError

GRAPH = fs.CausalGraph.parse("a -> x -> z -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")
FIRST, SECOND, THIRD = ("x", "z"), ("z", "v"), ("x", "v")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 200, random_state=4).frame
    return fs.Audit.fit(frame, GRAPH, degrees={"x": 1, "z": 1, "v": 1}, penalty=5)


def test_every_point_is_the_audits_cfu_there(audit):
    frame = audit.contour(FIRST, SECOND, [0.5, -0.5, 0.0], others={THIRD: 0.2}).to_frame()
    assert len(frame) == 9
    for row in frame.to_dict("records"):
        P = {FIRST: row["x <-> z"], SECOND: row["z <-> v"], THIRD: 0.2}
        assert row["cfu"] == pytest.approx(audit.cfu(P), rel=1e-8, abs=1e-15)
        assert row["log_likelihood"] == pytest.approx(audit.model_b(P).log_likelihood)
        assert row["min_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(audit.model_b(P).correlation)[0])


def test_only_what_the_errors_can_have_is_fitted(audit):
    """A chain of two correlations p, q has the smallest eigenvalue ``1 - sqrt(p^2 + q^2)``."""
    done = []
    found = audit.contour(
        FIRST, SECOND, np.linspace(-0.9, 0.9, 13), min_eigenvalue=0.12, progress=lambda *p: done.append(p)
    )
    frame = found.to_frame()
    feasible = np.hypot(frame["x <-> z"], frame["z <-> v"]) <= 0.88
    assert (frame["feasible"] == feasible).all()
    assert (frame["cfu"].notna() == feasible).all()
    assert ((frame["status"] != "") == feasible).all()
    assert done[-1] == (feasible.sum(), feasible.sum())


def test_exchanging_the_pairs_transposes_the_map(audit):
    one, other = audit.contour(FIRST, SECOND, [-0.3, 0.6]), audit.contour(SECOND, FIRST, [-0.3, 0.6])
    np.testing.assert_allclose(one.cfu, other.cfu.T, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((FIRST, FIRST[::-1]), {}, "both pairs are x <-> z"),
        ((FIRST, ("x", "y")), {}, "the graph does not name the pair x <-> y"),
        ((FIRST, SECOND, [0.1]), {}, "the grid has 1 correlations"),
        ((FIRST, SECOND, [0.1, 1.0]), {}, "strictly between -1 and 1"),
        ((FIRST, SECOND), {"min_eigenvalue": 0}, "min_eigenvalue is 0"),
    ],
)
def test_maps_that_make_no_sense_are_refused(audit, arguments, options, message):
    with pytest.raises(SettingError, match=message):
        audit.contour(*arguments, **options)


def test_without_a_grid_there_are_31_correlations_with_exactly_0_in_the_middle():
    axis = read_axis(None)
    assert (len(axis), axis[15], axis[0], axis[-1]) == (31, 0.0, -0.9, 0.9)
    np.testing.assert_allclose(np.diff(axis), 0.06)
