"""A short run of the fuzzers, the same one every time; `make fuzz` runs them for as long as one likes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import targets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairstress as fs

short = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
slow = settings(short, max_examples=12)  # where an example is an audit

NAMES = ["a", "x", "z", "y", '"x y"', '"é\\""', "a.b", "1", "fair", "-x", "[latent]"]
PIECES = {
    "graph_text": [
        *NAMES,
        "->",
        "<-",
        "<->",
        "=fair=>",
        ",",
        ";",
        "\n",
        "#",
        '"',
        "\\",
        "digraph {",
        " ",
        "--",
        "\x00",
    ],
    "graph_dot": [
        *[*NAMES, "digraph", "dag", "strict", "{", "}", "[", "]", "=", "->", "<->", "--", ";", ",", "//", "/*", "*/"],
        *[
            "dir=both",
            "dir=back",
            "fair=true",
            "latent",
            "label=<b>",
            "<",
            ">",
            "subgraph",
            "node",
            "edge",
            "bb=",
            "\n",
        ],
    ],
    "settings": [
        *[
            'data = "p.csv"\n',
            'graph = "a -> x -> z; x <-> z"\n',
            'protected = "a"\n',
            'outcome = "y"\n',
            "[options]\n",
        ],
        *[
            "[report]\n",
            "[profile]\n",
            "[columns.x]\n",
            "penalty = ",
            "p_max = ",
            "sizes = ",
            "cv = ",
            "kinds = ",
            "kind = ",
        ],
        *[
            '"log"\n',
            "[1, 2]\n",
            "{x = 1}\n",
            "-1\n",
            "1e400\n",
            "nan\n",
            "true\n",
            "2020-01-01\n",
            "'''",
            '"',
            "#",
            "=",
        ],
    ],
    "results": [
        *[
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "null",
            "true",
            "NaN",
            "-1",
            "1e999",
            '"schema"',
            ": 5",
            ": 1",
            '"kind"',
            '"data"',
        ],
        *['"graph"', '"cfu"', '""', '"\\ud800"', "\n", " "],
    ],
    "table": [
        *["a,x,z,y\n", "1,2,3,4\n", "m,0.5,1,2\n", "f,1e400,,NA\n", ";", ",", '"', '""', "\n", "\r", "\t", "1,5", "x"],
        *["\ufeff", "\x00", "é", "2020-01-01", "01", "-", "inf", " "],
    ],
}


@st.composite
def texts(draw, target: str) -> bytes:
    """Pieces of what a parser reads, in any order, with anything between them."""
    pieces = st.one_of(st.sampled_from(PIECES[target]), st.sampled_from(PIECES[target]), st.text(max_size=3))
    text = "".join(draw(st.lists(pieces, max_size=30)))
    head = {
        "graph_text": "a -> x; ",
        "graph_dot": "digraph { a -> x; ",
        "results": '{"schema": 5, ',
        "table": "a,x,y\n",
    }
    start = head.get(target, "".join(PIECES["settings"][:4])) if draw(st.booleans()) else ""
    return (start + text).encode("utf-8", "replace")


@pytest.mark.parametrize("target", list(PIECES))
def test_whatever_a_parser_is_given_it_reads_or_refuses_in_one_line(target):
    @short
    @given(texts(target))
    def check(data):
        targets.TARGETS[target](data)

    check()


names = st.text(min_size=1, max_size=8).filter(lambda name: name not in "ay" and "&" not in name)


@st.composite
def graphs(draw) -> fs.CausalGraph:
    features = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    order = ["a", *features]
    possible = [(p, c) for i, p in enumerate(order) for c in order[i + 1 :]]
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) or [possible[0]]
    pairs = draw(st.lists(st.sampled_from(possible), unique=True))
    fair = draw(st.lists(st.sampled_from(edges), unique=True))
    return fs.CausalGraph(edges=edges, pairs=pairs, fair_edges=fair, nodes=order, **targets.ENDS)


@short
@given(graphs())
def test_every_graph_survives_every_notation(graph):
    assert fs.CausalGraph.parse(graph.to_text(), **targets.ENDS) == graph
    assert fs.CausalGraph.from_dot(graph.to_dot(), **targets.ENDS) == graph
    assert fs.CausalGraph.from_dict(**json.loads(json.dumps(graph.to_dict()))) == graph
    again = fs.CausalGraph.from_networkx(
        graph.to_networkx(), pairs=graph.pairs, fair_edges=graph.fair_edges, **targets.ENDS
    )
    assert set(again.edges) == set(graph.edges)


@pytest.fixture(scope="module")
def audit() -> fs.Audit:
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z; a <-> x", **targets.ENDS)
    frame = fs.datasets.simulate(graph, 60, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, graph, **given, random_state=0)


odd_numbers = st.one_of(
    st.floats(), st.integers(), st.none(), st.text(max_size=3), st.sampled_from([0.999999, -0.5, 1])
)


@short
@given(st.one_of(st.floats(-1, 1), odd_numbers), st.one_of(st.floats(-1, 1), odd_numbers))
def test_a_correlation_is_refused_or_has_a_finite_cfu(audit, p, q):
    found = targets.read(lambda: audit.cfu({("x", "z"): p, ("a", "x"): q}))
    assert found is None or 0 <= found < np.inf


cells = {
    "numbers": st.floats(allow_nan=False),
    "few": st.sampled_from([0, 1, 2]),
    "words": st.sampled_from(["n", "s", "é", ""]),
    "either": st.one_of(st.floats(), st.none(), st.text(max_size=2), st.booleans()),
}


@slow
@pytest.mark.filterwarnings("ignore::fairstress.errors.FairstressWarning")
@given(st.data())
def test_a_table_is_refused_or_has_a_claim_that_holds_under_model_a(data):
    n = 24
    columns = {"a": data.draw(st.lists(st.sampled_from(["f", "m"]), min_size=n, max_size=n))}
    for name in ("x", "z", "y"):
        kind = data.draw(st.sampled_from(list(cells)))
        columns[name] = data.draw(st.lists(cells[kind], min_size=n, max_size=n))
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", **targets.ENDS)
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0, "cv": 2}
    audit = targets.read(lambda: fs.Audit.fit(pd.DataFrame(columns), graph, **given, random_state=0))
    if isinstance(audit, fs.Audit):
        found = targets.read(lambda: audit.cfu({("x", "z"): 0.3}))
        assert found is None or 0 <= found < np.inf
