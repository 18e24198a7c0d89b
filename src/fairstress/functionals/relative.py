"""A predictor's CFU less a baseline's at the same correlation: like for like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.functionals.cfu import CFU
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit

KEPT = 4  # sets of rows for which the baseline's claim is kept


@dataclass(frozen=True, slots=True, eq=False)
class RelativeCFU:
    """How much more unfair the audited predictor is than a baseline where the errors have the same correlation."""

    baseline: Claim
    name: str
    _by_rows: dict[int, Claim] = field(default_factory=dict, repr=False)  # the baseline by rows

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """CFU less the baseline's."""
        ours, theirs = CFU().of_both(claim, self._on(claim), fits)
        return np.asarray(ours - theirs)

    def under_weights(self, claim: Claim, weights: Array, fits: Sequence[Sequence[Fit]]) -> Array | None:
        """(b, k) the same under each of the weights (b, r) of everyone; None where that needs everyone."""
        if not np.array_equal(self.baseline.everyone.weight, claim.everyone.weight):  # of another audit
            return None
        both = [CFU().under_weights(one, weights, fits) for one in (claim, self._on(claim))]
        return None if both[0] is None or both[1] is None else both[0] - both[1]

    def has_slope(self, claim: Claim) -> bool:
        """Whether both claims have one."""
        return CFU().has_slope(claim) and CFU().has_slope(self.baseline)

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> tuple[Array, Array] | None:
        """CFU less the baseline's, with its derivatives, where both have one."""
        ours, theirs = (CFU().values_and_slopes(one, fits) for one in (claim, self._on(claim)))
        return None if ours is None or theirs is None else (ours[0] - theirs[0], ours[1] - theirs[1])

    def _on(self, claim: Claim) -> Claim:
        """The baseline's claim on the same rows, kept so that its blocks are worked out once."""
        if self.baseline.rows is claim.rows and self.baseline.detail is claim.detail:
            return self.baseline
        known = self._by_rows.get(id(claim.rows))
        if known is None or known.rows is not claim.rows:
            if len(self._by_rows) >= KEPT:
                self._by_rows.clear()
            known = self._by_rows[id(claim.rows)] = self.baseline.on(claim.rows, claim.detail)
        return known

    def __repr__(self) -> str:
        return f"<{self.name}>"
