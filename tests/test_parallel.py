"""Work that is about the same things is sent to other processes, with the same digits and warnings as here."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

from fairstress.errors import FairstressWarning
from fairstress.parallel import in_parallel_about

SCRIPT = """
import sys
import numpy as np
import fairstress as fs

EDGES = (
    "a -> x0, x1, x2; x0 -> x1, x2, x3, x4; x1 -> x3; x2 -> x4; x0 <-> x1; x0 <-> x2; x0 <-> x4; x1 <-> x2; "
    "x1 <-> x3; x1 <-> x4; x2 <-> x3; x2 <-> x4; x3 <-> x4"
)
graph = fs.CausalGraph.parse(EDGES, protected="a", outcome="y")


class Own:  # which no other process can import
    def predict(self, X):
        return np.asarray(X) @ np.arange(1.0, 6.0)


frame = fs.datasets.simulate(graph, 400, random_state=21).frame
degrees = dict.fromkeys(graph.features, 1)
predictor = fs.Predictor(Own(), gradient="differences")
audit = fs.Audit.fit(frame, graph, degrees=degrees, penalty=1, predictor=predictor, random_state=0)
print([repr(audit.worst_case(0.5, search=fs.Search(starts=2, n_jobs=n)).value) for n in (1, 2)])
"""


def test_a_predictor_that_a_script_defines_gives_the_same_digits_in_several_processes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    one, two = eval(done.stdout)
    assert one == two
    assert float(one) > 0


def process_and_threads(about, item):
    from threadpoolctl import threadpool_info

    warnings.warn(f"{about} {item}", FairstressWarning, stacklevel=1)
    return os.getpid(), max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def test_warnings_of_other_processes_are_told_here_and_their_linear_algebra_has_one_thread(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with pytest.warns(FairstressWarning) as heard:
        found = in_parallel_about(process_and_threads, "about", [1, 2], 2)
    assert os.getpid() not in [process for process, _ in found]
    assert [threads for _, threads in found] == [1, 1]
    assert {str(one.message) for one in heard} == {"about 1", "about 2"}


class OpensHereAlone:
    """What another process cannot open, though it can be sent."""

    def __init__(self):
        self.process = os.getpid()

    def __setstate__(self, state):
        if state["process"] != os.getpid():
            raise ModuleNotFoundError("no such file there")


def test_what_another_process_cannot_open_is_worked_at_here():
    found = in_parallel_about(lambda about, item: (os.getpid(), item), OpensHereAlone(), [1, 2], 2)
    assert found == [(os.getpid(), 1), (os.getpid(), 2)]
