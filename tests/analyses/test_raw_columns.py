"""Predictors that look at the columns themselves: their CFU at every P, P = I included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

import fairstress as fs
from fairstress.analyses.check import Verdict
from fairstress.errors import FairstressWarning, SettingError, Status

LAW = fs.CausalGraph.parse(
    "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat; race <-> ugpa; race <-> lsat", protected="race", outcome="zfya"
)
TWO_PAIRS = fs.CausalGraph.parse(
    "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat; race <-> lsat", protected="race", outcome="zfya"
)
SETTINGS = {"reference": "White", "random_state": 0}
P = {("race", "ugpa"): 0.25, ("race", "lsat"): -0.2, ("ugpa", "lsat"): 0.4}
POINTS = [{}, P, {("race", "lsat"): -0.6}, {("ugpa", "lsat"): 0.9}]


@pytest.fixture(scope="module")
def audit(law_frame):
    return fs.Audit.fit(law_frame, LAW, **SETTINGS)


def deployed(frame: pd.DataFrame) -> np.ndarray:
    """A score of another team, smooth in the columns."""
    return 0.3 * (frame["race"] == "White") + np.sin(frame["lsat"] / 10) * frame["ugpa"]


def test_a_predictor_of_what_does_not_descend_from_the_attribute_has_no_cfu_at_any_correlation():
    graph = fs.CausalGraph.parse("age -> x; a -> x -> z; age <-> x <-> z; a <-> z; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 500, random_state=0).frame
    tree = RandomForestRegressor(10, random_state=0).fit(frame[["age"]], frame["y"])
    for predictor in (lambda shown: np.exp(shown["age"]), tree):
        audit = fs.Audit.fit(frame, graph, predictor=fs.Predictor(predictor, input="features"), max_degree=2)
        for correlation in ({}, {("age", "x"): 0.5}, {("a", "z"): -0.7, ("x", "z"): 0.2}):
            assert audit.cfu(correlation) == 0
        assert audit.worst_case(0.4).value == 0


def test_the_unconstrained_baselines_cfu_under_model_a_is_a_hand_computation(law_frame):
    """Least squares at degree 1: with A moved by 2, g = 2 gamma, l = 2 lambda + beta g, and f moves by a constant."""
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    options = {"degrees": {"ugpa": 1, "lsat": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 0}
    audit = fs.Audit.fit(law_frame, graph, **SETTINGS, **options)
    a = np.where(law_frame["race"] == "White", 1.0, -1.0)
    ones, g, s, y = np.ones(a.size), *(law_frame[name].to_numpy() for name in ("ugpa", "lsat", "zfya"))

    def least_squares(*columns):
        return np.linalg.lstsq(np.column_stack(columns[:-1]), columns[-1], rcond=None)[0]

    gamma = least_squares(ones, a, g)[1]
    _, lam, beta = least_squares(ones, a, g, s)
    _, on_a, on_g, on_s = least_squares(ones, a, g, s, y)
    by_hand = 4 * (on_a + on_g * gamma + on_s * (lam + beta * gamma)) ** 2
    assert audit.cfu({}, baseline="unconstrained") == pytest.approx(by_hand, rel=1e-9)
    # absorbed: the counterfactuals of Model A are those of every correlation
    assert audit.cfu({("ugpa", "lsat"): 0.8}, baseline="unconstrained") == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize("correlation", POINTS)
def test_cfu_compares_predictions_for_the_table_and_for_its_counterfactuals(audit, law_frame, correlation):
    found = fs.Audit.fit(law_frame, LAW, predictor=fs.Predictor(deployed, input="features"), **SETTINGS)
    change = deployed(audit.counterfactuals(correlation)) - deployed(law_frame)
    assert found.cfu(correlation) == pytest.approx((change**2).mean(), rel=1e-9)
    assert found.cfu(correlation) > 1e-3
    np.testing.assert_allclose(found.cfu_by_row(correlation), change**2, rtol=1e-6, atol=1e-12)


def test_the_baselines_handed_in_as_pipelines_have_the_baselines_cfu(audit, law_frame):
    degree, penalty = (getattr(audit.baselines["blind"], name) for name in ("degree", "penalty"))
    scaled = [(law_frame[name] - law_frame[name].mean()) / law_frame[name].std(ddof=0) for name in ("ugpa", "lsat")]
    model = make_pipeline(PolynomialFeatures(degree, include_bias=False), Ridge(penalty))
    model.fit(np.column_stack(scaled), law_frame["zfya"])
    features = law_frame[["ugpa", "lsat"]]
    mean, deviation = features.mean(), features.std(ddof=0)

    def prepare(frame):
        return ((frame[["ugpa", "lsat"]] - mean) / deviation).to_numpy()

    found = fs.Audit.fit(law_frame, LAW, predictor=fs.Predictor(model, input=prepare), **SETTINGS)
    for correlation in POINTS:
        assert found.cfu(correlation) == pytest.approx(audit.cfu(correlation, baseline="blind"), rel=1e-8)


@pytest.mark.parametrize("name", ["unconstrained", "blind"])
def test_the_gradient_through_raw_columns_is_the_limit_of_differences(audit, name):
    raw = replace(audit, fitted=replace(audit.fitted, claim=audit.baselines[name].claim))
    slope = raw.gradient(P)
    for pair in LAW.pairs:
        up, down = (raw.cfu({**P, pair: P[pair] + step}) for step in (1e-5, -1e-5))
        assert slope[pair] == pytest.approx((up - down) / 2e-5, rel=1e-5)


def test_differences_of_a_smooth_function_give_its_gradient_and_its_worst_case(law_frame):
    models = {kind: fs.Predictor(deployed, input="features", gradient=kind) for kind in ("differences", "none")}
    by = {kind: fs.Audit.fit(law_frame, LAW, predictor=model, **SETTINGS) for kind, model in models.items()}
    slope = by["differences"].gradient(P)
    for pair in LAW.pairs:
        up, down = (by["none"].cfu({**P, pair: P[pair] + step}) for step in (1e-5, -1e-5))
        assert slope[pair] == pytest.approx((up - down) / 2e-5, rel=1e-4)
    climbed, felt = (by[kind].worst_case(0.3, search=fs.Search(starts=2)) for kind in ("differences", "none"))
    assert felt.value == pytest.approx(climbed.value, rel=1e-6)
    assert (climbed.status, felt.status) == (Status.DIFFERENCES, Status.NO_DERIVATIVES)


@pytest.mark.parametrize("learner", ["boosting", "forest"])
@pytest.mark.parametrize("looks_at", ["residuals", "features"])
def test_trees_are_audited_end_to_end_and_claim_no_gradient(law_frame, learner, looks_at):
    tree = {
        "boosting": HistGradientBoostingRegressor(max_iter=10, max_leaf_nodes=8),
        "forest": RandomForestRegressor(5, min_samples_leaf=20),
    }[learner]
    if looks_at == "features":
        shown = make_column_transformer((OneHotEncoder(drop="if_binary"), ["race"]), remainder="passthrough")
        tree = make_pipeline(shown, tree)
    predictor = fs.Predictor(tree, input=looks_at)
    audit = fs.Audit.fit(law_frame.iloc[:2500], TWO_PAIRS, predictor=predictor, **SETTINGS)
    assert audit.settings.predictor_gradient == "none"
    with pytest.raises(SettingError, match="CFU has no gradient, because the predictor's gradient is 'none'"):
        audit.gradient({("race", "lsat"): 0.2})
    profile = audit.profile(("race", "lsat"), np.linspace(-0.6, 0.6, 7))
    assert (profile.cfu[3] == 0) == (looks_at == "residuals")
    found = audit.worst_case(0.2, search=fs.Search(starts=2))
    assert found.status is Status.NO_DERIVATIVES
    assert found.value >= max(found.scan_value, audit.cfu({("race", "lsat"): 0.2}))
    assert found.value == pytest.approx(audit.cfu(found.correlation), rel=1e-12)
    shares = audit.people(found.correlation, threshold=0.0).flip_shares()
    assert shares.loc["everyone", "either"] > 0.01


def test_a_boosted_classifier_of_raw_columns_is_audited_by_its_probabilities():
    frame = fs.datasets.law_school("sex").iloc[:2000]
    graph = fs.CausalGraph.parse("sex -> ugpa -> lsat; ugpa <-> lsat", protected="sex", outcome="first_pf")
    model = GradientBoostingClassifier(n_estimators=10).fit(frame[["ugpa", "lsat"]], frame["first_pf"])
    audit = fs.Audit.fit(frame, graph, predictor=fs.Predictor(model, input="features"))
    moved = audit.counterfactuals({("ugpa", "lsat"): 0.4})
    change = model.predict_proba(moved[["ugpa", "lsat"]]) - model.predict_proba(frame[["ugpa", "lsat"]])
    assert audit.cfu({("ugpa", "lsat"): 0.4}) == pytest.approx((change[:, 1] ** 2).mean(), rel=1e-9)


def test_the_check_says_that_raw_columns_are_outside_the_rules_and_compares_with_model_a(law_frame, law_graph):
    options = {"predictor": fs.Predictor(deployed, input="features"), **SETTINGS}
    still = fs.Audit.fit(law_frame, law_graph, **options)  # saturated: the counterfactuals do not move
    finding = still.check().together
    assert finding.verdict is Verdict.NO_RULE
    assert finding.cfu == pytest.approx(finding.cfu_model_a, rel=1e-9)
    assert "as with independent errors" in still.check().summary().replace("\n", " ")
    moved = fs.Audit.fit(law_frame, LAW, **options)
    assert moved.check().together.verdict is Verdict.MOVES
    said = moved.check().summary().replace("\n", " ")
    assert f"and {moved.check().together.cfu_model_a:.3g} with independent errors" in said


def test_fair_edges_carry_factual_values_to_a_predictor_of_raw_columns(law_frame):
    graph = fs.CausalGraph.parse(
        "race -> ugpa; race =fair=> lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya"
    )
    options = {"predictor": fs.Predictor(deployed, input="features"), **SETTINGS}
    audit = fs.Audit.fit(law_frame, graph, **options)
    change = deployed(audit.counterfactuals({("ugpa", "lsat"): 0.3})) - deployed(law_frame)
    assert audit.cfu({("ugpa", "lsat"): 0.3}) == pytest.approx((change**2).mean(), rel=1e-9)


@pytest.fixture(scope="module")
def one_pair(law_frame):
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; race <-> lsat", protected="race", outcome="zfya")
    return fs.Audit.fit(law_frame, graph, **SETTINGS)


def test_breaking_points_compare_with_the_baseline_at_the_same_correlation(one_pair):
    audit = one_pair
    found = audit.breaking_point("blind")
    assert 0.1 < found.p_max < 0.5
    assert "reaches that of the baseline blind at the same correlation" in found.sentence
    assert f"at p_max = {found.p_max:.4f}" in found.sentence
    assert audit.breaking_point().p_max == found.p_max  # the default level
    assert audit.curve([0.2, 0.6]).breaking_point("blind").p_max == pytest.approx(found.p_max, abs=2e-4)

    def excess(p):
        return audit.cfu({("race", "lsat"): p}) - audit.cfu({("race", "lsat"): p}, baseline="blind")

    within = np.linspace(-1, 1, 41) * found.p_max
    assert max(excess(p) for p in 0.999 * within) < 0 <= max(excess(p) for p in within)
    reached = [audit.cfu({("race", "lsat"): s * found.p_max}, baseline="blind") for s in (1, -1)]
    assert min(abs(found.level / level - 1) for level in reached) < 1e-6


def test_the_papers_level_is_a_distance_from_the_audited_predictor(one_pair):
    curve = one_pair.curve([0.1, 0.4])
    found = curve.breaking_point("blind", definition="paper")
    assert found.level == one_pair.baselines["blind"].unfairness
    assert found.p_max == pytest.approx(curve.breaking_point(found.level).p_max, abs=2e-4)
    with pytest.raises(SettingError, match="definition is 'own'"):
        curve.breaking_point("blind", definition="own")


def test_a_baseline_that_is_not_unfair_under_model_a_is_no_level():
    graph = fs.CausalGraph.parse("a; x -> z; x <-> z; a <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, max_degree=1)
    with pytest.raises(SettingError, match="the baseline 'blind' has no CFU under Model A"):
        audit.breaking_point("blind")
    with pytest.raises(SettingError, match="there is no baseline 'blnd'; did you mean 'blind'"):
        audit.cfu({}, baseline="blnd")


def test_the_table_to_report_names_the_predictor_and_its_cfu_under_model_a(law_frame):
    predictor = fs.Predictor(deployed, input="features")
    audit = fs.Audit.fit(law_frame.iloc[:2000], LAW, predictor=predictor, max_degree=1)
    table = audit.to_markdown()
    assert "deployed on features; R2" in table
    assert f"| CFU under Model A | {audit.cfu({}):.4g} |" in table
    assert audit.cfu({}) > 0.01


def test_the_table_to_report_leaves_out_an_accuracy_that_is_none():
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    frame["y"] = frame["y"] > frame["y"].median()
    with pytest.warns(FairstressWarning, match="no probabilities, although 'y' has two values"):
        audit = fs.Audit.fit(frame, graph, predictor=lambda Z: 5 * Z[:, 0], max_degree=1)
    assert "on residuals |" in audit.to_markdown()
