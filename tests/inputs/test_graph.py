from __future__ import annotations

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from fairstress import CausalGraph
from fairstress.errors import GraphError
from fairstress.inputs.edges import topological_order

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


# ---------------------------------------------------------------- nothing is lost


@pytest.mark.parametrize("direction", ["both", "Both", "BOTH", '"both"', '"Both"'])
def test_a_pair_in_dot_is_one_however_its_direction_is_spelt(direction):
    graph = CausalGraph.from_dot(f"digraph {{ race -> {{x z}}; x -> z [dir={direction}] }}", **ENDS)
    assert graph.pairs == (("x", "z"),)
    assert ("x", "z") not in graph.edges


def test_names_and_values_of_attributes_may_stand_in_quotes_and_labels_be_marked_up():
    dot = """digraph {
        race [label=<the <b>latent</b> "one" [race], dir=both>]
        race -> {x z} [ "weight" = 2 ; label = "latent, dir=back" ]
        x -> z ["dir"="both" "style"=bold] }"""
    graph = CausalGraph.from_dot(dot, **ENDS)
    assert graph.pairs == (("x", "z"),)
    assert graph.edges == (("race", "x"), ("race", "z"))


@pytest.mark.parametrize(
    ("label", "is_latent"),
    [
        ("latent", True),
        ("latent=true", True),
        ('Latent="True"', True),
        ("unobserved", True),
        ("latent=1, unobserved=no", True),
        ("latent=false", False),
        ('latent="False"', False),
        ("unobserved=0", False),
        ("observed", False),
        ('label="latent"', False),
    ],
)
def test_a_node_is_latent_if_it_says_so_and_not_if_it_denies_it(label, is_latent):
    graph = CausalGraph.from_dagitty(f"dag {{ U [{label}]; U -> x; U -> z; race -> x -> z }}", **ENDS)
    assert ("U" not in graph.nodes) == is_latent
    assert bool(graph.pairs) == is_latent


@pytest.mark.parametrize(
    "name", ["back\\slash", "ends\\", "\\", '\\"', "a\\\nb", "a\\nb", "\\\\", "a\nb", "//", "/*", "#x"]
)
def test_backslashes_line_ends_and_comment_marks_in_names_survive_dot_and_text(name):
    graph = CausalGraph(edges=(("race", name), ("race", "x")), pairs=((name, "x"),), **ENDS)
    assert CausalGraph.from_dot(graph.to_dot(), **ENDS) == graph
    assert CausalGraph.parse(graph.to_text(), **ENDS) == graph


def test_a_comment_separates_names_as_a_space_does():
    assert CausalGraph.from_dot("digraph { race/* a */-> {x/**/z} // end\n}", **ENDS).features == ("x", "z")


# ---------------------------------------------------------------- long texts; benchmarks/graph_texts.py has the growth

MANY = 200_000  # marks: what grows with the square of the text would take hours


@pytest.mark.parametrize("filler", [";", "\n", "/* */ ", "// a\n"])
def test_a_long_dot_text_of_fillers_is_read(filler):
    assert CausalGraph.from_dot("digraph { race -> x " + filler * MANY + "}", **ENDS).features == ("x",)


@pytest.mark.parametrize("opening", ["/* ", '"', '"' + '\\"', "[a ", "[a=<"])
def test_a_long_dot_text_that_never_closes_is_refused(opening):
    with pytest.raises(GraphError):
        CausalGraph.from_dot("digraph { race -> x " + opening * MANY + "}", **ENDS)


def test_a_long_text_of_semicolons_is_read():
    assert CausalGraph.parse("race -> x" + ";" * MANY, **ENDS).features == ("x",)


def test_a_graph_of_many_names_is_written_and_read_in_every_notation():
    graph = CausalGraph(edges=tuple(("race", f"x{i}") for i in range(4_000)), **ENDS)
    assert CausalGraph.parse(graph.to_text(), **ENDS) == graph
    assert CausalGraph.from_dot(graph.to_dot(), **ENDS) == graph
    assert CausalGraph.from_dict(**graph.to_dict()) == graph
    assert len(graph.to_frame()) == 4_000


def test_a_dict_keeps_the_order_of_features_without_edges():
    graph = CausalGraph(edges=[("a", "x")], nodes=["a", "x", "b"], protected="a", outcome="y")
    assert graph.features == ("x", "b")
    assert CausalGraph.from_dict(**graph.to_dict()) == graph


def random_graph(seed, n=12):
    """A graph whose causes are drawn among those before them, in a hidden order; named and listed in another."""
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in rng.permutation(n)]
    edges = [(names[i], names[j]) for j in range(n - 1) for i in range(j) if rng.uniform() < 0.25]
    rng.shuffle(edges)
    edges = [*map(tuple, edges), (names[0], names[n - 2])]
    fair = tuple(dict.fromkeys(edge for edge in edges if rng.uniform() < 0.3))
    named = tuple(rng.permutation(names[: n - 1]))
    return CausalGraph(edges=tuple(edges), nodes=named, fair_edges=fair, protected=names[0], outcome=names[-1])


@pytest.mark.parametrize("seed", range(20))
def test_descendants_are_those_of_networkx(seed):
    graph = random_graph(seed)
    arrows = graph.to_networkx()
    for name in graph.nodes:
        assert graph.descendants(name) == nx.descendants(arrows, name)
    arrows.remove_edges_from(graph.fair_edges)
    assert graph.reached == nx.descendants(arrows, graph.protected)


@pytest.mark.parametrize("seed", range(20))
def test_names_are_ordered_causes_first_and_otherwise_as_they_are_first_named(seed):
    rng = np.random.default_rng(seed)
    named = [f"v{i}" for i in range(12)]
    hidden = rng.permutation(12)
    edges = [(named[hidden[i]], named[hidden[j]]) for j in range(12) for i in range(j) if rng.uniform() < 0.2]
    arrows = nx.DiGraph(edges)
    arrows.add_nodes_from(named)
    assert topological_order(named, edges) == list(nx.lexicographical_topological_sort(arrows, key=named.index))


def test_a_long_chain_in_reverse_is_ordered():
    named = [f"v{i}" for i in range(20_000)]
    assert topological_order(named, list(zip(named[1:], named, strict=False))) == named[::-1]


def test_reading_a_graph_and_walking_along_it_imports_no_networkx():
    program = (
        "import sys, fairstress as fs\n"
        "graph = fs.CausalGraph.parse('a -> x, z; x -> z; a <-> x <-> z <-> a', protected='a', outcome='y')\n"
        "graph.descendants('a'), graph.reached\n"
        "print('networkx' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
