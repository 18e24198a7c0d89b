"""Sentences in which numbers and names stay what they are, for a terminal and for a page alike.

A sentence is text in which control characters, which no name keeps (`printable` writes them out), set off numbers with
their full value and names of the analyst's. `as_text` and `as_html` resolve them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from fairstress.report.text.markup import printable

_NUMBER = re.compile("\x02([^\x03]*)\x03([^\x04]*)\x04")
_NAME = re.compile("\x05([^\x06]*)\x06")


def number(value: float, digits: int = 2, *, unit: float = 1, size: bool = False) -> str:
    """A number as people read it: two digits, or whole with separators.

    ``unit`` 100 shows a share in hundredths, ``size`` leaves out the sign, for which a word stands.
    """
    seen = abs(value) if size else value
    text = f"{seen:,}" if isinstance(value, int) else _rounded(unit * seen, digits)
    return f"\x02{value!r}\x03{text}\x04"


def name(text: object) -> str:
    """A name of the analyst's."""
    return f"\x05{printable(str(text))}\x06"


def _rounded(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    if "e" in text:  # large or tiny: whole, or what is left of it
        text = (
            f"{value:,.0f}" if abs(value) >= 1 else f"{value:.1g}" if abs(value) < 1e-6 else f"{value:.{digits + 4}f}"
        )
    return text.replace("-", "\N{MINUS SIGN}")


def listed(names: Iterable[str]) -> str:
    """Words in a row: a, b and c."""
    words = list(names)
    *first, last = words or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def as_text(sentence: str) -> str:
    """A sentence for a terminal.

    >>> as_text(f"{name('a')} by {number(0.1234)}")
    'a by 0.12'
    """
    return _NAME.sub(r"\1", _NUMBER.sub(r"\2", sentence))


def as_html(sentence: str) -> str:
    """A sentence for a page: names in a direction of their own, numbers with their full value behind them.

    >>> as_html(f"{name('<a>')} by {number(0.5)}")
    '<bdi>&lt;a&gt;</bdi> by <data value="0.5">0.5</data>'
    """
    marked = escape(sentence, quote=False)
    return _NAME.sub(r"<bdi>\1</bdi>", _NUMBER.sub(r'<data value="\1">\2</data>', marked))
