"""Decisions by a threshold: whose turns, under Model A and at worst, and at least and at most within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstress.analyses.bounds import bounds
from fairstress.analyses.groups import flip_shares
from fairstress.analyses.tabular import Shown
from fairstress.analyses.worst_case import WorstCase
from fairstress.budgets import Budget
from fairstress.claim.build import Fitted
from fairstress.claim.evaluate import turned
from fairstress.functionals.decisions import EITHER, flips, read_threshold
from fairstress.model.fit import Fit
from fairstress.options import Search

ROUNDING = 1e-12  # of a share of people


@dataclass(frozen=True, slots=True, eq=False)
class Extreme(Shown):
    """The smallest or the largest share of everyone whose decision turns, among all that was seen within a budget.

    Examples
    --------
    >>> independent = pd.DataFrame({"x": [1.0, 0.0], "z": [0.0, 1.0]}, index=["x", "z"])
    >>> Extreme(0.12, independent, "The computation converged.")
    <Extreme: decisions of 0.12 of everyone turn>
    """

    share: float  # of everyone
    correlation: pd.DataFrame  # (m, m)
    status: str  # how the search for it ended

    def __repr__(self) -> str:
        return f"<Extreme: decisions of {self.share:.3g} of everyone turn>"


@dataclass(frozen=True, slots=True, eq=False)
class Decisions(Shown):
    """Shares of people whose decision, prediction at or above a threshold, the counterfactual turns.

    Frames have a row for everyone and for each group, and the columns ``gained`` (no turns to yes in the
    counterfactual), ``lost`` (yes turns to no) and ``either``, as `People.flip_shares` gives them.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> data = audit.report(p_max=0.2, sizes=[0, 0.2], grid=[0, 0.2], threshold=0)
    >>> print(data.decisions.worst.round(3).reset_index().to_string(index=False))
           a  gained  lost  either
    everyone   0.067 0.053   0.120
          -1   0.117 0.000   0.117
           1   0.000 0.124   0.124
    """

    threshold: float  # the analyst's; a probability where the outcome has two values
    model_a: pd.DataFrame  # under Model A
    worst: pd.DataFrame  # where CFU is largest within the budget
    lowest: Extreme  # the smallest share within the budget
    highest: Extreme  # the largest share within the budget

    def __repr__(self) -> str:
        shares = f"{self.lowest.share:.3g} to {self.highest.share:.3g}"
        return f"<Decisions by the threshold {self.threshold:g}: the share that turns is {shares}>"


def decisions(fitted: Fitted, threshold: float, worst: WorstCase, budget: Budget, search: Search) -> Decisions:
    """Count turned decisions under Model A and at a worst case, and bound them within its budget."""
    names, scale = list(fitted.variables), fitted.settings.predictor_scale
    model_a = shares_at(fitted, fitted.claim.model_a, threshold)
    at_worst = shares_at(fitted, worst.fit, threshold)
    independent = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
    known = [(of_everyone(model_a), independent), (of_everyone(at_worst), worst.correlation)]
    question = flips(fitted.table, threshold, EITHER, None, scale)
    low, high = bounds(fitted, question, worst.p_max, budget, search, None, None)
    return Decisions(float(threshold), model_a, at_worst, _extreme(low, known, -1.0), _extreme(high, known, 1.0))


def shares_at(fitted: Fitted, fit: Fit, threshold: Any) -> pd.DataFrame:
    """Shares of decisions by a threshold that turn under one Model B, by group."""
    limit = read_threshold(fitted.table, threshold, fitted.settings.predictor_scale)
    rows = fitted.claim.rows
    return flip_shares(fitted.table.protected, rows.a, rows.weight, *turned(fitted.claim, fit, limit))


def of_everyone(shares: pd.DataFrame) -> float:
    """The share of all people whose decision turns, either way."""
    return float(shares.iloc[0][EITHER])


def _extreme(end: WorstCase, known: list[tuple[float, pd.DataFrame]], sign: float) -> Extreme:
    """What a search found, or a correlation of the budget that is known to go beyond it."""
    beyond = [one for one in known if sign * (one[0] - end.value) > ROUNDING]
    share, correlation = max(beyond, key=lambda one: sign * one[0], default=(end.value, end.correlation))
    return Extreme(share, correlation, str(end.status))
