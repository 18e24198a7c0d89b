"""What an analyst chooses: numbers, and options as small frozen values, each checked once, when it is read or made.

Arguments that travel together are one value, which goes to every method, settings file and saved result alike. Strings
are short forms of the defaults: ``budget="spectral"`` is ``budget=Spectral()``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar

from fairstress.errors import SettingError, alternatives, did_you_mean, show

Pair = tuple[str, str]
Bounds = Mapping[Pair, tuple[float, float]]

RESIDUALS, FEATURES = "residuals", "features"  # what a predictor looks at
PROBABILITY, LOG_ODDS = "probability", "log-odds"  # scales on which predictions of a two-valued outcome are compared
AUTOGRAD, DIFFERENCES, NO_GRADIENT = "autograd", "differences", "none"  # where derivatives come from
GRADIENTS = (AUTOGRAD, DIFFERENCES, NO_GRADIENT)
SEARCH, ASCENT = "search", "ascent"  # how the worst case is sought
BETTER, WORSE = "better", "worse"  # what a higher outcome is for people
SMALLEST_GROUP = 10  # people whom a mean may be about, unless another number is asked for

LEAST_EIGENVALUE = 1e-12  # of a correlation of errors; nearer to 0 rounding may spoil every fit


# ---------------------------------------------------------------- numbers


HIGHEST_DEGREE = 50  # powers beyond leave no digits
LARGEST_PENALTY = 1e100
MOST = 10**9  # of anything that is counted: what asks for more is a mistake


def whole_number(value: Any, name: str) -> int:
    """Read a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise SettingError(f"{name} is {show(value)}: give a whole number of at least 1")
    if int(value) > MOST:
        raise SettingError(f"{name} is {show(value)}: give at most {MOST:,}")
    return int(value)


_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def read_bytes(value: Any, name: str) -> int:
    """Read an amount of memory: a number of bytes, or text such as ``"1 GB"``."""
    written = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?B)\s*", value, re.IGNORECASE) if isinstance(value, str) else None
    amount = float(written[1]) * _UNITS[written[2].upper()] if written else as_float(value)
    if not 1 <= amount < math.inf:
        raise SettingError(f"{name} is {show(value)}: give a number of bytes, or text such as '1 GB'")
    return int(amount)


def share(value: Any, name: str, what: str = "number") -> float:
    """Read a number from 0 up to, but not including, 1."""
    number = as_float(value)
    if not 0 <= number < 1:
        raise SettingError(f"{name} is {show(value)}: give a {what} from 0 up to, but not including, 1")
    if number > 1 - LEAST_EIGENVALUE:
        raise SettingError(f"{name} is {number!r}: give at most 1 - 1e-12, nearer to 1 rounding may spoil every fit")
    return number


def not_negative(value: Any, name: str) -> float:
    """Read a finite number of at least 0."""
    number = as_float(value)
    if not 0 <= number < math.inf:
        raise SettingError(f"{name} is {show(value)}: give a finite number that is not negative")
    return number


def penalty(value: Any, name: str) -> float:
    """Read a ridge penalty: a number of at least 0 that leaves weights their digits."""
    number = not_negative(value, name)
    if number > LARGEST_PENALTY:
        raise SettingError(
            f"{name} is {show(value)}: give at most {LARGEST_PENALTY:g}, where every weight is 0 already"
        )
    return number


def degree(value: Any, name: str) -> int:
    """Read the degree of a polynomial."""
    number = whole_number(value, name)
    if number > HIGHEST_DEGREE:
        raise SettingError(f"{name} is {number}: give at most {HIGHEST_DEGREE}, beyond which powers leave no digits")
    return number


def by_name(value: Any, name: str, what: str) -> Mapping[Any, Any]:
    """Read what is given by name, or not at all."""
    if value is not None and not isinstance(value, Mapping):
        raise SettingError(f"{name} is {show(value)}: give {what}")
    return value or {}


def finite(value: Any, name: str, *, zero: bool = True) -> float:
    """Read a finite number, other than 0 where ``zero`` is False."""
    number = as_float(value)
    if not math.isfinite(number) or (number == 0 and not zero):
        raise SettingError(f"{name} is {show(value)}: give a finite number{'' if zero else ' other than 0'}")
    return number


def flag(value: Any, name: str) -> bool:
    """Read True or False; numpy's will do."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise SettingError(f"{name} is {show(value)}: give True or False")
    return bool(value)


def word(value: Any, name: str, *choices: str) -> str:
    """Read one of some words."""
    if not (isinstance(value, str) and value in choices):
        raise SettingError(f"{name} is {show(value)}: give {alternatives(choices)}")
    return str(value)


def processes(value: Any) -> int:
    """Read a number of processes; -1 is one per core."""
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_count or not (1 <= value <= MOST or value == -1):
        raise SettingError(f"n_jobs is {show(value)}: give a number of processes, or -1 for one per core")
    return int(value)


def seed(value: Any) -> int | None:
    """Read the seed of random numbers: None, or a whole number that is not negative."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise SettingError(f"random_state is {show(value)}: give a whole number that is not negative, or None")
    return int(value)


def is_list(value: Any) -> bool:
    """Whether something lists values: text, dicts, tables and single values do not."""
    is_other = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) != 1
    return isinstance(value, Iterable) and not is_other


def is_positive(value: Any) -> bool:
    """Whether something is a finite number above 0."""
    return isinstance(value, Real) and 0 < as_float(value) < math.inf


def as_float(value: Any) -> float:
    """The number, or NaN where there is none; text and truth values are none."""
    if isinstance(value, str | bytes) or type(value).__name__ in ("bool", "bool_"):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # of a whole number
        return math.inf
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
        word(self.method, "method", SEARCH, ASCENT)


def read_search(search: Any) -> Search:
    """Turn what an analyst gives, a value or nothing, into a value."""
    if search is None:
        return Search()
    if not isinstance(search, Search):
        raise SettingError(f"search is {show(search)}: give a value such as Search(starts=16)")
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
                f"the predictor's input is {show(self.input)}: give '{RESIDUALS}', '{FEATURES}' or a function of a "
                "data frame"
            )
        word(self.scale, "the predictor's scale", PROBABILITY, LOG_ODDS)
        if isinstance(self.model, Predictor):
            raise SettingError("the predictor's model is a Predictor already: give the model itself")
        named = isinstance(self.gradient, str) and self.gradient in GRADIENTS
        if not (self.gradient is None or callable(self.gradient) or named):
            raise SettingError(
                f"the predictor's gradient is {show(self.gradient)}: give 'none', 'differences' for a smooth "
                "predictor, 'autograd' for a PyTorch module, or a function that gives the derivatives"
            )
        if self.model is None and (self.input != RESIDUALS or self.gradient is not None):
            raise SettingError(
                "input and gradient are about a predictor of your own: give one as model; the baselines, which look at "
                "features, are audited by audit.cfu(P, baseline='blind')"
            )

    def _check_columns(self) -> None:
        given: Any = self.columns
        listed = list(given) if is_list(given) else []
        if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
            raise SettingError(f"the predictor's columns are {show(given)}: give a list of names, each once")
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
        raise SettingError(f"robust is {show(robust)}: give a value such as Robust(p_max=0.3, weight=10)")
    return robust


# ---------------------------------------------------------------- words


@dataclass(frozen=True, slots=True)
class Sharing:
    """What of people may stand in results and on pages."""

    people: bool = False  # the people whose predictions move most, with their features
    labels: bool = False  # and their labels
    smallest_group: int = SMALLEST_GROUP  # numbers about fewer people are left out

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", flag(self.people, "people"))
        object.__setattr__(self, "labels", flag(self.labels, "labels"))
        object.__setattr__(self, "smallest_group", whole_number(self.smallest_group, "smallest_group"))
        if self.labels and not self.people:
            raise SettingError("labels is True, but people is False: labels are those of people, ask for both")


SHARING = Sharing()


@dataclass(frozen=True, slots=True)
class Wording:
    """Words in which results speak of columns and people; they change no number.

    Parameters
    ----------
    labels
        ``{column: name to show}``, such as ``{"lsat": "LSAT score"}``; default the columns' own names.
    units
        ``{column: unit}``, such as ``{"zfya": "grade points"}``; default none.
    people
        What rows are, in the plural, such as ``"students"`` or ``"towns"``; default ``"people"``.
    higher_is
        Whether a higher outcome, and so a higher prediction, is ``"better"`` or ``"worse"`` for people; default None,
        not said.

    Examples
    --------
    >>> import fairstress as fs
    >>> wording = fs.Wording(labels={"lsat": "LSAT score"}, units={"zfya": "grade points"}, people="students")
    >>> wording.label("lsat"), wording.label("ugpa"), wording.unit("zfya")
    ('LSAT score', 'ugpa', 'grade points')
    """

    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    people: str = "people"
    higher_is: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _read_words_by_column(self.labels, "labels", {"lsat": "LSAT score"}))
        object.__setattr__(self, "units", _read_words_by_column(self.units, "units", {"zfya": "grade points"}))
        if not _is_word(self.people):
            raise SettingError(
                f"people is {show(self.people)}: give the word for rows in the plural, such as 'students'"
            )
        if self.higher_is is not None and not (isinstance(self.higher_is, str) and self.higher_is in (BETTER, WORSE)):
            raise SettingError(f"higher_is is {show(self.higher_is)}: give '{BETTER}' or '{WORSE}', or leave it out")

    def label(self, name: str) -> str:
        """The name under which a column is shown: its label, or else its own.

        Parameters
        ----------
        name
            Name of the column.
        """
        return self.labels.get(name, name)

    def unit(self, name: str) -> str:
        """The unit of a column; empty where none was given.

        Parameters
        ----------
        name
            Name of the column.
        """
        return self.units.get(name, "")

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as saved results and settings files have them."""
        words = {"labels": dict(self.labels), "units": dict(self.units)}
        return {**words, "people": self.people, "higher_is": self.higher_is}


def read_wording(labels: Any, units: Any, people: Any, higher_is: Any, columns: Iterable[str]) -> Wording:
    """Turn an analyst's words into a value; labels and units must name columns."""
    wording = Wording({} if labels is None else labels, {} if units is None else units, people, higher_is)
    known = list(columns)
    for key, words in (("labels", wording.labels), ("units", wording.units)):
        for name in words:
            if name not in known:
                raise SettingError(
                    f"{key} names '{name}', which is not a column of the data{did_you_mean(name, known)}"
                )
    return wording


def _read_words_by_column(words: Any, key: str, example: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(words, Mapping):
        raise SettingError(f"{key} is {show(words)}: give a dict such as {example}, or leave it out")
    for name, word in words.items():
        if not isinstance(name, str):
            raise SettingError(f"{key} names {show(name)}: give the name of a column")
        if not _is_word(word):
            raise SettingError(f"{key}['{name}'] is {show(word)}: give text, such as {next(iter(example.values()))!r}")
    return dict(words)


def _is_word(word: Any) -> bool:
    return isinstance(word, str) and bool(word.strip())
