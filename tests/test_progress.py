"""Progress is told to whoever asks, and shown once, where somebody looks."""

from __future__ import annotations

import inspect
import io
import sys

import pytest

import fairstress as fs
from fairstress.progress import watching

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")


@pytest.fixture(scope="module")
def audit():
    frame = fs.datasets.simulate(GRAPH, 300, random_state=0).frame
    return fs.Audit.fit(frame, GRAPH, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def look_at(monkeypatch):
    """Let standard error be some stream from now on, on which bars appear at once or after a delay."""

    def look(stream: io.StringIO, delay: float = 0) -> io.StringIO:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr("fairstress.progress.DELAY", delay)
        return stream

    return look


def test_a_bar_is_shown_on_a_terminal_by_itself_and_elsewhere_if_asked_for(audit, look_at):
    terminal = look_at(Terminal())
    audit.curve([0, 0.1, 0.2])
    assert "curve: |" in terminal.getvalue()
    assert "left" in terminal.getvalue()
    pipe = look_at(io.StringIO())
    audit.curve([0, 0.1])
    assert pipe.getvalue() == ""
    audit.curve([0, 0.1], progress=True)
    assert "2 of 2" in pipe.getvalue()


def test_nobody_is_told_on_a_terminal_if_that_is_asked_for(audit, look_at):
    terminal = look_at(Terminal())
    audit.curve([0, 0.1], progress=False)
    with watching(False, "all"):
        audit.curve([0, 0.1])
    heard = []
    audit.curve([0, 0.1], progress=lambda *step: heard.append(step))
    assert heard == [(1, 2), (2, 2)]
    assert terminal.getvalue() == ""


def test_work_within_work_shows_one_bar(audit, look_at):
    terminal = look_at(Terminal())
    audit.report(None, 0.1, sizes=[0, 0.1], grid=[0, 0.1], search=fs.Search(starts=1), thorough=False)
    shown = terminal.getvalue()
    assert "report: |" in shown
    assert not {"curve", "profile", "worst case", "breaking point"} & set(shown.replace(":", "|").split("|"))


def test_work_that_ends_at_once_shows_nothing(audit, look_at):
    screen = look_at(Terminal(), delay=60)
    audit.profile(("a", "x"), [0, 0.1])
    assert screen.getvalue() == ""


def test_a_notebook_is_a_place_where_somebody_looks(audit, look_at, monkeypatch):
    class Notebook:
        @staticmethod
        def get_ipython():
            return type("Shell", (), {"kernel": object()})()

    monkeypatch.setitem(sys.modules, "IPython", Notebook)
    page = look_at(io.StringIO())
    audit.curve([0, 0.1])
    assert "curve: |" in page.getvalue()


def test_a_second_part_of_the_work_counts_from_the_start(look_at):
    terminal = look_at(Terminal())
    with watching(True, "two parts") as report:
        for done, total in ((1, 3), (2, 3), (3, 3), (1, 2), (2, 2)):
            report(done, total)
    assert "2 of 2" in terminal.getvalue()


def test_progress_is_a_function_or_a_word(audit):
    with pytest.raises(fs.SettingError, match="progress is 3: give True, False, or a function"):
        audit.curve([0, 0.1], progress=3)


def test_every_public_method_that_takes_progress_shows_it_by_itself():
    methods = {
        name: inspect.signature(getattr(fs.Audit, name)).parameters
        for name in dir(fs.Audit)
        if name[0] != "_" and callable(getattr(fs.Audit, name))
    }
    long = {name: known["progress"] for name, known in methods.items() if "progress" in known}
    assert {"fit", "profile", "worst_case", "curve", "breaking_point", "effects", "report"} <= set(long)
    assert {(known.kind, known.default) for known in long.values()} == {(inspect.Parameter.KEYWORD_ONLY, None)}
