"""How well the protected attribute can be told from what Model A calls errors: not at all, if the model is right.

Errors that are seen in intervals are drawn within them, and numbers that are rounded within their rounding (randomised
quantile residuals): otherwise the pattern of levels and ties would tell the attribute even of a right model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from fairstress.analyses.diagnostics.sample import draw, people_of
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.latent import Layout, Part, error, seen
from fairstress.process import importing

MOST = 10_000  # people that a classifier learns from
FOLDS = 3
MUCH = 0.55  # an AUC from which on it is looked at where it comes from
LEAVES, BINS = 8, 64  # of a tree, and of values that it tells apart
TIES = 10  # rows for each distinct value, from which on a number counts as rounded


@dataclass(frozen=True, slots=True)
class Leakage:
    """How well the protected attribute is told from Model A's randomised residuals. Made by `Audit.leakage`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 2000, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> 0.45 < audit.leakage().auc < 0.55
    True
    """

    auc: float  # cross-validated; 0.5: not at all, 1: without error. Of several levels the mean of one against the rest
    people: int  # that the classifier learnt from
    by_feature: dict[str, float] = field(default_factory=dict, hash=False)  # from one feature's errors alone

    def __str__(self) -> str:
        return (
            f"A classifier tells the protected attribute from the model's errors with an AUC of {self.auc:.2f} "
            f"(0.5: not at all; 1: without error; cross-validated on {self.people:,} people).{self._where()}"
        )

    def _where(self) -> str:
        """Which feature's errors tell most, where any tell much."""
        if not self.by_feature:
            return ""
        name = max(self.by_feature, key=lambda own: self.by_feature[own])
        alone = self.by_feature[name]
        if alone <= MUCH:
            return " The errors of no single feature do so: it is how they go together."
        return (
            f" The errors of '{name}' alone tell it with {alone:.2f}: look at that feature first. Another scale, "
            "ordered levels where many people share a value, ' by group', a higher degree or another edge may help."
        )


def leakage(fitted: Fitted, random_state: int | None = None) -> Leakage | None:
    """Cross-validate a boosted classifier on randomised residuals; None for a numeric attribute or without any."""
    table, rng = fitted.table, np.random.default_rng(random_state or 0)
    if table.protected.levels is None:
        return None
    everyone = people_of(table)
    some = everyone if everyone.size <= MOST else np.sort(rng.choice(everyone, MOST, replace=False))
    E = randomised_residuals(fitted, some, rng)
    if E.shape[1] == 0:
        return None
    a, weight = table.rows.a[table.row_of[some]], table.weight[some]
    seed = int(rng.integers(2**31))
    auc = _cross_validated(E, a, weight, seed)
    names = [part.equation.feature for part in _descending(fitted)]
    alone = {name: _cross_validated(E[:, [j]], a, weight, seed) for j, name in enumerate(names)} if auc > MUCH else {}
    return Leakage(auc, int(some.size), alone)


def _descending(fitted: Fitted) -> list[Part]:
    """The features that descend from the protected attribute."""
    return [part for part in Layout.of(fitted.claim.design).features if part.equation.descends]


def randomised_residuals(fitted: Fitted, people: IntArray, rng: np.random.Generator) -> Array:
    """(people, features that descend from A) errors under Model A, drawn where only intervals are known."""
    claim, table = fitted.claim, fitted.table
    rows = table.rows.where(table.row_of[people])
    columns = []
    for part in _descending(fitted):
        phi = part.equation.values(rows.a, rows.x)
        x = _unrounded(seen(part, rows), rng, part)
        known = error(part, claim.model_a, rows.a, seen(part, rows), phi)
        exact = error(part, claim.model_a, rows.a, x, phi).upper
        columns.append(np.where(known.is_interval, draw(known.lower, known.upper, rng), exact))
    return np.column_stack(columns) if columns else np.zeros((people.size, 0))


def _unrounded(x: Array, rng: np.random.Generator, part: Part) -> Array:
    """Spread the values of a number that many share over the room between their neighbours."""
    law = part.equation.law
    if law.is_ordered:
        return x
    free = np.ones(x.size, dtype=bool) if law.atom is None else x > law.atom
    known = np.unique(x[free])
    if known.size < 2 or free.sum() < TIES * known.size:
        return x
    middle = (known[1:] + known[:-1]) / 2
    edges = np.concatenate([[known[0]], middle, [known[-1]]])
    place = np.searchsorted(known, x[free])
    moved = np.array(x)
    moved[free] = edges[place] + rng.uniform(size=place.size) * (edges[place + 1] - edges[place])
    return moved


def _cross_validated(E: Array, a: Array, weight: Array, seed: int) -> float:
    """AUC of a boosted classifier on folds that it has not seen."""
    with importing():
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import roc_auc_score
        from sklearn.model_selection import StratifiedKFold

    levels = np.unique(a)
    scores = np.zeros((a.size, levels.size))
    folds = min(FOLDS, int(np.min([(a == level).sum() for level in levels])))
    if folds < 2:
        return float("nan")
    options = {"max_iter": 40, "max_leaf_nodes": LEAVES, "max_bins": BINS, "early_stopping": False}
    alike = bool((weight == weight[0]).all())  # then trees are much faster without weights
    with threadpool_limits(1, user_api="openmp"):  # on so few people threads mostly wait for each other
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(E, a):
            model = HistGradientBoostingClassifier(random_state=seed, **options)
            model.fit(E[train], a[train], sample_weight=None if alike else weight[train])
            scores[test] = model.predict_proba(E[test])
    each = [float(roc_auc_score(a == level, scores[:, i], sample_weight=weight)) for i, level in enumerate(levels)]
    return float(np.mean(each))
