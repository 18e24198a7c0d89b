"""Schemas are checked by the part of the standard that they use, and say of everything what it is."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairstress.cli import main
from fairstress.schema import WORDS, first_problem, load_schema

KEYWORDS = {
    *("$schema", "$ref", "$defs", "title", "description", "default", "type", "properties", "required"),
    *("additionalProperties", "items", "enum", "anyOf", "minItems", "maxItems"),
}


def parts(schema):
    """A schema, and all schemas in it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for one in inner:
        yield from parts(one)


@pytest.mark.parametrize("name", ["settings", "results"])
def test_schemas_use_only_what_is_checked(name):
    schema = load_schema(name)
    for one in parts(schema):
        assert set(one) <= KEYWORDS
        types = one.get("type", [])
        assert {types} <= set(WORDS) if isinstance(types, str) else set(types) <= set(WORDS)
        assert set(one.get("required", ())) <= set(one.get("properties", {}))
        if "$ref" in one:
            assert one["$ref"].removeprefix("#/$defs/") in schema["$defs"]


def test_every_key_of_settings_is_described():
    for one in parts(load_schema("settings")):
        assert all(key.get("description") for key in one.get("properties", {}).values())


@pytest.mark.parametrize("name", ["settings", "results"])
def test_schemas_are_printed(name):
    assert json.loads(CliRunner().invoke(main, ["schema", name]).stdout) == load_schema(name)


def test_all_schemas_are_published():
    """In the package, from the command line and in the docs, each with where it stands in the standard."""
    folder = resources.files("fairstress").joinpath("schemas")
    names = {Path(file.name).stem for file in folder.iterdir() if file.name.endswith(".json")}
    assert names == {"settings", "results"}
    root = Path(__file__).parents[1]
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted((root / "docs").glob("*.md")))
    assert set(re.findall(r"`fairstress schema (\w+)`", pages)) == names
    for name in names:
        assert load_schema(name)["$schema"].startswith("https://json-schema.org/")
        assert CliRunner().invoke(main, ["schema", name]).exit_code == 0
    # nothing keeps the files out of a wheel
    wheel = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert wheel["wheel"]["packages"] == ["src/fairstress"]
    assert not {"exclude", "include", "only-include"} & set(wheel["wheel"])


RULES = {
    "type": "object",
    "required": ["n"],
    "additionalProperties": False,
    "properties": {
        "n": {"type": ["integer", "null"]},
        "x": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2},
        "k": {"enum": ["a", None]},
        "m": {"type": "object", "additionalProperties": {"$ref": "#/$defs/pair"}},
        "o": {"anyOf": [{"$ref": "#/$defs/pair"}, {"type": "null"}]},
    },
    "$defs": {"pair": {"type": "object", "required": ["b"], "properties": {"b": {"type": "boolean"}}}},
}


@pytest.mark.parametrize(
    "value",
    [{"n": 1}, {"n": None}, {"n": 1, "x": [1, 0.5], "k": None, "m": {"any": {"b": True, "more": 1}}, "o": None}],
)
def test_what_is_right_has_no_problem(value):
    assert first_problem(value, RULES) is None


@pytest.mark.parametrize(
    ("value", "what", "where", "wanted"),
    [
        ([], "wrong", "", "a table"),
        ({}, "missing", "n", ""),
        ({"n": 1.5}, "wrong", "n", "a whole number or null"),
        ({"n": True}, "wrong", "n", "a whole number or null"),
        ({"n": 1, "y": 2}, "unknown", "y", ""),
        ({"n": 1, "x": [1, "2"]}, "wrong", "x[1]", "a number"),
        ({"n": 1, "x": [float("nan")]}, "wrong", "x[0]", "a finite number"),
        ({"n": 1, "x": []}, "wrong", "x", "a list of at least 1"),
        ({"n": 1, "x": [1, 2, 3]}, "wrong", "x", "a list of at most 2"),
        ({"n": 1, "k": "b"}, "wrong", "k", "'a' or None"),
        ({"n": 1, "m": {"any": {}}}, "missing", "m.any.b", ""),
        ({"n": 1, "o": {"b": 0}}, "wrong", "o.b", "true or false"),
        ({"n": 1, "o": 3}, "wrong", "o", "a table"),
    ],
)
def test_the_first_problem_has_its_place_and_what_is_wanted(value, what, where, wanted):
    found = first_problem(value, RULES)
    assert (found.what, found.where, found.wanted) == (what, where, wanted)
