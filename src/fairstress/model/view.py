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
from fairstress.model.design import Design
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
        """The inputs (g, r, p) of the same people in other worlds."""
        ...

    def gradients(self, worlds: Worlds, g: Array) -> tuple[Array | None, Array | None]:
        """Take a gradient (r, p) in the first world's inputs to its false residuals and to its features (r, m)."""
        ...


@dataclass(frozen=True, slots=True)
class RawColumns:
    """Looks at the protected attribute and the features themselves, coded."""

    names: tuple[str, ...]
    levels: tuple[float | None, ...]  # inputs that stand for A: one for its code (None), or an indicator per level

    @classmethod
    def of(cls, protected: Sequence[Input], features: Sequence[Input]) -> RawColumns:
        """Look at what describes the protected attribute, which may be nothing, and at the features."""
        names = tuple(variable.name for variable in (*protected, *features))
        return cls(names, tuple(variable.level for variable in protected))

    def factual(self, block: Rows, eps: Array) -> Array:
        """The people's own columns."""
        return self._gather(block.a, block.x)

    def counterfactual(self, worlds: Worlds) -> Array:
        """What Model B makes of them."""
        return self._gather(worlds.factual.block.a_cf, worlds.x_cf)

    def gradients(self, worlds: Worlds, g: Array) -> tuple[Array | None, Array | None]:
        """All of it flows through the features: A is set."""
        return None, g[:, len(self.levels) :]

    def _gather(self, a: Array, x: Array) -> Array:
        own = [a if level is None else (a == level).astype(float) for level in self.levels]
        shape = (*x.shape[:-1], 1)
        return np.concatenate([*(np.broadcast_to(values[:, None], shape) for values in own), x], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Turns residuals, factual or false, into the predictor's inputs."""

    design: Design
    weights: Array  # (D,) Model A's
    kinds: tuple[str, ...]  # per feature
    reference: float  # code of the level that stands for A on unfair edges

    @classmethod
    def of(cls, design: Design, w_A: Array, *, fair_part: bool, reference: float) -> View:
        """Choose for each feature how it enters."""
        labelled = any(e.fair or e.protected_is_fair for e in design.equations)
        mixed = _mixed(design) if fair_part else frozenset()
        kinds = [
            ITSELF if labelled and not e.moves else FAIR_PART if j in mixed else RESIDUAL
            for j, e in enumerate(design.equations)
        ]
        return cls(design, w_A, tuple(kinds), reference)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        features = [equation.feature for equation in self.design.equations]
        return tuple(
            name if kind == ITSELF else f"{kind} of {name}" for name, kind in zip(features, self.kinds, strict=True)
        )

    def factual(self, block: Rows, eps: Array) -> Array:
        """The inputs of people with Model A's residuals."""
        return self.inputs(block, eps)

    def counterfactual(self, worlds: Worlds) -> Array:
        """What Model A's owner would show the predictor in other worlds."""
        return self.inputs(worlds.factual.block, worlds.eps_cf)

    def gradients(self, worlds: Worlds, g: Array) -> tuple[Array | None, Array | None]:
        """All of it flows through the false residuals."""
        return self.pull_back(worlds.factual.block, worlds.eps_cf[0], g), None

    def inputs(self, block: Rows, eps: Array) -> Array:
        """The predictor's inputs for people with residuals (..., r, m); fair edges carry the block's own values."""
        if set(self.kinds) == {RESIDUAL}:
            return eps
        Z = np.array(eps)
        fair = self._fair_values(block, eps)[0] if FAIR_PART in self.kinds else eps
        for j, kind in enumerate(self.kinds):
            if kind != RESIDUAL:
                Z[..., j] = block.x[:, j] if kind == ITSELF else fair[..., j]
        return Z

    def pull_back(self, block: Rows, eps: Array, g: Array) -> Array:
        """Take a gradient (r, m) in the inputs to one in the residuals (r, m)."""
        g_eps = g * np.array([kind == RESIDUAL for kind in self.kinds])
        if FAIR_PART not in self.kinds:
            return np.asarray(g_eps)
        fair, columns = self._fair_values(block, eps)
        v_bar = g * np.array([kind == FAIR_PART for kind in self.kinds])
        for j in reversed(columns):
            equation, where = self.design.equations[j], self.design.slices[j]
            g_eps[:, j] += v_bar[:, j]
            slopes = equation.slopes(self.reference, fair, block, columns[j], self.weights[where, None])
            for position, k in equation.unfair:
                v_bar[:, k] += v_bar[:, j] * slopes[:, position, 0]
        return np.asarray(g_eps)

    def _fair_values(self, block: Rows, eps: Array) -> tuple[Array, dict[int, Array]]:
        """``v_j = eps_j + phi_j' w_A``, the reference level and v on unfair edges; and the columns phi_j."""
        fair = np.array(np.broadcast_to(block.x, eps.shape))
        columns = {}
        for j, (equation, where) in enumerate(zip(self.design.equations, self.design.slices, strict=True)):
            if equation.moves:
                columns[j] = equation.values(self.reference, fair, block)
                fair[..., j] = eps[..., j] + columns[j] @ self.weights[where]
        return fair, columns


def _mixed(design: Design) -> frozenset[int]:
    """Features that both an unfair path and a path with a fair edge lead to."""
    influenced: set[int] = set()  # by a path with a fair edge
    for j, e in enumerate(design.equations):
        through_fair = (e.uses_protected and e.protected_is_fair) or any(
            k in influenced or (k in e.fair and design.equations[k].descends) for k in e.parents
        )
        if through_fair:
            influenced.add(j)
    return frozenset(j for j in influenced if design.equations[j].moves)
