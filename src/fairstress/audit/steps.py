"""How far a long piece of work has come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fairstress.sensitivity.profile import Progress

T = TypeVar("T")


@dataclass(slots=True)
class Steps:
    """Counts steps, and tells whoever wants to know."""

    total: int
    progress: Progress | None = None  # called with steps done and steps in all
    done: int = 0

    def __call__(self) -> None:
        """One more is done."""
        self.done += 1
        if self.progress:
            self.progress(self.done, self.total)

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Go through some items; what is made of each is a step."""
        for item in items:
            yield item
            self()
