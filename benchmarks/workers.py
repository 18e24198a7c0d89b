"""An audit on Dask's workers: its numbers against those of the same data in memory, and one worker against two.

Law school, the NHS staff survey (where the environment's FAIRSTRESS_DATA has it) and ten million simulated people, each
with a hidden cause of the attribute too. Exits with 1 if a number is off by more than 1e-9, relative, or if two workers
are not 1.6 times as fast as one on the simulated people.

Usage: python benchmarks/workers.py [ROWS]
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what Dask says of itself when it is imported
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

import fairstress as fs
from fairstress.inputs import look

ROWS = 10_000_000
PARTS = 40  # partitions of the simulated people
LEAST, TOLERANCE = 1.6, 1e-9
LAW = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; race <-> lsat <-> ugpa", protected="race", outcome="zfya")
NHS = fs.CausalGraph.parse(
    "race -> job_sat, manager_sat, org_sat; job_sat, manager_sat -> org_sat; race <-> job_sat <-> org_sat",
    protected="race",
    outcome="health",
)
SIMULATED = fs.CausalGraph.parse("a -> x1, x2, x3; x1 -> x2; x2 -> x3; a <-> x3", protected="a", outcome="y")


def given(graph: fs.CausalGraph, degree: int) -> dict[str, Any]:
    degrees = dict.fromkeys(graph.features, degree)
    return {"degrees": degrees, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}


@contextmanager
def workers(count: int):
    options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def numbers(data: Any, graph: fs.CausalGraph, degree: int = 2, **options: Any) -> np.ndarray:
    """Weights of Model A, CFU and its gradient at one correlation, the worst case within 0.2."""
    audit = fs.Audit.fit(data, graph, **given(graph, degree), **options)
    P = dict.fromkeys(graph.pairs, 0.3)
    a = audit.fitted.claim.model_a.weights
    return np.array([*a, audit.cfu(P), *audit.gradient(P), audit.worst_case(0.2).value])


def off(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the number or, of small ones, to a millionth of the largest."""
    return float((np.abs(found - expected) / np.maximum(np.abs(expected), 1e-6 * np.abs(expected).max())).max())


def alike(name: str, frame: pd.DataFrame, graph: fs.CausalGraph, **options: Any) -> bool:
    """Whether a small table, of which a thousand people are held, has its numbers on two workers too."""
    before, look.HELD = look.HELD, 1000
    try:
        with workers(2) as client:
            found = numbers(dd.from_pandas(frame, npartitions=6), graph, client=client, **options)
    finally:
        look.HELD = before
    difference = off(found, numbers(frame, graph, **options))
    print(f"{name:<18}{len(frame):>12,} rows   off by {difference:.1e}", flush=True)
    return difference <= TOLERANCE


def survey() -> pd.DataFrame | None:
    """The staff survey, where it is there; its answers repeat, and are counted on the workers."""
    path = Path(os.environ.get("FAIRSTRESS_DATA", ""), "nhs_staff_survey.npz")
    return fs.datasets.nhs_staff_survey(path) if path.is_file() else None


def write(folder: Path, rows: int) -> pd.DataFrame:
    rng, a = np.random.default_rng(0), np.random.default_rng(1).integers(0, 2, rows)
    columns, before = {"a": a}, np.zeros(rows)
    for name in ("x1", "x2", "x3"):
        before = 0.8 * a + 0.5 * before + rng.standard_normal(rows)
        columns[name] = before
    frame = pd.DataFrame({**columns, "y": before + rng.standard_normal(rows)})
    for part, places in enumerate(np.array_split(np.arange(rows), PARTS)):
        frame.iloc[places].to_parquet(folder / f"{part:03}.parquet")
    return frame


def timed(data: Any, client: Client) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    found = numbers(data, SIMULATED, client=client)
    return found, time.perf_counter() - start


def simulated(rows: int) -> bool:
    """Ten million people in files: one worker, two workers, memory."""
    with tempfile.TemporaryDirectory() as folder:
        frame, seconds = write(Path(folder), rows), {}
        for count in (1, 2):
            with workers(count) as client:
                found, seconds[count] = timed(dd.read_parquet(folder), client)
            print(f"{count} of the workers took {seconds[count]:.1f} s", flush=True)
    difference, ratio = off(found, numbers(frame, SIMULATED)), seconds[1] / seconds[2]
    print(
        f"{'simulated':<18}{rows:>12,} rows   off by {difference:.1e}; two workers are {ratio:.2f} times as fast as one"
    )
    return difference <= TOLERANCE and ratio >= LEAST


def main(rows: int) -> int:
    print(f"machine     Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    law, staff = fs.datasets.law_school(), survey()
    noise = np.random.default_rng(0).standard_normal((len(law), 2))  # so that no two students are alike
    law = law.assign(ugpa=law["ugpa"] + 0.01 * noise[:, 0], lsat=law["lsat"] + 0.1 * noise[:, 1])
    passed = alike("law school", law, LAW, reference="White")
    if staff is not None:
        passed &= alike("NHS staff survey", staff, NHS)
    passed &= simulated(rows)
    print("passed" if passed else "failed")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
