"""What a report gathers is about the audit that it was asked of."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairstress as fs
from fairstress.audit.dossier import Dossier

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
SMALL = {"budgets": (0, 0.3), "grid": (-0.3, 0, 0.3)}


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, 300, correlation={("x", "z"): 0.4}, random_state=0).frame


def gathered(frame, **options) -> Dossier:
    options = {"penalty": 1, "degrees": {"x": 1, "z": 1}, "random_state": 0, **options}
    return fs.Audit.fit(frame, GRAPH, **options).dossier(0.3, **SMALL)


BROUGHT = {
    "of features": {"predictor": LinearRegression(), "predictor_input": "features"},
    "of residuals": {"predictor": LinearRegression()},
}


@pytest.mark.parametrize("options", [{}, {"measure": "absolute"}, *BROUGHT.values()])
def test_another_set_up_that_changes_nothing_gives_the_same_worst_case(frame, options):
    found = gathered(frame, predictor_gradient="differences" if "predictor" in options else None, **options)
    same = next(variant for variant in found.variants if variant.what == "as audited")
    assert same.cfu == pytest.approx(found.agreed.value, rel=1e-6)  # the search's own tolerance
    assert same.blind == pytest.approx(found.audit.baselines["blind"].unfairness, rel=1e-9)


def test_another_set_up_keeps_the_scale_of_a_two_valued_outcome(frame):
    two = frame.assign(y=(frame["y"] > 0).astype(int))
    found = gathered(two, predictor=LogisticRegression(), predictor_gradient="differences", predictor_scale="log-odds")
    assert found.variants[0].cfu == pytest.approx(found.agreed.value, rel=1e-6)


def test_another_set_up_keeps_a_sturdier_predictor(frame):
    fair = fs.Audit.fit(frame, GRAPH, penalty=1, degrees={"x": 1, "z": 1}, random_state=0)
    sturdy = fair.robust(0.3, 10)
    again = sturdy.refitted()
    assert again.sturdier is sturdy.sturdier
    assert again.worst_case(0.3).value == pytest.approx(sturdy.worst_case(0.3).value, rel=1e-9)
    assert again.worst_case(0.3).value < 0.5 * fair.worst_case(0.3).value
