"""What is called "cannot matter" does not matter, and what is called "moves" moves."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.absorption import prove
from fairstress.analyses.check import Verdict
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import SettingError
from fairstress.functionals.cfu import CFU
from fairstress.model.embedding import Polynomial

FIXED = {"predictor_degree": 2, "predictor_penalty": 1.0}


# ---------------------------------------------------------------- random models

STRUCTURES = {  # share of the possible edges, highest degree, whether degrees never fall along the order
    "sparse and linear": (0.5, 1, True),
    "sparse": (0.5, 3, False),
    "dense, degrees that nest": (0.8, 2, True),
    "dense": (0.8, 3, False),
    "saturated, degrees that nest": (1.0, 3, True),
    "saturated": (1.0, 3, False),
}
GRAPHS = 3  # of each structure and number of features


def random_audit(rng: np.random.Generator, structure: str, n_features: int) -> fs.Audit:
    """Any pairs, and edges and degrees of a structure."""
    density, highest, nest = STRUCTURES[structure]
    names = [f"x{j}" for j in range(n_features)]
    edges = [edge for edge in itertools.combinations(["a", *names], 2) if rng.random() < density]
    if not any(cause == "a" for cause, _ in edges):
        edges.append(("a", names[0]))
    possible = list(itertools.combinations(names, 2))
    chosen = rng.choice(len(possible), rng.integers(1, len(possible) + 1), replace=False)
    pairs = tuple(possible[i] for i in chosen)
    degrees = rng.integers(1, highest + 1, n_features).tolist()
    if nest:
        degrees.sort()
    graph = fs.CausalGraph(edges=tuple(edges), pairs=pairs, protected="a", outcome="y", nodes=("a", *names))
    frame = fs.datasets.simulate(graph, 400, random_state=rng).frame
    return fs.Audit.fit(frame, graph, degrees=dict(zip(names, degrees, strict=True)), penalty=0, **FIXED)


def random_correlations(audit: fs.Audit, pairs, count: int, rng: np.random.Generator) -> np.ndarray:
    """Correlations of a pattern whose smallest eigenvalue is 0.2: far from any that a fit could lose digits to."""
    m = len(audit.variables)
    P = np.zeros((count, m, m))
    for a, b in pairs:
        j, k = audit.variables.index(a), audit.variables.index(b)
        P[:, j, k] = P[:, k, j] = rng.uniform(-1, 1, count)
    return np.eye(m) + P * (0.8 / -np.linalg.eigvalsh(P)[:, :1, None])


SEEN = {  # verdicts on all pairs together and on each alone: how many cannot matter, how many move CFU
    ("sparse and linear", 3): (1, 7),
    ("sparse and linear", 4): (5, 9),
    ("sparse and linear", 5): (17, 12),
    ("sparse", 3): (3, 5),
    ("sparse", 4): (7, 8),
    ("sparse", 5): (14, 9),
    ("dense, degrees that nest", 3): (9, 2),
    ("dense, degrees that nest", 4): (3, 9),
    ("dense, degrees that nest", 5): (10, 12),
    ("dense", 3): (9, 2),
    ("dense", 4): (3, 9),
    ("dense", 5): (8, 14),
    ("saturated, degrees that nest", 3): (9, 0),
    ("saturated, degrees that nest", 4): (14, 0),
    ("saturated, degrees that nest", 5): (25, 0),
    ("saturated", 3): (5, 2),
    ("saturated", 4): (10, 5),
    ("saturated", 5): (22, 7),
}


@pytest.mark.parametrize(("structure", "n_features"), SEEN)
def test_on_random_graphs_every_verdict_is_true(structure, n_features):
    rng = np.random.default_rng(4)
    verdicts = []
    for _ in range(GRAPHS):
        audit = random_audit(rng, structure, n_features)
        claim, variance = audit.fitted.claim, audit.fitted.outcome_variance
        for finding in audit.check().findings:
            verdicts.append(finding.verdict)
            if finding.verdict is Verdict.CANNOT_MATTER:
                P = random_correlations(audit, finding.pairs, 4, rng)
                cfu = max(e.value for e in evaluate_many(claim, P, CFU()))
                assert cfu <= 1e-18 * variance, (str(audit.graph), audit.settings.degrees, finding)
            elif finding.verdict is Verdict.MOVES:
                assert finding.cfu > 1e-18 * variance
                # a probe is one of five fits side by side, whose last digits depend on their neighbours
                np.testing.assert_allclose(audit.cfu(finding.correlation), finding.cfu, rtol=1e-6)
    cannot_matter, moves = SEEN[structure, n_features]
    assert Counter(verdicts) == Counter({Verdict.CANNOT_MATTER: cannot_matter, Verdict.MOVES: moves})  # and no other


# ---------------------------------------------------------------- law school


def law_check(frame, text, **degrees):
    graph = fs.CausalGraph.parse(text, protected="race", outcome="zfya")
    return fs.Audit.fit(frame, graph, reference="White", degrees=degrees, penalty=10, **FIXED).check()


def test_the_pair_of_the_law_school_cannot_matter_and_the_reason_names_equation_and_span(law_audit):
    found = law_audit.check()
    assert found.together.verdict is Verdict.CANNOT_MATTER
    assert found.together.reason == (
        "lsat's equation (race and ugpa, degree 2) contains ugpa and all terms of ugpa's equation (1 and race), "
        "so that it absorbs what its error shares with ugpa's."
    )
    assert "ugpa <-> lsat cannot matter" in found.summary()
    assert "it is the penalty that moves it" in found.summary().replace("\n", " ")


def test_without_the_edge_that_the_reason_names_the_pair_moves_cfu(law_frame):
    found = law_check(law_frame, "race -> ugpa -> lsat; ugpa <-> lsat", ugpa=1, lsat=2).together
    assert found.verdict is Verdict.MOVES
    assert found.cfu > 1e-3
    assert found.reason == "lsat's equation (ugpa, degree 2) lacks race, which absorbing ugpa would take."
    assert found.advice == ""  # no degree brings an edge


def test_spans_are_compared_and_not_degrees(law_frame):
    text = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat"
    # race^2 is 1: at degree 3 ugpa's equation still holds 1 and race alone
    assert law_check(law_frame, text, ugpa=3, lsat=1).together.verdict is Verdict.CANNOT_MATTER


# ---------------------------------------------------------------- rule by rule


def audited(text, degrees, **options) -> fs.Audit:
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 400, random_state=0).frame
    return fs.Audit.fit(frame, graph, degrees=degrees, penalty=0, **{**FIXED, **options})


@pytest.mark.parametrize(
    ("rule", "text", "degrees", "edge"),
    [
        ("so that it absorbs", "a -> x, z; x -> z; x <-> z", {"x": 1, "z": 1}, "a -> z"),
        ("have the same terms (1 and a)", "a -> x, z; x <-> z", {"x": 1, "z": 2}, "a -> z"),
        (
            "The terms of x's equation (1 and a) are all in the equation of v",
            "a -> x, z, v; x -> z; z -> v; x <-> v; v",
            {"x": 1, "z": 1, "v": 1},
            "a -> v",
        ),
        (
            "x and z are linear in these features and share all other terms (1 and a)",
            "a -> x, z, v; x -> z; z <-> v",
            {"x": 1, "z": 1, "v": 1},
            "a -> x",
        ),
        ("z does not descend from a", "a -> x; z -> x; z <-> x", {"x": 1, "z": 1}, "z -> x"),
    ],
)
def test_a_verdict_falls_with_an_edge_that_its_reason_rests_on(rule, text, degrees, edge):
    audit = audited(text, degrees)
    found = audit.check().together
    assert found.verdict is Verdict.CANNOT_MATTER
    assert rule in found.reason
    without = replace(audit.graph, edges=tuple(e for e in audit.graph.edges if " -> ".join(e) != edge))
    assert len(without.edges) == len(audit.graph.edges) - 1
    frame = fs.datasets.simulate(audit.graph, 400, random_state=0).frame
    again = fs.Audit.fit(frame, without, degrees=degrees, penalty=0, **FIXED).check().together
    assert again.verdict is Verdict.MOVES
    assert again.cfu > 1e-9


def test_only_direct_ties_count_for_equations_within_others():
    # z's error is tied to v's, whose equation holds nothing of x's: x still lies within the only one tied to it
    audit = audited("a -> x, z, v; u -> z; x -> v; x <-> z; z <-> v", {"x": 1, "z": 1, "v": 3, "u": 1})
    proof = prove(audit.fitted.claim.design, "a", audit.graph.pairs, ["x"], audit.graph.features)
    assert proof.is_complete
    used, features = ["x", "z", "v"], audit.graph.features
    assert not prove(audit.fitted.claim.design, "a", audit.graph.pairs, used, features).is_complete


def test_only_an_equation_that_absorbs_all_features_of_a_set_sets_them_apart():
    # z absorbs x but not v, and v does not absorb x: no two of the three can be fitted without the third
    audit = audited("a -> x, z, v; x -> z; x <-> z <-> v <-> x", {"x": 1, "z": 2, "v": 2})
    verdicts = {finding.pairs: finding.verdict for finding in audit.check().findings}
    assert verdicts == {
        (("x", "z"), ("x", "v"), ("z", "v")): Verdict.MOVES,
        (("x", "z"),): Verdict.CANNOT_MATTER,
        (("x", "v"),): Verdict.CANNOT_MATTER,
        (("z", "v"),): Verdict.MOVES,
    }


@pytest.mark.parametrize(("degree", "verdict"), [(1, Verdict.CANNOT_MATTER), (2, Verdict.MOVES)])
def test_a_square_of_a_feature_ends_the_rule_of_linear_equations(degree, verdict):
    audit = audited("a -> x, z, v, u; x -> z; x, z -> v; u <-> v", {"x": 1, "z": degree, "v": 1, "u": 1})
    assert audit.check().together.verdict is verdict


def test_pairs_that_are_harmless_alone_can_matter_together():
    audit = audited("a -> x, z, v; x -> z, v; u -> v; x <-> z; x <-> v", {"x": 1, "z": 1, "v": 2, "u": 1})
    found = audit.check()
    assert [finding.verdict for finding in found.alone] == [Verdict.CANNOT_MATTER, Verdict.CANNOT_MATTER]
    assert found.together.verdict is Verdict.MOVES
    assert "Each of them alone cannot matter." in found.summary().replace("\n", " ")
    assert audit.cfu(found.together.correlation) == pytest.approx(found.together.cfu)


def deaf(audit: fs.Audit) -> fs.Audit:
    """The same audit with a predictor that uses no residual."""
    predictor = audit.fitted.claim.predictor
    ignored = [any(power for power in e) for e in predictor.embedding.exponents]
    weights = np.where(ignored, 0.0, predictor.weights)
    claim = replace(audit.fitted.claim, predictor=replace(predictor, weights=weights))
    return replace(audit, fitted=replace(audit.fitted, claim=claim))


def test_what_the_predictor_does_not_use_cannot_matter():
    audit = audited("a -> x; x -> z; x <-> z", {"x": 1, "z": 1})
    assert audit.check().together.verdict is Verdict.MOVES
    found = deaf(audit).check().together
    assert found.verdict is Verdict.CANNOT_MATTER
    assert found.reason == "The predictor does not use the residual of x and z."


def test_the_likelihood_may_move_where_cfu_cannot():
    audit = audited("a -> x, z; x <-> z", {"x": 1, "z": 1})
    assert audit.check().together.verdict is Verdict.CANNOT_MATTER
    assert abs(audit.model_b({("x", "z"): 0.5}).log_likelihood - audit.model_a.log_likelihood) > 10


# ---------------------------------------------------------------- advice


def test_advice_names_the_degree_that_would_absorb_the_pair():
    audit = audited("a -> x, z, v; x -> z, v; z -> v; z <-> v; x <-> z", {"x": 1, "z": 2, "v": 1})
    found = audit.check()
    assert found.together.verdict is Verdict.MOVES
    assert found.together.advice == "With degree 2 for v these pairs could not matter."
    followed = audited(str(audit.graph), {"x": 1, "z": 2, "v": 2}).check()
    assert followed.together.verdict is Verdict.CANNOT_MATTER


# ---------------------------------------------------------------- where no rule speaks


class Wrapped:
    """The same columns as a polynomial's, of which the rules know nothing."""

    def __init__(self, inputs, degree):
        self._inside = Polynomial.of(inputs, degree)

    def __getattr__(self, name):
        return getattr(self._inside, name)


def test_an_embedding_that_is_no_polynomial_is_left_to_the_probe():
    audit = audited("a -> x, z; x -> z; x <-> z", {"x": 1, "z": 1}, embedding=Wrapped)
    found = audit.check().together
    assert found.verdict is Verdict.NO_RULE
    assert found.cfu < 1e-18 * audit.fitted.outcome_variance
    assert "The embedding of x is not polynomial" in found.reason
    assert "CFU is 0 up to rounding at random correlations" in audit.check().summary().replace("\n", " ")


def test_rules_do_not_speak_of_single_paths_nor_of_hidden_causes_of_the_protected_attribute():
    # the fair edge is far from a, so that CFU is what it is without: the pair of x and z is absorbed
    audit = audited("a -> x, z; x -> z; u =fair=> v; x <-> z", {"x": 1, "z": 1, "u": 1, "v": 1})
    found = audit.check().together
    assert found.verdict is Verdict.NO_RULE
    assert found.cfu <= audit.fitted.context.negligible
    assert "not about single paths" in found.reason
    wider = audited("a -> x, z; x -> z; x <-> z; a <-> z", {"x": 1, "z": 1})
    pairs = (("a", "z"), ("x", "z"))
    for one, verdict in ((wider, Verdict.MOVES), (deaf(wider), Verdict.NO_RULE)):
        findings = {finding.pairs: finding for finding in one.check().findings}
        assert findings[pairs[1:]].verdict is Verdict.CANNOT_MATTER
        for found in (findings[pairs], findings[pairs[:1]]):
            assert found.verdict is verdict
            assert "The rules assume that a shares no hidden cause with a feature; here it may." in found.reason


def test_equations_without_a_unique_fit_are_not_judged():
    graph = fs.CausalGraph.parse("a -> x, z, v; x, z -> v; x <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    frame["z"] = 2 * frame["x"]
    found = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1, "v": 1}, penalty=1, **FIXED).check().together
    assert found.verdict is Verdict.NO_RULE
    assert found.cfu is None
    assert "of v's equation is determined by its other terms" in found.reason
    assert "CFU cannot be probed" in found.reason


def test_a_graph_without_pairs_has_nothing_to_check():
    with pytest.raises(SettingError, match="names no pair of features, so that there is nothing to check"):
        audited("a -> x -> z", {"x": 1, "z": 1}).check()


# ---------------------------------------------------------------- how it is shown


def test_the_frame_has_a_row_for_all_pairs_and_one_for_each():
    audit = audited("a -> x, z, v; x -> z, v; u -> v; x <-> z; x <-> v", {"x": 1, "z": 1, "v": 2, "u": 1})
    frame = audit.check().to_frame()
    assert list(frame["pairs"]) == ["x <-> z, x <-> v", "x <-> z", "x <-> v"]
    assert list(frame["verdict"]) == ["moves CFU", "cannot matter", "cannot matter"]
    assert frame["cfu_unpenalised"].isna().tolist() == [False, True, True]
    assert frame[["x <-> z", "x <-> v"]].notna().to_numpy().tolist() == [[True, True], [False] * 2, [False] * 2]
    assert len(audited("a -> x, z; x <-> z", {"x": 1, "z": 1}).check().to_frame()) == 1


def test_a_check_is_the_same_whenever_it_is_made():
    audit = audited("a -> x; x -> z; x <-> z", {"x": 1, "z": 1})
    assert audit.check() == audit.check()
