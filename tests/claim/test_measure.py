from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import SettingError, Status
from fairstress.functionals.cfu import CFU
from fairstress.search.sets import correlation_set

GRAPH = fs.CausalGraph.parse("a -> x -> z -> v; a -> v; x <-> z <-> v; x <-> v", protected="a", outcome="y")
P = {("x", "z"): 0.4, ("z", "v"): -0.3, ("x", "v"): 0.2}


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).choice([0.0, 1.0, 2.5], 300)


@pytest.fixture(scope="module")
def fit(weight):
    frame = fs.datasets.simulate(GRAPH, 300, random_state=4).frame
    options = {"degrees": {"x": 1, "z": 1, "v": 2}, "penalty": 5, "predictor_degree": 2, "predictor_penalty": 1}
    return lambda measure: fs.Audit.fit(frame, GRAPH, random_state=0, sample_weight=weight, measure=measure, **options)


@pytest.fixture(scope="module")
def change(fit):
    """Everyone's change of prediction, in the table's order."""
    return fit("squared").people(P).to_frame()["change"].sort_index().to_numpy()


def deviation(change, weight):
    return np.sqrt(np.cov(change, aweights=weight))


def test_each_measure_is_what_its_name_says(fit, change, weight):
    expected = {
        "squared": weight @ change**2 / weight.sum(),
        "absolute": weight @ np.abs(change) / weight.sum(),
        "max": np.abs(change[weight > 0]).max(),
        0.9: np.quantile(np.repeat(np.abs(change), (2 * weight).astype(int)), 0.9, method="inverted_cdf"),
        deviation: deviation(change, weight),
    }
    for measure, value in expected.items():
        assert fit(measure).cfu(P) == pytest.approx(value, rel=1e-9)


def test_the_absolute_measure_has_a_gradient_and_the_others_are_searched_without(fit):
    audit = fit("absolute")
    for pair in GRAPH.pairs:
        up, down = (audit.cfu({**P, pair: P[pair] + step}) for step in (1e-6, -1e-6))
        assert audit.gradient(P)[pair] == pytest.approx((up - down) / 2e-6, rel=1e-4)
    search = fs.Search(starts=2)
    assert audit.worst_case(0.4, search=search).status is Status.CONVERGED
    largest = fit("max")
    found = largest.worst_case(0.4, search=search)
    assert found.status is Status.NO_DERIVATIVES
    assert found.functional == "CFU (max)"
    members = correlation_set(fs.Pairwise(), 0.4, GRAPH, GRAPH.features)
    points = members.matrix(np.random.default_rng(1).uniform(-0.4, 0.4, (300, 3)))
    assert found.value >= max(one.value for one in evaluate_many(largest.fitted.claim, points, CFU()))
    with pytest.raises(SettingError, match="CFU has no gradient, because its measure is 'max'"):
        largest.gradient(P)


def test_measures_carry_over_to_rows_groups_and_baselines(fit, change):
    audit = fit("absolute")
    np.testing.assert_allclose(audit.cfu_by_row(P).to_numpy(), np.abs(change), rtol=1e-9)
    assert audit.cfu({}, baseline="blind") ** 2 <= fit("squared").cfu({}, baseline="blind")
    with pytest.raises(SettingError, match="it needs measure='squared' and a predictor of residuals"):
        audit.curve([0.2]).breaking_point("blind", definition="paper")
    assert "%" not in audit.check().summary()


@pytest.mark.parametrize("measure", [1.5, 2, "mean", None])
def test_measures_that_make_no_sense_are_refused(fit, measure):
    with pytest.raises(SettingError, match="measure is"):
        fit(measure)


def test_an_own_measure_that_gives_no_number_is_refused(fit):
    with pytest.raises(SettingError, match="measure failed on arrays of changes and weights"):
        fit(lambda change: change.max()).cfu(P)
    with pytest.raises(SettingError, match="measure gives nan"):
        fit(lambda change, weight: np.nan).cfu(P)
    with pytest.raises(SettingError, match=r"measure failed .* \(ZeroDivisionError: division by zero\)"):
        fit(lambda change, weight: 1 / 0).cfu(P)


def test_a_quantile_may_be_any_kind_of_number(fit):
    assert fit(np.float32(0.5)).cfu(P) == fit(0.5).cfu(P)


def test_the_table_of_a_curve_gives_no_share_of_the_variance_for_another_measure(fit):
    table = fit("absolute").curve([0.0, 0.2], search=fs.Search(starts=1)).to_markdown()
    assert "nan" not in table
    assert "squared units" not in table
    assert "CFU (absolute) is not in units of the variance" in table


def test_what_a_predictor_of_levels_moves_under_model_a_is_measured_as_cfu_is():
    graph = fs.CausalGraph.parse("a -> x, z; x <-> z", protected="a", outcome="y")
    kinds = {"x": "ordered", "z": "number"}
    frame = fs.datasets.simulate(graph, 200, kinds=kinds, random_state=0).frame
    options = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0}
    for measure in ("squared", "max"):
        audit = fs.Audit.fit(frame, graph, kinds=kinds, measure=measure, random_state=0, **options)
        assert audit.fitted.context.floor == pytest.approx(audit.cfu({}), rel=1e-9)
        assert audit.cfu({}) > 0
