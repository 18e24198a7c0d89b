"""Searches over eight pairs or more, whose first ascents are hasty and on a sample of the rows."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.search.search import ALL_SIGNS, ROUNDS

NAMES = [f"x{j}" for j in range(5)]
PAIRS = tuple(itertools.combinations(NAMES, 2))


def heavy_tailed(seed: int) -> fs.Audit:
    """20,000 people whose errors have heavy tails: a few of them make most of CFU, and a sample may miss them."""
    rng = np.random.default_rng(seed)
    n = 20_000
    a = (rng.random(n) < 0.05).astype(int)
    columns, edges = {}, [("a", name) for name in NAMES]
    for j, name in enumerate(NAMES):
        error = rng.standard_t(3.5, n)
        columns[name] = rng.normal() * a + error
        for i in rng.choice(j, min(j, 2), replace=False) if j else ():
            edges.append((NAMES[i], name))
            columns[name] = columns[name] + 0.4 * rng.normal() * columns[NAMES[i]]
    y = sum(rng.normal() * x for x in columns.values()) + 0.2 * columns["x0"] * columns["x1"] + rng.normal(size=n)
    graph = fs.CausalGraph(edges=tuple(edges), pairs=PAIRS, protected="a", outcome="y")
    given = {"degrees": dict.fromkeys(NAMES, 2), "penalty": 1, "predictor_degree": 2, "predictor_penalty": 1}
    return fs.Audit.fit(pd.DataFrame({"a": a, **columns, "y": y}), graph, random_state=0, **given)


@pytest.mark.parametrize("seed", [7, 13])
def test_a_sample_that_misses_those_who_matter_finds_the_maximum_of_all(seed, monkeypatch):
    whole = heavy_tailed(seed).worst_case(0.3)  # by nodes, which know everyone
    assert whole.n_sampled == 0
    monkeypatch.setattr("fairstress.claim.support.MOST", 0)
    sampled = heavy_tailed(seed).worst_case(0.3)
    assert sampled.n_sampled > 0
    assert sampled.value >= whole.value * (1 - 1e-6)


def test_only_ascents_that_were_climbed_to_the_end_are_counted():
    graph = fs.CausalGraph.parse(
        "a -> x0, x1, x2; x0 -> x1, x2, x3, x4; x1 -> x3; x2 -> x4; "
        + "; ".join(f"{one} <-> {other}" for one, other in PAIRS),
        protected="a",
        outcome="y",
    )
    frame = fs.datasets.simulate(graph, 400, random_state=21).frame
    given = {"degrees": dict.fromkeys(NAMES, 1), "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1}
    audit = fs.Audit.fit(frame, graph, random_state=0, **given)
    assert len(PAIRS) > ALL_SIGNS
    starts, steps = 4, []
    found = audit.worst_case(0.5, search=fs.Search(starts=starts), progress=lambda done, total: steps.append(done))
    assert found.n_starts <= starts + ROUNDS * max(2, starts // 2)
    assert max(steps) <= found.n_starts + 1
