"""Draws from Model B with known truth: what anything that claims to recover it is tested on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.correlation import read_correlation
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.model.embedding import Input, Polynomial

Weights = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A simulated table and the truth behind it, all in the table's units.

    Examples
    --------
    >>> graph = CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    >>> truth = simulate(graph, 200, correlation={("x", "z"): 0.4}, weights={"x": {"a": 0.5}}, random_state=0)
    >>> truth.weights["x"]
    {'1': 0.0, 'a': 0.5}
    >>> truth.scales
    {'a': 1.0, 'x': 1.0, 'z': 1.0}
    >>> float(truth.correlation.loc["x", "z"])
    0.4
    >>> effect = truth.counterfactuals["x"] - truth.frame["x"]  # everyone's, as it was drawn
    >>> effect.abs().round(6).unique().tolist()
    [1.0]
    """

    frame: pd.DataFrame  # protected attribute, features, outcome
    noise: pd.DataFrame  # the errors that were drawn; of a two-valued protected attribute the latent error
    counterfactuals: pd.DataFrame  # the same had the protected attribute been another, but not along fair edges
    weights: dict[str, dict[str, float]]  # by variable and term
    scales: dict[str, float]  # standard deviations of the errors
    correlation: pd.DataFrame  # of the errors, protected attribute first


def simulate(
    graph: CausalGraph,
    n: int,
    *,
    correlation: Any = None,
    weights: Weights | None = None,
    scales: Mapping[str, float] | None = None,
    degrees: Mapping[str, int] | None = None,
    binary: bool = True,
    shift: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> Simulation:
    """Draw people from a structural model with correlated Gaussian errors.

    A two-valued protected attribute is the sign of a latent variable with a standard normal error, so that it too may
    be confounded. The outcome is the sum of its parents in the graph (of all features, if it has none) and a standard
    normal error.

    Parameters
    ----------
    graph
        Variables, edges, and the pairs whose errors may be correlated.
    n
        Number of people.
    correlation
        Correlation of the errors: a dict of pairs that the graph names, or a frame or array whose first row is the
        protected attribute. Default: independent.
    weights
        ``{variable: {term: weight}}`` with terms such as ``"1"``, ``"ugpa"``, ``"race*ugpa"``, ``"ugpa^2"``; terms
        that are left out are 0. Variables that are left out get random weights.
    scales
        Standard deviations of the errors by feature; 1 where left out.
    degrees
        Degree of the polynomial by variable; 1 where left out.
    binary
        Whether the protected attribute is -1/+1; otherwise it is Gaussian.
    shift
        How far the counterfactual moves a Gaussian protected attribute.
    random_state
        Seed or generator.

    Examples
    --------
    >>> graph = CausalGraph.parse("a -> x; a, x -> z; x <-> z", protected="a", outcome="y")
    >>> truth = simulate(graph, 1000, correlation={("x", "z"): 0.4}, random_state=0)
    >>> list(truth.frame.columns)
    ['a', 'x', 'z', 'y']
    """
    rng = np.random.default_rng(random_state)
    variables = (graph.protected, *graph.features)
    _check_names(variables, weights=weights, scales=scales, degrees=degrees)
    P = np.eye(len(variables)) if correlation is None else read_correlation(correlation, graph, variables)
    deviations = {name: _positive((scales or {}).get(name, 1.0), name) for name in variables}
    if deviations[graph.protected] != 1 and binary:
        raise SettingError(
            f"scales gives '{graph.protected}' a scale, but a two-valued attribute's latent error has scale 1"
        )
    equations = {name: _equation(graph, name, degrees or {}, weights or {}, binary, rng) for name in variables}
    drawn = rng.standard_normal((_count(n), len(variables))) @ np.linalg.cholesky(P).T
    noise = {name: drawn[:, i] * deviations[name] for i, name in enumerate(variables)}
    factual = _propagate(graph, equations, noise, binary, {}, {})
    a = factual[graph.protected]
    other = _propagate(graph, equations, noise, binary, {graph.protected: -a if binary else a + shift}, factual)
    causes = graph.parents(graph.outcome) if graph.outcome in graph.nodes else ()
    y = sum(factual[name] for name in causes or graph.features) + rng.standard_normal(n)
    return Simulation(
        frame=_frame(factual, variables, graph, binary).assign(**{graph.outcome: y}),
        noise=pd.DataFrame(noise),
        counterfactuals=_frame(other, variables, graph, binary),
        weights={name: dict(zip(e.terms, w.tolist(), strict=True)) for name, (e, w) in equations.items()},
        scales=deviations,
        correlation=pd.DataFrame(P, index=list(variables), columns=list(variables)),
    )


# ---------------------------------------------------------------- mathematics

_Equation = tuple[Polynomial, Array]


def _equation(
    graph: CausalGraph,
    name: str,
    degrees: Mapping[str, int],
    weights: Weights,
    binary: bool,
    rng: np.random.Generator,
) -> _Equation:
    """Give a variable's embedding and its weights, drawn where none are given."""
    inputs = [Input(parent, is_sign=binary and parent == graph.protected) for parent in graph.parents(name)]
    embedding = Polynomial.of(inputs, degrees.get(name, 1))
    if name not in weights:
        return embedding, _random_weights(embedding, rng)
    for term in weights[name]:
        if term not in embedding.terms:
            known = did_you_mean(term, embedding.terms) or f"; its terms are {', '.join(embedding.terms)}"
            raise SettingError(f"weights gives '{name}' the term '{term}', which its equation does not have{known}")
    return embedding, np.array([float(weights[name].get(term, 0.0)) for term in embedding.terms])


def _random_weights(embedding: Polynomial, rng: np.random.Generator) -> Array:
    """No constant; 0.3 to 0.8 in size on linear terms, a tenth of that on products and powers."""
    degree = np.array([sum(e) for e in embedding.exponents])
    size = rng.uniform(0.3, 0.8, degree.size) * rng.choice([-1.0, 1.0], degree.size)
    return np.asarray(size * np.select([degree == 0, degree == 1], [0.0, 1.0], 0.1))


def _propagate(
    graph: CausalGraph,
    equations: Mapping[str, _Equation],
    noise: Mapping[str, Array],
    binary: bool,
    forced: Mapping[str, Array],
    along_fair: Mapping[str, Array],
) -> dict[str, Array]:
    """Walk through the graph with the noise given, some variables forced; fair edges carry other values, if given."""
    values: dict[str, Array] = dict(forced)
    for name in graph.nodes:
        if name in values or name == graph.outcome:
            continue
        embedding, w = equations[name]
        is_fair = {p: along_fair and (p, name) in graph.fair_edges for p in graph.parents(name)}
        parents = np.empty((noise[name].size, len(is_fair)))
        for k, (parent, fair) in enumerate(is_fair.items()):
            parents[:, k] = (along_fair if fair else values)[parent]
        latent = embedding.values(parents) @ w + noise[name]
        values[name] = np.where(latent >= 0, 1.0, -1.0) if binary and name == graph.protected else latent
    return values


def _frame(values: Mapping[str, Array], variables: tuple[str, ...], graph: CausalGraph, binary: bool) -> pd.DataFrame:
    frame = pd.DataFrame({name: values[name] for name in variables})
    return frame.astype({graph.protected: int}) if binary else frame


# ---------------------------------------------------------------- checks


def _check_names(variables: tuple[str, ...], **given: Mapping[str, Any] | None) -> None:
    for argument, values in given.items():
        for name in values or {}:
            if name not in variables:
                near = did_you_mean(name, variables)
                raise SettingError(f"{argument} names '{name}', which has no structural equation{near}")
    for name, degree in (given["degrees"] or {}).items():
        if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 1:
            raise SettingError(f"the degree of '{name}' is {degree!r}: give a whole number of at least 1")


def _count(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise SettingError(f"n is {n!r}: give a whole number of at least 1")
    return int(n)


def _positive(value: float, name: str) -> float:
    if not (np.isfinite(value) and value > 0):
        raise SettingError(f"the scale of '{name}' is {value!r}: give a positive number")
    return float(value)
