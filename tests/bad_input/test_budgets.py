"""Correlations, budgets, searches, limits and questions that have no answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError

PAIR = ("x", "z")


CASES = [
    (
        "a correlation of 1",
        lambda w: w.audit.cfu({PAIR: 1}),
        SettingError,
        "the correlation of x <-> z is 1: give a number strictly between -1 and 1",
    ),
    (
        "a correlation of -1",
        lambda w: w.audit.cfu({PAIR: -1.0}),
        SettingError,
        "the correlation of x <-> z is -1.0: give a number strictly between -1 and 1",
    ),
    (
        "a correlation beyond 1",
        lambda w: w.audit.cfu({PAIR: 1.5}),
        SettingError,
        "the correlation of x <-> z is 1.5: give a number strictly between -1 and 1",
    ),
    (
        "a correlation that is text",
        lambda w: w.audit.cfu({PAIR: "0.3"}),
        SettingError,
        "the correlation of x <-> z is '0.3': give a number strictly between -1 and 1",
    ),
    (
        "a correlation that is true",
        lambda w: w.audit.cfu({PAIR: True}),
        SettingError,
        "the correlation of x <-> z is True: give a number strictly between -1 and 1",
    ),
    (
        "a correlation that is NaN",
        lambda w: w.audit.cfu({PAIR: np.nan}),
        SettingError,
        "the correlation of x <-> z is nan: give a number strictly between -1 and 1",
    ),
    (
        "a correlation of None",
        lambda w: w.audit.cfu({PAIR: None}),
        SettingError,
        "the correlation of x <-> z is None: give a number strictly between -1 and 1",
    ),
    (
        "a correlation too near to 1",
        lambda w: w.audit.cfu({PAIR: 1 - 1e-15}),
        SettingError,
        (
            "the correlation of x <-> z is 0.999999999999999: give at most 1 - 1e-12 in size, nearer to 1 "
            "rounding may spoil every fit"
        ),
    ),
    (
        "a pair that the graph lacks",
        lambda w: w.audit.cfu({("a", "z"): 0.3}),
        SettingError,
        (
            "the graph does not name the pair a <-> z (its pairs: a <-> x, x <-> z): add '<->' between the two "
            "to the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a pair of strangers",
        lambda w: w.audit.cfu({("x", "zz"): 0.3}),
        SettingError,
        (
            "the graph does not name the pair x <-> zz (its pairs: a <-> x, x <-> z): add '<->' between the "
            "two to the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a pair as text",
        lambda w: w.audit.cfu({"x <-> z": 0.3}),
        SettingError,
        (
            "the graph does not name the pair 'x <-> z' (its pairs: a <-> x, x <-> z): add '<->' between the "
            "two to the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a pair given twice",
        lambda w: w.audit.cfu({("x", "z"): 0.3, ("z", "x"): 0.3}),
        SettingError,
        "the pair z <-> x is given twice: give it once",
    ),
    (
        "one number for all pairs",
        lambda w: w.audit.cfu(0.3),
        SettingError,
        (
            "the correlation is 0.3: give a dict of pairs, such as {('ugpa', 'lsat'): 0.3}, or a frame or "
            "array of numbers with rows and columns a, x, z"
        ),
    ),
    (
        "no correlation",
        lambda w: w.audit.cfu(None),
        SettingError,
        (
            "the correlation is None: give a dict of pairs, such as {('ugpa', 'lsat'): 0.3}, or a frame or "
            "array of numbers with rows and columns a, x, z"
        ),
    ),
    (
        "a matrix too small",
        lambda w: w.audit.cfu(np.eye(2)),
        SettingError,
        "the correlation has shape (2, 2): give (3, 3), in the order a, x, z",
    ),
    (
        "a matrix with words",
        lambda w: w.audit.cfu([["a"] * 3] * 3),
        SettingError,
        (
            "the correlation is [['a', 'a', 'a'], ['a', 'a', 'a'], ['a', 'a', 'a']]: give a dict of pairs, "
            "such as {('ugpa', 'lsat'): 0.3}, or a frame or array of numbers with rows and columns a, x, z"
        ),
    ),
    (
        "a matrix with twos",
        lambda w: w.audit.cfu(2 * np.eye(3)),
        SettingError,
        "the correlation of a with itself is 2: put 1 on the diagonal",
    ),
    (
        "a matrix that is not symmetric",
        lambda w: w.audit.cfu(np.eye(3) + np.triu(np.full((3, 3), 0.1), 1)),
        SettingError,
        ("the correlation of a and x is 0.1, but 0 the other way round: give finite numbers, the same ones both ways"),
    ),
    (
        "a matrix with NaN",
        lambda w: w.audit.cfu(np.where(np.eye(3) == 1, 1, np.nan)),
        SettingError,
        (
            "the correlation of a and x is nan, but nan the other way round: give finite numbers, the same "
            "ones both ways"
        ),
    ),
    (
        "a matrix where the graph has no pair",
        lambda w: w.audit.cfu(np.eye(3) + 0.1 * (1 - np.eye(3))),
        SettingError,
        (
            "the graph does not name the pair a <-> z (its pairs: a <-> x, x <-> z): add '<->' between the two "
            "to the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a matrix that is not definite",
        lambda w: w.audit.cfu({("x", "z"): 0.9, ("a", "x"): 0.9}),
        SettingError,
        (
            "the correlations do not form a positive definite matrix (smallest eigenvalue -0.273): no joint "
            "distribution of the errors has them; make them smaller"
        ),
    ),
    (
        "a frame with other names",
        lambda w: w.audit.cfu(pd.DataFrame(np.eye(3))),
        SettingError,
        "the correlation frame must have rows and columns a, x, z",
    ),
    (
        "a matrix of three axes",
        lambda w: w.audit.cfu(np.ones((3, 3, 3))),
        SettingError,
        "the correlation has shape (3, 3, 3): give (3, 3), in the order a, x, z",
    ),
    (
        "an unknown baseline",
        lambda w: w.audit.cfu({PAIR: 0.3}, baseline="blnd"),
        SettingError,
        "there is no baseline 'blnd'; did you mean 'blind'?",
    ),
    (
        "a budget of 1",
        lambda w: w.audit.worst_case(1),
        SettingError,
        "p_max is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a negative budget",
        lambda w: w.audit.worst_case(-0.1),
        SettingError,
        "p_max is -0.1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a budget of NaN",
        lambda w: w.audit.worst_case(np.nan),
        SettingError,
        "p_max is nan: give a number from 0 up to, but not including, 1",
    ),
    (
        "a budget as text",
        lambda w: w.audit.worst_case("0.3"),
        SettingError,
        "p_max is '0.3': give a number from 0 up to, but not including, 1",
    ),
    (
        "a budget that is true",
        lambda w: w.audit.worst_case(True),
        SettingError,
        "p_max is True: give a number from 0 up to, but not including, 1",
    ),
    (
        "a budget in a list",
        lambda w: w.audit.worst_case([0.3]),
        SettingError,
        "p_max is [0.3]: give a number from 0 up to, but not including, 1",
    ),
    (
        "a budget just below 1",
        lambda w: w.audit.worst_case(1 - 1e-16),
        SettingError,
        "p_max is 0.9999999999999999: give at most 1 - 1e-12, nearer to 1 rounding may spoil every fit",
    ),
    (
        "a budget of an unknown kind",
        lambda w: w.audit.worst_case(0.3, budget="box"),
        SettingError,
        ("budget is 'box': give 'pairwise', 'spectral' or 'single cause', or a value such as Pairwise(bounds=...)"),
    ),
    (
        "a budget of no kind",
        lambda w: w.audit.worst_case(0.3, budget=None),
        SettingError,
        ("budget is None: give 'pairwise', 'spectral' or 'single cause', or a value such as Pairwise(bounds=...)"),
    ),
    (
        "a budget as a class",
        lambda w: w.audit.worst_case(0.3, budget=fs.Pairwise),
        SettingError,
        ("give 'pairwise', 'spectral' or 'single cause', or a value such as Pairwise(bounds=...)"),
    ),
    (
        "a floor of 1",
        lambda w: fs.Pairwise(min_eigenvalue=1),
        SettingError,
        "min_eigenvalue is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a negative floor",
        lambda w: fs.Pairwise(min_eigenvalue=-0.1),
        SettingError,
        "min_eigenvalue is -0.1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a floor as text",
        lambda w: fs.Pairwise(min_eigenvalue="low"),
        SettingError,
        "min_eigenvalue is 'low': give a number from 0 up to, but not including, 1",
    ),
    (
        "bounds as a list",
        lambda w: fs.Pairwise(bounds=[(0, 0.3)]),
        SettingError,
        "bounds is [(0, 0.3)]: give {('a', 'b'): (lower, upper)}, or leave it out",
    ),
    (
        "bounds of one name",
        lambda w: fs.Pairwise(bounds={"x": (0, 0.3)}),
        SettingError,
        "bounds names 'x': give a pair as a tuple of two names, such as ('ugpa', 'lsat')",
    ),
    (
        "bounds of one variable twice",
        lambda w: fs.Pairwise(bounds={("x", "x"): (0, 0.3)}),
        SettingError,
        "bounds names ('x', 'x'): give a pair as a tuple of two names, such as ('ugpa', 'lsat')",
    ),
    (
        "bounds upside down",
        lambda w: fs.Pairwise(bounds={PAIR: (0.3, 0)}),
        SettingError,
        "the bounds of x <-> z are (0.3, 0): give -1 <= lower <= upper <= 1",
    ),
    (
        "bounds beyond 1",
        lambda w: fs.Pairwise(bounds={PAIR: (0, 1.3)}),
        SettingError,
        "the bounds of x <-> z are (0, 1.3): give -1 <= lower <= upper <= 1",
    ),
    (
        "one bound",
        lambda w: fs.Pairwise(bounds={PAIR: 0.3}),
        SettingError,
        "the bounds of x <-> z are 0.3: give a lower and an upper number",
    ),
    (
        "bounds as words",
        lambda w: fs.Pairwise(bounds={PAIR: ("low", "high")}),
        SettingError,
        "the bounds of x <-> z are ('low', 'high'): give a lower and an upper number",
    ),
    (
        "bounds in both directions",
        lambda w: fs.Pairwise(bounds={("x", "z"): (0, 0.3), ("z", "x"): (-0.3, 0)}),
        SettingError,
        "bounds names the pair z <-> x twice: give it once",
    ),
    (
        "bounds of a pair that the graph lacks",
        lambda w: w.audit.worst_case(0.3, budget=fs.Pairwise(bounds={("a", "z"): (0, 0.1)})),
        SettingError,
        (
            "the graph does not name the pair a <-> z (its pairs: a <-> x, x <-> z): add '<->' between the two "
            "to the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "bounds beyond the budget",
        lambda w: w.audit.worst_case(0.1, budget=fs.Pairwise(bounds={PAIR: (0.2, 0.3)})),
        SettingError,
        "the bounds of x <-> z, (0.2, 0.3), do not meet |p| <= p_max = 0.1: raise p_max, or widen the bounds",
    ),
    (
        "spectral bounds as a number",
        lambda w: fs.Spectral(bounds=0.3),
        SettingError,
        "bounds is 0.3: give {('a', 'b'): (lower, upper)}, or leave it out",
    ),
    (
        "caps as a list",
        lambda w: fs.SingleCause(caps=[0.3]),
        SettingError,
        "caps is [0.3]: give {'variable': share}, or leave it out",
    ),
    (
        "a cap of 1",
        lambda w: fs.SingleCause(caps={"a": 1}),
        SettingError,
        "the cap of a is 1: give a share of variance from 0 up to, but not including, 1",
    ),
    (
        "a cap of a number",
        lambda w: fs.SingleCause(caps={1: 0.3}),
        SettingError,
        "caps names 1: give the name of a variable",
    ),
    (
        "a cap of a stranger",
        lambda w: w.audit.worst_case(0.3, budget=fs.SingleCause(caps={"zz": 0.3})),
        SettingError,
        (
            "caps names 'zz', which is no variable with an error (in pairs: a, x, z): name one of these, or "
            "add a pair with 'zz' to the graph"
        ),
    ),
    (
        "no starts",
        lambda w: fs.Search(starts=0),
        SettingError,
        "starts is 0: give a whole number of at least 1",
    ),
    (
        "half a start",
        lambda w: fs.Search(starts=1.5),
        SettingError,
        "starts is 1.5: give a whole number of at least 1",
    ),
    (
        "a thousand million starts",
        lambda w: fs.Search(starts=10**10),
        SettingError,
        "starts is 10000000000: give at most 1,000,000,000",
    ),
    (
        "an unknown method",
        lambda w: fs.Search(method="anneal"),
        SettingError,
        "method is 'anneal': give 'search' or 'ascent'",
    ),
    (
        "no processes",
        lambda w: fs.Search(n_jobs=0),
        SettingError,
        "n_jobs is 0: give a number of processes, or -1 for one per core",
    ),
    (
        "a search as a word",
        lambda w: w.audit.worst_case(0.3, search="hard"),
        SettingError,
        "search is 'hard': give a value such as Search(starts=16)",
    ),
    (
        "a worst case of nobody's data",
        lambda w: w.audit.worst_case(None),
        SettingError,
        "p_max is None: give a number from 0 up to, but not including, 1",
    ),
    (
        "a curve of nothing",
        lambda w: w.audit.curve([]),
        SettingError,
        "p_max is empty: give at least one number from 0 up to, but not including, 1",
    ),
    (
        "a curve of words",
        lambda w: w.audit.curve(["low", "high"]),
        SettingError,
        "p_max is 'low': give a number from 0 up to, but not including, 1",
    ),
    (
        "a curve up to 1",
        lambda w: w.audit.curve([0, 1]),
        SettingError,
        "p_max is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a curve of one number",
        lambda w: w.audit.curve(0.3),
        SettingError,
        "p_max is 0.3: give a list of numbers from 0 up to, but not including, 1",
    ),
    (
        "a profile of a stranger",
        lambda w: w.audit.profile(("x", "q")),
        SettingError,
        (
            "the graph does not name the pair x <-> q (its pairs: a <-> x, x <-> z): add '<->' between the two "
            "to the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a profile of a word",
        lambda w: w.audit.profile("xz"),
        SettingError,
        (
            "the graph does not name the pair 'xz' (its pairs: a <-> x, x <-> z): add '<->' between the two to "
            "the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a profile along nothing",
        lambda w: w.audit.profile(PAIR, grid=[]),
        SettingError,
        "grid is empty: give at least one correlation",
    ),
    (
        "a profile up to 1",
        lambda w: w.audit.profile(PAIR, grid=[0, 1]),
        SettingError,
        "the correlation of the grid is 1: give a number strictly between -1 and 1",
    ),
    (
        "a profile along words",
        lambda w: w.audit.profile(PAIR, grid=["low"]),
        SettingError,
        "the correlation of the grid is 'low': give a number strictly between -1 and 1",
    ),
    (
        "a contour of one pair twice",
        lambda w: w.audit.contour(PAIR, PAIR),
        SettingError,
        "both pairs are x <-> z: give two different pairs",
    ),
    (
        "a contour of a stranger",
        lambda w: w.audit.contour(PAIR, ("a", "q")),
        SettingError,
        (
            "the graph does not name the pair a <-> q (its pairs: a <-> x, x <-> z): add '<->' between the two "
            "to the graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a breaking point of a word",
        lambda w: w.audit.breaking_point("unfair"),
        SettingError,
        "there is no baseline 'unfair': give 'unconstrained' or 'blind'",
    ),
    (
        "a breaking point of NaN",
        lambda w: w.audit.breaking_point(np.nan),
        SettingError,
        "the level is nan: give a positive number or the name of a baseline",
    ),
    (
        "a negative level",
        lambda w: w.audit.breaking_point(-1),
        SettingError,
        "the level is -1: give a positive number or the name of a baseline",
    ),
    (
        "an effect on a stranger",
        lambda w: w.audit.effect("zz"),
        SettingError,
        "'zz' is not a feature; did you mean 'z'?",
    ),
    (
        "an effect of no kind",
        lambda w: w.audit.effect("z", "natural"),
        SettingError,
        "kind is 'natural': give 'total', 'direct' or 'indirect'",
    ),
    (
        "an effect on the attribute",
        lambda w: w.audit.effect("a"),
        SettingError,
        "'a' is not a feature",
    ),
    (
        "a coefficient of a stranger",
        lambda w: w.audit.coefficient("zz", "a"),
        SettingError,
        "'zz' is not a feature; did you mean 'z'?",
    ),
    (
        "a coefficient of no term",
        lambda w: w.audit.coefficient("z", "a^7"),
        SettingError,
        "the equation of 'z' has no term 'a^7'; it has 1, a, x",
    ),
    (
        "bounds of nothing",
        lambda w: w.audit.bounds(None, 0.3),
        SettingError,
        (
            "functional is None: give effect(...), coefficient(...), cfu_of_group(...), flips(...) or a "
            "function of the frame of counterfactuals"
        ),
    ),
    (
        "bounds of a word",
        lambda w: w.audit.bounds("cfu", 0.3),
        SettingError,
        (
            "functional is 'cfu': give effect(...), coefficient(...), cfu_of_group(...), flips(...) or a "
            "function of the frame of counterfactuals"
        ),
    ),
    (
        "a functional of the frame that gives text",
        lambda w: w.audit.bounds(lambda frame: "much", 0.3),
        SettingError,
        "<lambda> gives 'much': give a function of the frame to a finite number",
    ),
    (
        "a functional that gives NaN",
        lambda w: w.audit.bounds(lambda frame: np.nan, 0.3),
        SettingError,
        "<lambda> gives nan: give a function of the frame to a finite number",
    ),
    (
        "a functional that fails",
        lambda w: w.audit.bounds(lambda frame: frame["zz"].mean(), 0.3),
        SettingError,
        ("<lambda> failed on the frame of counterfactuals (KeyError: 'zz'): give a function of it to one number"),
    ),
    (
        "a threshold of NaN",
        lambda w: w.audit.flips(np.nan),
        SettingError,
        "threshold is nan: give a number in units of 'y'",
    ),
    (
        "a threshold of words",
        lambda w: w.audit.flips("half"),
        SettingError,
        "threshold is 'half': give a number in units of 'y'",
    ),
    (
        "flips in no direction",
        lambda w: w.audit.flips(0.5, direction="sideways"),
        SettingError,
        "direction is 'sideways': give 'either', 'gained' or 'lost'",
    ),
    (
        "a group of nobody",
        lambda w: w.audit.cfu_of_group("nobody"),
        SettingError,
        "'nobody' is not a level of 'a': give -1 or 1",
    ),
    (
        "a relative CFU of no baseline",
        lambda w: w.audit.relative_cfu("bald"),
        SettingError,
        "there is no baseline 'bald'; did you mean 'blind'?",
    ),
    (
        "too few replicates",
        lambda w: w.audit.estimate({PAIR: 0.3}, bands=3),
        SettingError,
        "n_boot is 3, too few for limits of level 0.95: give at least 39",
    ),
    (
        "replicates as a word",
        lambda w: w.audit.estimate({PAIR: 0.3}, bands="many"),
        SettingError,
        "bands is 'many': give a number of replicates, or a value such as Bootstrap(n_boot=500)",
    ),
    (
        "a level of 1",
        lambda w: fs.Bootstrap(level=1),
        SettingError,
        "level is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a level of 95",
        lambda w: fs.Bootstrap(level=95),
        SettingError,
        "level is 95: give a number from 0 up to, but not including, 1",
    ),
    (
        "no replicates",
        lambda w: fs.Bootstrap(n_boot=0),
        SettingError,
        "n_boot is 0: give a whole number of at least 1",
    ),
    (
        "what is fitted anew",
        lambda w: fs.Bootstrap(refit="model a"),
        SettingError,
        "refit is 'model a': give 'model b' or 'all'",
    ),
    (
        "replicate weights of words",
        lambda w: fs.ReplicateWeights([["a", "b"]]),
        SettingError,
        "replicate_weights hold something that is not a number: give numbers",
    ),
    (
        "replicate weights in a row",
        lambda w: fs.ReplicateWeights(np.ones(60)),
        SettingError,
        "replicate_weights have shape (60,): give a row per person and a column per replicate, two or more",
    ),
    (
        "negative replicate weights",
        lambda w: fs.ReplicateWeights(-np.ones((60, 2))),
        SettingError,
        "replicate_weights must be finite and nowhere negative",
    ),
    (
        "replicate weights of no kind",
        lambda w: fs.ReplicateWeights(np.ones((60, 2)), kind="delete"),
        SettingError,
        "kind is 'delete': give 'bootstrap', 'jackknife' or 'balanced'",
    ),
    (
        "replicate weights of others",
        lambda w: w.audit.estimate(
            {PAIR: 0.3}, bands=fs.Bootstrap(n_boot=39, replicate_weights=fs.ReplicateWeights(np.ones((50, 39))))
        ),
        SettingError,
        "replicate_weights have 50 rows, but the data have 60: give one per person",
    ),
    (
        "a refit that keeps nobody",
        lambda w: w.audit.refit(keep=np.zeros(60, dtype=bool)),
        SettingError,
        "keep leaves no row with weight",
    ),
    (
        "a refit that keeps one group",
        lambda w: w.audit.refit(keep=(w.frame["a"] == w.frame["a"].iloc[0]).to_numpy()),
        DataError,
        (
            "keep leaves nobody of the group 1 of 'a', so that there is nobody to compare with: keep people of "
            "every group"
        ),
    ),
    (
        "a refit that keeps others",
        lambda w: w.audit.refit(keep=[True]),
        SettingError,
        "keep has shape (1,), but the data have 60 rows",
    ),
    (
        "a frontier of negative weights",
        lambda w: w.audit.frontier(0.3, weights=[-1]),
        SettingError,
        "a weight is -1: give a finite number that is not negative",
    ),
    (
        "a robust weight of NaN",
        lambda w: w.audit.robust(0.3, weight=np.nan),
        SettingError,
        "weight is nan: give a finite number that is not negative",
    ),
    (
        "a report up to 1",
        lambda w: w.audit.report(p_max=1),
        SettingError,
        "p_max is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a report to a folder",
        lambda w: w.audit.report("/"),
        SettingError,
        "cannot write the report to '/': it is a folder",
    ),
    (
        "a report to no folder",
        lambda w: w.audit.report("/nowhere/page.html"),
        SettingError,
        "cannot write the report to '/nowhere/page.html': there is no folder '/nowhere'",
    ),
    (
        "text in a matrix",
        lambda w: w.audit.cfu(np.eye(3).astype(str)),
        SettingError,
        (
            "the correlation is array([['1.0', '0.0', '0.0'], ['0.0', '1.0', '0.0'], ['0.0', '0.0', '1.0']], "
            "dtype='<U32'): give a dict of pairs, such as {('ugpa', 'lsat'): 0.3}, or a frame or array of "
            "numbers with rows and columns a, x, z"
        ),
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("spoilt", "error", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refusals_of_budgets(spoilt, error, sentence, world, refuses):
    refuses(lambda: spoilt(world), sentence, error)
