"""A user's predictors give the results of the built-in one where they are the same function."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

import fairstress as fs
from fairstress.errors import SettingError, Status

GRAPH = fs.CausalGraph.parse(
    "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat; race <-> ugpa; race <-> lsat", protected="race", outcome="zfya"
)
SETTINGS = {"degrees": {"ugpa": 1, "lsat": 2}, "penalty": 20.0, "reference": "White", "random_state": 0}
P = {("race", "ugpa"): 0.25, ("race", "lsat"): -0.2, ("ugpa", "lsat"): 0.4}


def fit(frame, predictor=None, **options):
    return fs.Audit.fit(
        frame, GRAPH, predictor_degree=2, predictor_penalty=150.0, predictor=predictor, **{**SETTINGS, **options}
    )


@pytest.fixture(scope="module")
def built_in(law_frame):
    return fit(law_frame)


@pytest.fixture(scope="module")
def some(law_frame):
    return law_frame.iloc[:400]


@pytest.fixture(scope="module")
def built_in_of_some(some):
    return fit(some)


def worst_case(audit):
    return audit.worst_case(0.3, search=fs.Search(starts=2))


@pytest.fixture(scope="module")
def worst(built_in_of_some):
    return worst_case(built_in_of_some)


def pipeline():
    return make_pipeline(PolynomialFeatures(2, include_bias=False), Ridge(150.0))


def quadratic(audit):
    """The built-in predictor written out, in the outcome's units."""
    predictor = audit.fitted.claim.predictor
    powers = np.array(predictor.embedding.exponents)

    def predict(Z):
        assert isinstance(Z, np.ndarray)
        return np.prod(Z[:, None, :] ** powers, axis=2) @ predictor.weights + audit.fitted.table.origin

    return predict


@pytest.mark.parametrize("kind", ["unfitted pipeline", "fitted pipeline", "function"])
def test_the_built_in_ridge_handed_in_gives_the_same_cfu(law_frame, built_in, kind):
    user_predictor = {
        "unfitted pipeline": pipeline(),
        "fitted pipeline": pipeline().fit(built_in.predictor_inputs(), law_frame["zfya"]),
        "function": quadratic(built_in),
    }[kind]
    audit = fit(law_frame, user_predictor)
    assert audit.cfu(P) == pytest.approx(built_in.cfu(P), rel=1e-9)
    assert audit.fitted.claim.predictor.r2 == pytest.approx(built_in.fitted.claim.predictor.r2, rel=1e-9)
    assert audit.baselines["blind"].unfairness == pytest.approx(built_in.baselines["blind"].unfairness, rel=1e-9)
    profiles = [one.profile(("race", "lsat"), [-0.4, 0.1, 0.5]) for one in (audit, built_in)]
    np.testing.assert_allclose(profiles[0].cfu, profiles[1].cfu, rtol=1e-9)
    if kind == "unfitted pipeline":  # fitted anew to the residuals at penalty 0, as the built-in predictor is
        np.testing.assert_allclose(profiles[0].cfu_unpenalised, profiles[1].cfu_unpenalised, rtol=1e-9)


@pytest.mark.parametrize(("gradient", "status"), [("none", Status.NO_DERIVATIVES), ("differences", Status.DIFFERENCES)])
def test_the_same_worst_case_is_found_with_and_without_derivatives(some, worst, gradient, status):
    found = worst_case(fit(some, fs.Predictor(pipeline(), gradient=gradient)))
    assert found.value == pytest.approx(worst.value, rel=1e-6)
    assert found.status is status
    assert worst.status is Status.CONVERGED


@pytest.mark.parametrize("columns", ["named", "nameless"])
def test_only_a_predictor_without_gradient_is_shown_rounded_residuals(law_frame, built_in, columns):
    class Watched(LinearRegression):
        def predict(self, X):
            rounded.append(np.array_equal(X, np.round(X, 10)))
            return super().predict(X)

    Z = built_in.predictor_inputs()
    estimator = Watched().fit(Z if columns == "named" else Z.to_numpy(), law_frame["zfya"])
    for gradient, expected in (("none", True), ("differences", False)):
        rounded: list[bool] = []
        fit(law_frame, fs.Predictor(estimator, gradient=gradient)).cfu(P)
        assert set(rounded) == {expected}


def test_a_function_with_its_derivatives_is_climbed_like_the_built_in_predictor(some, built_in_of_some, worst):
    def slopes(Z):
        return built_in_of_some.fitted.claim.predictor.predict_with_slopes(Z)[1]

    audit = fit(some, fs.Predictor(quadratic(built_in_of_some), gradient=slopes))
    np.testing.assert_allclose(audit.gradient(P), built_in_of_some.gradient(P), rtol=1e-9)
    found = worst_case(audit)
    assert found.value == pytest.approx(worst.value, rel=1e-6)
    assert found.status is Status.CONVERGED


def test_the_analysts_estimator_is_left_unfitted_and_its_seed_is_the_audits(law_frame):
    mine = RandomForestRegressor(5, min_samples_leaf=50)
    first, second = (fit(law_frame.iloc[:3000], mine).cfu(P) for _ in range(2))
    assert first == second > 0
    assert mine.random_state is None
    assert not hasattr(mine, "estimators_")


def test_a_row_of_weight_two_is_the_row_twice_for_a_users_estimator(some):
    weight = np.where(np.arange(400) % 3 == 0, 2.0, 1.0)
    twice = some.loc[some.index.repeat(weight.astype(int))]
    weighted = fit(some, pipeline(), sample_weight=weight)
    assert weighted.cfu(P) == pytest.approx(fit(twice, pipeline()).cfu(P), rel=1e-8)
    with pytest.raises(SettingError, match="fit of predictor KNeighborsRegressor takes no weights"):
        fit(some, KNeighborsRegressor(), sample_weight=weight)


@pytest.fixture(scope="module")
def bar():
    """Two values: whether the bar was passed."""
    frame = fs.datasets.law_school("sex").iloc[:4000]
    graph = fs.CausalGraph.parse("sex -> ugpa -> lsat; ugpa <-> lsat", protected="sex", outcome="first_pf")
    return frame, graph


def test_a_classifier_is_audited_by_its_probabilities_whatever_its_classes_are_called(bar):
    frame, graph = bar
    options = {"penalty": 1, "predictor_degree": 1, "predictor_penalty": 2.0, "max_degree": 1}
    own = fs.Audit.fit(frame, graph, **options)
    classifier = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000)
    unfitted = fs.Audit.fit(frame, graph, predictor=classifier, **options)
    named = classifier.fit(own.predictor_inputs().to_numpy(), frame["first_pf"].map({0: "failed", 1: "passed"}))
    renamed = frame.assign(first_pf=frame["first_pf"].map({0: "failed", 1: "passed"}))
    fitted = fs.Audit.fit(renamed, graph, predictor=named, **options)
    Z = own.predictor_inputs().to_numpy()
    for audit in (unfitted, fitted):
        # ours minimises deviance + 2 |theta|^2, theirs |theta|^2 / 2 + C * deviance / 2: the same but for the stop
        assert audit.cfu({("ugpa", "lsat"): 0.5}) == pytest.approx(own.cfu({("ugpa", "lsat"): 0.5}), rel=1e-5)
    theirs, ours = (audit.fitted.claim.predictor for audit in (unfitted, own))
    np.testing.assert_allclose(theirs.predict(Z), ours.predict(Z), atol=1e-6)
    assert theirs.r2 == pytest.approx(ours.r2, rel=1e-6)


def test_classifiers_that_cannot_be_audited_are_refused(bar, law_frame):
    frame, graph = bar
    with pytest.raises(SettingError, match="LinearSVC, which gives no probabilities: wrap it in CalibratedClassifier"):
        fs.Audit.fit(frame, graph, predictor=LinearSVC())
    assert fs.Audit.fit(frame, graph, predictor=CalibratedClassifierCV(LinearSVC())).cfu({("ugpa", "lsat"): 0.5}) > 0
    classifier = LogisticRegression().fit(np.random.default_rng(0).random((9, 2)), list("abcabcabc"))
    with pytest.raises(SettingError, match="was fitted to the classes"):
        fs.Audit.fit(frame, graph, predictor=classifier)
    with pytest.raises(SettingError, match="classifier LogisticRegression, but the outcome has more than two values"):
        fit(law_frame, classifier)


@pytest.mark.parametrize(
    ("predictor", "message"),
    [
        (lambda: 3, "predictor is 3: give an estimator"),
        (lambda: Ridge, r"predictor is the class Ridge: give an instance, Ridge\(...\)"),
        (lambda: fs.Predictor(Ridge(), input="rows"), "the predictor's input is 'rows': give 'residuals'"),
        (lambda: fs.Predictor(Ridge(), input=np.ones(2)), "the predictor's input is array"),
        (lambda: fs.Predictor(Ridge(), gradient="exact"), "the predictor's gradient is 'exact'"),
        (lambda: fs.Predictor(Ridge(), gradient=np.ones(2)), "the predictor's gradient is array"),
        (lambda: LogisticRegression(), "outcome has more than two values: give a regressor"),
        (
            lambda: fs.Predictor(Ridge(), input=lambda frame: frame["sat"]),
            r"the predictor's input fails \(KeyError: 'sat'\): give a function .* columns race, ugpa, lsat",
        ),
        (
            lambda: fs.Predictor(Ridge(), input=lambda frame: None),
            "the predictor's input gives NoneType of shape None",
        ),
        (
            lambda: fs.Predictor(Ridge(), input=lambda frame: frame[["lsat"]].head(3)),
            r"the predictor's input gives DataFrame of shape \(3, 1\) for 1820 people",
        ),
        (lambda: fs.Predictor(Ridge(), gradient="autograd"), "needs a PyTorch module"),
        (lambda: fs.Predictor(input="features"), "about a predictor of your own"),
        (lambda: fs.Predictor(gradient="differences"), "about a predictor of your own"),
        (lambda: lambda Z: Z, r"gives an array of shape \(1820, 2\) for 1820 people"),
        (lambda: lambda Z: Z[:, 0] / 0, "fails \\(.*divide by zero"),
        (lambda: lambda Z: np.full(len(Z), np.nan), "gives a number that is not finite"),
        (lambda: lambda Z: Z["ugpa"], "fails .*input='features'"),
        (
            lambda: fs.Predictor(Ridge(), input="features"),
            "Ridge cannot be fitted .ValueError: could not convert string",
        ),
        (lambda: fs.Predictor(scale="odds"), "the predictor's scale is 'odds'"),
        (lambda: fs.Predictor(scale="log-odds"), "the outcome 'zfya' has more than two values"),
    ],
)
def test_predictors_that_make_no_sense_are_refused(law_frame, predictor, message):
    with pytest.raises(SettingError, match=message):
        fit(law_frame, predictor())


def test_a_measure_that_makes_no_sense_is_refused(law_frame):
    with pytest.raises(SettingError, match="measure is 'mean'"):
        fit(law_frame, measure="mean")


def first_residual(Z):
    return Z[:, 0]


def test_a_gradient_of_the_wrong_shape_and_a_method_that_needs_one_are_refused(law_frame):
    audit = fit(law_frame, fs.Predictor(first_residual, gradient=first_residual))
    with pytest.raises(SettingError, match=r"the predictor's gradient gives an array of shape \(1820,\): give one of"):
        audit.gradient(P)
    for gradient, message in (
        (lambda Z: Z["ugpa"], r"the predictor's gradient fails \(IndexError"),
        (lambda Z: np.full_like(Z, np.nan), "has a derivative that is not finite for someone"),
    ):
        with pytest.raises(SettingError, match=message):
            fit(law_frame, fs.Predictor(first_residual, gradient=gradient)).worst_case(0.2)
    audit = fit(law_frame, first_residual)
    with pytest.raises(SettingError, match="CFU has no gradient"):
        audit.gradient(P)
    with pytest.raises(SettingError, match="method is 'ascent', which follows a gradient"):
        audit.worst_case(0.2, search=fs.Search(method="ascent"))


def test_a_fitted_estimator_gets_the_columns_that_it_was_fitted_to(law_frame):
    backwards = LinearRegression().fit(law_frame[["lsat", "ugpa"]], law_frame["zfya"])
    audit = fit(law_frame, fs.Predictor(backwards, input="features"))
    w = backwards.coef_
    moved = audit.counterfactuals(P)
    by_hand = ((moved["lsat"] - law_frame["lsat"]) * w[0] + (moved["ugpa"] - law_frame["ugpa"]) * w[1]) ** 2
    assert audit.cfu(P) == pytest.approx(by_hand.mean(), rel=1e-9)
    other = LinearRegression().fit(law_frame[["lsat"]].rename(columns={"lsat": "score"}), law_frame["zfya"])
    with pytest.raises(SettingError, match="looks at a column 'score', which neither the graph nor the data have"):
        fit(law_frame, fs.Predictor(other, input="features"))


def test_an_estimator_that_was_fitted_to_an_array_is_shown_one():
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    columns = ["a", "x", "z"]
    named, nameless = (LinearRegression().fit(X, frame["y"]) for X in (frame[columns], frame[columns].to_numpy()))
    shown = [fs.Predictor(model, input="features") for model in (named, nameless)]
    cfu = [fs.Audit.fit(frame, graph, predictor=predictor).cfu({}) for predictor in shown]
    assert cfu[0] == cfu[1] > 0.01


def test_the_order_in_which_an_array_is_shown_is_said_and_can_be_given():
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    columns = ["z", "a", "x"]
    named, nameless = (LinearRegression().fit(X, frame["y"]) for X in (frame[columns], frame[columns].to_numpy()))
    in_order = LinearRegression().fit(frame[["a", "x", "z"]].to_numpy(), frame["y"])
    audits = [
        fs.Audit.fit(frame, graph, predictor=fs.Predictor(model, input="features", columns=order))
        for model, order in ((named, None), (nameless, columns), (in_order, None))
    ]
    assert audits[0].cfu({}) == audits[1].cfu({}) == pytest.approx(audits[2].cfu({}), rel=1e-9)
    said = ["it is shown a, x, z in this order" in " ".join(audit.notes) for audit in audits]
    assert said == [False, False, True]


@pytest.mark.parametrize("has_fit", [False, True])
def test_a_model_that_scikit_learn_does_not_know_is_asked_by_its_predict(law_frame, has_fit):
    class Model:
        def predict(self, shown):
            return shown["lsat"] / 10

    if has_fit:
        Model.fit = lambda self, X, y: self
    own, other = (fit(law_frame, fs.Predictor(one, input="features")) for one in (Model(), Model().predict))
    assert own.cfu(P) == other.cfu(P) > 0.01
    assert own.settings.predictor == "Model"


def test_what_is_shown_may_be_a_polars_frame(law_frame):
    own, other = (lambda frame: frame[["ugpa", "lsat"]]), (lambda frame: pl.from_pandas(frame[["ugpa", "lsat"]]))
    cfu = [fit(law_frame, fs.Predictor(LinearRegression(), input=prepare)).cfu(P) for prepare in (own, other)]
    assert cfu[0] == pytest.approx(cfu[1], rel=1e-12)


@pytest.mark.parametrize(
    "predictor",
    [
        lambda Z: Z[:, 0] - Z[:, 0].mean(),
        lambda Z: np.random.default_rng().random(len(Z)),
        fs.Predictor(Ridge(), input=lambda frame: frame[["lsat"]].rank()),
    ],
    ids=["mean of the batch", "chance", "ranks"],
)
def test_a_predictor_whose_answer_depends_on_who_else_is_asked_about_is_refused(law_frame, predictor):
    with pytest.raises(SettingError, match="gives the same people other numbers when it is asked about fewer"):
        fit(law_frame, predictor)


def test_summaries_and_settings_name_a_users_predictor(law_frame):
    audit = fit(law_frame, pipeline())
    assert "Pipeline (audited)" in audit.details()
    assert (audit.settings.predictor, audit.settings.predictor_gradient) == ("Pipeline", "none")
    raw = fit(law_frame, fs.Predictor(lambda frame: frame["lsat"] / 10, input="features"))
    assert "looks at the columns themselves" in raw.details().replace("\n", " ")
    assert f"{raw.cfu({}):.7f}" in raw.details()
    assert isinstance(raw.predictor_inputs(), pd.DataFrame)


def own_measure(d, weight):
    return np.average(d**4, weights=weight)


def test_steps_are_not_differentiated(law_frame):
    forest = RandomForestRegressor(10, max_depth=4)
    with pytest.raises(SettingError, match="RandomForestRegressor moves in steps"):
        fit(law_frame, fs.Predictor(forest, gradient="differences"), random_state=0)

    def step(shown):
        return (shown["lsat"] > 40) + 2.0 * (shown["race"] == "White")

    with pytest.raises(SettingError, match="step moves in steps"):  # whatever it makes of the attribute
        fit(law_frame, fs.Predictor(step, input="features", gradient="differences"))


@pytest.mark.parametrize(
    "predictor",
    [
        fs.Predictor(lambda Z: np.maximum(Z[:, 1] - 1.7, 0), gradient="differences"),
        fs.Predictor(lambda shown: 1.0 * (shown["race"] == "White"), input="features", gradient="differences"),
        fs.Predictor(lambda Z: np.zeros(len(Z)), gradient="differences"),
    ],
    ids=["flat for most", "of the attribute alone", "constant"],
)
def test_what_is_flat_for_most_people_is_not_taken_for_steps(law_frame, predictor):
    assert fit(law_frame, predictor).fitted.claim.predictor.gradient == "differences"


def test_a_smooth_predictor_that_uses_one_of_many_inputs_is_differentiated():
    names = [f"x{i}" for i in range(24)]
    graph = fs.CausalGraph.parse(f"a -> {', '.join(names)}; a <-> x0", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 200, random_state=0).frame
    chosen = {"degrees": dict.fromkeys(names, 1), "penalty": 1.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    smooth = fs.Predictor(lambda Z: np.tanh(Z[:, 0]), gradient="differences")
    audit = fs.Audit.fit(frame, graph, predictor=smooth, **chosen)
    assert audit.worst_case(0.2).status is Status.DIFFERENCES


@pytest.mark.parametrize(
    "options",
    [
        {"predictor": fs.Predictor(LinearRegression(), gradient="differences")},
        {"predictor": fs.Predictor(LinearRegression(), input="features"), "reference": True},
        {"measure": 0.9},
        {"measure": own_measure},
    ],
    ids=["residuals", "features", "quantile", "own measure"],
)
def test_an_audit_can_be_pickled(some, options):
    frame = some.assign(race=some["race"] == "White") if "reference" in options else some
    audit = fit(frame, **options)
    before = audit.cfu(P)
    again = pickle.loads(pickle.dumps(audit))
    assert again.cfu(P) == before == audit.cfu(P)
    assert again.settings.to_dict() == audit.settings.to_dict()
