"""Options as small frozen values, each checked once, when it is made: how to search, which predictor to audit.

Arguments that travel together are one value, which goes to every method, settings file and saved result alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fairstress.arguments import (
    is_list,
    not_negative,
    processes,
    share,
    whole_number,
    word,
)
from fairstress.budgets import Budget, read_budget
from fairstress.errors import SettingError, show

RESIDUALS, FEATURES = "residuals", "features"  # what a predictor looks at
PROBABILITY, LOG_ODDS = "probability", "log-odds"  # scales on which predictions of a two-valued outcome are compared
AUTOGRAD, DIFFERENCES, NO_GRADIENT = "autograd", "differences", "none"  # where derivatives come from
GRADIENTS = (AUTOGRAD, DIFFERENCES, NO_GRADIENT)
SEARCH, ASCENT = "search", "ascent"  # how the worst case is sought


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
        Processes for searches that do not depend on each other (`Audit.effects`, and questions of a report that take
        long) and for the ascents of one search over eight pairs, or eight variables that one cause acts on, or more;
        default 1, -1 for one per core. It changes no number. On the command line reports take all cores.

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
