from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate, model_b
from fairstress.errors import SettingError
from fairstress.functionals.cfu import CFU

EDGES = (("a", "x"), ("a", "z"), ("x", "z"), ("a", "v"), ("x", "v"), ("z", "v"))
PAIRS = (("x", "z"), ("z", "v"))
LABELLINGS = [c for count in range(1, 6) for c in itertools.combinations(EDGES, count)]
OPTIONS = {"degrees": {"x": 1, "z": 1, "v": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1}
TRUE = {("x", "z"): 0.5, ("z", "v"): -0.3}
WEIGHTS = {"x": {"a": 0.7}, "z": {"a": -0.5, "x": 0.6}, "v": {"a": 0.4, "x": -0.3, "z": 0.5}}


def graph_with(fair):
    return fs.CausalGraph(edges=EDGES, pairs=PAIRS, protected="a", outcome="y", fair_edges=tuple(fair))


def simulated(fair, n, seed, **options):
    """Two mediators and a third feature, its errors correlated."""
    graph = graph_with(fair)
    truth = fs.datasets.simulate(graph, n, correlation=TRUE, weights=WEIGHTS, random_state=seed)
    return truth, fs.Audit.fit(truth.frame, graph, **OPTIONS, **options)


def cfu_of_truth(truth, audit):
    """CFU of the true counterfactuals for the audit's predictor, from Model A's published weights alone."""
    graph, weights = audit.graph, audit.model_a.weights
    mean, deviation = truth.frame[list("xzv")].mean(), truth.frame[list("xzv")].std(ddof=0)
    sides = []
    factual = ((truth.frame[list("xzv")] - mean) / deviation).assign(a=truth.frame["a"])
    other = ((truth.counterfactuals[list("xzv")] - mean) / deviation).assign(a=truth.counterfactuals["a"])
    for side in (factual, other):
        z = {}
        for name in "xzv":
            w = weights[name]
            parents = {p: (factual if (p, name) in graph.fair_edges else side)[p] for p in graph.parents(name)}
            residual = side[name] - w["1"] - sum(w[p] * values for p, values in parents.items())
            z[name] = residual if name in graph.reached else factual[name]
        sides.append(audit.fitted.claim.predictor.predict(pd.DataFrame(z)[list("xzv")].to_numpy()))
    return float(np.mean((sides[0] - sides[1]) ** 2))


@pytest.mark.parametrize("fair", LABELLINGS)
def test_under_model_a_every_labelling_gives_zero(fair):
    _, audit = simulated(fair, 300, 1)
    assert audit.cfu({}) <= 1e-28 * audit.fitted.outcome_variance


@pytest.mark.parametrize("fair", [(("a", "x"),), (("x", "z"),), (("a", "z"), ("x", "v")), (("a", "x"), ("z", "v"))])
def test_at_the_true_correlation_cfu_is_that_of_the_true_counterfactuals(fair):
    errors = []
    for n in (2_000, 8_000, 32_000):
        parts = []
        for seed in range(6):
            truth, audit = simulated(fair, n, seed)
            parts.append(np.sqrt(audit.cfu(TRUE)) - np.sqrt(cfu_of_truth(truth, audit)))
        errors.append(np.sqrt(np.mean(np.square(parts))))
    slope = np.polyfit(np.log([2_000, 8_000, 32_000]), np.log(errors), 1)[0]
    assert -0.85 < slope < -0.25  # -1/2 but for the draw
    assert errors[-1] < 8 / np.sqrt(32_000)


@pytest.mark.parametrize("fair", LABELLINGS)
def test_so_it_is_for_every_labelling(fair):
    truth, audit = simulated(fair, 20_000, 8)
    true, found = np.sqrt(cfu_of_truth(truth, audit)), np.sqrt(audit.cfu(TRUE))
    assert found == pytest.approx(true, abs=8 / np.sqrt(20_000))
    if not set(audit.graph.reached) & set("xzv"):
        assert true == found == 0


def test_the_true_counterfactuals_are_recovered_along_unfair_edges_only():
    truth, audit = simulated((("a", "x"), ("z", "v")), 20_000, 0)
    found = audit.counterfactuals(TRUE)
    pd.testing.assert_series_equal(found["x"], truth.frame["x"], rtol=1e-12)
    np.testing.assert_allclose(found[["z", "v"]], truth.counterfactuals[["z", "v"]], atol=0.06)
    assert np.abs(truth.counterfactuals["v"] - truth.frame["v"]).mean() > 0.5


def test_without_fair_edges_nothing_changes_and_with_all_edges_fair_nothing_is_unfair():
    _, plain = simulated((), 300, 2)
    assert {entry.kind for entry in plain.fitted.claim.view.entries} == {"residual"}
    _, audit = simulated(EDGES, 300, 2)
    assert {entry.kind for entry in audit.fitted.claim.view.entries} == {"itself"}
    assert audit.cfu(TRUE) == 0


@pytest.mark.parametrize("mixed", ["residual", "fair part"])
@pytest.mark.parametrize("fair", [(("a", "x"), ("x", "v")), (("x", "z"),), (("a", "z"), ("x", "v"))])
def test_the_gradient_is_the_limit_of_differences(fair, mixed):
    truth, _ = simulated(fair, 400, 3)
    options = {"degrees": {"x": 1, "z": 2, "v": 2}, "penalty": 2, "predictor_degree": 2, "predictor_penalty": 1}
    audit = fs.Audit.fit(truth.frame, graph_with(fair), mixed=mixed, **options)
    found = audit.gradient(TRUE)
    for pair in PAIRS:
        h = 1e-5
        up, down = ({**TRUE, pair: TRUE[pair] + step} for step in (h, -h))
        assert found[pair] == pytest.approx((audit.cfu(up) - audit.cfu(down)) / (2 * h), rel=1e-5)


@pytest.mark.parametrize("fair", LABELLINGS[:20])
def test_the_fair_part_of_a_mixed_feature_gives_zero_under_model_a_too(fair):
    _, audit = simulated(fair, 300, 4, mixed="fair part")
    assert audit.cfu({}) <= 1e-28 * audit.fitted.outcome_variance


def test_the_fair_part_is_model_a_s_value_at_the_reference_level():
    truth, audit = simulated((("x", "v"),), 500, 5, mixed="fair part")  # v: a -> v unfair, a -> x -> v fair
    assert [entry.kind for entry in audit.fitted.claim.view.entries] == ["residual", "residual", "fair part"]
    w = audit.model_a.weights
    x = (truth.frame[list("xzv")] - truth.frame[list("xzv")].mean()) / truth.frame[list("xzv")].std(ddof=0)
    a = truth.frame["a"]
    eps = {"x": x["x"] - w["x"]["1"] - w["x"]["a"] * a}
    eps["z"] = x["z"] - w["z"]["1"] - w["z"]["a"] * a - w["z"]["x"] * x["x"]
    eps["v"] = x["v"] - w["v"]["1"] - w["v"]["a"] * a - w["v"]["x"] * x["x"] - w["v"]["z"] * x["z"]
    # the reference level 1 on a -> x, a -> z, x -> z, z -> v and a -> v; the factual x on x -> v
    x_fair = w["x"]["1"] + w["x"]["a"] + eps["x"]
    z_fair = w["z"]["1"] + w["z"]["a"] + w["z"]["x"] * x_fair + eps["z"]
    v_fair = w["v"]["1"] + w["v"]["a"] + w["v"]["x"] * x["x"] + w["v"]["z"] * z_fair + eps["v"]
    block = audit.fitted.table.rows
    inputs = audit.fitted.claim.view.factual(block, np.column_stack([eps[k] for k in "xzv"])[_first(audit)])
    np.testing.assert_allclose(inputs[audit.fitted.table.row_of, 2], v_fair, atol=1e-10)


def _first(audit):
    """A person of each distinct row."""
    return np.unique(audit.fitted.table.row_of, return_index=True)[1]


# ---------------------------------------------------------------- effects


def test_direct_and_indirect_effects_of_law_school_run_apart_while_the_total_stays():
    """Degrees (1, 1), penalty 0: by absorption the total effect does not move, by confounding its parts do."""
    frame = fs.datasets.law_school()
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    options = {"degrees": {"ugpa": 1, "lsat": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1}
    audit = fs.Audit.fit(frame, graph, reference="White", **options)
    deviation = frame["lsat"].std(ddof=0)
    low, high = audit.bounds(audit.effect("lsat", "direct"), 0.6)
    assert low.value / deviation == pytest.approx(-1.12, abs=0.005)
    assert high.value / deviation == pytest.approx(-0.41, abs=0.005)
    for found in audit.bounds(audit.effect("lsat"), 0.6):
        assert found.value / deviation == pytest.approx(-0.864, abs=5e-4)
    indirect = audit.bounds(audit.effect("lsat", "indirect"), 0.6)
    total = audit.bounds(audit.effect("lsat"), 0.6)[0].value
    assert indirect[0].value == pytest.approx(total - high.value, rel=1e-6)
    assert indirect[1].value == pytest.approx(total - low.value, rel=1e-6)


def test_a_table_of_effects_holds_the_bounds_of_each():
    _, audit = simulated((), 400, 9)
    quick = fs.Search(starts=2)
    table = audit.effects(0.3, search=quick).set_index(["feature", "effect"])
    assert list(table.index.get_level_values(0).unique()) == ["x", "z", "v"]
    assert (table["low"] <= table["model_a"] + 1e-9).all()
    assert (table["model_a"] <= table["high"] + 1e-9).all()
    low, high = audit.bounds(audit.effect("v", "direct"), 0.3, search=quick)
    assert table.loc[("v", "direct"), ["low", "high"]].tolist() == [low.value, high.value]
    assert table.loc[("x", "indirect"), ["low", "high"]].abs().max() < 1e-9  # nothing stands between a and x
    parts = table.reset_index().pivot_table("model_a", "feature", "effect")
    np.testing.assert_allclose(parts["direct"] + parts["indirect"], parts["total"], rtol=1e-9)


def test_effects_are_those_of_the_linear_truth():
    truth, audit = simulated((("a", "x"),), 40_000, 6)
    w = audit.model_b(TRUE).weights
    deviation = truth.frame[list("xzv")].std(ddof=0)
    fits = [model_b(audit.fitted.claim, audit._read(TRUE))]
    # from the reference level, 1, to -1: twice the coefficients' sums along the paths, with the opposite sign
    direct = audit.effect("v", "direct").values(audit.fitted.claim, fits)[0]
    assert direct == pytest.approx(-2 * w["v"]["a"] * deviation["v"], rel=1e-12)
    total = audit.effect("z").values(audit.fitted.claim, fits)[0]
    along = w["z"]["a"] + w["z"]["x"] * w["x"]["a"]
    assert total == pytest.approx(-2 * along * deviation["z"], rel=1e-10)  # fair edges count in a total effect
    assert total == pytest.approx(-2 * (-0.5 + 0.6 * 0.7), abs=0.05)
    indirect = audit.effect("v", "indirect").values(audit.fitted.claim, fits)[0]
    paths = -0.3 * 0.7 + 0.5 * (-0.5 + 0.6 * 0.7)
    assert indirect == pytest.approx(-2 * paths, abs=0.05)


def test_cfu_of_a_group_has_its_own_gradient_along_paths():
    _, audit = simulated((("a", "x"),), 400, 7)
    P = audit._read(TRUE)
    functional = CFU(group=1.0)
    slope = evaluate(audit.fitted.claim, P, functional, gradient=True).gradient
    step = np.zeros_like(P)
    step[0, 1] = step[1, 0] = 1e-6
    up, down = (evaluate(audit.fitted.claim, P + sign * step, functional).value for sign in (1, -1))
    numeric = (up - down) / 2e-6
    assert slope[0, 1] + slope[1, 0] == pytest.approx(numeric, rel=1e-5)


def test_an_unknown_way_for_mixed_features_is_refused():
    truth, _ = simulated((), 300, 1)
    with pytest.raises(SettingError, match="mixed is 'both': give 'residual' or 'fair part'"):
        fs.Audit.fit(truth.frame, graph_with(()), mixed="both", **OPTIONS)


def test_the_summary_says_which_edges_are_called_fair_and_what_the_predictor_looks_at():
    _, audit = simulated((("a", "x"),), 300, 1)
    text = audit.details().replace("\n", " ")
    assert "Called fair, and so not counted: influence along a -> x." in text
    assert "The predictor looks at x, residual of z and residual of v." in text
