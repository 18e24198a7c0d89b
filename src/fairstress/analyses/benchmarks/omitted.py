"""What omitting a variable from the equations puts into their errors.

With Z in the equations, ``x_j = f_j(parents, z) + e_j`` by least squares. What is left of f_j when Z cannot be seen is
its mean over Z given the parents that Z does not affect; the rest, ``c_j``, joins the error. The effects of the other
parents stay as they are. To refit them without Z would hide what is asked for: where one of a pair causes the other,
least squares makes the errors uncorrelated, whatever is omitted.

Levels are cut from ``f_j(parents, z) + e_j`` with e_j standard normal, those of the protected attribute too, and fitted
by probit. A number with an atom is the same with a scale, and seen above the atom. Then ``c_j`` is defined alike and
joins the latent error, whose own variance is 1. Of a number by group, e and c are in units of each group's own scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairstress.errors import SettingError, Status
from fairstress.inputs.columns import Column, extend
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Describer, Design, Equation, Law, count_values
from fairstress.model.embedding import ByGroup, EmbeddingFactory, Input, make_embedding
from fairstress.model.fit import Fit
from fairstress.model.latent import Layout, Part, residual, seen
from fairstress.model.linear import independent_columns, solve
from fairstress.model.mixed import MixedSystem
from fairstress.model.probit import fit_alone

EXACT = 1e-8  # variance, features being standardised: an equation that leaves no more than this is exact
LARGEST = 1 - 1e-6  # size of a correlation of two latent errors

Entering = tuple[tuple[int, Input], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ExtendedRows:
    """The audited rows with further columns beside the features, and how each variable enters equations."""

    graph: CausalGraph
    degrees: Mapping[str, int]
    embedding: EmbeddingFactory
    rows: Rows
    entering: dict[str, Entering]  # by variable: a column of x, -1 for the protected attribute, and what stands for it
    laws: dict[str, Law]  # of the variables that have an equation
    group_names: tuple[str, ...]

    @classmethod
    def of(
        cls, table: Table, columns: Sequence[Column], degrees: Mapping[str, int], embedding: EmbeddingFactory
    ) -> ExtendedRows:
        """Put further columns beside the table's features."""
        graph, describe = table.graph, Describer(table)
        rows = extend(table, columns)
        named = enumerate((graph.protected, *graph.features), start=-1)
        entering: dict[str, Entering] = {name: tuple((k, v) for v in describe(name)) for k, name in named}
        start = len(graph.features)
        for column in columns:
            where = range(start, start + len(column.parts))
            counts = [count_values(rows.x[rows.weight > 0, k]) for k in where]
            inputs = (Input(part, column.is_sign, count) for part, count in zip(column.parts, counts, strict=True))
            entering[column.name] = tuple(zip(where, inputs, strict=True))
            start = where.stop
        laws = {name: describe.law(name) for name in degrees}
        return cls(graph, degrees, embedding, rows, entering, laws, describe.group_names)

    def equation(self, variable: str, parents: Iterable[str]) -> Equation:
        """An equation of a feature, or of the protected attribute, with any parents, of the audit's degree."""
        own, named, degree = self.graph.protected, set(parents), self.degrees[variable]
        law = self.laws[variable] if own in named else replace(self.laws[variable], groups=())
        before = [v for _, v in self.entering[own]] if own in named and not law.groups else []
        entering = [one for name, its in self.entering.items() if name in named - {own} for one in its]
        made = make_embedding(self.embedding, [*before, *(v for _, v in entering)], degree)
        return Equation(
            feature=variable,
            column=self.entering[variable][0][0],
            uses_protected=own in named,
            parents=tuple(dict.fromkeys(k for k, _ in entering)),
            moves=False,
            descends=False,
            degree=degree,
            embedding=ByGroup(made, law.groups, self.group_names) if law.groups else made,
            levels=tuple(v.level for v in before if v.level is not None),
            law=law,
            indicators=tuple((k, v.level) for k, v in entering),
        )

    def hidden(self, equation: Equation, Z: Sequence[str]) -> tuple[int, ...]:
        """Which inputs of an equation stand for Z; none for groups that have an equation each."""
        own = self.graph.protected
        first = range(equation.n_protected) if own in Z and not equation.law.groups else ()
        place = {source: i for i, source in enumerate(equation.sources, start=equation.n_protected)}
        return (*first, *(place[k, v.level] for name in Z if name != own for k, v in self.entering[name]))


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The error of an equation that cannot see Z: what Z puts into it, c, and what is left, e."""

    part: Part  # the equation with Z
    fit: Fit
    given: Equation  # the parents that Z does not affect
    hidden: tuple[int, ...]  # the inputs of the equation that stand for Z
    groups: tuple[float, ...]  # codes of A, where it is part of Z and each group has an equation of its own
    B: Array  # weights that predict Z from the parents it does not affect
    v: Array  # what these parents still predict of c

    @property
    def is_latent(self) -> bool:
        """Whether the error is seen in intervals, not for everyone."""
        law = self.part.equation.law
        return law.is_ordered or law.atom is not None

    def parts(self, block: Rows) -> tuple[Array, Array]:
        """Give c and e, as (r,) each; of a latent e its mean given the interval."""
        phi = self.part.equation.values(block.a, block.x)
        e = residual(self.part, self.fit, block.a, seen(self.part, block), phi)
        return self.raw(block) - self.given.values(block.a, block.x) @ self.v, e

    def raw(self, block: Rows) -> Array:
        """``f(parents, z) - f(parents, zhat)`` with zhat the prediction of z from the parents it does not affect."""
        zhat, count = self.given.values(block.a, block.x) @ self.B, len(self.groups)
        full, w = self.part.equation, self.part.w(self.fit)
        inputs = full.inputs(block.a, block.x)
        guessed = inputs.copy()
        guessed[:, list(self.hidden)] = zhat[:, count:]
        if not count:
            return np.asarray((full.embedding.values(inputs) - full.embedding.values(guessed)) @ w) / self._unit(block)
        mean = np.zeros(block.a.size)  # over groups, each with its equation
        for share, code in zip(zhat.T[:count], self.groups, strict=True):
            guessed[:, 0] = code
            mean += share * (full.embedding.values(guessed) @ w)
        return np.asarray(full.embedding.values(inputs) @ w - mean) / self._unit(block)

    def z(self, block: Rows) -> Array:
        """What stands for Z: shares of groups, if they have an equation each, and inputs."""
        inputs = self.part.equation.inputs(block.a, block.x)[:, list(self.hidden)]
        return np.hstack([block.a[:, None] == np.array(self.groups), inputs]) if self.groups else inputs

    def _unit(self, block: Rows) -> Array | float:
        """In what c is measured: 1, or the scale of the person's error where e is in units of it."""
        law = self.part.equation.law
        return 1.0 if law.is_plain or law.is_ordered else self.part.sigma(self.fit, block.a)


def split(extended: ExtendedRows, variable: str, Z: Sequence[str], effects: set[str]) -> Split:
    """Fit an equation with Z, predict Z from the parents it does not affect, and take c's remainder on these off."""
    parents = set(extended.graph.parents(variable))
    full = extended.equation(variable, parents | set(Z))
    given = extended.equation(variable, parents - set(Z) - effects)
    groups = full.law.groups if extended.graph.protected in Z else ()
    part = Layout.of(Design.of([full])).parts[0]
    fit = _fit(extended.rows, part, Z)
    parts = Split(part, fit, given, extended.hidden(full, Z), groups, np.zeros(0), np.zeros(0))
    parts = replace(parts, B=_least_squares(extended.rows, given, parts.z))
    return replace(parts, v=_least_squares(extended.rows, given, lambda block: parts.raw(block)[:, None])[:, 0])


def second_moments(rows: Rows, splits: Sequence[Split], pairs: Iterable[tuple[int, int]]) -> Array:
    """Mean products of all c, then all e, as (2q, 2q).

    A latent error has variance 1. Its mean g given the interval has ``E[g c] = E[e_j c]`` with any c of what it is
    given, and ``E[g e_k] = rho sigma_k E[g^2]`` with an error ``e_k = rho sigma_k e_j + rest``. With another latent
    error ``E[g_j g_k] = rho E[g_j^2] E[g_k^2]`` holds to first order in rho only, given the parents. That is a rough
    estimate where levels are rare, so that ``pairs`` of latent errors have the rho of the largest likelihood instead,
    the equations held fixed.
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
    for j, k in pairs:
        if splits[j].is_latent and splits[k].is_latent:
            M[q + j, q + k] = M[q + k, q + j] = _latent_correlation(rows, splits[j], splits[k])
    return M


def _latent_correlation(rows: Rows, first: Split, second: Split) -> float:
    """The correlation of two latent errors at which people are likeliest."""
    from scipy import optimize

    design = Design.of([first.part.equation, second.part.equation])
    system = MixedSystem.of(design, rows, np.zeros(design.feature_of.size), np.zeros(0), ())
    a, b = first.fit, second.fit
    w, scales, cuts = (
        np.append(*of) for of in ((a.weights, b.weights), (a.log_scales, b.log_scales), (a.cuts, b.cuts))
    )

    def deviance(rho: float) -> float:
        P = np.array([[1.0, rho], [rho, 1.0]])
        return system.deviance(replace(a, weights=w, log_scales=scales, cuts=cuts, correlation=P))

    found = optimize.minimize_scalar(deviance, bounds=(-LARGEST, LARGEST), method="bounded", options={"xatol": 1e-5})
    return float(found.x)


# ---------------------------------------------------------------- fits


def _fit(rows: Rows, part: Part, Z: Sequence[str]) -> Fit:
    """Fit an equation with Z; refused where Z decides a level, an atom or a number."""
    equation, law = part.equation, part.equation.law
    if law.is_ordered or law.atom is not None:
        alone = fit_alone(rows, equation)
        if alone.n_separated:
            raise _separated(equation, Z, alone.n_separated, rows.n)
        fit = alone.fit
    else:
        w = _least_squares(rows, equation, lambda block: seen(part, block)[:, None])[:, 0]
        scales = _log_scales(rows, part, w) if law.groups else np.zeros(1)
        fit = Fit(w, scales, np.eye(1), np.nan, np.nan, Status.CONVERGED)
    if not law.is_plain and (fit.scales**2 < EXACT).any():
        raise determined(", ".join(Z), equation.feature)
    return fit


def _log_scales(rows: Rows, part: Part, w: Array) -> Array:
    """Logs of the standard deviations of a number's errors by group."""
    law = part.equation.law
    n, square = np.zeros(law.n_scales), np.zeros(law.n_scales)
    for block in rows.blocks():
        e, group = seen(part, block) - part.equation.values(block.a, block.x) @ w, law.group_of(block.a)
        n += np.bincount(group, block.weight, minlength=law.n_scales)
        square += np.bincount(group, block.weight * e**2, minlength=law.n_scales)
    return np.asarray(np.log(np.maximum(square / n, EXACT / 2)) / 2)


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


# ---------------------------------------------------------------- what is refused


def determined(hidden: str, variable: str) -> SettingError:
    """Give the error of a benchmark that leaves nothing of a variable's error."""
    return SettingError(
        f"'{hidden}' and the parents of '{variable}' determine '{variable}', so that no error is left to "
        "compare: it cannot stand for a hidden cause; leave it out"
    )


def _separated(equation: Equation, Z: Sequence[str], count: float, n: float) -> SettingError:
    """Give the error of a benchmark that decides a level, or rules levels out."""
    name, hidden, of = equation.feature, ", ".join(f"'{name}'" for name in Z), f"{count:.9g} of {n:.9g} people"
    tells = f"tells the '{name}' of {of}" if equation.law.n_cuts < 2 else f"rules out levels of '{name}' for {of}"
    return SettingError(
        f"{hidden} with the other parents of '{name}' {tells} without error (perfect separation), so that its strength "
        "is not finite: leave it out, or merge rare values"
    )
