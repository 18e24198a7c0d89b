"""A predictor that is sturdier than the fair one: accuracy traded against the worst case within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

from numpy.typing import ArrayLike

from fairstress.audit.fitted import Fitted
from fairstress.errors import SettingError
from fairstress.model.predictor import AnyPredictor
from fairstress.sensitivity.budget import Budget, read_budget
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.frontier import Frontier, trace_frontier
from fairstress.sensitivity.functional import Unfairness
from fairstress.sensitivity.profile import Progress
from fairstress.sensitivity.robust import Cutting, SturdyPredictor, read_weight, read_weights
from fairstress.sensitivity.worst_case import Solver
from fairstress.threads import one_thread

WEIGHTS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class Sturdy(Fitted):
    """A fitted claim whose predictor can be made sturdier."""

    sturdier: SturdyPredictor | None = None  # what `robust` found, where the audited predictor comes from it
    fair_predictor: AnyPredictor | None = None  # in whose place it is audited, and with which baselines are compared

    @one_thread
    def frontier(
        self,
        p_max: float,
        weights: Sequence[float] = WEIGHTS,
        *,
        budget: str = "pairwise",
        min_eigenvalue: float = 0.05,
        bounds: Mapping[tuple[str, str], tuple[float, float]] | None = None,
        starts: int = 8,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Frontier:
        """Trade accuracy against the worst-case CFU within a budget.

        For each weight, among the predictors with the audited one's inputs, degree and penalty, the one with the
        smallest mean squared error, plus penalty per person, plus weight times worst-case CFU. Weight 0 is the audited
        predictor. For a two-valued outcome it is the mean deviance, and the audit must be on the scale of log-odds.

        Parameters
        ----------
        p_max, budget, min_eigenvalue, bounds, starts, random_state
            As in `worst_case`.
        weights
            What a unit of worst-case CFU costs in units of mean squared error (or mean deviance); 0 is always among
            them.
        progress
            Called with (weights done, weights in all).

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
        >>> frame = fs.datasets.simulate(graph, 500, random_state=0).frame
        >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1)
        >>> found = audit.frontier(0.3, [1, 10]).to_frame()
        >>> print(found[["predictor", "weight", "r2", "unfairness"]].head(3).round(3).to_string(index=False))
        predictor  weight    r2  unfairness
             fair     0.0 0.595       0.204
         sturdier     1.0 0.584       0.132
         sturdier    10.0 0.455       0.017
        """
        limits = {"kind": budget, "min_eigenvalue": min_eigenvalue, "bounds": bounds}
        chosen = read_weights(weights)
        cutting = self._cutting(p_max, starts, random_state, limits)
        return trace_frontier(cutting, chosen, self.baselines, self._yardstick, progress)

    @one_thread
    def robust(
        self,
        p_max: float,
        weight: float,
        *,
        budget: str = "pairwise",
        min_eigenvalue: float = 0.05,
        bounds: Mapping[tuple[str, str], tuple[float, float]] | None = None,
        starts: int = 8,
        random_state: int | None = None,
    ) -> Self:
        """Give the same audit with the sturdier predictor of one weight in place of the fair one.

        The weight is best read off a `frontier`. Model A, its residuals and the baselines stay; the baselines'
        unfairness is still their distance from the fair predictor, so that levels are those of the first audit.
        ``sturdier`` says how the predictor was found. Weight 0 is the fair predictor: the same audit. Arguments are
        those of `frontier`.
        """
        limits = {"kind": budget, "min_eigenvalue": min_eigenvalue, "bounds": bounds}
        chosen = read_weight(weight)
        cutting = self._cutting(p_max, starts, random_state, limits)
        if chosen == 0:
            return self
        found, fair = cutting.solve(chosen), self.claim.predictor
        return replace(self, claim=replace(self.claim, predictor=found.predictor), sturdier=found, fair_predictor=fair)

    def refitted(
        self, *, degrees: Mapping[str, int] | None = None, penalty: float | None = None, keep: ArrayLike | None = None
    ) -> Self:
        """See `Fitted.refitted`; a sturdier predictor is taken as it is, not made anew."""
        found = super().refitted(degrees=degrees, penalty=penalty, keep=keep)
        if self.sturdier is None:
            return found
        fair = found.claim.predictor
        return replace(found, claim=replace(found.claim, predictor=self.claim.predictor), fair_predictor=fair)

    # ------------------------------------------------------------ inside

    def _cutting(self, p_max: float, starts: int, random_state: int | None, limits: Mapping[str, Any]) -> Cutting:
        if self.sturdier is not None:
            raise SettingError(
                f"this audit's predictor is a sturdier one already (weight {self.sturdier.weight:g}): ask the audit "
                "that it was made from"
            )
        seed = self._seed(random_state)
        make_budget: Callable[[float], Budget] = partial(read_budget, self.graph, self.variables, **limits)
        make_budget(p_max)  # refuses what is no budget before anything is computed
        negligible = self._context.negligible

        def make_solver(claim: Claim) -> Solver:
            return Solver(claim, self.variables, make_budget, Unfairness(), 1.0, starts, "search", seed, negligible)

        constant = self.settings.penalise_constant
        return Cutting.of(self.table, self.claim, p_max, make_solver, negligible=negligible, penalise_constant=constant)

    @cached_property
    def _unpenalised(self) -> Claim | None:
        """The claim at structural penalty 0; a sturdier predictor is taken as it is, not fitted anew."""
        plain = super()._unpenalised
        if plain is None or self.sturdier is None:
            return plain
        return replace(plain, predictor=self.claim.predictor)
