"""The benchmarks' parts, on little data: whether they still run, not how fast."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fairstress as fs
from fairstress.model.fit import System


def test_a_newton_step_is_timed_from_moments(load_benchmark, monkeypatch):
    benchmark = load_benchmark("newton_step")
    monkeypatch.setattr(benchmark, "REPETITIONS", 20)
    design = benchmark.saturated_design()
    moments, seconds = benchmark.build_moments(1000, design)
    system = System(moments, design.feature_of, design.penalties(benchmark.PENALTY, penalise_constant=False))
    assert moments.n == 1000
    assert min(seconds, *benchmark.median_steps([system, system])) > 0


def test_ten_features_are_audited_within_all_45_pairs(load_benchmark, monkeypatch):
    benchmark = load_benchmark("ten_features")
    monkeypatch.setattr(benchmark, "ROWS", 500)
    audit = benchmark.make_audit()
    assert len(audit.graph.pairs) == 45
    assert audit.cfu({audit.graph.pairs[0]: 0.3}) > 0


NAMES = ["against", "certificate", "import_time", "large_data", "robust_predictor", "streams", "threads"]


@pytest.mark.parametrize("name", NAMES)
def test_other_benchmarks_can_be_imported(load_benchmark, name):
    assert callable(load_benchmark(name).main)


def test_compiled_sweeps_are_compared_on_the_ten_features_too(load_benchmark):
    load_benchmark("ten_features")
    benchmark = load_benchmark("compiled")
    sweeps = benchmark.sweeps(benchmark.three_features(300, two_valued=True))
    assert sweeps["values"]()[0].shape == (benchmark.VERSIONS,)


# ---------------------------------------------------------------- growth


def test_times_that_are_powers_of_the_size_have_their_exponent_and_no_error(load_benchmark):
    sizes = [10.0, 100.0, 1000.0]
    slope, error = load_benchmark("growth").exponent(sizes, [3 * size**1.5 for size in sizes])
    assert slope == pytest.approx(1.5, rel=1e-12)  # three logarithms, and their rounding
    assert error == pytest.approx(0, abs=1e-12)


def test_the_standard_error_of_an_exponent_is_that_of_least_squares(load_benchmark):
    sizes, seconds = [2.0, 3.0, 5.0, 8.0, 12.0], [0.1, 0.2, 0.25, 0.5, 0.6]
    slope, error = load_benchmark("growth").exponent(sizes, seconds)
    found = stats.linregress(np.log(sizes), np.log(seconds))
    assert (slope, error) == pytest.approx((found.slope, found.stderr), rel=1e-12)


@pytest.mark.parametrize(("features", "pairs"), [(2, 1), (5, 1), (12, 60)])
def test_what_grows_does_move_cfu(load_benchmark, features, pairs):
    benchmark = load_benchmark("growth")
    graph = benchmark.graph_of(features, pairs)
    given = {"degrees": dict.fromkeys(graph.features, 2), "penalty": 0, "predictor_degree": 1, "predictor_penalty": 0}
    audit = fs.Audit.fit(benchmark.people(graph, 500), graph, **given, random_state=0)
    assert len(graph.pairs) == pairs
    assert audit.cfu({graph.pairs[0]: 0.2}) > 1e-6


def test_growth_is_told_in_rows_of_markdown(load_benchmark):
    benchmark = load_benchmark("growth")
    problems = [(k, 300, benchmark.graph_of(4, k)) for k in (1, 2, 3)]
    growth = benchmark.grown("300 rows", "pairs", problems, turns=1)
    assert growth.seconds.shape == (3, 3)
    assert all(row.count("|") == 5 for row in benchmark.table(growth))


# ---------------------------------------------------------------- limits


@pytest.fixture
def limits(load_benchmark):
    load_benchmark("growth")
    return load_benchmark("limits")


def test_the_products_of_a_sweep_are_counted_by_hand(limits):
    # x1 by a: 1 sum of each kind. x2 by x1, degree 2: a square, 2 and 2. f by both residuals: 3 products, 5 sums; and 2
    claim = limits.claim_of(2, 2, 300)
    assert limits.multiplications(claim) == (0 + 2) + (1 + 4) + (3 + 5) + 2


def test_the_ready_made_product_has_the_shape_of_the_moments(limits):
    claim = limits.claim_of(3, 2, 300)
    row = limits.moments_row("three", claim)
    width = claim.design.feature_of.size + 3
    assert row.startswith(f"| three | {width} |")
    assert row.count("|") == 7


def test_sweeps_are_compared_with_arithmetic_and_memory(limits, monkeypatch):
    monkeypatch.setenv("FAIRSTRESS_COMPILED", "0")
    rows = list(limits.sweep_rows("three", limits.claim_of(3, 2, 300)))
    assert len(rows) in (2, 4)  # with numba, twice
    assert all(row.count("|") == 9 for row in rows)


# ---------------------------------------------------------------- peers


def test_fairstress_has_the_interval_that_sensemakr_has_stored(load_benchmark, tmp_path):
    benchmark = load_benchmark("peers")
    # adjusted_estimate of PySensemakr 0.0.8, partial R2 of 0.1 with the treatment and 0.2 with the outcome
    expected = [0.7319097664414296, 4.434404531415271]
    assert benchmark.fairstress_interval(benchmark.save_table(tmp_path)) == pytest.approx(expected, rel=1e-11)


def test_a_peer_that_is_not_installed_is_named_with_the_reason_and_no_failure(load_benchmark):
    benchmark = load_benchmark("peers")
    found = {
        (question, program.name): benchmark.Measured([1.0, 2.0], 1.5, 100.0)
        for question, programs in benchmark.QUESTIONS.items()
        for program in programs
    }
    found[benchmark.INTERVAL, "EconML"] = "ModuleNotFoundError: No module named 'econml'"
    found[benchmark.INTERVAL, "DoubleML"] = "ValueError: no"
    found[benchmark.INTERVAL, "PySensemakr"] = benchmark.Measured([1.0, 2.1], 3.0, 100.0)
    benchmark.version = lambda program: "1.0"
    told = dict(benchmark.rows(found))
    wrong = [words for words in told.values() if words]
    assert any("EconML | not measured: ModuleNotFoundError" in row for row in told)
    assert wrong == ["PySensemakr differs by 5.0e-02", "DoubleML: ValueError: no"]
