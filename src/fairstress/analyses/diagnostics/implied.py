"""What the graph with its pairs implies, however the pairs' errors are correlated.

Which errors must be as the equations say, and which variables must be independent of each other.
Model A alone says more, that all errors are independent. What only Model A says is what the stress test varies, and
no alarm: a hidden cause that the graph allows may be behind it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fairstress.analyses.absorption import Known
from fairstress.claim.build import Fitted
from fairstress.inputs.graph import CausalGraph


@dataclass(frozen=True, slots=True)
class Tie:
    """How hidden causes that the graph allows may show in a feature's error, given the feature's parents."""

    others: tuple[str, ...]  # with whom its error may be tied, among its ancestors
    by_protected: bool  # whether a protected attribute with levels is among them, all others absorbed
    is_free: bool  # whether its equation absorbs them all: the error is normal and independent of the parents
    keeps_form: bool  # whether its mean given the parents is the equation, whatever they do


def ties(fitted: Fitted) -> dict[str, Tie]:
    """How each feature with an equation may be tied."""
    known = Known.of(fitted.claim.design, fitted.graph.protected, fitted.graph.features)
    return {name: _tie(fitted, known, name) for name in known.equations}


def _tie(fitted: Fitted, known: Known, name: str) -> Tie:
    graph = fitted.graph
    ancestors = _ancestors(graph, [name])
    others = [other for other in graph.nodes if other in _district(graph, name, ancestors) - {name}]
    own = graph.protected in others
    has_levels = fitted.table.protected.levels is not None
    features = [other for other in others if other != graph.protected]
    absorbed = all(known.absorbs(name, other) for other in features)
    followed = set(graph.parents(graph.protected)) <= set(graph.parents(name))
    free = absorbed and (not own or (not has_levels and graph.protected in graph.parents(name) and followed))
    behind = absorbed and own and has_levels
    alone = behind and not features and not graph.parents(graph.protected)
    return Tie(tuple(others), behind, free, free or alone)


def _district(graph: CausalGraph, name: str, within: Iterable[str]) -> set[str]:
    """All whom a chain of pairs within some variables leads to."""
    inside, found, new = set(within), {name}, {name}
    while new:
        near = {end for pair in graph.pairs for end in pair if new & set(pair)}
        new = (near & inside) - found
        found |= new
    return found


def _ancestors(graph: CausalGraph, names: Iterable[str]) -> set[str]:
    """Some variables and all their causes."""
    found: set[str] = set()
    new = set(names)
    while new:
        found |= new
        new = {a for a, b in graph.edges if b in new} - found
    return found


# ---------------------------------------------------------------- independences


@dataclass(frozen=True, slots=True)
class Independence:
    """That two variables are independent given others."""

    first: str  # the earlier
    second: str  # the later
    given: tuple[str, ...]
    by_parents: bool  # whether the others are the parents of the later one


def independences(graph: CausalGraph) -> Iterator[Independence]:
    """One for each two variables that neither an edge nor a pair joins, where some others part them.

    The outcome has no equation and takes no part.
    """
    joined = {frozenset(ends) for ends in (*graph.edges, *graph.pairs)}
    nodes = [name for name in graph.nodes if name != graph.outcome]
    for first, second in itertools.combinations(nodes, 2):
        if frozenset((first, second)) in joined:
            continue
        own, both = set(graph.parents(second)), _ancestors(graph, (first, second)) - {first, second}
        for given in (own, own | set(graph.parents(first)), both):
            if not given & {first, second} and separated(graph, first, second, given):
                ordered = tuple(name for name in nodes if name in given)
                yield Independence(first, second, ordered, given == own)
                break


def separated(graph: CausalGraph, first: str, second: str, given: Iterable[str]) -> bool:
    """Whether two variables are m-separated by the given.

    Among the ancestors of all of them, join all variables that share a district or cause a member of it. Then no way
    may lead from the one to the other around the given.
    """
    blocked = set(given)
    inside = _ancestors(graph, {first, second} | blocked)
    near: dict[str, set[str]] = {name: set() for name in inside}
    for name in inside:
        district = _district(graph, name, inside)
        clique = district | {a for a, b in graph.edges if b in district}
        near[name] |= clique
        for other in clique:
            near[other] |= clique
    reached, new = {first}, {first}
    while new:
        new = set().union(*(near[name] for name in new)) - reached - blocked
        reached |= new
    return second not in reached
