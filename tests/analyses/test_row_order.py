"""The order in which people stand in the table changes nothing: neither what is chosen nor the worst case."""

from __future__ import annotations

import pandas as pd
import pytest

import fairstress as fs

LAW = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa"
GRAPH = fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")
DIGITS = 1e-9  # sums in another order differ in the last of sixteen digits; fits and searches lose some of them
CHOSEN = ("degrees", "penalty", "predictor_degree", "predictor_penalty")


def ordered(frame: pd.DataFrame, how: str) -> pd.DataFrame:
    return frame.sort_values("zfya", kind="stable") if how == "sorted" else frame.sample(frac=1, random_state=1)


@pytest.fixture(scope="module")
def as_it_came(law_frame):
    return fs.Audit.fit(law_frame, GRAPH, reference="White", random_state=0)


@pytest.fixture(scope="module", params=["sorted", "shuffled"])
def reordered(request, law_frame):
    return fs.Audit.fit(ordered(law_frame, request.param), GRAPH, reference="White", random_state=0)


def test_cross_validation_chooses_the_same(as_it_came, reordered):
    for name in CHOSEN:
        assert getattr(reordered.settings, name) == getattr(as_it_came.settings, name)


def test_the_worst_case_is_the_same(as_it_came, reordered):
    expected, found = as_it_came.worst_case(0.2), reordered.worst_case(0.2)
    assert expected.value > 0.001 * as_it_came.fitted.outcome_variance  # near 0 everything agrees
    assert found.value == pytest.approx(expected.value, rel=DIGITS)
    for name, baseline in as_it_came.baselines.items():
        assert reordered.baselines[name].unfairness == pytest.approx(baseline.unfairness, rel=DIGITS)


def test_everyone_keeps_their_own_cfu(as_it_came, reordered):
    P = dict.fromkeys(GRAPH.pairs, 0.2)
    expected, found = (audit.cfu_by_row(P) for audit in (as_it_came, reordered))
    pd.testing.assert_series_equal(found.sort_index(), expected, rtol=DIGITS, atol=DIGITS * expected.mean())


def test_contiguous_folds_do_depend_on_it(law_frame):
    """As in the paper: each fold of the sorted table has grades of its own, which no other fold predicts."""
    one, other = (
        fs.Audit.fit(frame, GRAPH, reference="White", cv="contiguous", random_state=0)
        for frame in (law_frame, ordered(law_frame, "sorted"))
    )
    assert one.worst_case(0.2).value != pytest.approx(other.worst_case(0.2).value, rel=0.01)


KINDS = fs.CausalGraph.parse("a -> x -> v -> z; a -> v; x <-> v; x <-> z", protected="a", outcome="y")


def test_with_ordered_features_the_worst_case_is_the_same():
    frame = fs.datasets.simulate(KINDS, 300, kinds={"v": [0, 1, 2]}, random_state=0).frame
    settings = {"max_degree": 1, "penalties": [0.1, 10.0], "random_state": 0}
    expected, *found = (
        fs.Audit.fit(table, KINDS, **settings)
        for table in (frame, *(frame.sample(frac=1, random_state=s) for s in (1, 2)))
    )
    value = expected.worst_case(0.3, search=fs.Search(starts=1)).value
    for audit in found:
        assert audit.settings.penalty == expected.settings.penalty
        assert audit.worst_case(0.3, search=fs.Search(starts=1)).value == pytest.approx(value, rel=DIGITS)


def test_with_clusters_the_same_is_chosen_and_the_worst_case_is_the_same():
    frame = fs.datasets.simulate(KINDS, 300, random_state=0).frame
    frame = frame.assign(school=[f"school {i % 17}" for i in range(300)])
    orders = (frame, frame.sort_values("y"), frame.sort_values("school"), frame.sample(frac=1, random_state=1))
    expected, *found = (fs.Audit.fit(table, KINDS, cluster="school", random_state=0) for table in orders)
    value = expected.worst_case(0.3, search=fs.Search(starts=1)).value
    for audit in found:
        assert [getattr(audit.settings, name) for name in CHOSEN] == [getattr(expected.settings, n) for n in CHOSEN]
        assert audit.worst_case(0.3, search=fs.Search(starts=1)).value == pytest.approx(value, rel=DIGITS)
