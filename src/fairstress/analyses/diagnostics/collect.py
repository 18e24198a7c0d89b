"""All checks of an audit, one after the other, and their verdicts."""

from __future__ import annotations

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


def diagnostics(fitted: Fitted, P: Array | None = None, random_state: int | None = None) -> Diagnostics:
    """Check what the audit assumes, and see at P, where it is given, whose leaving out moves CFU most."""
    rng = np.random.default_rng(random_state or 0)
    sample, tie_of = take_sample(fitted, rng), ties(fitted)
    found = [
        one
        for name, own in sample.errors.items()
        for check in CHECKS
        for one in check(fitted, sample, tie_of[name], own)
    ]
    implied, leaks = check_independences(fitted, sample, tie_of), leakage(fitted, random_state)
    found += [*implied.found, *check_overlap(fitted, rng)]
    if leaks is not None and np.isfinite(leaks.auc):
        found.append(_check_leakage(fitted, sample, leaks, tie_of))
    return Diagnostics(
        checks=judged(found),
        equations=equations(fitted),
        cross_validation=cross_validation(fitted),
        leakage=leaks,
        influence=None if P is None else influence(fitted, P, lambda at: _named(fitted, at)),
        untested=tuple(map(_words, implied.untested)),
        people=int(sample.rows.a.size),
        effective_people=sample.size,
    )


def _named(fitted: Fitted, P: Array) -> pd.DataFrame:
    return pd.DataFrame(P, index=list(fitted.variables), columns=list(fitted.variables))


def _words(one: Independence) -> str:
    return f"{one.second} and {one.first}{f' given {listed(one.given)}' if one.given else ''}"


def _check_leakage(fitted: Fitted, sample: Sample, leaks: Leakage, tie_of: dict[str, Tie]) -> Diagnostic:
    """Whether the classifier does better than chance, by the variance of Mann and Whitney's statistic."""
    share, errors = leaks.people / sample.rows.a.size, []
    for code in fitted.table.protected.codes:
        own = sample.rows.a == code
        n = [share * effective(sample.weight[which], sample.square[which]) for which in (own, ~own)]
        errors.append(np.sqrt((n[0] + n[1] + 1) / (12 * max(n[0] * n[1], 1.0))))
    p = float(special.ndtr(-(leaks.auc - 0.5) / np.mean(errors)))
    protected, implied = fitted.graph.protected, _tells_nothing(fitted, sample, tie_of)
    head = f"A classifier tells '{protected}' from the errors of the features with an AUC of {leaks.auc:.2f}, so that "
    head += "they are not all that a person would keep in the other world"
    way = f": try other kinds or higher degrees, or let a hidden cause lie behind '{protected}' by a pair."
    text = head + (way if implied else "; hidden causes behind the pairs of the graph could have a part in that.")
    return Diagnostic(LEAKAGE, protected, "errors", leaks.auc, p, implied, None, text)


def _tells_nothing(fitted: Fitted, sample: Sample, tie_of: dict[str, Tie]) -> bool:
    """Whether the errors, taken together, are independent of the protected attribute, however pairs are correlated."""
    paired = {end for pair in fitted.graph.pairs for end in pair}
    seen = all(own.scores is None for name, own in sample.errors.items() if name in paired)
    return seen and all(tie_of[e.feature].is_free for e in fitted.claim.design.equations if e.descends)
