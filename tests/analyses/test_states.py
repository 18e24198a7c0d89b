"""What an audit comes to: when a predictor is called unfair under Model A itself, and which gaps can be asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import fairstress as fs
from fairstress.analyses.conclusion import State, _state
from fairstress.errors import SettingError
from fairstress.model.view import RawColumns

RAW = RawColumns.of([], [])
MOVES = SimpleNamespace(together=SimpleNamespace(verdict="moves CFU"))
POSSIBLE = SimpleNamespace(mostly_impossible=False)
CURVE = SimpleNamespace(shows_penalty_only=False)


def state(nominal: float, floor: float, view=None, breaking=None) -> State:
    context = SimpleNamespace(negligible=0.01, floor=floor)
    fitted = SimpleNamespace(context=context, claim=SimpleNamespace(view=view))
    return _state(fitted, CURVE, MOVES, POSSIBLE, nominal, breaking)


@pytest.mark.parametrize(
    ("nominal", "floor", "view", "expected"),
    [
        (0.02, 0.0, None, State.UNFAIR),  # nothing explains it
        (0.02, 0.02, None, State.NO_LEVEL),  # levels do, or people held out
        (0.02, 0.02, RAW, State.UNFAIR),  # but not where it is shown the columns themselves
        (0.01, 0.0, RAW, State.NO_LEVEL),  # negligible
    ],
)
def test_a_predictor_is_unfair_under_model_a_unless_levels_or_a_holdout_explain_it(nominal, floor, view, expected):
    assert state(nominal, floor, view) is expected


@pytest.mark.parametrize(("p_max", "expected"), [(None, State.HOLDS), (0.2, State.BREAKS)])
def test_a_claim_breaks_where_a_budget_reaches_the_level(p_max, expected):
    assert state(0.0, 0.0, breaking=SimpleNamespace(p_max=p_max)) is expected


def test_a_certificate_with_a_gap_of_all_is_refused():
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 60, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    with pytest.raises(SettingError, match=r"gap is 1\.0: give a number above 0 and below 1"):
        fs.Audit.fit(frame, graph, **given).certificate(0.2, gap=1.0)
