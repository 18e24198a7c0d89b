"""Keys of settings files, checked one by one: unknown ones are refused with the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairstress.errors import SettingError, did_you_mean

Types = Mapping[str, tuple[type, ...]]  # of the values that each key may have

_TYPE_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def check_keys(content: Mapping[str, Any], known: Types, prefix: str) -> None:
    """Refuse unknown keys and values of the wrong type.

    Parameters
    ----------
    content
        A table of a settings file.
    known
        Its keys, with the types of their values.
    prefix
        Where the table stands, such as ``"report."``.
    """
    for key, value in content.items():
        if key not in known:
            raise SettingError(
                f"unknown key '{prefix}{key}'{did_you_mean(key, known) or '; known: ' + ', '.join(known)}"
            )
        kinds = known[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_TYPE_NAMES[kind] for kind in kinds if not (kind is int and float in kinds))
            raise SettingError(f"'{prefix}{key}' is {value!r}: give {wanted}")
