"""The law-school profile (201 correlations) by fairstress and by the paper's formulas in plain PyTorch.

PyTorch runs twice: with the sums as the formulas stand, and blockwise, as someone would write them who has tuned them.
Exits with 1 if fairstress is less than 200 times faster than the former, or if the programs disagree on CFU by more
than 1 % for 0 < |p| <= 0.5.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import plain_torch
import scipy
import torch

import fairstress as fs

PAIR = ("ugpa", "lsat")
RUNS = 5  # of fairstress, after one that warms up; the median counts
LEAST_RATIO = 200.0  # against the sums as written
MOST_DISAGREEMENT = 0.01  # for 0 < |p| <= 0.5


def law_school_audit(frame: Any = None) -> fs.Audit:
    """The paper's experiment: race as White / non-White, degrees 1 to 4, penalised constants, contiguous folds."""
    data = fs.datasets.law_school() if frame is None else frame
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    settings = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous"}
    return fs.Audit.fit(data, graph, reference="White", **settings)


def anew(audit: fs.Audit) -> fs.Audit:
    """The same audit, fitted again: one that remembers no fit of Model B, so that a run can be timed."""
    return audit.refit(penalty=audit.settings.penalty)


def torch_problem(audit: fs.Audit) -> plain_torch.Problem:
    """The same data, one row per student, and the same degrees and penalties."""
    table, settings = audit.fitted.table, audit.settings
    return plain_torch.Problem.of(
        table.rows.a[table.row_of],
        table.rows.x[table.row_of],
        table.y,
        [settings.degrees[name] for name in audit.variables],
        penalty=settings.penalty,
        predictor_degree=settings.predictor_degree,
        predictor_penalty=settings.predictor_penalty,
    )


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time that a call takes, and what it gives."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def faster_thread_count(problem: plain_torch.Problem) -> int:
    """One thread or two, whichever fits five correlations sooner; the first fit of each warms up."""
    seconds = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        plain_torch.profile(problem, [0.0])
        seconds[threads], _ = timed(lambda: plain_torch.profile(problem, np.linspace(-0.4, 0.4, 5)))
    return min(seconds, key=lambda threads: seconds[threads])


def disagreement(ours: np.ndarray, theirs: np.ndarray, grid: np.ndarray, most: float) -> float:
    """Largest relative difference of CFU for 0 < |p| <= most; at 0 both are 0 but for rounding."""
    counted = (np.abs(grid) > 1e-9) & (np.abs(grid) <= most + 1e-9)
    return float(np.abs(theirs[counted] / ours[counted] - 1).max())


def print_settings(audit: fs.Audit, problem: plain_torch.Problem, grid: np.ndarray, threads: int) -> None:
    """Say what is compared with what."""
    chosen, distinct = audit.settings, audit.fitted.table.rows.a.size
    lines = {
        "machine": f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs",
        "data": f"law school, {problem.a.numel():,} rows, {distinct:,} of them distinct",
        "structure": f"degrees {chosen.degrees}, penalty {chosen.penalty:.2f}, constants penalised",
        "predictor": f"degree {chosen.predictor_degree}, penalty {chosen.predictor_penalty:.2f}",
        "grid": f"{grid.size} correlations of {' <-> '.join(PAIR)} from {grid[0]:g} to {grid[-1]:g}",
        "fairstress": f"{fs.__version__}, numpy {np.__version__}, scipy {scipy.__version__}; as it comes, "
        "the check for a second minimum and the curve without penalty included",
        "PyTorch": f"{torch.__version__}, float64, threads {threads}; sums over all rows, Powell to "
        f"{plain_torch.TOLERANCE:g} on log sigma, each fit from the scales of the one before",
    }
    for name, line in lines.items():
        print(f"{name:<12}{line}")


def run_torch(problem: plain_torch.Problem, grid: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds and CFU of the PyTorch profile, with progress on standard error."""

    def show(done: int) -> None:
        end = "\n" if done == grid.size else ""
        print(f"\rPyTorch: {done} of {grid.size} correlations", end=end, file=sys.stderr, flush=True)

    return timed(lambda: plain_torch.profile(problem, grid, show))


def main() -> int:
    audit = law_school_audit()
    problem = torch_problem(audit)
    grid = audit.profile(PAIR).correlation
    runs = [timed(lambda own=own: own.profile(PAIR)) for own in [anew(audit) for _ in range(RUNS)]]
    seconds, ours = statistics.median(spent for spent, _ in runs), runs[0][1].cfu
    threads = faster_thread_count(problem)
    torch.set_num_threads(threads)
    print_settings(audit, problem, grid, threads)
    print(f"fairstress  {seconds:.3f} s (median of {RUNS})")
    failures = []
    for name, blockwise in (("as written", False), ("blockwise", True)):
        torch_seconds, theirs = run_torch(replace(problem, blockwise=blockwise), grid)
        ratio, near, far = torch_seconds / seconds, *(disagreement(ours, theirs, grid, most) for most in (0.5, 0.9))
        print(f"PyTorch     {name}: {torch_seconds:.2f} s, ratio {ratio:.0f}; CFU differs by at most {near:.2%} for")
        print(f"            0 < |p| <= 0.5 and by {far:.2%} for 0 < |p| <= 0.9")
        if not blockwise and ratio < LEAST_RATIO:
            failures.append(f"the ratio is below {LEAST_RATIO:g}")
        if not near <= MOST_DISAGREEMENT:
            failures.append(f"CFU differs by more than {MOST_DISAGREEMENT:.0%} for 0 < |p| <= 0.5")
    print(f"failed: {'; '.join(failures)}" if failures else "passed")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
