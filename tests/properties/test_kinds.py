"""Estimates at the true correlation are the truth for every kind of feature, in small; ``studies`` has it in large."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstress as fs

N, SEEDS = 4000, range(1, 9)


def load_study() -> Any:
    """Import the study, whose folder is no package."""
    path = Path(__file__).parents[2] / "studies" / "truth_of_kinds.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


STUDY = load_study()
CASES = pytest.mark.parametrize("case", STUDY.CASES, ids=[case.name for case in STUDY.CASES])
CONFOUNDED = pytest.mark.parametrize("confounded", [False, True], ids=["attribute free", "attribute tied"])


@CASES
@CONFOUNDED
def test_cfu_and_total_effect_at_the_true_correlation_are_those_of_the_drawn_counterfactuals(case, confounded):
    draws = STUDY.estimates(case, N, SEEDS, confounded, off=False)
    for name in ("cfu", "effect"):
        difference = draws[f"{name}_estimate"] - draws[name]
        assert abs(STUDY.in_errors(difference)) < 3
        assert np.sqrt((difference**2).mean()) < 0.35 * draws[name].abs().mean()  # and the errors are no excuse


@CASES
@CONFOUNDED
def test_cfu_at_a_wrong_correlation_is_not_the_truth_unless_no_correlation_can_matter(case, confounded):
    draws = STUDY.estimates(case, N, SEEDS[:1], confounded)
    moved = draws["cfu_turned"] - draws["cfu_estimate"]
    if case.is_absorbed and not confounded:
        assert (moved.abs() < 1e-3 * draws["cfu"]).all()
    else:
        assert (moved.abs() > 0.05 * draws["cfu"]).all()


# ---------------------------------------------------------------- two values above a tied number


def two_values_above_a_number(n: int, p: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``x1 = sign(0.2 + 0.6 a + e1)``, ``x2 = 0.3 a + 0.8 x1 + 0.7 e2``, the errors correlated by p: both worlds."""
    rng = np.random.default_rng(seed)
    a = rng.choice([-1, 1], n)
    e = rng.standard_normal((n, 2)) @ np.linalg.cholesky([[1, p], [p, 1]]).T

    def world(a: np.ndarray) -> pd.DataFrame:
        x1 = np.where(0.2 + 0.6 * a + e[:, 0] > 0, 1, -1)
        return pd.DataFrame({"a": a, "x1": x1, "x2": 0.3 * a + 0.8 * x1 + 0.7 * e[:, 1]})

    return world(a).assign(y=rng.standard_normal(n)), world(-a)


def score(columns: pd.DataFrame) -> np.ndarray:
    return 0.5 * columns["x1"].to_numpy() + columns["x2"].to_numpy()


@pytest.mark.parametrize(("p", "independent"), [(0.3, 5.18), (-0.5, 4.05)])
def test_a_two_valued_feature_above_a_tied_number_is_unfair_by_as_much_as_was_drawn(p, independent):
    graph = fs.CausalGraph.parse("a -> x1, x2; x1 -> x2; x1 <-> x2", protected="a", outcome="y")
    predictor = fs.Predictor(score, input="features")
    found = []
    for seed in range(3):
        frame, other = two_values_above_a_number(50_000, p, seed)
        audit = fs.Audit.fit(frame, graph, penalty=0, degrees={"x1": 1, "x2": 1}, predictor=predictor)
        truth = np.mean((score(frame) - score(other)) ** 2)
        found.append((truth, audit.cfu({("x1", "x2"): p}), audit.cfu({})))
    truth, at_p, at_identity = np.mean(found, axis=0)
    moved = stats.norm.cdf(0.8) - stats.norm.cdf(-0.4)  # so many change x1, and with it the score by 2.6 more
    exact = moved * 3.2**2 + (1 - moved) * 0.6**2
    assert truth == pytest.approx(exact, rel=0.01)
    assert at_p == pytest.approx(exact, rel=0.02)
    assert at_identity == pytest.approx(independent, rel=0.03)
