"""A short face for any result in a notebook: its numbers and words, or the first rows of its frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from numbers import Real
from typing import Any

import pandas as pd

from fairstress.report.text.markup import Sheet

ROWS = 10  # of a frame
MOST = 12  # columns of a frame


def face(result: Any) -> Sheet:
    """A small table of a result: the first rows of its frame, or what it says in numbers and words."""
    title = _title(type(result).__name__)
    frame = result.to_frame() if hasattr(result, "to_frame") else None
    return _of_fields(title, result) if frame is None or frame.empty else _of_frame(title, frame)


def _of_frame(title: str, frame: pd.DataFrame) -> Sheet:
    shown = frame.iloc[:ROWS, :MOST]
    rows = tuple(tuple(map(_text, row)) for row in shown.itertuples(index=False))
    hidden = [
        f"{count - most:,} more {what}"
        for count, most, what in ((len(frame), ROWS, "rows"), (frame.shape[1], MOST, "columns"))
        if count > most
    ]
    notes = (f"to_frame() has {' and '.join(hidden)}.",) if hidden else ()
    return Sheet(title, tuple(map(str, shown.columns)), rows, notes, numeric=True)


def _of_fields(title: str, result: Any) -> Sheet:
    return Sheet(title, ("", "value"), tuple(_known(result)))


def _known(result: Any) -> Iterator[tuple[str, str]]:
    """What is a number, a word or a few words, by its name."""
    for field in fields(result):
        value = getattr(result, field.name)
        few = isinstance(value, tuple) and value and all(isinstance(one, str) for one in value)
        if isinstance(value, str | Real | Enum) or few:
            yield field.name.replace("_", " "), ", ".join(value) if few else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Real) and not isinstance(value, bool | int):
        return f"{float(value):.4g}"
    return str(value)


def _title(name: str) -> str:
    """CauseContour as "Cause contour"."""
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
    return words[:1].upper() + words[1:]
