"""Draws from Model B with known truth: what anything that claims to recover it is tested on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fairstress.arguments import by_name, degree, finite, flag, is_positive, seed, whole_number
from fairstress.errors import SettingError, did_you_mean, show
from fairstress.inputs.correlation import read_correlation
from fairstress.inputs.graph import CausalGraph, read_graph
from fairstress.inputs.kinds import CATEGORY, ORDERED, Kind
from fairstress.inputs.rows import Array
from fairstress.model.embedding import Polynomial
from fairstress.model.simulated_kinds import Inverse, Value, Variable, check_names, read_variables

Weights = Mapping[str, Mapping[Any, Any]]  # by variable and term; of a number by group by level between the two


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A simulated table and the truth behind it: people in the table's units, errors on the scales of their equations.

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
    noise: pd.DataFrame  # the errors that were drawn, scale included; of a variable with levels the latent error
    counterfactuals: pd.DataFrame  # the same had the protected attribute been another, but not along fair edges
    weights: dict[str, dict[Any, Any]]  # by variable and term; of a number by group by variable, level and term
    scales: dict[str, Any]  # standard deviations of the errors; of a number by group by level
    correlation: pd.DataFrame  # of the errors, protected attribute first
    kinds: dict[str, Kind]  # of every variable but the outcome
    cuts: dict[str, tuple[float, ...]]  # between the levels of ordered variables
    latent: pd.DataFrame  # what the equations gave, noise included, before it was cut or put on the table's scale


def simulate(
    graph: CausalGraph,
    n: int,
    *,
    correlation: Any = None,
    weights: Weights | None = None,
    scales: Mapping[str, Any] | None = None,
    degrees: Mapping[str, int] | None = None,
    kinds: Mapping[str, Any] | None = None,
    cuts: Mapping[str, Sequence[float]] | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    atoms: Mapping[str, float] | None = None,
    inverse: Mapping[str, Inverse] | None = None,
    binary: bool = True,
    shift: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> Simulation:
    """Draw people from a structural model with correlated Gaussian errors.

    Every variable has a latent scale on which its equation is linear in functions of its parents, ``v = phi'w + e``.
    A number is ``v`` on the table's scale, an ordered variable is ``v`` cut into levels. A two-valued protected
    attribute is ordered too, so that it may be confounded. Children see a number on its latent scale, an ordered
    parent with two levels as -1/+1, with more as its score (the level if it is a number, otherwise its position), and
    a category, "ordered as levels" or a protected attribute with more than two levels as indicators of all levels but
    the first. The outcome is the sum of its parents in the graph (of all features, if it has none), indicators
    replaced by scores, and a standard normal error.

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
        ``{variable: {term: weight}}`` with terms such as ``"1"``, ``"ugpa"``, ``"race*ugpa"``, ``"ugpa^2"``, or
        ``"grade=high"`` for an indicator; terms that are left out are 0. Variables that are left out get random
        weights. Of a number by group ``{variable: {level: {term: weight}}}``, without the protected attribute among
        the terms.
    scales
        Standard deviations of the errors by feature, of a number by group also ``{variable: {level: scale}}``; 1 where
        left out, and always 1 for what has levels.
    degrees
        Degree of the polynomial by variable; 1 where left out.
    kinds
        ``{variable: kind}``: "number", "log", "log1p", "sqrt", "share" or "rank", each also with " by group" behind
        or, but for "share", with "zero or " before; "ordered", "ordered as levels" or a list of levels; "category" for
        a feature without parents that stands in no pair. Default: numbers, and a protected attribute by ``binary``.
    cuts
        ``{variable: increasing numbers}``: level k is where ``cuts[k-1] < v <= cuts[k]``. Levels are 0, 1, 2, ...
        unless they are given. Default: as many levels as are given, otherwise two, equally probable if v is standard
        normal.
    levels
        ``{variable: its levels}``, lowest first, of a category, or of what is ordered.
    atoms
        Thresholds of the kinds that begin with "zero or ": x is 0 where v is not above the threshold, and children see
        the threshold; 0 where left out.
    inverse
        ``{variable: function}``, strictly increasing, that takes an array from the latent scale to the table. The
        kind "rank" needs one; of other numbers it replaces the scale's own. On the scales "log1p" and "sqrt" what is
        drawn below 0 is put at 0.
    binary
        Whether the protected attribute is -1/+1; otherwise it is Gaussian. ``kinds`` may give it another kind.
    shift
        How far the counterfactual moves a Gaussian protected attribute; by how many levels one with more than two,
        the first coming after the last.
    random_state
        Seed or generator.

    Examples
    --------
    >>> graph = CausalGraph.parse("a -> x; a, x -> z; x <-> z", protected="a", outcome="y")
    >>> truth = simulate(graph, 1000, correlation={("x", "z"): 0.4}, random_state=0)
    >>> list(truth.frame.columns)
    ['a', 'x', 'z', 'y']
    >>> options = {"kinds": {"x": ["low", "mid", "high"], "z": "log"}, "cuts": {"x": (-0.5, 1.0)}}
    >>> truth = simulate(graph, 1000, weights={"x": {"a": 0.5}}, random_state=0, **options)
    >>> print(truth.kinds["x"], truth.cuts["x"])
    ordered, 3 levels (-0.5, 1.0)
    >>> float((truth.frame["x"] != truth.counterfactuals["x"]).mean())  # so many have another level
    0.598
    """
    graph, rng = read_graph(graph), _generator(random_state)
    ways: dict[str, Any] = {"kinds": kinds, "cuts": cuts, "levels": levels, "atoms": atoms, "inverse": inverse}
    by_variable = {name: by_name(given, name, "a dict by variable") for name, given in ways.items()}
    variables = read_variables(graph, binary=flag(binary, "binary"), **by_variable)
    modelled = [name for name, variable in variables.items() if variable.kind.name != CATEGORY]
    own: dict[str, Any] = {"weights": weights, "scales": scales, "degrees": degrees}
    own = {name: by_name(given, name, "a dict by variable") for name, given in own.items()}
    check_names(modelled, **own)
    P = np.eye(len(variables)) if correlation is None else read_correlation(correlation, graph, tuple(variables))
    deviations = {name: _scales(graph, variables, name, own["scales"]) for name in variables}
    degree_of = {name: degree(value, f"the degree of '{name}'") for name, value in own["degrees"].items()}
    equations = {
        name: _equation(graph, variables, name, degree_of, own["weights"], deviations[name], rng) for name in variables
    }
    drawn = rng.standard_normal((whole_number(n, "n"), len(variables))) @ np.linalg.cholesky(P).T
    errors = {name: drawn[:, i] for i, name in enumerate(variables)}
    factual = _propagate(graph, variables, equations, errors)
    forced = variables[graph.protected].move(factual.value[graph.protected], finite(shift, "shift"))
    other = _propagate(graph, variables, equations, errors, forced, factual)
    causes = graph.parents(graph.outcome) if graph.outcome in graph.nodes else ()
    y = sum(variables[name].score(factual.value[name]) for name in causes or graph.features) + rng.standard_normal(n)
    return Simulation(
        frame=_frame(factual, variables).assign(**{graph.outcome: y}),
        noise=pd.DataFrame({name: factual.noise[name] for name in variables}),
        counterfactuals=_frame(other, variables),
        weights={name: equations[name].named_weights for name in modelled},
        scales={name: equations[name].named_scales for name in modelled},
        correlation=pd.DataFrame(P, index=list(variables), columns=list(variables)),
        kinds={name: variable.kind for name, variable in variables.items()},
        cuts={name: variable.cuts for name, variable in variables.items() if variable.kind.name == ORDERED},
        latent=pd.DataFrame({name: factual.latent[name] for name in variables}),
    )


# ---------------------------------------------------------------- mathematics


@dataclass(frozen=True, slots=True, eq=False)
class _Equation:
    """``v = phi'w + scale e``, with w and scale by level of the protected attribute where there are groups."""

    parents: tuple[str, ...]  # whose columns the embedding takes
    embedding: Polynomial
    weights: Array  # (groups, d)
    scales: Array  # (groups,)
    groups: tuple[Any, ...]  # levels of the protected attribute; none if all have one equation

    def mean(self, Z: Array, group: Value | None) -> Array:
        """``phi'w`` at the parents' columns."""
        phi = self.embedding.values(Z)
        if group is None:
            return np.asarray(phi @ self.weights[0])
        return np.asarray(np.einsum("rd,rd->r", phi, self.weights[group]))

    def noise(self, e: Array, group: Value | None) -> Array:
        """``scale e``."""
        return np.asarray(e * self.scales[0 if group is None else group])

    @property
    def named_weights(self) -> dict[Any, Any]:
        """The weights as they may be given."""
        named = [dict(zip(self.embedding.terms, w.tolist(), strict=True)) for w in self.weights]
        return dict(zip(self.groups, named, strict=True)) if self.groups else named[0]

    @property
    def named_scales(self) -> Any:
        """The scales as they may be given."""
        scales = self.scales.tolist()
        return dict(zip(self.groups, scales, strict=True)) if self.groups else scales[0]


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """Everyone's values, and where they come from."""

    value: dict[str, Value] = field(default_factory=dict)
    latent: dict[str, Array] = field(default_factory=dict)
    noise: dict[str, Array] = field(default_factory=dict)


def _equation(
    graph: CausalGraph,
    variables: Mapping[str, Variable],
    name: str,
    degrees: Mapping[str, int],
    weights: Weights,
    scales: Array,
    rng: np.random.Generator,
) -> _Equation:
    """Give a variable's embedding and its weights, drawn where none are given."""
    groups = _groups(graph, variables, name)
    parents = tuple(parent for parent in graph.parents(name) if not (groups and parent == graph.protected))
    inputs = [variable for parent in parents for variable in variables[parent].inputs]
    embedding = Polynomial.of(inputs, degrees.get(name, 1))
    own = weights.get(name)
    given = [own] * scales.size if own is None or not groups else _by_level(own, groups, name)
    w = [_random_weights(embedding, rng) if one is None else _given_weights(embedding, one, name) for one in given]
    return _Equation(parents, embedding, np.array(w), scales, groups)


def _groups(graph: CausalGraph, variables: Mapping[str, Variable], name: str) -> tuple[Any, ...]:
    """Levels of the protected attribute that have an equation each."""
    return variables[graph.protected].kind.levels if variables[name].kind.by_group else ()


def _random_weights(embedding: Polynomial, rng: np.random.Generator) -> Array:
    """No constant; 0.3 to 0.8 in size on linear terms, a tenth of that on products and powers."""
    degree = np.array([sum(e) for e in embedding.exponents])
    size = rng.uniform(0.3, 0.8, degree.size) * rng.choice([-1.0, 1.0], degree.size)
    return np.asarray(size * np.select([degree == 0, degree == 1], [0.0, 1.0], 0.1))


def _given_weights(embedding: Polynomial, weights: Any, name: str) -> Array:
    if not isinstance(weights, Mapping):
        raise SettingError(f"weights gives '{name}' {show(weights)}: give a dict of terms and weights")
    for term in weights:
        if term not in embedding.terms:
            known = did_you_mean(str(term), embedding.terms) or f"; its terms are {', '.join(embedding.terms)}"
            raise SettingError(f"weights gives '{name}' the term '{term}', which its equation does not have{known}")
    return np.array(
        [finite(weights.get(term, 0.0), f"the weight of '{term}' for '{name}'") for term in embedding.terms]
    )


def _propagate(
    graph: CausalGraph,
    variables: Mapping[str, Variable],
    equations: Mapping[str, _Equation],
    errors: Mapping[str, Array],
    forced: Value | None = None,
    along_fair: _World | None = None,
) -> _World:
    """Walk through the graph with the errors given, the protected attribute forced; fair edges carry other values."""
    world = _World({} if forced is None else {graph.protected: forced})
    for name in graph.nodes:
        if name in world.value or name == graph.outcome:
            continue
        fair = {p for p in graph.parents(name) if (p, name) in graph.fair_edges} if along_fair else set()
        seen = {p: (along_fair if along_fair and p in fair else world).value[p] for p in graph.parents(name)}
        equation = equations[name]
        group = seen[graph.protected] if equation.groups else None
        Z = _columns((variables[p].columns(seen[p]) for p in equation.parents), errors[name].size)
        world.noise[name] = equation.noise(errors[name], group)
        world.latent[name] = equation.mean(Z, group) + world.noise[name]
        world.value[name] = variables[name].observe(world.latent[name])
    return world


def _columns(parents: Iterable[Sequence[Array]], n: int) -> Array:
    """Put what is seen of the parents side by side, as (n, p)."""
    columns = [column for parent in parents for column in parent]
    return np.column_stack(columns) if columns else np.empty((n, 0))


def _frame(world: _World, variables: Mapping[str, Variable]) -> pd.DataFrame:
    return pd.DataFrame({name: variable.in_table(world.value[name]) for name, variable in variables.items()})


# ---------------------------------------------------------------- checks


def _scales(graph: CausalGraph, variables: Mapping[str, Variable], name: str, given: Mapping[str, Any]) -> Array:
    """(groups,) the scale of each group, of one if there are none; what has levels has scale 1."""
    groups, scale = _groups(graph, variables, name), given.get(name, 1.0)
    if groups and isinstance(scale, Mapping):
        scales = [_positive(own, name) for own in _by_level(dict.fromkeys(groups, 1.0) | {**scale}, groups, name)]
    else:
        scales = [_positive(scale, name)] * max(len(groups), 1)
    if not variables[name].is_number and scales != [1.0]:
        count = len(variables[name].kind.levels)
        two = name == graph.protected and count == 2
        which = "a two-valued attribute's latent error" if two else "the latent error behind levels"
        raise SettingError(f"scales gives '{name}' a scale, but {which} has scale 1")
    return np.array(scales)


def _by_level(given: Any, groups: tuple[Any, ...], name: str) -> list[Any]:
    """Give what is given for each level of the protected attribute, in their order."""
    shown = ", ".join(repr(level) for level in groups)
    if not isinstance(given, Mapping) or set(given) != set(groups):
        raise SettingError(f"'{name}' is by group: give its weights and scales by level, {shown}, not {show(given)}")
    return [given[level] for level in groups]


def _generator(random_state: Any) -> np.random.Generator:
    is_generator = isinstance(random_state, np.random.Generator)
    return random_state if is_generator else np.random.default_rng(seed(random_state))


def _positive(value: Any, name: str) -> float:
    if not is_positive(value):
        raise SettingError(f"the scale of '{name}' is {show(value)}: give a positive number")
    return float(value)
