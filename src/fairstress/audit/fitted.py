"""A claim fitted to a table: the two models, and how unfair the predictor is at one correlation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairstress.errors import SettingError
from fairstress.inputs.correlation import read_correlation
from fairstress.inputs.data import Folds, Table, read_table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import worlds
from fairstress.model.embedding import EmbeddingFactory, Polynomial
from fairstress.model.named import StructuralModel, name_counterfactuals, name_model
from fairstress.model.view import FAIR_PART, RESIDUAL
from fairstress.sensitivity.claim import Baseline, Choice, Claim, ClaimBuilder, Settings, check_sizes, without_penalty
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

    @classmethod
    @one_thread
    def fit(
        cls,
        frame: Any,
        graph: CausalGraph,
        *,
        reference: Any = None,
        shift: float | None = None,
        contrast: Any = None,
        degrees: Mapping[str, int] | None = None,
        penalty: float | None = None,
        predictor_degree: int | None = None,
        predictor_penalty: float | None = None,
        max_degree: int = 3,
        penalties: Sequence[float] | None = None,
        cv: Folds = 5,
        sample_weight: ArrayLike | None = None,
        penalise_constant: bool = False,
        embedding: EmbeddingFactory = Polynomial.of,
        mixed: str = "residual",
        outcome_type: str | None = None,
        random_state: int | None = None,
    ) -> Self:
        """Fit Model A, the predictor on its residuals, and the baselines; what is not given is cross-validated.

        Parameters
        ----------
        frame
            A pandas, polars or pyarrow table with a column for every name of the graph.
        graph
            The causal graph.
        reference
            Level of the protected attribute that the others are compared with, of two levels the one coded +1; without
            it the last in sorted order.
        shift
            How far the counterfactual moves a numeric protected attribute; without it one standard deviation.
        contrast
            Levels, or values of a numeric attribute, that people are moved to; without it all other levels. A person's
            CFU is the mean over them.
        degrees
            Degree of the embedding by feature; features that are left out are chosen.
        penalty
            Ridge penalty shared by the structural equations.
        predictor_degree, predictor_penalty
            The same for the predictor and the baselines.
        max_degree, penalties, cv
            What cross-validation chooses from (penalties: ten from 1e-4 to 1e4), and its number of contiguous folds,
            or splits that test every row once, such as ``list(KFold(5, shuffle=True).split(frame))``.
        sample_weight
            One weight per row; weight 2 is the row twice.
        penalise_constant
            Whether constants bear the ridge penalty, as in the paper; CFU then depends on where zero lies.
        embedding
            Makes the embedding of an equation from its inputs and degree; all monomials without it.
        mixed
            How a feature that fair and unfair paths lead to enters the predictor: ``"residual"``, or ``"fair part"``,
            the value that Model A gives it with the reference level on unfair edges.
        outcome_type
            ``"number"`` or ``"classes"``; without it an outcome of two values is classes, any other a number.
        random_state
            Seed of every step that draws random numbers. Fitting draws none.
        """
        if mixed not in (RESIDUAL, FAIR_PART):
            raise SettingError(f"mixed is {mixed!r}: give '{RESIDUAL}' or '{FAIR_PART}'")
        if not isinstance(penalise_constant, bool | np.bool_):
            raise SettingError(f"penalise_constant is {penalise_constant!r}: give True or False")
        table = read_table(
            frame,
            graph,
            reference=reference,
            shift=shift,
            contrast=contrast,
            sample_weight=sample_weight,
            centre_outcome=not penalise_constant,  # a penalised constant depends on where zero lies
            outcome_type=outcome_type,
        )
        choice = Choice.of(graph, degrees, penalty, predictor_degree, predictor_penalty, max_degree, penalties)
        fair_part = mixed == FAIR_PART
        folds = table.folds(cv)
        builder = ClaimBuilder(table, folds, choice, embedding, bool(penalise_constant), fair_part)
        design, structural_penalty = builder.structure()
        check_sizes(table, design)
        claim = builder.claim(design, structural_penalty)
        settings = builder.settings(claim, structural_penalty, max_degree, len(folds), random_state)
        return cls(graph, table, settings, claim, builder.baselines(claim), embedding)

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
        predictor = (settings.predictor_degree, settings.predictor_penalty)
        choice = Choice.of(self.graph, *fixed, *predictor, settings.max_degree, settings.penalties)
        fair_part = settings.mixed == FAIR_PART
        builder = ClaimBuilder(table, [], choice, self.embedding, settings.penalise_constant, fair_part)
        claim = builder.claim(*builder.structure())
        changed = builder.settings(claim, fixed[1], settings.max_degree, settings.cv, settings.random_state)
        return type(self)(self.graph, table, changed, claim, builder.baselines(claim), self.embedding)

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
        assert slope is not None
        pairs = list(self.graph.pairs)
        position = self.variables.index
        values = [slope[position(a), position(b)] + slope[position(b), position(a)] for a, b in pairs]
        return pd.Series(values, index=pd.MultiIndex.from_tuples(pairs) if pairs else None, dtype=float)

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
        return without_penalty(self.table, self.claim, self.settings)

    @cached_property
    def _context(self) -> Context:
        levels = {name: baseline.unfairness for name, baseline in self.baselines.items()}
        claim = self._unpenalised or self.claim
        log_likelihood = self.claim.model_a.log_likelihood
        negligible = rounding(claim) * self.outcome_variance
        return Context(self.outcome_variance, negligible, self.settings.penalty, log_likelihood, levels)

    def _read(self, correlation: Correlation) -> Array:
        return read_correlation(correlation, self.graph, self.variables)
