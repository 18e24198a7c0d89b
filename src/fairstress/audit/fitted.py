"""A claim fitted to a table: the two models, and how unfair the predictor is at one correlation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairstress.errors import SettingError
from fairstress.inputs.correlation import read_correlation
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.model.brought import Brought
from fairstress.model.counterfactual import residuals, worlds
from fairstress.model.embedding import EmbeddingFactory, Polynomial
from fairstress.model.foreign import DIGITS
from fairstress.model.named import StructuralModel, name_counterfactuals, name_model
from fairstress.model.view import FAIR_PART, RawColumns
from fairstress.sensitivity.affected import Affected, affected
from fairstress.sensitivity.claim import (
    PROBABILITY,
    Baseline,
    Choice,
    Claim,
    ClaimBuilder,
    Settings,
    read_baseline,
    without_penalty,
)
from fairstress.sensitivity.decisions import flip_shares, read_threshold
from fairstress.sensitivity.evaluate import cfu_by_row, evaluate
from fairstress.sensitivity.functional import by_levels
from fairstress.sensitivity.profile import Context, rounding
from fairstress.threads import one_thread

Correlation = Mapping[tuple[str, str], float] | pd.DataFrame | ArrayLike


@dataclass(frozen=True)
class Fitted:
    """What an audit knows before any budget is named."""

    graph: CausalGraph
    table: Table
    settings: Settings
    claim: Claim
    baselines: dict[str, Baseline]
    embedding: EmbeddingFactory = Polynomial.of
    brought: Brought | None = None  # the analyst's own predictor

    # ------------------------------------------------------------ the two models

    @property
    def variables(self) -> tuple[str, ...]:
        """The order of rows and columns in correlation matrices."""
        return (self.graph.protected, *self.graph.features) if self.graph.confounds_protected else self.graph.features

    @property
    def model_a(self) -> StructuralModel:
        """The guessed model: independent errors."""
        return name_model(self.claim.model_a, self.claim.design)

    @one_thread
    def model_b(self, correlation: Correlation) -> StructuralModel:
        """The hypothetical truth: the same equations, refitted with correlated errors."""
        return name_model(evaluate(self.claim, self._read(correlation)).fit, self.claim.design)

    @one_thread
    def counterfactuals(self, correlation: Correlation) -> pd.DataFrame:
        """Everyone's features had their protected attribute been another, under Model B, in the table's units.

        Edges that are called fair carry factual values. Where people are moved to several levels, the frame has a row
        for each person and level.
        """
        return self._counterfactual_frame(evaluate(self.claim, self._read(correlation)).fit.weights)

    def _counterfactual_frame(self, w_B: Array) -> pd.DataFrame:
        return name_counterfactuals(self.table, self.counterfactual_rows(w_B))

    def counterfactual_rows(self, w_B: Array) -> Array:
        """Counterfactual features (r, m), standardised, of each distinct row and value that its people are moved to."""
        w_A, design = self.claim.model_a.weights, self.claim.design
        return np.concatenate([worlds(design, w_A, w_B[None], people).x_cf[0] for people in self.claim.people()])

    def refitted(
        self, *, degrees: Mapping[str, int] | None = None, penalty: float | None = None, keep: ArrayLike | None = None
    ) -> Self:
        """The same audit with some settings changed, or on some of the rows; nothing is cross-validated anew.

        Parameters
        ----------
        degrees, penalty
            Of the structural equations; as they are without it.
        keep
            Which rows to keep, one truth value per row.
        """
        settings, table = self.settings, self.table if keep is None else self.table.keep(np.asarray(keep, dtype=bool))
        chosen = {**settings.degrees, **(degrees or {})}
        fixed = (chosen, settings.penalty if penalty is None else penalty)
        predictor = (settings.predictor_degree or 1, settings.predictor_penalty or 0.0)  # a brought one has neither
        choice = Choice.of(self.graph, *fixed, *predictor, settings.max_degree, settings.penalties)
        way = (settings.mixed == FAIR_PART, self.brought, settings.predictor_scale, self.claim.measure)
        builder = ClaimBuilder(table, [], choice, self.embedding, settings.penalise_constant, *way)
        claim = builder.claim(*builder.structure())
        changed = builder.settings(claim, fixed[1], settings.max_degree, settings.cv, settings.random_state)
        baselines = builder.baselines(claim, like=self.baselines)
        return replace(self, table=table, settings=changed, claim=claim, baselines=baselines)

    # ------------------------------------------------------------ how unfair

    @one_thread
    def cfu(self, correlation: Correlation) -> float:
        """Counterfactual unfairness of the predictor if the errors have this correlation; pairs not named are 0."""
        return evaluate(self.claim, self._read(correlation)).value

    @one_thread
    def cfu_by_row(self, correlation: Correlation) -> pd.Series[float]:
        """The same for each row of the table."""
        fitted = evaluate(self.claim, self._read(correlation)).fit
        values = self.table.mean_by_row(cfu_by_row(self.claim, fitted.weights))
        return pd.Series(values, index=self.table.index, name="cfu")

    @one_thread
    def cfu_by_levels(self, correlation: Correlation) -> pd.DataFrame:
        """CFU for each pair of levels, those that people have (rows) and those that they are moved to (columns)."""
        fitted = evaluate(self.claim, self._read(correlation)).fit
        return by_levels(self.table, self.claim, fitted.weights)

    @one_thread
    def gradient(self, correlation: Correlation) -> pd.Series[float]:
        """Exact derivative of CFU with respect to the correlation of each pair of features."""
        slope = evaluate(self.claim, self._read(correlation), gradient=True).gradient
        if slope is None:
            if self.claim.measure.slope is None:
                raise SettingError(
                    f"CFU has no gradient, because its measure is {self.settings.measure!r}: 'squared' and 'absolute' "
                    "have one"
                )
            raise SettingError(
                f"CFU has no gradient, because predictor_gradient is '{self.claim.predictor.gradient}': give "
                "'differences' if the predictor is smooth"
            )
        pairs = list(self.graph.pairs)
        position = self.variables.index
        values = [slope[position(a), position(b)] + slope[position(b), position(a)] for a, b in pairs]
        return pd.Series(values, index=pd.MultiIndex.from_tuples(pairs) if pairs else None, dtype=float)

    @one_thread
    def baseline_cfu(self, name: str, correlation: Correlation) -> float:
        """A baseline's own CFU at a correlation: how its predictions change from the factual to the counterfactual."""
        return evaluate(read_baseline(name, self.baselines).claim, self._read(correlation)).value

    # ------------------------------------------------------------ who is affected

    @one_thread
    def people(self, correlation: Correlation, *, threshold: float | None = None) -> Affected:
        """Everyone's factual and counterfactual features and predictions, in the table's units, worst first.

        Parameters
        ----------
        correlation
            Of the errors; pairs not named are 0.
        threshold
            Say also whose decision, prediction at or above this, the counterfactual turns.
        """
        fitted = evaluate(self.claim, self._read(correlation)).fit
        limit = None if threshold is None else read_threshold(self.table, threshold, self.settings.predictor_scale)
        return affected(self.table, self.claim, fitted.weights, limit)

    @one_thread
    def flip_shares(self, correlation: Correlation, threshold: float) -> pd.DataFrame:
        """Shares of people whose decision the counterfactual turns, by group and direction.

        The decision is a prediction at or above the threshold, in the outcome's units or a probability. ``gained``: no
        turns to yes in the counterfactual; ``lost``: yes to no; ``either``: both together.
        """
        w_B = evaluate(self.claim, self._read(correlation)).fit.weights
        return flip_shares(self.table, self.claim, w_B, threshold, self.settings.predictor_scale)

    @one_thread
    def predictor_inputs(self) -> pd.DataFrame:
        """What the audited predictor looks at: a row per person, residuals of the standardised features, or columns.

        Residuals are rounded to ten digits, so that people who are alike are so for a tree as well.
        """
        claim, rows = self.claim, self.table.rows
        if isinstance(claim.view, RawColumns) and self.brought:
            return self.table.units.frame(rows.a, rows.x).iloc[self.table.row_of].set_axis(self.table.index, axis=0)
        w_A = claim.model_a.weights
        Z = np.concatenate([claim.view.factual(b, residuals(claim.design, w_A, b)) for b in rows.blocks()])
        return pd.DataFrame(Z[self.table.row_of].round(DIGITS), columns=list(claim.view.names), index=self.table.index)

    @property
    def outcome_variance(self) -> float:
        """Variance of the outcome: the scale on which CFU is large or small."""
        rows = self.table.rows
        return float(rows.y_square.sum() / rows.n - (rows.y.sum() / rows.n) ** 2)

    # ------------------------------------------------------------ inside

    @cached_property
    def _unpenalised(self) -> Claim | None:
        """The same claim with structural penalty 0, or None where nearly collinear columns leave no reliable fit."""
        if self.settings.penalty == 0:
            return self.claim
        return without_penalty(self.table, self.claim, self.settings, self.brought)

    @cached_property
    def cfu_under_model_a(self) -> float:
        """CFU at P = I: 0 up to rounding for a predictor of residuals, and what Model A itself says of any other."""
        return evaluate(self.claim, self.claim.model_a.correlation).value

    @property
    def _yardstick(self) -> float:
        """The outcome's variance where CFU is in its units, otherwise NaN."""
        settings = self.settings
        comparable = self.claim.measure.is_squared and settings.predictor_scale == PROBABILITY
        return self.outcome_variance if comparable else float("nan")

    @cached_property
    def _context(self) -> Context:
        claim = self._unpenalised or self.claim
        smallest = rounding(claim) * self.outcome_variance
        negligible = float(self.claim.measure.each(np.sqrt([smallest]))[0])
        has_distances = claim.measure.is_squared and not isinstance(claim.view, RawColumns)  # from a fair predictor
        return Context(
            outcome_variance=self._yardstick,
            negligible=negligible,
            penalty=self.settings.penalty,
            log_likelihood=self.claim.model_a.log_likelihood,
            baselines={name: b.unfairness for name, b in self.baselines.items()} if has_distances else {},
            rivals={name: baseline.claim for name, baseline in self.baselines.items()},
        )

    def _seed(self, random_state: Any) -> int | None:
        """The seed of a search: that of the audit where none is given."""
        return self.settings.random_state if random_state is None else read_seed(random_state)

    def _read(self, correlation: Correlation) -> Array:
        return read_correlation(correlation, self.graph, self.variables)


def read_seed(random_state: Any) -> int | None:
    """Check a seed."""
    if random_state is None:
        return None
    is_whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not is_whole or random_state < 0:
        raise SettingError(f"random_state is {random_state!r}: give a whole number that is not negative, or None")
    return int(random_state)
