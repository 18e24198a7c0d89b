"""Prose with numbers: what was assumed, what was fitted, what a profile shows. Computes nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstress.errors import Status
from fairstress.sensitivity.absorption import listed as _join
from fairstress.sensitivity.check import Verdict

if TYPE_CHECKING:
    from fairstress.audit import Audit
    from fairstress.inputs.data import Table
    from fairstress.sensitivity.check import Check, Finding
    from fairstress.sensitivity.curve import Curve
    from fairstress.sensitivity.profile import Profile
    from fairstress.sensitivity.strength import HiddenCause
    from fairstress.sensitivity.worst_case import WorstCase
    from fairstress.sensitivity.yardstick import Benchmark, Benchmarks

WIDTH = 100
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


def audit_summary(audit: Audit) -> str:
    """Say what was assumed, how Model A fits, and how predictor and baselines compare."""
    parts = [_data(audit.table), _assumptions(audit), _model_a(audit), _predictors(audit), _what_can_matter(audit)]
    return "\n\n".join(part for part in parts if part)


def check_summary(check: Check) -> str:
    """Say what the free pairs can do to CFU where no penalty is in the way."""
    title = "What correlated errors can do to CFU at structural penalty 0"
    if check.together.verdict is Verdict.CANNOT_MATTER:
        alone = " Nor can any of them alone." if len(check.alone) > 1 else ""
        penalty = "Where CFU moves with a correlation all the same, it is the penalty that moves it."
        return f"{title}\n\n" + _fill(f"{_finding(check.together, check.outcome_variance)}{alone} {penalty}")
    paragraphs = [_finding(finding, check.outcome_variance) for finding in check.findings]
    if len(check.alone) > 1 and all(f.verdict is Verdict.CANNOT_MATTER for f in check.alone):
        paragraphs[0] += " Each of them alone cannot matter."
    return "\n\n".join([title, *(_fill(paragraph) for paragraph in paragraphs)])


def profile_summary(profile: Profile) -> str:
    """Say what CFU does along one pair's correlation, and what that measures."""
    a, b = profile.pair
    count = len(profile.correlation)
    points = "1 correlation" if count == 1 else f"{count} correlations"
    title = (
        f"The pair {a} <-> {b}: Model B at {points} from {profile.correlation.min():g} to {profile.correlation.max():g}"
    )
    sentences = (_worst(profile), _measured(profile), _likelihood(profile), _objections(profile))
    paragraphs = [title, _profile_table(profile), *(_fill(sentence) for sentence in sentences)]
    return "\n\n".join(part for part in paragraphs if part)


def worst_case_summary(found: WorstCase) -> str:
    """Say what a search within a budget found, and how sure that is."""
    pairs = _join(f"{a} <-> {b} {found.correlation[a][b]:+.3f}" for a, b in found.pairs)
    floor = f", least eigenvalue {found.floor:g}" if len(found.pairs) > 1 else ""
    budget = f"{found.budget} budget p_max = {found.p_max:g}{floor}"
    value = f"The {found.direction} {found.functional} found within the {budget}"
    where = f"is {found.value:.4g}. It stands at {pairs} (smallest eigenvalue {found.min_eigenvalue:.3g})."
    data = f"The log likelihood there is {-found.log_likelihood_drop:+.1f} against Model A's{_caution(found)}."
    sure = "The whole interval was searched."
    if len(found.pairs) > 1:
        sure = (
            f"{found.n_agreeing} of {found.n_starts} ascents ended there or at an equal value; the best of a scan of "
            f"the whole set is {found.scan_value:.4g}."
        )
    status = "" if found.status is Status.CONVERGED else str(found.status)
    return _fill(" ".join([value, where, data, sure, status]).strip())


def curve_summary(curve: Curve) -> str:
    """Say how the worst case grows with the budget."""
    last = curve.points[-1]
    lines = [f"Worst case within {last.budget} budgets (least eigenvalue {last.floor:g} at the largest)", ""]
    lines += [f"{'p_max':>8}{'CFU':>14}{'CFU at penalty 0':>18}{'against Model A':>17}"]
    for i, point in enumerate(curve.points):
        without = "none" if curve.cfu_unpenalised is None else f"{curve.cfu_unpenalised[i]:.4e}"
        lines.append(f"{point.p_max:>8.3f}{point.value:>14.4e}{without:>18}{-point.log_likelihood_drop:>17.2f}")
    levels = [f"{name} {level:.4g}" for name, level in curve.context.baselines.items()]
    text = f"The unfairness of the baselines, for comparison: {_join(levels)}." if levels else ""
    if curve.shows_penalty_only:
        text += " At penalty 0 CFU is 0 up to rounding at these correlations: the curve shows the penalty."
    return "\n".join(lines) + "\n\n" + _fill(text)


def benchmarks_summary(found: Benchmarks) -> str:
    """Say what leaving each observed variable out would do to the errors, and what hidden causes like it would."""
    paragraphs = [_fill(_benchmark(b, found.multiples)) for b in found.found]
    bare = [f"{a} <-> {b}" for a, b in found.pairs if (a, b) not in {one.pair for one in found.found}]
    if bare:
        paragraphs.append(_fill(f"No observed variable to compare with could confound {_join(bare)}."))
    return "\n\n".join(paragraphs)


def correlation_reading(found: Benchmarks, cause: HiddenCause) -> str:
    """Say how strong a hidden common cause must be to give two errors a correlation."""
    p = cause.correlation
    need = (
        f"A correlation of {p:.3g} in size needs one hidden cause that explains {_percent(cause.r2_first)} of the "
        f"variance of each error, or more of the one and less of the other with the same product. As sensemakr counts, "
        f"that is a partial R2 of {cause.r2_first:.3g} with the first variable and of "
        f"{cause.r2_second_given_first:.3g} with the second given the first."
    )
    return _fill(" ".join([need, *(_times(b, p) for b in found.found)]))


# ---------------------------------------------------------------- benchmarks


def _benchmark(b: Benchmark, multiples: Iterable[float]) -> str:
    first, second = b.pair
    name = b.name if b.members == (b.name,) else f"{b.name} ({_join(b.members)})"
    shares = f"{_percent(b.r2_first)} of the variance of {first}'s error and {_percent(b.r2_second)} of {second}'s"
    head = f"{first} <-> {second}, {name}. Left out of the equations, it explains {shares}, and "
    if not b.in_model:
        head = f"{first} <-> {second}, {name}. It is not in the graph and explains {shares}; this "
    head += f"correlates the two by {b.correlation:+.3f}."
    possible = [k for k in multiples if b.hidden_cause(k) is not None and (b.in_model or k != 1)]
    strengths = [f"{b.correlation_at(k):+.3f} at {f'{k:g} times ' * (k != 1)}its strength" for k in possible]
    beside = "A hidden cause like it, beside it," if b.in_model else "A hidden cause like it"
    tail = f"{beside} gives {_join(strengths)}." if strengths else ""
    none = [f"{k:g}" for k in multiples if b.hidden_cause(k) is None]
    limit = f"None can be {_join(none)} times as strong: it would explain more than the whole error." if none else ""
    return " ".join(part for part in (head, tail, limit) if part)


def _times(b: Benchmark, p: float) -> str:
    """How many times as strong as a benchmark a cause in line with both errors must be."""
    multiple = b.multiple_for(p)
    pair = f"{b.pair[0]} <-> {b.pair[1]}"
    if multiple is None:
        return f"For {pair}, no multiple of {b.name} is enough."
    return f"For {pair}, a cause {multiple:.3g} times as strong as {b.name} is enough."


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


# ---------------------------------------------------------------- the audit


def _data(table: Table) -> str:
    graph, coding = table.graph, table.protected
    head = f"Audit of a predictor of {graph.outcome} for counterfactual fairness with respect to {graph.protected}"
    if coding.levels is None:
        groups = f"{coding.name} is numeric; the counterfactual moves it by {coding.shift:.4g}"
    else:
        sizes = table.group_sizes()
        low, high = coding.levels
        groups = (
            f"{sizes[high]:,} {high} (coded +1) and {sizes[low]:,} {low} (coded -1); "
            f"the counterfactual of each group is the other"
        )
    outcome = ""
    if table.outcome_levels is not None:
        outcome = f" The outcome has two values; predictions are probabilities of {table.outcome_levels[1]!r}."
    return head + "\n" + _fill(f"{table.y.size:,} rows ({table.rows.a.size:,} distinct): {groups}.{outcome}")


def _assumptions(audit: Audit) -> str:
    graph = audit.graph
    causes = [f"{name} depends on {_join(graph.parents(name)) or 'nothing in the graph'}" for name in graph.features]
    pairs = [f"{a} and {b}" for a, b in graph.pairs]
    hidden = (
        f"A hidden cause may correlate the errors of {_join(pairs)}."
        if pairs
        else "No pair of errors may be correlated."
    )
    return _fill(
        f"What was assumed. {'; '.join(causes)}. Errors are additive and Gaussian. Model A takes them as independent; "
        f"Model B gives them a correlation. {hidden}{_threshold(audit)}"
    )


def _threshold(audit: Audit) -> str:
    graph = audit.graph
    if not (graph.confounds_protected and audit.table.protected.is_binary):
        return ""
    high = audit.table.protected.levels[1] if audit.table.protected.levels else ""
    return (
        f" {graph.protected} itself is taken as a normal variable seen through a threshold: a positive correlation "
        f"with it means that what hides behind {high} raises the feature."
    )


def _model_a(audit: Audit) -> str:
    settings, model = audit.settings, audit.model_a
    degrees = _join(f"{name} {degree}" for name, degree in settings.degrees.items())
    scales = _join(f"{name} {scale:.4f}" for name, scale in model.scales.items())
    constant = "constants are penalised" if settings.penalise_constant else "constants are not penalised"
    status = "" if model.status is Status.CONVERGED else f" {model.status}"
    return _fill(
        f"Model A. Polynomials of degree {degrees}; penalty {settings.penalty:.5g}, {constant}. Error scales on "
        f"standardised features: {scales}. Log likelihood {model.log_likelihood:.2f}.{status}"
    )


def _predictors(audit: Audit) -> str:
    measure = "R2" if audit.table.outcome_levels is None else "deviance explained"
    predictor, shown = audit.claim.predictor, audit.settings
    on_residuals = shown.predictor_input == "residuals"
    name = "on residuals" if shown.predictor_degree is not None else predictor.name[:14]
    own = "0 under Model A" if on_residuals else f"{audit.cfu_under_model_a:.7f}"
    rows = [(f"{name} (audited)", predictor.degree, predictor.penalty, predictor.r2, own)]
    rows += [(b.name, b.degree, b.penalty, b.r2, f"{b.unfairness:.7f}") for b in audit.baselines.values()]
    lines = [f"{'Predictor':24}{'degree':>7}{'penalty':>11}{measure:>20}{'unfairness':>18}"]
    lines += [
        f"{name:24}{_number(degree, 'd'):>7}{_number(penalty, '.5g'):>11}{_number(r2, '.5f'):>20}{unfair:>18}"
        for name, degree, penalty, r2, unfair in rows
    ]
    note = (
        f"{measure} is in-sample. {'' if on_residuals else _RAW}A baseline's unfairness is its mean squared distance "
        f"from the audited predictor; "
        f"the variance of {audit.graph.outcome} is {audit.outcome_variance:.4g}."
    )
    return "\n".join(lines) + "\n" + _fill(note)


_RAW = "The audited predictor looks at the columns themselves: its unfairness is its CFU under Model A. "


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _what_can_matter(audit: Audit) -> str:
    """All free pairs together, at penalty 0; each alone is in the check's own summary."""
    if all(audit.graph.protected in pair for pair in audit.graph.pairs):
        return ""
    check = audit.check()
    return _fill(f"At structural penalty 0. {_finding(check.together, check.outcome_variance)}")


# ---------------------------------------------------------------- the check


def _finding(finding: Finding, variance: float) -> str:
    pairs = _join(f"{a} <-> {b}" for a, b in finding.pairs)
    many = len(finding.pairs) > 1
    if finding.verdict is Verdict.CANNOT_MATTER:
        verdict = f"{pairs} {'together cannot' if many else 'cannot'} matter: CFU is 0 at every correlation."
        return f"{verdict} {finding.reason}"
    where = _join(f"{a} <-> {b} {p:+.2f}" for (a, b), p in finding.correlation.items())
    if finding.cfu is None:
        verdict = f"No rule is known for {pairs}."
    elif finding.verdict is Verdict.NO_RULE and finding.cfu_model_a:
        verdict = f"No rule is known for {pairs}; CFU is {finding.cfu:.3g} at random correlations as under Model A."
    elif finding.verdict is Verdict.NO_RULE:
        verdict = f"No rule is known for {pairs}; CFU is 0 up to rounding at random correlations."
    else:
        share = _of_variance(finding.cfu, variance, ", {} of the outcome's variance,")
        verdict = f"{pairs} {'together move' if many else 'moves'} CFU: it is {finding.cfu:.3g}{share} at {where}"
        verdict += f", and {finding.cfu_model_a:.3g} under Model A." if finding.cfu_model_a else "."
    return " ".join(part for part in (verdict, finding.reason, finding.advice) if part)


def _of_variance(cfu: float, variance: float, sentence: str) -> str:
    """CFU as a share of the outcome's variance; nothing where it is not in its units."""
    return "" if np.isnan(variance) else sentence.format(f"{100 * cfu / variance:.2g} %")


# ---------------------------------------------------------------- the profile


def _profile_table(profile: Profile) -> str:
    lines = [f"{'correlation':>12}{'CFU':>14}{'CFU at penalty 0':>18}{'log likelihood':>17}{'against Model A':>17}"]
    for i in _shown(profile.correlation):
        without = "none" if profile.cfu_unpenalised is None else _cfu(profile, profile.cfu_unpenalised[i])
        change = round(profile.log_likelihood[i] - profile.context.log_likelihood, 2) + 0.0
        lines.append(
            f"{profile.correlation[i]:>12.3f}{_cfu(profile, profile.cfu[i]):>14}{without:>18}"
            f"{profile.log_likelihood[i]:>17.2f}{change:>17.2f}"
        )
    return "\n".join(lines)


def _cfu(profile: Profile, value: float) -> str:
    return "0" if profile.is_rounding(value) else f"{value:.4e}"


def _shown(correlation: Any) -> list[int]:
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
        return "CFU at penalty 0 is not given: without a penalty, nearly collinear terms leave no reliable fit."
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
    change = profile.log_likelihood[best] - profile.context.log_likelihood
    head = f"The log likelihood is highest at correlation {profile.correlation[best]:g}, {change:.1f} above Model A's"
    if profile.reflects_threshold:
        return f"{head}{_caution(profile)}."
    trust = "as far as the form of the model is right"
    return f"{head}. Far below the highest value the data object to a correlation, {trust}."


def _caution(found: Profile | WorstCase) -> str:
    """What a likelihood is worth where a two-valued protected attribute is confounded."""
    if not found.reflects_threshold:
        return ""
    return (
        ", which also reflects the assumed normality and threshold of the two-valued attribute: "
        "it does not tell which correlation is right"
    )


def _objections(profile: Profile) -> str:
    trouble = sorted({str(s) for s in profile.status if s is not Status.CONVERGED})
    counts = [sum(str(s) == t for s in profile.status) for t in trouble]
    return " ".join(
        f"At {count} of {len(profile.status)} correlations: {text}" for count, text in zip(counts, trouble, strict=True)
    )


# ---------------------------------------------------------------- words


def _fill(text: str) -> str:
    return textwrap.fill(text, WIDTH)
