"""What ``values.R`` asks R, asked of fairstress, and how far apart the answers are.

Shared by ``test_against_r.py`` and ``studies/r_programs.py``. Weights, scales, cuts and effects are of size 1, so their
differences are absolute; those of log likelihoods are relative.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairstress as fs

HERE = Path(__file__).parent
STORED = json.loads((HERE / "r_values.json").read_text(encoding="utf-8"))
MEDSENS = json.loads((HERE / "medsens.json").read_text(encoding="utf-8"))
Differences = dict[str, float]
Curve = dict[float, float]  # an effect by the correlation of mediator and outcome


def audit_of(case: dict[str, Any], *, reference: str | None = None, degrees: dict[str, int] | None = None) -> fs.Audit:
    """An audit of the table that R has read, without penalty."""
    protected = case.get("protected", "group")
    graph = fs.CausalGraph.parse(case["graph"], protected=protected, outcome="rating")
    reference = reference or ("south" if protected == "group" else None)
    given: dict[str, Any] = {"penalty": 0.0, "predictor_degree": 1, "predictor_penalty": 1.0}
    frame = pd.read_csv(HERE / "r_table.csv")
    return fs.Audit.fit(frame, graph, reference=reference, degrees=degrees or case["degrees"], **given)


def largest(found: Any, stored: Any) -> float:
    """The largest absolute difference; NaN if there is any."""
    return float(np.max(np.abs(np.asarray(found, dtype=float) - np.asarray(stored, dtype=float))))


def relative(found: float, stored: float) -> float:
    """A difference relative to the stored value."""
    return abs(found / stored - 1)


# ---------------------------------------------------------------- structural equations


def correlation_of(point: dict[str, Any]) -> dict[tuple[str, ...], float]:
    """``{"school, test": 0.4}`` as fairstress takes it."""
    return {tuple(pair.split(", ")): rho for pair, rho in point["correlation"].items()}


def equations_apart(audit: fs.Audit, point: dict[str, Any]) -> Differences:
    """Model B at the correlation of a point beside lavaan's estimates there."""
    model = audit.model_b(correlation_of(point))
    weights = pd.Series({(feature, term): w for feature, its in point["weights"].items() for term, w in its.items()})
    assert set(weights.index) == set(model.weights.index)
    assert set(point["scales"]) == set(model.scales.index)
    return {
        "weights": largest(model.weights, weights.reindex(model.weights.index)),
        "scales": largest(model.scales, pd.Series(point["scales"]).reindex(model.scales.index)),
        "log likelihood": relative(model.log_likelihood, point["log_likelihood"]),
    }


# ---------------------------------------------------------------- effects through a mediator and beside it


def mediation_audit(which: str = "partial") -> fs.Audit:
    """The audit whose effects lead from north to south, with an edge from group to test or without."""
    return audit_of({**STORED["mediation"], **STORED["mediation"][which]}, reference="north")


def effect_apart(audit: fs.Audit, kind: str, curve: Curve) -> float:
    """Bounds of an effect on the outcome of mediation beside the extremes of a stored curve, at all its sizes."""
    functional, sizes = audit.effect("test", kind), [p for p in curve if p >= 0]
    found = [[end.value for end in audit.bounds(functional, p)] for p in sizes]
    within = [[value for rho, value in curve.items() if abs(rho) <= p] for p in sizes]
    return largest(found, [[min(values), max(values)] for values in within])


def partial_curve(program: str) -> Curve:
    """The indirect effect with an edge from group to test, by the formula or by lavaan."""
    stored = STORED["mediation"]
    return dict(zip(stored["rho"], stored["partial"][program], strict=True))


def full_curve() -> Curve:
    """The indirect effect without that edge, by lavaan, the curve's top included."""
    stored = STORED["mediation"]
    top = stored["full"]["top"]
    return {**dict(zip(stored["rho"], stored["full"]["lavaan"], strict=True)), top["rho"]: top["value"]}


def medsens_curve(kind: str) -> Curve:
    """The indirect or the direct effect, by medsens."""
    return dict(zip(MEDSENS["rho"], MEDSENS[kind], strict=True))


# ---------------------------------------------------------------- two values and ordered levels


def levels_audit() -> fs.Audit:
    """The audit of a number, a feature with four levels and one with two, their errors independent."""
    return audit_of(STORED["probits"], degrees=dict.fromkeys(["test", "grade", "member"], 1))


def levels_apart(audit: fs.Audit, feature: str) -> Differences:
    """Model A's equation of a feature with levels beside R's."""
    model, stored = audit.model_a, STORED["probits"]["features"][feature]
    weights = model.weights[feature]
    assert set(weights.index) == set(stored["weights"])
    return {
        "weights": largest(weights, [stored["weights"][term] for term in weights.index]),
        "cuts": largest(model.cuts[feature], stored["cuts"]),
    }


def levels_likelihood_apart(audit: fs.Audit) -> float:
    """The log likelihood of all three equations beside the sum of R's."""
    parts = [STORED["probits"]["number"], *STORED["probits"]["features"].values()]
    return relative(audit.model_a.log_likelihood, sum(part["log_likelihood"] for part in parts))
