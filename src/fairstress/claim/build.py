"""From a table and settings to a claim: equations and predictor are chosen and fitted, baselines beside them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairstress.claim.claim import Baseline, Claim, Context
from fairstress.claim.evaluate import changes, sampled
from fairstress.claim.predictors import check_predictor_memory, fit_audited, fit_baselines
from fairstress.claim.spec import EXPECTED, Settings
from fairstress.errors import DataError, FairstressError, FairstressWarning, SettingError
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Rows
from fairstress.model.design import Describer, Design, build_design
from fairstress.model.embedding import Polynomial
from fairstress.model.fit import Fit, check_noise
from fairstress.model.linear import WORST_CONDITION
from fairstress.model.predictor import (
    AnyPredictor,
    check_independent,
)
from fairstress.model.selection import choose_latent, choose_structure
from fairstress.model.separation import check_separation
from fairstress.model.size import affordable, check_memory, check_sum
from fairstress.model.system import Likelihood, equations_alone, make_system, without_penalty
from fairstress.model.tried import Tried
from fairstress.model.view import Lens, RawColumns, View
from fairstress.options import PROBABILITY
from fairstress.progress import Progress, Steps

NO_FIT = "without a penalty, nearly collinear terms, or levels that parents tell without error, leave no reliable fit"
SLOW = "people have several counterfactual worlds, so that it would take as long again; an audit with penalty=0 has it"
ROUNDING = 1e-18  # a CFU below this share of the outcome's variance is rounding in a well-conditioned model


@dataclass(frozen=True, eq=False)
class Fitted:
    """All that a fit has made: the table, how it was fitted, the claim, and the baselines to compare it with."""

    table: Table
    settings: Settings
    claim: Claim
    baselines: dict[str, Baseline]
    variables: tuple[str, ...]  # the order of rows and columns in correlation matrices
    outcome_variance: float  # the scale on which CFU is large or small
    context: Context
    fair_predictor: AnyPredictor | None = None  # in whose place a robust one is audited
    training: Fitted | None = None  # what was fitted to other people, where those of the table were held out
    tried: tuple[Tried, ...] = ()  # what cross-validation tried for the structural equations, where it chose

    @property
    def graph(self) -> CausalGraph:
        """The causal graph."""
        return self.table.graph

    @cached_property
    def unpenalised(self) -> Claim | None:
        """The claim with structural penalty 0, or None where no reliable fit is left without it.

        The predictor is fitted anew, to the residuals that it then has; one of raw columns, or a robust one, is not.
        """
        if self.settings.penalty == 0 and not any(self.settings.own_penalties.values()):
            return self.claim
        if self.training is not None:
            known, here = self.training.unpenalised, self.claim
            people = replace(here, system=without_penalty(here.system))
            return known and replace(people, model_a=known.model_a, view=known.view, predictor=known.predictor)
        if self.claim.condition() > WORST_CONDITION:
            return None
        try:
            claim = _unpenalised(self)
        except FairstressError:
            return None
        return claim if self.fair_predictor is None else replace(claim, predictor=self.claim.predictor)

    @property
    def beside(self) -> Claim | None:
        """The claim with structural penalty 0 that profiles and curves show too; none where that takes long."""
        return None if self.claim.is_slow else self.unpenalised

    @cached_property
    def whole(self) -> Claim:
        """The claim on everyone; where people have many worlds, numbers are means over a sample of them."""
        moved, origin = self.table.protected.contrasts(self.table.rows)
        return self.claim if self.claim.rows.a.size == moved.a.size else replace(self.claim, rows=moved, origin=origin)

    @cached_property
    def completed(self) -> tuple[Claim, ...]:
        """The claim on each of several completed tables, Model B to be fitted to each apart; none of one table."""
        if self.table.table_of is None:
            return ()
        tables = (self.table.of_table(number) for number in range(int(self.table.table_of.max()) + 1))
        return tuple(on_table(self, table) for table in tables)

    def __repr__(self) -> str:
        return f"<Fitted claim: {self.table.y.size:,} rows; {self.settings!r}>"


def build(
    table: Table,
    settings: Settings,
    folds: Sequence[Rows],
    like: Mapping[str, Baseline] | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Choose what the settings leave open, fit Model A and the predictor, and baselines beside it.

    Degree and penalty of each baseline are chosen, or those of baselines ``like`` these.
    """
    graph, describe = table.graph, Describer(table)
    check_predictor_memory(table, settings, describe)
    steps = Steps(len(graph.features) + 3, progress)  # equations, Model A with the predictor, two baselines
    degrees, penalty, own, tried = _structure(table, settings, folds, describe, steps)
    design = build_design(graph, degrees, describe, settings.embedding)
    if like is None:
        check_sizes(table, design)
    pairs = pair_places(graph, _variables(graph, design))
    constant = settings.penalise_constant
    system = make_system(design, table.rows, penalty, penalise_constant=constant, own=own, pairs=pairs)
    claim = _claim(table, settings, design, system, penalty, folds)
    steps()
    if like is None:
        check_probabilities(table, claim.predictor)
    chosen = replace(
        settings,
        degrees=degrees,
        penalty=penalty,
        own_penalties=own,
        predictor_degree=claim.predictor.degree,
        predictor_penalty=claim.predictor.penalty,
    )
    fitted = with_context(table, chosen, claim, fit_baselines(table, settings, folds, claim, like, steps))
    steps.finish()
    return replace(fitted, tried=tried)


def _structure(
    table: Table, settings: Settings, folds: Sequence[Rows], describe: Describer, steps: Steps
) -> tuple[dict[str, int], float, dict[str, float], tuple[Tried, ...]]:
    """Choose degrees, the penalty that numbers share, and the penalties of features that are tuned on their own."""
    named = [name for name in table.graph.features if describe.has_error(name)]
    alone = [name for name in named if describe.law(name).codes or describe.law(name).atom is not None]
    to_try = degrees_to_try(table, settings, describe)
    options: dict[str, Any] = {
        "describe": describe,
        "embedding": settings.embedding,
        "penalise_constant": settings.penalise_constant,
    }
    shared = {name: to_try[name] for name in named if name not in alone}
    degrees, penalty, tried = choose_structure(
        table.graph, folds, shared, settings.penalties_to_try, chosen=steps, **options
    )
    own: dict[str, float] = {}
    for name in alone:
        penalties = (settings.own_penalties[name],) if name in settings.own_penalties else settings.penalties_to_try
        degrees[name], own[name], more = choose_latent(table.graph, name, folds, to_try[name], penalties, **options)
        tried += more
        steps()
    return {name: degrees[name] for name in named}, penalty, own, tried


def degrees_to_try(table: Table, settings: Settings, describe: Describer) -> dict[str, tuple[int, ...]]:
    """The degrees of each equation that can be afforded; a given one that cannot be is refused."""
    named = [name for name in table.graph.features if describe.has_error(name)]
    wanted = settings.degrees_to_try(named)
    if settings.embedding != Polynomial.of:  # how many terms it has is its own affair
        return wanted
    offers = {name: describe.offer(name, wanted[name]) for name in named}
    for name in settings.degrees:
        if name in offers:
            check_memory(offers[name], settings.degrees[name], f"degrees['{name}']", settings.max_memory)
    kept = affordable(offers, settings.max_memory)
    check_sum([offers[name].terms(degrees[-1]) for name, degrees in kept.items()], settings.max_memory)
    return kept


def _variables(graph: CausalGraph, design: Design) -> tuple[str, ...]:
    """The order of rows and columns in correlation matrices: all that have an error."""
    own = (graph.protected,) if graph.confounds_protected else ()
    return (*own, *(equation.feature for equation in design.equations))


def with_context(table: Table, settings: Settings, claim: Claim, baselines: dict[str, Baseline]) -> Fitted:
    """Put a claim beside what its CFU is compared with."""
    graph, rows = table.graph, table.rows
    square, sum_ = rows.total(lambda block: (float(block.squares.sum()), float(block.y.sum())))
    variance = square / rows.n - (sum_ / rows.n) ** 2
    comparable = settings.measure.is_squared and settings.predictor_scale == PROBABILITY
    raw = isinstance(claim.view, RawColumns)
    floor = cfu_under(claim, claim.model_a) if claim.is_mixed and not raw else 0.0
    # what an exact CFU of 0 looks like; ill-conditioned equations enlarge it
    smallest = max(ROUNDING, (8 * float(np.finfo(float).eps) * claim.condition()) ** 2) * variance
    has_distances = settings.measure.is_squared and not raw  # from a fair predictor
    context = Context(
        outcome_variance=variance if comparable else float("nan"),
        negligible=float(settings.measure.each(np.sqrt([smallest]))[0]),
        penalty=settings.penalty or 0.0,
        log_likelihood=claim.model_a.log_likelihood,
        baselines={name: b.unfairness for name, b in baselines.items()} if has_distances else {},
        floor=floor,
        baseline_claims={name: b.claim for name, b in baselines.items()},
        no_unpenalised=SLOW if claim.is_slow else NO_FIT,
    )
    return Fitted(table, settings, claim, baselines, _variables(graph, claim.design), variance, context)


def cfu_under(claim: Claim, fit: Fit) -> float:
    """CFU under one model; under Model A it is what a predictor of expected errors moves by itself."""
    change, weight = changes(claim, fit, lambda block: block.weight)
    if claim.measure.of_all is not None:
        return claim.measure.of_all(change[weight > 0], weight[weight > 0])
    return float(claim.measure.each(change) @ weight / weight.sum())


# ---------------------------------------------------------------- the claim


def _claim(
    table: Table,
    settings: Settings,
    design: Design,
    system: Likelihood,
    penalty: float,
    folds: Sequence[Rows] = (),
    audited: tuple[Lens, AnyPredictor] | None = None,
) -> Claim:
    """Fit Model A, and the predictor on its residuals or the user's own, unless it is given as ``audited``."""
    for equation, alone in equations_alone(system, design):
        if not equation.law.is_ordered:
            check_noise(alone, equation)
        N = alone.moments.G + np.diag(alone.penalties)
        check_independent(N, equation.embedding.terms, f"the equation of '{equation.feature}'", penalty)
    model_a, coding = system.independent(), table.protected
    check_separation(design, model_a, table, penalty)
    if settings.fair_part and not design.is_plain:
        raise SettingError(
            "mixed is 'fair part', which needs features that are all numbers, none by group or with an atom: leave it "
            "out, or give other kinds"
        )
    view = View.of(
        design,
        model_a.weights,
        [Describer(table)(name) for name in table.graph.features],
        fair_part=settings.fair_part,
        ordered=settings.ordered_residuals == EXPECTED,
        reference=coding.reference_code,
    )
    lens, predictor = audited or fit_audited(table, settings, view, model_a, folds)
    # where everyone is moved once, they stand as they did
    moved, places = coding.contrasts(table.rows) if coding.targets else (table.rows, None)
    claim = Claim(moved, table.rows, design, system, model_a, lens, predictor, settings.measure, places)
    claim = replace(claim, tied=_tied(table.graph, design))
    return sampled(claim, settings.random_state) if claim.is_mixed else claim


def _tied(graph: CausalGraph, design: Design) -> frozenset[int]:
    """Equations of features that stand in a pair."""
    named = {name for pair in graph.pairs for name in pair}
    return frozenset(j for j, equation in enumerate(design.equations) if equation.feature in named)


def on_table(fitted: Fitted, table: Table) -> Claim:
    """The same claim on the people of another table, who are coded alike."""
    settings, claim = fitted.settings, fitted.claim
    rows = table.rows.where(table.rows.weight > 0)
    pairs = pair_places(fitted.graph, fitted.variables)
    constant, own = settings.penalise_constant, settings.own_penalties
    system = make_system(claim.design, rows, settings.penalty or 0.0, penalise_constant=constant, own=own, pairs=pairs)
    moved, origin = table.protected.contrasts(rows)
    return replace(claim, rows=moved, everyone=rows, system=system, origin=origin)


def pair_places(graph: CausalGraph, variables: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where the graph's pairs stand in a correlation matrix."""
    return [(variables.index(a), variables.index(b)) for a, b in graph.pairs]


def _unpenalised(fitted: Fitted) -> Claim:
    """The claim from the same moments, without structural penalty."""
    claim, settings = fitted.claim, fixed(fitted.settings)
    audited = (claim.view, claim.predictor) if isinstance(claim.view, RawColumns) else None
    without = _claim(fitted.table, settings, claim.design, without_penalty(claim.system), 0.0, audited=audited)
    return replace(without, like=claim)


def fixed(settings: Settings) -> Settings:
    """Settings that leave nothing to choose; a user's own predictor has neither degree nor penalty."""
    degree, penalty = settings.predictor_degree or 1, settings.predictor_penalty or 0.0
    return replace(settings, predictor_degree=degree, predictor_penalty=penalty, given_predictor_degree=True)


# ---------------------------------------------------------------- checks


def check_sizes(table: Table, design: Design) -> None:
    """Refuse fewer rows than weights; warn of a group that has fewer."""
    n_weights = design.feature_of.size
    if table.n_counted < n_weights:
        raise DataError(
            f"the data have {table.n_counted} rows, fewer than the {n_weights} weights of the structural equations: "
            "bring more rows, or lower max_degree or degrees"
        )
    for level, count in table.group_sizes().items():
        if count < n_weights:
            warnings.warn(
                f"the group {level!r} of '{table.protected.name}' has {count} rows, fewer than the {n_weights} weights "
                "of the structural equations: its part of the result rests on little",
                FairstressWarning,
                stacklevel=5,
            )


def check_probabilities(table: Table, predictor: AnyPredictor) -> None:
    """Warn of a user's predictor that gives no probabilities where the outcome has two values."""
    if predictor.r2 is None:
        warnings.warn(
            f"predictor {predictor.name} gives numbers outside 0 to 1, which are no probabilities, although "
            f"'{table.graph.outcome}' has two values: they are audited as they are",
            FairstressWarning,
            stacklevel=5,
        )
