"""Replicates: Model B fitted anew under other weights, the deployed predictor as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstress as fs
from fairstress.analyses.bands import replicates
from fairstress.analyses.bands.replicates import Replicator
from fairstress.claim.evaluate import fits, sampled
from fairstress.functionals.cfu import CFU
from fairstress.functionals.relative import RelativeCFU
from fairstress.model.replicated import refits
from fairstress.model.system import system_of_batch

EDGES = "a -> x, z; x -> z"
TIED = f"{EDGES}; a <-> x; x <-> z"
LINEAR = {"degrees": {"x": 1, "z": 1}, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}


def audit(edges: str = TIED, n: int = 300, frame: pd.DataFrame | None = None, **options) -> fs.Audit:
    graph = fs.CausalGraph.parse(edges, protected="a", outcome="y")
    people = fs.datasets.simulate(graph, n, random_state=3).frame if frame is None else frame
    return fs.Audit.fit(people, graph, **({"penalty": 0} | LINEAR | options))


def at(of: fs.Audit, **pairs: float) -> np.ndarray:
    return of._read({tuple(name.split("_")): p for name, p in pairs.items()})[None]


def test_limits_are_the_same_on_one_process_and_on_two():
    of = audit()
    one, two = (of.curve([0, 0.1, 0.2], bands=fs.Bootstrap(60, n_jobs=jobs)) for jobs in (1, 2))
    for first, second in zip(one.points, two.points, strict=True):
        assert np.array_equal(first.estimate.replicates, second.estimate.replicates)


def test_a_seed_gives_the_same_replicates_and_another_seed_others():
    of = audit()
    a, b, c = (of.estimate({("a", "x"): 0.2}, bands=60, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(a.replicates, b.replicates)
    assert not np.array_equal(a.replicates, c.replicates)


def test_with_everyones_own_weight_a_replicate_is_the_audit_itself():
    of = audit()
    bands = fs.Bootstrap(replicate_weights=fs.ReplicateWeights(np.ones((300, 39))))
    found = of.estimate({("a", "x"): 0.3, ("x", "z"): -0.2}, bands=bands)
    # fits stop where a step promises 1e-9 of the objective per person, or less
    np.testing.assert_allclose(found.replicates, found.value, rtol=1e-6)
    assert found.standard_error < 1e-6 * found.value


@pytest.mark.parametrize("degree", [1, 2])  # people who change alike, and nodes
@pytest.mark.parametrize("edges", [TIED, f"{EDGES}; x <-> z"])
def test_values_side_by_side_are_those_of_each_replicate_alone(edges, degree):
    of = audit(edges, n=500, degrees={"x": degree, "z": degree})
    assert (of.fitted.claim.for_squares().cross is None) == (degree == 1)
    replicator = Replicator(of.fitted, fs.Bootstrap(39), 0)
    claim, P = replicator.claim, at(of, x_z=0.3)
    weights = replicator.draws.of_rows(range(3))
    made = refits(claim.system, claim.design, claim.everyone, weights, fits(claim, P), 0.0)
    group = CFU(group=float(claim.rows.a.max()))
    for functional in (CFU(), group, RelativeCFU(of.fitted.baselines["blind"].claim, "")):
        together = functional.under_weights(claim, weights, made)
        claims = [claim.reweighted(weight, claim.system) for weight in weights]
        alone = [functional.values(one, own)[0] for one, own in zip(claims, made, strict=True)]
        np.testing.assert_allclose(together[:, 0], alone, rtol=1e-10)


def test_replicates_that_need_everyone_are_judged_one_by_one():
    of = audit(measure=0.9)
    claim = Replicator(of.fitted, fs.Bootstrap(39), 0).claim
    assert CFU().under_weights(claim, claim.everyone.weight[None], [[claim.model_a]]) is None


@pytest.mark.parametrize("edges", [TIED, f"{EDGES}; x <-> z"])
def test_fits_side_by_side_are_those_made_one_by_one(edges):
    of = audit(edges, n=500)
    claim, P = of.fitted.claim, np.array([np.eye(len(of.variables))] * 2)
    P[1, 0, 1] = P[1, 1, 0] = 0.4
    base = claim.system.fits(P, claim.model_a, check_minima=False)
    weights = np.random.default_rng(0).standard_exponential((6, claim.everyone.a.size)) * claim.everyone.weight
    together = refits(claim.system, claim.design, claim.everyone, weights, base, 0.0)
    for weight, made in zip(weights, together, strict=True):
        alone = system_of_batch(claim.system, claim.design, replace(claim.everyone, weight=weight), 0.0)
        for fit, own in zip(made, alone.fits(P, claim.model_a, check_minima=True), strict=True):
            # a last step that promises 1e-4 of the objective leaves some 1e-3 standard errors, of 0.05
            np.testing.assert_allclose(fit.weights, own.weights, atol=2e-4)


def test_the_standard_error_of_a_weight_is_that_of_least_squares_with_robust_errors():
    """At P = I an equation is a regression, and the Bayesian bootstrap's variance is White's (HC0) to first order."""
    of = audit(f"{EDGES}; x <-> z", n=800)
    frame = fs.datasets.simulate(of.graph, 800, random_state=3).frame
    X = np.column_stack([np.ones(800), frame["a"], frame["x"]])
    w, inverse = np.linalg.lstsq(X, frame["z"], rcond=None)[0], np.linalg.inv(X.T @ X)
    scores = X * (frame["z"] - X @ w).to_numpy()[:, None]
    robust = np.sqrt((inverse @ scores.T @ scores @ inverse)[2, 2])
    found = of.estimate({}, of.coefficient("z", "x"), bands=800)
    assert found.standard_error == pytest.approx(robust, rel=0.1)  # 800 replicates know it to 2.5 %
    assert found.value == pytest.approx(w[2], rel=1e-9)
    assert found.lower == pytest.approx(w[2] - stats.norm.ppf(0.975) * robust, abs=0.4 * robust)


def test_jackknife_weights_give_the_jackknife_s_variance():
    of = audit(f"{EDGES}; x <-> z", n=120)
    frame = fs.datasets.simulate(of.graph, 120, random_state=3).frame
    X = np.column_stack([np.ones(120), frame["a"], frame["x"]])
    left_out = [np.linalg.lstsq(np.delete(X, i, 0), np.delete(frame["z"], i), rcond=None)[0][2] for i in range(120)]
    jackknife = np.sqrt(119 / 120 * np.sum((left_out - np.mean(left_out)) ** 2))
    weights = fs.ReplicateWeights((1 - np.eye(120)) * 120 / 119, kind="jackknife")
    found = of.estimate({}, of.coefficient("z", "x"), bands=fs.Bootstrap(800, replicate_weights=weights))
    assert found.standard_error == pytest.approx(jackknife, rel=0.1)


def test_copies_in_clusters_widen_limits_by_the_root_of_their_number():
    frame = fs.datasets.simulate(fs.CausalGraph.parse(TIED, protected="a", outcome="y"), 250, random_state=3).frame
    threefold = pd.concat([frame] * 3, ignore_index=True)
    alone = audit(frame=threefold).estimate({("a", "x"): 0.3}, bands=400)
    clustered = audit(frame=threefold, cluster=np.tile(np.arange(250), 3)).estimate({("a", "x"): 0.3}, bands=400)
    assert clustered.standard_error / alone.standard_error == pytest.approx(np.sqrt(3), rel=0.15)


def test_the_deployed_predictor_stays_and_its_penalty_is_left_out_of_model_b():
    of = audit(penalty=100.0)
    replicator = Replicator(of.fitted, fs.Bootstrap(39), 0)
    claim = replicator.claim_of(3)
    assert claim.predictor is of.fitted.claim.predictor
    assert claim.model_a is of.fitted.claim.model_a
    assert not claim.system.features.penalties.any()


def test_fitted_anew_with_everything_a_predictor_is_at_0_again_under_model_a():
    """Why limits of the procedure say nothing near 0: each replicate is 0 by construction."""
    of = audit()
    procedure = of.estimate({}, bands=fs.Bootstrap(39, refit="all"))
    assert procedure.upper < 1e-20
    assert of.estimate({}, bands=39).upper > 1e-4


def test_a_group_of_ten_people_survives():
    rng = np.random.default_rng(0)
    a = np.where(np.arange(300) < 10, -1, 1)
    x = 0.5 * a + rng.standard_normal(300)
    z = x + rng.standard_normal(300)
    frame = pd.DataFrame({"a": a, "x": x, "z": z, "y": x + z + rng.standard_normal(300)})
    worst = audit(frame=frame).worst_case(0.2, bands=fs.Bootstrap(100, check=0))
    assert worst.estimate.replication.n_done == 100
    assert worst.estimate.upper > worst.value


@dataclass
class Fragile:
    """CFU, except in replicates in which the first person weighs much."""

    name: str = "fragile CFU"

    def values(self, claim, fits):
        if claim.rows.weight[0] > 2.5:
            raise fs.DataError("the first person weighs too much")
        return CFU().values(claim, fits)

    def has_slope(self, claim):
        return False

    def values_and_slopes(self, claim, fits):
        return None


def test_replicates_that_fail_are_counted_and_named():
    replication = audit().estimate({}, Fragile(), bands=200).replication
    ((reason, count),) = replication.failures.items()
    assert reason == "DataError: the first person weighs too much"
    assert 5 <= count <= 32  # exp(-2.5) of 200 are 16
    assert replication.n_done == 200 - count


@pytest.mark.parametrize("status", [fs.Status.STEP_LIMIT, fs.Status.STALLED, fs.Status.LOST_DIGITS])
def test_a_replicate_fails_with_a_fit_that_is_not_to_be_relied_on(status):
    fit = audit().fitted.claim.model_a
    assert not replicates._failure([fit])
    assert replicates._failure([fit, replace(fit, status=status)]) == str(status)


@dataclass
class Interrupted(Fragile):
    """CFU, until somebody presses Ctrl-C."""

    calls: int = 0

    def values(self, claim, fits):
        self.calls += 1
        if self.calls > 65:
            raise KeyboardInterrupt
        return CFU().values(claim, fits)


def test_an_interrupt_ends_the_work_or_leaves_what_is_done():
    of, name = audit(), "CFU, interrupted"
    with pytest.raises(KeyboardInterrupt):
        of.estimate({}, Interrupted(name), bands=200)
    kept = of.estimate({}, Interrupted(name), bands=fs.Bootstrap(200, partial=True))
    assert kept.replication.n_done == kept.replicates.size == 60  # three whole tasks of 20 replicates
    whole = of.estimate({}, bands=200)
    assert np.array_equal(kept.replicates, whole.replicates[:60])


def test_too_few_replicates_that_count_are_refused():
    class Never(Fragile):
        def values(self, claim, fits):
            if len(fits) and claim.everyone.weight.std() > 0:
                raise fs.DataError("never")
            return CFU().values(claim, fits)

    with pytest.raises(fs.FairstressError, match=r"0 of 39 replicates count, .*39 times: DataError: never"):
        audit().estimate({}, Never(), bands=39)


@pytest.fixture(scope="module")
def mixed() -> fs.Audit:
    graph = fs.CausalGraph.parse("a -> o, x; o -> x; o <-> x", protected="a", outcome="y")
    kinds = {"o": ["low", "mid", "high"]}
    frame = fs.datasets.simulate(graph, 400, kinds=kinds, cuts={"o": (-0.5, 0.6)}, random_state=0).frame
    options = {"degrees": {"o": 1, "x": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1}
    return fs.Audit.fit(frame, graph, kinds=kinds, random_state=0, **options)


def test_with_everyones_own_weight_a_replicate_of_levels_is_the_audit_itself(mixed):
    bands = fs.Bootstrap(replicate_weights=fs.ReplicateWeights(np.ones((400, 39))))
    found = mixed.estimate({("o", "x"): 0.4}, bands=bands)
    np.testing.assert_allclose(found.replicates, found.value, rtol=1e-6)


def test_replicates_of_levels_are_fits_to_other_weights(mixed):
    """As a refit of the audit to the same people under one replicate's weights, its predictor and Model A apart."""
    replicator = Replicator(mixed.fitted, fs.Bootstrap(39), 0)
    P = at(mixed, o_x=0.4)
    found = replicator.values(CFU(), P, among=range(2)).values[1, 0]  # noqa: PD011  (no frame)
    claim = replicator.claim_of(1)
    (fit,) = claim.system.fits(P, claim.model_a, check_minima=True)
    # a replicate's last step promises at most 1e-4 of the objective per person, and doubles the digits
    assert found == pytest.approx(CFU().values(claim, [fit])[0], rel=1e-3)


def test_levels_have_limits_above_their_floor(mixed):
    found = mixed.estimate({}, bands=60)
    assert found.value == pytest.approx(mixed.fitted.context.floor)
    assert found.upper > found.value


def test_a_function_of_the_frame_has_no_limits():
    with pytest.raises(fs.SettingError, match="is a function of the frame, whose people cannot be weighted"):
        audit().estimate({}, lambda frame: float(frame["z"].mean()), bands=39)


def test_an_effect_on_a_sample_of_people_is_that_on_everyone_up_to_chance(mixed):
    whole = mixed.fitted.claim
    effect = mixed.effect("x")
    everyone = effect.values(whole, [whole.model_a])[0]
    some = sampled(whole, 0, 200)
    assert some.rows.a.size < whole.rows.a.size
    assert effect.values(some, [whole.model_a])[0] == pytest.approx(everyone, rel=0.2)  # some hundred people


def test_normal_draws_leave_peoples_weights_positive():
    of = audit(n=120)
    weights = fs.ReplicateWeights(np.repeat(1 - np.eye(30), 4, axis=0) * 30 / 29, kind="jackknife")
    found = of.estimate({("a", "x"): 0.3}, of.flips(0.0), bands=fs.Bootstrap(100, replicate_weights=weights))
    assert found.replicates.min() >= 0
    worst = of.worst_case(0.2, bands=fs.Bootstrap(100, replicate_weights=weights))
    assert worst.estimate.replication.n_checked == 0  # a draw is no table that could be searched
    assert "normal draws of Model B" in " ".join(worst.summary().split())


def test_a_survey_weight_that_leaves_too_few_people_is_named():
    weights = np.ones((300, 39))
    weights[1:, 5] = 0  # one person, of whom no weight can be told from another
    bands = fs.Bootstrap(100, replicate_weights=fs.ReplicateWeights(weights, kind="jackknife"))
    with pytest.raises(fs.SettingError, match="column 5 of replicate_weights leaves Model B no fit"):
        audit().estimate({("a", "x"): 0.3}, bands=bands)


def test_an_audits_functionals_are_its_own():
    of, other = audit(), audit(n=200)
    with pytest.raises(fs.FairstressError, match="is about another audit's baseline"):
        of.estimate({}, other.relative_cfu(), bands=fs.Bootstrap(39, refit="all"))
