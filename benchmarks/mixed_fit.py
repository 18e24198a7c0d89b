"""One fit of Model B with ordered features, against one with a confounded two-valued attribute and numbers alone.

Both have 20,000 distinct rows and set out from Model A. The one has three numbers, a feature of two levels and one of
four, with pairs between numbers and ordered features and between the two ordered ones; the other three numbers behind a
threshold's attribute. They are timed in turn. Then the worst case over the four pairs of the mixed model is sought.
Exits with 1 if the ratio of the medians is above 20, or if the worst case takes longer than a minute.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

import fairstress as fs
from fairstress.model.fit import Fit
from fairstress.model.mixed import MixedSystem
from fairstress.model.threshold import ThresholdSystem
from fairstress.threads import one_thread

ROWS = 20_000
RUNS = 7  # of each fit, after one that warms up; the median counts
P_MAX = 0.3
MOST_RATIO, MOST_SECONDS = 20.0, 60.0
CORRELATION = 0.25  # of every pair
EDGES = "a -> x1, x2, x3; x1 -> x2, x3; x2 -> x3"
MIXED = f"{EDGES}; a, x1 -> o1; a, x1, o1, x2 -> o2; o1 -> x2; o2 -> x3; x1 <-> o1 <-> o2; x2 <-> o2; o2 <-> x3"
THRESHOLD = f"{EDGES}; a <-> x1; a <-> x2; a <-> x3; x1 <-> x2"
KINDS = {"o1": "ordered", "o2": ["none", "some", "more", "most"]}
CUTS = {"o1": (0.2,), "o2": (-0.8, 0.1, 1.0)}


def make_audit(edges: str) -> fs.Audit:
    """Linear equations without penalty, people drawn without confounding."""
    graph = fs.CausalGraph.parse(edges, protected="a", outcome="y")
    ordered = {name: KINDS[name] for name in graph.features if name in KINDS}
    cuts = {name: CUTS[name] for name in ordered}
    frame = fs.datasets.simulate(graph, ROWS, kinds=ordered, cuts=cuts, random_state=0).frame
    degrees = dict.fromkeys(graph.features, 1)
    options = {"degrees": degrees, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}
    return fs.Audit.fit(frame, graph, kinds=ordered or None, **options)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and what it gives."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


@one_thread
def fit_seconds(audits: list[fs.Audit]) -> tuple[list[float], list[Fit]]:
    """Median seconds of one fit for each audit, timed in turn so that the machine's moods strike all alike."""
    times: list[list[float]] = [[] for _ in audits]
    fits: list[Fit] = []
    for run in range(RUNS + 1):
        for audit, found in zip(audits, times, strict=True):
            P, claim = audit._read(dict.fromkeys(audit.graph.pairs, CORRELATION)), audit.fitted.claim
            seconds, (fit,) = timed(lambda c=claim, P=P: c.system.fits(P[None], c.model_a, check_minima=True))
            found.append(seconds)
            fits += [fit] if run == 0 else []
    return [statistics.median(found[1:]) for found in times], fits


def main() -> int:
    print(f"machine     Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"library     fairstress {fs.__version__}, numpy {np.__version__}, scipy {scipy.__version__}")
    audits = [make_audit(edges) for edges in (MIXED, THRESHOLD)]
    mixed, threshold = (audit.fitted.claim.system for audit in audits)
    assert isinstance(mixed, MixedSystem)
    assert isinstance(threshold, ThresholdSystem)
    seconds, fits = fit_seconds(audits)
    for name, audit, spent, fit in zip(("mixed", "threshold"), audits, seconds, fits, strict=True):
        size = fit.weights.size + fit.log_scales.size + fit.cuts.size
        rows = audit.fitted.claim.rows.a.size
        print(f"{name:<12}{1e3 * spent:.0f} ms for one fit of {size} parameters to {rows:,} distinct rows")
    ratio = seconds[0] / seconds[1]
    print(f"ratio       {ratio:.1f}", flush=True)
    spent, worst = timed(lambda: audits[0].worst_case(P_MAX))
    print(f"worst case  {worst.value:.4f} over {len(audits[0].graph.pairs)} pairs within {P_MAX:g}, {spent:.1f} s")
    passed = ratio <= MOST_RATIO and spent <= MOST_SECONDS
    print("passed" if passed else f"failed: a ratio of {MOST_RATIO:g} and {MOST_SECONDS:g} s are allowed")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
