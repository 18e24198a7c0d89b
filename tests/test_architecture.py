"""The rooms stay rooms: imports go one way, and importing stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fairstress"
ORDER = [
    "version",
    "errors",
    "threads",
    "inputs",
    "model",
    "sensitivity",
    "audit",
    "report",
    "estimators",
    "settings",
    "cli",
]
FACES = {("sensitivity", "report"), ("audit", "report")}  # .summary(), .plot() and the like find their face inside


def imports(path: Path):
    """Each import of the package's own modules as (room, whether it stands inside a function)."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in tree.body}
    guarded = {id(n) for node in tree.body if isinstance(node, ast.If) for n in ast.walk(node)}  # TYPE_CHECKING
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("fairstress.")
            and id(node) not in guarded
        ):
            yield node.module.split(".")[1], id(node) not in top


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__", "datasets"):  # the public names, and the way in
        return
    for target, inside in imports(path):
        if inside and (room, target) in FACES:
            continue
        assert ORDER.index(target) <= ORDER.index(room), f"{path.name} imports from {target}"
        assert not inside or room == "cli", f"{path.name} hides an import of {target} in a function"


def test_importing_loads_no_heavy_library():
    code = "import sys, fairstress; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for heavy in (
        "sklearn",
        "matplotlib",
        "torch",
        "networkx",
        "polars",
        "pyarrow.parquet",
        "scipy.optimize",
        "jinja2",
    ):
        assert heavy not in loaded


def test_every_public_name_is_documented():
    import fairstress as fs

    for name in set(fs.__all__) - {"__version__"}:
        doc = getattr(fs, name).__doc__
        assert doc
        assert not doc.startswith(f"{name}(")  # what a dataclass writes by itself
