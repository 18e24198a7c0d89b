"""Numbers at the edge of what doubles hold are refused with a true sentence: overflow never reads as fair."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError
from fairstress.inputs.data import read_table

GRAPH = fs.CausalGraph.parse("a -> x -> z; a -> z; a <-> x; x <-> z", protected="a", outcome="y")
GIVEN = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}
N = 80
P = {("a", "x"): 0.3}


def frame(numeric: bool = False) -> pd.DataFrame:
    made = fs.datasets.simulate(GRAPH, N, random_state=0).frame
    return made.assign(a=np.random.default_rng(0).standard_normal(N)) if numeric else made


def fitted(table: pd.DataFrame, **options) -> fs.Audit:
    return fs.Audit.fit(table, GRAPH, **GIVEN, **options)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("z", 8.99e307, r"column 'z' runs from -3\.6\d* to 8\.99e\+307: correct it, or give it in another unit"),
        ("z", -8.99e307, r"column 'z' runs from -8\.99e\+307 to"),
        ("z", 1e90, r"column 'z' is \de\+\d\d standard deviations from its mean in row 0: correct it, or drop the row"),
        ("y", 8.99e307, r"column 'y' runs from -6\.\d* to 8\.99e\+307: correct it"),
    ],
)
def test_a_row_without_weight_does_not_overflow_either(column, value, text):
    table = frame()
    table.loc[0, column] = value
    with pytest.raises(DataError, match=text):
        fitted(table, sample_weight=np.arange(N) > 0)


def test_a_row_without_weight_changes_nothing_while_it_is_a_number():
    table = frame()
    expected = fitted(table, sample_weight=np.arange(N) > 0).cfu(P)
    table.loc[0, "z"], table.loc[0, "y"] = 1e15, 1e60
    assert fitted(table, sample_weight=np.arange(N) > 0).cfu(P) == pytest.approx(expected, rel=1e-12)
    assert expected > 0.1


@pytest.mark.parametrize("scale", [1e155, 1e-155, 1e-200, 1e300])
def test_an_attribute_of_absurd_size_is_called_that_and_not_constant(scale):
    table = frame(numeric=True)
    with pytest.raises(DataError, match=r"column 'a' runs from .* to .*: correct it, or give it in another unit"):
        fitted(table.assign(a=table["a"] * scale))


@pytest.mark.parametrize("scale", [1e160, 1e-160, 1e-170, 1e-320])
def test_an_outcome_of_absurd_size_is_called_that_and_not_constant(scale):
    table = frame()
    with pytest.raises(DataError, match=r"column 'y' runs from .* to .*: correct it, or give it in another unit"):
        fitted(table.assign(y=table["y"] * scale))


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_the_unit_of_the_outcome_changes_cfu_by_its_square_as_far_as_it_is_taken(scale):
    table = frame()
    found = fitted(table.assign(y=table["y"] * scale))
    assert found.cfu(P) == pytest.approx(fitted(table).cfu(P) * scale**2, rel=1e-9)
    estimate = found.estimate(P, bands=40)
    assert 0 < estimate.standard_error < np.inf


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (1e200, r"sample_weight sums to 8e\+201, more than 1e\+15 people: weight 2 is the row twice"),
        (1e308, "sample_weight sums to inf, more than"),
        (1e-100, "sample_weight sums to 8e-99, less than one person: weight 2 is the row twice"),
        (1e-3, "sample_weight sums to 0.08, less than one person"),
    ],
)
def test_weights_that_stand_for_no_number_of_people_are_refused(weight, text):
    with pytest.raises(DataError, match=text):
        fitted(frame(), sample_weight=np.full(N, weight))


def test_weights_may_sum_to_one_and_to_very_many():
    for weight in (1 / N, 1e12):
        assert np.isfinite(fitted(frame(), sample_weight=np.full(N, weight)).cfu(P))


@pytest.mark.parametrize("column", ["a", "x", "y"])
def test_whole_numbers_that_doubles_do_not_tell_apart_are_called_that_and_not_constant(column):
    large = np.uint64(2**63) + np.arange(N, dtype=np.uint64)
    with pytest.raises(DataError, match=rf"column '{column}' has numbers beyond 2\^53 \(up to 9\.2\d*e\+18\) that"):
        fitted(frame().assign(**{column: large}))
    told_apart = np.uint64(2**62) + 2**20 * np.arange(N, dtype=np.uint64)
    table = read_table(frame().assign(**{column: told_apart}), GRAPH)
    assert table.rows.a.size == N


# ---------------------------------------------------------------- correlations


@pytest.fixture(scope="module")
def audit():
    return fitted(frame())


@pytest.fixture(scope="module")
def of_one_pair():
    graph = fs.CausalGraph.parse("a -> x -> z; a -> z; x <-> z", protected="a", outcome="y")
    return fs.Audit.fit(frame(), graph, **GIVEN)


NEAREST = 1 - 1e-12


@pytest.mark.parametrize("p", [1 - 1e-16, 1 - 1e-13, -1 + 1e-13])
def test_a_correlation_very_near_one_is_refused_for_what_it_is(audit, p):
    """It is positive definite, and a joint distribution has it: what lacks is precision."""
    for ask in (lambda: audit.cfu({("x", "z"): p}), lambda: audit.profile(("x", "z"), [0, p])):
        with pytest.raises(SettingError, match=r"give at most 1 - 1e-12 in size, nearer to 1 rounding may spoil every"):
            ask()
    matrix = np.eye(3)
    matrix[1, 2] = matrix[2, 1] = p
    with pytest.raises(SettingError, match=r"the smallest eigenvalue of the correlations is 1.*e-1[36], so near"):
        audit.cfu(matrix)


@pytest.mark.parametrize("budget", ["pairwise", "spectral", "single cause"])
def test_a_budget_very_near_one_is_refused(audit, of_one_pair, budget):
    for one in (audit, of_one_pair):
        with pytest.raises(SettingError, match=r"p_max is 0\.9999999999999999: give at most 1 - 1e-12, nearer to 1"):
            one.worst_case(1 - 1e-16, budget=budget)


def test_what_lies_at_the_limit_is_answered(of_one_pair):
    at_limit, near = of_one_pair.worst_case(NEAREST).value, of_one_pair.worst_case(1 - 1e-10).value
    assert at_limit == pytest.approx(near, rel=1e-6)
    with pytest.warns(fs.FairstressWarning, match="rounding may leave fewer than six digits"):
        at_limit, near = (of_one_pair.cfu({("x", "z"): p}) for p in (NEAREST, 1 - 1e-10))
    assert at_limit == pytest.approx(near, rel=1e-6)


def test_a_budget_without_a_floor_keeps_off_singular_correlations(audit):
    found = audit.worst_case(0.99, budget=fs.Pairwise(min_eigenvalue=0), search=fs.Search(starts=2))
    assert found.min_eigenvalue > 0
    assert np.isfinite(found.value)
