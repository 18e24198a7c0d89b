"""Another process does what it is sent, says when it cannot, and ends with the one that sends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from fairstress.process import Process, UnansweredError, can_start


@contextmanager
def started():
    process = Process()
    yield process
    process.kill()
    process.close()


@pytest.fixture
def other():
    with started() as process:
        yield process


def test_another_process_calls_a_function_with_its_arguments(other):
    assert other(divmod, 17, 5) == (3, 2)
    assert other(os.getpid) != os.getpid()
    numbers = np.arange(2.0**20)  # more than a pipe holds
    np.testing.assert_array_equal(other(np.flip, numbers), numbers[::-1])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(int, ("many",)), (sys.exit, (3,)), (threading.Lock, ())],  # raises, ends, gives what cannot be sent
    ids=["raises", "exits", "cannot be sent"],
)
def test_what_has_no_answer_is_said_and_the_next_question_is_answered(other, function, arguments):
    with pytest.raises(UnansweredError):
        other(function, *arguments)
    assert other.is_alive
    assert other(len, "next") == 4


class Unknown:
    def __reduce__(self):
        return getattr, ("no module", "has this")


def test_what_cannot_be_opened_there_has_no_answer(other):
    with pytest.raises(UnansweredError):
        other(len, Unknown())
    assert other(len, "next") == 4


def test_a_process_that_dies_is_not_asked_again(other):
    with pytest.raises(UnansweredError):
        other(os._exit, 0)
    assert not other.is_alive
    with pytest.raises(UnansweredError):
        other(len, "next")


def test_who_waits_for_a_process_that_is_killed_is_told(other):
    told = []

    def wait():
        with pytest.raises(UnansweredError):
            other(time.sleep, 60)
        told.append(True)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.2)
    other.kill()
    waiting.join(10)
    assert told == [True]


def test_what_is_printed_there_goes_to_standard_error(capfd):
    with started() as other:
        other(print, "by Python")
        other(os.write, 1, b"by what is compiled\n")
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == "by Python\nby what is compiled\n"


def test_it_reads_nothing_of_what_is_sent(other):
    assert other(os.read, 0, 1) == b""


def test_it_finds_modules_where_this_process_does(tmp_path, monkeypatch):
    (tmp_path / "found_beside.py").write_text("def answer():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import found_beside

    with started() as other:
        assert other(found_beside.answer) == 42


def test_a_script_is_not_run_anew_by_the_processes_that_it_starts(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "print('begins')\n"
        "from fairstress.process import Process\n"
        "process = Process()\n"
        "print(process(len, 'four'))\n"
        "process.kill()\n"
        "process.close()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["begins", "4"]
    assert done.stderr == ""


@pytest.mark.parametrize(("name", "value"), [("executable", ""), ("frozen", True)])
def test_where_there_is_no_python_to_start_none_is(name, value, monkeypatch):
    assert can_start()
    monkeypatch.setattr(sys, name, value, raising=False)
    assert not can_start()


KILLED = """
import os, threading, time
from fairstress.process import Process

process = Process()
print(process(os.getpid), flush=True)
{meanwhile}
time.sleep(60)
"""
WORKING = "threading.Thread(target=process, args=(time.sleep, 60)).start()"


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("meanwhile", ["", WORKING], ids=["idle", "working"])
def test_a_process_ends_soon_after_the_one_that_asks_was_killed(meanwhile):
    script = KILLED.format(meanwhile=meanwhile)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as asking:
        other = int(asking.stdout.readline())
        assert is_there(other)
        asking.kill()
    end = time.monotonic() + 30
    while is_there(other) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_there(other)
