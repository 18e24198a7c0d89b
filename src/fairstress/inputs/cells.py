"""Cells of a column as a file has them: numbers, dates, decimal commas, and what may stand for a missing value."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairstress.inputs.files import WORDS
from fairstress.inputs.frames import count_noun
from fairstress.keys import toml_key

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
_CODE = r"0\d+"
_TRUTH = ("true", "false")
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
    >>> Cells.of(pd.Series(["basic", "None", "full"])).words
    {'None': 1}
    """

    rows: int  # that have a cell
    distinct: int
    placeholders: Counts  # cells that are likely to stand for a missing value
    odd: Counts  # in a column of numbers, cells that are no numbers and no placeholders
    numbers: int  # rows with a number
    decimal_commas: Counts  # cells such as 3,5
    dates: int  # rows with a date
    words: Counts  # in a column of text, cells such as None that are read as missing, and may be levels
    codes: Counts  # in a column of numbers, cells such as 01, whose zeros a number does not keep

    @classmethod
    def of(cls, column: pd.Series[Any], *, typed: bool = False) -> Cells:
        """Look at each distinct cell once.

        Parameters
        ----------
        column
            The cells as text, missing ones as null.
        typed
            Whether the table itself says what is missing and what is a number; default False.
        """
        every = column.dropna().astype(str).value_counts(sort=False)
        is_word = every.index.isin(WORDS if not typed else ())
        counts, words = every[~is_word], every[is_word]
        cells, rows = counts.index.to_series().str.strip(), int(counts.sum())
        is_number = pd.to_numeric(cells, errors="coerce").notna()
        is_holder = cells.str.lower().isin(PLACEHOLDERS) & ~is_number
        is_holder &= not ({"+", "-"} <= set(cells)) and len(cells) > 2  # a sign, or one of two levels
        with_comma = cells.str.fullmatch(_DECIMAL_COMMA)
        numeric = is_number | with_comma
        has_many = counts[numeric].sum() >= NEARLY * counts[~is_holder].sum() and numeric.sum() > 2
        odd = ~(numeric | is_holder) & has_many
        is_text = not (numeric | is_holder | odd | cells.str.lower().isin(_TRUTH)).all()
        is_code = cells.str.fullmatch(_CODE) & bool((numeric | is_holder).all())
        return cls(
            rows,
            len(counts),
            _plain(counts[is_holder]),
            _plain(counts[odd]),
            int(counts[is_number].sum()),
            _plain(counts[with_comma]) if has_many else {},
            int(counts[cells.str.fullmatch(_DATE)].sum()),
            _plain(words) if is_text else {},
            _plain(counts[is_code]) if not typed else {},
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


def doubt(cells: Cells, name: str) -> str:
    """Say what a column of text is likely to be instead, with the lines of a settings file that say so; often empty.

    Parameters
    ----------
    cells
        What its cells look like.
    name
        Its name.
    """
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


def doubt_words(cells: Cells, name: str, explained: Collection[str]) -> str:
    """Say that cells such as None in a column of text may be levels; empty where there are none, or all are explained.

    Parameters
    ----------
    cells
        What the column's cells look like.
    name
        Its name.
    explained
        Cells that were said to stand for a missing value.
    """
    open_ones = {cell: count for cell, count in cells.words.items() if cell not in explained}
    if not open_ones:
        return ""
    n = sum(open_ones.values())
    shown = " and ".join(map(repr, open_ones))
    return (
        f"column '{name}' holds {shown} in {n:,} {count_noun(n, 'row')}, and other text: if that stands for a missing "
        f"value, add missing_values = {quoted([*explained, *open_ones])} under [data]; if it is a level like the "
        f"others, add missing_values = [] under [columns.{toml_key(name)}]"
    )


def doubt_codes(cells: Cells, name: str, ways_out: str) -> str:
    """Say that cells such as 01 lose their zeros if they are numbers; empty where there are none.

    Parameters
    ----------
    cells
        What the column's cells look like.
    name
        Its name.
    ways_out
        What to add to a settings file.
    """
    if not cells.codes:
        return ""
    shown, n = next(iter(cells.codes)), sum(cells.codes.values())
    rows = f"{n:,} {count_noun(n, 'row')}"
    return f"column '{name}' holds {shown!r} or the like in {rows}, which a number would not keep: {ways_out}"
