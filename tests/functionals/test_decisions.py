from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

import fairstress as fs
from fairstress.errors import SettingError, Status

PAIR = ("ugpa", "lsat")
P = {PAIR: 0.6}


@pytest.fixture(scope="module")
def bar():
    """Two values, and a correlation that matters."""
    frame = fs.datasets.law_school("race").iloc[:6000]
    graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="first_pf")
    return frame, graph


@pytest.fixture(scope="module")
def audit(bar):
    return fs.Audit.fit(*bar, reference="White", random_state=0)


@pytest.fixture(scope="module")
def on_log_odds(bar):
    return fs.Audit.fit(*bar, reference="White", random_state=0, predictor=fs.Predictor(scale="log-odds"))


def flip_shares(audit, correlation, threshold):
    return audit.people(correlation, threshold=threshold).flip_shares()


def test_shares_of_turned_decisions_are_counted_by_direction_and_group(audit, bar):
    shares = flip_shares(audit, P, 0.9)
    people = audit.people(P, threshold=0.9).to_frame()
    before, after = people["prediction"] >= 0.9, people["counterfactual prediction"] >= 0.9
    assert shares.loc["everyone", "gained"] == pytest.approx((~before & after).mean(), rel=1e-12)
    for level in ("White", "non-White"):
        own = people["race"] == level
        assert shares.loc[level, "lost"] == pytest.approx((before & ~after)[own].mean(), rel=1e-12)
    np.testing.assert_allclose(shares["gained"] + shares["lost"], shares["either"], rtol=1e-12)
    assert people["flips"].mean() == pytest.approx(shares.loc["everyone", "either"], rel=1e-12)
    assert shares.loc["everyone", "either"] > 0.01


def test_the_share_of_turned_decisions_is_bounded_within_a_budget(audit):
    lower, upper = audit.bounds(audit.flips(0.9), 0.6)
    grid = [flip_shares(audit, {PAIR: p}, 0.9).loc["everyone", "either"] for p in np.linspace(-0.6, 0.6, 25)]
    assert lower.value == 0  # under Model A nobody's decision turns
    assert upper.value >= max(grid)
    assert upper.status is Status.NO_DERIVATIVES
    assert "share of people whose decision turns (threshold 0.9)" in upper.summary().replace("\n", " ")
    lost = audit.bounds(audit.flips(0.9, direction="lost", group="White"), 0.6)[1]
    assert 0 < lost.value <= 1


def test_a_threshold_is_in_the_outcomes_units_and_the_same_on_log_odds(law_frame, law_graph, audit, on_log_odds):
    numeric = fs.Audit.fit(law_frame, law_graph, reference="White", penalty=300)
    people = numeric.people({PAIR: 0.9}, threshold=0.1).to_frame()
    expected = ((people["prediction"] >= 0.1) != (people["counterfactual prediction"] >= 0.1)).mean()
    assert flip_shares(numeric, {PAIR: 0.9}, 0.1).loc["everyone", "either"] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(flip_shares(on_log_odds, P, 0.9), flip_shares(audit, P, 0.9), rtol=1e-12)


def test_cfu_on_log_odds_is_that_of_the_linear_part(audit, on_log_odds, bar):
    found = on_log_odds
    people = audit.people(P).to_frame()
    p, q = people["prediction"], people["counterfactual prediction"]
    expected = ((np.log(q / (1 - q)) - np.log(p / (1 - p))) ** 2).mean()
    assert found.cfu(P) == pytest.approx(expected, rel=1e-8)
    up, down = (found.cfu({PAIR: 0.6 + step}) for step in (1e-5, -1e-5))
    assert found.gradient(P)[PAIR] == pytest.approx((up - down) / 2e-5, rel=1e-5)
    assert "outcome's variance" not in found.profile(PAIR, [0.0, 0.5]).summary().replace("\n", " ")

    def logistic(Z):
        return audit.fitted.claim.predictor.predict(Z)

    own = fs.Predictor(logistic, gradient="differences", scale="log-odds")
    user_predictor = fs.Audit.fit(*bar, reference="White", predictor=own)
    assert user_predictor.cfu(P) == pytest.approx(expected, rel=1e-8)
    assert user_predictor.gradient(P)[PAIR] == pytest.approx(found.gradient(P)[PAIR], rel=1e-5)


def test_a_forest_that_is_certain_has_no_log_odds(bar):
    forest = RandomForestClassifier(5, random_state=0)
    with pytest.raises(SettingError, match="the predictor's scale is 'log-odds', but it gives 1 for someone"):
        fs.Audit.fit(*bar, predictor=fs.Predictor(forest, scale="log-odds")).cfu(P)
    assert flip_shares(fs.Audit.fit(*bar, predictor=forest), P, 0.5).loc["everyone", "either"] > 0


def test_questions_about_decisions_that_make_no_sense_are_refused(audit, law_audit):
    with pytest.raises(SettingError, match=r"threshold is 1\.5: give a probability between 0 and 1"):
        audit.flips(1.5)
    with pytest.raises(SettingError, match="threshold is 'high': give a number in units of 'zfya'"):
        law_audit.flips("high")
    for threshold in ("0.5", True):
        with pytest.raises(SettingError, match=f"threshold is {threshold!r}: give a probability"):
            flip_shares(audit, P, threshold)
    with pytest.raises(SettingError, match="direction is 'up': give 'either', 'gained' or 'lost'"):
        audit.flips(0.5, direction="up")
    with pytest.raises(SettingError, match="'white' is not a level of 'race'"):
        audit.flips(0.5, group="white")


@pytest.fixture(scope="module")
def towards_a():
    """Three levels, of which a is the only one that people are moved to."""
    graph = fs.CausalGraph.parse("g -> x -> z; x <-> z", protected="g", outcome="y")
    rng = np.random.default_rng(0)
    g = rng.choice(["a", "b", "c"], 300)
    x = (g == "b") + rng.standard_normal(300)
    z = x + rng.standard_normal(300)
    frame = pd.DataFrame({"g": g, "x": x, "z": z, "y": x + z + rng.standard_normal(300)})
    return fs.Audit.fit(frame, graph, contrast="a", max_degree=1)


def test_a_group_that_nobody_is_moved_from_has_no_share(towards_a):
    assert list(flip_shares(towards_a, {("x", "z"): 0.4}, 0.0).index) == ["everyone", "c", "b"]
    for ask in (towards_a.cfu_of_group, lambda group: towards_a.flips(0.0, group=group)):
        with pytest.raises(SettingError, match="nobody is moved from 'a', the only level in contrast: give 'c' or 'b'"):
            ask("a")


def test_bounds_reach_what_model_a_says():
    """A tree turns nobody's decision at P = I alone; a pattern search from elsewhere stops on a plateau short of it."""
    graph = fs.CausalGraph.parse("a -> x, z; x -> z -> v; x <-> v; z <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 2000, random_state=2).frame
    tree = DecisionTreeRegressor(random_state=0)
    audit = fs.Audit.fit(frame, graph, predictor=tree, random_state=0, max_degree=1, penalty=0)
    lower, upper = audit.bounds(audit.flips(0.0), 0.3, search=fs.Search(starts=1))
    assert lower.value == 0
    assert upper.value > 0.1
