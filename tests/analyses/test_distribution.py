"""Each person's CFU by group adds up to the audit's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
P = {("x", "z"): 0.4}
PLAIN = {"penalty": 1.0, "degrees": {"x": 1, "z": 1}, "predictor_degree": 2, "predictor_penalty": 1.0}


def fitted(levels=None, weight=None, **options):
    frame = fs.datasets.simulate(GRAPH, 300, random_state=0, binary=levels != "numeric").frame
    if levels == "three":
        frame["a"] = np.random.default_rng(0).choice(["p", "q", "r"], 300)
    return fs.Audit.fit(frame, GRAPH, sample_weight=weight, **PLAIN, **options)


@pytest.mark.parametrize("levels", [None, "three", "numeric"])
def test_the_groups_means_add_up_to_cfu(levels):
    weight = np.random.default_rng(2).integers(0, 4, 300).astype(float)
    audit = fitted(levels, weight)
    found = audit.spread(P)
    people = found.to_frame()
    assert found.cfu == pytest.approx(audit.cfu(P))
    assert np.average(people["cfu"], weights=people["weight"]) == pytest.approx(found.cfu)
    share = people.groupby("group")["weight"].sum()
    groups = found.by_group().set_index("group")
    assert (groups["mean"] * share[groups.index] / share.sum()).sum() == pytest.approx(found.cfu)
    assert groups["people"].sum() == (weight > 0).sum()


def test_a_row_of_weight_two_is_a_row_twice():
    frame = fs.datasets.simulate(GRAPH, 100, random_state=0).frame
    weight = np.random.default_rng(1).integers(0, 3, 100)
    weighted = fs.Audit.fit(frame, GRAPH, sample_weight=weight, **PLAIN).spread(P)
    repeated = fs.Audit.fit(frame.loc[frame.index.repeat(weight)], GRAPH, **PLAIN).spread(P)
    for one, other in ((weighted.distribution(), repeated.distribution()), (weighted.by_group(), repeated.by_group())):
        for column in set(one.columns) - {"group", "people"}:
            np.testing.assert_allclose(one[column], other[column], rtol=1e-7)


def test_the_distribution_counts_people_with_at_least_a_cfu():
    found = fitted().spread(P)
    frame, people = found.distribution(), found.to_frame()
    for group, rows in frame.groupby("group"):
        own = people.loc[people["group"] == group, "cfu"].to_numpy()
        np.testing.assert_allclose(rows["share"], [(own >= cfu).mean() for cfu in rows["cfu"]])
        one = found.by_group().set_index("group").loc[group]
        assert one["largest"] == own.max() == rows["cfu"].max()
        assert (own <= one["median"]).mean() >= 0.5 > (own < one["median"]).mean()


def test_those_who_are_moved_nowhere_are_missing():
    found = fitted("three", contrast="q").spread(P)
    people = found.to_frame()
    assert people.loc[people["group"] == "q", "cfu"].isna().all()
    assert set(found.groups) == {"p", "r"} == set(found.distribution()["group"])


def test_a_numeric_attribute_has_one_group():
    assert fitted("numeric").spread(P).groups == ("everyone",)
