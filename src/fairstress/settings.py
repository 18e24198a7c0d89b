"""Settings files: a TOML description of an audit, checked by its schema and made a plan."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairstress.arguments import share, whole_number
from fairstress.audit import Audit
from fairstress.budgets import Budget, Pairwise, SingleCause, Spectral, read_budget
from fairstress.claim.build import Fitted
from fairstress.errors import DataError, SettingError, did_you_mean
from fairstress.inputs.correlation import read_pair
from fairstress.inputs.described import Described, read_columns
from fairstress.inputs.files import CsvFormat
from fairstress.inputs.folds import CONTIGUOUS
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.kinds import CATEGORY, read_kind, read_words
from fairstress.inputs.tables import Reader, Tables
from fairstress.keys import check_settings
from fairstress.options import Predictor, Robust, Search
from fairstress.progress import Watch
from fairstress.resampling import Bootstrap, read_bootstrap
from fairstress.schema import load_schema
from fairstress.search.causes import check_caps
from fairstress.stored import check_trusted, load_predictor, predictor_file
from fairstress.wording import Wording


@dataclass(frozen=True, slots=True)
class Plan:
    """An audit as a settings file describes it."""

    data: tuple[Path, ...]  # one file, or the completed tables of a multiple imputation
    form: CsvFormat  # how the file is written
    columns: Described
    graph: CausalGraph
    sample_weight: str | None
    options: Mapping[str, Any]
    pairs: tuple[tuple[str, str], ...]
    grid: tuple[float, ...] | None
    report: Mapping[str, Any] | None  # questions of a report, where the file asks for one
    output: Path
    folder: Path  # of the settings file
    sources: Mapping[str, Path]  # all files that are read, by what they are
    content: Mapping[str, Any]  # the settings as plain values

    def tables(self) -> Tables:
        """Read the data, and recode them."""
        kinds = {name: read_kind(kind, name) for name, kind in self.options["kinds"].items()}
        given = {**self.columns.kinds, **kinds}
        return Reader(self.form, self.columns, self.graph, given, self.options.get("outcome_type")).read(self.data)

    def fit(self, progress: Watch = None, tables: Tables | None = None) -> Audit:
        """Fit an audit to the data, which are read now unless they are given."""
        tables = tables or self.tables()
        frames = list(tables.frames)
        if "cluster" in self.options:
            for frame in frames:
                _check_column(frame, self.options["cluster"], "options.cluster")
        weight: Any = self.sample_weight
        if weight is not None and not tables.stream:
            weight = self._weight(frames, weight)
        options = dict(self.options)
        predictor = options.get("predictor", {})
        if "model" in predictor:
            predictor = {**predictor, "model": load_predictor(predictor["model"], self.folder)}
        options["predictor"] = Predictor(**predictor)
        data = tables.stream or (frames if len(frames) > 1 else frames[0])
        audit = Audit.fit(data, self.graph, sample_weight=weight, progress=progress, **options)
        return replace(audit, fitted=_with_sentences(audit.fitted, tables.prepared)) if tables.prepared else audit

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


def _with_sentences(fitted: Fitted, sentences: tuple[str, ...]) -> Fitted:
    """Let a fit remember what was done to the file's values, which its notes say."""
    training = fitted.training and _with_sentences(fitted.training, sentences)
    return replace(fitted, settings=replace(fitted.settings, prepared=sentences), training=training)


def read_settings(
    path: Path, asked: Mapping[str, Mapping[str, Any]] | None = None, *, trust_pickle: bool = False
) -> Plan:
    """Read a TOML settings file; paths in it are relative to it.

    Unknown keys are refused with the nearest known one, values with their type. Of what is ``asked`` for besides, as
    ``{table: {key: value}}``, the file's own keys are overridden. A predictor in a pickle is refused unless the file
    says that it is to be trusted, or ``trust_pickle`` does.
    """
    content = _read_toml(path)
    check_settings(content, path.name)
    content |= {table: {**content.get(table, {}), **keys} for table, keys in (asked or {}).items()}
    plan = make_plan(content, path.name, path.parent, trust_pickle=trust_pickle)
    return replace(plan, sources={"the settings": path, **plan.sources})


def make_plan(content: Mapping[str, Any], name: str, folder: Path, *, trust_pickle: bool = False) -> Plan:
    """Make a plan of settings that were checked, from a file of that name; paths are relative to the folder."""
    for key in load_schema("settings")["required"]:
        if not content[key]:
            raise SettingError(f"'{key}' is empty in {name}: fill it in")
    grid, report = content.get("profile", {}), content.get("report")
    graph = CausalGraph.parse(content["graph"], protected=content["protected"], outcome=content["outcome"])
    files, form = _read_data(content["data"])
    columns = read_columns(content.get("columns", {}))
    options = _read_options(content.get("options", {}), graph, columns)
    predictor = options.get("predictor", {})
    trusted = trust_pickle or predictor.pop("trust_pickle", False)
    if "model" in predictor:
        check_trusted(predictor["model"], trusted)
    return Plan(
        content=content,
        data=tuple(folder / file for file in files),
        form=form,
        columns=columns,
        graph=graph,
        sample_weight=content.get("sample_weight"),
        options={**options, **_words(content, columns)},
        pairs=_pairs(grid, graph),
        grid=_grid(grid),
        report=None if report is None else _read_choices(_on_all_cores(report), "report.", graph),
        output=folder / content.get("output", f"{Path(name).stem}-results.json"),
        folder=folder,
        sources=_sources(folder, files, predictor.get("model")),
    )


def _sources(folder: Path, files: Sequence[str], model: str | None) -> dict[str, Path]:
    """All files that are read, by what they are."""
    data = {f"the data{f' {i + 1}' * (len(files) > 1)}": folder / file for i, file in enumerate(files)}
    return data if model is None else {**data, "the predictor": predictor_file(model, folder)}


# ---------------------------------------------------------------- checks


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"there is no settings file {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"cannot read {str(path)!r}: {problem}") from None
    except RecursionError:
        raise SettingError(f"cannot read {str(path)!r}: lists or tables stand too deep in one another") from None
    except ValueError as problem:  # of which TOML's own errors are some
        raise SettingError(f"{path.name} is not valid TOML: {problem}") from None


# ---------------------------------------------------------------- values


def _read_options(options: Mapping[str, Any], graph: CausalGraph, columns: Described) -> dict[str, Any]:
    """Turn tables among the options into values; a predictor's model is loaded later."""
    read = dict(options)
    read["kinds"] = _kinds(read.get("kinds", {}), graph, columns)
    if "cv" in read:
        read["cv"] = _folds(read["cv"])
    if "predictor" in read:
        predictor = read["predictor"]
        read["predictor"] = {"model": predictor} if isinstance(predictor, str) else dict(predictor)
    if "robust" in read:
        for key in ("p_max", "weight"):
            if key not in read["robust"]:
                raise SettingError(f"'options.robust' lacks '{key}': give both, such as {{p_max = 0.3, weight = 10}}")
        read["robust"] = Robust(**_read_choices(read["robust"], "options.robust.", graph))
    return read


def _kinds(given: Mapping[str, Any], graph: CausalGraph, columns: Described) -> dict[str, Any]:
    """Kinds of both places, checked before any data are read; columns that the graph does not name have none."""
    for name in given:
        if name in columns.kinds:
            raise SettingError(
                f"the kind of '{name}' is given twice, by 'options.kinds' and 'columns.{name}': once will do"
            )
    if graph.outcome in columns.kinds:
        raise SettingError(
            f"'columns.{graph.outcome}' gives the outcome a kind: leave it out, 'options.outcome_type' says what an "
            "outcome is"
        )
    known = (*graph.features, graph.protected, *graph.protected_columns)
    joint = graph.protected_columns if len(graph.protected_columns) > 1 else ()  # whose levels have no order anyway
    read = {name: k for name, k in columns.kinds.items() if name in known and (name not in joint or k.name != CATEGORY)}
    kinds = {**given, **read}
    read_words(kinds, graph)
    return kinds


def _words(content: Mapping[str, Any], columns: Described) -> dict[str, Any]:
    """Words in which results speak, as `Audit.fit` takes them; checked before any data are read."""
    words = {key: content[key] for key in ("people", "higher_is") if key in content}
    return Wording(columns.labels, columns.units, **words).to_dict()


def _read_data(given: str | list[Any] | dict[str, Any]) -> tuple[list[str], CsvFormat]:
    """Files with the format that they are written in."""
    if not isinstance(given, dict):
        return _files(given), CsvFormat()
    if not given.get("file"):
        raise SettingError("'data' has no 'file': name the file, such as file = \"people.csv\"")
    form = {key: value for key, value in given.items() if key != "file"}
    if "missing_values" in form:
        form["missing_values"] = tuple(form["missing_values"])
    return _files(given["file"]), CsvFormat(**form)


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


def _on_all_cores(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report's choices, where nothing else is said with a process for each core."""
    return {**report, "search": {"n_jobs": -1, **report.get("search", {})}}


def _read_choices(table: Mapping[str, Any], prefix: str, graph: CausalGraph) -> dict[str, Any]:
    """Turn a budget, a search and bands, where a table has them, into values."""
    read = dict(table)
    if "budget" in read:
        given = read["budget"]
        read["budget"] = _budget(given, f"{prefix}budget.") if isinstance(given, dict) else read_budget(given)
        for pair in read["budget"].bounds:
            read_pair(pair, graph, graph.nodes)
        if isinstance(read["budget"], SingleCause):
            check_caps(read["budget"], [end for pair in graph.pairs for end in pair], graph.nodes)
    if "search" in read:
        read["search"] = Search(**read["search"])
    _check_sizes(read, prefix)
    if "bands" in read:
        given = read["bands"]
        read["bands"] = Bootstrap(**given) if isinstance(given, dict) else read_bootstrap(given)
    return read


def _check_sizes(table: Mapping[str, Any], prefix: str) -> None:
    """Refuse sizes of budgets, and of groups, that no analysis takes, before any of them begins."""
    if table.get("sizes") == []:
        raise SettingError(f"'{prefix}sizes' is empty: give at least one number, or leave it out")
    for name, sizes in (("p_max", [table.get("p_max", 0)]), ("sizes", table.get("sizes", []))):
        for size in sizes:
            share(size, f"'{prefix}{name}'")
    if "smallest_group" in table:
        whole_number(table["smallest_group"], f"'{prefix}smallest_group'")


def _budget(table: Mapping[str, Any], prefix: str) -> Budget:
    """A budget as a table: its kind, and its options; pairs are written ``"ugpa <-> lsat"``."""
    options = {key: value for key, value in table.items() if key != "kind"}
    kind = type(read_budget(table.get("kind", Pairwise.kind)))
    if kind is Spectral and "min_eigenvalue" in options:
        raise SettingError(f"'{prefix}min_eigenvalue' is for the pairwise budget: the spectral one has its own floor")
    unknown = [key for key in options if key not in {field.name for field in fields(kind)}]
    if unknown:
        raise SettingError(f"'{prefix}{unknown[0]}' does not apply to the {kind.kind} budget: leave it out")
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
        read_pair(pair, graph, graph.nodes)
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
