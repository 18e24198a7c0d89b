"""What equations and a predictor look at on a walk through the graph, each thing by its number.

Sources are features and Model A's residuals, which Model B moves, and what is the same for every Model B: the protected
attribute, values along fair edges, indicators of levels, features that are known from Model A.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fairstress.model.design import Equation
from fairstress.model.view import ITSELF, RESIDUAL, Entry, RawColumns, View

NOWHERE = -1
PROTECTED, MOVED, FEATURES = 0, 1, 2  # rows of what is known of people: A in both worlds; x, eps, x_cf under Model A


class NotCompiledError(Exception):
    """Something that flat arrays have no words for."""


class Source(NamedTuple):
    """One thing that polynomials look at."""

    before: int  # the row of what is known of people where its factual values stand; NOWHERE: 1 for everyone
    after: int  # the row of its counterfactual values; NOWHERE: Model B makes them
    level: float | None = None  # the code that it indicates; None: it is the value itself


ONE = Source(NOWHERE, NOWHERE)  # the first of all sources


@dataclass(frozen=True, slots=True)
class Sources:
    """Gives each source its number, as it is asked for."""

    width: int  # m, the number of features
    made: dict[int, int]  # features that equations on the walk make, with the number of the equation
    known: frozenset[int]  # features that change as under Model A
    found: list[Source] = field(default_factory=lambda: [ONE])

    @property
    def count(self) -> int:
        """How many were asked for."""
        return len(self.found)

    def feature(self, k: int, level: float | None = None, *, still: bool = False) -> int:
        """A feature, or the indicator of one of its levels."""
        own = FEATURES + k
        if still or not (k in self.made or k in self.known):
            return self._number(Source(own, own, level))
        if level is not None:
            raise NotCompiledError  # levels that change
        return self._number(Source(own, own + 2 * self.width if k in self.known else NOWHERE))

    def residual(self, k: int) -> int:
        """What Model A takes for the error of a feature."""
        own = FEATURES + self.width + k
        return self._number(Source(own, NOWHERE if k in self.made else own))

    def protected(self, level: float | None, *, still: bool = False) -> int:
        """The protected attribute, or the indicator of one of its levels."""
        return self._number(Source(PROTECTED, PROTECTED if still else MOVED, level))

    def _number(self, source: Source) -> int:
        if source not in self.found:
            self.found.append(source)
        return self.found.index(source)

    def made_feature(self, k: int) -> int:
        """The source that the equation of a feature makes; NOWHERE if nobody asked for it."""
        return self._asked(Source(FEATURES + k, NOWHERE))

    def made_residual(self, k: int) -> int:
        """The same for its residual."""
        return self._asked(Source(FEATURES + self.width + k, NOWHERE))

    def _asked(self, source: Source) -> int:
        return self.found.index(source) if source in self.found else NOWHERE

    def changes(self, numbers: Iterable[int]) -> bool:
        """Whether a product of some sources differs between the worlds."""
        return any(self.found[number].before != self.found[number].after for number in numbers)

    def known_after(self, numbers: Iterable[int]) -> int:
        """After how many equations of the walk a product of some sources is known; 0: it is no matter of Model B."""
        return max(map(self._known_after, numbers), default=0)

    def _known_after(self, number: int) -> int:
        source = self.found[number]
        if source.after != NOWHERE or source == ONE:
            return 0
        return 1 + self.made[(source.before - FEATURES) % self.width]

    def of_equation(self, equation: Equation) -> list[int]:
        """The inputs of an equation."""
        levels = (equation.levels or (None,)) if equation.uses_protected else ()
        own = [self.protected(level, still=equation.protected_is_fair) for level in levels]
        return own + [self.feature(k, level, still=k in equation.fair) for k, level in equation.sources]

    def of_view(self, view: View | RawColumns) -> Iterator[int]:
        """The inputs of the predictor."""
        if isinstance(view, View):
            yield from map(self._of_entry, view.entries)
        elif not view.others:
            yield from (self.protected(level) for level in view.levels)
            shown = ((k, None) for k in range(self.width)) if view.sources is None else view.sources
            yield from (self.feature(k, level) for k, level in shown)
        else:
            raise NotCompiledError

    def _of_entry(self, entry: Entry) -> int:
        if entry.kind == ITSELF:
            return self.feature(entry.column, entry.level, still=True)
        if entry.kind == RESIDUAL:
            return self.residual(entry.column)
        raise NotCompiledError
