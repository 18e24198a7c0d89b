"""A robust predictor: the frontier of accuracy against the worst case within a budget."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

import fairstress as fs
from fairstress.analyses.robust import cuts
from fairstress.analyses.robust.accuracy import _descent, accuracy_of
from fairstress.analyses.robust.cuts import TOLERANCE, CuttingPlanes, cfu_matrix
from fairstress.analyses.robust.minimax import minimax
from fairstress.analyses.worst_case import Solver
from fairstress.budgets import read_budget
from fairstress.claim.evaluate import evaluate_many, model_b
from fairstress.errors import SettingError, Status
from fairstress.functionals.cfu import CFU, evaluate_cfu
from fairstress.search.sets import correlation_set

GRAPH = fs.CausalGraph.parse("a -> w, x, z; w -> x; x -> z; a <-> x; a <-> z", protected="a", outcome="y")
OPTIONS = {"degrees": {"w": 1, "x": 1, "z": 1}, "penalty": 1, "predictor_degree": 2, "predictor_penalty": 1}
WEIGHTS = [0.1, 1, 10]


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, 400, correlation={("a", "x"): 0.2}, random_state=1).frame


@pytest.fixture(scope="module")
def audit(frame):
    """Two features share hidden causes with the attribute: CFU is large."""
    return fs.Audit.fit(frame, GRAPH, random_state=0, **OPTIONS)


@pytest.fixture(scope="module")
def frontier(audit):
    return audit.frontier(0.4, WEIGHTS)


# ---------------------------------------------------------------- the quadratic form


def three_levels():
    rng = np.random.default_rng(0)
    shift = {"red": 0.0, "green": 1.0, "blue": -0.7}
    a = rng.choice(list(shift), 400)
    x = np.array([shift[level] for level in a]) + rng.standard_normal(400)
    z = 0.8 * x + rng.standard_normal(400)
    frame = pd.DataFrame({"a": a, "x": x, "z": z, "y": x + z + rng.standard_normal(400)})
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    return fs.Audit.fit(frame, graph, penalty=0, predictor_degree=2, sample_weight=rng.uniform(0.5, 2, 400))


def fair_part():
    edges, fair = (("a", "x"), ("a", "z"), ("x", "z")), (("a", "x"),)
    graph = fs.CausalGraph(edges=edges, pairs=(("x", "z"),), protected="a", outcome="y", fair_edges=fair)
    frame = fs.datasets.simulate(graph, 400, random_state=2).frame
    return fs.Audit.fit(frame, graph, penalty=0, predictor_degree=2, mixed="fair part")


@pytest.mark.parametrize("case", ["confounded attribute", "three levels with sample weights", "fair part"])
def test_cfu_is_the_quadratic_form_in_the_predictors_weights(case, audit):
    audit = {"confounded attribute": lambda: audit, "fair part": fair_part}.get(case, three_levels)()
    pair = audit.graph.pairs[0]
    claim, P = audit.fitted.claim, audit._read({pair: 0.45})
    M = cfu_matrix(claim, model_b(claim, P))
    rng = np.random.default_rng(0)
    for theta in (claim.predictor.weights, rng.standard_normal(len(M))):
        other = replace(claim, predictor=replace(claim.predictor, weights=theta))
        assert theta @ M @ theta == pytest.approx(evaluate_cfu(other, P).value, rel=1e-10)


def matrix(audit, P):
    """CFU at P as a quadratic form in the predictor's weights."""
    return cfu_matrix(audit.fitted.claim, model_b(audit.fitted.claim, P))


# ---------------------------------------------------------------- the frontier


def test_weight_0_is_the_audited_predictor_itself(audit, frontier):
    assert frontier.fair.weight == 0
    assert frontier.fair.predictor is audit.fitted.claim.predictor
    assert frontier.fair.cfu == pytest.approx(audit.worst_case(0.4).value, rel=1e-9)
    assert frontier.fair.r2 == audit.fitted.claim.predictor.r2


def test_every_fit_is_optimal_for_its_cuts_and_its_worst_case_is_among_them(frontier):
    for point in frontier.points[1:]:
        assert 0 <= point.gap <= 1e-9
        assert point.worst_case.value <= (1 + TOLERANCE) * point.cfu_of_cuts
        assert point.status is Status.CONVERGED
        assert sum(point.mixture.values()) == pytest.approx(1, abs=1e-4)


def test_worst_case_and_accuracy_never_rise_with_the_weight(audit):
    found = audit.frontier(0.4, np.logspace(-2, 3, 6))
    cfu, r2, loss = (np.array([getattr(p, name) for p in found.points]) for name in ("cfu", "r2", "loss"))
    assert (cfu[1:] <= (1 + TOLERANCE) * cfu[:-1]).all()
    assert (np.diff(r2) <= 0).all()
    assert (np.diff(loss) >= 0).all()
    assert cfu[-1] < 1e-3 * cfu[0]


@pytest.mark.parametrize("kind", ["pairwise", "spectral"])
def test_cuts_belong_to_the_budget_and_nothing_on_a_dense_scan_is_worse(audit, kind):
    found = audit.frontier(0.5, [1], budget=kind, search=fs.Search(starts=2))
    members = correlation_set(read_budget(kind), 0.5, GRAPH, audit.variables)
    assert all(members.contains(members.point(P.to_numpy())) for P in found.cuts)
    robust_predictor = replace(audit.fitted.claim, predictor=found.points[1].predictor)
    scan = members.matrix(members.scan(300, np.random.default_rng(9)))
    assert max(e.value for e in evaluate_many(robust_predictor, scan, CFU())) <= (1 + TOLERANCE) * found.points[1].cfu


def test_one_pair_agrees_with_all_correlations_of_a_fine_grid_as_cuts_at_once(frame):
    graph = fs.CausalGraph.parse("a -> w, x, z; w -> x; x -> z; a <-> z", protected="a", outcome="y")
    audit = fs.Audit.fit(frame, graph, **OPTIONS)
    point = audit.frontier(0.6, [0.5]).points[1]
    planes = CuttingPlanes.of(audit.fitted, 0.6, Solver.of(audit.fitted, "pairwise", None, None))
    grid = [audit._read({("a", "z"): p}) for p in np.linspace(-0.6, 0.6, 61)]
    whole = minimax(planes.accuracy.quadratic, np.array([matrix(audit, P) for P in grid]), 0.5)
    # the loop may stop where the worst case exceeds that of its cuts by 0.1 %
    assert point.loss + 0.5 * point.cfu == pytest.approx(whole.value, rel=1e-3)


def test_the_unit_of_the_outcome_changes_no_trade(audit, frame, frontier):
    scaled = fs.Audit.fit(frame.assign(y=10 * frame["y"]), GRAPH, random_state=0, **OPTIONS).frontier(0.4, WEIGHTS)
    for one, ten in zip(frontier.points, scaled.points, strict=True):
        assert ten.r2 == pytest.approx(one.r2, rel=1e-3)
        assert ten.cfu == pytest.approx(100 * one.cfu, rel=1e-2)


def test_where_correlations_cannot_matter_the_fair_predictor_is_the_most_robust(frame):
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1)
    found = audit.frontier(0.5, [100])
    assert found.points[1].predictor is audit.fitted.claim.predictor
    assert found.cuts == ()


def test_the_shrunk_fair_predictor_has_the_same_accuracy_and_is_no_more_robust(audit, frontier):
    for point in frontier.points[1:]:
        f, y = predictions(audit), audit.fitted.table.y
        drawn = f.mean() + point.shrinkage * (f - f.mean())
        assert 1 - ((y - drawn) ** 2).mean() / y.var() == pytest.approx(point.r2, abs=1e-10)
        assert point.cfu < frontier.shrunk(point)


def predictions(audit):
    rows = audit.fitted.table.rows
    eps = np.concatenate([people.eps for people in audit.fitted.claim.blocks()])
    return audit.fitted.claim.predict(rows, eps)[audit.fitted.table.row_of]


def test_the_frame_has_a_row_per_predictor_with_the_baselines_own_worst_cases(audit, frontier):
    shown = frontier.to_frame().set_index("predictor")
    assert list(shown.index) == ["fair", "robust", "robust", "robust", "unconstrained", "blind"]
    members = correlation_set(read_budget("pairwise"), 0.4, GRAPH, audit.variables)
    scan = members.matrix(members.scan(200, np.random.default_rng(3)))
    for name, baseline in audit.baselines.items():
        there = {pair: shown.loc[name, f"{pair[0]} <-> {pair[1]}"] for pair in GRAPH.pairs}
        assert shown.loc[name, "unfairness"] == pytest.approx(audit.cfu(there, baseline=name), rel=1e-9)
        assert shown.loc[name, "unfairness"] >= max(e.value for e in evaluate_many(baseline.claim, scan, CFU()))
        assert shown.loc[name, "distance"] == baseline.unfairness
        assert shown.loc[name, "r2"] == baseline.r2
    assert {"a <-> x", "a <-> z"} <= set(shown.columns)
    text = frontier.summary()
    assert "fair (audited)" in text
    assert f"{frontier.points[1].cfu:.4e}" in text


def test_the_picture_shows_the_frame(frontier):
    frame = frontier.to_frame()
    drawn = {line.get_label(): line.get_xydata() for line in frontier.plot().get_lines()}
    own = frame[frame["predictor"].isin(["fair", "robust"])]
    np.testing.assert_array_equal(drawn["robust, by weight"], own[["unfairness", "r2"]])
    np.testing.assert_array_equal(drawn["fair one, shrunk"], own[["shrunk", "r2"]])
    for name in ("unconstrained", "blind"):
        np.testing.assert_array_equal(drawn[name], frame.loc[frame["predictor"] == name, ["unfairness", "r2"]])


# ---------------------------------------------------------------- a two-valued outcome


@pytest.fixture(scope="module")
def two_valued(frame):
    """The same people with a yes or no, on the scale of log-odds."""
    return fs.Audit.fit(
        frame.assign(y=frame["y"] > 0), GRAPH, predictor=fs.Predictor(scale="log-odds"), random_state=0, **OPTIONS
    )


@pytest.fixture(scope="module")
def of_log_odds(two_valued):
    return two_valued.frontier(0.4, [0.1])


def test_log_odds_are_made_robust_and_another_optimiser_finds_nothing_better(two_valued, of_log_odds):
    found = of_log_odds
    point, forms = found.points[1], [matrix(two_valued, P.to_numpy()) for P in found.cuts]
    phi = point.predictor.embedding.values(two_valued.predictor_inputs().to_numpy())
    y = two_valued.fitted.table.y
    penalised = np.arange(phi.shape[1]) > 0

    def objective(theta):
        linear = phi @ theta
        deviance = 2 * (np.logaddexp(0, linear) - y * linear).mean()
        ridge = two_valued.settings.predictor_penalty * (theta[penalised] ** 2).sum() / len(y)
        return deviance + ridge + 0.1 * max(theta @ M @ theta for M in forms)

    own = objective(point.predictor.weights)
    assert point.loss + 0.1 * point.cfu_of_cuts == pytest.approx(own, rel=1e-8)
    for seed in range(3):
        start = point.predictor.weights + 0.1 * np.random.default_rng(seed).standard_normal(phi.shape[1])
        other = optimize.minimize(objective, start, method="Powell", options={"maxiter": 30, "xtol": 1e-8})
        assert own <= other.fun * (1 + 1e-9)
    assert point.cfu < found.shrunk(point) < found.fair.cfu
    assert point.r2 < found.fair.r2


def test_the_frontier_of_log_odds_explains_deviance_and_has_no_r_squared(of_log_odds):
    found = of_log_odds
    shown = [found.summary(), found.to_markdown(), found.plot().get_ylabel()]
    assert all("deviance explained" in text.replace("\n", " ") for text in shown)
    assert not any("R2" in text for text in shown)


def test_the_shrunk_log_odds_are_as_accurate(two_valued, of_log_odds):
    point = of_log_odds.points[1]
    f, y = (
        two_valued.fitted.claim.predictor.predict(two_valued.predictor_inputs().to_numpy()),
        two_valued.fitted.table.y,
    )
    middle = np.log(y.mean() / (1 - y.mean()))
    drawn = middle + point.shrinkage * (f - middle)
    deviances = [(np.logaddexp(0, linear) - y * linear).mean() for linear in (drawn, np.full(len(y), middle))]
    assert 1 - deviances[0] / deviances[1] == pytest.approx(point.r2, abs=1e-5)


# ---------------------------------------------------------------- an audit with it


def test_fit_takes_a_robust_value(audit, frame):
    at_once = fs.Audit.fit(frame, GRAPH, random_state=0, robust=fs.Robust(0.4, 1), **OPTIONS)
    assert at_once.robust_predictor.weight == 1
    np.testing.assert_array_equal(
        at_once.fitted.claim.predictor.weights, audit.robust(0.4, 1).fitted.claim.predictor.weights
    )


@pytest.mark.parametrize("robust", [0.3, {"p_max": 0.3, "weight": 3}, "0.3", (0.3, 3)])
def test_what_is_no_robust_value_is_refused_before_anything_is_fitted(frame, robust):
    message = f"robust is {robust!r}: give a value such as Robust(p_max=0.3, weight=10)"
    with pytest.raises(SettingError, match=re.escape(message)):
        fs.Audit.fit(frame, GRAPH, robust=robust, **OPTIONS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1.3, 10), "p_max is 1.3"), ((0.3, -1), "weight is -1"), ((0.3, 1, "spectrl"), "budget is 'spectrl'")],
)
def test_a_robust_value_is_checked_when_it_is_made(arguments, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        fs.Robust(*arguments)


def test_weight_0_is_the_same_audit(audit):
    assert audit.robust(0.4, 0) is audit
    with pytest.raises(SettingError, match="p_max is 2"):
        audit.robust(2, 0)


def test_a_predictor_that_may_not_be_the_best_says_so(audit, monkeypatch):
    monkeypatch.setattr(cuts, "WIDEST", -1.0)
    assert audit.robust(0.4, 1).robust_predictor.status is Status.CUT_LIMIT


def test_refit_to_other_settings_it_keeps_the_robust_predictor(audit):
    robust = audit.robust(0.4, 1)
    assert robust.refit(penalty=0).fitted.claim.predictor is robust.fitted.claim.predictor
    again = robust.refit(penalty=robust.settings.penalty)  # fitted anew, to the same
    assert again.cfu({("a", "x"): 0.3}) == pytest.approx(robust.cfu({("a", "x"): 0.3}), rel=1e-12)
    assert robust.refit().fitted is robust.fitted


def test_an_audit_with_the_robust_predictor_has_the_worst_case_of_its_point(audit, frontier):
    robust = audit.robust(0.4, 1)
    point = frontier.points[2]
    assert robust.robust_predictor.cfu == pytest.approx(point.cfu, rel=2 * TOLERANCE)
    assert robust.worst_case(0.4).value == pytest.approx(robust.robust_predictor.cfu, rel=1e-6)
    assert robust.cfu({}) <= 1e-20
    assert robust.baselines == audit.baselines
    assert "a robust one: the best at weight 1" in robust.details()
    assert "robust" not in audit.details()
    # at structural penalty 0 it is the same predictor, not one fitted anew
    assert robust.fitted.unpenalised.predictor is robust.fitted.claim.predictor
    assert robust.curve([0.4]).cfu_unpenalised[0] < audit.curve([0.4]).cfu_unpenalised[0]


def test_where_people_have_several_worlds_each_predictor_is_searched_by_its_own_values():
    graph = fs.CausalGraph.parse("a -> x -> z; a -> z; a <-> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, kinds={"x": [0, 1, 2]}, random_state=0).frame
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1}
    quick = fs.Search(starts=1)
    audit = fs.Audit.fit(frame, graph, random_state=0, **options)
    point = audit.frontier(0.2, [10], search=quick).to_frame().query("predictor == 'robust'").iloc[0]
    assert point["unfairness"] == audit.robust(0.2, 10, search=quick).worst_case(0.2, search=quick).value


def test_the_gradient_with_the_robust_predictor_is_that_of_finite_differences(audit):
    robust = audit.robust(0.4, 1)
    assert robust.cfu({("a", "x"): 0.35, ("a", "z"): 0.3}) >= 1e-3 * audit.fitted.outcome_variance
    slope, h = robust.gradient({("a", "x"): 0.35, ("a", "z"): 0.3}), 1e-5
    for pair in GRAPH.pairs:
        ends = [robust.cfu({("a", "x"): 0.35, ("a", "z"): 0.3} | {pair: p}) for p in _around(pair, h)]
        assert slope[pair] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-6)


def _around(pair, h):
    centre = {("a", "x"): 0.35, ("a", "z"): 0.3}[pair]
    return centre - h, centre + h


# ---------------------------------------------------------------- what is refused


def test_what_cannot_be_made_robust_is_refused_with_a_sentence(audit, frame):
    logistic = fs.Audit.fit(frame.assign(y=frame["y"] > 0), GRAPH, **OPTIONS)
    with pytest.raises(SettingError, match=r"gives probabilities.*scale='log-odds'"):
        logistic.frontier(0.3)
    user_predictor = fs.Audit.fit(frame, GRAPH, predictor=lambda Z: Z[:, 0], **OPTIONS)
    with pytest.raises(SettingError, match="the user's own"):
        user_predictor.frontier(0.3)
    with pytest.raises(SettingError, match="measure is 'absolute'"):
        fs.Audit.fit(frame, GRAPH, measure="absolute", **OPTIONS).frontier(0.3)
    with pytest.raises(SettingError, match="a robust one already"):
        audit.robust(0.3, 1).frontier(0.3)


@pytest.mark.parametrize("weights", [[-1], ["much"], [np.inf], [np.nan], 3, "3", None])
def test_weights_that_are_none_are_refused(audit, weights):
    with pytest.raises(SettingError, match="weight"):
        audit.frontier(0.3, weights)


def test_a_budget_that_is_none_is_refused(audit):
    with pytest.raises(SettingError, match="p_max is 1"):
        audit.frontier(1)
    with pytest.raises(SettingError, match="weight is -1"):
        audit.robust(0.3, -1)


# ---------------------------------------------------------------- out of sample


def test_on_held_out_people_it_is_more_robust_than_the_fair_predictor_shrunk_to_its_accuracy(load_benchmark):
    """A small version of the benchmark, whose 50 data sets show by how much."""
    benchmark = load_benchmark("robust_predictor")
    found = pd.concat([benchmark.experiment(seed, 200, [3.0]) for seed in range(5)])
    k, c, gains = benchmark.beside_the_shrunk_one(found)
    shrunk = found["r2_0"] + c * found["r2_1"] + c**2 * found["r2_2"]
    assert shrunk.mean() == pytest.approx(found["r2"].mean(), abs=1e-12)
    assert 0.8 < k < 1.25  # R2 where they were fitted and R2 on held-out people nearly agree on what is as accurate
    assert gains["worst"].is_clear


def test_a_constant_predictor_cannot_be_shrunk_to_explain_anything(audit):
    fitted = audit.fitted
    accuracy = accuracy_of(fitted.table, fitted.claim, fitted.claim.predictor, penalise_constant=False)
    constant = np.eye(fitted.claim.predictor.weights.size)[0]
    assert accuracy.shrinkage(constant, 0.1) == 0.0
    assert accuracy.shrinkage(fitted.claim.predictor.weights, accuracy.r2(fitted.claim.predictor.weights)) > 0.99


def test_a_descent_that_finds_nothing_lower_stays_where_it_is():
    here, there = np.zeros(2), np.ones(2)
    assert _descent(lambda theta: float(theta @ theta), here, there, 0.0, 1.0) == (here, 0.0)
    found, value = _descent(lambda theta: float((theta - 0.3) @ (theta - 0.3)), here, there, 0.18, 0.18)
    assert value < 0.18
    assert found[0] in (1.0, 0.5, 0.25)
