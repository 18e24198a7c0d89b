"""Reading and writing graphs takes work in proportion to the text, counted and not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from fairstress import CausalGraph

ENDS = {"protected": "race", "outcome": "y"}
SHORT, LONGER = 500, 8
SHIFTING = ("pop", "insert", "remove", "index", "count")  # what walks through a list, or moves all of it
WAYS: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "semicolons in text": (lambda n: "race -> x" + ";" * n, lambda text: CausalGraph.parse(text, **ENDS)),
    "names in text": (
        lambda n: "; ".join(f"race -> x{i}" for i in range(n)),
        lambda text: CausalGraph.parse(text, **ENDS),
    ),
    "semicolons in DOT": (
        lambda n: "digraph { race -> x " + ";" * n + " race -> z }",
        lambda text: CausalGraph.from_dot(text, **ENDS),
    ),
    "names in DOT": (
        lambda n: "digraph { race -> {" + " ".join(f"x{i}" for i in range(n)) + "} }",
        lambda text: CausalGraph.from_dot(text, **ENDS),
    ),
    "to_dict": (lambda n: CausalGraph(edges=[("race", f"x{i}") for i in range(n)], **ENDS), CausalGraph.to_dict),
    "to_text": (lambda n: CausalGraph(edges=[("race", f"x{i}") for i in range(n)], **ENDS), CausalGraph.to_text),
}


class Text(str):
    """A text that counts the characters that are copied out of it, and out of the copies."""

    copied: list[int]

    def __getitem__(self, place: Any) -> str:
        cut = Text(super().__getitem__(place))
        cut.copied = self.copied
        self.copied.append(len(cut))
        return cut


def handled(work: Callable[[Any], Any], given: Any) -> int:
    """Calls that some work makes, each counted with the length of the text, or of the list, that it goes through."""
    found, copied = 0, []
    if isinstance(given, str):
        given = Text(given)
        given.copied = copied

    def watch(frame: Any, event: str, called: Any) -> None:
        nonlocal found
        own = getattr(called, "__self__", None) if event == "c_call" else None
        walks = isinstance(own, str) or (isinstance(own, list) and called.__name__ in SHIFTING)
        found += 1 + (len(own) if walks else 0)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work(given)
    finally:
        sys.setprofile(before)
    return found + sum(copied)


@pytest.mark.parametrize(("make", "work"), WAYS.values(), ids=WAYS)
def test_a_text_that_is_eight_times_as_long_takes_about_eight_times_the_work(make, work):
    short, long = (handled(work, make(n)) for n in (SHORT, LONGER * SHORT))
    assert short > SHORT
    assert long < LONGER**1.25 * short  # what grows with the square would take 64 times as much
