"""How many cases the catalogue of bad input has, and whether each is refused as it says.

Usage: python studies/bad_input.py

Runs ``tests/bad_input`` and writes ``evidence/bad_input.json``, from which ``docs/reliability.md`` is made.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from reliability import ROOT, store

if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "tests/bad_input", "-q", "--no-header"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    last = done.stdout.strip().splitlines()[-1]
    passed, failed = (
        int(found[1]) if (found := re.search(rf"(\d+) {word}", last)) else 0 for word in ("passed", "failed")
    )
    rooms = len(list((ROOT / "tests" / "bad_input").glob("test_*.py")))
    print(last)
    store(
        "bad_input",
        "python studies/bad_input.py",
        title="A catalogue of bad input",
        tried=f"{passed + failed} cases in {rooms} rooms, from graphs to the command line",
        outcome=f"{passed} refused by the sentence expected, {failed} otherwise",
    )
    sys.exit(done.returncode)
