from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import fairstress as fs
from fairstress.errors import DataError, SettingError, Status
from fairstress.inputs.rows import BLOCK
from fairstress.model.system import make_system, system_of_batch
from fairstress.model.threshold import ThresholdSystem
from fairstress.model.threshold_columns import make_columns, marks_of, same_columns

ROOT = fs.CausalGraph.parse("a -> x -> z; a -> z; a <-> x <-> z <-> a", protected="a", outcome="y")
PARENT = fs.CausalGraph.parse("r -> a -> x; r -> x; r <-> a <-> x <-> r", protected="a", outcome="y")
P = np.array([[1, 0.5, -0.3], [0.5, 1, 0.2], [-0.3, 0.2, 1]])
OPTIONS = {"predictor_degree": 2, "predictor_penalty": 1.0}


def fitted(graph: fs.CausalGraph, n: int = 200, penalty: float = 0.0, degree: int = 2, **options) -> fs.Audit:
    frame = fs.datasets.simulate(graph, n, random_state=3, **options).frame
    degrees = dict(zip(graph.features, (1, degree), strict=True))
    return fs.Audit.fit(frame, graph, degrees=degrees, penalty=penalty, **OPTIONS)


def random_start(claim, rng):
    """Any u, theta and gamma, as the fit from which Newton sets out."""
    m, d = claim.model_a.log_scales.size, claim.model_a.weights.size
    return replace(claim.model_a, log_scales=rng.uniform(-2, 2, m), weights=2 * rng.standard_normal(d))


def log_density_of_row(audit, found, i):
    """Log of the integral of the joint normal density of all errors over those of A that give the observed level."""
    rows, design = audit.fitted.claim.rows, audit.fitted.claim.design
    d, scales = design.feature_of.size, np.append(1.0, found.scales)
    errors = rows.x[i] - design.fitted(rows.a[i : i + 1], rows.x[i : i + 1], found.weights[:d])[0]
    h = float(design.protected.values(rows.a[i : i + 1], rows.x[i : i + 1])[0] @ found.weights[d:])
    joint = stats.multivariate_normal(np.zeros(scales.size), np.outer(scales, scales) * found.correlation)
    limits = (-h, 9.0) if rows.a[i] > 0 else (-9.0, -h)  # beyond 9 lies less than 1e-18
    value, _ = integrate.quad(lambda e: joint.pdf(np.append(e, errors)), *limits, epsabs=0, epsrel=1e-11, limit=200)
    return np.log(value)


@pytest.mark.parametrize("graph", [ROOT, PARENT], ids=["root", "with parents"])
def test_the_log_likelihood_is_the_joint_density_integrated_over_the_latent_attribute(graph):
    audit = fitted(graph, n=40, penalty=3.0)
    found = audit.fitted.claim.system.fits(P[None], audit.fitted.claim.model_a, check_minima=True)[0]
    expected = sum(log_density_of_row(audit, found, i) for i in range(40))
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-10)


def raw_objective(audit, v):
    """``F`` from rows, in weights, log scales and gamma; the conditional of A by the precision of all errors."""
    rows, design, m = audit.fitted.claim.rows, audit.fitted.claim.design, 2
    d = design.feature_of.size
    w, t, gamma = v[:d], v[d : d + m], v[d + m :]
    e = (rows.x - design.fitted(rows.a, rows.x, w)) / np.exp(t)
    K = np.linalg.inv(P)
    h = design.protected.values(rows.a, rows.x) @ gamma
    chance = stats.norm.logcdf(rows.a * (h - e @ K[0, 1:] / K[0, 0]) * np.sqrt(K[0, 0]))
    quadratic = np.einsum("ij,jk,ik->i", e, np.linalg.inv(P[1:, 1:]), e)
    fit = rows.weight @ (quadratic - 2 * chance) + 2 * rows.n * t.sum()
    return fit + audit.fitted.claim.system.features.penalties @ w**2


@pytest.mark.parametrize("graph", [ROOT, PARENT], ids=["root", "with parents"])
@pytest.mark.parametrize("penalty", [0.0, 20.0])
def test_the_fit_is_the_optimum_that_scipy_finds_on_raw_rows(graph, penalty):
    audit = fitted(graph, penalty=penalty)
    found = audit.fitted.claim.system.fits(P[None], audit.fitted.claim.model_a, check_minima=True)[0]
    d = audit.fitted.claim.design.feature_of.size
    v = np.concatenate([found.weights[:d], found.log_scales, found.weights[d:]])
    np.testing.assert_allclose(found.objective, raw_objective(audit, v), rtol=1e-12)
    other = optimize.minimize(lambda v: raw_objective(audit, v), np.zeros(v.size), options={"gtol": 1e-3})
    # BFGS stops at a gradient of 1e-3 or where its differences are noise; the curvature is about n
    np.testing.assert_allclose(other.fun, found.objective, rtol=1e-9)
    np.testing.assert_allclose(other.x, v, atol=1e-4)


@pytest.mark.parametrize("penalty", [0.0, 50.0])
def test_gradient_and_hessian_of_the_objective_are_limits_of_differences(penalty):
    claim = fitted(PARENT, n=60, penalty=penalty).fitted.claim
    system = claim.system
    rng = np.random.default_rng(0)
    z = system.coordinates(random_start(claim, rng))
    _, (g,), (H,) = system.objective(z[None], system.place(P[None]))
    at, step = system.place(np.repeat(P[None], z.size, axis=0)), 1e-6 * np.eye(z.size)
    up, down = (list(zip(*system.objective(z + sign * step, at), strict=True)) for sign in (1, -1))
    # sums of size F and g, good to 16 digits, over 2e-6
    numeric = [(u[0] - d[0]) / 2e-6 for u, d in zip(up, down, strict=True)]
    np.testing.assert_allclose(g, numeric, rtol=1e-6, atol=1e-6 * np.abs(g).max())
    numeric = np.array([(u[1] - d[1]) / 2e-6 for u, d in zip(up, down, strict=True)])
    np.testing.assert_allclose(H, numeric, rtol=1e-6, atol=1e-8 * np.abs(H).max())
    np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-12 * np.abs(H).max())


@pytest.mark.parametrize("graph", [ROOT, PARENT], ids=["root", "with parents"])
def test_without_penalty_the_objective_is_convex_and_every_start_ends_at_one_fit(graph):
    claim, rng = fitted(graph).fitted.claim, np.random.default_rng(0)
    starts = [random_start(claim, rng) for _ in range(20)]
    for start in starts:
        _, _, (H,) = claim.system.objective(claim.system.coordinates(start)[None], claim.system.place(P[None]))
        curvature = np.linalg.eigvalsh(H)
        assert curvature[0] > -1e-12 * curvature[-1]
    fits = [claim.system.fits(P[None], start, check_minima=False)[0] for start in starts]
    expected = claim.counterfactual_rows(fits[0]).x
    for found in fits:
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.objective, fits[0].objective, rtol=1e-12)
        np.testing.assert_allclose(found.scales, fits[0].scales, rtol=1e-8)
        np.testing.assert_allclose(claim.counterfactual_rows(found).x, expected, rtol=1e-8, atol=1e-8)


def test_two_minima_are_found_the_lower_is_reported_and_the_status_says_so():
    weights = {"x": {"a": -9.44}, "z": {"a": -0.22, "x": 8.9}}
    frame = fs.datasets.simulate(ROOT, 30, weights=weights, random_state=107).frame
    audit = fs.Audit.fit(frame, ROOT, degrees={"x": 1, "z": 1}, penalty=300.0, **OPTIONS)
    near = np.array([[1, 0.3, -0.3], [0.3, 1, 0.5], [-0.3, 0.5, 1]])
    claim, rng = audit.fitted.claim, np.random.default_rng(0)
    found = claim.system.fits(near[None], claim.model_a, check_minima=True)[0]
    assert found.status is Status.TWO_MINIMA
    starts = [claim.model_a, *(random_start(claim, rng) for _ in range(20))]
    others = [claim.system.fits(near[None], start, check_minima=False)[0].objective for start in starts]
    assert max(others) > found.objective + 1
    np.testing.assert_allclose(found.objective, min(others), rtol=1e-10)


# ---------------------------------------------------------------- hidden causes of no weight

TRUTH = fs.CausalGraph.parse("a -> x -> z; a, r -> z", protected="a", outcome="y")
MISSING = "a -> x -> z; r -> z; x <-> z"  # without a -> z the pair x <-> z moves CFU at penalty 0 too


def with_and_without(binary: bool, penalty: float, penalise_constant: bool) -> tuple[fs.Audit, fs.Audit]:
    """One table, audited with a graph that lets the protected attribute be confounded and with one that does not."""
    graphs = [fs.CausalGraph.parse(MISSING + more, protected="a", outcome="y") for more in ("; a <-> x; a <-> z", "")]
    weights = {"x": {"a": 0.8}, "z": {"a": 0.8, "x": 0.5, "r": 0.5}}
    frame = fs.datasets.simulate(TRUTH, 300, binary=binary, weights=weights, random_state=2).frame
    options = {"degrees": {"r": 1, "x": 2, "z": 2}, "penalty": penalty, "penalise_constant": penalise_constant}
    return tuple(fs.Audit.fit(frame, graph, **options, **OPTIONS) for graph in graphs)


@pytest.mark.parametrize("binary", [True, False], ids=["two-valued", "numeric"])
@pytest.mark.parametrize(("penalty", "penalise_constant"), [(0.0, False), (20.0, False), (20.0, True)])
def test_uncorrelated_with_the_attribute_the_fit_is_that_of_the_features_alone(binary, penalty, penalise_constant):
    wide, narrow = with_and_without(binary, penalty, penalise_constant)
    assert wide.variables == ("a", *narrow.variables)
    for p in (-0.7, 0.0, 0.4):
        pair = {("x", "z"): p}
        one, other = wide.model_b(pair), narrow.model_b(pair)
        np.testing.assert_allclose(one.weights[narrow.model_a.weights.index], other.weights, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(one.scales[list(narrow.variables)], other.scales, rtol=1e-10)
        assert wide.cfu(pair) == pytest.approx(narrow.cfu(pair), rel=1e-10, abs=1e-20)
    assert narrow.cfu({("x", "z"): 0.4}) > 1e-3 * narrow.fitted.outcome_variance


@pytest.mark.parametrize("binary", [True, False], ids=["two-valued", "numeric"])
def test_uncorrelated_with_the_attribute_the_likelihood_gains_the_attributes_own(binary):
    wide, narrow = with_and_without(binary, 0.0, False)
    a, n = wide.fitted.table.rows.a, 300
    share = (a > 0).mean()
    own = (
        n * (share * np.log(share) + (1 - share) * np.log(1 - share))
        if binary
        else stats.norm.logpdf(a, a.mean(), a.std()).sum()
    )
    for p in (0.0, 0.5):
        found = wide.model_b({("x", "z"): p}).log_likelihood - narrow.model_b({("x", "z"): p}).log_likelihood
        assert found == pytest.approx(own, rel=1e-10)


# ---------------------------------------------------------------- rows, names, hard data


def test_columns_that_are_made_anew_for_each_pass_give_the_fit_of_columns_that_are_kept(monkeypatch):
    monkeypatch.setattr("fairstress.inputs.rows.LONGEST", BLOCK)
    claim = fitted(ROOT, n=2 * BLOCK + 50).fitted.claim  # three blocks
    kept = claim.system.fits(P[None], claim.model_a, check_minima=False)[0]
    assert [len(blocks) for blocks in claim.system._columns.values()] == [3]  # each feature is tied to the attribute
    monkeypatch.setattr("fairstress.inputs.rows.KEPT", 0)
    system = ThresholdSystem(claim.system.features, claim.design, claim.rows)
    anew = system.fits(P[None], claim.model_a, check_minima=False)[0]
    assert not system._columns
    np.testing.assert_array_equal(anew.weights, kept.weights)


def test_columns_of_features_that_no_chain_of_pairs_ties_to_the_attribute_change_no_fit():
    text = "a -> x, z, u, v; x -> u; u -> v; a <-> x; x <-> z; u <-> v"
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=3).frame
    claim = fs.Audit.fit(frame, graph, max_degree=1, penalty=2.0, **OPTIONS).fitted.claim
    system = claim.system
    assert system.pairs == ((0, 1), (1, 2), (3, 4))
    assert {*system.members[system._seen[system._seen < system.members.size]]} == {0, 1}  # x and z, not u and v
    tied = np.eye(5)
    for (j, k), p in zip(system.pairs, (0.5, -0.3, 0.6), strict=True):
        tied[j, k] = tied[k, j] = p
    every = ThresholdSystem(system.features, system.design, system.rows)
    one, other = (s.fits(tied[None], claim.model_a, check_minima=True)[0] for s in (system, every))
    assert system._columns[False][0].B.shape[1] < every._columns[False][0].B.shape[1]
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-12)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-13)
    c_w = np.random.default_rng(0).standard_normal((1, one.weights.size))
    ours, theirs = (s.correlation_gradients([other], c_w)[0] for s in (system, every))
    for j, k in system.pairs:
        assert ours[j, k] + ours[k, j] == pytest.approx(theirs[j, k] + theirs[k, j], rel=1e-9)


def test_columns_that_are_the_same_but_for_their_sign_are_summed_over_once(monkeypatch):
    monkeypatch.setattr("fairstress.inputs.rows.LONGEST", BLOCK)
    claim = fitted(ROOT, n=2 * BLOCK + 50).fitted.claim
    blocks, folded = claim.system.folded()
    B = np.concatenate([block.B for block in blocks])
    every = np.concatenate([make_columns(claim.design, range(2), block) for block in claim.rows.blocks()])
    assert folded.count < every.shape[1]  # all equations have a constant, and so has the attribute's
    np.testing.assert_array_equal(B @ folded.E.T, every)


def test_columns_that_part_in_one_row_of_a_later_block_are_not_taken_for_the_same():
    first, rng = np.array([[1.0, -1.0, 2.0], [0.0, 0.0, 1.0]]), np.random.default_rng(0)
    later = np.repeat(rng.standard_normal((500, 1)), 3, axis=1) * [1, -1, 1]
    like, sign = same_columns(marks_of(first) + marks_of(later))
    assert (like.tolist(), sign.tolist()) == ([0, 0, 2], [1.0, -1.0, 1.0])
    later[77, 1] += 1e-9
    assert same_columns(marks_of(first) + marks_of(later))[0].tolist() == [0, 1, 2]


def test_a_correlation_beyond_the_graphs_pairs_is_fitted_with_all_columns():
    claim = fitted(fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")).fitted.claim
    beyond = np.eye(3)
    beyond[0, 2] = beyond[2, 0] = 0.5
    every = ThresholdSystem(claim.system.features, claim.design, claim.rows)
    one, other = (s.fits(beyond[None], claim.model_a, check_minima=False)[0] for s in (claim.system, every))
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("binary", [True, False], ids=["two-valued", "numeric"])
def test_a_batch_is_the_system_of_its_rows_under_its_share_of_the_penalty(binary):
    claim = fitted(PARENT, penalty=8.0, binary=binary).fitted.claim
    rows = claim.rows.where(slice(0, 50))
    batch = system_of_batch(claim.system, claim.design, rows, 0.25)
    alone = make_system(claim.design, rows, 2.0, penalise_constant=False)
    one, other = (system.fits(P[None], claim.model_a, check_minima=False)[0] for system in (batch, alone))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


def test_a_model_names_the_attributes_own_weights_and_a_numeric_ones_scale():
    two, numeric = fitted(PARENT).model_b(P), fitted(PARENT, binary=False).model_b(P)
    for model in (two, numeric):
        assert list(model.weights["a"].index) == ["1", "r"]
        assert list(model.correlation.index) == ["a", "r", "x"]
    assert list(two.scales.index) == ["r", "x"]
    assert list(numeric.scales.index) == ["a", "r", "x"]


@pytest.mark.parametrize("p", [-0.99, 0.99, 0.9999])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 1e8])
def test_newton_converges_close_to_singular_correlations_and_under_any_penalty(p, penalty):
    audit = fitted(ROOT, penalty=penalty)
    for pair in (("a", "x"), ("a", "z"), ("x", "z")):
        assert audit.model_b({pair: p}).status is Status.CONVERGED


@pytest.mark.parametrize("scale", [1e-2, 1e-3])
def test_a_feature_that_its_parents_all_but_determine_is_fitted_and_the_status_says_so(scale):
    """Its u is large, and the objective's rounding with it."""
    frame = fs.datasets.simulate(ROOT, 500, scales={"z": scale}, random_state=1).frame
    audit = fs.Audit.fit(frame, ROOT, degrees={"x": 1, "z": 1}, penalty=0, **OPTIONS)
    rng = np.random.default_rng(0)
    for _ in range(40):
        r = rng.uniform(-0.49, 0.49, 3)  # any such three form a correlation matrix
        found = audit.model_b({("a", "x"): r[0], ("a", "z"): r[1], ("x", "z"): r[2]})
        assert found.status is Status.CONVERGED


@pytest.mark.parametrize("minority", [5, 8])
def test_a_tiny_group_is_fitted_like_any_other(minority):
    frame = fs.datasets.simulate(ROOT, 400, random_state=1).frame
    frame["a"] = np.where(np.arange(400) < minority, 1, -1)
    audit = fs.Audit.fit(frame, ROOT, degrees={"x": 1, "z": 1}, penalty=0, **OPTIONS)
    claim, rng = audit.fitted.claim, np.random.default_rng(0)
    fits = [claim.system.fits(P[None], random_start(claim, rng), check_minima=False)[0] for _ in range(5)]
    for found in fits:
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.weights, fits[0].weights, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("penalty", [0.0, 20.0])
@pytest.mark.parametrize("penalise_constant", [False, True])
def test_unit_and_zero_of_a_numeric_attribute_do_not_matter(penalty, penalise_constant):
    frame = fs.datasets.simulate(PARENT, 300, binary=False, weights={"a": {"r": 1.5}}, random_state=0).frame
    options = {"degrees": {"r": 1, "x": 1}, "penalty": penalty, "penalise_constant": penalise_constant, **OPTIONS}
    one, other = (fs.Audit.fit(frame.assign(a=40 * c + c * frame["a"]), PARENT, **options) for c in (0.01, 1000))
    np.testing.assert_allclose(one.cfu(P), other.cfu(P), rtol=1e-10)
    np.testing.assert_allclose(one.gradient(P), other.gradient(P), rtol=1e-9)


TWO_PARENTS = fs.CausalGraph.parse("r, q -> a -> x; r -> x; a <-> x", protected="a", outcome="y")


def test_an_attribute_whose_error_nothing_shows_is_refused():
    options = {"degrees": {"r": 1, "q": 1, "x": 1}, "penalty": 0, **OPTIONS}
    two, numeric = (fs.datasets.simulate(TWO_PARENTS, 200, binary=b, random_state=0).frame for b in (True, False))
    with pytest.raises(DataError, match="the parents of 'a' tell its two levels apart in every row"):
        fs.Audit.fit(two.assign(a=np.sign(two["r"] - two["q"])), TWO_PARENTS, **options)
    with pytest.raises(DataError, match="the protected attribute 'a' is an exact function of its parents"):
        fs.Audit.fit(numeric.assign(a=numeric["r"] - numeric["q"]), TWO_PARENTS, **options)
    with pytest.raises(SettingError, match="of the equation of 'a' is determined by its other terms"):
        fs.Audit.fit(numeric.assign(q=3 - 2 * numeric["r"]), TWO_PARENTS, **options)


def test_parents_of_a_two_valued_attribute_that_determine_each_other_are_as_one():
    """The threshold is unique, though its weights are not."""
    frame = fs.datasets.simulate(TWO_PARENTS, 200, random_state=0).frame
    frame["q"] = 3 - 2 * frame["r"]
    graph = fs.CausalGraph.parse("q; r -> a -> x; r -> x; a <-> x", protected="a", outcome="y")
    options = {"degrees": {"r": 1, "q": 1, "x": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    double, single = (fs.Audit.fit(frame, g, **options) for g in (TWO_PARENTS, graph))
    correlation = {("a", "x"): 0.4}
    assert double.cfu(correlation) == pytest.approx(single.cfu(correlation), rel=1e-9)
    assert double.gradient(correlation).iloc[0] == pytest.approx(single.gradient(correlation).iloc[0], rel=1e-7)
