"""Results as JSON: everything that a reader needs to check or redraw an audit. Computes nothing.

`docs/results.md` describes the schema. A result without a part, such as one of an older version, has None in its place.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy

from fairstress.errors import SettingError
from fairstress.version import __version__

if TYPE_CHECKING:
    from fairstress.audit import Audit
    from fairstress.audit.decided import Decisions, Extreme
    from fairstress.audit.dossier import Dossier
    from fairstress.sensitivity.check import Check
    from fairstress.sensitivity.claim import Baseline
    from fairstress.sensitivity.curve import Curve
    from fairstress.sensitivity.profile import Profile
    from fairstress.sensitivity.robust import SturdyPredictor
    from fairstress.sensitivity.worst_case import WorstCase
    from fairstress.sensitivity.yardstick import Benchmarks

SCHEMA = 2
SOURCE = ("file", "sha256")
FIRST = ("data", "graph", "settings", "model_a", "predictor", "baselines", "profiles")
LATER = (
    "agreed",
    "check",
    "curve",
    "levels",
    "people",
    "by_group",
    "decisions",
    "pairs",
    "benchmarks",
    "benchmarks_refused",
    "marks",
    "predictors",
    "rivals",
    "variants",
    "margins",
)


def results(
    audit: Audit, profiles: Sequence[Profile], *, source: Mapping[str, Any] | None = None, day: str | None = None
) -> dict[str, Any]:
    """Gather an audit and its profiles in plain types; ``day`` is when they were computed, today without it."""
    predictor = audit.claim.predictor
    return {
        "schema": SCHEMA,
        "fairstress": __version__,
        "versions": _versions(),
        "data": {**dict.fromkeys(SOURCE), **(source or {}), "date": day or date.today().isoformat(), **_data(audit)},
        "graph": _graph(audit),
        "settings": asdict(audit.settings),
        "model_a": _model(audit),
        "predictor": {
            "r2": predictor.r2,
            "degree": predictor.degree,
            "penalty": predictor.penalty,
            "sturdier": _sturdier(audit.sturdier) if audit.sturdier else None,
        },
        "baselines": {name: _baseline(baseline) for name, baseline in audit.baselines.items()},
        "profiles": [_profile(profile) for profile in profiles],
        **dict.fromkeys(LATER),
    }


def dossier_results(dossier: Dossier, *, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Gather all that a report shows in plain types."""
    agreed = dossier.agreed
    return {
        **results(dossier.audit, dossier.profiles, source=source, day=dossier.date),
        "agreed": {
            "p_max": dossier.p_max,
            "reason": dossier.reason,
            "percent_of_variance": _plain(100 * dossier.share_of_variance),
            **_worst_case(agreed),
        },
        "check": check_results(dossier.check),
        "curve": _curve(dossier.curve, dossier.group_means),
        "levels": [
            {**asdict(level), "breaking_point": point.p_max}
            for level, point in zip(dossier.levels, dossier.breaking_points, strict=True)
        ],
        "people": _people(dossier),
        "by_group": _records(dossier.by_group),
        "decisions": _decisions(dossier.decisions) if dossier.decisions else None,
        "pairs": [
            {
                "pair": list(one.pair),
                "alone": one.alone.value,
                "forbidden": one.forbidden.value if one.forbidden else None,
            }
            for one in dossier.pairs
        ],
        "benchmarks": _records(dossier.benchmarks.to_frame()) if dossier.benchmarks else None,
        "benchmarks_refused": dossier.benchmarks_refused or None,
        "marks": _marks(dossier.benchmarks) if dossier.benchmarks else None,
        "predictors": _records(dossier.predictors),
        "rivals": [asdict(rival) for rival in dossier.rivals],
        "variants": [asdict(variant) for variant in dossier.variants],
        "margins": _records(dossier.margins),
    }


def write_results(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write results as JSON."""
    Path(path).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_results(path: str | Path) -> dict[str, Any]:
    """Read results that were written by this or an older version."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"there is no results file {str(path)!r}") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise SettingError(f"cannot read {str(path)!r}: {problem}") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema not in (1, SCHEMA):
        known = "it has no 'schema'" if schema is None else f"its schema is {schema!r}"
        raise SettingError(
            f"{str(path)!r} cannot be used: {known}, and this version of fairstress reads 1 and {SCHEMA}; write the "
            "results anew, or use the version that wrote them"
        )
    missing = [part for part in FIRST if part not in content]
    if missing:
        raise SettingError(f"{str(path)!r} cannot be used: it has no '{missing[0]}'; write the results anew")
    if schema == 1:
        return _upgraded(content)
    levels = content.get("levels")
    if levels:
        levels = [{**level, "source": level.get("source")} for level in levels]
    return {**content, **{part: None for part in LATER if part not in content}, "levels": levels}


def _upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """Results of schema 1: no worst cases yet, no pairs with the protected attribute, no fair edges."""
    graph = {**content["graph"], "variables": content["graph"]["features"], "edges": [], "pairs": []}
    graph["pairs"] = [profile["pair"] for profile in content["profiles"]]
    graph["predictor_looks_at"] = [f"residual of {name}" for name in graph["features"]]
    data = {"moved_to": None, **dict.fromkeys((*SOURCE, "date")), **content["data"]}
    return {"versions": None, **content, **dict.fromkeys(LATER), "graph": graph, "data": data}


# ---------------------------------------------------------------- parts


def _versions() -> dict[str, str]:
    modules = {"numpy": np.__version__, "scipy": scipy.__version__, "pandas": pd.__version__}
    return {"python": platform.python_version(), **modules}


def _sturdier(found: SturdyPredictor) -> dict[str, Any]:
    worst = found.worst_case
    return {"weight": found.weight, "p_max": worst.p_max, "budget": worst.budget, "cfu": found.cfu, "gap": found.gap}


def _baseline(baseline: Baseline) -> dict[str, Any]:
    left = ("group_means", "claim")  # the means are in predictors
    return {f.name: getattr(baseline, f.name) for f in fields(baseline) if f.name not in left}


def _marks(benchmarks: Benchmarks) -> list[dict[str, Any]]:
    """Where benchmarks stand on the curve, each with a letter to find it by."""
    letters = (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *map(str, range(27, 1000)))
    return [{"mark": mark, **row} for mark, row in zip(letters, _records(benchmarks.marks()), strict=False)]


def _people(dossier: Dossier) -> list[dict[str, Any]]:
    names = dossier.audit.graph.features
    worlds = dossier.people_features.to_numpy().reshape(-1, len(names), 2).tolist()
    features = [
        [
            {"name": name, "factual": here, "counterfactual": there}
            for name, (here, there) in zip(names, row, strict=True)
        ]
        for row in worlds
    ]
    return [{**row, "features": own} for row, own in zip(_records(dossier.people), features, strict=True)]


def _decisions(found: Decisions) -> dict[str, Any]:
    model_a, worst = (_records(shares) for shares in (found.model_a, found.worst))
    rows = zip(found.worst.index, model_a, worst, strict=True)
    return {
        "threshold": found.threshold,
        "groups": [{"group": str(group), "model_a": here, "worst": there} for group, here, there in rows],
        "lowest": _extreme(found.lowest),
        "highest": _extreme(found.highest),
    }


def _extreme(found: Extreme) -> dict[str, Any]:
    return {"share": found.share, "correlation": found.correlation.to_numpy().tolist(), "status": found.status}


def _data(audit: Audit) -> dict[str, Any]:
    table, coding = audit.table, audit.table.protected
    return {
        "rows": int(table.y.size),
        "distinct_rows": int(table.rows.a.size),
        "groups": [{"level": _plain(level), "rows": count} for level, count in table.group_sizes().items()],
        "reference": _plain(coding.level(coding.reference_code)) if coding.levels else None,
        "moved_to": [_plain(coding.level(code)) for code in coding.targets] or None,
        "shift": coding.shift,
        "outcome_levels": [_plain(v) for v in table.outcome_levels] if table.outcome_levels else None,
        "outcome_variance": audit.outcome_variance,
    }


def _graph(audit: Audit) -> dict[str, Any]:
    graph = audit.graph
    return {
        "text": graph.to_text(),
        "protected": graph.protected,
        "features": list(graph.features),
        "outcome": graph.outcome,
        "variables": list(audit.variables),
        "edges": [{"from": a, "to": b, "fair": (a, b) in graph.fair_edges} for a, b in graph.edges],
        "pairs": [list(pair) for pair in graph.pairs],
        "predictor_looks_at": list(audit.claim.view.names),
    }


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


def _worst_case(found: WorstCase) -> dict[str, Any]:
    return {
        "cfu": found.value,
        "budget": found.budget,
        "floor": found.floor,
        "correlation": found.correlation.to_numpy().tolist(),
        "log_likelihood_drop": found.log_likelihood_drop,
        "min_eigenvalue": found.min_eigenvalue,
        "status": str(found.status),
        "n_starts": found.n_starts,
        "n_agreeing": found.n_agreeing,
        "scan_cfu": found.scan_value,
        "reflects_threshold": found.reflects_threshold,
    }


def _curve(curve: Curve, group_means: pd.DataFrame) -> dict[str, Any]:
    without = curve.cfu_unpenalised
    points = []
    for i, point in enumerate(curve.points):
        means = group_means[group_means["p_max"] == point.p_max].drop(columns="p_max")
        own = {"cfu_own_search": curve.own[i].value, "groups": _records(means)}
        unpenalised = None if without is None else float(without[i])
        points.append({"p_max": point.p_max, "cfu_unpenalised": unpenalised, **own, **_worst_case(point)})
    return {"points": points, "shows_penalty_only": curve.shows_penalty_only, "negligible": curve.context.negligible}


def check_results(check: Check) -> dict[str, Any]:
    """Gather a check's findings in plain types."""

    def plain(finding: Any) -> dict[str, Any]:
        return {
            "pairs": [list(pair) for pair in finding.pairs],
            "verdict": str(finding.verdict),
            "reason": finding.reason,
            "advice": finding.advice,
            "cfu": finding.cfu,
        }

    return {"together": plain(check.together), "alone": [plain(finding) for finding in check.alone]}


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain types; what is missing is None."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not np.isfinite(plain):
        return None
    return plain if isinstance(plain, str | int | float | bool | None) else str(plain)
