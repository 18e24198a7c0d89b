"""Predictors that cannot be audited."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import fairstress as fs
from fairstress.errors import SettingError

CASES = [
    (
        "a class",
        lambda w: w.fit(predictor=LinearRegression),
        SettingError,
        "predictor is the class LinearRegression: give an instance, LinearRegression(...)",
    ),
    (
        "a number",
        lambda w: w.fit(predictor=3),
        SettingError,
        "predictor is 3: give an estimator with fit and predict, a PyTorch module or a function",
    ),
    (
        "a word",
        lambda w: w.fit(predictor="ridge"),
        SettingError,
        "predictor is 'ridge': give an estimator with fit and predict, a PyTorch module or a function",
    ),
    (
        "a function that fails",
        lambda w: w.fit(predictor=lambda Z: 1 / 0),
        SettingError,
        (
            "predictor <lambda> fails (ZeroDivisionError: division by zero): give a predictor of Model A's "
            "residuals as an array, or, with input='features', of a data frame of the protected attribute and "
            "the features; a function as input can prepare that frame"
        ),
    ),
    (
        "a function that gives text",
        lambda w: w.fit(predictor=lambda Z: ["a"] * len(Z)),
        SettingError,
        (
            "predictor <lambda> fails (ValueError: could not convert string to float: 'a'): give a predictor "
            "of Model A's residuals as an array, or, with input='features', of a data frame of the protected "
            "attribute and the features; a function as input can prepare that frame"
        ),
    ),
    (
        "a function that gives one number",
        lambda w: w.fit(predictor=lambda Z: 1.0),
        SettingError,
        "predictor <lambda> gives an array of shape () for 60 people: give one number each",
    ),
    (
        "a function that gives too few",
        lambda w: w.fit(predictor=lambda Z: Z[:3, 0]),
        SettingError,
        "predictor <lambda> gives an array of shape (3,) for 60 people: give one number each",
    ),
    (
        "a function that gives two columns",
        lambda w: w.fit(predictor=lambda Z: Z[:, :2]),
        SettingError,
        "predictor <lambda> gives an array of shape (60, 2) for 60 people: give one number each",
    ),
    (
        "a function that gives NaN",
        lambda w: w.fit(predictor=lambda Z: Z[:, 0] * np.nan),
        SettingError,
        "predictor <lambda> gives a number that is not finite: give one that never does",
    ),
    (
        "a function that gives infinity",
        lambda w: w.fit(predictor=lambda Z: Z[:, 0] / 0.0 if len(Z) == 0 else np.full(len(Z), np.inf)),
        SettingError,
        "predictor <lambda> gives a number that is not finite: give one that never does",
    ),
    (
        "a function that gives nothing",
        lambda w: w.fit(predictor=lambda Z: None),
        SettingError,
        "predictor <lambda> gives an array of shape () for 60 people: give one number each",
    ),
    (
        "a function that ends the program",
        lambda w: w.fit(predictor=lambda Z: sys.exit(0)),
        SettingError,
        (
            "predictor <lambda> fails (SystemExit: 0): give a predictor of Model A's residuals as an array, "
            "or, with input='features', of a data frame of the protected attribute and the features; a "
            "function as input can prepare that frame"
        ),
    ),
    (
        "an input that is none",
        lambda w: fs.Predictor(abs, input="columns"),
        SettingError,
        "the predictor's input is 'columns': give 'residuals', 'features' or a function of a data frame",
    ),
    (
        "a scale that is none",
        lambda w: fs.Predictor(abs, scale="logit"),
        SettingError,
        "the predictor's scale is 'logit': give 'probability' or 'log-odds'",
    ),
    (
        "a gradient that is none",
        lambda w: fs.Predictor(abs, gradient="exact"),
        SettingError,
        (
            "the predictor's gradient is 'exact': give 'none', 'differences' for a smooth predictor, "
            "'autograd' for a PyTorch module, or a function that gives the derivatives"
        ),
    ),
    (
        "autograd of a function",
        lambda w: w.fit(predictor=fs.Predictor(lambda Z: Z[:, 0], gradient="autograd")),
        SettingError,
        (
            "the predictor's gradient is 'autograd', which needs a PyTorch module that looks at residuals or "
            "features: give 'differences' if the predictor is smooth, otherwise 'none'"
        ),
    ),
    (
        "a gradient of other shape",
        lambda w: w.fit(predictor=fs.Predictor(lambda Z: Z[:, 0], gradient=lambda Z: Z[:, 0])).gradient(
            {("x", "z"): 0.3}
        ),
        SettingError,
        (
            "the predictor's gradient gives an array of shape (60,): give one of shape (60, 2), a row per "
            "person and a column per residual, or per feature where it looks at a data frame"
        ),
    ),
    (
        "an input without a model",
        lambda w: fs.Predictor(input="features"),
        SettingError,
        (
            "input and gradient are about a predictor of your own: give one as model; the baselines, which "
            "look at features, are audited by audit.cfu(P, baseline='blind')"
        ),
    ),
    (
        "a predictor of a predictor",
        lambda w: fs.Predictor(fs.Predictor(abs)),
        SettingError,
        "the predictor's model is a Predictor already: give the model itself",
    ),
    (
        "columns of residuals",
        lambda w: fs.Predictor(abs, columns=["x"]),
        SettingError,
        (
            "the predictor's columns are given, but its input is 'residuals', which are those of the graph's "
            "features: give input='features'"
        ),
    ),
    (
        "columns as a word",
        lambda w: fs.Predictor(abs, input="features", columns="x"),
        SettingError,
        "the predictor's columns are 'x': give a list of names, each once",
    ),
    (
        "columns twice",
        lambda w: fs.Predictor(abs, input="features", columns=["x", "x"]),
        SettingError,
        "the predictor's columns are ['x', 'x']: give a list of names, each once",
    ),
    (
        "columns of strangers",
        lambda w: w.fit(predictor=fs.Predictor(lambda f: f["x"], input="features", columns=["x", "qq"])),
        SettingError,
        (
            "the predictor looks at a column 'qq', which neither the graph nor the data have: add the column "
            "to the data, or prepare it with a function as input"
        ),
    ),
    (
        "the outcome among its columns",
        lambda w: w.fit(predictor=fs.Predictor(lambda f: f["x"], input="features", columns=["x", "y"])),
        SettingError,
        "predictor <lambda> looks at 'y', the outcome that it predicts: give one that does not",
    ),
    (
        "a column that it asks for in vain",
        lambda w: w.fit(predictor=fs.Predictor(lambda f: f["qq"], input="features")),
        SettingError,
        (
            "predictor <lambda> fails (KeyError: 'qq'): give a predictor of Model A's residuals as an array, "
            "or, with input='features', of a data frame of the protected attribute and the features; a "
            "function as input can prepare that frame"
        ),
    ),
    (
        "an estimator fitted to other columns",
        lambda w: w.fit(
            predictor=fs.Predictor(
                LinearRegression().fit(w.frame[["x"]].rename(columns={"x": "q"}), w.frame["y"]), input="features"
            )
        ),
        SettingError,
        (
            "the predictor looks at a column 'q', which neither the graph nor the data have: add the column to "
            "the data, or prepare it with a function as input"
        ),
    ),
    (
        "an estimator fitted to more columns",
        lambda w: w.fit(
            predictor=fs.Predictor(LinearRegression().fit(np.ones((60, 7)), w.frame["y"]), input="features")
        ),
        SettingError,
        (
            "predictor LinearRegression fails (ValueError: X has 3 features, but LinearRegression is expecting "
            "7 features as input.): give a predictor of Model A's residuals as an array, or, with "
            "input='features', of a data frame of the protected attribute and the features; a function as "
            "input can prepare that frame"
        ),
    ),
    (
        "log-odds of a number",
        lambda w: w.fit(predictor=fs.Predictor(lambda Z: Z[:, 0], scale="log-odds")),
        SettingError,
        "the predictor's scale is 'log-odds', but the outcome 'y' has more than two values: leave it out",
    ),
    (
        "log-odds of certainty",
        lambda w: w.with_column(
            "y", np.arange(60) % 2, predictor=fs.Predictor(lambda Z: np.ones(len(Z)), scale="log-odds")
        ),
        SettingError,
        (
            "the predictor's scale is 'log-odds', but it gives 1 for someone, whose log-odds are not finite: "
            "give a predictor of probabilities strictly between 0 and 1, or scale='probability'"
        ),
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("spoilt", "error", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refusals_of_predictors(spoilt, error, sentence, world, refuses):
    refuses(lambda: spoilt(world), sentence, error)
