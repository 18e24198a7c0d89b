"""Settings files: a TOML description of an audit, checked key by key."""

from __future__ import annotations

import hashlib
import importlib
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairstress.audit import Audit
from fairstress.errors import DataError, SettingError, describe_error, did_you_mean
from fairstress.inputs.correlation import read_pair
from fairstress.inputs.folds import CONTIGUOUS
from fairstress.inputs.frames import check_unique
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.kinds import read_words
from fairstress.options import Budget, Pairwise, Predictor, Robust, Search, Spectral, read_budget
from fairstress.progress import Progress
from fairstress.resampling import Bootstrap, read_bootstrap

_KEYS: dict[str, tuple[type, ...]] = {
    "data": (str, list),
    "graph": (str,),
    "protected": (str, list),
    "outcome": (str,),
    "output": (str,),
    "sample_weight": (str,),
    "options": (dict,),
    "profile": (dict,),
    "report": (dict,),
}
_OPTIONS: dict[str, tuple[type, ...]] = {
    "reference": (str, int, float, bool),
    "shift": (int, float),
    "contrast": (list, str, int, float),
    "kinds": (dict,),
    "missing": (str,),
    "cluster": (str,),
    "holdout": (int, float),
    "mixed": (str,),
    "ordered_residuals": (str,),
    "degrees": (dict,),
    "penalty": (int, float),
    "predictor_degree": (int,),
    "predictor_penalty": (int, float),
    "max_degree": (int,),
    "max_memory": (int, float, str),
    "penalties": (list,),
    "cv": (int, str, list),
    "penalise_constant": (bool,),
    "outcome_type": (str,),
    "predictor": (str, dict),
    "measure": (str, float),
    "robust": (dict,),
    "random_state": (int,),
}
_PROFILE: dict[str, tuple[type, ...]] = {
    "pairs": (list,),
    "points": (int,),
    "lowest": (int, float),
    "highest": (int, float),
}
_REPORT: dict[str, tuple[type, ...]] = {
    "p_max": (int, float),
    "reason": (str,),
    "sizes": (list,),
    "levels": (dict,),
    "budget": (str, dict),
    "search": (dict,),
    "threshold": (int, float),
    "check_specification": (bool,),
    "bands": (int, dict),
}
_BANDS: dict[str, tuple[type, ...]] = {
    "n_boot": (int,),
    "level": (int, float),
    "simultaneous": (bool,),
    "refit": (str,),
    "counts": (bool,),
    "check": (int, float),
    "n_jobs": (int,),
}
_PREDICTOR: dict[str, tuple[type, ...]] = {
    "model": (str,),
    "input": (str,),
    "gradient": (str,),
    "scale": (str,),
    "columns": (list,),
}
_ROBUST: dict[str, tuple[type, ...]] = {
    "p_max": (int, float),
    "weight": (int, float),
    "budget": (str, dict),
    "search": (dict,),
}
_BUDGET: dict[str, tuple[type, ...]] = {"kind": (str,), "min_eigenvalue": (int, float), "bounds": (dict,)}
_SEARCH: dict[str, tuple[type, ...]] = {"starts": (int,), "method": (str,), "n_jobs": (int,)}
_PICKLES = (".joblib", ".pkl", ".pickle")
_REQUIRED = ("data", "graph", "protected", "outcome")
_TYPE_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """An audit as a settings file describes it."""

    data: tuple[Path, ...]  # one file, or the completed tables of a multiple imputation
    graph: CausalGraph
    sample_weight: str | None
    options: Mapping[str, Any]
    pairs: tuple[tuple[str, str], ...]
    grid: tuple[float, ...] | None
    report: Mapping[str, Any] | None  # questions of a report, where the file asks for one
    output: Path
    folder: Path  # of the settings file

    def fit(self, progress: Progress | None = None) -> Audit:
        """Read the data and fit."""
        frames = [read_frame(path) for path in self.data]
        if "cluster" in self.options:
            for frame in frames:
                _check_column(frame, self.options["cluster"], "options.cluster")
        weight = None if self.sample_weight is None else self._weight(frames, self.sample_weight)
        options = dict(self.options)
        predictor = options.get("predictor", {})
        if "model" in predictor:
            predictor = {**predictor, "model": load_predictor(predictor["model"], self.folder)}
        options["predictor"] = Predictor(**predictor)
        data = frames if len(frames) > 1 else frames[0]
        return Audit.fit(data, self.graph, sample_weight=weight, progress=progress, **options)

    def source(self) -> dict[str, str]:
        """Say which file was audited, with its checksum; several are joined by commas, in their order."""
        sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.data]
        return {"file": ", ".join(path.name for path in self.data), "sha256": ", ".join(sums)}

    def _weight(self, frames: Sequence[pd.DataFrame], name: str) -> pd.Series[Any]:
        """Take the column of weights, which are people's own and the same in every completed table."""
        for frame, path in zip(frames, self.data, strict=True):
            _check_column(frame, name, "sample_weight")
            alike = frame[name].equals(frames[0][name]) or np.array_equal(frame[name], frames[0][name])
            if len(frame) == len(frames[0]) and not alike:
                raise DataError(
                    f"sample_weight names '{name}', which is not the same in {self.data[0].name} and {path.name}: give "
                    "each person one weight"
                )
        return frames[0][name]


def _check_column(frame: pd.DataFrame, name: str, key: str) -> None:
    """Refuse a key that names what is no column."""
    if name not in frame.columns:
        near = did_you_mean(name, map(str, frame.columns))
        raise DataError(f"{key} names '{name}', which is not a column of the data{near}")


def read_settings(path: Path) -> Plan:
    """Read a TOML settings file; paths in it are relative to it.

    Unknown keys are refused with the nearest known one, values with their type.
    """
    content = _read_toml(path)
    _check_keys(content, _KEYS, "")
    for key in _REQUIRED:
        if key not in content:
            raise SettingError(f"{path.name} has no '{key}': it needs {', '.join(_REQUIRED)}")
    options, grid = content.get("options", {}), content.get("profile", {})
    _check_keys(options, _OPTIONS, "options.")
    _check_keys(grid, _PROFILE, "profile.")
    report = content.get("report")
    _check_keys(report or {}, _REPORT, "report.")
    graph = CausalGraph.parse(content["graph"], protected=content["protected"], outcome=content["outcome"])
    folder = path.parent
    return Plan(
        data=tuple(folder / name for name in _files(content["data"])),
        graph=graph,
        sample_weight=content.get("sample_weight"),
        options=_read_options(options, graph),
        pairs=_pairs(grid, graph),
        grid=_grid(grid),
        report=None if report is None else _read_choices(report, "report.", graph),
        output=folder / content.get("output", f"{path.stem}-results.json"),
        folder=folder,
    )


def read_frame(path: Path) -> pd.DataFrame:
    """Read a CSV (also compressed) or Parquet file."""
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        if ".csv" in path.suffixes:
            header = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0]  # pandas would rename a second column
            check_unique(header.dropna())
            return pd.read_csv(path, low_memory=False)  # a column has one type, however long the file
    except FileNotFoundError:
        raise DataError(f"there is no data file {str(path)!r}") from None
    except ImportError:
        raise DataError("reading Parquet needs pyarrow: pip install 'fairstress[parquet]'") from None
    except (OSError, ValueError) as problem:
        raise DataError(f"cannot read {str(path)!r}: {problem}") from None
    raise DataError(f"cannot read {str(path)!r}: give a .csv or .parquet file")


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
    """Let Python find modules in a folder first."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.resolve()))


def _unpickled(path: Path) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except FileNotFoundError:
        raise SettingError(f"'options.predictor': there is no file {str(path)!r}") from None
    except Exception as problem:
        raise SettingError(f"'options.predictor': cannot load {str(path)!r} ({describe_error(problem)})") from problem


# ---------------------------------------------------------------- checks


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"there is no settings file {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"cannot read {str(path)!r}: {problem}") from None
    except tomllib.TOMLDecodeError as problem:
        raise SettingError(f"{path.name} is not valid TOML: {problem}") from None


def _check_keys(content: Mapping[str, Any], known: Mapping[str, tuple[type, ...]], prefix: str) -> None:
    """Refuse unknown keys and values of the wrong type."""
    for key, value in content.items():
        if key not in known:
            raise SettingError(
                f"unknown key '{prefix}{key}'{did_you_mean(key, known) or '; known: ' + ', '.join(known)}"
            )
        kinds = known[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_TYPE_NAMES[kind] for kind in kinds if not (kind is int and float in kinds))
            raise SettingError(f"'{prefix}{key}' is {value!r}: give {wanted}")


# ---------------------------------------------------------------- values


def _read_options(options: Mapping[str, Any], graph: CausalGraph) -> dict[str, Any]:
    """Turn tables among the options into values; a predictor's model is loaded later."""
    read = dict(options)
    read_words(read.get("kinds"), graph)  # before any data are read
    if "cv" in read:
        read["cv"] = _folds(read["cv"])
    if "predictor" in read:
        predictor = read["predictor"]
        read["predictor"] = {"model": predictor} if isinstance(predictor, str) else predictor
        _check_keys(read["predictor"], _PREDICTOR, "options.predictor.")
    if "robust" in read:
        _check_keys(read["robust"], _ROBUST, "options.robust.")
        for key in ("p_max", "weight"):
            if key not in read["robust"]:
                raise SettingError(f"'options.robust' lacks '{key}': give both, such as {{p_max = 0.3, weight = 10}}")
        read["robust"] = Robust(**_read_choices(read["robust"], "options.robust.", graph))
    return read


def _files(given: str | list[Any]) -> list[str]:
    """Name the data's files: one, or several completed tables."""
    if isinstance(given, str):
        return [given]
    for i, name in enumerate(given):
        if not isinstance(name, str):
            raise SettingError(f"'data' lists {name!r}: give names of files")
        if name in given[:i]:
            raise SettingError(f"'data' lists {name!r} twice: give each completed table once")
    if len(given) < 2:
        raise SettingError(
            f"'data' lists {len(given)} file(s): give two or more completed tables, or one without a list"
        )
    return given


def _folds(given: int | str | list[Any]) -> Any:
    """Give cv as `Audit.fit` takes it; the number of folds is checked there."""
    way = given[0] if isinstance(given, list) and len(given) == 2 else given
    if isinstance(given, int) or way == CONTIGUOUS:
        return tuple(given) if isinstance(given, list) else given
    raise SettingError(
        f"'options.cv' is {given!r}: give a number of folds, or '{CONTIGUOUS}' or ['{CONTIGUOUS}', 10] for folds in "
        "the order of the rows"
    )


def _read_choices(table: Mapping[str, Any], prefix: str, graph: CausalGraph) -> dict[str, Any]:
    """Turn a budget, a search and bands, where a table has them, into values."""
    read = dict(table)
    if "budget" in read:
        given = read["budget"]
        read["budget"] = _budget(given, f"{prefix}budget.") if isinstance(given, dict) else read_budget(given)
        for pair in read["budget"].bounds:
            read_pair(pair, graph, graph.nodes)
    if "search" in read:
        _check_keys(read["search"], _SEARCH, f"{prefix}search.")
        read["search"] = Search(**read["search"])
    if "bands" in read:
        given = read["bands"]
        _check_keys(given if isinstance(given, dict) else {}, _BANDS, f"{prefix}bands.")
        read["bands"] = Bootstrap(**given) if isinstance(given, dict) else read_bootstrap(given)
    return read


def _budget(table: Mapping[str, Any], prefix: str) -> Budget:
    """A budget as a table: its kind, and its options; pairs are written ``"ugpa <-> lsat"``."""
    _check_keys(table, _BUDGET, prefix)
    options = {key: value for key, value in table.items() if key != "kind"}
    kind = type(read_budget(table.get("kind", Pairwise.kind)))
    if kind is Spectral and "min_eigenvalue" in options:
        raise SettingError(f"'{prefix}min_eigenvalue' is for the pairwise budget: the spectral one has its own floor")
    if "bounds" in options:
        options["bounds"] = {_pair(pair, prefix): limits for pair, limits in options["bounds"].items()}
    return kind(**options)


def _pair(text: str, prefix: str) -> tuple[str, str]:
    ends = [end.strip() for end in text.split("<->")]
    if len(ends) != 2 or not all(ends):
        raise SettingError(f"'{prefix}bounds' names {text!r}: give two names joined by '<->', such as 'ugpa <-> lsat'")
    return ends[0], ends[1]


def _pairs(grid: Mapping[str, Any], graph: CausalGraph) -> tuple[tuple[str, str], ...]:
    """Give the pairs to profile: those asked for, otherwise all pairs that the graph names."""
    if "pairs" not in grid:
        return graph.pairs
    for pair in grid["pairs"]:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(end, str) for end in pair)):
            raise SettingError(f"'profile.pairs' has {pair!r}: give lists of two names, such as ['ugpa', 'lsat']")
    return tuple((a, b) for a, b in grid["pairs"])


def _grid(grid: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Give the correlations to profile, None for the default."""
    if not {"points", "lowest", "highest"} & set(grid):
        return None
    lowest, highest, points = grid.get("lowest", -0.99), grid.get("highest", 0.99), grid.get("points", 201)
    if not (-1 < lowest < highest < 1 and points >= 2):
        raise SettingError(
            f"'profile' asks for {points} points from {lowest} to {highest}: "
            "give at least 2 points with -1 < lowest < highest < 1"
        )
    return tuple((np.linspace(lowest, highest, points).round(10) + 0.0).tolist())
