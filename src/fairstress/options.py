"""What an analyst chooses: numbers, and options as small frozen values, each checked once, when it is read or made.

Arguments that travel together are one value, which goes to every method, settings file and saved result alike. Strings
are short forms of the defaults: ``budget="spectral"`` is ``budget=Spectral()``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

from fairstress.errors import SettingError

Pair = tuple[str, str]
Bounds = Mapping[Pair, tuple[float, float]]

RESIDUALS, FEATURES = "residuals", "features"  # what a predictor looks at
PROBABILITY, LOG_ODDS = "probability", "log-odds"  # scales on which predictions of a two-valued outcome are compared
AUTOGRAD, DIFFERENCES, NO_GRADIENT = "autograd", "differences", "none"  # where derivatives come from
GRADIENTS = (AUTOGRAD, DIFFERENCES, NO_GRADIENT)
SEARCH, ASCENT = "search", "ascent"  # how the worst case is sought


# ---------------------------------------------------------------- numbers


def whole_number(value: Any, name: str) -> int:
    """Read a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise SettingError(f"{name} is {value!r}: give a whole number of at least 1")
    return int(value)


_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def read_bytes(value: Any, name: str) -> int:
    """Read an amount of memory: a number of bytes, or text such as ``"1 GB"``."""
    written = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?B)\s*", value, re.IGNORECASE) if isinstance(value, str) else None
    amount = float(written[1]) * _UNITS[written[2].upper()] if written else _as_float(value)
    if not 1 <= amount < math.inf:
        raise SettingError(f"{name} is {value!r}: give a number of bytes, or text such as '1 GB'")
    return int(amount)


def share(value: Any, name: str, what: str = "number") -> float:
    """Read a number from 0 up to, but not including, 1."""
    number = _as_float(value)
    if not 0 <= number < 1:
        raise SettingError(f"{name} is {value!r}: give a {what} from 0 up to, but not including, 1")
    return number


def not_negative(value: Any, name: str) -> float:
    """Read a finite number of at least 0."""
    number = _as_float(value)
    if not 0 <= number < math.inf:
        raise SettingError(f"{name} is {value!r}: give a finite number that is not negative")
    return number


def finite(value: Any, name: str, *, zero: bool = True) -> float:
    """Read a finite number, other than 0 where ``zero`` is False."""
    number = _as_float(value)
    if not math.isfinite(number) or (number == 0 and not zero):
        raise SettingError(f"{name} is {value!r}: give a finite number{'' if zero else ' other than 0'}")
    return number


def flag(value: Any, name: str) -> bool:
    """Read True or False; numpy's will do."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise SettingError(f"{name} is {value!r}: give True or False")
    return bool(value)


def processes(value: Any) -> int:
    """Read a number of processes; -1 is one per core."""
    if isinstance(value, bool) or not isinstance(value, Integral) or (value < 1 and value != -1):
        raise SettingError(f"n_jobs is {value!r}: give a number of processes, or -1 for one per core")
    return int(value)


def seed(value: Any) -> int | None:
    """Read the seed of random numbers: None, or a whole number that is not negative."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise SettingError(f"random_state is {value!r}: give a whole number that is not negative, or None")
    return int(value)


def is_positive(value: Any) -> bool:
    """Whether something is a finite number above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf


def _as_float(value: Any) -> float:
    """The number, or NaN where there is none; text and truth values are none."""
    if isinstance(value, str) or type(value).__name__ in ("bool", "bool_"):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


# ---------------------------------------------------------------- budgets


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


Budget = Pairwise | Spectral
KINDS: dict[str, type[Budget]] = {"pairwise": Pairwise, "spectral": Spectral}


def read_budget(budget: Any) -> Budget:
    """Turn an analyst's budget, a value or the name of its kind, into a value."""
    if isinstance(budget, Pairwise | Spectral):
        return budget
    if isinstance(budget, str) and budget in KINDS:
        return KINDS[budget]()
    raise SettingError(f"budget is {budget!r}: give 'pairwise' or 'spectral', or a value such as Pairwise(bounds=...)")


def _read_bounds(bounds: Any) -> dict[Pair, tuple[float, float]]:
    if not isinstance(bounds, Mapping):
        raise SettingError(f"bounds is {bounds!r}: give {{('a', 'b'): (lower, upper)}}, or leave it out")
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
        raise SettingError(f"bounds names {pair!r}: give a pair as a tuple of two names, such as ('ugpa', 'lsat')")
    return ends


def _read_limits(pair: Pair, limits: Any) -> tuple[float, float]:
    shown = " <-> ".join(pair)
    least, most = (_as_float(limit) for limit in limits) if _is_two(limits) else (math.nan, math.nan)
    if math.isnan(least) or math.isnan(most):
        raise SettingError(f"the bounds of {shown} are {limits!r}: give a lower and an upper number")
    if not -1 <= least <= most <= 1:
        raise SettingError(f"the bounds of {shown} are {limits!r}: give -1 <= lower <= upper <= 1")
    return least, most


def _is_two(limits: Any) -> bool:
    return isinstance(limits, tuple | list) and len(limits) == 2


def _least_size(bounds: Bounds) -> float:
    """The smallest p_max that all bounds allow."""
    return max((max(low, -high, 0.0) for low, high in bounds.values()), default=0.0)


def _plain_bounds(bounds: Bounds) -> dict[str, list[float]]:
    return {" <-> ".join(pair): list(limits) for pair, limits in bounds.items()}


# ---------------------------------------------------------------- searches


@dataclass(frozen=True, slots=True)
class Search:
    """How hard to look for the worst case, and by which method.

    Parameters
    ----------
    starts
        Ascents to begin with, default 8; more follow while they disagree. Where people have several counterfactual
        worlds, half as many rounds, at most, of looking where a surface through known values is highest.
    method
        ``"search"`` (default), or ``"ascent"`` for the paper's Algorithm 1, which finds local maxima and is there for
        comparison.
    n_jobs
        Processes for searches that do not depend on each other (`Audit.effects`, and a report's questions with other
        settings), default 1; -1 for one per core. It changes no number.

    Examples
    --------
    >>> import fairstress as fs
    >>> fs.Search(starts=16)
    Search(starts=16, method='search', n_jobs=1)
    """

    starts: int = 8
    method: str = SEARCH
    n_jobs: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", whole_number(self.starts, "starts"))
        object.__setattr__(self, "n_jobs", processes(self.n_jobs))
        if self.method not in (SEARCH, ASCENT):
            raise SettingError(f"method is {self.method!r}: give '{SEARCH}' or '{ASCENT}'")


def read_search(search: Any) -> Search:
    """Turn what an analyst gives, a value or nothing, into a value."""
    if search is None:
        return Search()
    if not isinstance(search, Search):
        raise SettingError(f"search is {search!r}: give a value such as Search(starts=16)")
    return search


# ---------------------------------------------------------------- predictors


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """A predictor to audit, with what it looks at and where its derivatives come from.

    Parameters
    ----------
    model
        A scikit-learn regressor or classifier, which is copied and fitted unless it is fitted already; a PyTorch module
        in evaluation mode; or a function. For a two-valued outcome it gives the probability of the last level. Default:
        the built-in polynomial of residuals.
    input
        What the model looks at. ``"residuals"`` (default): an array with Model A's residuals of the standardised
        features, those of `Audit.predictor_inputs`. ``"features"``: a data frame of the protected attribute and the
        features with the table's names and units; a fitted estimator gets the columns that it was fitted to, a module
        an array in which levels are coded. A function of that data frame gives the model what it returns.
    gradient
        Where the model's derivatives come from: ``"none"``; ``"differences"``, for a smooth one; ``"autograd"``, what a
        module has by itself; or a function that gives them by the residuals, or by the features in the table's units.
        Default: ``"autograd"`` for a module, otherwise ``"none"``, with which searches only compare values: for few
        pairs.
    scale
        For a two-valued outcome: ``"probability"`` (default), or ``"log-odds"`` to measure changes of these.
    columns
        Names of the columns that a model of features is shown, in this order; those outside the graph, of any type, are
        handed through as they are and never move. Default: what a fitted estimator was fitted to, otherwise those of
        the graph.

    Examples
    --------
    >>> import fairstress as fs
    >>> fs.Predictor(abs, input="features").input
    'features'
    """

    model: Any = None
    input: str | Callable[[Any], Any] = RESIDUALS
    gradient: str | Callable[[Any], Any] | None = None
    scale: str = PROBABILITY
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.columns is not None:
            self._check_columns()
        if not (callable(self.input) or (isinstance(self.input, str) and self.input in (RESIDUALS, FEATURES))):
            raise SettingError(
                f"the predictor's input is {self.input!r}: give '{RESIDUALS}', '{FEATURES}' or a function of a data "
                "frame"
            )
        if self.scale not in (PROBABILITY, LOG_ODDS):
            raise SettingError(f"the predictor's scale is {self.scale!r}: give '{PROBABILITY}' or '{LOG_ODDS}'")
        if isinstance(self.model, Predictor):
            raise SettingError("the predictor's model is a Predictor already: give the model itself")
        named = isinstance(self.gradient, str) and self.gradient in GRADIENTS
        if not (self.gradient is None or callable(self.gradient) or named):
            raise SettingError(
                f"the predictor's gradient is {self.gradient!r}: give 'none', 'differences' for a smooth predictor, "
                "'autograd' for a PyTorch module, or a function that gives the derivatives"
            )
        if self.model is None and (self.input != RESIDUALS or self.gradient is not None):
            raise SettingError(
                "input and gradient are about a predictor of your own: give one as model; the baselines, which look at "
                "features, are audited by audit.cfu(P, baseline='blind')"
            )

    def _check_columns(self) -> None:
        given = self.columns
        listed = [] if given is None or isinstance(given, str) else list(given)
        if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
            raise SettingError(f"the predictor's columns are {given!r}: give a list of names, each once")
        if self.input == RESIDUALS:
            raise SettingError(
                "the predictor's columns are given, but its input is 'residuals', which are those of the graph's "
                "features: give input='features'"
            )


def read_predictor(predictor: Any) -> Predictor:
    """Turn what an analyst gives, a value, a bare model or nothing, into a value."""
    return predictor if isinstance(predictor, Predictor) else Predictor(predictor)


@dataclass(frozen=True, slots=True)
class Robust:
    """Which robust predictor to audit in place of the fair one: as accurate as can be, and less unfair at worst.

    Parameters
    ----------
    p_max
        Size of the budget within which the worst case counts.
    weight
        What a unit of worst-case CFU costs in units of mean squared error (mean deviance for a two-valued outcome); 0
        is the fair predictor. Best read off `Audit.frontier`.
    budget
        ``"pairwise"`` (default), ``"spectral"``, or a value such as ``Pairwise(min_eigenvalue=0.01)``.
    search
        A `Search`, default ``Search()``.

    Examples
    --------
    >>> import fairstress as fs
    >>> robust = fs.Robust(0.3, 10)
    >>> robust.weight, robust.budget
    (10.0, Pairwise(min_eigenvalue=0.05, bounds={}))
    """

    p_max: float
    weight: float
    budget: Budget | str = "pairwise"
    search: Search | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p_max", share(self.p_max, "p_max"))
        object.__setattr__(self, "weight", not_negative(self.weight, "weight"))
        object.__setattr__(self, "budget", read_budget(self.budget))
        object.__setattr__(self, "search", read_search(self.search))


def read_robust(robust: Any) -> Robust:
    """Check that a value is given, and not the arguments of one."""
    if not isinstance(robust, Robust):
        raise SettingError(f"robust is {robust!r}: give a value such as Robust(p_max=0.3, weight=10)")
    return robust
