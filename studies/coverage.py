"""How often limits hold: the coverage of upper limits of CFU, of curves, and of lower limits of breaking points.

People are drawn from a known Model B with a two-valued attribute, ``x = 0.5 a + e_x``, ``z = 0.3 a + 0.6 x + e_z``,
``y = x + z + e_y``, where the errors behind a and x have the correlation rho. An audit is fitted to each table, with
linear equations and a linear predictor, and its limits are compared with the truth about that very predictor: its CFU
in the population, at the true correlation, at its worst within budgets, and where that reaches a level. The
population's Model B at any correlation is the fit to a table of quasi-random people. Since everything is linear,
everyone's change of prediction has the same size, so that CFU in the population needs no people.

Beside it stands the naive bootstrap, which fits Model A and the predictor anew in each replicate.

Usage: python studies/coverage.py [--sizes 2000 10000 500] [--sets 400 400 400] [--pairs 1 3] [--n-boot 59] [--jobs 2]

Prints each cell as it comes, and writes the tables in Markdown to ``coverage.md`` beside this file. With
``--keep FILE`` cells that an earlier run has left in FILE are not run again: the study takes hours, and may be stopped
and continued.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from joblib import Parallel, delayed
from scipy import special, stats

import fairstress as fs
from fairstress.analyses.bands.limits import Replication, estimates
from fairstress.claim.evaluate import fits
from fairstress.functionals.cfu import CFU
from fairstress.inputs.rows import Array

HERE = Path(__file__).parent
EDGES = "a -> x, z; x -> z"
PAIRS = {1: "a <-> x", 3: "a <-> x; a <-> z; x <-> z"}
SIZES = (0.1, 0.2, 0.3)  # budgets of a curve
GRID = tuple(np.linspace(0.01, 0.4, 40).round(2).tolist())  # budgets at which the population is known
LEVEL_AT = 0.2  # the level to reach is the worst case there of a predictor fitted to the population
POPULATION = 2**17  # quasi-random people
SEARCH = fs.Search(starts=2)
AUDITS = 3  # whose standard errors are compared with fresh tables
JOINT = Replication(0.95, 59, 59, {}, "model b", simultaneous=True, penalised=False)
TERMS = (("x", "a"), ("z", "a"), ("z", "x"))


@dataclass(frozen=True)
class Cell:
    """What an audit is asked, and of which people."""

    n: int
    pairs: int
    rho: float
    penalty: float | None  # None: chosen

    @property
    def graph(self) -> fs.CausalGraph:
        """The graph with its pairs."""
        return fs.CausalGraph.parse(f"{EDGES}; {PAIRS[self.pairs]}", protected="a", outcome="y")

    def audit(self, frame: pd.DataFrame) -> fs.Audit:
        """Linear equations, a linear predictor."""
        options: dict[str, Any] = {"degrees": {"x": 1, "z": 1}, "predictor_degree": 1, "random_state": 0}
        if self.penalty is not None:
            options |= {"penalty": self.penalty, "predictor_penalty": self.penalty}
        return fs.Audit.fit(frame, self.graph, reference=1, **options)


def people(errors: Array, rho: float) -> pd.DataFrame:
    """A table from standard normal numbers (n, 4)."""
    behind, own, e_z, e_y = errors.T
    a = np.where(0.3 + behind > 0, 1, -1)
    x = 0.5 * a + rho * behind + np.sqrt(1 - rho**2) * own
    z = 0.3 * a + 0.6 * x + e_z
    return pd.DataFrame({"a": a, "x": x, "z": z, "y": x + z + e_y})


# ---------------------------------------------------------------- the truth


@cache
def population(pairs: int, rho: float) -> tuple[fs.Audit, Array, Array, Array]:
    """An audit of quasi-random people, correlations, the budget that each needs, and Model B's coefficients there."""
    unit = stats.qmc.Sobol(4, seed=0).random(POPULATION)
    audit = Cell(POPULATION, pairs, rho, 0.0).audit(people(special.ndtri(np.clip(unit, 1e-12, 1 - 1e-12)), rho))
    signs = np.array(list(product((-1.0, 1.0), repeat=pairs)))
    P = np.array([_matrix(audit, size * sign) for size in GRID for sign in signs])
    P = np.concatenate([P, [_matrix(audit, np.zeros(pairs)), _matrix(audit, np.eye(pairs)[0] * rho)]])
    return audit, P, np.repeat([*GRID, np.inf], [*[len(signs)] * len(GRID), 2]), coefficients(audit, P)


def _matrix(audit: fs.Audit, p: Array) -> Array:
    P = np.eye(len(audit.variables))
    for value, (first, second) in zip(p.tolist(), audit.graph.pairs, strict=True):
        j, k = audit.variables.index(first), audit.variables.index(second)
        P[j, k] = P[k, j] = value
    return P


def coefficients(audit: fs.Audit, P: Array) -> Array:
    """(k, 3) weights of Model B at some correlations, without penalty, in the table's units."""
    claim = audit.fitted.claim
    made = fits(claim, P, check_minima=False)
    return np.column_stack([audit.coefficient(feature, term).values(claim, made) for feature, term in TERMS])


def true_cfu(audit: fs.Audit, weights: Array) -> Array:
    """(k,) CFU of a deployed predictor in the population under Model B with some weights (k, 3).

    Predictions of everyone change by the same amount, up to its sign, so that one person will do.
    """
    claim = audit.fitted.claim
    claim = replace(claim, rows=claim.rows.where(slice(0, 1)), origin=None)
    units = [audit.coefficient(feature, term).slope for feature, term in TERMS]
    made = []
    for row in weights:
        w = np.array(claim.model_a.weights)
        for unit, value in zip(units, row.tolist(), strict=True):
            place = int(np.flatnonzero(unit)[0])
            w[place] = value / unit[place]
        made.append(replace(claim.model_a, weights=w))
    return CFU().values(claim, made)


def true_worst(audit: fs.Audit, pairs: int, rho: float) -> tuple[Array, float]:
    """The worst case in the population within each budget of the grid, and CFU at the true correlation."""
    _, _, size, weights = population(pairs, rho)
    cfu = true_cfu(audit, weights)
    worst = np.array([cfu[size <= one].max() for one in GRID])
    return np.maximum.accumulate(np.maximum(worst, cfu[-2])), float(cfu[-1])


@cache
def level(pairs: int, rho: float) -> float:
    """A level that is reached near the middle of the grid."""
    worst, _ = true_worst(population(pairs, rho)[0], pairs, rho)
    return float(worst[GRID.index(LEVEL_AT)])


def breaking_point(worst: Array, wanted: float) -> float:
    """Where the worst case reaches a level; its root is nearly a line between budgets."""
    if worst.max() < wanted:
        return np.inf
    return float(np.interp(np.sqrt(wanted), np.sqrt([0.0, *worst]), [0.0, *GRID]))


# ---------------------------------------------------------------- one table


def one_table(cell: Cell, seed: int, n_boot: int, naive: bool) -> dict[str, float]:
    """Limits and truths of one audit.

    A breaking point's limit is where the upper limit of the worst case reaches the level. It is not above the true
    breaking point if, and only if, the upper limit there is at least the level: so the curve has a point there.
    """
    errors = np.random.default_rng([seed, cell.n]).standard_normal((cell.n, 4))
    audit = cell.audit(people(errors, cell.rho))
    bands = fs.Bootstrap(n_boot, check=0)
    worst, at_truth = true_worst(audit, cell.pairs, cell.rho)
    wanted = level(cell.pairs, cell.rho)
    breaks = breaking_point(worst, wanted)
    curve = audit.curve({*SIZES, min(breaks, GRID[-1])}, bands=bands, search=SEARCH)
    points = {point.p_max: point.estimate for point in curve.points}
    truth = {f"curve {size}": worst[GRID.index(size)] for size in SIZES}
    at_once = estimates(list(SIZES), np.column_stack([points[size].replicates for size in SIZES]), JOINT)
    fixed = audit.estimate({("a", "x"): cell.rho}, bands=bands)
    found = {
        "breaking point": float(points[min(breaks, GRID[-1])].upper >= min(wanted, worst[-1])),
        "held at once": float(all(e.upper >= worst[GRID.index(size)] for e, size in zip(at_once, SIZES, strict=True))),
        "upper fixed P": fixed.upper,
        "true fixed P": at_truth,
        **{f"true {name}": value for name, value in truth.items()},
        **{f"upper curve {size}": points[size].upper for size in SIZES},
    }
    if naive:
        every = fs.Bootstrap(39, refit="all", check=0)
        found["naive"] = audit.estimate({("a", "x"): cell.rho}, bands=every).upper
    return found


def run(cell: Cell, seeds: range, n_boot: int, naive: int, jobs: int) -> pd.DataFrame:
    """Many tables of one cell."""
    level(cell.pairs, cell.rho)  # what forked processes find known
    tasks = (delayed(one_table)(cell, seed, n_boot, seed < naive) for seed in seeds)
    return pd.DataFrame(Parallel(n_jobs=jobs, backend="multiprocessing")(tasks))


def row_of(cell: Cell, found: pd.DataFrame) -> dict[str, Any]:
    """Coverage, and by what a limit would have to be multiplied to hold in 95 % of tables."""
    names = ["fixed P", *(f"curve {size}" for size in SIZES)]
    covers = {name: float((found[f"upper {name}"] >= found[f"true {name}"]).mean()) for name in names}
    ideal = {name: float((found[f"true {name}"] / found[f"upper {name}"]).quantile(0.95)) for name in names}
    known = found.dropna(subset=["naive"]) if "naive" in found else found.iloc[:0]
    naive = float((known["naive"] >= known["true fixed P"]).mean()) if len(known) else float("nan")
    return {
        "n": f"{cell.n:,}",
        "pairs": cell.pairs,
        "rho": cell.rho,
        "penalty": "chosen" if cell.penalty is None else f"{cell.penalty:g}",
        **{name: f"{100 * covers[name]:.1f} % (x {ideal[name]:.2f})" for name in names},
        "whole curve": f"{100 * found['held at once'].mean():.1f} %",
        "breaking point": f"{100 * found['breaking point'].mean():.1f} %",
        "naive, fixed P": "" if np.isnan(naive) else f"{100 * naive:.0f} % of {len(known)}",
    }


# ---------------------------------------------------------------- standard errors


def fresh_cfu(deployed: fs.Audit, cell: Cell, seed: int, P: Array) -> float:
    """CFU of a deployed predictor where Model B is fitted to fresh people."""
    errors = np.random.default_rng([seed, cell.n, 1]).standard_normal((cell.n, 4))
    return float(true_cfu(deployed, coefficients(replace(cell, penalty=0.0).audit(people(errors, cell.rho)), P))[0])


def standard_errors(cell: Cell, sets: int, n_boot: int, jobs: int) -> dict[str, Any]:
    """The standard errors of some audits, and how far CFU of each moves between fresh tables."""
    ratios = []
    for seed in range(AUDITS):
        errors = np.random.default_rng([seed, cell.n]).standard_normal((cell.n, 4))
        audit = cell.audit(people(errors, cell.rho))
        P = _matrix(audit, np.eye(cell.pairs)[0] * cell.rho)
        fresh = Parallel(n_jobs=jobs, backend="multiprocessing")(
            delayed(fresh_cfu)(audit, cell, 10_000 + s, P[None]) for s in range(sets)
        )
        own = audit.estimate({("a", "x"): cell.rho}, bands=fs.Bootstrap(n_boot, check=0)).replicates
        ratios.append([np.std(f(own), ddof=1) / np.std(f(np.array(fresh)), ddof=1) for f in (np.sqrt, np.asarray)])
    root, plain = (", ".join(f"{ratio:.2f}" for ratio in column) for column in zip(*ratios, strict=True))
    return {"n": f"{cell.n:,}", "rho": cell.rho, "root of CFU": root, "CFU": plain}


# ---------------------------------------------------------------- tables


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """A table in Markdown."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


WORDS = """# How often limits hold

Coverage of limits of nominal level 95 %: the share of tables in which the truth about the deployed predictor lies
within them. "fixed P" is CFU at the true correlation, the curve's columns the worst case within budgets of that size,
at each alone; "whole curve" all of them at once, with simultaneous limits; "breaking point" the lower limit of where a
level is reached. In brackets: by what the upper limits would have to be multiplied to hold in exactly 95 % of these
tables, which is 1 for an ideal limit. "naive" is the bootstrap that fits Model A and the predictor anew.
"""

FRESH = """
Cells of one n and rho share their tables, so that they are lucky or unlucky together. Of {:,} other tables, with seeds
from {} on, and of these and the first ones together:
"""


def together(first: dict[str, Any], other: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """Coverage over the tables of a cell and other ones."""
    n_first, n_other = given.sets[0], given.fresh

    def mean(name: str) -> str:
        shares = (float(row[name].partition(" %")[0]) for row in (first, other))
        return (
            f"{sum(n * share for n, share in zip((n_first, n_other), shares, strict=True)) / (n_first + n_other):.1f} %"
        )

    return {name: mean(name) if str(value).find(" %") > 0 else value for name, value in other.items()}


ERRORS = """
## Standard errors

The standard error of CFU at the true correlation over its standard deviation between fresh tables, the deployed
predictor and Model A held, Model B fitted anew to each of 400: three audits. CFU is a square, whose standard error is
proportional to its root: an audit that finds more CFU by chance also finds a larger standard error. The root's own is
free of that.
"""


class Study:
    """Cells by name, with the seconds that each took, kept in a file if one is given."""

    def __init__(self, keep: Path | None) -> None:
        self.keep = keep
        self.cells: dict[str, dict[str, Any]] = json.loads(keep.read_text()) if keep and keep.exists() else {}

    def add(self, name: str, make: Callable[[], dict[str, Any]]) -> None:
        """A cell, made unless it is known."""
        if name in self.cells:
            return
        start = time.perf_counter()
        row = make()
        self.cells[name] = {"row": row, "seconds": time.perf_counter() - start}
        print(f"{self.cells[name]['seconds']:6.0f} s ", *row.values(), sep=" | ", flush=True)
        if self.keep:
            self.keep.write_text(json.dumps(self.cells, indent=1))

    def text(self, given: argparse.Namespace) -> str:
        """All tables in Markdown, with what was run."""
        rows = [cell["row"] for name, cell in self.cells.items() if name.startswith("Cell")]
        fresh = [cell["row"] for name, cell in self.cells.items() if name.startswith("fresh")]
        in_order = sorted(rows, key=lambda row: (int(row["n"].replace(",", "")), row["pairs"]))
        minutes = sum(cell["seconds"] for cell in self.cells.values()) / 60
        tables = zip(given.sizes, given.sets, strict=True)
        known = {row["n"] for row in rows}
        sets = ", ".join(f"{sets} of {n:,} people" for n, sets in tables if f"{n:,}" in known)
        settings = (
            f"- tables in each cell: {sets}; seeds from 0 on; {given.n_boot} replicates; the naive bootstrap on the "
            f"first {given.naive} tables with 39 replicates\n"
            f"- graph `{EDGES}` with `{PAIRS[1]}` or `{PAIRS[3]}`; degrees 1; population of {POPULATION:,} "
            "quasi-random people\n"
            f"- fairstress {fs.__version__}, numpy {np.__version__}, scipy {scipy.__version__}, Python "
            f"{platform.python_version()}, {given.jobs} cores, {minutes:.0f} minutes\n"
        )
        both = [
            together(self.cells[f"Cell{name.partition('Cell')[2]}"]["row"], cell["row"], given)
            for name, cell in self.cells.items()
            if name.startswith("fresh")
        ]
        others = f"{FRESH.format(given.fresh, given.sets[0])}\n{markdown([*fresh, *both])}\n" if fresh else ""
        errors = markdown([self.cells["errors"]["row"]])
        return f"{WORDS}\n{settings}\n{markdown(in_order)}\n{others}{ERRORS}\n{errors}\n"


def main() -> None:
    """Run every cell and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 10_000, 500], help="people in a table")
    parser.add_argument("--sets", type=int, nargs="+", default=[400, 400, 400], help="tables of each cell, by size")
    parser.add_argument("--pairs", type=int, nargs="+", default=[1, 3], choices=list(PAIRS), help="confounded pairs")
    parser.add_argument("--n-boot", type=int, default=59, help="replicates")
    parser.add_argument("--naive", type=int, default=100, help="tables on which the naive bootstrap is tried too")
    parser.add_argument(
        "--fresh", type=int, default=0, help="other tables of the first size, with rho 0 and three pairs"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, help="a file of cells: those in it are not run again, new ones join it")
    given = parser.parse_args()
    tables = dict(zip(given.sizes, given.sets, strict=True))
    study = Study(given.keep)
    study.add("errors", lambda: standard_errors(Cell(2_000, 1, 0.2, 0.0), 400, 400, given.jobs))
    for n, pairs, rho, penalty in product(given.sizes, given.pairs, (0.0, 0.2), (0.0, None)):
        cell = Cell(n, pairs, rho, penalty)
        naive = given.naive if pairs == 1 else 0
        seeds = range(tables[n])
        study.add(str(cell), lambda: row_of(cell, run(cell, seeds, given.n_boot, naive, given.jobs)))  # noqa: B023
        (HERE / "coverage.md").write_text(study.text(given))
    for n, pairs, rho, penalty in product(given.sizes[:1] if given.fresh else (), (3,), (0.0,), (None,)):
        cell, seeds = Cell(n, pairs, rho, penalty), range(tables[n], tables[n] + given.fresh)
        study.add(f"fresh {cell}", lambda: row_of(cell, run(cell, seeds, given.n_boot, 0, given.jobs)))  # noqa: B023
        (HERE / "coverage.md").write_text(study.text(given))


if __name__ == "__main__":
    main()
