"""Questions are answered by whichever process has time, and the answers are the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from threading import Lock

import pytest

import fairstress as fs
from fairstress import asking
from fairstress.asking import Questions, processes_ready
from fairstress.errors import FairstressWarning
from fairstress.process import Process
from fairstress.progress import Steps
from fairstress.report.json import render_results, report_results

EDGES = "a -> x, z; x -> z; a <-> x; x <-> z"
LINEAR = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}


def process(about, more, steps):
    steps()
    warnings.warn(f"{about} {more}", FairstressWarning, stacklevel=1)
    return os.getpid()


def fails(about, steps):
    raise ValueError(about)


def ends_its_process(about, steps):
    if os.getpid() != about:
        os._exit(1)
    return "here"


def wait_until_idle():
    while not asking._READY.get()._idle:
        time.sleep(0.01)


@pytest.fixture(scope="module")
def ready():
    with processes_ready(2):
        wait_until_idle()
        yield


def test_another_process_answers_and_its_steps_and_warnings_are_told_here(ready):
    steps = Steps(2)
    with Questions("about", 2, steps) as questions:
        answer = questions.ask(process, "more")
        with pytest.warns(FairstressWarning, match="^about more$"):
            assert answer() != os.getpid()
        assert (answer(), steps.done) == (answer(), 1)  # asked twice, answered once
        assert questions.are_shared


def test_what_nobody_has_begun_is_answered_here(ready):
    wait_until_idle()
    with Questions("about", 2, Steps(0)) as questions:
        first, second = questions.ask(time_passes), questions.ask(time_passes)
        assert second() == os.getpid()
        assert first() != os.getpid()


def time_passes(about, steps):
    time.sleep(0.5)
    return os.getpid()


def test_an_error_comes_up_where_the_answer_is_wanted(ready):
    with Questions("about", 2, Steps(0)) as questions:
        answer = questions.ask(fails)
        with pytest.raises(ValueError, match="about"):
            answer()


@pytest.mark.parametrize(("about", "processes"), [("about", 1), (Lock(), 2)])  # what cannot be sent stays here
def test_one_process_answers_everything(about, processes):
    with Questions(about, processes, Steps(0)) as questions:
        with pytest.warns(FairstressWarning):
            assert questions.ask(process, "more")() == os.getpid()
        assert not questions.are_shared


def test_what_a_process_leaves_behind_is_answered_here():
    with processes_ready(2):
        wait_until_idle()
        with Questions(os.getpid(), 2, Steps(0)) as questions:
            answers = [questions.ask(ends_its_process) for _ in range(2)]
            assert [answer() for answer in answers] == ["here", "here"]


# ---------------------------------------------------------------- reports


def report(audit, n_jobs, **options):
    search = fs.Search(starts=2, n_jobs=n_jobs)
    told = []
    data = audit.report(
        p_max=0.2, sizes=[0, 0.1, 0.2], grid=[0, 0.2], search=search, progress=lambda *at: told.append(at), **options
    )
    return render_results(report_results(data)), told


def audit_of(**options):
    graph = fs.CausalGraph.parse(EDGES, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    return fs.Audit.fit(frame, graph, **LINEAR | options)


def test_a_report_is_the_same_to_the_last_digit_on_one_process_and_on_two(ready):
    audit = audit_of()
    wait_until_idle()
    (one, told), (two, also_told) = (report(audit, n_jobs, bands=60) for n_jobs in (1, 2))
    assert one == two
    assert told[-1] == also_told[-1]
    assert told[-1][0] == told[-1][1]


def test_a_predictor_that_cannot_be_sent_is_asked_here():
    audit = audit_of(predictor=lambda Z: Z.sum(axis=1))
    assert report(audit, 1)[0] == report(audit, 2)[0]


def test_nothing_of_the_processes_is_left_when_they_are_stopped():
    before = set(threading.enumerate())
    with processes_ready(2), Questions("nothing", 2, Steps(0)) as questions:
        wait_until_idle()
        others = asking._READY.get()._processes
        questions.ask(process, "more")  # which nobody waits for
    assert not any(other.is_alive for other in others)
    assert set(threading.enumerate()) <= before


def is_here_while_others_work(about, steps):
    steps()
    return os.getpid()


def test_who_waits_for_an_answer_answers_others_meanwhile(ready):
    wait_until_idle()
    steps = Steps(0)
    with Questions("about", 2, steps) as questions:
        long, *others = [questions.ask(question) for question in (time_passes, *[is_here_while_others_work] * 3)]
        assert long() != os.getpid()
        assert steps.done == 3  # before anybody wanted them
        assert [other() for other in others] == [os.getpid()] * 3


def test_what_may_not_be_wanted_is_not_answered_by_who_waits(ready):
    wait_until_idle()
    steps = Steps(0)
    with Questions("about", 2, steps) as questions:
        long = questions.ask(time_passes)
        unwanted = questions.ask(is_here_while_others_work, is_wanted=False)
        long()
        assert steps.done == 0
        assert unwanted._known == []


def test_who_waits_does_not_meet_the_errors_of_other_questions(ready):
    wait_until_idle()
    with Questions("about", 2, Steps(0)) as questions:
        long, failing = questions.ask(time_passes), questions.ask(fails)
        assert long() != os.getpid()
        with pytest.raises(ValueError, match="about"):
            failing()


def test_processes_that_were_started_end_where_no_more_can_be(monkeypatch):
    started = []

    def start():
        if started:
            raise OSError("too many")
        started.append(Process())
        return started[0]

    monkeypatch.setattr(asking, "Process", start)
    assert asking._others(3) is None
    assert not started[0].is_alive
    assert started[0]._process.returncode is not None  # nobody has to wait for it any more


def test_what_it_is_about_is_sent_once(ready, monkeypatch):
    wait_until_idle()
    asked = []
    ask = Process.__call__
    monkeypatch.setattr(Process, "__call__", lambda self, *of: asked.append(of[0]) or ask(self, *of))
    with Questions("about", 2, Steps(0)) as questions:
        for _ in range(2):
            assert questions.ask(time_passes)() != os.getpid()
            wait_until_idle()
    assert asked == [asking._hold, asking._answered, asking._answered]


def test_a_graph_of_which_nothing_can_be_compared_is_reported(ready):
    """What one cause would have to explain is asked in vain there, and must not be missed."""
    graph = fs.CausalGraph.parse("a; x -> z; x <-> z; a <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, max_degree=1, random_state=0)
    wait_until_idle()
    one, two = (report(audit, n_jobs)[0] for n_jobs in (1, 2))
    assert one == two


OWN_WARNING = """
import os, time, warnings
import numpy as np
import fairstress as fs
from fairstress import asking

class Own(UserWarning):
    def whose(self):
        return "the script's"

SCALE = 1.0

def predict(Z):
    if os.getpid() != HERE:
        warnings.warn(Own("from afar"))
    return SCALE * Z[:, 0]

HERE = os.getpid()
graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; x <-> z", protected="a", outcome="y")
frame = fs.datasets.simulate(graph, 300, random_state=0).frame
audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=1, predictor=predict, random_state=0)
whose, ran = Own.whose, []
with asking.processes_ready(2), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    while not asking._READY.get()._idle:
        time.sleep(0.01)
    audit.report(p_max=0.2, sizes=[0, 0.1, 0.2], grid=[0, 0.2], search=fs.Search(starts=2, n_jobs=2))
print(Own.whose is whose, any(str(one.message) == "from afar" for one in caught))
"""


def test_warnings_of_a_scripts_own_class_are_told_and_leave_the_class_alone(tmp_path):
    (tmp_path / "script.py").write_text(OWN_WARNING)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n", done.stderr
