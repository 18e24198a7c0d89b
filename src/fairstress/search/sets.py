"""The convex sets of correlations within which the worst case is sought: what budgets on pairs allow.

A point of a set is the vector p of the free pairs' correlations; ``matrix(p)`` has 1 on its diagonal, p at the pairs
and exact zeros elsewhere. Both kinds are a box and a floor under the smallest eigenvalue::

    pairwise   |p| <= p_max,  lambda_min(P) >= min_eigenvalue  (where two or more pairs are free)
    spectral   P = (1 - p_max) I + p_max R for a correlation matrix R, that is  lambda_min(P) >= 1 - p_max
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fairstress.arguments import LEAST_EIGENVALUE, is_list, share
from fairstress.budgets import Budget
from fairstress.errors import SettingError, show
from fairstress.inputs.correlation import read_pair
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array, IntArray
from fairstress.search.members import Position, even, free_pairs

SLACK = 1e-10  # a point is kept this far inside the eigenvalue floor, so that rounding does not put it outside
MAX_ROUNDS = 2000  # of Dykstra's projection


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationSet:
    """The correlations within one p_max."""

    budget: Budget
    p_max: float
    pairs: tuple[Position, ...]  # positions of the q free pairs
    size: int  # m, the number of variables
    low: Array  # (q,)
    high: Array  # (q,)
    floor: float  # least eigenvalue
    edges: dict[bytes, tuple[Array, ...]] = field(default_factory=dict, init=False, repr=False)  # found by `corner`

    @property
    def coordinates(self) -> tuple[object, ...]:
        """What the numbers of a point stand for."""
        return self.pairs

    @property
    def is_point(self) -> bool:
        """Whether the set holds a single correlation."""
        return bool((self.high - self.low <= 0).all())

    @property
    def is_box(self) -> bool:
        """Whether all of the box lies above the floor, as far as ``1 - lambda_max(|P - I|)``, which is less, tells."""
        largest = self.matrix(np.maximum(np.abs(self.low), np.abs(self.high)))
        return bool(2 - np.linalg.eigvalsh(largest)[-1] >= self.floor + SLACK)

    def matrix(self, p: Array) -> Array:
        """Correlation matrices (..., m, m) of points (..., q)."""
        P = np.zeros((*p.shape[:-1], self.size, self.size))
        diagonal, (j, k) = np.arange(self.size), _ends(self.pairs)
        P[..., diagonal, diagonal] = 1.0
        P[..., j, k] = P[..., k, j] = p
        return P

    def point(self, P: Array) -> Array:
        """The free pairs' entries of symmetric matrices (..., m, m), as (..., q)."""
        j, k = _ends(self.pairs)
        return np.asarray(P[..., j, k])

    def pull_back(self, p: Array, G: Array) -> Array:
        """Derivative (q,) at a point of a function whose derivative by each pair's correlation is in G (m, m)."""
        return self.point(G)

    def smallest_eigenvalue(self, p: Array) -> Any:
        """lambda_min of the matrices of points (..., q)."""
        return np.linalg.eigvalsh(self.matrix(p))[..., 0]

    def contains(self, p: Array, tolerance: float = 1e-9) -> Any:
        """Whether points (..., q) belong to the set, up to a tolerance."""
        inside = ((p >= self.low - tolerance) & (p <= self.high + tolerance)).all(axis=-1)
        return inside & (self.smallest_eigenvalue(p) >= self.floor - tolerance)

    # ------------------------------------------------------------ ways in

    def shrink(self, p: Array) -> Array:
        """Draw a point towards the set's centre until it lies inside."""
        centre = self.centre()
        p = np.clip(p, self.low, self.high)
        if not p.any() or self.smallest_eigenvalue(p) >= self.floor + SLACK:  # no correlation is in every set
            return p
        if not centre.any():  # lambda_min(I + t D) = 1 + t lambda_min(D)
            least, room = 1 - self.smallest_eigenvalue(p), max(0.0, 1 - self.floor - 2 * SLACK)
            return np.asarray(p * (room / least)) if least > 0 else p
        inside, outside = 0.0, 1.0
        for _ in range(60):
            middle = (inside + outside) / 2
            fits = self.smallest_eigenvalue(centre + middle * (p - centre)) >= self.floor + SLACK
            inside, outside = (middle, outside) if fits else (inside, middle)
        return np.asarray(centre + inside * (p - centre))

    def loosened(self) -> CorrelationSet:
        """The same set with half the eigenvalue floor: where a search may look, but not end."""
        return replace(self, floor=self.floor / 2)

    def centre(self) -> Array:
        """A point well inside: no correlation where that is allowed, otherwise the nearest to it."""
        return np.clip(np.zeros(len(self.pairs)), self.low, self.high)

    def project(self, p: Array) -> Array:
        """The nearest point of the set, by Dykstra's alternating projections onto eigenvalue floor and box."""
        clipped = np.clip(p, self.low, self.high)
        if self.smallest_eigenvalue(clipped) >= self.floor + SLACK:
            return clipped
        P = self.matrix(p)
        above_correction, box_correction = np.zeros_like(P), np.zeros_like(P)
        for _ in range(MAX_ROUNDS):
            above = _raise_eigenvalues(P + above_correction, self.floor + SLACK)
            above_correction += P - above
            following = self.matrix(np.clip(self.point(above + box_correction), self.low, self.high))
            box_correction += above - following
            moved, P = np.abs(following - P).max(), following
            if moved < 1e-8:
                break
        return self.shrink(self.point(P))

    # ------------------------------------------------------------ members

    def extremes(self, signs: Array) -> Array:
        """Points on the boundary (s, q) in the directions of sign patterns (s, q)."""
        return np.array([self.project(np.where(s > 0, self.high, self.low)) for s in signs])

    def classes(self, signs: Array) -> list[tuple[float, ...]]:
        """The class of each sign pattern (s, q); mirror images ``D P D`` do not leave theirs.

        They keep the product of signs around each cycle of pairs. With the signs along a spanning forest turned to +,
        what is left of the others tells the class.
        """
        forest, joined = [], {j: {j} for j in range(self.size)}
        for i, (j, k) in enumerate(self.pairs):
            if joined[j] is not joined[k]:
                forest.append(i)
                joined[j] |= joined[k]
                for other in joined[k]:
                    joined[other] = joined[j]
        return [self._class(s, forest) for s in signs]

    def _class(self, signs: Array, forest: Sequence[int]) -> tuple[float, ...]:
        """Signs of all pairs after variables are turned such that those of the forest are +."""
        turn = np.zeros(self.size)  # 0 where not yet known
        for root in range(self.size):
            turn[root] = turn[root] or 1.0
            for _ in forest:  # the forest's edges may come in any order
                for i in forest:
                    j, k = self.pairs[i]
                    turn[k] = turn[k] or turn[j] * signs[i]
                    turn[j] = turn[j] or turn[k] * signs[i]
        first, second = _ends(self.pairs)
        return tuple((signs * turn[first] * turn[second]).tolist())

    def scan(self, count: int, rng: np.random.Generator) -> Array:
        """Points (count, q) spread over the whole set.

        A sequence of low discrepancy in the box, as far as it lies in the set; hit and run for the rest.
        """
        unit = even(4 * count, len(self.pairs), rng)
        points = self.low + unit * (self.high - self.low)
        inside = points[self.contains(points, tolerance=-SLACK)][:count]
        return np.concatenate([inside, self._hit_and_run(count - len(inside), rng)])

    def _hit_and_run(self, count: int, rng: np.random.Generator) -> Array:
        """Uniform members: from a member, a random direction, a random point of the chord through the set."""
        members = np.empty((count, len(self.pairs)))
        p = self.centre()
        for i in range(count):
            for _ in range(2 + len(self.pairs) // 4):
                direction = np.where(self.high > self.low, rng.standard_normal(p.size), 0.0)
                low, high = self._chord(p, direction)
                p = p + rng.uniform(low, high) * direction
            members[i] = p
        return members

    def _chord(self, p: Array, direction: Array) -> tuple[float, float]:
        """How far the set reaches from a member in a direction, backwards and forwards."""
        free = direction != 0  # along a pair that is fixed there is nowhere to go
        to_low, to_high = ((end - p)[free] / direction[free] for end in (self.low, self.high))
        back, ahead = np.minimum(to_low, to_high).max(), np.maximum(to_low, to_high).min()
        # P - floor I + t D >= 0 for t between the reciprocals of the extreme eigenvalues of -L^-1 D L^-T
        L = np.linalg.cholesky(self.matrix(p) - (self.floor - SLACK) * np.eye(self.size))
        inverse = np.linalg.inv(L)
        D = self.matrix(direction) - np.eye(self.size)
        values = np.linalg.eigvalsh(inverse @ D @ inverse.T)
        ahead = min(ahead, -1 / values[0] if values[0] < 0 else np.inf)
        back = max(back, -1 / values[-1] if values[-1] > 0 else -np.inf)
        return min(0.0, 0.999 * back), max(0.0, 0.999 * ahead)


@lru_cache(maxsize=64)
def _ends(pairs: tuple[Position, ...]) -> tuple[IntArray, IntArray]:
    """(q,) the first and (q,) the second of each pair: a search asks for them thousands of times."""
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return first, second


def _raise_eigenvalues(S: Array, floor: float) -> Array:
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


# ---------------------------------------------------------------- checks


def correlation_set(budget: Budget, p_max: float, graph: CausalGraph, variables: Sequence[str]) -> CorrelationSet:
    """Turn a budget of some size into a set.

    Pairs of the graph whose ends are all ``variables`` are free; every other correlation is exactly 0.
    """
    p_max, pairs = share(p_max, "p_max"), free_pairs(graph, variables)
    low, high = _limits(budget, p_max, pairs, graph, variables)
    floor = budget.floor(p_max, len(pairs))
    floor = max(floor, LEAST_EIGENVALUE) if len(pairs) > 1 else floor
    members = CorrelationSet(budget, p_max, pairs, len(variables), low, high, floor)
    if not members.contains(members.project(members.centre())):
        raise SettingError(
            f"no correlation lies within bounds and has eigenvalues of at least {floor:g}: widen the bounds, "
            "raise p_max or lower min_eigenvalue"
        )
    return members


def read_sizes(sizes: Any, name: str = "p_max", each: str = "p_max") -> list[float]:
    """Check the p_max of several budgets; they come in order, each once."""
    if not is_list(sizes):
        raise SettingError(f"{name} is {show(sizes)}: give a list of numbers from 0 up to, but not including, 1")
    checked = sorted({share(size, each) for size in sizes})
    if not checked:
        raise SettingError(f"{name} is empty: give at least one number from 0 up to, but not including, 1")
    return checked


def _limits(
    budget: Budget, p_max: float, pairs: Sequence[Position], graph: CausalGraph, variables: Sequence[str]
) -> tuple[Array, Array]:
    """Lower and upper end of each pair's correlation."""
    low, high = np.full(len(pairs), -p_max), np.full(len(pairs), p_max)
    for pair, (least, most) in budget.bounds.items():
        i = pairs.index(read_pair(pair, graph, variables))
        low[i], high[i] = max(least, -p_max), min(most, p_max)
        if low[i] > high[i]:
            shown = " <-> ".join(pair)
            raise SettingError(
                f"the bounds of {shown}, {(least, most)}, do not meet |p| <= p_max = {p_max:g}: raise p_max, or widen "
                "the bounds"
            )
    return low, high
