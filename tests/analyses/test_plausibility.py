"""Counterfactual people who cannot exist are counted, and the kind that mends it is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs

GIVEN = {"degrees": {"x": 1}, "penalty": 0, "predictor_degree": 1, "predictor_penalty": 1.0, "random_state": 0}
GRAPH = fs.CausalGraph.parse("sex -> x", protected="sex", outcome="y")


def audit_of(x: np.ndarray, woman: np.ndarray, **options) -> fs.Audit:
    frame = pd.DataFrame({"sex": np.where(woman, "woman", "man"), "x": x})
    frame["y"] = 0.1 * x + np.random.default_rng(1).standard_normal(x.size)
    return fs.Audit.fit(frame, GRAPH, **{**GIVEN, **options})


def people(n: int = 3000) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng, rng.integers(0, 2, n)


def test_a_shift_below_the_lowest_value_is_counted_exactly():
    x = np.tile(np.arange(20.0), 100)
    woman = np.repeat([0, 1], 1000)
    moved = np.where(woman, x, x + 3)  # men from 3 to 22, women from 0 to 19
    found = audit_of(moved, woman).plausibility()
    # a man loses 3 and a woman gains 3: all stay within 0 to 22
    assert found.impossible == 0
    clumped = audit_of(np.where(woman, x, x % 2 + 10), woman)
    shift = np.average(clumped.counterfactuals({})["x"] - np.where(woman, x, x % 2 + 10), weights=woman)
    outside = ((x + shift > 19) | (x + shift < 0)) & (woman == 1)
    assert clumped.plausibility().impossible == pytest.approx(outside.sum() / 2000)


def test_a_skewed_number_taken_as_it_is_has_many_impossible_people_and_by_rank_none():
    rng, woman = people()
    x = np.exp(1.5 * rng.standard_normal(woman.size) - 1.2 * woman)
    found = audit_of(x, woman).plausibility()
    assert found.impossible > 0.25
    assert found.impossible == found.features[0].outside
    assert found.features[0].off_lattice is None
    assert "Try kinds={'x': 'log'}" in found.sentences[0]
    assert found.sentences[0] in audit_of(x, woman).notes
    assert audit_of(x, woman, kinds={"x": "log"}).plausibility().impossible < 0.002  # above the largest value
    ranked = audit_of(x, woman, kinds={"x": "rank"})
    assert ranked.plausibility().impossible == 0
    assert ranked.plausibility().sentences == ()


def test_an_atom_that_is_shifted_away_makes_most_people_impossible_and_kept_none():
    rng, woman = people()
    gain = np.round(np.exp(8 + rng.standard_normal(woman.size)))
    x = np.where(rng.random(woman.size) < 0.95 - 0.05 * woman, 0, gain)
    x = np.where(woman, x, 0.5 * x)
    found = audit_of(x, woman).plausibility()
    assert found.impossible == pytest.approx(((woman == 1) & (x == 0)).mean(), abs=0.02)  # women are shifted down
    assert "zero or log" in found.sentences[0]
    kept = audit_of(x, woman, kinds={"x": "zero or rank"}).plausibility()
    assert kept.impossible == 0


def test_most_people_are_impossible_where_an_atom_is_shifted_below_zero_in_the_larger_group():
    rng, _ = people()
    woman = (np.arange(3000) % 10 != 0).astype(int)
    x = np.where(rng.random(3000) < 0.8, 0.0, rng.exponential(1 + 2.0 * woman))
    audit = audit_of(x, woman)
    assert audit.plausibility().mostly_impossible
    assert "Most counterfactual people cannot exist" in audit.plausibility().summary().replace("\n", " ")


def test_a_number_with_few_values_is_off_its_lattice_and_ordered_levels_are_not():
    rng, woman = people()
    x = np.clip(np.round(4 + rng.standard_normal(woman.size) - 0.4 * woman), 1, 7)
    as_number = audit_of(x, woman, kinds={"x": "number"}).plausibility()
    assert as_number.features[0].off_lattice == 1
    assert "kinds={'x': 'ordered'}" in as_number.sentences[0]
    ordered = audit_of(x, woman, kinds={"x": "ordered"}).plausibility()
    assert (ordered.features[0].off_lattice, ordered.impossible) == (0, 0)


def test_whole_numbers_are_a_lattice():
    rng, woman = people()
    x = np.round(100 + 20 * rng.standard_normal(woman.size) - 7.3 * woman)
    assert audit_of(x, woman).plausibility().features[0].off_lattice == 1
    assert audit_of(x + 0.5, woman).plausibility().features[0].off_lattice is None


def test_weights_count_as_people():
    rng, woman = people(400)
    x = np.exp(1.5 * rng.standard_normal(400) - 1.2 * woman)
    twice = np.where(np.arange(400) < 100, 2, 1)
    frame = pd.DataFrame({"sex": np.where(woman, "woman", "man"), "x": x, "y": rng.standard_normal(400)})
    weighted = fs.Audit.fit(frame, GRAPH, sample_weight=twice, **GIVEN).plausibility()
    repeated = fs.Audit.fit(frame.iloc[np.repeat(np.arange(400), twice)], GRAPH, **GIVEN).plausibility()
    assert weighted.impossible == pytest.approx(repeated.impossible, rel=1e-12)


def test_another_correlation_moves_people_otherwise(law_frame):
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
    audit = fs.Audit.fit(law_frame, graph, max_degree=1, random_state=0)
    little = audit.plausibility()
    much = audit.plausibility({("race", "lsat"): -0.6})  # moves people further
    assert much.impossible > little.impossible > 0
    assert little.to_frame()["feature"].tolist() == ["ugpa", "lsat"]
    assert audit.plausibility(leakage=audit.leakage()).auc == audit.leakage().auc
    assert "| ugpa |" in little.to_markdown()
