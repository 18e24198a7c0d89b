"""Questions about the same things, answered by whichever process has time first; the answers are the same.

Whoever asks goes on with work of its own. What no other process has begun when its answer is needed is answered here,
so that nobody waits for a process that is still starting, and everything works without any.
"""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from threading import RLock, Thread
from typing import Any, Generic, TypeVar

from fairstress.parallel import heard, n_cores, pickled
from fairstress.process import Process, can_start, importing
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
    is_wanted: bool  # for certain
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
        with self._lock:
            self._waiting.clear()  # what nobody wanted
        if self._others:
            self._others.tell(None)
            if self._own:
                self._others.stop()

    @property
    def are_shared(self) -> bool:
        """Whether other processes may answer."""
        return self._others is not None

    def ask(self, question: Question, *more: Any, is_wanted: bool = True) -> Answer[Any]:
        """Let a question, which is given what it is about, more, and steps, be answered by whoever has time.

        What may turn out not to be wanted is answered by others alone until it is.
        """
        answer: Answer[Any] = Answer(partial(question, self._about, *more), is_wanted, self)
        with self._lock:
            self._waiting.append((answer, question, more))
        self._hand_out()
        return answer

    def answer(self, answer: Answer[Any]) -> None:
        """Find an answer, here unless another process is at it; while that takes, answer here what others wait for."""
        if self._take(answer):
            answer._known.append(answer.work(self._steps))
            return
        while not answer._sent.done() and self._answer_next():
            pass
        answer._known.append(self._received(answer))

    def _answer_next(self) -> bool:
        """Answer the next wanted question that nobody has begun; False where there is none, or no answer to it."""
        with self._lock:
            waiting = next((one for one in self._waiting if one[0].is_wanted), None)
            if waiting is None:
                return False
            self._waiting.remove(waiting)
        answer = waiting[0]
        try:
            answer._known.append(answer.work(self._steps))
        except Exception:  # of whatever kind: who wants the answer is to meet it
            with self._lock:
                self._waiting.appendleft(waiting)
            return False
        return True

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
                process = self._others.take() if self._waiting else None
                if process is None:
                    return
                answer, question, more = self._waiting[0]
                try:
                    answer._sent = self._others.send(process, _answered, question, more, about=self._content)
                except RuntimeError:  # the system has no room for a thread
                    return
                self._waiting.popleft()


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
    except (OSError, RuntimeError):
        return None


class _Others:
    """Processes beside this one; a thread here waits for each answer."""

    def __init__(self, n_jobs: int) -> None:
        self._processes: list[Process] = []
        self._idle: list[Process] = []
        self._threads: list[Thread] = []
        self._about: dict[Process, bytes] = {}  # what each was told last that questions are about
        self._listener: Callable[[], None] | None = None
        try:
            for _ in range(min(n_cores(n_jobs) - 1, MOST_PROCESSES)):
                self._processes.append(Process())
            for process in self._processes:
                self.send(process, _prepare)
        except BaseException:
            self.stop()
            raise

    def tell(self, listener: Callable[[], None] | None) -> None:
        """Say who wants to know when a process has nothing to do."""
        self._listener = listener

    def take(self) -> Process | None:
        """Take a process that has nothing to do; None where there is none."""
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def send(self, process: Process, function: Callable[..., Any], *args: Any, about: bytes = b"") -> Future[Any]:
        """Let a process that was taken work, about something that it is told once."""
        future: Future[Any] = Future()
        thread = Thread(target=self._wait, args=(future, process, function, args, about), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._idle.append(process)
            raise
        self._threads.append(thread)
        return future

    def _wait(
        self, future: Future[Any], process: Process, function: Callable[..., Any], args: tuple[Any, ...], about: bytes
    ) -> None:
        try:
            if about and self._about.get(process) is not about:
                process(_hold, about)
                self._about[process] = about
            future.set_result(process(function, *args))
        except Exception as problem:  # whatever opening the answer raises, too
            future.set_exception(problem)
        if process.is_alive:
            self._idle.append(process)
        listener = self._listener
        if listener:
            listener()

    def stop(self) -> None:
        """End the processes at once: what they still do is of no use."""
        for process in self._processes:
            process.kill()
        for thread in self._threads:
            thread.join(PATIENCE)
        for process in self._processes:
            process.close()


# ---------------------------------------------------------------- in those processes

_held: list[bytes] = []  # what questions are about


def _prepare() -> None:
    """Import what most answers need."""
    with importing(keep=True):
        from scipy import optimize  # noqa: F401
        from sklearn import ensemble  # noqa: F401

        import fairstress.audit  # noqa: F401


def _hold(about: bytes) -> None:
    """Keep what questions are about until they are about something else."""
    _held[:] = [about]


def _answered(question: Question, more: tuple[Any, ...]) -> tuple[Any, int, list[Warning]]:
    """An answer, how many steps it took, and the warnings on the way."""
    steps = Steps(0)
    found, caught = heard(lambda about: question(about, *more, steps), _held[0])
    return found, steps.done, [_sendable(warning) for warning in caught]


def _sendable(warning: Warning) -> Warning:
    """A warning as another process can open it: of one of Python's own kinds where a script defines its class."""
    try:
        pickle.dumps(warning)
    except Exception:  # pickle raises errors of several kinds
        kinds = (UserWarning, FutureWarning, DeprecationWarning, RuntimeWarning)
        return next((kind for kind in kinds if isinstance(warning, kind)), Warning)(str(warning))
    return warning
