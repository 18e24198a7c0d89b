"""Every other column of the table is a benchmark by default, or it is said why it is not."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError

GRAPH = fs.CausalGraph.parse("a -> x, v; x -> v; a <-> x; a <-> v; x <-> v", protected="a", outcome="y")
PLAIN = {"penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 0.0, "degrees": {"x": 1, "v": 1}}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    with_z = fs.CausalGraph.parse("z -> a, x, v; a -> x, v; x -> v", protected="a", outcome="y")
    rng = np.random.default_rng(0)
    frame = fs.datasets.simulate(with_z, 1000, random_state=0).frame
    return frame.assign(
        town=rng.choice(["Ayr", "Bude", "Crewe"], 1000),
        holes=np.where(rng.random(1000) < 0.1, np.nan, rng.standard_normal(1000)),
        number=np.arange(1000),
        name=[f"p{i}" for i in range(1000)],
        words=[f"about {i % 60}" for i in range(1000)],
        since=pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, 1000), unit="D"),
        same=1,
        twin=frame["x"] * 2,
    )


@pytest.fixture(scope="module")
def audit(frame) -> fs.Audit:
    return fs.Audit.fit(frame, GRAPH, **PLAIN)


def test_all_other_columns_are_compared_or_it_is_said_why_not(audit, frame):
    found = audit.benchmarks()
    assert list(dict.fromkeys(b.name for b in found.found)) == ["z", "town"]
    reasons = {
        "holes": "missing values",
        "number": "is different for everyone",
        "name": "is different for everyone",
        "words": "has 60 categories",
        "since": "holds dates or times",
        "same": "is the same in every row",
        "twin": "determine 'x'",
    }
    assert set(found.skipped) == set(reasons)
    for name, reason in reasons.items():
        assert reason in found.skipped[name]
        assert reason in found.summary().replace("\n", " ")


def test_by_name_and_as_a_table_columns_give_the_same(audit, frame):
    by_default, by_name, as_table = (audit.benchmarks(columns=c) for c in (None, ["z"], frame[["z"]]))
    pd.testing.assert_frame_equal(by_name.to_frame(), as_table.to_frame())
    default = by_default.to_frame()
    pd.testing.assert_frame_equal(default[default["benchmark"] == "z"].reset_index(drop=True), by_name.to_frame())
    both = audit.benchmarks(columns=["z", "town"]).to_frame()
    np.testing.assert_allclose(both["omitted"], default["omitted"], rtol=1e-9)


def test_a_pair_that_cannot_matter_is_named_and_still_counts_for_budgets(audit):
    found = audit.benchmarks(columns=["z"])
    assert {b.pair for b in found.found} == {("a", "x"), ("a", "v")}
    assert {b.pair for b in found.absorbed} == {("x", "v")}
    assert "Not shown: x <-> v, of which a hidden cause alone cannot matter." in found.summary().replace("\n", " ")
    everything = audit.benchmarks(columns=["z"], pairs="all")
    own = everything.marks().query("benchmark == 'z'").reset_index(drop=True)
    pd.testing.assert_frame_equal(found.marks(), own)
    sizes = [abs(b.correlation) for b in everything.found if b.name == "z"]
    assert found.marks()["p_max_pairwise"][0] == pytest.approx(max(sizes))


def test_the_shares_of_one_cause_are_those_of_its_benchmarks_and_grow_with_its_strength(audit):
    found = audit.benchmarks(columns=["z"])
    once, twice = (found.causes(k).set_index("benchmark").loc["z"] for k in (1, 2))
    shares = {name: once[f"share_{name}"] for name in ("a", "x", "v")}
    for b in (*found.found, *found.absorbed):
        if b.name == "z":
            assert (b.r2_first, b.r2_second) == pytest.approx(tuple(shares[name] for name in b.pair), rel=1e-9)
            # one cause makes the product of the roots of its shares
            assert abs(b.correlation) == pytest.approx(np.sqrt(shares[b.pair[0]] * shares[b.pair[1]]), rel=1e-6)
            assert twice[f"share_{b.pair[0]}"] == pytest.approx(2 * shares[b.pair[0]])
    assert once["largest"] == max(shares.values())


def test_a_feature_that_the_attribute_does_not_cause_is_compared_on_pairs_with_the_attribute(frame):
    """As a cause of the feature it stays in the equations; of the attribute it explains a part of the error."""
    graph = fs.CausalGraph.parse("a, z -> x; a <-> x", protected="a", outcome="y")
    inside = fs.Audit.fit(frame, graph, **{**PLAIN, "degrees": {"z": 1, "x": 1}})
    without = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
    outside = fs.Audit.fit(frame, without, **{**PLAIN, "degrees": {"x": 1}})
    (one,) = inside.benchmarks(columns=[]).found
    (other,) = outside.benchmarks(columns=["z"]).found
    assert (one.r2_first, one.r2_second) == pytest.approx((other.r2_first, other.r2_second), rel=1e-6)
    assert one.inside == (False, True)
    assert one.shares(1) == pytest.approx((other.r2_first, other.r2_second / (1 - other.r2_second)), rel=1e-6)


def test_other_libraries_and_people_left_out_have_their_columns(frame):
    clean = frame[["a", "x", "v", "y", "z", "town"]]
    wanted = fs.Audit.fit(clean, GRAPH, **PLAIN).benchmarks().to_frame()
    polars = fs.Audit.fit(pl.from_pandas(clean), GRAPH, **PLAIN).benchmarks().to_frame()
    np.testing.assert_allclose(polars["omitted"], wanted["omitted"], rtol=1e-9)
    holes = pd.concat([clean, clean.assign(x=np.nan).iloc[:50]], ignore_index=True)
    dropped = fs.Audit.fit(holes, GRAPH, missing="drop", **PLAIN).benchmarks().to_frame()
    np.testing.assert_allclose(dropped["omitted"], wanted["omitted"], rtol=1e-9)


def test_a_later_change_of_the_analysts_table_does_not_reach_the_audit(frame):
    mine = frame.copy()
    audit = fs.Audit.fit(mine, GRAPH, **PLAIN)
    before = audit.benchmarks(columns=["z"]).to_frame()
    mine["z"] = 0.0
    mine["new"] = mine["town"]
    pd.testing.assert_frame_equal(audit.benchmarks(columns=["z"]).to_frame(), before)
    with pytest.raises(DataError, match="columns names 'new', which is not in the data"):
        audit.benchmarks(columns=["new"])


def test_a_pickle_holds_no_columns_outside_the_graph(audit):
    again = pickle.loads(pickle.dumps(audit))
    assert again.cfu({("a", "x"): 0.2}) == audit.cfu({("a", "x"): 0.2})
    assert b"Crewe" not in pickle.dumps(audit)
    with pytest.raises(DataError, match="read from a pickle"):
        again.benchmarks(columns=["z"])
    with pytest.raises(SettingError, match="no observed variable"):
        again.benchmarks(pairs=[("a", "x")])


def test_law_school_is_compared_with_its_other_columns(law_frame):
    graph = fs.CausalGraph.parse(
        "race -> ugpa, lsat; ugpa -> lsat; race <-> ugpa, lsat; ugpa <-> lsat", protected="race", outcome="zfya"
    )
    audit = fs.Audit.fit(law_frame, graph, max_degree=2, random_state=0)
    found = audit.benchmarks()
    assert {"sex", "first_pf"} <= set(found.causes()["benchmark"])
    assert "sander_index" in found.skipped  # it is made of both grades
