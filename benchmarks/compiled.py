"""Sweeps over all people by numpy against the same by compiled code, which the extra `fast` brings.

A sweep gives CFU with its gradient for one Model B, or CFU alone for several. Both ways take turns in one process, and
their best processor times are compared: others who use the machine can only make a time longer. Exits with 1 if digits
differ, or compiled sweeps of the models that are named in docs/performance.md are not twice as fast.

Usage: python benchmarks/compiled.py [ROWS]
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from ten_features import make_audit

import fairstress as fs
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import fits
from fairstress.compiling import VARIABLE
from fairstress.functionals.cfu import CFU
from fairstress.threads import one_thread

ROWS = 200_000
TURNS = 10
LEAST = 2.0
APART = {"with gradient": 1e-10, "values": 1e-12}  # relative to the largest number, at most
VERSIONS = 8  # of Model B
GRAPH = fs.CausalGraph.parse("a -> x1, x3; x1 -> x2 -> x3; x1 <-> x2; x2 <-> x3; x1 <-> x3", protected="a", outcome="y")
LAW = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")


def three_features(rows: int, *, two_valued: bool = False, **options: Any) -> Claim:
    """Equations and predictor of degree 3."""
    frame = fs.datasets.simulate(GRAPH, rows, degrees=dict.fromkeys(GRAPH.features, 2), random_state=0).frame
    if two_valued:
        frame["y"] = np.where(frame["y"] > frame["y"].median(), "yes", "no")
    given = {"degrees": dict.fromkeys(GRAPH.features, 3), "penalty": 1, "predictor_degree": 3, "predictor_penalty": 1}
    return fs.Audit.fit(frame, GRAPH, **given, **options, random_state=0).fitted.claim


def law_school() -> Claim:
    """1,820 distinct rows, a two-valued outcome: whether the grades are above the mean."""
    frame: pd.DataFrame = fs.datasets.law_school()
    frame["zfya"] = np.where(frame["zfya"] > frame["zfya"].mean(), "above", "below")
    degrees = {"ugpa": 1, "lsat": 2}
    audit = fs.Audit.fit(
        frame, LAW, degrees=degrees, penalty=1, predictor_degree=2, predictor_penalty=1, random_state=0
    )
    return audit.fitted.claim


def claims(rows: int) -> dict[str, tuple[Claim, bool]]:
    """What is measured, and whether it is said to be twice as fast."""
    return {
        "three features, degree 3, logistic": (three_features(rows, two_valued=True), True),
        "three features, degree 3, absolute": (three_features(rows, measure="absolute"), True),
        "ten features, degree 2": (make_audit().fitted.claim, True),
        "law school, two-valued outcome": (law_school(), False),
    }


def sweeps(claim: Claim) -> dict[str, Callable[[], Any]]:
    """What a search asks for, again and again."""
    m = len(claim.model_a.correlation)
    P = [np.eye(m) + rho * (1 - np.eye(m)) for rho in np.linspace(0.05, 0.4, VERSIONS)]
    versions = fits(claim, np.array(P), check_minima=False)
    return {
        "with gradient": partial(CFU().values_and_slopes, claim, versions[:1]),
        "values": lambda: (CFU().values(claim, versions),),
    }


def seconds(work: Callable[[], Any], *, is_compiled: bool) -> tuple[float, Any]:
    os.environ[VARIABLE] = str(int(is_compiled))
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def compare(work: Callable[[], Any]) -> tuple[float, float, float]:
    """The best time of each way, and how far their numbers are apart, relative to the largest."""
    best = {False: float("inf"), True: float("inf")}
    (_, expected), (_, found) = (seconds(work, is_compiled=way) for way in best)
    for _ in range(TURNS):
        for way in best:
            best[way] = min(best[way], seconds(work, is_compiled=way)[0])
    pairs = zip(map(np.asarray, expected), map(np.asarray, found), strict=True)
    return best[False], best[True], max(float(np.abs(f - e).max() / np.abs(e).max()) for e, f in pairs)


def main(rows: int) -> int:
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs, {rows:,} rows")
    print(f"{'':<36}{'sweep':<15}{'numpy':>9}{'compiled':>10}{'ratio':>7}  digits  (ns a row and Model B)")
    failed = False
    fs.set_threads(1)
    with one_thread:
        for name, (claim, is_claimed) in claims(rows).items():
            for what, work in sweeps(claim).items():
                plain, fast, apart = compare(work)
                each = 1e9 / claim.for_squares().rows.size / (VERSIONS if what == "values" else 1)
                failed |= apart > APART[what] or (is_claimed and plain < LEAST * fast)
                print(
                    f"{name:<36}{what:<15}{plain * each:>9.0f}{fast * each:>10.0f}{plain / fast:>7.1f}  {apart:.0e}",
                    flush=True,
                )
    print("failed" if failed else "passed")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
