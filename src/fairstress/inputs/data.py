"""The table: any data frame in, checked against the graph, coded and standardised; nothing is dropped or imputed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairstress.errors import DataError, SettingError, did_you_mean
from fairstress.inputs.graph import JOINT, CausalGraph
from fairstress.inputs.protected import ProtectedCoding, code_protected
from fairstress.inputs.rows import Array, IntArray, Rows, distinct
from fairstress.inputs.units import Units, read_units

Folds = int | Iterable[tuple[ArrayLike, ArrayLike]]  # their number, or positions of (training, test) rows

NUMBER, CLASSES = "number", "classes"  # types of outcome


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Means and standard deviations that standardise the features, in the analyst's units."""

    mean: Array  # (m,)
    deviation: Array  # (m,)

    def apply(self, x: Array) -> Array:
        """Standardise."""
        return np.asarray((x - self.mean) / self.deviation)

    def undo(self, x: Array) -> Array:
        """Give standardised features in the analyst's units."""
        return np.asarray(x * self.deviation + self.mean)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A checked, coded and standardised table; one entry per row of the analyst's."""

    graph: CausalGraph
    protected: ProtectedCoding
    outcome_levels: tuple[Any, Any] | None  # a two-valued outcome is coded 0/1, the last level 1
    scaling: Scaling
    rows: Rows  # distinct rows with their weights
    row_of: IntArray  # (n,) each row's distinct row
    y: Array  # (n,) outcome, coded, less its origin
    origin: float  # what was taken off the outcome
    weight: Array  # (n,)
    index: pd.Index[Any]  # (n,) row labels of a pandas frame, otherwise 0..n-1
    units: Units  # gives coded rows back as the table has them

    def folds(self, cv: Folds) -> list[Rows]:
        """Cut the table into contiguous folds of nearly equal length, or into the test sets of some splits."""
        counted = np.flatnonzero(self.weight > 0)
        if isinstance(cv, Iterable) and not isinstance(cv, str):
            parts = [test[self.weight[test] > 0] for test in _test_sets(cv, self.y.size)]
            if not all(part.size for part in parts):
                raise SettingError("a test set of cv has no row with weight: give larger folds")
        elif isinstance(cv, bool) or not isinstance(cv, int | np.integer) or not 2 <= cv <= counted.size:
            raise SettingError(f"cv is {cv!r}: give a number of folds from 2 to the number of rows, {counted.size}")
        else:
            parts = np.array_split(counted, cv)
        return [_gather(self.rows, self.row_of[part], self.y[part], self.weight[part]) for part in parts]

    def keep(self, which: NDArray[np.bool_]) -> Table:
        """The same table with the weight of all other rows set to 0; coding and scaling stay."""
        if which.shape != self.weight.shape:
            raise SettingError(f"keep has shape {which.shape}, but the data have {self.weight.size} rows")
        weight = np.where(which, self.weight, 0.0)
        if not weight.any():
            raise SettingError("keep leaves no row with weight")
        return replace(self, weight=weight, rows=_gather(self.rows, self.row_of, self.y, weight, keep_all=True))

    def mean_by_row(self, values: Array) -> Array:
        """(n,) the mean of the contrasts' values over what each person is moved to; NaN for who is not moved."""
        _, origin = self.protected.contrasts(self.rows)
        total = np.bincount(origin, values, minlength=self.rows.a.size)
        count = np.bincount(origin, minlength=self.rows.a.size)
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan)[self.row_of])

    def places(self, origin: IntArray) -> tuple[IntArray, IntArray]:
        """Positions among the contrasts and among the analyst's rows, of each person, value by value."""
        starts = np.flatnonzero(np.diff(origin, prepend=origin.size) < 0)
        contrasts, persons = [], []
        for rows in np.split(np.arange(origin.size), starts[1:]):
            place = np.full(self.rows.a.size, -1)
            place[origin[rows]] = rows
            people = place[self.row_of]
            contrasts.append(people[people >= 0])
            persons.append(np.flatnonzero(people >= 0))
        return np.concatenate(contrasts), np.concatenate(persons)

    def one_per_person(self, frame: pd.DataFrame, origin: IntArray) -> pd.DataFrame:
        """Give a frame of the contrasts with a row for each person, value by value, labelled as the analyst does."""
        contrasts, persons = self.places(origin)
        return frame.iloc[contrasts].set_axis(self.index[persons], axis=0)

    def outcome(self) -> pd.Series[Any]:
        """(n,) the outcome as the analyst has it, row by row."""
        if self.outcome_levels is not None:
            return pd.Series([self.outcome_levels[int(value)] for value in self.y], index=self.index)
        values = self.y + self.origin
        digits = 13 - int(np.ceil(np.log10(np.abs(values).max())))  # taking the origin off has cost the last ones
        return pd.Series(values.round(digits), index=self.index)

    def group_sizes(self) -> dict[Any, int]:
        """Count the rows of each level of the protected attribute, rows without weight left out."""
        if self.protected.levels is None:
            return {}
        a = self.rows.a[self.row_of[self.weight > 0]]
        codes = zip(self.protected.levels, self.protected.codes, strict=True)
        return {level: int((a == code).sum()) for level, code in codes}

    @property
    def n_counted(self) -> int:
        """Number of rows that have weight."""
        return int((self.weight > 0).sum())

    def __repr__(self) -> str:
        return f"<Table of {self.y.size:,} rows ({self.rows.a.size:,} distinct)>"


def read_table(
    frame: Any,
    graph: CausalGraph,
    *,
    reference: Any = None,
    shift: float | None = None,
    contrast: Any = None,
    sample_weight: ArrayLike | None = None,
    centre_outcome: bool = True,
    outcome_type: str | None = None,
) -> Table:
    """Check a pandas, polars or pyarrow table against the graph and code it.

    Parameters
    ----------
    frame
        Any eager data frame that narwhals understands. Columns are taken by name; others are ignored.
    graph
        Names the columns.
    reference
        Level of the protected attribute that the others are compared with; default the last in sorted order.
    shift
        How far the counterfactual moves a numeric protected attribute; default one standard deviation.
    contrast
        Levels, or values, that people are moved to; default the other levels.
    sample_weight
        One weight per row; weight 2 is the row twice.
    centre_outcome
        Take the mean off a numeric outcome, which keeps the digits of one that is large.
    outcome_type
        ``"number"`` or ``"classes"``; default classes for an outcome of two values, a number for any other.
    """
    columns = take_columns(frame, (*graph.protected_columns, *graph.features, graph.outcome))
    n = len(columns[graph.outcome])
    weight = _weights(sample_weight, n)
    x = np.column_stack([read_numbers(columns[name], name, "feature") for name in graph.features])
    protected, ways = [columns[name] for name in graph.protected_columns], {"reference": reference, "shift": shift}
    coding, a = _read_protected(protected, graph.protected, weight, contrast=contrast, **ways)
    if graph.confounds_protected and coding.levels is not None and not coding.is_binary:
        raise DataError(
            f"a pair names '{graph.protected}', which has {len(coding.levels)} levels: a hidden cause of the protected "
            "attribute can be analysed for two levels or a number; merge levels, or remove its '<->'"
        )
    outcome_levels, y = _code_outcome(columns[graph.outcome], graph.outcome, weight, outcome_type)
    origin = float(weight @ y / weight.sum()) if centre_outcome and outcome_levels is None else 0.0
    y = y - origin
    scaling = _scaling(x, weight, graph.features)
    first, row_of = distinct(a, x)
    alike = Rows(a[first], coding.counterfactual(a[first]), np.asfortranarray(scaling.apply(x[first])), *[a[first]] * 3)
    index = frame.index if isinstance(frame, pd.DataFrame) else pd.RangeIndex(n)
    rows = _gather(alike, row_of, y, weight, keep_all=True)
    units = _units(columns, graph, coding, scaling, a)
    return Table(graph, coding, outcome_levels, scaling, rows, row_of, y, origin, weight, index, units)


# ---------------------------------------------------------------- coding


def _gather(rows: Rows, row_of: IntArray, y: Array, weight: Array, *, keep_all: bool = False) -> Rows:
    """Add up weights and outcomes of the rows that are alike."""
    parts = (weight, weight * y, weight * y**2)
    sums = [np.bincount(row_of, values, minlength=rows.a.size).astype(float) for values in parts]
    if keep_all:
        return Rows(rows.a, rows.a_cf, rows.x, *sums)
    return rows.with_outcome(*sums)


def _units(
    columns: dict[str, nw.Series[Any]], graph: CausalGraph, coding: ProtectedCoding, scaling: Scaling, a: Array
) -> Units:
    own = {} if coding.levels else {graph.protected: (coding.mean, coding.deviation)}
    features = zip(graph.features, zip(scaling.mean.tolist(), scaling.deviation.tolist(), strict=True), strict=True)
    return read_units(columns, graph.protected_columns, coding.codes, a, {**own, **dict(features)})


def _read_protected(
    columns: Sequence[nw.Series[Any]], name: str, weight: Array, **options: Any
) -> tuple[ProtectedCoding, Array]:
    """Code the protected attribute; several columns are one attribute, whose levels are their combinations."""
    for column in columns:
        check_complete(column, column.name)
    if len(columns) == 1:
        (column,) = columns
        is_number = column.dtype.is_numeric()
        levels = read_levels(column, name)
        numbers = read_numbers(column, name, "protected attribute") if is_number and len(levels) > 2 else None
        return code_protected(column.to_list(), levels, numbers, name, weight, **options)
    combined = combine(columns)
    return code_protected(combined, sorted(set(combined)), None, name, weight, **options)


def combine(columns: Sequence[nw.Series[Any]]) -> list[str]:
    """Give the levels of several protected columns that are taken together, row by row."""
    return [JOINT.join(str(value) for value in row) for row in zip(*(c.to_list() for c in columns), strict=True)]


def _code_outcome(
    column: nw.Series[Any], name: str, weight: Array, outcome_type: str | None
) -> tuple[tuple[Any, Any] | None, Array]:
    """Code two classes as 0/1; keep a number as it is."""
    if outcome_type not in (None, NUMBER, CLASSES):
        raise SettingError(f"outcome_type is {outcome_type!r}: give 'number' or 'classes', or leave it out")
    levels = read_levels(column, name)
    if outcome_type == CLASSES and len(levels) > 2:
        raise DataError(f"the outcome '{name}' has {len(levels)} classes: a probability needs two, merge the others")
    if outcome_type == NUMBER or len(levels) > 2:
        coding, coded = None, read_numbers(column, name, "outcome")
    else:
        coding = (levels[0], levels[-1])
        coded = np.fromiter((value == levels[-1] for value in column.to_list()), dtype=float, count=len(column))
    if np.ptp(coded[weight > 0]) == 0:
        shown = column.to_list()[int((weight > 0).argmax())]
        raise DataError(f"the outcome '{name}' is {shown!r} in every row: there is nothing to predict")
    return coding, coded


def read_levels(column: nw.Series[Any], name: str) -> list[Any]:
    """Give the distinct values in sorted order, none missing."""
    check_complete(column, name)
    values = column.unique().to_list()
    try:
        return sorted(values)
    except TypeError:  # mixed types have no order of their own
        return sorted(values, key=str)


def _scaling(x: Array, weight: Array, features: Sequence[str]) -> Scaling:
    """Weighted means and standard deviations; a constant column is refused."""
    counted = x[weight > 0]
    for name, low, high in zip(features, counted.min(axis=0), counted.max(axis=0), strict=True):
        if low == high:
            raise DataError(f"column '{name}' is constant ({low:g}): remove it from the graph")
        if not 1e-100 < high - low < 1e100:
            raise DataError(f"column '{name}' runs from {low:g} to {high:g}: give it in another unit")
    mean = weight @ x / weight.sum()
    return Scaling(mean, np.sqrt(weight @ (x - mean) ** 2 / weight.sum()))


# ---------------------------------------------------------------- checks


def take_columns(frame: Any, wanted: Sequence[str]) -> dict[str, nw.Series[Any]]:
    """Take columns that the graph names out of any eager data frame."""
    way_out = f"the data are a {type(frame).__name__}: give a pandas, polars or pyarrow table held in memory"
    table, names = open_frame(frame, way_out)
    for name in wanted:
        if name not in names:
            raise DataError(f"the graph names '{name}', which is not a column of the data{did_you_mean(name, names)}")
    if len(table) == 0:
        raise DataError("the data have no rows")
    return {name: table[:, names.index(name)] for name in wanted}


def open_frame(frame: Any, refusal: str) -> tuple[nw.DataFrame[Any], list[str]]:
    """Give any eager data frame with the names of its columns, each of which must be there once; refuse all else."""
    names = column_names(frame)
    check_unique(names)
    try:
        return nw.from_native(frame, eager_only=True), names
    except TypeError:
        raise DataError(refusal) from None


def column_names(frame: Any) -> list[str]:
    """Give the names of a frame's columns; none of anything else."""
    return [str(name) for name in getattr(frame, "column_names", getattr(frame, "columns", []))]


def check_unique(names: Iterable[str]) -> None:
    """Refuse two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"the data have two columns named '{name}': rename one of them")
        seen.add(name)


def check_complete(column: nw.Series[Any], name: str) -> None:
    """Refuse missing values, NaN included, saying how many and where the first stands."""
    missing = column.is_null().to_numpy().astype(bool)
    if column.dtype.is_float():
        missing |= column.is_nan().fill_null(True).to_numpy().astype(bool)
    _refuse(missing, name, "missing", "drop or impute them before the audit; fairstress never does so silently")


def read_numbers(column: nw.Series[Any], name: str, role: str) -> Array:
    """Give a numeric column as floats; text, booleans, missing and infinite values are refused."""
    if not column.dtype.is_numeric():
        raise DataError(
            f"{role} '{name}' is not numeric (its type is {column.dtype}): code it as numbers before the audit"
        )
    check_complete(column, name)
    values = column.cast(nw.Float64).to_numpy().astype(float)
    _refuse(~np.isfinite(values), name, "infinite", "remove or replace them before the audit")
    return values


def _refuse(bad: Any, name: str, what: str, way_out: str) -> None:
    count = int(bad.sum())
    if count:
        noun = "value" if count == 1 else "values"
        raise DataError(f"column '{name}' has {count} {what} {noun} (first in row {int(bad.argmax())}): {way_out}")


def _test_sets(splits: Iterable[Any], n: int) -> list[IntArray]:
    """Check splits into training and test rows: every row is tested once, on a fit to all others."""
    try:
        pairs = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in splits]
    except (TypeError, ValueError):
        raise SettingError(
            "cv holds something else than pairs of training and test rows: give their positions"
        ) from None
    everyone = np.arange(n)
    tested = np.sort(np.concatenate([test for _, test in pairs])) if len(pairs) > 1 else np.array([])
    whole = all(np.array_equal(np.sort(np.concatenate(pair)), everyone) for pair in pairs)
    if not (whole and np.array_equal(tested, everyone)):
        raise SettingError(
            f"the splits of cv must test each of the {n} rows once, on a fit to all others: give those of a KFold, or "
            "a number of folds"
        )
    return [test for _, test in pairs]


def _weights(sample_weight: ArrayLike | None, n: int) -> Array:
    """Check one non-negative, finite weight per row."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError):
        raise DataError("sample_weight holds something that is not a number: give one number per row") from None
    if weight.shape != (n,):
        raise DataError(f"sample_weight has shape {weight.shape}, but the data have {n} rows: give one weight per row")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError("sample_weight must be finite and nowhere negative")
    if weight.sum() == 0:
        raise DataError("every sample_weight is zero: give some row a positive weight")
    return weight
