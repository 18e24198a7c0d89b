from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import fairstress as fs
from fairstress.errors import SettingError

GRAPH = fs.CausalGraph.parse("a -> x -> z; a -> z; x <-> z; a <-> x", protected="a", outcome="y")
simulate = fs.datasets.simulate


def test_features_are_their_equations_at_the_true_weights_and_noise():
    weights = {"x": {"1": 1.0, "a": 0.5}, "z": {"x": -2.0, "a*x": 0.25, "x^2": 0.1}}
    truth = simulate(GRAPH, 500, weights=weights, scales={"z": 0.3}, degrees={"z": 2}, random_state=0)
    a, x, z = (truth.frame[name] for name in "axz")
    np.testing.assert_allclose(x, 1 + 0.5 * a + truth.noise["x"])
    np.testing.assert_allclose(z, -2 * x + 0.25 * a * x + 0.1 * x**2 + truth.noise["z"])
    x_cf = 1 - 0.5 * a + truth.noise["x"]
    np.testing.assert_allclose(truth.counterfactuals["x"], x_cf)
    z_cf = -2 * x_cf - 0.25 * a * x_cf + 0.1 * x_cf**2 + truth.noise["z"]
    np.testing.assert_allclose(truth.counterfactuals["z"], z_cf)
    assert truth.weights["z"]["x^2"] == 0.1
    assert truth.scales == {"a": 1.0, "x": 1.0, "z": 0.3}


def test_errors_have_the_correlation_asked_for_also_with_the_protected_attribute():
    truth = simulate(GRAPH, 200_000, correlation={("x", "z"): 0.4, ("a", "x"): -0.5}, random_state=1)
    # correlations of 200,000 draws are good to about 0.002
    np.testing.assert_allclose(truth.noise.corr(), truth.correlation, atol=0.01)
    assert truth.correlation.loc["a", "x"] == -0.5
    assert set(truth.frame["a"]) == {-1, 1}
    np.testing.assert_array_equal(truth.frame["a"], np.where(truth.noise["a"] >= 0, 1, -1))


def test_an_attribute_with_parents_depends_on_them_and_a_gaussian_one_is_shifted():
    graph = fs.CausalGraph.parse("r -> a -> x; r -> x", protected="a", outcome="y")
    truth = simulate(graph, 1000, weights={"a": {"r": 2.0}}, random_state=0)
    np.testing.assert_array_equal(truth.frame["a"], np.where(2 * truth.frame["r"] + truth.noise["a"] >= 0, 1, -1))
    np.testing.assert_array_equal(truth.counterfactuals["r"], truth.frame["r"])
    gaussian = simulate(graph, 1000, binary=False, shift=0.7, random_state=0)
    np.testing.assert_allclose(gaussian.counterfactuals["a"] - gaussian.frame["a"], 0.7)


def test_the_outcome_is_the_sum_of_its_parents_and_noise():
    graph = fs.CausalGraph.parse("a -> x -> z; z -> y", protected="a", outcome="y")
    truth = simulate(graph, 50_000, weights={"z": {"x": 3.0}}, random_state=0)
    rest = truth.frame["y"] - truth.frame["z"]
    assert rest.std() == pytest.approx(1, abs=0.02)
    assert abs(np.corrcoef(rest, truth.frame["x"])[0, 1]) < 0.02


def test_draws_of_numbers_stay_what_they_were_before_there_were_other_kinds():
    correlation = {("x", "z"): 0.4, ("a", "x"): -0.5}
    truth = simulate(GRAPH, 3, degrees={"z": 2}, correlation=correlation, random_state=7)
    assert truth.frame["a"].tolist() == [1, 1, -1]
    z = [0.7527154822433781, 0.5800627804656311, -2.6929110422379616]
    z_cf = [-0.4832361937777743, -0.689584137593446, -1.492671164488647]
    y = [-0.7534953324524882, -2.6117628392879917, -2.1752041603130983]
    # equal to the last bit where they were drawn; another machine's linear algebra may round otherwise
    np.testing.assert_allclose([truth.frame["z"], truth.counterfactuals["z"], truth.frame["y"]], [z, z_cf, y], 1e-13)
    named = simulate(GRAPH, 3, degrees={"z": 2}, correlation=correlation, kinds={"x": "number"}, random_state=7)
    assert named.frame.equals(truth.frame)


# ---------------------------------------------------------------- kinds


def test_levels_are_as_frequent_as_the_cuts_make_them():
    weights = {"x": {"1": 0.2, "a": 0.5}}
    options = {"kinds": {"x": ["low", "mid", "high"]}, "cuts": {"x": (-0.5, 1.0)}}
    truth = simulate(GRAPH, 200_000, weights=weights, random_state=0, **options)
    for a in (-1, 1):
        at_most = special.ndtr(np.array([-0.5, 1.0]) - 0.2 - 0.5 * a)
        share = truth.frame["x"][truth.frame["a"] == a].value_counts(normalize=True)
        # shares among 100,000 people are good to about 0.0016
        np.testing.assert_allclose(share[["low", "mid", "high"]], np.diff([0, *at_most, 1]), atol=0.008)
    assert truth.kinds["x"].levels == ("low", "mid", "high")
    assert truth.cuts == {"a": (0.0,), "x": (-0.5, 1.0)}


def test_levels_without_cuts_are_two_or_as_many_as_are_named_and_equally_frequent():
    graph = fs.CausalGraph.parse("a -> z; x -> z; v -> z", protected="a", outcome="y")
    truth = simulate(graph, 100_000, kinds={"x": "ordered", "v": ["b", "c", "a"]}, random_state=0)
    assert truth.cuts["x"] == (0.0,)
    np.testing.assert_allclose(truth.frame["x"].value_counts(normalize=True)[[0, 1]], 1 / 2, atol=0.01)
    np.testing.assert_allclose(truth.frame["v"].value_counts(normalize=True), 1 / 3, atol=0.01)


def test_a_counterfactual_level_is_that_of_the_latent_index_with_the_same_error():
    weights = {"x": {"a": 0.7}, "z": {"1": 0.1, "a": -0.3, "x": 0.4}}
    options = {"kinds": {"x": "ordered", "z": "ordered"}, "cuts": {"x": (-1.0, 0.2, 0.9), "z": (0.3,)}}
    truth = simulate(GRAPH, 2000, weights=weights, correlation={("x", "z"): 0.6}, random_state=0, **options)
    for table, a in ((truth.frame, truth.frame["a"]), (truth.counterfactuals, -truth.frame["a"])):
        index = 0.7 * a + truth.noise["x"]
        np.testing.assert_array_equal(table["x"], (index.to_numpy()[:, None] > truth.cuts["x"]).sum(axis=1))
        below = 0.1 - 0.3 * a + 0.4 * table["x"] + truth.noise["z"]
        np.testing.assert_array_equal(table["z"], below > 0.3)
    np.testing.assert_allclose(truth.latent["x"], 0.7 * truth.frame["a"] + truth.noise["x"])
    assert truth.scales == {"a": 1.0, "x": 1.0, "z": 1.0}
    assert set(truth.frame["x"]) == {0, 1, 2, 3}


def test_latent_errors_of_any_kinds_have_the_correlation_asked_for():
    graph = fs.CausalGraph.parse("a -> x -> z; a -> u; x <-> z; a <-> x; x <-> u; z <-> u", protected="a", outcome="y")
    pairs = {("x", "z"): 0.5, ("a", "x"): -0.3, ("x", "u"): 0.2, ("z", "u"): -0.4}
    options = {"kinds": {"a": "ordered", "x": "ordered", "z": "zero or log", "u": "number by group"}}
    truth = simulate(graph, 200_000, correlation=pairs, cuts={"a": (-0.5, 0.5)}, random_state=1, **options)
    np.testing.assert_allclose(truth.noise.corr(), truth.correlation, atol=0.01)


@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        ("log", np.log),
        ("log1p", np.log1p),
        ("sqrt", np.sqrt),
        ("share", special.logit),
        ("rank", np.cbrt),
        ("log by group", np.log),
    ],
)
def test_a_number_on_a_scale_is_linear_on_it_and_children_see_it_there(kind, scale):
    x_weights = {"1": 5.0, "a": 0.5}
    weights = {"x": {-1: {"1": 4.5}, 1: {"1": 5.5}} if "group" in kind else x_weights, "z": {"x": 2.0}}
    inverse = {"x": lambda v: v**3} if kind == "rank" else None
    truth = simulate(GRAPH, 1000, weights=weights, kinds={"x": kind}, inverse=inverse, random_state=0)
    a = truth.frame["a"]
    np.testing.assert_allclose(scale(truth.frame["x"]), 5 + 0.5 * a + truth.noise["x"])
    np.testing.assert_allclose(scale(truth.counterfactuals["x"]), 5 - 0.5 * a + truth.noise["x"])
    np.testing.assert_allclose(truth.frame["z"], 2 * scale(truth.frame["x"]) + truth.noise["z"])
    np.testing.assert_allclose(truth.counterfactuals["z"], 2 * scale(truth.counterfactuals["x"]) + truth.noise["z"])


def test_a_scale_that_ends_at_0_keeps_values_there_and_children_see_what_is_kept():
    for kind in ("sqrt", "log1p"):
        truth = simulate(GRAPH, 500, weights={"z": {"x": 1.0}}, kinds={"x": kind}, random_state=0)
        at_0 = truth.latent["x"] < 0
        assert 0.2 < at_0.mean() < 0.8
        np.testing.assert_array_equal(truth.frame["x"] == 0, at_0)
        np.testing.assert_allclose(truth.latent["z"] - truth.noise["z"], truth.latent["x"].clip(0))


def test_a_number_by_group_has_weights_and_scales_of_each_level():
    graph = fs.CausalGraph.parse("v -> x; a -> x; x -> z", protected="a", outcome="y")
    weights = {"x": {-1: {"1": 1.0, "v": 0.5}, 1: {"v": -2.0}}}
    scales = {"x": {-1: 0.5, 1: 2.0}}
    truth = simulate(graph, 100_000, weights=weights, scales=scales, kinds={"x": "number by group"}, random_state=0)
    a, v = truth.frame["a"], truth.frame["v"]
    means = {-1: 1 + 0.5 * v, 1: -2 * v}
    standard = truth.noise["x"] / a.map(scales["x"])
    # a deviation of 50,000 draws is good to about 0.003
    assert standard.groupby(a).std().tolist() == pytest.approx([1, 1], abs=0.015)
    np.testing.assert_allclose(truth.frame["x"], np.where(a < 0, means[-1], means[1]) + truth.noise["x"])
    moved = np.where(a > 0, means[-1], means[1]) + standard * (-a).map(scales["x"])
    np.testing.assert_allclose(truth.counterfactuals["x"], moved)
    assert truth.weights["x"] == {-1: {"1": 1.0, "v": 0.5}, 1: {"1": 0.0, "v": -2.0}}
    assert truth.scales["x"] == scales["x"]
    alike = simulate(graph, 10, kinds={"x": "number by group"}, scales={"x": 3.0}, random_state=0)
    assert alike.scales["x"] == {-1: 3.0, 1: 3.0}
    assert alike.weights["x"][-1] != alike.weights["x"][1]


def test_along_a_fair_edge_a_number_by_group_keeps_its_group():
    graph = fs.CausalGraph.parse("a =fair=> x; a -> v; v -> x", protected="a", outcome="y")
    weights = {"v": {"a": 1.0}, "x": {-1: {"v": 2.0}, 1: {"v": 3.0}}}
    truth = simulate(
        graph, 100, kinds={"x": "number by group"}, weights=weights, scales={"x": {1: 4.0}}, random_state=0
    )
    change = truth.counterfactuals["x"] - truth.frame["x"]
    np.testing.assert_allclose(change, np.where(truth.frame["a"] < 0, 2 * 2.0, -2 * 3.0))


def test_below_its_threshold_a_number_with_an_atom_is_0_and_children_see_the_threshold():
    weights = {"x": {"1": 1.0, "a": 0.8}, "z": {"x": 2.0}}
    options = {"kinds": {"x": "zero or log"}, "atoms": {"x": 1.3}, "scales": {"x": 0.5}}
    truth = simulate(GRAPH, 2000, weights=weights, random_state=0, **options)
    for table, a in ((truth.frame, truth.frame["a"]), (truth.counterfactuals, -truth.frame["a"])):
        v = 1 + 0.8 * a + truth.noise["x"]
        assert 0.1 < (table["x"] == 0).mean() < 0.9
        np.testing.assert_allclose(table["x"], np.where(v <= 1.3, 0.0, np.exp(v)))
        np.testing.assert_allclose(table["z"], 2 * v.clip(1.3) + truth.noise["z"])


KINDS_OF_PARENT = {
    "ordered": ("ordered", None, {"x": 3.0}, lambda x: 3.0 * (2 * x - 1)),
    "by position": (["b", "a", "c"], None, {"x": 3.0}, lambda x: 3.0 * x.map({"b": 0, "a": 1, "c": 2})),
    "by value": ([1, 5, 6], None, {"x": 3.0}, lambda x: 3.0 * x),
    "indicators": ("ordered as levels", None, {"x=1": 3.0, "x=2": -1.0}, lambda x: 3.0 * (x == 1) - (x == 2)),
    "two as levels": ("ordered as levels", (0.5,), {"x": 3.0}, lambda x: 3.0 * (2 * x - 1)),
    "category": ("category", None, {"x=q": 3.0, "x=r": -1.0}, lambda x: 3.0 * (x == "q") - (x == "r")),
}


@pytest.mark.parametrize("way", KINDS_OF_PARENT)
def test_children_see_levels_as_signs_scores_or_indicators(way):
    kind, cuts, w, seen = KINDS_OF_PARENT[way]
    graph = fs.CausalGraph.parse("x, a -> z; x -> y", protected="a", outcome="y")
    levels = {"x": ["p", "q", "r"]} if kind == "category" else None
    cuts = (-0.5, 0.5) if way == "indicators" else cuts
    options = {"kinds": {"x": kind}, "levels": levels, "cuts": {"x": cuts} if cuts else None}
    truth = simulate(graph, 1000, weights={"z": w}, random_state=0, **options)
    np.testing.assert_allclose(truth.frame["z"] - truth.noise["z"], seen(truth.frame["x"]), atol=1e-12)
    assert truth.frame["x"].nunique() == len(truth.kinds["x"].levels)


def test_products_with_levels_are_terms_too():
    graph = fs.CausalGraph.parse("c, x, a -> z", protected="a", outcome="y")
    kinds = {"a": "ordered", "c": "category", "x": ["low", "high"]}
    options = {"cuts": {"a": (-0.5, 0.5)}, "levels": {"c": ["p", "q"]}, "degrees": {"z": 2}}
    truth = simulate(graph, 500, kinds=kinds, weights={"z": {"a=2*c=q": 3.0, "c=q*x": 1.0}}, random_state=0, **options)
    a, c, x = (truth.frame[name] for name in "acx")
    mean = (c == "q") * (3.0 * (a == 2) + np.where(x == "high", 1, -1))
    np.testing.assert_allclose(truth.frame["z"] - truth.noise["z"], mean, atol=1e-12)
    assert set(truth.weights) == set(truth.scales) == {"a", "x", "z"}


def test_an_attribute_with_several_levels_is_cut_and_moved_from_level_to_level():
    options = {"kinds": {"a": "ordered"}, "cuts": {"a": (-1.0, 0.5)}, "weights": {"x": {"a=1": 1.0, "a=2": -2.0}}}
    for shift, moved in ((1, {0: 1, 1: 2, 2: 0}), (2, {0: 2, 1: 0, 2: 1})):
        truth = simulate(GRAPH, 50_000, shift=shift, random_state=0, **options)
        shares = truth.frame["a"].value_counts(normalize=True)[[0, 1, 2]]
        np.testing.assert_allclose(shares, np.diff([0, *special.ndtr([-1.0, 0.5]), 1]), atol=0.01)
        a_cf = truth.frame["a"].map(moved)
        np.testing.assert_array_equal(truth.counterfactuals["a"], a_cf)
        np.testing.assert_allclose(truth.counterfactuals["x"], a_cf.map({0: 0, 1: 1, 2: -2}) + truth.noise["x"])
    named = simulate(GRAPH, 100, kinds={"a": ["k", "l"]}, weights={"x": {"a": 1.0}}, random_state=0)
    np.testing.assert_allclose(named.frame["x"] - named.noise["x"], np.where(named.frame["a"] == "l", 1, -1))
    assert (named.frame["a"] != named.counterfactuals["a"]).all()
    assert simulate(GRAPH, 100, kinds={"a": "number"}, random_state=0).frame["a"].nunique() == 100


def test_the_truth_can_be_given_back():
    graph = fs.CausalGraph.parse("c, a -> x -> z; a -> z, u; x <-> z", protected="a", outcome="y")
    kinds = {"c": "category", "x": "ordered", "z": "zero or log", "u": "sqrt by group"}
    options = {"levels": {"c": ["p", "q", "r"]}, "cuts": {"x": (0.0, 1.0)}}
    drawn = simulate(graph, 200, kinds=kinds, random_state=0, **options)
    known = {name: getattr(drawn, name) for name in ("kinds", "cuts", "weights", "scales", "correlation")}
    again, once_more = (simulate(graph, 200, random_state=1, **known) for _ in range(2))
    assert again.frame.equals(once_more.frame)
    for name in ("kinds", "cuts", "weights", "scales"):
        assert getattr(again, name) == known[name]


def test_the_outcome_is_the_sum_of_what_children_see_with_scores_for_indicators():
    graph = fs.CausalGraph.parse("a -> x, z, u; c -> y; x, z, u -> y", protected="a", outcome="y")
    kinds = {"x": ["low", "high"], "z": "ordered as levels", "u": "log", "c": "category"}
    options = {"cuts": {"z": (-0.5, 0.5)}, "levels": {"c": ["p", "q", "r"]}}
    truth = simulate(graph, 50_000, kinds=kinds, random_state=0, **options)
    x, c = np.where(truth.frame["x"] == "high", 1, -1), truth.frame["c"].map({"p": 0, "q": 1, "r": 2})
    rest = truth.frame["y"] - x - c - truth.frame["z"] - np.log(truth.frame["u"])
    assert rest.std() == pytest.approx(1, abs=0.02)
    assert np.abs(np.corrcoef([rest, x, c, truth.frame["z"]])[0, 1:]).max() < 0.02


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"xx": {}}}, "weights names 'xx', which has no structural equation"),
        ({"weights": {"z": {"w": 1}}}, "the term 'w', which its equation does not have"),
        ({"degrees": {"z": -1}}, "the degree of 'z' is -1"),
        ({"scales": {"x": 0}}, "the scale of 'x' is 0"),
        ({"scales": {"a": 2.0}}, "a two-valued attribute's latent error has scale 1"),
        ({"correlation": {("a", "z"): 0.1}}, "does not name the pair a <-> z"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(SettingError, match=message):
        simulate(GRAPH, 10, **options)
    with pytest.raises(SettingError, match="n is 0"):
        simulate(GRAPH, 0)


FREE = fs.CausalGraph.parse("a -> x -> z; c -> z; c <-> z; v -> z", protected="a", outcome="y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"y": "log"}}, "kinds names 'y', which has no structural equation"),
        ({"cuts": {"x": (0.0,)}}, "cuts names 'x', whose kind is number: only ordered levels have cuts"),
        ({"levels": {"x": [1, 2]}}, "levels names 'x', whose kind is number: only ordered variables and categories"),
        ({"atoms": {"x": 1.0}}, "atoms names 'x', whose kind is number: only a kind that begins with 'zero or '"),
        ({"kinds": {"x": "ordered"}, "inverse": {"x": np.exp}}, "inverse names 'x'.*only a number has a scale"),
        ({"kinds": {"x": "ordered"}, "scales": {"x": 2.0}}, "the latent error behind levels has scale 1"),
        (
            {"kinds": {"x": "ordered"}, "cuts": {"x": (1.0, 0.0)}},
            "give one or more finite numbers, each above the last",
        ),
        ({"kinds": {"x": "ordered"}, "cuts": {"x": ("low",)}}, "give one or more finite numbers, each above the last"),
        ({"kinds": {"x": [1, 2, 3]}, "cuts": {"x": (0.0,)}}, r"1 cut\(s\), but it has 3 levels"),
        ({"cuts": {"a": (0.0, 1.0)}}, r"2 cut\(s\), but it has 2 levels"),
        ({"kinds": {"x": [1, 2]}, "levels": {"x": [1, 2]}}, "kinds and levels both give the levels of 'x'"),
        ({"kinds": {"x": "category"}, "levels": {"x": [1, 2]}}, "it can have no parents and stand in no pair"),
        ({"kinds": {"c": "category"}, "levels": {"c": [1, 2]}}, "it can have no parents and stand in no pair"),
        ({"kinds": {"v": "category"}}, "'v' is a category: give its levels"),
        ({"kinds": {"v": "category"}, "levels": {"v": "pq"}}, "levels gives 'v' 'pq': give a list"),
        (
            {"kinds": {"v": "category"}, "levels": {"v": [1, 2]}, "weights": {"v": {}}},
            "weights names 'v', which has no",
        ),
        ({"kinds": {"x": "rank"}}, "'x' is on the rank scale, which has no formula: give inverse="),
        ({"kinds": {"x": "rank"}, "inverse": {"x": np.round}}, "'x' does not increase everywhere"),
        ({"inverse": {"x": lambda v: -v}}, "'x' does not increase everywhere"),
        ({"inverse": {"x": lambda v: v.mean()}}, "must give a finite number for each"),
        ({"inverse": {"x": 3}}, "inverse gives 'x' 3: give an increasing function"),
        ({"inverse": {"a": np.exp}, "binary": False}, "inverse names the protected attribute 'a'"),
        ({"kinds": {"x": "zero or number"}, "atoms": {"x": -1.0}}, "the threshold of 'x' is -1: give one above"),
        ({"kinds": {"x": "zero or sqrt"}, "atoms": {"x": -1.0}}, "the threshold of 'x' is -1: give one above"),
        ({"kinds": {"x": "zero or log"}, "atoms": {"x": np.nan}}, "the threshold of 'x' is nan: give a finite"),
        ({"kinds": {"z": "number by group"}}, "'z' is by group: the protected attribute 'a' must be its parent"),
        ({"kinds": {"x": "number by group"}, "binary": False}, "'a' must be its parent and have levels"),
        (
            {"kinds": {"x": "number by group"}, "weights": {"x": {"1": 1.0}}},
            "give its weights and scales by level, -1, 1",
        ),
        ({"kinds": {"x": "number by group"}, "scales": {"x": {0: 1.0}}}, "give its weights and scales by level, -1, 1"),
        ({"scales": {"x": {-1: 1.0, 1: 1.0}}}, "the scale of 'x' is {-1: 1.0, 1: 1.0}"),
        ({"weights": {"x": {-1: {"1": 1.0}}}}, "the term '-1', which its equation does not have"),
        ({"kinds": {"a": "log"}}, "for the protected attribute 'a': give 'number', 'ordered' or its levels"),
        ({"kinds": {"a": [1, 2, 3]}, "shift": 3}, "'a' has 3 levels: give 1 to 2"),
        ({"kinds": {"a": [1, 2, 3]}, "shift": 0.5}, "'a' has 3 levels: give 1 to 2"),
    ],
)
def test_kinds_that_make_no_sense_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        simulate(FREE, 50, random_state=0, **options)
