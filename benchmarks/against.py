"""What whole questions cost, against another checkout of fairstress: CPU time and the clock, as ratios.

    git worktree add ../before COMMIT
    python benchmarks/against.py ../before [case ...]

Runs alternate, each in a process of its own that imports fairstress from one of the checkouts, fits an audit and asks
one question; what is timed begins after the import and the reading of the data. Answers are compared, too: the largest
difference of the numbers that both give, relative to 1 or to themselves, is shown beside the ratios. The demonstration
is its command, timed from the start of Python to its end, with all processes that it starts.
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

Made = tuple[Any, Any, dict[str, Any]]  # a table, a graph and the settings of a fit
Timed = tuple[float, float, Any]  # CPU seconds, wall seconds and an answer

RUNS = int(os.environ.get("RUNS", "3"))
HERE = Path(__file__).resolve().parents[1]
LAW = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa"
WITH, WITHOUT = (("a", "x2"), ("x2", "x5"), ("x3", "x7")), (("x1", "x4"), ("x2", "x5"), ("x3", "x7"))


# ---------------------------------------------------------------- one run, in a process of its own


def law_school() -> Made:
    import fairstress as fs

    settings = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous", "reference": "White"}
    graph = fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")
    return fs.datasets.law_school(), graph, {**settings, "random_state": 0}


def twenty_thousand(pairs: tuple[tuple[str, str], ...], *, curved: bool) -> Made:
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


def asked(make: Callable[[], Made], ask: Callable[[Any], Any], *, fit: bool = False) -> Timed:
    """CPU seconds, wall seconds and the answer to a question; with the fit, or without it."""
    import fairstress as fs

    frame, graph, settings = make()
    start = spent()
    audit = fs.Audit.fit(frame, graph, **settings)
    if not fit:
        start = spent()
    answer = ask(audit)
    return *since(start), answer


def demonstrated() -> Timed:
    """The same of the command; no answer, since what it says has changed too often to be compared."""
    start = spent()
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fairstress", "demo", "-o", str(Path(folder) / "page.html")]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return *since(start), None


def spent() -> tuple[float, float]:
    """CPU seconds of this process and of those that it has ended, and the clock."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system, time.perf_counter()


def since(start: tuple[float, float]) -> tuple[float, float]:
    """How much of both has passed."""
    now = spent()
    return now[0] - start[0], now[1] - start[1]


CASES: dict[str, Callable[[], Timed]] = {
    "first page, attribute in a pair": lambda: asked(lambda: twenty_thousand(WITH, curved=False), page, fit=True),
    "first page, attribute in no pair": lambda: asked(lambda: twenty_thousand(WITHOUT, curved=False), page, fit=True),
    "the same, curved, in a pair": lambda: asked(lambda: twenty_thousand(WITH, curved=True), page, fit=True),
    "the same, curved, in no pair": lambda: asked(lambda: twenty_thousand(WITHOUT, curved=True), page, fit=True),
    "law school, report": lambda: asked(law_school, page),
    "law school, report with limits": lambda: asked(law_school, lambda audit: page(audit, columns=["sex"], bands=100)),
    "law school, effects with bounds": lambda: asked(law_school, effects),
    "the demonstration": demonstrated,
}


# ---------------------------------------------------------------- two checkouts


def run(checkout: Path, case: str) -> Timed:
    """One run with the fairstress of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the first run compiles, as everywhere
    command = [sys.executable, __file__, "--run", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{case} fails with {checkout}:\n{done.stderr.strip()[-2000:]}")
    cpu, wall, answer = json.loads(done.stdout)
    return cpu, wall, answer


def apart(one: Any, other: Any) -> float:
    """The largest difference of numbers that stand in the same place; counts of ascents are none of the answer."""
    if isinstance(one, dict | list) and not isinstance(other, type(one)):  # which one of both does not give
        return 0.0
    if isinstance(one, dict):
        shared = [key for key in one if key in other and not key.startswith(("n_", "scan", "schema"))]
        return max((apart(one[key], other[key]) for key in shared), default=0.0)
    if isinstance(one, list):
        return max((apart(*both) for both in matched(one, other)), default=0.0)
    if not all(isinstance(number, int | float) for number in (one, other)) or isinstance(one, bool) or one != one:
        return 0.0
    return abs(one - other) / max(1.0, abs(one))


def matched(one: list[Any], other: list[Any]) -> list[tuple[Any, Any]]:
    """Entries that stand for the same: by their place or, where one answer has more of them, by what they say of it."""
    if len(one) == len(other):
        return list(zip(one, other, strict=True))
    named = {name(entry): entry for entry in other if isinstance(entry, dict)}
    return [(entry, named[name(entry)]) for entry in one if isinstance(entry, dict) and name(entry) in named]


def name(entry: dict[str, Any]) -> str:
    """What a record is of: its words and the size of its budget, or of its mark."""
    words = {key: value for key, value in entry.items() if isinstance(value, str) or key in ("p_max", "multiple")}
    return json.dumps(words, sort_keys=True)


def main(before: Path, cases: list[str]) -> None:
    print(f"{date.today()}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs; ", end="")
    print(f"medians of {RUNS} alternating runs, load {os.getloadavg()[0]:.1f}")
    print(f"{'':<34}{'before':>15}{'now':>15}{'times as fast':>15}")
    print(f"{'':<34}" + f"{'CPU':>7}{'clock':>8}" * 3 + "   numbers apart")
    for case in cases:
        run(before, case), run(HERE, case)
        pairs = [(run(before, case), run(HERE, case)) for _ in range(RUNS)]
        old, new = ([statistics.median(pair[i][k] for pair in pairs) for k in (0, 1)] for i in (0, 1))
        ratios = [statistics.median(a[k] / b[k] for a, b in pairs) for k in (0, 1)]
        line = "".join(f"{row[0]:7.2f}{row[1]:8.2f}" for row in (old, new, ratios))
        answers = [one[2] for one in pairs[0]]
        print(f"{case:<34}{line}   {'' if None in answers else f'{apart(*answers):.0e}'}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        print(json.dumps(CASES[sys.argv[2]](), default=str))
    else:
        main(Path(sys.argv[1]).resolve(), sys.argv[2:] or list(CASES))
