"""A predictor that a settings file names: from a file that joblib or pickle wrote, or from a module."""

from __future__ import annotations

import importlib
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairstress.errors import SettingError, describe_error, did_you_mean

_PICKLES = (".joblib", ".pkl", ".pickle")

_imported: list[str] = []  # modules that the latest predictor's folder gave


def check_trusted(name: str, trusted: bool) -> None:
    """Refuse a pickle that nobody said is to be trusted: whoever wrote it decides what opening it does."""
    if Path(name).suffix in _PICKLES and not trusted:
        raise SettingError(
            f"'options.predictor' is {name!r}, and opening such a file runs whatever code it holds: if you trust who "
            "wrote it, add --trust-pickle, or trust_pickle = true under [options.predictor]"
        )


def predictor_file(name: str, folder: Path) -> Path:
    """The file that a predictor comes from; of a module where it would stand beside the settings."""
    return folder / (name if Path(name).suffix in _PICKLES else f"{name.partition(':')[0].replace('.', '/')}.py")


def load_predictor(name: str, folder: Path) -> Any:
    """Get a predictor from a file that joblib or pickle wrote, or as ``module:name``; either runs code.

    Files and modules are looked for in the folder; modules also where Python finds them.
    """
    if Path(name).suffix in _PICKLES:
        with _modules_of(folder):  # where the classes of what was pickled may stand
            return _unpickled(folder / name)
    module, colon, attribute = name.partition(":")
    if not (colon and module and attribute):
        raise SettingError(
            f"'options.predictor' is {name!r}: give a file ({', '.join(_PICKLES)}) or 'module:name', such as "
            "'scores:model' for model in scores.py"
        )
    try:
        with _modules_of(folder):
            loaded = importlib.import_module(module)
    except (Exception, SystemExit) as problem:  # a script may end by itself
        raise SettingError(f"'options.predictor': cannot import {module!r} ({describe_error(problem)})") from problem
    if not hasattr(loaded, attribute):
        near = did_you_mean(attribute, [known for known in vars(loaded) if not known.startswith("_")])
        raise SettingError(f"'options.predictor': the module {module!r} has no '{attribute}'{near}")
    return getattr(loaded, attribute)


@contextmanager
def _modules_of(folder: Path) -> Iterator[None]:
    """Let Python find modules in a folder first, and import them anew: they may have been another folder's before."""
    for name in _imported:
        sys.modules.pop(name, None)
    here, before = folder.resolve(), set(sys.modules)
    importlib.invalidate_caches()
    sys.path.insert(0, str(here))
    try:
        yield
    finally:
        sys.path.remove(str(here))
        _imported[:] = [name for name in set(sys.modules) - before if _is_of(name.partition(".")[0], here)]


def _is_of(name: str, folder: Path) -> bool:
    """Whether a module or package is the folder's own, and not installed there."""
    paths = sysconfig.get_paths()
    installed = any(folder.is_relative_to(Path(paths[of]).resolve()) for of in ("purelib", "platlib", "stdlib"))
    return not installed and name != __package__ and _folder_of(name) == folder


def _folder_of(name: str) -> Path | None:
    """Where a module or package stands that was imported."""
    module = sys.modules.get(name)
    if packages := list(getattr(module, "__path__", [])):
        return Path(packages[0]).resolve().parent
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve().parent


def _unpickled(path: Path) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except FileNotFoundError:
        raise SettingError(f"'options.predictor': there is no file {str(path)!r}") from None
    except (Exception, SystemExit) as problem:  # whatever it runs may end by itself
        raise SettingError(f"'options.predictor': cannot load {str(path)!r} ({describe_error(problem)})") from problem
