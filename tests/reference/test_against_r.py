"""fairstress against R: lavaan, mediation's medsens and the formula behind it, glm, and ordinal's clm.

The values are stored by ``make reference`` (``values.R``). They are optima to rounding, but for those of medsens.
fairstress stops where log scales are within 1e-6 of theirs and takes one more step of Newton, which squares that.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from against_r import (
    STORED,
    audit_of,
    effect_apart,
    equations_apart,
    full_curve,
    levels_apart,
    levels_audit,
    levels_likelihood_apart,
    mediation_audit,
    medsens_curve,
    partial_curve,
)

import fairstress as fs

DIGITS = 1e-12  # of numbers of size 1, stored to fifteen digits
# medsens stops where coefficients change by 1e-11. Its error shrinks by rho^2 in a step, which at 0.9 leaves four times
# that, and an effect is 1.6 times a coefficient.
DIGITS_OF_MEDSENS = 1e-10
VISIBLE = 0.01  # a change that is ten billion times the tolerance
CASES = STORED["structural_equations"]
POINTS = list(itertools.product(CASES, (0, 1)))


@pytest.fixture(scope="module")
def audits() -> dict[str, fs.Audit]:
    return {name: audit_of(case) for name, case in CASES.items()}


@pytest.fixture(scope="module")
def mediated() -> fs.Audit:
    return mediation_audit()


@pytest.fixture(scope="module")
def levels() -> fs.Audit:
    return levels_audit()


# ---------------------------------------------------------------- lavaan


@pytest.mark.parametrize(("case", "which"), POINTS)
def test_model_b_is_the_structural_equation_model_of_lavaan_with_that_error_correlation(
    case: str, which: int, audits: dict[str, fs.Audit]
) -> None:
    apart = equations_apart(audits[case], CASES[case]["points"][which])
    assert apart == pytest.approx(dict.fromkeys(apart, 0), abs=DIGITS)


@pytest.mark.parametrize(("case", "which"), POINTS)
def test_the_stored_model_is_far_from_model_a(case: str, which: int, audits: dict[str, fs.Audit]) -> None:
    point, a = CASES[case]["points"][which], audits[case].model_a
    moved = [point["weights"][feature][term] - w for (feature, term), w in a.weights.items()]
    assert np.abs(moved).max() > VISIBLE
    assert point["largest_gradient"] < 1e-14


@pytest.mark.parametrize("case", CASES)
def test_a_correlation_that_is_off_in_the_ninth_digit_is_told_apart(case: str, audits: dict[str, fs.Audit]) -> None:
    point = CASES[case]["points"][0]
    for pair, rho in point["correlation"].items():
        apart = equations_apart(audits[case], {**point, "correlation": {**point["correlation"], pair: rho + 1e-9}})
        assert max(apart.values()) > 10 * DIGITS


# ---------------------------------------------------------------- sensitivity of mediation


@pytest.mark.parametrize("program", ["closed_form", "lavaan"])
def test_bounds_of_the_indirect_effect_are_the_ends_of_the_sensitivity_curve_of_imai_keele_and_yamamoto(
    program: str, mediated: fs.Audit
) -> None:
    assert effect_apart(mediated, "indirect", partial_curve(program)) < DIGITS


@pytest.mark.parametrize("kind", ["indirect", "direct"])
def test_bounds_of_both_effects_are_the_ends_of_the_curves_of_medsens(kind: str, mediated: fs.Audit) -> None:
    assert effect_apart(mediated, kind, medsens_curve(kind)) < DIGITS_OF_MEDSENS


@pytest.mark.parametrize("curve", [partial_curve("closed_form"), medsens_curve("indirect"), medsens_curve("direct")])
def test_the_stored_curves_are_monotone_so_that_their_extremes_lie_at_the_ends(curve: dict[float, float]) -> None:
    steps = np.diff(list(curve.values()))
    assert np.unique(np.sign(steps)).size == 1
    assert np.abs(steps).min() > VISIBLE


def test_the_bounds_reach_0_at_the_correlation_of_the_reduced_forms(mediated: fs.Audit) -> None:
    rho = STORED["mediation"]["partial"]["rho_without_effect"]
    lower, _ = mediated.bounds(mediated.effect("test", "indirect"), rho)
    assert lower.correlation.loc["school", "test"] == rho
    assert lower.value == pytest.approx(0, abs=DIGITS)


def test_where_the_curve_of_lavaan_turns_the_upper_bound_is_its_top() -> None:
    audit, top = mediation_audit("full"), STORED["mediation"]["full"]["top"]
    assert effect_apart(audit, "indirect", full_curve()) < DIGITS
    _, upper = audit.bounds(audit.effect("test", "indirect"), 0.9)
    # a top is flat: the square root of what the value is known to
    assert upper.correlation.loc["school", "test"] == pytest.approx(top["rho"], abs=DIGITS**0.5)


# ---------------------------------------------------------------- features with levels


@pytest.mark.parametrize("feature", STORED["probits"]["features"])
def test_with_independent_errors_features_with_levels_are_the_probits_of_r(feature: str, levels: fs.Audit) -> None:
    apart = levels_apart(levels, feature)
    assert apart == pytest.approx(dict.fromkeys(apart, 0), abs=DIGITS)


def test_the_log_likelihood_is_the_sum_of_those_of_rs_equations(levels: fs.Audit) -> None:
    assert levels_likelihood_apart(levels) < DIGITS
