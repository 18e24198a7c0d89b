"""Saved results, read: those of older versions completed, and all checked against their schema and themselves."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairstress.analyses.conclusion import State
from fairstress.errors import SettingError
from fairstress.report.json import FIRST, LATER, SCHEMA, SOURCE
from fairstress.report.sharing import shared
from fairstress.schema import MISSING, Schema, allowed_types, first_problem, load_schema, resolved
from fairstress.wording import SHARING, Sharing, Wording

Content = dict[str, Any]

OF_A_REPORT = ("details", "curve", "levels", "by_group", "pairs", "predictors")  # there together, or not at all


def read_results(path: str | Path) -> Content:
    """Read results that were written by this or an older version; what they lack is None.

    Results of older versions hold what would single people out; that is left out.
    """
    content = _parsed(path)
    schema: Any = content.get("schema") if isinstance(content, dict) else None
    if isinstance(schema, bool) or schema not in range(1, SCHEMA + 1):
        known = "it has no 'schema'" if schema is None else f"its schema is {schema!r}"
        raise _refusal(path, f"{known}, and this version of fairstress reads 1 to {SCHEMA}")
    missing = [part for part in FIRST if part not in content]
    if missing:
        raise _refusal(path, f"it has no '{missing[0]}'")
    if schema < SCHEMA:
        content = _of_today(content, path)
    problem = first_problem({**content, "schema": SCHEMA}, load_schema("results"))
    if problem is not None and problem.what == MISSING:
        raise _refusal(path, f"it has no '{problem.where}'")
    if problem is not None:
        shown = repr(problem.value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise _refusal(path, f"'{problem.where}' is {shown} and not {problem.wanted}")
    for sentence in _contradictions(content):
        raise _refusal(path, sentence)
    return content if schema == SCHEMA else shared(content, _sharing(content))


def _parsed(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"there is no results file {str(path)!r}") from None
    except RecursionError:
        raise SettingError(f"cannot read {str(path)!r}: lists or objects stand too deep in one another") from None
    except (OSError, ValueError) as problem:  # of which errors of text and of JSON are some
        raise SettingError(f"cannot read {str(path)!r}: {problem}") from None


def _refusal(path: str | Path, why: str) -> SettingError:
    return SettingError(
        f"{str(path)!r} cannot be used: {why}; write the results anew, or use the version that wrote them"
    )


def _sharing(content: Content) -> Sharing:
    """Older results tell nothing of who may be shown; whoever draws the page says so."""
    has_people = bool(content["people"])
    return Sharing(has_people, has_people, SHARING.smallest_group)


# ---------------------------------------------------------------- older versions


def _of_today(content: Content, path: str | Path) -> Content:
    """Results of an older schema as those of today: renamed, and completed with defaults or None."""
    schema = content["schema"]
    try:
        if schema == 1:
            content = _upgraded(content)
        content = _renamed(content) if schema == 2 else content
        content = _detailed(content) if schema < 4 else content
        content = {**dict.fromkeys((*LATER, "versions")), "wording": Wording().to_dict(), **content}
        rules = load_schema("results")
        completed: Content = _completed(content, rules, rules)
        groups = [{**group, "people": group.get("people") or group["rows"]} for group in completed["data"]["groups"]]
        return {**_without_ranges(completed), "data": {**completed["data"], "groups": groups}}
    except (KeyError, TypeError, AttributeError, ValueError):  # it is not what its schema says
        raise _refusal(path, f"it is not what results of schema {schema} are") from None


def _without_ranges(content: Content) -> Content:
    """Older results without the ends of features' ranges, which may be one person's values."""
    plausible = content["plausibility"]
    features = [
        {**one, "lowest": None, "highest": None, "sentence": _unranged(one["sentence"])}
        for one in (plausible or {}).get("features", ())
    ]
    notes = [_unranged(note) for note in content["notes"]]
    return {**content, "notes": notes, "plausibility": plausible and {**plausible, "features": features}}


def _unranged(sentence: str) -> str:
    return re.sub(r"outside \S+ to \S+, where all observed values lie", "beyond all observed values", sentence)


def _completed(value: Any, schema: Schema, root: Schema) -> Any:
    """Plain values with what they lack: defaults, or None where that is allowed."""
    schema = resolved(schema, root)
    if "anyOf" in schema:
        return value if value is None else _completed(value, schema["anyOf"][0], root)
    if isinstance(value, list):
        return [_completed(part, schema.get("items", {}), root) for part in value]
    if not isinstance(value, dict):
        return value
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    of_others = others if isinstance(others, dict) else {}
    own = {key: _completed(part, known.get(key, of_others), root) for key, part in value.items()}
    lacking = [key for key in schema.get("required", ()) if key not in value]
    return {**own, **{key: copy.deepcopy(known[key].get("default")) for key in lacking if _may_lack(known[key], root)}}


def _may_lack(schema: Schema, root: Schema) -> bool:
    """Whether something has a default, or may be None."""
    found = resolved(schema, root)
    return "default" in schema or "null" in allowed_types(found) or {"type": "null"} in found.get("anyOf", [])


def _upgraded(content: Content) -> Content:
    """Results of schema 1: no worst cases yet, no pairs with the protected attribute, no fair edges."""
    graph = {**content["graph"], "variables": content["graph"]["features"], "edges": [], "pairs": []}
    graph["pairs"] = [profile["pair"] for profile in content["profiles"]]
    graph["predictor_looks_at"] = [f"residual of {name}" for name in graph["features"]]
    data = {"moved_to": None, **dict.fromkeys((*SOURCE, "date")), **content["data"]}
    return {**content, **dict.fromkeys(LATER), "graph": graph, "data": data}


def _renamed(content: Content) -> Content:
    """Results of schema 2: a budget is the name of its kind, and some parts have other names."""
    parts = {"rivals": "comparison", "variants": "specification_checks"}
    renamed = {parts.get(part, part): value for part, value in content.items()}
    predictor = {key: value for key, value in content["predictor"].items() if key != "sturdier"}
    renamed["predictor"] = {**predictor, "robust": _with_kind(content["predictor"].get("sturdier"))}
    renamed["agreed"] = _with_kind(content.get("agreed"))
    if content.get("curve"):
        renamed["curve"] = {**content["curve"], "points": [_with_kind(point) for point in content["curve"]["points"]]}
    if content.get("benchmarks"):
        columns = {"left_out": "omitted"}
        rows = content["benchmarks"]
        renamed["benchmarks"] = [{columns.get(key, key): value for key, value in row.items()} for row in rows]
    return renamed


def _detailed(content: Content) -> Content:
    """Results of schema 3: no conclusion, no budget by causes, and details at a budget that was called agreed."""
    details = content.get("agreed")
    kept = {part: value for part, value in content.items() if part != "agreed"}
    return {**kept, "details": details and {**details, "is_default": False}}


def _with_kind(part: Content | None) -> Content | None:
    return part and {**part, "budget": {"kind": part["budget"]}}


# ---------------------------------------------------------------- what must fit together


def _contradictions(r: Mapping[str, Any]) -> Iterator[str]:
    """Say where parts of results, each as it should be, do not fit together."""
    yield from _of_graph(r["graph"])
    yield from _of_correlations(r)
    for i, profile in enumerate(r["profiles"]):
        lists = [profile[key] for key in ("cfu", "log_likelihood", "status", "cfu_unpenalised", "upper")]
        if any(one is not None and len(one) != len(profile["correlation"]) for one in lists):
            yield f"the lists in 'profiles[{i}]' are not of one length"
    there = [part for part in OF_A_REPORT if r[part] is not None]
    if there and len(there) < len(OF_A_REPORT):
        yield f"it has '{there[0]}' but not '{next(part for part in OF_A_REPORT if part not in there)}'"
    yield from _of_predictors(r)
    if r["conclusion"] is not None:
        yield from _of_conclusion(r)


def _of_graph(graph: Mapping[str, Any]) -> Iterator[str]:
    """Effects are features or the outcome, and pairs name variables."""
    for edge in graph["edges"]:
        if edge["to"] not in (*graph["features"], graph["outcome"]):
            yield f"the edge to {edge['to']!r} names neither a feature nor the outcome"
    for pair in graph["pairs"]:
        if not set(pair) <= set(graph["variables"]):
            yield f"the pair of {pair[0]!r} and {pair[1]!r} names what 'graph.variables' does not"


def _of_correlations(r: Mapping[str, Any]) -> Iterator[str]:
    """Every correlation matrix has a row and a column for each variable."""
    conclusion, decisions = r["conclusion"] or {}, r["decisions"] or {}
    found = {
        "details": r["details"],
        **{f"curve.points[{i}]": point for i, point in enumerate((r["curve"] or {}).get("points", ()))},
        "conclusion.crossing": conclusion.get("crossing"),
        "conclusion.there": conclusion.get("there"),
        "decisions.lowest": decisions.get("lowest"),
        "decisions.highest": decisions.get("highest"),
    }
    m = len(r["graph"]["variables"])
    for place, part in found.items():
        if part is not None and [len(row) for row in part["correlation"]] != [m] * m:
            yield f"'{place}.correlation' is not {m} by {m}"


def _of_predictors(r: Mapping[str, Any]) -> Iterator[str]:
    """Predictors are compared group by group, and the audited one comes before the baselines."""
    groups: dict[str, list[str]] = {}
    for row in r["predictors"] or ():
        groups.setdefault(row["predictor"], []).append(row["group"])
    if groups and any(own != groups.get("observed") for own in groups.values()):
        yield "'predictors' do not name the same groups for each predictor and for what was observed"
    if r["comparison"] and len(r["comparison"]) != 1 + len(r["baselines"]):
        yield f"'comparison' has {len(r['comparison'])} rows for {len(r['baselines'])} baselines"


def _of_conclusion(r: Mapping[str, Any]) -> Iterator[str]:
    found = r["conclusion"]
    if r["curve"] is None:
        yield "it has a conclusion but no curve"
    if found["state"] == State.BREAKS and found["p_max"] is None:
        yield "'conclusion.p_max' is null, though the predictor breaks"
    if found["state"] == State.IMPOSSIBLE and not (r["plausibility"] or {}).get("features"):
        yield "'plausibility.features' has nothing, though counterfactual people are impossible"
    if found["typical_blind"] and found["ratio_model_a"] is None:
        yield "'conclusion.ratio_model_a' is null, though the blind predictor is unfair"
    causes = found["causes"] or {}
    if causes.get("capped_percent") is not None and causes["cap_percent"] is None:
        yield "'conclusion.causes.cap_percent' is null, though 'capped_percent' is not"
    names = [list(row) for row in found["compared"]]
    if found["crossing"] is not None and (not names or any(own != names[0] for own in names)):
        yield "'conclusion.compared' does not name the same predictors in each row"
