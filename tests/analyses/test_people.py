"""Everyone at one correlation: person by person, by group and by quantile they make up the audit's own numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import SettingError

PAIR = ("ugpa", "lsat")
P = {PAIR: 0.6}
GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
OF_SMALL = {("x", "z"): 0.4}
KINDS = ["two levels", "three levels", "numeric"]  # of the protected attribute


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


def small_frame(kind="two levels", n=300):
    frame = fs.datasets.simulate(GRAPH, n, random_state=0, binary=kind != "numeric").frame
    if kind == "three levels":
        frame["a"] = np.random.default_rng(0).choice(["p", "q", "r"], n)
    return frame


def small_audit(frame, **options):
    plain = {"penalty": 1.0, "degrees": {"x": 1, "z": 1}, "predictor_degree": 2, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, GRAPH, **plain, **options)


# ---------------------------------------------------------------- one by one


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


def test_those_who_are_moved_nowhere_are_missing():
    frame = small_frame("three levels")
    audit = small_audit(frame, contrast="q")
    people = audit.people(OF_SMALL)
    assert set(people.to_frame().index) == set(frame.index[frame["a"] != "q"])
    assert audit.cfu_by_row(OF_SMALL)[frame["a"] == "q"].isna().all()
    assert set(people.by_group().index) == {"p", "r"} == set(people.distribution()["group"])
    assert people.by_group()["people"].sum() == (frame["a"] != "q").sum()


# ---------------------------------------------------------------- groups


def test_groups_and_columns_that_the_audit_has_not_seen_make_up_the_whole(audit, people, frame):
    for table in (people.by_group(), people.by(frame["region_first"]), people.by("ugpa", bins=4)):
        assert table["people"].sum() == 3000
        assert table["people"] @ table["cfu"] / 3000 == pytest.approx(audit.cfu(P), rel=1e-9)
        assert (table["cfu quantile 0.5"] <= table["cfu quantile 0.99"]).all()
    by_group = people.by_group()
    assert list(by_group.index) == ["White", "non-White"]
    assert by_group.loc["White", "flips"] == pytest.approx(people.flip_shares().loc["White", "either"], rel=1e-9)


def test_people_without_a_value_are_a_class_of_their_own(people, frame):
    region = frame["lsat"].where(frame["lsat"] > 35)
    for found in (people.by(region), people.by(region, bins=2)):
        assert found["people"].sum() == 3000
        assert found.index.isna().tolist() == [False] * (len(found) - 1) + [True]


@pytest.mark.parametrize("kind", KINDS)
def test_the_means_of_groups_add_up_to_cfu_and_people_are_the_sum_of_the_weights(kind):
    frame, weight = small_frame(kind), np.random.default_rng(2).integers(0, 4, 300) / 2
    audit = small_audit(frame, sample_weight=weight)
    people = audit.people(OF_SMALL)
    rows = people.to_frame()
    assert people.total == pytest.approx(audit.cfu(OF_SMALL))
    assert np.average(rows["cfu"], weights=rows["weight"]) == pytest.approx(people.total)
    groups = people.by("a", bins=3) if kind == "numeric" else people.by_group()
    assert groups["people"] @ groups["cfu"] / weight.sum() == pytest.approx(people.total)
    if kind == "numeric":
        assert groups["people"].sum() == pytest.approx(weight.sum())
    else:
        of_level = pd.Series(weight).groupby(frame["a"].to_numpy()).sum()
        np.testing.assert_allclose(groups["people"], of_level[groups.index], rtol=1e-12)


def test_a_numeric_attribute_has_one_group():
    people = small_audit(small_frame("numeric")).people(OF_SMALL)
    assert people.distribution()["group"].unique().tolist() == ["everyone"]
    with pytest.raises(SettingError, match=r"numeric: give its column and a number of bins to by\(\)"):
        people.by_group()


# ---------------------------------------------------------------- distribution and quantiles


def test_the_distribution_counts_people_with_at_least_a_cfu():
    people = small_audit(small_frame()).people(OF_SMALL)
    by_group, rows = people.by_group([0.5, 1.0]), people.to_frame()
    for group, distribution in people.distribution().groupby("group"):
        own = rows.loc[rows["a"] == group, "cfu"].to_numpy()
        np.testing.assert_allclose(distribution["share"], [(own >= cfu).mean() for cfu in distribution["cfu"]])
        one = by_group.loc[group]
        assert one["cfu quantile 1"] == own.max() == distribution["cfu"].max()
        assert (own <= one["cfu quantile 0.5"]).mean() >= 0.5 > (own < one["cfu quantile 0.5"]).mean()


def test_quantiles_count_weights(frame):
    graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    weight = np.where(np.arange(3000) % 2, 2.0, 1.0)
    audit = fs.Audit.fit(frame, graph, penalty=1, max_degree=1, sample_weight=weight)
    cfu = audit.cfu_by_row(P).to_numpy()
    expected = np.quantile(np.repeat(cfu, weight.astype(int)), [0.25, 0.9], method="inverted_cdf")
    found = audit.people(P).quantiles([0.25, 0.9])
    np.testing.assert_allclose(found.loc[[0.25, 0.9]], expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_two_is_the_row_twice(kind):
    frame, weight = small_frame(kind, 100), np.random.default_rng(1).integers(0, 3, 100)
    shift = {"shift": 1.0} if kind == "numeric" else {}
    weighted = small_audit(frame, sample_weight=weight, **shift).people(OF_SMALL, threshold=0.0)
    repeated = small_audit(frame.loc[frame.index.repeat(weight)], **shift).people(OF_SMALL, threshold=0.0)
    found = [(p.distribution(), p.quantiles([0, 0.3, 0.5, 0.9, 1]).to_frame()) for p in (weighted, repeated)]
    if kind != "numeric":
        found = [(*tables, p.by_group([0.3, 0.5, 1])) for tables, p in zip(found, (weighted, repeated), strict=True)]
    for one, other in zip(*found, strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=1e-7, atol=0)


def test_a_person_who_is_moved_to_several_levels_counts_once_in_quantiles():
    """With the mean of their CFUs, and in their own group."""
    frame, levels = small_frame("three levels"), [0, 0.25, 0.5, 0.9, 1]
    audit = small_audit(frame)
    people, cfu = audit.people(OF_SMALL), audit.cfu_by_row(OF_SMALL)
    assert len(people.to_frame()) == 2 * len(frame)
    expected = np.quantile(cfu, levels, method="inverted_cdf")
    np.testing.assert_allclose(people.quantiles(levels), expected, rtol=1e-12)
    by_row = np.quantile(people.to_frame()["cfu"], levels, method="inverted_cdf")
    assert (np.abs(by_row / expected - 1) > 0.01).any()  # each of the two rows by itself is another distribution
    by_group, distribution = people.by_group(levels), people.distribution()
    for level in ("p", "q", "r"):
        own = cfu[frame["a"] == level].to_numpy()
        found = by_group.loc[level, [f"cfu quantile {q:g}" for q in levels]].to_numpy(dtype=float)
        np.testing.assert_allclose(found, np.quantile(own, levels, method="inverted_cdf"), rtol=1e-12)
        np.testing.assert_allclose(distribution.loc[distribution["group"] == level, "cfu"], np.sort(own), rtol=1e-12)


# ---------------------------------------------------------------- what is refused


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


def test_bins_hold_equally_many_people_by_their_weight():
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    weight = np.where(frame["x"] > 0, 3, 1)
    settings = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1}
    pair = {("x", "z"): 0.4}
    weighted = fs.Audit.fit(frame, GRAPH, sample_weight=weight, **settings).people(pair).by("x", bins=2)
    repeated = fs.Audit.fit(frame.loc[frame.index.repeat(weight)], GRAPH, **settings).people(pair).by("x", bins=2)
    assert weighted["people"].tolist() == repeated["people"].tolist()
    np.testing.assert_allclose(weighted["people"], weight.sum() / 2, atol=3)  # a row is not cut into pieces
