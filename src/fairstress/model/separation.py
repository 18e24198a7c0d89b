"""Levels that people's parents tell without error: no finite weights are best, and nothing shows the error."""

from __future__ import annotations

import numpy as np

from fairstress.errors import DataError
from fairstress.inputs.data import Table
from fairstress.inputs.rows import IntArray
from fairstress.model.design import Design, Equation
from fairstress.model.fit import Fit
from fairstress.model.latent import Layout, Part, seen

FARTHEST = 12.0  # standard deviations of the latent error that an index may run over: beyond it levels are certain


def check_separation(design: Design, model_a: Fit, table: Table, penalty: float) -> None:
    """Refuse an ordered variable whose index runs away, with the group or the parents that tell its levels."""
    if design.is_plain:
        return
    for part in Layout.of(design).parts:
        if part.equation.law.is_ordered and _reach(part, model_a, table) > FARTHEST:
            raise DataError(_sentence(part, table, penalty))


def _reach(part: Part, fit: Fit, table: Table) -> float:
    rows = table.rows.where(table.rows.weight > 0)
    index = [part.equation.values(block.a, block.x) @ part.w(fit) for block in rows.blocks()]
    return float(np.ptp(np.concatenate(index)))


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
