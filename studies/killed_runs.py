"""What is on disk after `fairstress run --report` is killed at random moments: the old files or the new ones, whole.

A run is started over and over on the same files and ended by SIGKILL: half of the times at a moment drawn over the
whole length of a run, half of the times within thousandths of a second of its first write. After each, results and page
must be whole, each as it was before or as the killed run was to write it.

Usage: python studies/killed_runs.py [200]

Prints a table in Markdown and writes it to ``killed_runs.md`` beside this file, and a record to ``evidence/``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from reliability import store

import fairstress as fs

GRAPH = "a -> x, z; x -> z; a <-> x"
SETTINGS = f"""
data = "people.csv"
graph = "{GRAPH}"
protected = "a"
outcome = "y"

[options]
penalty = {{0}}
degrees = {{{{x = 1, z = 1}}}}
predictor_degree = 1
predictor_penalty = 1.0

[report]
p_max = 0.2
sizes = [0, 0.2]
"""
BETWEEN = 0.006  # seconds after the first sign of a write within which half of the runs are killed


def prepare(folder: Path) -> None:
    """Write the table that is audited."""
    graph = fs.CausalGraph.parse(GRAPH, protected="a", outcome="y")
    fs.datasets.simulate(graph, 300, random_state=0).frame.to_csv(folder / "people.csv", index=False)


def begin(folder: Path, penalty: float) -> subprocess.Popen[bytes]:
    """Begin a run; another penalty makes other results."""
    (folder / "audit.toml").write_text(SETTINGS.format(penalty))
    command = [sys.executable, "-m", "fairstress", "run", "audit.toml", "--report", "page.html", "-q"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def penalty_of(text: str) -> float:
    """The penalty of some results; raises where they are not whole."""
    return float(json.loads(text)["settings"]["penalty"])


def on_disk(folder: Path) -> tuple[float, float]:
    """The penalties of results and page as they are on disk; raises where either is not whole."""
    results = (folder / "audit-results.json").read_text(encoding="utf-8")
    page = (folder / "page.html").read_text(encoding="utf-8")
    carried = re.search(r'<script type="application/json" id="results">(.*?)</script>', page)
    if not results.endswith("}\n") or not page.endswith("</html>") or carried is None:
        raise ValueError("a file ends too early")
    return penalty_of(results), penalty_of(carried[1])


def parts(folder: Path) -> list[Path]:
    """Files that were not yet whole when a run was killed."""
    return list(folder.glob(".fairstress-*.part"))


def is_writing(folder: Path) -> bool:
    """Whether something is being written; when a run begins it only tries whether it could."""
    with suppress(FileNotFoundError):
        return any(part.stat().st_size for part in parts(folder))
    return False


def kill(run: subprocess.Popen[bytes], folder: Path, length: float, draw: random.Random, *, late: bool) -> str:
    """Kill a run at a random moment, or near its first write; say when that was."""
    moment, before = time.monotonic() + length * draw.random(), (folder / "audit-results.json").stat().st_mtime_ns
    while run.poll() is None and (late or time.monotonic() < moment):
        if late and (is_writing(folder) or (folder / "audit-results.json").stat().st_mtime_ns != before):
            time.sleep(BETWEEN * draw.random())
            break
        time.sleep(0.0002)
    if run.poll() is not None:
        return "it had ended"
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    return "while writing" if parts(folder) else "before or after a write"


def study(count: int, seed: int) -> tuple[Counter[str], Counter[str], int]:
    """Kill so many runs; count the moments, what was on disk afterwards, and files that were left behind."""
    draw, moments, found, left = random.Random(seed), Counter[str](), Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        begun = time.monotonic()
        begin(folder, 1.0).wait()
        length, known = time.monotonic() - begun, on_disk(folder)
        for i in range(count):
            penalty = 2.0 + i
            moments[kill(begin(folder, penalty), folder, 1.05 * length, draw, late=i % 2 == 1)] += 1
            now = on_disk(folder)
            if not set(now) <= {*known, penalty}:
                raise ValueError(f"run {i}: on disk is {now}, which is neither {known} nor {penalty}")
            both = {(True, True): "both old", (False, False): "both new"}
            found[both.get((now[0] == known[0], now[1] == known[1]), "new results, old page")] += 1
            left += len(parts(folder))
            for part in parts(folder):
                part.unlink()
            known = now
            print(f"{i + 1:>4} {now}", flush=True)
    return moments, found, left


def report(count: int, seed: int, moments: Counter[str], found: Counter[str], left: int) -> str:
    """What was found, as a page."""
    rows = [f"| killed: {moment} | {n} |" for moment, n in sorted(moments.items())]
    rows += [f"| on disk afterwards: {what}, whole | {n} |" for what, n in sorted(found.items())]
    rows += ["| a file that was not whole | 0 |", f"| parts left behind, hidden beside the files | {left} |"]
    return (
        "# Runs that are killed\n\n"
        f"`python studies/killed_runs.py {count} --seed {seed}`: `fairstress run --report` on 300 simulated people, "
        "ended by SIGKILL, half of the times at any moment and half of the times within "
        f"{BETWEEN} seconds of the first sign of a write. Results and page are two files, each replaced in one step: "
        "between the two steps the results are new and the page is old.\n\n"
        "| | runs |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Kill runs at random moments, and look at what is on disk.")
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    moments, found, left = study(asked.count, asked.seed)
    text = report(asked.count, asked.seed, moments, found, left)
    (Path(__file__).parent / "killed_runs.md").write_text(text)
    print(text)
    writing = moments["while writing"]
    store(
        "killed_runs",
        f"python studies/killed_runs.py {asked.count} --seed {asked.seed}",
        title="Runs killed at random moments (SIGKILL)",
        tried=f"{asked.count} runs with a report, {writing} of them killed while they wrote",
        outcome="results and page always whole: the old ones, or the new ones",
    )
