"""The words for what stands in saved results: names, amounts in their units, and how strong hidden causes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairstress.report.text.said import listed, name, number

Content = Mapping[str, Any]

FEW = 4  # names that a sentence lists
CHANGES = {"squared": "a typical prediction", "absolute": "the average prediction", "max": "some prediction"}
ERRORS = ("residual of ", "expected error of ")  # how the names of such inputs begin


@dataclass(frozen=True, slots=True)
class Words:
    """The words for what stands in some results."""

    r: Content

    @property
    def conclusion(self) -> Content:
        """What it all comes to."""
        conclusion: Content = self.r["conclusion"]
        return conclusion

    def label(self, column: str) -> str:
        """A column as people call it."""
        return name(self.r["wording"]["labels"].get(column, column))

    def labels(self, columns: Sequence[str]) -> str:
        """Some columns, or how many there are."""
        if len(columns) > FEW:
            return f"{number(len(columns))} features"
        return listed(map(self.label, columns))

    @property
    def protected(self) -> str:
        """The protected attribute."""
        return self.label(self.r["graph"]["protected"])

    @property
    def outcome(self) -> str:
        """The outcome."""
        return self.label(self.r["graph"]["outcome"])

    @property
    def people(self) -> str:
        """The word for those in the rows."""
        return name(self.r["wording"]["people"])

    @property
    def title(self) -> str:
        """The question of the page."""
        return f"Would this prediction be the same if {self.otherwise}?"

    @property
    def otherwise(self) -> str:
        """The protected attribute in the other world: a number is moved by so much."""
        shift, to = self.r["data"].get("shift"), self.r["data"].get("moved_to") or []
        if shift is None:
            return f"{self.protected} were {name(to[0]) if len(to) == 1 else 'different'}"
        unit = self.r["wording"]["units"].get(self.r["graph"]["protected"])
        amount = f"{number(shift, size=True)} {name(unit)}" if unit else number(shift, size=True)
        return f"{self.protected} were {amount} {'higher' if shift > 0 else 'lower'}"

    @property
    def line(self) -> str:
        """What was predicted, of whom, from what."""
        data = self.r["data"]
        levels, people = data["outcome_levels"], f"{number(data['rows'])} {self.people}"
        known = self.r["graph"]["outcome"] in self.r["wording"]["labels"]  # a column's own name stays as it is
        first = _capital(self.outcome) if known else self.outcome
        what = f"The probability that {self.outcome} is {name(levels[1])}" if levels else first
        return f"{what} of {people}, predicted from {self.inputs}. Tested against causes that nobody measured."

    @property
    def inputs(self) -> str:
        """What the predictor is shown."""
        graph = self.r["graph"]
        seen = graph.get("columns_used") or graph["predictor_looks_at"]
        if self.r["settings"].get("predictor_input", "residuals") != "residuals":
            return self.labels(seen)
        errors = [one.partition(" of ")[2] for one in seen if one.startswith(ERRORS)]
        others = list(dict.fromkeys(map(self.column, (one for one in seen if not one.startswith(ERRORS)))))
        if not errors:
            return self.labels(others)
        left = f"what is left of {self.labels(errors)} once the influence of {self.protected} is taken out"
        return f"{self.labels(others)} and {left}" if others else left

    def column(self, shown: str) -> str:
        """The feature behind what a predictor is shown: of a category, one of its levels."""
        return max((one for one in self.r["graph"]["features"] if shown.startswith(one)), key=len, default=shown)

    @property
    def changes(self) -> str:
        """Whose change the numbers are."""
        measure = self.r["settings"].get("measure", "squared")
        return CHANGES.get(measure, f"a prediction (by the measure {name(measure)})")

    def amount(self, change: float) -> str:
        """The size of a change of a prediction, in its units."""
        if self.r["data"]["outcome_levels"] and not self.own_measure:
            if self.r["settings"].get("predictor_scale", "probability") == "log-odds":
                return f"{number(change, size=True)} in log-odds"
            return f"{number(change, unit=100, size=True)} percentage points"
        unit = self.r["wording"]["units"].get(self.r["graph"]["outcome"])
        amount = number(change, size=True)
        return f"{amount} {name(unit)}" if unit and not self.own_measure else amount

    @property
    def own_measure(self) -> bool:
        """Whether the measure is a function of the analyst's, whose units nobody knows."""
        measure = self.r["settings"].get("measure", "squared")
        return measure not in CHANGES and not measure.endswith("quantile")

    def group(self, one: Content) -> str:
        """The people of a group; without a word for people a level's name is no noun, and a number reads as a count."""
        if one["group"] == "everyone":
            return name(one["group"])
        own = self.r["wording"]["people"]
        if own == "people" or not str(one["group"])[:1].isalpha():
            return f"the group {name(one['group'])}"
        return f"{name(one['group'])} {name(own)}"

    @property
    def ends(self) -> str:
        """Who may share hidden causes."""
        return self.labels(list(dict.fromkeys(one for pair in self.r["graph"]["pairs"] for one in pair)))

    @property
    def one_cause(self) -> bool:
        """Whether budgets are of what one cause explains, and not of correlations."""
        details = self.r.get("details")
        return details is not None and details["budget"]["kind"] == "single cause"

    @property
    def strength_is(self) -> str:
        """What the size of a budget is."""
        if self.one_cause:
            return "the largest share of any error that one of them explains"
        return "the largest correlation that they give the errors of two variables"

    @property
    def limited(self) -> str:
        """Bounds and caps of the analyst's, in words."""
        budget = (self.r.get("details") or {}).get("budget", {})
        return (
            " within the bounds given" if budget.get("bounds") else " with the caps given" if budget.get("caps") else ""
        )

    @property
    def correlated(self) -> str:
        """What the size of a budget on pairs is."""
        spectral = ((self.r.get("details") or {}).get("budget") or {}).get("kind") == "spectral"
        return "combined strength" if spectral and len(self.r["graph"]["pairs"]) > 1 else "correlation"

    def size(self, size: float, digits: int = 2) -> str:
        """The size of a budget."""
        return f"{number(size, digits, unit=100)} %" if self.one_cause else number(size, digits)

    def strength(self, size: float, digits: int = 2) -> str:
        """How strong hidden causes are."""
        return f"a {'share' if self.one_cause else self.correlated} of {self.size(size, digits)}"

    def causes(self, size: float) -> str:
        """Hidden causes of a strength."""
        if self.one_cause:
            share = f"{number(size, unit=100)} %"
            return f"one hidden cause that explains {share} of what is unexplained in each of {self.ends}{self.limited}"
        return f"hidden causes that link {self.ends} with {self.strength(size)}{self.limited}"

    def no_causes(self, size: float) -> str:
        """No hidden causes up to a strength, and the verb."""
        if self.one_cause:
            share = f"{number(size, unit=100)} % of what is unexplained in each of {self.ends}{self.limited}"
            return f"No single hidden cause that explains up to {share} was"
        up_to = f"a {self.correlated} of up to {number(size)}{self.limited}"
        return f"No hidden causes that link {self.ends} with {up_to} were"

    @property
    def blind(self) -> str:
        """What the predictor is compared with."""
        return f"a predictor that simply leaves {self.protected} out"


def _capital(label: str) -> str:
    """A marked name with its first letter as a capital."""
    return label[:1] + label[1:2].upper() + label[2:]
