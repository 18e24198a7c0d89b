"""What an analyst is told before trusting an audit: levels that the parents tell, which only a penalty holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError

OPTIONS = {"degrees": {"x": 1, "z": 1}, "predictor_degree": 1, "predictor_penalty": 1.0, "random_state": 0}
TOLD = "The parents of 'x' tell some of its levels without error (perfect separation)"


def audit_of(graph: str, x, penalty: float) -> fs.Audit:
    """An audit of 300 people of two groups; x makes a column of words from group, z and noise."""
    rng = np.random.default_rng(0)
    a = rng.choice(["f", "m"], 300)
    z, noise = (a == "m") + rng.normal(size=300), rng.normal(size=300)
    frame = pd.DataFrame({"a": a, "x": np.where(x(a, z, noise), "yes", "no"), "z": z, "y": z + rng.normal(size=300)})
    parsed = fs.CausalGraph.parse(graph, protected="a", outcome="y")
    return fs.Audit.fit(frame, parsed, penalty=penalty, **OPTIONS)


SEPARATED = {
    "by the attribute": ("a -> x, z; x <-> z", lambda a, z, noise: a == "m", "everyone in the group 'f' has 'x' 'no'"),
    "by a parent": ("a -> z -> x; x <-> z", lambda a, z, noise: z > 0.5, "the parents of 'x' tell its levels nearly"),
}


@pytest.mark.parametrize(("graph", "x", "refusal"), SEPARATED.values(), ids=SEPARATED)
def test_levels_that_parents_tell_are_refused_without_a_penalty_and_noted_with_one(graph, x, refusal):
    with pytest.raises(DataError, match=refusal):
        audit_of(graph, x, 0)
    light, heavy = (audit_of(graph, x, penalty) for penalty in (1e-3, 1.0))
    assert sum(note.startswith(TOLD) for note in heavy.notes) == 1
    assert f"Note. {TOLD}" in " ".join(heavy.details().split())
    # the penalty alone holds the weight, which grows as that falls
    assert light.model_a.weights["x"].abs().max() > 1.5 * heavy.model_a.weights["x"].abs().max()
    assert "levels that parents tell without error" in " ".join(heavy.profile(("x", "z"), [0.0, 0.3]).summary().split())
    (finding,) = heavy.check().findings
    assert "CFU cannot be probed: without a penalty" in finding.reason
    assert finding.cfu is None


@pytest.mark.parametrize("penalty", [0, 1.0])
def test_levels_that_parents_do_not_tell_need_no_note(penalty):
    audit = audit_of("a -> z -> x; x <-> z", lambda a, z, noise: z + noise > 0.5, penalty)
    assert not any(note.startswith(TOLD) for note in audit.notes)


def test_several_completed_tables_and_wide_or_scarce_groups_are_noted():
    rng = np.random.default_rng(0)
    a = np.where(np.arange(300) < 150, "f", "m")
    x = rng.normal(size=300) * np.where(a == "m", 2.0, 1.0)
    frame = pd.DataFrame({"a": a, "x": x, "z": x + rng.normal(size=300), "y": rng.normal(size=300)})
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    notes = fs.Audit.fit([frame, frame], graph, penalty=0, **OPTIONS).notes
    assert "2 completed tables were stacked; results state how far numbers differ between them." in notes
    (wider,) = [note for note in notes if "times as wide among m" in note]
    assert "try kinds={'x': 'number by group'}" in wider
    few = pd.concat([frame.iloc[:100], frame.iloc[150:155]])  # of five people no width is told
    with pytest.warns(fs.FairstressWarning, match="the group 'm' of 'a' has 5 rows"):
        scarce = fs.Audit.fit(few, graph, penalty=0, **{**OPTIONS, "degrees": {"x": 3, "z": 3}})
    assert not any("times as wide" in note for note in scarce.notes)
