from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from fairstress.errors import DataError, SettingError
from fairstress.inputs import folds
from fairstress.inputs.folds import CONTIGUOUS, DEALT, SPLITS, FoldPlan, contiguous, cut, deal, read_folds, read_splits


def table(seed: int = 0, n: int = 203, levels: int = 3, kinds: int = 4):
    """a, values, y and weight of coarse rows, many of them alike, some without weight."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, levels, n).astype(float)
    values = rng.integers(-1, kinds - 1, (n, 2)) * 0.5
    return a, values, rng.integers(0, 3, n).astype(float), rng.choice([0.0, 1.0, 2.5], n)


def contents(parts, *columns):
    """Each fold's people, in an order of their own."""
    return [sorted(zip(*(np.column_stack(columns)[part].T.tolist()), strict=True)) for part in parts]


def permuted(order, *arrays):
    return [array[order] for array in arrays]


@given(st.integers(0, 2**32), st.integers(2, 9), st.booleans())
@settings(max_examples=40, deadline=None)
def test_every_row_with_weight_is_in_one_fold_and_all_positions_ascend(seed, k, clustered):
    a, values, y, weight = table(seed)
    parts = deal(a, values, y, weight, k, seed, np.arange(a.size) // 4 if clustered else None)
    assert len(parts) == k
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.flatnonzero(weight > 0))
    assert all((np.diff(part) > 0).all() for part in parts)


@given(st.integers(0, 2**32), st.integers(2, 9), st.booleans())
@settings(max_examples=40, deadline=None)
def test_another_order_of_the_rows_gives_the_same_people_the_same_company(seed, k, clustered):
    a, values, y, weight = table(seed)
    cluster = np.arange(a.size) // 3
    order = np.random.default_rng(seed + 1).permutation(a.size)
    before = deal(a, values, y, weight, k, 7, cluster if clustered else None)
    moved = permuted(order, a, values, y, weight)
    after = deal(*moved, k, 7, cluster[order] if clustered else None)
    assert contents(after, *moved[:1], *moved[1].T, *moved[2:]) == contents(before, a, *values.T, y, weight)


def test_rows_that_all_differ_keep_their_very_folds_in_another_order():
    rng = np.random.default_rng(3)
    a, values, y, weight = rng.integers(0, 2, 90), rng.normal(size=(90, 3)), rng.normal(size=90), np.ones(90)
    order = rng.permutation(90)
    before, after = deal(a, values, y, weight, 5, 0), deal(*permuted(order, a, values, y, weight), 5, 0)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, np.sort(order[other]))


def test_an_increasing_change_of_units_changes_no_fold():
    a, values, y, weight = table()
    before = deal(a, values, y, weight, 5, 0)
    after = deal((a - a.mean()) / a.std(), np.exp(values) * 3 - 0.1, y - y.mean(), weight, 5, 0)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_minus_zero_is_zero():
    a, values, y, weight = table()
    signed = np.where(values == 0, -0.0, values)
    assert np.signbit(signed[signed == 0]).all()
    for one, other in zip(deal(a, values, y, weight, 5, 0), deal(a, signed, y, weight, 5, 0), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("k", [2, 5, 8])
def test_copies_of_a_row_are_spread_evenly(k):
    a, values, y, weight = table()
    _, alike = np.unique(np.column_stack([a, values]), axis=0, return_inverse=True)
    parts = deal(a, values, y, weight, k, 0)
    copies = np.array([np.bincount(alike.reshape(-1)[part], minlength=alike.max() + 1) for part in parts])
    assert copies.sum(axis=0).max() > k
    assert np.ptp(copies, axis=0).max() <= 1


@pytest.mark.parametrize("levels", [1, 3, 20])
def test_groups_are_balanced_in_every_fold_and_so_are_the_folds(levels):
    a, values, y, weight = table(levels=levels)
    parts = deal(a, values, y, weight, 5, 0)
    sizes = np.array([np.bincount(a[part].astype(int), minlength=levels) for part in parts])
    assert np.ptp(sizes, axis=0).max() <= 1
    assert np.ptp(sizes.sum(axis=1)) <= 1


def test_a_protected_number_with_many_values_is_one_group():
    a, values, y, weight = table(levels=21, n=400, kinds=40)
    parts = deal(a, values, y, weight, 5, 0)
    assert np.ptp([part.size for part in parts]) <= 1
    sizes = np.array([np.bincount(a[part].astype(int), minlength=21) for part in parts])
    assert np.ptp(sizes, axis=0).max() > 1


def test_copies_that_differ_in_the_outcome_alone_are_dealt_by_the_outcome():
    n = 40
    parts = deal(np.zeros(n), np.ones((n, 1)), np.repeat([0.0, 1.0], 20), np.ones(n), 4, 0)
    assert [part.tolist() for part in parts] == [list(range(fold, n, 4)) for fold in range(4)]


def test_another_seed_gives_other_folds_and_any_whole_number_is_a_seed():
    a, values, y, weight = table(kinds=50)
    dealt = {tuple(deal(a, values, y, weight, 5, seed)[0]) for seed in (0, 1, 2, -1, 2**63, 2**100)}
    assert len(dealt) == 5  # 2**100 is 0 modulo 2**64


def test_folds_look_drawn_at_random():
    rng = np.random.default_rng(0)
    x = np.arange(20_000.0)
    first = deal(np.zeros(x.size), x[:, None], rng.normal(size=x.size), np.ones(x.size), 5, 0)[0]
    assert abs(first.mean() / x.mean() - 1) < 4 / np.sqrt(3 * 4000)  # four standard errors of a mean of 4,000 draws
    runs = (np.diff(first) == 1).mean()
    assert runs == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 4000))


def test_folds_are_the_same_on_every_machine():
    numbers = np.arange(12.0)
    parts = deal(numbers % 2, np.column_stack([numbers // 3, numbers**2]), numbers, np.ones(12), 3, 5)
    assert [part.tolist() for part in parts] == [[7, 8, 10, 11], [2, 3, 6, 9], [0, 1, 4, 5]]


def test_the_hash_is_splitmix64():
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # the first outputs for the state 0
    states = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert folds._mix(states).tolist() == published


def test_another_process_gives_the_same_folds():
    code = (
        "import numpy as np; from fairstress.inputs.folds import deal; rng = np.random.default_rng(0); "
        "x = rng.integers(0, 9, (80, 3)).astype(float); c = np.array(list('abcdefgh') * 10); "
        "print([p.tolist() for p in deal(x[:, 0] % 2, x[:, 1:], x[:, 2], np.ones(80), 4, 1)], "
        "[p.tolist() for p in deal(x[:, 0] % 2, x[:, 1:], x[:, 2], np.ones(80), 4, 1, c)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "[[" in outputs.pop()


# ---------------------------------------------------------------- clusters


def test_a_cluster_is_in_one_fold_and_sizes_are_as_even_as_clusters_allow():
    a, values, y, weight = table()
    cluster = np.random.default_rng(1).integers(0, 40, a.size)
    parts = deal(a, values, y, weight, 5, 0, cluster)
    found = [set(cluster[part]) for part in parts]
    assert sum(len(one) for one in found) == len(set.union(*found))
    largest = np.bincount(cluster[weight > 0]).max()
    assert np.ptp([part.size for part in parts]) <= largest


def test_labels_of_clusters_do_not_matter():
    a, values, y, weight = table()
    cluster = np.arange(a.size) // 4
    names = np.random.default_rng(0).permutation(1000)
    before = deal(a, values, y, weight, 5, 0, cluster)
    for labels in (names[cluster], [f"household {names[c]}" for c in cluster]):
        for one, other in zip(before, deal(a, values, y, weight, 5, 0, labels), strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_largest_cluster_has_a_fold_without_smaller_ones():
    rng = np.random.default_rng(0)
    parts = deal(np.zeros(60), rng.normal(size=(60, 1)), np.zeros(60), np.ones(60), 3, 0, [0] * 40 + list(range(1, 21)))
    assert sorted(part.size for part in parts) == [10, 10, 40]


@pytest.mark.parametrize(
    ("cluster", "problem", "sentence"),
    [
        (np.arange(203) % 4, SettingError, "cv asks for 5 folds of 4 clusters: give a number of folds from 2"),
        (np.arange(9), DataError, r"cluster has shape \(9,\), but the data have 203 rows"),
        ([0.0, np.nan] + [1.0] * 201, DataError, "cluster is missing in row 1: give a person who is in no cluster"),
        (["a", "b", None] + ["c"] * 200, DataError, "cluster is missing in row 2"),
    ],
)
def test_clusters_that_cannot_be_used_are_refused(cluster, problem, sentence):
    with pytest.raises(problem, match=sentence):
        deal(*table(), 5, 0, cluster)


# ---------------------------------------------------------------- what cv can be


@pytest.mark.parametrize(
    ("cv", "plan"),
    [
        (5, FoldPlan(DEALT, 5)),
        (np.int64(3), FoldPlan(DEALT, 3)),
        ("contiguous", FoldPlan(CONTIGUOUS, 5)),
        (("contiguous", 10), FoldPlan(CONTIGUOUS, 10)),
        (["contiguous", 10], FoldPlan(CONTIGUOUS, 10)),
        ([], FoldPlan(SPLITS, 0)),
        (iter([]), FoldPlan(SPLITS, 0)),
    ],
)
def test_cv_is_a_number_of_dealt_folds_contiguous_ones_or_splits(cv, plan):
    assert read_folds(cv, 30) == plan


@pytest.mark.parametrize(
    "cv",
    [1, 31, True, 2.5, None, "5", "random", ("contiguous", 1), ("contiguous",), ("random", 5), ("contiguous", 5, 5)],
    ids=str,
)
def test_any_other_cv_is_refused_with_what_to_give(cv):
    with pytest.raises(SettingError, match=r"cv is .*: give a number of folds from 2 to the number of rows, 30, or \("):
        read_folds(cv, 30)


def test_contiguous_folds_follow_the_rows_that_have_weight():
    weight = np.array([1.0, 0, 1, 1, 0, 2, 1])
    assert [part.tolist() for part in contiguous(weight, 2)] == [[0, 2, 3], [5, 6]]


def test_cut_takes_every_way():
    a, values, y, weight = table()
    counted = np.flatnonzero(weight > 0)
    splits = list(KFold(4, shuffle=True, random_state=0).split(y))
    expected = {
        3: deal(a, values, y, weight, 3, 9),
        "contiguous": contiguous(weight, 5),
        ("contiguous", 4): contiguous(weight, 4),
    }
    for cv, parts in expected.items():
        for one, other in zip(cut(cv, a, values, y, weight, 9), parts, strict=True):
            np.testing.assert_array_equal(one, other)
    for one, (_, test) in zip(cut(iter(splits), a, values, y, weight, 9), splits, strict=True):
        np.testing.assert_array_equal(one, np.intersect1d(test, counted))


def test_splits_test_every_row_once_on_a_fit_to_all_others():
    splits = list(KFold(4).split(np.zeros(20)))
    for one, (_, test) in zip(read_splits(splits, 20), splits, strict=True):
        np.testing.assert_array_equal(one, test)
    (train, test), *others = splits
    for bad in ([], splits[:1], others, [*splits, splits[0]], [(train[1:], test), *others], [(test, test), *others]):
        with pytest.raises(SettingError, match="must test each of the 20 rows once"):
            read_splits(bad, 20)
    for strange in ([1, 2], [("a", "b")], ["ab", "cd"]):
        with pytest.raises(SettingError, match="cv holds something else than pairs of training and test rows"):
            read_splits(strange, 20)


def test_a_test_set_without_weight_is_refused():
    a, values, y, _ = table(n=20)
    with pytest.raises(SettingError, match="a test set of cv has no row with weight: give larger folds"):
        cut(list(KFold(4).split(y)), a, values, y, np.repeat([0.0, 1.0], [5, 15]), 0)
