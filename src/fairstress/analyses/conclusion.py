"""What it all comes to: from which strength of hidden causes on a predictor is as unfair as one without the attribute.

The comparison is like for like, both predictors at one and the same correlation of the errors. A predictor that leaves
the protected attribute out and ignores the graph is what people would use otherwise; its own unfairness moves with the
hidden causes too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairstress.analyses.bands.maxima import with_limits
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.check import Check, check
from fairstress.analyses.check import Verdict as CheckVerdict
from fairstress.analyses.curve import BreakingPoint, Curve, comparing, first_reached, moved, reached_by, upwards
from fairstress.analyses.curve import curve as worst_cases
from fairstress.analyses.decisions import of_everyone, shares_at
from fairstress.analyses.groups import mean_predictions_at
from fairstress.analyses.plausibility import Plausibility, plausibility
from fairstress.analyses.reaching import SLOW_PRECISION
from fairstress.analyses.tabular import Shown
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.budgets import Pairwise, SingleCause
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import SettingError
from fairstress.functionals.cfu import CFU, evaluate_cfu
from fairstress.inputs.rows import Array
from fairstress.model.view import RawColumns
from fairstress.options import SEARCH
from fairstress.progress import Steps

BLIND = "blind"  # the baseline that leaves the protected attribute out
CAP = 0.9  # share of the protected attribute's error that a strong cause of it may explain
LARGEST_SHARE = 0.9  # of every error, up to which one hidden cause is tried
SEARCHED = 5  # budgets of a curve that are searched in full, about; those between are followed
FEW_SIZES = 4  # budgets at which predictors are compared where each search takes long
QUICK = (0.0, 0.2, 0.4, 0.6)  # budgets of a summary
SHARES = (0.1, 0.3, 0.6, LARGEST_SHARE)


class State(StrEnum):
    """What can be said."""

    IMPOSSIBLE = "counterfactual people are impossible"
    CANNOT_MATTER = "hidden causes cannot matter"
    UNFAIR = "unfair if nothing is hidden"
    NO_LEVEL = "nothing to compare with"
    BREAKS = "breaks"
    HOLDS = "holds"


@dataclass(frozen=True, slots=True, eq=False)
class Causes(Shown):
    """How much one hidden cause would have to explain to make the audited predictor as unfair as a baseline.

    Examples
    --------
    >>> Causes(("a", "x"), 0.3).equal
    0.3
    """

    variables: tuple[str, ...]  # whose errors it acts on, at the equal share
    equal: float | None  # least share of each of these errors; None where no share up to the largest tried is enough
    one_clique: bool = True  # whether one cause may act on all variables that stand in pairs
    capped: float | None = None  # the same of other errors, where it explains `cap` of the protected attribute's
    capped_on: tuple[str, ...] = ()  # whose errors it acts on then
    cap: float | None = None  # None where the protected attribute stands in no pair
    observed_factor: float | None = None  # of a two-valued attribute: observed correlation over that of latent errors


@dataclass(frozen=True, slots=True, eq=False)
class Conclusion(Shown):
    """From which strength on the audited predictor is as unfair as leaving the attribute out; what happens there.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> found = audit.report(p_max=0.2, sizes=[0, 0.2, 0.4], grid=[0, 0.2]).conclusion
    >>> print(found.state)
    breaks
    """

    state: State
    cfu_model_a: float  # of the audited predictor if nothing is hidden
    highest: float  # the largest budget that was searched
    breaking: BreakingPoint | None  # None where there is nothing to compare with
    compared: pd.DataFrame  # p_max, audited, and each baseline: CFU where the comparison is least favourable
    causes: Causes | None  # None where that was not asked
    worst: WorstCase  # the worst case at the strength that is spoken of
    groups: pd.DataFrame  # group, factual, counterfactual, difference: mean predictions there
    turned: float | None  # share of decisions that turn there; None without a threshold

    def __repr__(self) -> str:
        where = (
            "" if self.breaking is None or self.breaking.p_max is None else f" from p_max = {self.breaking.p_max:.3g}"
        )
        return f"<Conclusion: {self.state}{where}>"


def conclude(
    fitted: Fitted,
    curve: Curve,
    like: LikeForLike,
    checked: Check,
    plausible: Plausibility,
    p_max: float,
    threshold: float | None,
    steps: Steps,
    causes: Callable[[], Causes | None] | None,
) -> Conclusion:
    """What comparing the audited predictor with the blind baseline comes to; details are at the breaking point.

    ``causes`` says what `causes_needed` does, if that is wanted. With `like_for_like` it takes as many steps as
    `steps_of` says.
    """
    nominal, breaking = evaluate_cfu(fitted.claim, fitted.claim.model_a.correlation).value, like.breaking
    compared = _compared(fitted, like.points or curve.points[:1])
    state = _state(fitted, curve, checked, plausible, nominal, breaking)
    worst = _with_limit(curve, _spoken_of(curve, breaking, p_max))
    means = mean_predictions_at(fitted, [worst]).drop(columns="p_max")
    steps()
    needed = causes() if causes and state in (State.BREAKS, State.HOLDS) else None
    steps()
    return Conclusion(
        state=state,
        cfu_model_a=nominal,
        highest=curve.points[-1].p_max,
        breaking=breaking,
        compared=compared,
        causes=needed,
        worst=worst,
        groups=means,
        turned=None if threshold is None else of_everyone(shares_at(fitted, worst.fit, threshold)),
    )


def steps_of(fitted: Fitted, sizes: Sequence[float]) -> int:
    """How many steps a conclusion takes, for a curve of some budgets."""
    return len(_compared_sizes(fitted, sizes)) + 2


def _compared_sizes(fitted: Fitted, sizes: Sequence[float]) -> list[float]:
    """Budgets at which predictors are compared: a few, the largest among them, where each search takes long."""
    wanted = min(len(sizes), FEW_SIZES) if fitted.claim.takes_long else len(sizes)
    return [sizes[round(place)] for place in np.linspace(0, len(sizes) - 1, wanted)]


def quick_conclusion(fitted: Fitted) -> Conclusion | None:
    """The same from a few budgets; None for a graph without pairs."""
    if not fitted.graph.pairs:
        return None
    solve = Solver.of(fitted, Pairwise(), None, None)
    found = worst_cases(fitted, QUICK, solve)
    like, causes = like_for_like(fitted, QUICK, solve, Steps(0)), partial(causes_needed, fitted, solve)
    return conclude(fitted, found, like, check(fitted), plausibility(fitted), QUICK[-1], None, Steps(0), causes)


def under_model_a(fitted: Fitted) -> dict[str, float]:
    """CFU of the audited predictor and of each baseline if nothing is hidden."""
    claims = {"audited": fitted.claim, **{name: baseline.claim for name, baseline in fitted.baselines.items()}}
    return {name: evaluate_cfu(claim, claim.model_a.correlation).value for name, claim in claims.items()}


def _state(
    fitted: Fitted,
    curve: Curve,
    checked: Check,
    plausible: Plausibility,
    nominal: float,
    breaking: BreakingPoint | None,
) -> State:
    context = fitted.context
    if plausible.mostly_impossible:
        return State.IMPOSSIBLE
    raw = isinstance(fitted.claim.view, RawColumns)  # which no construction makes fair; else it is levels or a holdout
    if nominal > context.negligible and (raw or context.floor <= context.negligible):
        return State.UNFAIR
    if curve.shows_penalty_only or checked.together.verdict is CheckVerdict.CANNOT_MATTER:
        return State.CANNOT_MATTER
    if breaking is None:
        return State.NO_LEVEL
    return State.HOLDS if breaking.p_max is None else State.BREAKS


class LikeForLike(NamedTuple):
    """Where the predictor is as unfair as the blind baseline at the same correlation, and where it comes nearest."""

    breaking: BreakingPoint | None  # None where the baseline has no CFU
    points: Sequence[WorstCase]  # for each of some budgets; none then


def like_for_like(
    fitted: Fitted, sizes: Sequence[float], solve: Solver, steps: Steps, replicator: Replicator | None = None
) -> LikeForLike:
    """Compare the audited predictor with the blind baseline along a curve's budgets."""
    some, context = _compared_sizes(fitted, sizes), fitted.context
    try:
        compare = comparing(BLIND, solve, context)
    except SettingError:  # a baseline that has no CFU
        for _ in some:
            steps()
        return LikeForLike(None, ())
    points = [point for point, _ in upwards(some, compare, steps, SEARCHED)]
    rough = SLOW_PRECISION if fitted.claim.takes_long else None  # where each search takes long, with derivatives, too
    return LikeForLike(first_reached(BLIND, compare, points, context, Steps(0), replicator, rough), points)


def _compared(fitted: Fitted, points: Sequence[WorstCase]) -> pd.DataFrame:
    """CFU of the audited predictor and of each baseline at the same correlations."""
    P = [point.correlation.to_numpy() for point in points]
    claims = {"audited": fitted.claim, **{name: baseline.claim for name, baseline in fitted.baselines.items()}}
    values = {name: _values(claim, P) for name, claim in claims.items()}
    return pd.DataFrame({"p_max": [point.p_max for point in points], **values})


def _values(claim: Claim, P: Sequence[Array]) -> list[float]:
    return [e.value for e in evaluate_many(claim, np.array(P), CFU())]


def _spoken_of(curve: Curve, breaking: BreakingPoint | None, p_max: float) -> WorstCase:
    """The worst case at the breaking point; where there is none, or none above 0, at the size that was asked for."""
    size = breaking.p_max if breaking is not None and breaking.p_max else p_max
    known = next((point for point in curve.points if point.p_max == size), None)
    if known is not None:
        return known
    smaller = [point for point in curve.points if point.p_max < size]
    found = curve.solve(size, smaller[-1:])
    return found if not smaller or found.value >= smaller[-1].value else moved(smaller[-1], size, found)


def _with_limit(curve: Curve, worst: WorstCase) -> WorstCase:
    """The worst case with its limit, where the curve has limits."""
    if curve.replicator is None or worst.estimate is not None:
        return worst
    (estimate,) = with_limits(curve.replicator, curve.solve, [worst], check=False)
    return replace(worst, estimate=estimate)


# ---------------------------------------------------------------- one hidden cause


def causes_needed(fitted: Fitted, solve: Solver) -> Causes | None:
    """How much one hidden cause would have to explain; None within bounds, of which one cause knows nothing."""
    if solve.budget.bounds:
        return None
    search = replace(solve.search, method=SEARCH)  # the paper's Algorithm 1 has no form for one cause
    compare = comparing(BLIND, replace(solve, budget=SingleCause(), search=search), fitted.context)
    equal = reached_by(BLIND, SHARES, compare, fitted.context, Steps(0))
    assert equal.worst is not None
    found = Causes(equal.worst.clique, equal.p_max, equal.worst.can_touch_all)
    if not fitted.graph.confounds_protected:
        return found
    capped_compare = replace(compare, budget=SingleCause(caps={fitted.graph.protected: CAP}))  # which knows its values
    capped = reached_by(BLIND, SHARES, capped_compare, fitted.context, Steps(0))
    assert capped.worst is not None
    factor = equal.worst.observed_factor
    return replace(found, capped=capped.p_max, capped_on=capped.worst.clique, cap=CAP, observed_factor=factor)
