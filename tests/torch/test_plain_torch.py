"""The paper's formulas in plain PyTorch are a second opinion on the law-school profile."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.torch


def _load(name):
    """Import a module from the benchmarks folder, which is no package."""
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


plain_torch = _load("plain_torch")
benchmark = _load("profile_against_torch")


@pytest.fixture(scope="module")
def audit():
    return benchmark.law_school_audit()


@pytest.fixture(scope="module")
def problem(audit):
    return benchmark.torch_problem(audit)


@pytest.mark.parametrize("blockwise", [False, True])
def test_both_programs_find_the_same_cfu_at_moderate_correlations(audit, problem, blockwise):
    grid = [-0.5, -0.2, 0.3, 0.5]
    ours = audit.profile(benchmark.PAIR, grid).cfu
    # Powell stops at 1e-3 on log sigma, which leaves CFU right to a few thousandths
    np.testing.assert_allclose(plain_torch.profile(replace(problem, blockwise=blockwise), grid), ours, rtol=0.01)


def test_a_tighter_search_over_scales_brings_the_two_programs_together(audit, problem):
    grid = [-0.9, -0.5, 0.5, 0.9]
    ours = audit.profile(benchmark.PAIR, grid).cfu
    # what is left, about 1e-5, is the optimum of Model A that one alternation does not reach
    theirs = plain_torch.profile(replace(problem, blockwise=True), grid, tolerance=1e-7)
    np.testing.assert_allclose(theirs, ours, rtol=1e-4)


def test_one_alternation_gives_the_regression_functions_of_model_a(audit, problem):
    Phi = plain_torch.embed_all(problem)
    eps = plain_torch.residuals(problem, Phi, plain_torch.fit_model_a(problem, Phi).weights)
    theirs = (problem.x - eps).T.numpy()
    claim, table = audit.fitted.claim, audit.fitted.table
    ours = claim.design.fitted(table.rows.a, table.rows.x, claim.model_a.weights)[table.row_of]
    # standard deviations: the paper stops after one alternation, which leaves 6e-7 to fairstress's optimum
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-6)


def test_repeated_powers_of_the_attribute_are_kept_as_columns_of_their_own():
    a, g = torch.tensor([-1.0, 1.0]), torch.tensor([2.0, 3.0])
    found = plain_torch.monomials([a, g], 2)
    assert found.tolist() == [[1, 1], [-1, 1], [2, 3], [1, 1], [-2, 3], [4, 9]]
