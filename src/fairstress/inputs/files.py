"""Tables in files: CSV in any common format, and Parquet; what is not plain has to be said."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstress.errors import DataError, SettingError
from fairstress.inputs.frames import check_unique

DELIMITERS = (",", ";", "\t", "|", " ")
POINT, COMMA = ".", ","
NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"}
LINES = 50  # at the top of a file that tell its delimiter

# cells that are read as missing without being named; an empty one is, too
MISSING = (
    *("NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>", "#N/A", "#NA", "#N/A N/A"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", ""),
)


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


# ---------------------------------------------------------------- reading


def is_csv_file(path: Path) -> bool:
    """Whether a file is text with delimiters by its name, compressed or not."""
    return ".csv" in [suffix.lower() for suffix in path.suffixes]


def read_frame(path: Path, form: CsvFormat | None = None, as_text: Mapping[str, Collection[str]] | None = None) -> Any:
    """Read a CSV (also compressed) or Parquet file.

    Parameters
    ----------
    path
        The file.
    form
        How a CSV file is written; default plainly.
    as_text
        Columns to read as text, cell by cell as the file has them, with the words that are no missing values there;
        default none. Those of a Parquet file have types of their own, which stay.
    """
    form = form or CsvFormat()
    try:
        if path.suffix.lower() == ".parquet":
            return _without_placeholders(pd.read_parquet(path), form)
        if is_csv_file(path):
            return _read_csv(path, form, as_text or {})
    except FileNotFoundError:
        raise DataError(f"there is no data file {str(path)!r}") from None
    except ImportError:
        raise DataError("reading Parquet needs pyarrow: pip install 'fairstress[parquet]'") from None
    except DataError:
        raise
    except (OSError, ValueError) as problem:
        raise DataError(f"cannot read {str(path)!r}: {problem}") from None
    raise DataError(f"cannot read {str(path)!r}: give a .csv or .parquet file")


def _read_csv(path: Path, form: CsvFormat, as_text: Mapping[str, Collection[str]]) -> pd.DataFrame:
    check_lines(path, form.delimiter)
    names = header_of(path, form.delimiter)
    check_unique(name for name in names if name)
    seen = [name or f"Unnamed: {i}" for i, name in enumerate(names)]  # as pandas calls those without a name
    kept = {name: form.missing - set(words) for name, words in as_text.items()}
    return pd.read_csv(
        path,
        sep=form.delimiter,
        decimal=form.decimal,
        dtype=dict.fromkeys(as_text, str),
        na_values={name: sorted(kept.get(name, form.missing)) for name in seen},
        keep_default_na=False,
        low_memory=False,  # a column has one type, however long the file
    )


def _without_placeholders(frame: pd.DataFrame, form: CsvFormat) -> pd.DataFrame:
    """Text that was said to stand for a missing value is one; all else has the type that it has."""
    named = list(form.missing_values or ())
    return frame.mask(frame.isin(named)) if named and frame.isin(named).any(axis=None) else frame


def header_of(path: Path, delimiter: str) -> list[str]:
    """Give the names in the first line as they stand; pandas would rename a second column of one name.

    Parameters
    ----------
    path
        A CSV file.
    delimiter
        What stands between its cells.
    """
    header = pd.read_csv(path, sep=delimiter, header=None, nrows=1, dtype=str, keep_default_na=False)
    return [str(name) for name in header.iloc[0]]


# ---------------------------------------------------------------- the delimiter


def tell_delimiter(path: Path) -> str:
    """Tell what stands between the cells of a CSV file: what cuts its first lines into the most columns, all alike.

    Parameters
    ----------
    path
        A CSV file, also compressed.
    """
    lines = _first_lines(path)
    columns = {delimiter: _count_columns(lines, delimiter) for delimiter in DELIMITERS}
    return max(columns, key=lambda delimiter: columns[delimiter])  # the first of several: a comma


def _first_lines(path: Path) -> list[str]:
    whole = pd.read_csv(
        path, sep="\x01", header=None, nrows=LINES, dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE
    )
    return [str(line) for line in whole.iloc[:, 0]]


def _count_columns(lines: list[str], delimiter: str) -> int:
    """How many columns there are if each line has as many, otherwise 1."""
    widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
    return next(iter(widths)) if len(widths) == 1 else 1


def check_lines(path: Path, delimiter: str) -> None:
    """Refuse a file that another delimiter cuts into columns, and one whose first line does not name every column.

    Parameters
    ----------
    path
        A CSV file, also compressed.
    delimiter
        What is said to stand between its cells.
    """
    lines = _first_lines(path)
    widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
    other = tell_delimiter(path)
    if set(widths) != {widths[0]} or widths[0] == 1:
        columns = _count_columns(lines, other)
        if columns > 1 and other != delimiter:
            raise DataError(
                f"{path.name} has {columns} columns with {NAMES.get(other, repr(other))} between them, which has to be "
                f"said: add delimiter = {CsvFormat(other).written_delimiter} under [data]"
            )
    if len(widths) > 1 and widths[1] > widths[0]:
        raise DataError(
            f"{path.name} has {widths[0]} cells in its first line and {widths[1]} in its second: give every column a "
            "name in the first line"
        )
