"""Whether sums over people are worked out by compiled code: where numba is installed and they are many.

Everything works without it. ``FAIRSTRESS_COMPILED=0`` in the environment switches it off, ``FAIRSTRESS_COMPILED=1`` on
for few people too.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

from fairstress.errors import SettingError, show

VARIABLE = "FAIRSTRESS_COMPILED"
TILE = 4  # rows of numbers whose products with as many others are added up at once
MANY = 2**14  # rows from which on it is worth while to load what is compiled, which takes a second


def is_wanted(rows: int | None, *, gain: float = 1.0) -> bool:
    """Whether the environment wants it, and otherwise whether people are many; None: more than memory holds.

    Of sums that gain a smaller share a person than a sweep does, so many more people are many.
    """
    words = os.environ.get(VARIABLE, "")
    if words not in ("", "0", "1"):
        raise SettingError(f"the environment's {VARIABLE} is {show(words)}: give 0 or 1, or leave it unset")
    return words == "1" or (words == "" and (rows is None or rows * gain >= MANY))


@cache
def load(name: str) -> Any:
    """A module that numba compiles, by its name, of the caller's own room.

    None where numba is not installed or too old for numpy, or may write what it made nowhere.
    """
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError):
        return None
