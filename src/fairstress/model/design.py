"""The design: one equation per feature, and the moments through which any fit sees the data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.kinds import CATEGORY, NUMBER
from fairstress.inputs.rows import WIDTH, Array, IntArray, Rows, some_places
from fairstress.model.cross_products import gram
from fairstress.model.embedding import (
    ByGroup,
    Embedding,
    EmbeddingFactory,
    Input,
    Polynomial,
    constant_columns,
    has_levels,
    make_embedding,
    slopes_in_worlds,
)
from fairstress.model.monomials import Together
from fairstress.model.size import FEWER_TERMS, MANY_TERMS, MOST_TERMS, Offer

PLAINLY = 1000  # distinct values of a sample: more than any power could tell apart


@dataclass(frozen=True, slots=True)
class Law:
    """What is seen of a variable's latent error: all of it, through cuts into levels, or only above an atom.

    A number is ``x = phi'w + sigma e``, with sigma and w of each group's own where there are groups. An ordered
    variable is level k where ``tau_(k-1) < phi'theta + e <= tau_k``. A number with an atom is seen above it.
    """

    codes: tuple[float, ...] = ()  # of an ordered variable's levels, ascending; none for a number
    groups: tuple[float, ...] = ()  # codes of the protected attribute that have a scale and weights of their own
    atom: float | None = None  # the code of a number at its atom

    @property
    def is_ordered(self) -> bool:
        """Whether levels are seen, and not a number."""
        return bool(self.codes)

    @property
    def is_plain(self) -> bool:
        """Whether it is a number with one scale that is seen for everyone."""
        return not (self.codes or self.groups or self.atom is not None)

    @property
    def n_scales(self) -> int:
        """How many scales its error has."""
        return 0 if self.codes else len(self.groups) or 1

    @property
    def n_cuts(self) -> int:
        """How many cuts part its levels."""
        return max(len(self.codes) - 1, 0)

    def group_of(self, a: Array) -> IntArray:
        """Which scale belongs to each code of the protected attribute."""
        if not self.groups:
            return np.zeros(a.shape, dtype=np.intp)
        return np.searchsorted(self.groups, a).astype(np.intp)

    def level_of(self, x: Array) -> IntArray:
        """The position of each code among the levels."""
        return np.searchsorted(self.codes, x).astype(np.intp)


PLAIN = Law()


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
    law: Law = PLAIN  # what is seen of its error
    indicators: tuple[tuple[int, float | None], ...] = ()  # column and level of each input of a parent; none: itself

    @property
    def n_protected(self) -> int:
        """How many inputs stand for the protected attribute."""
        return (len(self.levels) or 1) * self.uses_protected

    @property
    def sources(self) -> tuple[tuple[int, float | None], ...]:
        """Column of each input that stands for a parent, and the code of the level that it indicates, if it does."""
        return self.indicators or tuple((k, None) for k in self.parents)

    @property
    def variables(self) -> tuple[tuple[int, float | None], ...]:
        """The same for every input, where the protected attribute is column -1."""
        own: tuple[float | None, ...] = self.levels or (None,)
        return (*((-1, level) for level in own if self.uses_protected), *self.sources)

    @property
    def unfair(self) -> tuple[tuple[int, int], ...]:
        """(position among the inputs, column) of parents that enter as they are, along edges not called fair."""
        return tuple((i, k) for i, (k, level) in enumerate(self.sources) if k not in self.fair and level is None)

    def unlabelled(self) -> Equation:
        """The same with no edge called fair."""
        return replace(self, moves=self.descends, fair=frozenset(), protected_is_fair=False)

    def inputs(self, a: Any, x: Array, along_fair: Rows | None = None) -> Array:
        """Gather the parents' values, the protected attribute first, from a and x (..., r, m), as (..., r, p).

        Fair edges carry the values of ``along_fair``, where it is given.
        """
        x_fair, own = along_fair.x if along_fair else x, self.own(a, along_fair)
        Z = np.empty((self.n_protected + len(self.sources), *x.shape[:-1]))
        if self.uses_protected and self.levels:
            for position, level in enumerate(self.levels):
                Z[position] = own == level
        elif self.uses_protected:
            Z[0] = own
        for position, (k, code) in enumerate(self.sources, start=self.n_protected):
            column = (x_fair if k in self.fair else x)[..., k]
            Z[position] = column if code is None else column == code
        return Z.transpose(*range(1, Z.ndim), 0)

    def own(self, a: Any, along_fair: Rows | None = None) -> Any:
        """The value of the protected attribute that the equation sees."""
        return along_fair.a if along_fair and self.protected_is_fair else a

    def values(self, a: Any, x: Array, along_fair: Rows | None = None) -> Array:
        """Columns ``phi_j`` for x (..., r, m), as (..., r, d)."""
        return self.embedding.values(self.inputs(a, x, along_fair))

    def slopes(self, a: Any, x: Array, along_fair: Rows, phi: Array, w: Array) -> Array:
        """Derivatives of ``phi_j' w`` by the parents that are features, for x (g, r, m), as (g, r, parents)."""
        inputs = self.inputs(a, x, along_fair)
        return slopes_in_worlds(self.embedding, inputs, phi, w[None, :, None])[:, :, self.n_protected :, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The structural equations in topological order, their weights side by side in one vector.

    Features that do not descend from the protected attribute, stand in no pair and are no numbers have no equation:
    they are the context, on which all others are conditioned.
    """

    equations: tuple[Equation, ...]
    feature_of: IntArray  # (D,) the equation that each weight belongs to
    slices: tuple[slice, ...]  # where each equation's weights stand
    protected: Equation | None = None  # that of the protected attribute, where a hidden cause may lie behind it

    @classmethod
    def of(cls, equations: Sequence[Equation], protected: Equation | None = None) -> Design:
        """Lay the equations' weights side by side; those of the protected attribute's equation come after them."""
        widths = [len(equation.embedding.terms) for equation in equations]
        slices = tuple(side_by_side(widths))
        return cls(tuple(equations), np.repeat(np.arange(len(widths)), widths), slices, protected)

    @property
    def is_plain(self) -> bool:
        """Whether all errors are those of numbers with one scale, seen for everyone: the Gaussian model."""
        own = self.protected
        few = own is None or own.law.is_plain or len(own.law.codes) == 2
        return few and all(equation.law.is_plain for equation in self.equations)

    @property
    def columns(self) -> list[int]:
        """The equations' features, as columns of x."""
        return [equation.column for equation in self.equations]

    def unlabelled(self) -> Design:
        """The same with no edge called fair."""
        return replace(self, equations=tuple(equation.unlabelled() for equation in self.equations))

    def penalties(self, penalty: float, *, penalise_constant: bool, own: Mapping[str, float] | None = None) -> Array:
        """(D,) the ridge penalty of each weight: the equation's own, where it has one, otherwise the shared one."""
        of = own or {}
        parts = [
            column_penalties(e.embedding, of.get(e.feature, penalty), penalise_constant=penalise_constant)
            for e in self.equations
        ]
        return np.concatenate(parts)

    def values(self, a: Array, x: Array) -> Array:
        """All equations' columns side by side, as (r, D)."""
        return np.hstack([equation.values(a, x) for equation in self.equations])

    def fitted(self, a: Array, x: Array, w: Array) -> Array:
        """``Phi w``: each feature's regression function at the parents' values in ``x``, as (r, m)."""
        columns = [e.values(a, x) @ w[s] for e, s in zip(self.equations, self.slices, strict=True)]
        return np.column_stack(columns)


def side_by_side(widths: Sequence[int]) -> list[slice]:
    """Where parts of some widths stand when they are laid side by side."""
    return [slice(start, end) for start, end in itertools.pairwise(np.cumsum([0, *widths]).tolist())]


def column_penalties(embedding: Embedding, penalty: float, *, penalise_constant: bool) -> Array:
    """(d,) the penalty of each column: shared by equal columns, none on the constant unless asked for."""
    penalties = penalty / embedding.repeats
    if not penalise_constant:
        penalties[list(constant_columns(embedding))] = 0.0
    return np.asarray(penalties)


def build_design(
    graph: CausalGraph, degrees: Mapping[str, int], describe: Describer, embedding: EmbeddingFactory
) -> Design:
    """Give every feature that has an error its equation, with the degrees asked for."""
    named = [name for name in graph.features if describe.has_error(name)]
    equations = [build_equation(graph, name, degrees[name], describe, embedding) for name in named]
    if not graph.confounds_protected:
        return Design.of(equations)
    protected = build_equation(graph, graph.protected, degrees.get(graph.protected, 1), describe, embedding)
    return Design.of(equations, protected)


def build_equation(
    graph: CausalGraph, feature: str, degree: int, describe: Describer, embedding: EmbeddingFactory
) -> Equation:
    """Give the equation of one feature up to a degree."""
    parents = sorted(graph.features.index(name) for name in graph.parents(feature) if name != graph.protected)
    uses_protected = graph.protected in graph.parents(feature)
    fair = {cause for cause, effect in graph.fair_edges if effect == feature}
    law = describe.law(feature)
    own = describe(graph.protected) if uses_protected and not law.groups else ()
    entering = [(k, variable) for k in parents for variable in describe(graph.features[k])]
    made = make_embedding(embedding, [*own, *(variable for _, variable in entering)], degree)
    return Equation(
        feature=feature,
        column=-1 if feature == graph.protected else graph.features.index(feature),
        uses_protected=uses_protected,
        parents=tuple(parents),
        moves=feature in graph.reached,
        descends=feature in graph.descendants(graph.protected),
        degree=degree,
        embedding=ByGroup(made, law.groups, describe.group_names) if law.groups else made,
        levels=tuple(variable.level for variable in own if variable.level is not None),
        fair=frozenset(k for k in parents if graph.features[k] in fair),
        protected_is_fair=graph.protected in fair,
        law=law,
        indicators=tuple((k, variable.level) for k, variable in entering),
    )


@dataclass(frozen=True, eq=False)
class Describer:
    """Describes the variables of a table to equations: what their embeddings must know, and what is seen of errors."""

    table: Table
    _known: dict[str, Sequence[Input]] = field(default_factory=dict, repr=False)

    def __call__(self, name: str) -> Sequence[Input]:
        """What an embedding must know of a variable."""
        if name not in self._known:
            own = name == self.table.graph.protected
            self._known[name] = self._protected(name) if own else self._feature(name)
        return self._known[name]

    def _protected(self, name: str) -> Sequence[Input]:
        coding = self.table.protected
        if coding.is_binary:
            return (Input(name, is_sign=True),)
        if coding.levels is None:
            return (Input(name, n_values=count_values(self.table.rows.a[self._counted])),)
        return _indicators(name, coding.levels, coding.codes)

    def _feature(self, name: str) -> Sequence[Input]:
        j = self.table.graph.features.index(name)
        kind, codes = self.table.kinds[name], self.table.units.features[j].codes
        if kind.name == NUMBER:
            return (Input(name, n_values=count_values(self.table.rows.x[self._counted, j])),)
        if kind.name == CATEGORY or (kind.as_levels and len(codes) > 2):
            return _indicators(name, kind.levels, codes.tolist())
        return (Input(name, is_sign=True) if len(codes) == 2 else Input(name, n_values=len(codes)),)

    @property
    def _counted(self) -> Any:
        """Rows that have weight."""
        counted = self.table.rows.weight > 0
        return slice(None) if counted.all() else counted

    def law(self, name: str) -> Law:
        """What is seen of a variable's error."""
        coding = self.table.protected
        if name == self.table.graph.protected:
            return PLAIN if coding.levels is None else Law(codes=tuple(sorted(coding.codes)))
        own, kind = self.table.units.features[self.table.graph.features.index(name)], self.table.kinds[name]
        groups = tuple(sorted(coding.codes)) if kind.by_group else ()
        return Law(tuple(own.codes.tolist()), groups, own.atom_code)

    def has_error(self, name: str) -> bool:
        """Whether a feature has an equation: every number, and what descends from A or may share a hidden cause."""
        graph = self.table.graph
        in_pair = any(name in pair for pair in graph.pairs)
        return self.table.kinds[name].name == NUMBER or in_pair or name in graph.descendants(graph.protected)

    def entering(self, name: str) -> list[Input]:
        """What an embedding must know of the parents of a variable, the protected attribute first."""
        parents = self.table.graph.parents(name)
        return [variable for parent in parents for variable in self(parent)]

    def offer(self, name: str, degrees: Sequence[int]) -> Offer:
        """A feature's equation and the degrees that could be tried: few where levels make many terms, or fits slow."""
        inputs, law = self.entering(name), self.law(name)
        own = self.table.graph.protected
        if law.groups:
            inputs = [variable for variable in inputs if own not in (variable.name, variable.of)]
        is_latent = law.is_ordered or law.atom is not None
        most = FEWER_TERMS if is_latent else self.most_terms(inputs)
        return Offer(len(inputs), tuple(degrees), most, max(1, len(law.groups)))

    def most_terms(self, inputs: Sequence[Input]) -> int:
        """How many terms of some inputs are worth trying."""
        features = [variable for variable in inputs if variable.of != self.table.graph.protected]
        return MOST_TERMS if has_levels(features) else MANY_TERMS

    @property
    def group_names(self) -> tuple[str, ...]:
        """The levels of the protected attribute, in the order of their codes."""
        coding = self.table.protected
        return tuple(str(coding.level(code)) for code in sorted(coding.codes))


def _indicators(name: str, levels: Sequence[Any], codes: Sequence[float]) -> tuple[Input, ...]:
    """An input for each level but the first."""
    shown = zip(levels[1:], codes[1:], strict=True)
    return tuple(Input(f"{name}={level}", n_values=2, level=code, of=name) for level, code in shown)


def count_values(values: Array) -> int:
    """Count distinct values, alike to twelve digits of their range; of many that are plainly different, a sample's."""
    width, some = float(np.ptp(values)) or 1.0, values[some_places(values.size)]
    count = int(np.unique(np.round(some / width, 12)).size)
    return count if some.size == values.size or count > PLAINLY else int(np.unique(np.round(values / width, 12)).size)


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
    own = (*equations, protected) if protected else (*equations,)
    columns = _columns_of(own, (*((-1,) if protected else ()), *(equation.column for equation in equations)))
    phi, x = columns.phi, columns.targets
    M, n = rows.total(lambda block: _weighed(columns.values(block), block.weight), width=columns.count)
    return Moments(M[np.ix_(phi, phi)], M[np.ix_(phi, x)], M[np.ix_(x, x)], M[0, x], n)


def _weighed(Z: Array, weight: Array) -> tuple[Array, float]:
    return gram(Z, weight), float(weight.sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The distinct columns of several equations and of their variables; monomials that equations share are one."""

    together: Together
    others: tuple[Equation, ...]  # that are no polynomials: their columns come after all monomials
    phi: IntArray  # (D,) where the equations' columns are
    targets: IntArray  # (m,) where the variables are

    @property
    def count(self) -> int:
        """How many columns there are."""
        return self.together.ladder.count + sum(len(equation.embedding.terms) for equation in self.others)

    def values(self, block: Rows) -> Array:
        """(d, r) the columns of a block, the constant first."""
        own = self.together.columns(block.a, block.x)
        return np.concatenate([own, *(e.values(block.a, block.x).T for e in self.others)]) if self.others else own


@lru_cache(maxsize=64)
def _columns_of(equations: tuple[Equation, ...], variables: tuple[int, ...]) -> _Columns:
    """Lay together the columns of some equations with some variables, -1 the protected attribute."""
    polynomials = [(e.embedding, e) for e in equations if isinstance(e.embedding, Polynomial)]
    alone = [(((1,),), ((k, None),)) for k in variables]
    together = Together.of([*((own.exponents, e.variables) for own, e in polynomials), *alone])
    others, start = tuple(e for e in equations if not isinstance(e.embedding, Polynomial)), together.ladder.count
    widths = side_by_side([len(e.embedding.terms) for e in others])
    place = {e: start + np.arange(own.start, own.stop) for e, own in zip(others, widths, strict=True)}
    place |= {e: own for (_, e), own in zip(polynomials, together.places, strict=False)}
    phi = np.concatenate([np.empty(0, dtype=np.intp), *(place[e] for e in equations)])
    return _Columns(together, others, phi, np.array([int(p[0]) for p in together.places[len(polynomials) :]]))


def outcome_moments(rows: Rows, columns: Callable[[Rows], Array], width: int = WIDTH) -> Moments:
    """Moments of any columns of the rows, about so many, with the outcome."""
    return rows.total(lambda block: _outcome_moments(columns(block), block), width=width)


def _outcome_moments(Phi: Array, block: Rows) -> Moments:
    G, C = gram(Phi.T, block.weight), np.dot(Phi.T, block.y[:, None])
    return Moments(G, C, block.squares.sum().reshape(1, 1), block.y.sum().reshape(1), block.n)
