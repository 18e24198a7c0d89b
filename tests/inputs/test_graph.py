from __future__ import annotations

import networkx as nx
import pytest

from fairstress import CausalGraph
from fairstress.errors import GraphError

LAW = CausalGraph.parse(
    "race -> ugpa; race -> lsat; ugpa -> lsat; ugpa <-> lsat; race <-> lsat", protected="race", outcome="zfya"
)
ENDS = {"protected": "race", "outcome": "zfya"}


def test_text_gives_features_parents_and_pairs():
    assert LAW.features == ("ugpa", "lsat")
    assert LAW.parents("lsat") == ("race", "ugpa")
    assert LAW.parents("ugpa") == ("race",)
    assert LAW.pairs == (("race", "lsat"), ("ugpa", "lsat"))
    assert LAW.descendants("race") == {"ugpa", "lsat"}


@pytest.mark.parametrize(
    "text",
    [
        "race -> ugpa, lsat; ugpa -> lsat; lsat <-> ugpa, race",
        "race -> ugpa -> lsat\nlsat <- race\nugpa <-> lsat <-> race",
        "# a comment\nrace ->\n  ugpa,\n  lsat\nrace, ugpa -> lsat # twice\n\nlsat <-> ugpa; race <-> lsat;",
    ],
)
def test_chains_several_names_line_ends_and_comments_read_as_the_plain_form(text):
    assert CausalGraph.parse(text, **ENDS) == LAW


def test_dict_networkx_dot_and_dagitty_give_the_same_graph_as_text():
    pairs = [("lsat", "ugpa"), ("race", "lsat")]
    assert CausalGraph.from_dict({"ugpa": ["race"], "lsat": ["race", "ugpa"]}, pairs=pairs, **ENDS) == LAW
    digraph = nx.DiGraph([("race", "ugpa"), ("race", "lsat"), ("ugpa", "lsat")])
    assert CausalGraph.from_networkx(digraph, pairs=pairs, **ENDS) == LAW
    dot = """strict digraph law { rankdir=LR; node [shape=box]; race [label="the latent race"];
        race -> {ugpa lsat}; "ugpa" -> lsat [weight=2] // drawn bold
        ugpa -> lsat [dir=both, style=dashed]; race -> lsat [dir="both"] }"""
    assert CausalGraph.from_dot(dot, **ENDS) == LAW
    dagitty = """dag {
        bb="0,0,1,1"
        race [exposure,pos="0,1"]
        race -> ugpa -> lsat
        race -> lsat ugpa <-> lsat
        lsat <-> race }"""
    assert CausalGraph.from_dagitty(dagitty, **ENDS) == LAW


def test_a_latent_common_cause_in_dagitty_is_a_pair():
    text = "dag { U [latent]; U -> ugpa; U -> lsat; race -> ugpa -> lsat }"
    graph = CausalGraph.from_dagitty(text, **ENDS)
    assert graph.pairs == (("ugpa", "lsat"),)
    assert graph.features == ("ugpa", "lsat")


def test_text_to_graph_to_text_is_the_identity_on_its_own_output():
    text = "race -> ugpa; race -> lsat; ugpa -> lsat; race <-> lsat; ugpa <-> lsat"
    assert LAW.to_text() == str(LAW) == text
    assert CausalGraph.parse(text, **ENDS) == LAW


def test_names_that_the_notation_would_cut_are_quoted_and_come_back():
    graph = CausalGraph(
        edges=(("race", "a -> b"), ("race", 'sa"y; #')),
        pairs=(("a -> b", 'sa"y; #'),),
        nodes=("lone, one",),
        **ENDS,
    )
    assert CausalGraph.parse(graph.to_text(), **ENDS) == graph


def test_features_stand_causes_first_and_otherwise_in_order_of_naming():
    graph = CausalGraph.parse("z -> c; race -> b; c -> b; race -> a", **ENDS)
    assert graph.features == ("z", "c", "b", "a")
    assert graph.parents("z") == ()


def test_the_protected_attribute_may_have_parents_and_the_outcome_may_be_an_effect():
    graph = CausalGraph.parse("region -> race -> lsat -> zfya; region -> lsat", **ENDS)
    assert graph.parents("race") == ("region",)
    assert graph.features == ("region", "lsat")
    assert graph.descendants("race") == {"lsat", "zfya"}


def test_cliques_are_the_maximal_sets_of_pairwise_confounded_features():
    graph = CausalGraph.parse("race -> a, b, c, d; a <-> b <-> c <-> a; c <-> d", **ENDS)
    assert graph.cliques() == [("a", "b", "c"), ("c", "d")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("race -> a -> b -> c -> a", "cycle: a -> b -> c -> a"),
        ("race -> race", "'race' is joined to itself"),
        ("race -> a; a <-> a", "'a' is joined to itself"),
        ("race -> lsat; lsat <-> lsta", "'lsta', which no edge names; did you mean 'lsat'"),
        ("rcae -> lsat", "'race' is not in the graph; did you mean 'rcae'"),
        ("race -> lsat; zfya -> lsat", "the outcome 'zfya' is a parent of 'lsat'"),
        ("race -> lsat -> zfya; lsat <-> zfya", "names the outcome"),
        ("race -> lsat ->", "a name is missing after '->'"),
        ("race -> -> lsat", "cannot read"),
        ("race, -> lsat", "cannot read"),
        ('race -> "lsat', "never closed"),
        ("race -> zfya", "no features"),
    ],
)
def test_errors_name_the_culprit(text, message):
    with pytest.raises(GraphError, match=message.replace("(", r"\(")):
        CausalGraph.parse(text, **ENDS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { race -- lsat }", "does not start with 'digraph {' or 'dag {'"),
        ("digraph { race -- lsat }", "'race -- lsat' is not a directed"),
        ("dag { race -> { lsat }", "never closed"),
        ("dag { race -> ; lsat }", "a name is expected"),
        ("dag { U [latent]; race -> U; U -> lsat }", "'U' is latent but 'race' causes it"),
    ],
)
def test_dot_errors_name_the_culprit(text, message):
    with pytest.raises(GraphError, match=message):
        CausalGraph.from_dagitty(text, **ENDS)


@pytest.mark.parametrize(
    "text",
    [
        'digraph "my graph" { race -> x; race -> z; x -> z [dir=both][style=bold]; };',
        'digraph { race:e -> {x z} [URL="http://example"]; {rank=same; x z} x -> z [dir="both"] }',
        'dag { race -> x; race -> z [label="dir=both"]; z -> x [dir=both] }',
        "digraph { x -> race [dir=back]; race -> z; x <-> z }",
    ],
)
def test_dot_in_other_dress_reads_the_same(text):
    graph = CausalGraph.from_dot(text, **ENDS)
    assert set(graph.edges) == {("race", "x"), ("race", "z")}
    assert {frozenset(pair) for pair in graph.pairs} == {frozenset("xz")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph { edge [dir=both]; race -> x }", "give each edge its own direction"),
        ("digraph { race -> x [dir=none] }", "'race -> x' is not a directed"),
        ("digraph { subgraph c { race -> x } }", "cannot read 'subgraph'"),
        ('digraph { race -> "x" + "y" }', r"cannot read '\+'"),
    ],
)
def test_dot_that_means_something_else_is_refused(text, message):
    with pytest.raises(GraphError, match=message):
        CausalGraph.from_dot(text, **ENDS)


@pytest.mark.parametrize("text", ["race <-- x", "race -- x", "race -> x > y"])
def test_fragments_of_arrows_are_not_names(text):
    with pytest.raises(GraphError, match="write '->', '<-', '<->' or '=fair=>'"):
        CausalGraph.parse(text, **ENDS)


def test_wrong_python_objects_are_refused_with_a_sentence():
    with pytest.raises(GraphError, match="the parents of 'lsat' are 'race': give a list"):
        CausalGraph.from_dict({"lsat": "race"}, **ENDS)
    with pytest.raises(GraphError, match="the parents of 'lsat' are None"):
        CausalGraph.from_dict({"lsat": None}, **ENDS)
    with pytest.raises(GraphError, match="the graph is a NoneType: give text"):
        CausalGraph.parse(None, **ENDS)
    with pytest.raises(GraphError, match="undirected"):
        CausalGraph.from_networkx(nx.Graph([("race", "lsat")]), **ENDS)
    with pytest.raises(GraphError, match="pair 'ab' is not a tuple of two names"):
        CausalGraph(edges=(("race", "lsat"),), pairs=("ab",), **ENDS)
    with pytest.raises(GraphError, match="'lsta' is not in the graph; did you mean 'lsat'"):
        LAW.parents("lsta")
    with pytest.raises(GraphError, match="both as the protected attribute and as the outcome"):
        CausalGraph.parse("race -> lsat", protected="race", outcome="race")
