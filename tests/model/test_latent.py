from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate

import fairstress as fs
from fairstress.model.latent import Layout, errors, interval_mean, patterns, residual, seen

GRAPH = fs.CausalGraph.parse("a -> x1, x2, x3; x1 -> x2; x2 -> x3; a <-> x1 <-> x3", protected="a", outcome="y")
KINDS = {"x1": "ordered", "x2": "number by group", "x3": "zero or number"}
OPTIONS = {
    "cuts": {"x1": (-0.5, 0.6)},
    "scales": {"x2": {-1: 0.7, 1: 1.2}},
    "weights": {"x1": {"a": 0.4}, "x2": {-1: {"x1": 0.5}, 1: {"1": 0.3, "x1": 0.8}}, "x3": {"a": 0.3, "x2": 0.4}},
}


@pytest.fixture(scope="module")
def truth():
    return fs.datasets.simulate(GRAPH, 4000, kinds=KINDS, random_state=0, **OPTIONS)


@pytest.fixture(scope="module")
def claim(truth):
    given = {"degrees": dict.fromkeys(KINDS, 1), "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(truth.frame, GRAPH, kinds=KINDS, penalty=0, **given).fitted.claim


def mean_by_quadrature(low, high):
    """The mean of a standard normal within an interval, its density measured from its highest point."""
    peak = min(max(0.0, low), high)
    width = 40 / max(1.0, abs(peak))  # beyond it the density is less than exp(-40) of its highest
    ends = max(low, peak - width), min(high, peak + width)
    parts = np.linspace(*ends, 33)
    moments = [
        sum(
            integrate.quad(lambda e, k=k: (e - peak) ** k * np.exp(-(e - peak) * (e + peak) / 2), *two, epsrel=1e-13)[0]
            for two in itertools.pairwise(parts)
        )
        for k in (0, 1)
    ]
    return peak + moments[1] / moments[0]


ENDS = (-np.inf, -30.0, -29.9, -12.0, -8.0, -1.0, -0.001, 0.0, 0.5, 0.501, 3.0, 7.0, 25.0, 30.0, 30.1, np.inf)


def test_the_mean_within_an_interval_is_that_of_numerical_integration_out_to_thirty_deviations():
    pairs = np.array([(low, high) for low in ENDS for high in ENDS if low < high])
    expected = [mean_by_quadrature(low, high) for low, high in pairs]
    found = interval_mean(*pairs.T, np.ones(len(pairs), dtype=bool))
    # a difference of densities over a probability: narrow intervals far out lose some digits
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("end", [-30.0, -7.0, -0.3, 0.0, 2.0, 30.0])
def test_the_mean_within_a_narrow_interval_lies_in_it_where_gauss_and_legendre_have_it(end):
    width = np.logspace(-14, -1, 40)
    low, high = np.full(40, end), end + width
    x, w = np.polynomial.legendre.leggauss(20)
    e = end + width[:, None] * (1 + x) / 2
    density = w * np.exp((end - e) * (end + e) / 2)
    found = interval_mean(low, high, np.ones(40, dtype=bool))
    assert ((low <= found) & (found <= high)).all()
    np.testing.assert_allclose(found, (e * density).sum(axis=1) / density.sum(axis=1), rtol=1e-9, atol=1e-10)


def test_the_mean_is_asked_for_only_where_an_error_is_an_interval():
    found = interval_mean(np.array([2.0, -np.inf]), np.array([2.0, 0.0]), np.array([False, True]))
    np.testing.assert_allclose(found, [0.0, -np.sqrt(2 / np.pi)], rtol=1e-14)


def test_patterns_part_the_rows_by_what_is_known():
    rng = np.random.default_rng(0)
    masks = [rng.random(50) < 0.5, np.zeros(50, dtype=bool), rng.random(50) < 0.1]
    found = list(patterns(masks))
    assert sorted(np.concatenate([rows for rows, _, _ in found]).tolist()) == list(range(50))
    for rows, known, intervals in found:
        assert sorted(known + intervals) == [0, 1, 2]
        for v, mask in enumerate(masks):
            assert (mask[rows] == (v in intervals)).all()


def test_parameters_of_each_variable_stand_apart_and_the_attribute_comes_first(claim):
    layout = Layout.of(claim.design)
    assert [part.equation.feature for part in layout.parts] == ["a", "x1", "x2", "x3"]
    assert [part.equation.feature for part in layout.features] == ["x1", "x2", "x3"]
    sizes = {"weights": claim.model_a.weights, "scales": claim.model_a.log_scales, "cuts": claim.model_a.cuts}
    for name, values in sizes.items():
        places = np.concatenate([np.arange(values.size)[getattr(part, name)] for part in layout.parts])
        assert sorted(places.tolist()) == list(range(values.size))
    assert [len(np.arange(9)[part.scales]) for part in layout.parts] == [0, 0, 2, 1]
    assert [len(np.arange(9)[part.cuts]) for part in layout.parts] == [1, 2, 0, 0]


def test_what_a_fit_knows_of_errors_holds_those_that_were_drawn(claim, truth):
    # weights are off by some 1/sqrt(n) = 0.016, so that few drawn errors lie a little outside
    frame, table = truth.frame, claim.rows
    drawn = truth.noise.assign(x2=truth.noise["x2"] / np.where(frame["a"] == 1, 1.2, 0.7)).to_numpy()
    order = np.lexsort(np.column_stack([frame[["x1", "x2", "x3"]], frame["a"]]).T)
    own = np.lexsort(np.column_stack([table.x, table.a]).T)
    assert table.a.size == len(frame)
    for v, known in enumerate(errors(Layout.of(claim.design), claim.model_a, table)):
        low, high, e = known.lower[own], known.upper[own], drawn[order, v]
        assert (low <= high).all()
        assert np.maximum(low - e, e - high).max() < 0.25
        np.testing.assert_array_equal(known.lower == known.upper, ~known.is_interval)


def test_a_predictor_is_shown_the_mean_error_within_what_is_known_which_averages_to_nothing(claim):
    rows, layout = claim.rows, Layout.of(claim.design)
    for part, known in zip(layout.parts, errors(layout, claim.model_a, rows), strict=True):
        phi = part.equation.values(rows.a, rows.x)
        shown = residual(part, claim.model_a, rows.a, seen(part, rows), phi)
        assert ((known.lower <= shown) & (shown <= known.upper)).all()
        np.testing.assert_array_equal(shown[~known.is_interval], known.lower[~known.is_interval])
        assert abs(rows.weight @ shown) < 1e-6 * rows.n  # the derivative of the log likelihood by a constant or cuts
