"""Every parser under a coverage-guided fuzzer: what it is given it reads, or refuses in one line.

The targets are those of ``tests/fuzz/targets.py``. With atheris installed each runs in a process of its own for the
time asked for, from a fixed seed; without it hypothesis makes the examples. An input that is neither read nor refused
ends the run and is printed.

Usage: python studies/fuzz.py [--seconds 60]

Prints a table and writes ``evidence/fuzz.json``, from which ``docs/reliability.md`` is made.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "fuzz"), str(ROOT / "scripts")]

NAMES = ("graph_text", "graph_dot", "settings", "results", "table")
PARSERS = (  # the modules whose branches guide the fuzzer
    *("inputs.notation", "inputs.graph", "inputs.edges", "inputs.files", "inputs.cells", "inputs.survey"),
    *("settings", "keys", "schema", "report.saved"),
)
SEEDS = {  # what a fuzzer starts from
    "graph_text": b'a -> x, "x y"; x <-> z; a =fair=> z # so',
    "graph_dot": b'strict digraph "g" { a -> {x z} [fair=true]; x -> z [dir=both]; u [latent]; u -> x /* */ }',
    "settings": b'data = "p.csv"\ngraph = "a -> x"\nprotected = "a"\noutcome = "y"\n[options]\npenalty = 1\n[report]\n',
    "results": b'{"schema": 5, "kind": "audit", "data": {}, "graph": {}, "settings": {}}',
    "table": b'a,x,z,y\nm,1.5,"2,5",NA\nf;01;2020-01-01;inf\n',
}


def fuzz(name: str) -> None:
    """Run one target under atheris until its time is over; called in a process of its own."""
    import atheris

    with atheris.instrument_imports(include=[f"fairstress.{module}" for module in PARSERS]):
        import targets
    atheris.Setup(sys.argv, targets.TARGETS[name])
    atheris.Fuzz()


def run(name: str, seconds: int, corpus: Path) -> tuple[int, str]:
    """How many inputs one target was given, and what it found, in words."""
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "seed").write_bytes(SEEDS[name])
    command = [sys.executable, __file__, "--target", name, f"-max_total_time={seconds}", "-seed=1", "-max_len=400"]
    command += ["-print_final_stats=1", "-timeout=20", f"-artifact_prefix={corpus}/", str(corpus)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    count = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr) or re.search(r"#(\d+)", done.stderr)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:])
    return int(count[1]) if count else 0, "nothing found" if done.returncode == 0 else "stopped at an input, see above"


def by_hypothesis(seconds: int) -> tuple[int, str]:
    """The same without atheris: the tests' own examples, many more of them, for every target."""
    from hypothesis import HealthCheck, given, settings
    from targets import TARGETS
    from test_fuzz import texts

    count = 200 * seconds
    for name in NAMES:
        many = settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
        many(given(texts(name))(TARGETS[name]))()
    return count * len(NAMES), "nothing found"


if __name__ == "__main__":
    if "--target" in sys.argv:
        at = sys.argv.index("--target")
        target = sys.argv[at + 1]
        del sys.argv[at : at + 2]
        fuzz(target)
    else:
        from reliability import store

        parser = argparse.ArgumentParser(description="Fuzz every parser.")
        parser.add_argument("--seconds", type=int, default=60, help="for each parser")
        asked = parser.parse_args()
        guided = importlib.util.find_spec("atheris") is not None
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            if guided:
                found = {name: run(name, asked.seconds, Path(folder) / name) for name in NAMES}
            else:
                found = {"every parser": by_hypothesis(asked.seconds)}
        for name, (count, outcome) in found.items():
            print(f"{name:<12} {count:>9,} inputs  {outcome}")
        failed = [name for name, (_, outcome) in found.items() if outcome != "nothing found"]
        store(
            "fuzz",
            f"python studies/fuzz.py --seconds {asked.seconds}",
            title="Fuzzing of every parser (graphs as text and DOT, settings, results, CSV)",
            tried=f"{sum(count for count, _ in found.values()):,} inputs by "
            + ("a coverage-guided fuzzer" if guided else "hypothesis"),
            outcome=f"{', '.join(failed)} stopped at an input" if failed else "each input read, or refused in one line",
            inputs={name: count for name, (count, _) in found.items()},
        )
        sys.exit(bool(failed))
