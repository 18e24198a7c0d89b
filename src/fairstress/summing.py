"""Sums over pieces of the data, spread over threads: the same digits on any number of them.

What is computed from rows is a sum over blocks. Several threads work on blocks at once, which numpy allows since its
products and functions leave the interpreter alone; results are added in the blocks' order, whoever was first.

Two threads gain where a step takes much longer than to wake a thread, some 50 microseconds: hence blocks of many rows,
few steps, and `np.dot` for small results, since ``@`` and `np.repeat` keep the interpreter to themselves.
"""

from __future__ import annotations

import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, reduce
from typing import Any, Generic, TypeVar

import numpy as np

from fairstress.errors import SettingError, show

T = TypeVar("T")
S = TypeVar("S")

np.empty(2**22 - 2**12)  # 32 MB, taken and given back: from now on the C library keeps what steps of sums give back,
# which glibc does of pieces up to the largest that it has seen, 32 MB at most, and of twice as much in all of a thread;
# to ask the system for memory anew can take longer than the step, and other threads wait for it, too

VARIABLE = "FAIRSTRESS_THREADS"
KNOWN_TO_GAIN = 2  # threads
AHEAD = 3  # pieces a thread that wait to be worked on, or to be added

_here = threading.local()
_given: list[int] = []  # the number that was set, if any


# ---------------------------------------------------------------- how many threads


def set_threads(count: int | None) -> None:
    """Say on how many cores sums over rows are worked out; the answers are the same, to the last digit, on any number.

    The default is the environment variable ``FAIRSTRESS_THREADS`` or, where it is not set, 2 where there are two cores:
    threads wait for each other between numpy's steps, so that more of them need not gain; ``benchmarks/threads.py``
    tells. Tables of one block, at most 65,536 distinct rows and fewer where equations have many terms, take one in any
    case, and so do processes that ``n_jobs`` starts.

    Parameters
    ----------
    count
        Number of threads; None for the default.

    Examples
    --------
    >>> import fairstress as fs
    >>> fs.set_threads(1)
    >>> fs.set_threads(None)
    """
    _given[:] = [] if count is None else [_checked(count, "the number of threads")]


def n_threads() -> int:
    """How many threads are meant: those set, those of the environment, or as many as are known to gain."""
    if _given:
        return _given[0]
    words = os.environ.get(VARIABLE, "")
    if not words:
        return min(KNOWN_TO_GAIN, n_cores())
    return _checked(int(words) if words.isdigit() else words, f"the environment's {VARIABLE}")


def n_cores() -> int:
    """How many cores the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(count: Any, what: str) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise SettingError(f"{what} is {show(count)}: give a whole number of 1 or more")
    return count


def in_one_thread(function: Callable[[S], T], item: S) -> T:
    """Call a function in a process that shares the cores with others: sums in it are not spread any further."""
    before = shares_cores()
    _here.inside = True
    try:
        return function(item)
    finally:
        _here.inside = before


def shares_cores() -> bool:
    """Whether this thread works on a part of some sum, or shares the cores with other processes."""
    return bool(getattr(_here, "inside", False))


# ---------------------------------------------------------------- sums


def total(of: Callable[[S], T], pieces: Sequence[S], *, alone: bool = False) -> T:
    """Add up what a function gives for each of some pieces, in their order.

    Parameters
    ----------
    of
        What one piece adds: an array, a number or anything else with a sum, or a tuple of these.
    pieces
        At least one.
    alone
        Whether the function may not be called by several threads at once.
    """
    threads = 1 if alone or len(pieces) == 1 or shares_cores() else min(n_threads(), len(pieces))
    return add_up(map(of, pieces)) if threads == 1 else _Sum(of, pieces, AHEAD * threads).worked_out_by(threads)


def add_up(parts: Iterable[T]) -> T:
    """Add parts in their order; tuples, also those with names, entry by entry."""
    return reduce(_plus, parts)


def _plus(x: Any, y: Any) -> Any:
    if not isinstance(x, tuple):
        return x + y
    sums = map(operator.add, x, y)
    return type(x)(*sums) if hasattr(x, "_fields") else tuple(sums)


class _Sum(Generic[S, T]):
    """A sum that several threads work on: each takes the next piece, and whoever can adds what is known in order."""

    def __init__(self, of: Callable[[S], T], pieces: Sequence[S], ahead: int) -> None:
        self._of, self._pieces, self._ahead = of, pieces, ahead
        self._changed = threading.Condition()
        self._taken, self._added = 0, 0  # pieces so far
        self._waiting: dict[int, T] = {}  # what is known of pieces that others stand before
        self._sum: list[T] = []
        self._failed = False

    def worked_out_by(self, threads: int) -> T:
        """Work on it in this thread and in others."""
        others = [_pool(threads - 1).submit(copy_context().run, self._work) for _ in range(threads - 1)]
        try:
            in_one_thread(lambda _: self._work(), None)
        except BaseException:  # also Ctrl-C while nothing is worked on: nobody is to wait for this thread's piece
            self._give_up()
            raise
        finally:
            started = [other for other in others if not other.cancel()]
            wait(started)
        for other in started:
            other.result()  # raises what was raised there
        return self._sum[0]

    def _work(self) -> None:
        while (place := self._next()) is not None:
            try:
                found = self._of(self._pieces[place])
            except BaseException:
                self._give_up()
                raise
            self._put(place, found)

    def _give_up(self) -> None:
        with self._changed:
            self._failed = True
            self._changed.notify_all()

    def _next(self) -> int | None:
        """The place of a piece that nobody works on; none is taken far ahead of those that were added."""
        with self._changed:
            place = self._taken
            self._taken += 1
            self._changed.wait_for(lambda: self._failed or place < self._added + self._ahead)
            return None if self._failed or place >= len(self._pieces) else place

    def _put(self, place: int, found: T) -> None:
        with self._changed:
            self._waiting[place] = found
            while self._added in self._waiting:
                own = self._waiting.pop(self._added)
                self._sum[:] = [own if self._added == 0 else _plus(self._sum[0], own)]
                self._added += 1
            self._changed.notify_all()


def in_order(of: Callable[[S], T], pieces: Iterable[S]) -> Iterator[T]:
    """What a function gives for each piece, in their order, worked out by several threads and not far ahead."""
    threads = n_threads()
    if threads == 1 or shares_cores():
        yield from map(of, pieces)
        return
    waiting: deque[Future[T]] = deque()
    try:
        for piece in pieces:
            waiting.append(_pool(threads).submit(copy_context().run, of, piece))
            if len(waiting) > AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for task in waiting:
            task.cancel()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "fairstress", _mark)


def _mark() -> None:
    """A thread that works on one sum's pieces spreads no sums of its own."""
    _here.inside = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a copy of the process
