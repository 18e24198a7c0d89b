"""Benchmarks for pairs with the protected attribute: known truth, closed forms, and Model B at what they give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstress as fs
from fairstress.claim.evaluate import model_b
from fairstress.errors import SettingError

PLAIN = {"penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 0.0}
WITH_Z = fs.CausalGraph.parse("z -> a; a, z -> x; a <-> x", protected="a", outcome="y")
WITHOUT_Z = fs.CausalGraph.parse("a -> x; a <-> x", protected="a", outcome="y")
TRUTH = {"z": {}, "a": {"1": 0.3, "z": 0.8}, "x": {"a": 0.5, "z": 0.7}}
INDUCED = np.sqrt(0.64 / 1.64 * 0.49 / 1.49)
CHAIN = "a -> x, v; x -> v; a <-> x; a <-> v; x <-> v"


def audit_of(frame, graph, **options):
    return fs.Audit.fit(frame, graph, degrees=dict.fromkeys(graph.features, 1), **{**PLAIN, **options})


def draw(n, graph=WITH_Z, seed=3, weights=TRUTH, **options):
    return fs.datasets.simulate(graph, n, random_state=seed, weights=weights, **options).frame


def total_effect(audit, feature, correlation):
    """`Audit.effect` of Model B at a correlation: from a = +1, the reference, to -1."""
    fit = model_b(audit.fitted.claim, audit._read(correlation))
    return audit.effect(feature).values(audit.fitted.claim, [fit])[0]


# ---------------------------------------------------------------- known truth


def test_the_induced_correlation_is_that_of_the_errors_that_hold_z():
    """``sqrt(R2_A R2_x)`` with ``R2 = g^2 / (g^2 + 1)`` on the latent and on the feature's error, z being standard."""
    draws = {n: [draw(n, seed=100 * n + s) for s in range(4)] for n in (1_000, 10_000, 100_000)}
    found = {n: [audit_of(f, WITHOUT_Z).benchmarks(columns=f[["z"]]).found[0] for f in draws[n]] for n in draws}
    error = {n: np.array([b.correlation for b in of_n]) - INDUCED for n, of_n in found.items()}
    scaled_error = np.array([np.sqrt(np.mean(of_n**2) * n) for n, of_n in error.items()])
    # the standard error is 0.77 / sqrt(n) in this model: errors shrink with n and keep its size
    assert (scaled_error > 0.2).all()
    assert (scaled_error < 2).all()
    assert {b.pair for b in found[1_000]} == {("a", "x")}
    assert [b.errors_with for b in found[100_000]] == pytest.approx([0] * 4, abs=0.01)  # a is a parent of x


def test_model_b_at_the_induced_correlation_has_the_true_effect_and_model_a_has_not():
    """x falls by 2 * 0.5 from a = +1 to -1; Model A adds the difference that 0.7 z makes between the groups' means."""
    c = 0.3 / np.sqrt(1.64)
    bias = -0.7 * 0.8 / np.sqrt(1.64) * stats.norm.pdf(c) / (stats.norm.cdf(c) * stats.norm.cdf(-c))
    for n in (1_000, 10_000, 100_000):
        error = []
        for frame in (draw(n, seed=n + s) for s in range(4)):
            audit = audit_of(frame, WITHOUT_Z)
            p = audit.benchmarks(columns=frame[["z"]]).found[0].correlation
            error.append([total_effect(audit, "x", {("a", "x"): q}) + 1 for q in (p, 0.0)])
        model_b, model_a = (np.sqrt(np.mean(np.square(e)) * n) for e in np.array(error).T - [[0.0], [bias]])
        # a difference of two means of unit errors has a standard error of about 2 / sqrt(n)
        assert 0.5 < model_b < 6
        assert 0.5 < model_a < 6
    assert bias == pytest.approx(-0.703, abs=1e-3)


def test_two_features_and_the_attribute_with_one_hidden_cause():
    """All three pairs at once: P of the errors' common cause gives both total effects, through x and directly."""
    truth = {**TRUTH, "v": {"a": -0.4, "x": 0.6, "z": 0.5}}
    with_z = fs.CausalGraph.parse(f"z -> a, x, v; {CHAIN}", protected="a", outcome="y")
    frame = draw(100_000, with_z, weights=truth)
    audit = audit_of(frame, fs.CausalGraph.parse(CHAIN, protected="a", outcome="y"))
    found = {b.pair: b.correlation for b in audit.benchmarks(columns=frame[["z"]], pairs="all").found if b.name == "z"}
    R = {"a": 0.8 / np.sqrt(1.64), "x": 0.7 / np.sqrt(1.49), "v": 0.5 / np.sqrt(1.25)}
    assert found == pytest.approx({(i, j): R[i] * R[j] for i, j in found}, abs=0.02)
    assert set(found) == {("a", "x"), ("a", "v"), ("x", "v")}
    for feature, true in (("x", -1.0), ("v", 0.2)):  # 2 * 0.4 - 2 * 0.5 * 0.6
        assert total_effect(audit, feature, found) == pytest.approx(true, abs=0.04)
        assert abs(total_effect(audit, feature, {}) - true) > 0.3


def test_what_other_parents_of_the_attribute_tell_of_z_is_no_part_of_its_error():
    """z = w + u: only u stays hidden behind a, while nothing tells z in the equation of x."""
    graph = fs.CausalGraph.parse("w -> z; w, z -> a; a, z -> x; a <-> x", protected="a", outcome="y")
    truth = {"w": {}, "z": {"w": 1.0}, "a": {"w": -0.5, "z": 0.8}, "x": {"a": 0.5, "z": 0.7}}
    frame = draw(200_000, graph, weights=truth)
    (found,) = audit_of(frame, graph).benchmarks().found
    assert found.r2_first == pytest.approx(0.64 / 1.64, abs=0.01)
    assert found.r2_second == pytest.approx(0.98 / 1.98, abs=0.01)  # z has variance 2
    assert found.alignment == pytest.approx(np.sqrt(0.5), abs=0.01)


# ---------------------------------------------------------------- closed forms


def test_a_two_valued_cause_has_the_distance_of_two_normal_quantiles(law_frame):
    """Law school, sex: ``c_A`` is half the distance for each sex, less its mean."""
    graph = fs.CausalGraph.parse("race -> lsat; race <-> lsat", protected="race", outcome="zfya")
    (sex,) = audit_of(law_frame, graph, reference="White").benchmarks(columns=law_frame[["sex"]]).found
    white = (law_frame["race"] == "White").groupby(law_frame["sex"]).mean()
    share = law_frame["sex"].value_counts(normalize=True)
    variance = np.ptp(stats.norm.ppf(white)) ** 2 * share.prod()
    assert sex.r2_first == pytest.approx(variance / (variance + 1), abs=1e-12)


def test_a_numeric_attribute_is_one_more_linear_equation():
    frame = draw(2_000, binary=False)
    a, z, x = (frame[name].to_numpy() for name in "azx")
    Phi = np.column_stack([np.ones(a.size), a, z])
    w, (variance,), *_ = np.linalg.lstsq(Phi, x, rcond=None)
    (outside,) = audit_of(frame, WITHOUT_Z).benchmarks(columns=frame[["z"]]).found
    (inside,) = audit_of(frame, WITH_Z).benchmarks().found
    for found in (outside, inside):
        assert found.correlation == pytest.approx(np.corrcoef(a, x - w[1] * a)[0, 1], abs=1e-10)
        assert found.r2_first == pytest.approx(np.corrcoef(a, z)[0, 1] ** 2, abs=1e-10)
        assert found.r2_second == pytest.approx(1 - variance / a.size / (x - w[1] * a).var(), abs=1e-10)
        assert (found.errors_with, found.latent) == (pytest.approx(0, abs=1e-10), None)
    model = audit_of(frame, WITHOUT_Z).model_b({("a", "x"): outside.correlation})
    assert model.weights["x", "a"] * x.std() / a.std() == pytest.approx(w[1], rel=1e-9)


def test_errors_that_share_more_than_z_show_it_where_the_attribute_is_no_parent():
    """The latent error is known by its side only; its correlation with a feature's error is found all the same."""
    graph = fs.CausalGraph.parse("z -> a, x; a <-> x", protected="a", outcome="y")
    weights = {**TRUTH, "x": {"z": 0.7}}
    frame = draw(200_000, graph, weights=weights, correlation={("a", "x"): 0.4})
    (found,) = audit_of(frame, graph).benchmarks().found
    assert found.errors_with == pytest.approx(0.4, abs=0.01)
    assert found.errors_without == pytest.approx((0.4 + 0.56) / np.sqrt(1.64 * 1.49), abs=0.01)
    assert found.correlation == pytest.approx(INDUCED, abs=0.01)


def test_a_weight_of_two_is_the_row_twice():
    frame, weight = draw(400), np.arange(400) % 3
    twice = frame.loc[np.repeat(frame.index, weight)].reset_index(drop=True)
    once = audit_of(frame, WITHOUT_Z, sample_weight=weight).benchmarks(columns=frame[["z"]]).to_frame()
    again = audit_of(twice, WITHOUT_Z).benchmarks(columns=twice[["z"]]).to_frame()
    numbers = once.select_dtypes("number").columns
    np.testing.assert_allclose(once[numbers], again[numbers], atol=1e-11)


def test_the_reference_level_turns_the_sign():
    frame = draw(500)
    found = [audit_of(frame, WITHOUT_Z, reference=level).benchmarks(columns=frame[["z"]]).found[0] for level in (1, -1)]
    assert found[0].correlation == pytest.approx(-found[1].correlation, abs=1e-12)
    assert found[0].r2_first == pytest.approx(found[1].r2_first, abs=1e-12)


# ---------------------------------------------------------------- what is shown and refused


def test_multiples_follow_the_rule_of_features():
    """Beside z the latent error has variance 1, so that its share is ``k var(c_A)``; without z it holds z already."""
    frame = draw(1_000)
    (inside,) = audit_of(frame, WITH_Z).benchmarks().found
    (outside,) = audit_of(frame, WITHOUT_Z).benchmarks(columns=frame[["z"]]).found
    slope = audit_of(frame, WITH_Z).fitted.claim.model_a.weights[-1]  # of the index by z, which is standardised
    assert inside.shares(2)[0] == pytest.approx(2 * slope**2, rel=1e-10)
    assert outside.shares(2)[0] == pytest.approx(2 * slope**2 / (slope**2 + 1), rel=1e-10)


def test_partial_r2_is_left_to_numeric_attributes():
    binary, numeric = draw(1_000), draw(1_000, binary=False)
    latent = audit_of(binary, WITHOUT_Z).benchmarks(columns=binary[["z"]])
    linear = audit_of(numeric, WITHOUT_Z).benchmarks(columns=numeric[["z"]], multiples=[1])
    assert latent.to_frame()["r2_second_given_first"].isna().all()
    assert linear.to_frame()["r2_second_given_first"].notna().all()
    assert "of a's latent error and" in " ".join(latent.summary().split())
    reading = " ".join(latent.reading(0.2).split())
    assert "partial R2 of" not in reading
    assert "Of a it is the latent error behind the threshold; sensemakr has no such R2" in reading
    assert "As sensemakr counts" in linear.reading(0.2)
    assert "latent" not in linear.summary() + linear.reading(0.2)


def test_budgets_hold_pairs_with_the_attribute_too():
    frame = draw(1_000)
    found = audit_of(frame, WITHOUT_Z).benchmarks(columns=frame[["z"]], multiples=[1])
    assert found.variables == ("a", "x")
    (mark,) = found.marks().to_dict("records")
    assert mark["p_max_spectral"] == pytest.approx(abs(found.found[0].correlation))


def test_a_column_counts_as_a_cause_of_the_attribute_only_where_a_pair_names_it():
    """With ``a <-> x`` in the graph z stands before a, and x's error holds all of z, not what a leaves of it."""
    frame = draw(1_000).assign(v=lambda f: f["x"] + f["z"])
    shares = {}
    for pairs in ("x <-> v", "x <-> v; a <-> x"):
        graph = fs.CausalGraph.parse(f"a -> x, v; {pairs}", protected="a", outcome="y")
        found = audit_of(frame, graph).benchmarks(columns=frame[["z"]], pairs=[("v", "x")])
        shares[pairs] = next(b.r2_first for b in found.found if b.name == "z")
    a, z, x = (frame[name].to_numpy() for name in "azx")
    w, (left,), *_ = np.linalg.lstsq(np.column_stack([np.ones(a.size), a, z]), x, rcond=None)
    given = 1 - np.corrcoef(a, z)[0, 1] ** 2
    for variance, share in zip((z.var() * given, z.var()), shares.values(), strict=True):
        c = w[2] ** 2 * variance
        assert share == pytest.approx(c / (c + left / a.size), abs=1e-10)


def test_an_end_of_a_pair_is_no_hidden_cause_of_it():
    frame = draw(500)
    with pytest.raises(
        SettingError, match="the group 'g' holds no parent of both ends of a pair, or one of these ends"
    ):
        audit_of(frame, WITH_Z).benchmarks(groups={"g": ["a", "z"]})


def test_separation_is_refused_with_the_number_of_people():
    frame = draw(500)
    frame.loc[:2, "a"] = 1
    rare = pd.DataFrame({"rare": np.where(frame.index < 3, "r", "o")})
    audit = audit_of(frame, WITHOUT_Z)
    with pytest.raises(SettingError, match=r"'rare' with the other parents of 'a' tells the 'a' of 3 of 500 people wi"):
        audit.benchmarks(columns=rare)
    sure = frame["a"] * (1 + frame["z"] ** 2)
    with pytest.raises(SettingError, match=r"of 500 of 500 people without error \(perfect separation\)"):
        audit.benchmarks(columns=pd.DataFrame({"sure": sure}))
