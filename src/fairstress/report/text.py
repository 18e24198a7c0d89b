"""Text of the analyst's, made safe to print: control characters are written out instead of obeyed."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

P = ParamSpec("P")

HIDDEN = {"Cc", "Cs"}  # control characters, halves of characters
OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they reverse the text that follows


def visible(text: str, keep: str = "") -> str:
    r"""Write control characters as escapes, those of ``keep`` left out.

    Examples
    --------
    >>> print(visible("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(_escape(c) if c not in keep and _is_hidden(c) else c for c in text)


def printable(say: Callable[P, str]) -> Callable[P, str]:
    """Make a function that gives lines for a terminal give harmless ones."""

    @wraps(say)
    def harmless(*args: P.args, **kwargs: P.kwargs) -> str:
        return visible(say(*args, **kwargs), keep="\n")

    return harmless


def _is_hidden(character: str) -> bool:
    return character in OVERRIDES or unicodedata.category(character) in HIDDEN


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
