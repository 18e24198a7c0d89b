"""How much values differ between completed tables, and which other settings an audit is compared with."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.analyses.imputation import between_tables, deviation_at
from fairstress.analyses.specification import plans
from fairstress.functionals.cfu import CFU

GRAPH = fs.CausalGraph.parse("a -> x -> z; a <-> x; x <-> z", protected="a", outcome="y")
P = np.array([[1, 0.3, 0], [0.3, 1, 0.2], [0, 0.2, 1]])


def audit(seed: int = 0, penalty: float = 1.0, degree: int = 1) -> fs.Audit:
    frame = fs.datasets.simulate(GRAPH, 100, random_state=seed).frame
    given = {"degrees": {"x": degree, "z": degree}, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, GRAPH, penalty=penalty, **given)


def test_the_deviation_between_tables_is_that_of_their_values_with_rubins_factor():
    completed = [audit(seed).fitted.claim for seed in range(3)]
    values = [
        float(CFU().values(claim, [claim.system.fits(P[None], claim.model_a, check_minima=True)[0]])[0])
        for claim in completed
    ]
    expected = np.std(values, ddof=1) * np.sqrt(1 + 1 / 3)
    assert deviation_at(completed, P, CFU()) == pytest.approx(expected, rel=1e-6)
    assert between_tables(completed, np.array([P, P]), CFU()) == pytest.approx([expected] * 2, rel=1e-6)
    assert deviation_at([], P, CFU()) is None


@pytest.mark.parametrize(
    ("penalty", "degree", "others"),
    [
        (0.0, 1, {"penalty 1": {"penalty": 1.0}}),
        (2.0, 1, {"penalty 0": {"penalty": 0.0}, "penalty ten times as large": {"penalty": 20.0}}),
        (0.0, 2, {"penalty 1": {"penalty": 1.0}, "all degrees 1": {"degrees": {"x": 1, "z": 1}}}),
    ],
)
def test_what_the_audit_has_already_is_not_asked_again(penalty, degree, others):
    found = plans(audit(penalty=penalty, degree=degree).fitted)
    named = {name for name in found if name.startswith(("penalty", "all degrees 1"))}
    assert {name: found[name] for name in named} == others
    assert found["all degrees one higher"] == {"degrees": {"x": degree + 1, "z": degree + 1}}
    assert (found["every second row"]["keep"] ^ found["the other rows"]["keep"]).all()
