"""Compiled sums behind a threshold against numpy's and scipy's: the same numbers.

Without numba the same source runs as plain Python; `make test-compiled` runs it compiled.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import fairstress as fs
from fairstress import compiling
from fairstress.claim.evaluate import fits
from fairstress.inputs import look, rows
from fairstress.model.normal_cdf import FURTHEST
from fairstress.model.threshold_columns import Columns

GRAPH = fs.CausalGraph.parse("a -> x -> z; a -> z; a <-> x <-> z", protected="a", outcome="y")
P = np.array([[1, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 1]])
OPTIONS = {"degrees": {"x": 2, "z": 2}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}


def audit_of(n: int = 300) -> fs.Audit:
    return fs.Audit.fit(fs.datasets.simulate(GRAPH, n, random_state=3).frame, GRAPH, **OPTIONS)


def columns_of(r: int, d: int, weight: str = "counts") -> Columns:
    rng = np.random.default_rng(r + d)
    weights = {"ones": np.ones(r), "counts": rng.integers(0, 4, r).astype(float), "any": rng.uniform(size=r)}
    return Columns(np.asfortranarray(rng.standard_normal((r, d))), rng.choice([-1.0, 1.0], r), weights[weight], None)


def both(columns: Columns, y: np.ndarray):
    with np.errstate(all="ignore"):
        return columns.sums(y, compiled=False), columns.sums(y, compiled=True)


@pytest.fixture
def asked(monkeypatch):
    """How often compiled sums were asked for."""
    count, own = [], Columns._sums_by
    monkeypatch.setattr(Columns, "_sums_by", lambda *given: (count.append(1), own(*given))[1])
    return count


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("weight", ["ones", "counts", "any"])
@pytest.mark.parametrize(("r", "d", "g"), [(1, 1, 1), (256, 4, 1), (300, 7, 1), (700, 9, 2)])
@pytest.mark.parametrize("furthest", [6.0, 11.0], ids=["within the table", "beyond it"])
def test_compiled_sums_are_those_of_numpy(r, d, g, weight, furthest):
    columns, y = columns_of(r, d, weight), np.random.default_rng(0).standard_normal((g, d))
    y *= furthest / np.abs(columns.B @ y.T).max(axis=0)[:, None]
    expected, found = both(columns, y)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(other).max())


@pytest.mark.usefixtures("kernel")
def test_far_out_the_compiled_distribution_function_is_that_of_scipy():
    """Numpy's hazard is a quotient of two tiny numbers there, and loses digits: the scaled function tells."""
    t = np.array([-1e5, -700, -40, -20, -9, np.nextafter(-8, -9), -8, -3, 0, 3, 8, np.nextafter(8, 9), 9, 20, 37, 1e5])
    density = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    hazard = np.where(t < 0, np.sqrt(2 / np.pi) / special.erfcx(np.minimum(-t / np.sqrt(2), 1e8)), density)
    hazard = np.where(np.abs(t) < FURTHEST, np.exp(-(t**2) / 2 - special.log_ndtr(t)) / np.sqrt(2 * np.pi), hazard)
    for own, slope in zip(t, hazard, strict=True):
        one = Columns(np.array([[own, 1.0]], order="F"), np.ones(1), np.ones(1), None)
        found = one.sums(np.array([[1.0, 0.0]]), compiled=True)
        # the exponential of -t^2 / 2 has the digits that its argument leaves
        digits = 1e-14 if own < -FURTHEST else 1e-15 * (10 + own**2)
        np.testing.assert_allclose(found.log_cdf[0], special.log_ndtr(own), rtol=digits)
        np.testing.assert_allclose(found.slope[0], [own * slope, slope], rtol=digits)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, -1e200, 1e200])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_is_no_number_stays_what_it_is_by_numpy(value, weight):
    columns = columns_of(300, 3, "ones")
    columns.B[70, 0], columns.a[70], columns.weight[70] = value, 1.0, weight
    expected, found = both(columns, np.array([[1.0, 0.2, -0.3]]))
    np.testing.assert_allclose(found.log_cdf, expected.log_cdf, rtol=1e-12)  # by which a descent turns back
    for one, other in zip(found[1:], expected[1:], strict=True):
        finite = np.isfinite(other)
        np.testing.assert_allclose(one[finite], other[finite], rtol=1e-10)


@pytest.mark.usefixtures("kernel")
def test_whoever_descends_turns_back_from_where_sums_are_no_numbers(monkeypatch):
    monkeypatch.setenv(compiling.VARIABLE, "1")
    claim = audit_of().fitted.claim
    z, at = claim.system.coordinates(fits(claim, P[None], check_minima=False)[0]), claim.system.place(P[None])
    near, far, nowhere = (claim.system.objective(z[None] * size, at)[0][0] for size in (1, 1e8, 1e200))
    assert near < far < np.inf
    assert not nowhere < np.inf


# ---------------------------------------------------------------- of whole tables


@pytest.mark.usefixtures("kernel")
def test_objectives_and_fits_are_those_of_numpy(monkeypatch, asked):
    claim, found = audit_of().fitted.claim, []
    for wanted in "01":
        monkeypatch.setenv(compiling.VARIABLE, wanted)
        (fit,) = claim.system.fits(P[None], claim.model_a, check_minima=True)
        z, at = claim.system.coordinates(fit)[None] + 0.1, claim.system.place(P[None])
        gradient = claim.system.correlation_gradients([fit], np.ones((1, fit.weights.size)))
        found.append((fit, claim.system.objective(z, at), gradient))
        assert bool(asked) == (wanted == "1")
    (one, parts, slope), (other, others, its) = found
    for part, its_own in zip(parts, others, strict=True):
        np.testing.assert_allclose(part, its_own, rtol=0, atol=1e-12 * np.abs(its_own).max())
    assert one.objective == pytest.approx(other.objective, rel=1e-13)
    # Newton's method ends where the objective falls by less than 1e-13 a person
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(slope, its, rtol=1e-8, atol=1e-9 * np.abs(its).max())


@pytest.mark.usefixtures("kernel")
def test_digits_hang_neither_on_threads_nor_on_what_is_asked_beside(monkeypatch):
    monkeypatch.setattr(rows, "LONGEST", 64)
    monkeypatch.setattr(rows, "BLOCK", 64)
    monkeypatch.setenv(compiling.VARIABLE, "1")
    system, found = audit_of().fitted.claim.system, []
    y = np.random.default_rng(0).standard_normal((3, system._folded(False).count))
    for threads in (1, 2):
        fs.set_threads(threads)
        found += [[part[1:2] for part in system._total(y, False)], system._total(y[1:2], False)]
    fs.set_threads(None)
    assert len(system._columns[False]) > 4
    for others in found[1:]:
        for one, other in zip(others, found[0], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("kernel")
def test_people_who_are_not_in_memory_are_summed_by_compiled_code(tmp_path, monkeypatch, asked):
    monkeypatch.setattr(look, "HELD", 500)
    path, found = tmp_path / "people.parquet", []
    fs.datasets.simulate(GRAPH, 1500, random_state=3).frame.to_parquet(path)
    for wanted in ("0", ""):
        monkeypatch.setenv(compiling.VARIABLE, wanted)
        claim = fs.Audit.fit(path, GRAPH, **OPTIONS).fitted.claim
        assert claim.rows.whole is not None
        found.append(fits(claim, P[None], check_minima=False)[0])
        assert bool(asked) == (wanted == "")
    np.testing.assert_allclose(found[1].weights, found[0].weights, rtol=1e-9, atol=1e-10)
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-13)


@pytest.mark.usefixtures("kernel")
def test_many_rows_are_summed_by_compiled_code_and_few_by_numpy(monkeypatch, asked):
    monkeypatch.delenv(compiling.VARIABLE, raising=False)
    system = audit_of().fitted.claim.system
    y = np.zeros((1, system._folded(False).count))
    system._total(y, False)
    assert not asked
    monkeypatch.setattr(compiling, "MANY", 300)  # a sweep over so many is compiled, sums behind a threshold gain less
    system._total(y, False)
    assert not asked
    monkeypatch.setattr(compiling, "MANY", 75)
    system._total(y, False)
    assert asked


@pytest.mark.usefixtures("without_numba")
def test_without_numba_sums_are_numpys(asked):
    columns, y = columns_of(300, 7), np.random.default_rng(0).standard_normal((1, 7))
    expected, found = both(columns, y)
    assert not asked
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
