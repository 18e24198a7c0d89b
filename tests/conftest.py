"""Shared data: the law-school audit as in the paper, and the paper's files where they can be found."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import runpy
import shutil
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import settings

import fairstress as fs
from fairstress import compiling
from fairstress.cli import main
from fairstress.report.json import report_results

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")

HAS_NUMBA = importlib.util.find_spec("numba") is not None
ROOMS = ("bench", "model.threshold_kernel", "claim.kernel", "functionals.kernel")
KERNELS = tuple(f"fairstress.{room}" for room in ROOMS)

LAW = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat"
NHS = """
race -> org_sat, manager_sat, job_sat
org_sat -> manager_sat, job_sat
manager_sat -> job_sat
org_sat <-> manager_sat; org_sat <-> job_sat; manager_sat <-> job_sat
"""


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is compiled or, where numba is not installed, the same as plain Python."""
    if HAS_NUMBA:
        yield
        return
    stand_in = types.ModuleType("numba")
    stand_in.config = types.SimpleNamespace(CACHE_DIR="")
    stand_in.njit = lambda **_: lambda function: function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", stand_in)
    compiling.load.cache_clear()
    yield
    compiling.load.cache_clear()
    for name in KERNELS:  # for good: later tests would find what the stand-in made
        sys.modules.pop(name, None)


@pytest.fixture
def without_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing can be compiled, whether numba is installed or not."""
    monkeypatch.setitem(sys.modules, "numba", None)
    for name in KERNELS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    compiling.load.cache_clear()
    yield
    compiling.load.cache_clear()


@pytest.fixture(scope="session")
def law_graph() -> fs.CausalGraph:
    return fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")


@pytest.fixture(scope="session")
def law_frame() -> pd.DataFrame:
    return fs.datasets.law_school()


@pytest.fixture(scope="session")
def law_audit(law_frame: pd.DataFrame, law_graph: fs.CausalGraph) -> fs.Audit:
    """Law school with the settings of the paper."""
    settings = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous"}
    return fs.Audit.fit(law_frame, law_graph, reference="White", **settings)


@pytest.fixture(scope="session")
def nhs_frame() -> pd.DataFrame:
    folder = os.environ.get("FAIRSTRESS_DATA")
    if not folder:
        pytest.skip("the NHS staff survey is not shipped: set FAIRSTRESS_DATA to the folder that holds it")
    return fs.datasets.nhs_staff_survey(Path(folder) / "nhs_staff_survey.npz")


@pytest.fixture(scope="session")
def nhs_audit(nhs_frame: pd.DataFrame) -> fs.Audit:
    """The NHS survey with the settings of the paper."""
    graph = fs.CausalGraph.parse(NHS, protected="race", outcome="health")
    settings = {"penalise_constant": True, "penalties": np.logspace(-3, 3, 8), "cv": "contiguous"}
    return fs.Audit.fit(nhs_frame, graph, **settings)


@dataclass(frozen=True)
class Demonstration:
    """What `fairstress demo` printed and wrote."""

    stdout: str
    stderr: str
    page: Path

    @property
    def results(self) -> dict[str, Any]:
        """The results that the page carries."""
        text = self.page.read_text(encoding="utf-8")
        return json.loads(re.search(r'<script type="application/json" id="results">(.*?)</script>', text)[1])


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[], Any]], Any]:
    """Make what takes long, in plain types, in one process of a test run; the others wait and read it."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder  # which all workers of a run share

    def read(name: str, make: Callable[[], Any]) -> Any:
        made, lock = folder / f"{name}.json", folder / f"{name}.lock"
        while not made.exists():
            try:
                lock.mkdir()
            except FileExistsError:
                time.sleep(0.1)
                continue
            try:
                if not made.exists():
                    (lock / "part").write_text(json.dumps(make()), encoding="utf-8")
                    (lock / "part").rename(made)
            finally:
                shutil.rmtree(lock)
        return json.loads(made.read_text(encoding="utf-8"))

    return read


@pytest.fixture(scope="session")
def demonstration(made_once, tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    def demo() -> dict[str, str]:
        folder = tmp_path_factory.mktemp("demo")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            result = CliRunner().invoke(main, ["demo"])
        assert result.exit_code == 0, result.stderr
        return {"stdout": result.stdout, "stderr": result.stderr, "page": str(folder / "fairstress-demo.html")}

    made = made_once("demonstration", demo)
    return Demonstration(made["stdout"], made["stderr"], Path(made["page"]))


@pytest.fixture(scope="session")
def printed_by(made_once) -> Callable[[str], str]:
    """What an example prints, by its name; each is run once."""

    def run(name: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(Path(__file__).parents[1] / "examples" / f"{name}.py"), run_name="__main__")
        return printed.getvalue()

    return lambda name: made_once(f"example {name}", lambda: run(name))


@pytest.fixture(scope="session")
def load_benchmark() -> Callable[[str], Any]:
    """Import a module from the benchmarks folder, which is no package."""

    def load(name: str) -> Any:
        path = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up by name
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def hostile_names() -> tuple[str, ...]:
    """Names of a protected attribute, two features and an outcome that try to be more than names."""
    return (
        "</script><img src=x onerror=window.harmed=1>",
        "\"quoted\" & 'single' \\ {{ 7 * 7 }} %s $x_1$",
        "\U0001f469\u200d\U0001f52c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
        "n" * 200,
    )


@pytest.fixture(scope="session")
def hostile_audit(hostile_names: tuple[str, ...]) -> fs.Audit:
    """A small audit with such names, whose groups are called no better."""
    plain = fs.CausalGraph.parse("a -> x -> z; x <-> z; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(plain, 100, correlation={("x", "z"): 0.4}, random_state=0).frame
    a, x, z, y = hostile_names
    levels = dict(zip(sorted(frame["a"].unique()), ("<b>one</b>", "__proto__"), strict=True))
    frame = frame.assign(a=frame["a"].map(levels)).rename(columns=dict(zip("axzy", hostile_names, strict=True)))
    frame.index = [f"<i onclick=x>{i}</i>" for i in range(len(frame))]
    graph = fs.CausalGraph(edges=[(a, x), (x, z)], pairs=[(x, z), (a, x)], protected=a, outcome=y)
    return fs.Audit.fit(frame, graph, penalty=1, degrees={x: 1, z: 1}, random_state=0)


@pytest.fixture(scope="session")
def hostile_results(hostile_audit: fs.Audit, made_once) -> dict[str, Any]:
    """A report of it; one level lies within the budgets that are searched, those of the baselines beyond."""
    levels = {"<script>level</script>": (0.1, "because of </style><script>window.harmed=1</script>")}

    def report() -> dict[str, Any]:
        data = hostile_audit.report(
            p_max=0.1,
            reason="<b>no reason</b>",
            sizes=(0, 0.05, 0.1),
            grid=(-0.3, 0, 0.3),
            levels=levels,
            threshold=0.5,
            search=fs.Search(starts=1),
            thorough=True,
            people=True,
            labels=True,
        )
        return report_results(data, source={"file": "<u>file</u>.csv"})

    return made_once("hostile results", report)
