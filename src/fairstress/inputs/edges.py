"""Edges and pairs of a graph: checks that name the culprit, and the order of causes before effects."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Set
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import Any

from fairstress.arguments import is_list
from fairstress.errors import GraphError, did_you_mean, show
from fairstress.inputs.notation import Edge

LONGEST_PATH = 12  # names of a cycle that a message shows


def as_edges(edges: Any, kind: str, argument: str) -> list[Edge]:
    """Check that each edge or pair of a list joins two different names."""
    return [as_edge(edge, kind) for edge in as_list(edges, f"{argument} is", "a list of tuples of two names")]


def as_edge(edge: Any, kind: str) -> Edge:
    """Check that an edge or pair joins two different names."""
    ends = tuple(edge) if is_list(edge) and (kind == "pair" or not isinstance(edge, Set)) else ()  # which has no order
    if len(ends) != 2 or not all(is_name(end) for end in ends):
        raise GraphError(f"{kind} {show(edge)} is not a tuple of two names, such as ('ugpa', 'lsat')")
    if ends[0] == ends[1]:
        raise GraphError(f"'{ends[0]}' is joined to itself: remove this {kind}")
    return ends[0], ends[1]


def as_names(names: Any, argument: str) -> list[str]:
    """Check that a list holds names."""
    for name in (listed := as_list(names, f"{argument} is", "a list of names")):
        if not is_name(name):
            raise GraphError(f"{argument} holds {show(name)}: give names, as text that is not empty")
    return listed


def as_list(given: Any, said: str, what: str) -> list[Any]:
    """Give what an argument lists; text, dicts, tables and what cannot be gone through are no lists."""
    if not is_list(given):
        raise GraphError(f"{said} {show(given)}: give {what}")
    return list(given)


def is_name(name: Any) -> bool:
    """Whether something can be the name of a variable."""
    return isinstance(name, str) and bool(name)


def check_names(named: Iterable[str], pairs: list[Edge], protected: str, outcome: str) -> None:
    """Check that the protected attribute and the ends of pairs are variables of the graph."""
    if not is_name(outcome):
        raise GraphError(f"outcome is {show(outcome)}: give the name of a column")
    if protected == outcome:
        raise GraphError(f"'{protected}' is named both as the protected attribute and as the outcome")
    if protected not in named:
        raise GraphError(
            f"the protected attribute {show(protected)} is not in the graph{did_you_mean(protected, named)}"
        )
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
    known, called_fair = set(edges), set(fair)
    for a, b in fair:
        if (a, b) not in known:
            near = f"; the graph has '{b} -> {a}'" if (b, a) in known else ""
            raise GraphError(f"the fair edge '{a} -> {b}' is not an edge of the graph{near}: add it or drop the label")
    return tuple(edge for edge in edges if edge in called_fair)


def topological_order(named: list[str], edges: list[Edge]) -> list[str]:
    """Order the names causes first, ties by first naming; refuse a cycle by showing it."""
    rank = {name: position for position, name in enumerate(named)}
    before: TopologicalSorter[str] = TopologicalSorter()
    for name in named:
        before.add(name)
    for cause, effect in edges:
        before.add(effect, cause)
    try:
        before.prepare()
    except CycleError as problem:
        loop = problem.args[1][1:]  # it begins as it ends
        start = loop.index(min(loop, key=rank.__getitem__))
        path = " -> ".join(_cut([*loop[start:], *loop[:start], loop[start]]))
        raise GraphError(f"the graph has a cycle: {path}; remove one of these edges") from None
    order: list[str] = []
    ready = [rank[name] for name in before.get_ready()]
    heapify(ready)
    while ready:
        name = named[heappop(ready)]
        order.append(name)
        before.done(name)
        for following in before.get_ready():
            heappush(ready, rank[following])
    return order


def _cut(path: list[str]) -> list[str]:
    """Leave out the middle of a long path."""
    return path if len(path) <= LONGEST_PATH else [*path[: LONGEST_PATH - 2], "...", *path[-2:]]
