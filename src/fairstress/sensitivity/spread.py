"""Who is affected: each person's CFU at one correlation, by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array
from fairstress.sensitivity.claim import EVERYONE
from fairstress.sensitivity.measure import weighted_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUANTILES = {"median": 0.5, "p90": 0.9, "largest": 1.0}


@dataclass(frozen=True, slots=True)
class Spread:
    """Each person's CFU if the errors have one correlation. Made by `Audit.spread`.

    A person's CFU is the squared change of the prediction, or what another measure makes of it, the mean over the
    levels that the person is moved to; it is missing for those who are moved nowhere.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=2, random_state=0)
    >>> spread = audit.spread({("a", "x"): 0.3})
    >>> print(spread.by_group().round(3).to_string(index=False))
     group  people  mean  median   p90  largest
        -1     171 0.637   0.634 0.789    1.063
         1     129 0.612   0.593 0.800    1.031
    >>> spread.to_frame().columns.tolist()
    ['group', 'cfu', 'weight']
    """

    protected: str
    groups: tuple[Any, ...]  # in the order of their codes; one, "everyone", for a numeric attribute
    people: pd.DataFrame  # one row per person: group, cfu, weight
    cfu: float  # everyone's
    is_squared: bool = True  # whether CFU is in squared units of the outcome

    def to_frame(self) -> pd.DataFrame:
        """One row per person, labelled as in the analyst's table: ``group, cfu, weight``."""
        return self.people.copy()

    def distribution(self) -> pd.DataFrame:
        """One row per group and distinct CFU: ``group, cfu, share``, the part of the group with at least that CFU."""
        parts = [_at_least(group, *self._of(group)) for group in self.groups]
        return pd.concat(parts, ignore_index=True)

    def by_group(self) -> pd.DataFrame:
        """One row per group: ``people``, their mean CFU and its median, 90th percentile and largest value."""
        rows = []
        for group in self.groups:
            cfu, weight = self._of(group)
            spread = {name: weighted_quantile(cfu, weight, q) for name, q in QUANTILES.items()}
            rows.append({"group": group, "people": cfu.size, "mean": float(cfu @ weight / weight.sum()), **spread})
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the part of each group whose CFU is at least so large; the frame is `distribution`."""
        from fairstress.report.plots import plot_people

        return plot_people(self, ax)

    def _of(self, group: Any) -> tuple[Array, Array]:
        """CFU and weights of a group's people, as far as they count and are moved."""
        own = self.people[(self.people["group"] == group) & (self.people["weight"] > 0) & self.people["cfu"].notna()]
        return own["cfu"].to_numpy(), own["weight"].to_numpy()


def spread(table: Table, cfu: Array, mean: float, *, is_squared: bool) -> Spread:
    """Put each row's CFU (n,) beside its group."""
    coding = table.protected
    group: Any = EVERYONE if coding.levels is None else coding.decode(table.rows.a[table.row_of]).to_numpy()
    people = pd.DataFrame({"group": group, "cfu": cfu, "weight": table.weight}, index=table.index)
    moved = people[people["cfu"].notna() & (people["weight"] > 0)]
    groups = tuple(g for g in coding.levels or (EVERYONE,) if (moved["group"] == g).any())
    return Spread(coding.name, groups, people, mean, is_squared)


def _at_least(group: Any, cfu: Array, weight: Array) -> pd.DataFrame:
    """Share of the weight with at least each distinct CFU."""
    values, place = np.unique(cfu, return_inverse=True)
    mass = np.bincount(place, weight)
    share = mass[::-1].cumsum()[::-1] / mass.sum()
    return pd.DataFrame({"group": group, "cfu": values, "share": share})
