"""An audit of Parquet files that are not read into memory: passes against a plain read, and the most memory.

Makes files of simulated people (an attribute, three features, an outcome), if they are not there yet, then audits them
end to end with degree 3: fit, CFU at one correlation, a worst case between two features. The processor time of passes
over all rows is compared with that of a plain read, which adds up the columns and does nothing else. Exits with 1 if
the process needs more than 4 GiB, or if reading and coding all rows take more than three times a plain read; what a
pass computes besides depends on the degrees, and its ratio is printed.

Usage: python benchmarks/streams.py [ROWS] [FOLDER]
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import fairstress as fs
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import fits
from fairstress.functionals.cfu import CFU
from fairstress.inputs.streamed import InBatches
from fairstress.inputs.streams import open_stream
from fairstress.model.design import structural_moments
from fairstress.threads import one_thread

ROWS = 100_000_000
FILE = 5_000_000  # rows of a file
MANY = 20_000_000  # rows from which on each pass is timed once, of fewer the best of three
COLUMNS = ["a", "x1", "x2", "x3", "y"]
MOST_MEMORY, MOST_RATIO = 4.0, 3.0
GRAPH = fs.CausalGraph.parse("a -> x1, x2, x3; x1 -> x2; x2 -> x3; x1 <-> x3", protected="a", outcome="y")
GIVEN: dict[str, Any] = {
    "degrees": {"x1": 3, "x2": 3, "x3": 3},
    "penalty": 1,
    "predictor_degree": 3,
    "predictor_penalty": 1,
    "random_state": 0,
}


def make(folder: Path, rows: int) -> None:
    """Write files of people; features move with the attribute and with each other."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, FILE)):
        n, rng = min(FILE, rows - start), np.random.default_rng(number)
        columns = {"a": rng.integers(0, 2, n)}
        before = np.zeros(n)
        for name in ("x1", "x2", "x3"):
            before = 0.8 * columns["a"] + 0.5 * before + rng.standard_normal(n)
            columns[name] = before
        columns["y"] = before + rng.standard_normal(n)
        pq.write_table(pa.table(columns), folder / f"people{number:04}.parquet", row_group_size=2**17)


def timed(what: str, step: Callable[[], Any]) -> tuple[Any, float]:
    start, worked = time.perf_counter(), time.process_time()  # others may use the machine: work is what is compared
    found = step()
    taken, worked = time.perf_counter() - start, time.process_time() - worked
    print(f"{what:<28}{taken:>9.1f} s{worked:>9.1f} s{gibibytes():>9.2f} GiB", flush=True)
    return found, worked


def gibibytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # kilobytes on Linux


def plain_read(folder: Path) -> float:
    """Read the columns of all rows, and do no more with them than adding them up."""
    batches = ds.dataset(folder).to_batches(columns=COLUMNS)
    return sum(float(column.to_numpy().sum()) for batch in batches for column in batch.columns)


def looking_at_everyone(claim: Claim) -> Claim:
    """The same claim, whose CFU is swept over everyone each time."""
    other = replace(claim)
    other._nodes[:] = [None]
    return other


def audit(folder: Path, times: int) -> dict[str, float]:
    """Audit end to end; give the times of a plain read and of passes, the best of some each."""
    fitted, _ = timed("fit", lambda: fs.Audit.fit(folder, GRAPH, **GIVEN))
    timed("CFU at one correlation", lambda: fitted.cfu({("x1", "x3"): 0.3}))
    timed("worst case within 0.1", lambda: fitted.worst_case(0.1))
    claim, P = fitted.fitted.claim, np.eye(3)
    P[0, 2] = P[2, 0] = 0.3
    (fit,) = fits(claim, P[None], check_minima=False)
    swept, batches = looking_at_everyone(claim), InBatches(open_stream(folder), 10**9)
    passes = {
        "a plain read": lambda: plain_read(folder),
        "reading and coding": lambda: claim.everyone.total(lambda block: block.n),
        "a first look": lambda: batches.look(COLUMNS, None),
        "a pass for moments": lambda: structural_moments(claim.everyone, claim.design.equations),
        "what all CFU follow from": lambda: replace(claim).for_squares(),
        "a sweep for CFU and gradient": lambda: CFU().values_and_slopes(swept, [fit]),
    }
    with one_thread:
        return {what: min(timed(what, step)[1] for _ in range(times)) for what, step in passes.items()}


def main(rows: int, folder: Path) -> int:
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print("\n                                 clock     worked  most memory")
    if not list(folder.glob("*.parquet")):
        timed(f"writing {rows:,} rows", lambda: make(folder, rows))
    found = audit(folder, 3 if rows < MANY else 1)
    size = sum(file.stat().st_size for file in folder.glob("*.parquet")) / 2**30
    print(f"\nfiles    {size:.2f} GiB")
    read, *others = found.values()
    for what, worked in zip(list(found)[1:], others, strict=True):
        print(f"ratio    {what} takes {worked / read:.1f} times a plain read")
    passed = gibibytes() <= MOST_MEMORY and others[0] <= MOST_RATIO * read
    print(f"memory   at most {gibibytes():.2f} GiB: {'passed' if passed else 'failed'}")
    return int(not passed)


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    if len(sys.argv) > 2:
        sys.exit(main(wanted, Path(sys.argv[2])))
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(main(wanted, Path(folder) / "people"))
