"""An audit in prose: what was assumed, what was fitted, how predictors compare. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairstress.analyses.absorption import listed as _join
from fairstress.errors import Status
from fairstress.inputs.kinds import ORDERED
from fairstress.options import PROBABILITY, RESIDUALS
from fairstress.report.text.markup import fill, printable
from fairstress.report.text.results import finding_text

if TYPE_CHECKING:
    from fairstress.audit import Audit
    from fairstress.inputs.data import Table
    from fairstress.inputs.protected import ProtectedCoding


def audit_summary(audit: Audit) -> str:
    """Say what was assumed, how Model A fits, and how predictor and baselines compare."""
    parts = [
        _data(audit.fitted.table),
        _held_out(audit),
        _assumptions(audit),
        _kinds(audit),
        _model_a(audit),
        _predictors(audit),
    ]
    parts += [_robust(audit), _what_can_matter(audit), _notes(audit)]
    return "\n\n".join(part for part in parts if part)


def _data(table: Table) -> str:
    graph = table.graph
    head = f"Audit of a predictor of {graph.outcome} for counterfactual fairness with respect to {graph.protected}"
    return printable(head) + "\n" + fill(f"{audit_data(table)}.{_outcome(table)}")


def _held_out(audit: Audit) -> str:
    training = audit.fitted.training
    if training is None:
        return ""
    return fill(
        f"These people were held out: Model A, predictor and baselines were fitted to {training.table.n_counted:,} "
        "others, and Model B and CFU are of these."
    )


def audit_data(table: Table) -> str:
    """How many rows there are, of which groups, and where the counterfactual takes people."""
    distinct = int((table.rows.weight > 0).sum())
    return f"{table.n_counted:,} rows ({distinct:,} distinct): {_groups(table)}; {_moved(table.protected)}"


def _outcome(table: Table) -> str:
    if table.outcome_levels is None:
        return ""
    return f" The outcome has two values; predictions are probabilities of {table.outcome_levels[1]!r}."


def _groups(table: Table) -> str:
    """How many people each level has."""
    coding, sizes = table.protected, table.group_sizes()
    if coding.levels is None:
        return f"{coding.name} is numeric"
    if coding.is_binary:
        low, high = coding.levels
        return f"{sizes[high]:,} {high} (coded +1) and {sizes[low]:,} {low} (coded -1)"
    codes = zip(coding.levels, coding.codes, strict=True)
    return _join(f"{sizes[level]:,} {level}{' (reference)' * (c == coding.reference_code)}" for level, c in codes)


def _moved(coding: ProtectedCoding) -> str:
    """Where the counterfactual takes people."""
    if coding.shift is not None:
        return f"the counterfactual moves it by {coding.shift:.4g}"
    if not coding.targets:
        return "the counterfactual of each group is the other"
    if coding.levels and len(coding.targets) == len(coding.levels):
        return "the counterfactual moves people to every other level"
    where = [coding.level(code) for code in coding.targets]
    shown = [f"{round(value, 10) + 0.0:.4g}" if coding.levels is None else str(value) for value in where]
    return f"the counterfactual moves people to {_join(shown)}"


def _assumptions(audit: Audit) -> str:
    graph = audit.graph
    causes = [f"{name} depends on {_join(graph.parents(name)) or 'nothing in the graph'}" for name in graph.features]
    pairs = [f"{a} and {b}" for a, b in graph.pairs]
    hidden = (
        f"A hidden cause may correlate the errors of {_join(pairs)}."
        if pairs
        else "No pair of errors may be correlated."
    )
    return fill(
        f"What was assumed. {'; '.join(causes)}. {_errors(audit)} Model A takes them as independent; "
        f"Model B gives them a correlation. {hidden}{_threshold(audit)}{_criterion(audit)}"
    )


def _errors(audit: Audit) -> str:
    kinds = audit.fitted.table.kinds.values()
    if all(str(kind) == "number" for kind in kinds):
        return "Errors are additive and Gaussian."
    levels = any(kind.levels and kind.name == ORDERED for kind in kinds)
    seen = " and seen of ordered features only as the level that they lead to" * levels
    return f"Errors are Gaussian, additive on the scale of each number{seen}."


def _kinds(audit: Audit) -> str:
    """What each feature was taken for, and why."""
    table, has_error = audit.fitted.table, {e.feature for e in audit.fitted.claim.design.equations}
    shown = []
    for name, kind in table.kinds.items():
        context = "" if name in has_error else "; conditioned on"
        shown.append(f"{name}: {kind} ({kind.reason}{context})")
    return fill(f"What the features were taken for. {'; '.join(shown)}.")


def _notes(audit: Audit) -> str:
    return "\n\n".join(fill(f"Note. {note}") for note in audit.notes)


def _criterion(audit: Audit) -> str:
    """Say which paths count, where some edges are called fair."""
    fair = [f"{a} -> {b}" for a, b in audit.graph.fair_edges]
    if not fair:
        return ""
    seen = _join(audit.fitted.claim.view.names)
    return f" Called fair, and so not counted: influence along {_join(fair)}. The predictor looks at {seen}."


def _threshold(audit: Audit) -> str:
    graph = audit.graph
    coding = audit.fitted.table.protected
    if not (graph.confounds_protected and coding.levels):
        return ""
    high = coding.levels[-1]
    through = "a threshold" if coding.is_binary else "thresholds"
    return (
        f" {graph.protected} itself is taken as a normal variable seen through {through}: a positive correlation "
        f"with it means that hidden causes in favour of {high} raise the feature."
    )


def _model_a(audit: Audit) -> str:
    settings, model = audit.settings, audit.model_a
    degrees = _join(f"{name} {degree}" for name, degree in settings.degrees.items())
    scales = _join(f"{name} {scale:.4f}" for name, scale in model.scales.items())
    constant = "constants are penalised" if settings.penalise_constant else "constants are not penalised"
    status = "" if model.status is Status.CONVERGED else f" {model.status}"
    own = _join(f"{name} {penalty:.5g}" for name, penalty in settings.own_penalties.items())
    penalties = f"penalty {settings.penalty:.5g}{f' ({own})' if own else ''}"
    on_scales = f" Error scales on standardised features: {scales}." if scales else ""
    return fill(
        f"Model A. Polynomials of degree {degrees}; {penalties}, {constant}.{on_scales} "
        f"Log likelihood {model.log_likelihood:.2f}.{status}"
    )


def _predictors(audit: Audit) -> str:
    measure = "R2" if audit.fitted.table.outcome_levels is None else "deviance explained"
    predictor, shown = audit.fitted.claim.predictor, audit.settings
    on_residuals = shown.predictor_input == RESIDUALS
    name = "on residuals" if shown.predictor_degree is not None else predictor.name
    floor = audit.fitted.context.floor
    context = audit.fitted.context
    where = "on people held out" if context.held_out else "under Model A"
    nominal = f"{floor:.2g} {where}" if floor > context.negligible else "0 by construction"
    own = nominal if on_residuals else f"{audit.cfu({}):.7f}"
    rows = [(f"{name} (audited)", predictor.degree, predictor.penalty, predictor.r2, own)]
    rows += [(b.name, b.degree, b.penalty, b.r2, f"{b.unfairness:.7f}") for b in audit.baselines.values()]
    wide, last = max(24, *(len(name) + 2 for name, *_ in rows)), max(18, len(own) + 2)
    lines = [f"{'Predictor':{wide}}{'degree':>7}{'penalty':>11}{measure:>20}{'unfairness':>{last}}"]
    lines += [
        f"{name:{wide}}{_number(degree, 'd'):>7}{_number(penalty, '.5g'):>11}{_number(r2, '.5f'):>20}{unfair:>{last}}"
        for name, degree, penalty, r2, unfair in rows
    ]
    whom = "audited" if audit.robust_predictor is None else "fair"
    note = (
        f"{measure} is in-sample. {'' if on_residuals else _RAW}A baseline's unfairness is its mean squared distance "
        f"from the {whom} predictor; "
        f"the variance of {audit.graph.outcome} is {audit.fitted.outcome_variance:.4g}.{_measure(audit)}"
    )
    return "\n".join(lines) + "\n" + fill(note)


def _measure(audit: Audit) -> str:
    """What CFU is, where it is not the mean squared change of a prediction in the outcome's units."""
    shown = audit.settings
    scale = "" if shown.predictor_scale == PROBABILITY else " Predictions are compared by their log-odds."
    if audit.fitted.claim.measure.is_squared:
        return scale
    name = shown.measure.name
    known = {"absolute": "the mean size of a prediction's change", "max": "the largest size of a prediction's change"}
    quantile = f"the {name} of the size of a prediction's change" if "quantile" in name else ""
    what = known.get(name) or quantile or f"what the function {name} makes of predictions' changes"
    return f"{scale} CFU is measured as {what}."


def _robust(audit: Audit) -> str:
    if audit.robust_predictor is None:
        return ""
    robust, worst = audit.robust_predictor, audit.robust_predictor.worst_case
    return fill(
        f"The audited predictor is a robust one: the best at weight {robust.weight:g} on the worst case within the "
        f"{worst.budget} budget p_max = {worst.p_max:g}, where the largest CFU found is {robust.cfu:.4g}. Baselines "
        "are compared with the fair predictor, in whose place it stands."
    )


_RAW = "The audited predictor looks at the columns themselves: its unfairness is its CFU under Model A. "


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _what_can_matter(audit: Audit) -> str:
    """All free pairs together, at penalty 0; each alone is in the check's own summary."""
    if all(audit.graph.protected in pair for pair in audit.graph.pairs):
        return ""
    check = audit.check()
    return fill(f"At structural penalty 0. {finding_text(check.together, check.outcome_variance)}")
