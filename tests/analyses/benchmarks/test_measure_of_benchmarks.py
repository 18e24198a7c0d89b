"""Benchmarks beside residuals made by hand, known truth, and PySensemakr's stored values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError

STORED = json.loads((Path(__file__).parents[2] / "reference" / "other_programs.json").read_text())
PLAIN = {"penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 0.0}
TRUTH = {"x": {"a": 0.5, "z": 0.7}, "v": {"a": 0.3, "z": -0.6, "x": 0.4}}
WITH_Z = fs.CausalGraph.parse("a -> z; a, z -> x, v; x -> v; x <-> v", protected="a", outcome="y")
WITHOUT_Z = fs.CausalGraph.parse("a -> x, v; x -> v; x <-> v", protected="a", outcome="y")


def audit_of(frame, graph, degree=1, **options):
    return fs.Audit.fit(frame, graph, degrees=dict.fromkeys(graph.features, degree), **{**PLAIN, **options})


def draw(n, graph=WITH_Z, seed=3, **options):
    return fs.datasets.simulate(graph, n, random_state=seed, **options).frame


def least_squares(target, *columns):
    Phi = np.column_stack([np.ones(len(target)), *columns])
    w = np.linalg.lstsq(Phi, target, rcond=None)[0]
    return w, target - Phi @ w


def share(part, whole):
    return part.var() / whole.var()


@pytest.fixture(scope="module")
def frame():
    return draw(400, weights=TRUTH)


@pytest.fixture(scope="module")
def law(law_frame, law_graph):
    return audit_of(law_frame, law_graph, reference="White")


# ---------------------------------------------------------------- what omitting means


def test_omitting_a_common_cause_induces_the_correlation_of_residuals_made_by_hand(frame):
    """The other effects stay those of the full equation; the errors are what A leaves of the rest."""
    a, z, x, v = (frame[name].to_numpy() for name in "azxv")
    w, e_v = least_squares(v, a, z, x)
    u_x, u_v = least_squares(x, a)[1], least_squares(v - w[3] * x, a)[1]
    expected = np.corrcoef(u_x, u_v)[0, 1]
    for found in (
        audit_of(frame, WITH_Z).benchmarks(columns=[], pairs="all").found[1],
        audit_of(frame, WITHOUT_Z).benchmarks(pairs="all", columns=frame[["z"]]).found[1],
    ):
        assert (found.name, found.pair) == ("z", ("x", "v"))
        assert found.correlation == pytest.approx(expected, abs=1e-10)
        assert found.errors_without == pytest.approx(expected, abs=1e-10)
        assert found.errors_with == pytest.approx(0, abs=1e-10)  # x is a parent of v
        assert found.r2_first == pytest.approx(1 - share(least_squares(x, a, z)[1], u_x), abs=1e-10)
        assert found.r2_second == pytest.approx(1 - share(e_v, u_v), abs=1e-10)
        assert abs(found.alignment) == pytest.approx(1, abs=1e-10)


def test_the_induced_correlation_tends_to_the_closed_form():
    """``R2 = g^2 var(z) / (g^2 var(z) + 1)`` with var(z) = 1 given a, so p = -sqrt(0.49 / 1.49 * 0.36 / 1.36)."""
    p = -np.sqrt(0.49 / 1.49 * 0.36 / 1.36)
    error = {
        n: [
            audit_of(draw(n, seed=s, weights=TRUTH), WITH_Z).benchmarks(columns=[], pairs="all").found[1].correlation
            - p
            for s in range(4)
        ]
        for n in (1_000, 10_000, 100_000)
    }
    scaled_error = np.array([np.sqrt(np.mean(np.square(of_n)) * n) for n, of_n in error.items()])
    # the standard error of a correlation is at most 1 / sqrt(n): errors shrink with n and keep its size
    assert (scaled_error > 0.2).all()
    assert (scaled_error < 2).all()


def test_model_b_at_the_induced_correlation_has_the_weight_of_the_full_equation(law, law_frame):
    """Without sex, or the regions, the audit is biased; at the correlation they induce, Model B is not."""
    unit = law.fitted.table.scaling.deviation
    found = law.benchmarks(pairs="all", columns=law_frame[["sex", "region_first"]], multiples=[1])
    omitted = found.to_frame().set_index("benchmark")["omitted"]
    for name, stored in (("sex", "estimate_with_sex"), ("region_first", "estimate_with_regions")):
        weight = law.model_b({("ugpa", "lsat"): omitted[name]}).weights["lsat", "ugpa"] * unit[1] / unit[0]
        assert weight == pytest.approx(STORED["sensemakr_benchmark"][stored], rel=1e-11)
        assert weight != pytest.approx(STORED["sensemakr"]["estimate"], rel=1e-2)


def test_partial_shares_and_their_multiples_are_those_of_sensemakr(law_frame):
    graph = fs.CausalGraph.parse(
        "race, sex -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya"
    )
    stored = STORED["sensemakr_benchmark"]
    audit = audit_of(law_frame, graph, reference="White")
    (sex,) = (b for b in audit.benchmarks(columns=[], pairs="all").found if b.name == "sex")
    cause = fs.results.HiddenCause(sex.r2_first, sex.r2_second)
    assert sex.r2_first == pytest.approx(stored["r2_treatment"], rel=1e-10)
    assert cause.r2_second_given_first == pytest.approx(stored["r2_outcome"], rel=1e-10)
    assert [sex.shares(k)[0] for k in (1, 2, 3)] == pytest.approx(stored["r2_treatment_multiples"], rel=1e-10)


def test_the_share_of_a_text_column_is_that_of_its_categories_as_a_group(law, law_frame):
    found = law.benchmarks(pairs="all", columns=law_frame[["region_first"]]).found[1]
    assert found.r2_first == pytest.approx(STORED["sensemakr_benchmark"]["r2_treatment_regions"], rel=1e-10)
    by_column = law_frame.assign(**pd.get_dummies(law_frame["region_first"], dtype=int))
    names = sorted(law_frame["region_first"].unique())[1:]
    grouped = law.benchmarks(pairs="all", columns=by_column[names], groups={"region": names}).found[-1]
    assert grouped.correlation == pytest.approx(found.correlation, abs=1e-12)


def test_a_pair_without_an_edge_keeps_what_its_errors_share_besides(frame):
    """``cor(u) = induced + sqrt((1 - R2_j) (1 - R2_k)) cor(e)`` where both equations have the same parents."""
    graph = fs.CausalGraph.parse("a -> z; a, z -> x, v; x <-> v", protected="a", outcome="y")
    a, z, x, v = (frame[name].to_numpy() for name in "azxv")
    found = audit_of(frame, graph).benchmarks(columns=[], pairs="all").found[1]
    with_z, without = ([least_squares(t, *columns)[1] for t in (x, v)] for columns in ((a, z), (a,)))
    assert found.errors_with == pytest.approx(np.corrcoef(*with_z)[0, 1], abs=1e-10)
    assert found.errors_without == pytest.approx(np.corrcoef(*without)[0, 1], abs=1e-10)
    rest = np.sqrt((1 - found.r2_first) * (1 - found.r2_second)) * found.errors_with
    assert found.errors_without == pytest.approx(found.correlation + rest, abs=1e-10)


def test_the_protected_attribute_is_a_benchmark_too(frame):
    a, x, v = (frame[name].to_numpy() for name in "axv")
    found = audit_of(frame, WITHOUT_Z).benchmarks(columns=[], pairs="all").found[0]
    w, _ = least_squares(v, a, x)
    assert (found.name, found.in_model) == ("a", True)
    assert found.correlation == pytest.approx(np.corrcoef(x, v - w[2] * x)[0, 1], abs=1e-10)


def test_curved_equations_share_what_their_functions_of_the_variable_share(frame):
    """Of z alone, squared or not: the shares are the R2 of the regressions, the alignment that of the two curves."""
    graph = fs.CausalGraph.parse("z -> x, v; a -> z; x <-> v", protected="a", outcome="y")
    z, x, v = (frame[name].to_numpy() for name in "zxv")
    found = audit_of(frame, graph, degree=2).benchmarks(columns=[], pairs="all").found[0]
    e = [least_squares(t, z, z**2)[1] for t in (x, v)]
    curves = [x - e[0], v - e[1]]
    assert (found.r2_first, found.r2_second) == pytest.approx((share(curves[0], x), share(curves[1], v)), abs=1e-10)
    assert found.alignment == pytest.approx(np.corrcoef(*curves)[0, 1], abs=1e-10)
    assert abs(found.alignment) < 0.999
    assert abs(found.correlation) < found.hidden_cause(1).correlation


def test_an_effect_that_depends_on_a_parent_is_taken_around_the_hidden_mean(frame):
    """With z * x in the equation of v: ``f(x, z) - f(x, mean of z)``, less its mean."""
    graph = fs.CausalGraph.parse("a -> q; z -> x, v; x -> v; x <-> v", protected="a", outcome="y")
    z, x, v = ((frame[name] - frame[name].mean()).to_numpy() for name in "zxv")
    full = frame.assign(q=frame["a"] + np.arange(400) % 7)
    found = audit_of(full, graph, degree=2).benchmarks(columns=[], pairs="all").found[0]
    w, e = least_squares(v, x, z, x**2, x * z, z**2)
    c = w[2] * z + w[4] * x * z + w[5] * z**2
    assert found.r2_second == pytest.approx(c.var() / (c.var() + e.var()), abs=1e-10)


# ---------------------------------------------------------------- groups, weights, multiples


def test_a_group_is_omitted_together_and_may_cancel(frame):
    extra = draw(400, seed=8)["z"].to_numpy()
    both = frame.assign(t=extra, x=frame["x"] + 0.9 * extra, v=frame["v"] + 0.5 * extra)
    audit = audit_of(both, WITHOUT_Z)
    found = audit.benchmarks(pairs="all", columns=both[["z", "t"]], groups={"both": ["z", "t"]}, multiples=[1])
    table = found.to_frame().set_index("benchmark")
    a, z, x, v = (both[name].to_numpy() for name in "azxv")
    w, _ = least_squares(v, a, z, extra, x)
    by_hand = np.corrcoef(least_squares(x, a)[1], least_squares(v - w[4] * x, a)[1])[0, 1]
    assert table.loc["both", "omitted"] == pytest.approx(by_hand, abs=1e-10)
    assert table.loc["z", "correlation"] < 0 < table.loc["t", "correlation"]
    assert abs(table.loc["both", "correlation"]) < 0.5 * table.loc["both", "largest"]
    assert table.loc["both", "variables"] == "z, t"


def test_a_weight_of_two_is_the_row_twice(frame):
    weight = np.arange(400) % 3
    twice = frame.loc[np.repeat(frame.index, weight)].reset_index(drop=True)
    once = audit_of(frame, WITHOUT_Z, sample_weight=weight).benchmarks(pairs="all", columns=frame[["z"]])
    again = audit_of(twice, WITHOUT_Z).benchmarks(pairs="all", columns=twice[["z"]])
    numbers = once.to_frame().select_dtypes("number").columns
    np.testing.assert_allclose(once.to_frame()[numbers], again.to_frame()[numbers], atol=1e-12)


def test_multiples_scale_variance_beside_a_variable_in_the_model_or_in_its_place(frame):
    inside = audit_of(frame, WITH_Z).benchmarks(columns=[], pairs="all").found[1]
    outside = audit_of(frame, WITHOUT_Z).benchmarks(pairs="all", columns=frame[["z"]]).found[1]
    assert outside.correlation_at(1) == pytest.approx(outside.correlation)
    for k in (1, 2):
        assert inside.shares(k)[0] == pytest.approx(k * inside.r2_first / (1 - inside.r2_first))
        assert outside.shares(k)[0] == pytest.approx(k * outside.r2_first)
        assert outside.correlation_at(k) == pytest.approx(k * outside.correlation)
    assert outside.multiple_for(1.7 * abs(outside.correlation)) == pytest.approx(1.7)


def test_a_cause_stronger_than_any_has_a_note_and_no_mark(frame):
    found = audit_of(frame, WITHOUT_Z).benchmarks(pairs="all", columns=frame[["z"]], multiples=(1, 9))
    table = found.to_frame().set_index(["benchmark", "multiple"])
    assert np.isnan(table.loc[("z", 9), "correlation"])
    assert table.loc[("z", 9), "note"].startswith("No hidden cause is so strong: it would be ")
    assert "9 x z" not in set(found.marks()["label"])
    assert "None can be 9 times as strong" in found.summary()
    assert "no multiple of z is enough" in found.reading(0.99)


# ---------------------------------------------------------------- what is shown


def test_marks_stand_where_a_budget_first_holds_all_of_a_benchmarks_correlations():
    graph = fs.CausalGraph.parse(
        "a, z -> x, v, t; x -> v -> t; x -> t; x <-> v <-> t; x <-> t", protected="a", outcome="y"
    )
    frame = draw(500, graph)
    found = audit_of(frame, graph).benchmarks(columns=[], pairs="all", multiples=[1])
    z = {b.pair: b.correlation_at(1) for b in found.found if b.name == "z"}
    assert set(z) == {("x", "v"), ("x", "t"), ("v", "t")}
    P = np.eye(3)
    for (i, j), pair in zip(((0, 1), (0, 2), (1, 2)), (("x", "v"), ("x", "t"), ("v", "t")), strict=True):
        P[i, j] = P[j, i] = z[pair]
    marks = found.marks().set_index("label").loc["1 x z"]
    assert marks["p_max_pairwise"] == pytest.approx(np.abs(np.triu(P, 1)).max())
    assert marks["p_max_spectral"] == pytest.approx(1 - np.linalg.eigvalsh(P)[0])
    on_profile = found.marks(("t", "x")).set_index("label")["correlation"]
    assert on_profile["1 x z"] == z["x", "t"]


def test_the_summary_and_the_reading_say_the_numbers(law, law_frame):
    found = law.benchmarks(pairs="all", columns=law_frame[["sex"]])
    text = " ".join(found.summary().split())
    assert (
        "ugpa <-> lsat, race. Omitted from the equations, it explains 3.35 % of the variance of ugpa's error and "
        "8.42 % of lsat's, and correlates the two by +0.053. A hidden cause like it, beside it, gives +0.056 at its "
        "strength, +0.113 at 2 times its strength and +0.169 at 3 times its strength."
    ) in text
    assert "ugpa <-> lsat, sex. It is not in the graph and explains 2.31 %" in text
    reading = " ".join(found.reading(-0.21).split())
    assert "A correlation of 0.21 in size needs one hidden cause that explains 21 % of the variance of each" in reading
    assert "a partial R2 of 0.21 with the first variable and of 0.174 with the second given the first" in reading
    assert "a cause 3.72 times as strong as race is enough" in reading


def test_pairs_that_nothing_observed_could_confound_are_named(frame):
    graph = fs.CausalGraph.parse("a -> x; a -> v; q; x -> v; x <-> v; x <-> q", protected="a", outcome="y")
    found = audit_of(frame.assign(q=frame["z"] ** 2), graph).benchmarks(columns=[], pairs="all")
    assert [b.pair for b in found.found] == [("x", "v")]
    assert found.summary().endswith("No observed variable to compare with could confound x <-> q.")


# ---------------------------------------------------------------- what is refused


def test_arguments_that_make_no_sense_are_refused_by_name(frame):
    audit = audit_of(frame, WITHOUT_Z)
    lonely = fs.CausalGraph.parse("a -> x; v; x <-> v", protected="a", outcome="y")
    refused = [
        (
            lambda: audit_of(frame, lonely).benchmarks(columns=[], pairs="all"),
            "no observed variable is a parent of both ends of x <-> v",
        ),
        (lambda: audit.benchmarks(), "proved that no hidden cause of x <-> v can matter"),
        (lambda: audit.benchmarks(columns="z", pairs="all"), r"columns is 'z': give a list of names, such as \['z'\]"),
        (lambda: audit.benchmarks(pairs="xv"), "pairs is 'xv': give a list of pairs"),
        (lambda: audit.benchmarks(pairs=("x", "v")), r"pairs is \('x', 'v'\): give a list of pairs, such as \["),
        (lambda: audit.benchmarks(pairs=[("x", "z")]), "the graph does not name the pair x <-> z"),
        (lambda: audit.benchmarks(pairs=[("a", "x")]), "the graph does not name the pair a <-> x"),
        (lambda: audit.benchmarks(pairs="all", multiples=[0]), "multiples is .0.: give a list of positive numbers"),
        (lambda: audit.benchmarks(pairs="all", multiples=2), "multiples is 2: give a list"),
        (lambda: audit.benchmarks(pairs="all", groups=["z"]), "groups is .*: give a dict of names"),
        (
            lambda: audit.benchmarks(pairs="all", groups={"g": ["zz"]}),
            "the group 'g' names 'zz', neither in the graph nor in",
        ),
        (lambda: audit.benchmarks(pairs="all", groups={"g": 3}), "the group 'g' names 3"),
        (
            lambda: audit.benchmarks(pairs="all", groups={"g": ["v"]}),
            "the group 'g' holds no parent of both ends of a pair",
        ),
        (lambda: audit.benchmarks(pairs="all", groups={"a": ["a"]}), "groups has 'a': .* give a name of its own"),
        (
            lambda: audit.benchmarks(pairs="all", columns=frame[["z"]], groups={"g": ["a", "z"]}),
            "the group 'g' mixes variables of the graph with further columns",
        ),
        (
            lambda: audit.benchmarks(pairs="all", columns=pd.DataFrame({"twin": frame["x"] * 2})),
            "'twin' and the parents of 'x' determine 'x'",
        ),
        (
            lambda: audit.benchmarks(columns=[], pairs="all").marks(("x", "z")),
            "there are no benchmarks for x <-> z: give one of x <-> v",
        ),
    ]
    for call, sentence in refused:
        with pytest.raises(SettingError, match=sentence):
            call()


def test_columns_that_do_not_fit_the_table_are_refused_by_name(frame):
    audit = audit_of(frame, WITHOUT_Z)
    refused = [
        (frame[["z"]].iloc[:9], "columns has 9 rows, but the audited table has 400"),
        (frame[["z"]].iloc[::-1], "columns has other row labels"),
        (frame[["z", "x"]], "columns has 'x', which the graph names already"),
        (3, "columns is a int: give a table of the further columns"),
        (["zz"], "columns names 'zz', which is not in the data"),
        (["x"], "columns has 'x', which the graph names already"),
        (frame[["z"]].mask(frame["z"] > 2), "column 'z' has .* missing value"),
        (pd.DataFrame({"name": [f"p{i}" for i in range(400)]}), "column 'name' has 400 categories: merge them"),
        (pd.DataFrame({"same": np.ones(400)}), "column 'same' is the same in every row"),
    ]
    for columns, sentence in refused:
        with pytest.raises(DataError, match=sentence):
            audit.benchmarks(pairs="all", columns=columns)
