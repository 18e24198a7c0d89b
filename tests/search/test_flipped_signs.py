"""Sign patterns from which a search with many pairs sets out: none grows by one more flip."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.search.search import _flip


def model(g: np.ndarray, H: np.ndarray, p: np.ndarray) -> float:
    return float(g @ p + p @ H @ p / 2)


@pytest.mark.parametrize("size", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(5))
def test_no_single_flip_makes_the_quadratic_model_larger(size, seed):
    rng = np.random.default_rng(seed)
    g, H = rng.standard_normal(8) / 4, rng.standard_normal((8, 8))
    H = H + H.T + np.diag(rng.standard_normal(8))
    start = rng.choice([-1.0, 1.0], 8)
    end = _flip(g, H, size, start)
    flipped = [model(g, H, size * np.where(np.arange(8) == i, -end, end)) for i in range(8)]
    assert max(flipped) <= model(g, H, size * end) + 1e-12
    assert model(g, H, size * end) >= model(g, H, size * start)
