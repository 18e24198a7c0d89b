"""Which degrees can be afforded: how many terms a polynomial has, and what they need, is known before it is built.

One rule for structural equations, predictor and baselines. Cross-validation is offered the degrees whose terms leave it
some seconds and fit into the memory that the analyst allows, and always the lowest; a degree that the analyst gives is
taken if it fits into memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairstress.errors import SettingError
from fairstress.inputs.rows import BLOCK

MANY_TERMS = 600  # of an equation, or a predictor, of numbers
MOST_TERMS = 200  # of one that sees indicators of a feature's levels
FEWER_TERMS = 60  # of one that is fitted by likelihood
IN_ALL = 2000  # of all equations, whose weights are fitted together
COPIES = 12  # of the terms' products that a fit holds at once: folds, their sums and differences, factors


@dataclass(frozen=True, slots=True)
class Offer:
    """One equation, or a predictor, and the degrees that could be tried."""

    inputs: int  # how many variables enter it
    degrees: tuple[int, ...]  # ascending
    most: int = MANY_TERMS  # terms that are worth trying
    groups: int = 1  # how often it has all terms, once for each group

    def terms(self, degree: int) -> int:
        """How many terms a degree has: all monomials of the inputs."""
        return self.groups * math.comb(self.inputs + degree, degree)

    def memory(self, degree: int) -> int:
        """Bytes that a degree needs: products of its terms, their derivatives by each input, and a block of rows."""
        terms, lower = self.terms(degree), math.comb(self.inputs + degree - 1, degree - 1)
        return 8 * terms * (COPIES * terms + self.inputs * lower + 4 * BLOCK)

    def up_to(self, most: int, max_memory: int) -> tuple[int, ...]:
        """The degrees with at most so many terms that fit into memory, and always the lowest."""
        kept = list(self.degrees[:1])
        for degree in self.degrees[1:]:
            if self.terms(degree) > min(most, self.most) or self.memory(degree) > max_memory:
                break
            kept.append(degree)
        return tuple(kept)


def affordable(offers: Mapping[str, Offer], max_memory: int, in_all: int = IN_ALL) -> dict[str, tuple[int, ...]]:
    """The degrees of each equation to try: as many terms as leaves the largest of all of them within bounds."""
    in_all = min(in_all, math.isqrt(max_memory // (8 * COPIES)))
    sizes = {offer.terms(degree) for offer in offers.values() for degree in offer.up_to(MANY_TERMS, max_memory)}
    for most in sorted(sizes, reverse=True):
        kept = {name: offer.up_to(most, max_memory) for name, offer in offers.items()}
        if sum(offers[name].terms(degrees[-1]) for name, degrees in kept.items()) <= in_all:
            return kept
    return {name: offer.degrees[:1] for name, offer in offers.items()}


def check_memory(offer: Offer, degree: int, what: str, max_memory: int) -> None:
    """Refuse a degree that does not fit into memory, before anything is built."""
    needed = offer.memory(degree)
    if needed > max_memory:
        raise SettingError(
            f"{what} is {degree}, which has {offer.terms(degree):,} terms of {offer.inputs} variables and needs some "
            f"{_shown(needed)}, more than max_memory, {_shown(max_memory)}: give a lower degree, or more memory"
        )


def check_sum(terms: Sequence[int], max_memory: int) -> None:
    """Refuse equations whose terms, fitted together, do not fit into memory."""
    needed = 8 * COPIES * sum(terms) ** 2
    if needed > max_memory:
        raise SettingError(
            f"the structural equations have {sum(terms):,} terms, which are fitted together and need some "
            f"{_shown(needed)}, more than max_memory, {_shown(max_memory)}: give lower degrees, fewer features or "
            "edges, or more memory"
        )


def _shown(count: int) -> str:
    """Bytes for people; a number of any length."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB")):
        if count >= size:
            return f"{min(count // size, 10**6):,} {unit}" if count >= 1000 * size else f"{count / size:.3g} {unit}"
    return f"{count} bytes"
