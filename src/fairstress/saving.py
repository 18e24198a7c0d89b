"""What is written to disk: whole or not at all, never over what was read, and tried before anything is computed."""

from __future__ import annotations

import fnmatch
import glob
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fairstress.errors import FairstressError, SettingError

PART = ".part"  # how files that are not yet whole end; one that was cut short by force may stay behind


def save(path: str | Path, content: str | bytes, what: str) -> None:
    """Write a file: whoever reads it, and whenever this is cut short, finds the old content or the new one, whole.

    Parameters
    ----------
    path
        Where to write it. A link stays a link; a pipe or a terminal is written to as it is.
    content
        What to write; text as UTF-8.
    what
        What it is, for people, such as ``"the results"``.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with whole_file(path, what) as part:
        part.write_bytes(data)


@contextmanager
def whole_file(path: str | Path, what: str) -> Iterator[Path]:
    """Give a new file to write to, which takes the place of the one meant once it is written; it is removed if not.

    Parameters
    ----------
    path
        The file that is meant.
    what
        What is written, for people.
    """
    with _writing(path, what):
        target = _target(path)
        if target.exists() and not target.is_file():
            yield target
            return
        part = _new_part(target.parent)
        try:
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            if target.exists():
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _remember(target.parent)


def check_target(path: Any, what: str) -> None:
    """Refuse, before anything is computed, what is no place to write to.

    Parameters
    ----------
    path
        Where something is going to be written.
    what
        What it is, for people.
    """
    if not isinstance(path, str | Path):
        raise SettingError(f"path is {path!r}: give the file to write {what} to")
    with _writing(path, what):
        target = _target(path)
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if not target.parent.is_dir():
            raise FileNotFoundError(0, f"there is no folder {str(target.parent)!r}")
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(0, "it must not be changed")
        if not target.exists() or target.is_file():
            _new_part(target.parent).unlink()


def check_apart(targets: Mapping[str, Path | None], sources: Mapping[str, Path]) -> None:
    """Refuse to write two things to one file, to write over what is read, or among files all of which are read.

    Parameters
    ----------
    targets
        Where things are going to be written, by what they are; None for what is not.
    sources
        What is read, by what it is: files, or folders or patterns of them.
    """
    taken = dict(sources)
    for what, path in targets.items():
        if path is None:
            continue
        among = next((name for name, known in sources.items() if _is_among(path, known)), None)
        if among is not None:
            raise SettingError(f"{what} would be written among {among}, to {str(path)!r}: give a file elsewhere")
        other = next((name for name, known in taken.items() if _is_same(path, known)), None)
        if other is not None:
            verb = "overwrite" if other in sources else "be written to the same file as"
            raise SettingError(f"{what} would {verb} {other}, {str(path)!r}: give another file")
        taken[what] = path


def check_unread(path: str | Path, what: str, files: Iterable[str]) -> None:
    """Refuse to write over one of the files that the data are read from.

    Parameters
    ----------
    path
        Where something is going to be written.
    what
        What it is, for people.
    files
        Those that are read.
    """
    for file in files:
        check_apart({what: Path(path)}, {"the data": Path(file)})


# ---------------------------------------------------------------- inside


@contextmanager
def _writing(path: str | Path, what: str) -> Iterator[None]:
    """Say what could not be written where."""
    try:
        yield
    except FairstressError:  # of whatever is worked out meanwhile
        raise
    except (OSError, ValueError) as problem:  # a name with a zero in it is no value
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        raise SettingError(f"cannot write {what} to {str(path)!r}: {why}") from None


def _target(path: str | Path) -> Path:
    """Where a path leads, through links."""
    return Path(os.path.realpath(path))


def _new_part(folder: Path) -> Path:
    """A new file in a folder, with the permissions that new files have."""
    part = folder / f".fairstress-{secrets.token_hex(8)}{PART}"
    part.touch(exist_ok=False)
    return part


def _remember(folder: Path) -> None:
    """Let a folder remember its files even if the machine stops now; not every system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_among(path: Path, source: Path) -> bool:
    """Whether a file is in a folder, or matches a pattern of names."""
    where = _target(path)
    if source.is_dir():
        return where.is_relative_to(_target(source))
    if source.exists() or not glob.has_magic(str(source)) or where.name.startswith("."):  # which patterns leave out
        return False
    return _matches(where.parts, _target(source).parts)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path is one of a pattern's, in which ``**`` stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
