from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import SettingError

PAIR = ("ugpa", "lsat")
P = {PAIR: 0.6}


@pytest.fixture(scope="module")
def frame(law_frame):
    return law_frame.iloc[:3000].set_index(pd.Index([f"student {i}" for i in range(3000)]))


@pytest.fixture(scope="module")
def audit(frame):
    graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    return fs.Audit.fit(frame, graph, reference="White", penalty=1, max_degree=2)


@pytest.fixture(scope="module")
def people(audit):
    return audit.people(P, threshold=0.1)


def test_people_are_listed_worst_first_under_the_users_labels_and_in_the_users_units(audit, people, frame):
    found = people.to_frame()
    assert (np.diff(found["cfu"]) <= 0).all()
    assert set(found.index) == set(frame.index)
    in_order = found.loc[frame.index]
    for name in ("race", "ugpa", "lsat", "zfya"):
        assert (in_order[name] == frame[name]).all()
    moved = audit.counterfactuals(P)
    np.testing.assert_allclose(in_order["counterfactual lsat"], moved["lsat"], rtol=1e-12)
    assert (in_order["counterfactual race"] == moved["race"]).all()
    np.testing.assert_allclose(in_order["cfu"], audit.cfu_by_row(P), rtol=1e-12)
    np.testing.assert_allclose(in_order["prediction"] + in_order["change"], in_order["counterfactual prediction"])
    # predictions are in the outcome's units: ridge with a free constant has the outcome's mean
    assert in_order["prediction"].mean() == pytest.approx(frame["zfya"].mean(), rel=1e-9)


def test_groups_and_columns_that_the_audit_has_not_seen_make_up_the_whole(audit, people, frame):
    for table in (people.by_group(), people.by(frame["region_first"]), people.by("ugpa", bins=4)):
        assert table["people"].sum() == 3000
        assert table["people"] @ table["cfu"] / 3000 == pytest.approx(audit.cfu(P), rel=1e-9)
        assert (table["cfu quantile 0.5"] <= table["cfu quantile 0.99"]).all()
    by_group = people.by_group()
    assert list(by_group.index) == ["White", "non-White"]
    assert by_group.loc["White", "flips"] == pytest.approx(audit.flip_shares(P, 0.1).loc["White", "either"], rel=1e-9)


def test_quantiles_count_weights(frame):
    graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    weight = np.where(np.arange(3000) % 2, 2.0, 1.0)
    audit = fs.Audit.fit(frame, graph, penalty=1, max_degree=1, sample_weight=weight)
    cfu = audit.cfu_by_row(P).to_numpy()
    expected = np.quantile(np.repeat(cfu, weight.astype(int)), [0.25, 0.9], method="inverted_cdf")
    found = audit.people(P).quantiles([0.25, 0.9])
    np.testing.assert_allclose(found.loc[[0.25, 0.9]], expected, rtol=1e-9)


def test_someone_who_is_moved_to_several_levels_has_a_row_for_each_and_one_weight():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], 400)
    x = rng.normal(size=400) + (group == "b")
    frame = pd.DataFrame({"g": group, "x": x, "weight": x + rng.normal(size=400), "y": x + rng.normal(size=400)})
    graph = fs.CausalGraph.parse("g -> x -> weight; x <-> weight", protected="g", outcome="y")
    audit = fs.Audit.fit(frame, graph, max_degree=1)
    people = audit.people({("x", "weight"): 0.4})
    found = people.to_frame()
    assert len(found) == 800
    assert found["weight of the audit"].groupby(level=0).sum().eq(1).all()
    np.testing.assert_array_equal(found["weight"].groupby(level=0).first(), frame["weight"])
    by_group = people.by_group()
    assert by_group["people"] @ by_group["cfu"] / 400 == pytest.approx(audit.cfu({("x", "weight"): 0.4}), rel=1e-9)


def test_columns_that_are_not_there_are_refused(people):
    with pytest.raises(SettingError, match="column is 'lsta', which is not in the frame; did you mean 'lsat'"):
        people.by("lsta")
    with pytest.raises(SettingError, match="column has 3 values, but the table has 3000 rows"):
        people.by([1, 2, 3])
    with pytest.raises(SettingError, match="levels has 90"):
        people.quantiles([90])
    for levels, message in ((0.5, "levels is 0.5: give a list"), ("ab", "levels is 'ab'"), (["a"], "levels has 'a'")):
        with pytest.raises(SettingError, match=message):
            people.quantiles(levels)
    with pytest.raises(SettingError, match="bins is 3, but the column holds no numbers"):
        people.by("race", bins=3)
    for bins in (-1, "x"):
        with pytest.raises(SettingError, match=f"bins is {bins!r}: give a whole number of at least 1"):
            people.by("lsat", bins=bins)


def test_people_without_a_value_are_a_class_of_their_own(people, frame):
    region = frame["lsat"].where(frame["lsat"] > 35)
    for found in (people.by(region), people.by(region, bins=2)):
        assert found["people"].sum() == 3000
        assert found.index.isna().tolist() == [False] * (len(found) - 1) + [True]
