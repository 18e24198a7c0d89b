"""Whether a sturdier predictor keeps its promise out of sample, on simulated data with a confounded attribute.

Each data set has other weights and another true correlation within the budget. Model A and all predictors are fitted to
one half of the people. The other half is held out: their worst-case CFU is what an auditor finds who has only them, with
Model B fitted anew to them at every P. The true CFU uses the simulation's own counterfactuals.

"At equal accuracy" is meant in three ways.

1. The fair predictor itself: of the weights whose held-out R2 is at most EQUAL below the fair predictor's, the largest.
2. The cheap way to a lower CFU is to draw the fair predictor towards its mean, ``mean + c (f - mean)``, which multiplies
   its CFU by c^2. For each weight, c is such that both have the same R2 on the people they were fitted to; nothing is
   chosen by the held-out people, whose R2 must then be the same up to EQUAL on average.
3. The same with c chosen on the held-out people themselves, the least with the sturdier predictor's R2 there: a rival
   that knows the answer. Where R2 hardly changes with c, it gains from that alone.

Exits with 1 unless the sturdier predictor's worst case is lower by more than two standard errors in the first two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

import fairstress as fs
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import residuals
from fairstress.model.threshold import make_system
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.robust import SturdyPredictor

GRAPH = fs.CausalGraph.parse("a -> w, x, z; w -> x; x -> z; a <-> x; a <-> z", protected="a", outcome="y")
P_MAX = 0.3
WEIGHTS = (0.03, 0.1, 0.3, 1.0, 3.0)
EQUAL = 0.001  # of R2


@dataclass(frozen=True, slots=True)
class HeldOut:
    """People whom no fit has seen, coded and scaled as those whom it has."""

    audit: fs.Audit
    claim: Claim  # Model A and the predictor as they are; Model B is fitted to these people
    y: Array
    other: Rows  # the same people with the attribute changed, in truth

    @classmethod
    def of(cls, audit: fs.Audit, frame: pd.DataFrame, counterfactuals: pd.DataFrame) -> HeldOut:
        y = frame["y"].to_numpy() - audit.table.origin
        rows, other = (_rows(audit, part, y) for part in (frame, counterfactuals))
        settings = audit.settings
        system = make_system(
            audit.claim.design,
            rows,
            settings.penalty,
            penalise_constant=settings.penalise_constant,
            is_binary=True,
        )
        return cls(audit, replace(audit.claim, rows=rows, system=system), y, other)

    def measure(self, point: SturdyPredictor) -> dict[str, float]:
        """R2 and CFU, at worst and in truth, on these people."""
        claim = replace(self.claim, predictor=point.predictor)
        f, f_other = (self._predictions(claim, rows) for rows in (claim.rows, self.other))
        audit = replace(self.audit, claim=claim)
        return {
            "r2": self._r2(f),
            "worst": audit.worst_case(P_MAX).value,
            "true": float(((f_other - f) ** 2).mean()),
        }

    def shrunk(self, fair: SturdyPredictor, c: float) -> float:
        """R2 of the fair predictor drawn towards its mean; the training outcome has mean 0."""
        return self._r2(c * self._predictions(replace(self.claim, predictor=fair.predictor), self.claim.rows))

    def shrinkage(self, fair: SturdyPredictor, r2: float) -> float:
        """The least c in [0, 1] with which the fair predictor has this R2, or the one with its best."""
        f = self._predictions(replace(self.claim, predictor=fair.predictor), self.claim.rows)
        target = (1 - r2) * ((self.y - self.y.mean()) ** 2).sum()
        a, b, c = f @ f, -2 * self.y @ f, self.y @ self.y - target
        return float(np.clip((-b - np.sqrt(max(b**2 - 4 * a * c, 0.0))) / (2 * a), 0, 1))

    def _r2(self, f: Array) -> float:
        return 1 - float(((self.y - f) ** 2).sum() / ((self.y - self.y.mean()) ** 2).sum())

    def _predictions(self, claim: Claim, rows: Rows) -> Array:
        return claim.predict(rows, residuals(claim.design, claim.model_a.weights, rows))


def _rows(audit: fs.Audit, frame: pd.DataFrame, y: Array) -> Rows:
    a = frame["a"].to_numpy(dtype=float)
    x = audit.table.scaling.apply(frame[list(GRAPH.features)].to_numpy())
    return Rows(a, -a, np.asfortranarray(x), np.ones(a.size), y, y**2)


def experiment(seed: int, n: int, weights: Sequence[float]) -> pd.DataFrame:
    """One data set: a row per weight, the fair predictor first; ``c`` and ``c_known`` are its rivals' shrinkage."""
    rng = np.random.default_rng(seed)
    truth = {pair: rng.uniform(-P_MAX, P_MAX) for pair in GRAPH.pairs}
    drawn = fs.datasets.simulate(GRAPH, 2 * n, correlation=truth, random_state=rng)
    audit = fs.Audit.fit(drawn.frame[:n], GRAPH, max_degree=2, random_state=0)
    held_out = HeldOut.of(audit, drawn.frame[n:], drawn.counterfactuals[n:])
    points = audit.frontier(P_MAX, weights).points
    rows = []
    for point in points:
        own, c = held_out.measure(point), point.shrinkage if point.weight else 1.0
        known = held_out.shrinkage(points[0], own["r2"])
        r2_shrunk = held_out.shrunk(points[0], c)
        rows.append(
            {
                "seed": seed,
                "weight": point.weight,
                **own,
                "r2_shrunk": r2_shrunk,
                "c": c,
                "c_known": known,
                "gap": point.gap,
            }
        )
    return pd.DataFrame(rows)


def gain(before: pd.Series, after: pd.Series) -> str:
    """Mean decrease, and how many standard errors that is."""
    change = before.to_numpy() - after.to_numpy()
    return f"{change.mean():.4f} ({change.mean() / (change.std(ddof=1) / np.sqrt(change.size)):.1f} s.e.)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--people", type=int, default=1000, help="in each half")
    given = parser.parse_args()
    found = pd.concat([experiment(seed, given.people, WEIGHTS) for seed in range(given.sets)], ignore_index=True)
    found.to_csv("/tmp/h8/raw.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
