"""A curve of ten budgets for ten features, all 45 pairs free, on 20,000 rows, on two cores; says where the time goes.

Exits with 1 if it takes longer than a minute.
"""

from __future__ import annotations

import cProfile
import itertools
import pstats
import sys
import time

import numpy as np

import fairstress as fs

MOST_SECONDS = 60
ROWS = 20_000
PARTS = ("fit_many", "values_and_slopes", "correlation_gradients", "scan", "extremes", "_quadratic", "climb")


def make_audit() -> fs.Audit:
    """Ten features with at most three parents each, degree 2, no penalty: CFU really moves."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(10)]
    edges = [("a", names[0])]
    for j, name in enumerate(names[1:], start=1):
        pool = ["a", *names[:j]]
        chosen = rng.choice(len(pool), min(3, len(pool)), replace=False)
        edges += [(pool[i], name) for i in chosen]
    pairs = tuple(itertools.combinations(names, 2))
    graph = fs.CausalGraph(edges=tuple(edges), pairs=pairs, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, ROWS, random_state=0).frame
    return fs.Audit.fit(
        frame,
        graph,
        degrees=dict.fromkeys(names, 2),
        penalty=0,
        predictor_degree=2,
        predictor_penalty=1,
        random_state=0,
    )


def main() -> int:
    audit = make_audit()
    start = time.perf_counter()
    curve = audit.curve(np.linspace(0.05, 0.5, 10), search=fs.Search(n_jobs=2))
    seconds = time.perf_counter() - start
    print(curve.to_frame()[["p_max", "cfu", "cfu_own_search", "min_eigenvalue"]].to_string(index=False))
    print(f"outcome variance {audit.fitted.outcome_variance:.3f}; {seconds:.0f} s for {len(curve.points)} budgets")
    profiler = cProfile.Profile()
    profiler.runcall(make_audit().worst_case, 0.3)  # the audit above remembers the fits of its curve
    print("one budget alone, under the profiler:")
    for (_, _, name), (_, calls, _, spent, _) in pstats.Stats(profiler).stats.items():
        if name in PARTS:
            print(f"  {name:<22}{spent:8.1f} s in {calls:,} calls")
    return int(seconds > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
