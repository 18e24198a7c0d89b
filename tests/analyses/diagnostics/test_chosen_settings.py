"""Of all that cross-validation tried, one row of each equation and of the predictor is marked as chosen."""

from __future__ import annotations

import fairstress as fs
from fairstress.analyses.diagnostics.equations import cross_validation

GRAPH = fs.CausalGraph.parse("a -> x -> z", protected="a", outcome="y")


def test_what_is_marked_as_chosen_is_what_the_audit_is_fitted_with():
    frame = fs.datasets.simulate(GRAPH, 120, random_state=0).frame
    audit = fs.Audit.fit(frame, GRAPH, max_degree=2, penalties=(0.1, 10.0), random_state=0)
    table = cross_validation(audit.fitted)
    chosen = table[table["chosen"]].set_index("name")
    assert sorted(chosen.index) == sorted(table["name"].unique()) == ["predictor", "x", "z"]
    settings, predictor = audit.settings, audit.fitted.claim.predictor
    assert chosen["degree"].to_dict() == {**settings.degrees, "predictor": predictor.degree}
    assert chosen["penalty"].to_dict() == {"x": settings.penalty, "z": settings.penalty, "predictor": predictor.penalty}
