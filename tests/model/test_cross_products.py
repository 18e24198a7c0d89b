"""Sums of products in pieces are those of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.model.cross_products import MANY, across, gram


@pytest.mark.parametrize("r", [0, 1, 511, 512, 5000])
@pytest.mark.parametrize("v", [3, 700], ids=["few", "many"])
def test_sums_across_are_the_product_of_matrices(r, v):
    rng = np.random.default_rng(r)
    left, right = rng.standard_normal((8, r)), rng.standard_normal((v, r))
    np.testing.assert_allclose(across(left, right), left @ right.T, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("r", [100, MANY + 3])
@pytest.mark.parametrize("d", [1, 8, 19])
def test_a_gram_matrix_is_symmetric_and_weighed(d, r, order):
    rng = np.random.default_rng(d)
    columns = np.array(rng.standard_normal((d, r)), order=order)
    for weight in (np.ones(r), rng.uniform(0, 2, r)):
        found = gram(columns, weight)
        np.testing.assert_allclose(found, np.einsum("ir,jr,r->ij", columns, columns, weight), rtol=1e-10, atol=1e-9)
        assert r == 100 or order == "F" or np.array_equal(found, found.T)
