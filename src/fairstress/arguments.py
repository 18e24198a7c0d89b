"""Single values that an analyst gives, read and checked: numbers, words, flags, lists, amounts of memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from fairstress.errors import SettingError, alternatives, show

LEAST_EIGENVALUE = 1e-12  # of a correlation of errors; nearer to 0 rounding may spoil every fit
HIGHEST_DEGREE = 50  # powers beyond leave no digits
LARGEST_PENALTY = 1e100
MOST = 10**9  # of anything that is counted: what asks for more is a mistake


def whole_number(value: Any, name: str) -> int:
    """Read a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise SettingError(f"{name} is {show(value)}: give a whole number of at least 1")
    if int(value) > MOST:
        raise SettingError(f"{name} is {show(value)}: give at most {MOST:,}")
    return int(value)


_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def read_bytes(value: Any, name: str) -> int:
    """Read an amount of memory: a number of bytes, or text such as ``"1 GB"``."""
    written = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?B)\s*", value, re.IGNORECASE) if isinstance(value, str) else None
    amount = float(written[1]) * _UNITS[written[2].upper()] if written else as_float(value)
    if not 1 <= amount < math.inf:
        raise SettingError(f"{name} is {show(value)}: give a number of bytes, or text such as '1 GB'")
    return int(amount)


def share(value: Any, name: str, what: str = "number") -> float:
    """Read a number from 0 up to, but not including, 1."""
    number = as_float(value)
    if not 0 <= number < 1:
        raise SettingError(f"{name} is {show(value)}: give a {what} from 0 up to, but not including, 1")
    if number > 1 - LEAST_EIGENVALUE:
        raise SettingError(f"{name} is {number!r}: give at most 1 - 1e-12, nearer to 1 rounding may spoil every fit")
    return number


def not_negative(value: Any, name: str) -> float:
    """Read a finite number of at least 0."""
    number = as_float(value)
    if not 0 <= number < math.inf:
        raise SettingError(f"{name} is {show(value)}: give a finite number that is not negative")
    return number


def penalty(value: Any, name: str) -> float:
    """Read a ridge penalty: a number of at least 0 that leaves weights their digits."""
    number = not_negative(value, name)
    if number > LARGEST_PENALTY:
        raise SettingError(
            f"{name} is {show(value)}: give at most {LARGEST_PENALTY:g}, where every weight is 0 already"
        )
    return number


def degree(value: Any, name: str) -> int:
    """Read the degree of a polynomial."""
    number = whole_number(value, name)
    if number > HIGHEST_DEGREE:
        raise SettingError(f"{name} is {number}: give at most {HIGHEST_DEGREE}, beyond which powers leave no digits")
    return number


def by_name(value: Any, name: str, what: str) -> Mapping[Any, Any]:
    """Read what is given by name, or not at all."""
    if value is not None and not isinstance(value, Mapping):
        raise SettingError(f"{name} is {show(value)}: give {what}")
    return value or {}


def finite(value: Any, name: str, *, zero: bool = True) -> float:
    """Read a finite number, other than 0 where ``zero`` is False."""
    number = as_float(value)
    if not math.isfinite(number) or (number == 0 and not zero):
        raise SettingError(f"{name} is {show(value)}: give a finite number{'' if zero else ' other than 0'}")
    return number


def flag(value: Any, name: str) -> bool:
    """Read True or False; numpy's will do."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise SettingError(f"{name} is {show(value)}: give True or False")
    return bool(value)


def word(value: Any, name: str, *choices: str) -> str:
    """Read one of some words."""
    if not (isinstance(value, str) and value in choices):
        raise SettingError(f"{name} is {show(value)}: give {alternatives(choices)}")
    return str(value)


def processes(value: Any) -> int:
    """Read a number of processes; -1 is one per core."""
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_count or not (1 <= value <= MOST or value == -1):
        raise SettingError(f"n_jobs is {show(value)}: give a number of processes, or -1 for one per core")
    return int(value)


def seed(value: Any) -> int | None:
    """Read the seed of random numbers: None, or a whole number that is not negative."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise SettingError(f"random_state is {show(value)}: give a whole number that is not negative, or None")
    return int(value)


def is_list(value: Any) -> bool:
    """Whether something lists values: text, dicts, tables and single values do not."""
    is_other = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) != 1
    return isinstance(value, Iterable) and not is_other


def is_positive(value: Any) -> bool:
    """Whether something is a finite number above 0."""
    return isinstance(value, Real) and 0 < as_float(value) < math.inf


def as_float(value: Any) -> float:
    """The number, or NaN where there is none; text and truth values are none."""
    if isinstance(value, str | bytes) or type(value).__name__ in ("bool", "bool_"):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # of a whole number
        return math.inf
    except (TypeError, ValueError):
        return math.nan
