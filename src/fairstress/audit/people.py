"""Who is affected at one correlation, as a report shows it: Model B is evaluated once, and all else read off that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstress.inputs.rows import Array, IntArray
from fairstress.sensitivity.claim import EVERYONE, group_means
from fairstress.sensitivity.evaluate import evaluate, predictions
from fairstress.sensitivity.measure import weighted_quantile
from fairstress.sensitivity.worst_case import WorstCase

if TYPE_CHECKING:
    from fairstress.audit.reported import Audit

WORST_ROWS = 20
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class Moved:
    """Everyone's prediction in both worlds at one budget's worst correlation, row by row of the claim."""

    point: WorstCase
    weights: Array  # (D,) Model B's
    factual: Array  # (r,)
    counterfactual: Array  # (r,)
    cfu: Array  # (r,)


def moved(audit: Audit, point: WorstCase) -> Moved:
    """Evaluate Model B at a worst case."""
    w_B = evaluate(audit.claim, point.correlation.to_numpy()).fit.weights
    return Moved(point, w_B, *predictions(audit.claim, w_B))


# ---------------------------------------------------------------- groups


def means_of_groups(audit: Audit, seen: Moved) -> pd.DataFrame:
    """Mean predictions of each group, factual and counterfactual."""
    rows, coding = audit.claim.rows, audit.table.protected
    groups = [(str(level), rows.a == code) for level, code in zip(coding.levels or (), coding.codes, strict=True)]
    table = []
    for name, which in [(EVERYONE, np.ones(rows.a.size, dtype=bool)), *groups]:
        weight = rows.weight[which]
        if weight.sum() > 0:
            sides = (seen.factual + audit.table.origin, seen.counterfactual + audit.table.origin)
            means = (float(weight @ side[which] / weight.sum()) for side in sides)
            table.append((seen.point.p_max, name, *means))
    frame = pd.DataFrame(table, columns=["p_max", "group", "factual", "counterfactual"])
    return frame.assign(difference=frame["factual"] - frame["counterfactual"])


def means_of_predictors(audit: Audit) -> pd.DataFrame:
    """Mean outcomes, and mean predictions of the audited predictor and of each baseline, group by group."""
    claim = audit.claim
    found = {
        "observed": group_means(audit.table, lambda block: block.y),
        "audited": group_means(audit.table, lambda block: block.weight * claim.predicted(block)),
        **{name: baseline.group_means for name, baseline in audit.baselines.items()},
    }
    rows = [(name, group, mean) for name, means in found.items() for group, mean in means]
    return pd.DataFrame(rows, columns=["predictor", "group", "mean"])


def spread_of_groups(audit: Audit, seen: Moved) -> pd.DataFrame:
    """Mean and quantiles of CFU in each group, over people, by their weight."""
    table, coding = audit.table, audit.table.protected
    cfu, a = table.mean_by_row(seen.cfu), table.rows.a[table.row_of]
    counts = (table.weight > 0) & ~np.isnan(cfu)
    groups = [(str(level), a == code) for level, code in zip(coding.levels or (), coding.codes, strict=True)]
    rows = []
    for name, which in [(EVERYONE, np.ones(a.size, dtype=bool)), *groups]:
        values, weight = cfu[which & counts], table.weight[which & counts]
        if values.size:
            mean = float(weight @ values / weight.sum())
            spread = {f"q{int(100 * q)}": weighted_quantile(values, weight, q) for q in QUANTILES}
            rows.append({"group": name, "people": _count(weight), "mean": mean, **spread})
    return pd.DataFrame(rows)


def _count(weight: Array) -> int | float:
    """How many people some weights stand for: a whole number where it is one."""
    total = float(weight.sum())
    return int(total) if total.is_integer() else total


# ---------------------------------------------------------------- rows


def worst_rows(audit: Audit, seen: Moved) -> pd.DataFrame:
    """The rows with the largest CFU, with their predictions here and in the other world."""
    table, coding = audit.table, audit.table.protected
    rows, origin = coding.contrasts(table.rows)
    order = _largest(audit, seen)
    labels = pd.Series(table.index).groupby(table.row_of).first()
    return pd.DataFrame(
        {
            "label": [labels.get(i) for i in origin[order]],
            "people": table.rows.weight[origin[order]],
            "from": coding.decode(rows.a[order]).to_numpy(),
            "to": coding.decode(rows.a_cf[order]).to_numpy(),
            "prediction": seen.factual[order] + table.origin,
            "prediction_counterfactual": seen.counterfactual[order] + table.origin,
            "cfu": seen.cfu[order],
        }
    )


def features_of_worst_rows(audit: Audit, seen: Moved) -> pd.DataFrame:
    """Features of the rows with the largest CFU, beside their counterfactuals."""
    order, scaling = _largest(audit, seen), audit.table.scaling
    rows, _ = audit.table.protected.contrasts(audit.table.rows)
    here, there = (scaling.undo(x[order]) for x in (rows.x, audit.counterfactual_rows(seen.weights)))
    columns = [(name, world) for name in audit.graph.features for world in ("factual", "counterfactual")]
    values = np.stack([here, there], axis=2).reshape(len(order), -1)
    return pd.DataFrame(values, columns=pd.MultiIndex.from_tuples(columns))


def _largest(audit: Audit, seen: Moved) -> IntArray:
    """Positions of the rows with the largest CFU, those that stand for nobody left out."""
    order = np.argsort(-seen.cfu, kind="stable")
    return order[audit.claim.rows.weight[order] > 0][:WORST_ROWS]
