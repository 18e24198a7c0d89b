"""See that the built site leaves nothing out: every public name on the Python page, every option on the other.

Usage: python scripts/check_reference.py [FOLDER], after the site was built there; default site/. Prints what is
missing, and exits with 1 if anything is.
"""

from __future__ import annotations

import html
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from fairstress.cli import main as command_line

ROOT = Path(__file__).parents[1]


def page(site: Path, name: str) -> str:
    """The HTML of a page."""
    return (site / name / "index.html").read_text(encoding="utf-8")


def described(path: str) -> Any:
    """What a dotted path on the page stands for: a name of a module, or a member of a class."""
    owner, _, name = path.rpartition(".")
    try:
        return getattr(import_module(owner), name)
    except ModuleNotFoundError:
        return inspect.getattr_static(described(owner), name)


def missing_names(site: Path) -> Iterator[str]:
    """Names that the page's source asks for, and their public members, that the page does not have."""
    source = (ROOT / "docs" / "reference_python.md").read_text(encoding="utf-8")
    anchors = set(re.findall(r'id="(fairstress[^"]*)"', page(site, "reference_python")))
    for path in re.findall(r"(?m)^::: (\S+)$", source):
        found = described(path)
        owners = [owner for owner in getattr(found, "__mro__", ()) if owner.__module__.startswith("fairstress")]
        members = {name for owner in owners for name in (*vars(owner), *vars(owner).get("__annotations__", ()))}
        # what is made while the program runs (scikit-learn's requests of metadata) is in no source
        public = {name for name in members if not name.startswith(("_", "set_fit_", "set_score_"))}
        yield from {path, *(f"{path}.{name}" for name in public)} - anchors


def missing_options(site: Path) -> Iterator[str]:
    """Commands, arguments and options that the page does not have."""
    text = html.unescape(re.sub(r"<[^>]+>", "", page(site, "reference_cli")))
    for name, command in command_line.commands.items():
        usage = re.search(rf"fairstress {name} (\[OPTIONS\].*?)-h, --help", text, re.DOTALL)
        for parameter in command.params:
            for word in parameter.opts if parameter.param_type_name == "option" else [parameter.human_readable_name]:
                if usage is None or not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", usage[1]):
                    yield f"fairstress {name} {word}"


def main() -> int:
    """Print what is missing."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    missing = sorted({*missing_names(site), *missing_options(site)})
    for name in missing:
        print(f"the reference does not have {name}", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
