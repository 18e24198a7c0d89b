"""All checks of an audit, one after the other, and their verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

from fairstress.analyses.absorption import listed
from fairstress.analyses.diagnostics.equations import cross_validation, equations
from fairstress.analyses.diagnostics.finding import LEAKAGE, Diagnostic, judged
from fairstress.analyses.diagnostics.form import check_form
from fairstress.analyses.diagnostics.implied import Independence, Tie, ties
from fairstress.analyses.diagnostics.independence import check_independences
from fairstress.analyses.diagnostics.influence import influence
from fairstress.analyses.diagnostics.overlap import check_overlap
from fairstress.analyses.diagnostics.result import Diagnostics
from fairstress.analyses.diagnostics.sample import Sample, effective, take_sample
from fairstress.analyses.diagnostics.scale import check_scale, check_spread
from fairstress.analyses.diagnostics.shape import check_shape
from fairstress.analyses.leakage import Leakage, leakage
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array

CHECKS = (check_shape, check_scale, check_spread, check_form)


@dataclass(frozen=True, slots=True)
class Chance:
    """What a classifier's AUC would be by chance, by the variance of Mann and Whitney's statistic."""

    protected: str
    groups: tuple[tuple[float, float], ...]  # effective people of each group of the attribute, and of all others
    people: int  # whose errors were looked at
    is_implied: bool

    @classmethod
    def of(cls, fitted: Fitted, sample: Sample, tie_of: dict[str, Tie]) -> Chance:
        """Take it from the people whose errors are looked at."""
        groups = []
        for code in fitted.table.protected.codes:
            own = sample.rows.a == code
            of_own, of_others = (effective(sample.weight[which], sample.square[which]) for which in (own, ~own))
            groups.append((of_own, of_others))
        implied = _tells_nothing(fitted, sample, tie_of)
        return cls(fitted.graph.protected, tuple(groups), int(sample.rows.a.size), implied)

    def check(self, leaks: Leakage) -> Diagnostic:
        """Whether a classifier did better."""
        share, errors = leaks.people / self.people, []
        for group in self.groups:
            own, others = (share * size for size in group)
            errors.append(np.sqrt((own + others + 1) / (12 * max(own * others, 1.0))))
        p = float(special.ndtr(-(leaks.auc - 0.5) / np.mean(errors)))
        head = f"A classifier tells '{self.protected}' from the errors of the features with an AUC of {leaks.auc:.2f}, "
        head += "so that they are not all that a person would keep in the other world"
        tail = "; hidden causes behind the pairs of the graph could have a part in that."
        if self.is_implied:
            tail = ": try other kinds or higher degrees, or let a hidden cause lie behind "
            tail += f"'{self.protected}' by a pair."
        return Diagnostic(LEAKAGE, self.protected, "errors", leaks.auc, p, self.is_implied, None, head + tail)


@dataclass(frozen=True, slots=True, eq=False)
class Checks:
    """All checks but that of a classifier, which takes longer than the others, and what that one is judged by."""

    chance: Chance
    _found: tuple[Diagnostic, ...]  # without verdicts, which hang on how many there are
    _rest: Diagnostics

    def with_leakage(self, leaks: Leakage | None) -> Diagnostics:
        """Add what the classifier found, where there is one, and give all their verdicts."""
        found = self._found
        if leaks is not None and np.isfinite(leaks.auc):
            found = (*found, self.chance.check(leaks))
        return replace(self._rest, checks=judged(found), leakage=leaks)


def diagnostics(fitted: Fitted, P: Array | None = None, random_state: int | None = None) -> Diagnostics:
    """Check what the audit assumes, and see at P, where it is given, whose leaving out moves CFU most."""
    return run_checks(fitted, P, random_state).with_leakage(leakage(fitted, random_state))


def run_checks(fitted: Fitted, P: Array | None, random_state: int | None) -> Checks:
    """Make all checks that need no classifier."""
    rng = np.random.default_rng(random_state or 0)
    sample, tie_of = take_sample(fitted, rng), ties(fitted)
    found = [
        one
        for name, own in sample.errors.items()
        for check in CHECKS
        for one in check(fitted, sample, tie_of[name], own)
    ]
    implied = check_independences(fitted, sample, tie_of)
    rest = Diagnostics(
        checks=(),
        equations=equations(fitted),
        cross_validation=cross_validation(fitted),
        leakage=None,
        influence=None if P is None else influence(fitted, P, lambda at: _named(fitted, at)),
        untested=tuple(map(_words, implied.untested)),
        people=int(sample.rows.a.size),
        effective_people=sample.size,
    )
    found += [*implied.found, *check_overlap(fitted, rng)]
    return Checks(Chance.of(fitted, sample, tie_of), tuple(found), rest)


def _named(fitted: Fitted, P: Array) -> pd.DataFrame:
    return pd.DataFrame(P, index=list(fitted.variables), columns=list(fitted.variables))


def _words(one: Independence) -> str:
    return f"{one.second} and {one.first}{f' given {listed(one.given)}' if one.given else ''}"


def _tells_nothing(fitted: Fitted, sample: Sample, tie_of: dict[str, Tie]) -> bool:
    """Whether the errors, taken together, are independent of the protected attribute, however pairs are correlated."""
    paired = {end for pair in fitted.graph.pairs for end in pair}
    seen = all(own.scores is None for name, own in sample.errors.items() if name in paired)
    return seen and all(tie_of[e.feature].is_free for e in fitted.claim.design.equations if e.descends)
