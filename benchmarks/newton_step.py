"""One Newton step of Model B costs the same for ten thousand rows and for ten million: it sees the data by moments.

Moments of simulated data are added up over chunks of a million rows, with the library's own functions; then the step is
timed on both, in turn. Exits with 1 if the two medians differ by more than a factor of 1.2.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator

import numpy as np

import fairstress as fs
from fairstress.inputs.rows import Rows
from fairstress.model.design import Design, Equation, Moments, structural_moments
from fairstress.model.embedding import Input, Polynomial
from fairstress.model.fit import System, _newton_step, _profile
from fairstress.summing import add_up
from fairstress.threads import one_thread

FEATURES = 3
DEGREE = 2
PENALTY = 1.0
CHUNK = 1_000_000
SIZES = (10_000, 10_000_000)
REPETITIONS = 5_000
MOST_RATIO = 1.2
CORRELATION = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]])


def saturated_design() -> Design:
    """Every feature has the protected attribute and all features before it as parents."""
    names = [f"x{j + 1}" for j in range(FEATURES)]
    equations = []
    for j, name in enumerate(names):
        inputs = [Input("a", is_sign=True), *(Input(parent) for parent in names[:j])]
        equations.append(
            Equation(
                feature=name,
                column=j,
                uses_protected=True,
                parents=tuple(range(j)),
                moves=True,
                descends=True,
                degree=DEGREE,
                embedding=Polynomial.of(inputs, DEGREE),
            )
        )
    return Design.of(equations)


def simulated_chunks(n: int, rng: np.random.Generator) -> Iterator[Rows]:
    """Correlated features that move with a -1/+1 attribute, at most a chunk of them in memory."""
    root = np.linalg.cholesky(CORRELATION)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        a = rng.choice([-1.0, 1.0], size)
        x = np.asfortranarray(rng.standard_normal((size, FEATURES)) @ root.T)
        x += 0.4 * a[:, None]
        nothing = np.zeros(size)  # the structural equations do not look at an outcome
        yield Rows(a, -a, x, np.ones(size), nothing, nothing)


@one_thread
def build_moments(n: int, design: Design) -> tuple[Moments, float]:
    """Add up the moments of ``n`` rows; give them with the seconds that this takes, without the simulation."""
    seconds = 0.0

    def parts() -> Iterator[Moments]:
        nonlocal seconds
        for chunk in simulated_chunks(n, np.random.default_rng(0)):
            start = time.perf_counter()
            moments = structural_moments(chunk, design.equations)
            seconds += time.perf_counter() - start
            yield moments

    return add_up(parts()), seconds


def step_seconds(system: System, P_inverse: np.ndarray, t: np.ndarray) -> float:
    """Time one step: the profile objective at t, and Newton's step from there."""
    start = time.perf_counter()
    _newton_step(system, _profile(system, P_inverse, t))
    return time.perf_counter() - start


def median_steps(systems: list[System]) -> list[float]:
    """Median time of a step on each system, timed in turn so that the machine's moods strike all alike."""
    P_inverse, t = np.linalg.inv(CORRELATION)[None], np.full((1, FEATURES), -0.1)
    times: list[list[float]] = [[] for _ in systems]
    for repetition in range(REPETITIONS):
        for i in (range(len(systems)), reversed(range(len(systems))))[repetition % 2]:
            times[i].append(step_seconds(systems[i], P_inverse, t))
    return [statistics.median(found[REPETITIONS // 10 :]) for found in times]  # the first tenth warms up


def main() -> int:
    design = saturated_design()
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"library  fairstress {fs.__version__}, numpy {np.__version__}")
    print(f"model    {FEATURES} features, saturated, degree {DEGREE}: {design.feature_of.size} weights")
    systems = []
    for n in SIZES:
        moments, seconds = build_moments(n, design)
        systems.append(System(moments, design.feature_of, design.penalties(PENALTY, penalise_constant=False)))
        print(f"moments  n = {n:>10,}: {seconds:.3f} s, once, in chunks of {min(n, CHUNK):,}")
    medians = median_steps(systems)
    for n, seconds in zip(SIZES, medians, strict=True):
        print(f"step     n = {n:>10,}: {1e6 * seconds:.1f} us (median of {REPETITIONS - REPETITIONS // 10:,})")
    ratio = medians[1] / medians[0]
    passed = 1 / MOST_RATIO <= ratio <= MOST_RATIO
    print(f"ratio    {ratio:.3f}: {'passed' if passed else f'failed, it is not within a factor of {MOST_RATIO}'}")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
