"""Features with levels against statsmodels, against scipy on raw rows, and against limits that no model can leave.

Stored values of statsmodels come from ``generate.py``; its search leaves some eight digits.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import fairstress as fs
from fairstress.claim.evaluate import model_b, predictions

STORED = json.loads((Path(__file__).parent / "other_programs.json").read_text())["ordered_features"]
OPTIONS = {"penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 1.0, "reference": "White"}


def law_school_levels() -> pd.DataFrame:
    """The first people of the law-school table, two of its columns cut into levels."""
    frame = fs.datasets.law_school().iloc[: STORED["people"]].reset_index(drop=True)
    return frame.assign(**{name: np.searchsorted(cuts, frame[name]) for name, cuts in STORED["levels"].items()})


def audit_of(edges: str, features: list[str], frame: pd.DataFrame | None = None) -> fs.Audit:
    graph = fs.CausalGraph.parse(edges, protected="race", outcome="sander_index")
    frame = law_school_levels() if frame is None else frame
    return fs.Audit.fit(frame, graph, degrees=dict.fromkeys(features, 1), **OPTIONS)


# ---------------------------------------------------------------- statsmodels


@pytest.mark.parametrize("feature", list(STORED["features"]))
def test_with_independent_errors_weights_and_cuts_are_those_of_statsmodels_ordered_probit(feature: str) -> None:
    audit = audit_of(STORED["graph"], ["ugpa", "lsat", "zfya", "first_pf"])
    stored, model = STORED["features"][feature], audit.model_a
    weights = model.weights[feature]
    assert set(weights.index) == set(stored["weights"])
    np.testing.assert_allclose(weights, [stored["weights"][term] for term in weights.index], rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.cuts[feature], stored["cuts"], rtol=0, atol=1e-6)


def test_the_log_likelihood_of_levels_is_the_sum_of_statsmodels_own() -> None:
    audit = audit_of(STORED["graph"], ["ugpa", "lsat", "zfya", "first_pf"])
    # the number's part: a regression, of a standardised column
    n, sigma = STORED["people"], float(audit.model_a.scales["lsat"])
    number = -n * (np.log(2 * np.pi * sigma**2) + 1) / 2
    stored = sum(feature["log_likelihood"] for feature in STORED["features"].values())
    assert audit.model_a.log_likelihood == pytest.approx(stored + number, rel=1e-10)


# ---------------------------------------------------------------- scipy's bivariate normal, row by row

PAIR = "race -> ugpa, zfya; ugpa -> zfya; ugpa <-> zfya"


def cuts_of(v: np.ndarray) -> np.ndarray:
    """Cuts from the first of them and the logs of the distances between them."""
    return np.append(v[:1], v[0] + np.cumsum(np.exp(v[1:])))


def ends(cuts: np.ndarray, level: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    return edges[level] - index, edges[level + 1] - index


def minus_log_likelihood(v: np.ndarray, race: np.ndarray, ugpa: np.ndarray, zfya: np.ndarray, p: float) -> float:
    """Of all rows, with weights, first cuts and logs of the distances between cuts."""
    cuts = [cuts_of(part) for part in (v[3:5], v[5:])]
    score = (ugpa - ugpa.mean()) / ugpa.std()
    sides = [ends(cuts[0], ugpa, v[0] * race), ends(cuts[1], zfya, v[1] * race + v[2] * score)]
    lower, upper = (np.column_stack(both) for both in zip(*sides, strict=True))
    cov = np.array([[1.0, p], [p, 1.0]])
    chance = stats.multivariate_normal.cdf(upper, np.zeros(2), cov, lower_limit=lower, abseps=1e-12, releps=1e-12)
    return -float(np.log(chance).sum())


@pytest.mark.parametrize("p", [0.0, 0.4, -0.7])
def test_two_tied_ordered_features_have_the_optimum_that_scipy_finds_on_raw_rows(p: float) -> None:
    frame = law_school_levels()
    race = np.where(frame["race"] == "White", 1.0, -1.0)
    rows = race, frame["ugpa"].to_numpy(), frame["zfya"].to_numpy(), p
    start = np.array([0, 0, 0, -0.5, 0, -0.5, 0, 0], dtype=float)
    other = optimize.minimize(minus_log_likelihood, start, rows, method="BFGS", options={"gtol": 1e-4})
    model = audit_of(PAIR, ["ugpa", "zfya"], frame).model_b({("ugpa", "zfya"): p})
    assert model.log_likelihood == pytest.approx(-other.fun, rel=1e-9)
    found = [model.weights["ugpa"]["race"], *model.weights["zfya"][["race", "ugpa"]]]
    np.testing.assert_allclose(found, other.x[:3], atol=1e-4)
    for feature, part in (("ugpa", other.x[3:5]), ("zfya", other.x[5:8])):
        np.testing.assert_allclose(model.cuts[feature], cuts_of(part), atol=1e-4)


def test_a_number_above_a_tied_ordered_feature_has_the_optimum_that_scipy_finds_on_raw_rows() -> None:
    frame, p = law_school_levels(), 0.5
    race = np.where(frame["race"] == "White", 1.0, -1.0)
    lsat = ((frame["lsat"] - frame["lsat"].mean()) / frame["lsat"].std(ddof=0)).to_numpy()
    zfya = frame["zfya"].to_numpy()

    def minus(v: np.ndarray) -> float:
        e = (lsat - v[0] - v[1] * race) / np.exp(v[2])
        lower, upper = ends(cuts_of(v[5:]), zfya, v[3] * race + v[4] * lsat)
        law = stats.norm(p * e, np.sqrt(1 - p**2))
        return -float((stats.norm.logpdf(e) - v[2] + np.log(law.cdf(upper) - law.cdf(lower))).sum())

    other = optimize.minimize(minus, np.array([0, 0, 0, 0, 0, -0.5, 0, 0.0]), method="BFGS", options={"gtol": 1e-4})
    model = audit_of("race -> lsat, zfya; lsat -> zfya; lsat <-> zfya", ["lsat", "zfya"], frame)
    model = model.model_b({("lsat", "zfya"): p})
    assert model.log_likelihood == pytest.approx(-other.fun, rel=1e-9)
    np.testing.assert_allclose(model.weights["lsat"][["1", "race"]], other.x[:2], atol=1e-4)
    np.testing.assert_allclose(model.scales["lsat"], np.exp(other.x[2]), atol=1e-4)
    np.testing.assert_allclose(model.weights["zfya"][["race", "lsat"]], other.x[3:5], atol=1e-4)
    np.testing.assert_allclose(
        model.cuts["zfya"], np.append(other.x[5], other.x[5] + np.cumsum(np.exp(other.x[6:]))), atol=1e-4
    )


# ---------------------------------------------------------------- sharp limits

CHAIN = "a -> x1 -> x2; a -> x2"
FUNCTIONS_OF_A = list(itertools.product((0, 1), repeat=2))  # x1 as a function of a
FUNCTIONS_OF_BOTH = list(itertools.product((0, 1), repeat=4))  # x2 as a function of a and x1


def response_types(edges_to_x2: bool) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """A value of a with a function for x1 and one for x2: all that a person can be, with hidden causes of any kind."""
    of_x2 = [f for f in FUNCTIONS_OF_BOTH if edges_to_x2 or (f[0] == f[2] and f[1] == f[3])]
    return list(itertools.product((0, 1), FUNCTIONS_OF_A, of_x2))


def limits(joint: np.ndarray, confounded: bool, edges_to_x2: bool) -> tuple[float, float]:
    """Least and largest mean square change of ``x1 + 2 x2`` (levels 0 and 1) with this law of (a, x1, x2)."""
    types = response_types(edges_to_x2)
    change, cells = np.empty(len(types)), np.zeros((8, len(types)))
    for t, (a, f1, f2) in enumerate(types):
        x1, x1_cf = f1[a], f1[1 - a]
        x2, x2_cf = f2[2 * a + x1], f2[2 * (1 - a) + x1_cf]
        change[t] = (x1 - x1_cf + 2 * (x2 - x2_cf)) ** 2
        cells[4 * a + 2 * x1 + x2, t] = 1.0
    rows, right = [cells], [joint.ravel()]
    if not confounded:  # a tells nothing about the functions
        half, share = len(types) // 2, joint.sum(axis=(1, 2))
        rows.append(np.hstack([share[1] * np.eye(half), -share[0] * np.eye(half)]))
        right.append(np.zeros(half))
    A, b = np.vstack(rows), np.concatenate(right)
    found = [optimize.linprog(sign * change, A_eq=A, b_eq=b, method="highs") for sign in (1, -1)]
    assert all(one.status == 0 for one in found)
    return found[0].fun, -found[1].fun


def trivariate(lower: np.ndarray, upper: np.ndarray, R: np.ndarray) -> float:
    """Chance of a rectangle of three errors: scipy's bivariate law of the last two, integrated over the first."""
    t, w = np.polynomial.legendre.leggauss(60)
    ends = max(lower[0], -9.0), min(upper[0], 9.0)
    t, w = (ends[0] + ends[1] + (ends[1] - ends[0]) * t) / 2, (ends[1] - ends[0]) * w / 2
    mean, cov = np.outer(t, R[0, 1:]), R[1:, 1:] - np.outer(R[0, 1:], R[0, 1:])
    inside = stats.multivariate_normal.cdf(upper[1:] - mean, np.zeros(2), cov, lower_limit=lower[1:] - mean)
    return float(w @ (stats.norm.pdf(t) * inside))


def fitted_law(audit: fs.Audit, model: Any) -> np.ndarray:
    """(2, 2, 2) probabilities of (a, x1, x2) under Model B; an attribute that is not tied has its share of people."""
    R, joint = np.eye(3), np.empty((2, 2, 2))
    names = list(model.correlation.columns)
    R[-len(names) :, -len(names) :] = model.correlation
    rows = audit.fitted.claim.rows
    share = rows.weight[rows.a > 0].sum() / rows.n
    tau = [model.cuts["a"].iloc[0] if "a" in names else stats.norm.ppf(1 - share)]
    tau += [model.cuts[name].iloc[0] for name in ("x1", "x2")]
    for levels in itertools.product((0, 1), repeat=3):
        seen = dict(zip(("a", "x1"), 2.0 * np.array(levels[:2]) - 1, strict=True))
        index = [sum(w * seen[term] for term, w in model.weights[name].items()) for name in ("x1", "x2")]
        side = np.array(tau) - [0.0, *index]
        low = np.array(levels) == 0
        joint[levels] = trivariate(np.where(low, -np.inf, side), np.where(low, side, np.inf), R)
    return joint


@pytest.mark.parametrize("confounded", [False, True], ids=["attribute free", "attribute tied"])
@pytest.mark.parametrize("edges_to_x2", [True, False], ids=["a -> x2", "no a -> x2"])
def test_cfu_lies_within_the_sharp_limits_of_the_fitted_law_at_every_correlation(
    confounded: bool, edges_to_x2: bool
) -> None:
    edges = (CHAIN if edges_to_x2 else "a -> x1 -> x2") + "; x1 <-> x2" + ("; a <-> x1; a <-> x2" if confounded else "")
    graph = fs.CausalGraph.parse(edges, protected="a", outcome="y")
    kinds = {"x1": "ordered", "x2": "ordered"}
    frame = fs.datasets.simulate(graph, 2000, kinds=kinds, random_state=5).frame
    predictor = fs.Predictor(lambda d: d["x1"].to_numpy() + 2.0 * d["x2"].to_numpy(), input="features")
    audit = fs.Audit.fit(frame, graph, kinds=kinds, degrees={"x1": 1, "x2": 1}, penalty=0, predictor=predictor)
    rows, found = audit.fitted.claim.rows, []
    assert rows.a.size == 8
    cells = tuple((np.column_stack([rows.a, rows.x]).T > 0).astype(int))
    for p in itertools.product((-0.45, 0.0, 0.4), repeat=3 if confounded else 1):
        P = audit._read(dict(zip(graph.pairs, p, strict=True)))
        joint = fitted_law(audit, audit.model_b(P))
        assert joint.sum() == pytest.approx(1.0, abs=1e-9)
        low, high = limits(joint / joint.sum(), confounded, edges_to_x2)
        each = predictions(audit.fitted.claim, model_b(audit.fitted.claim, P))[2]
        found.append(float(joint[cells] @ each))  # CFU of a population with that law
        assert low - 1e-7 <= found[-1] <= high + 1e-7
        assert audit.cfu(P) == pytest.approx(float(rows.weight @ each) / rows.n, rel=1e-12)
    assert np.ptp(found) > 0.01  # and it is not the same at all of them
