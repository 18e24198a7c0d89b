from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import fairstress as fs
from fairstress.analyses.bounds import read_functional
from fairstress.claim.evaluate import evaluate
from fairstress.errors import SettingError
from fairstress.functionals.cfu import CFU

PAIR = ("ugpa", "lsat")
GRAPH = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")


@pytest.fixture(scope="module")
def linear(law_frame, law_graph):
    options = {"degrees": {"ugpa": 1, "lsat": 1}, "penalty": 0, "predictor_degree": 2, "predictor_penalty": 10.0}
    return fs.Audit.fit(law_frame, law_graph, reference="White", random_state=0, **options)


def test_bounds_of_a_coefficient_are_the_closed_form(linear, law_frame):
    """``tau - rho s / (sqrt(1 - rho^2) sigma)``, s the residual deviation of lsat, sigma that of ugpa."""
    a = np.where(law_frame["race"] == "White", 1.0, -1.0)
    ones = np.ones(a.size)
    ugpa, lsat = law_frame["ugpa"].to_numpy(), law_frame["lsat"].to_numpy()
    first = np.column_stack([ones, a])
    sigma = (ugpa - first @ np.linalg.lstsq(first, ugpa, rcond=None)[0]).std()
    second = np.column_stack([ones, a, ugpa])
    weights = np.linalg.lstsq(second, lsat, rcond=None)[0]
    s = (lsat - second @ weights).std()
    for p_max in (0.2, 0.6):
        lower, upper = linear.bounds(linear.coefficient("lsat", "ugpa"), p_max)
        reach = p_max * s / (np.sqrt(1 - p_max**2) * sigma)
        assert lower.value == pytest.approx(weights[2] - reach, rel=1e-9)
        assert upper.value == pytest.approx(weights[2] + reach, rel=1e-9)
        assert (lower.direction, upper.direction) == ("smallest", "largest")


def test_the_total_effect_on_lsat_is_unmoved_and_in_the_tables_units(linear, law_frame):
    lower, upper = linear.bounds(linear.effect("lsat"), 0.6)
    assert lower.value == pytest.approx(upper.value, rel=1e-9)
    groups = law_frame.groupby("race")["lsat"].mean()
    assert upper.value == pytest.approx(groups["non-White"] - groups["White"], rel=1e-9)
    assert upper.value / law_frame["lsat"].std(ddof=0) == pytest.approx(-0.864, abs=5e-4)


def test_any_function_of_the_counterfactual_frame_can_be_bounded(linear, law_frame):
    def mean_ugpa(frame):
        return frame["ugpa"].mean()

    lower, upper = linear.bounds(mean_ugpa, 0.5)
    assert lower.functional == "mean_ugpa"
    assert lower.value == pytest.approx(linear.counterfactuals({})["ugpa"].mean(), rel=1e-9)
    assert upper.value == pytest.approx(lower.value, rel=1e-9)


def test_groups_make_up_the_whole(law_audit, law_frame):
    P = {PAIR: 0.7}
    by_row = law_audit.cfu_by_row(P)
    for level in ("White", "non-White"):
        functional = law_audit.cfu_of_group(level)
        expected = by_row[law_frame["race"] == level].mean()
        found = evaluate(law_audit.fitted.claim, np.array([[1, 0.7], [0.7, 1]]), functional, gradient=True)
        assert found.value == pytest.approx(expected, rel=1e-10)
    lower, upper = law_audit.bounds(law_audit.cfu_of_group("non-White"), 0.9)
    assert lower.value < 1e-12 < upper.value


P = np.array([[1, 0.4, -0.3], [0.4, 1, 0.25], [-0.3, 0.25, 1]])


def three_pairs(**options) -> fs.Audit:
    frame = fs.datasets.simulate(GRAPH, 300, degrees={"v": 2}, random_state=4).frame
    degrees = {"degrees": {"x": 1, "z": 2, "v": 2}, "penalty": 5, "predictor_degree": 2, "predictor_penalty": 1}
    return fs.Audit.fit(frame, GRAPH, **(degrees | options))


@pytest.fixture(scope="module")
def curved() -> fs.Audit:
    return three_pairs()


SMOOTH = {
    "group": lambda audit: audit.cfu_of_group(1),
    "relative": lambda audit: audit.relative_cfu("unconstrained"),
    "effect": lambda audit: audit.effect("v"),
    "indirect": lambda audit: audit.effect("v", "indirect"),
    "weight": lambda audit: audit.coefficient("v", "z"),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_functionals_are_limits_of_differences(name, curved):
    audit, functional = curved, SMOOTH[name](curved)
    found = evaluate(audit.fitted.claim, P, functional, gradient=True)
    for j, k in ((0, 1), (0, 2), (1, 2)):
        step = np.zeros((3, 3))
        step[j, k] = step[k, j] = 1e-5
        up, down = (evaluate(audit.fitted.claim, P + sign * step, functional).value for sign in (1, -1))
        slope = found.gradient[j, k] + found.gradient[k, j]
        np.testing.assert_allclose(slope, (up - down) / 2e-5, rtol=1e-5, atol=1e-8)


def test_functionals_that_make_no_sense_are_refused(linear):
    with pytest.raises(SettingError, match="'last' is not a feature; did you mean 'lsat'"):
        linear.effect("last")
    with pytest.raises(SettingError, match="the equation of 'lsat' has no term 'ugpa\\^2'"):
        linear.coefficient("lsat", "ugpa^2")
    with pytest.raises(SettingError, match="'white' is not a level of 'race': give 'non-White' or 'White'"):
        linear.cfu_of_group("white")
    with pytest.raises(SettingError, match="functional is 3"):
        linear.bounds(3, 0.5)


# ---------------------------------------------------------------- what a functional says of itself

WAYS = ("gained", "lost", "either")
QUESTIONS = SMOOTH | {
    "CFU": lambda audit: CFU(),
    "decisions": lambda audit: audit.flips(0.0),
    "direct": lambda audit: audit.effect("v", "direct"),
}
AUDITS = {"polynomial": {}, "tree": {"predictor": DecisionTreeRegressor(random_state=0)}, "largest": {"measure": "max"}}


@pytest.mark.parametrize("options", AUDITS.values(), ids=AUDITS)
def test_a_functional_has_a_derivative_exactly_where_it_says_so(options):
    audit = three_pairs(**options)
    claim, moves = audit.fitted.claim, {}
    for name, ask in QUESTIONS.items():
        functional = ask(audit)
        moves[name] = functional.values_and_slopes(claim, [claim.model_a]) is not None
        assert functional.has_slope(claim) is moves[name]
        assert (evaluate(claim, P, functional, gradient=True).gradient is not None) is moves[name]
        assert repr(functional) == f"<{functional.name}>"
    of_predictions = {name for name, smooth in moves.items() if not smooth}
    assert of_predictions == ({"decisions"} if not options else {"decisions", "CFU", "group", "relative"})


def test_a_function_of_the_frame_has_no_derivative(linear):
    functional = read_functional(linear.fitted, lambda frame: float(frame["ugpa"].mean()))
    claim = linear.fitted.claim
    assert functional.values_and_slopes(claim, [claim.model_a]) is None
    assert evaluate(claim, np.eye(2), functional, gradient=True).gradient is None


@pytest.mark.parametrize("measure", ["squared", "max"])
def test_cfu_less_a_baselines_is_the_difference_of_the_two(measure):
    audit = three_pairs(measure=measure)
    claim, baseline = audit.fitted.claim, audit.baselines["blind"].claim
    own, its = (evaluate(one, P, CFU()).value for one in (claim, baseline))
    assert evaluate(claim, P, audit.relative_cfu()).value == pytest.approx(own - its, rel=1e-12)
    assert own != its


@pytest.mark.parametrize("ask", [SMOOTH["relative"], SMOOTH["effect"]])
def test_what_is_kept_of_some_peoples_claims_is_not_taken_for_others(curved, ask):
    """More sets of people than a functional keeps, asked about twice, in an order that forgets the first."""
    claim = curved.fitted.claim
    fit = curved.fitted.claim.system.fits(P[None], claim.model_a, check_minima=False)
    some = [replace(claim, rows=claim.rows.where(slice(start, None, 6)), origin=None) for start in range(6)]
    functional = ask(curved)
    first, again = ([functional.values(one, fit)[0] for one in some] for _ in range(2))
    alone = [ask(curved).values(one, fit)[0] for one in some]
    assert first == again == alone
    assert len(set(alone)) == 6


@pytest.mark.parametrize("group", [None, 1])
def test_decisions_that_turn_to_yes_and_to_no_are_all_that_turn(curved, group):
    claim = curved.fitted.claim
    turned = {way: evaluate(claim, P, curved.flips(0.0, direction=way, group=group)) for way in WAYS}
    shares = curved.people(P, threshold=0.0).flip_shares().loc["everyone" if group is None else group]
    for way in WAYS:
        assert turned[way].value == pytest.approx(shares[way], rel=1e-12)
    assert turned["gained"].value + turned["lost"].value == pytest.approx(turned["either"].value, rel=1e-12)
    assert turned["either"].value > 0


def test_where_features_have_levels_all_of_an_effect_without_mediators_is_direct():
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    kinds = {"x": ["low", "mid", "high"], "z": "number"}
    weights = {"x": {"a": 0.8}, "z": {"a": 0.5, "x": 0.7}}
    frame = fs.datasets.simulate(graph, 300, kinds=kinds, weights=weights, random_state=0).frame
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(frame, graph, kinds=kinds, random_state=0, **options)
    claim = audit.fitted.claim
    correlation = np.array([[1, 0.3], [0.3, 1]])

    def effect(*asked, **more):
        return evaluate(claim, correlation, audit.effect(*asked, **more)).value

    for more in ({}, {"of": "high"}):
        assert effect("x", "direct", **more) == pytest.approx(effect("x", **more), rel=1e-12)
        assert abs(effect("x", **more)) > 0.1
    total, direct, indirect = (effect("z", kind) for kind in ("total", "direct", "indirect"))
    assert direct + indirect == pytest.approx(total, rel=1e-12)
    # plain numbers given their levels: the direct effect is the weight of a, twice in its coding of -1 and 1
    weight = audit.model_b({("x", "z"): 0.3}).weights["z"]["a"] * frame["z"].std(ddof=0)
    assert abs(direct) == pytest.approx(2 * abs(weight), rel=1e-9)
    assert abs(indirect) > 0.01
