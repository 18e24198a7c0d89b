"""What a search asks of a set of correlations, whatever its coordinates; and the checks that all sets share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from fairstress.budgets import Budget
from fairstress.errors import SettingError
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array

Position = tuple[int, int]


class Members(Protocol):
    """The correlations within one p_max. A point of the set is a vector p of q coordinates."""

    @property
    def budget(self) -> Budget:
        """The kind of budget."""
        ...

    @property
    def p_max(self) -> float:
        """Its size."""
        ...

    @property
    def size(self) -> int:
        """m, the number of variables."""
        ...

    @property
    def low(self) -> Array:
        """(q,) the smallest that each coordinate can be."""
        ...

    @property
    def high(self) -> Array:
        """(q,) the largest."""
        ...

    @property
    def coordinates(self) -> tuple[object, ...]:
        """What the numbers of a point stand for: points of sets for which it is the same can be compared."""
        ...

    @property
    def is_point(self) -> bool:
        """Whether the set holds a single correlation."""
        ...

    @property
    def is_box(self) -> bool:
        """Whether nothing but the smallest and the largest of each coordinate limits the set, as far as is known."""
        ...

    def matrix(self, p: Array) -> Array:
        """Correlation matrices (..., m, m) of points (..., q)."""
        ...

    def point(self, P: Array) -> Array:
        """Points (..., q) of correlation matrices (..., m, m) that are of the set's form."""
        ...

    def pull_back(self, p: Array, G: Array) -> Array:
        """Derivative (q,) at a point of a function whose derivative by each pair's correlation is in G (m, m)."""
        ...

    def smallest_eigenvalue(self, p: Array) -> Any:
        """lambda_min of the matrices of points (..., q)."""
        ...

    def contains(self, p: Array, tolerance: float = 1e-9) -> Any:
        """Whether points (..., q) belong to the set, up to a tolerance."""
        ...

    def shrink(self, p: Array) -> Array:
        """Draw a point towards the set's centre until it lies inside."""
        ...

    def centre(self) -> Array:
        """No correlation where that is allowed, otherwise the nearest to it."""
        ...

    def project(self, p: Array) -> Array:
        """The nearest point of the set."""
        ...

    def extremes(self, signs: Array) -> Array:
        """Points on the boundary (s, q) in the directions of sign patterns (s, q)."""
        ...

    def classes(self, signs: Array) -> list[tuple[float, ...]]:
        """The class of each sign pattern (s, q); mirror images ``D P D`` do not leave theirs."""
        ...

    def scan(self, count: int, rng: np.random.Generator) -> Array:
        """Points (count, q) spread over the whole set."""
        ...


def even(count: int, q: int, rng: np.random.Generator) -> Array:
    """Points (count, q) evenly spread over the unit cube: a sequence of low discrepancy from a random start."""
    return np.asarray((np.arange(1, count + 1)[:, None] * _golden(q) + rng.random(q)) % 1)


def _golden(q: int) -> Array:
    """Steps of the sequence ``i alpha mod 1``: reciprocal powers of the root of ``x^(q+1) = x + 1``."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (q + 1))
    return np.asarray(root ** -np.arange(1.0, q + 1))


# ---------------------------------------------------------------- checks


def free_pairs(graph: CausalGraph, variables: Sequence[str]) -> tuple[Position, ...]:
    """Positions of the graph's pairs whose ends are both ``variables``; there must be one."""
    names = [pair for pair in graph.pairs if all(end in variables for end in pair)]
    if not names:
        raise SettingError(
            "the graph names no pair of features: add 'a <-> b' for errors that may share a hidden cause"
        )
    return tuple((variables.index(a), variables.index(b)) for a, b in names)


def cliques(pairs: Sequence[Position], nodes: Iterable[int] = ()) -> list[tuple[int, ...]]:
    """The maximal sets of variables, ascending, of which every two are a pair; those of ``nodes`` in none, alone."""
    ends = sorted(set(itertools.chain.from_iterable(pairs)))
    if ends and len(set(map(frozenset, pairs))) == math.comb(len(ends), 2):  # every two of them are a pair
        return sorted([tuple(ends), *((node,) for node in set(nodes).difference(ends))])
    import networkx as nx  # takes long to import

    graph: nx.Graph[int] = nx.Graph(list(pairs))
    graph.add_nodes_from(nodes)
    return sorted(tuple(sorted(clique)) for clique in nx.find_cliques(graph))
