"""Any function of the frame of counterfactuals, as a functional of Model B."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstress.claim.claim import Claim
from fairstress.inputs.rows import Array


@dataclass(frozen=True, slots=True)
class OfFrame:
    """Any function of the frame of counterfactuals; it has no derivative."""

    function: Callable[[pd.DataFrame], Any]
    to_frame: Callable[[Array], pd.DataFrame]  # weights (D,) to the counterfactuals in the table's units
    name: str

    def values(self, claim: Claim, w_B: Array) -> Array:
        """The function of each frame."""
        return np.array([float(self.function(self.to_frame(w))) for w in w_B])

    def has_slope(self, claim: Claim) -> bool:
        """Never."""
        return False

    def value_and_slope(self, claim: Claim, w_B: Array) -> None:
        """No derivative."""
        return
