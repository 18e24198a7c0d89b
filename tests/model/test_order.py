"""An estimator without names that is shown other columns than it was fitted to, or in another order, is warned of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import fairstress as fs
from fairstress.errors import SettingError

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
SETTINGS = {"degrees": {"x": 1, "z": 1}, "penalty": 1.0, "random_state": 0}
OWN = ["a", "x", "z"]  # in which it is shown them


@pytest.fixture(scope="module")
def frame():
    drawn = fs.datasets.simulate(GRAPH, 400, random_state=0).frame
    noise = np.random.default_rng(1).normal(size=400)
    return drawn.assign(x=50 + 10 * drawn["x"], z=3 + drawn["z"], y=drawn["z"] + 0.3 * drawn["x"] + noise)


def audit(frame, model, order, graph=GRAPH, **named):
    fitted = model.fit(frame[order].to_numpy(), frame["y"])
    return fs.Audit.fit(frame, graph, predictor=fs.Predictor(fitted, input="features", **named), **SETTINGS)


@pytest.mark.parametrize("model", [LinearRegression(), RandomForestRegressor(10, min_samples_leaf=20, random_state=0)])
@pytest.mark.parametrize("order", [["z", "x", "a"], ["a", "z", "x"], ["x", "z", "a"]])
def test_another_order_is_warned_of_by_name_and_noted(frame, model, order):
    with pytest.warns(fs.FairstressWarning, match=rf"times that in the order {', '.join(order)}: fit it to a") as said:
        found = audit(frame, model, order)
    assert said[0].filename == __file__
    assert [note for note in found.notes if f"that in the order {', '.join(order)}: fit it" in note]


@pytest.mark.parametrize("model", [LinearRegression(), RandomForestRegressor(10, min_samples_leaf=20, random_state=0)])
def test_its_own_order_is_not_warned_of(frame, model):
    for found in (audit(frame, model, OWN), audit(frame, model, ["z", "a", "x"], columns=["z", "a", "x"])):
        assert not found.fitted.claim.predictor.doubt


def test_columns_that_are_named_in_another_order_than_it_was_fitted_to_are_warned_of_too(frame):
    with pytest.warns(fs.FairstressWarning, match=r"shown x, a, z in this order, its squared error is .* z, a, x: fit"):
        audit(frame, LinearRegression(), ["z", "a", "x"], columns=["x", "a", "z"])


def test_a_model_of_probabilities_is_warned_of_by_its_squared_error(frame):
    classes = frame.assign(y=np.where(frame["y"] > 3, "yes", "no"))
    with pytest.warns(fs.FairstressWarning, match="times that in the order z, x, a"):
        audit(classes, LogisticRegression(max_iter=1000), ["z", "x", "a"])
    assert not audit(classes, LogisticRegression(max_iter=1000), OWN).fitted.claim.predictor.doubt


def test_what_predicts_no_better_than_a_constant_is_warned_of(frame):
    with pytest.warns(fs.FairstressWarning, match="in this order, it predicts 'y' no better than a constant: fit it"):
        audit(frame, DummyRegressor(), OWN)


def test_features_that_are_taken_for_residuals_are_warned_of(frame):
    model = LinearRegression().fit(frame[["x", "z"]].to_numpy(), frame["y"])
    with pytest.warns(fs.FairstressWarning, match="it predicts 'y' no better than a constant"):
        fs.Audit.fit(frame, GRAPH, predictor=model, **SETTINGS)


def test_of_many_columns_only_the_order_shown_is_tried(frame):
    graph = fs.CausalGraph.parse("a -> x, z, v, w; x -> z; x <-> z", protected="a", outcome="y")
    wide = frame.assign(v=frame["x"] ** 2, w=np.arange(400.0))
    with pytest.warns(fs.FairstressWarning, match="in this order, it predicts 'y' no better than a constant"):
        audit(wide, LinearRegression(), ["v", "w", "a", "x", "z"], graph)


def test_another_number_of_columns_is_refused(frame):
    with pytest.raises(SettingError, match="X has 3 features, but LinearRegression is expecting 2 features"):
        audit(frame, LinearRegression(), ["x", "z"])


def test_names_tell_and_what_is_fitted_here_knows_its_order(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = DummyRegressor().fit(frame[["z", "x"]], frame["y"])
        for model, shown in ((named, "features"), (DummyRegressor(), "residuals")):
            fs.Audit.fit(frame, GRAPH, predictor=fs.Predictor(model, input=shown), **SETTINGS)
