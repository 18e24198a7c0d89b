"""Who is affected: everyone's factual and counterfactual features and predictions at one correlation."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.analyses.groups import EVERYONE, flip_shares
from fairstress.analyses.tabular import Shown
from fairstress.arguments import as_float, is_list, whole_number
from fairstress.claim.build import Fitted
from fairstress.claim.evaluate import predictions, turned
from fairstress.claim.measure import Measure, weighted_quantile
from fairstress.errors import SettingError, did_you_mean, show
from fairstress.functionals.decisions import read_threshold
from fairstress.inputs.protected import ProtectedCoding
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.counterfactual import Leaves
from fairstress.model.fit import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PREFIX = "counterfactual "
QUANTILES = (0.5, 0.9, 0.99)
DIGITS = 9  # of CFU, relative to the largest, by which people are put in order


@dataclass(frozen=True, slots=True, eq=False)
class People(Shown):
    """Everyone at one correlation, those with the largest CFU first. Made by `Audit.people`.

    A row is a person, or a person and a value of the protected attribute that they are moved to, among which the
    person's weight is shared. A person's CFU is the mean over these values; means and quantiles are over people, each
    as many as the weight says. All arrays are in the order of ``frame``.

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
    (-3.592, 0.0563]   150.0 0.667
     (0.0563, 2.861]   150.0 0.585
    >>> people.quantiles([0.5, 0.9]).round(3).tolist()
    [0.62, 0.791]
    """

    frame: pd.DataFrame = field(repr=False)  # labelled by the analyst's index
    row: IntArray = field(repr=False)  # position in the analyst's table
    n_rows: int  # of that table
    weight: Array = field(repr=False)  # of each row
    prediction: Array = field(repr=False)  # factual
    counterfactual_prediction: Array = field(repr=False)  # in the other world
    cfu: Array = field(repr=False)  # of each row
    a: Array = field(repr=False)  # code of the protected attribute
    a_cf: Array = field(repr=False)  # and of the value that the person is moved to
    protected: ProtectedCoding = field(repr=False)  # how the protected attribute is coded
    measure: Measure = field(repr=False)  # what is made of changes
    is_in_units: bool = field(repr=False)  # whether CFU is in squared units of the outcome
    threshold: float | None = field(repr=False)  # of a decision, as predictions are
    gained: Array = field(repr=False)  # the probability that the decision turns to yes; none without a threshold
    lost: Array = field(repr=False)  # the probability that it turns to no

    @property
    def change(self) -> Array:
        """Of each prediction, from factual to counterfactual."""
        return self.counterfactual_prediction - self.prediction

    @property
    def total(self) -> float:
        """Everyone's CFU."""
        return self._measured(np.ones(self.cfu.size, dtype=bool))

    def to_frame(self) -> pd.DataFrame:
        """One row per person, or person and value that they are moved to, worst first.

        The protected attribute, the features and the outcome as they are, then the counterfactual ones, then
        ``prediction``, ``counterfactual prediction``, ``change``, ``cfu``, ``weight`` and, with a threshold, ``flips``.
        """
        return self.frame

    def by_group(self, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
        """CFU by level of the protected attribute.

        Parameters
        ----------
        quantiles
            Which quantiles of CFU to give, default 0.5, 0.9 and 0.99.

        Returns
        -------
        DataFrame
            A row for each level: ``people`` (the sum of their weights), mean ``cfu`` and ``change`` of the prediction,
            quantiles of CFU, and, with a threshold, the share whose decision ``flips``.
        """
        if self.protected.levels is None:
            raise SettingError("the protected attribute is numeric: give its column and a number of bins to by()")
        asked = _read_quantiles(quantiles, "quantiles")
        return self._by(self.protected.decode(self.a).rename(self.protected.name), asked)

    def by(self, column: Any, *, bins: int | None = None) -> pd.DataFrame:
        """CFU by the values of a column; people whose value is missing are a class of their own, the last.

        Parameters
        ----------
        column
            Name of a column of this frame, or one value for each row of the audited table, in its order: a column
            that the audit has not seen.
        bins
            Cut numbers into this many classes of about equally many people; default not at all.

        Returns
        -------
        DataFrame
            A row for each value, with the columns of `by_group`.
        """
        values = self._column(column)
        return self._by(values if bins is None else _cut(values, bins, self.weight))

    def by_levels(self) -> pd.DataFrame:
        """CFU for each pair of levels: those that people have (rows) and those that they are moved to (columns)."""
        coding = self.protected
        if coding.levels is None:
            raise SettingError(f"'{coding.name}' is numeric: CFU by levels needs a protected attribute with levels")
        frame = pd.DataFrame(np.nan, index=list(coding.levels), columns=list(coding.levels))
        for a, b in {(a, b) for a, b in zip(self.a.tolist(), self.a_cf.tolist(), strict=True)}:
            frame.loc[coding.level(a), coding.level(b)] = self._measured((self.a == a) & (self.a_cf == b))
        return frame.rename_axis(index=coding.name, columns="moved to")

    def flip_shares(self) -> pd.DataFrame:
        """Shares of people whose decision the counterfactual turns, by group (rows, everyone first) and direction.

        The decision is a prediction at or above the threshold. ``gained``: no turns to yes in the counterfactual;
        ``lost``: yes turns to no; ``either``: both together.
        """
        if self.threshold is None:
            raise SettingError("no threshold is given, so that there are no decisions: give one to audit.people")
        return flip_shares(self.protected, self.a, self.weight, self.gained, self.lost)

    def quantiles(self, levels: Sequence[float] = QUANTILES) -> pd.Series[float]:
        """Quantiles of CFU over people.

        Parameters
        ----------
        levels
            Numbers from 0 to 1, default 0.5, 0.9 and 0.99.
        """
        asked = _read_quantiles(levels, "levels")
        cfu, weight = self._persons(np.ones(self.cfu.size, dtype=bool))
        return pd.Series([weighted_quantile(cfu, weight, q) for q in asked], index=asked, name="cfu")

    def distribution(self) -> pd.DataFrame:
        """How CFU is distributed over the people of each group.

        Returns
        -------
        DataFrame
            One row per group and distinct CFU: ``group``, ``cfu`` and ``share``, the part of the group with at least
            that CFU. A numeric attribute has one group, ``everyone``.
        """
        if self.protected.levels is None:
            return _at_least(EVERYONE, *self._persons(np.ones(self.cfu.size, dtype=bool)))
        codes = zip(self.protected.levels, self.protected.codes, strict=True)
        own = [(level, (self.a == code) & (self.weight > 0)) for level, code in codes]
        return pd.concat([_at_least(level, *self._persons(w)) for level, w in own if w.any()], ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the part of each group whose CFU is at least so large. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Where to draw, default new Axes.
        """
        from fairstress.report.plots.curves import plot_people

        return plot_people(self, ax)

    def __repr__(self) -> str:
        people = np.unique(self.row).size
        return (
            f"<People: {people:,} of {self.n_rows:,}, CFU up to {self.cfu.max():.4g}; to_frame() has them, worst first>"
        )

    # ------------------------------------------------------------ inside

    def _by(self, values: pd.Series[Any], quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
        codes, keys = pd.factorize(values, sort=True, use_na_sentinel=False)
        rows = [self.summarise(codes == i, quantiles) for i in range(len(keys))]
        return pd.DataFrame(rows, index=pd.Index(keys, name=values.name))

    def summarise(self, who: Any, quantiles: Sequence[float] = QUANTILES) -> dict[str, float]:
        """One class of people: how many they are, mean and quantiles of CFU, mean change, and how many flip.

        Parameters
        ----------
        who
            One truth value for each row of ``frame``.
        quantiles
            Which quantiles of CFU to give, default 0.5, 0.9 and 0.99.
        """
        weight = self.weight[who]
        total = float(weight.sum())
        share = weight / total if total else np.full(weight.size, np.nan)
        summary = {
            "people": total,
            "cfu": float((share * self.cfu[who]).sum()),  # a sum, unlike a product, does not depend on threads
            "change": float((share * self.change[who]).sum()),
        }
        if total:
            cfu, persons = self._persons(who)
            summary |= {f"cfu quantile {q:g}": weighted_quantile(cfu, persons, q) for q in quantiles}
        if self.threshold is not None:
            summary["flips"] = float((share * (self.gained + self.lost)[who]).sum())
        return summary

    def _persons(self, who: Any) -> tuple[Array, Array]:
        """CFU, the mean over what a person is moved to, and weight of each person among some rows."""
        counted = np.asarray(who) & (self.weight > 0)
        _, person = np.unique(self.row[counted], return_inverse=True)
        weight = np.bincount(person, self.weight[counted])
        return np.bincount(person, self.weight[counted] * self.cfu[counted]) / weight, weight.astype(float)

    def _measured(self, who: Any) -> float:
        """What the measure makes of some rows' changes."""
        change, weight = self.change[who], self.weight[who]
        if self.measure.of_all is not None:
            return self.measure.of_all(change[weight > 0], weight[weight > 0])
        return float((weight * self.cfu[who]).sum() / weight.sum())

    def _column(self, column: Any) -> pd.Series[Any]:
        if isinstance(column, str):
            if column not in self.frame.columns:
                near = did_you_mean(column, map(str, self.frame.columns))
                raise SettingError(
                    f"column is {show(column)}, which is not in the frame{near}; a column that the audit has not seen "
                    f"is given by its values, frame[{show(column)}]"
                )
            return self.frame[column]
        if not is_list(column) or isinstance(column, Set):
            raise SettingError(f"column is {show(column)}: give the name of a column, or one value for each row")
        values = pd.Series(column)
        if len(values) != self.n_rows:
            raise SettingError(
                f"column has {len(values)} values, but the table has {self.n_rows} rows: give one for each row"
            )
        return values.iloc[self.row]


def _read_quantiles(levels: Any, name: str) -> list[float]:
    """Check which quantiles are asked for."""
    if not is_list(levels):
        raise SettingError(f"{name} is {show(levels)}: give a list of numbers from 0 to 1")
    asked = list(levels)
    for q in asked:
        if not (isinstance(q, Real) and 0 <= as_float(q) <= 1):
            raise SettingError(f"{name} has {show(q)}: give numbers from 0 to 1")
    return asked


def people(fitted: Fitted, fit: Fit, threshold: Any = None) -> People:
    """Put everyone's two worlds under Model B side by side."""
    table, claim, scale = fitted.table, fitted.whole, fitted.settings.predictor_scale
    limit = None if threshold is None else read_threshold(table, threshold, scale)
    before, after, cfu = predictions(claim, fit)
    gained, lost = (np.zeros(0),) * 2 if limit is None else turned(claim, fit, limit)
    moved, origin = table.protected.contrasts(table.rows)
    contrast, row = table.places(origin)
    worst = worst_first(cfu[contrast])
    contrast, row = contrast[worst], row[worst]
    here, leaves = table.units.frame(moved.a, moved.x), claim.counterfactual_rows(fit)
    likeliest = leaves.likeliest(moved.a.size)
    there = table.units.frame(moved.a_cf, leaves.x[likeliest]).add_prefix(PREFIX)
    chances = level_probabilities(fitted, leaves, moved.a.size)
    weight = table.weight[row] / table.protected.n_targets(moved.a[contrast])
    columns: dict[str, Any] = {
        table.graph.outcome: table.outcome().iloc[row].to_numpy(),
        "prediction": before[contrast] + table.origin,
        f"{PREFIX}prediction": after[contrast] + table.origin,
        "change": (after - before)[contrast],
        "cfu": cfu[contrast],
        "weight": weight,
    }
    if limit is not None:
        flips = (gained + lost)[contrast]
        columns["flips"] = flips if claim.is_mixed else flips > 0
    both = pd.concat([here, there, chances], axis=1).iloc[contrast].set_axis(table.index[row], axis=0)
    return People(
        frame=_beside(both, columns),
        row=row,
        n_rows=table.y.size,
        weight=weight,
        prediction=before[contrast],
        counterfactual_prediction=after[contrast],
        cfu=cfu[contrast],
        a=moved.a[contrast],
        a_cf=moved.a_cf[contrast],
        protected=table.protected,
        measure=claim.measure,
        is_in_units=bool(np.isfinite(fitted.context.outcome_variance)),
        threshold=limit,
        gained=gained if limit is None else gained[contrast],
        lost=lost if limit is None else lost[contrast],
    )


def level_probabilities(fitted: Fitted, leaves: Leaves, n: int) -> pd.DataFrame:
    """(n, levels) the probability of each counterfactual level of each ordered feature that moves, for n rows."""
    columns = {}
    for equation in fitted.claim.design.equations:
        if equation.law.is_ordered and equation.moves:
            names = fitted.table.kinds[equation.feature].levels
            for name, code in zip(names, equation.law.codes, strict=True):
                chance = leaves.probability * (leaves.x[:, equation.column] == code)
                columns[f"probability of {equation.feature} = {name}"] = np.bincount(leaves.owner, chance, minlength=n)
    return pd.DataFrame(columns, index=range(n))


def worst_first(cfu: Array) -> IntArray:
    """The order of rows from the largest CFU down; what differs by rounding alone stays in the table's order."""
    return np.argsort(-np.round(cfu / (float(cfu.max()) or 1.0), DIGITS), kind="stable")


def worst_rows(fitted: Fitted, fit: Fit, count: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The distinct rows with the largest CFU: their predictions in both worlds, and their features in both."""
    table, claim, coding = fitted.table, fitted.whole, fitted.table.protected
    rows, origin = coding.contrasts(table.rows)
    before, after, cfu = predictions(claim, fit)
    order = worst_first(cfu)
    order = order[claim.rows.weight[order] > 0][:count]
    labels = pd.Series(table.index).groupby(table.row_of).first()
    frame = pd.DataFrame(
        {
            "label": [labels.get(i) for i in origin[order]],
            "people": table.rows.weight[origin[order]],
            "from": coding.decode(rows.a[order]).to_numpy(),
            "to": coding.decode(rows.a_cf[order]).to_numpy(),
            "prediction": before[order] + table.origin,
            "prediction_counterfactual": after[order] + table.origin,
            "cfu": cfu[order],
        }
    )
    leaves = claim.counterfactual_rows(fit)
    worlds = {"factual": rows.x[order], "counterfactual": leaves.x[leaves.likeliest(rows.a.size)[order]]}
    shown = {
        (own.name, world): pd.Series(own.decode(x[:, j]))
        for j, own in enumerate(table.units.features)
        for world, x in worlds.items()
    }
    return frame, pd.DataFrame(shown)


def _at_least(group: Any, cfu: Array, weight: Array) -> pd.DataFrame:
    """Share of the weight with at least each distinct CFU."""
    values, place = np.unique(cfu, return_inverse=True)
    mass = np.bincount(place, weight)
    share = mass[::-1].cumsum()[::-1] / mass.sum()
    return pd.DataFrame({"group": group, "cfu": values, "share": share})


def _cut(values: pd.Series[Any], bins: Any, weight: Array) -> pd.Series[Any]:
    """Numbers as intervals of about equally many people, each row as many as its weight says."""
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        raise SettingError(f"bins is {show(bins)}, but the column holds no numbers: leave bins out")
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    counted = ~np.isnan(numbers) & (weight > 0)
    count = whole_number(bins, "bins")
    if count > len(values):
        raise SettingError(f"bins is {count:,}, but there are {len(values):,} rows: give at most as many classes")
    inner = [weighted_quantile(numbers[counted], weight[counted], i / count) for i in range(1, count)]
    edges = sorted({float(np.nanmin(numbers)), *inner, float(np.nanmax(numbers))})
    return pd.cut(values, edges if len(edges) > 1 else 1, include_lowest=True)


def _beside(frame: pd.DataFrame, columns: dict[str, Any]) -> pd.DataFrame:
    """Add columns; one whose name the table has already gets another."""
    named = {f"{name} of the audit" if name in frame.columns else name: values for name, values in columns.items()}
    return frame.assign(**named)
