"""A predictor's CFU less a baseline's at the same correlation: like for like."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.sensitivity.claim import Claim
from fairstress.sensitivity.functional import Unfairness


@dataclass(frozen=True, slots=True)
class Against:
    """How much more unfair the audited predictor is than a baseline where the errors have the same correlation."""

    baseline: Claim
    name: str
    _met: dict[int, Claim] = field(default_factory=dict, repr=False, compare=False)  # the baseline by rows

    def values(self, claim: Claim, w_B: Array) -> Array:
        """CFU less the baseline's."""
        ours, theirs = (Unfairness().values(one, w_B) for one in (claim, self._on(claim)))
        return np.asarray(ours - theirs)

    def has_slope(self, claim: Claim) -> bool:
        """Whether both claims have one."""
        return Unfairness().has_slope(claim) and Unfairness().has_slope(self.baseline)

    def value_and_slope(self, claim: Claim, w_B: Array) -> tuple[float, Array] | None:
        """The same with its derivative, where both have one."""
        ours, theirs = (Unfairness().value_and_slope(one, w_B) for one in (claim, self._on(claim)))
        return None if ours is None or theirs is None else (ours[0] - theirs[0], ours[1] - theirs[1])

    def _on(self, claim: Claim) -> Claim:
        """The baseline's claim on the same rows, kept so that its people are met once."""
        known = self._met.get(id(claim.rows))
        if known is None or known.rows is not claim.rows:
            known = self._met[id(claim.rows)] = replace(self.baseline, rows=claim.rows)
        return known
