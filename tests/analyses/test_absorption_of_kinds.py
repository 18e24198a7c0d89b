"""What is called "cannot matter" does not matter where features are of other kinds than numbers with one scale."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import fairstress as fs
from fairstress.analyses.absorption import prove
from fairstress.analyses.check import Verdict, used_residuals
from fairstress.claim.evaluate import evaluate_many, fits
from fairstress.errors import FairstressError
from fairstress.functionals.cfu import CFU

CANNOT, MOVES = Verdict.CANNOT_MATTER, Verdict.MOVES


def audited(text, kinds, degrees=1, n=500, simulate=None, **options) -> fs.Audit:
    """Data of these kinds, and an audit without penalty; one degree for all, or each feature's own."""
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, n, kinds=kinds, random_state=1, **(simulate or {})).frame
    own = degrees if isinstance(degrees, dict) else dict.fromkeys(graph.features, degrees)
    given = {name: kind for name, kind in kinds.items() if name in graph.features}
    fixed = {"penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, graph, kinds=given, degrees=own, **{**fixed, **options})


def largest_move(audit: fs.Audit, pairs, rng: np.random.Generator, count: int = 3) -> float:
    """How far CFU is from Model A's at random correlations of some pairs, as a share of the outcome's variance."""
    m = len(audit.variables)
    P = np.zeros((count, m, m))
    for a, b in pairs:
        j, k = audit.variables.index(a), audit.variables.index(b)
        P[:, j, k] = P[:, k, j] = rng.uniform(-1, 1, count)
    P = np.eye(m) + P * (0.8 / -np.linalg.eigvalsh(P)[:, :1, None])  # the smallest eigenvalue is 0.2
    base, *others = (e.value for e in evaluate_many(audit.fitted.claim, np.concatenate([np.eye(m)[None], P]), CFU()))
    return max(abs(other - base) for other in others) / audit.fitted.outcome_variance


# ---------------------------------------------------------------- random models


def random_kinds(rng: np.random.Generator, graph: fs.CausalGraph) -> tuple[dict[str, str], dict[str, list[float]]]:
    """Any kinds that the graph allows, and cuts between levels."""
    kinds, cuts = {}, {}
    for name in graph.features:
        kind = str(rng.choice(["number", "number", "number by group", "ordered", "ordered as levels"]))
        parents = graph.parents(name)
        if not parents and not any(name in pair for pair in graph.pairs) and rng.random() < 0.5:
            kind = "category"
        kinds[name] = "number" if "group" in kind and "a" not in parents else kind
        if kind.startswith("ordered"):
            count = int(rng.integers(1, 4))
            cuts[name] = (np.arange(count) - (count - 1) / 2).tolist()
    return kinds, cuts


def random_audit(rng: np.random.Generator) -> fs.Audit:
    """Any pairs, edges, degrees and kinds, and a protected attribute with two levels or three."""
    names = [f"x{j}" for j in range(rng.integers(2, 5))]
    density, ordered = rng.choice([0.6, 0.9, 1.0]), rng.choice(["expected", "expected", "leave out"])
    edges = {edge for edge in itertools.combinations(["a", *names], 2) if rng.random() < density} | {("a", "x0")}
    possible = list(itertools.combinations(names, 2))
    count = int(rng.integers(1, min(3, len(possible)) + 1))
    pairs = tuple(possible[i] for i in rng.choice(len(possible), count, replace=False))
    graph = fs.CausalGraph(edges=tuple(sorted(edges)), pairs=pairs, protected="a", outcome="y", nodes=("a", *names))
    kinds, cuts = random_kinds(rng, graph)
    levels = {name: ["p", "q", "r"] for name in kinds if kinds[name] == "category"}
    of_a = {"kinds": {"a": "category"}, "levels": {"a": ["u", "v", "w"]}} if rng.random() < 0.3 else {}
    drawn = {"kinds": {**kinds, **of_a.get("kinds", {})}, "levels": {**levels, **of_a.get("levels", {})}, "cuts": cuts}
    frame = fs.datasets.simulate(graph, 300, **drawn, random_state=rng).frame
    degrees = dict(zip(names, sorted(rng.integers(1, 3, len(names)).tolist()), strict=True))
    fixed = {"penalty": 0, "predictor_degree": int(rng.integers(1, 3)), "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, graph, kinds=kinds, degrees=degrees, ordered_residuals=str(ordered), **fixed)


def test_on_random_graphs_with_random_kinds_what_cannot_matter_does_not():
    rng = np.random.default_rng(11)
    verdicts = Counter()
    for _ in range(20):
        try:
            audit = random_audit(rng)
        except FairstressError:
            continue  # levels that parents tell without error, and the like
        for finding in audit.check().findings:
            verdicts[audit.fitted.claim.is_mixed, finding.verdict] += 1
            if finding.verdict is CANNOT:
                # fits stop where the objective falls by 1e-13 a person, which leaves ten digits of CFU
                assert largest_move(audit, finding.pairs, rng) < 1e-9, (str(audit.graph), audit.kinds, finding)
            elif finding.verdict is MOVES:
                assert abs(finding.cfu - finding.cfu_model_a) > 0
    assert verdicts[True, CANNOT] >= 8
    assert verdicts[True, MOVES] >= 8


# ---------------------------------------------------------------- numbers by group

BELOW = "a -> x, z; x -> z; x <-> z"


@pytest.mark.parametrize(
    ("x", "z", "degree", "verdict"),
    [
        ("number", "number by group", 1, CANNOT),
        ("number by group", "number by group", 1, CANNOT),
        ("number by group", "number", 1, MOVES),  # z has one weight for x, whose error has a scale for each group
        ("number by group", "number", 2, CANNOT),  # with a*x it has two
        ("log by group", "sqrt by group", 2, CANNOT),
    ],
)
def test_a_number_absorbs_one_by_group_if_its_equation_has_it_at_each_level(x, z, degree, verdict):
    audit = audited(BELOW, {"x": x, "z": z}, degree)
    found = audit.check().together
    assert found.verdict is verdict
    moved = largest_move(audit, found.pairs, np.random.default_rng(0))
    assert moved < 1e-15 if verdict is CANNOT else moved > 1e-6


def test_the_reason_says_what_an_equation_by_group_contains_or_lacks():
    kinds = {"x": "number by group", "z": "number by group"}
    assert audited(BELOW, kinds).check().together.reason == (
        "z's equation (a and x, degree 1, by group) contains x by group and all terms of x's equation (1 and a), so "
        "that it absorbs what its error shares with x's."
    )
    found = audited(BELOW, {**kinds, "z": "number"}).check().together
    assert found.reason == "z's equation (a and x, degree 1) lacks a*x, which absorbing x would take."
    assert found.advice == "With degree 2 for z this pair could not matter."


def test_advice_names_the_degree_that_would_absorb_a_number_by_group():
    text, kinds = "a -> x, z, v; x -> z; x, z -> v; x <-> z; z <-> v", {"x": "number by group"}
    found = audited(text, kinds, {"x": 1, "z": 2, "v": 1}).check()
    assert found.together.advice == "With degree 2 for v these pairs could not matter."
    assert audited(text, kinds, {"x": 1, "z": 2, "v": 2}).check().together.verdict is CANNOT


def test_three_levels_of_the_protected_attribute_are_three_groups():
    levels = {"levels": {"a": ["u", "v", "w"]}}
    kinds = {"a": "category", "x": "number by group", "z": "number"}
    assert audited(BELOW, kinds, 2, simulate=levels).check().together.verdict is CANNOT
    found = audited(BELOW, kinds, 1, simulate=levels).check().together
    assert found.verdict is MOVES
    assert "lacks a=1*x and a=2*x" in found.reason


def test_siblings_by_group_with_the_same_terms_keep_their_weights_but_not_their_scales():
    # of numbers with one scale the same terms are enough; by group the scales move by another factor in each
    text = "a -> x, z; x <-> z"
    assert audited(text, {"x": "number", "z": "number by group"}, 2).check().together.verdict is MOVES
    by_group = audited(text, {"x": "number by group", "z": "number by group"})
    assert by_group.check().together.verdict is MOVES
    near, far = (by_group.model_b({("x", "z"): p}) for p in (0.0, 0.6))
    np.testing.assert_allclose(near.weights["x"], far.weights["x"], atol=1e-9)
    ratio = far.scales / near.scales
    assert abs(ratio["x [1]"] - ratio["x [-1]"]) > 1e-3


# ---------------------------------------------------------------- ordered features


def test_an_ordered_feature_absorbs_numbers_among_its_parents_and_cfu_stays_at_the_floor():
    audit = audited("a -> x, z, v; x -> z, v; z -> v; x <-> z <-> v <-> x", {"v": "ordered"})
    found = audit.check().together
    assert found.verdict is CANNOT
    assert found.cfu_model_a == pytest.approx(audit.fitted.context.floor)
    assert found.cfu_model_a > 1e-3 * audit.fitted.outcome_variance
    assert largest_move(audit, found.pairs, np.random.default_rng(0)) < 1e-12
    P = np.array([[1, 0.5, -0.3], [0.5, 1, 0.2], [-0.3, 0.2, 1]])
    (fit,) = fits(audit.fitted.claim, P[None])
    assert fit.log_likelihood == pytest.approx(audit.model_a.log_likelihood, rel=1e-12)


def test_an_equation_without_the_number_or_its_terms_leaves_an_ordered_feature_open():
    found = audited("a -> x, z; x -> z; x <-> z", {"z": "ordered"}, {"x": 1, "z": 1}).check().together
    assert found.verdict is CANNOT
    found = audited("a -> x, z; x <-> z", {"z": "ordered"}).check().together
    assert found.verdict is MOVES
    assert found.reason == "z's equation (a, degree 1) lacks x, which absorbing x would take."
    assert audited("a -> x; x -> z; x <-> z", {"z": "ordered"}).check().together.verdict is MOVES


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a -> x, z; x -> z; x <-> z", {"x": "ordered"}),  # above a number
        ("a -> x, z; x -> z; x <-> z", {"x": "ordered", "z": "ordered"}),
        ("a -> x, z; x <-> z", {"x": "ordered", "z": "ordered"}),  # siblings
        ("a -> v, x, z; v -> x, z; v <-> x; v <-> z", {"x": "ordered", "z": "ordered"}),  # tied through v
    ],
)
def test_what_is_tied_to_an_interval_is_never_called_absorbed(text, kinds):
    audit = audited(text, kinds, 2)
    found = audit.check().together
    assert found.verdict is MOVES
    assert "x is ordered, so that its error is known as an interval only" in found.reason
    assert largest_move(audit, found.pairs, np.random.default_rng(0)) > 1e-6


def test_a_number_within_an_ordered_siblings_equation_keeps_its_weights():
    text, kinds = "a -> x, z; x <-> z", {"z": "ordered"}
    audit = audited(text, kinds, ordered_residuals="leave out")
    found = audit.check().together
    assert found.verdict is CANNOT
    assert found.reason == (
        "The predictor does not use the expected error of z. The equations of x and z have the same terms (1 and a): "
        "x's weights do not move."
    )
    assert found.cfu_model_a == 0
    assert largest_move(audit, found.pairs, np.random.default_rng(0)) < 1e-18
    assert audited(text, kinds).check().together.verdict is MOVES


def test_an_expected_error_depends_on_what_moves_before_it():
    # z is in no pair, but follows x, whose residual the predictor is not shown to use
    text, kinds = "a -> x, v, z; x -> z; u -> x; x <-> v", {"x": "ordered", "z": "ordered"}
    audit = audited(text, kinds)
    assert audit.check().together.verdict is MOVES
    proof = prove(audit.fitted.claim.design, "a", audit.graph.pairs, ["z"], audit.graph.features)
    assert proof.open == ("x",)
    assert proof.obstacles[-1] == "The predictor uses the expected error of z, which depends on x."
    assert prove(audit.fitted.claim.design, "a", audit.graph.pairs, ["u"], audit.graph.features).is_complete


# ---------------------------------------------------------------- context


@pytest.mark.parametrize(("edges", "verdict"), [("c -> x, z", CANNOT), ("c -> x", MOVES)])
def test_context_counts_in_spans_as_any_variable(edges, verdict):
    levels = {"levels": {"c": ["north", "south", "west"]}}
    audit = audited(f"a -> x, z; x -> z; {edges}; x <-> z", {"c": "category", "z": "ordered"}, simulate=levels)
    assert [e.feature for e in audit.fitted.claim.design.equations] == ["x", "z"]
    found = audit.check().together
    assert found.verdict is verdict
    assert ("lacks c=south and c=west" in found.reason) == (verdict is MOVES)
    assert (largest_move(audit, found.pairs, np.random.default_rng(0)) < 1e-12) == (verdict is CANNOT)


def test_a_predictors_inputs_are_known_by_feature_where_some_are_not_shown():
    levels = {"levels": {"c": ["north", "south", "west"]}}
    text, kinds = "a -> x, z, v; c -> x; z -> v; z <-> v", {"c": "category", "z": "ordered"}
    for option, used in (("expected", {"c", "x", "z", "v"}), ("leave out", {"c", "x", "v"})):
        audit = audited(text, kinds, simulate=levels, ordered_residuals=option)
        assert used_residuals(audit.fitted.claim, audit.graph.features) == used


# ---------------------------------------------------------------- atoms


def test_a_number_with_an_atom_absorbs_its_parents_error():
    audit = audited(BELOW, {"z": "zero or number"}, n=200)
    found = audit.check().together
    assert found.verdict is CANNOT
    assert largest_move(audit, found.pairs, np.random.default_rng(0)) < 1e-12


def test_a_number_with_an_atom_is_not_absorbed():
    found = audited(BELOW, {"x": "zero or number"}, n=200).check().together
    assert found.verdict is MOVES
    assert found.reason.startswith("x has many people at its lowest value, so that its error is known as an interval")


# ---------------------------------------------------------------- the page's numbers

HALF = float(stats.norm.cdf(0.5))
FLIPS = 2 * HALF - 1  # the share of people whose level, 1 where a/2 + e > 0, is another with the other a


def mean_square_change(text: str, weights, truth: float, at: float, feature: str | None) -> float:
    """Of one feature, or of the sum of both, over the worlds that Model B at one correlation gives everyone."""
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    ordered = [name for name in "xz" if weights[name].get("a")]
    kinds, cuts = dict.fromkeys(ordered, "ordered"), {name: [0.0] for name in ordered}
    drawn = {"correlation": {("x", "z"): truth}, "weights": {"a": {"1": 0.0}, **weights}, "random_state": 0}
    frame = fs.datasets.simulate(graph, 20_000, kinds=kinds, cuts=cuts, **drawn).frame
    fixed = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    worlds = fs.Audit.fit(frame, graph, kinds=kinds, **fixed).counterfactuals({("x", "z"): at})
    shown = [feature] if feature else ["x", "z"]
    change = worlds[shown].astype(float).sum(axis=1) - frame.loc[worlds.index, shown].astype(float).sum(axis=1)
    return float((worlds["probability"] * change**2).sum() / len(frame))


def test_an_ordered_feature_above_a_tied_one_makes_model_a_wrong_by_the_pages_numbers():
    text, weights = "a -> x, z; x -> z; x <-> z", {"x": {"a": 0.5}, "z": {"x": 0.5}}  # levels enter as -1/+1
    low, high = (float(stats.norm.pdf(0.5)) / share for share in (HALF, 1 - HALF))
    by_a, by_x = 0.3 * (low - high), 0.5 + 0.3 * (low + high)  # Model A's weights, at p = 0.6
    true, under_a = FLIPS, 4 * ((1 - FLIPS) * by_a**2 + FLIPS * (by_a + by_x) ** 2)
    assert (round(true, 2), round(under_a, 2)) == (0.38, 1.08)
    # 20,000 people: a standard error of about two hundredths
    assert mean_square_change(text, weights, 0.6, 0.6, "z") == pytest.approx(true, abs=0.06)
    assert mean_square_change(text, weights, 0.6, 0.0, "z") == pytest.approx(under_a, abs=0.06)


def test_two_tied_ordered_siblings_make_model_a_wrong_by_the_pages_numbers():
    text, weights = "a -> x, z; x <-> z", {"x": {"a": 0.5}, "z": {"a": 0.5}}
    together = stats.multivariate_normal([0, 0], [[1, -0.6], [-0.6, 1]])
    both_flip = together.cdf([0.5, 0.5], lower_limit=[-0.5, -0.5])
    true, under_a = 2 * (FLIPS + both_flip), 2 * (FLIPS + together.cdf([0.5, 0.5]) * (FLIPS / HALF) ** 2)
    assert (round(true, 3), round(under_a, 3)) == (1.117, 1.016)
    assert mean_square_change(text, weights, -0.6, -0.6, None) == pytest.approx(true, abs=0.06)
    assert mean_square_change(text, weights, -0.6, 0.0, None) == pytest.approx(under_a, abs=0.06)


def test_the_floor_of_a_two_valued_feature_is_the_pages_number():
    low, high = (float(stats.norm.pdf(0.5)) / share for share in (HALF, 1 - HALF))
    floor, variance = (1 - FLIPS) * (high - low) ** 2 + 4 * FLIPS * low**2, HALF * low**2 + (1 - HALF) * high**2
    assert (round(floor, 2), round(variance, 2)) == (0.64, 0.58)
    graph = fs.CausalGraph.parse("a -> x", protected="a", outcome="y")
    drawn = {"weights": {"a": {"1": 0.0}, "x": {"a": 0.5}}, "cuts": {"x": [0.0]}, "random_state": 0}
    frame = fs.datasets.simulate(graph, 20_000, kinds={"x": "ordered"}, **drawn).frame
    fixed = {"degrees": {"x": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 0.0}
    claim = fs.Audit.fit(frame, graph, kinds={"x": "ordered"}, **fixed).fitted
    scale = claim.claim.predictor.weights[1] ** 2  # the predictor is linear in the expected error
    assert claim.context.floor / scale == pytest.approx(floor, abs=0.03)
