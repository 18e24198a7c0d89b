"""Protected attributes with several levels, numbers, and several columns at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError, GraphError, SettingError

GRAPH = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")  # without a -> z, so that CFU moves
OPTIONS = {"degrees": {"x": 1, "z": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1}
PAIR = ("x", "z")
SHIFT = {"red": 0.0, "green": 1.0, "blue": -0.7}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    a = rng.choice(list(SHIFT), 900, p=[0.5, 0.3, 0.2])
    x = np.array([SHIFT[level] for level in a]) + rng.standard_normal(900)
    z = 0.8 * x + rng.standard_normal(900)
    return pd.DataFrame({"a": a, "x": x, "z": z, "y": x + z + rng.standard_normal(900)})


@pytest.fixture(scope="module")
def audit(frame):
    return fs.Audit.fit(frame, GRAPH, reference="red", **OPTIONS)


def test_each_level_but_the_reference_has_an_indicator(audit):
    assert list(audit.model_a.weights["x"].index) == ["1", "a=blue", "a=green"]
    means = pd.Series(audit.fitted.table.rows.x[audit.fitted.table.row_of, 0]).groupby(_levels(audit)).mean()
    w = audit.model_a.weights["x"]
    assert w["1"] == pytest.approx(means["red"], abs=1e-12)
    assert w["a=green"] == pytest.approx(means["green"] - means["red"], rel=1e-10)


def _levels(audit):
    return audit.fitted.table.protected.decode(audit.fitted.table.rows.a[audit.fitted.table.row_of]).to_numpy()


def test_counterfactuals_go_to_every_other_level_by_hand(audit, frame):
    found = audit.counterfactuals({PAIR: 0.4})
    assert len(found) == 2 * len(frame)
    assert found.groupby(level=0).size().eq(2).all()
    w = audit.model_b({PAIR: 0.4}).weights
    effect = {"red": 0.0, "green": w["x"]["a=green"], "blue": w["x"]["a=blue"]}
    deviation = frame[["x", "z"]].std(ddof=0)
    own = frame.loc[found.index]
    move = found["a"].map(effect).to_numpy() - own["a"].map(effect).to_numpy()
    np.testing.assert_allclose(found["x"], own["x"] + move * deviation["x"], rtol=1e-9)
    np.testing.assert_allclose(found["z"], own["z"] + move * w["z"]["x"] * deviation["z"], rtol=1e-9)


def test_cfu_by_levels_averages_to_cfu_and_to_that_of_each_person(audit, frame):
    P = {PAIR: 0.4}
    table = audit.people(P).by_levels()
    assert list(table.index) == list(table.columns) == ["red", "blue", "green"]
    assert np.isnan(np.diag(table)).all()
    shares = frame["a"].value_counts(normalize=True)
    mean = sum(shares[a] * table.loc[a].dropna().mean() for a in table.index)
    assert audit.cfu(P) == pytest.approx(mean, rel=1e-12)
    assert audit.cfu_by_row(P).mean() == pytest.approx(mean, rel=1e-12)
    assert table.max().max() > audit.cfu(P)
    by_group = audit.cfu_by_row(P).groupby(frame["a"]).mean()
    for level in SHIFT:
        assert by_group[level] == pytest.approx(table.loc[level].dropna().mean(), rel=1e-10)


def test_two_of_the_levels_alone_give_what_an_audit_of_two_groups_gives(frame):
    """With saturated levels the weights of x's equation belong to one level each."""
    kept = frame[frame["a"] != "blue"]
    several = fs.Audit.fit(kept.assign(a=kept["a"].astype("category")), GRAPH, reference="red", **OPTIONS)
    two = fs.Audit.fit(kept, GRAPH, reference="red", **OPTIONS)
    assert several.cfu({PAIR: 0.4}) == two.cfu({PAIR: 0.4})
    assert two.people({PAIR: 0.4}).by_levels().loc["red", "green"] > 0


def test_the_gradient_and_the_worst_case_work_for_several_levels(audit):
    h = 1e-5
    numeric = (audit.cfu({PAIR: 0.4 + h}) - audit.cfu({PAIR: 0.4 - h})) / (2 * h)
    assert audit.gradient({PAIR: 0.4})[PAIR] == pytest.approx(numeric, rel=1e-6)
    found = audit.worst_case(0.5)
    grid = [audit.cfu({PAIR: p}) for p in np.linspace(-0.5, 0.5, 101)]
    assert found.value >= max(grid) * (1 - 1e-12)
    low, high = audit.bounds(audit.cfu_of_group("red", to="blue"), 0.5)
    assert low.value <= audit.people({PAIR: 0.2}).by_levels().loc["red", "blue"] <= high.value


def test_a_named_contrast_moves_people_to_it_alone(frame, audit):
    to_red = fs.Audit.fit(frame, GRAPH, reference="red", contrast="red", **OPTIONS)
    found = to_red.counterfactuals({PAIR: 0.4})
    assert set(found["a"]) == {"red"}
    assert set(frame.loc[found.index, "a"]) == {"green", "blue"}
    rows = to_red.cfu_by_row({PAIR: 0.4})
    assert rows[frame["a"] == "red"].isna().all()
    assert to_red.cfu({PAIR: 0.4}) == pytest.approx(rows.mean(), rel=1e-12)
    table, everyone = to_red.people({PAIR: 0.4}).by_levels(), audit.people({PAIR: 0.4}).by_levels()
    assert table.loc["green", "red"] == pytest.approx(everyone.loc["green", "red"], rel=1e-12)
    assert table["blue"].isna().all()


def test_effects_between_levels_are_those_of_the_equations(audit, frame):
    w, deviation = audit.model_a.weights, frame[["x", "z"]].std(ddof=0)
    low, high = audit.bounds(audit.effect("x", level="green"), 0.0)
    assert low.value == high.value == pytest.approx(w["x"]["a=green"] * deviation["x"], rel=1e-10)
    found = audit.bounds(audit.effect("z", level="blue"), 0.0)[0].value
    assert found == pytest.approx(w["x"]["a=blue"] * w["z"]["x"] * deviation["z"], rel=1e-10)
    direct = audit.bounds(audit.effect("x", "direct", level="green"), 0.0)[0].value
    assert direct == pytest.approx(w["x"]["a=green"] * deviation["x"], rel=1e-10)
    with pytest.raises(
        SettingError, match="'a' has several levels: say to which one the effect leads, 'blue' or 'green'"
    ):
        audit.effect("x")


@pytest.mark.parametrize("penalty", [0, 30.0])
def test_the_reference_counts_only_with_a_penalty_and_the_notes_say_so(frame, penalty):
    options = OPTIONS | {"penalty": penalty}
    audits = [fs.Audit.fit(frame, GRAPH, reference=level, **options) for level in ("red", "blue")]
    red, blue = (audit.cfu({PAIR: 0.4}) for audit in audits)
    said = [any("draws each of them towards the reference" in note for note in audit.notes) for audit in audits]
    if penalty:
        assert abs(red - blue) > 1e-3 * red
        assert said == [True, True]
    else:
        assert red == pytest.approx(blue, rel=1e-9)
        assert said == [False, False]


def test_two_levels_have_no_note_about_the_reference_and_the_same_cfu_with_either(frame):
    kept, options = frame[frame["a"] != "blue"], OPTIONS | {"penalty": 30.0}
    audits = [fs.Audit.fit(kept, GRAPH, reference=level, **options) for level in ("red", "green")]
    red, green = (audit.cfu({PAIR: 0.4}) for audit in audits)
    assert red == pytest.approx(green, rel=1e-9)
    assert not any("towards the reference" in note for audit in audits for note in audit.notes)


# ---------------------------------------------------------------- numbers


@pytest.fixture(scope="module")
def aged(frame):
    age = np.random.default_rng(1).integers(20, 70, 900)
    return frame.assign(a=age, x=frame["x"] + age / 20)


def test_cfu_of_a_number_depends_neither_on_its_unit_nor_on_its_origin(aged):
    options = {**OPTIONS, "penalty": 50, "degrees": {"x": 2, "z": 2}}
    years = fs.Audit.fit(aged, GRAPH, shift=10, **options)
    months = fs.Audit.fit(aged.assign(a=12 * aged["a"] + 1000), GRAPH, shift=120, **options)
    assert months.cfu({PAIR: 0.4}) == pytest.approx(years.cfu({PAIR: 0.4}), rel=1e-9)
    by_year, by_month = (audit.coefficient("x", "a") for audit in (years, months))
    ratio = (
        by_year.values(years.fitted.claim, [years.fitted.claim.model_a])[0]
        / (by_month.values(months.fitted.claim, [months.fitted.claim.model_a])[0])
    )
    assert ratio == pytest.approx(12, rel=1e-9)


def test_named_values_of_a_number_are_contrasts(aged):
    audit = fs.Audit.fit(aged, GRAPH, contrast=[30, 60], **OPTIONS)
    found = audit.counterfactuals({})
    assert set(found["a"].round(9)) == {30.0, 60.0}
    at_thirty = aged["a"] == 30
    assert len(found) == 2 * len(aged) - at_thirty.sum() - (aged["a"] == 60).sum()
    w, deviation = audit.model_a.weights, aged[["a", "x"]].std(ddof=0)
    effect = audit.bounds(audit.effect("x", level=60), 0.0)[0].value
    assert effect == pytest.approx(30 / deviation["a"] * w["x"]["a"] * deviation["x"], rel=1e-9)
    with pytest.raises(SettingError, match="shift and contrast are both given"):
        fs.Audit.fit(aged, GRAPH, contrast=[30], shift=3, **OPTIONS)


# ---------------------------------------------------------------- several columns


def test_several_protected_columns_are_one_attribute_of_their_combinations(frame):
    sex = np.where(np.arange(900) % 2, "f", "m")
    graph = fs.CausalGraph.parse("a -> x; s -> x -> z; x <-> z", protected=("a", "s"), outcome="y")
    assert graph.protected == "a & s"
    assert graph.protected_columns == ("a", "s")
    assert graph.parents("x") == ("a & s",)
    joint = fs.Audit.fit(frame.assign(s=sex), graph, reference="red & m", **OPTIONS)
    assert set(joint.fitted.table.group_sizes()) == {f"{a} & {s}" for a in SHIFT for s in "fm"}
    by_hand = frame.assign(a=frame["a"] + " & " + sex)
    single = fs.Audit.fit(by_hand, GRAPH, reference="red & m", **OPTIONS)
    assert joint.cfu({PAIR: 0.4}) == single.cfu({PAIR: 0.4})
    assert "a & s" in joint.counterfactuals({})


def test_combinations_that_read_alike_are_not_taken_for_one(frame):
    """("p & q", "r") and ("p", "q & r") are two groups, whatever they are called."""
    own = pd.Series(["p & q", "p"] * 450), pd.Series(["r", "q & r"] * 450)
    graph = fs.CausalGraph.parse("a -> x; s -> x -> z; x <-> z", protected=("a", "s"), outcome="y")
    alike = frame.assign(a=own[0], s=own[1])
    refused = r"the combinations \('p & q', 'r'\) and \('p', 'q & r'\) of the protected columns both read 'p & q & r'"
    with pytest.raises(DataError, match=refused):
        fs.Audit.fit(alike, graph, **OPTIONS)
    known = alike.assign(a=alike["a"].replace("p & q", "other"))
    model = fs.CounterfactuallyFairRegressor(graph, max_degree=1).fit(known.drop(columns="y"), known["y"])
    with pytest.raises(DataError, match="both read 'p & q & r': rename a level so that none of them contains ' & '"):
        model.predict(alike.drop(columns="y"))
    assert np.isfinite(model.predict(known.drop(columns="y"))).all()


@pytest.mark.parametrize("column", ["a", "s"])
def test_lists_in_one_of_several_protected_columns_are_refused(frame, column):
    graph = fs.CausalGraph.parse("a -> x; s -> x -> z; x <-> z", protected=("a", "s"), outcome="y")
    lists = frame.assign(**{"s": np.where(np.arange(900) % 2, "f", "m"), column: [[i % 2] for i in range(900)]})
    with pytest.raises(DataError, match=f"column '{column}' holds lists or records"):
        fs.Audit.fit(lists, graph, **OPTIONS)


@pytest.mark.parametrize("level", [["red"], np.array(["red", "blue"]), {"red": 1}, pd.NA])
def test_what_cannot_be_a_level_is_refused_wherever_one_is_named(frame, audit, level):
    with pytest.raises(SettingError, match="is not a level of 'a': give 'blue', 'green' or 'red'"):
        fs.Audit.fit(frame, GRAPH, reference=level, **OPTIONS)
    with pytest.raises(SettingError, match="is not a level of 'a'"):
        fs.Audit.fit(frame, GRAPH, contrast=[level], **OPTIONS)
    for ask in (audit.cfu_of_group, lambda one: audit.flips(0, group=one), lambda one: audit.effect("x", level=one)):
        with pytest.raises(SettingError, match="is not a level of 'a'"):
            ask(level)
    with pytest.raises(SettingError, match="is not a feature"):
        audit.effect(level)
    with pytest.raises(SettingError, match="is not a level of 'x': it is a number and has none"):
        audit.effect("x", of=level, level="blue")
    with pytest.raises(SettingError, match="the equation of 'x' has no term"):
        audit.coefficient("x", level)


def test_what_cannot_be_a_protected_attribute_is_refused(frame):
    pair = fs.CausalGraph.parse("a -> x -> z; x <-> z; a <-> z", protected="a", outcome="y")
    refused = r"a pair names 'a', which has 3 levels without an order: .* merge levels, .* or remove its '<->'"
    with pytest.raises(DataError, match=refused):
        fs.Audit.fit(frame, pair, **OPTIONS)
    with pytest.raises(SettingError, match="reference 'pink' is not a level of 'a': give 'blue', 'green' or 'red'"):
        fs.Audit.fit(frame, GRAPH, reference="pink", **OPTIONS)
    with pytest.raises(SettingError, match="'pink' is not a level of 'a'"):
        fs.Audit.fit(frame, GRAPH, contrast=["red", "pink"], **OPTIONS)
    with pytest.raises(GraphError, match="the protected attribute 'q' is not in the graph"):
        fs.CausalGraph.parse("a -> x", protected=("a", "q"), outcome="y")
    with pytest.raises(GraphError, match="protected is 3: give the name of a column"):
        fs.CausalGraph(edges=(("a", "x"),), protected=3, outcome="y")


def test_summaries_say_who_is_moved_where(audit, aged, frame):
    text = audit.details().replace("\n", " ")
    sizes = frame["a"].value_counts()
    assert f"{sizes['red']} red (reference), {sizes['blue']} blue and {sizes['green']} green; the" in text
    assert "the counterfactual moves people to every other level" in text
    to_red = fs.Audit.fit(frame, GRAPH, reference="red", contrast="red", **OPTIONS)
    assert "the counterfactual moves people to red." in to_red.details().replace("\n", " ")
    by_value = fs.Audit.fit(aged, GRAPH, contrast=[30, 60], **OPTIONS)
    assert "a is numeric; the counterfactual moves people to 30 and 60" in by_value.details().replace("\n", " ")
