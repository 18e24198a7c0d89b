"""The corridor: strings data, models and sensitivity together; what a user holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairstress.errors import SettingError
from fairstress.inputs.correlation import read_correlation, read_pair
from fairstress.inputs.data import Table, read_table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.model.counterfactual import worlds
from fairstress.model.design import describer
from fairstress.model.embedding import EmbeddingFactory, Polynomial
from fairstress.model.named import StructuralModel, name_counterfactuals, name_model
from fairstress.model.view import FAIR_PART, RESIDUAL
from fairstress.sensitivity.benchmarks import benchmarks
from fairstress.sensitivity.budget import read_budget
from fairstress.sensitivity.check import Check, Question, check
from fairstress.sensitivity.claim import Baseline, Choice, Claim, ClaimBuilder, Settings, check_sizes, without_penalty
from fairstress.sensitivity.curve import BreakingPoint, Curve, trace
from fairstress.sensitivity.evaluate import cfu_by_row, evaluate, evaluate_many
from fairstress.sensitivity.functional import (
    Functional,
    OfFrame,
    Unfairness,
    by_levels,
    coefficient,
    direct_effect,
    group_unfairness,
    indirect_effect,
    total_effect,
)
from fairstress.sensitivity.profile import Context, Profile, Progress, profile, read_grid, rounding
from fairstress.sensitivity.worst_case import Solver, WorstCase
from fairstress.sensitivity.yardstick import Benchmarks
from fairstress.threads import one_thread

Bounds = Mapping[tuple[str, str], tuple[float, float]]
Correlation = Mapping[tuple[str, str], float] | pd.DataFrame | ArrayLike


@dataclass(frozen=True)
class Audit:
    """A counterfactual fairness claim on some data, ready to be stressed. Made by `Audit.fit`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse(
    ...     "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White")
    >>> f"{audit.cfu({('ugpa', 'lsat'): 0.9}):.1e}"
    '2.0e-06'
    """

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
        cv: int = 5,
        sample_weight: ArrayLike | None = None,
        penalise_constant: bool = False,
        embedding: EmbeddingFactory = Polynomial.of,
        mixed: str = "residual",
        random_state: int | None = None,
    ) -> Audit:
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
            What cross-validation chooses from, and its number of contiguous folds. Penalties are ten from 1e-4 to 1e4.
        sample_weight
            One weight per row; weight 2 is the row twice.
        penalise_constant
            Whether constants bear the ridge penalty, as in the paper; CFU then depends on where zero lies.
        embedding
            Makes the embedding of an equation from its inputs and degree; all monomials without it.
        mixed
            How a feature that fair and unfair paths lead to enters the predictor: ``"residual"``, or ``"fair part"``,
            the value that Model A gives it with the reference level on unfair edges.
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
        )
        choice = Choice.of(graph, degrees, penalty, predictor_degree, predictor_penalty, max_degree, penalties)
        fair_part = mixed == FAIR_PART
        builder = ClaimBuilder(table, table.folds(cv), choice, embedding, bool(penalise_constant), fair_part)
        design, structural_penalty = builder.structure()
        check_sizes(table, design)
        claim = builder.claim(design, structural_penalty)
        settings = builder.settings(claim, structural_penalty, max_degree, cv, random_state)
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
        x_cf = [
            worlds(self.claim.design, self.claim.model_a.weights, w_B[None], p).x_cf[0] for p in self.claim.people()
        ]
        return name_counterfactuals(self.table, np.concatenate(x_cf))

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

    @one_thread
    def profile(
        self, pair: tuple[str, str], grid: Iterable[float] | None = None, *, progress: Progress | None = None
    ) -> Profile:
        """CFU along a grid of correlations of one pair, all others 0: the paper's first tool.

        Parameters
        ----------
        pair
            Two names that the graph joins by ``<->``.
        grid
            Correlations strictly between -1 and 1; 201 points from -0.99 to 0.99 without it.
        progress
            Called with (steps done, steps in all).
        """
        position = read_pair(pair, self.graph, self.variables)
        return profile(
            self.claim,
            self._unpenalised,
            (self.variables[position[0]], self.variables[position[1]]),
            position,
            read_grid(grid),
            self._context,
            progress,
        )

    @one_thread
    def check(self) -> Check:
        """Say what the free pairs can do to CFU at structural penalty 0, together and each alone, before any curve.

        They cannot matter, which is proved; or they move CFU, which is shown at a random correlation; or CFU is 0 at
        random correlations and no rule is known. Where they cannot matter, a curve shows the penalty and nothing else.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, degrees={"ugpa": 1, "lsat": 1}, penalty=1)
        >>> found = audit.check().together
        >>> print(found.verdict, f"{found.cfu:.1g}", found.reason, sep="; ")
        moves CFU; 0.02; lsat's equation (ugpa, degree 1) lacks race, which absorbing ugpa would take.
        """
        return check(self._question)

    # ------------------------------------------------------------ how unfair at worst

    @one_thread
    def worst_case(
        self,
        p_max: float,
        *,
        budget: str = "pairwise",
        min_eigenvalue: float = 0.05,
        bounds: Bounds | None = None,
        starts: int = 8,
        method: str = "search",
        random_state: int | None = None,
    ) -> WorstCase:
        """Find the largest CFU within a budget: the paper's second tool.

        Parameters
        ----------
        p_max
            The size of the budget, from 0 up to, but not including, 1.
        budget
            ``"pairwise"``: no pair's correlation exceeds p_max in size, and no eigenvalue of P lies below
            ``min_eigenvalue``. ``"spectral"``: ``P = (1 - p_max) I + p_max R`` for any correlation matrix R of the
            graph's pattern. For one pair the two are the same interval.
        min_eigenvalue
            Floor of the pairwise budget where two or more pairs are free.
        bounds
            ``{pair: (lower, upper)}``: signs and sizes that an expert can vouch for.
        starts
            Ascents to begin with; more follow while they disagree.
        method
            ``"search"``, or ``"ascent"`` for the paper's Algorithm 1, which finds local maxima and is there for
            comparison.
        random_state
            Seed of the scan and of random starts; that of the audit without it.
        """
        limits_of = {"kind": budget, "min_eigenvalue": min_eigenvalue, "bounds": bounds}
        solve = self._solver(Unfairness(), 1.0, starts, method, random_state, **limits_of)
        return solve(p_max)

    @one_thread
    def curve(
        self,
        p_max: Sequence[float],
        *,
        budget: str = "pairwise",
        min_eigenvalue: float = 0.05,
        bounds: Bounds | None = None,
        starts: int = 8,
        method: str = "search",
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Curve:
        """Find the worst case for each p_max, each search starting also from the solution of the one before.

        Arguments are those of `worst_case`; ``progress`` is called with (budgets done, budgets in all).
        """
        limits = sorted({float(limit) for limit in p_max})
        if not limits:
            raise SettingError("p_max is empty: give at least one number from 0 up to, but not including, 1")
        limits_of = {"kind": budget, "min_eigenvalue": min_eigenvalue, "bounds": bounds}
        solve = self._solver(Unfairness(), 1.0, starts, method, random_state, **limits_of)
        points, own = trace(limits, solve, progress)
        without = None
        if self._unpenalised is not None:
            P = np.array([point.correlation.to_numpy() for point in points])
            without = np.array([e.value for e in evaluate_many(self._unpenalised, P)])
        return Curve(tuple(points), tuple(own), without, self._context, solve)

    @one_thread
    def breaking_point(self, level: float | str, *, highest: float = 0.99, **budget: Any) -> BreakingPoint:
        """Find the smallest p_max whose worst case reaches a level: a number, or the name of a baseline.

        ``highest`` is the largest p_max to try; other arguments are those of `worst_case`.
        """
        return self.curve([0.0, *np.linspace(0.1, highest, 6)], **budget).breaking_point(level)

    @one_thread
    def bounds(
        self,
        functional: Functional | Callable[[pd.DataFrame], Any],
        p_max: float,
        *,
        budget: str = "pairwise",
        min_eigenvalue: float = 0.05,
        bounds: Bounds | None = None,
        starts: int = 8,
        random_state: int | None = None,
    ) -> tuple[WorstCase, WorstCase]:
        """Find the smallest and the largest value of a functional of Model B within a budget.

        Parameters
        ----------
        functional
            One of `cfu_of_group`, `total_effect` and `coefficient`, or any function from the frame that
            `counterfactuals` gives to a number, which is then searched without derivatives: for few pairs.
        p_max, budget, min_eigenvalue, bounds, starts, random_state
            As in `worst_case`.

        Returns
        -------
        tuple of WorstCase
            Lower and upper.
        """
        known = functional if isinstance(functional, Functional) else self._of_frame(functional)
        limits_of = {"kind": budget, "min_eigenvalue": min_eigenvalue, "bounds": bounds}
        lower, upper = (
            self._solver(known, sign, starts, "search", random_state, **limits_of)(p_max) for sign in (-1.0, 1.0)
        )
        return lower, upper

    def cfu_of_group(self, level: Any, to: Any = None) -> Functional:
        """CFU of one group, or of those in it who are moved to another level; for `bounds`."""
        return group_unfairness(self.table, level, to)

    def total_effect(self, feature: str, level: Any = None) -> Functional:
        """Mean effect on a feature, in its units, of moving everyone from the reference level to another.

        For a numeric protected attribute: of moving everyone by its shift. For `bounds`.
        """
        return total_effect(self.table, feature, level)

    def direct_effect(self, feature: str, level: Any = None) -> Functional:
        """The same along the edge from the protected attribute alone, other parents as observed; for `bounds`."""
        return direct_effect(self.table, self.claim, feature, level)

    def indirect_effect(self, feature: str, level: Any = None) -> Functional:
        """Total effect less direct effect; for `bounds`."""
        return indirect_effect(self.table, self.claim, feature, level)

    def coefficient(self, feature: str, term: str) -> Functional:
        """A weight of a feature's equation, in the table's units per unit of the term; for `bounds`.

        Features enter an equation less their mean; the protected attribute as -1/+1 or as it is.
        """
        return coefficient(self.table, self.claim, feature, term)

    # ------------------------------------------------------------ how strong is that

    @one_thread
    def benchmarks(
        self,
        *,
        columns: Any = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        pairs: Iterable[tuple[str, str]] | None = None,
        multiples: Sequence[float] = (1, 2, 3),
    ) -> Benchmarks:
        """Measure the error correlation that leaving out observed variables would induce: yardsticks for hidden ones.

        Equations are fitted by least squares with the audit's degrees and without penalty: what a variable explains is
        a fact about the data. What is measured: every variable of the graph that is a parent of both ends of a pair,
        the protected attribute among them, and the columns and groups that are given.

        Parameters
        ----------
        columns
            A table of further columns with the audited rows in the same order, such as ``frame[["age"]]``; each is
            taken for a cause of every feature in a pair.
        groups
            ``{name: variables}`` to be left out together.
        pairs
            Pairs of features that the graph joins by ``<->``; all of them without it.
        multiples
            How many times as strong as the observed variable the hidden causes of the result are.
        """
        given = {"columns": columns, "groups": groups, "pairs": pairs, "multiples": multiples}
        return benchmarks(self.table, self.claim.design, self.embedding, **given)

    @property
    def outcome_variance(self) -> float:
        """Variance of the outcome: the scale on which CFU is large or small."""
        rows = self.table.rows
        return float(rows.y_square.sum() / rows.n - (rows.y.sum() / rows.n) ** 2)

    def summary(self) -> str:
        """Say in prose what was assumed and fitted."""
        from fairstress.report.summary import audit_summary

        return audit_summary(self)

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

    @property
    def _question(self) -> Question:
        """What `check` is about."""
        return Question(
            graph=self.graph,
            variables=self.variables,
            claim=self.claim,
            unpenalised=self._unpenalised,
            describe=describer(self.table),
            negligible=self._context.negligible,
            outcome_variance=self.outcome_variance,
            seed=self.settings.random_state or 0,
            total_effect=not self.graph.fair_edges,
        )

    def _solver(
        self, functional: Functional, sign: float, starts: int, method: str, random_state: int | None, **budget: Any
    ) -> Solver:
        """Give what finds the worst case within one p_max."""
        seed = self.settings.random_state if random_state is None else random_state
        is_cfu = isinstance(functional, Unfairness) and sign > 0
        negligible = self._context.negligible if is_cfu else -np.inf
        make_budget = partial(read_budget, self.graph, self.variables, **budget)
        return Solver(self.claim, self.variables, make_budget, functional, sign, starts, method, seed, negligible)

    def _of_frame(self, function: Any) -> Functional:
        if not callable(function):
            raise SettingError(
                f"functional is {function!r}: give total_effect(...), coefficient(...), cfu_of_group(...) "
                "or a function of the frame of counterfactuals"
            )
        return OfFrame(function, self._counterfactual_frame, getattr(function, "__name__", "functional"))

    def _read(self, correlation: Correlation) -> Array:
        return read_correlation(correlation, self.graph, self.variables)
