"""What whole questions cost, against another checkout of fairstress: CPU time in alternating runs, as ratios.

    git worktree add ../before COMMIT
    python benchmarks/against.py ../before [case ...]

Each run is a process of its own that imports fairstress from one of the checkouts, fits an audit and asks one question;
what is timed begins after the import and the reading of the data. Answers are compared, too: the largest difference of
the numbers that both give, relative to 1 or to themselves, is shown beside the ratio.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

RUNS = int(os.environ.get("RUNS", "3"))
HERE = Path(__file__).resolve().parents[1]
LAW = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa"
WITH, WITHOUT = (("a", "x2"), ("x2", "x5"), ("x3", "x7")), (("x1", "x4"), ("x2", "x5"), ("x3", "x7"))


# ---------------------------------------------------------------- one run, in a process of its own


def law_school() -> tuple[Any, Any, dict[str, Any]]:
    import fairstress as fs

    settings = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous", "reference": "White"}
    graph = fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")
    return fs.datasets.law_school(), graph, {**settings, "random_state": 0}


def twenty_thousand(pairs: tuple[tuple[str, str], ...], *, curved: bool) -> tuple[Any, Any, dict[str, Any]]:
    """20,000 rows, ten features with at most three parents each; curved: squares in two equations and the outcome."""
    import fairstress as fs

    rng, names = np.random.default_rng(0), [f"x{j}" for j in range(10)]
    edges = [("a", names[0])]
    for j, name in enumerate(names[1:], start=1):
        pool = ["a", *names[:j]]
        edges += [(pool[i], name) for i in rng.choice(len(pool), min(3, len(pool)), replace=False)]
    graph = fs.CausalGraph(edges=tuple(edges), pairs=pairs, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 20_000, random_state=0).frame
    if curved:
        for name in ("x4", "x7"):
            parent = next(p for p in graph.parents(name) if p != "a")
            frame[name] += 0.3 * (frame[parent] / frame[parent].std()) ** 2
        frame["y"] += 0.3 * frame["x2"] ** 2 / frame["x2"].std()
    return frame, graph, {"random_state": 0}


def page(audit: Any, **asked: Any) -> Any:
    """A report with its page; what it says in plain types."""
    from fairstress.report.json import report_results

    with TemporaryDirectory() as folder:
        return report_results(audit.report(Path(folder) / "page.html", progress=False, **asked))


def effects(audit: Any) -> Any:
    return audit.effects(0.3).to_dict("list")


CASES: dict[str, tuple[Callable[[], tuple[Any, Any, dict[str, Any]]], Callable[[Any], Any], bool]] = {
    # the data, the question, and whether the fit is part of it
    "first page, attribute in a pair": (lambda: twenty_thousand(WITH, curved=False), page, True),
    "first page, attribute in no pair": (lambda: twenty_thousand(WITHOUT, curved=False), page, True),
    "the same, curved, in a pair": (lambda: twenty_thousand(WITH, curved=True), page, True),
    "the same, curved, in no pair": (lambda: twenty_thousand(WITHOUT, curved=True), page, True),
    "law school, report": (law_school, page, False),
    "law school, report with limits": (law_school, lambda audit: page(audit, columns=["sex"], bands=100), False),
    "law school, effects with bounds": (law_school, effects, False),
}


def run(case: str) -> None:
    """Fit and ask; print the CPU seconds, the wall seconds and the answer."""
    import fairstress as fs

    make, ask, counts_fit = CASES[case]
    frame, graph, settings = make()
    start = time.process_time(), time.perf_counter()
    audit = fs.Audit.fit(frame, graph, **settings)
    if not counts_fit:
        start = time.process_time(), time.perf_counter()
    answer = ask(audit)
    spent = time.process_time() - start[0], time.perf_counter() - start[1]
    print(json.dumps([*spent, answer], default=str))


# ---------------------------------------------------------------- two checkouts


def seconds(checkout: Path, case: str) -> tuple[float, float, Any]:
    """One run with the fairstress of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, __file__, "--run", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    cpu, wall, answer = json.loads(done.stdout)
    return cpu, wall, answer


def apart(one: Any, other: Any) -> float:
    """The largest difference of numbers that stand in the same place; counts of ascents are none of the answer."""
    if isinstance(one, dict | list) and not isinstance(other, type(one)):  # which one of both does not give
        return 0.0
    if isinstance(one, dict):
        shared = [key for key in one if key in other and not key.startswith(("n_", "scan"))]
        return max((apart(one[key], other[key]) for key in shared), default=0.0)
    if isinstance(one, list):
        return max((apart(*both) for both in zip(one, other, strict=False)), default=0.0)
    if not all(isinstance(number, int | float) for number in (one, other)) or isinstance(one, bool) or one != one:
        return 0.0
    return abs(one - other) / max(1.0, abs(one))


def main(before: Path, cases: list[str]) -> None:
    print(f"{date.today()}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs; ", end="")
    print(f"medians of {RUNS} alternating runs, CPU seconds (wall in brackets), load {os.getloadavg()[0]:.1f}")
    for case in cases:
        pairs = [(seconds(before, case), seconds(HERE, case)) for _ in range(RUNS)]
        old, new = ([run[i] for run in pairs] for i in (0, 1))
        cpu, wall = ([statistics.median(one[k] for one in runs) for runs in (old, new)] for k in (0, 1))
        ratio = statistics.median(a[0] / b[0] for a, b in pairs)
        print(
            f"{case:<34}{cpu[0]:7.2f} ({wall[0]:5.1f}) before, {cpu[1]:7.2f} ({wall[1]:5.1f}) now: {ratio:5.2f} times "
            f"as fast, numbers {apart(old[0][2], new[0][2]):.0e} apart",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(sys.argv[2])
    else:
        main(Path(sys.argv[1]).resolve(), sys.argv[2:] or list(CASES))
