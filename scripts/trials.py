"""Tests in forked processes, on a copy of the tree that may be changed at will.

Third-party libraries are imported once, fairstress never: each fork imports it from the copy, so that it sees every
change, constants and defaults included, and so do the processes that its tests start.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

WARM = ("numpy", "scipy.optimize", "scipy.stats", "pandas", "networkx", "sklearn.linear_model", "joblib", "hypothesis")
QUIET = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--hypothesis-seed=0",
    "-W",
    "ignore:Module already imported",
)
CPU, WALL = 40, 600  # seconds that one fork may compute, and last
MEMORY = 8 << 30  # bytes that it may ask for
TOO_LONG, IMPORT = "too long", "import"


class Tree:
    """A copy of the tree at ``root``, in ``folder / "tree"``, whose tests can be run with one file changed."""

    def __init__(self, root: Path, folder: Path, warm: Sequence[str] = WARM) -> None:
        self.path, self.folder = folder / "tree", folder
        shutil.rmtree(self.path, ignore_errors=True)
        unused = shutil.ignore_patterns(".git", ".venv*", folder.name, "*.pyc", ".hypothesis", "site")
        shutil.copytree(root, self.path, ignore=unused)
        os.environ.update(PYTHONPATH=str(self.path / "src"), OPENBLAS_NUM_THREADS="1")
        sys.path.insert(0, str(self.path / "src"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False  # or every fork would compile all of fairstress
        for name in warm:
            importlib.import_module(name)
        gc.freeze()  # what is there by now is not looked through again in every fork

    @contextmanager
    def changed(self, path: str, text: str) -> Iterator[None]:
        """Let one file have another text for a while."""
        file = self.path / path
        before, compiled = file.read_bytes(), Path(cache_from_source(str(file)))
        try:
            file.write_text(text, encoding="utf-8")
            compiled.unlink(missing_ok=True)  # it is told from the file by size and second alone
            yield
        finally:
            file.write_bytes(before)
            compiled.unlink(missing_ok=True)

    def run(self, arguments: Sequence[str], plugin: Any, seconds: int) -> int | None:
        """Run pytest in a fork; its exit code, None where it took too long. ``plugin.found`` is what that found."""
        code, plugin.found = self._forked(lambda: (pytest.main([*QUIET, *arguments], [plugin]), plugin.found), seconds)
        return code

    def _forked(self, work: Callable[[], tuple[int, Any]], seconds: int) -> tuple[int | None, Any]:
        answer = self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                self._work(work, answer, seconds)
            finally:
                os._exit(1)  # no fork goes on with its parent's work
        _wait(child)
        return json.loads(answer.read_text()) if answer.exists() else (None, None)

    def _work(self, work: Callable[[], tuple[int, Any]], answer: Path, seconds: int) -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(self.path)
        with Path(self.folder, "output.txt").open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            found = work()
            answer.with_suffix(".part").write_text(json.dumps(found))
            answer.with_suffix(".part").rename(answer)
            sys.stdout.flush()
        os._exit(0)


def _wait(child: int) -> None:
    """Wait until a fork ends, or end it; what it started and left behind ends too."""
    until = time.monotonic() + WALL
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.02)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


class _FirstFailure:
    """Which test was the first to fail."""

    found = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.found:
            self.found = report.nodeid


class _Reach:
    """Seconds of each test that passes, and the lines of ``sources`` that it reaches; 0 stands for an import."""

    def __init__(self, sources: Path) -> None:
        self.sources, self.coverage = sources, Coverage(data_file=None, include=[f"{sources}/*"], config_file=False)
        self.seconds, self.failed = Counter[str](), set[str]()
        self.found: Any = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:  # which import what is measured
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        names = ["", *(name for name in self.seconds if name not in self.failed)]
        number, data = {name: i for i, name in enumerate(names)}, self.coverage.get_data()
        lines = {
            str(Path(file).relative_to(self.sources)): {
                line: sorted(number[name] for name in reached if name in number)
                for line, reached in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        self.found.update(names=names, seconds=[self.seconds[name] for name in names], lines=lines)


class Reached:
    """Which tests reach which line of ``sources``, measured file by file, and once for as long as nothing changes."""

    def __init__(self, tree: Tree, sources: str, tests: Sequence[str]) -> None:
        self.seconds: dict[str, float] = {}
        self._lines: dict[str, dict[int, set[str]]] = {}
        code = b"".join(file.read_bytes() for file in sorted((tree.path / sources).rglob("*.py")))
        for test in tests:
            self._add(_measured(tree, sources, test, code))

    def _add(self, found: dict[str, Any]) -> None:
        names = found["names"]
        self.seconds.update(zip(names[1:], found["seconds"][1:], strict=True))
        for file, lines in found["lines"].items():
            for line, numbers in lines.items():
                self._lines.setdefault(file, {}).setdefault(int(line), set()).update(names[i] for i in numbers)

    def tests(self, file: str, lines: range) -> list[str]:
        """The tests that reach one of these lines, the fastest first; those of the file where they run at import."""
        known = self._lines.get(file, {})
        reached = set().union(*(known.get(line, ()) for line in lines))
        if reached == {""}:
            reached = set().union(*known.values())
        return self._fastest_first(reached - {""})

    def beside(self, tests: Sequence[str]) -> list[str]:
        """The other tests of the same files: what only the first of them reaches may be a fixture that they share."""
        files = {test.partition("::")[0] for test in tests}
        return self._fastest_first({name for name in self.seconds if name.partition("::")[0] in files} - set(tests))

    def _fastest_first(self, tests: set[str]) -> list[str]:
        return sorted(tests, key=lambda name: (self.seconds[name], name))


def _measured(tree: Tree, sources: str, test: str, code: bytes) -> dict[str, Any]:
    of_test = sorted((tree.path / test).rglob("*.py")) or [tree.path / test]
    digest = hashlib.sha256(code + b"".join(file.read_bytes() for file in of_test)).hexdigest()[:16]
    kept = tree.folder / "reach" / f"{test.replace('/', '+')}.{digest}.json"
    if not kept.exists():
        plugin = _Reach(tree.path / sources)
        plugin.found = {}
        if tree.run([test], plugin, 3600) is None:
            raise RuntimeError(f"{test} cannot be run")
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(plugin.found))
    return dict(json.loads(kept.read_text()))


def failure(tree: Tree, tests: Sequence[str], seconds: int = CPU) -> str:
    """The first of some tests to fail, "" if none does; ``TOO_LONG`` if they do not end, ``IMPORT`` if none begins."""
    plugin = _FirstFailure()
    code = tree.run(["-x", *tests], plugin, seconds)
    if code == pytest.ExitCode.OK:
        return ""
    return TOO_LONG if code is None else plugin.found or IMPORT
