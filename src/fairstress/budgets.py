"""Budgets of hidden causes: how much an analyst allows them, as small frozen values, checked when they are made.

Strings are short forms of the defaults: ``budget="spectral"`` is ``budget=Spectral()``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from fairstress.arguments import (
    as_float,
    share,
)
from fairstress.errors import SettingError, show

Pair = tuple[str, str]
Bounds = Mapping[Pair, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Pairwise:
    """The paper's budget: no pair's correlation exceeds p_max in size, and no eigenvalue of P lies below a floor.

    Parameters
    ----------
    min_eigenvalue
        The floor under the eigenvalues of P, default 0.05. It applies where two or more pairs are free: near a singular
        P a fit diverges. One pair alone has the paper's interval.
    bounds
        ``{pair: (lower, upper)}``, signs and sizes that an expert can vouch for; default none.

    Examples
    --------
    >>> import fairstress as fs
    >>> fs.Pairwise(bounds={("ugpa", "lsat"): (0, 0.3)})
    Pairwise(min_eigenvalue=0.05, bounds={('ugpa', 'lsat'): (0.0, 0.3)})
    """

    kind: ClassVar[str] = "pairwise"  # its short form
    min_eigenvalue: float = 0.05
    bounds: Bounds = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_eigenvalue", share(self.min_eigenvalue, "min_eigenvalue"))
        object.__setattr__(self, "bounds", _read_bounds(self.bounds))

    @property
    def least_size(self) -> float:
        """The smallest p_max that the bounds allow."""
        return _least_size(self.bounds)

    def floor(self, p_max: float, n_pairs: int) -> float:
        """The least eigenvalue that P may have.

        Parameters
        ----------
        p_max
            Size of the budget.
        n_pairs
            How many pairs are free.
        """
        return self.min_eigenvalue if n_pairs > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as saved results and settings files have them."""
        return {"kind": self.kind, "min_eigenvalue": self.min_eigenvalue, "bounds": _plain_bounds(self.bounds)}

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Spectral:
    """A budget for all pairs together: ``P = (1 - p_max) I + p_max R``, R any correlation matrix of the graph's pairs.

    No combination of the errors has less than the share ``1 - p_max`` of the variance that it would have if they were
    independent. For one pair it is the same interval as the pairwise budget.

    Parameters
    ----------
    bounds
        ``{pair: (lower, upper)}``, signs and sizes that an expert can vouch for; default none.

    Examples
    --------
    >>> import fairstress as fs
    >>> print(fs.Spectral())
    spectral
    """

    kind: ClassVar[str] = "spectral"  # its short form
    bounds: Bounds = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", _read_bounds(self.bounds))

    @property
    def least_size(self) -> float:
        """The smallest p_max that the bounds allow."""
        return _least_size(self.bounds)

    def floor(self, p_max: float, n_pairs: int) -> float:
        """The least eigenvalue that P may have.

        Parameters
        ----------
        p_max
            Size of the budget.
        n_pairs
            How many pairs are free.
        """
        return 1 - p_max

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as saved results and settings files have them."""
        return {"kind": self.kind, "bounds": _plain_bounds(self.bounds)}

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class SingleCause:
    """A budget for one hidden cause: ``P_jk = l_j l_k``, with ``l_j ** 2`` the share of error j that it explains.

    The cause acts only on variables of which every two are a pair of the graph. Where not all variables in pairs are
    such, the worst case is the largest over such groups of variables. The size of the budget, p_max elsewhere, is here
    the largest share of any error's variance that the cause may explain.

    Parameters
    ----------
    caps
        ``{variable: share}``, the largest share for some variables whatever the size of the budget; default none. A
        hidden cause such as ancestry may explain nearly all of race's error and little of a grade's.

    Examples
    --------
    >>> import fairstress as fs
    >>> fs.SingleCause(caps={"race": 0.9})
    SingleCause(caps={'race': 0.9})
    >>> print(fs.SingleCause())
    single cause
    """

    kind: ClassVar[str] = "single cause"  # its short form
    bounds: ClassVar[Bounds] = MappingProxyType({})  # none: what limits a cause are its shares
    least_size: ClassVar[float] = 0.0  # the smallest size that can be asked for
    caps: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "caps", _read_caps(self.caps))

    def cap(self, variable: str, size: float) -> float:
        """The largest share of one variable's error that the cause may explain.

        Parameters
        ----------
        variable
            Its name.
        size
            Size of the budget.
        """
        return self.caps.get(variable, size)

    def floor(self, p_max: float, n_pairs: int) -> float:
        """A number that no eigenvalue of P lies below: P is ``I - diag(l^2) + l l'``.

        Parameters
        ----------
        p_max
            Size of the budget.
        n_pairs
            How many pairs are free.
        """
        return 1 - max(p_max, *self.caps.values()) if self.caps else 1 - p_max

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as saved results and settings files have them."""
        return {"kind": self.kind, "caps": dict(self.caps)}

    def __str__(self) -> str:
        return self.kind


Budget = Pairwise | Spectral | SingleCause
KINDS: dict[str, type[Budget]] = {"pairwise": Pairwise, "spectral": Spectral, "single cause": SingleCause}


def read_budget(budget: Any) -> Budget:
    """Turn an analyst's budget, a value or the name of its kind, into a value."""
    if isinstance(budget, Budget):
        return budget
    if isinstance(budget, str) and budget in KINDS:
        return KINDS[budget]()
    raise SettingError(
        f"budget is {show(budget)}: give 'pairwise', 'spectral' or 'single cause', or a value such as "
        "Pairwise(bounds=...)"
    )


def _read_caps(caps: Any) -> dict[str, float]:
    if not isinstance(caps, Mapping):
        raise SettingError(f"caps is {show(caps)}: give {{'variable': share}}, or leave it out")
    for name in caps:
        if not isinstance(name, str):
            raise SettingError(f"caps names {show(name)}: give the name of a variable")
    return {name: share(value, f"the cap of {name}", "share of variance") for name, value in caps.items()}


def _read_bounds(bounds: Any) -> dict[Pair, tuple[float, float]]:
    if not isinstance(bounds, Mapping):
        raise SettingError(f"bounds is {show(bounds)}: give {{('a', 'b'): (lower, upper)}}, or leave it out")
    read: dict[Pair, tuple[float, float]] = {}
    for pair, limits in bounds.items():
        ends = _read_ends(pair)
        if ends in read or ends[::-1] in read:
            raise SettingError(f"bounds names the pair {' <-> '.join(ends)} twice: give it once")
        read[ends] = _read_limits(ends, limits)
    return read


def _read_ends(pair: Any) -> Pair:
    ends = tuple(pair) if isinstance(pair, tuple | list) else ()
    if len(ends) != 2 or not all(isinstance(end, str) for end in ends) or ends[0] == ends[1]:
        raise SettingError(f"bounds names {show(pair)}: give a pair as a tuple of two names, such as ('ugpa', 'lsat')")
    return ends


def _read_limits(pair: Pair, limits: Any) -> tuple[float, float]:
    shown = " <-> ".join(pair)
    least, most = (as_float(limit) for limit in limits) if _is_two(limits) else (math.nan, math.nan)
    if math.isnan(least) or math.isnan(most):
        raise SettingError(f"the bounds of {shown} are {show(limits)}: give a lower and an upper number")
    if not -1 <= least <= most <= 1:
        raise SettingError(f"the bounds of {shown} are {show(limits)}: give -1 <= lower <= upper <= 1")
    return least, most


def _is_two(limits: Any) -> bool:
    return isinstance(limits, tuple | list) and len(limits) == 2


def _least_size(bounds: Bounds) -> float:
    """The smallest p_max that all bounds allow."""
    return max((max(low, -high, 0.0) for low, high in bounds.values()), default=0.0)


def _plain_bounds(bounds: Bounds) -> dict[str, list[float]]:
    return {" <-> ".join(pair): list(limits) for pair, limits in bounds.items()}
