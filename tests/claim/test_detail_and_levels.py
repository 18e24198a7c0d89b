"""How much finer worlds change CFU, and levels that nobody among some people has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import changes, detail_error, sampled
from fairstress.model.latent import Layout
from fairstress.model.mixed_rows import UNSEEN, with_all_levels
from fairstress.model.tree import Detail

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")


@pytest.fixture(scope="module")
def claim():
    kinds = {"x": "ordered", "z": "zero or number"}
    frame = fs.datasets.simulate(GRAPH, 200, kinds=kinds, cuts={"x": (-0.5, 0.5)}, random_state=0).frame
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    return fs.Audit.fit(frame, GRAPH, kinds=kinds, **given).fitted.claim


def test_the_error_of_a_detail_is_the_relative_change_of_cfu_at_the_next_finer_one(claim):
    def cfu(detail) -> float:
        change, weight = changes(replace(claim, detail=detail), claim.model_a, lambda block: block.weight)
        return float(change**2 @ weight / weight.sum())

    coarse, fine = cfu(claim.detail), cfu(claim.detail.finer())
    assert coarse != fine
    assert detail_error(claim) == pytest.approx(abs(fine - coarse) / fine, rel=1e-9)


def test_worlds_of_few_people_are_a_tree_unless_it_is_cut_short(claim):
    assert not claim.draws_worlds
    assert sampled(claim, 0) is claim
    assert sampled(replace(claim, detail=Detail(claim.detail.pieces, 2)), 0).draws_worlds


@pytest.mark.parametrize("code", range(3))
def test_somebody_of_next_to_no_weight_gets_each_level_that_nobody_has(claim, code):
    layout = Layout.of(claim.design)
    (codes,) = (part.equation.law.codes for part in layout.parts if part.equation.law.is_ordered)
    some = claim.everyone.where(claim.everyone.x[:, 0] != codes[code])
    found = with_all_levels(some, layout)
    added = np.flatnonzero(found.x[:, 0] == codes[code])
    assert found.weight[added].tolist() == [UNSEEN]
    assert found.size == some.size + 1
    assert with_all_levels(claim.everyone, layout) is claim.everyone
