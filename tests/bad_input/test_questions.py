"""Questions to a fitted audit, and simulations, that have no answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError
from fairstress.results import HiddenCause

P = {("x", "z"): 0.3}
NO_PAIRS = fs.CausalGraph.parse("a -> x -> z", protected="a", outcome="y")
BESIDE = fs.CausalGraph.parse("a -> x; region -> x; a <-> x", protected="a", outcome="y")


def numeric(world) -> fs.Audit:
    """An audit whose protected attribute is a number without groups."""
    return world.with_column("a", np.arange(60.0))


def two_valued(world, **changes) -> fs.Audit:
    """An audit of a predictor of probabilities."""
    return world.with_column("y", np.arange(60) % 2, **changes)


def by_group(world) -> pd.DataFrame:
    """25 people of one group, then of the other; a square number, so that sums of cross-validation are exact."""
    return world.frame.groupby("a").head(25).sort_values("a")


CASES = [
    (
        "a group of a number",
        lambda w: numeric(w).cfu_of_group(3),
        SettingError,
        "3 is not a level of 'a': it is numeric",
    ),
    (
        "a group moved to itself",
        lambda w: w.audit.cfu_of_group(1, to=1),
        SettingError,
        "nobody is moved from 1 to 1: give another level, or name it in contrast",
    ),
    (
        "decisions of a group of a number",
        lambda w: numeric(w).flips(0.0, group=3),
        SettingError,
        "group is 3, but 'a' is numeric and has no groups: leave it out",
    ),
    (
        "a kind of effect that there is not",
        lambda w: w.audit.effect("x", "causal"),
        SettingError,
        "kind is 'causal': give 'total', 'direct' or 'indirect'",
    ),
    (
        "the share of people with a level of a number",
        lambda w: w.audit.effect("x", of=1),
        SettingError,
        "1 is not a level of 'x': it is a number and has none",
    ),
    (
        "a weight of a category, which has no equation",
        lambda w: w.fit(graph=BESIDE, degrees={"x": 1}).coefficient("region", "a"),
        SettingError,
        "'region' has no equation: it does not descend from 'a'",
    ),
    (
        "shares of turned decisions without a threshold",
        lambda w: w.audit.people(P).flip_shares(),
        SettingError,
        "no threshold is given, so that there are no decisions: give one to audit.people",
    ),
    (
        "a quantile beyond 1",
        lambda w: w.audit.people(P).quantiles([0.5, 2]),
        SettingError,
        "has 2: give numbers from 0 to 1",
    ),
    (
        "a quantile that is no list",
        lambda w: w.audit.people(P).quantiles(0.5),
        SettingError,
        "is 0.5: give a list of numbers from 0 to 1",
    ),
    (
        "more classes than people",
        lambda w: w.audit.people(P).by(w.frame["age"], bins=61),
        SettingError,
        "bins is 61, but there are 60 rows: give at most as many classes",
    ),
    (
        "CFU by levels of a number",
        lambda w: numeric(w).people(P).by_levels(),
        SettingError,
        "'a' is numeric: CFU by levels needs a protected attribute with levels",
    ),
    (
        "a column of people that is a number",
        lambda w: w.audit.people(P).by(7),
        SettingError,
        "column is 7: give the name of a column, or one value for each row",
    ),
    (
        "a profile's grid that is a number",
        lambda w: w.audit.profile(("x", "z"), grid=0.5),
        SettingError,
        "grid is 0.5: give a list of correlations",
    ),
    (
        "a contour's grid that is a number",
        lambda w: w.audit.contour(("x", "z"), ("a", "x"), 0.5),
        SettingError,
        "grid is 0.5: give a list of correlations",
    ),
    (
        "a contour of one point",
        lambda w: w.audit.contour(("x", "z"), ("a", "x"), [0.3]),
        SettingError,
        "the grid has 1 correlations: give at least two",
    ),
    (
        "a share that a correlation does not leave",
        lambda w: HiddenCause.of_correlation(0.6, 0.2),
        SettingError,
        "r2_first is 0.2: a cause with that share of the first error cannot give the errors the correlation 0.6, "
        "whatever its share of the second; give more than 0.36",
    ),
    (
        "benchmarks of no pair",
        lambda w: w.fit(graph=NO_PAIRS).benchmarks(),
        SettingError,
        "the graph names no pair: add '<->' between two variables to the graph",
    ),
    (
        "a robust predictor of probabilities",
        lambda w: two_valued(w).robust(0.3, 1),
        SettingError,
        "the audited predictor gives probabilities, whose CFU is not convex in its weights",
    ),
    (
        "fair parts of what has a scale by group",
        lambda w: w.fit(mixed="fair part", kinds={"x": "number by group"}),
        SettingError,
        "mixed is 'fair part', which needs features that are all numbers, none by group or with an atom: leave it out",
    ),
    (
        "a robust predictor by another measure",
        lambda w: w.fit(measure="absolute").robust(0.3, 1),
        SettingError,
        "a robust predictor can be found for measure='squared' only, and measure is 'absolute'",
    ),
    (
        "cross-validation without one of the groups",
        lambda w: w.fit(by_group(w), degrees={}, penalty=None, penalties=[0, 1], max_degree=1, cv=("contiguous", 2)),
        DataError,
        "cross-validation cannot fit the terms 1, a with penalty 0: they are collinear in a fold; give larger "
        "penalties or a lower max_degree",
    ),
    (
        "cuts of too many levels",
        lambda w: fs.datasets.simulate(
            w.graph, 9, kinds={"x": "ordered"}, levels={"x": ["low", "high"]}, cuts={"x": [0, 1]}
        ),
        SettingError,
        "cuts gives 'x' 2 cut(s), but it has 2 levels: give one fewer",
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("spoilt", "error", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refusals_of_questions(spoilt, error, sentence, world, refuses):
    refuses(lambda: spoilt(world), sentence, error)
