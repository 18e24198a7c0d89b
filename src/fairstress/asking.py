"""Questions about the same things, answered by whichever process has time first; the answers are the same.

Whoever asks goes on with work of its own. What no other process has begun when its answer is needed is answered here,
so that nobody waits for a process that is still starting, and everything works without any.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, RLock, Thread
from typing import Any, Generic, TypeVar

from fairstress.parallel import heard, n_cores, pickled
from fairstress.progress import Steps

T = TypeVar("T")

MOST_PROCESSES = 3  # beside this one: a report has hardly more long questions
PATIENCE = 1.0  # seconds

Question = Callable[..., Any]  # of what it is about, further arguments and the steps that it takes

_READY: ContextVar[_Others | None] = ContextVar("ready", default=None)  # processes that were started beforehand


@dataclass(slots=True, eq=False)
class Answer(Generic[T]):
    """What one question comes to."""

    work: Callable[[Steps], T]
    _questions: Questions
    _sent: Any = None  # the future of what another process answers
    _known: list[T] = field(default_factory=list)

    def __call__(self) -> T:
        """Give the answer: wait for another process where one is at it, or find it."""
        if not self._known:
            self._questions.answer(self)
        return self._known[0]


class Questions:
    """Questions about the same things.

    Parameters
    ----------
    about
        What every question is given first.
    n_jobs
        How many processes there may be with this one; -1 for one for each core.
    steps
        Of all questions together.
    """

    def __init__(self, about: Any, n_jobs: int, steps: Steps) -> None:
        self._about, self._steps = about, steps
        self._waiting: deque[tuple[Answer[Any], Question, tuple[Any, ...]]] = deque()
        self._lock, self._own = RLock(), _READY.get() is None
        self._content = b"" if n_cores(n_jobs) == 1 else pickled(about)
        self._others = (_READY.get() or _others(n_jobs)) if self._content else None

    def __enter__(self) -> Questions:
        if self._others:
            self._others.tell(self._hand_out)
        return self

    def __exit__(self, *_: object) -> None:
        if self._others:
            self._others.tell(None)
            if self._own:
                self._others.stop()

    @property
    def are_shared(self) -> bool:
        """Whether other processes may answer."""
        return self._others is not None

    def ask(self, question: Question, *more: Any) -> Answer[Any]:
        """Let a question, which is given what it is about, more, and steps, be answered by whoever has time."""
        answer: Answer[Any] = Answer(partial(question, self._about, *more), self)
        with self._lock:
            self._waiting.append((answer, question, more))
        self._hand_out()
        return answer

    def answer(self, answer: Answer[Any]) -> None:
        """Find an answer, here unless another process is at it."""
        found = answer.work(self._steps) if self._take(answer) else self._received(answer)
        answer._known.append(found)

    def _take(self, answer: Answer[Any]) -> bool:
        """Take a question back that nobody has begun to answer."""
        with self._lock:
            left = [one for one in self._waiting if one[0] is answer]
            for one in left:
                self._waiting.remove(one)
        return bool(left)

    def _received(self, answer: Answer[Any]) -> Any:
        """What another process found, with its steps and warnings; found here where that went wrong, however."""
        try:
            found, done, caught = answer._sent.result()
        except Exception:
            return answer.work(self._steps)
        for _ in range(done):
            self._steps()
        for message in caught:
            warnings.warn(message, stacklevel=4)
        return found

    def _hand_out(self) -> None:
        """Give waiting questions to processes that have nothing to do; the thread that hears of these calls it, too."""
        while self._others:
            with self._lock:
                if not self._waiting or not self._others.take():
                    return
                answer, question, more = first = self._waiting.popleft()  # before it is sent: answers may come at once
                try:
                    answer._sent = self._others.send(_answered, self._content, question, more)
                except RuntimeError:  # a process has died, and others end with it
                    self._waiting.appendleft(first)
                    return


@contextmanager
def processes_ready(n_jobs: int) -> Iterator[None]:
    """Start the processes that questions asked within will need, so that they are ready by then."""
    others = _others(n_jobs)
    token = _READY.set(others)
    try:
        yield
    finally:
        _READY.reset(token)
        if others:
            others.stop()


# ---------------------------------------------------------------- other processes


def _others(n_jobs: int) -> _Others | None:
    """Processes beside this one; None where one is all that is meant, or the system has no room for more."""
    try:
        return None if n_cores(n_jobs) == 1 else _Others(n_jobs)
    except (OSError, NotImplementedError):
        return None


class _Others:
    """Processes beside this one, and how many of them have nothing to do."""

    def __init__(self, n_jobs: int) -> None:
        from joblib.externals.loky import (
            ProcessPoolExecutor,  # takes long to import, and only several processes need it
        )

        count = min(n_cores(n_jobs) - 1, MOST_PROCESSES)
        self._executor: Any = ProcessPoolExecutor(max_workers=count)
        self._idle, self._lock = 0, Lock()
        self._listener: Callable[[], None] | None = None
        for _ in range(count):
            self.send(_prepare)

    def tell(self, listener: Callable[[], None] | None) -> None:
        """Say who wants to know when a process has nothing to do."""
        self._listener = listener

    def take(self) -> bool:
        """Reserve a process that has nothing to do; False where there is none."""
        with self._lock:
            is_free = self._idle > 0
            self._idle -= is_free
        return is_free

    def send(self, function: Callable[..., Any], *args: Any) -> Any:
        """Let a process that was taken work; gives a future."""
        future = self._executor.submit(function, *args)
        future.add_done_callback(self._done)
        return future

    def stop(self) -> None:
        """End the processes at once: what they still do is of no use."""
        queue = getattr(self._executor, "_call_queue", None)  # loky's own, which `shutdown` forgets
        feeder: Thread | None = getattr(queue, "_thread", None)
        self._executor.shutdown(wait=True, kill_workers=True)
        if feeder:  # or Python, where it ends now, may end that thread while it gives back a semaphore: loky would warn
            feeder.join(PATIENCE)

    def _done(self, _: Any) -> None:
        with self._lock:
            self._idle += 1
        if self._listener:
            self._listener()


def _prepare() -> None:
    """Import what most answers need, and end when the process that asks is gone."""
    if os.name == "posix":  # elsewhere nothing tells that it is gone
        Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()
    from scipy import optimize  # noqa: F401

    import fairstress.audit  # noqa: F401


def _end_after(parent: int) -> None:
    """End this process soon after the one that started it was killed, which cannot stop others any more."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _answered(content: bytes, question: Question, more: tuple[Any, ...]) -> tuple[Any, int, list[Warning]]:
    """An answer, how many steps it took, and the warnings on the way."""
    steps = Steps(0)
    found, caught = heard(lambda about: question(about, *more, steps), content)
    return found, steps.done, caught
