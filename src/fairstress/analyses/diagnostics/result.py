"""All diagnostics of an audit as a result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from fairstress.analyses.diagnostics.finding import ALARM, ALLOWED, Diagnostic
from fairstress.analyses.diagnostics.influence import Influence
from fairstress.analyses.leakage import Leakage
from fairstress.analyses.tabular import Tabular

if TYPE_CHECKING:
    from fairstress.report.text.markup import Sheet


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics(Tabular):
    """Whether the data contradict what an audit assumes, and what to do then. Made by `Audit.diagnostics`.

    If the graph, the kinds and the degrees are right, any alarm at all is raised with a probability of at most 5 %,
    however the errors of the graph's pairs are correlated. What only Model A's independent errors forbid is no alarm:
    it is ``allowed``, since the graph's pairs may be behind it.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("race -> ugpa -> lsat", protected="race", outcome="zfya")
    >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, random_state=0)
    >>> found = audit.diagnostics()
    >>> [(one.check, one.feature, one.about) for one in found.alarms if one.check == "independence"]
    [('independence', 'lsat', 'race')]
    >>> found.equations[["feature", "r2"]].round(2).to_dict("records")
    [{'feature': 'ugpa', 'r2': 0.03}, {'feature': 'lsat', 'r2': 0.06}]
    """

    checks: tuple[Diagnostic, ...]  # all that was checked
    equations: pd.DataFrame = field(repr=False)  # feature, kind, degree, penalty, r2, measured
    cross_validation: pd.DataFrame = field(repr=False)  # name, degree, penalty, score, measured, chosen
    leakage: Leakage | None  # how well the protected attribute is told from errors; None for a numeric one
    influence: Influence | None  # how far CFU rests on single people, where a correlation was given
    untested: tuple[str, ...]  # independences that the graph implies and no equation tells how to test
    people: int  # whose errors were looked at
    effective_people: float  # of equal weight, who would tell as much

    @property
    def alarms(self) -> tuple[Diagnostic, ...]:
        """What neither the graph nor any correlation of its pairs explains."""
        return tuple(one for one in self.checks if one.verdict == ALARM)

    @property
    def allowed(self) -> tuple[Diagnostic, ...]:
        """What contradicts independent errors, and what the graph's pairs may be behind."""
        return tuple(one for one in self.checks if one.verdict == ALLOWED)

    def to_frame(self) -> pd.DataFrame:
        """One row per check.

        Columns
        -------
        check, feature, about
            What was checked, of whose error, and with respect to which group or variable.
        value, measured
            What was measured, and what that is.
        p_value, adjusted
            How probable a larger value is if the model is right, and the same raised for the number of checks.
        verdict, implied
            ``"alarm"``, ``"allowed by a pair"`` or ``"quiet"``, and whether the graph with its pairs implies what was
            checked, or Model A alone.
        cfu
            The CFU that this departure alone would make, where it can be said.
        sentence
            What it means for this audit, and what to do.
        """
        names = ("check", "feature", "about", "value", "measured", "p_value", "adjusted", "verdict")
        rows = [{**{n: getattr(one, n) for n in names}, "implied": one.is_implied} for one in self.checks]
        more = [{"cfu": one.cfu, "sentence": one.sentence} for one in self.checks]
        columns = [*names, "implied", "cfu", "sentence"]
        frame = pd.DataFrame([{**a, **b} for a, b in zip(rows, more, strict=True)], columns=columns)
        return frame.astype({"cfu": float})

    def summary(self) -> str:
        """Say in prose what was found, and what to do."""
        from fairstress.report.text.diagnostics import diagnostics_summary

        return diagnostics_summary(self)

    def _sheet(self) -> Sheet:
        from fairstress.report.text.diagnostics import diagnostics_table

        return diagnostics_table(self)

    def __repr__(self) -> str:
        number = len(self.alarms)
        alarms = f"{number} alarm{'s' * (number != 1)} in {len(self.checks)} checks"
        return f"<Diagnostics of {self.people:,} people: {alarms}; summary() says more>"
