"""Whether sums over people are worked out by compiled code: where numba is installed and they are many.

Everything works without it. ``FAIRSTRESS_COMPILED=0`` in the environment switches it off, ``FAIRSTRESS_COMPILED=1`` on
for few people too.

What numba compiles it keeps, and knows by the file of each function whether it is still right. What functions of other
files and constants are built in it does not see: so what is kept has a folder for each version of those.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from fairstress.errors import SettingError, show

VARIABLE = "FAIRSTRESS_COMPILED"
TILE = 4  # rows of numbers whose products with as many others are added up at once
MANY = 2**14  # rows from which on it is worth while to load what is compiled, which takes a second
BUILT_IN = ("bench", "compiling", "functionals/program", "functionals/sources", "model/normal_cdf")  # into kernels

_loading = Lock()


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
        with _loading, _kept_by_version():
            return importlib.import_module(name)
    except (ImportError, RuntimeError):
        return None


@contextmanager
def _kept_by_version() -> Iterator[None]:
    """Let numba keep what it compiles in a folder of this version of all that is built in."""
    import numba

    config: Any = numba.config
    before: str = config.CACHE_DIR
    here = Path(__file__).parent / "__pycache__"
    config.CACHE_DIR = str((Path(before) if before else here) / f"fairstress-{version_of(BUILT_IN)}")
    try:
        yield
    finally:
        config.CACHE_DIR = before


def version_of(files: tuple[str, ...]) -> str:
    """What tells some source files of the package from other versions of them."""
    content = [(Path(__file__).parent / f"{name}.py").read_bytes() for name in files]
    return hashlib.sha256(b"".join(content)).hexdigest()[:16]
