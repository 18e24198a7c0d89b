"""Cells of a column as a file has them: numbers, dates, decimal commas, and what may stand for a missing value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairstress.inputs.frames import count_noun

NEARLY = 0.9  # share of cells from which on a column is of one kind, and the others are exceptions
PLACEHOLDERS = (
    "?",
    "??",
    "???",
    "-",
    "--",
    "---",
    ".",
    "..",
    "...",
    "*",
    "**",
    "na",
    "n.a.",
    "n.d.",
    "#value!",
    "#ref!",
)
_DECIMAL_COMMA = r"[+-]?\d+,\d+"
_THOUSANDS = r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?"
_DATE = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( .*)?"

Counts = Mapping[str, int]  # rows by cell


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What the cells of one column look like, missing ones left aside.

    Examples
    --------
    >>> import pandas as pd
    >>> Cells.of(pd.Series(["31", "45", "?", "28"])).placeholders
    {'?': 1}
    """

    rows: int  # that have a cell
    distinct: int
    placeholders: Counts  # cells that are likely to stand for a missing value
    odd: Counts  # in a column of numbers, cells that are no numbers and no placeholders
    numbers: int  # rows with a number
    decimal_commas: Counts  # cells such as 3,5
    dates: int  # rows with a date

    @classmethod
    def of(cls, column: pd.Series[Any]) -> Cells:
        """Look at each distinct cell once.

        Parameters
        ----------
        column
            The cells as text, missing ones as null.
        """
        counts = column.dropna().astype(str).value_counts(sort=False)
        cells, rows = counts.index.to_series().str.strip(), int(counts.sum())
        is_number = pd.to_numeric(cells, errors="coerce").notna()
        is_holder = cells.str.lower().isin(PLACEHOLDERS) & ~is_number
        is_holder &= not ({"+", "-"} <= set(cells)) and len(cells) > 2  # a sign, or one of two levels
        with_comma = cells.str.fullmatch(_DECIMAL_COMMA)
        numeric = is_number | with_comma
        has_many = counts[numeric].sum() >= NEARLY * counts[~is_holder].sum() and numeric.sum() > 2
        odd = ~(numeric | is_holder) & has_many
        return cls(
            rows,
            len(counts),
            _plain(counts[is_holder]),
            _plain(counts[odd]),
            int(counts[is_number].sum()),
            _plain(counts[with_comma]) if has_many else {},
            int(counts[cells.str.fullmatch(_DATE)].sum()),
        )

    @property
    def known(self) -> int:
        """Rows with a cell that is no placeholder."""
        return self.rows - sum(self.placeholders.values())

    @property
    def are_dates(self) -> bool:
        """Whether nearly all are dates."""
        return bool(self.known) and self.dates >= NEARLY * self.known

    @property
    def may_be_thousands(self) -> bool:
        """Whether each comma stands where it may part thousands: ``1,234``."""
        return bool(self.decimal_commas) and bool(pd.Series(list(self.decimal_commas)).str.fullmatch(_THOUSANDS).all())


def _plain(counts: pd.Series[Any]) -> dict[str, int]:
    return {str(cell): int(n) for cell, n in counts.items()}


# ---------------------------------------------------------------- words


def quoted(cells: Iterable[str]) -> str:
    """Cells as a list in a settings file: ``["?", "-"]``."""
    return json.dumps(list(cells), ensure_ascii=False)


def doubt(column: pd.Series[Any], name: str) -> str:
    """Say what a column of text is likely to be instead, with the lines of a settings file that say so; often empty.

    Parameters
    ----------
    column
        The column as it was read.
    name
        Its name.
    """
    cells = Cells.of(column)
    if cells.decimal_commas:
        shown = next(iter(cells.decimal_commas))
        return (
            f"column '{name}' holds numbers with a decimal comma, such as {shown!r}: add decimal = \",\" under [data]"
        )
    exceptions = {**cells.placeholders, **cells.odd}
    if not exceptions:
        return ""
    shown, n = next(iter(exceptions)), sum(exceptions.values())
    rows = f"{n:,} {count_noun(n, 'row')}"
    add = f"if that stands for a missing value, add missing_values = {quoted(exceptions)} under [data]"
    if cells.numbers >= NEARLY * cells.known:
        also = "; otherwise correct the file" if cells.odd else ""
        return f"column '{name}' holds text such as {shown!r} in {rows}, and numbers in the others: {add}{also}"
    return f"column '{name}' holds {shown!r} in {rows}: {add}, and missing_values = [] if it is a value like the others"
