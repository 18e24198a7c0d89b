"""What leaving people out does to CFU to first order is what truly leaving them out does, nearly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.build import on_table
from fairstress.claim.evaluate import model_b
from fairstress.functionals.cfu import CFU

PLAIN = "a -> x, z; x -> z; x <-> z"
CASES = {
    "numbers without an edge": ("a -> x; x -> z; x <-> z", {}, {}),
    "a hidden cause of the attribute": (f"{PLAIN}; a <-> x", {}, {}),
    "a numeric attribute": (f"{PLAIN}; a <-> x", {"binary": False}, {}),
    "levels": (PLAIN, {"kinds": {"x": ["low", "middle", "high"]}}, {"kinds": {"x": ["low", "middle", "high"]}}),
    "an atom, and levels of the attribute": (
        f"{PLAIN}; a <-> z",
        {"kinds": {"z": "zero or number"}},
        {"kinds": {"z": "zero or number"}},
    ),
    "absolute changes": (f"{PLAIN}; a <-> x", {}, {"measure": "absolute"}),
    "a function without slopes": (
        f"{PLAIN}; a <-> x",
        {},
        {"predictor": fs.Predictor(lambda eps: eps[:, 0] - eps[:, 1], gradient="none")},
    ),
}


def fitted(case: str, n: int = 400, **more) -> fs.Audit:
    text, drawn, given = CASES[case]
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, n, random_state=3, **drawn).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "random_state": 0, **given, **more}
    return fs.Audit.fit(frame, graph, **given)


def without(audit: fs.Audit, P, people) -> float:
    """CFU at P with Model B fitted to the others, the predictor as it is."""
    keep = np.ones(audit.fitted.table.y.size, dtype=bool)
    keep[people] = False
    claim = on_table(audit.fitted, audit.fitted.table.keep(keep))
    return float(CFU().values(claim, [model_b(claim, P)])[0])


@pytest.mark.parametrize("case", CASES)
def test_influence_is_the_change_when_a_person_is_truly_left_out(case):
    audit = fitted(case)
    P = audit._read({audit.graph.pairs[0]: 0.4})
    found = audit.diagnostics(P).influence
    order = found.change.index
    picked = [*order[:3], order[len(order) // 2]]
    true = np.array([without(audit, P, [person]) - found.cfu for person in picked])
    # the first order is off by about a person's leverage, a few times 1/n
    np.testing.assert_allclose(found.change[picked], true, rtol=0.1, atol=0.02 * np.abs(true).max())


def test_the_counted_people_together_move_cfu_by_a_tenth():
    audit = fitted("a hidden cause of the attribute", 2000)
    P = audit._read({("a", "x"): 0.4})
    found = audit.diagnostics(P).influence
    rising = found.change.sort_values().index
    for people, way in ((rising[: found.to_lower], -1), (rising[::-1][: found.to_raise], 1)):
        assert 0.1 <= way * (without(audit, P, people) / found.cfu - 1) <= 0.13  # the first order finds the number
    assert f"{found.to_lower:,} people would lower" in found.sentence
    assert found.share == min(found.to_lower, found.to_raise) / 2000


def test_numbers_of_people_are_true_where_the_first_order_is_not():
    audit = fitted("numbers without an edge", 200)
    frame = fs.datasets.simulate(audit.graph, 200, random_state=3).frame
    frame.loc[[3, 30, 60], "x"] = [40.0, -35.0, 30.0]  # of such leverage that the first order is far off
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "random_state": 0}
    audit = fs.Audit.fit(frame, audit.graph, **given)
    P = audit._read({("x", "z"): 0.4})
    found = audit.diagnostics(P).influence
    assert found.is_checked
    rising = found.change.sort_values().index
    for number, people, way in ((found.to_lower, rising, -1), (found.to_raise, rising[::-1], 1)):
        if number is not None:
            assert way * (without(audit, P, people[:number]) / found.cfu - 1) >= 0.1


def test_weights_and_several_levels_are_taken_into_account():
    graph = fs.CausalGraph.parse("a -> x; x -> z; x <-> z", protected="a", outcome="y")
    options = {"kinds": {"a": ["l", "m", "h"]}, "random_state": 3}
    frame = fs.datasets.simulate(graph, 1000, **options).frame
    weight = np.random.default_rng(0).gamma(2.0, size=1000)
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "sample_weight": weight}
    audit = fs.Audit.fit(frame, graph, contrast="h", **given)
    P = audit._read({("x", "z"): 0.6})
    found = audit.diagnostics(P).influence
    picked = list(found.change.index[:3])
    true = [without(audit, P, [person]) - found.cfu for person in picked]
    np.testing.assert_allclose(found.change[picked], true, rtol=0.1)  # as above


def test_there_is_no_influence_where_cfu_is_no_mean_or_nothing_moves():
    audit = fitted("a hidden cause of the attribute", measure="max")
    assert audit.diagnostics({("a", "x"): 0.4}).influence is None
    assert fitted("a hidden cause of the attribute").diagnostics({}).influence is None


def test_a_few_people_are_said_to_be_few_and_many_not():
    found = fitted("a hidden cause of the attribute").diagnostics({("a", "x"): 0.4}).influence
    assert "look at them" in replace(found, to_lower=1, people=1000).sentence
    assert "leaving out 1 person would lower or" in replace(found, to_lower=1, people=1000).sentence
    assert "does not rest on a few" in replace(found, to_lower=20, to_raise=None, people=1000).sentence
    assert "a few people does not move it" in replace(found, to_lower=None, to_raise=None).sentence
