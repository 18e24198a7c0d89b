"""An ordered parent has as many powers as its levels can tell apart."""

from __future__ import annotations

import pytest

import fairstress as fs
from fairstress.errors import SettingError

GRAPH = fs.CausalGraph.parse("a -> x -> z", protected="a", outcome="y")
CUTS = {2: (0.0,), 3: (-0.5, 0.5), 4: (-0.5, 0.0, 0.5)}


def simulated(n_levels: int, power: int):
    given = {"kinds": {"x": "ordered"}, "cuts": {"x": CUTS[n_levels]}, "degrees": {"z": 3}, "random_state": 0}
    return fs.datasets.simulate(GRAPH, 20, weights={"z": {f"x^{power}": 1.0}}, **given)


@pytest.mark.parametrize(("n_levels", "power"), [(3, 2), (4, 2), (4, 3)])
def test_a_power_below_the_number_of_levels_may_have_a_weight(n_levels, power):
    assert len(simulated(n_levels, power).frame) == 20


@pytest.mark.parametrize(("n_levels", "power"), [(2, 2), (2, 3), (3, 3)])
def test_higher_powers_are_no_terms_of_the_equation(n_levels, power):
    with pytest.raises(SettingError, match=rf"the term 'x\^{power}', which its equation does not have"):
        simulated(n_levels, power)
