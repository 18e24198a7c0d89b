"""Two programs that share no code, asked the same questions about random problems, and how far apart they are.

`tests/reference/slow.py` is the whole method from the formulas; `tests/reference/random_problems.py` draws graphs,
kinds, penalties, weights and correlations. For each family of problems the largest difference of likelihoods (per
person), CFU, its slopes by the correlations and replicates of limits is shown, relative to the value, and for one pair
the worst case against a grid that is climbed from its best points.

Usage: python studies/second_program.py [--first 0] [--count 25] [--steps]

Prints a table and writes it to ``second_program.md``; from ``evidence/second_program.json`` ``docs/reliability.md`` is
made. With ``--steps`` only what is said there of the largest difference of slopes is worked out anew.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "reference"))
sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import slow
from random_problems import KINDS, Case, Differences, differences, random_case
from reliability import store

import fairstress as fs
from fairstress.claim import evaluate
from fairstress.model import mixed

WORST = 0.5  # size of the budget within which worst cases are compared
ATOMS = "with an atom"  # whose pieces are part of fairstress's own, stated error
# problems whose slopes differ most: one without a slope, one with, and one close to where CFU is least
LARGEST = [("ordered", 17), ("ordered", 15), ("every kind", 16)]
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
SLOPES = "## Slopes where people have several worlds"
WORDS = """
Where errors are seen in intervals, fairstress takes slopes of CFU by differences, a step of 1e-6 ahead along the exact
derivative of the fit; their error is the step times half the curvature along it. The table has the slopes that other
steps give, less the slope itself: by central differences of CFU, whose error is of the second order. What is left
shrinks with the step, tenfold each time, until rounding shows: the difference is the step's, not an error of the
derivative or of a probability.

In the first problem CFU does not depend on the correlation at all, and its slope is 0. A difference of 4e-8, where CFU
is 0.9, is then compared with a hundred-thousandth of the outcome's variance, 4.5e-5: that is the 9e-4 of the table
above. Two-sided differences would not have this error, and would take twice as many values.

In the last problem, which has no atoms, the largest difference of its kind, 1.7e-4, is the step's too. Its correlation
is -0.003: CFU, 4e-5, is close to the 0 that it is at a correlation of 0, and bends most there. Between P - 1e-3 and
P + 1e-3 one-sided slopes go from -0.03366 to -0.02389, so that the curvature is 9.8, and half of it times 1e-6 is
4.9e-6: 1.7e-4 of a slope of -0.0288. By central differences the two programs agree: -0.02877416 in both.
"""


def compared(family: str, seeds: Iterable[int]) -> dict[str, list[Differences]]:
    """The differences of some problems of a family; those with an atom apart."""
    found: dict[str, list[Differences]] = {}
    for seed in seeds:
        case = random_case(family, seed)
        has_atom = any(v.kind == "atom" for v in case.problem.features)
        try:
            apart = differences(case, gradient=True, replicate=True)
        except fs.FairstressError as refusal:  # such as levels that the parents tell
            print(f"{family} {seed}: refused, {refusal}", flush=True)
            continue
        found.setdefault(f"{family}, {ATOMS}" if has_atom else family, []).append(apart)
        print(f"{family} {seed}: {apart}", flush=True)
    return found


def worst_cases(count: int, first: int) -> list[float]:
    """How far the worst case lies above (positive) or below a climbed grid's, relative to it, for one pair each."""
    found, seed = [], first
    while len(found) < count:
        case = random_case("attribute behind a threshold" if seed % 2 else "numbers", seed)
        seed += 1
        if len(case.pairs) == 1:
            found.append(_above(case))
            print(f"worst case {seed}: {found[-1]:.1e}", flush=True)
    return found


def _above(case: Case) -> float:
    own = slow.worst_case(slow.make_claim(case.problem), case.pairs, WORST, 0.0, points=7)
    least = 1e-5 * float(case.problem.y.var())
    return (case.audit().worst_case(WORST).value - own) / max(own, least)


def table(rows: dict[str, list[Differences]], worst: list[float]) -> str:
    """Counts and largest differences, as Markdown."""
    lines = ["| problems | count | likelihood | CFU | slopes | replicates |", "| --- | --- | --- | --- | --- | --- |"]
    for family, found in rows.items():
        largest = [max(getattr(d, name) for d in found) for name in ("likelihood", "value", "gradient", "replicate")]
        lines.append(f"| {family} | {len(found)} | " + " | ".join(f"{value:.0e}" for value in largest) + " |")
    if worst:
        lines.append(f"\n{len(worst)} worst cases of one pair: {min(worst):.0e} to {max(worst):.0e} above the grid's.")
    return "\n".join(lines)


def slope_with(case: Case, step: float) -> float:
    """The slope of CFU by the only pair's correlation that a step of differences gives."""
    usual = mixed.DIFFERENCE
    mixed.DIFFERENCE = evaluate.DIFFERENCE = step
    try:
        return float(case.audit().gradient(case.P).to_numpy()[0])
    finally:
        mixed.DIFFERENCE = evaluate.DIFFERENCE = usual


def central(case: Case, step: float = 1e-4) -> float:
    """The same by central differences of CFU, each with a fit of its own."""
    ((j, k),), audit = case.pairs, case.audit()
    ends = [case.P.copy(), case.P.copy()]
    for (i, end), sign in zip(enumerate(ends), (-1, 1), strict=True):
        ends[i][j, k] = ends[i][k, j] = end[j, k] + sign * step
    low, high = (audit.cfu(end) for end in ends)
    return float(high - low) / (2 * step)


def slopes_by_step() -> str:
    """How far slopes are from what they are, by the step of their differences."""
    lines = ["| problem | CFU | slope | " + " | ".join(f"step {step:g}" for step in STEPS) + " |"]
    lines.append("| --- " * (3 + len(STEPS)) + "|")
    for family, seed in LARGEST:
        case = random_case(family, seed)
        slope = central(case)
        errors = [slope_with(case, step) - slope for step in STEPS]
        own = f"{case.audit().cfu(case.P):.4g}", f"{round(slope, 6) + 0.0:.6f}"
        shown = [*own, *(f"{error:.1e}" for error in errors)]
        lines.append(f"| {family} {seed} | " + " | ".join(shown) + " |")
    return f"{SLOPES}\n{WORDS}\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare fairstress with a second program on random problems.")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=25, help="problems of each family")
    parser.add_argument("--steps", action="store_true", help="only what is said of slopes")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", fs.FairstressWarning)
    own = Path(__file__).with_suffix(".md")
    if asked.steps:
        before = own.read_text(encoding="utf-8").partition(f"\n{SLOPES}")[0]
        own.write_text(f"{before}\n{slopes_by_step()}", encoding="utf-8")
        sys.exit(0)
    every: dict[str, list[Differences]] = {}
    for name in KINDS:
        every |= compared(name, range(asked.first, asked.first + asked.count))
    above = worst_cases(max(1, asked.count // 5), asked.first)
    command = f"python studies/second_program.py --first {asked.first} --count {asked.count}"
    page = f"# Two programs\n\n`{command}`: largest differences.\n\n{table(every, above)}\n\n{slopes_by_step()}"
    own.write_text(page, encoding="utf-8")
    print(page)
    plain = [d for name, found in every.items() if ATOMS not in name for d in found]
    atoms = [d for name, found in every.items() if ATOMS in name for d in found]
    store(
        "second_program",
        command,
        title="A second program from the formulas alone",
        tried=f"{len(plain) + len(atoms)} random problems of {len(KINDS)} kinds, {len(above)} worst cases",
        outcome=(
            f"largest relative differences: likelihood {max(d.likelihood for d in plain + atoms):.0e}, "
            f"CFU {max(d.value for d in plain):.0e}, slopes {max(d.gradient for d in plain):.0e}, replicates "
            f"{max(d.replicate for d in plain):.0e}, worst case {max(map(abs, above)):.0e}; CFU where atoms are cut "
            f"into eight pieces {max((d.value for d in atoms), default=0.0):.0e}"
        ),
    )
