"""The programs that plant faults: what they change and draw, and that tests notice a fault if and only if they can."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import Mutant, drawn, mutants

SOURCE = '''"""A text with é before the code, so that bytes and characters differ."""

LIMIT: int = 3


def root(x: float, among: list[float]) -> float:
    """Not x + 1."""
    if x < 0:
        raise ValueError(f"{x + 1} is below 0")
    if not among:
        return 0.5
    among[2] = -x
    return min(x * 2, max(among[1:LIMIT])) if x and LIMIT else x**2
'''


def planted(old: str, new: str) -> str:
    """The source with one fault, told by what is replaced and by what."""
    one = next(one for one in mutants(SOURCE, "root.py") if (one.old, one.new) == (old, new))
    return one.planted(SOURCE)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("3", "4", "LIMIT: int = 4"),
        ("x < 0", "((x) <= (0))", "    if ((x) <= (0)):"),
        ("x < 0", "((x) >= (0))", "    if ((x) >= (0)):"),
        ("not among", "(among)", "    if (among):"),
        ("not among", "False", "    if False:"),
        ("0.5", "1.0", "        return 1.0"),
        ("among[2] = -x", "pass", "    pass"),
        ("-x", "(x)", "    among[2] = (x)"),
        ("min", "max", "    return max(x * 2, max(among[1:LIMIT])) if x and LIMIT else x**2"),
        ("x * 2", "((x) / (2))", "    return min(((x) / (2)), max(among[1:LIMIT])) if x and LIMIT else x**2"),
        ("LIMIT", "LIMIT + 1", "    return min(x * 2, max(among[1:LIMIT + 1])) if x and LIMIT else x**2"),
        ("x and LIMIT", "((x) or (LIMIT))", "    return min(x * 2, max(among[1:LIMIT])) if ((x) or (LIMIT)) else x**2"),
    ],
)
def test_a_fault_changes_one_line_and_no_other(old, new, line):
    changed = [
        (before, after)
        for before, after in zip(SOURCE.splitlines(), planted(old, new).splitlines(), strict=True)
        if before != after
    ]
    assert [after for _, after in changed] == [line]


def test_every_fault_leaves_valid_python_and_has_a_name_of_its_own():
    found = mutants(SOURCE, "root.py")
    assert len({one.name for one in found}) == len(found) > 20
    assert all(ast.dump(ast.parse(one.planted(SOURCE))) != ast.dump(ast.parse(SOURCE)) for one in found)


def test_no_fault_is_planted_in_texts_refusals_and_annotations():
    assert not [one for one in mutants(SOURCE, "root.py") if "raise" in one.code or '"""' in one.code]
    assert mutants("def f(x: tuple[1, 2] = (3,)) -> tuple[4]: ...", "f.py")[0].old == "3"


def test_a_fault_keeps_its_name_when_lines_are_added_above_it():
    def names(source: str) -> list[str]:
        return [one.name for one in mutants(source, "root.py")]

    assert names(SOURCE) == names(SOURCE.replace("\n\n\n", "\n\n# a comment\n\n"))


def test_faults_that_read_the_same_are_told_apart():
    first, second = (one for one in mutants("x = a[1, 1]\n", "x.py"))
    assert first.name != second.name
    assert {first.planted("x = a[1, 1]\n"), second.planted("x = a[1, 1]\n")} == {"x = a[2, 1]\n", "x = a[1, 2]\n"}


def test_a_larger_draw_begins_with_the_smaller_one_and_another_seed_draws_others():
    found = mutants(SOURCE, "root.py")

    def draw(share: float, seed: int = 0) -> list[Mutant]:
        return drawn(found, share, 2, seed)

    assert draw(0.2) == draw(0.6)[: len(draw(0.2))]
    assert len(draw(0.0)) == 2
    assert draw(0.3, seed=1) != draw(0.3)
    assert sorted(one.name for one in draw(1.0)) == sorted(one.name for one in found)


TRIAL = """
import json, sys
from pathlib import Path
from mutants import mutants
from trials import Reached, Tree, failure

root, folder = Path(sys.argv[1]), Path(sys.argv[2])
faults, tree, outcomes = json.loads(sys.argv[3]), Tree(root, folder, warm=("hypothesis",)), {}
reached = Reached(tree, "src/small", ["tests/test_small.py"])
source = (root / "src/small/sums.py").read_text()
for one in mutants(source, "sums.py"):
    if f"{one.old} -> {one.new}" not in faults:
        continue
    tests = reached.tests("sums.py", range(one.line, one.line + 1))
    with tree.changed("src/small/sums.py", one.planted(source)):
        found = failure(tree, tests, seconds=2)
    outcomes[f"{one.old} -> {one.new}"] = [len(tests), found.rpartition("::")[2]]
outcomes["as it is"] = [0, failure(tree, list(reached.seconds))]
print(json.dumps(outcomes))
"""
SUMS = """
START = 0.0
SOME = range(7)[6]


def total(numbers):
    found = START
    for i in range(len(numbers)):
        found += numbers[i]
    return found


def positive(x):
    return x if x > 0 else 0


def countdown(n):
    while n:
        n -= 1
    return n
"""
SMALL_TESTS = """
from small.sums import countdown, positive, total


def test_total():
    assert total([1, 2]) == 3


def test_positive():
    assert (positive(2), positive(0), positive(-2)) == (2, 0, 0)


def test_countdown():
    assert countdown(3) == 0
"""


NOTICED = {  # how many tests reach a fault, and which notices it
    "0.0 -> 1.0": [3, "test_total"],  # at import: every test of the file may notice
    "6 -> 7": [3, "import"],
    "found += numbers[i] -> pass": [1, "test_total"],
    "x > 0 -> ((x) <= (0))": [1, "test_positive"],
    "x > 0 -> ((x) >= (0))": [1, ""],  # equivalent
    "n -= 1 -> pass": [1, "too long"],
    "as it is": [0, ""],
}


def test_a_fault_is_noticed_by_a_test_that_reaches_it_unless_nothing_can(tmp_path):
    root, files = tmp_path / "root", {"src/small/sums.py": SUMS, "tests/test_small.py": SMALL_TESTS}
    files["tests/conftest.py"] = "import small.sums\n"  # not even this may fail unnoticed
    for name, text in {"src/small/__init__.py": "", "pyproject.toml": "[tool.pytest]\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    command = [sys.executable, "-c", TRIAL, str(root), str(tmp_path), json.dumps(list(NOTICED))]
    scripts = Path(__file__).parents[1] / "scripts"
    done = subprocess.run(command, cwd=scripts, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == NOTICED
    assert (root / "src/small/sums.py").read_text() == SUMS
