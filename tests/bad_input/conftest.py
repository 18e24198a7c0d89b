"""A small world to spoil: a graph, a table, an audit, files; every refusal is one sentence of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import fairstress as fs
from fairstress.cli import main

TEXT = "a -> x, z; x -> z; x <-> z; a <-> x"
ENDS = {"protected": "a", "outcome": "y"}
QUICK = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
LONGEST = 600  # characters of a refusal: it is a sentence, whatever it refuses


@dataclass(frozen=True)
class World:
    """What cases change one thing of."""

    graph: fs.CausalGraph
    frame: pd.DataFrame
    audit: fs.Audit

    def fit(self, frame: Any = None, graph: Any = None, **changes: Any) -> fs.Audit:
        """Fit the audit with some arguments changed."""
        table = self.frame if frame is None else frame
        return fs.Audit.fit(table, graph or self.graph, **{**QUICK, **changes})

    def with_column(self, name: str, values: Any, **changes: Any) -> fs.Audit:
        """Fit it with one column changed."""
        return self.fit(self.frame.assign(**{name: values}), **changes)

    def with_cell(self, name: str, value: Any, **changes: Any) -> fs.Audit:
        """Fit it with the fourth value of one column changed."""
        column = self.frame[name].astype(float if isinstance(value, float) else object)
        column.iloc[3] = value
        return self.with_column(name, column, **changes)


@pytest.fixture(scope="session")
def world() -> World:
    graph = fs.CausalGraph.parse(TEXT, **ENDS)
    frame = fs.datasets.simulate(graph, 60, random_state=0).frame
    frame = frame.assign(age=np.arange(60) % 7, region=np.array(["n", "s", "e"])[np.arange(60) % 3])
    return World(graph, frame, fs.Audit.fit(frame, graph, **QUICK, random_state=0))


@pytest.fixture(scope="session")
def refuses() -> Callable[..., None]:
    """Check that a call is refused by a sentence of the library's own, which says what the case expects."""

    def check(call: Callable[[], Any], sentence: str, error: type[Exception] = fs.FairstressError) -> None:
        with pytest.raises(error) as caught:
            call()
        said = str(caught.value)
        assert sentence in said
        assert "\n" not in said
        assert len(said) <= LONGEST

    return check


@dataclass(frozen=True)
class Command:
    """The command line in a folder with a table of its own."""

    folder: Path
    settings: str

    def refuses(self, arguments: list[str], sentence: str) -> None:
        """Check that a command says one line on standard error, nothing else, and ends with exit code 2."""
        found = CliRunner().invoke(main, arguments)
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        said = found.stderr.replace(f"{self.folder}/", "")
        assert said.startswith("fairstress: ")
        assert said.count("\n") == 1
        assert sentence in said
        assert (found.exit_code, found.stdout) == (2, "")


@pytest.fixture(scope="session")
def people() -> str:
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    return fs.datasets.simulate(graph, 80, random_state=0).frame.to_csv(index=False)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, people: str) -> Command:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(people, encoding="utf-8")
    keys = 'data = "people.csv"\ngraph = "a -> x -> z; x <-> z"\nprotected = "a"\noutcome = "y"\n'
    return Command(tmp_path, keys)
