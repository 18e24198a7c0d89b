"""What a terminal shows of a result is one line, and results can be compared and put into sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> x, z; a <-> z", protected="a", outcome="y")
WIDER = fs.CausalGraph.parse("a -> x, z, w; x -> z, w; x <-> z; z <-> w", protected="a", outcome="y")


def fitted(graph: fs.CausalGraph = GRAPH) -> fs.Audit:
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    degrees = dict.fromkeys(graph.features, 1)
    return fs.Audit.fit(frame, graph, degrees=degrees, penalty=0, predictor_degree=1, random_state=0)


@pytest.fixture(scope="module")
def audit() -> fs.Audit:
    return fitted()


@pytest.mark.parametrize(
    ("ask", "start"),
    [
        (lambda audit: audit, "<Audit of y for a: 300 rows; a -> x; a -> z; a <-> z; summary() says more>"),
        (lambda audit: audit.profile(("a", "z"), [0, 0.5]), "<Profile of a <-> z at 2 correlations: up to "),
        (lambda audit: audit.worst_case(0.5), "<WorstCase: largest CFU "),
        (lambda audit: audit.certificate(0.3, cells=3), "<Certificate: CFU "),
        (lambda audit: audit.curve([0, 0.5]), "<Curve of 2 pairwise budgets: up to "),
        (lambda audit: audit.diagnostics(), "<Diagnostics of 300 people: 0 alarms in "),
        (lambda audit: audit.frontier(0.5, [1]), "<Frontier of 2 predictors, pairwise budget, p_max = 0.5; "),
    ],
)
def test_a_result_is_one_line_that_names_the_way_to_more(audit, ask, start):
    shown = repr(ask(audit))
    assert shown.startswith(start)
    assert shown.endswith("summary() says more>")
    assert len(shown) < 120


# ---------------------------------------------------------------- every result

P = {("a", "z"): 0.3}
GIVEN: dict[str, Callable[[fs.Audit], Any]] = {
    "audit": lambda audit: audit,
    "settings": lambda audit: audit.settings,
    "model_a": lambda audit: audit.model_a,
    "baselines": lambda audit: audit.baselines["blind"],
    "robust_predictor": lambda audit: audit.robust(0.3, 1).robust_predictor,
    "refit": lambda audit: audit.refit(penalty=1),
    "diagnostics": lambda audit: audit.diagnostics(P),
    "check": lambda audit: audit.check(),
    "model_b": lambda audit: audit.model_b(P),
    "estimate": lambda audit: audit.estimate(P, bands=39),
    "profile": lambda audit: audit.profile(("a", "z"), [0, 0.5]),
    "contour": lambda _: fitted(WIDER).contour(*WIDER.pairs, [0, 0.2]),
    "cause_contour": lambda audit: audit.cause_contour([0, 0.2], [0, 0.2]),
    "worst_case": lambda audit: audit.worst_case(0.3),
    "certificate": lambda audit: audit.certificate(0.3, cells=3),
    "curve": lambda audit: audit.curve([0, 0.3]),
    "breaking_point": lambda audit: audit.breaking_point(0.1, highest=0.5),
    "bounds": lambda audit: audit.bounds(audit.effect("z"), 0.3)[0],
    "frontier": lambda audit: audit.frontier(0.3, [1]),
    "robust": lambda audit: audit.robust(0.3, 1),
    "cfu_of_group": lambda audit: audit.cfu_of_group(1),
    "flips": lambda audit: audit.flips(0.1),
    "total effect": lambda _: fitted(WIDER).effect("z"),
    "direct effect": lambda _: fitted(WIDER).effect("z", "direct"),
    "indirect effect": lambda _: fitted(WIDER).effect("z", "indirect"),
    "coefficient": lambda _: fitted(WIDER).coefficient("z", "a"),
    "people": lambda audit: audit.people(P),
    "plausibility": lambda audit: audit.plausibility(),
    "benchmarks": lambda _: fitted(WIDER).benchmarks(pairs="all"),
    "report": lambda audit: audit.report(
        p_max=0.3, sizes=[0, 0.3], grid=[0, 0.3], threshold=0, levels={"much": (0.1, "so")}, thorough=True
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_every_result_of_an_audit_is_shown_in_one_line(audit, name):
    shown = repr(GIVEN[name](audit))
    assert "\n" not in shown
    assert len(shown) < 200


BY_VALUE = {
    "Benchmark",
    "BreakingPoint",
    "Check",
    "Comparison",
    "Diagnostic",
    "FeaturePlausibility",
    "Finding",
    "HiddenCause",
    "Level",
    "Settings",
}
BY_VALUE |= {"SpecificationCheck", "Verdict"}
RECORDS = {"Audit", *fs.results.__all__} - {"Functional"}  # which is a protocol


def records(value: Any) -> Iterator[tuple[str, Any]]:
    """A result and the results that it holds, by the names of their types."""
    if type(value).__name__ in RECORDS:
        yield type(value).__name__, value
    if type(value).__name__ == "Benchmark":
        yield from records(value.hidden_cause(1))
    if is_dataclass(value) and not isinstance(value, fs.Audit):
        value = tuple(getattr(value, part.name) for part in fields(value))
    if isinstance(value, tuple):
        for part in value:
            yield from records(part)


def test_results_of_every_type_can_be_compared_and_put_into_sets(audit):
    everything = [[dict(records(ask(one))) for ask in GIVEN.values()] for one in (audit, fitted())]
    first, second = ({name: one for part in parts for name, one in part.items()} for parts in everything)
    assert set(first) == RECORDS
    for name, one in first.items():
        other = second[name]
        assert (one == other) is (name in BY_VALUE), name  # all others by identity
        assert one == one
        assert one != "something else"
        assert len({one, other}) == (1 if name in BY_VALUE else 2), name


def test_functionals_can_be_compared_and_put_into_sets(audit):
    names = ("cfu_of_group", "flips", "total effect", "direct effect", "indirect effect", "coefficient")
    functionals = [GIVEN[name](audit) for name in names]
    assert all(isinstance(one, fs.results.Functional) for one in functionals)
    assert [[one == other for other in functionals] for one in functionals] == [
        [i == j for j in range(len(names))] for i in range(len(names))
    ]
    assert len(set(functionals)) == len(names)
