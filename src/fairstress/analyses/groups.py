"""Groups of people: everyone, and each level of the protected attribute that has weight; means and shares of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairstress.analyses.worst_case import WorstCase
from fairstress.claim.build import Fitted
from fairstress.claim.evaluate import predictions
from fairstress.functionals.decisions import EITHER, GAINED, LOST
from fairstress.inputs.data import Table
from fairstress.inputs.kinds import CATEGORY
from fairstress.inputs.protected import ProtectedCoding
from fairstress.inputs.rows import Array

EVERYONE = "everyone"


def groups(coding: ProtectedCoding, a: Array, weight: Array) -> Iterator[tuple[Any, Any]]:
    """Everyone, then each level that has weight, with where its rows stand."""
    yield EVERYONE, np.ones(a.size, dtype=bool)
    for level, code in zip(coding.levels or (), coding.codes, strict=True):
        if weight[a == code].sum() > 0:
            yield level, a == code


def people_by_group(fitted: Fitted) -> dict[Any, int]:
    """How many people numbers of each group are about: the fewest, where some are of a sample or one table of many."""
    table, claim = fitted.table, fitted.claim
    claimed = np.zeros(table.rows.a.size, dtype=bool)
    places = np.arange(claim.rows.a.size) if claim.origin is None else claim.origin
    claimed[places[claim.rows.weight > 0]] = True
    sizes = _people(table, table.weight > 0)
    asked = _people(table, (table.weight > 0) & claimed[table.row_of])
    taught = people_by_group(fitted.training) if fitted.training else sizes
    moved = table.protected.moved_levels
    return {level: min(n, taught[level], asked[level] if level in moved else n) for level, n in sizes.items()}


def _people(table: Table, who: Any) -> dict[Any, int]:
    """People of each level among some; of several completed tables, in that which has fewest."""
    a, codes = table.rows.a[table.row_of], zip(table.protected.levels or (), table.protected.codes, strict=True)
    of = np.zeros(a.size, dtype=int) if table.table_of is None else table.table_of
    return {
        level: min(int((who & (a == code) & (of == number)).sum()) for number in np.unique(of)) for level, code in codes
    }


def has_rare_level(fitted: Fitted, fewest: int) -> bool:
    """Whether a group, or a level of a feature that equations see level by level, has fewer people than that."""
    if any(n < fewest for n in people_by_group(fitted).values()):
        return True
    for table in (fitted.table, *([fitted.training.table] if fitted.training else [])):
        copies = 1 if table.table_of is None else int(table.table_of.max()) + 1
        for j, kind in enumerate(table.kinds.values()):
            counts = np.unique(table.rows.x[table.row_of[table.weight > 0], j], return_counts=True)[1]
            if (kind.name == CATEGORY or kind.as_levels) and counts.min() < fewest * copies:
                return True
    return False


def flip_shares(coding: ProtectedCoding, a: Array, weight: Array, gained: Array, lost: Array) -> pd.DataFrame:
    """Shares of people whose decision the counterfactual turns, by group (rows, everyone first) and direction.

    ``gained`` and ``lost`` are each person's probabilities of the two turns.
    """
    directions, names, rows = (GAINED, LOST, EITHER), [], []
    for name, which in groups(coding, a, weight):
        names.append(name)
        turns = [turn[which] for turn in (gained, lost, gained + lost)]
        rows.append([float((weight[which] * turn).sum() / weight[which].sum()) for turn in turns])
    return pd.DataFrame(rows, index=pd.Index(names, name=coding.name), columns=list(directions))


def mean_predictions(fitted: Fitted) -> pd.DataFrame:
    """Mean outcomes, and mean predictions of the audited predictor and of each baseline, group by group."""
    rows, claims = fitted.table.rows, {name: b.claim for name, b in fitted.baselines.items()}
    sums = {"observed": rows.y}
    for name, claim in {"audited": fitted.claim, **claims}.items():
        sums[name] = np.concatenate([block.weight * claim.predicted(block) for block in rows.blocks()])
    means = [
        (predictor, str(group), float(total[which].sum() / rows.weight[which].sum()) + fitted.table.origin)
        for predictor, total in sums.items()
        for group, which in groups(fitted.table.protected, rows.a, rows.weight)
    ]
    return pd.DataFrame(means, columns=["predictor", "group", "mean"])


def mean_predictions_at(fitted: Fitted, points: Sequence[WorstCase]) -> pd.DataFrame:
    """Mean predictions of each group, factual and counterfactual, at the worst case of each budget."""
    rows, table = fitted.claim.rows, fitted.table
    means = []
    for point in points:
        worlds = [side + table.origin for side in predictions(fitted.claim, point.fit)[:2]]
        for group, which in groups(table.protected, rows.a, rows.weight):
            weight = rows.weight[which]
            here, there = (float((weight * side[which]).sum() / weight.sum()) for side in worlds)
            means.append((point.p_max, str(group), here, there, here - there))
    return pd.DataFrame(means, columns=["p_max", "group", "factual", "counterfactual", "difference"])
