"""Which columns a pipeline uses: weights of 0 tell it only where each weight is still about one column."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairstress.model.scikit import columns_in_use

SHOWN = ("x", "z", "v")


def fitted(*before):
    """A pipeline whose last step has weight 0 for its second input."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    pipeline = make_pipeline(*before, LinearRegression()).fit(X, X[:, 0])
    pipeline[-1].coef_ = np.array([1.0, 0.0, 2.0])
    return pipeline


@pytest.mark.parametrize("before", [[], [StandardScaler()], [StandardScaler(), "passthrough"]])
def test_a_weight_of_zero_is_a_columns_where_steps_before_keep_columns_apart(before):
    assert columns_in_use(fitted(*before), SHOWN) == ("x", "v")


@pytest.mark.parametrize("before", [[PCA()], [StandardScaler(), PCA()], [PCA(), "passthrough"]])
def test_it_is_nobodys_where_a_step_before_mixes_them(before):
    assert columns_in_use(fitted(*before), SHOWN) == SHOWN
