"""Missing values: where they are, in which groups, and leaving out those who have one when asked to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from fairstress.errors import DataError
from fairstress.inputs.graph import JOINT
from fairstress.inputs.rows import IntArray

BoolArray = NDArray[np.bool_]

MOST_SHOWN = 8  # columns, and groups, that a sentence names

IMPUTE = "impute several times and give the completed tables as a list, Audit.fit([frame_1, frame_2, ...], graph)"


@dataclass(frozen=True, slots=True, eq=False)
class Dropped:
    """People who were left out because a value is missing.

    Examples
    --------
    >>> groups = {"White": (9, 18285), "non-White": (3, 3506)}
    >>> print(Dropped(21791, 12, groups, {"lsat": 12}, "race"))
    12 of 21,791 people were left out because a value is missing: 9 of 18,285 White and 3 of 3,506 non-White.
    """

    total: int  # people in the table as it came
    dropped: int  # of them left out
    by_group: dict[Any, tuple[int, int]]  # left out, of how many; None: the attribute is missing; empty for a number
    by_column: dict[str, int]  # missing values of each column that has any
    protected: str  # name of the protected attribute

    def sentence(self) -> str:
        """Say in plain English how many people were left out, and of which groups."""
        if not self.dropped:
            return "Nobody was left out: no value is missing."
        people = f"{self.dropped:,} of {self.total:,} people {'was' if self.dropped == 1 else 'were'} left out"
        groups = [f"{out:,} of {n:,} {_people_of(group, self.protected)}" for group, (out, n) in self.by_group.items()]
        return f"{people} because a value is missing{': ' if groups else ''}{listed(groups, 'groups')}."

    def __str__(self) -> str:
        return self.sentence()


# ---------------------------------------------------------------- what is missing


def missing_values(columns: Mapping[str, nw.Series[Any]]) -> BoolArray:
    """Tell which values are null or NaN: (n, number of columns)."""
    return np.column_stack([is_missing(column) for column in columns.values()])


def describe_missing(columns: Mapping[str, nw.Series[Any]], protected: Sequence[str]) -> str:
    """Give the sentence that refuses missing values, which names the ways out; empty if there are none.

    Parameters
    ----------
    columns
        What the audit reads, by name.
    protected
        Which of them are the protected attribute. Where it is complete, counts are also given by its groups.
    """
    missing = missing_values(columns)
    found = {name: gone for name, gone in zip(columns, missing.T, strict=True) if gone.any()}
    if not found:
        return ""
    groups = _groups(columns, protected)
    by_group = [_describe_groups(gone, groups, JOINT.join(protected)) for gone in found.values()]
    (name, gone), *others = found.items()
    parts = [f"column '{name}' has {_describe_column(gone, by_group[0])}"]
    parts += [
        f"'{name}' {gone.sum():,}{f' ({shown})' if shown else ''}"
        for (name, gone), shown in zip(others, by_group[1:], strict=True)
    ]
    n = int(missing.any(axis=1).sum())
    people = "this person" if n == 1 else f"these {n:,} people"
    return (
        f"{listed(parts, 'columns')}: missing='drop' leaves {people} out, and the report says how many of each group; "
        f"or {IMPUTE}; fairstress never does either silently"
    )


def _describe_column(gone: BoolArray, by_group: str) -> str:
    noun = "value" if gone.sum() == 1 else "values"
    return f"{gone.sum():,} missing {noun} (first in row {gone.argmax()}{'; ' if by_group else ''}{by_group})"


def _describe_groups(gone: BoolArray, groups: list[Any] | None, protected: str) -> str:
    """Count those who are gone by group, where everyone has one and there are few."""
    if groups is None or None in groups or len(set(groups)) > MOST_SHOWN:
        return ""
    counts = {group: out for group, (out, _) in _count(groups, gone).items() if out}
    return ", ".join(f"{g} {out:,}" if isinstance(g, str) else f"{protected}={g}: {out:,}" for g, out in counts.items())


def is_missing(column: nw.Series[Any]) -> BoolArray:
    """Tell which values of one column are null or NaN: (n,)."""
    missing = column.is_null().to_numpy().astype(bool)
    if column.dtype.is_float():
        missing |= column.is_nan().fill_null(True).to_numpy().astype(bool)
    return np.asarray(missing)


def _groups(columns: Mapping[str, nw.Series[Any]], protected: Sequence[str]) -> list[Any] | None:
    """Give each person's group of the protected attribute, None where it is missing; no list at all for a number."""
    own = {name: columns[name] for name in protected}
    rows = zip(*(column.to_list() for column in own.values()), strict=True)
    labels = [row[0] if len(row) == 1 else JOINT.join(str(value) for value in row) for row in rows]
    gone = np.asarray(missing_values(own).any(axis=1))
    groups = [None if is_gone else label for label, is_gone in zip(labels, gone, strict=True)]
    is_number = len(own) == 1 and own[protected[0]].dtype.is_numeric() and len({*groups} - {None}) > 2
    return None if is_number else groups


def _count(groups: Iterable[Any], gone: BoolArray) -> dict[Any, tuple[int, int]]:
    """Give (how many are gone, of how many) of each group, the largest group first and the nameless one last."""
    everyone = Counter(groups)
    out = Counter(group for group, is_gone in zip(groups, gone, strict=True) if is_gone)
    order = sorted(everyone, key=lambda group: (group is None, -everyone[group], str(group)))
    return {group: (out[group], everyone[group]) for group in order}


# ---------------------------------------------------------------- leaving people out


def drop_incomplete(
    frame: Any, columns: Mapping[str, nw.Series[Any]], protected: Sequence[str]
) -> tuple[Any, IntArray, Dropped]:
    """Leave out who has a missing value; give the frame in its own type, the positions kept, and who was left out.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table; a pandas index is kept.
    columns
        What the audit reads of it, by name; values missing elsewhere do not count.
    protected
        Which of them are the protected attribute; a group of which nobody would remain is refused.
    """
    missing = missing_values(columns)
    gone, counts = np.asarray(missing.any(axis=1)), missing.sum(axis=0)
    groups = _groups(columns, protected)
    by_group = {} if groups is None else _count(groups, gone)
    by_column = {name: int(count) for name, count in zip(columns, counts, strict=True) if count}
    dropped = Dropped(gone.size, int(gone.sum()), by_group, by_column, JOINT.join(protected))
    _check_someone_is_left(dropped)
    kept = np.flatnonzero(~gone)
    if not dropped.dropped:
        return frame, kept, dropped
    return nw.from_native(frame, eager_only=True)[kept].to_native(), kept, dropped


def _check_someone_is_left(dropped: Dropped) -> None:
    emptiest = max(dropped.by_column, key=lambda name: dropped.by_column[name], default="")
    way_out = f"remove '{emptiest}' from the graph, or {IMPUTE}"
    if dropped.dropped == dropped.total:
        raise DataError(f"missing='drop' leaves nobody: all {dropped.total:,} people lack a value; {way_out}")
    for group, (out, n) in dropped.by_group.items():
        if group is not None and out == n:
            raise DataError(
                f"missing='drop' leaves nobody with '{dropped.protected}' = {group!r}: all {n:,} of them lack a value; "
                f"{way_out}"
            )


# ---------------------------------------------------------------- words


def _people_of(group: Any, protected: str) -> str:
    """Name a group's people: a text by itself, any other value with its column."""
    if group is None:
        return f"whose '{protected}' is missing"
    return group if isinstance(group, str) else f"with '{protected}' = {group}"


def listed(parts: Sequence[str], noun: str) -> str:
    """Join with commas and a last "and", all but the first few as a number."""
    if len(parts) > MOST_SHOWN:
        parts = [*parts[: MOST_SHOWN - 1], f"{len(parts) - MOST_SHOWN + 1} more {noun}"]
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)
