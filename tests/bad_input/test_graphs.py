"""Graphs that cannot be read, or that describe no model: text, DOT, dagitty, dicts and networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from fairstress import CausalGraph
from fairstress.errors import GraphError

ENDS = {"protected": "race", "outcome": "zfya"}
DOT_ARROW = "is not a directed or bidirected edge: write '->' or '<->'"

TEXTS = [
    ("race -> a -> b -> c -> a", "the graph has a cycle: a -> b -> c -> a; remove one of these edges"),
    ("race -> x; x -> race", "the graph has a cycle: race -> x -> race"),
    ("race -> " + " -> ".join(f"x{i}" for i in range(40)) + " -> x0", "cycle: x0 -> x1 -> x2"),
    ("race -> race", "'race' is joined to itself: remove this edge"),
    ("race -> a; a <-> a", "'a' is joined to itself: remove this pair"),
    ("race -> lsat; lsat <-> lsta", "a pair names 'lsta', which no edge names; did you mean 'lsat'?"),
    ("race -> lsat; lsat <-> ugpa", "a feature without edges is declared by writing its name alone"),
    ("rcae -> lsat", "the protected attribute 'race' is not in the graph; did you mean 'rcae'?"),
    ("RACE -> lsat", "the protected attribute 'race' is not in the graph; did you mean 'RACE'?"),
    ("", "the protected attribute 'race' is not in the graph"),
    ("  \n ; # nothing", "the protected attribute 'race' is not in the graph"),
    ("race", "the graph has no features: it names only race"),
    ("race -> zfya", "the graph has no features: it names only race, zfya"),
    ("race -> lsat; zfya -> lsat", "the outcome 'zfya' is a parent of 'lsat': reverse or remove 'zfya -> lsat'"),
    (
        "race -> lsat -> zfya; lsat <-> zfya",
        "the pair lsat <-> zfya names the outcome, which has no structural equation",
    ),
    ("race -> lsat ->", "cannot read 'race -> lsat ->': a name is missing after '->'"),
    ("race -> lsat <->", "a name is missing after '<->'"),
    ("race =fair=>", "a name is missing after '=fair=>'"),
    ("race -> -> lsat", "cannot read 'race -> -> lsat' at '->': write 'a -> b'"),
    ("race, -> lsat", "cannot read 'race , -> lsat' at '->'"),
    (", race -> lsat", "cannot read ', race -> lsat' at ','"),
    ("-> race", "cannot read '-> race' at '->'"),
    ('race -> "lsat" "ugpa"', "at 'ugpa': write 'a -> b'"),
    ('race -> "lsat', "the graph text has a quotation mark (\") that is never closed: '\"lsat'"),
    ('race -> ""', "edge ('race', '') is not a tuple of two names"),
    ('race -> lsat; ""', "nodes holds '': give names, as text that is not empty"),
    ("race <-- lsat", "write '->', '<-', '<->' or '=fair=>', or put the name in quotes"),
    ("race -- lsat", "cannot read 'race -- lsat': write '->'"),
    ("race -> lsat > ugpa", "cannot read 'lsat > ugpa'"),
    ("race => lsat", "cannot read 'race => lsat': write '->'"),
    ("race -> -lsat", "cannot read '-lsat'"),
    ("race =fair= lsat", "the protected attribute 'race' is not in the graph"),
    ("race -> lsat; lsat =fair=> race", "the graph has a cycle"),
    ("digraph { race -> lsat }", "but starts with 'digraph { ra': give it to from_dot"),
    ("dag { race -> lsat }", "but starts with 'dag { race -': give it to from_dagitty"),
]

DOTS = [
    ("", "does not start with 'digraph {' or 'dag {': only directed graphs can be read"),
    ("race -> lsat", "does not start with 'digraph {'"),
    ("graph { race -- lsat }", "only directed graphs can be read"),
    ("pdag { race -> lsat }", "only directed graphs can be read"),
    ("digraph race -> lsat", "does not start with 'digraph {'"),
    ("digraph { race -> lsat", "the graph has no '}' at its end: part of the text may be missing"),
    ("digraph { race -> {lsat ugpa }", "the graph has a '{' that is never closed"),
    ("digraph { race -> lsat } lsat -> ugpa", "the graph has no '}' at its end"),
    ("digraph { race -> lsat } lsat -> ugpa }", "cannot read the graph at '}': a name is expected there"),
    ("digraph { race -> lsat [dir=both }", "the graph has a '[' that is never closed"),
    ("digraph { race -> lsat [ }", "the graph has a '[' that is never closed"),
    ("digraph { race -> lsat [dir= ] }", "cannot read the attributes at '= ]"),
    ("digraph { race -> lsat [= both] }", "cannot read the attributes at '= both]': write [key=value, ...]"),
    ("digraph { race -> lsat [label=<b] }", "a label in '<...>' that is never closed"),
    ('digraph { race -> "lsat }', 'a quotation mark (") that is never closed'),
    ("digraph { race -> lsat /* dropped }", "a comment ('/*') that is never closed: '/* dropped }'"),
    ("digraph { race -- lsat }", f"'race -- lsat' {DOT_ARROW}"),
    ("dag { race @-@ lsat }", f"'race @-@ lsat' {DOT_ARROW}"),
    ("dag { race @-> lsat }", DOT_ARROW),
    ("digraph { race -> lsat [dir=none] }", f"'race -> lsat' {DOT_ARROW}"),
    ("digraph { race -> lsat [dir=NONE] }", f"'race -> lsat' {DOT_ARROW}"),
    (
        "digraph { race -> lsat [dir=bth] }",
        "cannot read 'dir=bth' of 'race -> lsat': write 'both', 'back' or 'forward'",
    ),
    ("dag { race <-> lsat [dir=back] }", "cannot read 'dir=back' of 'race <-> lsat'"),
    ("digraph { edge [dir=both]; race -> lsat }", "cannot read 'edge [dir=...]': give each edge its own direction"),
    (
        "digraph { edge [fair=true]; race -> lsat }",
        "cannot read 'edge [fair=...]': give each edge or node its own label",
    ),
    ("dag { node [latent]; u -> lsat; race -> lsat }", "cannot read 'node [latent=...]'"),
    ("dag { u [latent=perhaps]; u -> lsat; race -> lsat }", "cannot read 'latent=perhaps' of 'u': write [latent]"),
    ("dag { race -> lsat [fair=perhaps] }", "cannot read 'fair=perhaps' on '->': write 'a -> b [fair=true]'"),
    ("dag { race -> lsat; race <-> lsat [fair=true] }", "cannot read 'fair=true' on '<->'"),
    ("dag { race -> ; lsat }", "cannot read the graph at ';': a name is expected there"),
    ("dag { race -> }", "cannot read the graph at 'the end': a name is expected there"),
    ("dag { race -> {lsat -> ugpa} }", "cannot read the graph at '->': only names may stand inside '{ }'"),
    ("dag { race -> lsat = 3 }", "cannot read the graph at '=': only a setting such as 'rankdir=LR' has one"),
    ("dag { rankdir= ; race -> lsat }", "cannot read the graph at '=': a value is expected behind it"),
    ("dag { race -> lsat; ] }", "cannot read the graph at ']'"),
    ("digraph { subgraph c { race -> lsat } }", "cannot read 'subgraph': write the graph without subgraphs"),
    ("digraph { Subgraph c { race -> lsat } }", "cannot read 'Subgraph'"),
    ('digraph { race -> "ls" + "at" }', "cannot read '+': write the graph without subgraphs and joined names"),
    (
        "dag { u [latent]; race -> u; u -> lsat }",
        "'u' is latent but 'race' causes it: only hidden causes without parents",
    ),
    ("dag { race [latent]; race -> lsat }", "the protected attribute 'race' is not in the graph"),
    ('digraph { race -> "" }', "edge ('race', '') is not a tuple of two names"),
    ("digraph { race -> race }", "'race' is joined to itself"),
    ("digraph { race -> lsat -> ugpa -> lsat }", "the graph has a cycle: lsat -> ugpa -> lsat"),
]

OBJECTS = [
    ("text that is none", lambda: CausalGraph.parse(None, **ENDS), "the graph is a NoneType: give text"),
    ("text in bytes", lambda: CausalGraph.parse(b"race -> x", **ENDS), "the graph is a bytes: give text"),
    ("a dict as text", lambda: CausalGraph.parse({"x": ["race"]}, **ENDS), "use another CausalGraph.from_... method"),
    ("DOT that is none", lambda: CausalGraph.from_dot(3, **ENDS), "the graph is a int: give text"),
    ("dagitty that is none", lambda: CausalGraph.from_dagitty([], **ENDS), "the graph is a list: give text"),
    (
        "no outcome",
        lambda: CausalGraph.parse("race -> x", protected="race", outcome=None),
        "outcome is None: give the name",
    ),
    (
        "an empty outcome",
        lambda: CausalGraph.parse("race -> x", protected="race", outcome=""),
        "outcome is '': give the name",
    ),
    (
        "two outcomes",
        lambda: CausalGraph.parse("race -> x", protected="race", outcome=["y", "z"]),
        "outcome is ['y', 'z']",
    ),
    (
        "a column as outcome",
        lambda: CausalGraph.parse("race -> x", protected="race", outcome=pd.Series([1, 2])),
        "outcome is 0",
    ),
    (
        "NaN as outcome",
        lambda: CausalGraph.parse("race -> x", protected="race", outcome=float("nan")),
        "outcome is nan",
    ),
    (
        "one name for both ends",
        lambda: CausalGraph.parse("race -> x", protected="race", outcome="race"),
        "'race' is named both as the protected attribute and as the outcome",
    ),
    (
        "nothing protected",
        lambda: CausalGraph.parse("race -> x", protected=None, outcome="y"),
        "protected is None: give the name",
    ),
    (
        "an empty tuple protected",
        lambda: CausalGraph.parse("race -> x", protected=(), outcome="y"),
        "protected is (): give the name",
    ),
    (
        "numbers protected",
        lambda: CausalGraph.parse("race -> x", protected=(1, 2), outcome="y"),
        "protected is (1, 2): give the name",
    ),
    (
        "one of two protected columns unknown",
        lambda: CausalGraph.parse("race -> x", protected=("race", "sx"), outcome="y"),
        "the protected attribute 'sx' is not in the graph",
    ),
    (
        "a list of parents",
        lambda: CausalGraph.from_dict(["race", "x"], **ENDS),
        "parents is ['race', 'x']: give {feature: parents}",
    ),
    ("no parents", lambda: CausalGraph.from_dict(None, **ENDS), "parents is None: give {feature: parents}"),
    (
        "parents as text",
        lambda: CausalGraph.from_dict({"x": "race"}, **ENDS),
        "the parents of 'x' are 'race': give a list of names",
    ),
    (
        "parents of nothing",
        lambda: CausalGraph.from_dict({"x": None}, **ENDS),
        "the parents of 'x' are None: give a list",
    ),
    ("parents as a number", lambda: CausalGraph.from_dict({"x": 3}, **ENDS), "the parents of 'x' are 3: give a list"),
    (
        "parents as a dict",
        lambda: CausalGraph.from_dict({"x": {"race": 1}}, **ENDS),
        "the parents of 'x' are {'race': 1}",
    ),
    (
        "a nameless parent",
        lambda: CausalGraph.from_dict({"x": [None]}, **ENDS),
        "edge (None, 'x') is not a tuple of two names",
    ),
    (
        "a nameless feature",
        lambda: CausalGraph.from_dict({1: ["race"]}, **ENDS),
        "parents names 1: give the name of a feature",
    ),
    (
        "no pairs at all",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs=None, **ENDS),
        "pairs is None: give a list of tuples",
    ),
    (
        "pairs as a number",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs=3, **ENDS),
        "pairs is 3: give a list of tuples",
    ),
    (
        "pairs as text",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs="x <-> z", **ENDS),
        "pairs is 'x <-> z': give a list",
    ),
    (
        "a pair of one",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs=[("x",)], **ENDS),
        "pair ('x',) is not a tuple of two names",
    ),
    (
        "a pair of three",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs=[tuple("xyz")], **ENDS),
        "pair ('x', 'y', 'z') is not",
    ),
    (
        "a pair as text",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs=["ab"], **ENDS),
        "pair 'ab' is not a tuple of two names",
    ),
    (
        "a pair of numbers",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs=[(0, 1)], **ENDS),
        "pair (0, 1) is not a tuple",
    ),
    (
        "a matrix of pairs",
        lambda: CausalGraph.from_dict({"x": ["race"]}, pairs=np.eye(2), **ENDS),
        "pairs is array([[1., 0.], [0., 1.]])",
    ),
    (
        "a fair edge that is none",
        lambda: CausalGraph.from_dict({"x": ["race"]}, fair_edges=[("x", "race")], **ENDS),
        "the fair edge 'x -> race' is not an edge of the graph; the graph has 'race -> x': add it or drop the label",
    ),
    (
        "fair edges as text",
        lambda: CausalGraph.from_dict({"x": ["race"]}, fair_edges="race", **ENDS),
        "fair_edges is 'race'",
    ),
    (
        "no networkx graph",
        lambda: CausalGraph.from_networkx(None, **ENDS),
        "the graph is a NoneType: give a networkx DiGraph",
    ),
    (
        "a dict as networkx graph",
        lambda: CausalGraph.from_networkx({}, **ENDS),
        "the graph is a dict: give a networkx DiGraph",
    ),
    (
        "an undirected graph",
        lambda: CausalGraph.from_networkx(nx.Graph([("race", "x")]), **ENDS),
        "give a DiGraph, whose edges point",
    ),
    (
        "an empty graph",
        lambda: CausalGraph.from_networkx(nx.DiGraph(), **ENDS),
        "the protected attribute 'race' is not in the graph",
    ),
    ("no edges", lambda: CausalGraph(edges=None, **ENDS), "edges is None: give a list of tuples of two names"),
    (
        "edges as a dict",
        lambda: CausalGraph(edges={"race": "x"}, **ENDS),
        "edges is {'race': 'x'}: give a list of tuples",
    ),
    (
        "an edge without order",
        lambda: CausalGraph(edges=[{"race", "x"}], **ENDS),
        "is not a tuple of two names, such as ('ugpa', 'lsat')",
    ),
    (
        "nodes as text",
        lambda: CausalGraph(edges=[("race", "x")], nodes="xyz", **ENDS),
        "nodes is 'xyz': give a list of names",
    ),
    (
        "nodes that are numbers",
        lambda: CausalGraph(edges=[("race", "x")], nodes=[1], **ENDS),
        "nodes holds 1: give names",
    ),
    ("parents of a stranger", lambda: LAW.parents("lsta"), "'lsta' is not in the graph; did you mean 'lsat'?"),
    ("parents of None", lambda: LAW.parents(None), "None is not in the graph"),
    ("descendants of a list", lambda: LAW.descendants(["lsat"]), "['lsat'] is not in the graph"),
    ("drawn on a list", lambda: LAW.plot(ax=[1]), "ax is [1]: give matplotlib Axes"),
]

LAW = CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", **ENDS)


@pytest.mark.parametrize(("text", "sentence"), TEXTS)
def test_text_that_is_no_graph(text, sentence, refuses):
    refuses(lambda: CausalGraph.parse(text, **ENDS), sentence, GraphError)


@pytest.mark.parametrize(("text", "sentence"), DOTS)
def test_dot_and_dagitty_that_are_no_graph(text, sentence, refuses):
    refuses(lambda: CausalGraph.from_dot(text, **ENDS), sentence, GraphError)
    refuses(lambda: CausalGraph.from_dagitty(text, **ENDS), sentence, GraphError)


@pytest.mark.parametrize(("call", "sentence"), [case[1:] for case in OBJECTS], ids=[case[0] for case in OBJECTS])
def test_objects_that_are_no_graph(call, sentence, refuses):
    refuses(call, sentence)
