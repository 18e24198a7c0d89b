"""A table in a file, looked through before any audit: what its columns are, and everything that stands in the way."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from fairstress.errors import DataError
from fairstress.inputs.cells import Cells, quoted
from fairstress.inputs.files import (
    COMMA,
    NAMES,
    WORDS,
    CsvFormat,
    TableFile,
    check_lines,
    cut_cells,
    header_of,
    open_table,
    read_frame,
    reading,
    tell_delimiter,
)
from fairstress.inputs.frames import count_noun
from fairstress.inputs.kinds import CATEGORY, MOST_CATEGORIES, Kind, tell_kind
from fairstress.inputs.missing import listed

MOST_EXAMPLES = 3  # cells that a sentence shows


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that stands in the way of an audit, and what to do about it."""

    what: str
    recipe: str

    def __str__(self) -> str:
        return f"{self.what} {self.recipe}"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column, as an audit would take it."""

    name: str
    cells: Cells
    missing: int  # rows without a value, placeholders included
    kind: Kind | None  # as it would be taken for; None where it has no two values
    known: pd.Series[Any]  # values that are there, in the type that they are read in
    trouble: str | None  # why a graph cannot name it as it is
    is_named: bool  # whether the file calls it so, and no column before it


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    r"""What was found in a table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age;sex\n31;f\n?;m\n45;f\n")
    >>> found = survey(path)
    >>> found.form
    CsvFormat(delimiter=';', decimal='.', missing_values=('?',))
    >>> print(found.problems[0])
    Cells are separated by semicolons. The settings say delimiter = ";".
    """

    rows: int
    form: CsvFormat
    columns: tuple[Column, ...]
    problems: tuple[Problem, ...]
    incomplete: int  # rows in which some value is missing


def survey(path: Path) -> Survey:
    """Look through a CSV (also compressed) or Parquet file.

    Parameters
    ----------
    path
        The file.
    """
    file = open_table(path)
    names, raw = _read_raw(file) if file.is_csv else _read_typed(file)
    cells = [Cells.of(column, typed=not file.is_csv) for _, column in raw.items()]
    form = _tell_form(tell_delimiter(file) if file.is_csv else COMMA, cells)
    gone = raw.isna() | raw.isin([*(WORDS if file.is_csv else ()), *(form.missing_values or ())])
    columns = tuple(
        _column(str(n), raw[n], own, form if file.is_csv else None, gone[n], str(n) in names)
        for n, own in zip(raw.columns, cells, strict=True)
    )
    problems = [*_of_names(names), *_of_form(form, columns), *_of_missing(form, columns), *_of_columns(columns)]
    return Survey(len(raw), form, columns, tuple(problems), int(gone.any(axis=1).sum()))


# ---------------------------------------------------------------- reading


def _read_raw(file: TableFile) -> tuple[list[str], pd.DataFrame]:
    """Names as they stand in the first line, and cells as text; empty ones are null."""
    with reading(file.path):
        delimiter = tell_delimiter(file)
        check_lines(file, delimiter)
        names = header_of(file, delimiter)
        options = {"header": 0, "names": _unique(names), "index_col": False, "dtype": str, "na_values": [""]}
        raw = cut_cells(file, delimiter, names, **options)
    if raw.empty:
        raise DataError(f"{file.name} has no rows")
    return names, raw


def _unique(names: Sequence[str]) -> list[str]:
    """Names to tell columns apart by: one without a name has its place, a second of one name its number."""
    unique: list[str] = []
    for i, name in enumerate(names):
        own = name or f"(column {i + 1})"
        numbered = (f"{own} ({count})" for count in itertools.count(2))
        taken = {*unique, *(names if own in unique else ())}
        unique.append(own if own not in unique else next(one for one in numbered if one not in taken))
    return unique


def _read_typed(file: TableFile) -> tuple[list[str], pd.DataFrame]:
    frame = read_frame(file)
    return list(map(str, frame.columns)), frame


def _tell_form(delimiter: str, cells: Sequence[Cells]) -> CsvFormat:
    """The format that makes values of cells: a decimal comma where no thousands can be meant, placeholders missing."""
    holders = sorted({cell for own in cells for cell in (*own.placeholders, *own.words)})
    has_commas = any(own.decimal_commas and not own.may_be_thousands for own in cells)
    decimal = COMMA if has_commas and delimiter != COMMA else "."
    return CsvFormat(delimiter, decimal, tuple(holders) if holders else None)


def _column(
    name: str, raw: pd.Series[Any], cells: Cells, form: CsvFormat | None, gone: pd.Series[bool], is_named: bool
) -> Column:
    """A column without its missing values; text of a CSV file may be numbers, any other table has its own types."""
    known = raw[~gone].reset_index(drop=True)
    known = _typed(known, form.decimal) if form and not cells.codes else known
    kind = _kind(known)
    return Column(name, cells, int(gone.sum()), kind, known, _trouble(cells, known, kind), is_named)


def _kind(known: pd.Series[Any]) -> Kind | None:
    """What a column would be taken for; None for what no graph can name."""
    if _is_nested(known) or _is_time(known) or len(known.unique()) < 2:
        return None
    return tell_kind(nw.from_native(known, series_only=True))


def _is_nested(known: pd.Series[Any]) -> bool:
    """Whether lists or records stand in place of values."""
    return bool(known.map(lambda value: isinstance(value, list | dict | np.ndarray)).any())


def _typed(values: pd.Series[Any], decimal: str) -> pd.Series[Any]:
    """Numbers or truth values where each cell is one, as pandas reads them; otherwise text."""
    codes, cells = pd.factorize(values)
    if {*cells} <= {"True", "False", "TRUE", "FALSE", "true", "false"}:
        return values.str.lower() == "true"
    text = pd.Series(cells, dtype=str)
    text = text.str.replace(COMMA, ".", regex=False) if decimal == COMMA else text
    numbers = pd.to_numeric(text, errors="coerce")
    return values if numbers.isna().any() else numbers.iloc[codes].reset_index(drop=True)


# ---------------------------------------------------------------- problems


def _named(columns: Sequence[Column], say: Callable[[Column], str] | None = None) -> str:
    """Name columns, each with a word on it."""
    return listed([f"'{c.name}'{f' ({say(c)})' if say else ''}" for c in columns], "columns")


def _rows(counts: Mapping[str, int]) -> str:
    cells = ", ".join(repr(cell) for cell in list(counts)[:MOST_EXAMPLES]) + ", ..." * (len(counts) > MOST_EXAMPLES)
    n = sum(counts.values())
    return f"{cells} in {n:,} {count_noun(n, 'row')}"


def _of_names(names: Sequence[str]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1 and name:
            yield Problem(f"{count} columns are named '{name}'.", "Rename all but one in the first line of the file.")
    if names and pd.to_numeric(pd.Series(names), errors="coerce").notna().all():
        yield Problem(
            "The first line holds numbers, and is taken for names of columns.", "Put a line of names above it."
        )
    wide = [repr(name) for name in names if name.strip() and name != name.strip()]
    if wide:
        yield Problem(
            f"Names begin or end with a space: {listed(wide, 'columns')}.", "Remove it in the first line of the file."
        )
    places = [str(i + 1) for i, name in enumerate(names) if not name.strip()]
    if places:
        which = f"Column {places[0]} has" if len(places) == 1 else f"Columns {listed(places, 'columns')} have"
        yield Problem(f"{which} no name.", "Name what the graph is to name in the first line of the file.")


def _of_form(form: CsvFormat, columns: Sequence[Column]) -> Iterator[Problem]:
    if form.delimiter != COMMA:
        shown = NAMES.get(form.delimiter, repr(form.delimiter))
        yield Problem(f"Cells are separated by {shown}.", f"The settings say delimiter = {form.written_delimiter}.")
    with_comma = [c for c in columns if c.cells.decimal_commas]
    unclear = [c for c in with_comma if c.cells.may_be_thousands or form.decimal != COMMA]
    plain = [c for c in with_comma if c not in unclear]
    if plain:
        shown = _named(plain, lambda c: f"such as {next(iter(c.cells.decimal_commas))!r}")
        yield Problem(f"Numbers have decimal commas in {shown}.", 'The settings say decimal = ",".')
    if unclear and form.decimal != COMMA:
        shown = _named(unclear, lambda c: f"such as {next(iter(c.cells.decimal_commas))!r}")
        yield Problem(
            f"Numbers have commas in {shown}: they are text as they stand.",
            "Write them without a comma between thousands, and with a point before decimals.",
        )


def _of_missing(form: CsvFormat, columns: Sequence[Column]) -> Iterator[Problem]:
    holding = [c for c in columns if c.cells.placeholders or c.cells.words]
    if holding and form.missing_values:
        shown = _named(holding, lambda c: _rows({**c.cells.placeholders, **c.cells.words}))
        yield Problem(
            f"Cells are likely to stand for a missing value in {shown}.",
            f"The settings say missing_values = {quoted(form.missing_values)}; take out what is a value like others.",
        )
    gone = [c for c in columns if c.missing]
    if gone:
        yield Problem(
            f"Values are missing in {_named(gone, lambda c: f'{c.missing:,}')}.",
            'The settings say missing = "drop", which leaves out who lacks a value that the graph names, and reports '
            'say how many of each group; with "refuse" the audit stops instead. Or impute them.',
        )


def _of_columns(columns: Sequence[Column]) -> Iterator[Problem]:
    """Columns that cannot serve as they are, each under its first trouble."""
    nearly = [c for c in columns if c.cells.odd and c.trouble != DATES]
    if nearly:
        yield Problem(
            f"Numbers are mixed with text in {_named(nearly, lambda c: _rows(c.cells.odd))}.",
            "Correct the file, or add to missing_values what stands for a missing value.",
        )
    coded = [c for c in columns if c.cells.codes]
    if coded:
        yield Problem(
            f"Numbers begin with 0 in {_named(coded, lambda c: f'such as {next(iter(c.cells.codes))!r}')}.",
            'The settings take them for levels; kind = "number" makes numbers of them, without these zeros.',
        )
    for trouble, (what, recipe) in _TROUBLES.items():
        found = [c for c in columns if c.trouble == trouble]
        if found:
            yield Problem(f"{what} {_named(found)}.", recipe)


CONSTANT, DATES, NESTED, IDENTIFIER, MANY_LEVELS = "constant", "dates", "nested", "identifier", "many levels"
_TROUBLES = {
    CONSTANT: ("There are no two values in", "Leave out of the graph what does not vary."),
    DATES: (
        "Dates or durations stand in",
        "Make numbers of them first, such as an age in years, if the graph is to name them.",
    ),
    NESTED: ("Lists or records stand in", "Make one number or text of each, if the graph is to name them."),
    IDENTIFIER: (
        "Each row has a value of its own in",
        "Leave identifiers out of the graph; a measurement may stay.",
    ),
    MANY_LEVELS: (
        f"There are more than {MOST_CATEGORIES} levels without an order in",
        "Merge them with recode = {...} under the column, or leave them out of the graph.",
    ),
}


def _is_time(known: pd.Series[Any]) -> bool:
    """Whether values are dates or durations."""
    types = pd.api.types
    return bool(types.is_datetime64_any_dtype(known) or types.is_timedelta64_dtype(known))


def _is_whole(known: pd.Series[Any]) -> bool:
    """Whether all values are whole numbers."""
    return bool(pd.api.types.is_numeric_dtype(known)) and bool((known % 1 == 0).all())


def _trouble(cells: Cells, known: pd.Series[Any], kind: Kind | None) -> str | None:
    """The first reason for which a column cannot serve as it is."""
    if cells.are_dates or _is_time(known):
        return DATES
    if kind is None:
        return NESTED if _is_nested(known) else CONSTANT
    if len(known) > 2 and known.is_unique and (kind.name == CATEGORY or _is_whole(known)):
        return IDENTIFIER
    return MANY_LEVELS if kind.name == CATEGORY and len(kind.levels) > MOST_CATEGORIES else None
