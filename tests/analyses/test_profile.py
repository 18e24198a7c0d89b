from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import SettingError

PAIR = ("ugpa", "lsat")


def test_the_default_grid_has_201_points_from_minus_to_plus_099(law_audit):
    found = law_audit.profile(PAIR)
    assert found.correlation.size == 201
    assert (found.correlation[0], found.correlation[100], found.correlation[-1]) == (-0.99, 0.0, 0.99)
    assert found.pair == PAIR
    assert found.worst[0] == 0.99


def test_each_point_is_the_cfu_and_the_likelihood_at_that_correlation(law_audit):
    found = law_audit.profile(("lsat", "ugpa"), [-0.4, 0.7]).to_frame()
    assert list(found) == ["correlation", "cfu", "cfu_unpenalised", "log_likelihood", "status"]
    for row in found.itertuples():
        np.testing.assert_allclose(row.cfu, law_audit.cfu({PAIR: row.correlation}), rtol=1e-9)
        np.testing.assert_allclose(
            row.log_likelihood, law_audit.model_b({PAIR: row.correlation}).log_likelihood, rtol=1e-13
        )


def test_the_unpenalised_column_is_the_audit_with_penalty_zero(law_frame):
    graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    options = {"degrees": {"ugpa": 1, "lsat": 1}, "predictor_degree": 2, "predictor_penalty": 10.0}
    with_penalty = fs.Audit.fit(law_frame, graph, penalty=50.0, **options).profile(PAIR, [-0.6, 0.3])
    without = fs.Audit.fit(law_frame, graph, penalty=0.0, **options).profile(PAIR, [-0.6, 0.3])
    np.testing.assert_allclose(with_penalty.cfu_unpenalised, without.cfu, rtol=1e-9)
    np.testing.assert_array_equal(without.cfu, without.cfu_unpenalised)
    assert not with_penalty.shows_penalty_only
    assert "shows the penalty" not in with_penalty.summary()


def test_the_absorbed_pair_of_the_law_school_is_said_to_show_the_penalty(law_audit):
    found = law_audit.profile(PAIR, [-0.9, 0.0, 0.9])
    assert found.shows_penalty_only
    assert "This curve shows the penalty, not the confounding" in found.summary()


def test_a_pair_that_only_moves_the_likelihood_is_not_called_absorbed():
    graph = fs.CausalGraph.parse("a -> x, z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, correlation={("x", "z"): 0.5}, random_state=0).frame
    options = {"degrees": {"x": 1, "z": 1}, "predictor_degree": 1, "predictor_penalty": 1}
    found = fs.Audit.fit(frame, graph, penalty=1, **options).profile(("x", "z"), [-0.5, 0.0, 0.5])
    assert found.shows_penalty_only
    assert not found.is_absorbed
    assert "The likelihood moves with this pair's correlation" in found.summary().replace("\n", " ")
    assert "absorb" not in found.summary()
    assert "The log likelihood is highest at correlation 0.5" in found.summary()


def test_an_absorbed_pair_is_called_so_at_penalty_zero_too(law_frame, law_graph):
    found = fs.Audit.fit(law_frame, law_graph, penalty=0, degrees={"ugpa": 1, "lsat": 2}).profile(PAIR, [-0.5, 0.5])
    assert found.is_absorbed
    assert "CFU is 0 up to rounding" in found.summary()
    assert "largest CFU" not in found.summary()


def test_ill_conditioned_equations_are_not_compared_with_their_unpenalised_noise():
    rng = np.random.default_rng(0)
    a = rng.choice([-1, 1], 2000)
    x, z, v = rng.standard_cauchy((3, 2000)) + a
    frame = pd.DataFrame({"a": a, "x": x, "z": x + z, "v": z + v, "y": rng.normal(size=2000)})
    graph = fs.CausalGraph.parse("a -> x, z, v; x -> z, v; z -> v; x <-> z", protected="a", outcome="y")
    degrees = {"x": 3, "z": 3, "v": 4}
    audit = fs.Audit.fit(frame, graph, degrees=degrees, penalty=1, predictor_degree=1, predictor_penalty=1)
    assert audit.fitted.claim.condition() > 1e10
    assert audit.profile(("x", "z"), [0.5]).cfu_unpenalised is None


def test_progress_is_reported_up_to_the_last_point(law_audit):
    seen = []
    law_audit.profile(PAIR, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(67, 201), (134, 201), (201, 201)]


def test_grids_and_pairs_that_make_no_sense_are_refused(law_audit):
    with pytest.raises(SettingError, match="the correlation of the grid is 1"):
        law_audit.profile(PAIR, [0.5, 1.0])
    with pytest.raises(SettingError, match="grid is empty"):
        law_audit.profile(PAIR, [])
    with pytest.raises(SettingError, match="does not name the pair ugpa <-> zfya"):
        law_audit.profile(("ugpa", "zfya"))
