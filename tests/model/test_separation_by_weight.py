"""People of weight 0 neither separate levels nor keep them together."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.inputs.rows import Rows
from fairstress.model.design import Equation, Law
from fairstress.model.embedding import Input, Polynomial
from fairstress.model.probit import fit_alone

EQUATION = Equation(
    feature="a",
    column=-1,
    uses_protected=False,
    parents=(0,),
    moves=False,
    descends=False,
    degree=1,
    embedding=Polynomial.of([Input("x")], 1),
    law=Law(codes=(-1.0, 1.0)),
)


def n_separated(a: np.ndarray, x: np.ndarray, weight: np.ndarray) -> float:
    return fit_alone(Rows(a, -a, x[:, None], weight, np.zeros(a.size), np.zeros(a.size)), EQUATION).n_separated


@pytest.mark.parametrize(("weight", "expected"), [(0.0, 40.0), (1.0, 0.0)])
def test_two_who_stand_on_the_wrong_sides_count_only_if_they_weigh_something(weight, expected):
    x = np.linspace(-2, 2, 40)
    a = np.where(x > 0, 1.0, -1.0)
    weights = np.append(np.ones(40), [weight, weight])
    assert n_separated(np.append(a, [-1.0, 1.0]), np.append(x, [1.5, -1.5]), weights) == expected
