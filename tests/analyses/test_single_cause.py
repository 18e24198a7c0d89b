from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

import fairstress as fs
from fairstress.analyses.benchmarks.strength import observed_correlation
from fairstress.claim.evaluate import evaluate_many
from fairstress.functionals.cfu import CFU
from fairstress.search.causes import sets_within

LAW = "race -> ugpa, lsat; ugpa -> lsat; race <-> ugpa; race <-> lsat; ugpa <-> lsat"
TRIANGLE = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; a <-> z; x <-> z", protected="a", outcome="y")
STORED = json.loads((Path(__file__).parents[1] / "reference" / "other_programs.json").read_text())["sensemakr"]
LINEAR = {"penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 0.0}


@pytest.fixture(scope="module")
def law(law_frame):
    """Law school as in the demonstration."""
    graph = fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")
    settings = {"cv": "contiguous", "max_degree": 4, "penalise_constant": True, "reference": "White"}
    return fs.Audit.fit(law_frame, graph, random_state=0, **settings)


@pytest.fixture(scope="module")
def small():
    frame = fs.datasets.simulate(TRIANGLE, 400, correlation={("a", "x"): 0.3}, random_state=1).frame
    options = {"predictor_degree": 2, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, TRIANGLE, degrees={"x": 1, "z": 2}, penalty=2.0, random_state=0, **options)


# ---------------------------------------------------------------- robustness values


@pytest.mark.parametrize(
    ("caps", "same", "paper"), [({}, 0.2453, 0.2374), ({"race": 0.9}, 0.0555, 0.0506)], ids=["equal", "race"]
)
def test_the_share_at_which_law_school_is_as_unfair_as_blind(law, caps, same, paper):
    """Stored values, of this program: a change of them is a change of the headline. Searches end within 1e-4."""
    budget = fs.SingleCause(caps=caps)
    beside = law.breaking_point("blind", budget=budget)
    assert beside.p_max == pytest.approx(same, abs=1e-4)
    assert law.breaking_point("blind", budget=budget, definition="paper").p_max == pytest.approx(paper, abs=1e-4)


@pytest.mark.parametrize("budget", [fs.Pairwise(), fs.Spectral(), fs.SingleCause()], ids=str)
def test_a_breaking_point_carries_what_was_found_there(small, budget):
    options = {"budget": budget, "highest": 0.2, "search": fs.Search(starts=2)}
    point = small.breaking_point("blind", **options)
    assert point.budget == budget
    assert point.cfu == small.cfu(point.correlation)
    assert point.baseline_cfu == point.level == small.cfu(point.correlation, baseline="blind")
    # a search ends within a quarter of 1e-4 of the budget, along which CFU grows as its square
    assert point.cfu == pytest.approx(point.baseline_cfu, rel=1e-3)
    assert (point.loadings is not None) == isinstance(budget, fs.SingleCause)
    by_level = small.breaking_point(point.cfu, **options)
    assert by_level.cfu == small.cfu(by_level.correlation) >= point.cfu
    assert by_level.baseline_cfu is None
    named = small.breaking_point("blind", definition="paper", **options)
    assert named.cfu >= named.level == small.baselines["blind"].unfairness
    assert named.baseline_cfu == small.cfu(named.correlation, baseline="blind")


def test_a_level_that_is_not_reached_leaves_where_it_came_nearest(small):
    for level in (1e3, "unconstrained"):
        point = small.breaking_point(level, budget=fs.SingleCause(), highest=0.01)
        assert point.p_max is None
        assert point.cfu == small.cfu(point.correlation)
        assert point.worst.p_max == 0.01


def test_below_the_breaking_point_no_cause_on_a_grid_is_as_unfair_as_the_baseline(small):
    share = small.breaking_point("blind", budget=fs.SingleCause()).p_max
    (members,) = sets_within(fs.SingleCause(), share - 1e-4, small.graph, small.variables)
    grid = np.array(list(np.ndindex(6, 11, 11))) / [5, 5, 5] - [0, 1, 1]
    P = members.matrix(grid * members.high)
    ours, blind = (
        np.array([one.value for one in evaluate_many(claim, P, CFU(), check_minima=False)])
        for claim in (small.fitted.claim, small.fitted.context.baseline_claims["blind"])
    )
    assert (ours < blind).all()


def share_of_robustness_value(r: float) -> float:
    """The equal share s of both errors, from ``s^2 / (1 - s^2) = r^2 / (1 - r)``.

    sensemakr's r is the partial R2 of the cause with the treatment, and with the outcome given the treatment.
    """
    odds = r**2 / (1 - r)
    return float(np.sqrt(odds / (1 + odds)))


def share_that_takes_to_nothing(audit: fs.Audit, functional: fs.Functional, end: int) -> float:
    """The smallest share whose bound of a functional is 0."""
    return float(
        optimize.brentq(
            lambda s: audit.bounds(functional, s, budget=fs.SingleCause())[end].value, 0.01, 0.9, xtol=1e-13, rtol=1e-13
        )
    )


def test_the_share_that_takes_an_effect_to_nothing_is_sensemakrs_robustness_value():
    """By its closed formula, from the t value and the degrees of freedom of the regression of x on a and r."""
    graph = fs.CausalGraph.parse("r -> a -> x; r -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 400, binary=False, correlation={("a", "x"): 0.3}, random_state=1).frame
    audit = fs.Audit.fit(frame, graph, degrees={"r": 1, "x": 1}, shift=0.7, **LINEAR)
    X = np.column_stack([frame["a"], frame["r"], np.ones(len(frame))])
    w, (rest,), *_ = np.linalg.lstsq(X, frame["x"], rcond=None)
    df = len(frame) - 3
    t = w[0] / np.sqrt(rest / df * np.linalg.inv(X.T @ X)[0, 0])
    f2 = t**2 / df
    r = (np.sqrt(f2**2 + 4 * f2) - f2) / 2
    found = share_that_takes_to_nothing(audit, audit.effect("x"), 0 if w[0] > 0 else 1)
    # least squares on both sides; Model B's scales are within 1e-12 of their optimum
    assert found == pytest.approx(share_of_robustness_value(r), rel=1e-10)


def test_the_share_that_takes_a_coefficient_to_nothing_is_the_robustness_value_of_pysensemakr(law_frame, law_graph):
    audit = fs.Audit.fit(law_frame, law_graph, reference="White", degrees={"ugpa": 1, "lsat": 1}, **LINEAR)
    found = share_that_takes_to_nothing(audit, audit.coefficient("lsat", "ugpa"), 0)
    assert found == pytest.approx(share_of_robustness_value(STORED["robustness_value"]), rel=1e-10)


# ---------------------------------------------------------------- everywhere a budget is taken


def test_effects_bounds_and_limits_take_it_on_one_core_or_two(small):
    tables = [small.effects(0.2, budget="single cause", search=fs.Search(n_jobs=n)) for n in (1, 2)]
    assert tables[0].equals(tables[1])
    wider = small.effects(0.2, budget="pairwise")
    assert (tables[0]["low"] >= wider["low"] - 1e-9).all()
    assert (tables[0]["high"] <= wider["high"] + 1e-9).all()
    limited = [
        small.breaking_point(0.3, budget="single cause", bands=fs.Bootstrap(50, n_jobs=n), highest=0.2, random_state=0)
        for n in (1, 2)
    ]
    assert limited[0].lower == limited[1].lower
    assert 0 < limited[0].lower < limited[0].p_max


def test_limits_of_a_curve_lie_above_it_and_full_searches_find_no_more(small):
    curve = small.curve([0, 0.1, 0.3], budget=fs.SingleCause(), bands=fs.Bootstrap(60, check=0.1), random_state=0)
    for point in curve.points[1:]:
        assert point.estimate.upper > point.value
    assert curve.points[-1].estimate.replication.largest_miss < 0.05  # of the value, as for other budgets


def test_a_robust_predictor_is_less_unfair_within_the_budget_that_it_is_made_for(small):
    robust = small.robust(0.2, 3, budget="single cause", search=fs.Search(starts=2))
    ours, theirs = (one.worst_case(0.2, budget="single cause").value for one in (small, robust))
    assert theirs < ours
    assert robust.robust_predictor.cfu == pytest.approx(theirs, rel=1e-3)  # its gap is below that


def test_a_report_has_each_pair_alone_and_all_but_one(small):
    budget = fs.SingleCause(caps={"a": 0.3})
    data = small.report(None, 0.1, sizes=[0, 0.1], grid=[0], budget=budget, search=fs.Search(starts=1))
    for one in data.pairs:
        assert one.alone.value <= data.worst.value * (1 + 1e-6)
        assert one.forbidden.value <= data.worst.value * (1 + 1e-6)
        assert one.forbidden.correlation.loc[one.pair] == 0
        assert set(one.alone.clique) == set(one.pair)


def test_pairs_can_be_taken_out_and_caps_with_them(small):
    from fairstress.analyses.worst_case import Solver

    solve = Solver.of(small.fitted, fs.SingleCause(caps={"a": 0.5}), None, 0)
    alone = solve.without([("a", "z"), ("z", "x")])(0.1)
    assert alone.clique == ("a", "x")
    assert alone.value == pytest.approx(solve.without([("z", "a"), ("x", "z")])(0.1).value)
    features = solve.without([("a", "x"), ("a", "z")])(0.1)
    assert features.clique == ("x", "z")
    assert features.budget == fs.SingleCause()


@pytest.mark.parametrize("predictor", ["polynomial", "trees"])
def test_an_ordered_feature_has_its_worst_cause_too(predictor):
    from sklearn.ensemble import HistGradientBoostingRegressor

    kinds = {"x": "ordered", "z": "number"}
    frame = fs.datasets.simulate(TRIANGLE, 200, kinds=kinds, cuts={"x": (-0.5, 0.6)}, random_state=0).frame
    trees = fs.Predictor(HistGradientBoostingRegressor(max_iter=20, random_state=0), input="features")
    audit = fs.Audit.fit(
        frame,
        TRIANGLE,
        kinds=kinds,
        degrees={"x": 1, "z": 1},
        penalty=1,
        predictor=trees if predictor == "trees" else None,
        random_state=0,
        **({} if predictor == "trees" else {"predictor_degree": 2, "predictor_penalty": 1}),
    )
    worst = audit.worst_case(0.3, budget=fs.SingleCause())
    (members,) = sets_within(fs.SingleCause(), 0.3, audit.graph, audit.variables)
    unit = np.array(list(np.ndindex(3, 5, 5))) / 2 - [0, 1, 1]
    found = evaluate_many(audit.fitted.claim, members.matrix(unit * members.high), CFU(), check_minima=False)
    # as for other budgets: with derivatives an ascent ends the search, without a surface's precision of 0.5 %
    assert worst.value >= max(one.value for one in found) * (1 - (0.01 if predictor == "trees" else 0.001))
    assert (worst.shares <= 0.3 + 1e-9).all()


def test_a_table_has_the_shares_and_a_summary_names_caps(law):
    worst = law.worst_case(0.05, budget=fs.SingleCause(caps={"race": 0.9}))
    row = worst.to_frame().iloc[0]
    for name in law.variables:
        assert row[f"share of {name}"] == worst.shares[name]
    assert "with at most 90 % of race" in " ".join(worst.summary().split())


# ---------------------------------------------------------------- latent and observed scale


def test_the_observed_correlation_is_the_mean_product_of_a_sign_and_an_error():
    """Quadrature over the latent error, by q: ``E[1(e > t) E[u | e]]`` standardised."""
    e = np.linspace(-9, 9, 200_001)
    density = np.exp(-(e**2) / 2) / np.sqrt(2 * np.pi) * (e[1] - e[0])
    for q, t in ((0.16, 0.9944578832097535), (0.5, 0.0)):
        product = (density * (e > t) * 0.4 * e).sum()
        # the jump at t is known to half a step
        assert observed_correlation(0.4, q) == pytest.approx(product / np.sqrt(q * (1 - q)), rel=1e-4)


def test_a_worst_case_says_what_its_correlations_are_on_the_observed_attribute(law):
    worst = law.worst_case(0.1, budget=fs.SingleCause())
    share = (law.fitted.table.group_sizes()["White"]) / law.fitted.table.n_counted
    assert worst.observed_factor == pytest.approx(observed_correlation(1, share), rel=1e-12)
    assert worst.observed_factor == pytest.approx(observed_correlation(1, 1 - share), rel=1e-12)


def test_a_numeric_attribute_has_no_second_scale():
    graph = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 100, binary=False, random_state=1).frame
    audit = fs.Audit.fit(frame, graph, degrees={"x": 1}, shift=1, **LINEAR)
    assert audit.worst_case(0.1).observed_factor is None


@pytest.mark.parametrize("share", [0, 1, -0.2])
def test_a_group_without_people_is_refused(share):
    with pytest.raises(fs.SettingError, match="group_share is"):
        observed_correlation(0.1, share)


# ---------------------------------------------------------------- contour


@pytest.fixture(scope="module")
def contour(small):
    return small.cause_contour([0, 0.02, 0.2, 0.6], [0, 0.01, 0.1])


def test_cells_of_a_contour_are_worst_cases_with_the_attributes_share_as_a_cap(small, contour):
    for i, j in ((1, 3), (2, 1), (2, 2)):
        budget = fs.SingleCause(caps={"a": contour.attribute_shares[j]})
        alone = small.worst_case(contour.feature_shares[i], budget=budget)
        # ascents end within a gain of 1e-10, on hills that both searches find
        assert contour.cfu[i, j] == pytest.approx(alone.value, rel=1e-6)
        excess = small.bounds(small.relative_cfu("blind"), contour.feature_shares[i], budget=budget)[1]
        assert contour.excess[i, j] == pytest.approx(excess.value, rel=1e-6)


def test_more_of_either_share_is_never_less(contour):
    for values in (contour.cfu, contour.excess):
        assert (np.diff(values, axis=0) >= 0).all()
        assert (np.diff(values, axis=1) >= 0).all()


def test_the_line_is_where_the_breaking_point_is(small, contour):
    share = small.breaking_point("blind", budget=fs.SingleCause(caps={"a": 0.2})).p_max
    column = contour.as_unfair[:, 2]
    assert column.any()
    assert not column.all()
    assert contour.feature_shares[~column].max() < share <= contour.feature_shares[column].min()


def test_a_contours_frame_has_both_predictors_at_the_same_correlation(small, contour):
    frame = contour.to_frame()
    assert len(frame) == 12
    row = frame[(frame["attribute_share"] == 0.2) & (frame["feature_share"] == 0.1)].iloc[0]
    P = {pair: row[" <-> ".join(pair)] for pair in TRIANGLE.pairs}
    assert row["cfu"] == pytest.approx(small.cfu(P), rel=1e-9)
    assert row["baseline_cfu"] == pytest.approx(small.cfu(P, baseline="blind"), rel=1e-9)
    assert (frame["as_unfair"] == (frame["excess"] >= 0)).all()


def test_a_contour_is_drawn_with_its_line_and_as_a_table(contour):
    import matplotlib.pyplot as plt

    ax = contour.plot()
    assert "share of the error of a" in ax.get_xlabel()
    assert any("as unfair as blind" in text.get_text() for text in ax.texts)
    plt.close(ax.figure)
    lines = contour.to_markdown().splitlines()
    assert sum(line.count("*") for line in lines if line.startswith("|")) >= contour.as_unfair.sum()


def test_a_contour_needs_a_cause_of_the_attribute(law_audit):
    with pytest.raises(fs.SettingError, match="'race' stands in no pair of the graph"):
        law_audit.cause_contour()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attribute_shares": [0.1, 1]}, "a share is 1: give a number from 0 up to"),
        ({"feature_shares": 0.3}, "feature_shares is 0.3: give a list of numbers"),
        ({"baseline": "blnd"}, "did you mean 'blind'?"),
    ],
)
def test_arguments_of_a_contour_that_make_no_sense_are_refused(small, arguments, message):
    with pytest.raises(fs.SettingError) as refused:
        small.cause_contour(**arguments)
    assert message in str(refused.value)
