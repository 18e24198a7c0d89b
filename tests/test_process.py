"""Another process does what it is sent, says when it cannot, and ends with the one that sends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import fairstress
from fairstress.process import Process, UnansweredError, _path, can_start, importing


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # one that nobody waits for is still there, but has ended
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it is gone, or the system tells otherwise
        return not Path("/proc").exists()


def eventually(holds):
    end = time.monotonic() + 30
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


@contextmanager
def started():
    process = Process()
    yield process
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


def test_what_is_printed_as_python_starts_is_no_answer(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("import os\nos.write(1, b'starts\\nno end of a line')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with started() as other:
        assert [other(len, "four"), other(divmod, 17, 5)] == [4, (3, 2)]


def test_a_process_is_not_asked_again_once_an_answer_could_not_be_read(other, monkeypatch):
    assert other(len, "four") == 4

    def runs_out_of_memory(file):
        raise MemoryError

    with monkeypatch.context() as short:
        short.setattr("fairstress.process.pickle.load", runs_out_of_memory)
        with pytest.raises(UnansweredError):
            other(len, "sixsix")
    assert not other.is_alive  # or the next answer would be 6


def starts_others():
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    return pid, subprocess.Popen(["sleep", "60"]).pid


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes to end at once")
def test_what_a_process_has_started_ends_with_it():
    with started() as other:
        pids = other(starts_others)
        assert all(map(is_running, pids))
    assert eventually(lambda: not any(map(is_running, pids)))


def test_it_reads_nothing_of_what_is_sent(other):
    assert other(os.read, 0, 1) == b""


def test_it_finds_modules_where_this_process_does(tmp_path, monkeypatch):
    (tmp_path / "found_beside.py").write_text("def answer():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import found_beside

    with started() as other:
        assert other(found_beside.answer) == 42


def test_it_finds_this_package_where_the_folder_has_changed(tmp_path):
    here = os.path.relpath(Path(fairstress.__file__).parents[1])
    program = f"""
import os, sys
sys.path.insert(0, {here!r})
from fairstress.process import Process
os.chdir({str(tmp_path)!r})
process = Process()
print(process(len, "four"))
process.close()
"""
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_nothing_of_a_class_that_a_script_defines_comes_back(other):
    """It would take the place of the script's own."""
    with pytest.raises(UnansweredError):
        other(eval, "type('Own', (), {'__module__': '__main__'})()")
    assert other(len, "next") == 4


def test_what_is_killed_does_not_answer(other):
    assert other(len, "four") == 4
    other.kill()
    with pytest.raises(UnansweredError, match="killed"):
        other(len, "next")


def test_who_is_interrupted_while_waiting_gets_no_answer_later(other, monkeypatch):
    def is_interrupted(file):
        raise KeyboardInterrupt

    assert other(len, "four") == 4
    with monkeypatch.context() as short:
        short.setattr("fairstress.process.pickle.load", is_interrupted)
        with pytest.raises(KeyboardInterrupt):
            other(len, "sixsix")
    assert not other.is_alive


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes to end at once")
def test_what_a_process_has_started_ends_though_it_died_by_itself():
    with started() as other:
        pids = other(starts_others)
        with pytest.raises(UnansweredError):
            other(os._exit, 0)
        assert eventually(lambda: not any(map(is_running, pids)))


def test_entries_of_the_path_that_are_no_folders_are_passed_over(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, None, b"bytes", "__editable__.none.finder"])
    assert _path()[-2:] == ["__editable__.none.finder", str(Path(fairstress.__file__).resolve().parents[1])]
    with started() as other:
        assert other(len, "four") == 4


def test_a_script_is_not_run_anew_by_the_processes_that_it_starts(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "print('begins')\n"
        "from fairstress.process import Process\n"
        "process = Process()\n"
        "print(process(len, 'four'))\n"
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


@pytest.mark.parametrize("meanwhile", ["", WORKING], ids=["idle", "working"])
def test_a_process_ends_soon_after_the_one_that_asks_was_killed(meanwhile):
    script = KILLED.format(meanwhile=meanwhile)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as asking:
        other = int(asking.stdout.readline())
        assert is_running(other)
        asking.kill()
    assert eventually(lambda: not is_running(other))


FORKED = """
import os, time
from fairstress.process import Process

process = Process()
print(process(os.getpid), flush=True)
forked = os.fork()
if forked:
    print(forked, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_process_ends_though_others_hold_the_way_to_it_open():
    with subprocess.Popen([sys.executable, "-c", FORKED], stdout=subprocess.PIPE, text=True) as asking:
        other, forked = (int(asking.stdout.readline()) for _ in range(2))
        asking.kill()
        try:
            assert eventually(lambda: not is_running(other))
            assert is_running(forked)
        finally:
            os.kill(forked, signal.SIGKILL)


@pytest.mark.parametrize("is_own", [False, True])
def test_imports_are_kept_from_being_looked_through_in_processes_of_our_own_alone(is_own, monkeypatch):
    monkeypatch.setattr("fairstress.process._own", [True] if is_own else [])
    kept = gc.get_freeze_count()
    try:
        with importing(keep=True):
            assert not gc.isenabled()
        assert gc.isenabled()
        assert (gc.get_freeze_count() > kept) == is_own
    finally:
        gc.unfreeze()


def test_who_looks_for_no_garbage_goes_on_so():
    gc.disable()
    try:
        with importing():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
