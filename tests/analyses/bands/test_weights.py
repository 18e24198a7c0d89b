"""Weights of replicates: who is drawn together, and what they add up to."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.bands.weights import Sampler

GRAPH = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
OPTIONS = {"degrees": {"x": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}


def people(n: int = 60):
    return fs.datasets.simulate(GRAPH, n, random_state=0).frame


def sampler(frame, bands: fs.Bootstrap | None = None, **options) -> Sampler:
    return Sampler.of(fs.Audit.fit(frame, GRAPH, **OPTIONS, **options).fitted.table, bands or fs.Bootstrap())


def drawn(of: Sampler, count: int = 200) -> np.ndarray:
    seeds = np.random.SeedSequence(1).spawn(count)
    return np.array([of.draw(number, seed) for number, seed in enumerate(seeds)])


def test_the_weights_of_every_replicate_add_up_to_those_of_the_audit():
    of = sampler(people(), sample_weight=np.linspace(0.5, 2, 60))
    np.testing.assert_allclose(drawn(of).sum(axis=1), of.weight.sum(), rtol=1e-12)


def test_everyone_of_a_cluster_has_one_random_weight():
    of = sampler(people(), cluster=np.repeat(np.arange(20), 3))
    weights = drawn(of).reshape(200, 20, 3)
    assert np.ptp(weights, axis=2).max() == 0
    assert np.ptp(weights, axis=1).min() > 0


def test_a_replicate_takes_everyone_from_one_of_several_completed_tables():
    frames = [people().assign(x=lambda f, shift=shift: f["x"] + shift) for shift in (0.0, 0.1, 0.2)]
    of = sampler(frames)
    weights = drawn(of).reshape(200, 3, 60)
    assert ((weights > 0).all(axis=2).sum(axis=1) == 1).all()
    assert set(np.flatnonzero((weights > 0).all(axis=2).any(axis=0))) == {0, 1, 2}


@pytest.mark.parametrize(("counts", "variance"), [(False, 9.0), (True, 3.0)])
def test_a_weight_of_three_is_one_person_for_others_or_three_people(counts, variance):
    """Exp(1) times 3 has variance 9, a sum of three Exp(1) has variance 3."""
    of = sampler(people(400), fs.Bootstrap(counts=counts), sample_weight=np.full(400, 3.0))
    # 80,000 draws of variance up to 9, which is known to about 2 %; that they add up takes 1/400 off
    assert drawn(of).var() == pytest.approx(variance, rel=0.05)


def test_a_surveys_own_replicate_weights_are_taken_as_they_are_up_to_their_sum():
    weights = np.random.default_rng(0).integers(0, 3, (60, 45)).astype(float)
    of = sampler(people(), fs.Bootstrap(replicate_weights=fs.ReplicateWeights(weights)))
    first = of.draw(7, np.random.SeedSequence(0))
    np.testing.assert_allclose(first / first.sum(), weights[:, 7] / weights[:, 7].sum())


def test_replicate_weights_of_other_people_are_refused():
    bands = fs.Bootstrap(replicate_weights=fs.ReplicateWeights(np.ones((59, 45))))
    with pytest.raises(fs.SettingError, match="replicate_weights have 59 rows, but the data have 60"):
        sampler(people(), bands)


def test_replicate_weights_are_refused_where_people_were_left_out_or_nobody_is_weighed():
    weights = np.ones((60, 45))
    bands = fs.Bootstrap(replicate_weights=fs.ReplicateWeights(weights))
    gap = people()
    gap.loc[3, "x"] = np.nan
    with pytest.raises(fs.SettingError, match="but missing is 'drop', which changes rows' positions"):
        sampler(gap, bands, missing="drop")
    weights[:, 7] = np.arange(60) < 1
    with pytest.raises(fs.SettingError, match="column 7 of replicate_weights is 0 for everyone with a weight"):
        sampler(people(), bands, sample_weight=(np.arange(60) > 0).astype(float))


def test_several_completed_tables_share_a_surveys_replicate_weights():
    weights = np.random.default_rng(0).integers(1, 3, (60, 45)).astype(float)
    of = sampler([people(), people()], fs.Bootstrap(replicate_weights=fs.ReplicateWeights(weights)))
    np.testing.assert_array_equal(of.given, np.concatenate([weights, weights]))
