"""What a search looks for, and what it gives back."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field, replace

import numpy as np

from fairstress.errors import Status
from fairstress.inputs.rows import Array, sample
from fairstress.model.predictor import DIFFERENCES
from fairstress.sensitivity.against import Against
from fairstress.sensitivity.budget import Budget
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.evaluate import Evaluation, evaluate, evaluate_many
from fairstress.sensitivity.functional import Functional, OfFrame, Unfairness

SAMPLE = 4096  # people in a sample of the rows
OF_PREDICTIONS = (Unfairness, Against)  # functionals whose derivative is the predictor's


@dataclass(frozen=True, slots=True)
class Search:
    """What to maximise (sign +1) or minimise (sign -1), where, and how hard to look."""

    claim: Claim
    budget: Budget
    functional: Functional
    sign: float
    starts: int
    scan: int
    negligible: float = 0.0  # a value at or below this is rounding, and not worth climbing
    precision: float = 1e-7  # gain of a step, relative to the start, below which an ascent ends
    along_line: MutableMapping[int, float] = field(default_factory=dict)  # of one pair: values on a fixed lattice

    def values(self, points: Array) -> Array:
        """``sign * functional`` at points (g, q)."""
        found = evaluate_many(self.claim, self.budget.matrix(points), self.functional, check_minima=False)
        return self.sign * np.array([e.value for e in found])

    def value_and_gradient(self, p: Array, start: Evaluation | None = None) -> tuple[float, Array, Evaluation]:
        """``sign * functional`` at one point, its derivative (q,), and what a fit nearby can start from."""
        P = self.budget.matrix(p)
        found = evaluate(self.claim, P, self.functional, gradient=True, check_minima=False, start=start)
        assert found.gradient is not None  # whoever asks has looked at has_slopes
        g = self.budget.point(found.gradient + found.gradient.T)
        return self.sign * found.value, self.sign * g, found

    @property
    def has_slopes(self) -> bool:
        """Whether the functional has a derivative, and an ascent can follow it."""
        return self.functional.has_slope(self.claim)

    @property
    def success(self) -> Status:
        """What a search that ends well says of its means."""
        if not self.has_slopes:
            return Status.NO_DERIVATIVES
        by_differences = self.claim.predictor.gradient == DIFFERENCES and isinstance(self.functional, OF_PREDICTIONS)
        return Status.DIFFERENCES if by_differences else Status.CONVERGED

    def on_sample(self, rng: np.random.Generator) -> Search:
        """The same search on a sample of the rows, where there are many; Model B is fitted to all of them."""
        rows = self.claim.rows
        if rows.a.size <= 2 * SAMPLE or isinstance(self.functional, OfFrame):
            return self
        return replace(self, claim=replace(self.claim, rows=sample(rows, SAMPLE, rng)), precision=1e-3)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a search ended, and how sure one can be of it."""

    p: Array  # (q,)
    evaluation: Evaluation
    status: Status
    n_starts: int  # ascents
    n_agreeing: int  # ascents that ended within 0.1 % of the best value
    scan_value: float  # the best value on the scan, and where
    scan_p: Array


End = tuple[Array, float, Status]  # of one ascent: where, how high, and how it ended
