"""What is taken in: one table or several completed ones, everyone in it or those without missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairstress.arguments import word
from fairstress.errors import DataError, SettingError, did_you_mean, show
from fairstress.inputs.frames import as_array, column_names, decoded, in_order, take_columns
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.missing import Dropped, describe_missing, drop_incomplete
from fairstress.inputs.others import check_others
from fairstress.inputs.rows import Array, IntArray
from fairstress.inputs.stack import is_several, stack

REFUSE, DROP = "refuse", "drop"
FEWEST, MOST = 1 - 1e-6, 1e15  # people that weights may stand for; rounding may leave weights that sum to 1 below it


@dataclass(frozen=True, slots=True, eq=False)
class Intake:
    """People as an audit takes them in, with what has been done to get there."""

    frame: Any
    columns: dict[str, nw.Series[Any]]  # that the graph names
    weight: Array  # (n,)
    cluster: Any  # (n,) labels of people who belong together, or None
    table_of: IntArray | None  # (n,) which of several completed tables each row stands in
    dropped: Dropped | None  # who was left out

    @property
    def n_tables(self) -> int:
        """How many completed tables there are."""
        return 1 if self.table_of is None else int(self.table_of.max()) + 1


def take_in(
    frame: Any,
    graph: CausalGraph,
    *,
    missing: str = REFUSE,
    sample_weight: ArrayLike | None,
    cluster: Any = None,
    others: Sequence[str] = (),
) -> Intake:
    """Stack several completed tables, and refuse or leave out people with missing values.

    Of M tables each row has the weight 1/M, and a person's rows stay together in cross-validation.
    """
    word(missing, "missing", REFUSE, DROP)
    names = (*graph.protected_columns, *graph.features, graph.outcome)
    table_of, copies = None, 1
    if is_several(frame):
        further = (*((cluster,) if isinstance(cluster, str) else ()), *others)
        for table in frame:
            check_others(others, column_names(table))
        frame, table_of, copies = stack(frame, (*names, *further))
    frame = decoded(frame)
    columns = take_columns(frame, names)
    n = len(columns[graph.outcome])
    if n == 1:
        raise DataError("the data have one row, and nobody to compare it with: give a table with one row per person")
    weight = read_weights(_of_rows(sample_weight, frame, n // copies, "sample_weight"), n // copies)
    labels = _read_cluster(_of_rows(cluster, frame, n // copies, "cluster"), frame, n // copies, copies)
    whole = Intake(frame, columns, np.tile(weight, copies) / copies, labels, table_of, None)
    problem = describe_missing(columns, graph.protected_columns)
    if not problem:
        return whole
    if missing == REFUSE:
        raise DataError(problem)
    return _complete(whole, names, graph.protected_columns)


def _complete(whole: Intake, names: Sequence[str], protected: Sequence[str]) -> Intake:
    """The people of whom nothing is missing."""
    if whole.table_of is not None:
        raise SettingError(
            "missing is 'drop', but several completed tables are given, and one still has missing values: complete it, "
            "or give one table"
        )
    frame, kept, dropped = drop_incomplete(whole.frame, whole.columns, protected)
    cluster = None if whole.cluster is None else np.asarray(whole.cluster)[kept]
    return Intake(frame, take_columns(frame, names), whole.weight[kept], cluster, None, dropped)


def _of_rows(values: Any, frame: Any, n: int, what: str) -> Any:
    """One value for each of the first n rows, by the labels of a pandas frame."""
    return in_order(values, frame.index[:n], what) if isinstance(frame, pd.DataFrame) else values


def _read_cluster(cluster: Any, frame: Any, n: int, copies: int) -> Any:
    """Labels of people who belong together: a column's, given ones, or, of several tables, each person's own."""
    if cluster is None:
        return None if copies == 1 else np.tile(np.arange(n), copies)
    if isinstance(cluster, str):
        names = column_names(frame)
        if cluster not in names:
            raise DataError(
                f"cluster names {show(cluster)}, which is not a column of the data{did_you_mean(cluster, names)}"
            )
        return np.asarray(take_columns(frame, (cluster,))[cluster].to_list(), dtype=object)
    labels = as_array(cluster)
    if labels.shape != (n,):
        raise DataError(f"cluster has shape {labels.shape}, but the data have {n} rows: give one label for each")
    return np.tile(labels, copies)


def read_weights(sample_weight: ArrayLike | None, n: int) -> Array:
    """Check one non-negative, finite weight per row."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DataError("sample_weight holds something that is not a number: give one number per row") from None
    if weight.shape != (n,):
        raise DataError(f"sample_weight has shape {weight.shape}, but the data have {n} rows: give one weight per row")
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"sample_weight is {weight[row]:g} in row {row}: give everyone a finite weight that is not negative, 0 to "
            "leave someone out"
        )
    if not weight.any():
        raise DataError("every sample_weight is zero: give some row a positive weight")
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not FEWEST <= total <= MOST:
        size = "less than one person" if total < 1 else f"more than {MOST:g} people"
        raise DataError(
            f"sample_weight sums to {total:g}, {size}: weight 2 is the row twice, so scale the weights to sum to the "
            "number of people"
        )
    return weight
