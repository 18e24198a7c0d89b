"""Every number that a user gets carries the status of a fit that cannot be relied on, or warns of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import Status
from fairstress.model.mixed import MixedSystem

PAIR = ("x", "z")
CLOSE = {PAIR: 1 - 1e-10}
GRAPH = fs.CausalGraph.parse("a -> x, z; x <-> z", protected="a", outcome="y")
OPTIONS = {"degrees": {"x": 1, "z": 1}, "predictor_degree": 1, "predictor_penalty": 1.0}


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    return fs.Audit.fit(frame, GRAPH, penalty=5.0, **OPTIONS)


SILENT = {
    "cfu": lambda audit: audit.cfu(CLOSE),
    "cfu of a baseline": lambda audit: audit.cfu(CLOSE, baseline="blind"),
    "estimate": lambda audit: audit.estimate(CLOSE, bands=40),
    "cfu_by_row": lambda audit: audit.cfu_by_row(CLOSE),
    "gradient": lambda audit: audit.gradient(CLOSE),
    "counterfactuals": lambda audit: audit.counterfactuals(CLOSE),
    "people": lambda audit: audit.people(CLOSE),
    "plausibility": lambda audit: audit.plausibility(CLOSE),
}


@pytest.mark.parametrize("ask", SILENT.values(), ids=SILENT)
def test_what_has_no_status_warns_of_a_fit_that_cannot_be_relied_on(audit, ask):
    with pytest.warns(fs.FairstressWarning, match=r"Model B: .*fewer than six digits"):
        ask(audit)


def test_what_has_a_status_carries_it_and_does_not_warn(audit):
    assert audit.model_b(CLOSE).status is Status.LOST_DIGITS
    profile = audit.profile(PAIR, grid=[0.0, 0.5, CLOSE[PAIR]])
    assert [s.name for s in profile.status] == ["CONVERGED", "CONVERGED", "LOST_DIGITS"]
    assert "fewer than six digits" in profile.summary()
    assert audit.worst_case(CLOSE[PAIR]).status is Status.LOST_DIGITS


def test_fits_that_converge_are_not_warned_of(audit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert audit.cfu({PAIR: 0.5}) > 0


def twin_parents(noise: float, penalty: float, levels: Sequence[float] | None = None) -> fs.Audit:
    """An audit where two parents of z differ by a little noise; z is a number, or cut into levels."""
    rng = np.random.default_rng(0)
    a = rng.choice([-1.0, 1.0], 400)
    x = a + rng.normal(size=400)
    twin = x + noise * rng.normal(size=400)
    z = x + twin + rng.normal(size=400)
    shown = z if levels is None else np.digitize(z, levels)
    frame = pd.DataFrame({"a": a, "x": x, "twin": twin, "z": shown, "y": z + rng.normal(size=400)})
    graph = fs.CausalGraph.parse("a -> x, twin; x -> z; twin -> z; x <-> z", protected="a", outcome="y")
    options = {"penalty": penalty, "predictor_degree": 1, "random_state": 0}
    kinds = None if levels is None else {"z": "ordered"}
    return fs.Audit.fit(frame, graph, degrees={"x": 1, "twin": 1, "z": 1}, kinds=kinds, **options)


@pytest.mark.parametrize(("noise", "status"), [(1e-2, Status.CONVERGED), (9e-7, Status.LOST_DIGITS)])
def test_twin_parents_leave_few_digits_and_the_models_say_so(noise, status):
    audit = twin_parents(noise, penalty=0)
    assert audit.model_a.status is status
    assert audit.model_b({PAIR: 0.3}).status is status
    if status is Status.LOST_DIGITS:
        with pytest.warns(fs.FairstressWarning, match="Model B: .*fewer than six digits"):
            audit.cfu({PAIR: 0.3})


@pytest.mark.parametrize(("noise", "status"), [(1e-2, Status.STALLED), (1e-6, Status.LOST_DIGITS)])
def test_a_mixed_fit_that_stalls_where_digits_are_lost_says_that_they_are_lost(noise, status, monkeypatch):
    audit = twin_parents(noise, penalty=0, levels=[-1, 1])
    system, P = audit.fitted.claim.system, np.array([[1, 0, 0.3], [0, 1, 0], [0.3, 0, 1]])
    own = MixedSystem._objective

    def uphill(self, z, at, derivatives):
        F, g, H, error = own(self, z, at, derivatives)
        return F, -g, H, error

    monkeypatch.setattr(MixedSystem, "_objective", uphill)
    z = system.data.coordinates.from_fit(audit.fitted.claim.model_a)
    assert system._fit(P, z * 1.1).status is status


@pytest.mark.parametrize(("noise", "reliable"), [(6e-5, True), (3.3e-5, False)])
def test_what_penalty_zero_says_of_its_digits_decides_whether_it_is_shown_beside_a_penalty(noise, reliable):
    penalised = twin_parents(noise, penalty=1.0)
    assert 1e9 < penalised.fitted.claim.condition() < 1e10  # near six digits, on either side
    assert (penalised.fitted.unpenalised is not None) is reliable
    assert (twin_parents(noise, penalty=0).model_a.status is Status.CONVERGED) is reliable


def test_a_fit_with_several_minima_is_warned_of():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    weights = {"x": {"a": -1.8}, "z": {"a": 2.0, "x": -2.1}}
    frame = fs.datasets.simulate(graph, 100, weights=weights, random_state=10).frame
    audit = fs.Audit.fit(frame, graph, penalty=1000.0, **OPTIONS)
    with pytest.warns(fs.FairstressWarning, match="Model B: The fit has more than one minimum"):
        audit.cfu({PAIR: 0.85})
