"""Settings as plain values: checked by their schema, key by key, and how keys and text are written in TOML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairstress.errors import SettingError, did_you_mean
from fairstress.schema import MISSING, UNKNOWN, Place, Problem, first_problem, load_schema


def check_settings(content: Mapping[str, Any], name: str) -> None:
    """Refuse unknown keys, with the nearest known one, values of the wrong type, and settings that lack something.

    Parameters
    ----------
    content
        What a settings file says.
    name
        Its name.
    """
    problem = first_problem(dict(content), load_schema("settings"))
    if problem is not None:
        raise SettingError(_sentence(problem, name))
    for place, value in _leaves(dict(content), ()):
        where = Problem("", place, value, "").where
        if isinstance(value, float) and not math.isfinite(value):
            raise SettingError(f"'{where}' is {value!r}: give a finite number")
        if not isinstance(value, str | int | float):
            raise SettingError(f"'{where}' is {value}, a date or a time: put it in quotes, which makes text of it")


def _sentence(problem: Problem, name: str) -> str:
    if problem.what == MISSING:
        required = load_schema("settings")["required"]
        return f"{name} has no '{problem.where}': it needs {', '.join(required)}"
    if problem.what == UNKNOWN:
        near = did_you_mean(str(problem.place[-1]), problem.value)
        return f"unknown key '{problem.where}'{near or '; known: ' + ', '.join(problem.value)}"
    if isinstance(problem.place[-1], int):
        listed = Problem("", problem.place[:-1], None, "").where
        return f"'{listed}' lists {problem.value!r}: give {problem.wanted}"
    return f"'{problem.where}' is {problem.value!r}: give {problem.wanted}"


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """All that is neither a table nor a list, with its place."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(part, (*place, key))
    else:
        yield place, value


# ---------------------------------------------------------------- how they are written


def toml(text: str) -> str:
    """Text as a settings file has it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """A name as a key: quoted where it has to be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)
