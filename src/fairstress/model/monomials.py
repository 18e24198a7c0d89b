"""Monomials, each made of an earlier one, many in one product; and the distinct ones of several polynomials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairstress.inputs.rows import Array, IntArray

Exponents = tuple[int, ...]
Variable = tuple[int, float | None]  # a column, and the level that is indicated where it is not the value itself


def ordered(exponents: Iterable[Exponents]) -> tuple[Exponents, ...]:
    """Monomials by degree, and within a degree by the powers of the first inputs; the constant comes first."""
    return tuple(sorted(exponents, key=lambda e: (sum(e), [-power for power in e])))


def lower(exponents: Exponents, k: int) -> Exponents:
    """The monomial with one power of input k less."""
    return tuple(e - (i == k) for i, e in enumerate(exponents))


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """How columns of monomials are made: the constant, inputs, then runs of columns, earlier ones times an input.

    With every monomial its divisors are there. A run is one product of arrays: few long steps instead of many short.
    """

    inputs: IntArray  # inputs that are columns, in the order of columns 1, 2, ...
    earlier: IntArray  # (d - 1,) the column of which each but the constant is a multiple
    own: IntArray  # (d - 1,) the input by which it is
    runs: tuple[tuple[int, int, int, int], ...]  # first column, number of columns, first earlier one, input's column

    @classmethod
    def of(cls, exponents: Sequence[Exponents]) -> Ladder:
        """Make monomials that are `ordered`."""
        position = {e: i for i, e in enumerate(exponents)}
        inputs = [e.index(1) for e in exponents if sum(e) == 1]
        earlier, own, runs = [0] * len(inputs), list(inputs), []
        while (first := len(own) + 1) < len(exponents):
            count, k = max((_run(exponents, position, first, k), k) for k in inputs)
            start = position[lower(exponents[first], k)]
            runs.append((first, count, start, 1 + inputs.index(k)))
            earlier += range(start, start + count)
            own += [k] * count
        parts = [np.array(part, dtype=np.intp) for part in (inputs, earlier, own)]
        return cls(parts[0], parts[1], parts[2], tuple(runs))

    @property
    def count(self) -> int:
        """How many columns there are."""
        return self.own.size + 1

    def first(self, count: int) -> Ladder:
        """The first columns alone, made in the same way."""
        runs = tuple((own, min(length, count - own), start, k) for own, length, start, k in self.runs if own < count)
        return Ladder(self.inputs[: count - 1], self.earlier[: count - 1], self.own[: count - 1], runs)

    def columns(self, Z: Array) -> Array:
        """(d, ...) columns of inputs (..., p), each one's values side by side: fast to fill and use."""
        columns = np.empty((self.count, *Z.shape[:-1]))
        inputs = Z.transpose(Z.ndim - 1, *range(Z.ndim - 1))
        columns[1 : 1 + self.inputs.size] = inputs if self.inputs.size == len(inputs) else inputs[self.inputs]
        self.climb(columns)
        return columns

    def climb(self, columns: Array) -> None:
        """Fill columns (d, ...) of which inputs are known already."""
        columns[0] = 1.0
        for own, count, earlier, k in self.runs:
            np.multiply(columns[earlier : earlier + count], columns[k], out=columns[own : own + count])


def _run(exponents: Sequence[Exponents], position: dict[Exponents, int], start: int, k: int) -> int:
    """How many columns from one on are columns that stand side by side, all known by then, times input k."""
    count, first = 0, position.get(lower(exponents[start], k), start)
    while start + count < len(exponents) and first + count < start:
        e = exponents[start + count]
        if not e[k] or position[lower(e, k)] != first + count:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """The distinct monomials of several polynomials of the same variables, each made once."""

    variables: tuple[Variable, ...]  # that are columns 1, 2, ...
    ladder: Ladder
    places: tuple[IntArray, ...]  # where the columns of each polynomial are among the distinct ones

    @classmethod
    def of(cls, polynomials: Sequence[tuple[Sequence[Exponents], Sequence[Variable]]]) -> Together:
        """Lay together the monomials of some polynomials, given by exponents and by their inputs' variables."""
        occurring = (v for es, own in polynomials for i, v in enumerate(own) if any(e[i] for e in es))
        variables = tuple(dict.fromkeys(occurring))
        by_all = [[_by_all(e, own, variables) for e in es] for es, own in polynomials]
        exponents = ordered({e for es in by_all for e in es} | {(0,) * len(variables)})
        place = {e: i for i, e in enumerate(exponents)}
        ladder = Ladder.of(exponents)
        places = tuple(np.array([place[e] for e in es], dtype=np.intp) for es in by_all)
        return cls(tuple(variables[k] for k in ladder.inputs), ladder, places)

    def columns(self, a: Array, x: Array) -> Array:
        """(d, r) all of them for codes of the protected attribute, variable -1, and features (r, m)."""
        columns = np.empty((self.ladder.count, a.size))
        for own, (k, level) in zip(columns[1:], self.variables, strict=False):
            values = a if k < 0 else x[:, k]
            own[:] = values if level is None else values == level
        self.ladder.climb(columns)
        return columns


def _by_all(exponents: Exponents, own: Sequence[Variable], variables: Sequence[Variable]) -> Exponents:
    """Exponents by all variables."""
    power = dict(zip(own, exponents, strict=True))
    return tuple(power.get(variable, 0) for variable in variables)
