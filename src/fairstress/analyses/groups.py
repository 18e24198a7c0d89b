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
from fairstress.inputs.protected import ProtectedCoding
from fairstress.inputs.rows import Array

EVERYONE = "everyone"


def groups(coding: ProtectedCoding, a: Array, weight: Array) -> Iterator[tuple[Any, Any]]:
    """Everyone, then each level that has weight, with where its rows stand."""
    yield EVERYONE, np.ones(a.size, dtype=bool)
    for level, code in zip(coding.levels or (), coding.codes, strict=True):
        if weight[a == code].sum() > 0:
            yield level, a == code


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
