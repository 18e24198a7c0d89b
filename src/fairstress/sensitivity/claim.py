"""The claim under test: Model A and a predictor, on its residuals or brought, built from a table, with baselines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairstress.errors import DataError, FairstressWarning, SettingError, did_you_mean
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array, Rows
from fairstress.model.brought import RESIDUALS, Brought
from fairstress.model.counterfactual import People, Worlds, meet, residuals
from fairstress.model.design import (
    Design,
    Moments,
    build_design,
    count_values,
    describer,
    structural_moments,
)
from fairstress.model.embedding import EmbeddingFactory, Input, Polynomial
from fairstress.model.fit import Fit, check_noise
from fairstress.model.foreign import settle
from fairstress.model.predictor import AnyPredictor, Predictor, Source, check_independent, fit_predictor, on_log_odds
from fairstress.model.selection import choose_predictor, choose_structure
from fairstress.model.threshold import Likelihood, ThresholdSystem, make_system
from fairstress.model.view import FAIR_PART, RESIDUAL, Lens, RawColumns, View
from fairstress.sensitivity.measure import SQUARED, Measure

KEPT = 2**25  # numbers of all equations' columns that are kept in memory, a quarter of a gigabyte

PROBABILITY, LOG_ODDS = "probability", "log-odds"
EVERYONE = "everyone"  # beside groups, or the one group of a numeric protected attribute

WORST_CONDITION = 1e10  # of the equations' columns; beyond it CFU at penalty 0 is noise


@dataclass(frozen=True, slots=True)
class Claim:
    """What is put to the test: how alike this predictor treats counterfactual people, under Model A or another."""

    rows: Rows  # people, once for each value that they are moved to
    everyone: Rows  # people as they are, to whom the models are fitted
    design: Design
    system: Likelihood
    model_a: Fit
    view: Lens
    predictor: AnyPredictor
    measure: Measure = SQUARED
    _met: list[People] = field(default_factory=list, init=False, repr=False, compare=False)

    def people(self) -> Iterable[People]:
        """Everyone in blocks; kept once met, unless they are too many to keep."""
        if self._met:
            return self._met
        met = (meet(self.design, self.model_a.weights, self.predict, b) for b in self.rows.blocks())
        if self.rows.a.size * self.design.feature_of.size > KEPT:
            return met
        self._met.extend(met)
        return self._met

    def predict(self, block: Rows, eps: Array) -> Array:
        """What the predictor makes of people as they are, whose residuals are (r, m)."""
        return self.predictor.predict(self.view.factual(block, eps))

    def predict_worlds(self, found: Worlds) -> Array:
        """What it makes of the same people in other worlds, as (g, r)."""
        return self.predictor.predict(self.view.counterfactual(found))

    def predicted(self, block: Rows) -> Array:
        """(r,) what the predictor makes of people as they are."""
        return self.predict(block, residuals(self.design, self.model_a.weights, block))

    @property
    def has_threshold(self) -> bool:
        """Whether a hidden cause may lie behind a two-valued protected attribute, the first variable of P."""
        return isinstance(self.system, ThresholdSystem)

    @property
    def gram(self) -> Array:
        """Cross-products of all features' columns, equation by equation."""
        system = self.system.features if isinstance(self.system, ThresholdSystem) else self.system
        return system.moments.G

    def condition(self) -> float:
        """The worst condition number among the equations' Gram matrices, in unit-norm columns."""
        scale = np.sqrt(np.diag(self.gram))
        unit = self.gram / np.outer(scale, scale)
        return max(float(np.linalg.cond(unit[where, where])) for where in self.design.slices)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A predictor that ignores the causal graph, for comparison."""

    name: str
    unfairness: float  # mean squared difference between its predictions and the audited predictor's
    r2: float  # in-sample share of the variance explained (of the deviance for a two-valued outcome)
    degree: int
    penalty: float
    claim: Claim = field(repr=False, compare=False)  # what gives its own CFU at any P
    group_means: tuple[tuple[str, float], ...] = ()  # mean prediction of everyone, then of each group


@dataclass(frozen=True, slots=True)
class Settings:
    """How an audit was set up: what the user gave and what cross-validation chose."""

    degrees: dict[str, int]
    penalty: float
    predictor_degree: int | None  # None for a predictor that was brought
    predictor_penalty: float | None
    penalise_constant: bool
    max_degree: int
    penalties: tuple[float, ...]
    cv: int
    mixed: str  # how a feature that fair and unfair paths lead to enters the predictor
    random_state: int | None
    predictor: str = "polynomial"
    predictor_input: str = RESIDUALS
    predictor_gradient: str = "analytic"
    predictor_scale: str = PROBABILITY  # of a two-valued outcome
    measure: str = "squared"


# ---------------------------------------------------------------- building


@dataclass(frozen=True, slots=True)
class Choice:
    """What may be chosen: one option where the user has given a value."""

    degrees: dict[str, tuple[int, ...]]
    structural_penalties: tuple[float, ...]
    predictor_degrees: tuple[int, ...]
    predictor_penalties: tuple[float, ...]
    penalties: tuple[float, ...]

    @classmethod
    def of(
        cls,
        graph: CausalGraph,
        degrees: Mapping[str, int] | None,
        penalty: float | None,
        predictor_degree: int | None,
        predictor_penalty: float | None,
        max_degree: int,
        penalties: Sequence[float] | None,
    ) -> Choice:
        """Check the arguments of `Audit.fit` and spell out the options."""
        options = tuple(range(1, whole_number(max_degree, "max_degree") + 1))
        if degrees is not None and not isinstance(degrees, Mapping):
            raise SettingError(f"degrees is {degrees!r}: give a dict of features and degrees, such as {{'lsat': 2}}")
        grid = np.logspace(-4, 4, 10) if penalties is None else penalties
        if np.ndim(grid) != 1:
            raise SettingError(f"penalties is {penalties!r}: give a list of numbers")
        offered = tuple(_penalty(value, "penalties") for value in grid)
        if not offered:
            raise SettingError("penalties is empty: give at least one number")
        given = {name: (whole_number(value, f"degrees['{name}']"),) for name, value in (degrees or {}).items()}
        for name in given:
            if name not in graph.features:
                raise SettingError(
                    f"degrees names '{name}', which is not a feature{did_you_mean(name, graph.features)}"
                )
        return cls(
            degrees={name: given.get(name, options) for name in graph.features},
            structural_penalties=offered if penalty is None else (_penalty(penalty, "penalty"),),
            predictor_degrees=options
            if predictor_degree is None
            else (whole_number(predictor_degree, "predictor_degree"),),
            predictor_penalties=(
                offered if predictor_penalty is None else (_penalty(predictor_penalty, "predictor_penalty"),)
            ),
            penalties=offered,
        )


@dataclass(frozen=True, slots=True)
class ClaimBuilder:
    """Fits the parts of an audit to one table."""

    table: Table
    folds: list[Rows]
    choice: Choice
    embedding: EmbeddingFactory
    penalise_constant: bool
    fair_part: bool
    brought: Brought | None = None
    scale: str = PROBABILITY
    measure: Measure = SQUARED

    def structure(self) -> tuple[Design, float]:
        """Choose degrees and penalty of the structural equations."""
        graph, describe = self.table.graph, describer(self.table)
        degrees, penalty = choose_structure(
            graph,
            self.folds,
            self.choice.degrees,
            self.choice.structural_penalties,
            describe=describe,
            embedding=self.embedding,
            penalise_constant=self.penalise_constant,
        )
        return build_design(graph, degrees, describe, self.embedding), penalty

    def claim(self, design: Design, penalty: float, like: Claim | None = None) -> Claim:
        """Fit Model A and the predictor on its residuals; one of raw columns is taken from a claim ``like`` this."""
        rows, is_binary = self.table.rows, self.table.protected.is_binary
        self._check(design, structural_moments(rows, design.equations), penalty)
        if design.protected and not is_binary:
            self._check(Design.of([design.protected]), structural_moments(rows, [], design.protected), penalty)
        system = make_system(design, rows, penalty, penalise_constant=self.penalise_constant, is_binary=is_binary)
        model_a = system.independent()
        coding = self.table.protected
        view = View.of(design, model_a.weights, fair_part=self.fair_part, reference=coding.reference_code)
        moved, _ = coding.contrasts(rows)
        keep = like is not None and isinstance(like.view, RawColumns)
        lens, predictor = (like.view, like.predictor) if like and keep else self._audited(view)
        return Claim(moved, rows, design, system, model_a, lens, predictor, self.measure)

    def _check(self, design: Design, moments: Moments, penalty: float) -> None:
        """Refuse equations that have no error, or no unique weights."""
        check_noise(moments, design)
        penalties = design.penalties(penalty, penalise_constant=self.penalise_constant)
        for equation, where in zip(design.equations, design.slices, strict=True):
            N = moments.G[where, where] + np.diag(penalties[where])
            check_independent(N, equation.embedding.terms, f"the equation of '{equation.feature}'", penalty)

    def _audited(self, view: View) -> tuple[Lens, AnyPredictor]:
        """What the audited predictor looks at, and the predictor, fitted."""
        if self.brought is None:
            return view, self._scaled(self.predictor(_source(self.table, view)))
        lens = self.brought.lens(view, self.table)
        gather = _gatherer(lens, view.design, view.weights)
        return lens, self._scaled(settle(self.brought, self.table, lens, gather))

    def _scaled(self, predictor: AnyPredictor) -> AnyPredictor:
        return on_log_odds(predictor) if self.scale == LOG_ODDS else predictor

    def settings(self, claim: Claim, penalty: float, max_degree: int, cv: int, random_state: int | None) -> Settings:
        """Write down how the audit was set up."""
        return Settings(
            degrees={e.feature: e.degree for e in claim.design.equations},
            penalty=penalty,
            predictor_degree=claim.predictor.degree,
            predictor_penalty=claim.predictor.penalty,
            penalise_constant=self.penalise_constant,
            max_degree=max_degree,
            penalties=self.choice.penalties,
            cv=cv,
            mixed=FAIR_PART if self.fair_part else RESIDUAL,
            random_state=random_state,
            predictor=claim.predictor.name,
            predictor_input=self.brought.input_name if self.brought else RESIDUALS,
            predictor_gradient=claim.predictor.gradient,
            predictor_scale=self.scale,
            measure=self.measure.name,
        )

    def predictor(self, source: Source) -> Predictor:
        """Choose and fit a predictor on some inputs."""
        options: dict[str, bool] = {
            "is_logistic": self.table.outcome_levels is not None,
            "penalise_constant": self.penalise_constant,
        }
        degree, penalty = choose_predictor(
            self.folds, source, self.choice.predictor_degrees, self.choice.predictor_penalties, **options
        )
        return fit_predictor(self.table.rows, source, degree, penalty, **options)

    def baselines(self, claim: Claim, like: Mapping[str, Baseline] | None = None) -> dict[str, Baseline]:
        """Fit the predictors that ignore the graph and measure how far they are from the audited one.

        Degree and penalty are chosen, or those of baselines ``like`` these.
        """
        describe = describer(self.table)
        features = tuple(variable for name in self.table.graph.features for variable in describe(name))
        shown = {"unconstrained": (*describe(self.table.graph.protected),), "blind": ()}
        makers = {name: self._fixed_to(like[name]) if like else self for name in shown}
        return {name: makers[name]._baseline(name, own, features, claim) for name, own in shown.items()}

    def _fixed_to(self, baseline: Baseline) -> ClaimBuilder:
        degrees, penalties = (baseline.degree,), (baseline.penalty,)
        return replace(self, choice=replace(self.choice, predictor_degrees=degrees, predictor_penalties=penalties))

    def _baseline(self, name: str, own: tuple[Input, ...], features: tuple[Input, ...], claim: Claim) -> Baseline:
        lens = RawColumns.of(own, features)
        fitted = self.predictor(Source((*own, *features), lambda block: lens.factual(block, block.x)))
        itself = replace(claim, view=lens, predictor=self._scaled(fitted))
        total = 0.0
        for block in self.table.rows.blocks():
            eps = residuals(claim.design, claim.model_a.weights, block)
            total += float(block.weight @ (itself.predict(block, eps) - claim.predict(block, eps)) ** 2)
        means = group_means(self.table, lambda block: block.weight * itself.predicted(block))
        return Baseline(name, total / self.table.rows.n, fitted.r2, fitted.degree, fitted.penalty, itself, means)


def group_means(table: Table, total: Callable[[Rows], Array]) -> tuple[tuple[str, float], ...]:
    """Mean over everyone, then over each group, in the outcome's units; ``total`` gives each distinct row's sum."""
    coding, rows = table.protected, table.rows
    sums = np.concatenate([total(block) for block in rows.blocks()])
    groups = [(str(level), rows.a == code) for level, code in zip(coding.levels or (), coding.codes, strict=True)]
    parts = [(EVERYONE, np.ones(rows.a.size, dtype=bool)), *groups]
    return tuple(
        (name, float(sums[which].sum() / rows.weight[which].sum()) + table.origin)
        for name, which in parts
        if rows.weight[which].sum() > 0
    )


def without_penalty(table: Table, claim: Claim, settings: Settings, brought: Brought | None = None) -> Claim | None:
    """Build the same claim with structural penalty 0; None where nearly collinear columns leave no reliable fit."""
    degree, penalty = settings.predictor_degree or 1, settings.predictor_penalty or 0.0
    choice = Choice({}, (0.0,), (degree,), (penalty,), (0.0,))
    constant, fair_part, scale = settings.penalise_constant, settings.mixed == FAIR_PART, settings.predictor_scale
    builder = ClaimBuilder(table, [], choice, Polynomial.of, constant, fair_part, brought, scale, claim.measure)
    if claim.condition() > WORST_CONDITION:
        return None
    try:
        return builder.claim(claim.design, 0.0, claim)
    except SettingError:
        return None


def _gatherer(lens: Lens, design: Design, w_A: Array) -> Callable[[Rows], Array]:
    """How a predictor's inputs come from rows."""
    return lambda block: lens.factual(block, residuals(design, w_A, block))


def _source(table: Table, view: View) -> Source:
    """What a counterfactually fair predictor may look at."""
    gather = _gatherer(view, view.design, view.weights)
    Z = np.concatenate([gather(block) for block in table.rows.blocks()])
    return Source(tuple(Input(name, n_values=count_values(Z[:, j])) for j, name in enumerate(view.names)), gather)


# ---------------------------------------------------------------- checks


def whole_number(value: Any, name: str) -> int:
    """Check a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise SettingError(f"{name} is {value!r}: give a whole number of at least 1")
    return int(value)


def _penalty(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number >= 0):
        raise SettingError(f"{name} is {value!r}: give a finite number that is not negative")
    return number


def read_scale(scale: Any, table: Table) -> str:
    """Check the scale on which predictions are compared."""
    if scale not in (PROBABILITY, LOG_ODDS):
        raise SettingError(f"predictor_scale is {scale!r}: give '{PROBABILITY}' or '{LOG_ODDS}'")
    if scale == LOG_ODDS and table.outcome_levels is None:
        raise SettingError(
            f"predictor_scale is '{LOG_ODDS}', but the outcome '{table.graph.outcome}' has more than two values: "
            "leave it out"
        )
    return str(scale)


def read_baseline(name: Any, known: Mapping[str, Baseline]) -> Baseline:
    """Give a baseline by its name."""
    if name not in known:
        raise SettingError(f"there is no baseline '{name}'{did_you_mean(str(name), known)}")
    return known[name]


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
                stacklevel=4,
            )
