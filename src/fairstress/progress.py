"""How far a long piece of work has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Progress = Callable[[int, int], None]  # called with steps done and steps in all

T = TypeVar("T")


@dataclass(slots=True)
class Steps:
    """Counts steps, and tells whoever wants to know. Where more follow than were planned, the total grows with them."""

    total: int
    progress: Progress | None = None
    done: int = 0

    def __call__(self) -> None:
        """One more is done."""
        self.done += 1
        self.total = max(self.total, self.done)
        if self.progress:
            self.progress(self.done, self.total)

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Go through some items; what is made of each is a step."""
        for item in items:
            yield item
            self()

    def finish(self) -> None:
        """All is done, be it in fewer steps than were planned."""
        if self.progress and self.done < self.total:
            self.progress(self.total, self.total)
