"""The rooms stay rooms: imports go one way, the map is true, and importing stays light."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairstress as fs

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fairstress"
FILES = sorted(SOURCE.rglob("*.py"))
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## The flow")[0]
DOORS = ("__init__.py", "__main__.py", "datasets.py")  # the public names, and the way in
LATE = {"parallel.py"}  # import what takes time when it is first asked for
FACES = {"inputs", "analyses", "audit"}  # whose .summary(), .plot() and the like find their face in report
BASES = {"FairstressError", "Shown", "Tabular"}  # of errors, and of results that share a face
NOT_OURS = re.compile(
    r"^_*(brought|foreign|sturd\w*|pictured|decided|against|left_out|yardsticks?|bothways|affected|spread|dossiers?"
    r"|setups?|meet|settled?|told)$",
    re.IGNORECASE,
)


def rooms() -> list[str]:
    """The rooms, and files beside them, in the order of the map."""
    named = re.findall(r"^\| \*{0,2}`([\w/.]+)`", MAP, re.MULTILINE)
    return list(dict.fromkeys(name.split("/")[0].removesuffix(".py") for name in named))


def imports(path: Path):
    """Each import of the package's own modules as (room, whether it stands inside a function)."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in tree.body}
    guarded = {id(n) for node in tree.body if isinstance(node, ast.If) for n in ast.walk(node)}  # TYPE_CHECKING
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and id(node) not in guarded
            and (node.module or "").startswith("fairstress")
        ):
            module = node.module.split(".")
            for room in module[1:2] or [name.name for name in node.names]:
                yield room, id(node) not in top


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    order, room = rooms(), path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if path.name in DOORS and path.parent == SOURCE:
        return
    for target, inside in imports(path):
        if inside and room in FACES and target == "report":
            continue
        assert order.index(target) <= order.index(room), f"{path.name} imports from {target}"
        late = room == "cli" or str(path.relative_to(SOURCE)) in LATE
        assert not inside or late, f"{path.name} hides an import of {target} in a function"


def test_the_map_has_one_line_for_each_file():
    listed = re.findall(r"^\| `([\w/]+\.py|inputs/datasets/)`", MAP, re.MULTILINE)
    assert len(listed) == len(set(listed))
    files = {str(p.relative_to(SOURCE)) for p in FILES if p.name not in ("__init__.py", "__main__.py")}
    assert set(listed) == files | {"inputs/datasets/"}


def test_no_class_inherits_from_a_concrete_one_of_ours():
    classes = [
        node for path in FILES for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)
    ]
    abstract = {c.name for c in classes if {ast.unparse(base) for base in c.bases} & {"ABC", "Protocol"}}
    ours = {c.name for c in classes} - abstract
    heirs = {c.name: {ast.unparse(base) for base in c.bases} & (ours - BASES) for c in classes}
    assert not {name: bases for name, bases in heirs.items() if bases}
    assert fs.Audit.__mro__[1:] == (object,)


def names_of(path: Path) -> set[str]:
    """All names that a file gives: modules, classes, functions, arguments, variables, fields."""
    tree = ast.parse(path.read_text())
    return {path.stem} | {
        name
        for node in ast.walk(tree)
        for name in (
            getattr(node, "name", None),
            getattr(node, "arg", None),
            node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None,
        )
        if isinstance(name, str)
    }


def test_names_are_the_fields_words():
    assert NOT_OURS.match("sturdier")
    private = {str(path.relative_to(SOURCE)): {n for n in names_of(path) if NOT_OURS.match(n)} for path in FILES}
    assert not {path: names for path, names in private.items() if names}


def test_an_audit_has_at_most_46_public_names_and_each_is_in_a_group_of_its_documentation():
    public = [name for name in dir(fs.Audit) if not name.startswith("_")]
    assert len(public) <= 46
    grouped = re.findall(r"`(\w+)`", fs.Audit.__doc__.partition("Examples")[0].partition("What was fitted")[2])
    assert sorted(grouped) == sorted(set(public) - {"fit"})


def public_callables():
    """Every public function and method, by name."""
    owners = [*(getattr(fs, name) for name in fs.__all__ if name != "__version__"), *vars(fs.results).values()]
    for owner in owners:
        if inspect.isclass(owner) and owner.__module__.startswith("fairstress"):
            for name, member in inspect.getmembers(owner, callable):
                if not name.startswith("_") and str(getattr(member, "__module__", "")).startswith("fairstress"):
                    yield f"{owner.__name__}.{name}", member


@pytest.mark.parametrize(
    ("name", "function"), list(public_callables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_public_docstring_stands_alone(name, function):
    doc = inspect.getdoc(function)
    assert doc, f"{name} has no docstring"
    assert not re.match(r"(The same|See `|Like )", doc), f"{name} leans on its neighbour"
    assert "without it" not in doc.partition("Examples")[0], f"{name} does not say its defaults"


@pytest.mark.parametrize(
    ("name", "function"), list(public_callables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_argument_of_a_public_method_is_described(name, function):
    doc = inspect.getdoc(function)
    for argument in [a for a in inspect.signature(function).parameters if a not in ("self", "cls")]:
        assert re.search(rf"(?m)^([\w, ]+, )?{argument}(, [\w, ]+)?$", doc), f"{name} does not describe {argument}"


@pytest.mark.parametrize(
    "name", [*sorted(set(fs.__all__) - {"__version__", "datasets", "results"}), *fs.results.__all__]
)
def test_every_public_class_has_an_example(name):
    owner = getattr(fs, name, None) or getattr(fs.results, name)
    assert name == "FairstressWarning" or ">>> " in owner.__doc__  # a warning is nothing to call


@pytest.mark.parametrize("name", [n for n in dir(fs.Audit) if not n.startswith("_") and callable(getattr(fs.Audit, n))])
def test_every_method_of_an_audit_has_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(fs.Audit, name)) or name in ("to_markdown", "to_latex")


def test_records_that_hold_arrays_compare_by_identity():
    for name in fs.results.__all__:
        record = getattr(fs.results, name)
        if dataclasses.is_dataclass(record) and re.search("Array|DataFrame|Series", str(record.__annotations__)):
            assert record.__eq__ is object.__eq__, f"{name} compares its arrays"
            assert record.__hash__ is object.__hash__


def test_importing_loads_no_heavy_library():
    code = "import sys, fairstress; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for heavy in (
        "sklearn",
        "matplotlib",
        "torch",
        "numba",
        "networkx",
        "polars",
        "pyarrow.parquet",
        "scipy.optimize",
        "jinja2",
    ):
        assert heavy not in loaded


def test_every_public_name_is_documented():
    for name in set(fs.__all__) - {"__version__"}:
        doc = getattr(fs, name).__doc__
        assert doc
        assert not doc.startswith(f"{name}(")  # what a dataclass writes by itself
