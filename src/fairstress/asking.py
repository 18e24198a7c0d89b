"""Questions about the same things, answered by whichever process has time first; the answers are the same.

Whoever asks goes on with work of its own. What no other process has begun when its answer is needed is answered here,
so that nobody waits for a process that is still starting, and everything works without any.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import Any, Generic, TypeVar

from fairstress.parallel import heard, n_cores, pickled
from fairstress.process import Process, can_start
from fairstress.progress import Steps

T = TypeVar("T")

MOST_PROCESSES = 3  # beside this one: a report has hardly more long questions

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
        """Find an answer, here unless another process is at it; while that takes, answer here what others wait for."""
        if self._take(answer):
            answer._known.append(answer.work(self._steps))
            return
        while not answer._sent.done() and (other := self._take_next()):
            other._known.append(other.work(self._steps))
        answer._known.append(self._received(answer))

    def _take(self, answer: Answer[Any]) -> bool:
        """Take a question back that nobody has begun to answer."""
        with self._lock:
            left = [one for one in self._waiting if one[0] is answer]
            for one in left:
                self._waiting.remove(one)
        return bool(left)

    def _take_next(self) -> Answer[Any] | None:
        """Take the next question that nobody has begun to answer."""
        with self._lock:
            return self._waiting.popleft()[0] if self._waiting else None

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
                process = self._others.take() if self._waiting else None
                if process is None:
                    return
                answer, question, more = self._waiting.popleft()
                answer._sent = self._others.send(process, _answered, self._content, question, more)


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
    if n_cores(n_jobs) == 1 or not can_start():
        return None
    try:
        return _Others(n_jobs)
    except OSError:
        return None


class _Others:
    """Processes beside this one, each with a thread here that waits for its answers."""

    def __init__(self, n_jobs: int) -> None:
        count = min(n_cores(n_jobs) - 1, MOST_PROCESSES)
        self._processes = [Process() for _ in range(count)]
        self._idle: list[Process] = []
        self._threads = ThreadPoolExecutor(count, "fairstress-asking")
        self._listener: Callable[[], None] | None = None
        for process in self._processes:
            self.send(process, _prepare)

    def tell(self, listener: Callable[[], None] | None) -> None:
        """Say who wants to know when a process has nothing to do."""
        self._listener = listener

    def take(self) -> Process | None:
        """Take a process that has nothing to do; None where there is none."""
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def send(self, process: Process, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Let a process that was taken work."""
        future = self._threads.submit(process, function, *args)
        future.add_done_callback(lambda _: self._done(process))
        return future

    def stop(self) -> None:
        """End the processes at once: what they still do is of no use."""
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.close()

    def _done(self, process: Process) -> None:
        if process.is_alive:
            self._idle.append(process)
        if self._listener:
            self._listener()


def _prepare() -> None:
    """Import what most answers need."""
    from scipy import optimize  # noqa: F401
    from sklearn import ensemble  # noqa: F401

    import fairstress.audit  # noqa: F401


def _answered(content: bytes, question: Question, more: tuple[Any, ...]) -> tuple[Any, int, list[Warning]]:
    """An answer, how many steps it took, and the warnings on the way."""
    steps = Steps(0)
    found, caught = heard(lambda about: question(about, *more, steps), content)
    return found, steps.done, caught
