"""A settings file for a table, to be filled in: what is known of the table is in it, guesses are marked as guesses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import pandas as pd

from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.cells import quoted
from fairstress.inputs.kinds import ATOM, CATEGORY, ORDERED
from fairstress.inputs.notation import write_text
from fairstress.inputs.survey import CONSTANT, NESTED, Column, Survey
from fairstress.keys import toml, toml_key

MOST_LEVELS = 20  # that are written out


def draft_settings(
    found: Survey, data: Path, target: Path, *, protected: Sequence[str] = (), outcome: str | None = None
) -> str:
    """Write the text of a settings file that lacks the graph, and what was not given of protected and outcome.

    Parameters
    ----------
    found
        What is known of the table.
    data, target
        Its file, and where the settings are going to be; the one is named relative to the other.
    protected
        Names of the protected columns; default to be filled in.
    outcome
        Name of the outcome; default to be filled in.
    """
    for name in (*protected, *([outcome] if outcome else [])):
        _check_name(name, found)
    parts = [
        _head(found, data, target),
        _ends(found, protected, outcome),
        _graph(found, protected, outcome),
        _WORDS,
        "\n".join(_data(found, os.path.relpath(data, target.parent))),
        "\n".join(_options(found)),
        _REPORT,
        _COLUMNS,
        *("\n".join(_column(c, is_outcome=c.name == outcome)) for c in found.columns if c.is_named),
    ]
    return "\n\n".join(parts) + "\n"


def _check_name(name: str, found: Survey) -> None:
    names = [column.name for column in found.columns]
    if name not in names:
        raise SettingError(f"'{name}' is not a column of the data{did_you_mean(name, names)}")


# ---------------------------------------------------------------- parts


def _head(found: Survey, data: Path, target: Path) -> str:
    name = _in_comment(data.name)
    return (
        f"# An audit of {name}: {found.rows:,} rows, {len(found.columns):,} columns.\n"
        f"# Fill in what is empty. Then: fairstress check {_in_comment(target.name)}"
    )


def _ends(found: Survey, protected: Sequence[str], outcome: str | None) -> str:
    kind = next((column.kind for column in found.columns if column.name == outcome), None)
    predicted = "a number, or two values"
    if kind is not None and len(kind.levels) == 2:
        predicted = f"the probability of {_in_comment(str(kind.levels[-1]))}"
    shown = toml(protected[0]) if len(protected) == 1 else quoted(protected) if protected else '""'
    return (
        f"protected = {shown}  # the attribute that would be different; a list of columns is one attribute together\n"
        f"outcome = {toml(outcome or '')}  # what is predicted: {predicted}"
    )


def _graph(found: Survey, protected: Sequence[str], outcome: str | None) -> str:
    return f"""\
# The causal graph: a -> b is a cause, a <-> b are two that may share a hidden cause, a =fair=> b is a cause whose
# influence is called fair. The outcome need not be in it. This is how it is written, not how it should be:
#   graph = {toml(_example(found, protected, outcome))}
graph = \"\""""


def _example(found: Survey, protected: Sequence[str], outcome: str | None) -> str:
    """A graph of the first columns that may stand in one; levels without an order are no effects."""
    usable = [c for c in found.columns if c.kind is not None and c.trouble is None and c.name != outcome]
    effects = [c.name for c in usable if c.kind is not None and c.kind.name != CATEGORY]
    two_valued = [c.name for c in usable if c.kind is not None and len(c.kind.levels) == 2]
    first = list(protected) or (two_valued or effects)[:1]
    own = [name for name in effects if name not in first][:2]
    edges = [(a, b) for i, b in enumerate(own) for a in (*first, *own[:i])]
    return write_text([*first, *own], edges, [(own[0], own[1])] if len(own) == 2 else [])


def _data(found: Survey, path: str) -> Iterator[str]:
    form = found.form
    yield "[data]"
    yield f"file = {toml(Path(path).as_posix())}"
    if form.delimiter != ",":
        yield f"delimiter = {form.written_delimiter}"
    if form.decimal != ".":
        yield f"decimal = {toml(form.decimal)}"
    if form.missing_values:
        yield f"missing_values = {quoted(form.missing_values)}  # a guess: take out what is a value like others"


def _options(found: Survey) -> Iterator[str]:
    yield "[options]"
    if found.incomplete:
        short = f"{found.incomplete:,} of {found.rows:,} rows {'lacks' if found.incomplete == 1 else 'lack'}"
        yield f"# {short} a value in some column. Who lacks one that the graph"
        yield '# names is left out, and reports say how many of each group; with "refuse" the audit stops instead.'
        yield 'missing = "drop"'
    yield "random_state = 0"
    yield "# reference = ...  # the level that others are compared with; without it the last in sorted order"


_WORDS = """\
# people = "students"    # what rows are, in the plural
# higher_is = "better"   # what a higher outcome is for them: "better" or "worse\""""

_REPORT = """\
[report]
# p_max = 0.3            # details are shown for hidden confounding of this size, a correlation of errors; a default
# reason = ""            # why another size
# sizes = [0, 0.1, 0.2, 0.3, 0.4]
# bands = 200            # limits from so many replicates of the data
# threshold = 0.5        # a prediction from here on means yes: whose decision would turn
# levels = {tolerable = [0.01, "why"]}"""

_COLUMNS = """\
# Columns. A kind in a comment is a guess, and what the column is taken for unless you say otherwise."""


def _column(column: Column, *, is_outcome: bool) -> Iterator[str]:
    yield f"[columns.{toml_key(column.name)}]  # {_described(column)}"
    if column.kind is not None:
        yield _kind(column, needed=bool(column.cells.codes) and not is_outcome)
        if column.kind.name in (CATEGORY, ORDERED) and 2 < len(column.kind.levels) <= MOST_LEVELS:
            order = "lowest first, if they have an order" if column.kind.name == CATEGORY else "lowest first"
            yield f"# levels = {_levels(column)}  # {order}"
    yield f"# label = {toml(column.name)}"
    if column.kind is None or column.kind.is_number:
        yield '# unit = ""'


def _kind(column: Column, *, needed: bool) -> str:
    """What a column is taken for: in a comment, unless it has to be said."""
    assert column.kind is not None
    if not needed:
        return f"# kind = {toml(column.kind.word)}  # a guess: {_in_comment(column.kind.reason)}{_of_zeros(column)}"
    said = f"levels = {_levels(column)}" if len(column.kind.levels) == 2 else f"kind = {toml(CATEGORY)}"
    return f"{said}  # a guess, since some begin with 0"


def _of_zeros(column: Column) -> str:
    """Another kind to try for a number that is 0 for many and below for none."""
    if column.kind is None or not column.kind.is_number or column.known.min() != 0:
        return ""
    share = float((column.known == 0).mean())
    return f'; try "zero or log", since {100 * share:.0f} % are 0' if share > ATOM else ""


def _described(column: Column) -> str:
    """The range or the levels, and how many values are missing."""
    missing = f"{column.missing:,} missing" if column.missing else "none missing"
    if column.trouble in (CONSTANT, NESTED):
        shown = "no two values" if column.trouble == CONSTANT else "lists or records"
    elif pd.api.types.is_numeric_dtype(column.known) and not pd.api.types.is_bool_dtype(column.known):
        shown = f"{column.known.min():.6g} to {column.known.max():.6g}"
    else:
        first = [str(level) for level in column.known.value_counts().index[:3]]
        distinct = len(column.known.unique())
        shown = _in_comment(f"{distinct:,} levels: " + ", ".join(first) + ", ..." * (distinct > len(first)))
    return f"{shown}; {missing}"


def _levels(column: Column) -> str:
    """Levels as a settings file has them: numbers as numbers, all else as text."""
    levels = column.kind.levels if column.kind else ()
    return json.dumps([v if isinstance(v, bool | int | float | str) else str(v) for v in levels], ensure_ascii=False)


# ---------------------------------------------------------------- advice


_KINDS = re.compile(r"kinds=\{'(.+?)': (\[[^]]*\]|'[^']*')\}")
_IN_PYTHON = {
    "missing='drop'": 'missing = "drop" under [options]',
    "give the completed tables as a list, Audit.fit([frame_1, frame_2, ...], graph)": (
        'name the completed tables in a list, data = ["one.csv", "two.csv"]'
    ),
}
_Said = TypeVar("_Said")


def in_settings(said: _Said) -> _Said:
    """Advice on kinds and missing values as a settings file has it, in a text or in all texts of saved results.

    Examples
    --------
    >>> in_settings("try kinds={'pay': 'zero or log'}.")
    'try kind = "zero or log" under [columns.pay].'
    """
    rewritten: Any = said
    if isinstance(said, str):
        rewritten = _KINDS.sub(_line, said)
        for python, toml_line in _IN_PYTHON.items():
            rewritten = rewritten.replace(python, toml_line)
    elif isinstance(said, dict):
        rewritten = {key: in_settings(value) for key, value in said.items()}
    elif isinstance(said, list):
        rewritten = [in_settings(value) for value in said]
    return cast(_Said, rewritten)


def _line(advice: re.Match[str]) -> str:
    name, kind = advice.groups()
    said = f"levels = {kind}" if kind.startswith("[") else f"kind = {toml(kind[1:-1])}"
    return f"{said} under [columns.{toml_key(name)}]"


def _in_comment(text: str) -> str:
    """Text in one line, without characters that TOML allows in no comment."""
    return "".join(c if c.isprintable() else " " for c in text)
