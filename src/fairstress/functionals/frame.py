"""Any function of the frame of counterfactuals, as a functional of Model B."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from fairstress.claim.claim import Claim
from fairstress.errors import SettingError
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit


@dataclass(frozen=True, slots=True)
class OfFrame:
    """Any function of the frame of counterfactuals; it has no derivative."""

    function: Callable[[pd.DataFrame], Any]
    to_frame: Callable[[Fit], pd.DataFrame]  # Model B to the counterfactuals in the table's units
    name: str

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """The function of each frame."""
        return np.array([self._value(fit) for fit in fits])

    def _value(self, fit: Fit) -> float:
        value = self.function(self.to_frame(fit))
        if not (isinstance(value, Real | np.generic) and np.isfinite(float(value))):
            raise SettingError(f"{self.name} gives {value!r}: give a function of the frame to a finite number")
        return float(value)

    def has_slope(self, claim: Claim) -> bool:
        """Never."""
        return False

    def value_and_slope(self, claim: Claim, fit: Fit) -> None:
        """No derivative."""
        return

    def __repr__(self) -> str:
        return f"<{self.name}>"
