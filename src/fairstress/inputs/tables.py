"""Tables in files as a settings file describes them: read, looked through for what nobody explained, and recoded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstress.errors import DataError, SettingError
from fairstress.inputs.cells import Cells, doubt, doubt_codes, doubt_words
from fairstress.inputs.described import Described, recode_columns
from fairstress.inputs.files import CsvFormat, TableFile, open_table, read_frame, reading
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.kinds import CATEGORY, NUMBER, Kind
from fairstress.inputs.streams import checksum, is_several_files
from fairstress.keys import toml_key

_MAYBE_CODE = re.compile(rb"(?<![0-9.])0[0-9]")


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """One table, or the completed ones of a multiple imputation, with what is known of where they come from."""

    frames: tuple[pd.DataFrame, ...]
    prepared: tuple[str, ...]  # what was done to values, in sentences
    source: Mapping[str, str]  # file and sha256; of several joined by commas, in their order
    stream: str | None = None  # the folder, or pattern, of files that are read in batches; there are no frames then


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """How files are read: their format, and what is said of columns."""

    form: CsvFormat
    columns: Described
    graph: CausalGraph
    kinds: Mapping[str, Kind]  # all that were given
    outcome_type: str | None = None

    def read(self, paths: Sequence[Path]) -> Tables:
        """Read files, each once, and recode their values.

        Parameters
        ----------
        paths
            Of one table, or of several completed ones.
        """
        if len(paths) == 1 and is_several_files(paths[0]):
            return self._stream(paths[0])
        files = [open_table(path) for path in paths]
        frames, prepared = recode_columns([self._frame(file) for file in files], self.columns.recodes)
        source = {"file": ", ".join(f.name for f in files), "sha256": ", ".join(f.sha256 for f in files)}
        return Tables(tuple(frames), (*self._missing_ones(), *prepared), source)

    def _stream(self, where: Path) -> Tables:
        """Files that are read in batches, as they are."""
        described = {"recode": self.columns.recodes, "missing_values": self.columns.missing or self.form.missing_values}
        for key, given in described.items():
            if given:
                raise SettingError(
                    f"the settings have {key}, but '{where.name}' is read in batches, as it is: write the files anew "
                    "with values as they are meant, or name one file"
                )
        return Tables((), (), {"file": where.name, "sha256": checksum(where)}, str(where))

    def _missing_ones(self) -> list[str]:
        """Which cells were read as missing values, where the settings say so."""
        named = {"": self.form.missing_values or (), **self.columns.missing}
        return [
            f"As the settings file says, cells with {', '.join(map(repr, cells))} were read as missing values"
            f"{f' of {column!r}' * bool(column)}."
            for column, cells in named.items()
            if cells
        ]

    def _frame(self, file: TableFile) -> pd.DataFrame:
        """Read one file; codes such as 01 of a category stay what they are, and what may be anything is refused."""
        frame = self._read(file, ())
        self.columns.check_columns(list(map(str, frame.columns)))
        cells = self._look(file, frame)
        coded = [name for name, own in cells.items() if own.codes and self._is_category(name)]
        self._check(frame, {name: own for name, own in cells.items() if name not in coded})
        return self._read(file, coded) if coded else frame

    def _read(self, file: TableFile, coded: Sequence[str]) -> pd.DataFrame:
        missing = self.columns.missing_cells(self.kinds, self.form.missing)
        frame: pd.DataFrame = read_frame(file, self.form, (*self.columns.as_text(self.kinds), *coded), missing)
        return frame

    def _is_category(self, name: str) -> bool:
        return name in self.kinds and self.kinds[name].name == CATEGORY

    # ------------------------------------------------------------ what nobody explained

    @property
    def _named(self) -> tuple[str, ...]:
        return (*self.graph.protected_columns, *self.graph.features, self.graph.outcome)

    def _look(self, file: TableFile, frame: pd.DataFrame) -> dict[str, Cells]:
        """What the cells of text look like, and those of numbers that may be codes; missing ones as the file has them.

        A column whose levels are listed, or that is recoded, needs no further word.
        """
        explained = {*self.columns.as_text(self.kinds)}
        there = [name for name in dict.fromkeys(self._named) if name in frame.columns and name not in explained]
        text = [name for name in there if _is_text(frame[name])]
        raw = [name for name in text if frame[name].isna().any()] if file.is_csv else []
        if file.is_csv and (_MAYBE_CODE.search(file.content) or file.path.suffix.lower() != ".csv"):
            raw += [name for name in there if self._may_be_code(frame[name], name)]
        as_written = self._as_written(file, raw) if raw else frame
        looked_at = {name: as_written[name] if name in raw else frame[name] for name in dict.fromkeys((*text, *raw))}
        return {name: Cells.of(column, typed=not file.is_csv) for name, column in looked_at.items()}

    def _may_be_code(self, column: pd.Series[Any], name: str) -> bool:
        """Whether a column of numbers may as well hold codes: nobody has called it a number, or listed its values."""
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            return False
        kind = self.kinds.get(name)
        return self.outcome_type != NUMBER if name == self.graph.outcome else kind is None or kind.is_open

    def _as_written(self, file: TableFile, names: Sequence[str]) -> pd.DataFrame:
        """Some columns cell by cell; missing are empty cells, and those that the settings call so."""
        gone = ["", *(self.form.missing_values or ())]
        options = {"usecols": list(names), "dtype": str, "na_values": gone, "keep_default_na": False}
        with reading(file.path):
            cells: pd.DataFrame = file.csv(sep=self.form.delimiter, **options)
        return cells

    def _check(self, frame: pd.DataFrame, cells: Mapping[str, Cells]) -> None:
        """Refuse what is likely to be something else, unless the settings file has a word on it."""
        doubts = []
        for name, own in cells.items():
            if name not in self.columns.missing:
                explained = self.form.missing_values
                doubts.append(doubt_words(own, name, explained or ()))
                if explained is None and name not in self.kinds and _is_text(frame[name]):
                    doubts.append(doubt(own, name))
            doubts.append(doubt_codes(own, name, self._ways_out(name)))
        if any(doubts):
            raise DataError("; ".join(filter(None, doubts)))

    def _ways_out(self, name: str) -> str:
        """What to say of a column of codes."""
        if name == self.graph.outcome:
            return (
                f'name them by recode under [columns.{toml_key(name)}], or say outcome_type = "number" under [options]'
            )
        levels = f'add kind = "category" under [columns.{toml_key(name)}], or levels in order, if they are levels'
        joint = name in self.graph.protected_columns and len(self.graph.protected_columns) > 1
        return levels if joint else f'{levels}; kind = "number" if they are numbers'


def _is_text(column: pd.Series[Any]) -> bool:
    """Whether all that is not missing is text."""
    return bool(pd.api.types.is_string_dtype(column.dropna()))
