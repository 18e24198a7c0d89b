"""Everyone's squared changes follow from those of a few people, to the last digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim import nodes as chosen
from fairstress.claim import support
from fairstress.claim.evaluate import evaluate, evaluate_many, fits
from fairstress.claim.nodes import Nodes
from fairstress.claim.support import change_support
from fairstress.functionals.cfu import CFU
from fairstress.functionals.relative import RelativeCFU

GRAPH = "a -> x, z; x -> z, v; z -> v; c -> v; a <-> x; x <-> z"
OTHERS = {"penalty": 1, "predictor_penalty": 1, "random_state": 0}


def audit_of(degree, predictor_degree, graph=GRAPH, *, n=3000, change=None, **options):
    graph = fs.CausalGraph.parse(graph, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, n, random_state=1).frame
    frame = frame if change is None else change(frame)
    degrees = dict.fromkeys(graph.features, degree)
    return fs.Audit.fit(frame, graph, degrees=degrees, predictor_degree=predictor_degree, **OTHERS | options)


def everyone(claim):
    """The same claim that looks at everyone."""
    other = replace(claim)
    other._alike[:], other._nodes[:] = [None], [None]
    return other


def at(audit, *p):
    P = np.eye(len(audit.variables))
    for value, (a, b) in zip(p, audit.graph.pairs, strict=True):
        j, k = audit.variables.index(a), audit.variables.index(b)
        P[j, k] = P[k, j] = value
    return P


def agree(claim, P, functionals):
    for functional in functionals:
        few, all_ = (evaluate(one, P, functional, gradient=True) for one in (claim, everyone(claim)))
        assert few.value == pytest.approx(all_.value, rel=1e-11)
        np.testing.assert_allclose(
            few.gradient, all_.gradient, rtol=1e-8, atol=1e-11 * abs(all_.gradient).max() + 1e-14
        )


@pytest.mark.parametrize(("degree", "predictor_degree"), [(2, 1), (2, 2), (3, 1), (1, 3)])
def test_cfu_and_its_slope_are_those_of_everyone(degree, predictor_degree):
    audit = audit_of(degree, predictor_degree)
    blind = audit.fitted.baselines["blind"].claim
    for claim in (audit.fitted.claim, blind, audit.fitted.baselines["unconstrained"].claim):
        few = claim.for_squares()
        assert few.cross is not None
        assert few.rows.size < 0.1 * claim.rows.size
        assert few.rows.n == pytest.approx(claim.rows.n)
        agree(claim, at(audit, 0.3, -0.2), [CFU(), CFU(group=1.0), RelativeCFU(blind, "less")])


def test_many_versions_at_once_are_those_of_everyone():
    audit = audit_of(2, 1)
    P = np.array([at(audit, *p) for p in np.random.default_rng(0).uniform(-0.5, 0.5, (7, 2))])
    claims = audit.fitted.claim, everyone(audit.fitted.claim)
    few, all_ = ([e.value for e in evaluate_many(claim, P, CFU())] for claim in claims)
    np.testing.assert_allclose(few, all_, rtol=1e-11)


def test_the_claim_without_penalty_takes_its_nodes_from_the_claim():
    audit = audit_of(2, 2, graph=GRAPH.replace("; a <-> x", ""), penalty=300)
    claim, beside = audit.fitted.claim, audit.fitted.beside
    assert beside.like is claim
    assert beside.for_squares().cross is claim.for_squares().cross
    assert beside._nodes[0] is claim._nodes[0]
    agree(beside, at(audit, 0.3), [CFU()])


def test_nodes_of_a_claim_with_other_monomials_do_not_serve():
    audit = audit_of(2, 2)
    linear = replace(audit_of(2, 1).fitted.claim, rows=audit.fitted.claim.rows, like=audit.fitted.claim)
    assert linear.for_squares().rows.size < audit.fitted.claim.for_squares().rows.size
    assert linear._nodes[0] is not audit.fitted.claim._nodes[0]


def test_equations_that_p_leaves_alone_may_differ_too():
    audit = audit_of(2, 2)
    claim = audit.fitted.claim
    fit = evaluate(claim, at(audit, 0.3, -0.2), CFU()).fit
    shaken = replace(fit, weights=fit.weights + np.random.default_rng(0).normal(0, 0.1, fit.weights.size))
    few, all_ = (CFU().values(one, [shaken])[0] for one in (claim, everyone(claim)))
    assert few == pytest.approx(all_, rel=1e-11)
    claim = replace(claim, tied=None)
    few, all_ = (CFU().values_and_slopes(one, [shaken]) for one in (claim, everyone(claim)))
    np.testing.assert_allclose(few[1], all_[1], rtol=1e-8, atol=1e-11 * abs(all_[1]).max())


def test_along_edges_that_are_called_fair_too():
    audit = audit_of(2, 1, GRAPH.replace("a -> x, z", "a -> x; a =fair=> z"))
    blind = audit.fitted.baselines["blind"].claim
    assert blind.for_squares().cross is not None
    agree(blind, at(audit, 0.3, -0.2), [CFU()])


def test_a_number_as_protected_attribute_is_a_variable_like_others():
    rng = np.random.default_rng(0)
    audit = audit_of(2, 1, change=lambda frame: frame.assign(a=rng.normal(size=len(frame)) + 0.3 * frame["x"]))
    claim = audit.fitted.claim
    assert 2 < claim.for_squares().rows.size < 60
    agree(claim, at(audit, 0.3, -0.2), [CFU()])


def test_several_levels_are_groups_of_their_own():
    rng = np.random.default_rng(0)
    levels = np.array(["p", "q", "r"])
    audit = audit_of(
        2,
        1,
        "a -> x, z; x -> z, v; z -> v; x <-> z; z <-> v",
        change=lambda f: f.assign(a=levels[rng.integers(0, 3, len(f))]),
    )
    claim = audit.fitted.claim
    few = claim.for_squares()
    assert few.cross is not None
    codes = np.unique(claim.rows.a)
    agree(claim, at(audit, 0.3, -0.2), [CFU(), CFU(group=codes[0]), CFU(group=codes[0], to=codes[1])])


def test_columns_with_few_values_need_fewer_nodes_than_monomials():
    audit = audit_of(3, 1, change=lambda frame: frame.assign(x=frame["x"].round().clip(-1, 1)), kinds={"x": "number"})
    claim = audit.fitted.baselines["blind"].claim
    monomials = change_support(claim.design, claim.view, claim.predictor, claim.may_differ, 4, grouped=True)
    assert claim.for_squares().rows.size < 2 * len(monomials)
    agree(claim, at(audit, 0.3, -0.2), [CFU()])


def test_replicates_weigh_the_nodes_anew():
    audit = audit_of(2, 1)
    claim = audit.fitted.claim
    claim.for_squares()
    weight = np.random.default_rng(0).exponential(size=claim.everyone.weight.size)
    other = claim.reweighted(weight, claim.system)
    assert other.for_squares().rows.n == pytest.approx(weight.sum())
    agree(other, at(audit, 0.3, -0.2), [CFU(), CFU(group=-1.0)])


def test_replicates_of_people_too_many_to_keep_what_is_known_of_them_weigh_each_by_itself(monkeypatch):
    audit = audit_of(2, 1)
    claim, P = audit.fitted.claim, at(audit, 0.3, -0.2)
    weights = np.random.default_rng(0).exponential(size=(2, claim.everyone.weight.size))
    own = [[fit] for fit in fits(claim, np.array([P, P]))]
    at_once = CFU().under_weights(claim, weights, own)
    monkeypatch.setattr(chosen, "KEPT", 0)
    other = replace(claim)
    assert CFU().under_weights(other, weights, own) is None
    each = [CFU().values(other.reweighted(weight, claim.system), one) for weight, one in zip(weights, own, strict=True)]
    np.testing.assert_allclose(at_once, each, rtol=1e-11)
    assert at_once.min() > 0


def test_a_baseline_of_other_people_is_not_weighed_with_these():
    audit = audit_of(2, 1)
    claim, theirs = audit.fitted.claim, audit.fitted.baselines["blind"].claim
    weights, own = np.ones((1, claim.everyone.weight.size)), [fits(claim, at(audit, 0.3, -0.2)[None])]
    found = RelativeCFU(theirs, "less").under_weights(claim, weights, own)
    assert found[0, 0] == pytest.approx(RelativeCFU(theirs, "less").values(claim, own[0])[0], rel=1e-11)
    of_others = replace(theirs, everyone=replace(theirs.everyone, weight=2 * theirs.everyone.weight))
    assert RelativeCFU(of_others, "less").under_weights(claim, weights, own) is None


def test_under_model_a_it_is_zero_to_the_last_digit():
    audit = audit_of(3, 2)
    assert evaluate(audit.fitted.claim, at(audit, 0, 0), CFU()).value == 0


def without_weight_of_its_own(rows, i):
    """Rows whose i-th node has handed its weight to the next one of its group."""
    alike = np.flatnonzero((rows.a == rows.a[i]) & (rows.a_cf == rows.a_cf[i]))
    weight = rows.weight.copy()
    weight[alike[alike != i][0]] += weight[i]
    weight[i] = 0.0
    return replace(rows, weight=weight)


@pytest.mark.parametrize("group", [None, -1.0, 1.0])
def test_the_change_of_a_node_counts_by_products_alone_whatever_its_net_weight_is(group):
    # what people add to a node, positive and negative, may cancel to the last digit
    audit = audit_of(2, 2)
    few, P, functional = audit.fitted.claim.for_squares(), at(audit, 0.3, -0.2), CFU(group=group)
    expected = evaluate(audit.fitted.claim, P, functional, gradient=True)
    for i in (0, few.rows.size - 1):
        found = evaluate(replace(few, rows=without_weight_of_its_own(few.rows, i)), P, functional, gradient=True)
        assert found.value == pytest.approx(expected.value, rel=1e-12)
        np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize(
    "options",
    [{"measure": "absolute"}, {"change": lambda f: f.assign(y=f["y"] > 0)}, {"n": 90}],
    ids=["not squared", "logistic", "few people"],
)
def test_otherwise_everyone_is_looked_at(options):
    claim = audit_of(3, 2, **options).fitted.claim
    assert claim.for_squares().cross is None


def test_more_monomials_than_are_worth_while_are_not_written_down(monkeypatch):
    claim = audit_of(3, 1).fitted.baselines["blind"].claim
    given = claim.design, claim.view, claim.predictor, claim.may_differ, 4
    assert len(change_support(*given, grouped=True)) > 10
    for limit in ("MOST", "MOST_PRODUCTS"):
        with monkeypatch.context() as patch:
            patch.setattr(support, limit, 10)
            support._found.cache_clear()
            assert change_support(*given, grouped=True) is None
            support._found.cache_clear()


def test_people_whose_change_does_not_follow_are_noticed():
    claim = audit_of(2, 1).fitted.claim
    nodes = Nodes.of(claim.rows, claim.design, claim.view, claim.predictor, claim.may_differ)
    assert nodes.weighing(claim.rows) is not None
    far = replace(claim.rows, x=claim.rows.x * 1e6)
    assert nodes.weighing(far) is None  # outside the values that nodes were chosen from, digits would be lost
    assert nodes.weighing(replace(claim.rows, a=claim.rows.a * 2)) is None  # a group that was not there


def test_of_many_people_some_are_looked_at_and_sums_are_over_blocks(monkeypatch):
    audit = audit_of(2, 1, n=9000)
    expected = evaluate(audit.fitted.claim, at(audit, 0.3, -0.2), CFU()).value
    monkeypatch.setattr(chosen, "KEPT", 0)
    monkeypatch.setattr(chosen, "LOOKED_AT", 2000)
    claim = replace(audit.fitted.claim)
    nodes = Nodes.of(claim.rows, claim.design, claim.view, claim.predictor, claim.may_differ)
    assert nodes._known_functions(claim.rows) is None
    assert claim.for_squares().cross is not None
    found = evaluate(claim, at(audit, 0.3, -0.2), CFU()).value
    assert found == pytest.approx(expected, rel=1e-10)
    agree(claim, at(audit, 0.3, -0.2), [CFU(group=-1.0)])


def test_extreme_people_are_always_among_those_looked_at():
    claim = audit_of(2, 1).fitted.claim
    x, places = claim.rows.x, np.flatnonzero(claim.rows.a == claim.rows.a[0])
    some = chosen._some(claim.rows, places, 20)
    assert set(some) <= set(places)
    assert 20 <= some.size <= 20 + 2 * x.shape[1]
    np.testing.assert_array_equal(x[some].min(axis=0), x[places].min(axis=0))
    np.testing.assert_array_equal(x[some].max(axis=0), x[places].max(axis=0))
    np.testing.assert_array_equal(chosen._some(claim.rows, places, places.size), places)


def test_more_groups_than_are_taken_apart_have_no_nodes():
    levels = np.array(list("pqrstu"))  # thirty pairs of levels
    audit = audit_of(2, 1, "a -> x, z; x -> z; x <-> z", change=lambda f: f.assign(a=levels[np.arange(len(f)) % 6]))
    assert audit.fitted.claim.for_squares().cross is None
    assert audit.cfu({("x", "z"): 0.3}) > 0


def test_what_no_room_knows_as_a_polynomial_has_no_monomials():
    claim = audit_of(2, 1).fitted.claim
    given = claim.predictor, claim.may_differ, 4
    assert change_support(claim.design, claim.view, *given, grouped=True)
    assert change_support(claim.design, object(), *given, grouped=True) is None
    unknown = [replace(equation, embedding=object()) for equation in claim.design.equations]
    assert change_support(replace(claim.design, equations=tuple(unknown)), claim.view, *given, grouped=True) is None


def test_the_monomials_of_a_small_graph():
    """The change d_x of x is a constant, z' - z = b d_x + c ((x + d_x)^2 - x^2) and its product with A: 1 and x."""
    claim = audit_of(2, 1, "a -> x; a, x -> z; x <-> z").fitted.claim
    found = change_support(claim.design, claim.view, claim.predictor, frozenset({1}), 2, grouped=True)
    assert sorted(found) == [(0, 0, 0, 0), (1, 0, 0, 0)]
    numeric = change_support(claim.design, claim.view, claim.predictor, frozenset({0}), 2, grouped=False)
    assert sorted(numeric) == [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0)]


def test_what_follows_from_weights_is_kept_only_where_nobody_can_change_them():
    claim = audit_of(2, 1).fitted.claim
    weights = np.random.default_rng(0).exponential(size=(3, claim.everyone.weight.size))
    before = claim.few_under(weights)[1].copy()
    weights *= 2
    np.testing.assert_allclose(claim.few_under(weights)[1], 2 * before, rtol=1e-12)
    weights.setflags(write=False)
    assert claim.few_under(weights)[1] is claim.few_under(weights)[1]
