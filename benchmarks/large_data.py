"""What an audit of a million and of ten million rows needs: processor time and memory, each in a process of its own.

Simulated people with a two-valued protected attribute, three features and an outcome; degrees and penalties are given.
Features are continuous (every row is distinct), or rounded to halves, as grades and scales of a questionnaire are. Of
the two graphs, one lets two features share a hidden cause and one the protected attribute and a feature: there the fit
needs the rows at every step. People are drawn and written to a Parquet file in another process, so that the most memory
is that of reading the file and of the audit, the table included. Exits with 1 if ten times the rows take more than 15
times the time of a fit.

Usage: python benchmarks/large_data.py [ROWS ...]
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import fairstress as fs

SIZES = (1_000_000, 10_000_000)
MOST_RATIO = 15  # grouping rows that are alike grows faster than their number
EDGES = "a -> x1, x2, x3; x1 -> x2; x2 -> x3"
PAIRS = {"x1 <-> x3": ("x1", "x3"), "a <-> x3": ("a", "x3")}
KINDS = ("continuous", "halves")
GIVEN: dict[str, Any] = {
    "degrees": {"x1": 1, "x2": 1, "x3": 1},
    "penalty": 0,
    "predictor_degree": 1,
    "predictor_penalty": 0,
    "random_state": 0,
}


def people(n: int, kind: str) -> pd.DataFrame:
    """Draw people; features move with the attribute and with each other."""
    rng = np.random.default_rng(0)
    a = rng.choice([-1.0, 1.0], n)
    columns = {"a": a}
    before = np.zeros(n)
    for name in ("x1", "x2", "x3"):
        before = 0.4 * a + 0.5 * before + rng.standard_normal(n)
        if kind == "halves":
            before = np.round(2 * before) / 2
        columns[name] = before
    columns["y"] = before + rng.standard_normal(n)
    return pd.DataFrame(columns)


def read(path: str) -> pd.DataFrame:
    """Read a table column by column, so that no more than one of them is in memory twice."""
    names = pq.read_schema(path).names
    frame = pd.DataFrame(
        {name: pq.read_table(path, columns=[name])[name].to_numpy().copy() for name in names}, copy=False
    )
    pa.default_memory_pool().release_unused()
    return frame


def gigabytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # kilobytes on Linux


def timed(step: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()  # of all threads together; the machine may have other work
    found = step()
    return found, time.process_time() - start


def measure(path: str, pair: str) -> dict[str, float]:
    """Fit, ask for CFU at one correlation, along a profile, and for the worst case within a budget."""
    frame = read(path)
    graph = fs.CausalGraph.parse(f"{EDGES}; {pair}", protected="a", outcome="y")
    fit = fs.Audit.fit  # imports what it needs
    found: dict[str, float] = {"table": frame.memory_usage().sum() / 2**30}
    start = time.perf_counter()
    audit, found["fit"] = timed(lambda: fit(frame, graph, **GIVEN))
    found["wall"], found["most of fit"] = time.perf_counter() - start, gigabytes()
    found["distinct"] = audit.fitted.table.rows.a.size
    _, found["cfu"] = timed(lambda: audit.cfu({PAIRS[pair]: 0.3}))
    _, found["profile"] = timed(lambda: audit.profile(PAIRS[pair], np.linspace(-0.4, 0.4, 9)))
    _, found["worst_case"] = timed(lambda: audit.worst_case(0.3))
    found["peak"] = gigabytes()
    return found


def in_a_process_of_its_own(n: int, kind: str, pair: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "people.parquet")
        _run("--write", str(n), kind, path)
        return dict(json.loads(_run("--measure", path, pair)))


def _run(*words: str) -> str:
    """Run this program in another process, and give what it prints."""
    return subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True).stdout


def table(sizes: tuple[int, ...]) -> Iterator[tuple[int, str, str, dict[str, float]]]:
    for kind in KINDS:
        for pair in PAIRS:
            for n in sizes:
                yield n, kind, pair, in_a_process_of_its_own(n, kind, pair)


def line(n: int, kind: str, pair: str, found: dict[str, float]) -> str:
    fit = f"{found['wall']:>8.2f}{found['fit']:>8.2f}"
    seconds = f"{fit}{found['cfu']:>8.2f}{found['profile']:>9.2f}{found['worst_case']:>8.2f}"
    memory = f"{found['table']:>7.2f}{found['most of fit']:>7.2f}{found['peak']:>7.2f}"
    return f"{kind:<12}{pair:<11}{n:>11,}{found['distinct']:>11,.0f}{seconds}{memory}"


def main(sizes: tuple[int, ...]) -> int:
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"library  fairstress {fs.__version__}, numpy {np.__version__}, pandas {pd.__version__}")
    print(
        "seconds of a fit by the clock; processor seconds of a fit, of CFU at one correlation, of a profile of 9 and of"
    )
    print("a worst case; gigabytes of the table, of the whole process up to the end of the fit, and at the most\n")
    print("features    pair              rows   distinct   clock     fit     CFU  profile   worst  table    fit   most")
    fits: dict[tuple[str, str], list[float]] = {}
    for n, kind, pair, found in table(sizes):
        fits.setdefault((kind, pair), []).append(found["fit"])
        print(line(n, kind, pair, found), flush=True)
    ratio, more = max(seconds[-1] / seconds[0] for seconds in fits.values()), sizes[-1] / sizes[0]
    passed = ratio <= MOST_RATIO
    print(f"\nratio    a fit of {more:g} times the rows takes up to {ratio:.1f} times as long: ", end="")
    print("passed" if passed else "failed")
    return int(not passed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(*sys.argv[2:])))
    elif sys.argv[1:2] == ["--write"]:
        people(int(sys.argv[2]), sys.argv[3]).to_parquet(sys.argv[4])
    else:
        sys.exit(main(tuple(map(int, sys.argv[1:])) or SIZES))
