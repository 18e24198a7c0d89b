"""Values that come as a Series go by its labels: in whatever order they stand, everyone keeps their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import SettingError
from fairstress.inputs.data import read_table

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
N = 60


def frame() -> pd.DataFrame:
    made = fs.datasets.simulate(GRAPH, N, random_state=0).frame
    return made.set_axis([f"person {i}" for i in range(N)], axis=0)


def shuffled(values) -> pd.Series:
    return pd.Series(values, index=frame().index).sample(frac=1, random_state=1)


def test_weights_in_another_order_belong_to_the_same_people():
    weight = np.arange(1.0, N + 1)
    by_label, by_position = (read_table(frame(), GRAPH, sample_weight=own) for own in (shuffled(weight), weight))
    np.testing.assert_array_equal(by_label.weight, weight)
    np.testing.assert_array_equal(by_label.rows.weight, by_position.rows.weight)


def test_clusters_held_out_people_and_kept_people_too():
    labels, out = np.arange(N) // 3, np.arange(N) % 3 == 0
    assert read_table(frame(), GRAPH, cluster=shuffled(labels)).cluster.tolist() == labels.tolist()
    table = read_table(frame(), GRAPH)
    np.testing.assert_array_equal(table.held_out(shuffled(out)), out)
    audit = fs.Audit.fit(frame(), GRAPH, max_degree=1, penalty=1)
    np.testing.assert_array_equal(audit.refit(keep=shuffled(out)).fitted.table.weight, out.astype(float))


@pytest.mark.parametrize(
    "index", [range(N), [f"person {i}" for i in range(1, N + 1)], ["person 0", *(f"person {i}" for i in range(N - 1))]]
)
def test_labels_that_are_not_those_of_the_rows_are_refused(index):
    weight = pd.Series(np.arange(1.0, N + 1), index=index)
    with pytest.raises(SettingError, match="sample_weight is a Series whose labels are not those of the data's rows"):
        read_table(frame(), GRAPH, sample_weight=weight)
    read_table(frame(), GRAPH, sample_weight=weight.to_numpy())
    read_table(frame().set_axis(weight.index, axis=0), GRAPH, sample_weight=weight)  # of whatever labels, if they agree


def test_an_estimator_takes_weights_by_position_as_scikit_learn_does():
    weight = np.arange(1.0, N + 1)
    X, y = frame()[["a", "x", "z"]], frame()["y"]
    model = fs.CounterfactuallyFairRegressor(GRAPH, max_degree=1)
    one = model.fit(X, y, sample_weight=pd.Series(weight)).predict(X)
    np.testing.assert_array_equal(one, model.fit(X, y, sample_weight=weight).predict(X))
