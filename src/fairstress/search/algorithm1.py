"""The paper's Algorithm 1, for fidelity and for comparison.

Minibatch gradient ascent with momentum on ``P = I + p_max (J - I) o tanh(L L')``, with the exact gradient of the fit.
Use `fairstress.search.search` for anything else. From one start the ascent stays in the orthant that it starts in
and ends in a local maximum; its steps are noisy; and the tanh form keeps neither the eigenvalue floor nor even positive
definiteness, so that its solution may lie outside the budget, which the status then says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import evaluate
from fairstress.errors import SettingError, Status
from fairstress.inputs.rows import Array, sample
from fairstress.model.system import system_of_batch
from fairstress.search.members import cliques
from fairstress.search.problem import Problem, Solution
from fairstress.search.sets import CorrelationSet

BATCH = 256
STEPS = 100
RATE = 0.05  # of a step on log CFU, so that it does not depend on the outcome's units
MOMENTUM = 0.9


def algorithm1(problem: Problem, inherited: Sequence[Array], rng: np.random.Generator) -> Solution:
    """Climb from a small random L, or from the previous budget's solution (curriculum)."""
    if not problem.has_slopes:
        raise SettingError(
            "method is 'ascent', which follows a gradient, but the predictor has none: give search=Search(), or "
            "gradient='differences' if the predictor is smooth"
        )
    members = _members(problem)
    mask = _cliques(members)
    follows = bool(inherited) and bool(inherited[-1].any()) and members.p_max > 0  # from 0 no step would lead away
    L = _from_point(inherited[-1], members, mask) if follows else _small(mask, rng)
    velocity, left = np.zeros_like(L), 0
    for _ in range(STEPS if members.p_max else 0):
        slope = _slope(replace(problem, claim=_batch(problem.claim, rng)), L)
        velocity = MOMENTUM * velocity + RATE * mask * slope
        step = velocity
        while np.linalg.eigvalsh(_matrix(L + step, members))[0] <= 1e-6 and np.abs(step).max() > 1e-12:
            step, left = step / 2, left + 1
        L = L + step
    p = members.point(_matrix(L, members))
    evaluation = evaluate(problem.claim, members.matrix(p), problem.functional)
    status = Status.LEFT_SET if left else Status.LOCAL
    status = status if members.contains(p) else Status.OUTSIDE
    return Solution(p, evaluation, status, 1, 1, evaluation.value, p, met=p[None], n_ends=1)


def _matrix(L: Array, members: CorrelationSet) -> Array:
    """``I + p_max (J - I) o tanh(L L')``; pairs that are not free share no column of L and stay 0."""
    P = members.p_max * np.tanh(L @ L.T)
    return members.matrix(np.clip(members.point(P), members.low, members.high))


def _members(problem: Problem) -> CorrelationSet:
    assert isinstance(problem.members, CorrelationSet)  # whoever asks has looked at the budget
    return problem.members


def _slope(problem: Problem, L: Array) -> Array:
    """Derivative of log CFU by L: with T = p_max G o (1 - tanh^2) for G the derivative by P, ``(T + T') L``."""
    members = _members(problem)
    try:
        value, g, _ = problem.value_and_gradient(members.point(_matrix(L, members)))
    except np.linalg.LinAlgError:
        raise SettingError(
            f"method is 'ascent', which fits Model B to batches of {BATCH} people, and one of them, without a small "
            "group perhaps, has no unique fit: give a penalty above 0, or search=Search()"
        ) from None
    T = members.p_max * (members.matrix(g) - np.eye(members.size)) * (1 - np.tanh(L @ L.T) ** 2)
    return np.asarray(T @ L) / max(abs(value), 1e-300)


def _cliques(members: CorrelationSet) -> Array:
    """(m, c) which entries of L are free: per clique of the free pairs as many columns as it has members."""
    columns = []
    for clique in cliques(members.pairs, range(members.size)):
        inside = np.isin(np.arange(members.size), clique).astype(float)
        columns += [inside] * len(clique)
    return np.column_stack(columns)


def _small(mask: Array, rng: np.random.Generator) -> Array:
    """Lower triangular with 1 on the diagonal and small random values below, where entries are free."""
    start = np.tril(0.1 * rng.standard_normal(mask.shape), -1)
    rows = np.arange(mask.shape[0])
    first = [int(np.flatnonzero(mask[j])[0]) for j in rows]
    start[rows, first] += 1.0
    return start * mask


def _from_point(p: Array, members: CorrelationSet, mask: Array) -> Array:
    """An L whose P is close to a point: columns of the square root of the inverse tanh, where entries are free."""
    target = np.arctanh(np.clip(p / members.p_max, -0.99, 0.99))
    M = members.matrix(target) + (2 * np.abs(target).max() - 1) * np.eye(members.size)
    values, vectors = np.linalg.eigh(M)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    repeated = np.tile(root, (1, int(np.ceil(mask.shape[1] / root.shape[1]))))[:, : mask.shape[1]]
    return np.asarray(repeated * mask)


def _batch(claim: Claim, rng: np.random.Generator) -> Claim:
    """The claim on a random batch of people, its penalty scaled by their share."""
    everyone = claim.everyone
    size = min(BATCH, int(everyone.n))
    drawn = sample(everyone, size, rng)
    moved = drawn if claim.rows is everyone else sample(claim.rows, size, rng)
    system = system_of_batch(claim.system, claim.design, drawn, size / everyone.n)
    return replace(claim, rows=moved, everyone=drawn, system=system)
