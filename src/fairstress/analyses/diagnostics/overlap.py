"""Whether counterfactual people are like people who exist.

An equation is used at a person's counterfactual parents with the protected attribute changed. If nobody of the other
group has such parents, the value rests on the equation's form alone. A counterfactual is called far if its distance to
the third nearest row of that group is larger than for 99 % of the group's own rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import special

from fairstress.analyses.absorption import listed
from fairstress.analyses.diagnostics.finding import OVERLAP, Diagnostic
from fairstress.analyses.diagnostics.sample import effective
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import Leaves
from fairstress.model.design import Equation

MOST = 5000  # rows that are looked at
MOST_OTHERS = 50_000  # rows that they are compared with
NEAR = 3  # which neighbour's distance is taken
USUAL = 0.99  # share of a group's own rows that are no further
FEWEST = 30  # rows of a group that others are compared with


def check_overlap(fitted: Fitted, rng: np.random.Generator) -> Iterator[Diagnostic]:
    """For each equation with the protected attribute and other parents, how many are moved to where nobody is."""
    claim, rows = fitted.claim, fitted.claim.rows
    if rows.a.size > MOST:
        rows = rows.where(np.sort(rng.choice(rows.a.size, MOST, replace=False)))
    equations = [e for e in claim.design.equations if e.moves and e.uses_protected and e.parents]
    if not equations:
        return
    leaves = replace(claim, rows=rows).counterfactual_rows(claim.model_a)
    for equation in equations:
        yield from _far(fitted, equation, rows, leaves)


def _far(fitted: Fitted, equation: Equation, rows: Rows, leaves: Leaves) -> Iterator[Diagnostic]:
    """Share of people, of the group where it is largest, whose counterfactual parents nobody has."""
    moved, everyone = rows.where(leaves.owner), fitted.table.rows
    everyone = everyone.where(everyone.weight > 0)
    there = Rows(moved.a_cf, moved.a, _seen_by(equation, moved, leaves.x), moved.weight * leaves.probability, *_NOTHING)
    coding, far, n = fitted.table.protected, np.zeros(moved.a.size), everyone.a.size
    if coding.levels is None:  # the attribute is one more coordinate
        numbers = [np.column_stack([part.a, _numbers(fitted, equation, part.x)]) for part in (there, everyone)]
        far = np.maximum(_is_far(*numbers), _is_unseen(fitted, equation, there.x, everyone.x))
    for code in np.unique(there.a) if coding.levels is not None else ():
        own, group = there.a == code, everyone.x[everyone.a == code]
        if len(group) < FEWEST:
            return
        numbers = [_numbers(fitted, equation, x) for x in (there.x[own], group)]
        far[own] = np.maximum(_is_far(*numbers), _is_unseen(fitted, equation, there.x[own], group))
        n = min(n, len(group))
    groups = [(moved.a == code, str(coding.level(code))) for code in coding.codes]
    groups = [(own, level) for own, level in groups if there.weight[own].sum() > 0] or [(there.weight > 0, "")]
    shares = [float(np.average(far[own], weights=there.weight[own])) for own, _ in groups]
    share, (own, level) = max(zip(shares, groups, strict=True), key=lambda one: one[0])
    size = effective(there.weight[own], there.weight[own] ** 2)
    z = (share - (1 - USUAL)) / np.sqrt((1 - USUAL) * (1 / size + 1 / n))
    p = min(1.0, len(shares) * float(special.ndtr(-z)))
    text = _sentence(fitted, equation, level, share)
    yield Diagnostic(OVERLAP, equation.feature, level, share, p, True, sentence=text)


_NOTHING = (np.zeros(0), np.zeros(0))


def _seen_by(equation: Equation, moved: Rows, x: Array) -> Array:
    """The features that an equation sees in the other world: along fair edges as they are."""
    fair = sorted(equation.fair)
    seen = np.array(x)
    seen[:, fair] = moved.x[:, fair]
    return seen


def _numbers(fitted: Fitted, equation: Equation, x: Array) -> Array:
    """The parents that are numbers."""
    names = fitted.graph.features
    return np.asarray(x[:, [k for k in equation.parents if fitted.table.kinds[names[k]].is_number]])


def _is_unseen(fitted: Fitted, equation: Equation, x: Array, others: Array) -> Array:
    """Whether a parent has a level that nobody of the other rows has."""
    names = fitted.graph.features
    levels = [k for k in equation.parents if not fitted.table.kinds[names[k]].is_number]
    unseen = [np.zeros(len(x), dtype=bool), *(~np.isin(x[:, k], others[:, k]) for k in levels)]
    return np.asarray(np.any(unseen, axis=0), dtype=float)


def _is_far(points: Array, others: Array) -> Array:
    """Whether the third nearest of other rows is further than it is for 99 % of these."""
    from scipy import spatial  # takes long to import, and only diagnostics need it

    others = np.unique(others[:: len(others) // MOST_OTHERS + 1], axis=0)
    k = min(NEAR, len(others) - 1)
    if k < 1:  # no numbers, or all alike
        return np.zeros(len(points)) if not points.shape[1] else (points != others[0]).any(axis=1).astype(float)
    tree = spatial.cKDTree(others)
    some = others if len(others) <= MOST else others[:: len(others) // MOST]
    usual = np.quantile(np.asarray(tree.query(some, k=[k + 1])[0]), USUAL)
    return np.asarray(np.asarray(tree.query(points, k=[k])[0])[:, 0] > usual * (1 + 1e-9), dtype=float)


def _sentence(fitted: Fitted, equation: Equation, level: str, share: float) -> str:
    name, coding, names = equation.feature, fitted.table.protected, fitted.graph.features
    parents = listed([names[k] for k in equation.parents])
    whom = f"people whose '{coding.name}' is {level}" if level else "people"
    there = "in the other group" if coding.is_binary else f"with the '{coding.name}' that they are moved to"
    moving = [names[k] for k in equation.parents if names[k] in fitted.graph.reached]
    kinds = f"try another kind of {listed(moving)}, or " if moving else ""
    return (
        f"For {100 * share:.0f} % of {whom}, nobody {there} is like their counterfactual in {parents}, so that their "
        f"counterfactual '{name}' rests on the form of its equation alone: {kinds}audit people whom both groups have, "
        "audit.refit(keep=...)."
    )
