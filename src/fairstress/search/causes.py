"""The correlations that one hidden cause can make.

A cause that acts on the errors with loadings l explains the share ``l_j^2`` of error j and gives errors j and k the
correlation ``l_j l_k``. It acts on one clique of the graph's pairs: variables of which every two are a pair. A clique
of two gives one pair an interval, which is a `CorrelationSet`; a larger one is a `CauseSet`, its points loadings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstress.arguments import share
from fairstress.budgets import Budget, SingleCause
from fairstress.errors import SettingError, show
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.search.members import Members, cliques, even, free_pairs
from fairstress.search.sets import CorrelationSet, correlation_set

NONE = 1e-12  # a correlation at or below this in size is none

Clique = tuple[int, ...]  # positions of variables, ascending


@dataclass(frozen=True, slots=True, eq=False)
class CauseSet:
    """Loadings on three variables or more; that of the first is not negative, since P is the same for l and -l."""

    budget: SingleCause
    p_max: float
    clique: Clique  # the q variables that the cause acts on
    size: int  # m, the number of variables
    high: Array  # (q,) roots of the largest shares

    @property
    def low(self) -> Array:
        """(q,) the smallest loadings."""
        return np.concatenate([[0.0], -self.high[1:]])

    @property
    def coordinates(self) -> tuple[object, ...]:
        """What the numbers of a point stand for."""
        return ("loadings", *self.clique)

    @property
    def is_point(self) -> bool:
        """Whether the cause can act on one variable at most, which correlates nothing."""
        return bool((self.high > 0).sum() <= 1)

    @property
    def is_box(self) -> bool:
        """Whatever the loadings within their caps, they give a correlation matrix."""
        return True

    def matrix(self, p: Array) -> Array:
        """``I - diag(l^2) + l l'`` (..., m, m) of loadings (..., q)."""
        full = np.zeros((*p.shape[:-1], self.size))
        full[..., list(self.clique)] = p
        P = full[..., :, None] * full[..., None, :]
        diagonal = np.arange(self.size)
        P[..., diagonal, diagonal] = 1.0
        return P

    def point(self, P: Array) -> Array:
        """Loadings (..., q) that give the clique's variables their correlations in (..., m, m)."""
        flat = P.reshape(-1, self.size, self.size)
        return np.array([loadings(one, self.clique, self.high**2) for one in flat]).reshape(*P.shape[:-2], -1)

    def pull_back(self, p: Array, G: Array) -> Array:
        """Derivative by the loadings: ``sum_k G_jk l_k`` over the others, G_jk that by the correlation of j and k."""
        own = G[np.ix_(self.clique, self.clique)]
        return np.asarray((own - np.diag(np.diag(own))) @ p)

    def smallest_eigenvalue(self, p: Array) -> Any:
        """lambda_min of the matrices of points (..., q)."""
        return np.linalg.eigvalsh(self.matrix(p))[..., 0]

    def contains(self, p: Array, tolerance: float = 1e-9) -> Any:
        """Whether points (..., q) belong to the set, up to a tolerance."""
        return ((p >= self.low - tolerance) & (p <= self.high + tolerance)).all(axis=-1)

    def shrink(self, p: Array) -> Array:
        """Draw a point into the box."""
        return self.project(p)

    def project(self, p: Array) -> Array:
        """The nearest point of the set; a cause is the same with all its signs turned."""
        return np.clip(_turned(p), self.low, self.high)

    def centre(self) -> Array:
        """No cause."""
        return np.zeros(len(self.clique))

    def extremes(self, signs: Array) -> Array:
        """A cause as strong as it can be, with sign patterns (s, q)."""
        return np.array([_turned(s * self.high) for s in signs])

    def classes(self, signs: Array) -> list[tuple[float, ...]]:
        """One class: mirror images turn any sign pattern into any other."""
        return [()] * len(signs)

    def scan(self, count: int, rng: np.random.Generator) -> Array:
        """Loadings (count, q) of both signs whose shares are evenly spread."""
        unit = even(count, len(self.clique), rng)
        unit[:, 1:] = 2 * unit[:, 1:] - 1
        return np.asarray(np.sign(unit) * np.sqrt(np.abs(unit)) * self.high)


def _turned(p: Array) -> Array:
    """The same cause with a first loading that is not negative."""
    return -p if p[0] < 0 else p


def loadings(P: Array, clique: Clique, caps: Array) -> Array:
    """Loadings (q,) of the one cause behind the correlations of a clique in P (m, m), its caps (q,).

    From the largest correlation, of i and j, and a third variable k: ``l_i^2 = P_ij P_ik / P_jk``. Where the cause acts
    on two variables alone only the product of their loadings is known, and the shares are as their caps.
    """
    R = P[np.ix_(clique, clique)] - np.eye(len(clique))
    i, j = np.unravel_index(int(np.abs(R).argmax()), R.shape)
    found = np.zeros(len(clique))
    if abs(R[i, j]) <= NONE:
        return found
    k = int(np.abs(R[i] * R[j]).argmax())
    if abs(R[i, k] * R[j, k]) <= NONE**2:
        found[i] = np.sqrt(abs(R[i, j]) * np.sqrt(caps[i] / caps[j]))
        found[j] = R[i, j] / found[i]
    else:
        found[i] = np.sqrt(abs(R[i, j] * R[i, k] / R[j, k]))
        found += R[i] / found[i]
    return np.asarray(found * np.sign(found[np.flatnonzero(found)[0]]))


# ---------------------------------------------------------------- what a budget allows


def sets_within(
    budget: Budget, p_max: float, graph: CausalGraph, variables: Sequence[str]
) -> tuple[CauseSet | CorrelationSet, ...]:
    """Turn a budget of some size into the sets that it is the union of: for one cause, one for each maximal clique."""
    if not isinstance(budget, SingleCause):
        return (correlation_set(budget, p_max, graph, variables),)
    p_max, pairs = share(p_max, "p_max"), free_pairs(graph, variables)
    check_caps(budget, [variables[j] for pair in pairs for j in pair], variables)
    caps = np.array([budget.cap(name, p_max) for name in variables])
    return tuple(_of_clique(budget, p_max, clique, caps) for clique in cliques(pairs))


def check_caps(budget: SingleCause, in_pairs: Sequence[str], variables: Sequence[str]) -> None:
    """Refuse caps of variables that no cause within the budget can act on."""
    for name in budget.caps:
        if name not in in_pairs:
            known = ", ".join(dict.fromkeys(in_pairs))
            what = "stands in no pair of the graph" if name in variables else "is no variable with an error"
            raise SettingError(
                f"caps names {show(name)}, which {what} (in pairs: {known}): name one of these, or add a pair with "
                f"{show(name)} to the graph"
            )


def _of_clique(budget: SingleCause, p_max: float, clique: Clique, caps: Array) -> CauseSet | CorrelationSet:
    own = caps[list(clique)]
    if len(clique) > 2:
        return CauseSet(budget, p_max, clique, caps.size, np.sqrt(own))
    largest = np.array([p_max if own[0] == own[1] == p_max else float(np.sqrt(own.prod()))])
    return CorrelationSet(budget, p_max, ((clique[0], clique[1]),), caps.size, -largest, largest, floor=0.0)


def acts_on(members: Members) -> Clique:
    """The variables that a cause within one of these sets can act on; none where the budget is on pairs."""
    if isinstance(members, CauseSet):
        return members.clique
    if isinstance(members, CorrelationSet) and isinstance(members.budget, SingleCause):
        return members.pairs[0]
    return ()


def drawn_into(sets: Sequence[Members], P: Array) -> Array:
    """(k, m, m) for each matrix the nearest of those that projections onto the sets give."""
    inside = [one.matrix(np.array([one.project(p) for p in one.point(P)])) for one in sets]
    apart = np.array([np.abs(one - P).max(axis=(1, 2)) for one in inside])
    return np.asarray(np.array(inside)[apart.argmin(axis=0), np.arange(len(P))])
