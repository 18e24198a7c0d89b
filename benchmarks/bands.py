"""Limits of a curve against the curve itself: law school, ten budgets, 200 replicates.

With all three pairs, race among them, and with the pair of the features alone. Both are timed in turn, and the full
searches that check the limits are counted in. Exits with 1 if limits take longer than a minute, or ten seconds without
a hidden cause of race, or more than 30 times as long as the curve.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time

import numpy as np
import scipy

import fairstress as fs

EDGES = "race -> ugpa, lsat; ugpa -> lsat"
CASES = {"three pairs, race too": ("ugpa <-> lsat <-> race <-> ugpa", 60.0), "ugpa <-> lsat": ("ugpa <-> lsat", 10.0)}
SIZES = np.linspace(0, 0.45, 10).round(2).tolist()
MOST_RATIO, RUNS = 30.0, 3


def seconds(audit: fs.Audit, bands: fs.Bootstrap | None) -> float:
    """How long a curve takes; each time anew, since fits are kept."""
    start = time.perf_counter()
    audit.refit(keep=np.ones(audit.fitted.table.y.size, dtype=bool)).curve(SIZES, bands=bands)
    return time.perf_counter() - start


def main() -> int:
    print(f"machine     Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"library     fairstress {fs.__version__}, numpy {np.__version__}, scipy {scipy.__version__}")
    passed = True
    for name, (pairs, most) in CASES.items():
        graph = fs.CausalGraph.parse(f"{EDGES}; {pairs}", protected="race", outcome="zfya")
        audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", random_state=0)
        times = [(seconds(audit, None), seconds(audit, fs.Bootstrap(200))) for _ in range(RUNS)]
        plain, limited = (statistics.median(column) for column in zip(*times, strict=True))
        ratio = limited / plain
        print(f"{name:<24}{plain:6.2f} s the curve, {limited:6.2f} s with limits, ratio {ratio:.1f}", flush=True)
        passed &= limited <= most and ratio <= MOST_RATIO
    print("passed" if passed else f"failed: a ratio of {MOST_RATIO:g}, 60 s and 10 s are allowed")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
