"""Whether diagnostics stay quiet where all that an audit assumes is right, and find faults where it is not.

Right models are drawn from the family that is fitted, with whatever hides behind their pairs: any alarm on them is a
false one, and at most one audit in twenty should have any. Faults are drawn one at a time; the table says in how many
audits the check that is made for the fault raises its alarm, in how many any other check does, and shows the sentence
of one of them. Degrees and penalty 0 are given, except where it says that they are cross-validated.

Usage: python studies/diagnostics.py [--seeds 100]

Prints the tables in Markdown and writes them to ``diagnostics.md`` beside this file.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

import fairstress as fs
from fairstress.results import Diagnostics

HERE = Path(__file__).parent
SEEDS = 100
Draw = Callable[[fs.CausalGraph, int, int], pd.DataFrame]


@dataclass(frozen=True)
class Case:
    """A table to draw and how it is audited."""

    name: str
    graph: str  # that is audited
    draw: Draw
    n: int = 1000
    options: Mapping[str, Any] = field(default_factory=dict)  # of the fit
    is_chosen: bool = False  # whether degrees and penalty are cross-validated
    fault: str = ""  # the check that is made for it; none where the model is right
    feature: str = ""  # of whom
    size: str = ""  # how large the fault is, in words
    weights: Callable[[int, int], np.ndarray] | None = None  # survey weights by n and seed

    def audit(self, seed: int) -> fs.Audit:
        """Draw a table and fit."""
        graph = fs.CausalGraph.parse(self.graph, protected="a", outcome="y")
        given: dict[str, Any] = {"max_degree": 2} if self.is_chosen else {"penalty": 0}
        if not self.is_chosen:
            given["degrees"] = dict.fromkeys(graph.features, 1) | dict(self.options.get("degrees", {}))
        rest = {name: value for name, value in self.options.items() if name != "degrees"}
        if self.weights is not None:
            rest["sample_weight"] = self.weights(self.n, seed)
        given |= {"predictor_degree": 1, "predictor_penalty": 1.0, "random_state": seed}
        return fs.Audit.fit(self.draw(graph, self.n, seed), graph, **given, **rest)

    def found(self, seed: int) -> Diagnostics:
        """What the diagnostics say of one draw."""
        return self.audit(seed).diagnostics()


def simulated(
    truth: str = "", change: Callable[[pd.DataFrame, int], pd.DataFrame] | None = None, **options: Any
) -> Draw:
    """Draw from the graph that is audited, or from another that is the truth, and change the table."""

    def draw(graph: fs.CausalGraph, n: int, seed: int) -> pd.DataFrame:
        true = fs.CausalGraph.parse(truth, protected="a", outcome="y") if truth else graph
        frame = fs.datasets.simulate(true, n, random_state=seed, **options).frame
        return frame if change is None else change(frame, seed)

    return draw


# ---------------------------------------------------------------- right models

NUMBERS = "a -> x1, x2; u -> x1, x3; x1 -> x3; x1 <-> x2"
EFFECTS = {
    "a": {"1": -0.5},
    "u": {},
    "x1": {"a": 0.5, "u": 0.5},
    "x2": {"a": -0.5},
    "x3": {"u": 0.5, "x1": 0.5},
}
TIED = "a -> x1, x2, x3; x1 -> x2; x1, x2 -> x3; a <-> x1; a <-> x2; a <-> x3"
BEHIND = {
    "a": {"1": -0.8},
    "x1": {"a": 0.5},
    "x2": {"a": -0.4, "x1": 0.5},
    "x3": {"a": 0.3, "x1": 0.3, "x2": 0.4},
}
LEVELS = {"x1": "ordered", "x2": ["low", "middle", "high"], "x3": "number"}
MIXED = "a, c -> x1; a, x1 -> x2; c, x2 -> x3; x1 <-> x2"
KINDS = {"c": "category", "x1": "log", "x2": "zero or number", "x3": "ordered"}

RIGHT = (
    Case("numbers", NUMBERS, simulated(weights=EFFECTS, correlation={("x1", "x2"): 0.5})),
    Case(
        "numbers, cross-validated", NUMBERS, simulated(weights=EFFECTS, correlation={("x1", "x2"): 0.5}), is_chosen=True
    ),
    Case("numbers, many people", NUMBERS, simulated(weights=EFFECTS, correlation={("x1", "x2"): 0.5}), n=20_000),
    Case("numbers, few people", NUMBERS, simulated(weights=EFFECTS, correlation={("x1", "x2"): 0.5}), n=200),
    Case(
        "numbers, survey weights",
        NUMBERS,
        simulated(weights=EFFECTS, correlation={("x1", "x2"): 0.5}),
        weights=lambda n, seed: np.random.default_rng(seed).gamma(2.0, size=n),
    ),
    Case(
        "two values, three levels, a number",
        "a -> x1, x2; u -> x1, x3; x1 -> x3; x2 <-> x3",
        simulated(weights=EFFECTS, correlation={("x2", "x3"): 0.4}, kinds=LEVELS),
        options={"kinds": {"x2": LEVELS["x2"]}},
    ),
    Case(
        "the same, many people",
        "a -> x1, x2; u -> x1, x3; x1 -> x3; x2 <-> x3",
        simulated(weights=EFFECTS, correlation={("x2", "x3"): 0.4}, kinds=LEVELS),
        n=10_000,
        options={"kinds": {"x2": LEVELS["x2"]}},
    ),
    Case(
        "a hidden cause behind the attribute",
        TIED,
        simulated(weights=BEHIND, correlation={("a", "x1"): 0.5, ("a", "x2"): -0.4, ("a", "x3"): 0.4}),
    ),
    Case(
        "the same, many people",
        TIED,
        simulated(weights=BEHIND, correlation={("a", "x1"): 0.5, ("a", "x2"): -0.4, ("a", "x3"): 0.4}),
        n=20_000,
    ),
    Case(
        "the same, levels",
        TIED,
        simulated(weights=BEHIND, correlation={("a", "x1"): 0.5, ("a", "x2"): -0.4, ("a", "x3"): 0.4}, kinds=LEVELS),
        n=4000,
        options={"kinds": {"x2": LEVELS["x2"]}},
    ),
    Case(
        "a category, a log, an atom, two values",
        MIXED,
        simulated(
            kinds=KINDS,
            levels={"c": ["n", "s", "w"]},
            correlation={("x1", "x2"): 0.4},
            weights={
                "x1": {"a": 0.4, "c=s": 0.5},
                "x2": {"1": 0.8, "a": 0.5, "x1": 0.4},
                "x3": {"c=w": 0.5, "x2": 0.5},
            },
        ),
        options={"kinds": {"x1": "log", "x2": "zero or number"}},
    ),
    Case(
        "a scale by group",
        "a -> x1, x2; x1 -> x2; x1 <-> x2",
        simulated(
            kinds={"x1": "number by group"},
            weights={"x1": {-1: {"1": -0.5}, 1: {"1": 0.5}}, "x2": {"a": 0.4, "x1": 0.5}},
            scales={"x1": {-1: 0.7, 1: 1.3}},
        ),
        options={"kinds": {"x1": "number by group"}},
    ),
    Case(
        "a numeric attribute",
        "u -> x1; a -> x1, x2; x1 -> x2; a <-> x1",
        simulated(
            binary=False,
            weights={"x1": {"a": 0.5, "u": 0.5}, "x2": {"a": 0.4, "x1": 0.5}},
            correlation={("a", "x1"): 0.4},
        ),
    ),
)

# ---------------------------------------------------------------- faults

PLAIN = "a -> x1, x2; x1 -> x2; x1 <-> x2"
BOTH = {"x1": {"a": 0.5}, "x2": {"a": 0.4, "x1": 0.5}}


def with_errors(
    errors: Callable[[pd.DataFrame, np.random.Generator], Any],
) -> Callable[[pd.DataFrame, int], pd.DataFrame]:
    """Give x2 its mean and other errors, and the outcome the sum of both features and an error of its own."""

    def change(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng([seed, 1])
        x2 = 0.4 * frame["a"] + 0.5 * frame["x1"] + errors(frame, rng)
        return frame.assign(x2=x2, y=frame["x1"] + x2 + rng.standard_normal(len(frame)))

    return change


def uneven(spread: float) -> Callable[[pd.DataFrame, int], pd.DataFrame]:
    """Errors that are wider in the group +1."""
    return with_errors(lambda frame, rng: (1 + spread * frame["a"]) * rng.standard_normal(len(frame)))


def spreading(frame: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Errors that are wider where x1 is larger."""
    return np.exp(0.2 * frame["x1"]) * rng.standard_normal(len(frame))


def older(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Ages that hardly overlap between the groups."""
    rng = np.random.default_rng([seed, 1])
    age = 40 + 20 * frame["a"] + 5 * rng.standard_normal(len(frame))
    x1 = 0.5 * frame["a"] + 0.02 * age + rng.standard_normal(len(frame))
    return frame.assign(age=age, x1=x1, y=x1 + rng.standard_normal(len(frame)))


def skewed(frame: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Gamma errors of shape 4: skewness 1."""
    return (rng.gamma(4.0, size=len(frame)) - 4) / 2


def heavy(frame: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Errors of Student's t with 5 degrees of freedom."""
    return rng.standard_t(5, size=len(frame)) / np.sqrt(5 / 3)


FAULTS = (
    Case(
        "scale by group",
        PLAIN,
        simulated(weights=BOTH, change=uneven(0.15)),
        fault="scale by group",
        feature="x2",
        size="errors of x2 1.35 times as wide in one group",
    ),
    Case(
        "scale by group, attribute tied",
        f"{PLAIN}; a <-> x2",
        simulated(PLAIN, weights={"a": {"1": -1.0}, **BOTH}, change=uneven(0.2)),
        n=2000,
        fault="scale by group",
        feature="x2",
        size="errors of x2 1.5 times as wide in the smaller group, 16 % of people",
    ),
    Case(
        "skewed errors",
        PLAIN,
        simulated(weights=BOTH, change=with_errors(skewed)),
        fault="skewness",
        feature="x2",
        size="gamma errors of skewness 1",
    ),
    Case(
        "heavy tails",
        PLAIN,
        simulated(weights=BOTH, change=with_errors(heavy)),
        fault="kurtosis",
        feature="x2",
        size="errors of Student's t with 5 degrees of freedom",
    ),
    Case(
        "a missing edge",
        "a -> x1, x2; u -> x1; x1 -> x2; x1 <-> x2",
        simulated(
            "a, u -> x1, x2; x1 -> x2", weights={"x1": {"a": 0.5, "u": 0.5}, "x2": {"a": 0.4, "x1": 0.5, "u": 0.3}}
        ),
        fault="",
        size="u -> x2 of 0.3, which the pair x1 <-> x2 may stand for",
    ),
    Case(
        "a missing edge, no pair",
        "a -> x1, x2; u -> x1; x1 -> x2",
        simulated(
            "a, u -> x1, x2; x1 -> x2", weights={"x1": {"a": 0.5, "u": 0.5}, "x2": {"a": 0.4, "x1": 0.5, "u": 0.2}}
        ),
        fault="independence",
        feature="x2",
        size="u -> x2 of 0.2",
    ),
    Case(
        "a missing edge from the attribute",
        "a -> x1; x1 -> x2",
        simulated("a -> x1, x2; x1 -> x2", weights={"x1": {"a": 0.5}, "x2": {"a": 0.2, "x1": 0.5}}),
        fault="independence",
        feature="x2",
        size="a -> x2 of 0.2, in units of the error, a coded -1 and +1",
    ),
    Case(
        "the same, two values",
        "a -> x1; x1 -> x2",
        simulated(
            "a -> x1, x2; x1 -> x2", weights={"x1": {"a": 0.5}, "x2": {"a": 0.25, "x1": 0.5}}, kinds={"x2": "ordered"}
        ),
        fault="independence",
        feature="x2",
        size="a -> x2 of 0.25",
    ),
    Case(
        "a missing interaction",
        PLAIN,
        simulated(weights={"x1": {"a": 0.5}, "x2": {"a": 0.4, "x1": 0.5, "a*x1": 0.2}}, degrees={"x2": 2}),
        fault="interaction",
        feature="x2",
        size="x1 acts with 0.7 in one group and 0.3 in the other",
    ),
    Case(
        "the same, two values",
        PLAIN,
        simulated(
            weights={"x1": {"a": 0.5}, "x2": {"a": 0.4, "x1": 0.5, "a*x1": 0.3}},
            degrees={"x2": 2},
            kinds={"x2": "ordered"},
        ),
        fault="interaction",
        feature="x2",
        size="x1 acts with 0.8 in one group and 0.2 in the other",
    ),
    Case(
        "a missing power",
        PLAIN,
        simulated(weights={"x1": {"a": 0.5}, "x2": {"a": 0.4, "x1": 0.5, "x1^2": 0.15}}, degrees={"x2": 2}),
        fault="curvature",
        feature="x2",
        size="0.15 times the square of x1",
    ),
    Case(
        "a spread that grows with a parent",
        PLAIN,
        simulated(weights=BOTH, change=with_errors(spreading)),
        fault="spread",
        feature="x2",
        size="errors of x2 1.2 times as wide for each unit of x1",
    ),
    Case(
        "no overlap",
        "age -> a; age, a -> x1",
        simulated("a -> x1", change=older),
        fault="overlap",
        feature="x1",
        size="ages 60 and 20 on average in the two groups, with a deviation of 5",
    ),
)


# ---------------------------------------------------------------- tables


def right_row(case: Case, seeds: Sequence[int]) -> dict[str, str]:
    """How many audits of a right model have an alarm, and which."""
    found = [case.found(seed) for seed in seeds]
    false = [sorted({one.check for one in one_audit.alarms}) for one_audit in found]
    counts = pd.Series([check for checks in false for check in checks], dtype=object).value_counts()
    return {
        "right model": case.name,
        "n": f"{case.n:,}",
        "checks": f"{np.mean([sum(one.is_implied for one in f.checks) for f in found]):.0f}",
        "audits": str(len(found)),
        "with an alarm": str(sum(bool(checks) for checks in false)),
        "which": ", ".join(f"{check} {count}" for check, count in counts.items()),
        "untested": str(len(found[0].untested)),
    }


def hits(case: Case, found: Diagnostics) -> bool:
    """Whether the check that is made for the fault raises its alarm."""
    return any((one.check, one.feature) == (case.fault, case.feature) for one in found.alarms)


def fault_row(case: Case, seeds: Sequence[int]) -> dict[str, str]:
    """In how many audits a fault is found, and in how many another alarm is raised."""
    found = [case.found(seed) for seed in seeds]
    others = [[one for one in f.alarms if (one.check, one.feature) != (case.fault, case.feature)] for f in found]
    names = pd.Series([one.check for own in others for one in own], dtype=object).value_counts()
    return {
        "fault": case.name,
        "how large": case.size,
        "n": f"{case.n:,}",
        "found by": case.fault or "nothing, as it should be",
        "in": f"{sum(hits(case, f) for f in found)} of {len(found)}" if case.fault else "",
        "other alarms": ", ".join(f"{check} {count}" for check, count in names.items()),
    }


def sentence_of(case: Case, seeds: Sequence[int]) -> str:
    """What is said of a fault, once."""
    for seed in seeds:
        for one in case.found(seed).alarms:
            if (one.check, one.feature) == (case.fault, case.feature):
                return f"- *{case.name}.* {one.sentence}"
    return f"- *{case.name}.* Never found."


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """A table in Markdown."""
    names = list(rows[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names), *(" | ".join(row.values()) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    """Run every case and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="audits of each case")
    seeds, start = range(parser.parse_args().seeds), time.perf_counter()
    rows, faults = [], []
    for case in RIGHT:
        rows.append(right_row(case, seeds))
        print(f"{time.perf_counter() - start:6.0f} s ", *rows[-1].values(), sep=" | ", flush=True)
    for case in FAULTS:
        faults.append(fault_row(case, seeds))
        print(f"{time.perf_counter() - start:6.0f} s ", *faults[-1].values(), sep=" | ", flush=True)
    told = "\n".join(sentence_of(case, seeds) for case in FAULTS if case.fault)
    programs = (
        f"fairstress {fs.__version__}, numpy {np.__version__}, scipy {scipy.__version__}, pandas {pd.__version__}"
    )
    spent = f"- seeds 0 to {seeds[-1]}; {programs}, Python {platform.python_version()}, "
    spent += f"{(time.perf_counter() - start) / 60:.0f} minutes\n"
    text = f"{WORDS}\n{spent}\n{markdown(rows)}\n{OTHERS}\n{markdown(faults)}\n{SENTENCES}\n{told}\n"
    print(text)
    (HERE / "diagnostics.md").write_text(text)


WORDS = """# Alarms on right models, and faults found

Right models are drawn from the family that is fitted. Any alarm on them is a false one; at a family-wise level of 5 %
some five audits in a hundred may have any. `checks` counts those that the graph with its pairs implies, over which the
level is held; `untested` independences that the graph implies and no equation tells how to test.
"""

OTHERS = """
## Faults

One fault at a time, so large as said. An alarm of another check is not false: the model is wrong, and a fault often
shows in several ways.
"""

SENTENCES = """
## What is said of them
"""


if __name__ == "__main__":
    main()
