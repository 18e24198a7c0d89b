"""What a settings file says of single columns: kinds, labels, units, levels in order, new names and missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from fairstress.errors import DataError, SettingError, did_you_mean
from fairstress.inputs.frames import count_noun
from fairstress.inputs.kinds import AS_LEVELS, CATEGORY, ORDERED, Kind, read_kind

Recode = Mapping[str, Any]  # new values by cells of the file


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """Columns as a settings file describes them, by name."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    recodes: Mapping[str, Recode] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # cells that stand for a missing value there
    names: tuple[str, ...] = ()

    def as_text(self, kinds: Mapping[str, Kind]) -> tuple[str, ...]:
        """Columns whose cells are read as text: ``"01"`` is not 1.

        Parameters
        ----------
        kinds
            All kinds that were given, here or elsewhere.
        """
        return (*(name for name, kind in kinds.items() if _are_text(kind.levels)), *self.recodes)

    def missing_cells(self, kinds: Mapping[str, Kind], elsewhere: frozenset[str]) -> dict[str, frozenset[str]]:
        """Cells that stand for a missing value in columns that have other ones than most.

        Parameters
        ----------
        kinds
            All kinds that were given, here or elsewhere.
        elsewhere
            Cells that do so in other columns. Of these, levels and what is recoded are values.
        """
        levels = {name: kind.levels for name, kind in kinds.items() if _are_text(kind.levels)}
        values = {**levels, **{name: tuple(recode) for name, recode in self.recodes.items()}}
        own = {name: frozenset((*cells, "")) for name, cells in self.missing.items()}
        return {**{name: elsewhere - set(words) for name, words in values.items()}, **own}

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse what is not a column of the data.

        Parameters
        ----------
        columns
            Names of the table's columns.
        """
        for name in self.names:
            if name not in columns:
                near = did_you_mean(name, columns)
                raise DataError(f"[columns] describes '{name}', which is not a column of the data{near}")


def _are_text(levels: Sequence[Any]) -> bool:
    return bool(levels) and all(isinstance(level, str) for level in levels)


# ---------------------------------------------------------------- from a settings file


def read_columns(content: Mapping[str, Any]) -> Described:
    """Read the table ``[columns]`` of a settings file, whose keys and types have been checked, column by column.

    Parameters
    ----------
    content
        ``{column: {"kind": ..., "label": ..., "unit": ..., "levels": ..., "recode": ..., "missing_values": ...}}``.
    """
    kinds = {name: _read_kind(own, name) for name, own in content.items() if own.keys() & {"kind", "levels"}}
    recodes = {name: _read_recode(own["recode"], name) for name, own in content.items() if "recode" in own}
    for name, recode in recodes.items():
        _check_levels(kinds.get(name), recode, name)
    missing = {name: _read_missing(own, name) for name, own in content.items() if "missing_values" in own}
    labels, units = ({name: own[key] for name, own in content.items() if key in own} for key in ("label", "unit"))
    return Described(kinds, labels, units, recodes, missing, tuple(content))


def _read_kind(own: Mapping[str, Any], name: str) -> Kind:
    """A kind by its word, with its levels in order where they are given."""
    if "levels" not in own:
        return read_kind(own["kind"], name)
    levels, word = read_kind(own["levels"], name).levels, own.get("kind", ORDERED)
    if word not in (ORDERED, AS_LEVELS, CATEGORY):
        raise SettingError(
            f"'columns.{name}' has levels and the kind {word!r}: leave one out, or give '{ORDERED}', '{AS_LEVELS}' or "
            f"'{CATEGORY}'"
        )
    return Kind(**{**_fields(read_kind(word, name)), "levels": levels})


def _fields(kind: Kind) -> dict[str, Any]:
    return {"name": kind.name, "as_levels": kind.as_levels, "reason": kind.reason}


def _read_recode(given: Mapping[str, Any], name: str) -> Recode:
    key = f"columns.{name}.recode"
    if not given:
        raise SettingError(f"'{key}' is empty: give the new value of each value, or leave it out")
    for old, new in given.items():
        if isinstance(new, bool) or not isinstance(new, str | int | float):
            raise SettingError(f"'{key}' makes {new!r} of {old!r}: give text or a number")
    if len({isinstance(new, str) for new in given.values()}) > 1:
        raise SettingError(f"'{key}' makes text of some values and numbers of others: give one of them")
    return dict(given)


def _read_missing(own: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Cells that stand for a missing value in one column; none of them is a level, or recoded."""
    for cell in own["missing_values"]:
        if cell in (own["recode"] if "recode" in own else own.get("levels", ())):
            raise SettingError(
                f"'columns.{name}' has {cell!r} both among missing_values and among its values: it is one of them"
            )
    return tuple(own["missing_values"])


def _check_levels(kind: Kind | None, recode: Recode, name: str) -> None:
    """Levels are those that recoding leaves."""
    for level in kind.levels if kind else ():
        if level not in recode.values():
            raise SettingError(
                f"'columns.{name}.levels' lists {level!r}, which recode makes of no value: levels are named as they "
                "are after recoding"
            )


# ---------------------------------------------------------------- recoding


def recode_columns(
    frames: Sequence[pd.DataFrame], recodes: Mapping[str, Recode]
) -> tuple[list[pd.DataFrame], list[str]]:
    """Rename values as they stand in the file; give the tables, and a sentence on each column.

    Missing values stay missing. A value that is not named is refused, and so is a name that no row has.

    Parameters
    ----------
    frames
        One table, or several completed ones.
    recodes
        New values by cells of the file, column by column.
    """
    changed, sentences = [frame.copy(deep=False) for frame in frames], []
    for name, recode in recodes.items():
        rows: Counter[str] = Counter()
        for frame in changed:
            cells = frame[name].map(_cell, na_action="ignore")
            _check_named(cells, recode, name)
            rows.update(cells.dropna())
            frame[name] = cells.map(recode)
        _check_used(rows, recode, name)
        parts = [f"{old} is {new} ({rows[old]:,} {count_noun(rows[old], 'row')})" for old, new in recode.items()]
        sentences.append(f"Values of '{name}' were renamed when the file was read: {', '.join(parts)}.")
    return changed, sentences


def _cell(value: Any) -> str:
    """A value as a file would show it: whole numbers without a point."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def _check_named(cells: pd.Series[Any], recode: Recode, name: str) -> None:
    unknown = ~(cells.isin(list(recode)) | cells.isna())
    if unknown.any():
        cell, row = cells[unknown].iloc[0], int(unknown.to_numpy().argmax())
        n = int((cells == cell).sum())
        raise DataError(
            f"column '{name}' is {cell!r} in {n:,} {count_noun(n, 'row')} (first in row {row}), which its "
            f'recode does not name: add "{cell}" = "..." to recode under [columns.{name}]'
        )


def _check_used(rows: Mapping[str, int], recode: Recode, name: str) -> None:
    for old in recode:
        if not rows[old]:
            raise DataError(
                f"the recode of '{name}' names {old!r}, which no row has: leave it out{did_you_mean(old, rows)}"
            )
