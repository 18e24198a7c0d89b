"""How much of the numerical rooms the tests reach, from what `make coverage` has left; a row of docs/reliability.md.

Usage: python scripts/room_coverage.py

Needs the file ``.coverage`` of a run of all tests. Prints the share of lines and branches of each room, and exits with
1 if one of them is below 95 %.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from coverage import Coverage
from reliability import store

ROOMS = ("model", "claim", "functionals", "search", "analyses")  # those that compute
LEAST = 95.0  # per cent


def shares(report: dict) -> dict[str, tuple[float, float]]:
    """Per cent of lines and of branches reached, by room."""
    found = {}
    for room in ROOMS:
        files = [file["summary"] for name, file in report["files"].items() if f"/fairstress/{room}/" in f"/{name}"]
        lines, branches = sum(f["num_statements"] for f in files), sum(f["num_branches"] for f in files)
        reached = sum(f["covered_lines"] for f in files), sum(f["covered_branches"] for f in files)
        found[room] = 100 * reached[0] / lines, 100 * reached[1] / branches
    return found


def main() -> int:
    """Add up, print and record."""
    data = Coverage()
    data.load()
    with tempfile.TemporaryDirectory() as folder:
        data.json_report(outfile=str(Path(folder, "coverage.json")))
        report = json.loads(Path(folder, "coverage.json").read_text(encoding="utf-8"))
    found = shares(report)
    said = [f"{room} {lines:.1f} and {branches:.1f} %" for room, (lines, branches) in found.items()]
    store(
        "code_coverage",
        "make coverage",
        title="Lines and branches of the rooms that compute",
        tried="all tests but those that need PyTorch or a browser",
        outcome=f"reached: {', '.join(said)}",
    )
    print("\n".join(said))
    return int(min(min(pair) for pair in found.values()) < LEAST)


if __name__ == "__main__":
    sys.exit(main())
