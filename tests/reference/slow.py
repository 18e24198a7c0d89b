"""The whole method a second time, slow and simple: every number of fairstress from the formulas alone.

It shares no code with fairstress and takes none of its short cuts. Fits look at raw rows, not at moments; derivatives
of the objective are complex steps, those of CFU differences; rectangles are nested quadratures; a person's worlds are a
recursion; the worst case is a grid that is climbed from its best points. It can be read from top to bottom as an
exposition of the method.

The model: each variable has a standard normal error e, jointly normal with correlation P. With phi the monomials of a
variable's parents, in coded values (numbers standardised, two levels -1 and +1),

    number     x = phi'w + sigma e                 by group, w and sigma are each group's own
    atom       x is the atom g_0 where phi'w + sigma e <= g_0, otherwise as a number
    ordered    x is level k where tau_(k-1) < phi'w + e <= tau_k

Model A is the fit at P = I, Model B the fit at the P that is asked about.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize, special

A = "a"  # the protected attribute
FAR = 50.0  # stands for infinity, which complex numbers do not take well
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(80)


@dataclass(frozen=True)
class Variable:
    """A variable with an equation; the protected attribute has one where a hidden cause may act on it."""

    name: str
    parents: tuple[str, ...] = ()  # the protected attribute first
    kind: str = "number"  # or "by group", "atom", "ordered"
    degree: int = 1
    fair: frozenset[str] = frozenset()  # parents whose edge is called fair


@dataclass(frozen=True)
class Problem:
    """Coded data, the equations in the order of P, which is a topological one, and what was chosen."""

    variables: tuple[Variable, ...]
    data: dict[str, np.ndarray]  # coded values of the attribute and the features
    y: np.ndarray
    weight: np.ndarray
    penalty: float
    predictor_degree: int = 1
    predictor_penalty: float = 1.0

    @property
    def features(self) -> list[Variable]:
        return [v for v in self.variables if v.name != A]

    @cached_property
    def codes(self) -> dict[str, np.ndarray]:
        """The distinct values of each column."""
        return {name: np.unique(x) for name, x in self.data.items()}

    @cached_property
    def terms(self) -> dict[str, np.ndarray]:
        """The terms of each equation for the people as they are."""
        return {v.name: phi(self, v, self.data) for v in self.variables}

    @property
    def is_two_valued(self) -> bool:
        return self.codes[A].size == 2

    def a_cf(self) -> np.ndarray:
        """The other level; a number moves up by its standard deviation, which is 1."""
        return -self.data[A] if self.is_two_valued else self.data[A] + 1

    def reached(self, *, fair_too: bool = False) -> set[str]:
        """The features that an unfair path from the attribute leads to, or any path."""
        found = {A}
        for v in self.features:
            if any(p in found and (fair_too or p not in v.fair) for p in v.parents):
                found.add(v.name)
        return found - {A}


# ---------------------------------------------------------------- coding


def standardised(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A number, or the scores of three levels and more, with mean 0 and variance 1."""
    mean = weight @ x / weight.sum()
    return (x - mean) / np.sqrt(weight @ (x - mean) ** 2 / weight.sum())


def with_atom(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same of a number whose zeros are an atom, a millionth below the lowest value above them."""
    return standardised(np.where(x == 0, x[x > 0].min(), x), weight) - 1e-6 * (x == 0)


def monomials(columns: list[np.ndarray], values: list[int], degree: int, *, once: bool) -> np.ndarray:
    """All products of up to ``degree`` columns, the constant first; a power is below the number of distinct values.

    A column of -1 and +1 may stand in any power: equal products stay side by side, unless each is wanted once.
    """
    made = {(): np.ones_like(columns[0])}
    for total in range(1, degree + 1):
        for chosen in itertools.combinations_with_replacement(range(len(columns)), total):
            if once and any(values[k] == 2 and chosen.count(k) > 1 for k in chosen):
                continue
            if all(values[k] == 2 or chosen.count(k) < values[k] for k in chosen):
                made[chosen] = np.prod([columns[k] for k in chosen], axis=0)
    return np.stack(list(made.values()), axis=-1)


def phi(problem: Problem, v: Variable, seen: dict[str, np.ndarray]) -> np.ndarray:
    """The terms of an equation, given what is seen of its parents."""
    used = [p for p in v.parents if not (v.kind == "by group" and p == A)]
    if not used:
        return np.ones((*np.shape(seen[v.name]), 1))
    values = [problem.codes[p].size for p in used]
    return monomials([np.asarray(seen[p]) for p in used], values, v.degree, once=problem.penalty == 0)


# ---------------------------------------------------------------- the likelihood


@dataclass(frozen=True)
class Fit:
    """Free parameters z, variable by variable: log sigma, or the first cut and the logs of steps to the next; w."""

    z: np.ndarray
    P: np.ndarray
    log_likelihood: float
    objective: float


def sizes(problem: Problem, v: Variable) -> tuple[int, int]:
    """How many scales or cuts a variable has, and how many weights."""
    d = problem.terms[v.name].shape[-1]
    if v.kind == "ordered":
        return problem.codes[v.name].size - 1, d - 1  # the cuts stand for the constant
    groups = 2 if v.kind == "by group" else 1
    return groups, groups * d


def parameters(problem: Problem, z: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Take z (k, b) apart: sigma or cuts, and weights, by variable; b versions of z stand side by side."""
    found, start = {}, 0
    for v in problem.variables:
        count, d = sizes(problem, v)
        first = z[start : start + count]
        if v.kind == "ordered":
            first = np.cumsum(np.concatenate([first[:1], np.exp(first[1:])]), axis=0)
        else:
            first = np.exp(first)
        found[v.name] = first, z[start + count : start + count + d]
        start += count + d
    return found


def scale_and_index(problem: Problem, v: Variable, own, seen: dict) -> tuple[np.ndarray, np.ndarray]:
    """``sigma`` and ``phi'w`` of people (..., b) under b versions of z, of the own group where a number is by group."""
    first, w = own
    terms = problem.terms[v.name] if seen is problem.data else phi(problem, v, seen)
    if v.kind == "ordered":
        return np.ones(()), terms[..., 1:] @ w
    if v.kind != "by group":
        return first[0], terms @ w
    group = np.searchsorted(problem.codes[A], seen[A])
    return first[group], np.sum(terms[..., None] * w.reshape(len(first), -1, w.shape[1])[group], axis=-2)


def error(problem: Problem, v: Variable, own, seen: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Between what a variable's error lies for the people seen, and whether that is an interval."""
    sigma, index = scale_and_index(problem, v, own, seen)
    x = np.asarray(seen[v.name])
    if v.kind == "ordered":
        codes, end = problem.codes[v.name], np.full_like(own[0][:1], FAR)
        level, edges = np.searchsorted((codes[1:] + codes[:-1]) / 2, x), np.concatenate([-end, own[0], end])
        return edges[level] - index, edges[level + 1] - index, np.ones(x.shape, dtype=bool)
    e = (x[..., None] - index) / sigma
    at_atom = (v.kind == "atom") & (x <= problem.codes[v.name][0])
    return np.where(at_atom[..., None], -FAR, e), e, at_atom


def log_likelihood(problem: Problem, z: np.ndarray, P: np.ndarray) -> np.ndarray:
    """``sum_i weight_i (log N(e_C; 0, P_CC) - sum_C log sigma + log Pr(e_D in its rectangle | e_C))`` for each z."""
    own, shape = parameters(problem, z), (problem.y.size, z.shape[1])
    errors = [error(problem, v, own[v.name], problem.data) for v in problem.variables]
    lower, upper = (np.array([np.broadcast_to(e[k], shape) for e in errors]) for k in (0, 1))
    scales = [scale_and_index(problem, v, own[v.name], problem.data)[0] for v in problem.variables]
    log_sigma = np.array([np.broadcast_to(np.log(sigma), shape) for sigma in scales])
    hidden, total = np.array([e[2] for e in errors]), np.zeros(shape[1])
    for pattern in np.unique(hidden, axis=1).T:  # people of whom the same errors are known
        rows = (hidden == pattern[:, None]).all(axis=0)
        C, D, weight = np.flatnonzero(~pattern), np.flatnonzero(pattern), problem.weight[rows]
        if C.size:
            e, P_CC = upper[C][:, rows], P[np.ix_(C, C)]
            squares = np.einsum("cib,cd,dib->ib", e, np.linalg.inv(P_CC), e)
            total = total - weight @ (squares + np.linalg.slogdet(2 * np.pi * P_CC)[1]) / 2
            total = total - weight @ log_sigma[C][:, rows].sum(axis=0)
        if D.size:
            total = total + weight @ np.log(given_known(lower[:, rows], upper[:, rows], C, D, P))
    return total


def given_known(lower: np.ndarray, upper: np.ndarray, C: np.ndarray, D: np.ndarray, P: np.ndarray) -> np.ndarray:
    """``Pr(lower_D < e_D <= upper_D | e_C)``: normal with mean ``K e_C`` and covariance ``P_DD - K P_CD``."""
    if not C.size:
        return rectangle(lower[D], upper[D], P[np.ix_(D, D)])
    K = P[np.ix_(D, C)] @ np.linalg.inv(P[np.ix_(C, C)])
    mean = np.tensordot(K, upper[C], 1)
    return rectangle(lower[D] - mean, upper[D] - mean, P[np.ix_(D, D)] - K @ P[np.ix_(C, D)])


def rectangle(lower: np.ndarray, upper: np.ndarray, S: np.ndarray) -> np.ndarray:
    """``Pr(lower < e <= upper)`` for e normal with covariance S: quadrature over e_1, and the rest given e_1."""
    s = np.sqrt(S[0, 0])
    low, high = lower[0] / s, upper[0] / s
    if len(S) == 1:
        turned = np.real(low) > 0  # the smaller tail keeps its digits
        low, high = np.where(turned, -high, low), np.where(turned, -low, high)
        return special.ndtr(high) - special.ndtr(low)
    low, high = (np.where(np.abs(np.real(end)) > 8.5, np.sign(np.real(end)) * 8.5, end) for end in (low, high))
    total, slope = 0.0, S[1:, 0] / s
    for node, w in zip(NODES, NODE_WEIGHTS, strict=True):
        x = (low + high) / 2 + (high - low) / 2 * node
        density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (high - low) / 2 * w
        shift = slope.reshape(-1, *[1] * np.ndim(x)) * x
        total = total + density * rectangle(lower[1:] - shift, upper[1:] - shift, S[1:, 1:] - np.outer(slope, slope))
    return total


# ---------------------------------------------------------------- the fit


def objective(problem: Problem, z: np.ndarray, P: np.ndarray) -> np.ndarray:
    """``-2 log likelihood + lam |w|^2``, constants left out, and an attribute behind a threshold."""
    cost, own = np.zeros(z.shape[1]), parameters(problem, z)
    for v in problem.variables:
        first, w = own[v.name]
        if v.kind == "ordered":
            cost = cost + np.sum(w**2, axis=0) * (v.name != A)
        else:
            cost = cost + np.sum(w.reshape(len(first), -1, z.shape[1])[:, 1:] ** 2, axis=(0, 1))
    return -2 * log_likelihood(problem, z, P) + problem.penalty * cost


def start(problem: Problem, sigma: float) -> np.ndarray:
    """No weights, scales sigma, and cuts that give every level its share."""
    parts = []
    for v in problem.variables:
        count, d = sizes(problem, v)
        if v.kind == "ordered":
            below = [problem.weight[problem.data[v.name] <= code].sum() for code in problem.codes[v.name][:-1]]
            cuts = special.ndtri(np.array(below) / problem.weight.sum())
            parts += [cuts[:1], np.log(np.diff(cuts)), np.zeros(d)]
        else:
            parts += [np.full(count, np.log(sigma)), np.zeros(d)]
    return np.concatenate(parts)


def fit(problem: Problem, P: np.ndarray, near: Fit | None = None) -> Fit:
    """The lowest minimum found from two starts, or the one near another fit's: a descent, then Newton's steps."""
    n = problem.weight.sum()

    def value(z: np.ndarray) -> float:
        return float(objective(problem, z[:, None], P)[0]) / n

    def slope(z: np.ndarray) -> np.ndarray:  # complex steps: as exact as the objective
        return np.imag(objective(problem, z[:, None] + 1e-30j * np.eye(z.size), P)) / 1e-30 / n

    scales = (1.0, 0.3) if problem.penalty else (1.0,)  # without a penalty there is one minimum
    starts = [start(problem, sigma) for sigma in scales] if near is None else [near.z]
    with np.errstate(over="ignore", invalid="ignore"):  # a step too long is taken back
        ends = [optimize.minimize(value, z, method="BFGS", jac=slope, options={"gtol": 1e-6}).x for z in starts]
    best = min(ends, key=value)
    curvature = np.array([(slope(best + h) - slope(best - h)) / 2e-5 for h in 1e-5 * np.eye(best.size)])
    for _ in range(3):  # the descent ends with half of the digits; each of Newton's steps brings five more
        best = best - np.linalg.solve(curvature, slope(best))
    return Fit(best, P, float(log_likelihood(problem, best[:, None], P)[0]), n * value(best))


# ---------------------------------------------------------------- counterfactuals


def carried(v: Variable, factual: dict, other: dict) -> dict:
    """What an equation is shown: fair edges carry factual values, unfair ones the counterfactual."""
    return {**{p: (factual if p in v.fair else other)[p] for p in v.parents}, v.name: other[v.name]}


def worlds(problem: Problem, model: Fit, row: int) -> Iterator[tuple[float, dict[str, float]]]:
    """A person's worlds with A set to the other value, with their probabilities, which add up to 1."""
    own = parameters(problem, model.z[:, None])
    person = {name: x[row] for name, x in problem.data.items()}
    known = [error(problem, v, own[v.name], person) for v in problem.variables]
    lower, upper, hidden = (np.array([e[k].item() for e in known]) for k in (0, 1, 2))
    C, D = np.flatnonzero(hidden == 0), np.flatnonzero(hidden)
    leaves = list(branches(problem, own, person, {**person, A: problem.a_cf()[row]}, lower, upper, D, 0))
    if not D.size:
        yield from ((1.0, world) for world, _, _ in leaves)
        return
    low, high = (np.array([leaf[k] for leaf in leaves]).T for k in (1, 2))
    shares = given_known(low, high, C, D, model.P)
    yield from zip(shares / shares.sum(), (world for world, _, _ in leaves), strict=True)


def branches(problem, own, person, world, lower, upper, D, k) -> Iterator[tuple[dict, np.ndarray, np.ndarray]]:
    """Give the k-th variable its counterfactual values, one branch for each, then those after it."""
    if k == len(problem.variables):
        yield world, lower, upper
        return
    v = problem.variables[k]
    if v.name not in problem.reached():
        yield from branches(problem, own, person, world, lower, upper, D, k + 1)
        return
    sigma, index = (part.item() for part in scale_and_index(problem, v, own[v.name], carried(v, person, world)))
    for value, low, high in outcomes(problem, v, own[v.name], sigma, index, lower[k], upper[k], k in D):
        ends = lower.copy(), upper.copy()
        ends[0][k], ends[1][k] = low, high
        yield from branches(problem, own, person, {**world, v.name: value}, *ends, D, k + 1)


def outcomes(problem, v, own, sigma, index, low, high, is_hidden) -> Iterator[tuple[float, float, float]]:
    """The values that a variable can take in the other world, each with the part of its error's interval behind it."""
    codes = problem.codes[v.name]
    if v.kind == "ordered":
        edges = np.concatenate([[-FAR], own[0][:, 0] - index, [FAR]])
        for code, left, right in zip(codes, edges[:-1], edges[1:], strict=True):
            if max(low, left) < min(high, right):
                yield code, max(low, left), min(high, right)
    elif v.kind == "atom":
        atom, cut = codes[0], (codes[0] - index) / sigma
        if not is_hidden:
            yield max(index + sigma * high, atom), low, high
            return
        if low < min(high, cut):
            yield atom, low, min(high, cut)
        ends = special.ndtri(np.linspace(*special.ndtr([max(cut, low), high]), 21)) if cut < high else []
        for left, right in itertools.pairwise(ends):  # the part that rises above the atom, in small pieces
            yield index + sigma * (left + right) / 2, left, right
    else:
        yield index + sigma * high, low, high


# ---------------------------------------------------------------- the claim


def residuals(problem: Problem, model_a: Fit, factual: dict, other: dict) -> np.ndarray:
    """What Model A's owner shows the predictor of the people in ``other``: residuals, expected errors, or values."""
    own, shown = parameters(problem, model_a.z[:, None]), []
    labelled = any(v.fair for v in problem.features)
    for v in problem.features:
        if v.name not in problem.reached() and (labelled or v.kind == "ordered"):
            shown.append(other[v.name])
            continue
        lower, upper, hidden = error(problem, v, own[v.name], carried(v, factual, other))
        low, high = lower[..., 0], upper[..., 0]
        density = [np.exp(-(end**2) / 2) / np.sqrt(2 * np.pi) for end in (low, high)]
        share = np.where(hidden, special.ndtr(high) - special.ndtr(low), 1.0)
        e = np.where(hidden, (density[0] - density[1]) / share, high)  # the mean of e within its interval
        shown.append(e * own[v.name][0].item() if v.kind == "number" else e)  # of a number in its own units
    return np.stack([np.asarray(s, dtype=float) for s in shown], axis=-1)


@dataclass(frozen=True)
class Claim:
    """Model A and the predictor, which look the same at every P."""

    problem: Problem
    model_a: Fit
    predict: Callable[[np.ndarray], np.ndarray]


def make_claim(problem: Problem) -> Claim:
    """Fit Model A, and a polynomial in its residuals by ridge, the constant free."""
    model_a = fit(problem, np.eye(len(problem.variables)))
    Z = residuals(problem, model_a, problem.data, problem.data)
    values = [np.unique(Z[:, k]).size if _is_itself(problem, v) else 10**9 for k, v in enumerate(problem.features)]

    def terms(inputs: np.ndarray) -> np.ndarray:
        return monomials(list(np.moveaxis(inputs, -1, 0)), values, problem.predictor_degree, once=False)

    Phi, lam = terms(Z), np.full(terms(Z).shape[1], problem.predictor_penalty)
    lam[0] = 0.0
    weighted = Phi.T * problem.weight
    theta = np.linalg.lstsq(weighted @ Phi + np.diag(lam), weighted @ problem.y, rcond=None)[0]
    return Claim(problem, model_a, lambda inputs: terms(inputs) @ theta)


def _is_itself(problem: Problem, v: Variable) -> bool:
    labelled = any(one.fair for one in problem.features)
    return v.name not in problem.reached() and (labelled or v.kind == "ordered")


def cfu_by_row(claim: Claim, model_b: Fit, problem: Problem | None = None) -> np.ndarray:
    """``CFU_i = sum over worlds of probability (f(eps_i) - f(eps'_i))^2``."""
    values = np.zeros(claim.problem.y.size)
    for row in range(values.size):
        person = {name: x[row] for name, x in claim.problem.data.items()}
        before = claim.predict(residuals(claim.problem, claim.model_a, person, person))
        for share, world in worlds(problem or claim.problem, model_b, row):
            after = claim.predict(residuals(claim.problem, claim.model_a, person, world))
            values[row] += share * float(before - after) ** 2
    return values


def cfu(claim: Claim, P: np.ndarray, near: Fit | None = None) -> float:
    """The mean of it, with Model B fitted at P."""
    each = cfu_by_row(claim, fit(claim.problem, P, near))
    return float(claim.problem.weight @ each / claim.problem.weight.sum())


def with_pairs(m: int, pairs: list[tuple[int, int]], p: np.ndarray) -> np.ndarray:
    """The correlation of some pairs' values."""
    P = np.eye(m)
    for (j, k), value in zip(pairs, p, strict=True):
        P[j, k] = P[k, j] = value
    return P


def gradient(claim: Claim, P: np.ndarray, pairs: list[tuple[int, int]], step: float = 1e-4) -> np.ndarray:
    """Derivatives of CFU by each pair's correlation, by central differences."""
    near = fit(claim.problem, P)
    slopes = []
    for pair in pairs:
        move = with_pairs(len(P), [pair], np.array([step])) - np.eye(len(P))
        slopes.append((cfu(claim, P + move, near) - cfu(claim, P - move, near)) / (2 * step))
    return np.array(slopes)


def worst_case(claim: Claim, pairs: list[tuple[int, int]], p_max: float, floor: float, points: int) -> float:
    """The largest CFU over the box and the floor under eigenvalues: a grid, then a climb from its three best points."""
    m, near = len(claim.problem.variables), claim.model_a

    def loss(p: np.ndarray) -> float:
        P = with_pairs(m, pairs, p)
        inside = np.abs(p).max() <= p_max and np.linalg.eigvalsh(P)[0] >= floor
        return -cfu(claim, P, near) if inside else 0.0

    grid = [np.array(p) for p in itertools.product(np.linspace(-p_max, p_max, points), repeat=len(pairs))]
    best = sorted(grid, key=loss)[:3]
    climbed = [optimize.minimize(loss, p, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-9}) for p in best]
    return -min(end.fun for end in climbed)


def replicate(claim: Claim, P: np.ndarray, weight: np.ndarray) -> float:
    """CFU of the deployed predictor under other weights of people: Model B alone is fitted anew, without penalty."""
    again = replace(claim.problem, weight=weight, penalty=0.0)
    return float(weight @ cfu_by_row(claim, fit(again, P), again) / weight.sum())
