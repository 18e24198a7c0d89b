"""One thread for linear algebra: blocks of rows are too small to share among cores.

More threads mostly wait for each other, and they add up in another order each time, so that results would depend on
the number of cores. ``with one_thread:`` stands at the door, around every method of `Audit` at once, and at the heart,
where Model B is evaluated and people are predicted, for results and estimators that compute later.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from threading import Lock
from typing import Any

import scipy.linalg  # noqa: F401  (brings its own BLAS, which must be loaded to be limited)
from threadpoolctl import OpenBLASController, ThreadpoolController

_controller = ThreadpoolController()


class _OneThread(ContextDecorator):
    """A limit that may be entered many times, also side by side: the first to come sets it, the last to go lifts it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                _release()
                self._limit = _controller.limit(limits=1, user_api="blas")
            self._inside += 1  # last: who is not let in does not count

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _release()
                self._limit.restore_original_limits()
                _release()


def _release() -> None:
    """Let any thread set limits: newer threadpoolctl would let only the one that was first."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


one_thread = _OneThread()
