"""Prose with numbers: what a check, a profile, a worst case and a curve show. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstress.analyses.absorption import listed as _join
from fairstress.analyses.check import Verdict
from fairstress.budgets import Pairwise
from fairstress.errors import Status
from fairstress.report.text.implications import ADDITIVE, beyond, bounded, reached
from fairstress.report.text.limits import limit_text, percent, replication_text, sampling_text
from fairstress.report.text.markup import fill, printable

if TYPE_CHECKING:
    from fairstress.analyses.bands.limits import Estimate
    from fairstress.analyses.check import Check, Finding
    from fairstress.analyses.curve import Curve
    from fairstress.analyses.profile import Profile
    from fairstress.analyses.worst_case import WorstCase

UPPER_WIDTH = 16  # of a column of upper limits
SHOWN = (
    -0.99,
    -0.9,
    -0.6,
    -0.3,
    0.0,
    0.3,
    0.6,
    0.9,
    0.99,
)  # correlations that a text table shows, where the grid has them


def check_summary(check: Check) -> str:
    """Say what the free pairs can do to CFU where no penalty is in the way."""
    title = "What correlated errors can do to CFU at structural penalty 0"
    if check.together.verdict is Verdict.CANNOT_MATTER:
        alone = " Nor can any of them alone." if len(check.alone) > 1 else ""
        penalty = "Where CFU moves with a correlation all the same, it is the penalty that moves it."
        return f"{title}\n\n" + fill(f"{finding_text(check.together, check.outcome_variance)}{alone} {penalty}")
    paragraphs = [finding_text(finding, check.outcome_variance) for finding in check.findings]
    if len(check.alone) > 1 and all(f.verdict is Verdict.CANNOT_MATTER for f in check.alone):
        paragraphs[0] += " Each of them alone cannot matter."
    return "\n\n".join([title, *(fill(paragraph) for paragraph in paragraphs)])


def profile_summary(profile: Profile) -> str:
    """Say what CFU does along one pair's correlation, and what that measures."""
    a, b = profile.pair
    count = len(profile.correlation)
    points = "1 correlation" if count == 1 else f"{count} correlations"
    title = (
        f"The pair {a} <-> {b}: Model B at {points} from {profile.correlation.min():g} to {profile.correlation.max():g}"
    )
    return "\n\n".join([printable(title), _profile_text(profile), *map(fill, profile_notes(profile))])


def profile_notes(profile: Profile) -> list[str]:
    """The sentences under a profile's table."""
    how = replication_text(profile.estimates[0].replication) if profile.estimates else ""
    sentences = (
        _worst(profile),
        _measured(profile),
        how,
        *floor_notes(profile),
        _likelihood(profile),
        _objections(profile),
    )
    return [sentence for sentence in sentences if sentence]


def floor_notes(result: Profile | Curve) -> list[str]:
    """What CFU is without any confounding, where levels tell errors only within intervals."""
    context = result.context
    if context.floor <= context.negligible:
        return []
    if context.held_out:
        return [
            f"Of each CFU, about {context.floor:.2g} is there with independent errors already: Model A was fitted to "
            f"other people than these {context.held_out:,}, who were held out."
        ]
    return [
        f"Of each CFU, about {context.floor:.3g} is there under Model A already: levels tell errors only within "
        "intervals, so that even without confounding a counterfactual person's expected errors differ."
    ]


def worst_case_summary(worst: WorstCase) -> str:
    """Say what a search within a budget found, how sure that is, and what it would take to go beyond."""
    return fill(" ".join(worst_case_notes(worst)))


def worst_case_notes(worst: WorstCase) -> list[str]:
    """The sentences about a worst case."""
    pairs = _join(f"{a} <-> {b} {worst.correlation[a][b]:+.3f}" for a, b in worst.pairs)
    floor = f", least eigenvalue {worst.floor:g}" if len(worst.pairs) > 1 else ""
    budget = f"{worst.budget} budget p_max = {worst.p_max:g}{floor}{bounded(worst.budget)}"
    value = f"The {worst.direction} {worst.functional} found under {ADDITIVE} within the {budget}"
    where = f"is {worst.value:.4g}. It stands at {pairs} (smallest eigenvalue {worst.min_eigenvalue:.3g})."
    change = round(-worst.log_likelihood_drop, 1) + 0.0
    data = f"The log likelihood there is {change:+.1f} against Model A's{_caution(worst)}."
    by_ascent = worst.status in (Status.LOCAL, Status.LEFT_SET, Status.OUTSIDE)
    sure = "" if by_ascent or worst.p_max == 0 else _searched(worst)
    end = beyond(worst) if worst.status is Status.CONVERGED else str(worst.status)
    how = replication_text(worst.estimate.replication) if worst.estimate else ""
    limits = (limit_text(worst.estimate), how)
    return [sentence for sentence in (f"{value} {where}", *limits, *_precision(worst), data, sure, end) if sentence]


def _searched(worst: WorstCase) -> str:
    """How it was sought."""
    if len(worst.pairs) == 1:
        points = "Points along the whole interval were compared."
        return points if worst.at_points else f"The whole interval was searched.{_looked_around(worst)}"
    agreeing = f"{worst.n_agreeing} of {worst.n_starts} ascents ended there or at an equal value"
    scan = f"the best of a scan of the whole set is {worst.scan_value:.4g}."
    if not worst.n_points:
        return f"{agreeing}; {scan}{_looked_around(worst)}"
    surface = f"A smooth surface through the values at {worst.n_points} correlations showed where to look"
    climbed = worst.n_starts > 0 and worst.status in (Status.CONVERGED, Status.DIFFERENCES)
    return f"{surface}; {agreeing}." if climbed else f"{surface}."


def _looked_around(worst: WorstCase) -> str:
    """On which sample the search looked around, and how far off that is."""
    if worst.sample_difference is None:
        return ""
    off = f"{abs(worst.sample_difference):.1%}".replace("%", " %")
    way = "higher" if worst.sample_difference > 0 else "lower"
    return (
        f" The search looked around on a sample of {worst.n_sampled:,} rows, on which this value is {off} {way}, and "
        "climbed the highest hills with all rows."
    )


def _precision(worst: WorstCase) -> list[str]:
    """How far the value differs between completed tables, and how rough its probabilities are."""
    sentences = []
    if worst.imputation_deviation is not None:
        size = f"{worst.imputation_deviation:.3g}"
        sentences.append(f"Between the completed tables it differs with a standard deviation of {size}.")
    if worst.fit.error:
        sentences.append(
            "More than three ordered errors are tied: their probabilities are found by quasi-Monte-Carlo, with a "
            f"relative error of about {worst.fit.error:.1g}."
        )
    return sentences


def curve_summary(curve: Curve) -> str:
    """Say how the worst case grows with the budget, and what it takes to reach the baselines' unfairness."""
    last = curve.points[-1]
    lines = [*fill(curve_title(last)).splitlines(), ""]
    head = f"{upper_title(curve.sampling_error):>{UPPER_WIDTH}}" if curve.sampling_error else ""
    lines += [f"{'p_max':>8}{'CFU':>14}{head}{'CFU at penalty 0':>18}{'against Model A':>17}"]
    for i, point in enumerate(curve.points):
        without = "none" if curve.cfu_unpenalised is None else cfu_text(curve, curve.cfu_unpenalised[i])
        cfu, change = cfu_text(curve, point.value), round(-point.log_likelihood_drop, 2) + 0.0
        upper = f"{cfu_text(curve, point.estimate.upper):>{UPPER_WIDTH}}" if point.estimate else ""
        lines.append(f"{point.p_max:>8.3f}{cfu:>14}{upper}{without:>18}{change:>17.2f}")
    return "\n".join(lines) + "\n\n" + fill(" ".join(curve_notes(curve)))


def curve_title(last: WorstCase) -> str:
    """What a curve is of; ``last`` is its largest budget."""
    at = "" if isinstance(last.budget, Pairwise) else " at the largest"
    floor = f", least eigenvalue {last.floor:g}{at}" if len(last.pairs) > 1 else ""
    return f"Worst case under {ADDITIVE}: {last.budget} budgets{floor}{bounded(last.budget)}"


def upper_title(estimate: Estimate) -> str:
    """The head of a column of upper limits."""
    return f"at most ({percent(estimate.replication.level)})"


def curve_notes(curve: Curve) -> list[str]:
    """The sentences under a curve's table."""
    levels = [f"{name} {level:.4g}" for name, level in curve.context.baselines.items()]
    distances = "Mean squared distances of the baselines' predictions, the paper's levels"
    notes = [f"{distances}: {_join(levels)}."] if levels else []
    last = curve.points[-1].estimate
    about = (sampling_text(curve.sampling_error, curve.context), replication_text(last.replication if last else None))
    notes += [sentence for sentence in about if sentence]
    notes += floor_notes(curve)
    notes += reached(curve)
    if curve.shows_penalty_only:
        notes.insert(0, "At penalty 0 CFU is 0 up to rounding at these correlations: the curve shows the penalty.")
    caution = next(filter(None, map(_caution, curve.points)), "")
    return [*notes, f"The column 'against Model A' is the change of the log likelihood{caution}."] if caution else notes


# ---------------------------------------------------------------- the check


def finding_text(finding: Finding, variance: float) -> str:
    """Say what one set of pairs can do, and why."""
    pairs = _join(f"{a} <-> {b}" for a, b in finding.pairs)
    many = len(finding.pairs) > 1
    if finding.verdict is Verdict.CANNOT_MATTER:
        stays = (
            "stays at its value with independent errors"
            if np.isnan(finding.cfu_model_a)
            else _stays(finding.cfu_model_a)
        )
        verdict = f"{pairs} {'together cannot' if many else 'cannot'} matter: CFU {stays} at every correlation."
        return f"{verdict} {finding.reason}"
    where = _join(f"{a} <-> {b} {p:+.2f}" for (a, b), p in finding.correlation.items())
    if finding.cfu is None:
        verdict = f"No rule is known for {pairs}."
    elif finding.verdict is Verdict.NO_RULE and finding.cfu_model_a:
        verdict = (
            f"No rule is known for {pairs}; CFU is {finding.cfu:.3g} at random correlations as with independent errors."
        )
    elif finding.verdict is Verdict.NO_RULE:
        verdict = f"No rule is known for {pairs}; CFU is 0 up to rounding at random correlations."
    else:
        share = _of_variance(finding.cfu, variance, ", {} of the outcome's variance,")
        verdict = f"{pairs} {'together move' if many else 'moves'} CFU: it is {finding.cfu:.3g}{share} at {where}"
        verdict += f", and {finding.cfu_model_a:.3g} with independent errors." if finding.cfu_model_a else "."
    return " ".join(part for part in (verdict, finding.reason, finding.advice) if part)


def _stays(nominal: float) -> str:
    return f"stays at {nominal:.3g}, its value with independent errors," if nominal else "is 0"


def _of_variance(cfu: float, variance: float, sentence: str) -> str:
    """CFU as a share of the outcome's variance; nothing where it is not in its units."""
    if np.isnan(variance):
        return ""
    percent = 100 * cfu / variance
    return sentence.format(f"{percent:,.0f} %" if percent >= 99.5 else f"{percent:.2g} %")


# ---------------------------------------------------------------- the profile


def _profile_text(profile: Profile) -> str:
    limits = profile.estimates
    head = f"{upper_title(limits[0]):>{UPPER_WIDTH}}" if limits else ""
    last = f"{'CFU at penalty 0':>18}{'log likelihood':>17}{'against Model A':>17}"
    lines = [f"{'correlation':>12}{'CFU':>14}{head}{last}"]
    for i in shown_correlations(profile.correlation):
        upper = f"{cfu_text(profile, limits[i].upper):>{UPPER_WIDTH}}" if limits else ""
        without = "none" if profile.cfu_unpenalised is None else cfu_text(profile, profile.cfu_unpenalised[i])
        lines.append(
            f"{profile.correlation[i]:>12.3f}{cfu_text(profile, profile.cfu[i]):>14}{upper}{without:>18}"
            f"{profile.log_likelihood[i]:>17.2f}{likelihood_change(profile, i):>17.2f}"
        )
    return "\n".join(lines)


def likelihood_change(profile: Profile, i: int) -> float:
    """Model B's log likelihood less Model A's, to two digits."""
    return round(float(profile.log_likelihood[i]) - profile.context.log_likelihood, 2) + 0.0


def cfu_text(result: Profile | Curve, value: float) -> str:
    """A CFU as text, what is rounding as 0."""
    return "0" if value <= result.context.negligible else f"{value:.4e}"


def shown_correlations(correlation: Any) -> list[int]:
    """Positions of the correlations to show: those of a short grid, otherwise the ones nearest to round numbers."""
    if len(correlation) <= len(SHOWN):
        return list(range(len(correlation)))
    inside = [p for p in SHOWN if correlation.min() - 1e-9 <= p <= correlation.max() + 1e-9]
    return sorted({int(np.abs(correlation - p).argmin()) for p in inside})


def _worst(profile: Profile) -> str:
    p, cfu = profile.worst
    if profile.is_rounding(cfu):
        return ""
    share = _of_variance(cfu, profile.context.outcome_variance, ": {} of the outcome's variance")
    sentence = f"The largest CFU on this grid is {cfu:.4g}, at correlation {p:g}{share}."
    if not profile.context.baselines:
        return sentence
    reached = [name for name, level in profile.context.baselines.items() if cfu >= level]
    if reached:
        noun = "baseline" if len(reached) == 1 else "baselines"
        return sentence + f" It reaches the unfairness of the {noun} {_join(reached)}."
    return sentence + f" It stays below the unfairness of the baselines {_join(profile.context.baselines)}."


def _measured(profile: Profile) -> str:
    if profile.cfu_unpenalised is None:
        return f"CFU at penalty 0 is not given: {profile.context.no_unpenalised}."
    if not profile.is_rounding(profile.cfu_unpenalised.max()):
        return ""
    head = "CFU is 0 up to rounding at every correlation of the grid."
    if profile.shows_penalty_only:
        head = (
            "This curve shows the penalty, not the confounding: with structural penalty 0 instead of "
            f"{profile.context.penalty:.5g}, CFU is 0 up to rounding at every correlation of the grid."
        )
    if profile.is_absorbed:
        return (
            f"{head} Model B's equations absorb the correlation of this pair, so that its counterfactuals are those of "
            "Model A. The curve speaks neither for nor against the claim."
        )
    return f"{head} The likelihood moves with this pair's correlation, but what Model A takes for noise does not."


def _likelihood(profile: Profile) -> str:
    if profile.is_absorbed:
        return ""
    best = int(profile.log_likelihood.argmax())
    change = round(float(profile.log_likelihood[best]) - profile.context.log_likelihood, 1) + 0.0
    change_text = f"{abs(change):.1f} {'above' if change >= 0 else 'below'} Model A's"
    head = f"The log likelihood is highest at correlation {profile.correlation[best]:g}, {change_text}"
    if profile.reflects_threshold:
        return f"{head}{_caution(profile)}."
    trust = "as far as the form of the model is right"
    return f"{head}. Far below the highest value the data object to a correlation, {trust}."


def _caution(result: Profile | WorstCase) -> str:
    """What a likelihood is worth where a protected attribute with levels is confounded."""
    if not result.reflects_threshold:
        return ""
    what = (
        "thresholds of the ordered attribute"
        if result.protected_levels > 2
        else "threshold of the two-valued attribute"
    )
    return f", which also reflects the assumed normality and {what}: it does not tell which correlation is right"


def _objections(profile: Profile) -> str:
    trouble = sorted({str(s) for s in profile.status if s is not Status.CONVERGED})
    counts = [sum(str(s) == t for s in profile.status) for t in trouble]
    return " ".join(
        f"At {count} of {len(profile.status)} correlations: {text}" for count, text in zip(counts, trouble, strict=True)
    )
