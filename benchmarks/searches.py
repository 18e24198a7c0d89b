"""Searches on law school with a hidden cause of race, in single values of CFU: what a question costs beside its parts.

The unit is the CPU time of one value of CFU with its gradient at a correlation not seen before, alone. A curve of 21
budgets, effects with bounds, breaking points and a curve with limits are counted in it, each asked of an audit that
remembers nothing. Exits with 1 if one of them takes more than it is allowed.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy

import fairstress as fs

GRAPH = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa"
PAIRS = (("race", "ugpa"), ("race", "lsat"), ("ugpa", "lsat"))
SIZES = np.linspace(0, 0.6, 21).round(2).tolist()
SETTINGS = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous", "random_state": 0}
VALUES, RUNS = 60, 3

# what is asked, and how many single values it may take
QUESTIONS: dict[str, tuple[Callable[[fs.Audit], object], float]] = {
    "curve of 21 budgets": (lambda audit: audit.curve(SIZES), 350),
    "effects with bounds": (lambda audit: audit.effects(0.3), 140),
    "breaking point, same P": (lambda audit: audit.breaking_point("blind"), 80),
    "breaking point, paper": (lambda audit: audit.breaking_point("blind", definition="paper"), 60),
    "curve with limits": (lambda audit: audit.curve(SIZES, bands=100), 600),
}


def fitted() -> fs.Audit:
    """An audit that has answered nothing yet: fits of Model B are kept."""
    graph = fs.CausalGraph.parse(GRAPH, protected="race", outcome="zfya")
    return fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", **SETTINGS)


def seconds(work: Callable[[fs.Audit], object], audit: fs.Audit) -> float:
    start = time.process_time()
    work(audit)
    return time.process_time() - start


def single_values(audit: fs.Audit) -> None:
    """CFU with its gradient at some correlations, one after the other."""
    for p in np.random.default_rng(0).uniform(-0.4, 0.4, (VALUES, len(PAIRS))):
        audit.gradient(dict(zip(PAIRS, p.tolist(), strict=True)))


def main() -> int:
    print(f"machine     Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"library     fairstress {fs.__version__}, numpy {np.__version__}, scipy {scipy.__version__}")
    passed = True
    fitted().curve([0.1])  # imports what searches need
    for name, (ask, most) in QUESTIONS.items():
        runs = [(seconds(single_values, fitted()) / VALUES, seconds(ask, fitted())) for _ in range(RUNS)]
        count = statistics.median(long / unit for unit, long in runs)
        took = statistics.median(long for _, long in runs)
        print(f"{name:<26}{took:6.2f} s of CPU, {count:6.0f} single values; {most:g} are allowed", flush=True)
        passed &= count <= most
    print("passed" if passed else "failed")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
