"""What fuzzers throw text at: a parser refuses it in one line of ours, or what it reads survives a round trip.

Each target takes bytes, as files hold them, and raises on any other behaviour. `test_fuzz.py` calls them from
hypothesis, `studies/fuzz.py` from a coverage-guided fuzzer.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import fairstress as fs
from fairstress.inputs.files import CsvFormat, open_table, read_frame
from fairstress.inputs.survey import survey
from fairstress.report.saved import read_results
from fairstress.report.text.brief import brief
from fairstress.settings import read_settings

ENDS = {"protected": "a", "outcome": "y"}


def read(call: Callable[[], object]) -> object | None:
    """What a call gives, or None where it refuses, in one line that is not endless."""
    try:
        return call()
    except fs.FairstressError as refusal:
        said = str(refusal)
        assert said, "a refusal says something"
        assert "\n" not in said, said
        assert len(said) < 1000, said
        return None


def graph_text(data: bytes) -> None:
    """Graphs as text: what is read is written, and read again, as the same graph, in every notation."""
    text = data.decode("utf-8", "replace")
    _round_trips(read(lambda: fs.CausalGraph.parse(text, **ENDS)))


def graph_dot(data: bytes) -> None:
    """Graphs as DOT and dagitty."""
    text = data.decode("utf-8", "replace")
    _round_trips(read(lambda: fs.CausalGraph.from_dot(text, **ENDS)))
    _round_trips(read(lambda: fs.CausalGraph.from_dagitty(text, **ENDS)))


def _round_trips(graph: object | None) -> None:
    if isinstance(graph, fs.CausalGraph):
        assert fs.CausalGraph.parse(graph.to_text(), **ENDS) == graph
        assert fs.CausalGraph.from_dot(graph.to_dot(), **ENDS) == graph
        assert fs.CausalGraph.from_dict(**json.loads(json.dumps(graph.to_dict()))) == graph


def settings(data: bytes) -> None:
    """Settings files, as far as they are read without a table."""
    _with_file("audit.toml", data, lambda path: read(lambda: read_settings(path)))


def results(data: bytes) -> None:
    """Saved results; what passes the checks can be told."""

    def told(path: Path) -> None:
        content = read(lambda: read_results(path))
        if isinstance(content, dict):
            assert brief(content)

    _with_file("results.json", data, told)


def table(data: bytes) -> None:
    """Tables as CSV, read for an audit and looked through for a draft of settings."""

    def read_and_looked_through(path: Path) -> None:
        read(lambda: read_frame(open_table(path), CsvFormat()))
        read(lambda: survey(path))

    _with_file("people.csv", data, read_and_looked_through)


def _with_file(name: str, data: bytes, call: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory(prefix="fairstress-fuzz-") as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        call(path)


TARGETS = {
    "graph_text": graph_text,
    "graph_dot": graph_dot,
    "settings": settings,
    "results": results,
    "table": table,
}
