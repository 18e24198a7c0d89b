"""One pass over people for the sum of their changes, and back for its derivative, compiled by numba.

What `fairstress.model.counterfactual` does with arrays of all rows of a block, here for a few rows at a time, whose
numbers stay in the fastest cache. Importing this takes numba, and time.

A product is an earlier node times a source, ``n = e s``. With d for what things change by from the factual to the
counterfactual world, ``d n = e' d s + s d e``, in which no digits are lost where changes are small.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from fairstress.functionals.program import TOGETHER
from fairstress.functionals.sources import A, A_CF, FEATURES, NOWHERE
from fairstress.inputs.rows import Array

ROWS = 256  # that are worked on at once; the last ones are filled up with nobody
WEIGHT, PREDICTED, CHANGE, SCORE, SLOPE, X_BAR, G, BY_B, BY_A = range(9)  # rows of `Bench.row`

_compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
_compiled_sum = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


class People(NamedTuple):
    """A block of people, each variable's values side by side."""

    a: Array  # (r,)
    a_cf: Array  # (r,)
    x: Array  # (m, r)
    eps: Array  # (m, r) Model A's residuals
    x_cf: Array  # (m, r) features with A changed under Model A; not looked at where none are known
    predicted: Array  # (r,)
    weight: Array  # (r,)


class Bench(NamedTuple):
    """Numbers of the rows that are worked on."""

    z: Array  # (sources, rows) in the factual world
    there: Array  # (nodes, rows) in the counterfactual world
    d: Array  # (nodes, rows) what they change by
    bar: Array  # (sources, rows) derivatives of the sum by what is there
    row: Array  # (9, rows) what there is one of


@_compiled
def values(program, people, is_squared, w_A, W):  # type: ignore[no-untyped-def]
    """(g,) what people's changes add up to for each of the weights W (g, D + d) of Model B and predictor."""
    bench, total = _bench(program), np.zeros(len(W))
    own, false = program.factor * W[:, program.place], program.factor * (W - w_A)[:, program.place]
    for first in range(0, people.a.size, ROWS):
        _stand(program, people, first, bench)
        for g in range(len(W)):
            _walk(program, own[g], false[g], bench)
            total[g] += _predict(program, own[g], is_squared, bench)
    return total


@_compiled
def value_and_slope(program, people, is_squared, w_A, w_B):  # type: ignore[no-untyped-def]
    """The sum for one Model B, and its derivative by its weights, among all (D + d,)."""
    bench, total, c_w = _bench(program), 0.0, np.zeros_like(w_B)
    own, false = program.factor * w_B[program.place], program.factor * (w_B - w_A)[program.place]
    under_A = program.factor * w_A[program.place]
    for first in range(0, people.a.size, ROWS):
        _stand(program, people, first, bench)
        _walk(program, own, false, bench)
        total += _predict(program, own, is_squared, bench)
        _walk_back(program, own, under_A, bench, c_w)
    return total, c_w


@_compiled
def _bench(program):  # type: ignore[no-untyped-def]
    sources, nodes = program.before.size, program.before.size + program.left.size
    z, bar = np.zeros((sources, ROWS)), np.zeros((sources, ROWS))
    there, d, row = np.zeros((nodes, ROWS)), np.zeros((nodes, ROWS)), np.zeros((9, ROWS))
    z[0] = there[0] = 1.0
    return Bench(z, there, d, bar, row)


# ---------------------------------------------------------------- a row of each of some nodes


@_compiled
def _fill(given, first, level, v, n):  # type: ignore[no-untyped-def]
    """Take some people's values, or whether these are a level."""
    some = given[first : first + ROWS]
    for r in range(some.size):
        v[n, r] = some[r]
    for r in range(some.size, ROWS):
        v[n, r] = 0.0
    if not np.isnan(level):
        for r in range(ROWS):
            v[n, r] = 1.0 if v[n, r] == level else 0.0


@_compiled
def _multiply(there, n, e, s):  # type: ignore[no-untyped-def]
    for r in range(ROWS):
        there[n, r] = there[e, r] * there[s, r]


@_compiled
def _multiply_changes(there, d, z, n, e, s):  # type: ignore[no-untyped-def]
    for r in range(ROWS):
        d[n, r] = there[e, r] * d[s, r] + d[e, r] * z[s, r]


@_compiled
def _combine(node, c, start, end, v, total, n):  # type: ignore[no-untyped-def]
    """Add up the nodes of a sum with coefficients, several at once."""
    for r in range(ROWS):
        total[n, r] = 0.0
    for i in range(start, end, TOGETHER):
        n0, n1, n2, n3 = node[i], node[i + 1], node[i + 2], node[i + 3]
        c0, c1, c2, c3 = c[i], c[i + 1], c[i + 2], c[i + 3]
        for r in range(ROWS):
            total[n, r] += (c0 * v[n0, r] + c1 * v[n1, r]) + (c2 * v[n2, r] + c3 * v[n3, r])


@_compiled_sum
def _weigh(node, i, v, row, n, total, place):  # type: ignore[no-untyped-def]
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


@_compiled_sum
def _size(row, is_squared):  # type: ignore[no-untyped-def]
    """The changes of predictions, squared or not, by weight."""
    total = 0.0
    for r in range(ROWS):
        total += row[WEIGHT, r] * (row[CHANGE, r] * row[CHANGE, r] if is_squared else abs(row[CHANGE, r]))
    return total


# ---------------------------------------------------------------- forwards


@_compiled
def _stand(program, people, first, bench):  # type: ignore[no-untyped-def]
    """Put people on the bench, with all that is the same for every Model B."""
    z, there, d = bench.z, bench.there, bench.d
    _fill(people.weight, first, np.nan, bench.row, WEIGHT)
    _fill(people.predicted, first, np.nan, bench.row, PREDICTED)
    for s in range(1, program.before.size):
        _fill(_known(people, program.before[s]), first, program.level[s], z, s)
        if program.after[s] != NOWHERE:
            _fill(_known(people, program.after[s]), first, program.level[s], there, s)
            for r in range(ROWS):
                d[s, r] = there[s, r] - z[s, r]
    _make_products(program, 0, bench)


@_compiled
def _known(people, row):  # type: ignore[no-untyped-def]
    """(r,) one row of what is known of people."""
    if row == A:
        return people.a
    if row == A_CF:
        return people.a_cf
    m = people.x.shape[0]
    k = row - FEATURES
    if k < m:
        return people.x[k]
    return people.eps[k - m] if k < 2 * m else people.x_cf[k - 2 * m]


@_compiled
def _make_products(program, j, bench):  # type: ignore[no-untyped-def]
    """Make what is known after j equations of the walk."""
    for i in range(program.opens[j], program.opens[j + 1]):
        n, e, s = program.before.size + i, program.left[i], program.right[i]
        if program.changes[i]:
            _multiply_changes(bench.there, bench.d, bench.z, n, e, s)
        if program.looked_at[i]:
            _multiply(bench.there, n, e, s)


@_compiled
def _walk(program, own, false, bench):  # type: ignore[no-untyped-def]
    """From parents to children: what features and Model A's residuals change by."""
    z, there, d = bench.z, bench.there, bench.d
    for j in range(program.x.size):
        start, end = program.starts[j], program.starts[j + 1]
        for s, c in ((program.x[j], own), (program.eps[j], false)):
            if s != NOWHERE:
                _combine(program.node, c, start, end, d, d, s)
                for r in range(ROWS):
                    there[s, r] = z[s, r] + d[s, r]
        _make_products(program, j + 1, bench)


@_compiled
def _predict(program, own, is_squared, bench):  # type: ignore[no-untyped-def]
    """What the changes of predictions add up to; their slopes stay on the bench."""
    row, (start, end, last) = bench.row, program.starts[program.x.size : program.x.size + 3]
    _combine(program.node, own, start, end, bench.d, row, CHANGE)
    for r in range(ROWS):
        row[SLOPE, r] = row[WEIGHT, r]
    if program.is_logistic:
        _combine(program.node, own, end, last, bench.there, row, SCORE)
        for r in range(ROWS):
            probability = 1 / (1 + np.exp(-row[SCORE, r]))
            row[CHANGE, r] = probability - row[PREDICTED, r]
            row[SLOPE, r] *= probability * (1 - probability)
    for r in range(ROWS):
        row[SLOPE, r] *= 2 * row[CHANGE, r] if is_squared else np.sign(row[CHANGE, r])
    return _size(row, is_squared)


# ---------------------------------------------------------------- backwards


@_compiled
def _walk_back(program, own, under_A, bench, c_w):  # type: ignore[no-untyped-def]
    """From the predictor to children to parents, as `fairstress.model.counterfactual.weight_gradient` has it."""
    bar, row = bench.bar, bench.row
    bar[:] = 0.0
    for k in range(program.slopes[-2], program.slopes[-1]):
        _combine(program.node, own, program.starts[k], program.starts[k + 1], bench.there, row, BY_B)
        for r in range(ROWS):
            bar[program.by[k], r] = row[SLOPE, r] * row[BY_B, r]
    for j in range(program.x.size - 1, -1, -1):
        x, eps = program.x[j], program.eps[j]
        for r in range(ROWS):
            row[G, r] = 0.0 if eps == NOWHERE else bar[eps, r]
            row[X_BAR, r] = row[G, r] + (0.0 if x == NOWHERE else bar[x, r])
        for i in range(program.starts[j], program.starts[j + 1], TOGETHER):
            _weigh(program.node, i, bench.d, row, X_BAR, c_w, program.place)
        _pull(program, j, own, under_A, bench)


@_compiled
def _pull(program, j, own, under_A, bench):  # type: ignore[no-untyped-def]
    """Take the derivatives by a feature and its residual to the sources of the equation."""
    bar, row = bench.bar, bench.row
    for k in range(program.slopes[j], program.slopes[j + 1]):
        s, start, end = program.by[k], program.starts[k], program.starts[k + 1]
        _combine(program.node, own, start, end, bench.there, row, BY_B)
        for r in range(ROWS):
            bar[s, r] += row[X_BAR, r] * row[BY_B, r]
        if program.eps[j] != NOWHERE:
            _combine(program.node, under_A, start, end, bench.there, row, BY_A)
            for r in range(ROWS):
                bar[s, r] -= row[G, r] * row[BY_A, r]
