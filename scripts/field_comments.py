"""For the documentation: the comment behind a record's field or an enumeration's member is its docstring."""

from __future__ import annotations

import tokenize
from functools import cache
from pathlib import Path
from typing import Any

import griffe


@cache
def comments(path: Path) -> dict[int, str]:
    """The comment at the end of each line that has one."""
    with path.open("rb") as source:
        found = [token for token in tokenize.tokenize(source.readline) if token.type == tokenize.COMMENT]
    return {token.start[0]: token.string.removeprefix("#").strip() for token in found if token.line.lstrip()[0] != "#"}


class FieldComments(griffe.Extension):
    """Gives attributes without a docstring the comment of their last line."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """See whether a comment follows."""
        if attr.docstring or not isinstance(attr.filepath, Path) or attr.endlineno is None:
            return
        if comment := comments(attr.filepath).get(attr.endlineno):
            attr.docstring = griffe.Docstring(comment, lineno=attr.endlineno, parent=attr)
