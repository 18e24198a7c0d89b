"""Limits hold as often as they say, in small; ``studies/coverage.py`` has it in large."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    path = Path(__file__).parents[2] / "studies" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_study", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("rho", [0.0, 0.2])
def test_upper_limits_hold_in_95_of_100_tables_and_those_of_the_procedure_do_not(coverage, rho):
    cell = coverage.Cell(500, 1, rho, 0.0)
    tables = [coverage.one_table(cell, seed, 59, naive=rho == 0 and seed < 4) for seed in range(24)]
    for name in ("fixed P", "curve 0.2"):
        held = np.mean([table[f"upper {name}"] >= table[f"true {name}"] for table in tables])
        assert held >= 20 / 24  # of 24 tables 19 or fewer hold in 4 of 1,000 samples, if 95 % do
    assert np.mean([table["breaking point"] for table in tables]) >= 20 / 24
    if rho == 0:  # a predictor fitted anew is at 0 again: its limit is 0 up to rounding, and holds never
        assert not any(table["naive"] >= table["true fixed P"] for table in tables[:4])


def test_the_truth_about_a_predictor_is_what_its_own_claim_says_under_the_true_equations(coverage):
    """The true weights are 0.5, 0.3 and 0.6; Model B of quasi-random people has them at the true correlation."""
    _, P, _, weights = coverage.population(1, 0.2)
    assert P[-1][0, 1] == 0.2
    np.testing.assert_allclose(weights[-1], [0.5, 0.3, 0.6], atol=2e-4)  # 131,072 quasi-random people
