"""Replicates on a sample of people are corrected by how the sample differs from everyone in the data as they are."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.bands.replicates import Replicator
from fairstress.claim.evaluate import fits
from fairstress.functionals.cfu import CFU

GRAPH = fs.CausalGraph.parse("a -> x -> z; a <-> x; x <-> z", protected="a", outcome="y")
P = np.array([np.eye(3), [[1, 0.3, 0], [0.3, 1, 0.2], [0, 0.2, 1]]])


@pytest.fixture(scope="module")
def audit() -> fs.Audit:
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, GRAPH, **given)


def corrected(audit: fs.Audit, functional, P: np.ndarray, change) -> tuple[np.ndarray, np.ndarray]:
    """What becomes of a replicate that changes the sample's values, and the same change of everyone's."""
    whole = audit.fitted.claim
    some = replace(whole, rows=whole.rows.where(slice(0, 50)))
    replicator = SimpleNamespace(claim=some, whole=whole, options=SimpleNamespace(refit="model b"))
    base = fits(whole, P)
    values = change(functional.values(some, base))[None]
    found = Replicator.of_everyone(replicator, values, functional, P)[0]
    return found, change(functional.values(whole, base))


def test_a_cfu_that_is_twice_the_samples_becomes_twice_everyones(audit):
    found, expected = corrected(audit, CFU(), P[1:], lambda values: 2 * values)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_cfu_of_0_is_corrected_by_the_difference(audit):
    found, expected = corrected(audit, CFU(), P, lambda values: values + np.array([0.0, 0.1]))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_an_effect_which_may_be_of_either_sign_is_corrected_by_the_difference(audit):
    found, expected = corrected(audit, audit.effect("z"), P, lambda values: values - 0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
