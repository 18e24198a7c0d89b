"""Benchmarks where a pair's ends, their parents or the omitted variable are not plain numbers: known truth, identities.

A known z is drawn as a common cause and omitted as a further column. Everyone's z being standard normal, it explains
``g^2 / (g^2 + 1)`` of the latent error of a variable that it enters with weight g. From 50,000 people the standard
error of these shares and of correlations is at most ``1 / sqrt(n) = 0.0045``; over twelve draws it is up to 0.01 where
both are seen through cuts, some of them a single cut far out. What is found lies within three standard errors.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstress as fs
from fairstress.analyses.benchmarks.omitted import ExtendedRows, split
from fairstress.errors import SettingError

PLAIN = {"penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 0.0}
N, NEAR, THROUGH_CUTS = 50_000, 0.014, 0.03
WITH_Z, PAIR = "z; a, z -> x, v; x <-> v", "a -> x, v; x <-> v"
WEIGHTS = {"z": {}, "x": {"a": 0.4, "z": 0.8}, "v": {"a": 0.3, "z": -0.6}}
CUTS = {"x": (-0.5, 0.3, 1.2), "v": (1.3,)}
FOUR = ["none", "some", "more", "most"]


def graph_of(text):
    return fs.CausalGraph.parse(text, protected="a", outcome="y")


def simulate(text=WITH_Z, n=N, seed=1, **options):
    return fs.datasets.simulate(graph_of(text), n, random_state=seed, **{"weights": WEIGHTS, **options})


def audit_of(frame, text=PAIR, degree=1, **options):
    graph = graph_of(text)
    return fs.Audit.fit(frame, graph, degrees=dict.fromkeys(graph.features, degree), **{**PLAIN, **options})


def benchmark(audit, name="z", **options):
    (found,) = (b for b in audit.benchmarks(**options).found if b.name == name)
    return found


def share(weight):
    return weight**2 / (weight**2 + 1)


def numbers(b):
    return [b.r2_first, b.r2_second, b.alignment, b.errors_with, b.errors_without]


def check_truth(found, first, second, rho, within):
    """Shares and induced correlation of a z with these weights, and the errors' correlation with it and without."""
    assert (found.r2_first, found.r2_second) == pytest.approx((share(first), share(second)), abs=within)
    induced = np.sign(first * second) * np.sqrt(share(first) * share(second))
    assert found.correlation == pytest.approx(induced, abs=within)
    assert found.errors_with == pytest.approx(rho, abs=within)
    without = (rho + first * second) / np.sqrt((first**2 + 1) * (second**2 + 1))
    assert found.errors_without == pytest.approx(without, abs=within)


# ---------------------------------------------------------------- known truth


def test_an_ordered_feature_beside_a_number():
    truth = simulate(kinds={"x": FOUR}, cuts={"x": CUTS["x"]}, correlation={("x", "v"): 0.3})
    found = benchmark(audit_of(truth.frame, kinds={"x": FOUR}), columns=truth.frame[["z"]])
    check_truth(found, 0.8, -0.6, 0.3, NEAR)
    assert (found.latent, found.latent_ends) == (None, ("x",))


@pytest.mark.parametrize(("rho", "cuts"), [(0.0, CUTS), (0.6, CUTS), (-0.5, {"x": (1.3,), "v": (1.3,)})])
def test_two_ordered_features(rho, cuts):
    """With two cuts far out the mean product of expected errors would give -0.29 for -0.5; the likelihood does not."""
    truth = simulate(kinds={"x": "ordered", "v": "ordered"}, cuts=cuts, correlation={("x", "v"): rho})
    found = benchmark(audit_of(truth.frame), columns=truth.frame[["z"]])
    check_truth(found, 0.8, -0.6, rho, THROUGH_CUTS)
    assert found.latent_ends == ("x", "v")


def test_a_number_with_an_atom_beside_an_ordered_feature_and_beside_a_number():
    atom = {"kinds": {"x": "zero or number"}, "atoms": {"x": 0.2}, "correlation": {("x", "v"): 0.5}}
    for more in ({}, {"v": "ordered"}):
        kinds = {**atom["kinds"], **more}
        truth = simulate(**{**atom, "kinds": kinds}, cuts={"v": CUTS["v"]} if more else {})
        assert (truth.frame["x"] == 0).mean() > 0.4
        found = benchmark(audit_of(truth.frame, kinds=kinds), columns=truth.frame[["z"]])
        check_truth(found, 0.8, -0.6, 0.5, THROUGH_CUTS if more else NEAR)
        assert found.latent_ends == ("x", *more)


def test_a_number_by_group_is_measured_by_each_groups_own_scale():
    """z has twice the weight in the group whose error is twice as wide: the same share of each group's error."""
    weights = {**WEIGHTS, "x": {-1: {"z": 0.8}, 1: {"1": 0.5, "z": 0.4}}}
    options = {"kinds": {"x": "number by group"}, "correlation": {("x", "v"): 0.5}}
    truth = simulate(weights=weights, scales={"x": {-1: 1.0, 1: 0.5}}, **options)
    found = benchmark(audit_of(truth.frame, kinds=options["kinds"]), columns=truth.frame[["z"]])
    check_truth(found, 0.8, -0.6, 0.5, NEAR)
    assert found.latent_ends == ()


@pytest.mark.parametrize("kinds", [{}, {"x": "ordered"}], ids=["number", "ordered"])
def test_a_protected_attribute_with_three_ordered_levels(kinds):
    """a is a parent of x, so that the errors with z in the equations show nearly no correlation."""
    weights = {"z": {}, "a": {"z": 0.8}, "x": {"a=1": 0.5, "a=2": 0.9, "z": 0.7}}
    options = {"kinds": {"a": "ordered", **kinds}, "cuts": {"a": (-0.5, 0.8), **({"x": (0.0, 1.0)} if kinds else {})}}
    truth = simulate("z -> a; a, z -> x; a <-> x", weights=weights, **options)
    audit = audit_of(truth.frame, "a -> x; a <-> x", kinds=options["kinds"])
    found = benchmark(audit, columns=truth.frame[["z"]])
    check_truth(found, 0.8, 0.7, 0.0, THROUGH_CUTS)
    assert (found.latent, found.latent_ends) == ("a", ("a", *kinds))


def test_an_ordered_cause_that_is_omitted_from_the_equations_of_ordered_effects():
    """z is seen by its levels 0, 1, 2 alone; what they explain is their variance times the squared weight."""
    weights = {"z": {}, "x": {"a": 0.4, "z": 0.8}, "v": {"a": 0.3, "z": -0.6}}
    kinds = {"z": "ordered", "x": "ordered"}
    truth = simulate(weights=weights, kinds=kinds, cuts={"z": (-0.3, 0.9), "x": CUTS["x"]})
    probability = np.diff(stats.norm.cdf([-np.inf, -0.3, 0.9, np.inf]))
    deviation = np.sqrt(probability @ np.arange(3) ** 2 - (probability @ np.arange(3)) ** 2)
    found = benchmark(audit_of(truth.frame, WITH_Z))
    check_truth(found, 0.8 * deviation, -0.6 * deviation, 0.0, NEAR)


# ---------------------------------------------------------------- identities


@pytest.fixture(scope="module")
def frame():
    """Two features with levels and numbers behind them, a category q and its effect on both."""
    truth = simulate("q; z; a, z, q -> x, v; x <-> v", 2_000, **CATEGORY)
    return truth.frame.assign(y=truth.frame["y"].round(3))


CATEGORY = {
    "kinds": {"q": "category", "x": FOUR},
    "levels": {"q": ["north", "south", "west"]},
    "cuts": {"x": CUTS["x"]},
    "weights": {
        "x": {"a": 0.4, "z": 0.8, "q=south": 0.7, "q=west": -0.5},
        "v": {"a": 0.3, "z": -0.6, "q=south": 0.5, "q=west": 0.9},
        "z": {},
    },
}


def test_a_category_is_the_same_in_the_graph_and_as_a_further_column(frame):
    inside = benchmark(audit_of(frame, "q; a, q -> x, v; x <-> v", kinds={"x": FOUR}), "q")
    outside = benchmark(audit_of(frame, kinds={"x": FOUR}), "q", columns=frame[["q"]])
    assert numbers(inside) == pytest.approx(numbers(outside), abs=1e-10)
    assert (inside.in_model, outside.in_model) == (True, False)
    assert 0.05 < inside.r2_first < 0.3


def test_a_category_that_stays_is_taken_into_account_and_may_tell_of_z(frame):
    """z = w + q's own mean: with q a parent that z does not affect, only w is hidden."""
    moved = frame.assign(z=frame["z"] + 2.0 * (frame["q"] == "west"))
    text = "z; q; a, q, z -> x, v; x <-> v"
    audits = [audit_of(one, text, kinds={"x": FOUR}) for one in (frame, moved)]
    first, second = (numbers(benchmark(audit)) for audit in audits)
    assert first == pytest.approx(second, abs=1e-10)


def test_levels_as_indicators_are_those_of_a_category(frame):
    levels = {"north": 0, "south": 1, "west": 2}
    coded = frame.assign(q=frame["q"].map(levels))
    text = "q; a, q -> x, v; x <-> v"
    as_levels = benchmark(audit_of(coded, text, kinds={"x": FOUR, "q": "ordered as levels"}), "q")
    category = benchmark(audit_of(frame, text, kinds={"x": FOUR}), "q")
    assert numbers(as_levels) == pytest.approx(numbers(category), abs=1e-10)


def test_a_category_alone_has_the_distances_of_normal_quantiles(frame):
    """Of a feature with two levels and no other parent the index is a quantile for each category."""
    two = frame.assign(x=np.where(frame["x"].isin(FOUR[:2]), "low", "top"), v=frame["v"])
    audit = audit_of(two, "q -> x; q -> v; a -> v; x <-> v")
    found = benchmark(audit, "q")
    quantiles = stats.norm.ppf((two["x"] == "top").groupby(two["q"]).mean())
    c = two["q"].map(dict(zip(sorted(set(two["q"])), quantiles, strict=True))).to_numpy()
    assert found.r2_first == pytest.approx(c.var() / (c.var() + 1), abs=1e-10)


def test_turning_the_order_of_levels_turns_the_signs(frame):
    found = [benchmark(audit_of(frame, kinds={"x": levels}), columns=frame[["z"]]) for levels in (FOUR, FOUR[::-1])]
    first, second = (np.array(numbers(b)) for b in found)
    assert first * [1, 1, -1, -1, -1] == pytest.approx(second, abs=1e-9)


def test_the_unit_of_a_group_changes_nothing_of_a_number_by_group(frame):
    wide = frame.assign(v=frame["v"] * np.where(frame["a"] > 0, 1.0, 3.0))
    kinds = {"x": FOUR, "v": "number by group"}
    found = [numbers(benchmark(audit_of(one, kinds=kinds), columns=one[["z"]])) for one in (frame, wide)]
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    plain = [numbers(benchmark(audit_of(one, kinds={"x": FOUR}), columns=one[["z"]])) for one in (frame, wide)]
    assert plain[0] != pytest.approx(plain[1], abs=1e-2)


def test_a_weight_of_two_is_the_row_twice(frame):
    weight, kinds = np.arange(2_000) % 3, {"x": FOUR, "v": ["low", "mid", "high"]}
    levels = frame.assign(v=pd.cut(frame["v"], [-np.inf, -0.5, 0.8, np.inf], labels=kinds["v"]).astype(str))
    twice = levels.loc[np.repeat(levels.index, weight)].reset_index(drop=True)
    once = benchmark(audit_of(levels, kinds=kinds, sample_weight=weight), columns=levels[["z"]])
    again = benchmark(audit_of(twice, kinds=kinds), columns=twice[["z"]])
    np.testing.assert_allclose(numbers(once), numbers(again), atol=1e-7)  # rho is searched for to 1e-5 in flat sums


# ---------------------------------------------------------------- the protected attribute as the omitted variable


def least_squares(target, *columns):
    Phi = np.column_stack([np.ones(len(target)), *columns])
    w = np.linalg.lstsq(Phi, target, rcond=None)[0]
    return w, Phi @ w


def test_levels_of_the_attribute_are_replaced_by_their_shares_where_their_effects_depend_on_a_parent(frame):
    """With products of a and z in the equation of v: ``f(a, z)`` less its mean over a given z, which tells nothing."""
    three = frame.assign(
        a=pd.qcut(frame["z"] * 0 + np.arange(2_000) % 7, [0, 0.3, 0.7, 1], labels=list("lmh")).astype(str)
    )
    audit = audit_of(three, "z; a, z -> x, v; x <-> v", degree=2, kinds={"a": "category", "x": FOUR}, reference="l")
    found = benchmark(audit, "a")
    z = (three["z"] - three["z"].mean()).to_numpy()
    m, h = ((three["a"] == level).to_numpy(float) for level in "mh")
    (_, *w), fitted = least_squares(three["v"], m, h, z, m * z, h * z, z**2)
    guess = [least_squares(level, z, z**2)[1] for level in (m, h)]
    c = sum((level - p) * (w[i] + w[3 + i] * z) for i, (level, p) in enumerate(zip((m, h), guess, strict=True)))
    c = c - least_squares(c, z, z**2)[1]
    assert found.r2_second == pytest.approx(c.var() / (c.var() + np.var(three["v"] - fitted)), abs=1e-10)


def test_an_attribute_whose_groups_have_an_equation_each_is_replaced_by_their_shares(frame):
    """Without other parents c is the distance of a group's mean from everyone's, in the group's own units."""
    audit = audit_of(frame, kinds={"x": FOUR, "v": "number by group"})
    found = benchmark(audit, "a")
    groups = frame.groupby("a")["v"]
    c = (groups.transform("mean") - frame["v"].mean()) / groups.transform("std", ddof=0)
    assert found.r2_second == pytest.approx(c.var(ddof=0) / (c.var(ddof=0) + 1), abs=1e-10)


def test_c_is_what_the_parents_that_z_does_not_affect_leave_of_it(frame):
    """Of every kind: c has mean 0 and no correlation with these parents, and e none with the parents and z."""
    kinds = {"x": FOUR, "v": "zero or number by group"}
    atom = frame.assign(v=np.maximum(frame["v"], 0.0))
    audit = audit_of(atom, "q; a, q, z -> x, v; x <-> v", kinds=kinds)
    table, settings = audit.fitted.table, audit.fitted.settings
    degrees = {e.feature: e.degree for e in audit.fitted.claim.design.equations}
    extended = ExtendedRows.of(table, (), degrees, settings.embedding)
    for name in ("x", "v"):
        one, rows = split(extended, name, ("z",), set()), extended.rows
        c, e = one.parts(rows)
        assert one.is_latent
        assert one.given.values(rows.a, rows.x).T @ (c * rows.weight) == pytest.approx(0, abs=1e-8)
        assert one.part.equation.values(rows.a, rows.x).T @ (e * rows.weight) == pytest.approx(0, abs=1e-6)


# ---------------------------------------------------------------- what is shown and refused


def test_partial_r2_is_left_to_ends_whose_errors_are_seen(frame):
    found = audit_of(frame, kinds={"x": FOUR}).benchmarks(columns=frame[["z"]])
    assert found.to_frame()["r2_second_given_first"].isna().all()


def test_what_decides_levels_or_the_atom_is_refused_with_the_number_of_people(frame):
    rare = pd.DataFrame({"rare": np.where(frame.index < 3, "r", "o")})
    two = frame.assign(x=np.where(frame["x"].isin(FOUR[:2]) | (frame.index < 3), "low", "top"))
    with pytest.raises(
        SettingError, match=r"'rare' with the other parents of 'x' tells the 'x' of 3 of 2000 people with"
    ):
        audit_of(two).benchmarks(columns=rare)
    top = frame.assign(x=np.where(frame.index < 3, FOUR[-1], frame["x"]))
    with pytest.raises(SettingError, match=r"rules out levels of 'x' for 3 of 2000 people without error \(perfect sep"):
        audit_of(top, kinds={"x": FOUR}).benchmarks(columns=rare)
    atom = frame.assign(v=np.where(frame.index < 3, 0.0, np.maximum(frame["v"], 0.0)))
    with pytest.raises(SettingError, match="with the other parents of 'v' tells the 'v' of 3 of 2000 people without"):
        audit_of(atom, kinds={"x": FOUR, "v": "zero or number"}).benchmarks(columns=rare)


def test_a_number_that_is_told_in_one_group_or_above_its_atom_is_refused_by_name(frame):
    twin = pd.DataFrame({"twin": np.where(frame["a"] > 0, frame["v"], frame["z"])})
    with pytest.raises(SettingError, match="'twin' and the parents of 'v' determine 'v'"):
        audit_of(frame, kinds={"x": FOUR, "v": "number by group"}).benchmarks(columns=twin)
    atom = frame.assign(v=np.maximum(frame["v"], 0.0))
    lowest = atom["v"][atom["v"] > 0].min()
    twin = pd.DataFrame({"twin": np.maximum(atom["v"], lowest)})
    with pytest.raises(SettingError, match="'twin' and the parents of 'v' determine 'v'"):
        audit_of(atom, kinds={"x": FOUR, "v": "zero or number"}).benchmarks(columns=twin)
