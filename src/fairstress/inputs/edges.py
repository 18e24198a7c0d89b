"""Edges and pairs of a graph: checks that name the culprit, and the order of causes before effects."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairstress.errors import GraphError, did_you_mean
from fairstress.inputs.notation import Edge

if TYPE_CHECKING:
    import networkx as nx  # at run time imported where it is used: it takes as long to import as all the rest


def as_edge(edge: Iterable[str], kind: str) -> Edge:
    """Check that an edge or pair joins two different names."""
    ends = () if isinstance(edge, str) else tuple(edge)
    if len(ends) != 2 or not all(isinstance(end, str) and end for end in ends):
        raise GraphError(f"{kind} {edge!r} is not a tuple of two names, such as ('ugpa', 'lsat')")
    if ends[0] == ends[1]:
        raise GraphError(f"'{ends[0]}' is joined to itself: remove this {kind}")
    return ends[0], ends[1]


def check_names(named: list[str], pairs: list[Edge], protected: str, outcome: str) -> None:
    """Check that the protected attribute and the ends of pairs are variables of the graph."""
    if protected == outcome:
        raise GraphError(f"'{protected}' is named both as the protected attribute and as the outcome")
    if protected not in named:
        raise GraphError(f"the protected attribute '{protected}' is not in the graph{did_you_mean(protected, named)}")
    for name in itertools.chain.from_iterable(pairs):
        if name not in named and name != outcome:
            raise GraphError(
                f"a pair names '{name}', which no edge names{did_you_mean(name, named)} "
                f"(a feature without edges is declared by writing its name alone)"
            )


def check_ends(edges: list[Edge], pairs: list[Edge], outcome: str) -> None:
    """Check that the outcome causes nothing and stands in no pair."""
    for cause, effect in edges:
        if cause == outcome:
            raise GraphError(
                f"the outcome '{outcome}' is a parent of '{effect}': reverse or remove '{outcome} -> {effect}', "
                "an outcome causes no feature"
            )
    for pair in pairs:
        if outcome in pair:
            raise GraphError(
                f"the pair {pair[0]} <-> {pair[1]} names the outcome, which has no structural equation: remove it, "
                "or make that variable a feature and name another outcome"
            )


def check_fair(fair: list[Edge], edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """Put fair edges in the order of the edges; refuse those that are none."""
    for a, b in fair:
        if (a, b) not in edges:
            near = f"; the graph has '{b} -> {a}'" if (b, a) in edges else ""
            raise GraphError(f"the fair edge '{a} -> {b}' is not an edge of the graph{near}: add it or drop the label")
    return tuple(edge for edge in edges if edge in fair)


def topological_order(named: list[str], edges: list[Edge]) -> list[str]:
    """Order the names causes first, ties by first naming; refuse a cycle by showing it."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(edges)
    graph.add_nodes_from(named)
    first = {name: position for position, name in enumerate(named)}
    try:
        return list(nx.lexicographical_topological_sort(graph, key=first.__getitem__))
    except nx.NetworkXUnfeasible:
        loop = [edge[0] for edge in nx.find_cycle(graph)]
        start = loop.index(min(loop, key=first.__getitem__))
        path = " -> ".join([*loop[start:], *loop[:start], loop[start]])
        raise GraphError(f"the graph has a cycle: {path}; remove one of these edges") from None
