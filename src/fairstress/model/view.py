"""What a counterfactually fair predictor looks at, feature by feature.

Where no edge is called fair, that is Model A's residuals. Otherwise a feature that no unfair path from the protected
attribute leads to enters as itself, and any other as its residual, or, if it is mixed (fair paths lead to it too), by
choice as its fair part: the value that Model A gives it with a reference level of A on unfair edges.

Any other predictor looks at the columns themselves, in the factual and in the counterfactual world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import Worlds
from fairstress.model.design import Design, Equation
from fairstress.model.embedding import Input

RESIDUAL, ITSELF, FAIR_PART = "residual", "itself", "fair part"


class Lens(Protocol):
    """What an audited predictor looks at, in the factual and in the counterfactual world."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        ...

    def factual(self, block: Rows, eps: Array) -> Array:
        """The inputs (r, p) of people with Model A's residuals (r, m)."""
        ...

    def counterfactual(self, worlds: Worlds) -> Array:
        """The inputs (g, l, p) of the same people in other worlds."""
        ...

    def gradients(self, worlds: Worlds, g: Array) -> tuple[Array | None, Array | None]:
        """Take gradients (g, r, p) in the worlds' inputs to their false residuals and to their features (g, r, m)."""
        ...


@dataclass(frozen=True, slots=True)
class RawColumns:
    """Looks at the protected attribute and the features themselves, coded."""

    names: tuple[str, ...]
    levels: tuple[float | None, ...]  # inputs that stand for A: one for its code (None), or an indicator per level
    sources: tuple[tuple[int, float | None], ...] | None = None  # column and level of each other input; None: all x
    others: bool = False  # whether the number of a person's values outside the graph is the last input

    @classmethod
    def of(cls, protected: Sequence[Input], features: Sequence[Sequence[Input]]) -> RawColumns:
        """Look at what describes the protected attribute, which may be nothing, and each of the features."""
        shown = [(k, variable) for k, its in enumerate(features) for variable in its]
        names = tuple(variable.name for variable in (*protected, *(variable for _, variable in shown)))
        sources = tuple((k, variable.level) for k, variable in shown)
        plain = all(level is None for _, level in sources)
        return cls(names, tuple(variable.level for variable in protected), None if plain else sources)

    def factual(self, block: Rows, eps: Array) -> Array:
        """The people's own columns."""
        return self._gather(block.a, block.x, block.other)

    def counterfactual(self, worlds: Worlds) -> Array:
        """What Model B makes of them."""
        block = worlds.factual.block
        other = worlds.of_people(block.other) if self.others else None
        return self._gather(worlds.of_people(block.a_cf), worlds.x_cf, other)

    def gradients(self, worlds: Worlds, g: Array) -> tuple[Array | None, Array | None]:
        """All of it flows through the features: A is set."""
        own = g[..., len(self.levels) : g.shape[-1] - self.others]
        if self.sources is None:
            return None, own
        g_x = np.zeros_like(worlds.x_cf)
        for position, (k, level) in enumerate(self.sources):
            if level is None:
                g_x[..., k] += own[..., position]
        return None, g_x

    def _gather(self, a: Array, x: Array, other: Array | None) -> Array:
        own = [a if level is None else (a == level).astype(float) for level in self.levels]
        shape, last = (*x.shape[:-1], 1), [other] if self.others and other is not None else []
        before, after = ([np.broadcast_to(values[:, None], shape) for values in part] for part in (own, last))
        return np.concatenate([*before, self._shown(x), *after], axis=-1)

    def _shown(self, x: Array) -> Array:
        if self.sources is None:
            return x
        return _columns(x, self.sources)


def _columns(x: Array, sources: Sequence[tuple[int, float | None]]) -> Array:
    """Columns as they are, or the indicator of a level."""
    return np.stack([x[..., k] if level is None else x[..., k] == level for k, level in sources], axis=-1).astype(float)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One input of a counterfactually fair predictor."""

    kind: str
    column: int  # of the feature
    level: float | None  # of a category, the code that it indicates
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Turns residuals, factual or false, into the predictor's inputs."""

    design: Design
    weights: Array  # (D,) Model A's
    entries: tuple[Entry, ...]
    reference: float  # code of the level that stands for A on unfair edges
    all_residuals: bool  # whether all residuals are shown in the order of the features, and nothing else

    @classmethod
    def of(
        cls,
        design: Design,
        w_A: Array,
        features: Sequence[Sequence[Input]],
        *,
        fair_part: bool,
        ordered: bool,
        reference: float,
    ) -> View:
        """Choose for each feature, described to embeddings, how it enters; ``ordered``: expected errors do too."""
        labelled = any(e.fair or e.protected_is_fair for e in design.equations)
        mixed = _mixed(design) if fair_part else frozenset()
        equations = {e.column: e for e in design.equations}
        entries: list[Entry] = []
        for k, its in enumerate(features):
            kind = _kind(equations.get(k), k in mixed, labelled)
            if kind == ITSELF:
                entries += [Entry(kind, k, variable.level, variable.name) for variable in its]
            elif ordered or not equations[k].law.is_ordered:
                entries.append(Entry(kind, k, None, f"{_title(kind, equations[k])} of {equations[k].feature}"))
        plain = [e.column for e in entries] == list(range(len(features))) and all(e.kind == RESIDUAL for e in entries)
        return cls(design, w_A, tuple(entries), reference, plain)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(entry.name for entry in self.entries)

    def factual(self, block: Rows, eps: Array) -> Array:
        """The inputs of people with Model A's residuals."""
        return self.inputs(block, eps)

    def counterfactual(self, worlds: Worlds) -> Array:
        """What Model A's owner would show the predictor in other worlds."""
        return self.inputs(worlds.people(), worlds.eps_cf)

    def gradients(self, worlds: Worlds, g: Array) -> tuple[Array | None, Array | None]:
        """All of it flows through the false residuals."""
        return self.pull_back(worlds.factual.block, worlds.eps_cf, g), None

    def inputs(self, block: Rows, eps: Array) -> Array:
        """The predictor's inputs for people with residuals (..., r, m); fair edges carry the block's own values."""
        if self.all_residuals:
            return eps
        fair = self._fair_values(block, eps)[0] if self._has_fair_part else eps
        itself = np.broadcast_to(block.x, eps.shape)
        from_where = {RESIDUAL: eps, ITSELF: itself, FAIR_PART: fair}
        columns = [_columns(from_where[e.kind], [(e.column, e.level)]) for e in self.entries]
        return np.concatenate(columns, axis=-1)

    @property
    def _has_fair_part(self) -> bool:
        return any(entry.kind == FAIR_PART for entry in self.entries)

    def pull_back(self, block: Rows, eps: Array, g: Array) -> Array:
        """Take gradients (g, r, p) in the inputs to those in the residuals (g, r, m)."""
        if self.all_residuals:
            return np.array(g)
        g_eps, v_bar = np.zeros_like(eps), np.zeros_like(eps)
        for position, entry in enumerate(self.entries):
            if entry.kind != ITSELF:
                (g_eps if entry.kind == RESIDUAL else v_bar)[..., entry.column] += g[..., position]
        if not self._has_fair_part:
            return g_eps
        fair, columns = self._fair_values(block, eps)
        for j in reversed(columns):
            equation, where = self.design.equations[j], self.design.slices[j]
            g_eps[..., equation.column] += v_bar[..., equation.column]
            slopes = equation.slopes(self.reference, fair, block, columns[j], self.weights[where])
            for position, k in equation.unfair:
                v_bar[..., k] += v_bar[..., equation.column] * slopes[..., position]
        return g_eps

    def _fair_values(self, block: Rows, eps: Array) -> tuple[Array, dict[int, Array]]:
        """``v_j = eps_j + phi_j' w_A``, the reference level and v on unfair edges; and the columns phi_j."""
        fair = np.array(np.broadcast_to(block.x, eps.shape))
        columns = {}
        for j, (equation, where) in enumerate(zip(self.design.equations, self.design.slices, strict=True)):
            if equation.moves:
                columns[j] = equation.values(self.reference, fair, block)
                fair[..., equation.column] = eps[..., equation.column] + columns[j] @ self.weights[where]
        return fair, columns


def _kind(equation: Equation | None, is_mixed: bool, labelled: bool) -> str:
    """How a feature enters: what no path from A leads to and is no number does as itself."""
    if equation is None or (equation.law.is_ordered and not equation.moves) or (labelled and not equation.moves):
        return ITSELF
    return FAIR_PART if is_mixed else RESIDUAL


def _title(kind: str, equation: Equation) -> str:
    return "expected error" if kind == RESIDUAL and equation.law.is_ordered else kind


def _mixed(design: Design) -> frozenset[int]:
    """Features that both an unfair path and a path with a fair edge lead to."""
    influenced: set[int] = set()  # by a path with a fair edge
    equations = {e.column: e for e in design.equations}
    for k, e in equations.items():
        through_fair = (e.uses_protected and e.protected_is_fair) or any(
            i in influenced or (i in e.fair and i in equations and equations[i].descends) for i in e.parents
        )
        if through_fair:
            influenced.add(k)
    return frozenset(k for k in influenced if equations[k].moves)
