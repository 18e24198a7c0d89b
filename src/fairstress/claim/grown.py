"""Worlds that were grown lately.

Where people have several worlds, growing them takes most of the time of a CFU. The audited predictor and its baselines
look at the same people in the same worlds, one after the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from weakref import WeakKeyDictionary

from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import FactualBlock, Worlds
from fairstress.model.design import Design
from fairstress.model.fit import Fit
from fairstress.model.mixed import MixedSystem
from fairstress.model.tree import Detail, grow

KEPT = 2**22  # numbers of all worlds of one system that are kept, 32 megabytes

Key = tuple[bytes, Detail, Design]  # whose edges carry what: effects along some paths have designs of their own


class _Grown:
    """The latest worlds of one system, the oldest forgotten first."""

    def __init__(self) -> None:
        self._worlds: OrderedDict[Key, tuple[Worlds, bool]] = OrderedDict()  # with whether they have residuals
        self._size = 0
        self._lock = Lock()

    def get(self, key: Key, *, residuals: bool) -> Worlds | None:
        with self._lock:
            known, has_residuals = self._worlds.get(key, (None, False))
            if known is None or (residuals and not has_residuals):
                return None
            self._worlds.move_to_end(key)
            return known

    def put(self, key: Key, grown: Worlds, *, residuals: bool) -> None:
        size = 2 * grown.x_cf.size
        if size > KEPT:
            return
        with self._lock:
            if key in self._worlds:
                self._size -= 2 * self._worlds.pop(key)[0].x_cf.size
            self._worlds[key] = grown, residuals
            self._size += size
            while self._size > KEPT:
                _, (oldest, _) = self._worlds.popitem(last=False)
                self._size -= 2 * oldest.x_cf.size


_known: WeakKeyDictionary[MixedSystem, _Grown] = WeakKeyDictionary()


def grown(
    system: MixedSystem,
    design: Design,
    fits: tuple[Fit, Fit],
    factual: FactualBlock,
    detail: Detail,
    *,
    residuals: bool,
) -> Worlds:
    """The worlds of a block of people under Model A and a version of Model B, `grow`; none are grown twice in a row."""
    lately, block = _known.setdefault(system, _Grown()), factual.block
    key = _digest([block.a, block.a_cf, block.x, *(part for fit in fits for part in fit.numbers)]), detail, design
    found = lately.get(key, residuals=residuals)
    if found is None:
        found = grow(design, *fits, factual, detail, residuals=residuals)
        lately.put(key, found, residuals=residuals)
    return replace(found, factual=factual)


def _digest(arrays: Iterable[Array]) -> bytes:
    total = blake2b(digest_size=20)
    for array in arrays:
        total.update(f"{array.shape}".encode())
        total.update(array.tobytes())
    return total.digest()
