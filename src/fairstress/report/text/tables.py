"""Small tables to report: the least that a reader should be told. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstress.analyses.absorption import listed
from fairstress.errors import SettingError
from fairstress.options import RESIDUALS
from fairstress.report.text.audit import audit_data
from fairstress.report.text.frontier import frontier_notes
from fairstress.report.text.markup import Sheet
from fairstress.report.text.results import (
    cfu_text,
    curve_notes,
    curve_title,
    likelihood_change,
    profile_notes,
    shown_correlations,
    upper_title,
    worst_case_notes,
)

if TYPE_CHECKING:
    from fairstress.analyses.cause_contour import CauseContour
    from fairstress.analyses.check import Check
    from fairstress.analyses.curve import Curve
    from fairstress.analyses.profile import Profile
    from fairstress.analyses.robust.frontier import Frontier
    from fairstress.analyses.worst_case import WorstCase
    from fairstress.audit import Audit
    from fairstress.claim.claim import Baseline


def audit_table(audit: Audit) -> Sheet:
    """What was audited, under which assumptions, and how predictor and baselines compare."""
    graph, settings = audit.graph, audit.settings
    measure = "R2" if audit.fitted.table.outcome_levels is None else "deviance explained"
    fair = listed(f"{a} -> {b}" for a, b in graph.fair_edges)
    rows = [
        ("Outcome", f"{graph.outcome} (variance {audit.fitted.outcome_variance:.4g})"),
        ("Protected attribute", graph.protected),
        ("Data", audit_data(audit.fitted.table)),
        ("Graph", graph.to_text()),
        ("Criterion", f"path-specific; called fair: {fair}" if fair else "total effect: all paths are unfair"),
        ("Errors that may be correlated", listed(f"{a} <-> {b}" for a, b in graph.pairs) or "none"),
        ("Pairs at structural penalty 0", _verdict(audit)),
        ("Structural equations", f"degrees {_degrees(audit)}; penalty {settings.penalty:.5g}"),
        ("Audited predictor", _audited(audit, measure)),
        ("Kinds of features", listed(f"{name}: {kind}" for name, kind in audit.fitted.table.kinds.items())),
        ("CFU under Model A", _nominal(audit)),
    ]
    rows += [
        (f"Baseline {b.name}", f"{_own(audit, b)}; {measure} {b.r2:.4f}, in-sample") for b in audit.baselines.values()
    ]
    note = "Model A takes the errors as independent. What correlated errors do is in the curve and its table."
    return Sheet(f"Audit of a predictor of {graph.outcome}", ("Item", "Value"), tuple(rows), (note,))


def _nominal(audit: Audit) -> str:
    """CFU without confounding: 0 for a predictor of residuals, or what intervals leave open."""
    context = audit.fitted.context
    if audit.settings.predictor_input != RESIDUALS:
        return f"{audit.cfu({}):.4g}"
    return f"{context.floor:.4g}" if context.floor > context.negligible else "0"


def curve_table(curve: Curve) -> Sheet:
    """The worst case for each budget, with its correlations."""
    last = curve.points[-1]
    pairs = [f"{a} <-> {b}" for a, b in last.pairs]
    variance = curve.context.outcome_variance  # NaN where CFU is not in its units: another measure, or log-odds
    of_variance = ("% of variance",) if np.isfinite(variance) else ()
    limits = (upper_title(curve.sampling_error),) if curve.sampling_error else ()
    head = ("p_max", "CFU", *limits, *of_variance, "CFU at penalty 0", "log likelihood against Model A", *pairs)
    rows = []
    for i, point in enumerate(curve.points):
        without = "none" if curve.cfu_unpenalised is None else cfu_text(curve, curve.cfu_unpenalised[i])
        share = "0" if point.value <= curve.context.negligible else f"{100 * point.value / variance:.3g}"
        p = [f"{point.correlation[a][b]:+.3f}" for a, b in point.pairs]
        drop = f"{round(-point.log_likelihood_drop, 2) + 0.0:.2f}"
        shares = (share,) if of_variance else ()
        upper = (cfu_text(curve, point.estimate.upper),) if point.estimate else ()
        rows.append((f"{point.p_max:g}", cfu_text(curve, point.value), *upper, *shares, without, drop, *p))
    units = "CFU in squared units of the outcome; the variance is the outcome's."
    other = f"{last.functional} is not in units of the variance of the outcome."
    notes = (units if of_variance else other, *curve_notes(curve))
    return Sheet(curve_title(last), head, tuple(rows), notes, numeric=True)


def cause_contour_table(contour: CauseContour) -> Sheet:
    """The largest CFU for each two shares that one hidden cause may explain."""
    head = ("features' errors", *(f"{100 * share:g} % of {contour.protected}" for share in contour.attribute_shares))
    cfu = np.where(contour.cfu <= contour.context.negligible, 0.0, contour.cfu)
    shown = [
        [f"{value:.3g}{'*' * star}" for value, star in zip(values, stars, strict=True)]
        for values, stars in zip(cfu.tolist(), contour.as_unfair.tolist(), strict=True)
    ]
    rows = tuple((f"{100 * share:g} %", *cells) for share, cells in zip(contour.feature_shares, shown, strict=True))
    starred = f"* The predictor can be as unfair as the baseline {contour.baseline} at the same correlation."
    notes = (starred,) if contour.as_unfair.any() else ()
    return Sheet(
        "Largest CFU, by the shares of errors that one hidden cause may explain", head, rows, notes, numeric=True
    )


def profile_table(profile: Profile) -> Sheet:
    """CFU at round correlations of one pair."""
    limits = profile.estimates
    upper_head = (upper_title(limits[0]),) if limits else ()
    head = ("correlation", "CFU", *upper_head, "CFU at penalty 0", "log likelihood", "against Model A")
    rows = []
    for i in shown_correlations(profile.correlation):
        without = "none" if profile.cfu_unpenalised is None else cfu_text(profile, profile.cfu_unpenalised[i])
        change, likelihood = f"{likelihood_change(profile, i):.2f}", f"{profile.log_likelihood[i]:.2f}"
        upper = (cfu_text(profile, limits[i].upper),) if limits else ()
        cfu = cfu_text(profile, profile.cfu[i])
        rows.append((f"{profile.correlation[i]:.3f}", cfu, *upper, without, likelihood, change))
    title = f"CFU along the correlation of {' <-> '.join(profile.pair)}"
    return Sheet(title, head, tuple(rows), tuple(profile_notes(profile)), numeric=True)


def worst_case_table(worst: WorstCase) -> Sheet:
    """The correlation of the worst case."""
    names = [str(name) for name in worst.correlation]
    rows = tuple(
        (name, *(f"{p:+.3f}" for p in values)) for name, values in zip(names, worst.correlation.to_numpy(), strict=True)
    )
    title = f"Correlation of the errors: {worst.direction} {worst.functional}, {worst.budget} budget p_max = "
    notes = (" ".join(worst_case_notes(worst)),)
    return Sheet(f"{title}{worst.p_max:g}", ("", *names), rows, notes, numeric=True)


def frontier_table(frontier: Frontier) -> Sheet:
    """Accuracy and worst-case CFU of each predictor."""
    head = ("predictor", "weight", frontier.explained, "worst-case CFU", "fair one shrunk")
    rows = []
    for row in frontier.to_frame().itertuples():
        own = row.predictor in ("fair", "robust")
        shown = (f"{row.weight:g}", f"{row.shrunk:.4e}") if own else ("", "")
        rows.append((str(row.predictor), shown[0], f"{row.r2:.5f}", f"{row.unfairness:.4e}", shown[1]))
    worst = frontier.fair.worst_case
    title = f"Accuracy against the worst-case CFU within the {worst.budget} budget p_max = {worst.p_max:g}"
    return Sheet(title, head, tuple(rows), frontier_notes(frontier), numeric=True)


def check_table(check: Check) -> Sheet:
    """The verdict on all pairs together and on each alone."""
    head = ("Pairs", "Verdict", "CFU seen", "Why", "Advice")
    rows = []
    for finding in check.findings:
        pairs = ", ".join(f"{a} <-> {b}" for a, b in finding.pairs)
        seen = "not probed" if finding.cfu is None else f"{finding.cfu:.3g}"
        rows.append((pairs, str(finding.verdict), seen, finding.reason, finding.advice))
    return Sheet("What correlated errors can do to CFU at structural penalty 0", head, tuple(rows))


def _audited(audit: Audit, measure: str) -> str:
    """What the predictor is, what it looks at, and how well it predicts where that can be said."""
    predictor, looks_at = audit.fitted.claim.predictor, audit.settings.predictor_input
    own = f"on {looks_at}, degree {predictor.degree}{_robust(audit)}"
    shown = own if predictor.degree is not None else f"{predictor.name} on {looks_at}"
    return shown if predictor.r2 is None else f"{shown}; {measure} {predictor.r2:.4f}, in-sample"


def _robust(audit: Audit) -> str:
    if audit.robust_predictor is None:
        return ""
    worst = audit.robust_predictor.worst_case
    return (
        f", robust: weight {audit.robust_predictor.weight:g} on the worst case, {worst.budget} p_max = {worst.p_max:g}"
    )


def _own(audit: Audit, baseline: Baseline) -> str:
    """A baseline's distance from a fair predictor; from one that is unfair itself it says nothing."""
    if audit.settings.predictor_input == RESIDUALS:
        return f"unfairness {baseline.unfairness:.4g}"
    return f"CFU under Model A {audit.cfu({}, baseline=baseline.name):.4g}"


def _degrees(audit: Audit) -> str:
    return listed(f"{name} {degree}" for name, degree in audit.settings.degrees.items())


def _verdict(audit: Audit) -> str:
    try:
        return str(audit.check().together.verdict)
    except SettingError:  # no pair to check
        return "none"
