"""People held out: what was fitted to some is judged on others."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
OPTIONS = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}


def people(n: int = 400):
    return fs.datasets.simulate(GRAPH, n, random_state=1).frame


def audit(holdout, n: int = 400, **options) -> fs.Audit:
    return fs.Audit.fit(people(n), GRAPH, holdout=holdout, **(OPTIONS | options))


@pytest.fixture(scope="module")
def halves() -> tuple[fs.Audit, fs.Audit, np.ndarray]:
    out = np.arange(400) % 2 == 0
    return audit(out), fs.Audit.fit(people(), GRAPH, **OPTIONS).refit(keep=~out), out


def test_model_a_and_predictor_are_those_of_the_people_kept(halves):
    judged, kept, _ = halves
    np.testing.assert_allclose(judged.fitted.claim.model_a.weights, kept.fitted.claim.model_a.weights, rtol=1e-9)
    assert judged.fitted.claim.predictor.r2 == pytest.approx(kept.fitted.claim.predictor.r2)


def test_model_b_is_that_of_the_people_held_out(halves):
    judged, _, out = halves
    alone = fs.Audit.fit(people(), GRAPH, **OPTIONS).refit(keep=out)
    P = {("a", "x"): 0.3}
    theirs, own = judged.model_b(P), alone.model_b(P)
    np.testing.assert_allclose(theirs.weights, own.weights, rtol=1e-6)
    assert theirs.log_likelihood == pytest.approx(own.log_likelihood)


def test_cfu_with_independent_errors_is_the_difference_of_the_two_parts(halves):
    judged, kept, _ = halves
    assert judged.cfu({}) == pytest.approx(judged.fitted.context.floor)
    assert judged.cfu({}) > 1e6 * kept.cfu({})
    assert judged.worst_case(0).log_likelihood_drop == pytest.approx(0, abs=1e-6)


def test_a_share_deals_people_of_every_group_whatever_the_order_of_rows():
    frame = people()
    judged = fs.Audit.fit(frame, GRAPH, holdout=0.3, **OPTIONS)
    turned = fs.Audit.fit(frame.iloc[::-1], GRAPH, holdout=0.3, **OPTIONS)
    assert judged.fitted.table.n_counted == 120
    assert judged.cfu({("a", "x"): 0.2}) == pytest.approx(turned.cfu({("a", "x"): 0.2}), rel=1e-9)
    sizes, whole = judged.fitted.table.group_sizes(), fs.Audit.fit(frame, GRAPH, **OPTIONS).fitted.table.group_sizes()
    assert all(abs(sizes[level] - 0.3 * whole[level]) <= 2 for level in whole)


def test_clusters_are_held_out_as_a_whole():
    cluster = np.repeat(np.arange(10), 40)
    judged = audit(0.3, cluster=cluster)
    held = judged.fitted.table.weight > 0
    assert all(held[cluster == one].all() or not held[cluster == one].any() for one in range(10))
    assert held.sum() == 120


def test_the_summary_says_who_was_held_out_and_calls_nothing_0_by_construction(halves):
    judged, _, _ = halves
    summary = " ".join(judged.details().split())
    assert "These people were held out: Model A, predictor and baselines were fitted to 200 others" in summary
    assert "on people held out" in summary
    assert "0 by construction" not in summary
    curve = judged.curve([0, 0.2], bands=fs.Bootstrap(60, check=0))
    assert "Model A was fitted to other people than these 200, who were held out" in " ".join(curve.summary().split())
    assert curve.points[0].estimate.upper > curve.points[0].value


def test_a_refit_is_judged_on_the_same_people(halves):
    judged, _, _ = halves
    again = judged.refit(penalty=10.0)
    assert again.fitted.table is judged.fitted.table
    assert again.settings.penalty == 10.0
    assert again.fitted.claim.model_a.weights[1] != judged.fitted.claim.model_a.weights[1]


@pytest.mark.parametrize(
    ("holdout", "sentence"),
    [
        (0.0, "holdout is 0.0: give a share between 0 and 1"),
        (1.0, "holdout is 1.0: give a share between 0 and 1"),
        ("half", "holdout is 'half': give a finite number"),
        (np.ones(400, dtype=bool), "holdout names every row with weight"),
        (np.zeros(400, dtype=bool), "holdout names no row with weight"),
        (np.ones(3, dtype=bool), "holdout has bool values of shape (3,): give one truth value per row"),
        (np.ones(400), "holdout has float64 values"),
        (np.arange(400) < 3, "the data have 3 rows, fewer than the 5 weights"),
    ],
    ids=str,
)
def test_a_holdout_that_cannot_be_meant_is_refused(holdout, sentence):
    with pytest.raises(fs.FairstressError) as problem:
        audit(holdout)
    assert sentence in str(problem.value)


def test_a_holdout_of_one_group_is_refused():
    with pytest.raises(fs.DataError, match=r"nobody of the group 1 of 'a' is held out"):
        audit((people()["a"] == -1).to_numpy())


def test_what_cannot_be_asked_of_people_held_out_says_so(halves):
    judged, _, _ = halves
    with pytest.raises(fs.SettingError, match="judges people who were held out"):
        judged.robust(0.2, 1)
    with pytest.raises(fs.SettingError, match="refit is 'all', but the audit is of a robust predictor or of people"):
        judged.estimate({}, bands=fs.Bootstrap(39, refit="all"))
