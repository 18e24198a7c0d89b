"""What omitting a variable from the equations puts into their errors.

With Z in the equations, ``x_j = f_j(parents, z) + e_j`` by least squares. What is left of f_j when Z cannot be seen is
its mean over Z given the parents that Z does not affect; the rest, ``c_j``, joins the error. The effects of the other
parents stay as they are. To refit them without Z would hide what is asked for: where one of a pair causes the other,
least squares makes the errors uncorrelated, whatever is omitted.

A two-valued protected attribute is ``A = sign(f_A(parents, z) + e_A)`` with e_A standard normal, fitted by probit. Then
``c_A`` is defined alike and joins the latent error, whose own variance is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairstress.errors import SettingError
from fairstress.inputs.columns import Column, extend
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Describer, Equation, count_values
from fairstress.model.embedding import EmbeddingFactory, Input
from fairstress.model.linear import independent_columns, solve
from fairstress.model.probit import generalised_residual, probit


@dataclass(frozen=True, slots=True, eq=False)
class ExtendedRows:
    """The audited rows with further columns beside the features, and where each variable stands."""

    graph: CausalGraph
    degrees: Mapping[str, int]
    embedding: EmbeddingFactory
    rows: Rows
    place: dict[str, tuple[int, ...]]  # columns of x by variable; the protected attribute has none
    inputs: dict[str, tuple[Input, ...]]  # what an embedding must know, by variable
    latent: str | None  # the protected attribute, where it is seen through a threshold

    @classmethod
    def of(
        cls, table: Table, columns: Sequence[Column], degrees: Mapping[str, int], embedding: EmbeddingFactory
    ) -> ExtendedRows:
        """Put further columns beside the table's features."""
        graph, describe = table.graph, Describer(table)
        rows = extend(table, columns)
        place: dict[str, tuple[int, ...]] = {name: (j,) for j, name in enumerate(graph.features)}
        inputs = {name: tuple(describe(name)) for name in (graph.protected, *graph.features)}
        start = len(graph.features)
        for column in columns:
            where = range(start, start + len(column.parts))
            counts = [count_values(rows.x[rows.weight > 0, k]) for k in where]
            place[column.name] = tuple(where)
            inputs[column.name] = tuple(
                Input(part, column.is_sign, count) for part, count in zip(column.parts, counts, strict=True)
            )
            start = where.stop
        latent = graph.protected if table.protected.is_binary else None
        return cls(graph, degrees, embedding, rows, place, inputs, latent)

    def equation(self, variable: str, parents: Iterable[str]) -> Equation:
        """An equation of a feature, or of the protected attribute, with any parents, of the audit's degree."""
        named = set(parents)
        uses_protected = self.graph.protected in named
        listed = [name for name in self.place if name in named]
        inputs = [v for name in [self.graph.protected] * uses_protected + listed for v in self.inputs[name]]
        degree = self.degrees[variable]
        columns = tuple(k for name in listed for k in self.place[name])
        levels = [v.level for v in self.inputs[self.graph.protected] if v.level is not None]
        return Equation(
            feature=variable,
            column=-1 if variable == self.graph.protected else self.place[variable][0],
            uses_protected=uses_protected,
            parents=columns,
            moves=False,
            descends=False,
            degree=degree,
            embedding=self.embedding(inputs, degree),
            levels=tuple(levels) if uses_protected else (),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The error of an equation that cannot see Z: what Z puts into it, c, and what is left, e."""

    full: Equation  # with Z
    given: Equation  # the parents that Z does not affect
    hides_protected: bool  # whether A is part of Z
    hidden: tuple[int, ...]  # the other columns of Z
    w: Array  # weights of the full equation
    B: Array  # weights that predict Z from the parents it does not affect
    v: Array  # what these parents still predict of c
    is_latent: bool  # whether the error is seen through a threshold only

    def parts(self, block: Rows) -> tuple[Array, Array]:
        """Give c and e, as (r,) each; of a latent e its mean given the side of the threshold."""
        f = self.full.values(block.a, block.x) @ self.w
        e = generalised_residual(block.a, f) if self.is_latent else _observed(self.full, block) - f
        return self.raw(block) - self.given.values(block.a, block.x) @ self.v, e

    def raw(self, block: Rows) -> Array:
        """``f(parents, z) - f(parents, zhat)`` with zhat the prediction of z from the parents it does not affect."""
        zhat = self.given.values(block.a, block.x) @ self.B
        a, x = (zhat[:, 0] if self.hides_protected else block.a), np.array(block.x, order="F")
        x[:, list(self.hidden)] = zhat[:, self.hides_protected :]
        return np.asarray((self.full.values(block.a, block.x) - self.full.values(a, x)) @ self.w)


def split(extended: ExtendedRows, variable: str, Z: Sequence[str], effects: set[str]) -> Split:
    """Fit an equation with Z, predict Z from the parents it does not affect, and take c's remainder on these off."""
    protected = extended.graph.protected
    parents = set(extended.graph.parents(variable))
    full = extended.equation(variable, parents | set(Z))
    given = extended.equation(variable, parents - set(Z) - effects)
    hides_protected = protected in Z
    hidden = tuple(k for name in Z if name != protected for k in extended.place[name])

    def z(block: Rows) -> Array:
        columns = block.x[:, list(hidden)]
        return np.column_stack([block.a, columns]) if hides_protected else columns

    is_latent = variable == extended.latent
    w = _threshold(extended.rows, full, Z) if is_latent else _weights(extended.rows, full)
    B = _least_squares(extended.rows, given, z)
    parts = Split(full, given, hides_protected, hidden, w, B, np.zeros(0), is_latent)
    return replace(parts, v=_least_squares(extended.rows, given, lambda block: parts.raw(block)[:, None])[:, 0])


def second_moments(rows: Rows, splits: Sequence[Split]) -> Array:
    """Mean products of all c, then all e, as (2q, 2q).

    A latent error has variance 1. Its mean g given A and the index has ``E[g c] = E[e_A c]`` with any c of what it is
    given, and ``E[g e_k] = rho sigma_k E[g^2]`` with an error ``e_k = rho sigma_k e_A + rest``.
    """
    q = len(splits)
    M = np.zeros((2 * q, 2 * q))
    for block in rows.blocks():
        parts = np.array([one.parts(block) for one in splits])  # (q, 2, r)
        T = np.concatenate([parts[:, 0], parts[:, 1]])
        M += T * block.weight @ T.T
    M /= rows.n
    for i in (q + j for j, one in enumerate(splits) if one.is_latent):
        M[i, q:] /= M[i, i]
        M[q:, i] = M[i, q:]
    return M


def _weights(rows: Rows, equation: Equation) -> Array:
    return _least_squares(rows, equation, lambda block: _observed(equation, block)[:, None])[:, 0]


def _threshold(rows: Rows, equation: Equation, Z: Sequence[str]) -> Array:
    """Weights of the latent index; refused where Z decides the side of the threshold."""
    index = probit(rows, lambda block: equation.values(block.a, block.x))
    if index.n_separated:
        name, hidden = equation.feature, ", ".join(f"'{name}'" for name in Z)
        raise SettingError(
            f"{hidden} with the other parents of '{name}' tells the '{name}' of {index.n_separated:.9g} of "
            f"{rows.n:.9g} people without error (perfect separation), so that its strength is not finite: leave it "
            "out, or merge rare values"
        )
    return index.weights


def _observed(equation: Equation, block: Rows) -> Array:
    return block.a if equation.column < 0 else block.x[:, equation.column]


def _least_squares(rows: Rows, equation: Equation, target: Callable[[Rows], Array]) -> Array:
    """Weights of an equation's columns for some targets (r, k) of each block, from sums over blocks."""
    G, C = np.zeros(()), np.zeros(())
    for block in rows.blocks():
        Phi = equation.values(block.a, block.x)
        weighted = Phi * block.weight[:, None]
        G, C = G + weighted.T @ Phi, C + weighted.T @ target(block)
    weights, kept = np.zeros_like(C), independent_columns(G)
    weights[kept] = solve(G[np.ix_(kept, kept)], C[kept])
    return weights
