"""Faults planted in the rooms that compute, one at a time: which of them tests notice; a row of docs/reliability.md.

Usage: python scripts/mutation.py [--share 0.02] [--room search] [--again]

Draws a share of each file's mutants (`mutants.py`), and runs, for each, its room's tests that reach its line, the
fastest first, on a copy of the tree (`trials.py`). What was tried before is kept in ``.mutation`` and not tried again,
except with ``--again``: then those that survived are tried against the tests of all rooms. Survivors that were read
have a verdict in ``studies/mutation_survivors.toml``. Writes ``studies/mutation.md``, and a record to
``studies/evidence/``.
"""

from __future__ import annotations

import argparse
import json
import random
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path

from mutants import Mutant, drawn, mutants
from reliability import ROOT, store
from room_coverage import ROOMS
from trials import Reached, Tree, failure

BUILD = ROOT / ".mutation"
TRIED = BUILD / "tried.jsonl"
SURVIVORS = ROOT / "studies" / "mutation_survivors.toml"
SOURCES = "src/fairstress"
NEEDS_TORCH = "autograd.py"  # which only `make test-torch` reaches
FIRST, BEYOND = 15, 10.0  # tests that are run at first; seconds of those that are run for whatever survives them
ALIKE = ("equivalent", "tuning")  # verdicts on what no test should notice
SURVIVED, UNREACHED = "survived", "not reached"


def test_files(folders: Iterable[str]) -> list[str]:
    """The files of tests in some folders, and the doctests of those among them that are rooms."""
    files = [file for name in folders for file in sorted((ROOT / "tests" / name).rglob("test_*.py"))]
    return [str(file.relative_to(ROOT)) for file in files] + [f"{SOURCES}/{room}" for room in ROOMS if room in folders]


def draw(rooms: Iterable[str], share: float, seed: int) -> list[Mutant]:
    """A share of the mutants of each file of some rooms, at least two."""
    files = [file for room in rooms for file in sorted((ROOT / SOURCES / room).rglob("*.py"))]
    names = [(file, str(file.relative_to(ROOT / SOURCES))) for file in files if file.name != NEEDS_TORCH]
    return [one for file, name in names for one in drawn(mutants(file.read_text("utf-8"), name), share, 2, seed)]


class Trial:
    """A copy of the tree, and what is known of the tests."""

    def __init__(self, folders: Iterable[str]) -> None:
        BUILD.mkdir(exist_ok=True)
        self.tree = Tree(ROOT, BUILD)
        self.reached = Reached(self.tree, SOURCES, test_files(folders))
        self.sound: dict[tuple[str, ...], bool] = {}  # tests that fail with a mutant, and whether they pass without

    def outcome(self, mutant: Mutant) -> tuple[str, int]:
        """The first test that fails with a mutant but not without it, or another word; how many were run."""
        tests = self.reached.tests(mutant.path, range(mutant.lines[0], mutant.lines[1] + 1))
        if not tests:
            return UNREACHED, 0
        noted = verdicts().get(mutant.name, {}).get("why", "")
        tests.sort(key=lambda test: Path(test.partition("::")[0]).name not in noted)  # first what was written for it
        some, others = tests[:FIRST], self._affordable([*tests[FIRST:], *self.reached.beside(tests)])
        found = self._failure(mutant, some) or self._failure(mutant, others)
        return found or SURVIVED, len(some) + len(others)

    def _affordable(self, tests: Sequence[str]) -> list[str]:
        passed = accumulate(self.reached.seconds[test] for test in tests)
        return [test for test, seconds in zip(tests, passed, strict=True) if seconds < BEYOND]

    def _failure(self, mutant: Mutant, tests: list[str]) -> str:
        path = f"{SOURCES}/{mutant.path}"
        text = mutant.planted((self.tree.path / path).read_text("utf-8"))
        while tests:
            with self.tree.changed(path, text):
                found = failure(self.tree, tests)
            if not found or self._is_sound((found,) if found in tests else tuple(tests)):
                return found
            tests = [test for test in tests if test != found] if found in tests else []
        return ""

    def _is_sound(self, tests: tuple[str, ...]) -> bool:
        if tests not in self.sound:
            self.sound[tests] = not failure(self.tree, tests)
        return self.sound[tests]


def tried() -> dict[str, list[dict]]:
    """What is known of each mutant by its name, the latest last."""
    known: dict[str, list[dict]] = {}
    for line in TRIED.read_text("utf-8").splitlines() if TRIED.exists() else ():
        known.setdefault(json.loads(line)["name"], []).append(json.loads(line))
    return known


def survives(outcomes: list[dict]) -> bool:
    """Whether a mutant was noticed by none of the tests that were run last."""
    return outcomes[-1]["outcome"] in (SURVIVED, UNREACHED)


def try_all(asked: list[Mutant], folders: Iterable[str], *, again: bool) -> None:
    """Try what has not been tried, or what survived without a reason; each outcome is written down at once.

    In random order: a run that is stopped leaves a fair sample.
    """
    known = tried()
    explained = {name for name, one in verdicts().items() if one["verdict"] in ALIKE}
    if again:
        left = [one for one in asked if one.name in known.keys() - explained and survives(known[one.name])]
    else:
        left = [one for one in asked if one.name not in known]
    random.Random(len(left)).shuffle(left)
    trial = Trial(folders) if left else None
    for i, mutant in enumerate(left):
        outcome, n = trial.outcome(mutant)
        with TRIED.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": mutant.name, "outcome": outcome, "tests": n, **asdict(mutant)}) + "\n")
        print(
            f"{i + 1:>4} of {len(left)}  {mutant.path}:{mutant.line}  {mutant.old} -> {mutant.new}  {outcome}",
            flush=True,
        )


def verdicts() -> dict[str, dict[str, str]]:
    """What was found on reading survivors, by the mutant's name."""
    read = tomllib.loads(SURVIVORS.read_text("utf-8")) if SURVIVORS.exists() else {}
    return {one["name"]: one for one in read.get("survivor", [])}


def counts(known: dict[str, list[dict]], room: str) -> dict[str, int]:
    """How many mutants of a room were tried, noticed, noticed by a test that a verdict asked for, and survive."""
    read = {name: one["verdict"] for name, one in verdicts().items()}
    of_room = {name: outcomes for name, outcomes in known.items() if name.startswith(f"{room}/")}
    left = Counter(read.get(name, "unread") for name in of_room if survives(of_room[name]))
    since = sum(read.get(name) == "test" for name in of_room if not survives(of_room[name]))
    noticed = len(of_room) - left.total()
    alike = {verdict: left[verdict] for verdict in ALIKE}
    return {
        "tried": len(of_room),
        "noticed": noticed,
        "since": since,
        **alike,
        "unnoticed": left.total() - sum(alike.values()),
    }


def scores(of_room: dict[str, int]) -> str:
    """Per cent noticed of the mutants that could be, before survivors were read and since."""
    possible = max(1, of_room["tried"] - sum(of_room[verdict] for verdict in ALIKE))
    before = of_room["noticed"] - of_room["since"]
    return f"{100 * before / possible:.0f} and {100 * of_room['noticed'] / possible:.0f} %"


HEAD = """# Planted faults

`{command}`: small faults planted in the rooms that compute, one at a time (an operator swapped, a constant changed, a
sign lost, a bound off by one, a statement left out), drawn from all {all:,} that could be, some from each file. For
each, the rooms' tests that reach its line are run, the {first} fastest first, then, if none fails, others of the same
files for up to {beyond:.0f} seconds. A test counts only if it passes without the fault. A run may be
stopped: then not all that were drawn have been tried.

A survivor is *equivalent* if no input can tell it from the original, and *tuning* if it changes only how long something
takes, where it sets out, how it is split, what rounding hides, or where a limit lies that is a matter of judgement.
Both are left out of the scores; each was read, and the reason stands below. *Noticed since* are those among the noticed
for which a test was written on reading. The first score is without them: it is what the tests of these rooms would
notice of other faults; tests of other folders are not counted. The second is about these faults alone.

"""


def page(known: dict[str, list[dict]], command: str, n_all: int) -> str:
    """What was found, as a page."""
    columns = ("tried", "noticed", "since", "equivalent", "tuning", "unnoticed")
    lines = [
        "| room | tried | noticed | noticed since | equivalent | tuning | unnoticed | scores |",
        "| --- " * 8 + "|",
    ]
    for room in ROOMS:
        one = counts(known, room)
        lines.append(f"| {room} | " + " | ".join(str(one[name]) for name in columns) + f" | {scores(one)} |")
    lines += ["", "## Survivors", "", "| where | fault | verdict | why |", "| --- " * 4 + "|"]
    for name in sorted(name for name in known if survives(known[name])):
        of, last = verdicts().get(name, {}), known[name][-1]
        code, fault = last["code"].replace("|", "\\|"), f"{last['old']} → {last['new']}".replace("|", "\\|")
        cells = (f"`{last['path']}`: `{code}`", f"`{fault}`", of.get("verdict", "unnoticed"), of.get("why", "not read"))
        lines.append(f"| {' | '.join(cells)} |")
    head = HEAD.format(command=command, all=n_all, first=FIRST, beyond=BEYOND)
    return head + "\n".join(lines) + "\n"


def record(command: str, seed: int) -> None:
    """Write the page and the row of docs/reliability.md, of all that was tried and still can be."""
    possible = {one.name for one in draw(ROOMS, 1.0, seed)}
    known, n_all = {name: outcomes for name, outcomes in tried().items() if name in possible}, len(possible)
    rooms = {room: counts(known, room) for room in ROOMS}
    total = {name: sum(one[name] for one in rooms.values()) for name in rooms[ROOMS[0]]}
    (ROOT / "studies" / "mutation.md").write_text(page(known, command, n_all), encoding="utf-8")
    by_room = ", ".join(f"{room} {scores(one)}" for room, one in rooms.items())
    store(
        "mutation",
        command,
        title="Faults planted in the rooms that compute",
        tried=f"{total['tried']} mutants drawn from {n_all:,}, each against the rooms' tests that reach its line",
        outcome=f"{total['noticed']} noticed, {total['since']} of them only by tests written on reading; left: "
        f"{total['equivalent']} equivalent, {total['tuning']} of tuning alone, {total['unnoticed']} unnoticed; noticed "
        f"of those that could be, before and since: {by_room}",
        rooms=rooms,
    )


def main() -> None:
    """Try, and record."""
    parser = argparse.ArgumentParser(description="Plant faults, and see which of them the tests notice.")
    parser.add_argument("--share", type=float, default=0.02, help="of each file's mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", choices=ROOMS, action="append")
    parser.add_argument("--again", action="store_true", help="try those that survived once more")
    asked = parser.parse_args()
    for room in asked.room or ROOMS:
        try_all(draw([room], asked.share, asked.seed), [room], again=False)
    if asked.again:
        try_all(draw(asked.room or ROOMS, asked.share, asked.seed), ROOMS, again=True)
    record(f"python scripts/mutation.py --share {asked.share} --seed {asked.seed}", asked.seed)


if __name__ == "__main__":
    main()
