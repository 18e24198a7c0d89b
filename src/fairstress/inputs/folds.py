"""Folds of cross-validation: dealt by what the rows say and not by where they stand, contiguous, or given."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairstress.errors import DataError, SettingError, show
from fairstress.inputs.rows import Array, IntArray

# A number of folds, "contiguous", ("contiguous", number), or positions of (training, test) rows
Folds = int | str | tuple[str, int] | Iterable[tuple[ArrayLike, ArrayLike]]

DEALT, CONTIGUOUS, SPLITS = "dealt", "contiguous", "splits"  # ways to make folds
FOLDS = 5  # unless their number is given
MOST_GROUPS = 20  # a protected attribute with more distinct values is a number, whose people are dealt as one group

_Hash = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How the folds are made."""

    way: str  # "dealt", "contiguous" or "splits"
    count: int  # number of folds; 0 where they are still to be counted in the splits


def cut(
    cv: Any, a: Array, values: Array, y: Array, weight: Array, seed: int, cluster: ArrayLike | None = None
) -> list[IntArray]:
    """Give the positions of each fold's rows, ascending, rows without weight left out.

    Parameters
    ----------
    cv
        A number of folds, dealt by content; ``"contiguous"`` for five in the order of the rows, or
        ``("contiguous", 10)`` for ten; or pairs of positions of training and test rows.
    a, values, y, weight, seed, cluster
        As in `deal`; contiguous folds and splits look at the weights alone.
    """
    plan = read_folds(cv, int((weight > 0).sum()))
    if plan.way == SPLITS:
        return _counted(read_splits(cv, weight.size), weight)
    if plan.way == CONTIGUOUS:
        return contiguous(weight, plan.count)
    return deal(a, values, y, weight, plan.count, seed, cluster)


# ---------------------------------------------------------------- dealing


def deal(
    a: Array, values: Array, y: Array, weight: Array, k: int, seed: int, cluster: ArrayLike | None = None
) -> list[IntArray]:
    """Deal the rows that have weight to k folds, each group of the protected attribute in turn.

    Within a group, rows stand in the order of a seeded hash of their content, copies next to each other, so that
    another order of the table gives the same people the same company, copies of one row are spread evenly, and every
    fold has its share of each group. The hash sees ranks: an increasing change of a column's unit changes no fold.

    Parameters
    ----------
    a
        (n,) protected attribute; with more than 20 distinct values all people are one group.
    values
        (n, p) features, as numbers or codes.
    y
        (n,) outcome; it orders the copies of a row.
    weight
        (n,) weights; a row without weight is in no fold.
    k
        Number of folds.
    seed
        Another seed gives other folds.
    cluster
        (n,) labels, for example of households: everyone of a cluster is in one fold. Clusters are dealt, the largest
        first, each to the smallest fold so far. What the labels are does not matter.
    """
    counted = np.flatnonzero(weight > 0)
    content = np.column_stack([_rank(column[counted]) for column in (a, *values.T)])
    if cluster is None:
        fold_of = _deal_rows(content, y[counted], weight[counted], k, seed)
    else:
        members = _read_clusters(cluster, weight.size)[counted]
        everything = np.column_stack([content, _rank(y[counted]), _rank(weight[counted])])
        fold_of = _deal_clusters(_hash(everything, seed), members, k)
    return [counted[fold_of == fold] for fold in range(k)]


def _deal_rows(content: IntArray, y: Array, weight: Array, k: int, seed: int) -> IntArray:
    """Give each row's fold; the turn goes on from group to group."""
    group = content[:, 0] if content[:, 0].max() < MOST_GROUPS else np.zeros_like(content[:, 0])
    order = np.lexsort((weight, y, *content.T, _hash(content, seed), group))  # the last key is the first to sort by
    fold_of = np.empty(y.size, dtype=np.intp)
    fold_of[order] = np.arange(y.size) % k
    return fold_of


def _deal_clusters(hashes: _Hash, members: IntArray, k: int) -> IntArray:
    """Give each row's fold, whole clusters together: the largest first, each to the smallest fold so far."""
    present, cluster_of, size = np.unique(members, return_inverse=True, return_counts=True)
    if present.size < k:
        raise SettingError(
            f"cv asks for {k} folds of {present.size} clusters: give a number of folds from 2 to the number of clusters"
        )
    key = np.zeros(present.size, dtype=np.uint64)
    np.add.at(key, cluster_of, hashes)  # modulo 2^64: the order of the members is of no account
    folds, fold_of_cluster = [(0, fold) for fold in range(k)], np.empty(present.size, dtype=np.intp)
    for cluster in np.lexsort((_mix(key), -size)):
        people, fold = folds[0]
        fold_of_cluster[cluster] = fold
        heapq.heapreplace(folds, (people + int(size[cluster]), fold))
    return fold_of_cluster[cluster_of]


def _read_clusters(cluster: ArrayLike, n: int) -> IntArray:
    """Number the clusters, in whatever order."""
    labels = np.asarray(cluster)
    if labels.shape != (n,):
        raise DataError(f"cluster has shape {labels.shape}, but the data have {n} rows: give one label per row")
    codes = np.asarray(pd.factorize(labels)[0])
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise DataError(f"cluster is missing in row {row}: give a person who is in no cluster a label of their own")
    return codes.astype(np.intp)


def contiguous(weight: Array, k: int) -> list[IntArray]:
    """Cut the rows that have weight into k folds of nearly equal length, in their order."""
    return list(np.array_split(np.flatnonzero(weight > 0), k))


# ---------------------------------------------------------------- a hash that is the same everywhere


def _rank(column: Array) -> IntArray:
    """Give each value's place among the distinct ones: rounding and increasing scales leave it as it is."""
    return np.unique(column, return_inverse=True)[1].astype(np.intp)


def _hash(content: IntArray, seed: int) -> _Hash:
    """Hash each row of whole numbers, 64 bits wide."""
    state = np.full(content.shape[0], seed % 2**64, dtype=np.uint64)
    for column in content.T:
        state = _mix(state) ^ column.astype(np.uint64)
    return _mix(state)


def _mix(state: _Hash) -> _Hash:
    """Take one step of SplitMix64 (Steele, Lea and Flood, 2014), modulo 2^64."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


# ---------------------------------------------------------------- checks


def read_folds(cv: Any, n_counted: int) -> FoldPlan:
    """Read the argument ``cv``, given the number of rows that have weight; splits are left to `read_splits`."""
    way, count = _way(cv)
    if way == SPLITS:
        return FoldPlan(way, 0)
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 2 <= count <= n_counted:
        raise SettingError(
            f"cv is {show(cv)}: give a number of folds from 2 to the number of rows, {n_counted}, or ('contiguous', 5) "
            "for folds in the order of the rows, or pairs of training and test rows"
        )
    return FoldPlan(way, int(count))


def _way(cv: Any) -> tuple[str, Any]:
    """Tell the ways apart; the number is still to be checked."""
    named = (cv, FOLDS) if isinstance(cv, str) else cv
    if isinstance(named, tuple | list) and named and isinstance(named[0], str):
        return CONTIGUOUS, named[1] if named[0] == CONTIGUOUS and len(named) == 2 else None
    return (SPLITS, None) if isinstance(cv, Iterable) else (DEALT, cv)


def read_splits(splits: Iterable[Any], n: int) -> list[IntArray]:
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


def _counted(parts: Iterable[IntArray], weight: Array) -> list[IntArray]:
    """Keep the rows that have weight; each part must have some."""
    kept = [np.sort(part[weight[part] > 0]) for part in parts]
    if not all(part.size for part in kept):
        raise SettingError("a test set of cv has no row with weight: give larger folds")
    return kept
