"""The stress: what an audit asks of Model B, with every correlation that a budget allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fairstress.audit.fitting import Fitting
from fairstress.audit.pictured import Pictured
from fairstress.errors import SettingError
from fairstress.inputs.correlation import read_pair
from fairstress.model.design import describer
from fairstress.sensitivity.benchmarks import benchmarks
from fairstress.sensitivity.budget import read_budget, read_sizes
from fairstress.sensitivity.check import Check, Question, check
from fairstress.sensitivity.curve import SAME_P, BreakingPoint, Curve, as_unfair_as, trace
from fairstress.sensitivity.decisions import flips
from fairstress.sensitivity.evaluate import evaluate_many
from fairstress.sensitivity.functional import (
    Functional,
    OfFrame,
    Unfairness,
    coefficient,
    direct_effect,
    group_unfairness,
    indirect_effect,
    total_effect,
)
from fairstress.sensitivity.profile import Profile, Progress, profile, read_grid
from fairstress.sensitivity.worst_case import Solver, WorstCase
from fairstress.sensitivity.yardstick import Benchmarks
from fairstress.threads import one_thread

Bounds = Mapping[tuple[str, str], tuple[float, float]]


@dataclass(frozen=True)
class Stressed(Pictured, Fitting):
    """A fitted claim under stress: one pair along a grid, the worst case within a budget, bounds, yardsticks."""

    # ------------------------------------------------------------ before any curve

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
        solve = self._solver(Unfairness(name=self.claim.measure.title), 1.0, starts, method, random_state, **limits_of)
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
        limits = read_sizes(p_max)
        limits_of = {"kind": budget, "min_eigenvalue": min_eigenvalue, "bounds": bounds}
        solve = self._solver(Unfairness(name=self.claim.measure.title), 1.0, starts, method, random_state, **limits_of)
        points, own = trace(limits, solve, progress)
        without = None
        if self._unpenalised is not None:
            P = np.array([point.correlation.to_numpy() for point in points])
            without = np.array([e.value for e in evaluate_many(self._unpenalised, P)])
        return Curve(tuple(points), tuple(own), without, self._context, solve)

    @one_thread
    def breaking_point(
        self, level: float | str = "blind", *, definition: str = SAME_P, highest: float = 0.99, **budget: Any
    ) -> BreakingPoint:
        """Find the smallest p_max whose worst case reaches a level: a number, or the name of a baseline.

        A baseline's level is its own CFU at the same correlation, or with ``definition="paper"`` its `unfairness`; see
        `Curve.breaking_point`. ``highest`` is the largest p_max to try; other arguments are those of `worst_case`.
        """
        limits = [0.0, *np.linspace(0.1, highest, 6).tolist()]
        if isinstance(level, str) and definition == SAME_P:  # which needs no curve of CFU itself
            return as_unfair_as(level, limits, self.curve([0.0], **budget).solve, self._context)
        return self.curve(limits, **budget).breaking_point(level, definition=definition)

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
            One of `cfu_of_group`, `flips`, `total_effect`, `direct_effect`, `indirect_effect` and `coefficient`, or
            any function from the frame that `counterfactuals` gives to a number. The latter, and `flips`, are searched
            without derivatives: for few pairs.
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

    @one_thread
    def effects(self, p_max: float, *, level: Any = None, **budget: Any) -> pd.DataFrame:
        """Direct, indirect and total effects of the protected attribute on each feature, with bounds within a budget.

        One row per feature and kind: the effect under Model A, the smallest and the largest within the budget, in the
        feature's units. ``level`` is where the effect leads, from the reference; other arguments are those of `bounds`.
        """
        kinds = {"direct": self.direct_effect, "indirect": self.indirect_effect, "total": self.total_effect}
        w_A, rows = self.claim.model_a.weights[None], []
        for name in (e.feature for e in self.claim.design.equations if e.descends):
            for kind, make in kinds.items():
                functional = make(name, level)
                low, high = self.bounds(functional, p_max, **budget)
                model_a = float(functional.values(self.claim, w_A)[0])
                rows.append({"feature": name, "effect": kind, "model_a": model_a, "low": low.value, "high": high.value})
        return pd.DataFrame(rows)

    # ------------------------------------------------------------ what can be bounded

    def cfu_of_group(self, level: Any, to: Any = None) -> Functional:
        """CFU of one group, or of those in it who are moved to another level; for `bounds`."""
        return group_unfairness(self.table, level, to)

    def flips(self, threshold: float, *, direction: str = "either", group: Any = None) -> Functional:
        """Share of people whose decision, prediction at or above a threshold, the counterfactual turns; for `bounds`.

        Parameters
        ----------
        threshold
            In the outcome's units; a probability where the outcome has two values.
        direction
            ``"gained"`` where no turns to yes in the counterfactual, ``"lost"`` where yes turns to no, or ``"either"``.
        group
            Level of the protected attribute: the share among those who have it.
        """
        return flips(self.table, threshold, direction, group, self.settings.predictor_scale)

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

        Equations are fitted by least squares, that of a two-valued protected attribute by probit, with the audit's
        degrees and without penalty: what a variable explains is a fact about the data. What is measured: every variable
        of the graph that is a parent of both ends of a pair, the protected attribute among them, and the columns and
        groups that are given.

        Parameters
        ----------
        columns
            A table of further columns with the audited rows in the same order, such as ``frame[["age"]]``; each is
            taken for a cause of every variable in a pair, of the protected attribute only if a pair names it.
        groups
            ``{name: variables}`` to be left out together.
        pairs
            Pairs that the graph joins by ``<->``, those with the protected attribute among them; all without it.
        multiples
            How many times as strong as the observed variable the hidden causes of the result are.
        """
        given = {"columns": columns, "groups": groups, "pairs": pairs, "multiples": multiples}
        return benchmarks(self.table, self.claim.design, self.embedding, **given)

    # ------------------------------------------------------------ inside

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
            outcome_variance=self._yardstick,
            seed=self.settings.random_state or 0,
            total_effect=not self.graph.fair_edges,
        )

    def _solver(
        self, functional: Functional, sign: float, starts: int, method: str, random_state: int | None, **budget: Any
    ) -> Solver:
        """Give what finds the worst case within one p_max."""
        seed = self._seed(random_state)
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
