"""Rows of an array that are taken out of it when they are asked for, and not before.

People are moved to every other level of the protected attribute, so that each of them stands in the table of moved
people once for every level. What they bring with them does not change: it is kept once, and taken block by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from fairstress.inputs.rows import Array, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Taken(NDArrayOperatorsMixin):
    """What indexing an array by places would give; a copy of all of it is made only where something else is asked."""

    base: Array  # (n, ...) what is taken from
    places: IntArray  # (r,) which row of it each is

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows, and what each of them is."""
        return (self.places.size, *self.base.shape[1:])

    @property
    def size(self) -> int:
        """How many numbers."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.places.size

    def __getitem__(self, which: Any) -> Any:
        first, *others = which if isinstance(which, tuple) else (which,)
        if first is None or not all(isinstance(other, int | np.integer | slice) for other in others):
            return np.asarray(self)[which]  # rows and columns by pairs, or new axes
        return self.base[:, *others][self.places[first]] if others else self.base[self.places[first]]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Any:
        return np.asarray(self.base[self.places], dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        whole = [np.asarray(one) if isinstance(one, _Taken) else one for one in inputs]
        return getattr(ufunc, method)(*whole, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # by which numpy, and pickle, ask what it is
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def taken(base: Array, places: IntArray) -> Array:
    """Rows of an array by their places, for whoever asks for some of them at a time."""
    return cast("Array", _Taken(base, places))
