"""How the time of a fit, of CFU and of a worst case grows: with rows, with features, and with pairs.

Simulated people, equations of degree 2 and a predictor of degree 2, penalties given. Each question is put to an audit
that has answered none before, so that its time has everything that is made once in it. All points are measured in one
process, in turn, in processor time; the best of a few counts, since others who use the machine can only make a time
longer. Exponents are slopes of log time by log size over all points, with their standard errors, and between the last
two points: what every call takes, however small the table, makes the former smaller. 10^8 rows, which do not fit into
memory, are those of streams.py.

Usage: python benchmarks/growth.py [--rows LARGEST] [--turns TURNS]
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import fairstress as fs

LARGEST = 10_000_000  # rows
TURNS = 3
LONG = 20.0  # seconds of a turn from which on one is enough
FEW_ROWS = 10_000  # where features or pairs are what grows
FEATURES = (2, 3, 5, 8, 12, 20)
PAIRS, FEATURES_OF_PAIRS = (1, 2, 4, 8, 15, 30, 60), 12
P_MAX = 0.1
QUESTIONS = ("fit", "CFU", "worst case")


@dataclass(frozen=True)
class Growth:
    """Times of the three questions at several sizes."""

    name: str  # what stays as it is
    what: str  # what grows
    sizes: tuple[int, ...]
    seconds: np.ndarray  # (sizes, questions)


def graph_of(features: int, pairs: int, *, attribute: bool = False) -> fs.CausalGraph:
    """A chain of features, every second of them moved by the attribute; neighbours share hidden causes first.

    No equation spans what a correlation with the one before it would shift, so that pairs do move CFU. With
    ``attribute`` the attribute and the last feature share one instead.
    """
    names = [f"x{j + 1}" for j in range(features)]
    edges = [*itertools.pairwise(names), *(("a", name) for name in names[::2])]
    near = sorted(itertools.combinations(range(features), 2), key=lambda pair: (pair[1] - pair[0], pair))
    chosen = [("a", names[-1])] if attribute else [(names[j], names[k]) for j, k in near[:pairs]]
    return fs.CausalGraph(edges=tuple(edges), pairs=tuple(chosen), protected="a", outcome="y")


def people(graph: fs.CausalGraph, n: int) -> pd.DataFrame:
    """People whose features move with what the graph says, and with squares of it."""
    rng = np.random.default_rng(0)
    columns = {"a": rng.choice([-1.0, 1.0], n)}
    for name in graph.features:
        x = rng.standard_normal(n)
        for source, target in graph.edges:
            if target == name:
                x += 0.4 * columns[source] + (0.1 * np.minimum(columns[source] ** 2, 4.0) if source != "a" else 0.0)
        columns[name] = x
    columns["y"] = sum(columns[name] for name in graph.features) / len(graph.features) ** 0.5 + rng.standard_normal(n)
    return pd.DataFrame(columns)


def turn(frame: pd.DataFrame, graph: fs.CausalGraph) -> list[float]:
    """Processor seconds of a fit, and of CFU and of a worst case of audits that have answered nothing yet."""
    given: dict[str, Any] = {"degrees": dict.fromkeys(graph.features, 2), "penalty": 0}
    given |= {"predictor_degree": 2, "predictor_penalty": 1, "random_state": 0}
    fitting, audit = timed(lambda: fs.Audit.fit(frame, graph, **given))
    asking, _ = timed(lambda: audit.cfu({graph.pairs[0]: P_MAX}))
    audit = fs.Audit.fit(frame, graph, **given)
    searching, _ = timed(lambda: audit.worst_case(P_MAX, random_state=0))
    return [fitting, asking, searching]


def timed(step: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = step()
    return time.process_time() - start, found


def best(frame: pd.DataFrame, graph: fs.CausalGraph, turns: int) -> np.ndarray:
    """(questions,) the best times of a few turns, of one where it takes long."""
    found = [turn(frame, graph)]
    while len(found) < turns and sum(found[0]) < LONG:
        found.append(turn(frame, graph))
    return np.min(found, axis=0)


def grown(name: str, what: str, problems: Sequence[tuple[int, int, fs.CausalGraph]], turns: int) -> Growth:
    """Measure problems, each the size that grows, rows and graph."""
    seconds = []
    for size, rows, graph in problems:
        print(f"\r{name}: {size:,} {what}     ", end="", file=sys.stderr, flush=True)
        seconds.append(best(people(graph, rows), graph, turns))
    print(file=sys.stderr)
    return Growth(name, what, tuple(size for size, _, _ in problems), np.array(seconds))


def measure(largest: int, turns: int) -> Iterator[Growth]:
    """Let rows, features and pairs grow, one after the other."""
    rows = [n for n in (10**power for power in range(4, 10)) if n <= largest]
    for name, attribute in (("pair of two features", False), ("pair with the attribute", True)):
        graph = graph_of(3, 1, attribute=attribute)
        yield grown(f"three features, {name}", "rows", [(n, n, graph) for n in rows], turns)
    few = min(FEW_ROWS, largest)
    yield grown(f"{few:,} rows, one pair", "features", [(m, few, graph_of(m, 1)) for m in FEATURES], turns)
    problems = [(k, few, graph_of(FEATURES_OF_PAIRS, k)) for k in PAIRS]
    yield grown(f"{few:,} rows, {FEATURES_OF_PAIRS} features", "pairs", problems, turns)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The slope of log time by log size by least squares, and its standard error (NaN for two points)."""
    u, v = np.log(sizes), np.log(seconds)
    u, v = u - u.mean(), v - v.mean()
    slope = float(u @ v / (u @ u))
    freedom = u.size - 2
    return slope, float(np.sqrt(np.square(v - slope * u).sum() / freedom / (u @ u))) if freedom else float("nan")


def table(growth: Growth) -> Iterator[str]:
    """Rows of Markdown: seconds at each size, exponents with their standard errors, exponents of the last step."""
    yield f"| {growth.name}: {growth.what} | {' | '.join(QUESTIONS)} |"
    yield f"| ---: |{' ---: |' * len(QUESTIONS)}"
    for size, seconds in zip(growth.sizes, growth.seconds, strict=True):
        yield f"| {size:,} | {' | '.join(f'{spent:.3g}' for spent in seconds)} |"
    columns = growth.seconds.T
    fitted = [exponent(growth.sizes, column) for column in columns]
    yield f"| exponent | {' | '.join(f'{slope:.2f} ± {error:.2f}' for slope, error in fitted)} |"
    last = [exponent(growth.sizes[-2:], column[-2:])[0] for column in columns]
    yield f"| of the last step | {' | '.join(f'{slope:.2f}' for slope in last)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=LARGEST, help="the most rows, at least 100,000")
    parser.add_argument("--turns", type=int, default=TURNS, help="the best of how many counts")
    options = parser.parse_args()
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"library  fairstress {fs.__version__}, numpy {np.__version__}")
    print(f"seconds of processor time, worst cases within {P_MAX:g}; the best of up to {options.turns}")
    turn(people(graph_of(3, 1), 1000), graph_of(3, 1))  # imports what is needed
    for growth in measure(options.rows, options.turns):
        print("", *table(growth), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
