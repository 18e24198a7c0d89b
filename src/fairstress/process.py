"""A Python process beside this one, which does what it is sent and ends with this one, however that ends.

It imports what its work needs and nothing else, so that it is there soon. Of the pools that there are, the standard
library's run the caller's script anew, and joblib's import joblib in each process and in one more that watches them.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any, NoReturn

BEGIN = "import sys; sys.path[:] = {path!r}; from fairstress.process import serve; serve({parent})"
READY = b"fairstress is there\n"  # what was printed before is none of the answers
PATIENCE = 5.0  # seconds
OF_ITS_OWN = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # on Windows, what a session of its own is elsewhere


def can_start() -> bool:
    """Whether there is a Python to start: an application that brings its own has none apart."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


class UnansweredError(Exception):
    """The process has died, or what it was asked raised an error, there or on the way."""


class Process:
    """Another process: called with a function and its arguments, by one thread at a time, it gives what that gives."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", BEGIN.format(path=_path(), parent=os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"OPENBLAS_NUM_THREADS": "1"} | os.environ,  # others would only wait, and take time to start
            start_new_session=True,  # Ctrl-C is for the process that asks, which then ends this one
            creationflags=OF_ITS_OWN,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        self._is_ready = self._is_killed = False
        self._in_use = Lock()
        self._watcher = Thread(target=self._watch, name="fairstress-process", daemon=True)
        try:
            self._watcher.start()
        except RuntimeError:  # the system has no room for a thread
            with self._process:
                self._process.kill()
            raise

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """Let it call a function that it can import; raises `UnansweredError` where that has no answer."""
        content = pickle.dumps((function, args), protocol=5)
        with self._in_use:
            if self._is_killed:
                raise UnansweredError("the process has been killed")
            try:
                answer = self._exchange(content)
            except BaseException as problem:  # of whatever kind: an answer that came later would be taken for the next
                self.kill()
                if isinstance(problem, Exception):
                    raise UnansweredError("the process has died") from problem
                raise
        if not answer:
            raise UnansweredError("what was asked raised an error")
        return pickle.loads(answer)

    def _exchange(self, content: bytes) -> bytes:
        """Send what is asked, and wait for the answer."""
        pickle.dump(content, self._to)  # bytes in a frame of their own
        self._to.flush()
        while not self._is_ready:
            line = self._from.readline()
            if not line:
                raise EOFError
            self._is_ready = line.endswith(READY)
        answer = pickle.load(self._from)
        if not isinstance(answer, bytes):
            raise EOFError
        return answer

    def _watch(self) -> None:
        """Wait until it has ended, and end what it has started: that may keep the way from it open."""
        self._process.wait()
        self.kill()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked again."""
        return not self._is_killed and self._process.poll() is None

    def kill(self) -> None:
        """End it at once, whatever it is doing, with all that it has started (except on Windows); who waits is told."""
        if self._is_killed:
            return
        try:
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        except OSError:  # it has ended, or made others that may not be killed
            self._process.kill()
        self._is_killed = True

    def close(self) -> None:
        """Kill it, wait until it has ended, and close the ways to it and back."""
        self.kill()
        self._watcher.join(PATIENCE)
        if not self._in_use.acquire(timeout=PATIENCE):  # somebody is still told
            return
        with suppress(OSError):  # what was still to be sent
            self._to.close()
        self._from.close()


def _path() -> list[str]:
    """Where this process finds modules, whatever folder it is in later; last, where this package is."""
    entries = [entry for entry in sys.path if isinstance(entry, str)]  # Python passes over others
    known = [str(Path(entry).absolute()) if Path(entry).exists() else entry for entry in entries]
    return [*known, str(Path(__file__).resolve().parents[1])]


# ---------------------------------------------------------------- in that process


def serve(parent: int) -> None:
    """Do what a process sends on standard input until it ends; what is printed meanwhile goes to standard error."""
    own_process()
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
    if os.name == "posix":  # elsewhere nothing else tells that it is gone
        Thread(target=_end_after, args=(parent,), daemon=True).start()
    answers.write(READY)
    while True:
        answers.flush()
        pickle.dump(_answer(waiting.get()), answers)


def _receive(received: IO[bytes], waiting: SimpleQueue[bytes]) -> None:
    """Put what is sent into a queue; end the process, in the middle of its work, when nobody can send any more."""
    try:
        while True:
            waiting.put(pickle.load(received))
    finally:
        _end()


def _end_after(parent: int) -> None:
    """End the process when the one that asks is gone: others that it had started may keep the way here open."""
    while os.getppid() == parent:
        time.sleep(1)
    _end()


def _end() -> NoReturn:
    """End this process, with those that it has started (except on Windows)."""
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _answer(sent: bytes) -> bytes:
    """What was asked as it is sent back; nothing where that failed, or is of a class that a script defines."""
    try:
        function, args = pickle.loads(sent)
        return pickle.dumps(function(*args), protocol=5)
    except BaseException:  # predictors of all kinds work here, and one may call sys.exit
        return b""


# ---------------------------------------------------------------- how a process looks for garbage

_own: list[bool] = []  # whether this process runs nothing but fairstress


def own_process() -> None:
    """Say that this process is fairstress's own: nothing but the command line, or what answers questions."""
    _own[:] = [True]


@contextmanager
def importing(*, keep: bool = False) -> Iterator[None]:
    """Look for no garbage while modules are imported, which takes a fifth of their time: what they make stays.

    With ``keep``, in a process of our own, it is not looked through again, nor taken apart at the end.
    """
    looks = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if keep and _own:
            gc.freeze()
        if looks:
            gc.enable()
