"""Plain values checked against a JSON schema: that part of the standard that the schemas in `schemas/` use."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

Schema = Mapping[str, Any]
Place = tuple[str | int, ...]  # keys, and positions in lists, from the outside inwards

UNKNOWN, MISSING, WRONG = "unknown", "missing", "wrong"

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """The first place where a value is not what its schema says."""

    what: str  # "unknown" or "missing", of a key; "wrong", of a value
    place: Place
    value: Any  # what stands there; of an unknown key all known ones
    wanted: str  # in words

    @property
    def where(self) -> str:
        """The place as people write it: ``data.groups[0].rows``."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.place).removeprefix(".")


@cache
def load_schema(name: str) -> Schema:
    """Read one of the schemas that come with fairstress, ``"settings"`` or ``"results"``."""
    text = (resources.files("fairstress") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema: Schema = json.loads(text)
    return schema


def first_problem(value: Any, schema: Schema) -> Problem | None:
    """Give the first place where a value of plain types is not what a schema says; None where all is well."""
    return next(_problems(value, schema, schema, ()), None)


def resolved(schema: Schema, root: Schema) -> Schema:
    """What a schema refers to, if it does."""
    name = schema.get("$ref")
    found: Schema = root["$defs"][name.removeprefix("#/$defs/")] if name else schema
    return found


def allowed_types(schema: Schema) -> tuple[str, ...]:
    """The types that a schema allows; none where it allows any."""
    given = schema.get("type", ())
    return (given,) if isinstance(given, str) else tuple(given)


# ---------------------------------------------------------------- checks


def _problems(value: Any, schema: Schema, root: Schema, place: Place) -> Iterator[Problem]:
    schema = resolved(schema, root)
    if "anyOf" in schema:
        yield from _of_any(value, schema["anyOf"], root, place)
        return
    types = allowed_types(schema)
    if types and not any(_is_of(value, name) for name in types):
        finite = not isinstance(value, float) or math.isfinite(value)
        yield Problem(WRONG, place, value, " or ".join(WORDS[name] for name in types) if finite else "a finite number")
    elif "enum" in schema and value not in schema["enum"]:
        yield Problem(WRONG, place, value, " or ".join(repr(one) for one in schema["enum"]))
    elif isinstance(value, dict):
        yield from _of_keys(value, schema, root, place)
    elif isinstance(value, list):
        yield from _of_items(value, schema, root, place)


def _is_of(value: Any, name: str) -> bool:
    """Whether a value is of a type; truth values are no numbers, and numbers are finite."""
    if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "boolean"):
        return False
    return not isinstance(value, float) or math.isfinite(value)


def _of_any(value: Any, schemas: list[Schema], root: Schema, place: Place) -> Iterator[Problem]:
    """The problem that lies deepest: there the value is nearest to what is allowed."""
    found = [next(_problems(value, one, root, place), None) for one in schemas]
    known = [problem for problem in found if problem is not None]
    if len(known) == len(found):
        yield max(known, key=lambda problem: len(problem.place))


def _of_keys(value: dict[str, Any], schema: Schema, root: Schema, place: Place) -> Iterator[Problem]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, part in value.items():
        if key in known:
            yield from _problems(part, known[key], root, (*place, key))
        elif others is False:
            yield Problem(UNKNOWN, (*place, key), list(known), "")
        elif others is not True:
            yield from _problems(part, others, root, (*place, key))
    for key in schema.get("required", ()):
        if key not in value:
            yield Problem(MISSING, (*place, key), None, "")


def _of_items(value: list[Any], schema: Schema, root: Schema, place: Place) -> Iterator[Problem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if not least <= len(value) <= most:
        count = f"{least}" if least == most else f"at least {least}" if len(value) < least else f"at most {most}"
        yield Problem(WRONG, place, value, f"a list of {count}")
    for i, part in enumerate(value):
        yield from _problems(part, schema.get("items", {}), root, (*place, i))
