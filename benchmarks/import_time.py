"""How much importing fairstress, and first using an audit, adds to importing numpy, scipy.linalg and pandas.

Exits with 1 if that is over 0.3 seconds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

RUNS = 9
MOST_SECONDS = 0.3
BASE = "import numpy, scipy.linalg, pandas"


def seconds(code: str) -> float:
    """Time an import of modules compiled before, as installed ones are, in a fresh interpreter that has started."""
    timed = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", timed]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    asked = [BASE, f"{BASE}, fairstress", f"{BASE}, fairstress; fairstress.Audit"]
    runs = [[seconds(code) for code in asked] for _ in range(RUNS + 1)][1:]  # the first warms up
    base, both, used = (statistics.median(times) for times in zip(*runs, strict=True))
    print(f"{BASE}: {base:.3f} s; with fairstress {both:.3f} s: {both - base:.3f} s more (medians of {RUNS})")
    print(f"with the first use of Audit {used:.3f} s: {used - base:.3f} s more")
    return int(used - base > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
