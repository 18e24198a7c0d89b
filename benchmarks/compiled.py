"""Sweeps over all people by numpy against the same by compiled code, which the extra `fast` brings.

A sweep gives CFU with its gradient for one Model B, or CFU alone for several; sums behind a threshold are those of one
step of a fit. Both ways take turns in one process, and their best processor times are compared: others who use the
machine can only make a time longer. Exits with 1 if digits differ, or anything gains much less than the ratio that
docs/performance.md states: machines differ, and so do turns beside others' work.

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
from fairstress.model.threshold import ThresholdSystem
from fairstress.threads import one_thread

ROWS = 200_000
TURNS = 30
LEAST = 0.75  # of the ratio that is stated: runs beside the work of others differ from each other by less
APART = {"with gradient": 1e-10, "values": 1e-12, "threshold": 1e-12}  # relative to the largest number, at most
GRADIENT, VALUES, THRESHOLD = APART
VERSIONS = 8  # of Model B
GRAPH = fs.CausalGraph.parse("a -> x1, x3; x1 -> x2 -> x3; x1 <-> x2; x2 <-> x3; x1 <-> x3", protected="a", outcome="y")
BEHIND = "a -> x1, x2, x3; x1 -> x2 -> x3; a <-> x3"
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


def behind_threshold(rows: int, more: str) -> Claim:
    """A hidden cause of the attribute too; equations of degree 3."""
    graph = fs.CausalGraph.parse(BEHIND + more, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, rows, random_state=0).frame
    given = {"degrees": dict.fromkeys(graph.features, 3), "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1}
    return fs.Audit.fit(frame, graph, **given, random_state=0).fitted.claim


def claims(rows: int) -> dict[str, tuple[Claim, dict[str, float]]]:
    """What is measured, and how many times as fast it is stated to be."""
    more = "; x1 -> x3; x1 <-> x2; x2 <-> x3"
    return {
        "three features, degree 3, logistic": (three_features(rows, two_valued=True), {GRADIENT: 1.6, VALUES: 2.4}),
        "three features, degree 3, absolute": (three_features(rows, measure="absolute"), {GRADIENT: 1.8, VALUES: 3.3}),
        "ten features, degree 2": (make_audit().fitted.claim, {GRADIENT: 2.9, VALUES: 9.5}),
        "law school, two-valued outcome": (law_school(), {GRADIENT: 0, VALUES: 0}),  # few rows are left to numpy
        "threshold, 8 columns": (behind_threshold(rows, ""), {THRESHOLD: 2.0}),
        "threshold, 17 columns": (behind_threshold(rows, more), {THRESHOLD: 2.3}),
    }


def sweeps(claim: Claim) -> dict[str, Callable[[], Any]]:
    """What a search asks for, again and again."""
    if isinstance(claim.system, ThresholdSystem):
        return {THRESHOLD: partial(claim.system._sums, *start_of_step(claim, claim.system))}
    m = len(claim.model_a.correlation)
    P = [np.eye(m) + rho * (1 - np.eye(m)) for rho in np.linspace(0.05, 0.4, VERSIONS)]
    versions = fits(claim, np.array(P), check_minima=False)
    return {
        GRADIENT: partial(CFU().values_and_slopes, claim, versions[:1]),
        VALUES: lambda: (CFU().values(claim, versions),),
    }


def start_of_step(claim: Claim, system: ThresholdSystem) -> tuple[Any, Any]:
    """Where a step of a fit sets out, so far from its end that gradients are not 0 but for rounding."""
    P = np.eye(4)
    P[0, 3] = P[3, 0] = 0.2
    (fit,) = fits(claim, P[None], check_minima=False)
    return system.coordinates(fit)[None] + 0.1, system.place(P[None])


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


def main(size: int) -> int:
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs, {size:,} rows")
    print(f"{'':<36}{'sweep':<15}{'numpy':>9}{'compiled':>10}{'ratio':>7}  digits  (ns a row and Model B)")
    failed = False
    fs.set_threads(1)
    with one_thread:
        for name, (claim, stated) in claims(size).items():
            for what, work in sweeps(claim).items():
                plain, fast, apart = compare(work)
                rows = (claim if what == THRESHOLD else claim.for_squares()).rows.size
                each = 1e9 / rows / (VERSIONS if what == VALUES else 1)
                failed |= apart > APART[what] or plain < LEAST * stated[what] * fast
                print(
                    f"{name:<36}{what:<15}{plain * each:>9.0f}{fast * each:>10.0f}{plain / fast:>7.1f}  {apart:.0e}",
                    flush=True,
                )
    print("failed" if failed else "passed")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
