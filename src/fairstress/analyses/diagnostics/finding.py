"""One check of an assumption: what was measured, how surprising it is, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairstress.analyses.diagnostics.sample import holm
from fairstress.analyses.tabular import Shown

LEVEL = 0.05  # probability of any alarm where the model is right
ALARM, ALLOWED, QUIET = "alarm", "allowed by a pair", "quiet"

SKEWNESS, KURTOSIS = "skewness", "kurtosis"
SCALE, SPREADING = "scale by group", "spread"
INTERACTION, CURVATURE = "interaction", "curvature"
INDEPENDENCE, OVERLAP, LEAKAGE = "independence", "overlap", "leakage"

MEASURED = {
    SKEWNESS: "skewness of the errors",
    KURTOSIS: "their kurtosis beyond a normal error's",
    SCALE: "the widest group's deviation over the narrowest's",
    SPREADING: "share of the squared errors' variance that the parents explain",
    INTERACTION: "share of the errors' variance that interactions with the protected attribute explain",
    CURVATURE: "share of the errors' variance that higher powers and products of the parents explain",
    INDEPENDENCE: "share of the variance that the other variable explains",
    OVERLAP: "share of people whose counterfactual lies where the other group has nobody",
    LEAKAGE: "AUC of telling the protected attribute from the errors",
}
LARGE = {  # what is smaller in size is no alarm, however sure
    SKEWNESS: 0.5,
    KURTOSIS: 1.0,
    SCALE: 1.1,
    SPREADING: 0.01,
    INTERACTION: 0.005,
    CURVATURE: 0.005,
    INDEPENDENCE: 0.005,
    OVERLAP: 0.1,
    LEAKAGE: 0.55,
}
MEANING = {
    SKEWNESS: "With skewed errors influences may add up on another scale, and CFU at a correlation, worked out for "
    "normal errors, is approximate: the kinds log, log1p and rank have other scales.",
    KURTOSIS: "With heavy tails a few extreme people carry CFU, which is worked out for normal errors: the kind rank "
    "has lighter ones.",
    SCALE: "Errors that are wider in one group make CFU without any hidden cause: a kind by group gives each group a "
    "scale of its own.",
    SPREADING: "Where errors spread with the parents, a counterfactual keeps too much or too little of them: try "
    "another scale of the feature.",
    INTERACTION: "Parents that act differently by group make CFU without any hidden cause if the equation lacks it: "
    "try a higher degree, or a kind by group.",
    CURVATURE: "A curved influence that the equation lacks stays in what the predictor is shown: try a higher degree.",
    INDEPENDENCE: "Where the data contradict an independence that the graph implies, an edge or a pair is missing.",
    OVERLAP: "Where nobody with the other value is alike, a counterfactual rests on the form of the equation alone: "
    "audit people whom both groups have.",
    LEAKAGE: "Errors that tell the protected attribute are not what a person would keep in the other world: try other "
    "kinds or higher degrees.",
}


@dataclass(frozen=True, slots=True)
class Diagnostic(Shown):
    """One check of what an audit assumes.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
    >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, random_state=0)
    >>> found = next(one for one in audit.diagnostics().alarms if one.check == "scale by group")
    >>> found.feature, round(found.value, 2), round(found.cfu, 4)
    ('lsat', 1.3, 0.0022)
    """

    check: str  # what was checked: "skewness", "kurtosis", "scale by group", "spread", "interaction", "curvature", ...
    feature: str  # whose error, or the later of two variables
    about: str  # a group, another variable, or the parents
    value: float  # what was measured, `measured` says what
    p_value: float  # how probable a larger one is if the model is right; NaN where that is not known
    is_implied: bool  # whether the graph with its pairs implies it; otherwise Model A alone, independent errors, does
    cfu: float | None = None  # that this departure alone would make, where it can be said
    sentence: str = ""  # what it means for this audit, and what to do
    adjusted: float = 1.0  # the p-value, raised for the number of checks (Holm)
    verdict: str = QUIET  # "alarm", "allowed by a pair" that the graph has, or "quiet"
    freedom: int = field(default=1, repr=False)  # degrees of freedom of the test

    @property
    def measured(self) -> str:
        """What `value` is."""
        return MEASURED[self.check]

    @property
    def is_large(self) -> bool:
        """Whether it is large enough to matter."""
        size = abs(self.value) if self.check in (SKEWNESS, KURTOSIS) else self.value
        return size >= LARGE[self.check]


def judged(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Give each check its verdict, with a probability of 5 % for any alarm where the model is right.

    What the graph implies is one family; what Model A alone implies is another, and no alarm.
    """
    adjusted = np.ones(len(found))
    for implied in (True, False):
        own = [i for i, one in enumerate(found) if one.is_implied == implied and np.isfinite(one.p_value)]
        if own:
            adjusted[own] = holm(np.array([found[i].p_value for i in own]))
    return tuple(_verdict(one, float(p)) for one, p in zip(found, adjusted, strict=True))


def _verdict(one: Diagnostic, adjusted: float) -> Diagnostic:
    if adjusted > LEVEL or not one.is_large:
        return replace(one, adjusted=adjusted, cfu=one.cfu if one.check == SCALE else None, sentence=MEANING[one.check])
    return replace(one, adjusted=adjusted, verdict=ALARM if one.is_implied else ALLOWED)
