from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate
from fairstress.errors import Status
from fairstress.functionals.cfu import CFU
from fairstress.search.algorithm1 import _batch

LAW = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa"
TRIANGLE = fs.CausalGraph.parse("a -> x -> z; a -> z; a <-> x <-> z <-> a", protected="a", outcome="y")
PARENT = fs.CausalGraph.parse("r -> a -> x; r -> x; r <-> a <-> x <-> r", protected="a", outcome="y")
OPTIONS = {"predictor_degree": 2, "predictor_penalty": 1.0}
simulate = fs.datasets.simulate


@pytest.fixture(scope="module")
def law(law_frame):
    """Law school with the settings of the paper, race confounded too; what cross-validation picks is given."""
    graph = fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")
    penalty = 166.81005372
    options = {"degrees": {"ugpa": 1, "lsat": 2}, "penalty": penalty, "predictor_degree": 2}
    return fs.Audit.fit(
        law_frame,
        graph,
        reference="White",
        max_degree=4,
        penalise_constant=True,
        predictor_penalty=penalty,
        random_state=0,
        **options,
    )


def both(rho: float) -> dict[tuple[str, str], float]:
    return {("race", "ugpa"): rho, ("race", "lsat"): rho}


# ---------------------------------------------------------------- known values


@pytest.mark.parametrize(
    ("rho", "cfu"), [(0.1, 0.0030830), (0.2, 0.0125709), (0.3, 0.0294693), (0.5, 0.0956929), (-0.2, 0.0135177)]
)
def test_law_school_gives_the_known_values_where_race_is_confounded(law, rho, cfu):
    assert law.cfu(both(rho)) == pytest.approx(cfu, rel=2e-5)  # the values are known to 5 digits


def test_the_other_reference_turns_the_sign_of_correlations_with_race(law, law_frame):
    options = {"degrees": law.settings.degrees, "penalty": law.settings.penalty, "penalise_constant": True}
    predictor = {"predictor_degree": 2, "predictor_penalty": law.settings.predictor_penalty}
    other = fs.Audit.fit(law_frame, law.graph, reference="non-White", **options, **predictor)
    P = {**both(0.3), ("ugpa", "lsat"): 0.2}
    turned = {**both(-0.3), ("ugpa", "lsat"): 0.2}
    assert other.cfu(turned) == pytest.approx(law.cfu(P), rel=1e-10)


@pytest.mark.parametrize(
    ("budget", "least", "most"),
    [
        ("pairwise", [0.003611, 0.01770, 0.05343], np.inf),
        ("spectral", [0.002821, 0.010576, 0.022643], 1.001),
    ],
)
def test_law_school_reaches_the_known_worst_cases_over_all_three_pairs(law, budget, least, most):
    for p_max, value in zip([0.1, 0.2, 0.3], least, strict=True):
        found = law.worst_case(p_max, budget=budget, search=fs.Search(starts=4))
        assert value <= found.value <= most * value
        assert found.status is Status.CONVERGED
        assert found.value == pytest.approx(law.cfu(found.correlation), rel=1e-9)


def test_the_claim_breaks_where_the_worst_case_reaches_the_blind_baseline(law):
    curve = law.curve([0.18, 0.19], search=fs.Search(starts=2))
    point = curve.breaking_point("blind", definition="paper")
    assert point.level == law.baselines["blind"].unfairness
    below, at = (law.worst_case(p_max).value for p_max in (point.p_max - 1e-4, point.p_max))
    assert below < point.level <= at * (1 + 1e-7)  # another search ends within its precision
    assert point.p_max == pytest.approx(0.1849, abs=1e-4)


# ---------------------------------------------------------------- gradients

CASES = {
    "root": (TRIANGLE, True, 0.0),
    "root, penalty": (TRIANGLE, True, 30.0),
    "parents": (PARENT, True, 0.0),
    "parents, penalty": (PARENT, True, 30.0),
    "numeric": (TRIANGLE, False, 0.0),
    "numeric, parents, penalty": (PARENT, False, 30.0),
}
P = np.array([[1, 0.4, -0.3], [0.4, 1, 0.25], [-0.3, 0.25, 1]])


@pytest.mark.parametrize("name", CASES)
def test_gradients_by_the_correlation_are_limits_of_differences(name):
    graph, binary, penalty = CASES[name]
    last = graph.features[-1]
    frame = simulate(graph, 300, binary=binary, degrees={last: 2}, random_state=5).frame
    degrees = dict(zip(graph.features, (1, 2), strict=True))
    audit = fs.Audit.fit(frame, graph, degrees=degrees, penalty=penalty, **OPTIONS)
    assert audit.cfu(P) > 1e-3 * audit.fitted.outcome_variance
    functionals = [CFU(), audit.effect(last), audit.coefficient(last, "a")]
    functionals += [audit.cfu_of_group(1)] if binary else []
    for functional in functionals:
        found = evaluate(audit.fitted.claim, P, functional, gradient=True)
        for j, k in ((0, 1), (0, 2), (1, 2)):
            step = np.zeros((3, 3))
            step[j, k] = step[k, j] = 1e-5
            up, down = (evaluate(audit.fitted.claim, P + sign * step, functional).value for sign in (1, -1))
            slope = found.gradient[j, k] + found.gradient[k, j]
            # of a value of about 1, good to 13 digits, over 2e-5
            np.testing.assert_allclose(slope, (up - down) / 2e-5, rtol=1e-6, atol=1e-8)


def test_the_gradient_is_given_by_pair(law):
    slope = law.gradient(both(0.2))
    assert list(slope.index) == list(law.graph.pairs)
    up, down = (law.cfu(both(0.2 + step)) for step in (1e-4, -1e-4))
    along = slope["race", "ugpa"] + slope["race", "lsat"]
    assert along == pytest.approx((up - down) / 2e-4, rel=1e-6)


# ---------------------------------------------------------------- simulated truth

TRUE_P = {("a", "x"): 0.4, ("a", "z"): 0.3, ("x", "z"): 0.2}
WEIGHTS = {"a": {"1": 0.3}, "x": {"a": 0.6, "1": 0.5}, "z": {"a": -0.4, "x": 0.8}}
SIZES = (1000, 4000, 16000)


def errors_of(n: int, binary: bool, seed: int) -> tuple[list[float], list[float]]:
    """Error of the total effect on z, and of everyone's counterfactual, at the true P and at P = I."""
    truth = simulate(TRIANGLE, n, correlation=TRUE_P, weights=WEIGHTS, binary=binary, shift=1.0, random_state=seed)
    shift = {} if binary else {"shift": 1.0}
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(truth.frame, TRIANGLE, **options, **shift)
    effect = (-2.0 if binary else 1.0) * (0.6 * 0.8 - 0.4)
    found = [evaluate(audit.fitted.claim, audit._read(P), audit.effect("z")).value - effect for P in (TRUE_P, {})]
    frames = [audit.counterfactuals(P)[["x", "z"]] - truth.counterfactuals[["x", "z"]] for P in (TRUE_P, {})]
    return found, [float(np.sqrt((frame**2).to_numpy().mean())) for frame in frames]


@pytest.mark.parametrize("binary", [True, False], ids=["two-valued", "numeric"])
def test_at_the_true_correlation_effects_and_counterfactuals_converge_to_the_truth_and_at_none_they_do_not(binary):
    errors = np.array([[errors_of(n, binary, seed) for seed in range(16)] for n in SIZES])  # size, seed, which, P
    rms = np.sqrt((errors**2).mean(axis=1))
    slope = np.polyfit(np.log(SIZES), np.log(rms[:, :, 0]), 1)[0]
    # the root mean square of 16 errors is good to 1/sqrt(32), which makes 0.09 of the slope: two of that
    np.testing.assert_allclose(slope, -0.5, atol=0.2)
    np.testing.assert_allclose(rms[-1, :, 1], rms[0, :, 1], rtol=0.2)  # a bias does not shrink
    assert (rms[-1, :, 1] > 10 * rms[-1, :, 0]).all()


# ---------------------------------------------------------------- one Gaussian pair in closed form

LINEAR = {"penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}


def partial_out(target: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least-squares weights of some columns and a constant, and the residuals."""
    X = np.column_stack([*others, np.ones(target.size)])
    w = np.linalg.lstsq(X, target, rcond=None)[0]
    return w, target - X @ w


@pytest.fixture(scope="module")
def gaussian():
    graph = fs.CausalGraph.parse("r -> a -> x; r -> x; a <-> x", protected="a", outcome="y")
    truth = simulate(graph, 400, binary=False, correlation={("a", "x"): 0.3}, scales={"x": 3.0}, random_state=1)
    return fs.Audit.fit(truth.frame, graph, degrees={"r": 1, "x": 1}, shift=0.7, **LINEAR), truth.frame


def test_bounds_of_a_gaussian_attributes_effect_are_the_closed_form(gaussian):
    """``tau - rho s / (sqrt(1 - rho^2) sigma_A)``, s and sigma_A the deviations of the two residuals."""
    audit, frame = gaussian
    a, r, x = (frame[name].to_numpy() for name in "arx")
    w, residual = partial_out(x, a, r)
    s, sigma = residual.std(), partial_out(a, r)[1].std()
    for p_max in (0.2, 0.7):
        reach = p_max * s / (np.sqrt(1 - p_max**2) * sigma)
        for functional, unit in ((audit.coefficient("x", "a"), 1.0), (audit.effect("x"), 0.7)):
            lower, upper = audit.bounds(functional, p_max)
            assert lower.value == pytest.approx(unit * (w[0] - reach), rel=1e-9)
            assert upper.value == pytest.approx(unit * (w[0] + reach), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_effect_is_that_of_the_regression_with_the_hidden_cause_in_it(gaussian, seed):
    """With sensemakr's partial R2 of any column u, ``rho^2 / (1 - rho^2) = R2_Y R2_D / (1 - R2_D)``."""
    audit, frame = gaussian
    a, r, x = (frame[name].to_numpy() for name in "arx")
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(a.size) + rng.uniform(-1, 1) * a + rng.uniform(-0.3, 0.3) * x
    w, residual = partial_out(x, a, r)
    a_left = partial_out(a, r)[1]
    R_Y = np.corrcoef(residual, partial_out(u, a, r)[1])[0, 1]
    R_D = np.corrcoef(a_left, partial_out(u, r)[1])[0, 1]
    odds = R_Y**2 * R_D**2 / (1 - R_D**2)
    rho = np.sign(R_Y * R_D) * np.sqrt(odds / (1 + odds))
    found = evaluate(audit.fitted.claim, audit._read({("a", "x"): rho}), audit.coefficient("x", "a")).value
    assert found == pytest.approx(partial_out(x, a, r, u)[0][0], rel=1e-9)
    # the same bias by sensemakr's formula, from the standard error and the degrees of freedom
    df = a.size - 3
    se = np.sqrt(residual @ residual / df / (a_left @ a_left))
    assert abs(found - w[0]) == pytest.approx(se * np.sqrt(df * odds), rel=1e-9)


# ---------------------------------------------------------------- the other tools


def small_audit(frame: pd.DataFrame, graph: fs.CausalGraph) -> fs.Audit:
    return fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 2}, penalty=2.0, random_state=0, **OPTIONS)


@pytest.fixture(scope="module")
def small():
    return small_audit(simulate(TRIANGLE, 400, correlation={("a", "x"): 0.3}, random_state=1).frame, TRIANGLE)


def test_algorithm_1_climbs_with_a_confounded_attribute_and_does_not_beat_the_search(small):
    climbed = small.worst_case(0.4, search=fs.Search(method="ascent"), random_state=1)
    best = small.worst_case(0.4)
    assert small.cfu(dict.fromkeys(TRIANGLE.pairs, 0.05)) < climbed.value <= best.value * (1 + 1e-9)
    assert climbed.status is Status.LOCAL
    assert climbed.reflects_threshold
    assert best.reflects_threshold


def test_batches_are_fitted_to_everyone_though_one_group_alone_is_moved():
    frame = simulate(TRIANGLE, 600, random_state=1).frame
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "contrast": -1, **OPTIONS}
    claim = fs.Audit.fit(frame, TRIANGLE, **options).fitted.claim
    batch = _batch(claim, np.random.default_rng(0))
    assert set(claim.rows.a) == set(batch.rows.a) == {1.0}
    assert set(batch.everyone.a) == set(batch.system.rows.a) == {-1.0, 1.0}


@pytest.mark.parametrize("binary", [True, False], ids=["two-valued", "numeric"])
def test_a_pair_with_a_parent_of_the_attribute_is_searched_and_leaves_that_parent_alone(binary):
    frame = simulate(PARENT, 400, binary=binary, random_state=1).frame
    audit = fs.Audit.fit(frame, PARENT, degrees={"r": 1, "x": 1}, penalty=0, random_state=0, **OPTIONS)
    found = audit.worst_case(0.5, search=fs.Search(starts=2))
    assert found.value >= max(audit.cfu({("r", "a"): p, ("a", "x"): q}) for p in (-0.5, 0.5) for q in (-0.5, 0.5))
    other = audit.counterfactuals(found.correlation)
    np.testing.assert_allclose(other["r"], frame["r"], atol=1e-12)
    assert np.abs(other["x"] - frame["x"]).max() > 0.1


@pytest.mark.parametrize("binary", [True, False], ids=["two-valued", "numeric"])
def test_rows_with_weight_are_rows_repeated(binary):
    frame = simulate(TRIANGLE, 150, binary=binary, random_state=4).frame
    times = np.random.default_rng(0).integers(0, 4, 150)
    options = {"degrees": {"x": 1, "z": 2}, "penalty": 3.0, **OPTIONS}
    shift = {} if binary else {"shift": 1.0}
    weighted = fs.Audit.fit(frame, TRIANGLE, sample_weight=times, **options, **shift)
    repeated = fs.Audit.fit(frame.loc[frame.index.repeat(times)], TRIANGLE, **options, **shift)
    one, other = weighted.model_b(P), repeated.model_b(P)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-11)
    np.testing.assert_allclose(weighted.cfu(P), repeated.cfu(P), rtol=1e-9)
    np.testing.assert_allclose(weighted.gradient(P), repeated.gradient(P), rtol=1e-8)


def test_frames_are_the_equations_at_the_other_level_with_the_noise_kept(small):
    """Abduction, action and prediction by hand, from the weights that users see."""
    w, frame = small.model_b(P).weights, small.fitted.table.rows
    x, z = frame.x[small.fitted.table.row_of].T
    a = frame.a[small.fitted.table.row_of]
    x_cf = x - 2 * a * w["x", "a"]

    def equation(a, x):
        terms = {"1": 1.0, "a": a, "x": x, "a*x": a * x, "x^2": x**2}
        return sum(w["z", term] * values for term, values in terms.items())

    z_cf = z + equation(-a, x_cf) - equation(a, x)
    found = small.counterfactuals(P)
    assert list(found.columns) == ["a", "x", "z"]
    np.testing.assert_array_equal(found["a"], -a)
    expected = small.fitted.table.scaling.undo(np.column_stack([x_cf, z_cf]))
    np.testing.assert_allclose(found[["x", "z"]], expected, rtol=1e-10, atol=1e-10)


def test_bounds_take_the_attributes_pairs_with_derivatives_and_without():
    graph = fs.CausalGraph.parse("a -> x -> z; a -> z; x <-> a <-> z", protected="a", outcome="y")
    small = small_audit(simulate(graph, 150, correlation={("a", "x"): 0.3}, random_state=1).frame, graph)
    z = small.fitted.table.scaling.undo(small.fitted.table.rows.x)[small.fitted.table.row_of, 1]

    def effect(frame: pd.DataFrame) -> float:
        return float((frame["a"] * (z - frame["z"])).mean())  # a(z' - z), for a' = -a

    lower, upper = small.bounds(small.effect("z"), 0.3, search=fs.Search(starts=2))
    assert lower.value < effect(small.counterfactuals({})) < upper.value
    again = small.bounds(effect, 0.3, search=fs.Search(starts=1))
    assert [end.value for end in again] == pytest.approx([lower.value, upper.value], rel=1e-5)


def flat(text: str) -> str:
    return text.replace("\n", " ")


def test_summaries_name_the_threshold_and_reject_no_correlation(small):
    assert "a itself is taken as a normal variable seen through a threshold" in flat(small.details())
    curve = small.curve([0.1, 0.3], search=fs.Search(starts=1))
    cautious = [small.profile(("a", "x"), [-0.3, 0.3]), curve.points[-1], curve]
    for text in (flat(found.summary()) for found in cautious):
        assert "also reflects the assumed normality and threshold of the two-valued attribute" in text
        assert "it does not tell which correlation is right" in text
        assert not any(word in text for word in ("object", "reject", "rule out", "ruled out"))
    assert "threshold" not in flat(small.profile(("x", "z"), [-0.3, 0.3]).summary())


def test_a_numeric_attribute_has_no_threshold():
    frame = simulate(TRIANGLE, 200, binary=False, random_state=1).frame
    audit = fs.Audit.fit(frame, TRIANGLE, degrees={"x": 1, "z": 1}, penalty=1.0, random_state=0, **OPTIONS)
    assert "threshold" not in audit.details()
    assert not audit.profile(("a", "x"), [0.3]).reflects_threshold
    assert "threshold" not in audit.worst_case(0.3, search=fs.Search(starts=1)).summary()
