"""One thread against two on a million continuous rows: the sums that an audit consists of, and their digits.

A pass for the moments of the equations, one for the sums behind a confounded attribute's threshold, one sweep for CFU
with its gradient. Each is timed on one thread and on two, by turns, and the best times are compared: others who use the
machine can only make a time longer. Exits with 1 if a digit differs, or all passes together are not 1.6 times as fast.

Usage: python benchmarks/threads.py [ROWS]
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fairstress as fs
from fairstress.claim.evaluate import fits
from fairstress.functionals.cfu import CFU
from fairstress.model.design import structural_moments
from fairstress.model.threshold import ThresholdSystem
from fairstress.threads import one_thread

ROWS = 1_000_000
TURNS = 40
LEAST = 1.6
GRAPH = fs.CausalGraph.parse("a -> x1, x2, x3; x1 -> x2; x2 -> x3; a <-> x3", protected="a", outcome="y")
GIVEN: dict[str, Any] = {
    "degrees": {"x1": 3, "x2": 3, "x3": 3},
    "penalty": 1,
    "predictor_degree": 3,
    "predictor_penalty": 1,
    "random_state": 0,
}


def passes(rows: int) -> dict[str, Callable[[], Any]]:
    """What an audit does to all rows, again and again."""
    claim = fs.Audit.fit(fs.datasets.simulate(GRAPH, rows, random_state=0).frame, GRAPH, **GIVEN).fitted.claim
    system = claim.system
    assert isinstance(system, ThresholdSystem)
    P = np.eye(4)
    P[0, 3] = P[3, 0] = 0.2
    (fit,) = fits(claim, P[None], check_minima=False)
    z, at = system.coordinates(fit)[None], system.place(P[None])
    return {
        "moments": lambda: structural_moments(claim.everyone, claim.design.equations).G,
        "threshold": lambda: system.objective(z, at)[2],
        "sweep": lambda: CFU().values_and_slopes(claim, [fit]),
    }


def seconds(work: Callable[[], Any], threads: int) -> tuple[float, Any]:
    fs.set_threads(threads)
    with one_thread:
        start = time.perf_counter()
        found = work()
        return time.perf_counter() - start, found


def compare(work: Callable[[], Any]) -> tuple[float, float, bool]:
    """The best time on one thread and on two, and whether all digits agree."""
    best, agree = {1: float("inf"), 2: float("inf")}, True
    _, expected = seconds(work, 1)
    for _ in range(TURNS):
        for threads in best:
            taken, found = seconds(work, threads)
            best[threads] = min(best[threads], taken)
            agree &= all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))
    return best[1], best[2], agree


def main(rows: int) -> int:
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs, {rows:,} rows")
    print("seconds  best of", TURNS, "\n\npass         1 thread  2 threads   ratio  digits")
    totals, agree = np.zeros(2), True
    for name, work in passes(rows).items():
        one, two, same = compare(work)
        totals, agree = totals + np.array([one, two]), agree and same
        print(f"{name:<12}{one:>9.3f}{two:>11.3f}{one / two:>8.2f}  {'the same' if same else 'differ'}", flush=True)
    ratio = totals[0] / totals[1]
    passed = agree and ratio >= LEAST
    print(f"\nratio    two threads are {ratio:.2f} times as fast as one: {'passed' if passed else 'failed'}")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
