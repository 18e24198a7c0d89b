"""Whether estimates at the true correlation are the truth, for every kind of feature, alone and mixed.

People are drawn from the family that is fitted, with errors of a known correlation P, together with their own
counterfactuals. A claim is fitted to the table alone; its CFU and the total effect on the last feature are then
compared with those of the drawn counterfactuals, at the true P, with all errors independent, and with the signs of P
turned. Every case is drawn with an attribute that shares no hidden cause, and with one that does.

A difference has two parts, the chance of who was drawn and that of the estimated weights; both fall with the root of n.
So there are several draws of each size, a standard error comes from the draws themselves, and the root mean square
difference must fall with slope -1/2 in log n. What is not drawn from the family that is fitted stands apart.

Usage: python studies/truth_of_kinds.py [--seeds 8] [--sizes 2000 20000 200000]

Prints the tables in Markdown and writes them to ``truth_of_kinds.md`` beside this file.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import stats

import fairstress as fs
from fairstress.claim.evaluate import model_b

HERE = Path(__file__).parent
SIZES, SEEDS = (2_000, 20_000, 200_000), 8
OFF_AT = 20_000  # people in draws that show how far a wrong P is off
EDGES = {2: "a -> x1, x2; x1 -> x2", 3: "a -> x1, x2, x3; x1, x2 -> x3; x1 -> x2"}
TIED = {2: {("x1", "x2"): 0.4}, 3: {("x1", "x2"): 0.3, ("x1", "x3"): 0.3, ("x2", "x3"): -0.2}}
BEHIND = {("a", "x1"): 0.3, ("a", "x2"): -0.2}
PREDICTOR = {"x1": 0.5, "x2": 1.0, "x3": 0.7}

Correlation = dict[tuple[str, str], float]
Draw = Callable[[int, int, bool], tuple[pd.DataFrame, pd.DataFrame]]


@dataclass(frozen=True)
class Case:
    """Features of some kinds, and how they are drawn."""

    name: str
    kinds: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    features: int = 2
    is_absorbed: bool = False  # whether pairs of features cannot matter
    is_told: bool = True  # whether the kinds are given, or read off the columns
    draw: Draw | None = None  # people and counterfactuals by n, seed and confounding, where no option says it

    def correlation(self, confounded: bool) -> Correlation:
        """The true P, by pair."""
        return TIED[self.features] | (BEHIND if confounded else {})

    def graph(self, confounded: bool) -> fs.CausalGraph:
        """The graph with exactly these pairs."""
        pairs = "; ".join(f"{j} <-> {k}" for j, k in self.correlation(confounded))
        return fs.CausalGraph.parse(f"{EDGES[self.features]}; {pairs}", protected="a", outcome="y")

    def people(self, n: int, seed: int, confounded: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A table, and everyone's counterfactual."""
        if self.draw is not None:
            return self.draw(n, seed, confounded)
        weights = {"x1": {"a": 0.4}, "x2": {"a": 0.3, "x1": 0.6}}
        options = dict(self.options)
        given = {"weights": weights | options.pop("weights", {}), "kinds": self.kinds, **options}
        P = self.correlation(confounded)
        drawn = fs.datasets.simulate(self.graph(confounded), n, correlation=P, random_state=seed, **given)
        return drawn.frame, drawn.counterfactuals


BY_GROUP = {-1: {"1": -0.1, "x1": 0.5}, 1: {"1": 0.2, "x1": 0.9}}
SMALL = {"x1": {"a": 0.1}, "x2": {"a": 0.1, "x1": 0.3}}

CASES = (
    Case("ordered, 2 levels", {"x1": "ordered"}, {"cuts": {"x1": (0.1,)}}),
    Case("ordered, 3 levels", {"x1": "ordered"}, {"cuts": {"x1": (-0.5, 0.6)}}),
    Case(
        "ordered, 5 levels, below",
        {"x2": "ordered"},
        {"cuts": {"x2": (-1, -0.3, 0.3, 1)}, "scales": {"x1": 0.7}},
        is_absorbed=True,
    ),
    Case("ordered, 7 levels", {"x1": "ordered"}, {"cuts": {"x1": (-1.5, -0.9, -0.3, 0.3, 0.9, 1.5)}}),
    Case("count of 0 to 5", {"x1": "ordered"}, {"cuts": {"x1": (-0.6, 0.1, 0.7, 1.2, 1.8)}}, is_told=False),
    Case(
        "ordered as levels",
        {"x1": "ordered as levels"},
        {"cuts": {"x1": (-0.5, 0.6)}, "weights": {"x2": {"a": 0.3, "x1=1": 1.0, "x1=2": 0.7}}},
    ),
    Case("log", {"x1": "log"}, {"scales": {"x1": 0.6}}, is_absorbed=True),
    Case("log, below", {"x2": "log"}, {"scales": {"x1": 0.6, "x2": 0.6}}, is_absorbed=True),
    Case("rank, small effect", {"x1": "rank"}, {"inverse": {"x1": np.sinh}, "weights": SMALL}, is_absorbed=True),
    Case("zero or number", {"x1": "zero or number"}, {"atoms": {"x1": 0.2}}),
    Case("zero or number, below", {"x2": "zero or number"}, is_absorbed=True),
    Case(
        "by group",
        {"x1": "number by group", "x2": "number by group"},
        {
            "scales": {"x1": {-1: 1.0, 1: 1.5}, "x2": {-1: 0.7, 1: 1.0}},
            "weights": {"x1": {-1: {"1": -0.3}, 1: {"1": 0.4}}, "x2": BY_GROUP},
        },
        is_absorbed=True,
    ),
    Case(
        "both ordered, 3 and 5 levels",
        {"x1": "ordered", "x2": "ordered"},
        {"cuts": {"x1": (-0.5, 0.5), "x2": (-1, -0.3, 0.3, 1)}},
    ),
    Case("zero or number, zero or sqrt", {"x1": "zero or number", "x2": "zero or sqrt"}, {"atoms": {"x2": 0.3}}),
    Case(
        "ordered, number by group",
        {"x1": "ordered", "x2": "number by group"},
        {"cuts": {"x1": (-0.5, 0.5)}, "scales": {"x2": {-1: 0.7, 1: 1.0}}, "weights": {"x2": BY_GROUP}},
    ),
    Case(
        "ordered, log, zero or number",
        {"x1": "ordered", "x2": "log", "x3": "zero or number"},
        {
            "cuts": {"x1": (-0.5, 0.6)},
            "scales": {"x2": 0.6},
            "weights": {"x2": {"a": 0.2, "x1": 0.3}, "x3": {"a": 0.3, "x1": 0.4, "x2": 0.5}},
        },
        features=3,
    ),
)


# ---------------------------------------------------------------- other families


def poisson(n: int, seed: int, confounded: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A Poisson count x1 with mean exp(0.3 + 0.4 a), at most 9, above a number x2, their normal scores tied."""
    rng = np.random.default_rng(seed)
    P = np.eye(3)
    for (j, k), p in (TIED[2] | (BEHIND if confounded else {})).items():
        places = ["a", "x1", "x2"]
        P[places.index(j), places.index(k)] = P[places.index(k), places.index(j)] = p
    e = rng.standard_normal((n, 3)) @ np.linalg.cholesky(P).T
    a = np.where(e[:, 0] > 0, 1, -1)

    def world(a: np.ndarray) -> pd.DataFrame:
        x1 = np.minimum(stats.poisson.ppf(stats.norm.cdf(e[:, 1]), np.exp(0.3 + 0.4 * a)), 9).astype(int)
        return pd.DataFrame({"a": a, "x1": x1, "x2": 0.3 * a + 0.6 * x1 + e[:, 2]})

    return world(a).assign(y=rng.standard_normal(n)), world(-a)


def itself(v: np.ndarray) -> np.ndarray:
    """The identity, from the latent scale to the table."""
    return v


FEW = {"a": {"1": 1.0}}  # 16 % of people have a = -1
SHIFTED = {"x1": {"a": 1.0}, "x2": {"a": 0.3, "x1": 0.6}}
MISSPECIFIED = (
    Case("Poisson count, as ordered", {"x1": "ordered"}, draw=poisson),
    Case("Poisson count, as log1p", {"x1": "log1p"}, draw=poisson),
    Case("Poisson count, as a number", {"x1": "number"}, draw=poisson),
    Case("normal, shift of 0.8, as rank", {"x1": "rank"}, {"inverse": {"x1": itself}}),
    Case("normal, shift of 2, as rank", {"x1": "rank"}, {"weights": SHIFTED, "inverse": {"x1": itself}}),
    Case("the same, 16 % of people moved", {"x1": "rank"}, {"weights": SHIFTED | FEW, "inverse": {"x1": itself}}),
    Case("sinh of normal, shift of 2, as rank", {"x1": "rank"}, {"weights": SHIFTED, "inverse": {"x1": np.sinh}}),
)


# ---------------------------------------------------------------- one draw


@dataclass(frozen=True)
class Estimates:
    """CFU and total effect of one draw, as they are and as estimated."""

    cfu: float
    effect: float
    cfu_estimate: float
    effect_estimate: float
    cfu_independent: float
    cfu_turned: float


def predict(columns: pd.DataFrame) -> np.ndarray:
    """What the audited predictor makes of people: a weighted sum of their features."""
    parts = [weight * as_numbers(columns[name]) for name, weight in PREDICTOR.items() if name in columns]
    return np.sum(parts, axis=0)


def as_numbers(column: pd.Series) -> np.ndarray:
    """Numbers, or levels that are numbers."""
    return pd.to_numeric(column).to_numpy(dtype=float)


def estimate(case: Case, n: int, seed: int, confounded: bool, *, off: bool = True) -> Estimates:
    """Draw people, fit a claim to the table alone and compare; ``off``: at wrong P too."""
    frame, other = case.people(n, seed, confounded)
    last = f"x{case.features}"
    gained = as_numbers(other[last]) - as_numbers(frame[last])
    audit = fit(case, frame, confounded)
    P = case.correlation(confounded)
    claim, functional = audit.fitted.claim, audit.effect(last)
    effect = functional.values(claim, [model_b(claim, audit._read(P))])
    return Estimates(
        cfu=float(np.mean((predict(frame) - predict(other)) ** 2)),
        effect=float(np.mean(np.where(frame["a"] == 1, gained, -gained))),
        cfu_estimate=audit.cfu(P),
        effect_estimate=float(effect[0]),
        cfu_independent=audit.cfu({}) if off else np.nan,
        cfu_turned=audit.cfu({pair: -p for pair, p in P.items()}) if off else np.nan,
    )


def fit(case: Case, frame: pd.DataFrame, confounded: bool) -> fs.Audit:
    """Audit the predictor without penalty, linear in each parent."""
    return fs.Audit.fit(
        frame,
        case.graph(confounded),
        kinds=dict(case.kinds) if case.is_told else None,
        penalty=0,
        degrees={f"x{j + 1}": 1 for j in range(case.features)},
        predictor=fs.Predictor(predict, input="features"),
        predictor_degree=1,
        predictor_penalty=1.0,
    )


def estimates(case: Case, n: int, seeds: Iterable[int], confounded: bool, *, off: bool = True) -> pd.DataFrame:
    """A row for each draw."""
    return pd.DataFrame([estimate(case, n, seed, confounded, off=off) for seed in seeds])


# ---------------------------------------------------------------- tables


def in_errors(differences: pd.Series) -> float:
    """The mean of some differences in standard errors of that mean."""
    return float(differences.mean() / (differences.std(ddof=1) / np.sqrt(len(differences))))


def slope(sizes: Sequence[int], differences: Sequence[pd.Series]) -> float:
    """Of the log root mean square difference in log n."""
    size = [np.log(np.sqrt((d**2).mean())) for d in differences]
    return float(np.polyfit(np.log(sizes), size, 1)[0])


def row_of(case: Case, confounded: bool, sizes: Sequence[int], seeds: range) -> dict[str, str]:
    """Draws of every size: how far the largest are off, and how fast they come near."""
    found = [estimates(case, n, seeds, confounded, off=n == OFF_AT) for n in sizes]
    cfu, effect = ([draws[f"{name}_estimate"] - draws[name] for draws in found] for name in ("cfu", "effect"))
    cells = {
        "kinds": case.name,
        "attribute": "tied" if confounded else "free",
        "CFU": f"{found[-1]['cfu'].mean():.4f}",
        "off by": f"{cfu[-1].mean():+.4f}",
        "in s.e.": f"{in_errors(cfu[-1]):+.1f}",
        "slope": f"{slope(sizes, cfu):.2f}",
        "effect": f"{found[-1]['effect'].mean():.4f}",
        "effect off by": f"{effect[-1].mean():+.4f}",
        "its s.e.": f"{in_errors(effect[-1]):+.1f}",
        "its slope": f"{slope(sizes, effect):.2f}",
    }
    if OFF_AT in sizes:
        at = found[list(sizes).index(OFF_AT)]
        cells["P = I"] = f"{at['cfu_independent'].mean() / at['cfu'].mean() - 1:+.1%}"
        cells["signs turned"] = f"{at['cfu_turned'].mean() / at['cfu'].mean() - 1:+.1%}"
    return cells


def misspecified_row(case: Case, confounded: bool, n: int, seeds: range) -> dict[str, str]:
    """How far a family is off that is not the one drawn from."""
    draws = estimates(case, n, seeds, confounded, off=False)
    cfu, effect = (draws[f"{name}_estimate"] - draws[name] for name in ("cfu", "effect"))
    return {
        "drawn and fitted": case.name,
        "attribute": "tied" if confounded else "free",
        "CFU": f"{draws['cfu'].mean():.4f}",
        "off by": f"{cfu.mean() / draws['cfu'].mean():+.1%}",
        "in s.e.": f"{in_errors(cfu):+.1f}",
        "effect": f"{draws['effect'].mean():.4f}",
        "effect off by": f"{effect.mean() / abs(draws['effect'].mean()):+.1%}",
        "its s.e.": f"{in_errors(effect):+.1f}",
    }


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """A table in Markdown."""
    names = list(rows[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names), *(" | ".join(row.values()) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def settings(sizes: Sequence[int], seeds: range, seconds: float) -> str:
    """What was run, with what."""
    programs = (
        f"fairstress {fs.__version__}, numpy {np.__version__}, scipy {scipy.__version__}, pandas {pd.__version__}"
    )
    pairs = ", ".join(f"{j} <-> {k} {p:g}" for j, k, p in ((*pair, p) for pair, p in (TIED[2] | BEHIND).items()))
    three = ", ".join(f"{j} <-> {k} {p:g}" for j, k, p in ((*pair, p) for pair, p in TIED[3].items()))
    return (
        f"- n = {', '.join(f'{n:,}' for n in sizes)}; seeds {seeds.start} to {seeds.stop - 1}; differences and "
        f"standard errors at n = {sizes[-1]:,}, wrong P at n = {OFF_AT:,}\n"
        f"- graph `{EDGES[2]}`, P {pairs} (those with a where the attribute is tied); with three features "
        f"`{EDGES[3]}`, P {three}\n"
        f"- predictor {' + '.join(f'{w:g} {name}' for name, w in PREDICTOR.items())}, penalty 0, degree 1\n"
        f"- {programs}, Python {platform.python_version()}, one core, {seconds / 60:.0f} minutes\n"
    )


WORDS = """# Estimates at the true correlation, kind by kind

CFU and the total effect of the attribute on the last feature, estimated from the table at the true P, less those of the
counterfactuals that were drawn with it: the mean difference over the draws, in standard errors over the draws, and the
slope of the log root mean square difference in log n, which is -1/2 where nothing but chance is left (it is known to
about 0.08). The last two columns say how far CFU at a wrong P is from the truth, at a smaller n: where no correlation
among the features can matter, and the attribute is free, that is chance alone, the same for both. All cases share their
seeds, so that rows are not independent of each other.
"""

OTHERS = """
## Families that are not the one drawn from

A Poisson count moves its probabilities with the mean as no shifted normal error does, and the normal scores of a
marginal are not the scale on which errors are normal where the attribute moves the mean. Both are off, by so much:
"""


def main() -> None:
    """Run every case and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="draws of each size")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="people in a draw, ascending")
    given = parser.parse_args()
    seeds, start = range(1, given.seeds + 1), time.perf_counter()
    rows, others = [], []
    for case in CASES:
        for confounded in (False, True):
            rows.append(row_of(case, confounded, given.sizes, seeds))
            print(f"{time.perf_counter() - start:6.0f} s ", *rows[-1].values(), sep=" | ", flush=True)
    for case in MISSPECIFIED:
        for confounded in (False, True):
            others.append(misspecified_row(case, confounded, given.sizes[-1], seeds))
            print(f"{time.perf_counter() - start:6.0f} s ", *others[-1].values(), sep=" | ", flush=True)
    spent = settings(given.sizes, seeds, time.perf_counter() - start)
    text = f"{WORDS}\n{spent}\n{markdown(rows)}\n{OTHERS}\n{markdown(others)}\n"
    print(text)
    (HERE / "truth_of_kinds.md").write_text(text)


if __name__ == "__main__":
    main()
