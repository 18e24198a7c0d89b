"""The people on whom Model A's errors are looked at, what is known of their errors, and tests that are sums over them.

Whole weights from 1 on are counts: weight 2 is a person twice. Other weights are those of a survey, and a test has as
many people as would tell as much with equal weights. People who belong together (``cluster=``) are one in the variance
of a test, and of several completed tables each person is looked at in one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from fairstress.analyses.diagnostics.scores import Scores, scores_of
from fairstress.claim.build import Fitted
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.design import Equation
from fairstress.model.fit import Fit
from fairstress.model.latent import Layout, Part, error, seen

MOST = 50_000  # people whose errors are looked at
SMALLEST = 1e-9  # share of a column's length that is left of it where others determine it


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """What Model A knows of one feature's error, person by person."""

    equation: Equation
    drawn: Array  # (n,) standardised; drawn within the interval where only that is known
    expected: Array  # (n,) standardised; the mean within the interval
    phi: Array  # (n, d) the equation's columns
    scores: Scores | None  # of what was fitted, where intervals are seen; None for a number that is seen for everyone


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """People, one row each, with what Model A makes of them."""

    rows: Rows
    weight: Array  # (n,) of each person
    square: Array  # (n,) of each person in a variance
    cluster: IntArray | None  # (n,) people who belong together
    errors: dict[str, Errors]  # by feature

    @property
    def size(self) -> float:
        """How many people of equal weight would tell as much."""
        return effective(self.weight, self.square)

    def residualised(self, Z: Array, B: Array) -> Array:
        """What is left of columns after their regression on others; columns that these determine are left out."""
        root = np.sqrt(self.weight)[:, None]
        coefficients = np.linalg.lstsq(root * B, root * Z, rcond=None)[0]
        left = Z - B @ coefficients
        length, before = (np.sqrt(self.weight @ part**2) for part in (left, Z))
        return left[:, length > SMALLEST * np.maximum(before, 1e-300)]

    def test(self, S: Array) -> tuple[float, int]:
        """``(sum S)' V^-1 (sum S)`` of scores (n, q) whose mean is 0 under the model, and its degrees of freedom.

        V holds whatever the errors' variance is, by person or by cluster.
        """
        total = self.weight @ S
        if self.cluster is None:
            V = (S * self.square[:, None]).T @ S
        else:
            groups = np.zeros((int(self.cluster.max()) + 1, S.shape[1]))
            np.add.at(groups, self.cluster, S * self.weight[:, None])
            V = groups.T @ groups
        scale = np.sqrt(np.maximum(np.diag(V), 1e-300))
        values, vectors = np.linalg.eigh(V / np.outer(scale, scale))
        kept = values > 1e-8 * values.max(initial=0.0)
        along = (total / scale) @ vectors[:, kept]
        return float(along**2 @ (1 / values[kept])), int(kept.sum())

    def added(self, feature: str, Z: Array, beside: Array | None = None) -> tuple[float, int]:
        """Whether columns Z would add to a feature's equation, beside others: a score test, whatever the variances."""
        own = self.errors[feature]
        B = own.phi if beside is None else np.hstack([own.phi, beside])
        Z = self.residualised(Z, B)
        if own.scores is None:
            return self.test(self.residualised(own.expected[:, None], B) * Z)
        return self.test(own.scores.net(own.expected, Z, self.weight))

    def explained(self, feature: str, Z: Array, beside: Array | None = None) -> float:
        """The share of a feature's errors' variance, of expected errors where they are not seen, that Z explains."""
        own = self.errors[feature]
        B = own.phi if beside is None else np.hstack([own.phi, beside])
        return self.share(self.residualised(own.expected[:, None], B)[:, 0], self.residualised(Z, B))

    def share(self, values: Array, Z: Array) -> float:
        """The share of some values' squares that columns explain."""
        root = np.sqrt(self.weight)[:, None]
        fitted = Z @ np.linalg.lstsq(root * Z, root[:, 0] * values, rcond=None)[0]
        return float(self.weight @ fitted**2 / max(float(self.weight @ values**2), 1e-300))


def effective(weight: Array, square: Array) -> float:
    """The number of people of equal weight whose mean is known as well."""
    total = float(weight.sum())
    return total**2 / max(float(square.sum()), 1e-300) if total > 0 else 0.0


def p_value(statistic: float, freedom: int) -> float:
    """How probable a larger statistic is if the model is right."""
    return float(special.chdtrc(freedom, statistic)) if freedom else 1.0


def holm(p: Array) -> Array:
    """p-values that are at most 5 % for any of them with a probability of 5 %, by Holm."""
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


# ---------------------------------------------------------------- making it


def take_sample(fitted: Fitted, rng: np.random.Generator, most: int = MOST) -> Sample:
    """Take people, each once, and work out what Model A knows of their errors."""
    table = fitted.table
    people = people_of(table)
    if people.size > most:
        people = np.sort(rng.choice(people, most, replace=False))
    weight = table.weight[people]
    if table.table_of is not None:
        weight = weight * (int(table.table_of.max()) + 1)
    rows = table.rows.where(table.row_of[people])
    square = weight if counts(weight) else weight**2
    parts = Layout.of(fitted.claim.design).features
    errors = {part.equation.feature: _errors(part, fitted.claim.model_a, rows, weight, rng) for part in parts}
    return Sample(rows, weight, square, _clusters(table, people), errors)


def people_of(table: Table) -> IntArray:
    """Rows of the table with weight; of several completed tables each person in one, in turn."""
    counted = table.weight > 0
    if table.table_of is not None:
        tables = int(table.table_of.max()) + 1
        person = np.arange(table.weight.size) % (table.weight.size // tables)
        counted &= table.table_of == person % tables
    return np.flatnonzero(counted)


def counts(weight: Array) -> bool:
    """Whether weights are numbers of people: whole, from 1 on."""
    return bool((weight % 1 == 0).all() and weight.min(initial=1.0) == 1)


def _clusters(table: Table, people: IntArray) -> IntArray | None:
    if table.cluster is None:
        return None
    _, cluster = np.unique(np.asarray(table.cluster)[people].astype(str), return_inverse=True)
    return cluster.astype(np.intp)


def _errors(part: Part, fit: Fit, rows: Rows, weight: Array, rng: np.random.Generator) -> Errors:
    phi, law = part.equation.values(rows.a, rows.x), part.equation.law
    known = error(part, fit, rows.a, seen(part, rows), phi)
    drawn = np.where(known.is_interval, draw(known.lower, known.upper, rng), known.upper)
    in_intervals = law.is_ordered or law.atom is not None
    scores = scores_of(part, fit, rows, phi, weight) if in_intervals else None
    return Errors(part.equation, drawn, known.expected(), phi, scores)


def draw(lower: Array, upper: Array, rng: np.random.Generator) -> Array:
    """A standard normal draw within each interval (a randomised quantile residual)."""
    turned = lower > -upper
    low, high = np.where(turned, -upper, lower), np.where(turned, -lower, upper)
    p = special.ndtr(low) + rng.uniform(size=low.size) * (special.ndtr(high) - special.ndtr(low))
    e = special.ndtri(np.clip(p, 1e-300, 1 - 1e-16))
    return np.asarray(np.where(turned, -e, e))
