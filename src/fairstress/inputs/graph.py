"""The causal graph: an acyclic directed mixed graph with a protected attribute, features and an outcome."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairstress.errors import GraphError, did_you_mean
from fairstress.inputs import notation
from fairstress.inputs.notation import Edge, Statements

if TYPE_CHECKING:
    import networkx as nx  # at run time imported where it is used: it takes as long to import as all the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalGraph:
    """Who causes whom (``edges``) and which errors a hidden cause may correlate (``pairs``).

    Features stand in a stable topological order: causes before effects, otherwise in the order in which they are first
    named. The outcome has no structural equation; edges into it are kept and drawn, edges out of it are refused.

    Parameters
    ----------
    edges
        ``(cause, effect)`` tuples.
    pairs
        Bidirected edges: pairs of variables that may share an unmeasured cause.
    protected, outcome
        Names of the protected attribute and of the outcome.
    nodes
        Features that no edge names, or an order of first naming that differs from that of the edges.

    Examples
    --------
    >>> graph = CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    >>> graph.features
    ('ugpa', 'lsat')
    >>> graph.parents("lsat")
    ('race', 'ugpa')
    >>> print(graph)
    race -> ugpa; race -> lsat; ugpa -> lsat; ugpa <-> lsat
    """

    edges: tuple[Edge, ...]
    pairs: tuple[Edge, ...] = ()
    protected: str
    outcome: str
    nodes: tuple[str, ...] = ()
    features: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        edges = [_as_edge(edge, "edge") for edge in self.edges]
        pairs = [_as_edge(pair, "pair") for pair in self.pairs]
        named = list(dict.fromkeys([*self.nodes, *itertools.chain.from_iterable(edges)]))
        _check_names(named, pairs, self.protected, self.outcome)
        _check_ends(edges, pairs, self.outcome)
        order = _topological_order(named, edges)
        rank = {name: position for position, name in enumerate(order)}
        set_field = object.__setattr__  # the way to fill a frozen record with its canonical form
        set_field(self, "edges", tuple(sorted(set(edges), key=lambda e: (rank[e[1]], rank[e[0]]))))
        ordered = {tuple(sorted(pair, key=rank.__getitem__)) for pair in pairs}
        set_field(self, "pairs", tuple(sorted(ordered, key=lambda p: (rank[p[0]], rank[p[1]]))))
        set_field(self, "nodes", tuple(order))
        set_field(self, "features", tuple(n for n in order if n not in (self.protected, self.outcome)))
        if not self.features:
            raise GraphError(f"the graph has no features: it names only {', '.join(order)}")

    # ------------------------------------------------------------ ways in

    @classmethod
    def parse(cls, text: str, *, protected: str, outcome: str) -> CausalGraph:
        """Read ``a -> b; a <-> b`` text.

        Statements end at ``;`` or at the end of a line. Chains (``a -> b -> c``), several names on a side
        (``a -> b, c``), ``<-``, comments (``# ...``) and quoted names are understood; a name alone declares a feature
        without edges.
        """
        return cls._of(notation.read_text(_as_text(text)), protected, outcome)

    @classmethod
    def from_dict(
        cls,
        parents: Mapping[str, Iterable[str]],
        *,
        pairs: Iterable[Edge] = (),
        protected: str,
        outcome: str,
    ) -> CausalGraph:
        """Build a graph from ``{feature: its parents}``."""
        for child, its_parents in parents.items():
            if isinstance(its_parents, str) or not isinstance(its_parents, Iterable):
                raise GraphError(f"the parents of '{child}' are {its_parents!r}: give a list of names")
        edges = tuple((parent, child) for child, its_parents in parents.items() for parent in its_parents)
        roots = tuple(child for child, its_parents in parents.items() if not list(its_parents))
        return cls(edges=edges, pairs=tuple(pairs), protected=protected, outcome=outcome, nodes=roots)

    @classmethod
    def from_networkx(
        cls,
        graph: nx.DiGraph[Any],
        *,
        pairs: Iterable[Edge] = (),
        protected: str,
        outcome: str,
    ) -> CausalGraph:
        """Take nodes and edges of a networkx ``DiGraph``."""
        if not graph.is_directed():
            raise GraphError("the networkx graph is undirected: give a DiGraph, whose edges point from cause to effect")
        nodes = tuple(str(node) for node in graph.nodes)
        edges = tuple((str(a), str(b)) for a, b in graph.edges())
        return cls(edges=edges, pairs=tuple(pairs), protected=protected, outcome=outcome, nodes=nodes)

    @classmethod
    def from_dot(cls, text: str, *, protected: str, outcome: str) -> CausalGraph:
        """Read a DOT ``digraph``; ``a -> b [dir=both]`` is a pair."""
        return cls._of(notation.read_dot(_as_text(text)), protected, outcome)

    @classmethod
    def from_dagitty(cls, text: str, *, protected: str, outcome: str) -> CausalGraph:
        """Read dagitty's ``dag { ... }``; ``<->`` is a pair, a ``[latent]`` common cause a pair of each two effects."""
        return cls._of(notation.read_dot(_as_text(text)), protected, outcome)

    @classmethod
    def _of(cls, found: Statements, protected: str, outcome: str) -> CausalGraph:
        """Build the graph of a text's statements, hidden common causes turned into pairs."""
        hidden = found.latent
        for cause, effect in found.edges:
            if effect in hidden:
                raise GraphError(
                    f"'{effect}' is latent but '{cause}' causes it: only hidden causes without parents can be read"
                )
        shared = [
            pair
            for name in sorted(hidden)
            for pair in itertools.combinations([b for a, b in found.edges if a == name], 2)
        ]
        return cls(
            edges=tuple(edge for edge in found.edges if edge[0] not in hidden),
            pairs=tuple(found.pairs + shared),
            protected=protected,
            outcome=outcome,
            nodes=tuple(node for node in found.nodes if node not in hidden),
        )

    # ------------------------------------------------------------ what it says

    def parents(self, name: str) -> tuple[str, ...]:
        """Give the direct causes of a variable, the protected attribute first."""
        found = [a for a, b in self.edges if b == self._known(name)]
        return tuple(sorted(found, key=lambda parent: parent != self.protected))

    @property
    def confounds_protected(self) -> bool:
        """Whether some pair names the protected attribute itself."""
        return any(self.protected in pair for pair in self.pairs)

    def descendants(self, name: str) -> frozenset[str]:
        """Give everything that a variable causes, directly or not."""
        import networkx as nx

        return frozenset(nx.descendants(self.to_networkx(), self._known(name)))

    def cliques(self) -> list[tuple[str, ...]]:
        """Give the maximal sets of variables whose errors may all be correlated with each other."""
        import networkx as nx

        pair_graph: nx.Graph[str] = nx.Graph(list(self.pairs))
        rank = self.nodes.index
        return sorted(
            (tuple(sorted(clique, key=rank)) for clique in nx.find_cliques(pair_graph)),
            key=lambda c: [rank(n) for n in c],
        )

    def to_networkx(self) -> nx.DiGraph[str]:
        """Give the directed edges as a networkx ``DiGraph``."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def to_text(self) -> str:
        """Write the text that `parse` reads back to this graph."""
        return notation.write_text(self.nodes, self.edges, self.pairs)

    def __str__(self) -> str:
        return self.to_text()

    def _known(self, name: str) -> str:
        if name not in self.nodes:
            raise GraphError(f"'{name}' is not in the graph{did_you_mean(name, self.nodes)}")
        return name


# ---------------------------------------------------------------- checks


def _as_text(text: Any) -> str:
    if not isinstance(text, str):
        raise GraphError(f"the graph is a {type(text).__name__}: give text, or use another CausalGraph.from_... method")
    return text


def _as_edge(edge: Iterable[str], kind: str) -> Edge:
    """Check that an edge or pair joins two different names."""
    ends = () if isinstance(edge, str) else tuple(edge)
    if len(ends) != 2 or not all(isinstance(end, str) and end for end in ends):
        raise GraphError(f"{kind} {edge!r} is not a tuple of two names, such as ('ugpa', 'lsat')")
    if ends[0] == ends[1]:
        raise GraphError(f"'{ends[0]}' is joined to itself: remove this {kind}")
    return ends[0], ends[1]


def _check_names(named: list[str], pairs: list[Edge], protected: str, outcome: str) -> None:
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


def _check_ends(edges: list[Edge], pairs: list[Edge], outcome: str) -> None:
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


def _topological_order(named: list[str], edges: list[Edge]) -> list[str]:
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
