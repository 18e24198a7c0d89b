"""Reading and writing graphs takes time in proportion to the text.

Each way to read or write is timed on a text and on one eight times as long, in turn, at a length that takes at least a
fiftieth of a second. Exits with 1 if the longer one takes more than 8^1.5 times as long, which on the scale of powers
is halfway between linear and quadratic.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import fairstress as fs
from fairstress import CausalGraph

ENDS: Any = {"protected": "race", "outcome": "y"}
LONGER = 8
REPETITIONS = 5
LEAST_SECONDS = 0.02


def many_edges(n: int) -> CausalGraph:
    return CausalGraph(edges=tuple(("race", f"x{i}") for i in range(n)), **ENDS)


def dot(text: str) -> None:
    with suppress(fs.GraphError):  # texts that never close are refused, which must not take long either
        CausalGraph.from_dot(text, **ENDS)


def text(given: str) -> None:
    CausalGraph.parse(given, **ENDS)


def in_dot(mark: str) -> Callable[[int], str]:
    return lambda n: "digraph { race -> x " + mark * n + "}"


WORK: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "open comments": (in_dot("/* "), dot),
    "comments": (in_dot("/* */ "), dot),
    "open brackets": (in_dot("[a "), dot),
    "open markup": (in_dot("[a=<"), dot),
    "open quotes": (lambda n: in_dot('\\"')(n).replace("x ", 'x "'), dot),
    "semicolons in DOT": (in_dot(";"), dot),
    "line ends in DOT": (in_dot("\n"), dot),
    "names in DOT": (lambda n: "digraph { race -> {" + " ".join(f"x{i}" for i in range(n)) + "} }", dot),
    "hidden causes": (
        lambda n: "dag { race -> x; " + "; ".join(f"u{i} [latent]; u{i} -> x" for i in range(n)) + "}",
        dot,
    ),
    "semicolons in text": (lambda n: "race -> x" + ";" * n, text),
    "names in text": (lambda n: "; ".join(f"race -> x{i}" for i in range(n)), text),
    "pairs in text": (
        lambda n: "; ".join(f"race =fair=> x{i}; x{i} <-> x{i + 1}" for i in range(n)) + f"; race -> x{n}",
        text,
    ),
    "to_dict": (many_edges, CausalGraph.to_dict),
    "to_text": (many_edges, CausalGraph.to_text),
    "to_dot": (many_edges, CausalGraph.to_dot),
    "to_frame": (many_edges, CausalGraph.to_frame),
}


def seconds(work: Callable[[Any], Any], given: Any) -> float:
    start = time.process_time()
    work(given)
    return time.process_time() - start


def growth(make: Callable[[int], Any], work: Callable[[Any], Any]) -> tuple[int, float]:
    """A length, and how many times as long a text of LONGER times that length takes."""
    work(make(50))  # warms up
    n = 50
    while seconds(work, make(n)) < LEAST_SECONDS:
        n *= 3
    short, long = make(n), make(LONGER * n)
    times = [(seconds(work, long), seconds(work, short)) for _ in range(REPETITIONS)]
    return n, min(t for t, _ in times) / min(t for _, t in times)


def main() -> int:
    failed = 0
    for name, (make, work) in WORK.items():
        n, ratio = growth(make, work)
        failed += ratio > LONGER**1.5
        print(
            f"{name:20} {n:>9,} -> {LONGER * n:>10,}: {ratio:5.1f} times{'  failed' * (ratio > LONGER**1.5)}",
            flush=True,
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
