"""Independent pieces of work on several cores, with the same results in the same order on any number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pickle import PicklingError
from typing import Any, TypeVar

from fairstress.errors import SettingError, describe_error
from fairstress.progress import Steps
from fairstress.summing import in_one_thread
from fairstress.summing import n_cores as available_cores

T = TypeVar("T")
S = TypeVar("S")


def n_cores(n_jobs: int) -> int:
    """How many processes are meant: -1 is one for each core."""
    return n_jobs if n_jobs > 0 else available_cores()


def in_parallel(
    function: Callable[[S], T], items: Sequence[S], n_jobs: int, steps: Steps | None = None, *, partial: bool = False
) -> list[T]:
    """Give ``function(item)`` for each item, in order.

    Ctrl-C ends the work and its processes; with ``partial``, what is done by then is given, if anything is.
    """
    alone = n_cores(n_jobs) == 1 or len(items) < 2
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
