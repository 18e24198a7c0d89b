"""One thread for linear algebra: blocks of rows are too small to share among cores.

More threads mostly wait for each other, and they add up in another order each time, so that results would depend on
the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import scipy.linalg  # noqa: F401  (brings its own BLAS, which must be loaded to be limited)
from threadpoolctl import ThreadpoolController

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_controller = ThreadpoolController()


def one_thread(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let a function's linear algebra run in one thread."""

    @wraps(function)
    def limited(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with _controller.limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
