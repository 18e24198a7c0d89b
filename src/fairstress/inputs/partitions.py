"""Dask's data frames: partitions stay on the workers, sums of them come back and are added in the partitions' order.

What is asked of a partition is sent to where it lies, without the sample of people that a table holds. A worker that is
lost takes nothing with it: the scheduler works out its partitions anew, on others.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from fairstress.errors import DataError, SettingError, did_you_mean
from fairstress.inputs.look import HELD, Look, look_at
from fairstress.inputs.rows import Ends, Rows
from fairstress.inputs.streamed import COUNT, MOST_COUNTS, count_alike
from fairstress.inputs.streams import reading
from fairstress.summing import add_up
from fairstress.threads import one_thread

T = TypeVar("T")

TOGETHER = 8  # looks that are put together at once


def is_dask(data: Any) -> bool:
    """Whether data are a data frame of Dask's, without importing it."""
    return type(data).__module__.split(".")[0] in ("dask", "dask_expr") and type(data).__name__ == "DataFrame"


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Coded rows on workers."""

    client: Any
    parts: tuple[Any, ...]  # of Rows, to come or there, in their order
    n: float
    ends: Ends | None = None

    def total(self, of: Callable[[Rows], T], *, alone: bool = False, width: int | None = None) -> T:
        """Add up over all blocks of all partitions, each partition where it lies, in their order."""
        found: T = add_up(_answers(self.client, _sum_of_blocks, self.parts, _packed(of), width))
        return found

    def map(self, change: Callable[[Rows], Rows]) -> Partitions:
        """The same with every partition changed, on its worker."""
        return Partitions(self.client, _asked(self.client, _changed, self.parts, _packed(change)), self.n, self.ends)

    def __reduce__(self) -> tuple[Any, ...]:
        """What a pickle keeps: nothing, since what lies on workers cannot be sent to others."""
        return type(None), ()


@dataclass(frozen=True, slots=True, eq=False)
class Workers:
    """A data frame of Dask's, as `read_apart` asks for it."""

    frame: Any
    client: Any
    files: tuple[str, ...] = ()  # which ones the workers read is not known

    def check(self, names: Sequence[str], by: str) -> None:
        """Refuse names that no column has, by what names them."""
        known = [str(name) for name in self.frame.columns]
        for name in names:
            if name not in known:
                near = did_you_mean(name, known)
                raise DataError(f"{by} names '{name}', which is not a column of the data{near}")

    def look(self, names: Sequence[str], weight: str | None) -> Look:
        """A first look at all partitions."""
        look = partial(look_at, names=list(names), most=HELD, weight=weight)
        with reading("see that Dask computes the data frame by itself"):
            looks = list(_asked(self.client, look, self._parts(names)))
            while len(looks) > 1:  # where they lie: each may hold as many people as all of them will
                looks = [
                    self.client.submit(Look.together, looks[start : start + TOGETHER], pure=False)
                    for start in range(0, len(looks), TOGETHER)
                ]
            found: Look = self.client.gather(looks[0])
        return found

    def counts(self, names: Sequence[str], weight: str | None) -> pd.DataFrame | None:
        """Count rows that are alike on the workers; None where too many differ."""
        keys = [name for name in dict.fromkeys(names) if name != weight]
        counted = _answers(self.client, count_alike, self._parts(names), keys, weight)
        found = count_alike(pd.concat(counted), keys, COUNT)
        return found if len(found) <= MOST_COUNTS else None

    def whole(
        self, names: Sequence[str], code: Callable[[Any], Rows], n: float = np.nan, ends: Ends | None = None
    ) -> Partitions:
        """Everyone's rows, coded on the workers."""
        return Partitions(self.client, _asked(self.client, _changed, self._parts(names), _packed(code)), n, ends)

    def _parts(self, names: Sequence[str]) -> tuple[Any, ...]:
        """Futures of the partitions, of the columns that are named."""
        _check_open(self.client)
        chosen = self.frame[list(dict.fromkeys(names))]
        return tuple(self.client.compute(chosen.to_delayed()))


def open_workers(frame: Any, client: Any) -> Workers:
    """Open a data frame of Dask's with the client of a cluster; default the one that is at work."""
    try:
        import distributed
    except ImportError:
        raise DataError(
            "the data are a data frame of Dask's: install its scheduler with pip install 'fairstress[dask]'"
        ) from None
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise SettingError(
                "the data are a data frame of Dask's and there is no cluster: give client=distributed.Client(), or "
                "that of a cluster of your own"
            ) from None
    return Workers(frame, client)


# ---------------------------------------------------------------- what goes to workers, and back


def _asked(client: Any, task: Callable[..., Any], parts: Sequence[Any], *further: Any) -> tuple[Any, ...]:
    """Ask for a function of each partition, and leave the answers where they are."""
    _check_open(client)
    repeated = [[value] * len(parts) for value in further]
    return tuple(client.map(task, parts, *repeated, pure=False))


def _check_open(client: Any) -> None:
    """Refuse a client by which nothing can be reached any more."""
    if client.status in ("closing", "closed"):
        raise DataError("the client by which the data are reached is closed: ask while the cluster is there")


def _answers(client: Any, task: Callable[..., Any], parts: Sequence[Any], *further: Any) -> list[Any]:
    """The answers themselves, in the partitions' order; partitions without rows have none."""
    found = client.gather(list(_asked(client, task, parts, *further)))
    return [one for one in found if one is not None]


def _sum_of_blocks(rows: Rows, packed: bytes, width: int | None) -> Any:
    with one_thread:
        return add_up(map(pickle.loads(packed), rows.blocks(width))) if rows.size else None


def _changed(part: Any, packed: bytes) -> Any:
    with one_thread:
        return pickle.loads(packed)(part)


def _packed(of: Callable[..., Any]) -> bytes:
    """A function as bytes; rows that know a whole are left behind."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Rows) and value.whole is not None:
                return value.where(slice(0, 0)).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            return super().reducer_override(value)

    content = io.BytesIO()
    Pickler(content, protocol=pickle.HIGHEST_PROTOCOL).dump(of)
    return content.getvalue()
