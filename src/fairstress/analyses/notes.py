"""What an analyst should know before trusting an audit: columns that may be of another kind, people left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fairstress.analyses.diagnostics.shape import scale_to_try, scales_by_group, shape_of
from fairstress.analyses.plausibility import BAD, FEW, plausibility
from fairstress.claim.build import Fitted, degrees_to_try
from fairstress.claim.evaluate import changes, detail_error
from fairstress.inputs.rows import Array
from fairstress.model.design import Describer, Equation, count_values
from fairstress.model.fit import System
from fairstress.model.predictor import PolynomialPredictor

HEAP = 0.2  # share of people with one value from which on a number may need levels
WIDER = 1.2  # ratio of residual deviations between groups
FEWEST = 10  # people in a group that a deviation is told from


def notes(fitted: Fitted, fewest: int = 1) -> tuple[str, ...]:
    """Sentences, each with the kind to try or the way out; first who cannot exist, last what was asked for.

    Which levels are missing among fewer people than that is not said, since that tells which they have.
    """
    table = fitted.table
    found = [*_of_plausibility(fitted), *([table.dropped.sentence()] if table.dropped else [])]
    if table.table_of is not None:
        count = int(table.table_of.max()) + 1
        found.append(f"{count} completed tables were stacked; results state how far numbers differ between them.")
    if table.everyone is not None:
        found.append(
            f"The data are not in memory: models, CFU, worst cases and effects are of all {table.everyone.count:,} "
            f"people. What is said of single people and of their groups, and what is checked of their errors, is "
            f"about a sample of {table.y.size:,} of them, by which degrees and penalties that were not given "
            "were chosen, too."
        )
    eps = np.concatenate([fitted.claim.residuals(block) for block in table.rows.blocks()])
    for equation in fitted.claim.design.equations:
        kind = table.kinds[equation.feature]
        if kind.is_number:
            found += _of_number(fitted, equation, eps[:, equation.column])
        else:
            found += _of_levels(fitted, equation, fewest)
    found += [*_of_reference(fitted), *_of_order(fitted), *_of_degrees(fitted)]
    found += [*_of_detail(fitted), *_of_sample(fitted)]
    if fitted.context.floor > fitted.context.negligible and not fitted.training:
        found.append(floor_sentence(fitted))
    return (*found, *fitted.settings.prepared)


def _of_plausibility(fitted: Fitted) -> list[str]:
    """Features of which many people have a counterfactual value that nobody has."""
    return [one.sentence for one in plausibility(fitted).features if one.outside > BAD]


def _of_reference(fitted: Fitted) -> list[str]:
    """That a penalty shrinks several levels towards the reference, so that its choice counts."""
    coding, design, system = fitted.table.protected, fitted.claim.design, fitted.claim.system
    penalties = (system if isinstance(system, System) else system.features).penalties
    equations = zip(design.equations, design.slices, strict=True)
    if coding.levels is None or not any(len(e.levels) > 1 and penalties[own].any() for e, own in equations):
        return []
    return [
        f"'{coding.name}' has {len(coding.levels)} levels, and the penalty draws each of them towards the reference "
        f"{str(coding.level(coding.reference_code))!r}: another reference gives other numbers, often by some per cent. "
        "Choose the reference on purpose, or give penalty=0, with which it does not matter."
    ]


def _of_sample(fitted: Fitted) -> list[str]:
    """That CFU is a mean over a sample, where people have many worlds."""
    claim = fitted.claim
    if claim.rows is fitted.whole.rows:
        return []
    change, weight = changes(claim, claim.model_a, lambda block: block.weight)
    each = claim.measure.each(change)
    mean, n = float(each @ weight / weight.sum()), claim.rows.n
    error = float(np.sqrt(max((each - mean) ** 2 @ weight / weight.sum(), 0.0) / n))
    return [
        f"People have many counterfactual worlds, so that CFU is the mean over a sample of {n:,.0f} of them, which "
        f"gives it a standard error of at most {100 * error / max(mean, 1e-300):.2g} % of itself under Model A. Models "
        "are fitted to everyone, and people() and counterfactuals() have everyone."
    ]


def _of_detail(fitted: Fitted) -> list[str]:
    """How roughly worlds are worked out, where that is not exact."""
    claim = fitted.claim
    has_atom = any(e.moves and e.law.atom is not None for e in claim.design.equations)
    if not (has_atom or claim.draws_worlds):
        return []
    drawn = f" Each person's errors are drawn {claim.detail.draws} times within what is known." * claim.draws_worlds
    cut = has_atom and not claim.draws_worlds
    pieces = f" What rises above an atom is cut into {claim.detail.pieces} pieces." * cut
    return [
        f"Counterfactual worlds are worked out approximately.{drawn}{pieces} Worked out more finely, CFU under Model A "
        f"differs by {100 * detail_error(claim):.2g} % of itself."
    ]


def _of_order(fitted: Fitted) -> list[str]:
    """In which order a predictor that knows no names is shown its columns: in another its answers mean nothing."""
    own = fitted.settings.user_predictor
    assumed = own.order_assumed(fitted.graph) if own is not None else ()
    if own is None or len(assumed) < 2:
        return []
    return [
        f"{own.name} was fitted to an array, which does not name its columns: it is shown {', '.join(assumed)} in this "
        "order, which nothing can check. If it was fitted in another order, name the columns: "
        "Predictor(model, input='features', columns=[...])."
    ]


def _of_degrees(fitted: Fitted) -> list[str]:
    """Equations and predictors for which not all degrees were tried."""
    short = short_of_degrees(fitted.training or fitted)
    if not short:
        return []
    return [
        f"Not all degrees up to {fitted.settings.max_degree} were tried for {', '.join(short)}: they would have too "
        "many terms for the time or memory that fits may take. Name one in degrees or predictor_degree to have it."
    ]


def short_of_degrees(fitted: Fitted) -> list[str]:
    """Equations and predictors for which cross-validation tried fewer degrees than it was to."""
    settings, wanted = fitted.settings, tuple(range(1, fitted.settings.max_degree + 1))
    open_ones = replace(settings, degrees={name: settings.degrees[name] for name in settings.given_degrees})
    tried = degrees_to_try(fitted.table, open_ones, Describer(fitted.table))
    short = [name for name, its in tried.items() if its != wanted and name not in settings.given_degrees]
    if settings.given_predictor_degree:
        return short
    predictors = {"the predictor": fitted.fair_predictor or fitted.claim.predictor}
    predictors |= {f"the baseline {name}": one.claim.predictor for name, one in fitted.baselines.items()}
    own = {name: one for name, one in predictors.items() if isinstance(one, PolynomialPredictor)}
    return short + [name for name, one in own.items() if (one.tried.degrees if one.tried else (1,)) != wanted]


def floor_sentence(fitted: Fitted) -> str:
    """Why CFU is not 0 under Model A."""
    ordered = [e.feature for e in fitted.claim.design.equations if e.moves and not e.law.is_plain and _hides(e)]
    share = 100 * fitted.context.floor / fitted.context.outcome_variance
    shown = f"{share:,.0f}" if share >= 99.5 else f"{share:.2g}"
    of_variance = f", {shown} % of the outcome's variance" if np.isfinite(share) else ""
    return (
        f"CFU under Model A is {fitted.context.floor:.3g}{of_variance}, not 0: the levels of {', '.join(ordered)} tell "
        "their errors only within intervals, and the predictor sees the expected error. ordered_residuals='leave out' "
        "shows it no levels, and leaves no such floor but for atoms."
    )


def _hides(equation: Equation) -> bool:
    return equation.law.is_ordered or equation.law.atom is not None


# ---------------------------------------------------------------- numbers


def _of_number(fitted: Fitted, equation: Equation, eps: Array) -> Iterator[str]:
    """A number with few values, skewed or heavy-tailed residuals, or residuals that are wider in one group."""
    name, rows, kind = equation.feature, fitted.table.rows, fitted.table.kinds[equation.feature]
    weight = rows.weight
    values = count_values(rows.x[weight > 0, equation.column])
    if values <= FEW and kind.is_plain and equation.descends:
        yield (
            f"'{name}' is taken for a number though it has {values} distinct values: kinds={{'{name}': 'ordered'}} "
            "gives counterfactual values that can occur."
        )
        return
    value, share = _heap(fitted, equation)
    if share > HEAP and value != 0 and not kind.atom and equation.descends:
        people = fitted.settings.wording.people
        yield (
            f"{100 * share:.0f} % of {people} have '{name}' {value:g}, a heap that the error of a number does "
            "not make: cut it into ordered levels, or its errors tell the groups apart."
        )
        return
    scale = scale_to_try(fitted, equation, shape_of(eps, weight))
    if scale:
        yield f"The residuals of '{name}' are {scale[0]}: try kinds={{'{name}': '{scale[1]}'}}."
    wider = _wider(fitted, equation, eps)
    if wider and not kind.by_group:
        group, ratio = wider
        yield (
            f"The residuals of '{name}' are {ratio:.2f} times as wide among {group} as in the group where they are "
            f"narrowest, which by itself makes predictions differ: try kinds={{'{name}': '{kind.word} by group'}}."
        )


def _heap(fitted: Fitted, equation: Equation) -> tuple[float, float]:
    """The value that most people share, and their share."""
    rows, column = fitted.table.rows, equation.column
    values, place = np.unique(rows.x[:, column], return_inverse=True)
    shares = np.bincount(place, rows.weight) / rows.n
    top = int(shares.argmax())
    shown = fitted.table.units.features[column].number(values[top : top + 1])
    return float(shown[0]), float(shares[top])


def _wider(fitted: Fitted, equation: Equation, eps: Array) -> tuple[str, float] | None:
    """The group with the widest residuals, and how much wider they are than in the narrowest."""
    coding, rows = fitted.table.protected, fitted.table.rows
    if coding.levels is None or not equation.uses_protected:
        return None
    enough = {coding.code(level) for level, count in fitted.table.group_sizes().items() if count >= FEWEST}
    scales = {code: s for code, s in scales_by_group(coding, rows.a, eps, rows.weight).items() if code in enough and s}
    if not scales:
        return None
    widest = max(scales, key=lambda code: scales[code])
    ratio = scales[widest] / min(scales.values())
    return (str(coding.level(widest)), ratio) if ratio > WIDER else None


# ---------------------------------------------------------------- levels


def _of_levels(fitted: Fitted, equation: Equation, fewest: int) -> Iterator[str]:
    """A group in which nobody has one of the levels: what they would be there is the model's word alone."""
    coding, rows = fitted.table.protected, fitted.table.rows
    if coding.levels is None or not equation.descends:
        return
    names = fitted.table.kinds[equation.feature].levels
    for level, code in zip(coding.levels, coding.codes, strict=True):
        counted = (rows.a == code) & (rows.weight > 0)
        there = set(equation.law.level_of(rows.x[counted, equation.column]).tolist())
        missing = [str(name) for i, name in enumerate(names) if i not in there]
        if missing:
            few = int(counted[fitted.table.row_of[fitted.table.weight > 0]].sum()) < fewest
            which = "some level of " * few + f"'{equation.feature}'" + f" {', '.join(missing)}" * (not few)
            yield (
                f"Nobody in the group {level!r} has {which}: how many would is known from the other groups and the "
                "form of the model alone. Merge levels if that is too much to ask."
            )
