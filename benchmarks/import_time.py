"""How much importing fairstress adds to importing numpy, scipy.linalg and pandas; exits with 1 if over 0.3 seconds."""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 9
MOST_SECONDS = 0.3
BASE = "import numpy, scipy.linalg, pandas"


def seconds(code: str) -> float:
    """Time an import in a fresh interpreter, whose own start is left out."""
    timed = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True).stdout)


def main() -> int:
    pairs = [(seconds(BASE), seconds(f"{BASE}, fairstress")) for _ in range(RUNS + 1)][1:]  # the first warms up
    base, both = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"{BASE}: {base:.3f} s; with fairstress {both:.3f} s: {both - base:.3f} s more (medians of {RUNS})")
    return int(both - base > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
