"""What cross-validation tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairstress.inputs.rows import Array

R2, LIKELIHOOD = "R2", "log likelihood a person"


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """Degrees and penalties of one equation or predictor, and how well each did on people whom it had not seen."""

    name: str  # of a feature, or "predictor"
    degrees: tuple[int, ...]
    penalties: tuple[float, ...]
    scores: Array  # (degrees, penalties) means over folds
    measured: str  # what a score is

    def rows(self) -> Iterator[tuple[str, int, float, float, str]]:
        """Name, degree, penalty, score and what it is, one after the other."""
        for degree, scores in zip(self.degrees, self.scores.tolist(), strict=True):
            for penalty, score in zip(self.penalties, scores, strict=True):
                yield self.name, degree, penalty, score, self.measured
