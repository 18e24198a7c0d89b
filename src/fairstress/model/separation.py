"""Levels that people's parents tell without error: no finite weights are best, and nothing shows the error."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from fairstress.errors import DataError
from fairstress.inputs.data import Table
from fairstress.inputs.rows import IntArray
from fairstress.model.design import Design, Equation
from fairstress.model.fit import Fit
from fairstress.model.latent import Layout, Part, error, free_weights, seen
from fairstress.model.linear import independent_columns
from fairstress.model.rectangle import rectangles

HELD = 1e-9  # curvature, relative to that of a normal error, below which nothing holds a weight


def check_separation(design: Design, model_a: Fit, table: Table, penalty: float) -> None:
    """Refuse an ordered variable whose index runs away, with the group or the parents that tell its levels."""
    if design.is_plain:
        return
    for part in Layout.of(design).parts:
        if part.equation.law.is_ordered and _least_curvature(part, model_a, table) < HELD:
            raise DataError(_sentence(part, table, penalty))


def _least_curvature(part: Part, fit: Fit, table: Table) -> float:
    """The least eigenvalue of ``sum w h phi phi'`` against ``sum w phi phi'``: how much the weakest direction is held.

    h is the curvature of a person's log probability in the index: it falls to 0 where the level is certain.
    """
    rows = table.rows.where(table.rows.weight > 0)
    free = free_weights(part)
    if not free.size:
        return 1.0
    G, N = np.zeros((free.size, free.size)), np.zeros((free.size, free.size))
    for block in rows.blocks():
        phi = part.equation.values(block.a, block.x)
        known = error(part, fit, block.a, seen(part, block), phi)
        ends = rectangles(known.lower[:, None], known.upper[:, None], np.eye(1), derivatives=2)
        assert ends.hessian is not None
        h = -ends.hessian.sum(axis=(1, 2))
        own = phi[:, free]
        G += (own * (block.weight * h)[:, None]).T @ own
        N += (own * block.weight[:, None]).T @ own
    kept = independent_columns(N)
    return float(linalg.eigh(G[np.ix_(kept, kept)], N[np.ix_(kept, kept)], eigvals_only=True)[0])


def _sentence(part: Part, table: Table, penalty: float) -> str:
    name, way_out = part.equation.feature, "give a penalty above 0, merge levels, or remove an edge into it"
    group = _group_at_one_level(part.equation, part, table)
    if group:
        return f"{group}, so that no finite weight of '{table.protected.name}' fits '{name}': {way_out}"
    return (
        f"the parents of '{name}' tell its levels nearly without error (perfect separation), so that no finite weights "
        f"are best at penalty {penalty:g}: {way_out}"
    )


def _group_at_one_level(equation: Equation, part: Part, table: Table) -> str:
    """Name a group of the protected attribute that has one level only."""
    if not equation.uses_protected or table.protected.levels is None or equation.column < 0:
        return ""
    rows = table.rows.where(table.rows.weight > 0)
    level: IntArray = equation.law.level_of(seen(part, rows))
    names = table.kinds[equation.feature].levels
    for group, code in zip(table.protected.levels, table.protected.codes, strict=True):
        own = np.unique(level[rows.a == code])
        if own.size == 1:
            return f"everyone in the group {group!r} has '{equation.feature}' {names[int(own[0])]!r}"
    return ""
