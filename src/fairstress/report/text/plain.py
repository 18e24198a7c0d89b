"""The first screen in plain English: a title, a headline and six answers, from saved results alone.

The page and the terminal say the same sentences. They speak of typical changes of predictions in the outcome's units,
of shares in per cent and of causes; CFU, budgets and searches stand further down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairstress.analyses.conclusion import State
from fairstress.report.text.said import listed, name, number
from fairstress.report.text.words import FEW, Content, Words

QUESTIONS = (
    "Is it fair as it stands?",
    "How much would have to be hidden?",
    "What could happen then?",
    "Who would be affected?",
    "How sure is this?",
    "What does this rest on?",
)


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """What a reader sees first; sentences with marked numbers and names."""

    title: str
    line: str
    claim: str  # the headline's first words
    headline: str
    answers: tuple[tuple[str, str], ...]  # question and answer
    state: str


def first_screen(r: Content) -> FirstScreen:
    """Say what an audit comes to."""
    words = Words(r)
    claim, headline = _HEADLINES[State(r["conclusion"]["state"])](words)
    answers = (_as_it_stands, _how_much, _then, _who, _how_sure, _rests_on)
    said = tuple(zip(QUESTIONS, (answer(words) for answer in answers), strict=True))
    return FirstScreen(words.title, words.line, claim, headline, said, r["conclusion"]["state"])


def _sentence(text: str) -> str:
    """Text at the beginning of a sentence."""
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------- the headline


def _claim(words: Words, otherwise: str) -> str:
    """What holds if nothing is hidden, and otherwise; levels and a holdout leave something even then."""
    if words.conclusion["typical_model_a"] > 0:
        return "Not exactly counterfactually fair, even if nothing is hidden."
    return f"Counterfactually fair if nothing is hidden, {otherwise}."


def _breaks(words: Words) -> tuple[str, str]:
    enough = _sentence(words.causes(words.conclusion["p_max"]))
    return (
        _claim(words, "but perhaps not otherwise"),
        f"{enough} could, in the worst case, make it as unfair as {words.blind} would be under the same causes.",
    )


def _holds(words: Words) -> tuple[str, str]:
    return (
        _claim(words, "and less unfair than the alternative in all that was tried"),
        f"{words.no_causes(words.conclusion['highest'])} found to make it as unfair as {words.blind}.",
    )


def _no_level(words: Words) -> tuple[str, str]:
    there = words.conclusion["there"]
    if not there["typical"]:
        tried = words.no_causes(words.conclusion["highest"])
        return _claim(words, "and in all that was tried"), f"{tried} found to change any prediction."
    return (
        _claim(words, "but perhaps not otherwise"),
        f"{_sentence(words.causes(there['p_max']))} could change {words.changes} by {words.amount(there['typical'])}.",
    )


def _cannot_matter(words: Words) -> tuple[str, str]:
    return (
        "This test cannot tell.",
        f"Hidden causes that link {words.ends} make no difference in this model, apart from what its penalty makes of "
        "them, so the test speaks neither for nor against the predictor.",
    )


def _unfair(words: Words) -> tuple[str, str]:
    own, blind = words.conclusion["typical_model_a"], words.conclusion["typical_blind"]
    beside = ""
    if blind:
        ratio = words.conclusion["ratio_model_a"]
        much = "as much as" if 0.95 < ratio < 1.05 else f"{number(ratio)} times as much as"
        beside = f", {much} one of {words.blind}"
    return (
        "Not counterfactually fair, even if nothing is hidden.",
        f"If {words.otherwise}, {words.changes} would change by {words.amount(own)}{beside}.",
    )


def _impossible(words: Words) -> tuple[str, str]:
    share = f"{number(words.r['plausibility']['impossible_percent'])} %"
    return (
        "No verdict: the model makes people like nobody in the data.",
        f"In the other world, {share} of {words.people} have a value outside what the table holds.",
    )


_HEADLINES = {
    State.BREAKS: _breaks,
    State.HOLDS: _holds,
    State.NO_LEVEL: _no_level,
    State.CANNOT_MATTER: _cannot_matter,
    State.UNFAIR: _unfair,
    State.IMPOSSIBLE: _impossible,
}


# ---------------------------------------------------------------- six answers


def _as_it_stands(words: Words) -> str:
    found, bands = words.conclusion, words.r.get("bands")
    if found["state"] == State.IMPOSSIBLE:
        worst = max(words.r["plausibility"]["features"], key=lambda one: one["outside"])
        advice = worst["sentence"] or "See which features have values that nobody has under 'Data and software'."
        return f"That cannot be said until the model fits. {name(advice)}"
    assumed = "if the causal diagram is right and nothing is hidden"
    own = f"{words.changes} would change by {words.amount(found['typical_model_a'])}"
    if found["state"] == State.UNFAIR:
        return f"No. Even {assumed}, {own}."
    if found["typical_model_a"] > 0:
        return f"Not exactly. Even {assumed}, {own}, {_why_not_0(words)}."
    error = ""
    if bands and bands["refit"] == "model b":
        most = words.amount(bands["typical_sampling_error"])
        error = f" (typical changes up to {most} by sampling error)"
    return f"Yes by construction, {assumed}{error}."


def _why_not_0(words: Words) -> str:
    if words.r["data"].get("held_out"):
        return "because the model was fitted to others"
    return "because levels show only roughly what lies behind them"


def _how_much(words: Words) -> str:
    found = words.conclusion
    if found["state"] == State.IMPOSSIBLE:
        return "That cannot be said either."
    if found["state"] == State.CANNOT_MATTER:
        return (
            "No amount of what the graph allows: the equations absorb it. Let hidden causes act elsewhere too, behind "
            f"{words.protected} for example, to learn more."
        )
    if found["state"] == State.NO_LEVEL:
        return f"There is no natural level: if nothing is hidden, {words.blind} is counterfactually fair too."
    if found["state"] == State.UNFAIR:
        return _already(words)
    return _by_cause(words) or _by_correlation(words)


def _already(words: Words) -> str:
    at = words.conclusion["p_max"]
    if at == 0:
        ratio = words.conclusion["ratio_model_a"]
        much = "as unfair as" if ratio is None or ratio < 1.05 else f"{number(ratio)} times as unfair as"
        return f"Nothing: it is already {much} {words.blind}."
    if at is None:
        return f"{words.no_causes(words.conclusion['highest'])} found to make it as unfair as {words.blind}."
    return f"To make it as unfair as {words.blind}: {words.causes(at)}."


def _by_cause(words: Words) -> str:
    """What one hidden cause would have to explain, where that is known."""
    causes = words.conclusion["causes"]
    if causes is None:
        return ""
    if causes["equal_percent"] is None:
        return "No single hidden cause that was tried is enough."
    who = words.labels(causes["variables"])
    each = "each of " if 1 < len(causes["variables"]) <= FEW else ""
    share = f"{number(causes['equal_percent'])} %"
    text = f"One hidden cause would have to explain {share} of what is unexplained in {each}{who}"
    if causes["capped_percent"] is not None:
        others = [one for one in causes["capped_on"] if one != words.r["graph"]["protected"]]
        rest = "the others" if len(others) > 1 else words.labels(others)
        share = f"{number(causes['capped_percent'])} % in {rest}"
        text += f"; or {share} if {number(causes['cap_percent'])} % in {words.protected}"
    return f"{text}."


def _by_correlation(words: Words) -> str:
    at = words.conclusion["p_max"]
    if at is None:
        return f"More than {words.strength(words.conclusion['highest'])}, as far as the search can tell."
    return f"It takes {words.causes(at)}."


def _then(words: Words) -> str:
    found = words.conclusion
    if found["state"] in (State.IMPOSSIBLE, State.CANNOT_MATTER):
        return "Nothing that this test can see." if found["state"] == State.CANNOT_MATTER else "That cannot be said."
    there = found["there"]
    if not there["typical"]:
        return f"At {words.strength(there['p_max'])}, nothing that could be noticed."
    change = f"At {words.strength(there['p_max'])} {words.changes} could change by {words.amount(there['typical'])}"
    if there["percent_of_deviation"] is not None:
        change += f" ({number(there['percent_of_deviation'])} % of a standard deviation)"
    if there["turned_percent"] is not None:
        change += f". {number(there['turned_percent'])} % of decisions would turn"
    return f"{change}."


def _who(words: Words) -> str:
    found = words.conclusion
    if found["state"] in (State.IMPOSSIBLE, State.CANNOT_MATTER):
        return "Nobody can be named."
    groups = [g for g in found["there"]["groups"] if g["difference"] is not None]
    privacy = words.r["privacy"]
    few = f" Groups of fewer than {number(privacy['smallest_group'])} people are not told apart here."
    few = few if privacy["hidden_groups"] else ""
    if not groups:
        return f"That is not said.{few}"
    if not any(g["difference"] for g in groups):
        which = "no group of those shown" if few else "no group"
        return f"At worst, {which} would get higher or lower predictions on average.{few}"
    named = sorted(groups[1:] or groups, key=lambda g: g["difference"])
    first, *others = named if len(named) <= 3 else [named[0], named[-1]]
    moved = [f"{words.group(g)} would get predictions {words.amount(g['difference'])} {_side(g)}" for g in (first,)]
    moved += [f"{words.group(g)} {words.amount(g['difference'])} {_side(g)}" for g in others]
    text = f"At worst, {', and '.join(moved)}{',' if others else ''} on average than if {words.otherwise}."
    return f"{text} {_loses(words, named)}{few}"


def _side(group: Content) -> str:
    return "lower" if group["difference"] < 0 else "higher"


def _loses(words: Words, groups: Sequence[Content]) -> str:
    """Who is worse off, if it is known what is better."""
    better = words.r["wording"]["higher_is"]
    if better is None:
        return "Who loses by it depends on whether a higher prediction is better."
    lost = [g for g in groups if (g["difference"] < 0) == (better == "better") and g["difference"]]
    if not lost or groups[0]["group"] == "everyone":
        return f"A higher prediction is {better}."
    return f"A higher prediction is {better}, so {listed(words.group(g) for g in lost)} would lose."


def _how_sure(words: Words) -> str:
    """What sampling error could do to the numbers above."""
    found, bands = words.conclusion, words.r.get("bands")
    if found["state"] == State.IMPOSSIBLE:
        return "That cannot be said."
    if not bands:
        return "How far sampling error could move these numbers was not worked out."
    limits = ", and ".join(filter(None, (_enough(words), _at_most(words)))) or "nothing above would change"
    return f"With {number(bands['percent'])} % limits for sampling error alone, {limits}."


def _enough(words: Words) -> str:
    """The least strength that may do, if it is known and there is any."""
    lower, at = words.conclusion["lower"], words.conclusion["p_max"]
    return "" if lower is None or at == 0 else f"{words.strength(lower, 3)} could be enough"


def _at_most(words: Words) -> str:
    """The largest change that there may be at the strength above, if it is known."""
    there = words.conclusion["there"]
    if words.conclusion["state"] == State.CANNOT_MATTER or there["typical_upper"] is None:
        return ""
    return f"the change above could be {words.amount(there['typical_upper'])}"


def _rests_on(words: Words) -> str:
    fair = " and on calling some of its paths fair" if any(e["fair"] for e in words.r["graph"]["edges"]) else ""
    return (
        f"On the causal diagram{fair}, and on hidden causes that are additive Gaussian and act only where it "
        "allows. Nothing here shows that they exist."
    )
