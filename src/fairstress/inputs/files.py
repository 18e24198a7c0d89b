"""Tables in files: CSV in any common format, and Parquet; what is not plain has to be said."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fairstress.errors import DataError, FairstressError, SettingError
from fairstress.inputs.frames import check_unique

DELIMITERS = (",", ";", "\t", "|", " ")
POINT, COMMA = ".", ","
NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"}
LINES = 50  # at the top of a file that tell its delimiter
CHUNK = 100_000  # lines that are looked at together

# cells that are read as missing without being named; an empty one is, too
WORDS = (
    *("NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>", "#N/A", "#NA", "#N/A N/A"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
MISSING = (*WORDS, "")

Compression = Literal["gzip", "bz2", "zip", "xz", "zstd", "tar"]
COMPRESSIONS: dict[str, Compression] = {
    ".tar": "tar",
    ".tar.gz": "tar",
    ".tar.bz2": "tar",
    ".tar.xz": "tar",
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zip": "zip",
    ".xz": "xz",
    ".zst": "zstd",
}


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is written.

    Parameters
    ----------
    delimiter
        What stands between cells, default a comma.
    decimal
        The decimal point, default ``"."``; ``","`` for a decimal comma.
    missing_values
        Cells that stand for a missing value, in a Parquet file too, besides empty ones, NA and the like; default None,
        which leaves it open whether a ``"?"`` is one.

    Examples
    --------
    >>> CsvFormat(delimiter=";", decimal=",").delimiter
    ';'
    """

    delimiter: str = ","
    decimal: str = POINT
    missing_values: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1:
            raise SettingError(f"delimiter is {self.delimiter!r}: give one character, such as ';' or '\\t' for a tab")
        if self.decimal not in (POINT, COMMA):
            raise SettingError(f"decimal is {self.decimal!r}: give '.' or ','")
        if self.decimal == self.delimiter:
            raise SettingError(f"delimiter and decimal are both {self.decimal!r}: one file cannot have both")
        for cell in self.missing_values or ():
            if not isinstance(cell, str):
                raise SettingError(f"missing_values lists {cell!r}: give text as it stands in the file, such as '?'")

    @property
    def written_delimiter(self) -> str:
        """The delimiter as a settings file has it."""
        return json.dumps(self.delimiter)

    @property
    def missing(self) -> frozenset[str]:
        """All cells that are read as missing."""
        return frozenset(MISSING) | frozenset(self.missing_values or ())


# ---------------------------------------------------------------- files


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A table's file, whose bytes were read once: whatever is said of them is said of the same bytes."""

    path: Path
    content: bytes

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.path.name

    @property
    def is_csv(self) -> bool:
        """Whether it is text with delimiters by its name, compressed or not."""
        return ".csv" in [suffix.lower() for suffix in self.path.suffixes]

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file by its name."""
        return self.path.suffix.lower() == ".parquet"

    @property
    def sha256(self) -> str:
        """The checksum of its bytes, as they are stored."""
        return hashlib.sha256(self.content).hexdigest()

    def csv(self, **options: Any) -> Any:
        """What pandas reads in its text, uncompressed.

        Parameters
        ----------
        **options
            As `pandas.read_csv` takes them.
        """
        name = self.name.lower()
        compression = next((how for suffix, how in COMPRESSIONS.items() if name.endswith(suffix)), None)
        return pd.read_csv(io.BytesIO(self.content), compression=compression, **options)


def open_table(path: Path) -> TableFile:
    """Read the bytes of a CSV (also compressed) or Parquet file.

    Parameters
    ----------
    path
        The file.
    """
    file = TableFile(path, b"")
    if not (file.is_csv or file.is_parquet):
        raise DataError(f"cannot read {str(path)!r}: give a .csv or .parquet file")
    with reading(path):
        return replace(file, content=path.read_bytes())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say which file could not be read, and why."""
    try:
        yield
    except FairstressError:
        raise
    except FileNotFoundError:
        raise DataError(f"there is no data file {str(path)!r}") from None
    except pd.errors.EmptyDataError:
        way_out = "give a file with a line of names and a line for each person"
        raise DataError(f"cannot read {str(path)!r}: it is empty, {way_out}") from None
    except Exception as problem:  # decompressors, pyarrow and pandas have errors of many kinds
        if isinstance(problem, ImportError) and path.suffix.lower() == ".parquet":
            raise DataError("reading Parquet needs pyarrow: pip install 'fairstress[parquet]'") from None
        why = " ".join(str(problem).split()) or type(problem).__name__
        raise DataError(f"cannot read {str(path)!r}: {why}") from None


# ---------------------------------------------------------------- reading


def read_frame(
    file: TableFile,
    form: CsvFormat | None = None,
    as_text: Collection[str] = (),
    missing: Mapping[str, Collection[str]] | None = None,
) -> Any:
    """Read a CSV (also compressed) or Parquet file.

    Parameters
    ----------
    file
        The file.
    form
        How a CSV file is written; default plainly.
    as_text
        Columns to read as text, cell by cell as the file has them; default none. Those of a Parquet file have types of
        their own, which stay.
    missing
        For some columns, the cells that stand for a missing value there, in place of those that do elsewhere; default
        for none.
    """
    form, missing = form or CsvFormat(), missing or {}
    with reading(file.path):
        if file.is_parquet:
            return _without_placeholders(pd.read_parquet(io.BytesIO(file.content)), form, missing)
        return _read_csv(file, form, as_text, missing)


def _read_csv(
    file: TableFile, form: CsvFormat, as_text: Collection[str], missing: Mapping[str, Collection[str]]
) -> pd.DataFrame:
    if b"\0" in file.content and file.name.lower().endswith(".csv"):  # older versions of pandas pass over these
        line = file.content[: file.content.index(b"\0")].count(b"\n") + 1
        raise DataError(
            f"{file.name} has a NUL byte in line {line}, so it is not plain text: save it again as CSV in UTF-8"
        )
    check_lines(file, form.delimiter)
    names = header_of(file, form.delimiter)
    check_unique(name for name in names if name)
    seen = [name or f"Unnamed: {i}" for i, name in enumerate(names)]  # as pandas calls those without a name
    options = {
        "decimal": form.decimal,
        "dtype": dict.fromkeys(as_text, str),
        "na_values": {name: sorted(missing.get(name, form.missing)) for name in seen},
    }
    frame = cut_cells(file, form.delimiter, names, **options)
    if list(map(str, frame.columns)) != seen or not isinstance(frame.index, pd.RangeIndex):
        raise DataError(f"{file.name} cannot be cut into the {len(seen)} columns that its first line names: correct it")
    return frame


def cut_cells(file: TableFile, delimiter: str, head: Sequence[str], **options: Any) -> pd.DataFrame:
    """Cut a CSV file into cells, of which each line must have as many as the first has.

    Parameters
    ----------
    file
        The file.
    delimiter
        What stands between its cells.
    head
        The names in its first line.
    **options
        As `pandas.read_csv` takes them.
    """
    try:
        frame: pd.DataFrame = file.csv(
            sep=delimiter,
            keep_default_na=False,
            low_memory=False,  # a column has one type, however long the file
            **options,
        )
    except pd.errors.ParserError:  # too many cells in a line, among others
        _check_widths(file, delimiter, head)
        raise
    last = frame.iloc[:, -1]
    is_text = pd.api.types.is_string_dtype(last)
    if last.isna().any() or (is_text and (last == "").any()):  # pandas fills up lines that are too short
        _check_widths(file, delimiter, head)
    return frame


def _check_widths(file: TableFile, delimiter: str, names: Sequence[str]) -> None:
    """Refuse a line with more cells than the first, or fewer: one cell too many or too few shifts those behind it."""
    least = max((i + 1 for i, name in enumerate(names) if name), default=0)  # what has no name may be left out
    rows = csv.reader(_lines(file), delimiter=delimiter)
    for row in rows:
        if row and not least <= len(row) <= len(names):
            raise DataError(
                f"{file.name} has {len(row)} cells in line {rows.line_num} and {len(names)} in its first line: give "
                f"each line as many, empty ones included{_of_commas(delimiter)}"
            )


def _of_commas(delimiter: str) -> str:
    return "; a number with a decimal comma has to stand in quotes" if delimiter == COMMA else ""


def _lines(file: TableFile) -> Iterator[str]:
    """All lines of a file, blank ones included."""
    for chunk in file.csv(**_WHOLE_LINES, skip_blank_lines=False, chunksize=CHUNK):
        yield from map(str, chunk.iloc[:, 0])


def _without_placeholders(frame: pd.DataFrame, form: CsvFormat, missing: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Text that was said to stand for a missing value is one; all else has the type that it has."""
    for name in frame.columns:
        named = [cell for cell in missing.get(str(name), form.missing_values or ()) if cell]
        if named and frame[name].isin(named).any():
            frame[name] = frame[name].mask(frame[name].isin(named))
    return frame


def header_of(file: TableFile, delimiter: str) -> list[str]:
    """Give the names in the first line as they stand; pandas would rename a second column of one name.

    Parameters
    ----------
    file
        A CSV file.
    delimiter
        What stands between its cells.
    """
    header = file.csv(sep=delimiter, header=None, nrows=1, dtype=str, keep_default_na=False)
    return [str(name) for name in header.iloc[0]]


# ---------------------------------------------------------------- the delimiter

_WHOLE_LINES: dict[str, Any] = {
    "sep": "\x01",
    "header": None,
    "dtype": str,
    "keep_default_na": False,
    "quoting": csv.QUOTE_NONE,
}


def tell_delimiter(file: TableFile) -> str:
    """Tell what stands between the cells of a CSV file: what cuts its first lines into the most columns, all alike.

    Parameters
    ----------
    file
        A CSV file, also compressed.
    """
    lines = _first_lines(file)
    columns = {delimiter: _count_columns(lines, delimiter) for delimiter in DELIMITERS}
    return max(columns, key=lambda delimiter: columns[delimiter])  # the first of several: a comma


def _first_lines(file: TableFile) -> list[str]:
    return [str(line) for line in file.csv(**_WHOLE_LINES, nrows=LINES).iloc[:, 0]]


def _count_columns(lines: list[str], delimiter: str) -> int:
    """How many columns there are if each line has as many, otherwise 1."""
    widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
    return next(iter(widths)) if len(widths) == 1 else 1


def check_lines(file: TableFile, delimiter: str) -> None:
    """Refuse a file that another delimiter cuts into columns, and one whose first line does not name every column.

    Parameters
    ----------
    file
        A CSV file, also compressed.
    delimiter
        What is said to stand between its cells.
    """
    lines = _first_lines(file)
    widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
    other = tell_delimiter(file)
    if set(widths) != {widths[0]} or widths[0] == 1:
        columns = _count_columns(lines, other)
        if columns > 1 and other != delimiter:
            raise DataError(
                f"{file.name} has {columns} columns with {NAMES.get(other, repr(other))} between them, which has to be "
                f"said: add delimiter = {CsvFormat(other).written_delimiter} under [data]"
            )
    if len(widths) > 1 and widths[1] > widths[0]:
        raise DataError(
            f"{file.name} has {widths[0]} cells in its first line and {widths[1]} in its second: give every column a "
            "name in the first line"
        )
