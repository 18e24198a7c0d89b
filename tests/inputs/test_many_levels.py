"""People who are moved to many levels are not copied for each of them."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate
from fairstress.functionals.cfu import CFU
from fairstress.inputs.protected import ProtectedCoding
from fairstress.inputs.rows import Rows, join

LEVELS, PEOPLE = 30, 3000


def people(n_features: int) -> tuple[ProtectedCoding, Rows]:
    rng = np.random.default_rng(0)
    codes = tuple(float(code) for code in range(LEVELS))
    coding = ProtectedCoding("a", tuple(range(LEVELS)), targets=codes)
    a, x = rng.choice(codes, PEOPLE), rng.standard_normal((PEOPLE, n_features))
    weight, y = rng.uniform(0.5, 2, PEOPLE), rng.standard_normal(PEOPLE)
    return coding, Rows(a, a, x, weight, y, y**2, np.arange(PEOPLE, dtype=float))


def bytes_held(n_features: int) -> float:
    """What a person holds in memory for each level that they are moved to."""
    coding, rows = people(n_features)
    tracemalloc.start()
    try:
        moved, origin = coding.contrasts(rows)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert moved.size == origin.size == PEOPLE * (LEVELS - 1)
    return held / moved.size


def test_what_a_moved_person_holds_does_not_grow_with_the_number_of_features():
    # the attribute in both worlds, the weight and the place of origin: 8 bytes each
    assert bytes_held(2) == pytest.approx(32, abs=1)
    assert bytes_held(40) == pytest.approx(32, abs=1)


def test_moved_people_are_those_that_copies_would_be():
    coding, rows = people(3)
    moved, origin = coding.contrasts(rows)
    parts = []
    for target in coding.targets:
        part = rows.where(rows.a != target)
        parts.append(replace(part, a_cf=np.full(part.size, target), weight=part.weight / (LEVELS - 1)))
    copied = join(parts)
    for given in (moved, moved.where(slice(None)), join(list(moved.blocks()))):
        for name in ("a", "a_cf", "x", "weight", "y", "y_square", "other"):
            np.testing.assert_array_equal(getattr(given, name), getattr(copied, name))
    np.testing.assert_array_equal(rows.x[origin], copied.x)
    some = np.array([5, 40_000, 77])
    np.testing.assert_array_equal(moved.x[some], copied.x[some])
    np.testing.assert_array_equal(moved.x[:, 1], copied.x[:, 1])
    np.testing.assert_array_equal(moved.x[:, [2, 0]], copied.x[:, [2, 0]])
    assert (len(moved.x), moved.x.size) == (len(copied.x), copied.x.size)
    for work in (lambda x: 2 * x - x * x, lambda x: x.T, lambda x: x.min(axis=0), lambda x: x > 0, np.rint, np.unique):
        np.testing.assert_array_equal(work(moved.x), work(copied.x))
    again = pickle.loads(pickle.dumps(moved))  # as it goes to other processes
    np.testing.assert_array_equal(again.x, copied.x)


def own_predictor(X):
    return np.tanh(X["x"] + X["z"])


@pytest.mark.parametrize(
    ("degree", "options"), [(1, {}), (2, {}), (2, {"predictor": fs.Predictor(own_predictor, input="features")})]
)
def test_cfu_is_that_of_copies_to_the_last_digit(degree, options):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 600)
    x = a * 0.3 + rng.standard_normal(600)
    z = x - 0.2 * a + rng.standard_normal(600)
    frame = pd.DataFrame({"a": np.char.add("g", a.astype(str)), "x": x, "z": z, "y": x + z + rng.standard_normal(600)})
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": degree}, penalty=1, random_state=0, **options)
    claim = audit.fitted.claim
    copies = replace(claim, rows=claim.rows.where(slice(None)))
    P = np.array([[1, 0.3], [0.3, 1]])
    assert evaluate(claim, P, CFU()).value == evaluate(copies, P, CFU()).value
