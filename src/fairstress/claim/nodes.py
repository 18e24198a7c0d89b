"""Everyone's squared changes from those of a few people.

A change of prediction is a polynomial in a person's values, whatever Model B is. Within a group of the protected
attribute it is known everywhere once it is known at as many people, the nodes, as its space has dimensions: with
``l_i`` the polynomial that is 1 at node i and 0 at the others, ``change(x) = sum_i change_i l_i(x)``. So the sum of
everyone's squares is ``change' Q change`` with ``Q = sum over people of weight l l'``, and after one pass over the
rows CFU and its gradient cost the same for a thousand people as for a hundred million.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from fairstress.claim.grid import grouped, shared_values, variable
from fairstress.claim.support import Support, change_support
from fairstress.inputs.rows import Array, IntArray, Rows, join
from fairstress.model.design import Design
from fairstress.model.predictor import AnyPredictor
from fairstress.model.view import Lens

WORTH = 0.25  # share of the rows that nodes may be for them to be worth while
LOOKED_AT = 2**20  # numbers among which a group's nodes are sought
KEPT = 2**22  # numbers of all l that are kept, 32 megabytes
RANK = 1e-12  # below this, relative to the largest, a direction of the space does not show in the data
TOLERANCE = 1e-10  # how far the space may miss a value of its basis, which lies within -1 and 1
LARGEST = 1e4  # that some l may become for anyone: digits are lost by as much

_Part = tuple[IntArray, Array]  # where some people stand, and numbers of theirs


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Products of Legendre polynomials, which stay within -1 and 1 over the values seen."""

    exponents: IntArray  # (t, p)
    columns: list[int]  # (p,) of `variable` that occur
    middle: Array  # (p,)
    half: Array  # (p,) of the range

    @classmethod
    def of(cls, support: Support, rows: Rows) -> _Space:
        """Span all that the monomials do, whose divisors are among them."""
        exponents = np.array(sorted(support), dtype=np.intp)
        columns = np.flatnonzero(exponents.any(axis=0)).tolist()
        low, high = (np.array([least(variable(rows, k)) for k in columns]) for least in (np.min, np.max))
        half = (high - low) / 2
        return cls(exponents[:, columns], columns, (low + high) / 2, np.where(half > 0, half, 1.0))

    def values(self, rows: Rows) -> Array:
        """(t, r) the basis at some rows."""
        found = np.ones((len(self.exponents), rows.size))
        for i, k in enumerate(self.columns):
            powers = self.exponents[:, i]
            z = (variable(rows, k) - self.middle[i]) / self.half[i]
            at = np.polynomial.legendre.legvander(z, int(powers.max())).T
            found *= at[powers]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """The nodes among people who share some values."""

    key: tuple[float, ...]
    rows: Rows  # (k,) nodes
    Q: Array  # (t, k) directions of the space in which people differ
    turned: Array  # (k, t) what makes every l of the basis: with R (k, k), the nodes along Q, ``R^-1 Q'``

    @classmethod
    def of(cls, key: tuple[float, ...], space: _Space, rows: Rows) -> _Group:
        """Choose rows far apart, one for each direction: pivots of a QR decomposition."""
        from scipy import linalg  # takes long to import

        decomposed: Any = linalg.qr(space.values(rows), mode="economic", pivoting=True)
        Q, R, places = decomposed
        size = np.abs(np.diag(R))
        k = int((size > RANK * size[0]).sum())
        turned = np.asarray(linalg.solve_triangular(R[:k, :k], Q[:, :k].T, check_finite=False))
        return cls(key, rows.where(places[:k]), Q[:, :k], turned)

    def functions(self, F: Array) -> Array:
        """(k, r) every l at people for whom the basis is F (t, r); NaN where the space misses them."""
        values = np.asarray(self.turned @ F)
        missed = np.maximum(values.max(axis=0, initial=0.0), -values.min(axis=0, initial=0.0)) > LARGEST
        if self.Q.shape[0] > self.Q.shape[1]:  # in other directions nobody among those looked at differs
            missed |= np.abs(F - self.Q @ (self.Q.T @ F)).max(axis=0, initial=0.0) > TOLERANCE
        values[:, missed] = np.nan
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """A few people from whose changes everyone's follow."""

    space: _Space
    groups: tuple[_Group, ...]
    keys: list[int]  # of `variable`: what people of one group share
    _known: list[tuple[Rows, list[_Part]]] = field(default_factory=list, repr=False)  # the l of everyone, where few
    _latest: list[tuple[Rows, tuple[Rows, Array] | None]] = field(default_factory=list, repr=False)  # what was weighed

    @classmethod
    def of(
        cls, rows: Rows, design: Design, view: Lens, predictor: AnyPredictor, differing: frozenset[int]
    ) -> Nodes | None:
        """Choose nodes for a claim; None where they are hardly fewer, or changes are no polynomials."""
        taken_apart = grouped(rows, design)
        if taken_apart is None:
            return None
        keys, parts = taken_apart
        support = change_support(design, view, predictor, differing, rows.x.shape[1], grouped=bool(keys))
        if not support or len(support) > WORTH * rows.size:
            return None
        space, most = _Space.of(support, rows), max(2 * len(support), LOOKED_AT // len(support))
        groups = tuple(_Group.of(key, space, rows.where(_some(rows, own, most))) for key, own in parts)
        found = cls(space, groups, keys)
        return found if found.rows.size <= WORTH * rows.size else None

    @property
    def rows(self) -> Rows:
        """The nodes, group by group."""
        return join([group.rows for group in self.groups])

    def weighing(self, rows: Rows) -> tuple[Rows, Array] | None:
        """The nodes with what each stands for, and Q (k, k); None where someone's change does not follow."""
        latest = next(iter(self._latest), None)  # asked for once: another thread may weigh others meanwhile
        if latest is None or latest[0] is not rows:
            latest = rows, self._weighing(rows)
            self._latest[:] = [latest]
        return latest[1]

    def spans(self, support: Support | None) -> bool:
        """Whether the nodes are those of some monomials."""
        exponents = np.array(sorted(support or ()), dtype=np.intp)
        columns = np.flatnonzero(exponents.any(axis=0)).tolist() if support else []
        return (
            bool(support)
            and columns == self.space.columns
            and np.array_equal(exponents[:, columns], self.space.exponents)
        )

    def _weighing(self, rows: Rows) -> tuple[Rows, Array] | None:
        known = self._known_functions(rows)
        if known is None:
            width = 4 * len(self.space.exponents)  # basis and functions, twice
            weight, cross = rows.total(lambda block: self._weighed(self._functions(block), block.weight), width=width)
        else:
            weight, cross = self._weighed(known, rows.weight)
        if not (np.isfinite(cross).all() and np.isfinite(weight).all()):
            return None
        nothing = np.zeros_like(weight)
        return replace(self.rows, weight=weight, y=nothing, y_square=nothing), cross

    def weighing_each(self, rows: Rows, weights: Array) -> tuple[Array, Array] | None:
        """What each node stands for (b, k), and Q (b, k, k), under several weights (b, r) of the same people.

        None where someone's change does not follow, or people are too many to keep what is known of them.
        """
        known = self._known_functions(rows)
        if known is None:
            return None
        weight, cross = (np.array(part) for part in zip(*(self._weighed(known, one) for one in weights), strict=True))
        return (weight, cross) if np.isfinite(cross).all() and np.isfinite(weight).all() else None

    def _known_functions(self, rows: Rows) -> list[_Part] | None:
        """Every l at these people, kept for others who differ from them in weights alone; None where they are many."""
        if rows.whole is not None or rows.size * len(self.space.exponents) > KEPT:
            return None
        known = next(iter(self._known), None)
        if known is None or not _same_people(known[0], rows):
            known = rows, self._functions(rows)
            self._known[:] = [known]  # at once: threads see all of it or nothing
        return known[1]

    def _functions(self, rows: Rows) -> list[_Part]:
        """Where the people of each group stand, and every l of the group at them."""
        F, shared = self.space.values(rows), shared_values(rows, self.keys)
        places = [np.flatnonzero((shared == np.array(group.key)[:, None]).all(axis=0)) for group in self.groups]
        return [(own, group.functions(F[:, own])) for own, group in zip(places, self.groups, strict=True)]

    def _weighed(self, parts: Sequence[_Part], given: Array) -> tuple[Array, Array]:
        """What people of given weights (r,) add to the nodes' and to Q; NaN where one is of a group nobody had seen."""
        sizes = list(accumulate((group.rows.size for group in self.groups), initial=0))
        unseen = sum(own.size for own, _ in parts) < given.size
        weight, cross = np.full(sizes[-1], np.nan if unseen else 0.0), np.zeros((sizes[-1], sizes[-1]))
        for (own, values), (start, end) in zip(parts, pairwise(sizes), strict=True):
            weight[start:end] += np.dot(values, given[own])  # not @, which would keep other threads waiting
            rooted = values * np.sqrt(given[own])  # of a matrix times its own transpose only one half is worked out
            cross[start:end, start:end] += np.dot(rooted, rooted.T)
        return weight, cross


def _same_people(first: Rows, second: Rows) -> bool:
    """Whether rows differ in weights at most."""
    pairs = ((first.x, second.x), (first.a, second.a), (first.a_cf, second.a_cf))
    return all(one is other or np.array_equal(one, other) for one, other in pairs)


def _some(rows: Rows, places: IntArray, count: int) -> IntArray:
    """At most so many of some places, the same each time."""
    if places.size <= count:
        return places
    x = rows.x[places]
    extreme = places[np.concatenate([x.argmin(axis=0), x.argmax(axis=0)])]
    drawn = np.random.default_rng(0).choice(places, count, replace=False, shuffle=False)
    return np.unique(np.concatenate([drawn, extreme])).astype(np.intp)
