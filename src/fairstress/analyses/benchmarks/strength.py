"""How strong a hidden common cause must be: a correlation read as shares of variance, and as sensemakr's partial R2.

The strength of a pair with a two-valued attribute is on its latent error; `observed_correlation` says what that is on
the attribute as it is observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from fairstress.analyses.tabular import Shown
from fairstress.arguments import share
from fairstress.errors import SettingError
from fairstress.inputs.correlation import check_correlation

SHARE = "share of variance"


@dataclass(frozen=True, slots=True)
class HiddenCause(Shown):
    """One hidden common cause of a pair, by the share of each error's variance that it explains.

    ``r2_first`` and ``r2_second`` are R2 *on the errors*. sensemakr's R2 with the treatment (the pair's first
    variable) is ``r2_first``; its R2 with the outcome (the second) is *partial, given the first*, and another number.

    Examples
    --------
    >>> cause = HiddenCause.of_correlation(0.2)
    >>> cause.r2_first, cause.r2_second, round(cause.r2_second_given_first, 4)
    (0.2, 0.2, 0.1667)
    """

    r2_first: float  # share of the first error's variance
    r2_second: float  # share of the second error's variance

    def __post_init__(self) -> None:
        for name in ("r2_first", "r2_second"):
            share(getattr(self, name), name, SHARE)

    @property
    def correlation(self) -> float:
        """The size of the correlation that it gives the errors, ``|p| = sqrt(R2_j R2_k)``."""
        return float(np.sqrt(self.r2_first * self.r2_second))

    @property
    def r2_second_given_first(self) -> float:
        """The partial R2 of sensemakr with the second variable given the first, ``R2_k (1 - R2_j) / (1 - p^2)``."""
        return self.r2_second * (1 - self.r2_first) / (1 - self.r2_first * self.r2_second)

    @classmethod
    def of_correlation(cls, correlation: float, r2_first: float | None = None) -> HiddenCause:
        """The cause that a correlation of the errors needs: equally strong on both, or with a given share of the first.

        ``R2_k = p^2 / R2_j``, which must stay below 1.

        Parameters
        ----------
        correlation
            Of the two errors, strictly between -1 and 1.
        r2_first
            Share of the first error's variance; default the same as of the second's.
        """
        p = check_correlation(correlation, "the errors")
        if r2_first is None:
            return cls(abs(p), abs(p))
        first = share(r2_first, "r2_first", SHARE)
        if p**2 >= first:
            raise SettingError(
                f"r2_first is {first:g}: a cause with that share of the first error cannot give the errors the "
                f"correlation {p:g}, whatever its share of the second; give more than {p**2:.4g}"
            )
        return cls(first, p**2 / first)

    @classmethod
    def of_partial(cls, r2_first: float, r2_second_given_first: float) -> HiddenCause:
        """The cause with sensemakr's partial R2: ``p^2 / (1 - p^2) = R2_Y R2_D / (1 - R2_D)``.

        Parameters
        ----------
        r2_first
            R2 with the first variable.
        r2_second_given_first
            Partial R2 with the second variable given the first.
        """
        R2_D = share(r2_first, "r2_first", SHARE)
        R2_Y = share(r2_second_given_first, "r2_second_given_first", SHARE)
        return cls(R2_D, R2_Y / (1 - R2_D + R2_D * R2_Y))  # R2_k = R2_Y (1 - p^2) / (1 - R2_D)


def observed_correlation(correlation: float, group_share: float) -> float:
    """The correlation of an error with a two-valued attribute as observed, from that with its latent error.

    ``phi(t) / sqrt(q (1 - q))`` times the latent one, for an attribute that is 1 where a standard normal latent error
    exceeds t, with probability q. It is at most ``sqrt(2 / pi)``, at q = 1/2.

    Parameters
    ----------
    correlation
        With the latent error.
    group_share
        Share of people in one of the two groups, between 0 and 1.

    Examples
    --------
    >>> round(observed_correlation(1.0, 0.16), 2)
    0.66
    >>> round(observed_correlation(-0.3, 0.5), 3)
    -0.239
    """
    q = share(group_share, "group_share", SHARE)
    if q == 0:
        raise SettingError("group_share is 0: give a share between 0 and 1, both groups have people")
    density = np.exp(-(special.ndtri(q) ** 2) / 2) / np.sqrt(2 * np.pi)
    return float(correlation * density / np.sqrt(q * (1 - q)))
