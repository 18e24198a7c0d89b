"""One thread for linear algebra: blocks of rows are too small to share among cores.

More threads mostly wait for each other, and they add up in another order each time, so that results would depend on
the number of cores. ``with one_thread:`` stands where models are fitted and evaluated, in `fairstress.claim` and beside
the few regressions of other rooms, so that no way in can forget it.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from threading import Lock
from typing import Any

import scipy.linalg  # noqa: F401  (brings its own BLAS, which must be loaded to be limited)
from threadpoolctl import ThreadpoolController

_controller = ThreadpoolController()


class _OneThread(ContextDecorator):
    """A limit that may be entered many times, also side by side: the first to come sets it, the last to go lifts it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = _controller.limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


one_thread = _OneThread()
