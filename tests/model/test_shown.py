"""A deployed model is shown its own columns untouched, and only what the graph names moves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import fairstress as fs
from fairstress.claim.evaluate import predict_people
from fairstress.errors import SettingError
from fairstress.inputs.newcomers import code_newcomers, others_of_newcomers

GRAPH = fs.CausalGraph.parse("sex -> school, income; school -> income; sex <-> income", protected="sex", outcome="pay")
NUMBERS = {"school": "number", "income": "number"}
GIVEN = {
    "degrees": {"school": 1, "income": 1},
    "penalty": 0,
    "random_state": 0,
    "predictor_degree": 1,
    "kinds": NUMBERS,
}
P = {("sex", "income"): 0.3}


def table(n: int = 400) -> pd.DataFrame:
    """People with text, dates and numbers that the graph does not name, many alike in what it does name."""
    rng = np.random.default_rng(0)
    woman = rng.integers(0, 2, n)
    school = np.round(4 + rng.standard_normal(n) - 0.5 * woman)
    income = np.round(10 + school + rng.standard_normal(n) - woman)
    frame = pd.DataFrame({"sex": np.where(woman, "woman", "man"), "school": school, "income": income})
    frame["town"] = rng.choice(["Ayr", "Bude", "Crewe"], n)
    frame["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    frame["age"] = rng.integers(20, 60, n)
    effect = frame["town"].map({"Ayr": 0.0, "Bude": 1.0, "Crewe": 2.0})
    frame["pay"] = income * (1 + effect) + 0.1 * frame["age"] + rng.standard_normal(n)
    return frame.set_index(np.arange(n) + 1000)


def days(dates: pd.DataFrame) -> pd.DataFrame:
    return dates.apply(lambda column: (column - pd.Timestamp("2020-01-01")).dt.days)


def deployed(frame: pd.DataFrame):
    """A pipeline of raw columns in which the effect of income depends on the town."""
    prepare = make_column_transformer(
        (OneHotEncoder(), ["town", "sex"]), (FunctionTransformer(days), ["since"]), remainder="passthrough"
    )
    model = make_pipeline(prepare, HistGradientBoostingRegressor(max_iter=30, random_state=0))
    return model.fit(frame.drop(columns="pay"), frame["pay"])


def by_hand(audit: fs.Audit, model, frame: pd.DataFrame, P=P) -> pd.Series:
    """Each person's mean squared change of prediction over the worlds that the audit shows."""
    worlds = audit.counterfactuals(P)
    there = frame.loc[worlds.index].assign(**{name: worlds[name] for name in ("sex", "school", "income")})
    here = pd.Series(model.predict(frame), index=frame.index)
    change = pd.Series(model.predict(there[frame.columns]), index=worlds.index) - here.loc[worlds.index]
    chance = worlds.get("probability", 1.0)
    return (change**2 * chance).groupby(level=0).sum().loc[frame.index]


@pytest.mark.parametrize("kinds", [NUMBERS, {**NUMBERS, "school": "ordered"}], ids=["one world", "several worlds"])
def test_a_pipeline_of_raw_columns_is_audited_untouched(kinds):
    frame = table()
    model = deployed(frame)
    X = frame.drop(columns="pay")
    audit = fs.Audit.fit(frame, GRAPH, predictor=fs.Predictor(model, input="features"), **{**GIVEN, "kinds": kinds})
    wanted = by_hand(audit, model, X)
    np.testing.assert_allclose(audit.cfu_by_row(P), wanted, rtol=1e-9, atol=1e-12)
    assert wanted.groupby([frame["sex"], frame["school"], frame["income"]]).nunique().max() > 1  # alike, yet apart
    pd.testing.assert_frame_equal(audit.predictor_inputs(), X, check_dtype=False)
    if kinds == NUMBERS:
        assert audit.cfu(P) == pytest.approx(wanted.mean(), rel=1e-9)


def test_people_held_out_and_kept_and_weighted_have_their_own_values():
    frame = table()
    model, X = deployed(frame), frame.drop(columns="pay")
    own = fs.Predictor(model, input="features")
    out = np.arange(400) % 3 == 0
    held = fs.Audit.fit(frame, GRAPH, predictor=own, holdout=out, **GIVEN)
    assert held.cfu(P) == pytest.approx(by_hand(held, model, X)[out].mean(), rel=1e-9)
    kept = fs.Audit.fit(frame, GRAPH, predictor=own, **GIVEN).refit(keep=out)
    assert kept.cfu(P) == pytest.approx(by_hand(kept, model, X)[out].mean(), rel=1e-9)
    weight = np.where(out, 2.0, 1.0)
    weighted = fs.Audit.fit(frame, GRAPH, predictor=own, sample_weight=weight, **GIVEN)
    assert weighted.cfu(P) == pytest.approx(np.average(by_hand(weighted, model, X), weights=weight), rel=1e-9)
    assert kept.estimate(P, bands=40).upper > kept.cfu(P)


def test_people_left_out_and_completed_tables_keep_rows_together():
    frame = table()
    model = deployed(frame)
    own = fs.Predictor(model, input="features")
    holes = frame.assign(school=frame["school"].where(np.arange(400) % 7 > 0))
    complete = holes.dropna()
    dropped = fs.Audit.fit(holes, GRAPH, predictor=own, missing="drop", **GIVEN)
    alone = fs.Audit.fit(complete, GRAPH, predictor=own, **GIVEN)
    assert dropped.cfu(P) == pytest.approx(alone.cfu(P), rel=1e-12)
    second = frame.assign(town="Bude")
    stacked = fs.Audit.fit([frame, second], GRAPH, predictor=own, **GIVEN)
    changes = [
        by_hand(fs.Audit.fit(one, GRAPH, predictor=own, **GIVEN), model, one.drop(columns="pay")).mean()
        for one in (frame, second)
    ]
    assert stacked.cfu(P) == pytest.approx(np.mean(changes), rel=1e-9)


def test_missing_values_outside_the_graph_are_handed_through():
    frame = table().assign(age=lambda f: f["age"].where(np.arange(400) % 5 > 0))
    X = frame[["income", "age"]]
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, frame["pay"])
    audit = fs.Audit.fit(frame, GRAPH, predictor=fs.Predictor(model, input="features"), **GIVEN)
    pd.testing.assert_frame_equal(audit.predictor_inputs(), X, check_dtype=False)


def test_polars_tables_give_the_same():
    frame = table().reset_index(drop=True)
    X = frame[["town", "sex", "income", "age"]]
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["town", "sex"])), LinearRegression())
    own = fs.Predictor(model.fit(X, frame["pay"]), input="features")
    audits = [fs.Audit.fit(one, GRAPH, predictor=own, **GIVEN) for one in (frame, pl.from_pandas(frame))]
    assert audits[0].cfu(P) == audits[1].cfu(P)


def test_columns_name_what_an_unfitted_model_and_a_function_are_shown():
    frame = table()
    columns = ["income", "age"]
    unfitted = fs.Audit.fit(
        frame, GRAPH, predictor=fs.Predictor(LinearRegression(), input="features", columns=columns), **GIVEN
    )
    fitted = LinearRegression().fit(frame[columns], frame["pay"])
    assert unfitted.cfu(P) == pytest.approx(by_hand(unfitted, fitted, frame[columns]).mean(), rel=1e-9)

    def predict(shown):
        assert list(shown.columns) == columns
        return fitted.predict(shown)

    of_function = fs.Audit.fit(
        frame, GRAPH, predictor=fs.Predictor(predict, input="features", columns=columns), **GIVEN
    )
    assert of_function.cfu(P) == pytest.approx(unfitted.cfu(P), rel=1e-9)
    assert (of_function.fitted.claim.columns_shown, of_function.fitted.claim.columns_used) == (("income", "age"), None)
    prepared = fs.Predictor(fitted, input=lambda shown: shown.assign(age=shown["age"] * 1.0), columns=columns)
    assert fs.Audit.fit(frame, GRAPH, predictor=prepared, **GIVEN).cfu(P) == pytest.approx(unfitted.cfu(P), rel=1e-9)
    smooth = fs.Predictor(fitted, input="features", gradient="differences")
    slope = fs.Audit.fit(frame, GRAPH, predictor=smooth, **GIVEN).gradient(P).to_numpy()
    step = 1e-4
    up, down = (unfitted.cfu({("sex", "income"): 0.3 + sign * step}) for sign in (1, -1))
    assert slope[0] == pytest.approx((up - down) / (2 * step), rel=1e-4)


def test_newcomers_bring_their_own_values():
    frame = table()
    model = deployed(frame.iloc[:300])
    own = fs.Predictor(model, input="features")
    fitted = fs.Audit.fit(frame.iloc[:300], GRAPH, predictor=own, **GIVEN).fitted
    new = frame.iloc[300:]
    others = others_of_newcomers(new, fitted.table)
    predicted, _ = predict_people(fitted.claim, code_newcomers(new, fitted.table), others)
    np.testing.assert_allclose(predicted + fitted.table.origin, model.predict(new.drop(columns="pay")), rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "shown", "used"),
    [
        (LinearRegression(), ["income", "age"], ("income", "age")),
        (Lasso(100.0), ["sex01", "income", "age"], ()),
        (make_pipeline(StandardScaler(), Lasso(1.0)), ["sex01", "income", "age"], ("income", "age")),
        (RandomForestRegressor(3, max_depth=1, random_state=0), ["sex01", "income"], ("income",)),
        (HistGradientBoostingRegressor(max_iter=5), ["age", "income"], ("age", "income")),
        (
            make_pipeline(make_column_transformer((StandardScaler(), ["income"])), LinearRegression()),
            ["sex01", "income", "age"],
            ("income",),
        ),
    ],
    ids=["linear", "all zero", "scaled", "forest", "boosting", "dropped"],
)
def test_a_model_is_said_to_use_what_it_uses(model, shown, used):
    frame = table().assign(sex01=lambda f: (f["sex"] == "man") * 1.0, pay=lambda f: f["income"] + f["age"] / 5)
    graph = fs.CausalGraph.parse("sex01 -> school, income; school -> income", protected="sex01", outcome="pay")
    fitted = model.fit(frame[shown], frame["pay"])
    audit = fs.Audit.fit(frame, graph, predictor=fs.Predictor(fitted, input="features"), **GIVEN)
    assert audit.fitted.claim.columns_shown == tuple(shown)
    assert audit.fitted.claim.columns_used == used
    assert audit.fitted.claim.view.names == tuple(shown)


def test_log_odds_tell_the_same_columns_and_the_built_in_predictor_its_residuals():
    frame = table().assign(high=lambda f: np.where(f["pay"] > f["pay"].median(), "yes", "no"))
    graph = fs.CausalGraph.parse("sex -> school, income; school -> income", protected="sex", outcome="high")
    model = LogisticRegression().fit(frame[["income", "age"]], frame["high"])
    own = fs.Predictor(model, input="features", scale="log-odds")
    assert fs.Audit.fit(frame, graph, predictor=own, **GIVEN).fitted.claim.columns_used == ("income", "age")
    assert fs.Audit.fit(frame, graph, **GIVEN).fitted.claim.columns_used == ("residual of school", "residual of income")


@pytest.mark.parametrize(
    ("predictor", "text"),
    [
        ({"columns": ["income", "wealth"]}, "looks at a column 'wealth', which neither the graph nor the data have"),
        ({"columns": ["income", "pay"]}, "looks at 'pay', the outcome that it predicts"),
        ({"columns": "income"}, "columns are 'income': give a list of names"),
        ({"columns": []}, r"columns are \[\]: give a list of names"),
        ({"columns": ["income"], "input": "residuals"}, "its input is 'residuals'"),
    ],
)
def test_columns_that_cannot_be_shown_are_refused(predictor, text):
    given = {"model": LinearRegression(), "input": "features", **predictor}
    with pytest.raises(SettingError, match=text):
        fs.Audit.fit(table(), GRAPH, predictor=fs.Predictor(**given), **GIVEN)


def test_columns_must_hold_what_a_fitted_model_was_fitted_to():
    frame = table()
    model = LinearRegression().fit(frame[["income", "age"]], frame["pay"])
    with pytest.raises(SettingError, match="was fitted to a column 'age', which columns does not name"):
        fs.Audit.fit(frame, GRAPH, predictor=fs.Predictor(model, input="features", columns=["income"]), **GIVEN)
