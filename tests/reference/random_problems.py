"""Random problems for two programs, graphs, kinds, penalties, weights and correlations, and how far they are apart."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import slow

import fairstress as fs
from fairstress.analyses.bands.replicates import Replicator
from fairstress.functionals.cfu import CFU

# what each family of problems allows its features to be, and the attribute
KINDS = {
    "numbers": ("number",),
    "attribute behind a threshold": ("number",),
    "attribute a number": ("number",),
    "paths called fair": ("number",),
    "ordered": ("number", "ordered"),
    "by group": ("number", "by group"),
    "atoms": ("number", "atom"),
    "every kind": ("number", "ordered", "by group", "atom"),
}
REPLICATES = 2  # that are compared, of those that a band needs
WORDS = {"number": "number", "by group": "number by group", "atom": "zero or number", "ordered": "ordered"}


@dataclass(frozen=True)
class Case:
    """One problem as both programs take it."""

    frame: pd.DataFrame
    graph: fs.CausalGraph
    options: dict[str, Any]
    problem: slow.Problem
    P: np.ndarray
    pairs: list[tuple[int, int]]

    def audit(self) -> fs.Audit:
        """The audit that fairstress makes of it."""
        return fs.Audit.fit(self.frame, self.graph, **self.options, random_state=0)


def random_case(family: str, seed: int) -> Case:
    """Draw a problem; every choice but the family is random."""
    rng = np.random.default_rng([list(KINDS).index(family), seed])
    m, n = int(rng.integers(1, 4)) if len(KINDS[family]) == 1 else 2, int(rng.integers(30, 45))
    numeric, behind = family == "attribute a number", family == "attribute behind a threshold"
    features = _features(rng, family, m)
    few = sum(v.kind in ("ordered", "atom") for v in features) < 2  # three tied intervals are too slow here
    confounded = behind or numeric or (family == "every kind" and few)
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.3 else np.ones(n)
    columns = _columns(rng, features, n, numeric)
    own = (slow.Variable(slow.A, kind="number" if numeric else "ordered"),) if confounded else ()
    variables = (*own, *features)
    pairs = _pairs(rng, variables)
    P = _correlation(rng, len(variables), pairs)
    penalty = float(rng.choice([0.0, 0.5, 5.0]))
    degree = int(rng.integers(1, 3))
    problem = slow.Problem(variables, _coded(columns, features, weight, numeric), columns["y"], weight, penalty, degree)
    graph = fs.CausalGraph(
        edges=[(p, v.name) for v in features for p in v.parents],
        pairs=[(variables[j].name, variables[k].name) for j, k in pairs],
        fair_edges=[(p, v.name) for v in features for p in v.fair],
        nodes=[slow.A, *(v.name for v in features)],
        protected=slow.A,
        outcome="y",
    )
    options = {
        "degrees": {v.name: v.degree for v in features},
        "kinds": {v.name: WORDS[v.kind] for v in features},
        "penalty": penalty,
        "predictor_degree": degree,
        "predictor_penalty": 1.0,
        "sample_weight": weight,
    }
    return Case(pd.DataFrame(columns), graph, options, problem, P, pairs)


def _features(rng: np.random.Generator, family: str, m: int) -> tuple[slow.Variable, ...]:
    """Features with random parents, the first caused by the attribute; only numbers do without it as a parent."""
    made: list[slow.Variable] = []
    for j in range(m):
        kind = str(rng.choice(KINDS[family]))
        above = [v.name for v in made if rng.random() < 0.7]
        by_a = j == 0 or kind != "number" or rng.random() < 0.7
        parents = (*([slow.A] if by_a else []), *above)
        fair = frozenset(p for p in parents if rng.random() < 0.3) if family == "paths called fair" else frozenset()
        made.append(slow.Variable(f"x{j}", parents, kind, int(rng.integers(1, 3)), fair))
    return tuple(made)


def _columns(rng: np.random.Generator, features: tuple[slow.Variable, ...], n: int, numeric: bool) -> dict[str, Any]:
    """Data that depend on each other and on the attribute, from no model of ours."""
    common = rng.normal(size=n)
    a = rng.normal(size=n) + 0.4 * common if numeric else np.where(rng.random(n) < 0.4, "f", "m")
    shift = a if numeric else np.where(a == "f", -0.7, 0.5)
    columns: dict[str, Any] = {slow.A: a}
    for j, v in enumerate(features):
        x = shift * (1 - 0.3 * j) + 0.6 * common + rng.normal(size=n) + 0.3 * np.sin(common * j)
        if v.kind == "ordered":
            x = np.digitize(x, np.quantile(x, [0.4, 0.75] if rng.random() < 0.5 else [0.55])).astype(int)
        elif v.kind == "atom":
            x = np.maximum(x - np.quantile(x, 0.3), 0.0)
        columns[v.name] = x
    columns["y"] = sum(columns[v.name] for v in features) + shift + rng.normal(size=n)
    return columns


def _coded(columns: dict[str, Any], features: tuple[slow.Variable, ...], weight: np.ndarray, numeric: bool) -> dict:
    a = columns[slow.A]
    data = {slow.A: slow.standardised(a, weight) if numeric else np.where(a == "m", 1.0, -1.0)}
    for v in features:
        x = np.asarray(columns[v.name], dtype=float)
        if v.kind == "ordered" and np.unique(x).size == 2:
            data[v.name] = np.where(x == x.max(), 1.0, -1.0)
        else:
            data[v.name] = (slow.with_atom if v.kind == "atom" else slow.standardised)(x, weight)
    return data


def _pairs(rng: np.random.Generator, variables: tuple[slow.Variable, ...]) -> list[tuple[int, int]]:
    """Some pairs, among them one of the attribute where it has an equation."""
    every = list(itertools.combinations(range(len(variables)), 2))
    chosen = [pair for pair in every if rng.random() < 0.7]
    if variables[0].name == slow.A and not any(pair[0] == 0 for pair in chosen):
        chosen = [(0, 1), *chosen]
    return chosen


def _correlation(rng: np.random.Generator, m: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Correlations of at most 0.6, made smaller until no eigenvalue lies below 0.15."""
    p = rng.uniform(-0.6, 0.6, len(pairs))
    while np.linalg.eigvalsh(slow.with_pairs(m, pairs, p))[0] < 0.15:
        p *= 0.9
    return slow.with_pairs(m, pairs, p)


# ---------------------------------------------------------------- both programs


@dataclass(frozen=True)
class Differences:
    """How far the two programs are apart: likelihoods per person, CFU and its slopes relative to the larger value.

    Values of CFU below a hundred-thousandth of the outcome's variance count as that much.
    """

    cfu: float  # the slow program's
    likelihood: float
    value: float
    gradient: float
    replicate: float


def differences(case: Case, *, gradient: bool = False, replicate: bool = False) -> Differences:
    """Ask both programs the same questions."""
    audit, claim = case.audit(), slow.make_claim(case.problem)
    assert audit.variables == tuple(v.name for v in case.problem.variables)
    n, least = case.problem.weight.sum(), 1e-5 * float(np.var(case.problem.y))
    model_b = slow.fit(case.problem, case.P)
    theirs = [audit.model_a.log_likelihood, audit.model_b(case.P).log_likelihood]
    likelihood = max(abs(x - y.log_likelihood) for x, y in zip(theirs, (claim.model_a, model_b), strict=True)) / n
    each = slow.cfu_by_row(claim, model_b)
    value = float(case.problem.weight @ each / n)
    apart = abs(audit.cfu(case.P) - value) / max(value, least)
    slope = again = 0.0
    if gradient and case.pairs:
        ours = slow.gradient(claim, case.P, case.pairs)
        slope = float(np.abs(audit.gradient(case.P).to_numpy() - ours).max() / max(np.abs(ours).max(), least))
    if replicate:
        drawn = np.random.default_rng(0).exponential(size=(case.problem.y.size, 39)) * case.problem.weight[:, None]
        own = [slow.replicate(claim, case.P, weight) for weight in drawn.T[:REPLICATES]]
        again = float(np.abs(_replicates(audit, case.P, drawn) - own).max() / max(*own, least))
    return Differences(value, likelihood, apart, slope, again)


def _replicates(audit: fs.Audit, P: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """CFU under the first few of some weights of people, as limits take it."""
    options = fs.Bootstrap(n_boot=weights.shape[1], replicate_weights=fs.ReplicateWeights(weights))
    found = Replicator(audit.fitted, options, 0).values(CFU(), P[None], among=range(REPLICATES))
    return np.squeeze(found.values, axis=1)
