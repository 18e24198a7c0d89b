"""Any function of the frame of counterfactuals, as a functional of Model B."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from fairstress.arguments import as_float
from fairstress.claim.claim import Claim
from fairstress.errors import SettingError, describe_error, show
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
        frame = self.to_frame(fit)
        try:
            value = self.function(frame)
        except Exception as problem:  # the analyst's function may fail in any way
            raise SettingError(
                f"{self.name} failed on the frame of counterfactuals ({describe_error(problem)}): give a function of "
                "it to one number"
            ) from problem
        number = as_float(value) if isinstance(value, Real | np.generic) else np.nan
        if not np.isfinite(number):
            raise SettingError(f"{self.name} gives {show(value)}: give a function of the frame to a finite number")
        return float(number)

    def has_slope(self, claim: Claim) -> bool:
        """Never."""
        return False

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> None:
        """No derivative."""
        return

    def __repr__(self) -> str:
        return f"<{self.name}>"
