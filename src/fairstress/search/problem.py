"""What a search looks for, and where, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Evaluation, Functional, evaluate_many
from fairstress.errors import Status
from fairstress.functionals.cfu import CFU
from fairstress.functionals.frame import OfFrame
from fairstress.functionals.relative import RelativeCFU
from fairstress.inputs.rows import Array, sample
from fairstress.model.fit import Fit
from fairstress.model.threshold import ThresholdSystem
from fairstress.options import DIFFERENCES
from fairstress.search.known import Known
from fairstress.search.members import Members

SAMPLE = 4096  # people in a sample of the rows

Question = tuple[Array, Fit | None]  # where, and what its fit starts from
Answer = tuple[float, Array, Fit]  # the value there, its derivative (q,), and what a fit nearby can start from
Ask = Callable[[Question], Answer]
End = tuple[Array, float, Status]  # of one ascent: where, how high, and how it ended

OF_PREDICTIONS = (CFU, RelativeCFU)  # functionals whose derivative is the predictor's


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What to maximise (sign +1) or minimise (sign -1), where, and how hard to look."""

    claim: Claim
    members: Members  # where
    functional: Functional
    sign: float
    starts: int
    scan: int
    negligible: float = 0.0  # a value at or below this is rounding, and not worth climbing
    precision: float = 1e-7  # gain of a step, relative to where it is, below which an ascent ends
    along_line: MutableMapping[int, float] = field(default_factory=dict)  # of one pair: values on a fixed lattice
    known: Known = field(default_factory=Known)  # where values take long: those found so far
    ascended: Callable[[], None] | None = None  # called after each ascent
    n_jobs: int = 1  # processes for ascents of many pairs
    n_sampled: int = 0  # rows in the sample that this looks at; 0: all of them

    def values(self, points: Array) -> Array:
        """``sign * functional`` at points (g, q)."""
        evaluations = evaluate_many(self.claim, self.members.matrix(points), self.functional, check_minima=False)
        return self.sign * np.array([e.value for e in evaluations])

    def value_and_gradient(self, p: Array) -> Answer:
        """``sign * functional`` at one point, its derivative (q,), and what a fit nearby can start from."""
        return self.answers([(p, None)])[0]

    def values_and_gradients(
        self, points: Array, starts: Sequence[Fit] | None = None
    ) -> tuple[Array, Array, list[Fit]]:
        """``sign * functional`` at points (g, q), its derivatives (g, q), and what fits nearby can start from."""
        P = self.members.matrix(points)
        found = evaluate_many(self.claim, P, self.functional, gradient=True, check_minima=False, starts=starts)
        slopes = [
            self.members.pull_back(p, at.gradient + at.gradient.T)
            for p, at in zip(points, found, strict=True)
            if at.gradient is not None  # whoever asks has looked at has_slopes
        ]
        return self.sign * np.array([at.value for at in found]), self.sign * np.array(slopes), [at.fit for at in found]

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """The same for ascents that ask together; a fit that has nothing to start from starts from Model A."""
        points, starts = np.array([p for p, _ in questions]), [fit or self.claim.model_a for _, fit in questions]
        values, slopes, fits = self.values_and_gradients(points, starts)
        return list(zip(values.tolist(), slopes, fits, strict=True))

    @property
    def has_slopes(self) -> bool:
        """Whether the functional has a derivative, and an ascent can follow it."""
        return self.functional.has_slope(self.claim)

    @property
    def takes_long(self) -> bool:
        """Whether values take so long that a surface through those known says where to look for others."""
        asked = self.claim.takes_long and not self.has_slopes and self.members.low.size > 1
        return self.claim.is_mixed or asked

    @property
    def success(self) -> Status:
        """What a search that ends well says of its means."""
        if not self.has_slopes:
            return Status.NO_DERIVATIVES
        by_differences = self.claim.predictor.gradient == DIFFERENCES and isinstance(self.functional, OF_PREDICTIONS)
        return Status.DIFFERENCES if by_differences else Status.CONVERGED

    def to_send(self) -> Problem:
        """The same problem as far as another process needs it for ascents."""
        return replace(self, along_line={}, known=Known(), ascended=None, n_jobs=1)

    def on_sample(self, rng: np.random.Generator, people: int) -> Problem:
        """The same problem on a sample of the rows, where there are many.

        Model B is fitted to all of them, but for the threshold of a two-valued attribute, which takes a pass over rows.
        """
        claim, rows, system = self.claim, self.claim.rows, self.claim.system
        if isinstance(self.functional, OfFrame):
            return self
        if self._n_looked_at > 2 * SAMPLE and people < rows.size:
            rows = sample(rows, people, rng)
        n_sampled = people
        if isinstance(system, ThresholdSystem):
            system = system.on_sample(max(people, SAMPLE))
            n_sampled = people if rows is not claim.rows else max(people, SAMPLE)
        if rows is claim.rows and system is claim.system:
            return self
        coarse = claim.seen_through(system) if rows is claim.rows else replace(claim, rows=rows, system=system)
        return replace(self, claim=coarse, precision=1e-3, n_sampled=n_sampled)

    @property
    def _n_looked_at(self) -> int:
        """How many rows one value takes."""
        if not isinstance(self.functional, OF_PREDICTIONS):
            return self.claim.rows.size
        claims = [self.claim, *([self.functional.baseline] if isinstance(self.functional, RelativeCFU) else [])]
        return max(claim.for_squares().rows.size for claim in claims)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Where a search ended, and how sure one can be of it."""

    p: Array  # (q,)
    evaluation: Evaluation
    status: Status
    n_starts: int  # ascents
    n_agreeing: int  # ascents that ended within 0.1 % of the best value
    scan_value: float  # the best value on the scan, and where
    scan_p: Array
    n_points: int = 0  # correlations through whose values a surface was drawn; 0: none was
    n_sampled: int = 0  # rows in the sample on which the search looked around; 0: it looked at all
    sample_difference: float | None = None  # of the value on the sample from that on all rows, relative to it
    met: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (k, q) ends of ascents, then the best points known
    n_ends: int = 0  # how many of these are ends of ascents
