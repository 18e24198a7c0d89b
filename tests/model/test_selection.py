from __future__ import annotations

import itertools

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import PolynomialFeatures

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> x -> z; a -> z; x <-> z", protected="a", outcome="y")
PENALTIES = [0.1, 3.0, 100.0, 3000.0]


def test_degrees_and_penalty_are_those_of_an_exhaustive_search_over_rows():
    """All products of degrees, fitted row by row by another program with the paper's form of the penalty."""
    truth = fs.datasets.simulate(GRAPH, 300, degrees={"x": 1, "z": 3}, random_state=4)
    audit = fs.Audit.fit(truth.frame, GRAPH, penalties=PENALTIES, penalise_constant=True, cv="contiguous")
    a = truth.frame["a"].to_numpy(float)
    x = truth.frame[["x", "z"]].to_numpy()
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    scores = {}
    for d_x, d_z, penalty in itertools.product([1, 2, 3], [1, 2, 3], PENALTIES):
        designs = [PolynomialFeatures(d_x).fit_transform(a[:, None])]
        designs.append(PolynomialFeatures(d_z).fit_transform(np.column_stack([a, x[:, 0]])))
        folds = []
        for train, test in KFold(5).split(x):
            model = [Ridge(penalty, fit_intercept=False).fit(D[train], x[train, j]) for j, D in enumerate(designs)]
            predicted = [f.predict(D[test]) for f, D in zip(model, designs, strict=True)]
            folds.append(r2_score(x[test].T.ravel(), np.concatenate(predicted)))
        scores[d_x, d_z, penalty] = np.mean(folds)
    best = max(scores, key=lambda key: round(scores[key], 12))  # ties go to the lower degree
    assert (audit.settings.degrees["x"], audit.settings.degrees["z"], audit.settings.penalty) == best


def test_what_is_given_is_kept_and_only_the_rest_is_chosen(law_frame, law_graph):
    audit = fs.Audit.fit(law_frame, law_graph, degrees={"lsat": 3}, penalty=2.5, predictor_degree=1)
    assert audit.settings.degrees["lsat"] == 3
    assert audit.settings.penalty == 2.5
    assert audit.settings.predictor_degree == 1
    assert audit.settings.predictor_penalty in np.logspace(-4, 4, 10)
