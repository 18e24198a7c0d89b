"""How far a long piece of work has come, and how long the rest may take: counted, told, or shown as a bar."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from fairstress.errors import SettingError, show

Progress = Callable[[int, int], None]  # called with steps done and steps in all
Watch = Progress | bool | None  # whom to tell: a function, a bar, nobody; None for a bar where somebody looks

T = TypeVar("T")


@dataclass(slots=True)
class Steps:
    """Counts steps, and tells whoever wants to know. Where more follow than were planned, the total grows with them."""

    total: int
    progress: Progress | None = None
    done: int = 0

    def __call__(self) -> None:
        """One more is done."""
        self.done += 1
        self.total = max(self.total, self.done)
        if self.progress:
            self.progress(self.done, self.total)

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Go through some items; what is made of each is a step."""
        for item in items:
            yield item
            self()

    def finish(self) -> None:
        """All is done, be it in fewer steps than were planned."""
        if self.progress and self.done < self.total:
            self.progress(self.total, self.total)


# ---------------------------------------------------------------- bars

DELAY = 1.0  # seconds before a bar appears
_STARTED = "{desc} [{elapsed}]"
_BAR = "{desc}: |{bar:20}| {n_fmt} of {total_fmt}, about {remaining} left"
_LAST = "{desc}: |{bar:20}| {n_fmt} of {total_fmt}, finishing"  # limits and the like may follow the last step
_WATCHED: ContextVar[bool] = ContextVar("watched", default=False)  # whether work that is under way has its watcher


@contextmanager
def watching(watch: Watch, what: str) -> Iterator[Progress | None]:
    """Give the function to tell of progress, if any, while some work is done; work within it shows no second bar.

    Parameters
    ----------
    watch
        A function of steps done and steps in all; True for a bar, False for none; None for a bar on a terminal or in a
        notebook, unless work around this one has been asked the same already.
    what
        The work, in a few words that stand before the bar.
    """
    if not (watch is None or isinstance(watch, bool) or callable(watch)):
        raise SettingError(f"progress is {show(watch)}: give True, False, or a function of (steps done, steps in all)")
    wants_bar = watch if isinstance(watch, bool) else watch is None and not _WATCHED.get() and is_watched()
    token = _WATCHED.set(True)
    try:
        if wants_bar:
            with _bar(what) as report:
                yield report
        else:
            yield as_callback(watch)
    finally:
        _WATCHED.reset(token)


def as_callback(watch: Watch) -> Progress | None:
    """Give the function to tell, where there is one.

    Parameters
    ----------
    watch
        What `watching` gave, or a caller.
    """
    return None if watch is None or isinstance(watch, bool) else watch


def is_watched() -> bool:
    """Whether somebody is likely to look: standard error is a terminal, or this is a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") or (hasattr(sys.stderr, "isatty") and sys.stderr.isatty())


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    """Show a bar on standard error, with the time that is left, once the work takes longer than a second."""
    from tqdm import tqdm  # which not everyone needs

    pace: dict[str, Any] = {
        "mininterval": 0,
        "miniters": 1,
        "smoothing": 0,
    }  # steps are few, and some take far longer than others
    bar: Any = tqdm(desc=what, total=1, file=sys.stderr, delay=DELAY, leave=False, bar_format=_STARTED, **pace)

    def show() -> None:
        bar.delay = 0
        bar.refresh()

    notice = threading.Timer(DELAY, show)  # for a step that never says how far it is
    notice.daemon = True
    notice.start()

    def report(done: int, total: int) -> None:
        if done < bar.n:  # the next part of the work counts from the start
            bar.reset()
        bar.total, bar.bar_format = total, _BAR if done < total else _LAST
        bar.update(done - bar.n)

    try:
        yield report
    finally:
        notice.cancel()
        bar.close()
