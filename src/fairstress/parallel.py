"""Independent pieces of work on several cores, with the same results in the same order on any number of them."""

from __future__ import annotations

import functools
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from pickle import PicklingError
from typing import Any, TypeVar

from fairstress.errors import SettingError, describe_error
from fairstress.progress import Steps
from fairstress.summing import in_one_thread, shares_cores
from fairstress.summing import n_cores as available_cores

T = TypeVar("T")
S = TypeVar("S")

MOST_BYTES = 2**28  # of what several questions are about, up to which it is sent to other processes


def n_cores(n_jobs: int) -> int:
    """How many processes are meant: -1 is one for each core."""
    return n_jobs if n_jobs > 0 else available_cores()


def in_parallel(
    function: Callable[[S], T], items: Sequence[S], n_jobs: int, steps: Steps | None = None, *, partial: bool = False
) -> list[T]:
    """Give ``function(item)`` for each item, in order.

    A process that shares the cores with others starts none. Ctrl-C ends the work and its processes; with ``partial``,
    what is done by then is given, if anything is.
    """
    alone = n_cores(n_jobs) == 1 or len(items) < 2 or shares_cores()
    results = _one_by_one(function, items) if alone else _side_by_side(function, items, n_cores(n_jobs))
    done: list[T] = []
    try:
        for result in results:
            done.append(result)
            if steps:
                steps()
    except KeyboardInterrupt:
        if not (partial and done):
            raise
    return done


def in_parallel_about(function: Callable[[Any, S], T], about: Any, items: Sequence[S], n_jobs: int) -> list[T]:
    """Give ``function(about, item)`` for each item, in order; in this process alone where ``about`` cannot be sent."""
    content = b"" if n_cores(n_jobs) == 1 or len(items) < 2 or shares_cores() else pickled(about)
    if not content:
        return [function(about, item) for item in items]
    try:
        answers = in_parallel(functools.partial(_asked, function, content), items, n_jobs)
    except UnopenedError:
        return [function(about, item) for item in items]
    for _, caught in answers:
        for message in caught:
            warnings.warn(message, stacklevel=2)
    return [found for found, _ in answers]


class UnopenedError(Exception):
    """Another process cannot open what was sent, as where a predictor's class stands in a file that it cannot find."""


def pickled(about: Any) -> bytes:
    """What work is about as other processes receive it, with what a script defines; nothing where it cannot be sent."""
    import cloudpickle  # only several processes need it

    try:
        content: bytes = cloudpickle.dumps(about, protocol=5)
    except Exception:
        return b""
    return content if len(content) <= MOST_BYTES else b""


@functools.lru_cache(maxsize=1)
def opened(content: bytes) -> Any:
    """What was sent, opened once for all work about it: what one piece finds on the way serves the next."""
    return pickle.loads(content)


def heard(work: Callable[[Any], T], content: bytes) -> tuple[T, list[Warning]]:
    """What some work in a process of its own finds, with linear algebra in one thread, and the warnings on the way."""
    from fairstress.threads import one_thread  # takes long to import, and processes are started before all else

    try:
        about = opened(content)
    except Exception as problem:  # whatever modules and classes do when they are imported
        raise UnopenedError(describe_error(problem)) from None
    with warnings.catch_warnings(record=True) as caught, one_thread:
        warnings.simplefilter("always")
        found = in_one_thread(work, about)
    return found, [one.message for one in caught if isinstance(one.message, Warning)]


def _asked(function: Callable[[Any, S], T], content: bytes, item: S) -> tuple[T, list[Warning]]:
    return heard(lambda about: function(about, item), content)


def _one_by_one(function: Callable[[S], T], items: Sequence[S]) -> Iterator[T]:
    for item in items:  # not map, which would take a StopIteration of the function for the end of the items
        yield function(item)


def _side_by_side(function: Callable[[S], T], items: Sequence[S], n_jobs: int) -> Iterator[T]:
    from joblib import Parallel, delayed  # takes long to import, and only several processes need it

    tasks = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(in_one_thread)(function, item) for item in items)
    try:
        yield from tasks
    except PicklingError as problem:
        _stop()
        raise SettingError(
            f"the work cannot be sent to other processes ({describe_error(problem)}): give n_jobs=1, or a predictor "
            "that can be pickled"
        ) from None
    except BaseException:
        _stop()
        raise


def _stop() -> None:
    """End the processes at once: what they still do is of no use."""
    from joblib.externals.loky import get_reusable_executor

    executor: Any = get_reusable_executor()
    executor.shutdown(wait=False, kill_workers=True)
