"""Make docs/reliability.md from the records of real runs in studies/evidence/.

A run that shows something calls `store`, which writes one small JSON file: what was tried, what came out, by which
command, when, where, with which versions. This program puts them into one table; nothing in it is typed by hand.

Usage: python scripts/reliability.py
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "studies" / "evidence"
PAGE = ROOT / "docs" / "reliability.md"
LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn")

HEAD = """# Reliability

What has been tried to find fairstress wrong, and what came of it. Every row is made by `scripts/reliability.py` from
the record of a run in `studies/evidence/`; the command beside it repeats the run. A row says what was found on that day
with that version, not that nothing else can be found.

"""


def store(name: str, command: str, *, title: str, tried: str, outcome: str, **more: Any) -> None:
    """Write the record of a run, and make the page anew."""
    record = {
        "title": title,
        "tried": tried,
        "outcome": outcome,
        "command": command,
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **{lib: _version(lib) for lib in LIBRARIES}},
        "commit": _commit(),
        **more,
    }
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page that the records make."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("*.json"))]
    lines = ["| what | tried | outcome | run |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {one['title']} | {one['tried']} | {one['outcome']} | `{one['command']}`, {one['date']} |" for one in records
    ]
    where = sorted({f"{one['machine']}; " + _listed(one["versions"]) for one in records})
    return HEAD + "\n".join(lines) + "\n\n## Where\n\n" + "".join(f"- {line}\n" for line in where)


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _version(library: str) -> str:
    return importlib.metadata.version(library)


def _commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(page())
