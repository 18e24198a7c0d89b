"""Independences given others than a variable's own parents: regression where all are numbers, otherwise untested."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.analyses.diagnostics.implied import independences, ties
from fairstress.analyses.diagnostics.independence import Independences, check_independences
from fairstress.analyses.diagnostics.sample import take_sample

GRAPH = fs.CausalGraph.parse(
    "a -> b -> x; a -> z; b <-> z", protected="a", outcome="y"
)  # x and z are parted by a and b
NAMES = ("b", "x", "z")


def people(n: int, *, edge: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Simulate people of the graph, with a hidden cause of b and z, and an edge from x to z that it lacks."""
    rng = np.random.default_rng(seed)
    a, hidden, e = np.where(np.arange(n) % 2, 1.0, -1.0), rng.normal(size=n), rng.normal(size=(4, n))
    b = a + hidden + e[0]
    x = 0.7 * b + e[1]
    z = 0.5 * a + hidden + edge * x + e[2]
    return pd.DataFrame({"a": np.where(a > 0, "p", "q"), "b": b, "x": x, "z": z, "y": x + z + e[3]})


def checked(frame: pd.DataFrame, kinds: dict[str, str] | None = None) -> Independences:
    degrees = dict.fromkeys(NAMES, 1)
    audit = fs.Audit.fit(frame, GRAPH, degrees=degrees, kinds=kinds, penalty=1, predictor_degree=1, random_state=0)
    fitted = audit.fitted
    return check_independences(fitted, take_sample(fitted, np.random.default_rng(0)), ties(fitted))


def partial_correlation(frame: pd.DataFrame) -> float:
    B = np.column_stack([np.ones(len(frame)), frame["a"] == "p", frame["b"]])
    x, z = (frame[name] - B @ np.linalg.lstsq(B, frame[name], rcond=None)[0] for name in ("x", "z"))
    return float(np.corrcoef(x, z)[0, 1])


def test_the_graph_has_one_that_parents_alone_do_not_give():
    found = {(one.first, one.second): one for one in independences(GRAPH)}
    ((names, one),) = [(names, one) for names, one in found.items() if not one.by_parents]
    assert set(names) == {"x", "z"}
    assert set(one.given) == {"a", "b"}


def about_x_and_z(found: Independences):
    (one,) = [one for one in found.found if {one.feature, one.about} == {"x", "z"}]
    return one


@pytest.mark.parametrize("edge", [0.0, 0.3])
def test_numbers_are_tested_by_their_partial_correlation(edge):
    frame = people(800, edge=edge)
    one = about_x_and_z(checked(frame))
    r = partial_correlation(frame)
    assert one.value == pytest.approx(r**2, rel=1e-10)
    assert one.freedom == 1
    # n times the squared correlation is chi-squared, but for a variance that is not taken to be the same for all
    assert (one.p_value < 1e-6) == (edge > 0)
    assert bool(one.sentence) == (edge > 0)


def test_where_nothing_is_wrong_small_p_values_are_as_rare_as_they_say():
    p = np.array([about_x_and_z(checked(people(300, seed=seed))).p_value for seed in range(60)])
    assert (p < 0.05).sum() <= 9  # binomial of 60 and 0.05: more in one of a thousand draws
    assert 0.3 < p.mean() < 0.7


def test_levels_that_a_hidden_cause_ties_are_not_tested():
    frame = people(400)
    found = checked(frame.assign(b=np.digitize(frame["b"], [-1.0, 1.0])), {"b": "ordered"})
    assert {frozenset((one.first, one.second)) for one in found.untested} == {frozenset(("x", "z"))}


def test_a_few_people_are_too_few():
    assert {frozenset((one.first, one.second)) for one in checked(people(800)).untested} == set()
    assert checked(people(16)).untested
