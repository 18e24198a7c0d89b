"""Boosted trees, folds and areas of our own give what scikit-learn's give."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from fairstress.analyses.boosting import BINS, LEAVES, TREES, probabilities
from fairstress.analyses.leakage import _area, _folds

OPTIONS = {"max_iter": TREES, "max_leaf_nodes": LEAVES, "max_bins": BINS, "early_stopping": False}


def people(n: int, d: int, cuts: tuple[float, ...]):
    """Errors, and a kind that depends on them by a product."""
    rng = np.random.default_rng(n + d)
    E = rng.standard_normal((n, d))
    kind = np.digitize(E[:, 0] * E[:, -1] + rng.standard_normal(n), cuts)
    return E, kind, rng.permutation(n)


@pytest.mark.parametrize(("d", "cuts"), [(1, (0.5,)), (2, (0.5,)), (5, (0.3,)), (3, (-0.5, 0.8))])
@pytest.mark.parametrize("weighs", [False, True])
def test_probabilities_are_those_of_scikit_learn(d, cuts, weighs):
    """To the digits that its single precision leaves; a bin's edge may fall on the other side of one person."""
    E, kind, order = people(1501, d, cuts)
    weight = np.random.default_rng(1).uniform(0.5, 2, kind.size) if weighs else np.ones(kind.size)
    train, test = order[:1001], order[1001:]
    model = HistGradientBoostingClassifier(random_state=0, **OPTIONS)
    with threadpool_limits(1, user_api="openmp"):  # of so few people threads mostly wait for each other
        theirs = model.fit(E[train], kind[train], weight[train] if weighs else None).predict_proba(E[test])
    ours = probabilities(E, kind, weight, train, test)
    assert ours == pytest.approx(theirs[:, 1:] if len(cuts) == 1 else theirs, abs=1e-5)


def test_a_column_of_few_values_is_split_between_them():
    kind = np.arange(400) % 2
    E = np.where(kind == 1, 3.0, 2.0)[:, None]
    found = probabilities(E, kind, np.ones(400), np.arange(300), np.arange(300, 400))[:, 0]
    assert ((found > 0.5) == (kind[300:] == 1)).all()


def test_columns_that_do_not_differ_tell_nothing():
    kind = (np.arange(300) % 3 == 0).astype(int)
    found = probabilities(np.ones((300, 2)), kind, np.ones(300), np.arange(200), np.arange(200, 300))
    assert found == pytest.approx(kind[:200].mean())


@pytest.mark.parametrize("count", [2, 3])
def test_folds_are_those_of_scikit_learn(count):
    kind = people(301, 2, (-0.5, 0.9))[1]
    theirs = StratifiedKFold(count, shuffle=True, random_state=7).split(kind[:, None], kind)
    ours = _folds(kind, count, 7)
    for k, (_, test) in enumerate(theirs):
        np.testing.assert_array_equal(np.flatnonzero(ours == k), test)


def test_the_area_is_that_of_scikit_learn_with_ties_and_weights():
    rng = np.random.default_rng(0)
    is_level, score, weight = rng.random(500) < 0.3, rng.integers(0, 20, 500) / 20, rng.random(500)
    assert _area(is_level, score, weight) == pytest.approx(roc_auc_score(is_level, score, sample_weight=weight))
