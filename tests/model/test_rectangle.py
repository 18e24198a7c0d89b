"""Rectangles agree with one-dimensional integrals, with each other, and with their own differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from fairstress.model import rectangle
from fairstress.model.rectangle import rectangles


def boxes(rng, r, S, *, infinite=0.25, width=1.0):
    """Rectangles about draws from the law, some of their bounds infinite."""
    e = rng.multivariate_normal(np.zeros(len(S)), S, size=r)
    w = width * np.sqrt(np.diag(S)) * (np.abs(rng.standard_normal((2, *e.shape))) + 0.05)
    lower = np.where(rng.random(e.shape) < infinite, -np.inf, e - w[0])
    return lower, np.where(rng.random(e.shape) < infinite, np.inf, e + w[1])


def random_covariance(rng, d):
    A = rng.standard_normal((d, d + 1))
    return A @ A.T


def one_factor(loadings):
    """The correlation of variables that share one factor: ``R_ij = b_i b_j``."""
    b = np.asarray(loadings, dtype=float)
    return np.outer(b, b) + np.diag(1 - b**2)


def one_factor_log_probability(lower, upper, loadings):
    """Given the factor the variables are independent: one integral over it, scaled by its largest value."""
    b, sd = np.asarray(loadings), np.sqrt(1 - np.square(loadings))

    def log_f(z):
        z = np.asarray(z)[..., None]
        lo, hi = (lower - b * z) / sd, (upper - b * z) / sd
        lo, hi = np.where(lo > -hi, -hi, lo), np.where(lo > -hi, -lo, hi)
        top = special.log_ndtr(hi)
        with np.errstate(divide="ignore"):
            return np.sum(top + np.log1p(-np.exp(special.log_ndtr(lo) - top)), axis=-1) - z[..., 0] ** 2 / 2

    grid = np.linspace(-40, 40, 40_001)
    values = log_f(grid)
    inside = grid[values > values.max() - 45]
    ends = np.linspace(inside[0] - 2e-3, inside[-1] + 2e-3, 401)
    x, w = np.polynomial.legendre.leggauss(20)
    z = (ends[:-1, None] + ends[1:, None] + (ends[1] - ends[0]) * x) / 2
    return values.max() + np.log(np.sum(np.exp(log_f(z) - values.max()) @ w) * (ends[1] - ends[0]) / np.sqrt(8 * np.pi))


def differences(lower, upper, S, h=1e-5):
    """Central differences of log probabilities and of gradients by all bounds."""
    d = lower.shape[1]
    g, H = np.zeros((len(lower), 2 * d)), np.zeros((len(lower), 2 * d, 2 * d))
    for p, step in enumerate(h * np.eye(2 * d)):
        up = rectangles(lower + step[:d], upper + step[d:], S, derivatives=1)
        down = rectangles(lower - step[:d], upper - step[d:], S, derivatives=1)
        g[:, p] = (up.log_probability - down.log_probability) / (2 * h)
        H[:, p] = (up.gradient - down.gradient) / (2 * h)
    return g, H


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("a", [-30.0, -8.0, -0.7, 0.0, 0.2, 3.0, 29.0])
@pytest.mark.parametrize("width", [1e-9, 1e-3, 0.1, 0.24, 0.26, 2.0])
def test_an_interval_is_the_integral_of_its_density_in_both_tails(a, width):
    b = a + width
    near = min(max(0.0, a), b)
    x, w = np.polynomial.legendre.leggauss(60)
    z = (b - a) / 2 * x + (a + b) / 2
    expected = np.log((b - a) / 2 * w @ np.exp((near - z) * (near + z) / 2)) - near**2 / 2 - np.log(2 * np.pi) / 2
    found = rectangles(np.array([[2 * a]]), np.array([[2 * b]]), np.array([[4.0]])).log_probability
    assert found == pytest.approx(expected, rel=1e-14, abs=1e-13)


def test_half_lines_are_the_normal_distribution_with_its_hazard_far_out():
    t = np.array([-1000.0, -30.0, -3.0, 0.0, 3.0, 30.0])[:, None]
    found = rectangles(np.full_like(t, -np.inf), t, np.eye(1), derivatives=2)
    assert found.log_probability == pytest.approx(special.log_ndtr(t[:, 0]), rel=1e-14)
    hazard = np.sqrt(2 / np.pi) / special.erfcx(-t[:, 0] * np.sqrt(0.5))
    assert found.gradient[:, 1] == pytest.approx(hazard, rel=1e-12)
    # -h (t + h) subtracts numbers as large as t^2
    assert found.hessian[:, 1, 1] == pytest.approx(-hazard * (t[:, 0] + hazard), abs=1e-9)
    assert not found.gradient[:, 0].any()


@pytest.mark.parametrize("rho", [0.05, 0.3, -0.6, 0.9, -0.95, 0.99, 0.999])
def test_two_coordinates_are_an_integral_over_their_common_factor(rho):
    rng = np.random.default_rng(1)
    loadings = np.sqrt(abs(rho)) * np.array([1, np.sign(rho)])
    lower, upper = boxes(rng, 12, one_factor(loadings), width=0.6)
    lower[:4] = [1.2, -0.9] + 0.3 * rng.standard_normal((4, 2))  # against the correlation too: small probabilities
    upper[:4] = lower[:4] + np.array([[0.4, 0.3], [np.inf, 0.3], [0.01, 0.02], [1.0, 0.7]])
    expected = [one_factor_log_probability(lo, up, loadings) for lo, up in zip(lower, upper, strict=True)]
    found = rectangles(lower, upper, one_factor(loadings))
    assert found.log_probability == pytest.approx(np.array(expected), abs=1e-10)
    assert found.error == 0.0


@pytest.mark.parametrize(
    "loadings",
    [(0.3, 0.5, 0.6), (0.9, -0.9, 0.5), (0.95, 0.95, 0.95), (0.9995, 0.9995, 0.3), (0.9995, -0.9995, 0.9995)],
)
def test_three_coordinates_are_an_integral_over_their_common_factor(loadings):
    rng = np.random.default_rng(2)
    lower, upper = boxes(rng, 10, one_factor(loadings))
    expected = [one_factor_log_probability(lo, up, loadings) for lo, up in zip(lower, upper, strict=True)]
    found = rectangles(lower, upper, one_factor(loadings))
    assert found.log_probability == pytest.approx(np.array(expected), abs=1e-9)
    assert found.error == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_three_coordinates_of_any_covariance_are_two_given_the_third_integrated(seed):
    rng = np.random.default_rng(seed)
    S = random_covariance(rng, 3)
    lower, upper = boxes(rng, 2, S)
    lower, upper = np.maximum(lower, -9 * np.sqrt(np.diag(S))), np.minimum(upper, 9 * np.sqrt(np.diag(S)))
    slope, rest = S[1:, 0] / S[0, 0], S[1:, 1:] - np.outer(S[1:, 0], S[1:, 0]) / S[0, 0]
    for lo, up in zip(lower, upper, strict=True):

        def slices(x, lo=lo, up=up):
            given = rectangles((lo[1:] - slope * x)[None], (up[1:] - slope * x)[None], rest)
            return stats.norm.pdf(x, scale=np.sqrt(S[0, 0])) * np.exp(given.log_probability[0])

        expected = np.log(integrate.quad(slices, lo[0], up[0], epsabs=0, epsrel=1e-11, limit=500)[0])
        assert rectangles(lo[None], up[None], S).log_probability[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("d", [4, 5, 7])
@pytest.mark.parametrize("loading", [0.5, 0.8])
def test_more_coordinates_are_within_a_few_times_their_error(d, loading):
    rng = np.random.default_rng(3)
    loadings = loading * rng.choice([-1, 1], size=d)
    lower, upper = boxes(rng, 15, one_factor(loadings))
    expected = [one_factor_log_probability(lo, up, loadings) for lo, up in zip(lower, upper, strict=True)]
    found = rectangles(lower, upper, one_factor(loadings))
    miss = found.log_probability - expected
    assert 0 < found.error < 0.02
    assert np.sqrt(np.mean(miss**2)) < 3 * found.error


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_another_programs_distribution_function_agrees(d):
    rng = np.random.default_rng(4)
    S = random_covariance(rng, d)
    lower, upper = boxes(rng, 3, S)
    settings = {"maxpts": 200_000, "abseps": 1e-7, "releps": 1e-7}
    expected = [
        stats.multivariate_normal.cdf(up, np.zeros(d), S, lower_limit=lo, **settings)
        for lo, up in zip(lower, upper, strict=True)
    ]
    found = rectangles(lower, upper, S)
    # its own tolerance up to three coordinates; beyond, the stated error: 3 % where others explain 97 % of a coordinate
    relative = 3 * found.error + 1e-4
    assert np.exp(found.log_probability) == pytest.approx(np.array(expected), rel=relative)
    assert found.error < 0.03


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_sums_of_corners_and_slices_are_the_same(monkeypatch, d, seed):
    rng = np.random.default_rng(seed)
    S = random_covariance(rng, d)
    lower, upper = boxes(rng, 60, S)
    sums = rectangles(lower, upper, S).log_probability
    monkeypatch.setattr(rectangle, "FAR", 2.0)  # nothing but slices
    slices = rectangles(lower, upper, S).log_probability
    assert sums == pytest.approx(slices, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("rho", [0.01, 0.1, 0.25, 0.5, 0.8, 0.95, 0.99])
def test_sums_of_corners_have_nodes_enough(monkeypatch, d, rho):
    S = np.full((d, d), rho) + (1 - rho) * np.eye(d)
    lower, upper = boxes(np.random.default_rng(16), 2000, S)
    few = rectangles(lower, upper, S).log_probability
    monkeypatch.setattr(rectangle, "NODES", {2: (40, 20), 3: (40, 20)})
    # a sum may have lost three digits, with two coordinates, or five to its terms
    assert few == pytest.approx(rectangles(lower, upper, S).log_probability, abs={2: 1e-11, 3: 1e-9}[d])


# ---------------------------------------------------------------- far out


@pytest.mark.parametrize("loadings", [(0.6, 0.6), (0.9, -0.8), (0.9995, 0.9995), (0.6, 0.7, 0.8), (0.9, -0.9, 0.5)])
def test_orthants_are_right_down_to_probabilities_of_1e_minus_200(loadings):
    t = np.array([5.0, 8.0, 12.0, 16.0])[:, None] * np.ones(len(loadings))
    lower, upper = t, np.full_like(t, np.inf)
    upper[1] = lower[1] + 0.5
    expected = [one_factor_log_probability(lo, up, loadings) for lo, up in zip(lower, upper, strict=True)]
    found = rectangles(lower, upper, one_factor(loadings)).log_probability
    assert found == pytest.approx(np.array(expected), rel=1e-10)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("rho", [-0.3, 0.5, 0.95])
def test_far_out_logs_and_derivatives_are_finite_and_fall_ever_faster(d, rho):
    S = np.full((d, d), rho) + (1 - rho) * np.eye(d)
    if d == 4 and rho < 0:
        S = 2 * np.eye(4) + np.diag([-0.6] * 3, 1) + np.diag([-0.6] * 3, -1)
    t = np.arange(0.0, 40.0)[:, None] * np.where(np.arange(d) % 2, -1, 1)
    found = rectangles(t - 0.5, t + 0.5, S, derivatives=2)
    for part in (found.log_probability, found.gradient, found.hessian):
        assert np.isfinite(part).all()
    slope = np.diff(found.log_probability)
    assert (slope < 0).all()
    assert (np.diff(slope) < 0).all()


def test_an_unbounded_coordinate_says_nothing_about_the_others():
    t = np.array([-37.0, -20.0, -2.0, 1.0])
    S = np.array([[1, 0.9, 0.8], [0.9, 1, 0.6], [0.8, 0.6, 1]])
    lower, upper = np.full((4, 3), -np.inf), np.column_stack([t, np.full((4, 2), np.inf)])
    found = rectangles(lower, upper, S, derivatives=2)
    alone = rectangles(lower[:, :1], upper[:, :1], S[:1, :1], derivatives=2)
    assert found.log_probability == pytest.approx(alone.log_probability, rel=1e-12)
    assert found.gradient[:, 3] == pytest.approx(alone.gradient[:, 1], rel=1e-9)
    assert found.hessian[:, 3, 3] == pytest.approx(alone.hessian[:, 1, 1], abs=1e-8)
    assert np.count_nonzero(found.hessian) == 4


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("rho", [0.4, 0.95, 0.999])
def test_derivatives_are_the_limits_of_differences(d, rho):
    rng = np.random.default_rng(5)
    scale = rng.uniform(0.5, 2, d)
    S = (np.full((d, d), rho) + (1 - rho) * np.eye(d)) * np.outer(scale, scale)
    lower, upper = boxes(rng, 50, S)
    found = rectangles(lower, upper, S, derivatives=2)
    g, H = differences(lower, upper, S, h=1e-6)
    size = 1 + np.abs(found.gradient).max(axis=1)  # also how fast derivatives change
    assert np.abs(found.gradient - g).max(axis=1) == pytest.approx(0, abs=1e-7 * size.max())
    assert np.abs(found.hessian - H).max(axis=(1, 2)) / size**2 == pytest.approx(0, abs=1e-6)


def test_derivatives_on_the_lattice_are_differences_up_to_its_error():
    rng = np.random.default_rng(6)
    S = one_factor((0.6, 0.5, -0.7, 0.4))
    lower, upper = boxes(rng, 20, S)
    found = rectangles(lower, upper, S, derivatives=2)
    g, H = differences(lower, upper, S)
    size = 1 + np.abs(found.gradient).max(axis=1)
    assert np.abs(found.gradient - g).max(axis=1) / size == pytest.approx(0, abs=20 * found.error)
    assert np.abs(found.hessian - H).max(axis=(1, 2)) / size**2 == pytest.approx(0, abs=20 * found.error)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_log_probability_is_concave_in_the_bounds(d, seed):
    rng = np.random.default_rng(seed)
    S = random_covariance(rng, d)
    lower, upper = boxes(rng, 300, S, width=rng.choice([0.05, 1.0]))
    found = rectangles(3 * lower, 3 * upper, S, derivatives=2)
    size = 1 + np.abs(found.gradient).max(axis=1) ** 2
    assert (np.linalg.eigvalsh(found.hessian)[:, -1] <= 1e-10 * size).all()


def test_fewer_derivatives_change_nothing_but_their_absence():
    S = one_factor((0.6, 0.5, 0.7))
    lower, upper = boxes(np.random.default_rng(7), 20, S)
    none, first, second = (rectangles(lower, upper, S, derivatives=n) for n in range(3))
    assert none.gradient is none.hessian is first.hessian is None
    assert np.array_equal(none.log_probability, second.log_probability)
    assert np.array_equal(first.gradient, second.gradient)


# ---------------------------------------------------------------- identities


def test_independent_groups_of_coordinates_multiply():
    rng = np.random.default_rng(8)
    groups = [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])]
    S = np.zeros((6, 6))
    for c in groups:
        S[np.ix_(c, c)] = random_covariance(rng, c.size)
    lower, upper = boxes(rng, 30, S)
    whole = rectangles(lower, upper, S, derivatives=2)
    g, H, log_p = np.zeros((30, 12)), np.zeros((30, 12, 12)), np.zeros(30)
    for c in groups:
        part, sides = rectangles(lower[:, c], upper[:, c], S[np.ix_(c, c)], derivatives=2), np.append(c, c + 6)
        log_p, g[:, sides], H[:, sides[:, None], sides] = log_p + part.log_probability, part.gradient, part.hessian
    assert whole.log_probability == pytest.approx(log_p, rel=1e-12)
    assert whole.gradient == pytest.approx(g, rel=1e-12)
    assert whole.hessian == pytest.approx(H, rel=1e-12)
    assert whole.error == 0.0  # no group has more than three


@pytest.mark.parametrize(("d", "tolerance"), [(1, 1e-13), (2, 1e-13), (3, 1e-12), (4, 1e-3)])
def test_probabilities_of_a_partition_of_the_space_sum_to_one(d, tolerance):
    rng = np.random.default_rng(9)
    S = random_covariance(rng, d)
    cuts = np.array([-np.inf, -1.2, -0.1, 0.05, 2.0, np.inf])
    cells = np.stack(np.meshgrid(*[np.arange(5)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    found = rectangles(cuts[cells], cuts[cells + 1], S)
    assert np.exp(found.log_probability).sum() == pytest.approx(1, abs=tolerance)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_mirroring_a_coordinate_swaps_its_bounds(d):
    rng = np.random.default_rng(10)
    S, flip = random_covariance(rng, d), np.where(np.arange(d) % 2, 1.0, -1.0)
    lower, upper = boxes(rng, 40, S)
    mirrored = np.where(flip < 0, -upper, lower), np.where(flip < 0, -lower, upper)
    there = rectangles(lower, upper, S, derivatives=2)
    back = rectangles(*mirrored, S * np.outer(flip, flip), derivatives=2)
    sides = np.append(np.arange(d) + np.where(flip < 0, d, 0), np.arange(d) + np.where(flip < 0, 0, d))
    sign = np.tile(flip, 2)
    assert there.log_probability == pytest.approx(back.log_probability, abs=1e-10)
    assert there.gradient == pytest.approx(sign * back.gradient[:, sides], rel=1e-9, abs=1e-9)
    assert there.hessian == pytest.approx(
        sign[:, None] * sign * back.hessian[:, sides[:, None], sides], rel=1e-8, abs=1e-8
    )


@pytest.mark.parametrize("d", [2, 3, 5])
def test_permuting_coordinates_permutes_the_results(d):
    rng = np.random.default_rng(11)
    S, order = random_covariance(rng, d), rng.permutation(d)
    lower, upper = boxes(rng, 10, S)
    first = 1 if d > 3 else 2
    there = rectangles(lower, upper, S, derivatives=first)
    back = rectangles(lower[:, order], upper[:, order], S[np.ix_(order, order)], derivatives=first)
    sides = np.append(order, order + d)
    assert there.log_probability == pytest.approx(back.log_probability, abs=1e-10)
    assert there.gradient[:, sides] == pytest.approx(back.gradient, rel=1e-9, abs=1e-9)
    if there.hessian is not None:
        assert there.hessian[:, sides[:, None], sides] == pytest.approx(back.hessian, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("d", [2, 3])
def test_scaling_errors_and_bounds_together_changes_no_probability(d):
    rng = np.random.default_rng(12)
    S, scale = random_covariance(rng, d), rng.uniform(0.01, 100, d)
    lower, upper = boxes(rng, 20, S)
    there = rectangles(lower, upper, S, derivatives=1)
    back = rectangles(lower * scale, upper * scale, S * np.outer(scale, scale), derivatives=1)
    assert there.log_probability == pytest.approx(back.log_probability, abs=1e-11)
    assert there.gradient == pytest.approx(back.gradient * np.tile(scale, 2), rel=1e-9, abs=1e-12)


def test_rows_know_nothing_of_each_other():
    S = one_factor((0.6, 0.9))
    lower, upper = boxes(np.random.default_rng(13), rectangle.BLOCK + 100, S)
    whole = rectangles(lower, upper, S, derivatives=2)
    some = rectangles(lower[::-7], upper[::-7], S, derivatives=2)
    assert whole.log_probability[::-7] == pytest.approx(some.log_probability, abs=1e-12)
    assert whole.hessian[::-7] == pytest.approx(some.hessian, rel=1e-9, abs=1e-10)


# ---------------------------------------------------------------- edges


def test_without_coordinates_everything_is_certain():
    found = rectangles(np.zeros((3, 0)), np.zeros((3, 0)), np.zeros((0, 0)), derivatives=2)
    assert found.log_probability.tolist() == [0, 0, 0]
    assert found.gradient.shape == (3, 0)
    assert found.hessian.shape == (3, 0, 0)
    assert rectangles(np.zeros((0, 2)), np.zeros((0, 2)), np.eye(2)).log_probability.shape == (0,)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_an_empty_interval_has_probability_zero_and_the_whole_space_one(d):
    S = one_factor(np.full(d, 0.7))
    lower, upper = np.full((5, d), -np.inf), np.full((5, d), np.inf)
    lower[1, -1], upper[1, -1] = 0.0, 0.0
    lower[2, 0], upper[2, 0] = 1.0, -1.0
    upper[3, 0] = -np.inf
    found = rectangles(lower, upper, S).log_probability
    assert found.tolist() == pytest.approx([0, -np.inf, -np.inf, -np.inf, 0], abs=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_narrow_rectangles_are_their_volume_times_the_density(d):
    S = random_covariance(np.random.default_rng(14), d)
    centre = np.random.default_rng(15).multivariate_normal(np.zeros(d), S, size=5)
    found = rectangles(centre - 5e-5, centre + 5e-5, S, derivatives=1)
    expected = stats.multivariate_normal(np.zeros(d), S).logpdf(centre) + d * np.log(1e-4)
    assert found.log_probability == pytest.approx(expected, abs=1e-6)
    assert found.gradient[:, d:] == pytest.approx(1e4, rel=1e-2)


@pytest.mark.parametrize("smallest", [1e-4, 1e-8, 1e-12])
def test_nearly_singular_covariances_give_what_the_singular_one_gives(smallest):
    lower, upper = np.array([[-0.5, 0.1, -1.0]]), np.array([[1.0, 2.0, 1.5]])
    A = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    S = A @ A.T + smallest * np.eye(3)
    found = rectangles(lower, upper, S, derivatives=2)

    def slices(x):
        lo, up = max(0.1, (-1.0 - 0.6 * x) / 0.8), min(2.0, (1.5 - 0.6 * x) / 0.8)
        return stats.norm.pdf(x) * max(0.0, special.ndtr(up) - special.ndtr(lo))

    expected = np.log(integrate.quad(slices, -0.5, 1.0, points=[-1 / 6, 0.0, 0.5], epsabs=1e-13, limit=200)[0])
    assert found.log_probability[0] == pytest.approx(expected, abs=10 * smallest + 1e-7)
    assert np.isfinite(found.hessian).all()


@pytest.mark.parametrize("loadings", [(0.6, -0.5), (0.7, 0.5, -0.8)])
def test_thin_rectangles_keep_their_digits(loadings):
    # as of people who are about to change their level: a few slices along the thin side do
    rng, S, d = np.random.default_rng(3), one_factor(loadings), len(loadings)
    lower = rng.normal(0, 1.5, (24, d))
    upper = lower + rng.exponential(1, (24, d))
    upper[:, 0] = lower[:, 0] + np.logspace(-9, -2, 24)
    found = rectangles(lower, upper, S).log_probability
    narrowed = [(low, np.where(np.arange(d) == 0, low + 1e-4, high)) for low, high in zip(lower, upper, strict=True)]
    at_1e_4 = np.array([one_factor_log_probability(*ends, loadings) for ends in narrowed])
    # the density along the thin side hardly changes, so that probabilities are as its width
    np.testing.assert_allclose(found - np.log(upper[:, 0] - lower[:, 0]), at_1e_4 - np.log(1e-4), atol=2e-2)
    np.testing.assert_allclose(
        rectangles(*map(np.array, zip(*narrowed, strict=True)), S).log_probability, at_1e_4, atol=1e-7
    )


def test_of_a_person_s_rectangles_those_that_are_nothing_beside_the_others_need_no_digits(monkeypatch):
    rng, S = np.random.default_rng(4), one_factor((0.7, 0.5, -0.8))
    lower = np.repeat(rng.normal(0, 0.5, (50, 3)), 2, axis=0)
    upper, owner = lower + 1.5, np.repeat(np.arange(50), 2)
    lower[1::2, 0], upper[::2, 0] = upper[1::2, 0] - 1e-7, upper[1::2, 0] - 1e-7  # a person's side, cut near its end
    exact = np.exp(rectangles(lower, upper, S).log_probability)
    monkeypatch.setattr(rectangle, "sliced", lambda *_: pytest.fail("a sliver was sliced"))
    found = np.exp(rectangles(lower, upper, S, owner=owner).log_probability)
    total = np.bincount(owner, exact)[owner]
    np.testing.assert_allclose(found / total, exact / total, atol=1e-11)
