"""What a graph implies is what d-separation says of the graph in which each pair has a hidden cause of its own."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.diagnostics.implied import independences, separated, ties


def with_hidden_causes(graph: fs.CausalGraph) -> nx.DiGraph:
    hidden = nx.DiGraph(list(graph.edges))
    hidden.add_nodes_from(graph.nodes)
    hidden.add_edges_from((f"hidden {i}", end) for i, pair in enumerate(graph.pairs) for end in pair)
    return hidden


def random_graph(seed: int) -> fs.CausalGraph:
    rng, names = np.random.default_rng(seed), ["v0", "v1", "a", "v3", "v4", "v5"]
    two = list(itertools.combinations(names, 2))
    edges = [pair for pair in two if rng.uniform() < 0.35]
    pairs = [pair for pair in two if rng.uniform() < 0.25]
    return fs.CausalGraph(edges=edges, pairs=pairs, nodes=names, protected="a", outcome="y")


@pytest.mark.parametrize("seed", range(25))
def test_m_separation_is_d_separation_with_a_hidden_cause_for_each_pair(seed):
    graph, rng = random_graph(seed), np.random.default_rng([seed, 1])
    whole = with_hidden_causes(graph)
    parted = nx.is_d_separator if hasattr(nx, "is_d_separator") else nx.d_separated
    names = [name for name in graph.nodes if name != "y"]
    for first, second in itertools.combinations(names, 2):
        rest = [name for name in names if name not in (first, second)]
        given = {name for name in rest if rng.uniform() < 0.4}
        expected = parted(whole, {first}, {second}, given)
        assert separated(graph, first, second, given) == expected


@pytest.mark.parametrize("seed", range(25))
def test_every_two_variables_that_some_set_parts_are_tested_and_no_others(seed):
    graph = random_graph(seed)
    names = [name for name in graph.nodes if name != "y"]
    found = {(one.first, one.second): one.given for one in independences(graph)}
    for first, second in itertools.combinations(names, 2):
        rest = [name for name in names if name not in (first, second)]
        sets = itertools.chain.from_iterable(itertools.combinations(rest, k) for k in range(len(rest) + 1))
        can_be_parted = any(separated(graph, first, second, given) for given in sets)
        assert ((first, second) in found) == can_be_parted
        if can_be_parted:
            assert separated(graph, first, second, found[first, second])


def tie_of(text: str, name: str, **options):
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0, **options).frame
    kinds = {"x": "ordered"} if options.get("kinds") else None
    degrees = dict.fromkeys(graph.features, 1)
    return ties(fs.Audit.fit(frame, graph, degrees=degrees, penalty=1, kinds=kinds, predictor_degree=1).fitted)[name]


def test_an_equation_that_absorbs_all_that_is_tied_to_it_keeps_its_form_and_its_normal_errors():
    tie = tie_of("a -> x, z; x -> z; x <-> z", "z")
    assert tie.others == ("x",)
    assert tie.is_free
    assert tie.keeps_form


def test_a_missing_edge_below_a_pair_lets_hidden_causes_change_the_form():
    assert not tie_of("a -> x; x -> z; x <-> z", "z").keeps_form


def test_levels_above_a_pair_are_never_absorbed():
    assert not tie_of("a -> x, z; x -> z; x <-> z", "z", kinds={"x": "ordered"}).is_free


def test_a_hidden_cause_of_attribute_and_feature_keeps_the_form_but_not_the_shape():
    tie = tie_of("a -> x; a <-> x", "x")
    assert tie.keeps_form
    assert tie.by_protected
    assert not tie.is_free
    assert tie_of("a -> x; a <-> x", "x", binary=False).is_free  # a numeric attribute is absorbed
    assert not tie_of("u -> a -> x; a <-> x", "x").keeps_form  # x depends on u given a


def test_a_pair_beside_the_ancestors_does_not_matter():
    assert tie_of("a -> x, z; x <-> z", "z").others == ()
