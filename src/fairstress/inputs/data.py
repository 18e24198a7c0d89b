"""The table: people who were taken in, checked against the graph and coded by kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairstress.arguments import finite
from fairstress.errors import DataError, SettingError, show
from fairstress.inputs.folds import SPLITS, Folds, cut, read_folds
from fairstress.inputs.frames import (
    as_array,
    check_spread,
    count_values,
    has_thousands,
    in_order,
    numbered,
    read_levels,
    read_numbers,
)
from fairstress.inputs.graph import JOINT, CausalGraph
from fairstress.inputs.intake import REFUSE, take_in
from fairstress.inputs.kinds import ORDERED, Kind, protected_kind, read_kinds, read_words
from fairstress.inputs.missing import Dropped
from fairstress.inputs.others import combinations, take_others
from fairstress.inputs.protected import ProtectedCoding, code_protected
from fairstress.inputs.rows import MANY, Array, IntArray, Rows, distinct
from fairstress.inputs.units import FeatureCoding, Units, read_feature, read_units

NUMBER, CLASSES = "number", "classes"  # types of outcome
DEALS = 100  # parts into which people are dealt to hold some of them out
FINEST, WIDEST = 1e-70, 1e70  # between the ends of the outcome: squares of CFU are doubles, too
FAR = 1e20  # standard deviations from the mean that nobody may be, with or without weight


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Means and standard deviations that standardise the features, in the analyst's units or on their scales."""

    mean: Array  # (m,)
    deviation: Array  # (m,)

    def apply(self, x: Array) -> Array:
        """Standardise."""
        return np.asarray((x - self.mean) / self.deviation)

    def undo(self, x: Array) -> Array:
        """Give standardised features in the analyst's units."""
        return np.asarray(x * self.deviation + self.mean)


@dataclass(frozen=True, slots=True, eq=False)
class Everyone:
    """How many people there are in all, where a table holds a sample of them."""

    count: int
    group_sizes: dict[Any, int]  # by level of the protected attribute; empty for a number


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A checked, coded and standardised table; one entry per row of the analyst's, or of a sample of them.

    Of data that are not in memory a table holds a sample of people; its rows know all of them, as sums.
    """

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
    kinds: dict[str, Kind]  # by feature
    cluster: Any = None  # (n,) labels of people who belong together in cross-validation
    table_of: IntArray | None = None  # (n,) which of several completed tables each row stands in
    dropped: Dropped | None = None  # who was left out because a value is missing
    others: pd.DataFrame | None = None  # combinations of values outside the graph that a predictor is shown
    source: Any = None  # the analyst's table, for its other columns; several completed ones, and pickles, have none
    everyone: Everyone | None = None  # of whom those here are a sample; None: they are all here
    files: tuple[str, ...] = ()  # from which people are read where the analyst named them: nothing is written over them

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle keeps: not the columns that the graph does not name, which may hold anything."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "source"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle has kept."""
        for name, value in {"source": None, **state}.items():
            object.__setattr__(self, name, value)

    def folds(self, cv: Folds, seed: int = 0, *, needed: bool = True) -> list[Rows]:
        """Deal people to folds whatever their order, cut the table into contiguous ones, or take those of splits.

        Where they are not needed none are dealt, but what is said of them is checked.
        """
        plan = read_folds(cv, self.n_counted)
        if plan.way == SPLITS and self.dropped is not None:
            raise SettingError("cv holds splits, but missing is 'drop', which changes rows' positions: give a number")
        if not needed and plan.way != SPLITS and self.cluster is None:
            return []
        rows, a = self.rows, self._group_places()
        parts = cut(cv, a[self.row_of], rows.x[self.row_of], self.y, self.weight, seed, self.cluster)
        return [gather_rows(rows, self.row_of[part], self.y[part], self.weight[part]) for part in parts]

    def n_folds(self, cv: Folds) -> int:
        """How many folds are asked for; 0 where splits say."""
        return read_folds(cv, self.n_counted).count

    def held_out(self, holdout: Any, seed: int = 0) -> NDArray[np.bool_]:
        """(n,) who is held out: those given, or a share of people, dealt whatever their order, groups balanced."""
        of_one_table = self.index if self.table_of is None else self.index[self.table_of == 0]
        holdout = in_order(holdout, of_one_table, "holdout")
        is_share = isinstance(holdout, str) or not np.iterable(holdout)
        out = self._dealt_out(holdout, seed) if is_share else self._given_out(as_array(holdout))
        for part, who in ((out, "is held out"), (~out, "is kept")):
            missing = [level for level, count in self.keep(part).group_sizes().items() if not count]
            if missing:
                raise DataError(
                    f"nobody of the group {missing[0]!r} of '{self.protected.name}' {who}: give a holdout that leaves "
                    "people of every group on both sides"
                )
        return out

    def _dealt_out(self, holdout: Any, seed: int) -> NDArray[np.bool_]:
        size = self.n_counted if self.cluster is None else int(pd.unique(np.asarray(self.cluster, dtype=object)).size)
        deals = min(DEALS, size)
        share = finite(holdout, "holdout")
        parts = round(deals * share) if 0 < share < 1 else 0
        if not 0 < parts < deals:
            raise SettingError(
                f"holdout is {show(holdout)}: give a share between 0 and 1 that leaves people on both sides, or one "
                "truth value per row"
            )
        a = self._group_places()
        dealt = cut(deals, a[self.row_of], self.rows.x[self.row_of], self.y, self.weight, seed, self.cluster)
        out = np.zeros(self.y.size, dtype=bool)
        for i in range(parts):  # not side by side, so that each group has its share
            out[dealt[i * deals // parts]] = True
        return out

    def _given_out(self, out: NDArray[Any]) -> NDArray[np.bool_]:
        if self.dropped is not None:
            raise SettingError("holdout names rows, but missing is 'drop', which changes their positions: give a share")
        if self.table_of is not None and out.shape[0] * (int(self.table_of.max()) + 1) == self.weight.size:
            out = np.tile(out, int(self.table_of.max()) + 1)  # of the same people in every completed table
        if out.dtype != bool or out.shape != self.weight.shape:
            raise SettingError(f"holdout has {out.dtype} values of shape {out.shape}: give one truth value per row")
        for name, part in (("every", out), ("no", ~out)):
            if not self.weight[~part].any():
                raise SettingError(f"holdout names {name} row with weight: hold some people out, and keep some")
        return out

    def _group_places(self) -> Array:
        """Numbers for the groups that do not depend on the reference."""
        coding, a = self.protected, self.rows.a
        if coding.levels is None or coding.is_ordered:
            return a
        place = {coding.code(level): i for i, level in enumerate(sorted(coding.levels, key=str))}
        return np.array([place[code] for code in a.tolist()], dtype=float)

    def of_table(self, number: int) -> Table:
        """One of several completed tables, its people with their whole weight."""
        assert self.table_of is not None
        return self.reweighted(np.where(self.table_of == number, self.weight * (self.table_of.max() + 1), 0.0))

    def keep(self, which: NDArray[np.bool_]) -> Table:
        """The same table with the weight of all other rows set to 0; coding and scaling stay."""
        if which.shape != self.weight.shape:
            raise SettingError(f"keep has shape {which.shape}, but the data have {self.weight.size} rows")
        weight = np.where(which, self.weight, 0.0)
        if not weight.any():
            raise SettingError("keep leaves no row with weight")
        return self.reweighted(weight)

    def check_kept(self) -> None:
        """Refuse people among whom a group is missing, or of whom all are alike."""
        missing = [level for level, count in self.group_sizes().items() if not count]
        if missing:
            raise DataError(
                f"keep leaves nobody of the group {missing[0]!r} of '{self.protected.name}', so that there is nobody "
                "to compare with: keep people of every group"
            )
        kept = self.rows.where(self.rows.weight > 0)
        columns = dict(zip(self.graph.features, kept.x.T, strict=True))
        columns |= {self.graph.outcome: self.y[self.weight > 0], self.protected.name: kept.a}
        for name, values in columns.items():
            if np.ptp(values) == 0:
                raise DataError(f"keep leaves people who all have the same '{name}': keep others, too")

    def reweighted(self, weight: Array) -> Table:
        """The same table with other weights (n,); coding and scaling stay."""
        self.check_held("other weights, or some of the people")
        return replace(self, weight=weight, rows=gather_rows(self.rows, self.row_of, self.y, weight, keep_all=True))

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
        if self.everyone is not None:
            return self.everyone.group_sizes
        if self.protected.levels is None:
            return {}
        counted, codes = self.weight > 0, zip(self.protected.levels, self.protected.codes, strict=True)
        alone = self.row_of.size == self.rows.size  # then each row is one of a kind, in the table's order
        a = self.rows.a if alone else self.rows.a[self.row_of]
        return {level: int(np.count_nonzero((a == code) & counted)) for level, code in codes}

    @property
    def n_counted(self) -> int:
        """Number of rows that have weight."""
        return int((self.weight > 0).sum()) if self.everyone is None else self.everyone.count

    def check_held(self, what: str, way_out: str = "") -> None:
        """Refuse what needs every person in memory, where a sample is held."""
        if self.everyone is not None:
            other = way_out or "read a part of them, a sample say, into memory, and audit that"
            raise SettingError(
                f"the data are not in memory, and {what} would need all {self.everyone.count:,} people there: {other}"
            )

    def __repr__(self) -> str:
        return f"<Table of {self.y.size:,} rows ({self.rows.a.size:,} distinct)>"


def read_table(
    frame: Any,
    graph: CausalGraph,
    *,
    kinds: Mapping[str, Any] | None = None,
    reference: Any = None,
    shift: float | None = None,
    contrast: Any = None,
    missing: str = REFUSE,
    sample_weight: ArrayLike | None = None,
    cluster: Any = None,
    centre_outcome: bool = True,
    outcome_type: str | None = None,
    others: Sequence[str] = (),
) -> Table:
    """Check a pandas, polars or pyarrow table against the graph and code it.

    Parameters
    ----------
    frame
        Any eager data frame that narwhals understands, or a list of completed ones. Columns are taken by name; others
        are ignored.
    graph
        Names the columns.
    kinds
        ``{column: kind}`` for features, and the protected attribute, that are not what their columns tell.
    reference
        Level of the protected attribute that the others are compared with; default the last in sorted order, or the
        lowest of ordered ones.
    shift
        How far the counterfactual moves a numeric protected attribute; default one standard deviation.
    contrast
        Levels, or values, that people are moved to; default the other levels.
    missing
        ``"refuse"`` missing values, or ``"drop"`` the people who have any.
    sample_weight
        One weight per row; weight 2 is the row twice.
    cluster
        Name of a column, or labels, of people who belong together in cross-validation.
    centre_outcome
        Take the mean off a numeric outcome, which keeps the digits of one that is large.
    outcome_type
        ``"number"`` or ``"classes"``; default classes for an outcome of two values, a number for any other.
    others
        Columns outside the graph that a predictor is shown as they are; people who differ in them stay apart.
    """
    people = take_in(frame, graph, missing=missing, sample_weight=sample_weight, cluster=cluster, others=others)
    frame, columns, weight = people.frame, people.columns, people.weight
    given = read_words(kinds, graph)
    feature_kinds = read_kinds(given, columns, graph)
    attribute, ways = [columns[name] for name in graph.protected_columns], {"reference": reference, "shift": shift}
    coding, a = _read_protected(
        attribute, graph.protected, given.get(graph.protected), weight, contrast=contrast, **ways
    )
    _check_confounded(coding, graph)
    features = _code_features(columns, feature_kinds, weight)
    _check_near(coding.name, a)
    outcome_levels, y = _code_outcome(columns[graph.outcome], graph.outcome, weight, outcome_type)
    origin = float(weight @ y / weight.sum()) if centre_outcome and outcome_levels is None else 0.0
    y = y - origin
    scaling = Scaling(np.array([f.mean for f in features]), np.array([f.deviation for f in features]))
    kept, other = combinations(take_others(frame, others)) if others else (None, None)
    number = _protected_number(attribute[0], coding, weight)
    units = read_units(columns, number or graph.protected_columns, coding.codes, a, features)
    # everyone's features have no name here: many people need them only until those who are alike are found
    alike, row_of = _alike(coding, a, _coded(columns, features, coding, a, weight), weight, y, other)
    index = frame.index if isinstance(frame, pd.DataFrame) else pd.RangeIndex(weight.size)
    rows = gather_rows(alike, row_of, y, weight, keep_all=True)
    # a later assignment to the analyst's table must not reach the audit
    source = frame.copy(deep=False) if isinstance(frame, pd.DataFrame) else frame
    source = source if people.table_of is None else None
    parts = (scaling, rows, row_of, y, origin, weight, index, units, feature_kinds)
    return Table(graph, coding, outcome_levels, *parts, people.cluster, people.table_of, people.dropped, kept, source)


# ---------------------------------------------------------------- coding


def _coded(
    columns: Mapping[str, nw.Series[Any]],
    features: Sequence[FeatureCoding],
    coding: ProtectedCoding,
    a: Array,
    weight: Array,
) -> Array:
    """Everyone's features (n, m)."""
    x = np.empty((weight.size, len(features)), order="F")
    for j, feature in enumerate(features):
        x[:, j] = feature.code(columns[feature.name])
        _check_by_group(feature, coding, a, x[:, j], weight)
        _check_near(feature.name, x[:, j])
    return x


def _alike(
    coding: ProtectedCoding, a: Array, x: Array, weight: Array, y: Array, other: Array | None
) -> tuple[Rows, IntArray]:
    """The distinct rows, with sums to come, and for everyone the number of theirs."""
    first, row_of = distinct(a, x, other)
    if first is row_of:
        return Rows(a, coding.counterfactual(a), x, weight, y, y, other), row_of
    own = a[first]
    others = None if other is None else other[first]
    return Rows(own, coding.counterfactual(own), x[first], weight[first], y[first], y[first], others), row_of


def gather_rows(rows: Rows, row_of: IntArray, y: Array, weight: Array, *, keep_all: bool = False) -> Rows:
    """Add up weights and outcomes of the rows that are alike."""
    if keep_all and row_of.size == rows.size:  # each is one of a kind, in the table's order
        counts = weight.min() == weight.max() == 1
        if counts and y.size > MANY:
            return replace(rows, weight=weight, y=y, y_square=None)
        return replace(rows, weight=weight, y=y if counts else weight * y, y_square=weight * y**2)

    def added_up(values: Array) -> Array:
        return np.bincount(row_of, values, minlength=rows.a.size).astype(float)

    sums = added_up(weight), added_up(weight * y), added_up(weight * y**2)
    if keep_all:
        return replace(rows, weight=sums[0], y=sums[1], y_square=sums[2])
    return rows.with_outcome(*sums)


def _code_features(
    columns: Mapping[str, nw.Series[Any]], kinds: Mapping[str, Kind], weight: Array
) -> tuple[FeatureCoding, ...]:
    """Read how each feature is coded, and standardise by the weighted moments of their scores."""
    raw = (read_feature(columns[name], name, kind, weight) for name, kind in kinds.items())
    return tuple(feature.scaled(*_mean_and_deviation(feature.scores(columns[feature.name]), weight)) for feature in raw)


def _mean_and_deviation(scores: Array, weight: Array) -> tuple[float, float]:
    n = weight.sum()
    mean = float(weight @ scores / n)
    return mean, float(np.sqrt(weight @ (scores - mean) ** 2 / n))


def _read_protected(
    columns: Sequence[nw.Series[Any]], name: str, given: Kind | None, weight: Array, **options: Any
) -> tuple[ProtectedCoding, Array]:
    """Code the protected attribute; several columns are one attribute, whose levels are their combinations."""
    for column in columns if len(columns) > 1 else ():
        count_values(column, column.name)  # which refuses missing ones, and lists
    joint = pd.Series(combine(columns), dtype=object) if len(columns) > 1 else None
    column = columns[0] if joint is None else nw.from_native(joint, series_only=True)
    kind = protected_kind(given, column, name)
    numbers = read_numbers(column, name, "protected attribute") if kind.is_number else None
    return code_protected(column, kind.levels, numbers, name, weight, ordered=kind.name == ORDERED, **options)


def _protected_number(column: nw.Series[Any], coding: ProtectedCoding, weight: Array) -> FeatureCoding | None:
    """How a numeric protected attribute is coded; None for one with levels."""
    if coding.levels is not None:
        return None
    return read_feature(column, coding.name, Kind(NUMBER), weight).scaled(coding.mean, coding.deviation)


def combine(columns: Sequence[nw.Series[Any]], known: Iterable[Sequence[Any]] = ()) -> list[str]:
    """Give the levels of several protected columns that are taken together, row by row.

    Combinations that differ, also from those ``known``, must not read alike.
    """
    rows = [tuple(map(str, row)) for row in zip(*(c.to_list() for c in columns), strict=True)]
    parts: dict[str, tuple[str, ...]] = {}
    for row in dict.fromkeys([*(tuple(map(str, own)) for own in known), *rows]):
        level = JOINT.join(row)
        if parts.setdefault(level, row) != row:
            raise DataError(
                f"the combinations {parts[level]} and {row} of the protected columns both read {level!r}: rename a "
                f"level so that none of them contains '{JOINT}'"
            )
    return [JOINT.join(row) for row in rows]


def _code_outcome(
    column: nw.Series[Any], name: str, weight: Array, outcome_type: str | None
) -> tuple[tuple[Any, Any] | None, Array]:
    """Code two classes as 0/1; keep a number as it is."""
    if outcome_type is not None and not (isinstance(outcome_type, str) and outcome_type in (NUMBER, CLASSES)):
        raise SettingError(f"outcome_type is {show(outcome_type)}: give 'number' or 'classes', or leave it out")
    levels = [] if outcome_type != CLASSES and has_thousands(column) else read_levels(column, name)
    if outcome_type == CLASSES and len(levels) > 2:
        raise DataError(f"the outcome '{name}' has {len(levels)} classes: a probability needs two, merge the others")
    if outcome_type == NUMBER or len(levels) != 2:
        coding, coded = None, read_numbers(column, name, "outcome")
    else:
        number, values = numbered(column)
        coding = (levels[0], levels[-1])
        coded = np.array([value == levels[-1] for value in values], dtype=float)[number]
    ends = np.array([coded.min(), coded.max()])
    check_spread(ends, ends, name, FINEST, WIDEST)
    if np.ptp(coded[weight > 0]) == 0:
        shown = column.to_list()[int((weight > 0).argmax())]
        raise DataError(f"the outcome '{name}' is {shown!r} in every row: there is nothing to predict")
    return coding, coded


# ---------------------------------------------------------------- checks


def _check_near(name: str, codes: Array) -> None:
    """Refuse a number that is so far from those of people with weight that its powers are no doubles."""
    far = np.abs(codes) > FAR
    if far.any():
        row = int(far.argmax())
        raise DataError(
            f"column '{name}' is {np.abs(codes[row]):.1g} standard deviations from its mean in row {row}: correct it, "
            "or drop the row"
        )


def _check_confounded(coding: ProtectedCoding, graph: CausalGraph) -> None:
    """Refuse hidden causes of levels without an order."""
    if not graph.confounds_protected or coding.levels is None or coding.is_binary or coding.is_ordered:
        return
    raise DataError(
        f"a pair names '{graph.protected}', which has {len(coding.levels)} levels without an order: a hidden cause of "
        "the protected attribute can be analysed for two levels, ordered ones or a number; merge levels, say "
        f"kinds={{'{graph.protected}': [levels in order]}} if they have an order, or remove its '<->'"
    )


def _check_by_group(feature: FeatureCoding, coding: ProtectedCoding, a: Array, x: Array, weight: Array) -> None:
    """Refuse a scale by group where there are no groups, or one is without two values (above an atom)."""
    if not feature.kind.by_group:
        return
    given = f"kinds says '{feature.kind.word}' for '{feature.name}', "
    if coding.levels is None:
        raise DataError(
            f"{given}but '{coding.name}' is a number and has no groups: leave ' by group' out, or say "
            f"kinds={{'{coding.name}': 'ordered'}}"
        )
    counted = (weight > 0) & (x > (-np.inf if feature.atom_code is None else feature.atom_code))
    for level, code in zip(coding.levels, coding.codes, strict=True):
        count = np.unique(x[counted & (a == code)]).size
        if count < 2:
            raise DataError(
                f"{given}which has {count} value(s){' above 0' * feature.kind.atom} in the group '{level}' of "
                f"'{coding.name}': a scale of its own needs two; leave ' by group' out, or merge groups"
            )
