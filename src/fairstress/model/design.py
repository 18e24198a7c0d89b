"""The design: one equation per feature, and the moments through which any fit sees the data."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.embedding import Embedding, EmbeddingFactory, Input


@dataclass(frozen=True, slots=True, eq=False)
class Equation:
    """The structural equation of one feature, ``x_j = phi_j(parents)' w_j + noise``."""

    feature: str
    column: int  # j, the feature's column in x; -1 for the protected attribute
    uses_protected: bool
    parents: tuple[int, ...]  # columns of the parents that are features
    moves: bool  # whether an unfair path leads from the protected attribute to the feature
    descends: bool  # whether any path does
    degree: int
    embedding: Embedding
    levels: tuple[float, ...] = ()  # codes of the protected attribute that have an indicator each; none: it is a number
    fair: frozenset[int] = frozenset()  # parents whose edges are called fair
    protected_is_fair: bool = False  # whether the protected attribute's edge is

    @property
    def n_protected(self) -> int:
        """How many inputs stand for the protected attribute."""
        return (len(self.levels) or 1) * self.uses_protected

    @property
    def unfair(self) -> tuple[tuple[int, int], ...]:
        """(position among the parents, column) of the parents whose edges are not called fair."""
        return tuple((i, k) for i, k in enumerate(self.parents) if k not in self.fair)

    def unlabelled(self) -> Equation:
        """The same with no edge called fair."""
        return replace(self, moves=self.descends, fair=frozenset(), protected_is_fair=False)

    def inputs(self, a: Any, x: Array, along_fair: Rows | None = None) -> Array:
        """Gather the parents' values, the protected attribute first, from a and x (..., r, m), as (..., r, p).

        Fair edges carry the values of ``along_fair``, where it is given.
        """
        a_fair, x_fair = (along_fair.a, along_fair.x) if along_fair else (a, x)
        own = a_fair if self.protected_is_fair else a
        Z = np.empty((self.n_protected + len(self.parents), *x.shape[:-1]))
        if self.uses_protected and self.levels:
            for position, level in enumerate(self.levels):
                Z[position] = own == level
        elif self.uses_protected:
            Z[0] = own
        for position, k in enumerate(self.parents, start=self.n_protected):
            Z[position] = (x_fair if k in self.fair else x)[..., k]
        return Z.transpose(*range(1, Z.ndim), 0)

    def values(self, a: Any, x: Array, along_fair: Rows | None = None) -> Array:
        """Columns ``phi_j`` for x (..., r, m), as (..., r, d)."""
        return self.embedding.values(self.inputs(a, x, along_fair))

    def slopes(self, a: Any, x: Array, along_fair: Rows, phi: Array, W: Array) -> Array:
        """Derivatives of ``phi_j' w`` by the parents that are features, per column of ``W``, as (r, parents, k)."""
        return self.embedding.slopes(self.inputs(a, x, along_fair), phi, W)[:, self.n_protected :]


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The structural equations in topological order, their weights side by side in one vector."""

    equations: tuple[Equation, ...]
    feature_of: IntArray  # (D,) the equation that each weight belongs to
    slices: tuple[slice, ...]  # where each equation's weights stand
    protected: Equation | None = None  # that of the protected attribute, where a hidden cause may lie behind it

    @classmethod
    def of(cls, equations: Sequence[Equation], protected: Equation | None = None) -> Design:
        """Lay the equations' weights side by side; those of the protected attribute's equation come after them."""
        widths = [len(equation.embedding.terms) for equation in equations]
        ends = np.cumsum([0, *widths]).tolist()
        slices = tuple(slice(start, end) for start, end in itertools.pairwise(ends))
        return cls(tuple(equations), np.repeat(np.arange(len(widths)), widths), slices, protected)

    def unlabelled(self) -> Design:
        """The same with no edge called fair."""
        return replace(self, equations=tuple(equation.unlabelled() for equation in self.equations))

    def penalties(self, penalty: float, *, penalise_constant: bool) -> Array:
        """(D,) the ridge penalty of each weight."""
        parts = [column_penalties(e.embedding, penalty, penalise_constant=penalise_constant) for e in self.equations]
        return np.concatenate(parts)

    def values(self, a: Array, x: Array) -> Array:
        """All equations' columns side by side, as (r, D)."""
        return np.hstack([equation.values(a, x) for equation in self.equations])

    def fitted(self, a: Array, x: Array, w: Array) -> Array:
        """``Phi w``: each feature's regression function at the parents' values in ``x``, as (r, m)."""
        columns = [e.values(a, x) @ w[s] for e, s in zip(self.equations, self.slices, strict=True)]
        return np.column_stack(columns)


def column_penalties(embedding: Embedding, penalty: float, *, penalise_constant: bool) -> Array:
    """(d,) the penalty of each column: shared by equal columns, none on the constant unless asked for."""
    penalties = penalty / embedding.repeats
    if not penalise_constant:
        penalties[0] = 0.0
    return np.asarray(penalties)


Describe = Callable[[str], Sequence[Input]]  # what an embedding must know of a variable, by its name


def build_design(
    graph: CausalGraph, degrees: Mapping[str, int], describe: Describe, embedding: EmbeddingFactory
) -> Design:
    """Give every feature its equation, with the degrees asked for."""
    equations = [build_equation(graph, name, degrees[name], describe, embedding) for name in graph.features]
    if not graph.confounds_protected:
        return Design.of(equations)
    protected = build_equation(graph, graph.protected, degrees.get(graph.protected, 1), describe, embedding)
    return Design.of(equations, protected)


def build_equation(
    graph: CausalGraph, feature: str, degree: int, describe: Describe, embedding: EmbeddingFactory
) -> Equation:
    """Give the equation of one feature up to a degree."""
    parents = sorted(graph.features.index(name) for name in graph.parents(feature) if name != graph.protected)
    uses_protected = graph.protected in graph.parents(feature)
    fair = {cause for cause, effect in graph.fair_edges if effect == feature}
    own = describe(graph.protected) if uses_protected else ()
    inputs = [*own, *(variable for k in parents for variable in describe(graph.features[k]))]
    return Equation(
        feature=feature,
        column=-1 if feature == graph.protected else graph.features.index(feature),
        uses_protected=uses_protected,
        parents=tuple(parents),
        moves=feature in graph.reached,
        descends=feature in graph.descendants(graph.protected),
        degree=degree,
        embedding=embedding(inputs, degree),
        levels=tuple(variable.level for variable in own if variable.level is not None),
        fair=frozenset(k for k in parents if graph.features[k] in fair),
        protected_is_fair=graph.protected in fair,
    )


def describer(table: Table) -> Describe:
    """Describe the variables of a table to embeddings."""
    rows, features = table.rows.where(table.rows.weight > 0), table.graph.features

    @functools.cache
    def describe(name: str) -> Sequence[Input]:
        if name != table.graph.protected:
            return (Input(name, n_values=count_values(rows.x[:, features.index(name)])),)
        coding = table.protected
        if coding.is_binary:
            return (Input(name, is_sign=True),)
        if coding.levels is None:
            return (Input(name, n_values=count_values(rows.a)),)
        shown = zip(coding.levels[1:], coding.codes[1:], strict=True)
        return tuple(Input(f"{name}={level}", n_values=2, level=code) for level, code in shown)

    return describe


def count_values(values: Array) -> int:
    """Count distinct values, alike to twelve digits of their range."""
    width = float(np.ptp(values)) or 1.0
    return int(np.unique(np.round(values / width, 12)).size)


# ---------------------------------------------------------------- moments


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sums over rows that a fit needs; they add over chunks, folds and workers.

    ``G = Phi'Phi`` (D, D), ``C = Phi'X`` (D, m), ``S = X'X`` (m, m), ``total = X'1`` (m,), n the sum of the weights.
    """

    G: Array
    C: Array
    S: Array
    total: Array
    n: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.G + other.G, self.C + other.C, self.S + other.S, self.total + other.total, self.n + other.n)

    def __sub__(self, other: Moments) -> Moments:
        return Moments(self.G - other.G, self.C - other.C, self.S - other.S, self.total - other.total, self.n - other.n)


def structural_moments(rows: Rows, equations: Sequence[Equation], protected: Equation | None = None) -> Moments:
    """Moments of some equations' columns with their features; the protected attribute, if it has one, is the first."""
    targets = [equation.column for equation in equations]
    design = Design.of([*equations, protected] if protected else equations)

    def observed(block: Rows) -> Array:
        x = block.x[:, targets]
        return np.column_stack([block.a, x]) if protected else x

    return add_up(_feature_moments(design.values(b.a, b.x), observed(b), b.weight) for b in rows.blocks())


def outcome_moments(rows: Rows, columns: Callable[[Rows], Array]) -> Moments:
    """Moments of any columns of the rows with the outcome."""
    return add_up(_outcome_moments(columns(block), block) for block in rows.blocks())


def add_up(parts: Iterable[Moments]) -> Moments:
    """Add moments of chunks, folds or workers."""
    return functools.reduce(operator.add, parts)


def _feature_moments(Phi: Array, X: Array, weight: Array) -> Moments:
    weighted = Phi * weight[:, None]
    X_weighted = X * weight[:, None]
    return Moments(weighted.T @ Phi, weighted.T @ X, X.T @ X_weighted, X_weighted.sum(axis=0), float(weight.sum()))


def _outcome_moments(Phi: Array, block: Rows) -> Moments:
    G = (Phi * block.weight[:, None]).T @ Phi
    return Moments(G, Phi.T @ block.y[:, None], block.y_square.sum().reshape(1, 1), block.y.sum().reshape(1), block.n)
