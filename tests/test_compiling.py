"""What is kept of compiled code: each version of what is built in has its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fairstress import compiling
from fairstress.compiling import BUILT_IN, version_of

PACKAGE = Path(compiling.__file__).parent
KERNELS = ("bench.py", "claim/kernel.py", "functionals/kernel.py", "model/threshold_kernel.py")
TYPES = ("inputs/rows", "claim/chebyshev")  # of which kernels take types alone: they are part of what numba looks at


def imported(path):
    """Modules of the package that a file takes something from."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    found = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {name.removeprefix("fairstress.").replace(".", "/") for name in found if name.startswith("fairstress.")}


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_that_is_built_into_a_kernel_is_looked_at(kernel):
    assert imported(kernel) <= {*BUILT_IN, *TYPES}


def test_another_version_of_what_is_built_in_has_another_name(monkeypatch, tmp_path):
    for name in BUILT_IN:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_bytes((PACKAGE / f"{name}.py").read_bytes())
    before = version_of(BUILT_IN)
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compiling.py"))
    assert version_of(BUILT_IN) == before
    with (tmp_path / "bench.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert version_of(BUILT_IN) != before
