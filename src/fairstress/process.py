"""A Python process beside this one, which does what it is sent and ends with this one, however that ends.

It imports what its work needs and nothing else, so that it is there soon. Of the pools that there are, the standard
library's run the caller's script anew, and joblib's import joblib in each process and in one more that watches them.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

BEGIN = "import sys; sys.path[:] = {path!r}; from fairstress.process import serve; serve()"


def can_start() -> bool:
    """Whether there is a Python to start: an application that brings its own has none apart."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


class UnansweredError(Exception):
    """The process has died, or what it was asked raised an error, there or on the way."""


class Process:
    """Another process: called with a function and its arguments, by one thread at a time, it gives what that gives."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", BEGIN.format(path=[*map(str, sys.path)])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"OPENBLAS_NUM_THREADS": "1"} | os.environ,  # others would only wait, and take time to start
            start_new_session=True,  # Ctrl-C is for the process that asks, which then ends this one
        )
        assert self._process.stdin
        assert self._process.stdout
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """Let it call a function that it can import; raises `UnansweredError` where that has no answer."""
        try:
            pickle.dump(pickle.dumps((function, args), protocol=5), self._to)  # bytes in a frame of their own
            self._to.flush()
            answer: bytes = pickle.load(self._from)
        except (OSError, EOFError, pickle.UnpicklingError) as problem:
            self.kill()
            raise UnansweredError("the process has died") from problem
        if not answer:
            raise UnansweredError("what was asked raised an error")
        return pickle.loads(answer)

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it at once, whatever it is doing; who waits for an answer is told."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the ways to it and back, when it has ended and nobody uses them any more."""
        with suppress(OSError):  # what was still to be sent
            self._to.close()
        self._from.close()


# ---------------------------------------------------------------- in that process


def serve() -> None:
    """Do what is sent on standard input until that ends; what is printed meanwhile goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where a session of its own does not keep Ctrl-C away
    received, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    with suppress(OSError):  # where nobody hears errors either
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    waiting: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(received, waiting), daemon=True).start()
    while True:
        pickle.dump(_answer(waiting.get()), answers)
        answers.flush()


def _receive(received: IO[bytes], waiting: SimpleQueue[bytes]) -> None:
    """Put what is sent into a queue; end the process, in the middle of its work, when nobody can send any more."""
    try:
        while True:
            waiting.put(pickle.load(received))
    finally:
        os._exit(1)


def _answer(sent: bytes) -> bytes:
    """What was asked as it is sent back; nothing where that failed."""
    try:
        function, args = pickle.loads(sent)
        return pickle.dumps(function(*args), protocol=5)
    except BaseException:  # predictors of all kinds work here, and one may call sys.exit
        return b""
