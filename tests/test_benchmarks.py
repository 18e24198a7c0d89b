"""The benchmarks' parts, on little data: whether they still run, not how fast."""

from __future__ import annotations

import pytest

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
