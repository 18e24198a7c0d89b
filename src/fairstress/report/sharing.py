"""What of results may be shared: nobody is singled out, and numbers about few people are left out.

A mean over a small group gives its people's values away, and so does the mean over everyone beside those over all other
groups. Groups of fewer people than the smallest that is allowed are hidden, and with them the next larger ones until
those that are hidden are enough people together. Left out is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairstress.analyses.diagnostics.finding import OVERLAP
from fairstress.analyses.groups import EVERYONE
from fairstress.wording import Sharing

Row = dict[str, Any]
MEANS = ("factual", "counterfactual", "difference")
SHARES = ("gained", "lost", "either")


def shared(content: Mapping[str, Any], sharing: Sharing) -> dict[str, Any]:
    """Give results without what would single people out.

    Parameters
    ----------
    content
        Results in plain types, whole or without the parts of a report.
    sharing
        What may be shared.
    """
    sizes, fewest = group_people(content), sharing.smallest_group
    hidden = hidden_groups(sizes, fewest) | hidden_groups(_moved(content, sizes), fewest)
    without = {
        "conclusion": _of_conclusion(content.get("conclusion"), hidden),
        "curve": _of_curve(content.get("curve"), hidden),
        "predictors": _hide(content.get("predictors"), hidden, ("mean",)),
        "by_group": _of_quantiles(content.get("by_group"), hidden, sizes, fewest),
        "decisions": _of_decisions(content.get("decisions"), hidden),
        "people": _of_people(content.get("people"), sharing),
        "diagnostics": _of_diagnostics(content.get("diagnostics"), hidden),
        "model_a": {**content["model_a"], **(dict.fromkeys(("weights", "scales", "cuts")) if hidden else {})},
    }
    named = [group for group in sizes if group in hidden]
    privacy = {"people": sharing.people, "labels": sharing.labels, "smallest_group": fewest, "hidden_groups": named}
    return {**content, **{part: own for part, own in without.items() if part in content}, "privacy": privacy}


def group_people(content: Mapping[str, Any]) -> dict[str, int]:
    """How many people everyone and each group are, by name."""
    data = content["data"]
    groups = {str(group["level"]): int(group.get("people", group["rows"])) for group in data["groups"]}
    copies = data.get("completed_tables") or 1
    return {EVERYONE: sum(groups.values()) if groups else int(data["rows"]) // copies, **groups}


def hidden_groups(sizes: Mapping[str, int], fewest: int) -> set[str]:
    """Groups whose numbers are left out, among everyone and the groups that they consist of.

    Parameters
    ----------
    sizes
        People by group, and those of all groups together under ``"everyone"``.
    fewest
        People that a number may be about at least.
    """
    if sizes.get(EVERYONE, fewest) < fewest:
        return set(sizes)
    groups = sorted((group for group in sizes if group != EVERYONE), key=lambda group: sizes[group])
    hidden: set[str] = set()
    for group in groups:
        together = sum(sizes[one] for one in hidden)
        if sizes[group] >= fewest and (not hidden or together >= fewest):
            break
        hidden.add(group)
    return hidden


def _moved(content: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, int]:
    """Those who have a counterfactual, whom some means are about: nobody of the only level that others are moved to."""
    to = [str(level) for level in content["data"].get("moved_to") or []]
    groups = {name: n for name, n in sizes.items() if name != EVERYONE and to != [name]}
    return {EVERYONE: sum(groups.values()), **groups} if groups else {}


# ---------------------------------------------------------------- parts


def _hide(rows: Iterable[Row] | None, hidden: set[str], keys: Iterable[str]) -> list[Row] | None:
    """Leave out some numbers of hidden groups."""
    if rows is None:
        return None
    nothing = dict.fromkeys(keys)
    return [{**row, **nothing} if row["group"] in hidden else dict(row) for row in rows]


def _of_conclusion(found: Row | None, hidden: set[str]) -> Row | None:
    return found and {**found, "there": {**found["there"], "groups": _hide(found["there"]["groups"], hidden, MEANS)}}


def _of_curve(curve: Row | None, hidden: set[str]) -> Row | None:
    if not curve:
        return curve
    return {**curve, "points": [{**p, "groups": _hide(p["groups"], hidden, MEANS)} for p in curve["points"]]}


def _of_quantiles(
    rows: Iterable[Row] | None, hidden: set[str], sizes: Mapping[str, int], fewest: int
) -> list[Row] | None:
    """Leave out what is about hidden groups, and quantiles beyond which lie fewer people than there may."""
    if rows is None:
        return None
    shown = []
    for row in rows:
        n = 0 if row["group"] in hidden else sizes.get(row["group"], 0)
        shares = {key: int(key[1:]) / 100 for key in row if key.startswith("q")}
        gone = {key: None for key, q in shares.items() if n * min(q, 1 - q) < fewest}
        mean = {"mean": None} if row["group"] in hidden else {}
        shown.append({**row, **mean, **gone})
    return shown


def _of_decisions(decisions: Row | None, hidden: set[str]) -> Row | None:
    if not decisions:
        return decisions
    nothing = dict.fromkeys(SHARES)
    groups = [
        {**row, "model_a": nothing, "worst": nothing} if row["group"] in hidden else row for row in decisions["groups"]
    ]
    return {**decisions, "groups": groups}


def _of_diagnostics(found: Row | None, hidden: set[str]) -> Row | None:
    """Leave out which share of a hidden group is moved to where nobody is."""
    if not found:
        return found
    nothing = {**dict.fromkeys(("value", "p_value", "adjusted")), "sentence": _UNSAID}
    checks = [
        {**one, **nothing} if one["check"] == OVERLAP and one["about"] in hidden else one for one in found["checks"]
    ]
    return {**found, "checks": checks}


_UNSAID = "How many of a group of few people are moved to where nobody is, is not said."


def _of_people(people: list[Row] | None, sharing: Sharing) -> list[Row] | None:
    """People only if they may be shown, and their labels only if these may."""
    if not people or not sharing.people:
        return None
    return [row if sharing.labels else {**row, "label": None} for row in people]
