"""One record of how an audit is fitted: what the analyst fixed, what may be chosen, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairstress.arguments import degree, is_list, penalty, word
from fairstress.claim.measure import SQUARED, Measure
from fairstress.errors import SettingError, did_you_mean, show
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.model.embedding import EmbeddingFactory, Polynomial
from fairstress.model.handed_in import UserPredictor
from fairstress.model.predictor import ANALYTIC
from fairstress.model.view import FAIR_PART, RESIDUAL
from fairstress.options import LOG_ODDS, PROBABILITY, RESIDUALS
from fairstress.wording import Wording

EXPECTED, LEAVE_OUT = "expected", "leave out"
MAX_MEMORY = 10**9


@dataclass(frozen=True, slots=True)
class Settings:
    """How an audit is fitted. What is missing is chosen by cross-validation; in a fitted audit nothing is missing.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, random_state=0)
    >>> audit.settings.degrees, audit.settings.penalty, audit.settings.predictor_degree
    ({'x': 1, 'z': 1}, 0.0, 2)
    """

    degrees: dict[str, int] = field(hash=False)  # of the structural equations, by feature
    penalty: float | None  # of the structural equations
    predictor_degree: int | None  # None for a predictor of the user's own
    predictor_penalty: float | None  # of the built-in predictor
    penalise_constant: bool = False  # whether constants bear the penalty
    max_degree: int = 3  # the highest degree that cross-validation tries
    penalties: tuple[float, ...] = ()  # what cross-validation chooses from
    cv: int = 5  # number of folds
    mixed: str = RESIDUAL  # how a feature that fair and unfair paths lead to enters the predictor
    random_state: int | None = None  # seed of every step that draws random numbers
    predictor_scale: str = PROBABILITY  # of a two-valued outcome
    measure: Measure = SQUARED  # what is made of everyone's change of prediction
    embedding: EmbeddingFactory = Polynomial.of  # makes the embedding of an equation
    user_predictor: UserPredictor | None = None  # the user's own predictor, where it is audited
    own_penalties: dict[str, float] = field(default_factory=dict, hash=False)  # of features tuned on their own
    given_degrees: frozenset[str] = frozenset()  # features whose degree the analyst gave
    ordered_residuals: str = EXPECTED  # what the predictor sees of ordered features that descend from A
    wording: Wording = field(default_factory=Wording, compare=False)  # in which results speak; it changes no number
    prepared: tuple[str, ...] = field(default=(), compare=False)  # what was done to a file's values, in sentences
    given_predictor_degree: bool = False  # whether the predictor's degree was not for cross-validation to choose
    max_memory: int = MAX_MEMORY  # bytes that the terms of equations and predictors, or batches of a stream, may need

    @property
    def predictor(self) -> str:
        """What the audited predictor is: ``"polynomial"``, or the name of the user's own."""
        return self.user_predictor.name if self.user_predictor else "polynomial"

    @property
    def predictor_input(self) -> str:
        """What it looks at."""
        return self.user_predictor.input_name if self.user_predictor else RESIDUALS

    @property
    def predictor_gradient(self) -> str:
        """Where its derivatives come from."""
        return self.user_predictor.gradient_name if self.user_predictor else ANALYTIC

    @property
    def fair_part(self) -> bool:
        """Whether a feature of fair and unfair paths enters the predictor by its fair part."""
        return self.mixed == FAIR_PART

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as saved results have them."""
        names = ("degrees", "penalty", "predictor_degree", "predictor_penalty", "penalise_constant", "max_degree")
        more = ("penalties", "cv", "mixed", "random_state", "predictor", "predictor_input", "predictor_gradient")
        last = ("predictor_scale", "own_penalties", "ordered_residuals")
        plain = {name: getattr(self, name) for name in (*names, *more, *last)}
        return {**plain, "measure": self.measure.name}

    # ------------------------------------------------------------ what cross-validation may choose

    def degrees_to_try(self, features: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The degrees of each feature's equation to choose from; one where it is given.

        Parameters
        ----------
        features
            Names of the features.
        """
        every = tuple(range(1, self.max_degree + 1))
        return {name: (self.degrees[name],) if name in self.degrees else every for name in features}

    @property
    def penalties_to_try(self) -> tuple[float, ...]:
        """The structural penalties to choose from."""
        return self.penalties if self.penalty is None else (self.penalty,)

    @property
    def predictor_degrees_to_try(self) -> tuple[int, ...]:
        """The degrees of the predictor to choose from."""
        every = tuple(range(1, self.max_degree + 1))
        return every if self.predictor_degree is None else (self.predictor_degree,)

    @property
    def predictor_penalties_to_try(self) -> tuple[float, ...]:
        """The predictor's penalties to choose from."""
        return self.penalties if self.predictor_penalty is None else (self.predictor_penalty,)

    def leaves_open(self, features: Sequence[str]) -> bool:
        """Whether there is anything for cross-validation to choose.

        Parameters
        ----------
        features
            Names of the features.
        """
        choices = (*self.degrees_to_try(features).values(), self.penalties_to_try)
        return any(len(one) > 1 for one in (*choices, self.predictor_degrees_to_try, self.predictor_penalties_to_try))

    def __repr__(self) -> str:
        degrees = ", ".join(f"{name} {degree}" for name, degree in list(self.degrees.items())[:4])
        more = ", ..." if len(self.degrees) > 4 else ""
        return (
            f"<Settings: degrees {degrees}{more}; penalty {self.penalty}; {self.predictor} on {self.predictor_input}>"
        )


# ---------------------------------------------------------------- checks


def read_degrees(degrees: Any, graph: CausalGraph) -> dict[str, int]:
    """Check degrees by feature."""
    if degrees is not None and not isinstance(degrees, Mapping):
        raise SettingError(f"degrees is {show(degrees)}: give a dict of features and degrees, such as {{'lsat': 2}}")
    given = {name: degree(value, f"degrees[{show(name)}]") for name, value in (degrees or {}).items()}
    for name in given:
        if name not in graph.features:
            raise SettingError(
                f"degrees names {show(name)}, which is not a feature{did_you_mean(name, graph.features)}"
            )
    return given


def read_penalties(penalties: Any) -> tuple[float, ...]:
    """Check the penalties that cross-validation may choose; default ten from 1e-4 to 1e4."""
    grid = np.logspace(-4, 4, 10) if penalties is None else penalties
    if not is_list(grid):
        raise SettingError(f"penalties is {show(penalties)}: give a list of numbers")
    offered = tuple(penalty(value, "penalties") for value in grid)
    if not offered:
        raise SettingError("penalties is empty: give at least one number")
    return offered


def read_mixed(mixed: Any) -> str:
    """Check how a feature of fair and unfair paths enters the predictor."""
    return word(mixed, "mixed", RESIDUAL, FAIR_PART)


def read_ordered_residuals(choice: Any) -> str:
    """Check what the predictor sees of ordered features that descend from the protected attribute."""
    return word(choice, "ordered_residuals", EXPECTED, LEAVE_OUT)


def check_scale(scale: str, table: Table) -> str:
    """Refuse log-odds of an outcome that is no probability."""
    if scale == LOG_ODDS and table.outcome_levels is None:
        raise SettingError(
            f"the predictor's scale is '{LOG_ODDS}', but the outcome '{table.graph.outcome}' has more than two values: "
            "leave it out"
        )
    return scale
