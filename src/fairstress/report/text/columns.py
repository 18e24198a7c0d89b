"""What columns are taken for: as records, and as a table that a terminal has room for."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairstress.report.text.markup import WIDTH, printable

if TYPE_CHECKING:
    from fairstress.audit import Audit
    from fairstress.inputs.data import Table


def describe_columns(audit: Audit, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Say for each column of the graph what it is taken for, and why; the options are what a settings file gives."""
    table = audit.fitted.table
    missing = table.dropped.by_column if table.dropped else {}
    columns = [
        *_protected_columns(table, is_given=table.graph.protected in options.get("kinds", {})),
        *_feature_columns(table, audit.fitted.claim.design.columns),
        _outcome_column(table, is_given="outcome_type" in options),
    ]
    return [{**column, "missing": missing.get(column["column"], 0)} for column in columns]


def _column(
    name: str, role: str, kind: str, reason: str, *, levels: Iterable[Any] = (), ends: Iterable[float] = ()
) -> dict[str, Any]:
    shown, limits = [str(level) for level in levels], [float(end) for end in ends]
    return {
        "column": name,
        "role": role,
        "kind": kind,
        "levels": shown or None,
        "range": limits or None,
        "reason": reason,
    }


def _feature_columns(table: Table, modelled: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Features; those without an equation are context."""
    for j, (coding, kind) in enumerate(zip(table.units.features, table.kinds.values(), strict=True)):
        ends = (0.0 if kind.atom else coding.known[0], coding.known[-1]) if kind.is_number else ()
        role = "feature" if j in modelled else "context"
        yield _column(coding.name, role, kind.word, kind.reason, levels=kind.levels, ends=ends)


def _protected_columns(table: Table, *, is_given: bool) -> Iterator[dict[str, Any]]:
    """The protected attribute, column by column where there are several."""
    coding, names, number = table.protected, table.graph.protected_columns, table.units.protected
    if number is not None:
        reason = "given" if is_given else "numbers"
        yield _column(names[0], "protected", "number", reason, ends=(number.known[0], number.known[-1]))
        return
    levels, kind = coding.levels or (), "ordered" if coding.is_ordered else "category"
    reason = "an ordered categorical" if coding.is_ordered else "levels without an order"
    reason = "given" if is_given else "two values" if coding.is_binary else reason
    if len(names) > 1:
        reason = f"{len(levels)} levels of {' and '.join(names)} together"
    for name in names:
        own = levels if len(names) == 1 else sorted(table.units.levels[name].unique(), key=str)
        yield _column(name, "protected", kind, reason, levels=own)


def _outcome_column(table: Table, *, is_given: bool) -> dict[str, Any]:
    name, levels = table.graph.outcome, table.outcome_levels
    if levels is not None:
        return _column(name, "outcome", "classes", "given" if is_given else "two values", levels=levels)
    reason, values = "given" if is_given else "more than two values", table.outcome()
    return _column(name, "outcome", "number", reason, ends=(values.min(), values.max()))


HEAD = ("column", "role", "kind", "levels or range", "missing", "reason")
GAP = 2  # between columns
MOST_LEVELS, LONGEST_LEVEL = 5, 20  # that are written out


def aligned(columns: Sequence[Mapping[str, Any]]) -> str:
    """Write columns as a table that a terminal has room for: the widest cells go over several lines."""
    rows = [HEAD] + [(c["column"], c["role"], c["kind"], _values(c), f"{c['missing']:,}", c["reason"]) for c in columns]
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    while sum(widths) + GAP * (len(widths) - 1) > WIDTH:
        widths[widths.index(max(widths))] -= 1
    return "\n".join(line for row in cells for line in _lines(row, widths))


def _lines(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Write one row, in as many lines as its longest cell needs; the number of missing values stands on the right."""
    own = [textwrap.wrap(cell, width, break_on_hyphens=False) for cell, width in zip(cells, widths, strict=True)]
    for parts in itertools.zip_longest(*own, fillvalue=""):
        aligned = zip(parts, widths, HEAD, strict=True)
        yield (" " * GAP).join(f"{part:{'>' if head == 'missing' else '<'}{w}}" for part, w, head in aligned).rstrip()


def _values(column: Mapping[str, Any]) -> str:
    """Write the levels, lowest first if they have an order, or the range."""
    if column["levels"] is None:
        return " to ".join(_number(end) for end in column["range"])
    levels = [
        level if len(level) <= LONGEST_LEVEL else f"{level[: LONGEST_LEVEL - 3]}..." for level in column["levels"]
    ]
    between = " < " if column["kind"].startswith("ordered") else ", "
    if len(levels) <= MOST_LEVELS:
        return between.join(levels)
    return f"{between.join([*levels[:3], '...', levels[-1]])} ({len(levels)} levels)"


def _number(value: float) -> str:
    """Write a number briefly: no digits behind the point of a whole or large one."""
    return f"{value:,.0f}" if (value % 1 == 0 or abs(value) >= 1e4) and abs(value) < 1e9 else f"{value:.4g}"
