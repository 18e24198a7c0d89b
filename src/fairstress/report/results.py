"""Results as JSON: everything that a reader needs to check or redraw an audit. Computes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstress.version import __version__

if TYPE_CHECKING:
    from fairstress.audit import Audit
    from fairstress.sensitivity.claim import Baseline
    from fairstress.sensitivity.profile import Profile

SCHEMA = 1


def results(audit: Audit, profiles: Sequence[Profile], *, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Gather an audit and its profiles in plain types."""
    coding, predictor = audit.table.protected, audit.claim.predictor
    return {
        "schema": SCHEMA,
        "fairstress": __version__,
        "data": {
            **(source or {}),
            "rows": int(audit.table.y.size),
            "distinct_rows": int(audit.table.rows.a.size),
            "groups": [{"level": _plain(level), "rows": count} for level, count in audit.table.group_sizes().items()],
            "reference": _plain(coding.levels[1]) if coding.levels else None,
            "shift": coding.shift,
            "outcome_levels": [_plain(v) for v in audit.table.outcome_levels] if audit.table.outcome_levels else None,
            "outcome_variance": audit.outcome_variance,
        },
        "graph": {
            "text": audit.graph.to_text(),
            "protected": audit.graph.protected,
            "features": list(audit.graph.features),
            "outcome": audit.graph.outcome,
            "variables": list(audit.variables),
        },
        "settings": asdict(audit.settings),
        "model_a": _model(audit),
        "predictor": {"r2": predictor.r2, "degree": predictor.degree, "penalty": predictor.penalty},
        "baselines": {name: _baseline(baseline) for name, baseline in audit.baselines.items()},
        "profiles": [_profile(profile) for profile in profiles],
    }


def write_results(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write results as JSON."""
    Path(path).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _baseline(baseline: Baseline) -> dict[str, Any]:
    names = [f.name for f in fields(baseline) if f.name != "claim"]
    return {name: getattr(baseline, name) for name in names}


def _model(audit: Audit) -> dict[str, Any]:
    model = audit.model_a
    weights = model.weights.rename("weight").reset_index().to_dict("records")
    scales = {str(name): float(value) for name, value in model.scales.items()}
    return {"weights": weights, "scales": scales, "log_likelihood": model.log_likelihood, "status": str(model.status)}


def _profile(profile: Profile) -> dict[str, Any]:
    without = profile.cfu_unpenalised
    return {
        "pair": list(profile.pair),
        "correlation": profile.correlation.tolist(),
        "cfu": profile.cfu.tolist(),
        "cfu_unpenalised": None if without is None else without.tolist(),
        "log_likelihood": profile.log_likelihood.tolist(),
        "is_absorbed": profile.is_absorbed,
        "shows_penalty_only": profile.shows_penalty_only,
        "status": [str(s) for s in profile.status],
    }


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, str | int | float | bool | None) else str(plain)
