"""Numbers as an analyst gives them: each is read once, at the door, or refused with a sentence that names it."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from fairstress.errors import SettingError


def whole_number(value: Any, name: str) -> int:
    """Read a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise SettingError(f"{name} is {value!r}: give a whole number of at least 1")
    return int(value)


def share(value: Any, name: str, what: str = "number") -> float:
    """Read a number from 0 up to, but not including, 1."""
    number = _as_float(value)
    if not 0 <= number < 1:
        raise SettingError(f"{name} is {value!r}: give a {what} from 0 up to, but not including, 1")
    return number


def not_negative(value: Any, name: str) -> float:
    """Read a finite number of at least 0."""
    number = _as_float(value)
    if not 0 <= number < math.inf:
        raise SettingError(f"{name} is {value!r}: give a finite number that is not negative")
    return number


def finite(value: Any, name: str, *, zero: bool = True) -> float:
    """Read a finite number, other than 0 where ``zero`` is False."""
    number = math.nan if isinstance(value, str) else _as_float(value)
    if not math.isfinite(number) or (number == 0 and not zero):
        raise SettingError(f"{name} is {value!r}: give a finite number{'' if zero else ' other than 0'}")
    return number


def flag(value: Any, name: str) -> bool:
    """Read True or False; numpy's will do."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise SettingError(f"{name} is {value!r}: give True or False")
    return bool(value)


def seed(value: Any) -> int | None:
    """Read the seed of random numbers: None, or a whole number that is not negative."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise SettingError(f"random_state is {value!r}: give a whole number that is not negative, or None")
    return int(value)


def is_positive(value: Any) -> bool:
    """Whether something is a finite number above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf


def _as_float(value: Any) -> float:
    """The number, or NaN where there is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
