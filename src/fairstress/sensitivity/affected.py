"""Who is affected: everyone's factual and counterfactual features and predictions at one correlation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.counterfactual import worlds
from fairstress.sensitivity.claim import Claim, whole_number
from fairstress.sensitivity.decisions import EITHER, turned
from fairstress.sensitivity.measure import weighted_quantile

PREFIX = "counterfactual "
QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Affected:
    """Everyone at one correlation, those with the largest CFU first.

    A row is a person, or a person and a value of the protected attribute that they are moved to, among which the
    person's weight is shared. All arrays are in the order of ``frame``.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=2, random_state=0)
    >>> people = audit.people({("a", "x"): 0.3}, threshold=0)
    >>> worst = people.to_frame().iloc[0]
    >>> round(float(worst["prediction"]), 2), round(float(worst["counterfactual prediction"]), 2)
    (-3.46, -4.49)
    >>> print(people.by_group()[["people", "cfu", "change", "flips"]].round(3).reset_index().to_string(index=False))
     a  people   cfu  change  flips
    -1   171.0 0.637  -0.794  0.170
     1   129.0 0.612   0.778  0.163
    >>> print(people.by("x", bins=2)[["people", "cfu"]].round(3).reset_index().to_string(index=False))
                   x  people   cfu
    (-3.592, 0.0567]   150.0 0.667
     (0.0567, 2.861]   150.0 0.585
    >>> people.quantiles([0.5, 0.9]).round(3).tolist()
    [0.62, 0.791]
    """

    frame: pd.DataFrame = field(repr=False)  # labelled by the analyst's index
    group: pd.Series[Any] | None = field(repr=False)  # level of the protected attribute; None for a number
    row: IntArray = field(repr=False)  # position in the analyst's table
    n_rows: int  # of that table
    weight: Array = field(repr=False)
    change: Array = field(repr=False)  # of the prediction, from factual to counterfactual
    cfu: Array = field(repr=False)
    flips: Array | None = field(repr=False)  # whether the decision turns, where there is a threshold

    def to_frame(self) -> pd.DataFrame:
        """One row per person, worst first."""
        return self.frame

    def by_group(self) -> pd.DataFrame:
        """CFU by level of the protected attribute."""
        if self.group is None:
            raise SettingError("the protected attribute is numeric: give its column and a number of bins to by()")
        return self._by(self.group)

    def by(self, column: Any, *, bins: int | None = None) -> pd.DataFrame:
        """CFU by the values of a column.

        Parameters
        ----------
        column
            Name of a column of this frame, or one value for each row of the audited table, in its order: a column
            that the audit has not seen.
        bins
            Cut numbers into this many classes of about equally many people.

        People whose value is missing are a class of their own, the last.
        """
        values = self._column(column)
        return self._by(values if bins is None else _cut(values, bins))

    def quantiles(self, levels: Sequence[float] = QUANTILES) -> pd.Series[float]:
        """Quantiles of CFU over people, by their weight."""
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise SettingError(f"levels is {levels!r}: give a list of numbers from 0 to 1")
        asked = list(levels)
        for q in asked:
            if not (isinstance(q, Real) and 0 <= q <= 1):
                raise SettingError(f"levels has {q!r}: give numbers from 0 to 1")
        return pd.Series([weighted_quantile(self.cfu, self.weight, q) for q in asked], index=asked, name="cfu")

    def _by(self, values: pd.Series[Any]) -> pd.DataFrame:
        codes, keys = pd.factorize(values, sort=True, use_na_sentinel=False)
        rows = [self._summary(codes == i) for i in range(len(keys))]
        return pd.DataFrame(rows, index=pd.Index(keys, name=values.name))

    def _summary(self, who: Any) -> dict[str, float]:
        """One class of people: their weight, mean and quantiles of CFU, mean change, and how many are turned."""
        weight, cfu = self.weight[who], self.cfu[who]
        total = float(weight.sum())
        share = weight / total if total else np.full(weight.size, np.nan)
        found = {"people": total, "cfu": float(share @ cfu), "change": float(share @ self.change[who])}
        if total:
            found |= {f"cfu quantile {q:g}": weighted_quantile(cfu, weight, q) for q in QUANTILES}
        if self.flips is not None:
            found["flips"] = float(share @ self.flips[who])
        return found

    def _column(self, column: Any) -> pd.Series[Any]:
        if isinstance(column, str):
            if column not in self.frame.columns:
                near = did_you_mean(column, map(str, self.frame.columns))
                raise SettingError(
                    f"column is '{column}', which is not in the frame{near}; a column that the audit has not seen is "
                    f"given by its values, frame['{column}']"
                )
            return self.frame[column]
        values = pd.Series(column)
        if len(values) != self.n_rows:
            raise SettingError(
                f"column has {len(values)} values, but the table has {self.n_rows} rows: give one for each row"
            )
        return values.iloc[self.row]


def affected(table: Table, claim: Claim, w_B: Array, threshold: float | None) -> Affected:
    """Put everyone's two worlds side by side; ``threshold`` is on the scale of the predictions."""
    seen = [worlds(claim.design, claim.model_a.weights, w_B[None], people) for people in claim.people()]
    before = np.concatenate([people.predicted for people in claim.people()])
    after = np.concatenate([claim.predict_worlds(found)[0] for found in seen])
    moved, origin = table.protected.contrasts(table.rows)
    contrast, row = table.places(origin)
    cfu = claim.measure.each(after - before)
    worst = np.argsort(-cfu[contrast], kind="stable")
    contrast, row = contrast[worst], row[worst]
    x_cf = np.concatenate([found.x_cf[0] for found in seen])
    flips = None if threshold is None else turned(before >= threshold, after >= threshold, EITHER)[contrast]
    frame = pd.concat(
        [table.units.frame(moved.a, moved.x), table.units.frame(moved.a_cf, x_cf).add_prefix(PREFIX)], axis=1
    ).iloc[contrast]
    group = None if table.protected.levels is None else table.protected.decode(moved.a[contrast])
    found = {
        table.graph.outcome: table.outcome().iloc[row].to_numpy(),
        "prediction": before[contrast] + table.origin,
        f"{PREFIX}prediction": after[contrast] + table.origin,
        "change": (after - before)[contrast],
        "cfu": cfu[contrast],
        "weight": table.weight[row] / table.protected.n_targets(moved.a[contrast]),
    }
    found |= {} if flips is None else {"flips": flips}
    return Affected(
        frame=_beside(frame.set_axis(table.index[row], axis=0), found),
        group=None if group is None else group.rename(table.graph.protected),
        row=row,
        n_rows=table.y.size,
        weight=found["weight"],
        change=found["change"],
        cfu=found["cfu"],
        flips=flips,
    )


def _cut(values: pd.Series[Any], bins: Any) -> pd.Series[Any]:
    """Numbers as intervals of about equally many people."""
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        raise SettingError(f"bins is {bins!r}, but the column holds no numbers: leave bins out")
    return pd.qcut(values, whole_number(bins, "bins"), duplicates="drop")


def _beside(frame: pd.DataFrame, found: dict[str, Any]) -> pd.DataFrame:
    """Add columns; one whose name the table has already is told apart."""
    named = {f"{name} of the audit" if name in frame.columns else name: values for name, values in found.items()}
    return frame.assign(**named)
