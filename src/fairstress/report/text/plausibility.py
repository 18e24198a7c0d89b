"""Plausibility of counterfactual people in prose and as a table. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairstress.report.text.markup import Sheet, fill

if TYPE_CHECKING:
    from fairstress.analyses.plausibility import Plausibility


def plausibility_summary(found: Plausibility) -> str:
    """Say how many counterfactual people cannot exist, and what to do."""
    parts = [impossible_sentence(found), *found.sentences]
    parts += [str(found.leakage)] if found.leakage else []
    return "\n\n".join(fill(part) for part in parts)


def impossible_sentence(found: Plausibility) -> str:
    """How many people have a counterfactual that cannot exist."""
    if not found.features:
        return "No feature moves when the protected attribute changes, so that all counterfactual people can exist."
    if found.impossible == 0:
        return "All counterfactual values lie within the observed range."
    head = f"{_percent(found.impossible)} of people have a counterfactual value outside the observed range."
    if not found.mostly_impossible:
        return head
    most = "Most counterfactual people are like nobody in the data"
    return f"{head} {most}: mend the kinds of features before reading anything else."


def plausibility_table(found: Plausibility) -> Sheet:
    """The shares, feature by feature."""
    head = ("Feature", "Kind", "Observed", "Outside, people", "Between values, people")
    rows = tuple(
        (
            one.feature,
            one.kind,
            f"{one.lowest:g} to {one.highest:g}",
            _percent(one.outside),
            "" if one.off_lattice is None else _percent(one.off_lattice),
        )
        for one in found.features
    )
    notes = (impossible_sentence(found), *found.sentences)
    return Sheet("Whether counterfactual people can exist", head, rows, notes)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %" if share == 1 else f"{100 * share:.1f} %"
