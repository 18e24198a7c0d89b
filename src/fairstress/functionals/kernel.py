"""One pass over people for the sum of their changes, and back for its derivative, compiled by numba.

What `fairstress.model.counterfactual` does with arrays of all rows of a block, here for a few rows at a time, whose
numbers stay in a core's own cache. Importing this takes numba, and time. Loops over rows stand in functions of a few
arrays, because to hand on a whole record takes as long as such a loop.

A product is an earlier node times a source, ``n = e s``. With d for what things change by from the factual to the
counterfactual world, ``d n = e' d s + s d e``, in which no digits are lost where changes are small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairstress.bench import ROWS, aligned, fast, fast_sum, put
from fairstress.functionals.program import TOGETHER, Abduction, Program
from fairstress.functionals.sources import FEATURES, NOWHERE
from fairstress.inputs.rows import Array, IntArray

WEIGHT, PREDICTED, CHANGE, SCORE, SLOPE, X_BAR, G, BY = range(8)  # rows of `Bench.row`


class People(NamedTuple):
    """A block of people, each variable's values side by side."""

    a: Array  # (2, r) in both worlds
    x: Array  # (m, r)
    eps: Array  # (m, r) Model A's residuals
    x_cf: Array  # (m, r) features with A changed under Model A; not looked at where none are known
    predicted: Array  # (1, r) not looked at but through a logistic function
    weight: Array  # (1, r)


class Bench(NamedTuple):
    """Numbers of the rows that are worked on."""

    z: Array  # (sources, rows) in the factual world
    there: Array  # (nodes, rows) in the counterfactual world
    d: Array  # (nodes, rows) what they change by
    bar: Array  # (sources, rows) derivatives of the sum by what is there
    row: Array  # (8, rows) what there is one of


@fast
def values(program: Program, people: People, is_squared: bool, w_A: Array, W: Array) -> Array:
    """(g,) what people's changes add up to for each of the weights W (g, D + d) of Model B and predictor."""
    bench, total = _bench(program), np.zeros(len(W))
    own, false = program.factor * W[:, program.place], program.factor * (W - w_A)[:, program.place]
    for first in range(0, people.a.shape[1], ROWS):
        _stand(program, people, first, bench)
        for g in range(len(W)):
            _walk(program, own[g], false[g], bench)
            total[g] += _predict(program, own[g], is_squared, bench)
    return total


@fast
def value_and_slope(program: Program, people: People, is_squared: bool, w_A: Array, w_B: Array) -> tuple[float, Array]:
    """The sum for one Model B, and its derivative by its weights, among all (D + d,)."""
    bench, total, c_w = _bench(program), 0.0, np.zeros_like(w_B)
    own, false = program.factor * w_B[program.place], program.factor * (w_B - w_A)[program.place]
    under_A = program.factor * w_A[program.place]
    for first in range(0, people.a.shape[1], ROWS):
        _stand(program, people, first, bench)
        _walk(program, own, false, bench)
        total += _predict(program, own, is_squared, bench)
        _walk_back(program, own, under_A, bench, c_w)
    return total, c_w


@fast
def residuals(abduction: Abduction, people: People, w_A: Array) -> Array:
    """(m, r) Model A's residuals, of those features that are wanted; of the others themselves."""
    before, left, right, starts = abduction.before, abduction.left, abduction.right, abduction.starts
    z, row, eps = aligned(before.size + left.size), aligned(1), people.x.copy()
    own = abduction.factor * w_A[abduction.place]
    z[0] = 1.0
    for first in range(0, eps.shape[1], ROWS):
        for s in range(1, before.size):
            _fill_known(people, before[s], first, abduction.level[s], z, s)
        for i in range(left.size):
            _multiply(z, before.size + i, left[i], right[i])
        for j in range(abduction.column.size):
            _combine(abduction.node, own, starts[j], starts[j + 1], z, row, 0)
            _subtract(eps, abduction.column[j], first, row)
    return eps


@fast
def _bench(program: Program) -> Bench:
    sources, nodes = program.before.size, program.before.size + program.left.size
    z, bar = aligned(sources), aligned(sources)
    there, d, row = aligned(nodes), aligned(nodes), aligned(8)
    z[0] = there[0] = 1.0
    return Bench(z, there, d, bar, row)


# ---------------------------------------------------------------- a row of each of some nodes


@fast
def _fill(given: Array, k: int, first: int, level: float, v: Array, n: int) -> None:
    """Take some people's values, or whether these are a level."""
    put(given[k, first : first + ROWS], v, n)
    if not np.isnan(level):
        for r in range(ROWS):
            v[n, r] = 1.0 if v[n, r] == level else 0.0


@fast
def _subtract(given: Array, k: int, first: int, row: Array) -> None:
    """Take something away from some people's values."""
    own = given[k, first : first + ROWS]
    for r in range(own.size):
        own[r] -= row[0, r]


@fast
def _multiply(there: Array, n: int, e: int, s: int) -> None:
    for r in range(ROWS):
        there[n, r] = there[e, r] * there[s, r]


@fast
def _multiply_changes(there: Array, d: Array, z: Array, n: int, e: int, s: int) -> None:
    for r in range(ROWS):
        d[n, r] = there[e, r] * d[s, r] + d[e, r] * z[s, r]


@fast
def _leave(z: Array, there: Array, d: Array, n: int) -> None:
    for r in range(ROWS):
        d[n, r] = there[n, r] - z[n, r]


@fast
def _arrive(z: Array, d: Array, there: Array, n: int) -> None:
    for r in range(ROWS):
        there[n, r] = z[n, r] + d[n, r]


@fast
def _add_product(row: Array, i: int, j: int, factor: float, bar: Array, n: int) -> None:
    for r in range(ROWS):
        bar[n, r] += factor * row[i, r] * row[j, r]


@fast
def _combine(node: IntArray, c: Array, start: int, end: int, v: Array, total: Array, n: int) -> None:
    """Add up the nodes of a sum with coefficients, several at once."""
    for r in range(ROWS):
        total[n, r] = 0.0
    for i in range(start, end, TOGETHER):
        n0, n1, n2, n3 = node[i], node[i + 1], node[i + 2], node[i + 3]
        c0, c1, c2, c3 = c[i], c[i + 1], c[i + 2], c[i + 3]
        for r in range(ROWS):
            total[n, r] += (c0 * v[n0, r] + c1 * v[n1, r]) + (c2 * v[n2, r] + c3 * v[n3, r])


@fast_sum
def _weigh(node: IntArray, i: int, v: Array, row: Array, n: int, total: Array, place: IntArray) -> None:
    """Add up several nodes over people by a row of weights."""
    n0, n1, n2, n3 = node[i], node[i + 1], node[i + 2], node[i + 3]
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for r in range(ROWS):
        t0 += v[n0, r] * row[n, r]
        t1 += v[n1, r] * row[n, r]
        t2 += v[n2, r] * row[n, r]
        t3 += v[n3, r] * row[n, r]
    total[place[i]] += t0
    total[place[i + 1]] += t1
    total[place[i + 2]] += t2
    total[place[i + 3]] += t3


@fast_sum
def _size(row: Array, is_squared: bool) -> float:
    """The changes of predictions, squared or not, by weight."""
    total = 0.0
    for r in range(ROWS):
        total += row[WEIGHT, r] * (row[CHANGE, r] * row[CHANGE, r] if is_squared else abs(row[CHANGE, r]))
    return total


# ---------------------------------------------------------------- forwards


@fast
def _stand(program: Program, people: People, first: int, bench: Bench) -> None:
    """Put people on the bench, with all that is the same for every Model B."""
    z, there, d, before, after = bench.z, bench.there, bench.d, program.before, program.after
    _fill(people.weight, 0, first, np.nan, bench.row, WEIGHT)
    if program.is_logistic:
        _fill(people.predicted, 0, first, np.nan, bench.row, PREDICTED)
    for s in range(1, before.size):
        _fill_known(people, before[s], first, program.level[s], z, s)
        if after[s] != NOWHERE:
            _fill_known(people, after[s], first, program.level[s], there, s)
            _leave(z, there, d, s)
    _make_products(program, 0, bench)


@fast
def _fill_known(people: People, row: int, first: int, level: float, v: Array, n: int) -> None:
    """Take one row of what is known of people."""
    m, k = people.x.shape[0], row - FEATURES
    if k < 0:
        _fill(people.a, row, first, level, v, n)
    elif k < m:
        _fill(people.x, k, first, level, v, n)
    elif k < 2 * m:
        _fill(people.eps, k - m, first, level, v, n)
    else:
        _fill(people.x_cf, k - 2 * m, first, level, v, n)


@fast
def _make_products(program: Program, j: int, bench: Bench) -> None:
    """Make what is known after j equations of the walk."""
    z, there, d, left, right = bench.z, bench.there, bench.d, program.left, program.right
    changes, looked_at, sources = program.changes, program.looked_at, program.before.size
    for i in range(program.opens[j], program.opens[j + 1]):
        if changes[i]:
            _multiply_changes(there, d, z, sources + i, left[i], right[i])
        if looked_at[i]:
            _multiply(there, sources + i, left[i], right[i])


@fast
def _walk(program: Program, own: Array, false: Array, bench: Bench) -> None:
    """From parents to children: what features and Model A's residuals change by."""
    z, there, d, node, starts = bench.z, bench.there, bench.d, program.node, program.starts
    x, eps = program.x, program.eps
    for j in range(x.size):
        if x[j] != NOWHERE:
            _combine(node, own, starts[j], starts[j + 1], d, d, x[j])
            _arrive(z, d, there, x[j])
        if eps[j] != NOWHERE:
            _combine(node, false, starts[j], starts[j + 1], d, d, eps[j])
            _arrive(z, d, there, eps[j])
        _make_products(program, j + 1, bench)


@fast
def _predict(program: Program, own: Array, is_squared: bool, bench: Bench) -> float:
    """What the changes of predictions add up to; their slopes stay on the bench."""
    row, starts, k = bench.row, program.starts, program.x.size
    _combine(program.node, own, starts[k], starts[k + 1], bench.d, row, CHANGE)
    for r in range(ROWS):
        row[SLOPE, r] = row[WEIGHT, r]
    if program.is_logistic:
        _combine(program.node, own, starts[k + 1], starts[k + 2], bench.there, row, SCORE)
        for r in range(ROWS):
            probability = 1 / (1 + np.exp(-row[SCORE, r]))
            row[CHANGE, r] = probability - row[PREDICTED, r]
            row[SLOPE, r] *= probability * (1 - probability)
    for r in range(ROWS):
        row[SLOPE, r] *= 2 * row[CHANGE, r] if is_squared else np.sign(row[CHANGE, r])
    total: float = _size(row, is_squared)
    return total


# ---------------------------------------------------------------- backwards


@fast
def _walk_back(program: Program, own: Array, under_A: Array, bench: Bench, c_w: Array) -> None:
    """From the predictor to children to parents, as `fairstress.model.counterfactual.weight_gradient` has it."""
    bar, row, there, d, node, starts = bench.bar, bench.row, bench.there, bench.d, program.node, program.starts
    place, slopes, by, x, eps = program.place, program.slopes, program.by, program.x, program.eps
    bar[:] = 0.0
    for k in range(slopes[-2], slopes[-1]):
        _combine(node, own, starts[k], starts[k + 1], there, row, BY)
        _add_product(row, SLOPE, BY, 1.0, bar, by[k])
    for j in range(x.size - 1, -1, -1):
        for r in range(ROWS):
            row[G, r] = 0.0 if eps[j] == NOWHERE else bar[eps[j], r]
            row[X_BAR, r] = row[G, r] + (0.0 if x[j] == NOWHERE else bar[x[j], r])
        for i in range(starts[j], starts[j + 1], TOGETHER):
            _weigh(node, i, d, row, X_BAR, c_w, place)
        for k in range(slopes[j], slopes[j + 1]):
            _combine(node, own, starts[k], starts[k + 1], there, row, BY)
            _add_product(row, X_BAR, BY, 1.0, bar, by[k])
            if eps[j] != NOWHERE:
                _combine(node, under_A, starts[k], starts[k + 1], there, row, BY)
                _add_product(row, G, BY, -1.0, bar, by[k])
