"""One latent error alone: closed forms, two other fits, what columns and weights must not change, and separation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fairstress as fs
from fairstress.inputs.rows import Rows
from fairstress.model.design import Design, Equation, Law
from fairstress.model.embedding import ByGroup, Input, Polynomial
from fairstress.model.latent import Layout, error, interval_mean, seen
from fairstress.model.mixed import MixedSystem
from fairstress.model.probit import fit_alone

SIGN = Law(codes=(-1.0, 1.0))
FOUR = Law(codes=(0.0, 1.0, 2.0, 3.0))


def rows_of(a, x, weight=None):
    weight = np.ones(a.size) if weight is None else np.asarray(weight, dtype=float)
    return Rows(a, -a, x, weight, np.zeros(a.size), np.zeros(a.size))


def equation_of(n_parents, law=SIGN, column=-1):
    """The equation of A, or of the last column, with the first columns as parents."""
    inputs, by_group = [Input(f"x{k}") for k in range(n_parents)], bool(law.groups)
    made = Polynomial.of(inputs, 1)
    return Equation(
        feature="a" if column < 0 else f"x{column}",
        column=column,
        uses_protected=by_group,
        parents=tuple(range(n_parents)),
        moves=False,
        descends=False,
        degree=1,
        embedding=ByGroup(made, law.groups, ("low", "high")) if by_group else made,
        law=law,
    )


def probit(rows):
    """Weights of a two-valued A, its constant where it was, and how many are separated."""
    alone = fit_alone(rows, equation_of(rows.x.shape[1]))
    return np.append(-alone.fit.cuts, alone.fit.weights[1:]), alone.n_separated


def expected_errors(rows, equation, fit):
    part = Layout.of(Design.of([equation])).parts[0]
    return error(part, fit, rows.a, seen(part, rows), equation.values(rows.a, rows.x)).expected()


@pytest.fixture(scope="module")
def drawn():
    """A sign, three standard normal columns, and ``x = 0.5 a + x0 - 0.6 x1 + sigma e`` behind them."""
    rng = np.random.default_rng(5)
    a, z, e = rng.choice([-1.0, 1.0], 3_000), rng.standard_normal((3_000, 2)), rng.standard_normal(3_000)
    return a, z, 0.5 * a + z @ [1.0, -0.6] + np.where(a > 0, 0.7, 1.2) * e


# ---------------------------------------------------------------- closed forms and other fits


def test_with_one_category_the_index_is_the_quantile_of_its_share():
    z = np.repeat([-1.0, 1.0], 10)
    a = np.where(np.arange(20) % 10 < np.repeat([3, 8], 10), 1.0, -1.0)
    low, high = stats.norm.ppf([0.3, 0.8])
    weights, n_separated = probit(rows_of(a, z[:, None]))
    assert weights == pytest.approx([(low + high) / 2, (high - low) / 2], abs=1e-12)
    assert n_separated == 0


def test_without_parents_cuts_are_the_quantiles_of_shares():
    level = np.repeat([0.0, 1.0, 2.0, 3.0], [100, 500, 300, 100])
    alone = fit_alone(rows_of(np.ones(1_000), level[:, None]), equation_of(0, FOUR, column=0))
    assert alone.fit.cuts == pytest.approx(stats.norm.ppf([0.1, 0.6, 0.9]), abs=1e-12)
    entropy = np.array([0.1, 0.5, 0.3, 0.1]) @ np.log([0.1, 0.5, 0.3, 0.1])
    assert alone.fit.log_likelihood == pytest.approx(1_000 * entropy, rel=1e-12)


def test_it_is_the_threshold_model_without_confounding():
    """Model B with a hidden cause of A fits the same index at P = I, by another Newton."""
    graph = fs.CausalGraph.parse("z -> a; a, z -> x; a <-> x", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 5_000, random_state=2).frame
    audit = fs.Audit.fit(frame, graph, degrees={"z": 1, "x": 1}, penalty=0, predictor_degree=1, predictor_penalty=0)
    rows, z = audit.fitted.table.rows, audit.graph.features.index("z")
    weights, _ = probit(rows_of(rows.a, rows.x[:, [z]], rows.weight))
    assert weights == pytest.approx(audit.fitted.claim.model_a.weights[-2:], abs=1e-10)


@pytest.mark.parametrize(
    "law",
    [FOUR, Law(atom=-0.4), Law(atom=-0.4, groups=(-1.0, 1.0))],
    ids=["ordered", "atom", "atom by group"],
)
def test_it_is_the_mixed_likelihood_of_one_variable(drawn, law):
    """By another Newton in other coordinates, which counts the normal density's constant too."""
    a, z, x = drawn
    x = np.maximum(x, law.atom) if law.atom is not None else np.digitize(x, [-1.0, 0.2, 1.5]).astype(float)
    rows, equation = rows_of(a, np.column_stack([z, x])), equation_of(2, law, column=2)
    alone, d = fit_alone(rows, equation), len(equation.embedding.terms)
    mixed = MixedSystem.of(Design.of([equation]), rows, np.zeros(d), np.zeros(0), ()).independent()
    assert alone.n_separated == 0
    for name in ("weights", "log_scales", "cuts"):
        assert getattr(alone.fit, name) == pytest.approx(getattr(mixed, name), abs=1e-9)
    assert alone.fit.log_likelihood == pytest.approx(mixed.log_likelihood, rel=1e-12)


def test_expected_errors_are_uncorrelated_with_every_column(drawn):
    """The score of the weights is the sum of columns times expected errors, 0 at the fit."""
    a, z, x = drawn
    for law, seen_x in ((FOUR, np.digitize(x, [-1.0, 0.2, 1.5]).astype(float)), (Law(atom=0.3), np.maximum(x, 0.3))):
        rows, equation = rows_of(a, np.column_stack([z, seen_x])), equation_of(2, law, column=2)
        g = expected_errors(rows, equation, fit_alone(rows, equation).fit)
        assert equation.values(rows.a, rows.x).T @ g == pytest.approx(np.zeros(3), abs=1e-8)
        assert 0.3 < np.mean(g**2) < 1


def test_expected_errors_are_means_of_a_truncated_normal():
    h, everyone = np.array([-8.0, 0.3, 2.0]), np.ones(3, dtype=bool)
    infinite = np.full(3, np.inf)
    assert interval_mean(-h, infinite, everyone) == pytest.approx(stats.truncnorm.mean(-h, np.inf), rel=1e-9)
    assert interval_mean(-infinite, -h, everyone) == pytest.approx(stats.truncnorm.mean(-np.inf, -h), rel=1e-9)


# ---------------------------------------------------------------- what must not matter


def test_a_weight_of_two_is_the_row_twice_and_repeated_columns_change_no_index():
    rng = np.random.default_rng(0)
    z, weight = rng.standard_normal((300, 1)), np.arange(300) % 3
    a = np.where(z[:, 0] + rng.standard_normal(300) > 0.3, 1.0, -1.0)
    once, _ = probit(rows_of(a, z, weight))
    again, _ = probit(rows_of(np.repeat(a, weight), np.repeat(z, weight, axis=0)))
    assert once == pytest.approx(again, abs=1e-12)
    thrice, _ = probit(rows_of(a, np.column_stack([z, 2 * z, z]), weight))
    assert thrice @ [0, 1, 2, 1] == pytest.approx(once[1], abs=1e-12)
    assert np.count_nonzero(thrice) == 2


def test_columns_that_the_others_determine_change_no_error(drawn):
    a, z, x = drawn
    level = np.digitize(x, [-1.0, 0.2, 1.5]).astype(float)
    more = np.column_stack([z, z.sum(axis=1), np.ones(a.size), np.zeros(a.size)])
    errors = []
    for columns in (z, more):
        rows = rows_of(a, np.column_stack([columns, level]))
        equation = equation_of(columns.shape[1], FOUR, column=columns.shape[1])
        errors.append(expected_errors(rows, equation, fit_alone(rows, equation).fit))
    np.testing.assert_allclose(errors[0], errors[1], atol=1e-10)


# ---------------------------------------------------------------- separation


@pytest.mark.parametrize("share", [1e-4, 0.1])
def test_a_category_with_one_side_only_separates_and_is_counted(share):
    rng = np.random.default_rng(1)
    n = 20_000
    rare = np.arange(n) < share * n
    z = rng.standard_normal(n)
    a = np.where(rare | (z + rng.standard_normal(n) > 0), 1.0, -1.0)
    assert probit(rows_of(a, np.column_stack([rare, z])))[1] == share * n
    a[0] = -1.0  # one person on the other side makes it finite
    rows = rows_of(a, np.column_stack([rare, z]))
    alone = fit_alone(rows, equation_of(2))
    assert alone.n_separated == 0
    assert expected_errors(rows, equation_of(2), alone.fit)[rare].sum() == pytest.approx(0, abs=1e-10 * n)


@pytest.mark.parametrize("n_columns", [1, 5])
def test_what_decides_everyones_side_separates_everyone(n_columns):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2_000, n_columns))
    a = np.where(x.sum(axis=1) > 0.5, 1.0, -1.0)
    assert probit(rows_of(a, x))[1] == 2_000
    zero = np.append(np.ones(2_000), np.zeros(1))  # a row without weight is nobody
    assert probit(rows_of(np.append(a, 1.0), np.vstack([x, -9 * x[:1]]), zero))[1] == 2_000


def test_a_category_at_the_highest_level_separates_and_one_at_a_middle_level_does_not(drawn):
    a, z, x = drawn
    level, some = np.digitize(x, [-1.0, 0.2, 1.5]).astype(float), np.arange(a.size) < 40
    for own, count in ((3.0, 40), (1.0, 0)):
        at = np.where(some, own, level)
        rows = rows_of(a, np.column_stack([some, z, at]))
        assert fit_alone(rows, equation_of(3, FOUR, column=3)).n_separated == count


def test_groups_that_share_a_middle_level_alone_rule_the_others_out():
    """Levels 0 and 1 in one group, 1 and 2 in the other: the likelihood rises for ever for all who have level 1."""
    group, level = (
        np.repeat([0.0, 1.0], [50, 60]),
        np.concatenate([np.repeat([0.0, 1.0], 25), np.repeat([1.0, 2.0], 30)]),
    )
    rows = rows_of(np.ones(110), np.column_stack([group, level]))
    assert fit_alone(rows, equation_of(1, Law(codes=(0.0, 1.0, 2.0)), column=1)).n_separated == 25 + 30


def test_a_category_all_at_the_atom_separates_and_one_above_it_does_not(drawn):
    a, z, x = drawn
    some = np.arange(a.size) < 40
    for atom, count in (np.full(a.size, 0.3), 40), (np.where(np.arange(a.size) > 0, 0.3, 0.5), 0):
        at = np.where(some, atom, np.maximum(x, 0.3))
        rows = rows_of(a, np.column_stack([some, z, at]))
        assert fit_alone(rows, equation_of(3, Law(atom=0.3), column=3)).n_separated == count


def test_a_number_that_its_parents_determine_above_the_atom_is_left_no_scale(drawn):
    a, z, x = drawn
    at = np.maximum(x, 0.3)
    alone = fit_alone(rows_of(a, np.column_stack([2 * at, z, at])), equation_of(3, Law(atom=0.3), column=3))
    assert alone.n_separated == 0
    assert alone.fit.scales < 1e-4
