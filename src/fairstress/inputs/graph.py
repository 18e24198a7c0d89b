"""The causal graph: an acyclic directed mixed graph with a protected attribute, features and an outcome."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstress.errors import GraphError, did_you_mean, show
from fairstress.inputs import notation
from fairstress.inputs.edges import (
    as_edges,
    as_list,
    as_names,
    check_ends,
    check_fair,
    check_names,
    is_name,
    topological_order,
)
from fairstress.inputs.notation import Edge, Statements

JOINT = " & "  # between the names, and the levels, of protected columns that are taken together

if TYPE_CHECKING:
    import networkx as nx  # at run time imported where it is used: it takes as long to import as all the rest
    from matplotlib.axes import Axes


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
        Names of the protected attribute and of the outcome. Several protected columns, as a tuple, are one attribute
        whose levels are their combinations.
    nodes
        Features that no edge names, or an order of first naming that differs from that of the edges.
    fair_edges
        Edges along which the protected attribute's influence is called fair. A path from it is unfair if none of its
        edges is. In text: ``race =fair=> ugpa``.

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
    fair_edges: tuple[Edge, ...] = ()
    features: tuple[str, ...] = field(init=False)  # in topological order
    protected_columns: tuple[str, ...] = field(init=False)  # one, or several that are taken together

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # the way to fill a frozen record with its canonical form
        for name, value in _merge_protected(self).items():
            set_field(self, name, value)
        edges = as_edges(self.edges, "edge", "edges")
        pairs = as_edges(self.pairs, "pair", "pairs")
        named = dict.fromkeys([*as_names(self.nodes, "nodes"), *itertools.chain.from_iterable(edges)])
        check_names(named, pairs, self.protected, self.outcome)
        check_ends(edges, pairs, self.outcome)
        order = topological_order(list(named), edges)
        rank = {name: position for position, name in enumerate(order)}
        set_field(self, "edges", tuple(sorted(set(edges), key=lambda e: (rank[e[1]], rank[e[0]]))))
        set_field(self, "fair_edges", check_fair(as_edges(self.fair_edges, "fair edge", "fair_edges"), self.edges))
        ordered = {tuple(sorted(pair, key=rank.__getitem__)) for pair in pairs}
        set_field(self, "pairs", tuple(sorted(ordered, key=lambda p: (rank[p[0]], rank[p[1]]))))
        set_field(self, "nodes", tuple(order))
        set_field(self, "features", tuple(n for n in order if n not in (self.protected, self.outcome)))
        if not self.features:
            raise GraphError(f"the graph has no features: it names only {', '.join(order)}")

    # ------------------------------------------------------------ ways in

    @classmethod
    def parse(cls, text: str, *, protected: str | Sequence[str], outcome: str) -> CausalGraph:
        """Read ``a -> b; a <-> b`` text.

        Statements end at ``;`` or at the end of a line. Chains (``a -> b -> c``), several names on a side
        (``a -> b, c``), ``<-``, comments (``# ...``) and quoted names are understood; a name alone declares a feature
        without edges. ``a =fair=> b`` is an edge that is called fair.

        Parameters
        ----------
        text
            The statements.
        protected
            Name of the protected attribute; several names, as a tuple, are one attribute whose levels are
            their combinations.
        outcome
            Name of the outcome.

        Examples
        --------
        >>> text = "race =fair=> ugpa; race, ugpa -> lsat; ugpa <-> lsat"
        >>> graph = CausalGraph.parse(text, protected="race", outcome="zfya")
        >>> graph.edges
        (('race', 'ugpa'), ('race', 'lsat'), ('ugpa', 'lsat'))
        >>> graph.fair_edges
        (('race', 'ugpa'),)
        >>> graph.pairs
        (('ugpa', 'lsat'),)
        """
        kind = notation.kind_of(_as_text(text))
        if kind != "parse":
            raise GraphError(f"the text is no 'a -> b; a <-> b', but starts with {show(text[:12])}: give it to {kind}")
        return cls._of(notation.read_text(text), protected, outcome)

    @classmethod
    def from_dict(
        cls,
        parents: Mapping[str, Iterable[str]],
        *,
        pairs: Iterable[Edge] = (),
        protected: str | Sequence[str],
        outcome: str,
        fair_edges: Iterable[Edge] = (),
    ) -> CausalGraph:
        """Build a graph from ``{feature: its parents}``; features stand in the order of the dict, causes first.

        Parameters
        ----------
        parents
            ``{feature: its parents}``.
        pairs
            Pairs of variables that may share a hidden cause; default none.
        protected
            Name of the protected attribute; several names, as a tuple, are one attribute whose levels are
            their combinations.
        outcome
            Name of the outcome.
        fair_edges
            Edges along which the protected attribute's influence is called fair; default none.

        Examples
        --------
        >>> parents = {"ugpa": ["race"], "lsat": ["race", "ugpa"]}
        >>> print(CausalGraph.from_dict(parents, pairs=[("ugpa", "lsat")], protected="race", outcome="zfya"))
        race -> ugpa; race -> lsat; ugpa -> lsat; ugpa <-> lsat
        """
        if not isinstance(parents, Mapping):
            raise GraphError(f"parents is {show(parents)}: give {{feature: parents}}, such as {{'lsat': ['race']}}")
        causes = {child: _parents_of(child, listed) for child, listed in parents.items()}
        edges = tuple((parent, child) for child, listed in causes.items() for parent in listed)
        ends: dict[str, Any] = {"pairs": pairs, "fair_edges": fair_edges, "protected": protected, "outcome": outcome}
        return cls(edges=edges, nodes=tuple(causes), **ends)

    @classmethod
    def from_networkx(
        cls,
        graph: nx.DiGraph[Any],
        *,
        pairs: Iterable[Edge] = (),
        protected: str | Sequence[str],
        outcome: str,
        fair_edges: Iterable[Edge] = (),
    ) -> CausalGraph:
        """Take nodes and edges of a networkx ``DiGraph``.

        Parameters
        ----------
        graph
            Edges point from cause to effect.
        pairs
            Pairs of variables that may share a hidden cause; default none.
        protected
            Name of the protected attribute; several names, as a tuple, are one attribute whose levels are
            their combinations.
        outcome
            Name of the outcome.
        fair_edges
            Edges along which the protected attribute's influence is called fair; default none.

        Examples
        --------
        >>> import networkx as nx
        >>> arrows = nx.DiGraph([("race", "ugpa"), ("race", "lsat"), ("ugpa", "lsat")])
        >>> print(CausalGraph.from_networkx(arrows, pairs=[("ugpa", "lsat")], protected="race", outcome="zfya"))
        race -> ugpa; race -> lsat; ugpa -> lsat; ugpa <-> lsat
        """
        import networkx as nx

        if not isinstance(graph, nx.Graph):
            raise GraphError(f"the graph is a {type(graph).__name__}: give a networkx DiGraph")
        if not graph.is_directed():
            raise GraphError("the networkx graph is undirected: give a DiGraph, whose edges point from cause to effect")
        nodes = tuple(str(node) for node in graph.nodes)
        edges = tuple((str(a), str(b)) for a, b in graph.edges())
        ends: dict[str, Any] = {"pairs": pairs, "fair_edges": fair_edges, "protected": protected, "outcome": outcome}
        return cls(edges=edges, nodes=nodes, **ends)

    @classmethod
    def from_dot(cls, text: str, *, protected: str | Sequence[str], outcome: str) -> CausalGraph:
        """Read a DOT ``digraph``; ``a -> b [dir=both]`` is a pair, ``a -> b [fair=true]`` a fair edge.

        Parameters
        ----------
        text
            The DOT source.
        protected
            Name of the protected attribute; several names, as a tuple, are one attribute whose levels are
            their combinations.
        outcome
            Name of the outcome.

        Examples
        --------
        >>> text = 'digraph { race -> ugpa; race -> lsat; ugpa -> lsat; ugpa -> lsat [dir=both]; }'
        >>> print(CausalGraph.from_dot(text, protected="race", outcome="zfya"))
        race -> ugpa; race -> lsat; ugpa -> lsat; ugpa <-> lsat
        """
        return cls._of(notation.read_dot(_as_text(text)), protected, outcome)

    @classmethod
    def from_dagitty(cls, text: str, *, protected: str | Sequence[str], outcome: str) -> CausalGraph:
        """Read dagitty's ``dag { ... }``; ``<->`` is a pair, a ``[latent]`` common cause a pair of each two effects.

        Parameters
        ----------
        text
            What dagitty shows as model code.
        protected
            Name of the protected attribute; several names, as a tuple, are one attribute whose levels are
            their combinations.
        outcome
            Name of the outcome.

        Examples
        --------
        >>> text = "dag { race -> {ugpa lsat} ugpa -> lsat ugpa <-> lsat }"
        >>> print(CausalGraph.from_dagitty(text, protected="race", outcome="zfya"))
        race -> ugpa; race -> lsat; ugpa -> lsat; ugpa <-> lsat
        """
        return cls._of(notation.read_dot(_as_text(text)), protected, outcome)

    @classmethod
    def _of(cls, statements: Statements, protected: str | Sequence[str], outcome: str) -> CausalGraph:
        """Build the graph of a text's statements, hidden common causes turned into pairs."""
        hidden, effects = statements.latent, notation.group_by_effect((b, a) for a, b in statements.edges)
        for cause, effect in statements.edges:
            if effect in hidden:
                raise GraphError(
                    f"'{effect}' is latent but '{cause}' causes it: only hidden causes without parents can be read"
                )
        shared = [pair for name in sorted(hidden) for pair in itertools.combinations(effects.get(name, []), 2)]
        ends: dict[str, Any] = {"protected": protected, "outcome": outcome}
        return cls(
            edges=tuple(edge for edge in statements.edges if edge[0] not in hidden),
            pairs=tuple(statements.pairs + shared),
            **ends,
            nodes=tuple(node for node in statements.nodes if node not in hidden),
            fair_edges=tuple(statements.fair),
        )

    # ------------------------------------------------------------ what it says

    def parents(self, name: str) -> tuple[str, ...]:
        """Give the direct causes of a variable, the protected attribute first.

        Parameters
        ----------
        name
            Name of a variable of the graph.
        """
        known = self._known(name)
        return self._protected_first(a for a, b in self.edges if b == known)

    def _protected_first(self, causes: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(causes, key=lambda parent: parent != self.protected))

    @property
    def confounds_protected(self) -> bool:
        """Whether some pair names the protected attribute itself."""
        return any(self.protected in pair for pair in self.pairs)

    def descendants(self, name: str) -> frozenset[str]:
        """Give everything that a variable causes, directly or not.

        Parameters
        ----------
        name
            Name of a variable of the graph.
        """
        return _reached(self._known(name), self.edges)

    @property
    def reached(self) -> frozenset[str]:
        """Everything that an unfair path from the protected attribute leads to.

        Examples
        --------
        >>> graph = CausalGraph.parse("race =fair=> ugpa; race -> lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> sorted(graph.reached)
        ['lsat']
        """
        fair = set(self.fair_edges)
        return _reached(self.protected, (edge for edge in self.edges if edge not in fair))

    def cliques(self) -> list[tuple[str, ...]]:
        """Give the maximal sets of variables whose errors may all be correlated with each other.

        Examples
        --------
        >>> graph = CausalGraph.parse("a -> x, z, u; x <-> z; z <-> u", protected="a", outcome="y")
        >>> graph.cliques()
        [('x', 'z'), ('z', 'u')]
        """
        import networkx as nx

        pair_graph: nx.Graph[str] = nx.Graph(list(self.pairs))
        rank = {name: position for position, name in enumerate(self.nodes)}
        return sorted(
            (tuple(sorted(clique, key=rank.__getitem__)) for clique in nx.find_cliques(pair_graph)),
            key=lambda c: [rank[n] for n in c],
        )

    def to_networkx(self) -> nx.DiGraph[str]:
        """Give the directed edges as a networkx ``DiGraph``."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def to_frame(self) -> pd.DataFrame:
        """One row per edge and pair: ``first, second, kind``, which is "edge", "fair edge" or "pair".

        Examples
        --------
        >>> text = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat"
        >>> graph = CausalGraph.parse(text, protected="race", outcome="zfya")
        >>> print(graph.to_frame().to_string(index=False))
        first second kind
         race   ugpa edge
         race   lsat edge
         ugpa   lsat edge
         ugpa   lsat pair
        """
        fair = set(self.fair_edges)
        kinds = ["fair edge" if edge in fair else "edge" for edge in self.edges] + ["pair"] * len(self.pairs)
        ends = [*self.edges, *self.pairs]
        return pd.DataFrame({"first": [a for a, _ in ends], "second": [b for _, b in ends], "kind": kinds})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the graph: arrows, dashed where called fair; dotted arcs between errors that may be correlated.

        Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Where to draw, default new Axes.
        """
        from fairstress.report.plots.graphs import plot_graph

        return plot_graph(self, ax)

    def _repr_svg_(self) -> str | None:
        """The drawing, for notebooks; None without the extra ``plot``, where the text stands in its place."""
        from fairstress.report.plots.graphs import graph_as_svg

        return graph_as_svg(self)

    def to_dict(self) -> dict[str, Any]:
        """Give the arguments with which `from_dict` makes this graph, in types that JSON has.

        Examples
        --------
        >>> graph = CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
        >>> graph.to_dict()["parents"]
        {'race': [], 'ugpa': ['race'], 'lsat': ['ugpa']}
        >>> CausalGraph.from_dict(**graph.to_dict()) == graph
        True
        """
        columns, causes = self.protected_columns, notation.group_by_effect(self.edges)
        return {
            "parents": {name: list(self._protected_first(causes.get(name, ()))) for name in self.nodes},
            "pairs": [list(pair) for pair in self.pairs],
            "protected": columns[0] if len(columns) == 1 else list(columns),
            "outcome": self.outcome,
            "fair_edges": [list(edge) for edge in self.fair_edges],
        }

    def to_text(self) -> str:
        """Write the text that `parse` reads back to this graph."""
        return notation.write_text(self.nodes, self.edges, self.pairs, self.fair_edges)

    def to_dot(self) -> str:
        """Write the DOT text that `from_dot` reads back to this graph."""
        return notation.write_dot(self.nodes, self.edges, self.pairs, self.fair_edges)

    def __str__(self) -> str:
        return self.to_text()

    def _known(self, name: str) -> str:
        if not isinstance(name, str) or name not in self.nodes:
            raise GraphError(f"{show(name)} is not in the graph{did_you_mean(name, self.nodes)}")
        return name


# ---------------------------------------------------------------- checks


def _merge_protected(graph: CausalGraph) -> dict[str, Any]:
    """Make several protected columns one node, to which all their edges and pairs belong."""
    given: Any = graph.protected
    if isinstance(given, str):
        return {"protected_columns": (given,)}
    columns = tuple(given) if isinstance(given, tuple | list) else ()
    if not columns or not all(is_name(column) for column in columns):
        raise GraphError(f"protected is {show(given)}: give the name of a column, or a tuple of names")
    own, merged = set(columns), JOINT.join(columns)
    ends = {"edge": "edges", "pair": "pairs", "fair edge": "fair_edges"}
    joined = {name: as_edges(getattr(graph, name), kind, name) for kind, name in ends.items()}
    nodes = as_names(graph.nodes, "nodes")
    named = {*nodes, *itertools.chain.from_iterable(joined["edges"])}
    for column in columns:
        if column not in named and merged not in named:
            raise GraphError(f"the protected attribute {show(column)} is not in the graph{did_you_mean(column, named)}")
    fields: dict[str, Any] = {"protected": merged, "protected_columns": columns}
    for name, edges in joined.items():
        renamed = [tuple(merged if end in own else end for end in edge) for edge in edges]
        fields[name] = tuple(edge for edge in renamed if len(set(edge)) > 1)
    fields["nodes"] = tuple(dict.fromkeys(merged if node in own else node for node in nodes))
    return fields


def _parents_of(child: Any, parents: Any) -> list[Any]:
    """What a dict lists as the parents of one feature."""
    if not is_name(child):
        raise GraphError(f"parents names {show(child)}: give the name of a feature")
    return as_list(parents, f"the parents of '{child}' are", "a list of names")


def _reached(name: str, edges: Iterable[Edge]) -> frozenset[str]:
    """What some edges of a graph lead to from a variable; they are ordered by their effects, causes before effects."""
    found = {name}
    for cause, effect in edges:
        if cause in found:
            found.add(effect)
    return frozenset(found - {name})


def _as_text(text: Any) -> str:
    if not isinstance(text, str):
        raise GraphError(f"the graph is a {type(text).__name__}: give text, or use another CausalGraph.from_... method")
    return text


def read_graph(graph: Any) -> CausalGraph:
    """Refuse what is no graph yet, saying what makes one of it."""
    if isinstance(graph, CausalGraph):
        return graph
    ends = "protected='...', outcome='...'"
    if isinstance(graph, str):
        kind = notation.kind_of(graph)
        raise GraphError(
            f"the graph is text, which does not say what is protected and what is the outcome: give "
            f"CausalGraph.{kind}({show(graph)}, {ends})"
        )
    makers = {"from_dict": isinstance(graph, Mapping), "from_networkx": hasattr(graph, "is_directed")}
    maker = next((name for name, fits in makers.items() if fits), "parse")
    example = "graph" if makers.get(maker) else "'a -> x; x <-> z'"
    raise GraphError(
        f"the graph is a {type(graph).__name__}: give a CausalGraph, such as CausalGraph.{maker}({example}, {ends})"
    )
