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

from fairstress.analyses.groups import has_rare_level, people_by_group
from fairstress.analyses.notes import notes
from fairstress.report.conclusion import conclusion_results, nominal_results, plausibility_results, typical
from fairstress.report.sharing import shared
from fairstress.report.text.limits import replication_text
from fairstress.saving import save
from fairstress.version import __version__
from fairstress.wording import SHARING, Sharing

if TYPE_CHECKING:
    from fairstress.analyses.benchmarks.result import Benchmarks
    from fairstress.analyses.cause_contour import CauseContour
    from fairstress.analyses.check import Check
    from fairstress.analyses.conclusion import Conclusion
    from fairstress.analyses.curve import Curve
    from fairstress.analyses.decisions import Decisions, Extreme
    from fairstress.analyses.diagnostics.result import Diagnostics
    from fairstress.analyses.leakage import Leakage
    from fairstress.analyses.profile import Profile
    from fairstress.analyses.robust.cuts import RobustPredictor
    from fairstress.analyses.worst_case import WorstCase
    from fairstress.audit import Audit
    from fairstress.claim.claim import Baseline
    from fairstress.claim.measure import Measure
    from fairstress.report.data import ReportData

SCHEMA = 5
SOURCE = ("file", "sha256")
FIRST = ("data", "graph", "settings", "model_a", "predictor", "baselines", "profiles")
LATER = (
    "details",
    "conclusion",
    "plausibility",
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
    "cause_contour",
    "comparison",
    "specification_checks",
    "no_specification_checks",
    "margins",
    "leakage",
    "bands",
    "diagnostics",
    "run",
)


def results(
    audit: Audit,
    profiles: Sequence[Profile],
    *,
    source: Mapping[str, Any] | None = None,
    sharing: Sharing = SHARING,
) -> dict[str, Any]:
    """Gather an audit and its profiles in plain types, without what would single people out."""
    return shared(_results(audit, profiles, source, sharing), sharing)


def _results(
    audit: Audit,
    profiles: Sequence[Profile],
    source: Mapping[str, Any] | None,
    sharing: Sharing,
    day: str | None = None,
) -> dict[str, Any]:
    """Gather an audit and its profiles in plain types; ``day`` is when they were computed, default today."""
    predictor = audit.fitted.claim.predictor
    return {
        "schema": SCHEMA,
        "fairstress": __version__,
        "versions": _versions(),
        "data": {**dict.fromkeys(SOURCE), **(source or {}), "date": day or date.today().isoformat(), **_data(audit)},
        "graph": _graph(audit),
        "settings": audit.settings.to_dict(),
        "wording": audit.settings.wording.to_dict(),
        "model_a": _model(audit, sharing.smallest_group),
        "predictor": {
            "r2": predictor.r2,
            "degree": predictor.degree,
            "penalty": predictor.penalty,
            "floor": audit.fitted.context.floor,
            "robust": _robust(audit.robust_predictor) if audit.robust_predictor else None,
        },
        "baselines": {name: _baseline(baseline) for name, baseline in audit.baselines.items()},
        "notes": list(notes(audit.fitted, sharing.smallest_group)),
        "profiles": [_profile(profile) for profile in profiles],
        **dict.fromkeys(LATER),
    }


def audit_results(audit: Audit, conclusion: Conclusion | None) -> dict[str, Any]:
    """Gather an audit and what it comes to in plain types, or how it stands if nothing is hidden."""
    sharing, fitted = SHARING, audit.fitted
    plausible = plausibility_results(fitted, audit.plausibility(), sharing.smallest_group)
    common = {**_results(audit, (), None, sharing), "plausibility": plausible}
    if conclusion is not None:
        return shared({**common, "conclusion": conclusion_results(fitted, conclusion)}, sharing)
    return shared({**common, "typical_model_a": nominal_results(fitted)}, sharing)


def report_results(data: ReportData, *, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Gather all that a report shows in plain types, without what would single people out."""
    return shared(_report_results(data, source), data.sharing)


def _report_results(data: ReportData, source: Mapping[str, Any] | None) -> dict[str, Any]:
    worst = data.worst
    return {
        **_results(data.audit, data.profiles, source, data.sharing, data.date),
        "details": {
            "p_max": data.p_max,
            "is_default": data.is_default,
            "reason": data.reason,
            "percent_of_variance": _plain(100 * data.share_of_variance),
            **_worst_case(worst),
        },
        "conclusion": conclusion_results(data.audit.fitted, data.conclusion),
        "plausibility": plausibility_results(data.audit.fitted, data.plausibility, data.sharing.smallest_group),
        "check": check_results(data.check),
        "curve": _curve(data),
        "levels": [
            {**asdict(level), "breaking_point": point.p_max, "breaking_point_lower": point.lower}
            for level, point in zip(data.levels, data.breaking_points, strict=True)
        ],
        "people": _people(data) if data.sharing.people else None,
        "by_group": _records(data.by_group),
        "decisions": _decisions(data.decisions) if data.decisions else None,
        "pairs": [
            {
                "pair": list(one.pair),
                "alone": one.alone.value,
                "forbidden": one.forbidden.value if one.forbidden else None,
            }
            for one in data.pairs
        ],
        "benchmarks": _records(data.benchmarks.to_frame()) if data.benchmarks else None,
        "benchmarks_refused": data.benchmarks_refused or None,
        "marks": _marks(data.benchmarks) if data.benchmarks else None,
        "predictors": _records(data.predictors),
        "cause_contour": _contour(data.cause_contour) if data.cause_contour else None,
        "comparison": [asdict(one) for one in data.comparison],
        "specification_checks": [asdict(one) for one in data.specification_checks],
        "no_specification_checks": data.no_specification_checks or None,
        "margins": _records(data.margins),
        "leakage": _leakage(data.leakage) if data.leakage else None,
        "bands": _bands(data.curve, data.audit.settings.measure),
        "diagnostics": _diagnostics(data.diagnostics),
    }


def write_results(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write results as JSON, whole or not at all."""
    save(path, render_results(content), "the results")


def render_results(content: Mapping[str, Any]) -> str:
    """Give results as the JSON that is written."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


# ---------------------------------------------------------------- parts


def _versions() -> dict[str, str]:
    modules = {"numpy": np.__version__, "scipy": scipy.__version__, "pandas": pd.__version__}
    return {"python": platform.python_version(), **modules}


def _robust(robust: RobustPredictor) -> dict[str, Any]:
    worst = robust.worst_case
    return {
        "weight": robust.weight,
        "p_max": worst.p_max,
        "budget": worst.budget.to_dict(),
        "cfu": robust.cfu,
        "gap": robust.gap,
    }


def _baseline(baseline: Baseline) -> dict[str, Any]:
    return {f.name: getattr(baseline, f.name) for f in fields(baseline) if f.name != "claim"}


def _contour(found: CauseContour) -> list[dict[str, Any]]:
    """What one hidden cause can do, by the shares of errors that it explains, in per cent."""
    kept = ["attribute_share", "feature_share", "cfu", "baseline_cfu", "as_unfair"]
    rows = _records(found.to_frame()[kept])
    shares = [{f"{key}_percent": 100 * row.pop(key) for key in kept[:2]} for row in rows]
    return [{**share, **row} for share, row in zip(shares, rows, strict=True)]


def _marks(benchmarks: Benchmarks) -> list[dict[str, Any]]:
    """Where benchmarks stand on the curve, each with a letter to find it by."""
    letters = (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *map(str, range(27, 1000)))
    return [{"mark": mark, **row} for mark, row in zip(letters, _records(benchmarks.marks()), strict=False)]


def _people(data: ReportData) -> list[dict[str, Any]]:
    names = data.audit.graph.features
    shown = data.people_features
    columns: dict[Any, list[Any]] = {key: [_plain(v) for v in shown[key]] for key in shown.columns}
    features = [
        [
            {"name": name, **{world: columns[name, world][i] for world in ("factual", "counterfactual")}}
            for name in names
        ]
        for i in range(len(shown))
    ]
    return [{**row, "features": own} for row, own in zip(_records(data.people), features, strict=True)]


def _decisions(decisions: Decisions) -> dict[str, Any]:
    model_a, worst = (_records(shares) for shares in (decisions.model_a, decisions.worst))
    rows = zip(decisions.worst.index, model_a, worst, strict=True)
    return {
        "threshold": decisions.threshold,
        "groups": [{"group": str(group), "model_a": here, "worst": there} for group, here, there in rows],
        "lowest": _extreme(decisions.lowest),
        "highest": _extreme(decisions.highest),
    }


def _diagnostics(found: Diagnostics) -> dict[str, Any]:
    """Every check; of people who matter most their number, and never who they are."""
    moved = found.influence
    counts = moved and {name: getattr(moved, name) for name in ("cfu", "people", "to_lower", "to_raise", "sentence")}
    return {
        "people": found.people,
        "effective_people": found.effective_people,
        "checked": len(found.checks),
        "alarms": len(found.alarms),
        "checks": _records(found.to_frame()),
        "untested": list(found.untested),
        "equations": _records(found.equations),
        "cross_validation": _records(found.cross_validation),
        "influence": counts,
    }


def _extreme(extreme: Extreme) -> dict[str, Any]:
    return {"share": extreme.share, "correlation": extreme.correlation.to_numpy().tolist(), "status": extreme.status}


def _data(audit: Audit) -> dict[str, Any]:
    table, coding, people = audit.fitted.table, audit.fitted.table.protected, people_by_group(audit.fitted)
    return {
        "rows": table.n_counted,
        "distinct_rows": int((table.rows.weight > 0).sum()),
        "held_out": audit.fitted.context.held_out or None,
        "groups": [
            {"level": _plain(level), "rows": count, "people": people[level]}
            for level, count in table.group_sizes().items()
        ],
        "reference": _plain(coding.level(coding.reference_code)) if coding.levels else None,
        "moved_to": [_plain(coding.level(code)) for code in coding.targets] or None,
        "shift": coding.shift,
        "outcome_levels": [_plain(v) for v in table.outcome_levels] if table.outcome_levels else None,
        "outcome_variance": audit.fitted.outcome_variance,
        "kinds": _kinds(audit),
        "left_out": _dropped(audit),
        "completed_tables": len(audit.fitted.completed) or None,
    }


def _kinds(audit: Audit) -> list[dict[str, Any]]:
    with_error = {equation.feature for equation in audit.fitted.claim.design.equations}
    return [
        {
            "column": name,
            "kind": str(kind),
            "levels": [_plain(level) for level in kind.levels] or None,
            "reason": kind.reason,
            "has_equation": name in with_error,
        }
        for name, kind in audit.fitted.table.kinds.items()
    ]


def _dropped(audit: Audit) -> dict[str, Any] | None:
    """People with missing values who were left out, where there are any."""
    dropped = audit.fitted.table.dropped
    if dropped is None:
        return None
    groups = [{"group": _plain(g), "left_out": gone, "of": of} for g, (gone, of) in dropped.by_group.items()]
    return {"rows": dropped.dropped, "of": dropped.total, "groups": groups, "columns": dropped.by_column}


def _graph(audit: Audit) -> dict[str, Any]:
    graph, used = audit.graph, audit.fitted.claim.columns_used
    return {
        "text": graph.to_text(),
        "protected": graph.protected,
        "features": list(graph.features),
        "outcome": graph.outcome,
        "variables": list(audit.variables),
        "edges": [{"from": a, "to": b, "fair": (a, b) in graph.fair_edges} for a, b in graph.edges],
        "pairs": [list(pair) for pair in graph.pairs],
        "predictor_looks_at": list(audit.fitted.claim.columns_shown),
        "columns_used": None if used is None else list(used),
    }


def _model(audit: Audit, fewest: int) -> dict[str, Any]:
    """Model A; of equations nothing where a group or a level has few people, whose weights would give them away."""
    model = audit.model_a
    likelihood = {"log_likelihood": model.log_likelihood, "status": str(model.status)}
    if has_rare_level(audit.fitted, fewest):
        return {**dict.fromkeys(("weights", "scales", "cuts")), **likelihood}
    weights = model.weights.rename("weight").reset_index().to_dict("records")
    scales = {str(name): float(value) for name, value in model.scales.items()}
    cuts = model.cuts.rename("cut").rename_axis(["feature", "up_to"]).reset_index().to_dict("records")
    return {"weights": weights, "scales": scales, "cuts": cuts, **likelihood}


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
        "upper": [one.upper for one in profile.estimates] if profile.estimates else None,
    }


def _leakage(leakage: Leakage) -> dict[str, Any]:
    by_feature = [{"feature": name, "auc": auc} for name, auc in leakage.by_feature.items()]
    return {"auc": _plain(leakage.auc), "people": leakage.people, "by_feature": by_feature}


def _worst_case(worst: WorstCase) -> dict[str, Any]:
    return {
        "cfu": worst.value,
        "budget": worst.budget.to_dict(),
        "floor": worst.floor,
        "correlation": worst.correlation.to_numpy().tolist(),
        "loadings": None if worst.loadings is None else worst.loadings.tolist(),
        "clique": list(worst.clique),
        "cliques": [list(group) for group in worst.cliques],
        "observed_factor": worst.observed_factor,
        "log_likelihood_drop": worst.log_likelihood_drop,
        "min_eigenvalue": worst.min_eigenvalue,
        "status": str(worst.status),
        "n_starts": worst.n_starts,
        "n_agreeing": worst.n_agreeing,
        "n_points": worst.n_points,
        "n_sampled": worst.n_sampled,
        "sample_difference": worst.sample_difference,
        "scan_cfu": worst.scan_value,
        "reflects_threshold": worst.reflects_threshold,
        "imputation_deviation": worst.imputation_deviation,
        "probability_error": worst.fit.error,
        "upper": worst.estimate.upper if worst.estimate else None,
        "standard_error": worst.estimate.standard_error if worst.estimate else None,
    }


def _curve(data: ReportData) -> dict[str, Any]:
    curve, group_means, measure = data.curve, data.group_means, data.audit.settings.measure
    without = curve.cfu_unpenalised
    points = []
    for i, point in enumerate(curve.points):
        means = group_means[group_means["p_max"] == point.p_max].drop(columns="p_max")
        own = {"cfu_own_search": curve.own[i].value, "groups": _records(means)}
        own["typical"] = typical(point.value, measure)
        own["typical_upper"] = typical(point.estimate.upper, measure) if point.estimate else None
        unpenalised = None if without is None else float(without[i])
        points.append({"p_max": point.p_max, "cfu_unpenalised": unpenalised, **own, **_worst_case(point)})
    return {"points": points, "shows_penalty_only": curve.shows_penalty_only, "negligible": curve.context.negligible}


def _bands(curve: Curve, measure: Measure) -> dict[str, Any] | None:
    """How limits came about, and what CFU may be where nothing is hidden."""
    if curve.sampling_error is None:
        return None
    last = curve.points[-1].estimate
    assert last is not None
    how = replication_text(last.replication)
    percent = 100 * last.replication.level
    error = curve.sampling_error.upper
    sampling = {"sampling_error": error, "typical_sampling_error": typical(error, measure)}
    return {**asdict(last.replication), "percent": percent, **sampling, "how": how}


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
