from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

import fairstress as fs
from fairstress.errors import DataError, SettingError, Status
from fairstress.threads import one_thread

PAIR = ("ugpa", "lsat")


def test_models_are_shown_by_feature_and_term(law_audit):
    model = law_audit.model_b({PAIR: 0.5})
    assert list(model.weights["lsat"].index) == ["1", "race", "ugpa", "race*ugpa", "ugpa^2"]
    assert list(model.scales.index) == ["ugpa", "lsat"] == list(law_audit.variables)
    assert model.correlation.loc["ugpa", "lsat"] == 0.5
    assert model.status is Status.CONVERGED
    assert model.log_likelihood < law_audit.model_a.log_likelihood


@pytest.mark.parametrize("cv", [5, "contiguous"])
def test_the_coding_of_the_reference_does_not_change_cfu(law_frame, law_graph, cv):
    settings = {"max_degree": 4, "penalise_constant": True, "cv": cv}
    one, other = (fs.Audit.fit(law_frame, law_graph, reference=r, **settings) for r in ("White", "non-White"))
    np.testing.assert_allclose(other.cfu({PAIR: 0.6}), one.cfu({PAIR: 0.6}), rtol=1e-9)
    np.testing.assert_allclose(other.model_a.weights["ugpa", "race"], -one.model_a.weights["ugpa", "race"])


def test_frames_keep_the_users_row_labels(law_frame, law_graph):
    labelled = law_frame.iloc[:3000].set_index(pd.Index([f"student {i}" for i in range(3000)]))
    audit = fs.Audit.fit(labelled, law_graph, penalty=1, degrees={"ugpa": 1, "lsat": 1})
    assert audit.counterfactuals({PAIR: 0.1}).index[-1] == "student 2999"
    assert audit.cfu_by_row({PAIR: 0.1}).index.equals(labelled.index)


def test_polars_gives_the_same_audit_as_pandas(law_frame, law_graph, law_audit):
    settings = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous"}
    audit = fs.Audit.fit(pl.from_pandas(law_frame), law_graph, reference="White", **settings)
    assert audit.cfu({PAIR: 0.4}) == law_audit.cfu({PAIR: 0.4})


def test_sex_and_a_two_valued_outcome_can_be_audited():
    frame = fs.datasets.law_school("sex")
    graph = fs.CausalGraph.parse("sex -> ugpa -> lsat; ugpa <-> lsat", protected="sex", outcome="first_pf")
    audit = fs.Audit.fit(frame, graph)
    assert audit.fitted.claim.predictor.is_logistic
    assert 0 < audit.cfu({PAIR: 0.5}) < 0.25
    assert audit.baselines["unconstrained"].r2 >= audit.fitted.claim.predictor.r2
    assert "predictions are probabilities of 1" in audit.details()


def test_features_without_parents_and_ancestors_of_the_protected_attribute_are_allowed():
    graph = fs.CausalGraph.parse("region -> a -> x; region -> x; lone; lone <-> x", protected="a", outcome="y")
    truth = fs.datasets.simulate(graph, 500, random_state=0)
    audit = fs.Audit.fit(truth.frame, graph, penalty=0, degrees={"region": 1, "x": 2, "lone": 1})
    found = audit.counterfactuals({("lone", "x"): 0.4})
    np.testing.assert_allclose(found[["region", "lone"]], truth.frame[["region", "lone"]], atol=1e-12)
    assert list(audit.model_a.weights["lone"].index) == ["1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degrees": {"last": 2}}, "degrees names 'last', which is not a feature; did you mean 'lsat'"),
        ({"degrees": {"lsat": 0}}, r"degrees\['lsat'\] is 0: give a whole number of at least 1"),
        ({"max_degree": 2.5}, "max_degree is 2.5"),
        ({"penalty": -1}, "penalty is -1: give a finite number that is not negative"),
        ({"predictor_penalty": "big"}, "predictor_penalty is 'big'"),
        ({"penalties": []}, "penalties is empty"),
        ({"penalties": [1, float("inf")]}, "penalties is inf"),
        ({"cv": 1}, "cv is 1"),
        ({"cv": "5"}, "cv is '5'"),
        ({"degrees": [1, 2]}, "degrees is .*give a dict"),
        ({"penalties": 5}, "penalties is 5: give a list"),
        ({"penalise_constant": "no"}, "penalise_constant is 'no'"),
        ({"random_state": "x"}, "random_state is 'x': give a whole number that is not negative, or None"),
        ({"random_state": -1}, "random_state is -1"),
        ({"reference": "white"}, "reference 'white' is not a level of 'race': give 'White' or 'non-White'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(law_frame, law_graph, options, message):
    with pytest.raises(SettingError, match=message):
        fs.Audit.fit(law_frame, law_graph, **options)


def test_searches_that_make_no_sense_are_refused(law_audit):
    with pytest.raises(SettingError, match="random_state is 'x': give a whole number"):
        law_audit.worst_case(0.1, random_state="x")
    with pytest.raises(SettingError, match=r"p_max is 0\.3: give a list of numbers"):
        law_audit.curve(0.3)
    with pytest.raises(SettingError, match="p_max is 'a': give a number"):
        law_audit.curve(["a"])


@pytest.mark.parametrize("penalise_constant", [False, True])
def test_only_a_penalised_constant_makes_cfu_depend_on_where_zero_lies(law_frame, penalise_constant):
    graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    frames = (law_frame, law_frame.assign(zfya=law_frame["zfya"] + 100))
    options = {"penalty": 100.0, "predictor_degree": 2, "predictor_penalty": 500.0, "max_degree": 2}
    before, after = (
        fs.Audit.fit(f, graph, penalise_constant=penalise_constant, **options).cfu({PAIR: 0.6}) for f in frames
    )
    assert (abs(after / before - 1) > 0.1) == penalise_constant
    assert penalise_constant or after == pytest.approx(before, rel=1e-9)


def test_linear_algebra_runs_in_one_thread_and_the_limit_ends_with_it():
    @one_thread
    def threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        assert threads() == {1}
        assert 1 not in {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_results_do_not_depend_on_the_number_of_threads(law_frame, law_graph):
    found = set()
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            assert {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"} == {threads}
            found.add(fs.Audit.fit(law_frame, law_graph, reference="White").cfu({PAIR: 0.7}))
    assert len(found) == 1


# ---------------------------------------------------------------- the same audit, fitted again


@pytest.mark.parametrize(
    "options",
    [
        {"predictor": DecisionTreeRegressor(max_depth=3), "random_state": 0},
        {"predictor": fs.Predictor(lambda frame: frame["x"] + frame["z"] ** 2, input="features")},
        {"measure": "absolute"},
        {"measure": 0.9},
    ],
    ids=["a tree", "a function of columns", "absolute", "a quantile"],
)
def test_refitted_without_changes_it_is_the_same_audit(options):
    graph = fs.CausalGraph.parse("a -> x -> z; a <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, max_degree=2, **options)
    assert audit.refit().fitted is audit.fitted
    again, P = audit.refit(degrees=audit.settings.degrees, penalty=audit.settings.penalty), {("a", "z"): 0.4}
    assert again.fitted is not audit.fitted
    assert again.cfu(P) == pytest.approx(audit.cfu(P), rel=1e-12)
    assert again.settings.to_dict() == audit.settings.to_dict()
    for name, baseline in audit.baselines.items():
        assert again.baselines[name].unfairness == pytest.approx(baseline.unfairness, rel=1e-9)
        assert again.cfu(P, baseline=name) == pytest.approx(audit.cfu(P, baseline=name), rel=1e-9)


def test_refitted_on_the_scale_of_log_odds_it_stays_there():
    graph = fs.CausalGraph.parse("a -> x -> z; a <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    log_odds = fs.Predictor(scale="log-odds")
    audit = fs.Audit.fit(frame.assign(y=frame["y"] > 0), graph, max_degree=1, predictor=log_odds)
    P = {("a", "z"): 0.4}
    again = audit.refit(penalty=audit.settings.penalty)
    assert again.settings.predictor_scale == "log-odds"
    assert again.cfu(P) == pytest.approx(audit.cfu(P), rel=1e-9)


# ---------------------------------------------------------------- some of the rows


KEPT = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")


@pytest.fixture(scope="module")
def three_groups():
    rng = np.random.default_rng(0)
    a = rng.choice(["red", "green", "blue"], 120)
    x = (a == "green") + rng.standard_normal(120)
    frame = pd.DataFrame({"a": a, "x": x, "z": x + rng.standard_normal(120)})
    return frame.assign(y=frame["z"] + rng.standard_normal(120))


@pytest.mark.parametrize("groups", [["red"], ["red", "blue"]])
def test_rows_of_which_a_group_is_missing_are_refused(three_groups, groups):
    audit = fs.Audit.fit(three_groups, KEPT, max_degree=1, penalty=1)
    with pytest.raises(DataError, match=r"keep leaves nobody of the group '(green|blue)' of 'a', so that there"):
        audit.refit(keep=three_groups["a"].isin(groups))
    held = fs.Audit.fit(three_groups, KEPT, max_degree=1, penalty=1, holdout=0.5, random_state=0)
    with pytest.raises(DataError, match="keep leaves nobody of the group"):
        held.refit(keep=three_groups["a"].isin(groups))


def test_one_group_alone_is_refused_with_a_hidden_cause_behind_it_too(law_frame):
    """What its parents tell of it is beside the point."""
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
    some = law_frame[:400]
    audit = fs.Audit.fit(some, graph, max_degree=1, penalty=1)
    with pytest.raises(DataError, match="keep leaves nobody of the group 'non-White' of 'race'"):
        audit.refit(keep=some["race"] == "White")


@pytest.mark.parametrize("column", ["x", "y"])
def test_rows_that_are_all_alike_in_a_column_are_refused(three_groups, column):
    table = three_groups.assign(**{column: three_groups[column].round()})
    audit = fs.Audit.fit(table, KEPT, max_degree=1, penalty=1, kinds={"x": "number"})
    with pytest.raises(DataError, match=f"keep leaves people who all have the same '{column}': keep others, too"):
        audit.refit(keep=table[column] == 0)


def test_rows_with_one_value_of_a_numeric_attribute_are_refused(three_groups):
    table = three_groups.assign(a=np.arange(120) % 7)
    audit = fs.Audit.fit(table, KEPT, max_degree=1, penalty=1)
    with pytest.raises(DataError, match="keep leaves people who all have the same 'a'"):
        audit.refit(keep=table["a"] == 3)
