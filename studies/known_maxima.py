"""How many problems with known maxima the search is put to, and whether it finds each of them.

Usage: python studies/known_maxima.py

Runs ``tests/search/test_known_maxima.py`` and writes ``evidence/known_maxima.json``, from which ``docs/reliability.md``
is made.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from reliability import ROOT, store


def outcomes(lines: list[str]) -> dict[str, bool]:
    """Whether each test passed, by its name."""
    told = [line.partition(" ") for line in lines if line.startswith(("PASSED ", "FAILED "))]
    return {name: word == "PASSED" for word, _, name in told}


if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "tests/search/test_known_maxima.py", "-q", "-rpf", "--no-header"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = outcomes(done.stdout.splitlines())
    by_formula = sum("formula" in name for name in found)
    print(done.stdout.strip().splitlines()[-1])
    store(
        "known_maxima",
        "python studies/known_maxima.py",
        title="Searches whose maxima are known",
        tried=f"{len(found)} problems (cycles, flat ridges, interior maxima, many hills, steps of trees, ten pairs, "
        f"all budgets), {by_formula} with maxima by a formula, {len(found) - by_formula} by differential evolution",
        outcome=f"{sum(found.values())} found, {len(found) - sum(found.values())} missed",
    )
    sys.exit(done.returncode)
