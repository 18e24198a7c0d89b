"""The estimators do what scikit-learn asks, and new people are treated as the fit has learnt."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairstress as fs
from fairstress.errors import DataError, GraphError, SettingError

GRAPH = "race -> ugpa, lsat; ugpa -> lsat; race <-> lsat"
GIVEN = {"penalty": 1.0, "predictor_penalty": 1.0, "max_degree": 1}  # nothing is left to choose
# the seed is one that leaves no fold of the checks' small tables with one value of y, which a regressor refuses
CHOSEN = {"penalties": [0.1, 10.0], "cv": KFold(3, shuffle=True, random_state=5)}

# ---------------------------------------------------------------- scikit-learn's own checks

FEW_ROWS = "57 rows of 30 columns: fairstress refuses fewer rows than structural weights"
NO_ERROR = "16 rows, 4 of them distinct: a cubic leaves a feature no error, which fairstress refuses"
FAILS = {"check_sample_weight_equivalence_on_dense_data": FEW_ROWS}
FAILS_WITH_CUBICS = {"check_sample_weights_shape": NO_ERROR, "check_sample_weights_not_overwritten": NO_ERROR}


def expected(estimator):
    return FAILS if estimator.max_degree == 1 else FAILS | FAILS_WITH_CUBICS


@parametrize_with_checks(
    [
        kind(protected=0, **settings)
        for kind in (fs.CounterfactuallyFairRegressor, fs.CounterfactuallyFairClassifier)
        for settings in (GIVEN, CHOSEN)
    ],
    expected_failed_checks=expected,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- new people


@pytest.fixture(scope="module")
def people(law_frame):
    return law_frame[["race", "ugpa", "lsat"]].iloc[:4000], law_frame["zfya"].iloc[:4000]


@pytest.fixture(scope="module")
def others(law_frame):
    return law_frame[["race", "ugpa", "lsat"]].iloc[4000:4500]


@pytest.fixture(scope="module")
def model(people):
    settings = {"degrees": {"ugpa": 1, "lsat": 2}, "penalty": 1.0, "predictor_degree": 2, "predictor_penalty": 1.0}
    return fs.CounterfactuallyFairRegressor(GRAPH, protected="race", reference="White", **settings).fit(*people)


def test_under_model_a_a_counterfactual_person_gets_the_same_prediction(model, people):
    moved = model.audit_.counterfactuals({})
    assert (moved["race"] != people[0]["race"]).all()
    np.testing.assert_allclose(model.predict(moved), model.predict(people[0]), rtol=0, atol=1e-12)


def test_words_go_on_to_the_audit(people):
    words = {"labels": {"lsat": "LSAT score"}, "units": {"zfya": "grades"}, "people": "students", "higher_is": "better"}
    model = fs.CounterfactuallyFairRegressor(GRAPH, protected="race", **GIVEN, **words).fit(*people)
    assert clone(model).fit(*people).audit_.settings.wording == fs.Wording(**words)


def test_a_prediction_does_not_depend_on_who_else_is_asked_about(model, others):
    alone = np.concatenate([model.predict(others.iloc[[i]]) for i in (0, 7, 400)])
    np.testing.assert_allclose(alone, model.predict(others)[[0, 7, 400]], rtol=0, atol=1e-13)
    white = others[others["race"] == "White"]  # one level only: the coding is remembered
    np.testing.assert_allclose(model.predict(white), model.predict(others)[others["race"] == "White"], atol=1e-13)


def test_the_audit_behind_a_model_is_that_of_the_same_table(model, people):
    graph = fs.CausalGraph.parse(GRAPH, protected="race", outcome="zfya")
    frame = people[0].assign(zfya=people[1])
    settings = {"degrees": {"ugpa": 1, "lsat": 2}, "penalty": 1.0, "predictor_degree": 2, "predictor_penalty": 1.0}
    audit = fs.Audit.fit(frame, graph, reference="White", **settings)
    P = {("race", "lsat"): 0.3}
    assert model.audit_.cfu(P) == audit.cfu(P) > 0
    assert model.graph_ == graph
    assert model.audit_.cfu_by_row(P).index.equals(people[0].index)


def test_predictions_are_a_linear_regression_on_the_residuals_of_linear_regressions(people, others):
    linear = fs.CounterfactuallyFairRegressor(protected="race", max_degree=1, penalty=0, predictor_penalty=0)
    own, new = ((frame["race"] == "White").to_numpy(float)[:, None] for frame in (people[0], others))
    columns = ["ugpa", "lsat"]
    first = LinearRegression().fit(own, people[0][columns])
    second = LinearRegression().fit((people[0][columns] - first.predict(own)).to_numpy(), people[1])
    by_hand = second.predict((others[columns] - first.predict(new)).to_numpy())
    np.testing.assert_allclose(linear.fit(*people).predict(others), by_hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize("graph", ["race -> ugpa, lsat; ugpa -> lsat", "race -> ugpa, lsat; lsat -> ugpa"])
def test_linear_graphs_that_leave_no_arrow_out_predict_as_no_graph_does(graph, people, others):
    linear = {"protected": "race", "max_degree": 1, "penalty": 0, "predictor_penalty": 0}
    found = [fs.CounterfactuallyFairRegressor(g, **linear).fit(*people).predict(others) for g in (graph, None)]
    np.testing.assert_allclose(*found, rtol=0, atol=1e-12)


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda f: pa.Table.from_pandas(f, preserve_index=False)])
def test_other_frames_give_the_same_predictions_as_pandas(convert, model, people, others):
    found = clone(model).fit(convert(people[0]), people[1].to_numpy())
    assert list(found.feature_names_in_) == ["race", "ugpa", "lsat"]
    np.testing.assert_array_equal(found.predict(convert(others)), model.predict(others))


def test_arrays_are_taken_by_position(model, people, others):
    own, new = (frame.assign(race=frame["race"] == "White").to_numpy(float) for frame in (people[0], others))
    named = clone(model).set_params(columns=["race", "ugpa", "lsat"], reference=1.0).fit(own, people[1])
    np.testing.assert_array_equal(named.predict(new), model.predict(others))
    numbered = fs.CounterfactuallyFairRegressor("x0 -> x1, x2; x1 -> x2", protected="x0", **GIVEN).fit(own, people[1])
    assert numbered.graph_.features == ("x1", "x2")


def test_a_row_of_weight_2_is_the_row_twice(model, people):
    X, y = people[0].iloc[:300], people[1].iloc[:300]
    weight = np.tile([0, 1, 2], 100)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X.loc[X.index.repeat(weight)], y.repeat(weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-11)


def test_several_protected_columns_are_one_attribute(law_frame):
    X = law_frame[["race", "sex", "ugpa", "lsat"]].iloc[:2000]
    found = fs.CounterfactuallyFairRegressor(protected=("race", "sex"), **GIVEN).fit(X, law_frame["zfya"].iloc[:2000])
    assert found.graph_.protected_columns == ("race", "sex")
    assert np.isfinite(found.predict(X.tail(5))).all()


# ---------------------------------------------------------------- columns of every kind

KINDS_GRAPH = "sex -> grade, job, pay; region -> pay; grade, job -> pay"
GRADES = ["low", "mid", "high"]


@pytest.fixture(scope="module")
def workers():
    """People with text, a boolean and a categorical among their columns, and an outcome."""
    random, n = np.random.default_rng(0), 400
    sex, job = random.choice(["female", "male"], n), random.random(n) < 0.5
    grade = np.digitize(random.normal(size=n) + (sex == "male") + job, [0, 1.2])
    pay = np.exp(random.normal(size=n) + 0.5 * grade)
    labels = pd.Categorical.from_codes(grade, GRADES, ordered=True)
    region = random.choice(["north", "south", "west"], n)
    frame = pd.DataFrame({"sex": sex, "region": region, "job": job, "grade": labels, "pay": pay})
    return frame, pd.Series(grade + np.log(pay) + random.normal(size=n), name="y")


@pytest.fixture(scope="module")
def mixed(workers):
    estimator = fs.CounterfactuallyFairRegressor(KINDS_GRAPH, protected="sex", kinds={"pay": "log"}, **GIVEN)
    return estimator.fit(*workers)


def test_kinds_are_those_of_a_frames_columns_unless_they_are_given(mixed):
    assert {name: str(kind) for name, kind in mixed.audit_.fitted.table.kinds.items()} == {
        "grade": "ordered, 3 levels",
        "job": "ordered, 2 levels",
        "region": "category, 3 levels",
        "pay": "number (log scale)",
    }
    assert clone(mixed).kinds == {"pay": "log"}


def test_a_frame_of_another_library_with_columns_of_every_kind_predicts_as_pandas_does(mixed, workers):
    X, y = workers
    found = clone(mixed).set_params(kinds={"pay": "log", "grade": GRADES}).fit(pl.from_pandas(X), y.to_numpy())
    assert found.predict(pl.from_pandas(X.tail(20))) == pytest.approx(mixed.predict(X.tail(20)), rel=0, abs=1e-9)
    asked = pl.from_pandas(X.tail(20)).with_columns(pl.col("grade").cast(pl.String))
    np.testing.assert_array_equal(found.predict(asked), found.predict(pl.from_pandas(X.tail(20))))


def test_pipelines_hand_columns_of_every_kind_on_and_impute_what_is_missing(mixed, workers):
    X, y = workers
    gaps = X.assign(grade=X["grade"].astype(str))
    gaps = gaps.assign(pay=gaps["pay"].where(gaps.index > 9), region=gaps["region"].where(gaps.index < 390))
    impute = make_column_transformer(
        (SimpleImputer(), ["pay"]),
        (SimpleImputer(strategy="most_frequent"), ["region"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    fair = clone(mixed).set_params(kinds={"pay": "log", "grade": GRADES})
    pipeline = make_pipeline(impute.set_output(transform="pandas"), fair).fit(gaps, y)
    filled = gaps.fillna({"pay": gaps["pay"].mean(), "region": gaps["region"].mode()[0]})
    by_hand = clone(fair).fit(filled, y)
    np.testing.assert_allclose(pipeline.predict(gaps), by_hand.predict(filled), rtol=0, atol=1e-9)
    with pytest.raises(DataError, match="column 'region' has 10 missing values") as refusal:
        clone(fair).fit(gaps, y)
    assert "missing=" not in str(refusal.value)  # which estimators do not have


def test_a_grid_search_may_choose_kinds(mixed, workers):
    kinds = [{"pay": "log"}, {"pay": "rank"}, {"pay": "number", "grade": "ordered as levels"}]
    search = GridSearchCV(clone(mixed), {"kinds": kinds}, cv=2, error_score="raise").fit(*workers)
    assert len({*search.cv_results_["mean_test_score"]}) == 3
    assert search.best_params_["kinds"] in kinds


def test_residuals_of_ordered_features_can_be_left_out(mixed, workers):
    X, y = workers
    found = clone(mixed).set_params(ordered_residuals="leave out").fit(X, y)
    for fitted in (mixed, found):
        assert fitted.transform(X).shape == (len(X), len(fitted.get_feature_names_out()))
    names = set(mixed.get_feature_names_out()) - set(found.get_feature_names_out())
    assert len(names) == 2
    assert all("grade" in name or "job" in name for name in names)
    moved = found.audit_.counterfactuals({})  # a row for each person and level that they may then have
    expected_of = pd.Series(found.predict(X), X.index)
    np.testing.assert_allclose(found.predict(moved[list(X)]), expected_of[moved.index], rtol=0, atol=1e-9)


def test_a_classifier_takes_columns_of_every_kind(mixed, workers):
    X, y = workers
    given = {key: value for key, value in mixed.get_params().items() if key in ("graph", "protected", "kinds")}
    found = fs.CounterfactuallyFairClassifier(**given, **GIVEN).fit(X, y > y.median())
    assert found.score(X, y > y.median()) > 0.6


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"region": "moon"}, "'region' is 'moon' in row 0, a level that was not there when the model was fitted"),
        ({"grade": "top"}, "'grade' is 'top' in row 0, a level .* it knows 'low', 'mid' or 'high'"),
        ({"job": 2}, "'job' is 2 in row 0, a level"),
        ({"pay": 0.0}, "column 'pay' is 0 in row 0, but 'log' takes numbers above 0"),
        ({"pay": "much"}, "feature 'pay' is not numeric"),
        ({"region": None}, "column 'region' has 400 missing values"),
    ],
)
def test_new_people_of_another_kind_are_refused(change, sentence, mixed, workers):
    for ask in (mixed.predict, mixed.transform):
        with pytest.raises(DataError, match=sentence):
            ask(workers[0].assign(**change))


def test_columns_of_an_array_are_numbers_unless_kinds_says_otherwise(workers):
    X, y = workers
    columns = {"sex": X["sex"] == "male", "job": X["job"], "grade": X["grade"].cat.codes, "pay": X["pay"]}
    frame = pd.DataFrame(columns).astype(float)
    given = {"protected": "sex", "columns": list(frame), **GIVEN}

    def kinds(estimator):
        return [kind.word for kind in estimator.audit_.fitted.table.kinds.values()]

    plain = fs.CounterfactuallyFairRegressor(**given).fit(frame.to_numpy(), y)
    assert kinds(plain) == ["number"] * 3
    between = frame.assign(job=0.5, grade=1.7).to_numpy()
    assert np.isfinite(plain.predict(between)).all()
    as_levels = fs.CounterfactuallyFairRegressor(**given).fit(frame, y)
    assert kinds(as_levels) == ["ordered", "ordered", "number"]
    with pytest.raises(DataError, match=r"'job' is 0\.5 in row 0, a level that was not there"):
        as_levels.predict(frame.assign(job=0.5))
    given_levels = fs.CounterfactuallyFairRegressor(kinds={"job": "ordered", "grade": "ordered"}, **given)
    given_levels.fit(frame.to_numpy(), y)
    np.testing.assert_array_equal(given_levels.predict(frame.to_numpy()), as_levels.predict(frame))
    numbers = fs.CounterfactuallyFairRegressor(kinds={"job": "number", "grade": "number"}, **given)
    np.testing.assert_array_equal(numbers.fit(frame, y).predict(frame), plain.predict(frame.to_numpy()))


# ---------------------------------------------------------------- classes


def test_classes_keep_their_names(law_frame):
    X, passed = law_frame[["race", "ugpa", "lsat"]], law_frame["first_pf"].map({0: "failed", 1: "passed"})
    found = fs.CounterfactuallyFairClassifier(GRAPH, protected="race", **GIVEN).fit(X, passed)
    assert found.classes_.tolist() == ["failed", "passed"]
    probability = found.predict_proba(X)
    assert probability[:, 1].mean() == pytest.approx((passed == "passed").mean(), abs=1e-9)  # the constant is free
    assert set(found.predict(X)[probability[:, 0] > 0.5]) <= {"failed"}
    assert found.audit_.fitted.table.outcome_levels == ("failed", "passed")


def test_a_regressor_takes_two_numbers_as_numbers(law_frame):
    X = law_frame[["race", "ugpa", "lsat"]]
    found = fs.CounterfactuallyFairRegressor(protected="race", **GIVEN).fit(X, law_frame["first_pf"])
    assert not found.audit_.fitted.claim.predictor.is_logistic
    assert found.predict(X).max() > 1  # as a line may


# ---------------------------------------------------------------- in company


def test_a_grid_search_over_a_pipeline_finds_what_cross_validation_by_hand_finds(people):
    code = make_column_transformer(
        (OrdinalEncoder(), ["race"]), remainder=StandardScaler(), verbose_feature_names_out=False
    )
    fair = fs.CounterfactuallyFairRegressor(GRAPH, protected="race", **GIVEN)
    pipeline = make_pipeline(code.set_output(transform="pandas"), fair)
    penalties = [1e-2, 1e4]
    search = GridSearchCV(pipeline, {"counterfactuallyfairregressor__predictor_penalty": penalties}, cv=3).fit(*people)
    scores = [cross_val_score(clone(fair).set_params(predictor_penalty=p), *people, cv=3).mean() for p in penalties]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-9)
    assert search.best_estimator_[-1].predictor_penalty == penalties[int(np.argmax(scores))]


def test_every_parameter_can_be_searched_over(people):
    grid = {
        "penalty": [0.1], "predictor_penalty": [0.1], "predictor_degree": [1], "degrees": [{"ugpa": 1}, {"ugpa": 2}],
        "max_degree": [1, 2], "penalise_constant": [True], "mixed": ["residual", "fair part"], "random_state": [0],
        "graph": [GRAPH, "race =fair=> ugpa -> lsat; race -> lsat", None],
    }  # fmt: skip
    X, y = people[0].iloc[:600], people[1].iloc[:600]
    search = GridSearchCV(fs.CounterfactuallyFairRegressor(protected="race"), grid, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_robust_predictor_predicts_for_new_people(people, others):
    graph, given = f"{GRAPH}; race <-> ugpa", {"protected": "race", "max_degree": 1, "penalty": 1.0, "random_state": 0}
    fair = fs.CounterfactuallyFairRegressor(graph, **given).fit(*people)
    robust = clone(fair).set_params(robust=fs.Robust(0.2, 10)).fit(*people)
    assert robust.audit_.worst_case(0.2).value < 0.5 * fair.audit_.worst_case(0.2).value
    assert 0 < robust.predict(others).std() < fair.predict(others).std()


def test_a_robust_classifier_still_gives_probabilities(people, others):
    X, y = people[0], people[1] > 0
    graph, given = f"{GRAPH}; race <-> ugpa", {"protected": "race", "max_degree": 1, "penalty": 1.0, "random_state": 0}
    fair = fs.CounterfactuallyFairClassifier(graph, **given).fit(X, y)
    robust = clone(fair).set_params(robust=fs.Robust(0.2, 1)).fit(X, y)
    second = robust.predict_proba(others)[:, 1]
    assert ((second > 0) & (second < 1)).all()
    assert 0 < second.std() < fair.predict_proba(others)[:, 1].std()
    weightless = clone(fair).set_params(robust=fs.Robust(0.2, 0)).fit(X, y)
    np.testing.assert_allclose(weightless.predict_proba(others), fair.predict_proba(others), rtol=0, atol=1e-9)


def test_a_pickled_model_predicts_and_audits_alike(model, others):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(others), model.predict(others))
    assert again.audit_.cfu({("race", "lsat"): 0.3}) == model.audit_.cfu({("race", "lsat"): 0.3})


def test_a_clone_has_the_graph_and_nothing_learnt():
    graph = fs.CausalGraph.parse(GRAPH, protected="race", outcome="zfya")
    copy = clone(fs.CounterfactuallyFairClassifier(graph, cv=4))
    assert (copy.graph, copy.cv) == (graph, 4)
    assert not hasattr(copy, "audit_")


def test_residuals_come_as_the_frame_that_set_output_asks_for(model, people, others):
    plain = model.transform(others)
    for kind, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        found = clone(model).set_output(transform=kind).fit(*people).transform(others)
        assert isinstance(found, frame)
        assert list(found.columns) == ["residual of ugpa", "residual of lsat"]
        np.testing.assert_array_equal(found.to_numpy(), plain)


def test_residuals_can_feed_another_learner(people, others, model):
    pipeline = make_pipeline(clone(model), LinearRegression()).fit(*people)
    moved = model.audit_.counterfactuals({})
    np.testing.assert_allclose(pipeline.predict(moved), pipeline.predict(people[0]), rtol=0, atol=1e-12)


def test_splits_without_shuffling_choose_what_contiguous_folds_choose(people):
    counted, split = (
        fs.CounterfactuallyFairRegressor(GRAPH, protected="race", cv=cv).fit(*people).audit_.settings
        for cv in (("contiguous", 4), KFold(4))
    )
    assert counted.to_dict() == split.to_dict()
    assert counted.cv == 4


def test_a_number_of_folds_chooses_the_same_whatever_the_order_of_people(people):
    X, y = people
    order = np.random.default_rng(0).permutation(len(X))
    chooser = fs.CounterfactuallyFairRegressor(GRAPH, protected="race", cv=3, penalties=[0.1, 10.0])
    found = [clone(chooser).fit(X.iloc[rows], y.iloc[rows]).audit_.settings.to_dict() for rows in (slice(None), order)]
    assert found[0] == found[1]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"protected": None}, SettingError, "protected is not given: name the protected column of X"),
        ({"protected": 3}, SettingError, "protected is 3, but X has 3 columns"),
        ({"protected": 1.5}, SettingError, "protected is 1.5: give the name or position"),
        ({"protected": "rase", "graph": None}, DataError, "'rase', which is not a column of X; did you mean 'race'"),
        ({"graph": GRAPH + "; lsat -> zfya"}, DataError, "if it is what y holds, give outcome='zfya'"),
        ({"graph": {"lsat": ["race"]}}, GraphError, "the graph is a dict: give text"),
        ({"outcome": "lsat", "graph": "race -> ugpa"}, DataError, "X has a column 'lsat', the graph's outcome"),
        ({"cv": "five"}, SettingError, "cv is 'five': give a number of folds"),
        ({"cv": [1, 2]}, SettingError, "cv holds something else than pairs"),
        ({"cv": TimeSeriesSplit(3)}, SettingError, "must test each of the 4000 rows once"),
        ({"cv": ("contiguous", 1)}, SettingError, "cv is \\('contiguous', 1\\): give a number of folds"),
        ({"kinds": {"lsat": "lgo"}}, SettingError, "kinds says 'lgo' for 'lsat': give 'number', 'log'"),
        ({"kinds": {"last": "log"}}, SettingError, "kinds names 'last', which is neither a feature"),
        ({"kinds": {"ugpa": "log"}}, DataError, "column 'ugpa' is 0 in row 3233, but 'log' takes numbers above 0"),
        ({"kinds": ["log"]}, SettingError, "kinds is a list: give {column: kind}"),
        ({"ordered_residuals": "none"}, SettingError, "ordered_residuals is 'none'"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(change, error, sentence, model, people):
    with pytest.raises(error, match=sentence):
        clone(model).set_params(**change).fit(people[0], people[1].to_numpy())


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        (["log"], "kinds is a list: give {column: kind}"),
        ({"x1": "lgo"}, "kinds says 'lgo' for 'x1'"),
        ({"ugpa": "log"}, "kinds names 'ugpa', which is neither a feature"),
    ],
)
def test_kinds_that_an_array_cannot_have_are_refused(kinds, sentence, people):
    array = people[0].assign(race=people[0]["race"] == "White").to_numpy(float)
    with pytest.raises(SettingError, match=sentence):
        fs.CounterfactuallyFairRegressor(protected=0, kinds=kinds, **GIVEN).fit(array, people[1])


def test_ends_other_than_the_graphs_are_refused(people):
    graph = fs.CausalGraph.parse(GRAPH, protected="race", outcome="zfya")
    with pytest.raises(GraphError, match="protected is 'ugpa', but the graph's is 'race'"):
        fs.CounterfactuallyFairRegressor(graph, protected="ugpa").fit(*people)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda f: f.assign(race="Martian"), "'race' is 'Martian' in row 0, a level that was not there when the model"),
        (lambda f: f.assign(lsat=np.nan), "column 'lsat' has 500 missing values"),
        (lambda f: f.assign(lsat="high"), "feature 'lsat' is not numeric"),
        (lambda f: f.drop(columns="lsat"), "Feature names seen at fit time, yet now missing"),
        (lambda f: f.assign(age=30), "Feature names unseen at fit time"),
        (lambda f: pd.concat([f, f], axis=1), "two columns named 'race'"),
        (lambda f: f.iloc[:0], "the data have no rows"),
        (lambda f: pl.from_pandas(f).lazy(), "X is a LazyFrame"),
    ],
)
def test_new_people_who_cannot_be_coded_are_refused(spoil, sentence, model, others):
    with pytest.raises(ValueError, match=sentence):
        model.predict(spoil(others))


def test_an_outcome_that_cannot_be_learnt_is_refused(people):
    X, y = people
    regressor = fs.CounterfactuallyFairRegressor(protected="race", **GIVEN)
    classifier = fs.CounterfactuallyFairClassifier(protected="race", **GIVEN)
    with pytest.raises(DataError, match="y holds something that is not a number"):
        regressor.fit(X, X["race"])
    with pytest.raises(DataError, match="y has one class, 'same', among rows with weight"):
        classifier.fit(X, ["same"] * len(X))
    with pytest.raises(fs.FairstressError, match="sample_weight holds something that is not a number"):
        classifier.fit(X, np.arange(len(X)) % 2, sample_weight="heavy")
    with pytest.raises(DataError, match="y has 3 classes"):
        classifier.fit(X, np.arange(len(X)) % 3)
    with pytest.raises(SettingError, match="columns has 1 names, but X has 2 columns"):
        clone(regressor).set_params(columns=["race"]).fit(X[["ugpa", "lsat"]].to_numpy(), y)
