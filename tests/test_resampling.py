"""Options of limits: what cannot be meant gets a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.resampling import read_bootstrap


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_boot": 10}, "n_boot is 10, too few for limits of level 0.95: give at least 39"),
        ({"n_boot": 0}, "n_boot is 0: give a whole number of at least 1"),
        ({"level": 1.0}, "level is 1.0: give a number from 0 up to, but not including, 1"),
        ({"level": 0.05}, "level is 0.05: give a confidence level from 0.5 up to, but not including, 1"),
        ({"refit": "model_b"}, "refit is 'model_b': give 'model b' or 'all'"),
        ({"n_jobs": 0}, "n_jobs is 0: give a number of processes, or -1 for one per core"),
        ({"check": 2}, "check is 2: give a number from 0 up to, but not including, 1"),
        ({"simultaneous": 1}, "simultaneous is 1: give True or False"),
        ({"replicate_weights": np.ones((3, 50))}, "replicate_weights is no ReplicateWeights"),
        (
            {"refit": "all", "replicate_weights": fs.ReplicateWeights(np.ones((3, 50)), kind="jackknife")},
            "refit is 'all', which needs replicates: jackknife weights give a covariance only",
        ),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options, sentence):
    with pytest.raises(fs.SettingError) as problem:
        fs.Bootstrap(**options)
    assert sentence in str(problem.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.ones(3),), "replicate_weights have shape (3,)"),
        ((["a", "b"],), "replicate_weights hold something that is not a number"),
        ((-np.ones((3, 4)),), "replicate_weights must be finite and nowhere negative"),
        ((np.array([[1.0, 0], [1, 0]]),), "column 1 of replicate_weights is 0 for everyone"),
        ((np.ones((3, 4)), "brr"), "kind is 'brr': give 'bootstrap', 'jackknife' or 'balanced'"),
        ((np.ones((3, 4)), "bootstrap", 2.0), "scale is given, but bootstrap weights are replicates as they are"),
        ((np.ones((3, 4)), "balanced", -1), "scale is -1: give a positive number"),
    ],
)
def test_replicate_weights_that_cannot_be_used_are_refused(arguments, sentence):
    with pytest.raises(fs.SettingError) as problem:
        fs.ReplicateWeights(*arguments)
    assert sentence in str(problem.value)


def test_a_number_is_a_number_of_replicates_and_nothing_is_no_limits():
    assert read_bootstrap(100).n_boot == 100
    assert read_bootstrap(None) is None
    with pytest.raises(fs.SettingError, match="bands is 'many': give a number of replicates"):
        read_bootstrap("many")


def test_bootstrap_weights_say_themselves_how_many_replicates_there_are():
    assert fs.Bootstrap(500, replicate_weights=fs.ReplicateWeights(np.ones((3, 64)))).n_replicates == 64
